/*
 * stuck_chains.h - which chains are stuck, or still on their way to the target.
 */
#ifndef RMC_ADAPT_STUCK_CHAINS_H
#define RMC_ADAPT_STUCK_CHAINS_H

#include "base/base.h"

/* [stuck] Where a chain was in a phase of warm-up. */
struct rmc_view {
    double level;     /* the median of lp */
    double mass;      /* and with it the logarithm of the volume of its draws */
    double low, high; /* of lp in the second half */
};

/* From n draws: rows of dim positions and of as many gradients, and their log
 * densities.  work has room for n numbers. */
struct rmc_view rmc_look(size_t dim, size_t n, const double *x, const double *g,
                         const double *lp, double *work);

/* is_stuck[chain]; how many. */
size_t rmc_find_stuck(size_t dim, size_t n_chains, const struct rmc_view *views,
                      unsigned char *is_stuck);

/* The values are sorted. */
double rmc_median(double *values, size_t n);

#endif
