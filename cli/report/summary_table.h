/* summary_table.h - the rows of a summary, one for each column of the draws. */
#ifndef RELMC_CLI_SUMMARY_TABLE_H
#define RELMC_CLI_SUMMARY_TABLE_H

#include "relmc_diag.h"
#include "report/result.h"

enum { MAX_PERCENTILES = 50 };

/* Percentiles and figures are the caller's to set, before the first row. */
struct summary_table {
    double percents[MAX_PERCENTILES];
    size_t n_percents;
    int figures; /* significant ones, in the table */
    struct result result;
    size_t n;
};

/* The name is that of a file, x.1; the summary is that of the series. */
void summary_table_add(struct summary_table *table, const char *name,
                       const relmc_summary *summary,
                       const relmc_series *series);
/* The same from running estimates, with as many quantiles as percentiles. */
void summary_table_add_running(struct summary_table *table, const char *name,
                               const relmc_online *online,
                               const double *quantiles);
void summary_table_clear(struct summary_table *table);

/* On stdout: the sampler's rows, then the parameters, at most so many. */
void summary_table_print(const struct summary_table *table, size_t limit);
json_t *summary_table_json(const struct summary_table *table, bool is_sampler);

#endif
