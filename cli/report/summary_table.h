/* summary_table.h - the rows of a summary, one for each column of the draws. */
#ifndef RELMC_CLI_ROWS_H
#define RELMC_CLI_ROWS_H

#include "relmc_diag.h"
#include "report/result.h"

enum { MAX_PERCENTILES = 50 };

/* Percentiles and figures are the caller's to set, before the first row. */
struct rows {
    double percents[MAX_PERCENTILES];
    size_t n_percents;
    int figures; /* significant ones, in the table */
    struct result result;
    size_t n;
};

/* The name is that of a file, x.1; the summary is that of the series. */
void rows_add(struct rows *rows, const char *name, const relmc_summary *summary,
              const relmc_series *series);
/* The same from running estimates, with as many quantiles as percentiles. */
void rows_add_running(struct rows *rows, const char *name,
                      const relmc_online *online, const double *quantiles);
void rows_clear(struct rows *rows);

/* On stdout: the sampler's rows, then the parameters, at most so many. */
void rows_print(const struct rows *rows, size_t limit);
json_t *rows_json(const struct rows *rows, bool is_sampler);

#endif
