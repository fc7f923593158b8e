/*
 * tree_inline.h - what tree_rows_inline.h and tree_lanes.c share.  Inlined because these
 * functions are called for every leaf, in loops over lanes that become vectors,
 * or with a number of coordinates that is a constant.
 */
#ifndef RMC_SAMPLER_TREE_INLINE_H
#define RMC_SAMPLER_TREE_INLINE_H

#include "sampler/mcmc/tree.h"

#define RMC_INLINE static inline __attribute__((always_inline))

/* The rows of a span: the sum of momenta, and p and v at both ends. */
enum { RMC_ROWS = 5 };
enum { RMC_RHO, RMC_P_FIRST, RMC_V_FIRST, RMC_P_LAST, RMC_V_LAST };

/* Lanes of few coordinates that are worked on at once. */
#ifdef __AVX512F__
enum { RMC_BUNCH = 8 };
#else
enum { RMC_BUNCH = 4 };
#endif

static inline int rmc_trees_are_few(const relmc_shape *s)
{
    return s->dim < RMC_WAYS && s->ld > 1;
}

/* ---- weights ---------------------------------------------------------------- */

/* exp(H0 - H), such that sums over a tree are finite: points that are better
 * than the start by more than 690 count alike.  The start itself counts 1, so
 * one that is worse by 707 has no chance in floating point, and its 0 is right.
 */
static inline double rmc_leaf_weight(double h0, double h)
{
    const double gain = h0 - h;

    return rmc_exp(gain > 690.0 ? 690.0 : gain);
}

/* x where the mask is set, else y; without a branch, which would be unpredictable. */
static inline double rmc_pick(uint64_t mask, double x, double y)
{
    return rmc_from_bits((rmc_to_bits(x) & mask) | (rmc_to_bits(y) & ~mask));
}

static inline uint64_t rmc_if_less(double x, double y)
{
    return x < y ? ~UINT64_C(0) : 0;
}

/* ---- levels ----------------------------------------------------------------- */

/* A level is the sum of the momenta of the span that waits there, and two points.
 * Where a point is kept follows from its number m, from 0 on: it is the first of
 * spans up to 2^j points, j the trailing zeros of m, and is kept in level j; or it
 * is the last of them, j those of m + 1, and waits in level j with them.  Nothing
 * is moved. */
RMC_INLINE double *rmc_rho_at(const struct rmc_tree *tree, size_t dim,
                              size_t level)
{
    return tree->levels + level * RMC_ROWS * dim;
}

/* Lane k in a row of a level of tree_lanes.c.  The highest is the trajectory before
 * its last doubling, and the one above that has the first point since. */
static inline double *rmc_few_at(const struct rmc_trees *t, size_t dim,
                                 size_t k, size_t level, size_t row)
{
    const size_t j = k % RMC_BUNCH;

    return t->few + (k - j) * (t->n_levels + 1) * RMC_ROWS * dim +
           (level * RMC_ROWS + row) * dim * RMC_BUNCH + j;
}

/* ---- ends ------------------------------------------------------------------- */

/* The smaller of what the user and the adaptation allow. */
static inline uint64_t rmc_tree_limit(const struct rmc_trees *t,
                                      const relmc_system *sys)
{
    const uint64_t limit = t->n_levels - 1;
    const uint64_t wish = (uint64_t)sys->move.max_depth;

    return wish && wish < limit ? wish : limit;
}

/* Adds to a list those of n lanes from k on that do not go on; without branches, which
 * would be unpredictable. */
RMC_INLINE void rmc_list_ends(const struct rmc_trees *t, size_t k, size_t n,
                              rmc_lane_list *ends)
{
    uint32_t *lane = ends->lane;
    size_t n_ends = ends->n;

    for (size_t j = k; j < k + n; j++) {
        lane[n_ends] = (uint32_t)j;
        n_ends += (t->has_point[j] & ~t->goes_on[j]) != 0;
    }
    ends->n = n_ends;
}

#endif
