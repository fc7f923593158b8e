/* summary_command.c - relmc summary: a table of what the draws in files say. */
#define _POSIX_C_SOURCE 200809L

#include "config.h"
#include "draws.h"
#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { Y_JSON, Y_CSV, Y_INCLUDE, Y_PERCENTILES, Y_FIGURES, Y_MEMORY, Y_COLOR };

static const struct opt options[] = {
    [Y_JSON] = {.name = "json",
                .kind = OPT_FLAG,
                .doc = "as JSON, with all digits"},
    [Y_CSV] = {.name = "csv",
               .also = {"csv-filename"},
               .kind = OPT_TEXT,
               .value = "FILE",
               .doc = "write the table to a CSV file, too"},
    [Y_INCLUDE] = DRAWS_OPT_INCLUDE,
    [Y_PERCENTILES] = {.name = "percentiles",
                       .letter = 'p',
                       .kind = OPT_TEXT,
                       .value = "LIST",
                       .fallback = "5,50,95",
                       .doc = "which percentiles, from 0 to 100"},
    [Y_FIGURES] = {.name = "sig-figs",
                   .letter = 's',
                   .kind = OPT_COUNT,
                   .value = "N",
                   .fallback = "3",
                   .min = 1,
                   .max = 18,
                   .doc = "significant figures"},
    [Y_MEMORY] = DRAWS_OPT_MEMORY,
    OPT_COMMON,
    {0},
};

enum { MAX_PERCENTILES = 50 };

/* Of one column; NaN where a number makes no sense. */
struct row {
    size_t column;
    double mean, mcse, sd, mad, ess_bulk, ess_tail, rhat;
    double *percentiles;
};

struct job {
    const struct opt_set *set;
    struct draws draws;
    double percents[MAX_PERCENTILES];
    size_t n_percents;
    struct row *rows; /* in the order of draws.chosen */
    size_t n_rows;
    bool has_failed;
};

/* ---- numbers ------------------------------------------------------------- */

/* What is said of the sampler's own columns; of parameters, everything. */
static const struct sense {
    const char *name;
    bool has_mcse, has_mad, has_ess;
} senses[] = {
    {"lp__", true, true, true},          {"energy__", true, true, true},
    {"stepsize__", false, false, false}, {"divergent__", false, true, false},
    {NULL, true, true, false}, /* all others */
};

static const struct sense *sense_of(const char *name)
{
    static const struct sense all = {NULL, true, true, true};
    const struct sense *s = senses;

    while (s->name && strcmp(s->name, name) != 0) {
        s++;
    }
    return stan_csv_is_sampler(name) ? s : &all;
}

/* The percentiles that every summary has cost nothing more. */
static void take_percentiles(const struct job *job, struct row *row,
                             const relmc_summary *s, const relmc_series *series)
{
    const struct {
        double percent, value;
    } known[] = {{5.0, s->q5}, {50.0, s->median}, {95.0, s->q95}};

    for (size_t i = 0; i < job->n_percents; i++) {
        const double p = 0.01 * job->percents[i];
        relmc_quantile quantile = {.value = CLI_NAN};
        bool is_known = false;

        for (size_t j = 0; j < sizeof known / sizeof *known; j++) {
            if (job->percents[i] == known[j].percent) {
                quantile.value = known[j].value;
                is_known = true;
            }
        }
        if (!is_known) {
            (void)relmc_quantiles(&quantile, series, 1, &p, NULL);
        }
        row->percentiles[i] = quantile.value;
    }
}

static void take_row(void *ctx, size_t column, const relmc_series *series)
{
    struct job *job = ctx;
    struct row *row = &job->rows[job->n_rows++];
    const struct sense *sense = sense_of(draws_name(&job->draws, column));
    relmc_summary s;

    *row = (struct row){.column = column,
                        .percentiles = cli_alloc(job->n_percents + 1,
                                                 sizeof *row->percentiles)};
    if (relmc_summarise(&s, series, NULL)) {
        job->has_failed = true; /* there is no memory */
        return;
    }
    take_percentiles(job, row, &s, series);
    row->mean = s.mean;
    row->sd = s.sd;
    row->mcse = sense->has_mcse ? s.mcse_mean : CLI_NAN;
    row->mad = sense->has_mad ? s.mad : CLI_NAN;
    row->ess_bulk = sense->has_ess ? s.ess_bulk : CLI_NAN;
    row->ess_tail = sense->has_ess ? s.ess_tail : CLI_NAN;
    row->rhat = sense->has_ess ? s.rhat : CLI_NAN;
}

static int read_percents(struct job *job)
{
    const char *text = job->set->values[Y_PERCENTILES].text;
    char *list = cli_text("%s", text);
    char *rest = NULL;
    int code = CLI_OK;

    for (char *word = strtok_r(list, ", ", &rest); word && !code;
         word = strtok_r(NULL, ", ", &rest)) {
        double *percent = &job->percents[job->n_percents];

        if (job->n_percents == MAX_PERCENTILES) {
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
            job->n_percents++;
        }
    }
    free(list);
    return code;
}

