/* predict.c - scores predictions on a data set, at one point or averaged over
 * draws. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_file.h"
#include "draws/column.h"
#include "draws/overwrite_check.h"
#include "job/model.h"
#include "report/prediction_score.h"
#include "report/result.h"
#include "tool/atomic_file.h"
#include "tool/cli.h"
#include "tool/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt options[] = {
    {.name = "at",
     .kind = OPT_TEXT,
     .value = "FILE",
     .is_list = true,
     .doc = "points to predict from: BASE_theta.npy of relmc optimize, or "
            "draws of relmc sample; may be repeated",
     .group = "Points:"},
    {.name = "thin",
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "1",
     .min = 1,
     .max = 1e9,
     .doc = "use every N-th draw"},
    DATA_OPTIONS,
    OPT_OUTPUT(.value = "FILE",
               .doc = "write the averaged predictions of all rows as CSV",
               .group = "Output:"),
    OPT_JSON(.doc = "print JSON"),
    OPT_COMMON,
    {0},
};

struct job {
    const struct opt_set *set;
    struct voice voice;
    bool has_warned; /* that the draws have other parameters */
    struct data_split data;
    const relmc_data *rows; /* that are predicted */
    relmc_target *target;
    size_t dim, seen, thin;
    struct prediction_score forecast;
};

/* ---- points -------------------------------------------------------------- */

static int add_points(struct job *job, const double *x, size_t n)
{
    relmc_error err = {0};

    for (size_t t = 0; t < n; t++) {
        if (job->seen++ % (job->thin ? job->thin : 1)) {
            continue;
        }
        const relmc_status status = prediction_score_add(
            &job->forecast, job->target, x + t * job->dim, &err);
        if (status) {
            (void)cli_fail_status(job->set->who, status, &err);
            return status == RELMC_EUNSUPP ? CLI_MODEL : cli_code(status);
        }
    }
    return CLI_OK;
}

static int wrong_dim(const struct job *job, const char *path, size_t n)
{
    return cli_fail(CLI_MODEL, job->set->who,
                    "%s: points of %zu numbers, %s has %zu on these data", path,
                    n, relmc_target_name(job->target), job->dim);
}

static int add_npy(struct job *job, const char *path)
{
    struct npy array;
    int code = npy_read(&array, path, job->set->who);

    if (code) {
        return code;
    }
    code = array.n_columns == job->dim
               ? add_points(job, array.values, array.n_rows)
               : wrong_dim(job, path, array.n_columns);
    free(array.values);
    return code;
}

/* Draws of another model are an error.  Other parameters, such as another
 * prior, may be intended: a warning. */
static int check_model(struct job *job, const struct chain_file *chain)
{
    const char *model = relmc_target_name(job->target);
    const char *found = chain_setting(chain, "relmc_model");
    const size_t n = strcspn(model, ":");

    if (!found || !strcmp(found, model)) {
        return CLI_OK;
    }
    if (strcspn(found, ":") != n || strncmp(found, model, n) != 0) {
        return cli_fail(CLI_MODEL, job->set->who,
                        "%s holds draws of %s, not of %.*s", chain->path, found,
                        (int)n, model);
    }
    if (!job->has_warned) {
        cli_warn(&job->voice, "%s holds draws of %s, not of %s", chain->path,
                 found, model);
    }
    job->has_warned = true;
    return CLI_OK;
}

/* The columns that are not the sampler's, of the k-th chain of a file. */
static int add_chain(struct job *job, const char *path, size_t k)
{
    char message[CHAIN_MESSAGE];
    struct chain_file chain = {0};
    int code = chain_open(&chain, path, k, message);

    if (code) {
        chain_clear(&chain);
        return cli_fail(code, job->set->who, "%s", message);
    }
    size_t *slots = cli_alloc(chain.n_columns, sizeof *slots), n = 0;
    for (size_t j = 0; j < chain.n_columns; j++) {
        slots[j] = column_is_sampler(chain.names[j]) ? CHAIN_SKIP : n++;
    }
    if (!(code = check_model(job, &chain)) && n != job->dim) {
        code = wrong_dim(job, path, n);
    }
    if (!code && (code = chain_read(&chain, slots, n, message))) {
        (void)cli_fail(code, job->set->who, "%s", message);
    }
    if (!code) {
        code = add_points(job, chain.values, chain.n_rows);
    }
    free(slots);
    chain_clear(&chain);
    return code;
}

static int add_draws(struct job *job, const char *path)
{
    char message[CHAIN_MESSAGE];
    size_t n = 0;
    int code = chain_count(path, &n, message);

    if (code) {
        return cli_fail(code, job->set->who, "%s", message);
    }
    for (size_t k = 0; k < n && !code; k++) {
        code = add_chain(job, path, k);
    }
    return code;
}

static int add_file(struct job *job, const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && !strcmp(dot, ".npy") ? add_npy(job, path)
                                       : add_draws(job, path);
}

/* ---- results ------------------------------------------------------------- */

/* Classes have an error and a calibration, numbers a root mean square. */
static const struct field class_fields[] = {
    {.head = "", .width = -10},
    {.key = "nll"},
    {.key = "error", .head = "error", .width = 10, .form = FORM_SHARE},
    {.key = "accuracy", .head = "accuracy", .width = 10, .form = FORM_SHARE},
    {.head = "NLL", .width = 10, .digits = 5},
    {"ece", "calibration error", NULL, 20, FORM_SHARE, 0, NULL},
};
static const struct field number_fields[] = {
    {.head = "", .width = -10},
    {.key = "nll"},
    {.key = "rmse", .head = "RMSE", .width = 10, .digits = 5},
    {.head = "NLL", .width = 10, .digits = 5},
};

