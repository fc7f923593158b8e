/* summary.c - relmc summary: prints a summary table of the draws in files. */
#define _POSIX_C_SOURCE 200809L

#include "draws/draws.h"
#include "draws/overwrite_check.h"
#include "relmc_diag.h"
#include "relmc_format.h"
#include "report/summary_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt options[] = {
    OPT_JSON(.doc = "print JSON, with all digits"),
    {.name = "csv",
     .also = {"csv-filename"},
     .kind = OPT_TEXT,
     .value = "FILE",
     .doc = "also write the table to a CSV file"},
    DRAWS_OPT_INCLUDE,
    {.name = "percentiles",
     .letter = 'p',
     .kind = OPT_TEXT,
     .value = "LIST",
     .fallback = "5,50,95",
     .doc = "percentiles to show, from 0 to 100"},
    {.name = "sig-figs",
     .letter = 's',
     .kind = OPT_COUNT,
     .value = "N",
     .fallback = "3",
     .min = 1,
     .max = 18,
     .doc = "significant digits"},
    DRAWS_OPT_MEMORY,
    OPT_COMMON,
    {0},
};

struct job {
    const struct opt_set *set;
    struct draws draws;
    struct summary_table rows;
    bool has_failed;
};

static void take_row(void *ctx, size_t column, const relmc_series *series)
{
    struct job *job = ctx;
    relmc_summary s = RELMC_INIT(relmc_summary);

    if (relmc_summarise(&s, series, NULL)) {
        job->has_failed = true; /* there is no memory */
        return;
    }
    summary_table_add(&job->rows, draws_name(&job->draws, column), &s, series);
}

static int read_percents(struct job *job)
{
    const char *text = opt_get(job->set, "percentiles")->text;
    char *list = cli_text("%s", text);
    char *rest = NULL;
    int code = CLI_OK;

    for (char *word = strtok_r(list, ", ", &rest); word && !code;
         word = strtok_r(NULL, ", ", &rest)) {
        double *percent = &job->rows.percents[job->rows.n_percents];

        if (job->rows.n_percents == MAX_PERCENTILES) {
            code = cli_fail(CLI_USAGE, job->set->who,
                            "--percentiles: at most %d of them",
                            (int)MAX_PERCENTILES);
        } else if (!opt_parse_real(word, percent) || !(*percent >= 0.0) ||
                   !(*percent <= 100.0)) {
            code = cli_fail(CLI_USAGE, job->set->who,
                            "--percentiles: \"%s\" is not a number from 0 to "
                            "100",
                            word);
        } else {
            job->rows.n_percents++;
        }
    }
    free(list);
    return code;
}

/* ---- printing ------------------------------------------------------------ */

static void print_title(const struct job *job)
{
    const struct draws *d = &job->draws;
    char *model = draws_model(d);
    char *method = draws_method(d);
    const double warmup = draws_number(d, RELMC_KEY_WARMUP);
    const double thin = draws_number(d, RELMC_KEY_THIN);
    const double seconds = draws_seconds(d);

    (void)printf("Model %s, %s, %zu chain%s x %zu draws", model, method,
                 d->n_files, d->n_files == 1 ? "" : "s", d->n_each);
    if (!isnan(warmup) && !isnan(thin)) {
        (void)printf(" (warm-up %.0f, thin %.0f)", warmup, thin);
    }
    if (!isnan(seconds)) {
        (void)printf(", %.2g s sampling", seconds);
    }
    (void)printf("\n\n");
    free(method);
    free(model);
}

static json_t *json_files(const struct draws *draws)
{
    json_t *files = json_array();

    for (size_t k = 0; k < draws->n_files; k++) {
        (void)json_array_append_new(files, json_string(draws->files[k].path));
    }
    return files;
}

static void print_json(const struct job *job)
{
    const struct draws *d = &job->draws;
    char *model = draws_model(d);
    char *method = draws_method(d);
    result_print_json(json_pack(
        "{s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}",
        "relmc_version", CLI_VERSION, "model", model, "method", method, "files",
        json_files(d), "chains", (json_int_t)d->n_files, "draws",
        (json_int_t)d->n_files * (json_int_t)d->n_each, "draws_per_chain",
        (json_int_t)d->n_each, "warmup",
        config_real(draws_number(d, RELMC_KEY_WARMUP)), "thin",
        config_real(draws_number(d, RELMC_KEY_THIN)), "seconds_sampling",
        config_real(draws_seconds(d)), "sampler",
        summary_table_json(&job->rows, true), "parameters",
        summary_table_json(&job->rows, false)));
    free(method);
    free(model);
}

/* ---- the command --------------------------------------------------------- */

static int summarise(struct job *job)
{
    const struct opt_set *set = job->set;
    const char *csv = opt_get(set, "csv")->text;
    int code = draws_choose(&job->draws, opt_get(set, "include"),
                            opt_get(set, "memory"));

    if (code) {
        return code;
    }
    if ((code = draws_visit(&job->draws, take_row, job))) {
        return code;
    }
    if (job->has_failed) {
        return cli_fail(CLI_NUMERIC, job->set->who, "out of memory");
    }
    if (opt_get(set, "json")->is_on) {
        print_json(job);
    } else {
        print_title(job);
        summary_table_print(&job->rows, SIZE_MAX);
    }
    return csv ? result_write_csv(&job->rows.result, 1, csv, set->who,
                                  job->draws.voice)
               : CLI_OK;
}

static int run(struct opt_set *set)
{
    const struct voice voice = {
        .has_colour =
            cli_wants_colour(STDERR_FILENO, opt_get(set, "color")->text)};
    struct job job = {
        .set = set,
        .rows = {.figures = (int)opt_get(set, "sig-figs")->count},
    };
    int code = read_percents(&job);

    if (code || (code = overwrite_check_table(set, "csv"))) {
        return code;
    }
    code = draws_open(&job.draws, (const char *const *)set->arguments,
                      set->n_arguments, set, &voice);
    if (!code) {
        code = summarise(&job);
    }
    summary_table_clear(&job.rows);
    draws_clear(&job.draws);
    return code;
}

const struct command cmd_summary = {
    .name = "summary",
    .argument = "FILE...",
    .doc = "summary table of the draws in files",
    .examples = "relmc summary banana_*.csv\n"
                "relmc summary run_*.csv -i x -i b[2,3] -p 2.5,50,97.5\n"
                "relmc summary run_*.csv --json\n",
    .options = options,
    .run = run,
};