/* ---- the table ----------------------------------------------------------- */

static const char *const first_heads[] = {"Mean", "MCSE", "StdDev", "MAD"};
static const char *const last_heads[] = {"ESS_bulk", "ESS_tail", "R_hat"};
enum { N_FIRST = 4, N_LAST = 3 };

static void fill_first(double out[N_FIRST], const struct row *row)
{
    out[0] = row->mean;
    out[1] = row->mcse;
    out[2] = row->sd;
    out[3] = row->mad;
}

/* Plain notation for numbers of ordinary size, all with as many figures. */
static void add_number(struct table *table, double value, int figures)
{
    char text[64];
    int exponent = 0;

    (void)snprintf(text, sizeof text, "%.*e", figures - 1, value);
    const char *e = strchr(text, 'e');
    if (e) {
        exponent = (int)strtol(e + 1, NULL, 10);
    }
    if (!isfinite(value)) {
        table_add(table, "%s",
                  isnan(value)  ? "-"
                  : value < 0.0 ? "-inf"
                                : "inf");
    } else if (value == 0.0) {
        table_add(table, "0");
    } else if (exponent < -4 || exponent > (figures > 7 ? figures : 7)) {
        table_add(table, "%s", text);
    } else {
        table_add(table, "%.*f",
                  figures - 1 > exponent ? figures - 1 - exponent : 0, value);
    }
}

static void add_count(struct table *table, double value)
{
    if (isfinite(value)) {
        table_add(table, "%.0f", value);
    } else {
        table_add(table, "-");
    }
}

static void add_heads(struct table *table, const struct job *job)
{
    table_add(table, "%s", "");
    for (size_t i = 0; i < N_FIRST; i++) {
        table_add(table, "%s", first_heads[i]);
    }
    for (size_t i = 0; i < job->n_percents; i++) {
        table_add(table, "%g%%", job->percents[i]);
    }
    for (size_t i = 0; i < N_LAST; i++) {
        table_add(table, "%s", last_heads[i]);
    }
}

static void add_row(struct table *table, const struct job *job,
                    const struct row *row)
{
    const int figures = (int)job->set->values[Y_FIGURES].count;
    char *name = stan_csv_pretty(draws_name(&job->draws, row->column));
    double first[N_FIRST];

    table_add(table, "%s", name);
    fill_first(first, row);
    for (size_t i = 0; i < N_FIRST; i++) {
        add_number(table, first[i], figures);
    }
    for (size_t i = 0; i < job->n_percents; i++) {
        add_number(table, row->percentiles[i], figures);
    }
    add_count(table, row->ess_bulk);
    add_count(table, row->ess_tail);
    add_number(table, row->rhat, figures > 3 ? figures : 3);
    free(name);
}

/* Two tables below each other have the same columns. */
static void widen(int *widths, const struct table *table)
{
    enum { GAP = 2 };

    for (size_t i = 0; i < table->n_cells; i++) {
        const size_t j = i % table->n_columns;
        const int n = (int)strlen(table->cells[i]) + (j ? GAP : 0);

        if (j == 0) {
            widths[0] = -n < widths[0] ? -n : widths[0];
        } else {
            widths[j] = n > widths[j] ? n : widths[j];
        }
    }
}

