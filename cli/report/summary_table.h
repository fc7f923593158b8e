/* summary_table.h - a summary: a row for each column of the draws, as a table, CSV or
 * JSON. */
#ifndef RELMC_CLI_ROWS_H
#define RELMC_CLI_ROWS_H

#include "relmc_diag.h"
#include "tool/cli.h"

#include <jansson.h>
#include <stdio.h>

enum { MAX_PERCENTILES = 50 };

/* Of one column; NaN where a number makes no sense. */
struct row {
    char *name; /* x[1] */
    bool is_sampler;
    double mean, mcse, sd, mad, ess_bulk, ess_tail, rhat;
    double *percentiles;
};

struct rows {
    double percents[MAX_PERCENTILES];
    size_t n_percents;
    int figures; /* significant ones, in the table */
    struct row *list;
    size_t n, room;
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
void rows_write_csv(const struct rows *rows, FILE *file);
json_t *rows_json(const struct rows *rows, bool is_sampler);

#endif
