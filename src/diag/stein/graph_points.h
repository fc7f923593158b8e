/* graph_points.h - options and points of the graph Stein discrepancies, in one
 * and in several dimensions. */
#ifndef RMC_DIAG_STEIN_GRAPH_H
#define RMC_DIAG_STEIN_GRAPH_H

#include "base/base.h"
#include "relmc_diag.h"

/* Draws merged into distinct points.  The programme needs the scores only as
 * sums of w s, so merging equal points changes nothing. */
typedef struct rmc_graph_points {
    size_t n, dim;
    double *x;      /* n x dim */
    double *ws;     /* n x dim: sums of w s */
    double *weight; /* n: sums of w */
    double bound;   /* sum |w_i| |x_i - x|_1 (c2 |s_i|_1 + dim c3) */
} rmc_graph_points;

/* Options with their defaults filled in, checked against the sample. */
relmc_status rmc_graph_options(relmc_graph_stein_options *out,
                               const relmc_graph_stein_options *options,
                               const relmc_stein_sample *sample,
                               relmc_error *err);

/* Points in lexical order; release them in any case. */
relmc_status rmc_graph_points_take(rmc_graph_points *out,
                                   const relmc_stein_sample *sample,
                                   const relmc_graph_stein_options *options,
                                   relmc_error *err);
void rmc_graph_points_release(rmc_graph_points *points);

/* Fills the report; an error with the interval reached if it is not closed. */
relmc_status rmc_graph_report(relmc_graph_stein_report *out,
                              const relmc_graph_stein_report *found,
                              int is_closed, double tolerance,
                              relmc_error *err);

#endif
