/* gradcheck.c - relmc gradcheck: compares a gradient with finite
 * differences. */
#include "job/model.h"
#include "relmc_diag.h"
#include "report/result.h"
#include "tool/cli.h"
#include "tool/options.h"

#include <stdio.h>
#include <stdlib.h>

static const struct opt options[] = {
    {.name = "points",
     .kind = OPT_COUNT,
     .value = "K",
     .fallback = "10",
     .min = 1,
     .max = 1e6,
     .doc = "number of random points"},
    OPT_SEED(.fallback = "1", .doc = "random seed of the points"),
    {.name = "radius",
     .kind = OPT_REAL,
     .value = "R",
     .fallback = "2",
     .min = 1e-12,
     .max = 1e12,
     .doc = "random points are uniform in (-R, R)"},
    {.name = "at",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "check at the points of a JSON file instead: {\"x\": [1, 2]} or a "
            "list of these"},
    DATA_OPTIONS,
    OPT_COMMON,
    {0},
};

/* splitmix64 of Steele, Lea and Flood (2014): good enough to scatter points. */
static double uniform(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) * 0x1p-53;
}

/* A random point where the model has a density. */
static relmc_status draw_point(double *x, const relmc_target *target,
                               uint64_t *state, double radius,
                               relmc_gradient_report *out, relmc_error *err)
{
    enum { TRIES = 100 };
    const size_t dim = relmc_target_dim(target);
    relmc_status status = RELMC_REJECT;

    for (int t = 0; t < TRIES && status == RELMC_REJECT; t++) {
        for (size_t i = 0; i < dim; i++) {
            x[i] = radius * (2.0 * uniform(state) - 1.0);
        }
        status = relmc_gradient_check(out, target, x, err);
    }
    return status;
}

static const struct field fields[] = {
    {.head = "", .width = -4},
    {.head = "point", .width = 7},
    {.head = "worst", .width = -8},
    {.head = "analytic", .width = 15, .digits = 9, .undefined = "nan"},
    {.head = "numeric", .width = 15, .digits = 9, .undefined = "nan"},
    {.head = "error", .width = 9, FORM_SCIENCE, 1, .undefined = "nan"},
    {.head = "fuzz", .width = 9, FORM_SCIENCE, 1, .undefined = "nan"},
};

static void add_report(struct result *result, size_t k,
                       const relmc_gradient_report *r,
                       const relmc_target *target)
{
    char name[CLI_NAME];

    result_text(result, r->is_ok ? "ok" : "FAIL");
    result_count(result, (int64_t)k + 1);
    relmc_target_coordinate_name(target, r->worst, name, sizeof name);
    result_name(result, name);
    result_real(result, r->analytic);
    result_real(result, r->numeric);
    result_real(result, r->max_error);
    result_real(result, r->numeric_fuzz);
}

static int check(const struct opt_set *set, const relmc_target *target,
                 const struct points *given)
{
    const size_t dim = relmc_target_dim(target);
    const size_t n =
        given->n ? given->n : (size_t)opt_get(set, "points")->count;
    uint64_t state = opt_get(set, "seed")->count;
    double *x = cli_alloc(dim, sizeof *x);
    relmc_error err = {0};
    relmc_status status = RELMC_OK;
    size_t n_bad = 0;
    struct result result = {0};

    result_fields(&result, fields, sizeof fields / sizeof *fields);
    for (size_t k = 0; k < n && !status; k++) {
        relmc_gradient_report report = RELMC_INIT(relmc_gradient_report);

        status = given->n
                     ? relmc_gradient_check(&report, target,
                                            given->values + k * dim, &err)
                     : draw_point(x, target, &state,
                                  opt_get(set, "radius")->real, &report, &err);
        if (!status) {
            add_report(&result, k, &report, target);
            n_bad += !report.is_ok;
        }
    }
    free(x);
    result_print(&result);
    result_clear(&result);
    if (status) {
        (void)cli_fail_status(set->who, status, &err);
        return status == RELMC_REJECT ? CLI_MODEL : cli_code(status);
    }
    (void)printf("%zu of %zu points failed\n", n_bad, n);
    return n_bad ? CLI_CHECK : CLI_OK;
}

static int run(struct opt_set *set)
{
    const char *path = opt_get(set, "at")->text;
    const struct voice voice = {0};
    const struct model_source from = {
        .set = set, .seed = opt_get(set, "seed")->count, .voice = &voice};
    struct data_split data = {0};
    relmc_target *target = NULL;
    struct points given = {0};

    if (!set->argument) {
        return cli_fail(CLI_USAGE, set->who,
                        "MODEL is missing: relmc gradcheck MODEL (relmc models "
                        "lists them)");
    }
    int code = model_open(&target, &data, &from);
    if (!code && path) {
        code =
            init_points_read(&given, path, relmc_target_dim(target), set->who);
    }
    if (!code) {
        code = check(set, target, &given);
    }
    free(given.values);
    relmc_target_destroy(target);
    data_options_clear(&data);
    return code;
}

const struct command cmd_gradcheck = {
    .name = "gradcheck",
    .argument = "MODEL",
    .doc = "a model's gradient against finite differences",
    .examples = "relmc gradcheck banana\n"
                "relmc gradcheck funnel --points 100 --seed 7\n"
                "relmc gradcheck gaussian:dim=2 --at point.json\n"
                "relmc gradcheck model.stan --data data.json\n",
    .options = options,
    .run = run,
};
