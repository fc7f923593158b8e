/*
 * uturn_inline.h - does a span of a trajectory turn?  For
 * tree_rows_inline.h.
 *
 *   [U-turn]  rho . v > 0 at both ends of a span, rho the sum of its momenta and
 *             v = dK/dp; and across the seam of two spans that are joined: the
 *             one before it with the first point after it, the last point before
 *             it with the one after.
 *
 * A point is two rows, p and v: the coordinates of one lane side by side, so that
 * they are worked on at once.
 *
 * Inlined because `dim` is a constant where there are few coordinates, which
 * leaves no loops.
 */
#ifndef RMC_SAMPLER_UTURN_INLINE_H
#define RMC_SAMPLER_UTURN_INLINE_H

#include "sampler/mcmc/tree_inline.h"

/* Of fewer than RMC_WAYS coordinates all are left over, and dim is a constant
 * where that matters: no loops. */
RMC_INLINE double rmc_sum_parts(size_t dim, const double part[RMC_WAYS])
{
    return dim < RMC_WAYS ? part[0] : rmc_add_up(part);
}

/* The scalar products of [U-turn] for coordinate i, added to d. */
#define RMC_PAIR_AT(i, j)                    \
    do {                                     \
        const double r = first[i] + last[i]; \
        rho[i] = r;                          \
        d[0][j] += r * first[dim + (i)];     \
        d[1][j] += r * last[dim + (i)];      \
    } while (0)

/* [U-turn] Two points; rho becomes the sum of their momenta.  Their seam is the
 * span itself.  0 if it turns. */
RMC_INLINE int rmc_span_pair(size_t dim, const double *restrict first,
                             const double *restrict last, double *restrict rho)
{
    double d[2][RMC_WAYS] = {{0}};
    size_t i = 0;

    for (; i + RMC_WAYS <= dim; i += RMC_WAYS) {
        RMC_KEEP_WAYS
        for (size_t j = 0; j < RMC_WAYS; j++) {
            RMC_PAIR_AT(i + j, j);
        }
    }
    for (; i < dim; i++) {
        RMC_PAIR_AT(i, 0);
    }
    return rmc_sum_parts(dim, d[0]) > 0.0 && rmc_sum_parts(dim, d[1]) > 0.0;
}

#define RMC_JOIN_AT(i, j)                         \
    do {                                          \
        const double r = rho_a[i] + rho[i];       \
        const double seam0 = rho_a[i] + after[i]; \
        const double seam1 = before[i] + rho[i];  \
        rho[i] = r;                               \
        d[0][j] += r * first[dim + (i)];          \
        d[1][j] += r * last[dim + (i)];           \
        d[2][j] += seam0 * first[dim + (i)];      \
        d[3][j] += seam0 * after[dim + (i)];      \
        d[4][j] += seam1 * before[dim + (i)];     \
        d[5][j] += seam1 * last[dim + (i)];       \
    } while (0)

/* [U-turn] Two spans: one of the sum rho_a, from `first` to `before`, and one of
 * the sum rho, from `after` to `last`.  rho becomes that of both.  0 if it turns,
 * or is NaN. */
RMC_INLINE int rmc_span_join(size_t dim, const double *restrict rho_a,
                             const double *restrict first,
                             const double *restrict before,
                             const double *restrict after,
                             const double *restrict last, double *restrict rho)
{
    double d[6][RMC_WAYS] = {{0}};
    size_t i = 0;

    for (; i + RMC_WAYS <= dim; i += RMC_WAYS) {
        RMC_KEEP_WAYS
        for (size_t j = 0; j < RMC_WAYS; j++) {
            RMC_JOIN_AT(i + j, j);
        }
    }
    for (; i < dim; i++) {
        RMC_JOIN_AT(i, 0);
    }
    double least = rmc_sum_parts(dim, d[0]);
    for (size_t c = 1; c < 6; c++) {
        const double sum = rmc_sum_parts(dim, d[c]);

        least = sum < least ? sum : least;
    }
    return least > 0.0;
}

#endif
