/* spanner.h - a graph of few edges with paths at most twice as long as distances. */
#ifndef RMC_EXTRA_SPANNER_H
#define RMC_EXTRA_SPANNER_H

#include "base/base.h"

/* So many points at most, as every pair has a bound in memory. */
enum { RMC_SPANNER_MAX = 20000 };

typedef struct rmc_edge {
    uint32_t u, v;
    double length; /* L1 */
} rmc_edge;

/* [spanner] The greedy 2-spanner of n points of dim coordinates, sorted by the first:
 * its edges shorter than `longest`.  Call free() on *edges. */
relmc_status rmc_spanner(rmc_edge **edges, size_t *n_edges, size_t n,
                         size_t dim, const double *x, double longest,
                         relmc_error *err);

#endif
