/* summary_table.c - a summary: a row for each column of the draws, as a table, CSV or
 * JSON. */
#define _POSIX_C_SOURCE 200809L

#include "report/summary_table.h"
#include "relmc_diag.h"
#include "relmc_format.h"

#include "draws/column.h"
#include "tool/config.h"
#include "tool/text_table.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------- */

/* What is said of the sampler's own columns; of parameters, everything. */
static const struct sense {
    const char *name;
    bool has_mcse, has_mad, has_ess;
} senses[] = {
    {RELMC_COLUMN_LP, true, true, true},
    {RELMC_COLUMN_ENERGY, true, true, true},
    {RELMC_COLUMN_STEP_SIZE, false, false, false},
    {RELMC_COLUMN_DIVERGENT, false, true, false},
    {NULL, true, true, false}, /* all others */
};

static const struct sense *sense_of(const char *name)
{
    static const struct sense all = {NULL, true, true, true};
    const struct sense *s = senses;

    while (s->name && strcmp(s->name, name) != 0) {
        s++;
    }
    return column_is_sampler(name) ? s : &all;
}

/* The percentiles that every summary has cost nothing more. */
static void take_percentiles(const struct rows *rows, struct row *row,
                             const relmc_summary *s, const relmc_series *series)
{
    const struct {
        double percent, value;
    } known[] = {{5.0, s->q5}, {50.0, s->median}, {95.0, s->q95}};

    for (size_t i = 0; i < rows->n_percents; i++) {
        const double p = 0.01 * rows->percents[i];
        relmc_quantile quantile = {.value = CLI_NAN};
        bool is_known = false;

        for (size_t j = 0; j < sizeof known / sizeof *known; j++) {
            if (rows->percents[i] == known[j].percent) {
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

static struct row *new_row(struct rows *rows, const char *name)
{
    if (rows->n == rows->room) {
        rows->room = 2 * rows->room + 16;
        struct row *list = cli_alloc(rows->room, sizeof *list);

        if (rows->n) {
            memcpy(list, rows->list, rows->n * sizeof *list);
        }
        free(rows->list);
        rows->list = list;
    }
    struct row *row = &rows->list[rows->n++];

    *row = (struct row){.name = column_pretty(name),
                        .is_sampler = column_is_sampler(name),
                        .percentiles = cli_alloc(rows->n_percents + 1,
                                                 sizeof *row->percentiles)};
    return row;
}

void rows_add(struct rows *rows, const char *name, const relmc_summary *s,
              const relmc_series *series)
{
    const struct sense *sense = sense_of(name);
    struct row *row = new_row(rows, name);

    take_percentiles(rows, row, s, series);
    row->mean = s->mean;
    row->sd = s->sd;
    row->mcse = sense->has_mcse ? s->mcse_mean : CLI_NAN;
    row->mad = sense->has_mad ? s->mad : CLI_NAN;
    row->ess_bulk = sense->has_ess ? s->ess_bulk : CLI_NAN;
    row->ess_tail = sense->has_ess ? s->ess_tail : CLI_NAN;
    row->rhat = sense->has_ess ? s->rhat : CLI_NAN;
}

/* What they cannot tell is left open: MAD, and effective sizes of the tails. */
void rows_add_running(struct rows *rows, const char *name,
                      const relmc_online *online, const double *quantiles)
{
    struct row *row = new_row(rows, name);

    row->mean = online->mean;
    row->sd = online->sd;
    row->mcse = online->mcse_mean;
    row->mad = CLI_NAN;
    row->ess_bulk = online->ess;
    row->ess_tail = CLI_NAN;
    row->rhat = online->rhat;
    memcpy(row->percentiles, quantiles,
           rows->n_percents * sizeof *row->percentiles);
}

void rows_clear(struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        free(rows->list[i].name);
        free(rows->list[i].percentiles);
    }
    free(rows->list);
    rows->list = NULL;
    rows->n = rows->room = 0;
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

static void add_heads(struct table *table, const struct rows *rows)
{
    table_add(table, "%s", "");
    for (size_t i = 0; i < N_FIRST; i++) {
        table_add(table, "%s", first_heads[i]);
    }
    for (size_t i = 0; i < rows->n_percents; i++) {
        table_add(table, "%g%%", rows->percents[i]);
    }
    for (size_t i = 0; i < N_LAST; i++) {
        table_add(table, "%s", last_heads[i]);
    }
}

static void add_row(struct table *table, const struct rows *rows,
                    const struct row *row)
{
    const int figures = rows->figures;
    double first[N_FIRST];

    table_add(table, "%s", row->name);
    fill_first(first, row);
    for (size_t i = 0; i < N_FIRST; i++) {
        add_number(table, first[i], figures);
    }
    for (size_t i = 0; i < rows->n_percents; i++) {
        add_number(table, row->percentiles[i], figures);
    }
    add_count(table, row->ess_bulk);
    add_count(table, row->ess_tail);
    add_number(table, row->rhat, figures > 3 ? figures : 3);
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

void rows_print(const struct rows *rows, size_t limit)
{
    const size_t n_columns = 1 + N_FIRST + rows->n_percents + N_LAST;
    int *widths = cli_alloc(n_columns, sizeof *widths);
    struct table parts[2]; /* the sampler's columns and the parameters */
    size_t n[2] = {0};

    table_init(&parts[0], n_columns);
    table_init(&parts[1], n_columns);
    add_heads(&parts[0], rows);
    for (size_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->list[i];
        const size_t part = row->is_sampler ? 0 : 1;

        if (n[part]++ < limit) {
            add_row(&parts[part], rows, row);
        }
    }
    widen(widths, &parts[0]);
    widen(widths, &parts[1]);
    table_print(&parts[0], widths);
    if (n[0] > 0 && n[1] > 0) {
        (void)putchar('\n');
    }
    table_print(&parts[1], widths);
    if (n[1] > limit) {
        (void)printf("... and %zu more (--json prints them all)\n",
                     n[1] - limit);
    }
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

void rows_write_csv(const struct rows *rows, FILE *file)
{
    (void)fprintf(file, "name,Mean,MCSE,StdDev,MAD");
    for (size_t i = 0; i < rows->n_percents; i++) {
        (void)fprintf(file, ",%g%%", rows->percents[i]);
    }
    (void)fprintf(file, ",ESS_bulk,ESS_tail,R_hat\n");
    for (size_t r = 0; r < rows->n; r++) {
        const struct row *row = &rows->list[r];
        double first[N_FIRST];

        (void)fprintf(file, "\"%s\"", row->name);
        fill_first(first, row);
        for (size_t i = 0; i < N_FIRST; i++) {
            put_value(file, first[i]);
        }
        for (size_t i = 0; i < rows->n_percents; i++) {
            put_value(file, row->percentiles[i]);
        }
        put_value(file, row->ess_bulk);
        put_value(file, row->ess_tail);
        put_value(file, row->rhat);
        (void)fputc('\n', file);
    }
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *json_row(const struct rows *rows, const struct row *row)
{
    json_t *out =
        json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", row->name, "mean",
                  config_real(row->mean), "mcse_mean", config_real(row->mcse),
                  "sd", config_real(row->sd), "mad", config_real(row->mad));

    for (size_t i = 0; out && i < rows->n_percents; i++) {
        char key[40];

        (void)snprintf(key, sizeof key, "q%g", rows->percents[i]);
        (void)json_object_set_new(out, key, config_real(row->percentiles[i]));
    }
    if (out) {
        (void)json_object_set_new(out, "ess_bulk", config_real(row->ess_bulk));
        (void)json_object_set_new(out, "ess_tail", config_real(row->ess_tail));
        (void)json_object_set_new(out, "rhat", config_real(row->rhat));
    }
    return out;
}

json_t *rows_json(const struct rows *rows, bool is_sampler)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rows->n; i++) {
        if (rows->list[i].is_sampler == is_sampler) {
            (void)json_array_append_new(list, json_row(rows, &rows->list[i]));
        }
    }
    return list;
}
