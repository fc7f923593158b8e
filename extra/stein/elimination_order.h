/* elimination_order.h - chooses the order in which points of a graph are eliminated. */
#ifndef RMC_EXTRA_ORDER_H
#define RMC_EXTRA_ORDER_H

#include "stein/spanner.h"

/* order[j] becomes the variable that is eliminated at place j; a point has `width`
 * variables, which stay together.  Returns 0 if there is no memory. */
int rmc_order(int *order, size_t n, size_t width, const rmc_edge *edges,
              size_t n_edges);

#endif
