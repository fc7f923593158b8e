/* logp.c - relmc logp: prints log density, gradient and outputs at points. */
#include "job/model.h"
#include "report/result.h"
#include "tool/cli.h"
#include "tool/options.h"

#include <stdio.h>
#include <stdlib.h>

static const struct opt options[] = {
    {.name = "at",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "evaluate at the points of a JSON file, in unconstrained space: "
            "{\"x\": [1, 2]} or a list of these (default: the origin)"},
    {.name = "values",
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "Stan models: evaluate where the parameters have the values of a "
            "JSON file, {\"mu\": 1} or a list of these"},
    OPT_SEED(.fallback = "1",
             .doc = "random seed of transformed data and generated quantities"),
    OPT_JSON(.doc = "print JSON, with all digits"),
    DATA_OPTIONS,
    OPT_COMMON,
    {0},
};

/* A point, and the values there. */
struct value {
    const relmc_target *target;
    const double *x;
    double lp, *grad, *outputs;
    bool is_rejected;
    char why[sizeof((relmc_error *)0)->message];
};

static int evaluate(struct value *v, const struct opt_set *set)
{
    relmc_error err = {0};
    relmc_status status =
        relmc_target_eval(v->target, 1, v->x, &v->lp, v->grad, &err);

    v->is_rejected = status == RELMC_REJECT;
    if (v->is_rejected) {
        (void)snprintf(v->why, sizeof v->why, "%s", err.message);
        for (size_t i = 0; i < relmc_target_dim(v->target); i++) {
            v->grad[i] = CLI_NAN;
        }
        status = RELMC_OK;
    }
    if (!status) {
        status = relmc_target_outputs(v->target, opt_get(set, "seed")->count, 0,
                                      0, 1, v->x, v->outputs, &err);
    }
    return status ? cli_fail_status(set->who, status, &err) : CLI_OK;
}

/* ---- results ------------------------------------------------------------- */

typedef size_t name_fn(const relmc_target *, size_t, char *, size_t);

static void add_name(struct result *result, const relmc_target *target,
                     name_fn *name, size_t i)
{
    char text[CLI_NAME];

    (void)name(target, i, text, sizeof text);
    result_name(result, text);
}

static const struct field point_fields[] = {
    {.head = "", .width = -8},
    {.head = "x", .width = 14, .digits = 9, .undefined = "nan"},
    {.head = "gradient", .width = 14, .digits = 9, .undefined = "nan"},
};
static const struct field output_fields[] = {
    {.head = "", .width = -8},
    {.head = "output", .width = 14, .digits = 9, .undefined = "nan"},
};

static void take_point(struct result *point, struct result *outputs,
                       const struct value *v)
{
    *point = *outputs = (struct result){0};
    result_fields(point, point_fields, 3);
    result_fields(outputs, output_fields, 2);
    for (size_t i = 0; i < relmc_target_dim(v->target); i++) {
        add_name(point, v->target, relmc_target_coordinate_name, i);
        result_real(point, v->x[i]);
        result_real(point, v->grad[i]);
    }
    for (size_t i = 0; i < relmc_target_n_outputs(v->target); i++) {
        add_name(outputs, v->target, relmc_target_output_name, i);
        result_real(outputs, v->outputs[i]);
    }
}

static void print_point(const struct value *v, bool has_outputs)
{
    struct result point, outputs;

    take_point(&point, &outputs, v);
    (void)printf("lp  %.15g\n", v->lp);
    result_print(&point);
    if (has_outputs) {
        result_print(&outputs);
    }
    result_clear(&point);
    result_clear(&outputs);
}

static json_t *json_point(const struct value *v)
{
    struct result point, outputs;

    take_point(&point, &outputs, v);
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:s*}", "x", result_column(&point, 1), "lp",
        config_real(v->lp), "gradient", result_column(&point, 2), "outputs",
        result_column(&outputs, 1), "rejected", v->is_rejected ? v->why : NULL);
    result_clear(&point);
    result_clear(&outputs);
    return json;
}

static json_t *names(const relmc_target *target, name_fn *name, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        char text[CLI_NAME];

        (void)name(target, i, text, sizeof text);
        (void)json_array_append_new(list, json_string(text));
    }
    return list;
}

/* ---- the command --------------------------------------------------------- */

static int show(const struct opt_set *set, const relmc_target *target,
                const struct points *points)
{
    const size_t dim = relmc_target_dim(target);
    const size_t n = relmc_target_n_outputs(target);
    const bool is_json = opt_get(set, "json")->is_on;
    struct value v = {.target = target,
                      .grad = cli_alloc(dim, sizeof *v.grad),
                      .outputs = cli_alloc(n, sizeof *v.outputs)};
    json_t *all = json_array();
    int code = CLI_OK;

    for (size_t k = 0; k < points->n && !code; k++) {
        v.x = points->values + k * dim;
        code = evaluate(&v, set);
        if (code) {
            break;
        }
        if (is_json) {
            (void)json_array_append_new(all, json_point(&v));
            continue;
        }
        print_point(&v, model_is_stan(set->argument));
        if (v.is_rejected) {
            cli_warn(&(struct voice){0}, "%s", v.why);
        }
    }
    if (is_json && !code) {
        result_print_json(json_pack(
            "{s:s, s:o, s:o, s:O}", "model", set->argument, "coordinates",
            names(target, relmc_target_coordinate_name, dim), "outputs",
            names(target, relmc_target_output_name, n), "points", all));
    }
    json_decref(all);
    free(v.grad);
    free(v.outputs);
    return code;
}

static int find_points(struct points *out, const struct opt_set *set,
                       const relmc_target *target)
{
    const char *at = opt_get(set, "at")->text;
    const char *values = opt_get(set, "values")->text;

    if (at && values) {
        return cli_fail(CLI_USAGE, set->who,
                        "--at and --values exclude each other: give one of "
                        "them");
    }
    if (values) {
        return model_read_points(out, target, values, set->who);
    }
    if (at) {
        return init_points_read(out, at, relmc_target_dim(target), set->who);
    }
    out->n = 1;
    out->values = cli_alloc(relmc_target_dim(target), sizeof *out->values);
    return CLI_OK;
}

static int run(struct opt_set *set)
{
    const struct voice voice = {0};
    const struct model_source from = {
        .set = set, .seed = opt_get(set, "seed")->count, .voice = &voice};
    struct data_split data = {0};
    relmc_target *target = NULL;
    struct points points = {0};

    if (!set->argument) {
        return cli_fail(
            CLI_USAGE, set->who,
            "MODEL is missing: relmc logp MODEL (relmc models lists them)");
    }
    int code = model_open(&target, &data, &from);
    if (!code) {
        code = find_points(&points, set, target);
    }
    if (!code) {
        code = show(set, target, &points);
    }
    free(points.values);
    relmc_target_destroy(target);
    data_options_clear(&data);
    return code;
}

const struct command cmd_logp = {
    .name = "logp",
    .argument = "MODEL",
    .doc = "log density and gradient of a model at a point",
    .examples = "relmc logp banana --at point.json\n"
                "relmc logp model.stan --data data.json\n"
                "relmc logp model.so --data data.json --values start.json "
                "--json\n",
    .options = options,
    .run = run,
};