static void print_title(const struct job *job)
{
    const struct draws *d = &job->draws;
    char *model = draws_model(d);
    char *method = draws_method(d);
    const double warmup = draws_number(d, "num_warmup");
    const double thin = draws_number(d, "thin");
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

static void print_table(const struct job *job)
{
    const size_t n_columns = 1 + N_FIRST + job->n_percents + N_LAST;
    int *widths = cli_alloc(n_columns, sizeof *widths);
    struct table parts[2]; /* the sampler's columns and the parameters */

    print_title(job);
    table_init(&parts[0], n_columns);
    table_init(&parts[1], n_columns);
    add_heads(&parts[0], job);
    for (size_t i = 0; i < job->n_rows; i++) {
        const struct row *row = &job->rows[i];

        add_row(&parts[!draws_is_sampler(&job->draws, row->column)], job, row);
    }
    widen(widths, &parts[0]);
    widen(widths, &parts[1]);
    table_print(&parts[0], widths);
    if (parts[0].n_cells > n_columns && parts[1].n_cells > 0) {
        (void)putchar('\n');
    }
    table_print(&parts[1], widths);
    table_clear(&parts[0]);
    table_clear(&parts[1]);
    free(widths);
}

/* ---- CSV ----------------------------------------------------------------- */

static void put_value(FILE *file, double value)
{
    if (isnan(value)) {
        (void)fputs(",NaN", file);
    } else {
        (void)fprintf(file, ",%.10g", value);
    }
}

static int write_csv(const struct job *job, const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file) {
        return cli_fail(CLI_IO, job->set->who, "cannot write %s: %s", path,
                        strerror(errno));
    }
    (void)fprintf(file, "name,Mean,MCSE,StdDev,MAD");
    for (size_t i = 0; i < job->n_percents; i++) {
        (void)fprintf(file, ",%g%%", job->percents[i]);
    }
    (void)fprintf(file, ",ESS_bulk,ESS_tail,R_hat\n");
    for (size_t r = 0; r < job->n_rows; r++) {
        const struct row *row = &job->rows[r];
        char *name = stan_csv_pretty(draws_name(&job->draws, row->column));
        double first[N_FIRST];

        (void)fprintf(file, "\"%s\"", name);
        fill_first(first, row);
        for (size_t i = 0; i < N_FIRST; i++) {
            put_value(file, first[i]);
        }
        for (size_t i = 0; i < job->n_percents; i++) {
            put_value(file, row->percentiles[i]);
        }
        put_value(file, row->ess_bulk);
        put_value(file, row->ess_tail);
        put_value(file, row->rhat);
        (void)fputc('\n', file);
        free(name);
    }
    const bool has_failed = ferror(file);
    if (fclose(file) || has_failed) {
        return cli_fail(CLI_IO, job->set->who, "cannot write %s: %s", path,
                        strerror(errno ? errno : EIO));
    }
    cli_say(job->draws.voice, "wrote %s", path);
    return CLI_OK;
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *json_row(const struct job *job, const struct row *row)
{
    char *name = stan_csv_pretty(draws_name(&job->draws, row->column));
    json_t *out =
        json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", name, "mean",
                  config_real(row->mean), "mcse_mean", config_real(row->mcse),
                  "sd", config_real(row->sd), "mad", config_real(row->mad));

    for (size_t i = 0; out && i < job->n_percents; i++) {
        char key[40];

        (void)snprintf(key, sizeof key, "q%g", job->percents[i]);
        (void)json_object_set_new(out, key, config_real(row->percentiles[i]));
    }
    if (out) {
        (void)json_object_set_new(out, "ess_bulk", config_real(row->ess_bulk));
        (void)json_object_set_new(out, "ess_tail", config_real(row->ess_tail));
        (void)json_object_set_new(out, "rhat", config_real(row->rhat));
    }
    free(name);
    return out;
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
    json_t *parts[] = {json_array(), json_array()};

    for (size_t i = 0; i < job->n_rows; i++) {
        const struct row *row = &job->rows[i];

        (void)json_array_append_new(parts[!draws_is_sampler(d, row->column)],
                                    json_row(job, row));
    }
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}",
        "relmc_version", relmc_version(), "model", model, "method", method,
        "files", json_files(d), "chains", (json_int_t)d->n_files, "draws",
        (json_int_t)d->n_files * (json_int_t)d->n_each, "draws_per_chain",
        (json_int_t)d->n_each, "warmup",
        config_real(draws_number(d, "num_warmup")), "thin",
        config_real(draws_number(d, "thin")), "seconds_sampling",
        config_real(draws_seconds(d)), "sampler", parts[0], "parameters",
        parts[1]);
    char *text = config_print(root);

    (void)printf("%s\n", text);
    free(text);
    json_decref(root);
    free(method);
    free(model);
}

/* ---- the command --------------------------------------------------------- */

static int summarise(struct job *job)
{
    const struct opt_value *values = job->set->values;
    int code = draws_choose(&job->draws, &values[Y_INCLUDE], &values[Y_MEMORY]);

    if (code) {
        return code;
    }
    job->rows = cli_alloc(job->draws.n_chosen, sizeof *job->rows);
    if ((code = draws_visit(&job->draws, take_row, job))) {
        return code;
    }
    if (job->has_failed) {
        return cli_fail(CLI_NUMERIC, job->set->who, "out of memory");
    }
    if (values[Y_JSON].is_on) {
        print_json(job);
    } else {
        print_table(job);
    }
    return values[Y_CSV].text ? write_csv(job, values[Y_CSV].text) : CLI_OK;
}

static int run(struct opt_set *set)
{
    const struct voice voice = {.has_colour = cli_wants_colour(
                                    STDERR_FILENO, set->values[Y_COLOR].text)};
    struct job job = {.set = set};
    int code = read_percents(&job);

    if (code) {
        return code;
    }
    code = draws_open(&job.draws, (const char *const *)set->arguments,
                      set->n_arguments, set, &voice);
    if (!code) {
        code = summarise(&job);
    }
    for (size_t i = 0; i < job.n_rows; i++) {
        free(job.rows[i].percentiles);
    }
    free(job.rows);
    draws_clear(&job.draws);
    return code;
}

const struct command cmd_summary = {
    .name = "summary",
    .argument = "FILE...",
    .doc = "a table of what the draws in files say",
    .examples = "relmc summary banana_*.csv\n"
                "relmc summary run_*.csv -i x -i b[2,3] -p 2.5,50,97.5\n"
                "relmc summary run_*.csv --json\n",
    .options = options,
    .run = run,
};
