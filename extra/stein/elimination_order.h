/* elimination_order.h - in which order the points of a graph are eliminated. */
#ifndef RMC_EXTRA_ORDER_H
#define RMC_EXTRA_ORDER_H

#include "stein/spanner.h"

/* order[j] is the variable that is eliminated as the j-th; a point has `width`
 * variables, which stay together.  0 if there is no memory. */
int rmc_order(int *order, size_t n, size_t width, const rmc_edge *edges,
              size_t n_edges);

#endif
