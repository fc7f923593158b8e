/* models.c - relmc models: lists the built-in models, their parameters and
 * moments. */
#include "cmd/help.h"
#include "data/component_list.h"
#include "data/data_options.h"
#include "job/model.h"
#include "report/result.h"
#include "tool/cli.h"
#include "tool/command_help.h"
#include "tool/options.h"
#include "tool/spec.h"

#include "relmc_diag.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct opt options[] = {
    OPT_JSON(.doc = "print JSON"),
    OPT_COMMON,
    {0},
};

/* The exact answers of a model with these parameters. */
struct facts {
    size_t dim;
    double *mean, *variance; /* NULL: unknown */
    bool has_draws;
};

static void facts_take(struct facts *facts, const relmc_target *target)
{
    const size_t dim = relmc_target_dim(target);
    double *draw = cli_alloc(dim, sizeof *draw);

    *facts = (struct facts){
        .dim = dim,
        .mean = cli_alloc(dim, sizeof *facts->mean),
        .variance = cli_alloc(dim, sizeof *facts->variance),
    };
    if (relmc_target_moments(target, facts->mean, facts->variance, NULL)) {
        free(facts->mean);
        free(facts->variance);
        facts->mean = facts->variance = NULL;
    }
    facts->has_draws = !relmc_target_sample(target, 0, 1, draw, NULL);
    free(draw);
}

static void facts_clear(struct facts *facts)
{
    free(facts->mean);
    free(facts->variance);
}

/* ---- parameters ---------------------------------------------------------- */

static void take_params(struct result *result, const struct listed *model)
{
    static const struct field fields[] = {
        {.key = "name", .head = "", .width = -10},
        {.head = "", .width = -10}, /* the range */
        {.key = "doc", .head = "", .width = -10},
        {.key = "kind"},
        {.key = "min"},
        {.key = "max"},
        {.key = "default"},
        {.key = "choices"},
    };

    *result = (struct result){.lead = 2};
    result_fields(result, fields, sizeof fields / sizeof *fields);
    for (size_t i = 0; i < model->component.n_params; i++) {
        const relmc_parameter p = component_list_param(model, i);
        char range[120];

        command_help_range(range, sizeof range, &p);
        result_text(result, "%s", p.name);
        result_text(result, "%s", range);
        result_text(result, "%s", p.doc);
        result_text(result, "%s", p.kind);
        result_real(result, p.min);
        result_real(result, p.max);
        result_real(result, p.fallback);
        result_json(result, p.choices ? json_string(p.choices) : json_null());
    }
}

static json_t *json_params(const struct listed *model)
{
    struct result params;

    take_params(&params, model);
    json_t *list = result_rows(&params);
    result_clear(&params);
    return list;
}

static void print_params(const struct listed *model)
{
    struct result params;

    take_params(&params, model);
    if (result_n_rows(&params)) {
        (void)printf("\nparameters:\n");
        result_print(&params);
    } else {
        (void)printf("\nparameters: none\n");
    }
    result_clear(&params);
}

/* ---- models -------------------------------------------------------------- */

static const struct field fields[] = {
    {.key = "name", .head = "", .width = -10},
    {.head = "", .width = 5}, /* the dimension */
    {.key = "doc", .head = "", .width = -10},
    {.head = "", .width = -10}, /* what is known */
    {.key = "dim"},
    {.key = "mean"},
    {.key = "variance"},
    {.key = "exact_draws"},
    {.key = "parameters"},
};

static json_t *json_list(const double *values, size_t n)
{
    json_t *list = values ? json_array() : json_null();

    for (size_t i = 0; values && i < n; i++) {
        (void)json_array_append_new(list, config_real(values[i]));
    }
    return list;
}

/* facts NULL: the model exists only with data. */
static void add_model(struct result *result, const struct listed *model,
                      const struct facts *facts)
{
    const struct facts none = {0};
    const struct facts *f = facts ? facts : &none;

    result_text(result, "%s", model->component.name);
    if (facts) {
        result_text(result, "%zu d", f->dim);
    } else {
        result_text(result, "data");
    }
    result_text(result, "%s", model->component.doc);
    result_text(result, "%s%s%s%s", facts ? "" : "needs --data",
                f->mean ? "exact moments" : "",
                f->mean && f->has_draws ? ", " : "",
                f->has_draws ? "exact draws" : "");
    result_count(result, (int64_t)f->dim);
    result_json(result, json_list(f->mean, f->dim));
    result_json(result, json_list(f->variance, f->dim));
    result_flag(result, f->has_draws);
    result_json(result, json_params(model));
}

static void print_model_json(const struct listed *model,
                             const struct facts *facts)
{
    struct result result = {0};

    result_fields(&result, fields, sizeof fields / sizeof *fields);
    add_model(&result, model, facts);
    result_print_json(result_row(&result, 0));
    result_clear(&result);
}

