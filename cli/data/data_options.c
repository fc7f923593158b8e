/* data_options.c - the options about data, and models on them. */
#define _POSIX_C_SOURCE 200809L

#include "data/data_options.h"

#include "data/dataset_prepare.h"
#include "relmc_diag.h"
#include "tool/spec.h"

#ifdef RELMC_HAS_EXTRA
#include "relmc_extra.h"
#endif

#include <stdio.h>
#include <string.h>

/* ---- data ----------------------------------------------------------------- */

/* Given, and not its default: config files spell out every option. */
static bool is_meant(const struct opt_set *set, const char *name)
{
    const struct opt *o = &set->command->options[opt_place(set, name)];
    const struct opt_value *v = opt_get(set, name);

    return opt_is_given(set, name) && (o->kind != OPT_FLAG || v->is_on) &&
           !(o->fallback && !strcmp(o->fallback, v->text));
}

/* Models whose responses are classes, even if the file has numbers. */
static bool wants_classes(const char *model)
{
    static const char *const names[] = {"logistic", "softmax", "mlp"};
    const size_t n = strcspn(model, ":");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == n && !strncmp(model, names[i], n)) {
            return true;
        }
    }
    return false;
}

static enum dataset_task task_of(const struct opt_set *set, const char *model)
{
    const char *text = opt_get(set, "task")->text;

    return !strcmp(text, "number")    ? DATASET_TASK_NUMBER
           : !strcmp(text, "classes") ? DATASET_TASK_CLASSES
           : wants_classes(model)     ? DATASET_TASK_CLASSES
                                      : DATASET_TASK_NUMBER;
}

static int scale(struct data_split *data, const struct opt_set *set)
{
    const bool is_flag = opt_get(set, "standardize")->is_on;
    const bool is_given = is_meant(set, "scale");
    const char *name = is_flag ? "sd" : opt_get(set, "scale")->text;
    struct dataset_scaling scaling;

    if (is_flag && is_given && strcmp(opt_get(set, "scale")->text, "sd") != 0) {
        return cli_fail(CLI_USAGE, set->who,
                        "--standardize and --scale %s exclude each other: give "
                        "one of them",
                        opt_get(set, "scale")->text);
    }
    if (!strcmp(name, "none")) {
        return CLI_OK;
    }
    const int code =
        dataset_scaling_learn(&scaling, &data->train, dataset_scale_named(name),
                              set->who, opt_get(set, "data")->text);
    if (code) {
        return code;
    }
    dataset_scaling_apply(&scaling, &data->train);
    if (data->has_test) {
        dataset_scaling_apply(&scaling, &data->test);
    }
    dataset_scaling_clear(&scaling);
    return CLI_OK;
}

static int read_test(struct data_split *data, const struct opt_set *set,
                     struct dataset_options options)
{
    const char *test = opt_get(set, "test")->text;
    double share = 0.0;
    int code;

    if (!test) {
        return CLI_OK;
    }
    if (opt_parse_real(test, &share)) {
        code = dataset_split(&data->train, &data->test, share,
                             opt_get(set, "split-seed")->count, set->who);
    } else {
        options.like = &data->train;
        options.labels = NULL;
        code = dataset_read(&data->test, set->who, test, &options);
    }
    data->has_test = !code;
    return code;
}

static relmc_data view(const struct dataset *set)
{
    return (relmc_data){
        .size = sizeof(relmc_data),
        .n_rows = set->n_rows,
        .n_columns = set->n_columns,
        .x = set->x,
        .x_float = set->x ? NULL : set->x_float,
        .y = set->y,
        .n_classes = set->n_classes,
    };
}

int data_options_check_unused(const struct opt_set *set, const char *why)
{
    static const char *const names[] = {
        "response",    "labels",    "test",    "split-seed", "scale",
        "standardize", "intercept", "classes", "task",       "header"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (is_meant(set, names[i])) {
            return cli_fail(CLI_USAGE, set->who, "--%s %s", names[i], why);
        }
    }
    return CLI_OK;
}

/* Is it a built-in model that needs no data? */
static bool needs_none(const char *model)
{
    relmc_component component;

    return spec_find("model", model, &component) &&
           !(component.flags & RELMC_TAKES_DATA);
}

