/*
 * running_moments.h - statistics of one quantity along one chain, kept up to date draw
 * by draw in constant memory: moments of batches, and a sketch of the quantiles.
 * diag/convergence/running_estimate.c makes estimates of them.
 */
#ifndef RMC_RUNNING_MOMENTS_H
#define RMC_RUNNING_MOMENTS_H

#include <stddef.h>
#include <stdint.h>

enum {
    RMC_BATCHES = 256, /* even */
    RMC_FAN = 8,       /* one of so many sorted points moves up */
    RMC_MAX_LEVELS = 18
};

/* [sketch]  A point of level h stands for RMC_FAN^h draws.  A level that is
 * full is sorted, every RMC_FAN-th of its points moves up one level, and the
 * others are dropped. */
typedef struct rmc_sketch {
    size_t n_levels;
    size_t room; /* points of a level, a multiple of RMC_FAN */
    size_t used[RMC_MAX_LEVELS];
    int64_t n_collapses[RMC_MAX_LEVELS];
    double *points;  /* n_levels x room */
    double *scratch; /* room; may be shared with others of the same thread */
} rmc_sketch;

typedef struct rmc_running {
    int64_t n;     /* draws */
    int64_t n_nan; /* draws that are NaN; everything below ignores them */
    /* Batches of `each` draws, all complete; if there is no room for another,
     * neighbours are merged and `each` doubles. */
    int64_t each;
    size_t n_batches;
    double mean[RMC_BATCHES], squares[RMC_BATCHES]; /* squared deviations */
    /* the batch that is not complete */
    int64_t n_open;
    double open_mean, open_squares;
    rmc_sketch sketch;
} rmc_running;

/* How many levels n draws need. */
size_t rmc_sketch_levels(size_t room, int64_t n);
/* r must be zero, except for the room and memory of its sketch. */
void rmc_running_start(rmc_running *r);
void rmc_running_add(rmc_running *r, double x);

/* n draws with a mean and a sum of squared deviations. */
typedef struct rmc_moments {
    double n, mean, squares;
} rmc_moments;

/* [merge-moments]  The moments of all draws of a and b. */
rmc_moments rmc_moments_merge(rmc_moments a, rmc_moments b);

#endif