static void add_score(struct result *result, const char *title,
                      struct score score, bool is_classes)
{
    result_text(result, "%s", title);
    result_real(result, score.nll);
    if (is_classes) {
        result_real(result, score.error);
        result_real(result, 1.0 - score.error);
        result_real(result, score.nll);
        result_real(result, score.ece);
    } else {
        result_real(result, score.rmse);
        result_real(result, score.nll);
    }
}

/* Scores of the averaged prediction, then mean scores of the single ones. */
static void take_scores(struct result *result, const struct job *job)
{
    const bool is_classes = job->rows->n_classes > 0;

    *result = (struct result){0};
    if (is_classes) {
        result_fields(result, class_fields, 6);
    } else {
        result_fields(result, number_fields, 4);
    }
    add_score(result, job->forecast.n == 1 ? "the point" : "the average",
              prediction_score_average(&job->forecast), is_classes);
    add_score(result, "a point, in the mean",
              prediction_score_mean(&job->forecast), is_classes);
}

static void print_scores(const struct job *job)
{
    const size_t n = job->forecast.n;
    struct result scores;

    take_scores(&scores, job);
    if (opt_get(job->set, "json")->is_on) {
        result_print_json(json_pack(
            "{s:s, s:I, s:I, s:o, s:o}", "model",
            relmc_target_name(job->target), "rows",
            (json_int_t)job->rows->n_rows, "points", (json_int_t)n, "average",
            result_row(&scores, 0), "mean_of_points", result_row(&scores, 1)));
    } else {
        (void)printf("%s, %zu rows, %zu point%s\n\n",
                     relmc_target_name(job->target), job->rows->n_rows, n,
                     n == 1 ? "" : "s");
        result_print_first(&scores, n == 1 ? 1 : 2);
    }
    result_clear(&scores);
}

static int write_rows(const struct job *job)
{
    const char *path = opt_get(job->set, "output")->text;
    const struct prediction_score *f = &job->forecast;
    struct atomic_file out = {0};
    const int code =
        path ? atomic_file_open(&out, job->set->who, path) : CLI_OK;

    if (!path || code || !out.file) {
        return code;
    }
    double *row = cli_alloc(f->width, sizeof *row);
    (void)fprintf(out.file, "y");
    for (size_t k = 0; k < f->width; k++) {
        if (job->rows->n_classes) {
            (void)fprintf(out.file, ",p.%zu", k);
        } else {
            (void)fprintf(out.file, ",%s", k ? "sd" : "mean");
        }
    }
    (void)fprintf(out.file, "\n");
    for (size_t r = 0; r < job->rows->n_rows; r++) {
        prediction_score_row(f, r, row);
        (void)fprintf(out.file, "%.17g", job->rows->y[r]);
        for (size_t k = 0; k < f->width; k++) {
            (void)fprintf(out.file, ",%.17g", row[k]);
        }
        (void)fprintf(out.file, "\n");
    }
    free(row);
    return atomic_file_close(&out);
}

/* ---- the command --------------------------------------------------------- */

static int prepare(struct job *job)
{
    const struct opt_set *set = job->set;
    int code;

    if (!set->argument) {
        return cli_fail(
            CLI_USAGE, set->who,
            "MODEL is missing: relmc predict MODEL --data FILE --at FILE");
    }
    if (!opt_get(set, "at")->n_items) {
        return cli_fail(
            CLI_USAGE, set->who,
            "predict needs --at FILE: theta.npy of relmc optimize, or "
            "draws of relmc sample");
    }
    if ((code = overwrite_check_table(set, "output"))) {
        return code;
    }
    const struct model_source from = {.set = set, .voice = &job->voice};
    if ((code = model_open(&job->target, &job->data, &from))) {
        return code;
    }
    if (!job->data.has_data) {
        return cli_fail(CLI_USAGE, set->who,
                        "predict needs --data FILE, the data the model was "
                        "fitted to; --test FILE names other rows to score");
    }
    job->dim = relmc_target_dim(job->target);
    job->thin = (size_t)opt_get(set, "thin")->count;
    job->rows =
        job->data.has_test ? &job->data.for_testing : &job->data.for_training;
    prediction_score_open(&job->forecast, job->rows);
    return CLI_OK;
}

static int predict(struct job *job)
{
    const struct opt_value *at = opt_get(job->set, "at");
    int code = CLI_OK;

    for (size_t i = 0; i < at->n_items && !code; i++) {
        code = add_file(job, at->items[i]);
    }
    if (!code && job->forecast.n == 0) {
        code = cli_fail(CLI_MODEL, job->set->who, "there are no draws in %s",
                        at->text);
    }
    if (code || (code = write_rows(job))) {
        return code;
    }
    print_scores(job);
    return CLI_OK;
}

static int run(struct opt_set *set)
{
    struct job job = {
        .set = set,
        .voice = {.has_colour = cli_wants_colour(STDERR_FILENO,
                                                 opt_get(set, "color")->text)},
        .thin = 1,
    };
    int code = prepare(&job);

    if (!code && job.rows) {
        code = predict(&job);
    }
    prediction_score_clear(&job.forecast);
    relmc_target_destroy(job.target);
    data_options_clear(&job.data);
    return code;
}

const struct command cmd_predict = {
    .name = "predict",
    .argument = "MODEL",
    .doc = "score predictions of a model on data, at points or over draws",
    .examples =
        "relmc predict logistic --data pima --test 0.25 --standardize \\\n"
        "    --at logistic_sgd_theta.npy\n"
        "relmc predict logistic --data train.csv --test test.csv \\\n"
        "    --at logistic_1.csv --at logistic_2.csv --json\n",
    .options = options,
    .run = run,
};
