/*
 * tree.h - the binary tree of a no-U-turn trajectory, for nuts.c and walnuts.c.
 *
 *   [NUTS]    the trajectory doubles, forwards or backwards with equal
 *             probability, until it turns back on itself.
 *   [U-turn]  rho . v > 0 at both ends of a span of the trajectory, rho the sum
 *             of its momenta and v = dK/dp; for every span of the binary tree,
 *             and across the seam of its two halves.
 *
 * No recursion: a half-built tree is a binary counter.  After n leaves there is
 * one finished span for every bit of n that is set, on a stack; a new leaf is
 * merged with the spans of the trailing ones.
 */
#ifndef RMC_SAMPLER_TREE_H
#define RMC_SAMPLER_TREE_H

#include "momentum.h"

enum { RMC_MAX_DEPTH = 24 };

/* A stretch of trajectory: the sum of its momenta, and momentum and velocity at
 * its two ends.  Rows of dim numbers; merging exchanges pointers.  Of a single
 * point there is the first end only. */
struct rmc_span {
    double *rho;
    double *p_first, *v_first;
    double *p_last, *v_last;
};

/* The tree of one lane.  It grows at its `last` end, which is where the lane is;
 * to grow the other way the ends change places. */
struct rmc_tree {
    struct rmc_span whole;
    double *far_x, *far_g;     /* position and gradient at the first end */
    double *next_x, *next_g;   /* the point chosen so far ... */
    double *trial_x, *trial_g; /* ... and that of the half under construction */
    double next_lp, trial_lp, next_h, trial_h;
    double weight, weight_half; /* sums of exp(H0 - H), 1 for the start */
    int32_t depth;
    uint32_t n_leaves;     /* of the half under construction */
    struct rmc_span *half; /* one for every bit of n_leaves */
};

/* ---- memory --------------------------------------------------------------- */

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

/* One tree per lane; NULL if there is no memory, which the arena knows. */
static inline struct rmc_tree *
rmc_trees_new(relmc_arena *arena, const relmc_shape *s, size_t max_depth)
{
    const size_t row = rmc_leading(s->dim);
    struct rmc_tree *trees =
        (struct rmc_tree *)relmc_arena_get(arena, s->lanes * sizeof *trees);

    for (size_t k = 0; trees && k < s->lanes; k++) {
        struct rmc_tree *t = &trees[k];
        double *room = (double *)relmc_arena_get(arena, 6 * row * sizeof *room);

        t->whole = rmc_span_new(arena, s->dim);
        t->half = (struct rmc_span *)relmc_arena_get(
            arena, max_depth * sizeof *t->half);
        if (!room || !t->half) {
            return NULL;
        }
        t->far_x = room, t->far_g = room + row;
        t->next_x = room + 2 * row, t->next_g = room + 3 * row;
        t->trial_x = room + 4 * row, t->trial_g = room + 5 * row;
        for (size_t level = 0; level < max_depth; level++) {
            t->half[level] = rmc_span_new(arena, s->dim);
        }
    }
    return trees;
}

/* ---- rows: one lane of a block -------------------------------------------- */

static inline void rmc_row_get(const relmc_shape *s, size_t k,
                               const double *block, double *row)
{
    for (size_t i = 0; i < s->dim; i++) {
        row[i] = block[i * s->ld + k];
    }
}

static inline void rmc_row_put(const relmc_shape *s, size_t k,
                               const double *row, double *block)
{
    for (size_t i = 0; i < s->dim; i++) {
        block[i * s->ld + k] = row[i];
    }
}

static inline void rmc_row_swap(const relmc_shape *s, size_t k, double *row,
                                double *block)
{
    for (size_t i = 0; i < s->dim; i++) {
        const double there = block[i * s->ld + k];
        block[i * s->ld + k] = row[i];
        row[i] = there;
    }
}

static inline void rmc_exchange(double **a, double **b)
{
    double *was = *a;
    *a = *b;
    *b = was;
}

/* ---- spans ---------------------------------------------------------------- */

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
        const double r0 = rho[i], r1 = rho_b[i];                        \
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