int data_options_read(struct data_split *out, const struct opt_set *set,
                      const char *model)
{
    const char *source = opt_get(set, "data")->text;
    const char *header = opt_get(set, "header")->text;
    const struct dataset_options options = {
        .response = opt_get(set, "response")->text,
        .labels = opt_get(set, "labels")->text,
        .header = !strcmp(header, "yes")  ? DATASET_HEADER_YES
                  : !strcmp(header, "no") ? DATASET_HEADER_NO
                                          : DATASET_HEADER_AUTO,
        .task = task_of(set, model),
        .n_classes = (size_t)opt_get(set, "classes")->count,
    };
    int code;

    *out = (struct data_split){0};
    if (!source) {
        return data_options_check_unused(
            set, "is about data: give --data FILE, too");
    }
    if (needs_none(model)) {
        return cli_fail(CLI_USAGE, set->who,
                        "--data is for Stan programs and models on data; %s is "
                        "neither",
                        model);
    }
    if (opt_get(set, "intercept")->is_on &&
        spec_number("model", model, "intercept") > 0.0) {
        return cli_fail(CLI_USAGE, set->who,
                        "--intercept and intercept= in %s: give one of them",
                        model);
    }
    if ((code = dataset_read(&out->train, set->who, source, &options))) {
        return code;
    }
    out->has_data = true;
    if ((code = read_test(out, set, options)) || (code = scale(out, set))) {
        return code;
    }
    if (opt_get(set, "intercept")->is_on &&
        ((code = dataset_add_intercept(&out->train, set->who)) ||
         (out->has_test &&
          (code = dataset_add_intercept(&out->test, set->who))))) {
        return code;
    }
    out->for_training = view(&out->train);
    out->for_testing = view(&out->test);
    return CLI_OK;
}

void data_options_clear(struct data_split *data)
{
    if (data->has_data) {
        dataset_clear(&data->train);
    }
    if (data->has_test) {
        dataset_clear(&data->test);
    }
    *data = (struct data_split){0};
}

/* ---- models --------------------------------------------------------------- */

#ifdef RELMC_HAS_EXTRA
static const relmc_model_ops *extra_at(size_t i)
{
    return relmc_extra_model(i);
}
#else
static const relmc_model_ops *extra_at(size_t i)
{
    (void)i;
    return NULL;
}
#endif

const relmc_info *data_options_extra(size_t i)
{
    const relmc_model_ops *ops = extra_at(i);

    return ops ? &ops->info : NULL;
}

/* The model of librelmc-extra that a spec names, or NULL. */
static const relmc_model_ops *find_extra(const char *spec)
{
    const size_t n = strcspn(spec, ":");
    const relmc_model_ops *ops;

    for (size_t i = 0; (ops = extra_at(i)); i++) {
        if (strlen(ops->info.name) == n && !strncmp(ops->info.name, spec, n)) {
            break;
        }
    }
    return ops;
}

bool data_options_knows(const char *spec)
{
    return spec_name("model", spec) || find_extra(spec);
}

int data_options_open(relmc_target **out, const char *spec,
                      const struct data_split *data, const char *who)
{
    const relmc_data *rows = data->has_data ? &data->for_training : NULL;
    const relmc_model_ops *extra = find_extra(spec);
    relmc_error err = {0};
    const relmc_status status =
        extra ? relmc_target_open_ops(out, extra, spec, rows, &err)
              : relmc_target_open(out, spec, rows, &err);

    if (status) {
        (void)cli_fail_status(rows ? who : "relmc", status, &err);
        (void)fprintf(stderr, "  relmc models %.*s        its parameters\n",
                      (int)strcspn(spec, ":"), spec);
        return status == RELMC_ENOMEM ? CLI_NUMERIC : CLI_MODEL;
    }
    return CLI_OK;
}

int data_options_rows_kind(const char *how)
{
    static const struct {
        const char *name;
        int kind;
    } kinds[] = {{"epochs", RELMC_BATCH_EPOCHS},
                 {"fresh", RELMC_BATCH_FRESH},
                 {"replace", RELMC_BATCH_REPLACE}};

    for (size_t i = 0; how && i < sizeof kinds / sizeof *kinds; i++) {
        if (!strcmp(how, kinds[i].name)) {
            return kinds[i].kind;
        }
    }
    return RELMC_BATCH_AUTO; /* the library chooses */
}

int data_options_batches(relmc_options *out, const struct opt_set *set,
                         const relmc_target *target)
{
    const uint64_t rows = opt_get(set, "batch-size")->count;
    const size_t n_data = relmc_target_n_data(target);

    const bool is_shared = opt_get(set, "batch-shared")->is_on;
    const int kind = data_options_rows_kind(opt_get(set, "batch-rows")->text);

    if ((is_shared || kind) && !rows) {
        return cli_fail(CLI_USAGE, set->who,
                        "--%s is for minibatches: give --batch-size N, too",
                        kind ? "batch-rows" : "batch-shared");
    }
    if (rows > n_data) {
        return n_data ? cli_fail(CLI_USAGE, set->who,
                                 "--batch-size: there are %zu rows of data, "
                                 "not %llu",
                                 n_data, (unsigned long long)rows)
                      : cli_fail(CLI_USAGE, set->who,
                                 "--batch-size: the model has no data to take "
                                 "minibatches from (--data FILE)");
    }
    out->batch_rows = (uint32_t)rows;
    out->batch = kind;
    out->batch_is_shared = is_shared;
    return CLI_OK;
}
