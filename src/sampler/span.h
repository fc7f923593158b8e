/*
 * span.h - stretches of trajectory, and whether they turn, for tree.h.
 *
 *   [U-turn]  rho . v > 0 at both ends of a span, rho the sum of its momenta and
 *             v = dK/dp; and across the seam of two spans that are joined: the
 *             one before it with the first point after it, the last point before
 *             it with the one after.
 *
 * One lane, whose coordinates are side by side, so that they are worked on at
 * once.  For few coordinates see tree_few.h.
 */
#ifndef RMC_SAMPLER_SPAN_H
#define RMC_SAMPLER_SPAN_H

#include "../base/base.h"

/* The sum of momenta, and momentum and velocity at the two ends.  Rows of dim
 * numbers.  Of a single point there is the first end only. */
struct rmc_span {
    double *rho;
    double *p_first, *v_first;
    double *p_last, *v_last;
};

/* A span that ends with the leaf of momentum p and velocity v, and whose first
 * end is that of `from`. */
struct rmc_newest {
    double *rho;
    const struct rmc_span *from;
    const double *p, *v;
};

static inline struct rmc_span rmc_span_new(relmc_arena *arena, size_t dim)
{
    const size_t row = rmc_leading(dim); /* rows start on cache lines */
    double *room = (double *)relmc_arena_get(arena, 5 * row * sizeof *room);

    if (!room) {
        return (struct rmc_span){0};
    }
    return (struct rmc_span){room, room + row, room + 2 * row, room + 3 * row,
                             room + 4 * row};
}

/* The work of rmc_span_pair and rmc_span_join.  Rows are parameters because that
 * is where gcc believes `restrict`. */
static inline int rmc_pair_rows(size_t dim, double *restrict rho,
                                const double *restrict p0,
                                const double *restrict v0,
                                const double *restrict p1,
                                const double *restrict v1)
{
    double at_first[RMC_WAYS] = {0}, at_last[RMC_WAYS] = {0};
    size_t i = 0;

    for (; i + RMC_WAYS <= dim; i += RMC_WAYS) {
        RMC_KEEP_WAYS
        for (size_t j = 0; j < RMC_WAYS; j++) {
            const double r = p0[i + j] + p1[i + j];
            rho[i + j] = r;
            at_first[j] += r * v0[i + j];
            at_last[j] += r * v1[i + j];
        }
    }
    for (; i < dim; i++) {
        const double r = p0[i] + p1[i];
        rho[i] = r;
        at_first[0] += r * v0[i];
        at_last[0] += r * v1[i];
    }
    return rmc_add_up(at_first) > 0.0 && rmc_add_up(at_last) > 0.0;
}

/* The six scalar products of [U-turn] for coordinate i, added to d. */
#define RMC_JOIN_AT(i, j)                                               \
    do {                                                                \
        const double r0 = rho_a[i], r1 = rho[i];                        \
        const double seam0 = r0 + p_after[i], seam1 = p_before[i] + r1; \
        const double r = r0 + r1;                                       \
        rho[i] = r;                                                     \
        d[0][j] += r * v_first[i];                                      \
        d[1][j] += r * v_last[i];                                       \
        d[2][j] += seam0 * v_first[i];                                  \
        d[3][j] += seam0 * v_after[i];                                  \
        d[4][j] += seam1 * v_before[i];                                 \
        d[5][j] += seam1 * v_last[i];                                   \
    } while (0)

/* rho is that of the span after the seam and becomes the sum. */
/* NOLINTBEGIN(readability-function-size): a parameter for every row */
static inline int
rmc_join_rows(size_t dim, double *restrict rho, const double *restrict rho_a,
              const double *restrict p_before, const double *restrict p_after,
              const double *restrict v_first, const double *restrict v_before,
              const double *restrict v_after, const double *restrict v_last)
{
    double d[6][RMC_WAYS] = {{0}};
    int goes_on = 1;
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
    for (size_t c = 0; c < 6; c++) {
        goes_on &= rmc_add_up(d[c]) > 0.0; /* not for NaN */
    }
    return goes_on;
}
/* NOLINTEND(readability-function-size) */

/* [U-turn] The points at the first end of b->from and at the leaf, the newest
 * span now.  Their seam is the span itself.  0 if it turns. */
static inline int rmc_span_pair(size_t dim, const struct rmc_newest *b)
{
    return rmc_pair_rows(dim, b->rho, b->from->p_first, b->from->v_first, b->p,
                         b->v);
}

/* [U-turn] The newest span now begins with a.  0 if it turns. */
static inline int rmc_span_join(size_t dim, const struct rmc_span *a,
                                const struct rmc_newest *b)
{
    return rmc_join_rows(dim, b->rho, a->rho, a->p_last, b->from->p_first,
                         a->v_first, a->v_last, b->from->v_first, b->v);
}

#endif
