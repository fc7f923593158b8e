/* stuck_chains.c - which chains are stuck, or still on their way to the target. */
#include "adapt/stuck_chains.h"

#include <stdlib.h>

double rmc_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, rmc_ascending);
    return 0.5 * (values[n / 2] + values[(n - 1) / 2]);
}

/* Of every dim-th number, n of them. */
static double variance(const double *y, size_t dim, size_t n)
{
    double mean = 0.0, square = 0.0;

    for (size_t t = 0; t < n; t++) {
        mean += y[t * dim] / (double)n;
    }
    for (size_t t = 0; t < n; t++) {
        const double d = y[t * dim] - mean;
        square += d * d / (double)n;
    }
    return square;
}

/* The logarithm of the volume of a chain's draws: the product of how far every
 * coordinate went, or could go alone, as the gradients say.  In a neck all may
 * go far, but only together. */
static double log_volume(const double *x, const double *g, size_t dim, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < dim; i++) {
        const double width = variance(x + i, dim, n);
        const double slope = variance(g + i, dim, n);

        sum += 0.5 * rmc_log(width * slope > 1.0 ? 1.0 / slope : width);
    }
    return sum;
}

struct rmc_view rmc_look(size_t dim, size_t n, const double *x, const double *g,
                         const double *lp, double *work)
{
    struct rmc_view v = {.low = HUGE_VAL, .high = -HUGE_VAL};

    memcpy(work, lp, n * sizeof *work);
    v.level = rmc_median(work, n);
    v.mass = v.level + log_volume(x, g, dim, n);
    for (size_t t = n / 2; t < n; t++) {
        v.low = lp[t] < v.low ? lp[t] : v.low;
        v.high = lp[t] > v.high ? lp[t] : v.high;
    }
    return v;
}

/* The chain with most mass. */
static struct rmc_view best_of(size_t n_chains, const struct rmc_view *views)
{
    struct rmc_view best = {.mass = -HUGE_VAL, .level = -HUGE_VAL};

    for (size_t chain = 0; chain < n_chains; chain++) {
        const struct rmc_view *v = &views[chain];

        if (v->mass > best.mass ||
            (v->mass == best.mass && v->level > best.level)) {
            best = *v; /* no chain has any volume if a coordinate is fixed */
        }
    }
    return best;
}

/* [stuck]  A chain's log density is out of proportion to that of the best; or it
 * is clearly below that all the time, and a larger volume does not make up for
 * it, as it would in the mouth of a funnel. */
size_t rmc_find_stuck(size_t dim, size_t n_chains, const struct rmc_view *views,
                      unsigned char *is_stuck)
{
    const double far = 3.0 * (double)dim + 30.0;
    const double near = 0.5 * (double)dim + 10.0;
    const struct rmc_view best = best_of(n_chains, views);
    size_t n_stuck = 0;

    for (size_t chain = 0; chain < n_chains; chain++) {
        const struct rmc_view *v = &views[chain];

        is_stuck[chain] = v->level < best.level - far ||
                          (v->level < best.level - near &&
                           v->mass < best.mass - near && v->high < best.low);
        n_stuck += is_stuck[chain];
    }
    return n_stuck;
}
