/* spanner.h - few edges that shorten no distance by more than half. */
#ifndef RMC_EXTRA_SPANNER_H
#define RMC_EXTRA_SPANNER_H

#include "base/base.h"

/* Points, at most: bounds of all distances are kept. */
enum { RMC_SPANNER_MAX = 20000 };

typedef struct rmc_edge {
    uint32_t u, v;
    double length; /* L1 */
} rmc_edge;

/* [spanner] The greedy 2-spanner of n points of dim coordinates, as far as edges
 * are shorter than `longest`.  *edges is yours to free(). */
relmc_status rmc_spanner(rmc_edge **edges, size_t *n_edges, size_t n,
                         size_t dim, const double *x, double longest,
                         relmc_error *err);

#endif
