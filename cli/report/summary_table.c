/* summary_table.c - the rows of a summary, one for each column of the draws. */
#define _POSIX_C_SOURCE 200809L

#include "report/summary_table.h"
#include "relmc_diag.h"
#include "relmc_format.h"

#include "draws/column.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------- */

/* The numbers that make sense for a column of the sampler; for a parameter, all
 * do. */
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

/* ---- rows ---------------------------------------------------------------- */

static const struct field first_fields[] = {
    {.key = "name", .head = "", .csv = "name", .width = -1},
    {.key = "mean", .head = "Mean", .csv = "Mean"},
    {.key = "mcse_mean", .head = "MCSE", .csv = "MCSE"},
    {.key = "sd", .head = "StdDev", .csv = "StdDev"},
    {.key = "mad", .head = "MAD", .csv = "MAD"},
};
static const struct field ess_fields[] = {
    {"ess_bulk", "ESS_bulk", "ESS_bulk", 1, FORM_FIXED, 0, NULL},
    {"ess_tail", "ESS_tail", "ESS_tail", 1, FORM_FIXED, 0, NULL},
};

static void add_field(struct summary_table *table, struct field field,
                      int least)
{
    field.width = field.width ? field.width : 1;
    field.form = FORM_FIGURES;
    field.digits = table->figures > least ? table->figures : least;
    result_field(&table->result, field);
}

static void make_fields(struct summary_table *table)
{
    struct result *r = &table->result;

    for (size_t i = 0; i < sizeof first_fields / sizeof *first_fields; i++) {
        add_field(table, first_fields[i], 1);
    }
    for (size_t i = 0; i < table->n_percents; i++) {
        const char *head = result_keep(r, "%g%%", table->percents[i]);
        const char *key = result_keep(r, "q%g", table->percents[i]);

        add_field(table, (struct field){.key = key, .head = head, .csv = head},
                  1);
    }
    result_fields(r, ess_fields, sizeof ess_fields / sizeof *ess_fields);
    add_field(table,
              (struct field){.key = "rhat", .head = "R_hat", .csv = "R_hat"},
              3);
}

static void begin_row(struct summary_table *table, const char *name)
{
    if (table->n++ == 0) {
        make_fields(table);
    }
    result_name(&table->result, name);
}

/* The summary has three of the percentiles already. */
static void add_percentiles(struct summary_table *table, const relmc_summary *s,
                            const relmc_series *series)
{
    const struct {
        double percent, value;
    } known[] = {{5.0, s->q5}, {50.0, s->median}, {95.0, s->q95}};

    for (size_t i = 0; i < table->n_percents; i++) {
        const double p = 0.01 * table->percents[i];
        relmc_quantile quantile = {.value = CLI_NAN};
        bool is_known = false;

        for (size_t j = 0; j < sizeof known / sizeof *known; j++) {
            if (table->percents[i] == known[j].percent) {
                quantile.value = known[j].value;
                is_known = true;
            }
        }
        if (!is_known) {
            (void)relmc_quantiles(&quantile, series, 1, &p, NULL);
        }
        result_real(&table->result, quantile.value);
    }
}

void summary_table_add(struct summary_table *table, const char *name,
                       const relmc_summary *s, const relmc_series *series)
{
    const struct sense *sense = sense_of(name);
    struct result *r = &table->result;

    begin_row(table, name);
    result_real(r, s->mean);
    result_real(r, sense->has_mcse ? s->mcse_mean : CLI_NAN);
    result_real(r, s->sd);
    result_real(r, sense->has_mad ? s->mad : CLI_NAN);
    add_percentiles(table, s, series);
    result_real(r, sense->has_ess ? s->ess_bulk : CLI_NAN);
    result_real(r, sense->has_ess ? s->ess_tail : CLI_NAN);
    result_real(r, sense->has_ess ? s->rhat : CLI_NAN);
}

/* They have no MAD, and no effective sizes of the tails. */
void summary_table_add_running(struct summary_table *table, const char *name,
                               const relmc_online *online,
                               const double *quantiles)
{
    struct result *r = &table->result;

    begin_row(table, name);
    result_real(r, online->mean);
    result_real(r, online->mcse_mean);
    result_real(r, online->sd);
    result_real(r, CLI_NAN);
    for (size_t i = 0; i < table->n_percents; i++) {
        result_real(r, quantiles[i]);
    }
    result_real(r, online->ess);
    result_real(r, CLI_NAN);
    result_real(r, online->rhat);
}

void summary_table_clear(struct summary_table *table)
{
    result_clear(&table->result);
    table->n = 0;
}

/* ---- printing ------------------------------------------------------------ */

/* Which rows are the sampler's, or are not; their number. */
static size_t choose(size_t *out, const struct summary_table *table,
                     bool is_sampler)
{
    size_t n = 0;

    for (size_t i = 0; i < table->n; i++) {
        if (column_is_sampler(result_text_at(&table->result, i, 0)) ==
            is_sampler) {
            out[n++] = i;
        }
    }
    return n;
}

/* The sampler's rows come first, then an empty line. */
void summary_table_print(const struct summary_table *table, size_t limit)
{
    struct result view = table->result;
    size_t *shown = cli_alloc(table->n, sizeof *shown);
    size_t n_sampler = choose(shown, table, true);

    n_sampler = n_sampler < limit ? n_sampler : limit;
    const size_t n = choose(shown + n_sampler, table, false);
    view.gap_at = n_sampler;
    result_print_rows(&view, shown, n_sampler + (n < limit ? n : limit));
    if (n > limit) {
        (void)printf("... and %zu more (--json prints them all)\n", n - limit);
    }
    free(shown);
}

json_t *summary_table_json(const struct summary_table *table, bool is_sampler)
{
    size_t *chosen = cli_alloc(table->n, sizeof *chosen);
    const size_t n = choose(chosen, table, is_sampler);
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        (void)json_array_append_new(list,
                                    result_row(&table->result, chosen[i]));
    }
    free(chosen);
    return list;
}