static int list_models(bool is_json)
{
    struct listed model;
    struct result result = {0};
    int code = CLI_OK;

    result_fields(&result, fields, sizeof fields / sizeof *fields);
    for (size_t i = 0; !code && component_list_at(&model, "model", i); i++) {
        relmc_target *target = NULL;
        struct facts facts;

        if (model.extra) {
            add_model(&result, &model, NULL);
            continue;
        }
        if ((code = model_open_plain(&target, model.component.name,
                                     "relmc models"))) {
            break;
        }
        facts_take(&facts, target);
        add_model(&result, &model, &facts);
        facts_clear(&facts);
        relmc_target_destroy(target);
    }
    if (is_json && !code) {
        result_print_json(result_rows(&result));
    } else if (!code) {
        result_print(&result);
        (void)printf("\nrelmc models NAME shows the parameters of one.\n");
    }
    result_clear(&result);
    return code;
}

/* ---- one of them --------------------------------------------------------- */

static void print_moments(const struct facts *f, const relmc_target *target)
{
    enum { SHOWN = 5 };
    static const struct field moments[] = {
        {.head = "", .width = -6},
        {.head = "mean", .width = 12, .digits = 6},
        {.head = "sd", .width = 12, .digits = 6},
    };
    struct result result = {.lead = 2};

    if (!f->mean) {
        (void)printf("\nexact moments: none known\n");
        return;
    }
    (void)printf("\nexact moments:\n");
    result_fields(&result, moments, sizeof moments / sizeof *moments);
    for (size_t i = 0; i < f->dim && i < SHOWN; i++) {
        char name[CLI_NAME];

        relmc_target_coordinate_name(target, i, name, sizeof name);
        result_name(&result, name);
        result_real(&result, f->mean[i]);
        result_real(&result, sqrt(f->variance[i]));
    }
    result_print(&result);
    result_clear(&result);
    if (f->dim > SHOWN) {
        (void)printf("  ... %zu coordinates in all\n", f->dim);
    }
}

/* A model of librelmc-extra, which does not exist without data. */
static void show_extra(const struct listed *model, const char *spec,
                       bool is_json)
{
    if (is_json) {
        print_model_json(model, NULL);
        return;
    }
    (void)printf("%s - %s\n", model->component.name, model->component.doc);
    print_params(model);
    (void)printf("\nnext: relmc optimize %s --data FILE\n", spec);
}

static void show_built_in(const struct listed *model, const char *spec,
                          const relmc_target *target, bool is_json)
{
    struct facts facts;

    facts_take(&facts, target);
    if (is_json) {
        print_model_json(model, &facts);
    } else {
        (void)printf("%s - %s\n", model->component.name, model->component.doc);
        (void)printf("%zu dimension%s; exact draws: %s\n", facts.dim,
                     facts.dim == 1 ? "" : "s", facts.has_draws ? "yes" : "no");
        print_params(model);
        print_moments(&facts, target);
        (void)printf("\nnext: relmc sample %s\n", spec);
    }
    facts_clear(&facts);
}

/* The model that a spec names, one of librelmc-extra by its name alone. */
static bool find_model(struct listed *out, const char *spec)
{
    const char *name = spec_name("model", spec);
    size_t i = 0;

    while (component_list_at(out, "model", i) &&
           strcmp(out->component.name, name ? name : spec) != 0) {
        i++;
    }
    return component_list_at(out, "model", i);
}

static int show_model(const char *spec, bool is_json, const char *who)
{
    if (model_is_stan(spec)) {
        return cli_fail(CLI_USAGE, who,
                        "%s is a Stan model; these are the built-in ones "
                        "(relmc logp %s shows its parameters)",
                        spec, spec);
    }
    relmc_target *target = NULL;
    struct listed model;
    const bool is_found = find_model(&model, spec);

    if (is_found && model.extra) {
        show_extra(&model, spec, is_json);
        return CLI_OK;
    }
    const int code = model_open_plain(&target, spec, who);
    if (!code && is_found) {
        show_built_in(&model, spec, target, is_json);
    }
    relmc_target_destroy(target);
    return code;
}

static int run(struct opt_set *set)
{
    const bool is_json = opt_get(set, "json")->is_on;

    return set->argument ? show_model(set->argument, is_json, set->who)
                         : list_models(is_json);
}

const struct command cmd_models = {
    .name = "models",
    .argument = "[NAME]",
    .doc = "the built-in models; of one, its parameters and exact moments",
    .examples = "relmc models\n"
                "relmc models banana\n"
                "relmc models gaussian:dim=3,rho=0.5 --json\n",
    .options = options,
    .run = run,
};
