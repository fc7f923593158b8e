/* stein_lp.h - the linear programme of one coordinate of the graph Stein
 * discrepancy. */
#ifndef RMC_EXTRA_PROGRAMME_H
#define RMC_EXTRA_PROGRAMME_H

#include "diag/stein/graph_points.h"
#include "diag/stein/interior_point.h"
#include "relmc_diag.h"
#include "stein/spanner.h"

typedef struct rmc_stein_graph {
    const rmc_graph_points *points;
    const rmc_edge *edges;
    size_t n_edges;
    int *order; /* of the variables, see elimination_order.h; read only */
    const relmc_graph_stein_options *options;
} rmc_stein_graph;

/* Solves the programme of coordinate `axis`.  RELMC_ENOMEM, or RELMC_OK; then check
 * whether the result is closed. */
relmc_status rmc_programme_solve(rmc_ipm_result *out,
                                 const rmc_stein_graph *graph, size_t axis);

#endif
