/* model.c - opens what MODEL names: a built-in model, a library, a Stan
 * program. */
#define _POSIX_C_SOURCE 200809L

#include "job/model.h"

#include "stan/build.h"
#include "tool/config.h"
#include "tool/spec.h"

#include "relmc_diag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, const char *tail)
{
    const size_t n = strlen(text), m = strlen(tail);

    return n > m && !strcmp(text + n - m, tail);
}

bool model_is_stan(const char *spec)
{
    return ends_with(spec, ".so") || ends_with(spec, ".stan");
}

/* Print statements go to standard error: they must not mix with results. */
static void print(void *ctx, const char *text, size_t bytes)
{
    (void)ctx;
    (void)fwrite(text, 1, bytes, stderr);
}

static int open_library(relmc_target **out, const struct model_source *from,
                        const char *library)
{
    const char *data = opt_get(from->set, "data")->text;
    relmc_error err = {0};
    const relmc_status status = relmc_target_open_stan(
        out, library, data, from->seed, print, NULL, &err);

    if (status) {
        (void)cli_fail_status(from->set->who, status, &err);
        if (!data && status == RELMC_EINVAL) {
            (void)fprintf(stderr, "  --data FILE gives it a JSON file\n");
        }
        return status == RELMC_ENOMEM ? CLI_NUMERIC : CLI_MODEL;
    }
    return CLI_OK;
}

static int open_program(relmc_target **out, const struct model_source *from)
{
    const struct stan_tools tools = {0};
    char *library = NULL;
    int code = stan_build(&library, from->set->argument, &tools, from->voice);

    if (!code) {
        code = open_library(out, from, library);
    }
    free(library);
    return code;
}

static int no_such_model(const char *spec)
{
    char *name = cli_text("%.*s", (int)strcspn(spec, ":"), spec);
    const char *near = spec_nearest("model", name);
    const bool is_network = !strcmp(name, "mlp");

    (void)cli_fail(0, "relmc", "no model \"%s\"%s%s%s%s", name,
                   near ? " (did you mean \"" : "", near ? near : "",
                   near ? "\"?)" : "",
                   is_network ? ": it needs a build with CBLAS" : "");
    (void)fprintf(stderr, "  relmc models        lists the built-in models\n");
    free(name);
    return CLI_MODEL;
}

int model_open_plain(relmc_target **out, const char *spec, const char *who)
{
    return data_options_knows(spec)
               ? data_options_open(out, spec, &(struct data_split){0}, who)
               : no_such_model(spec);
}

int model_open(relmc_target **out, struct data_split *data,
               const struct model_source *from)
{
    const struct opt_set *set = from->set;
    const char *spec = set->argument;
    int code;

    *data = (struct data_split){0};
    if (model_is_stan(spec)) {
        code = data_options_check_unused(
            set, "is not for Stan models: their data are "
                 "one JSON file");
        return code                       ? code
               : ends_with(spec, ".stan") ? open_program(out, from)
                                          : open_library(out, from, spec);
    }
    if (!data_options_knows(spec)) {
        return no_such_model(spec);
    }
    return (code = data_options_read(data, set, spec))
               ? code
               : data_options_open(out, spec, data, set->who);
}

/* ---- starting points ----------------------------------------------------- */

static int unconstrain(double *x, const relmc_target *target,
                       const json_t *object, const char *path, const char *who)
{
    relmc_error err = {0};
    char *text = config_print(object);
    const relmc_status status = relmc_target_unconstrain(target, text, x, &err);

    free(text);
    return status ? cli_fail(CLI_MODEL, who, "%s: %s", path, err.message)
                  : CLI_OK;
}

int model_read_points(struct points *out, const relmc_target *target,
                      const char *path, const char *who)
{
    const size_t dim = relmc_target_dim(target);
    json_t *root = NULL;
    int code = config_load(&root, path, who, CLI_MODEL);

    if (code) {
        return code;
    }
    const bool is_list = json_is_array(root);
    out->n = is_list ? json_array_size(root) : 1;
    out->values = cli_alloc(out->n * dim + 1, sizeof *out->values);
    for (size_t k = 0; k < out->n && !code; k++) {
        const json_t *point = is_list ? json_array_get(root, k) : root;

        code =
            json_is_object(point)
                ? unconstrain(out->values + k * dim, target, point, path, who)
                : cli_fail(CLI_MODEL, who,
                           "%s: expected an object of parameters, such as "
                           "{\"mu\": 1}, or a list with one for each chain",
                           path);
    }
    json_decref(root);
    if (code) {
        free(out->values);
        *out = (struct points){0};
    }
    return code;
}

/* ---- what it complained of ----------------------------------------------- */

void model_say_trouble(const relmc_target *target, const struct voice *voice)
{
    const char *first = NULL;
    int64_t n = relmc_target_rejections(target, &first);

    if (n > 0) {
        cli_warn(
            voice,
            "the model rejected %lld point%s, which is fine if it is rare; "
            "the first time it said: %s",
            (long long)n, n == 1 ? "" : "s", first ? first : "");
    }
    n = relmc_target_output_failures(target, &first);
    if (n > 0) {
        cli_warn(
            voice,
            "in %lld draw%s transformed parameters or generated quantities "
            "failed and are NaN; the first time: %s",
            (long long)n, n == 1 ? "" : "s", first ? first : "");
    }
}