/* rho is that of the span before the seam and becomes the sum. */
/* NOLINTBEGIN(readability-function-size): a parameter for every row */
static inline int
rmc_join_rows(size_t dim, double *restrict rho, const double *restrict rho_b,
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

/* [U-turn] `a` is a point and becomes the span of this and of the one in lane k of
 * p and v.  Their seam is the span itself.  0 if it turns. */
static inline int rmc_span_pair(const relmc_shape *s, size_t k,
                                struct rmc_span *a, const double *p,
                                const double *v)
{
    rmc_row_get(s, k, p, a->p_last);
    rmc_row_get(s, k, v, a->v_last);
    return rmc_pair_rows(s->dim, a->rho, a->p_first, a->v_first, a->p_last,
                         a->v_last);
}

/* [U-turn] `a` becomes the span of a and then b; b is free afterwards.  0 if it
 * turns. */
static inline int rmc_span_join(size_t dim, struct rmc_span *restrict a,
                                struct rmc_span *restrict b)
{
    const int goes_on =
        rmc_join_rows(dim, a->rho, b->rho, a->p_last, b->p_first, a->v_first,
                      a->v_last, b->v_first, b->v_last);

    rmc_exchange(&a->p_last, &b->p_last);
    rmc_exchange(&a->v_last, &b->v_last);
    return goes_on;
}

/* ---- the tree of lane k --------------------------------------------------- */

/* exp(H0 - H), such that sums over a tree are finite: points that are better
 * than the start by more than 690 count alike.  The start itself counts 1, so
 * one that is worse by 707 has no chance in floating point, and its 0 is right.
 */
static inline double rmc_leaf_weight(double h0, double h)
{
    const double gain = h0 - h;

    return rmc_exp(gain > 690.0 ? 690.0 : gain);
}

/* A tree of one point, with energy h: where the lane is.  Its velocity is row j
 * of a block of shape c. */
static inline void rmc_tree_begin(struct rmc_tree *t, const relmc_shape *s,
                                  size_t k, const relmc_state *z, double h,
                                  const relmc_shape *c, size_t j,
                                  const double *v)
{
    rmc_row_get(s, k, z->x, t->far_x);
    rmc_row_get(s, k, z->g, t->far_g);
    rmc_row_get(s, k, z->p, t->whole.p_first);
    rmc_row_get(c, j, v, t->whole.v_first);
    memcpy(t->next_x, t->far_x, s->dim * sizeof(double));
    memcpy(t->next_g, t->far_g, s->dim * sizeof(double));
    t->next_lp = z->lp[k];
    t->next_h = h;
    t->weight = 1.0;
    t->depth = 0;
}

/* Start the other half: 2^depth leaves more, in a random direction.  `step` is
 * the step that led away from the first end; 1 if its sign changes, and with it
 * the end where the lane is. */
static inline int rmc_tree_grow(struct rmc_tree *t, const relmc_system *sys,
                                relmc_state *z, size_t k, double *step)
{
    const relmc_shape *s = &sys->shape;
    const double u = rmc_draw_uniform(&sys->streams[RELMC_FOR_LENGTH][k]);
    const double next = u < 0.5 ? sys->eps[k] : -sys->eps[k];
    const int has_turned = next != *step;

    *step = next;
    if (has_turned && t->depth) { /* a single point is both ends */
        rmc_row_swap(s, k, t->far_x, z->x);
        rmc_row_swap(s, k, t->far_g, z->g);
        rmc_exchange(&t->whole.p_first, &t->whole.p_last);
        rmc_exchange(&t->whole.v_first, &t->whole.v_last);
        rmc_row_put(s, k, t->whole.p_last, z->p);
    }
    t->n_leaves = 0;
    t->weight_half = 0.0;
    return has_turned;
}

/* The point of this leaf takes the place of the one chosen in its half. */
static inline void rmc_tree_choose(struct rmc_tree *t, const relmc_shape *s,
                                   size_t k, const relmc_state *z, double h)
{
    rmc_row_get(s, k, z->x, t->trial_x);
    rmc_row_get(s, k, z->g, t->trial_g);
    t->trial_lp = z->lp[k];
    t->trial_h = h;
}

/* Enter the new leaf into the binary counter; half[0] is the whole half when it
 * is complete.  0 if the trajectory turns. */
static inline int rmc_tree_enter(struct rmc_tree *t, const relmc_shape *s,
                                 size_t k, const double *p, const double *v)
{
    uint32_t index = t->n_leaves++;
    struct rmc_span *top = t->half + __builtin_popcount(index);

    if (!(index & 1)) { /* the first leaf of a pair waits for the other */
        rmc_row_get(s, k, p, top->p_first);
        rmc_row_get(s, k, v, top->v_first);
        return 1;
    }
    top--;
    int goes_on = rmc_span_pair(s, k, top, p, v);
    while (goes_on && (index >>= 1) & 1) {
        top--;
        goes_on = rmc_span_join(s->dim, top, top + 1);
    }
    return goes_on;
}

static inline int rmc_tree_has_half(const struct rmc_tree *t)
{
    return t->n_leaves == UINT32_C(1) << t->depth;
}

/* The half is complete: [NUTS] its point is taken with probability min(1, ratio
 * of the weights), which favours what is far from the start.  0 if the whole
 * trajectory turns. */
static inline int rmc_tree_close_half(struct rmc_tree *t,
                                      const relmc_system *sys, size_t k)
{
    const double u = rmc_draw_uniform(&sys->streams[RELMC_FOR_LENGTH][k]);

    if (u * t->weight < t->weight_half) {
        rmc_exchange(&t->next_x, &t->trial_x);
        rmc_exchange(&t->next_g, &t->trial_g);
        t->next_lp = t->trial_lp;
        t->next_h = t->trial_h;
    }
    t->weight += t->weight_half;
    t->depth++;
    if (t->depth == 1) { /* both are single points */
        const relmc_shape row = {sys->shape.dim, 1, 1};

        return rmc_span_pair(&row, 0, &t->whole, t->half->p_first,
                             t->half->v_first);
    }
    return rmc_span_join(sys->shape.dim, &t->whole, t->half);
}

/* The chosen point becomes that of the lane. */
static inline void rmc_tree_end(const struct rmc_tree *t, const relmc_shape *s,
                                size_t k, relmc_state *z)
{
    rmc_row_put(s, k, t->next_x, z->x);
    rmc_row_put(s, k, t->next_g, z->g);
    rmc_row_put(s, k, t->whole.p_first, z->p); /* finite, for a lane at rest */
    z->lp[k] = t->next_lp;
}

/* ---- limits --------------------------------------------------------------- */

/* The smaller of what the user and the adaptation allow. */
static inline int32_t rmc_tree_limit(const relmc_system *sys, double max_depth)
{
    const int32_t limit = (int32_t)max_depth;

    return sys->max_depth && sys->max_depth < limit ? sys->max_depth : limit;
}

/* The energy error called divergent.  With a limited speed errors stay small
 * where a trajectory without limit would fly apart. */
static inline double rmc_error_limit(const relmc_system *sys, double max_error)
{
    return max_error > 0.0               ? max_error
           : sys->kinetic.ops->has_limit ? 20.0
                                         : 1000.0;
}

#endif
