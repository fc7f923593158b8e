/*
 * tree.h - the binary trees of no-U-turn trajectories, for nuts.c and walnuts.c.
 *
 *   [NUTS]    the trajectory doubles, forwards or backwards with equal
 *             probability, until it turns back on itself.
 *   [U-turn]  rho . v > 0 at both ends of a span of the trajectory, for every
 *             span of the binary tree, and across the seam of its two halves.
 *
 * No recursion: a half-built tree is a binary counter.  Of n points, the start
 * included, there is one finished span for every bit of n that is set: level j
 * holds the one of 2^j points, the highest being the trajectory before its last
 * doubling.  A new leaf is joined with the levels of the trailing ones.
 *
 * Weights are worked on in all lanes at once.  The levels are not, for every lane
 * is at another place of its tree: lanes come one after the other, or a bunch at
 * once if there are few coordinates (tree_few.h).
 */
#ifndef RMC_SAMPLER_TREE_H
#define RMC_SAMPLER_TREE_H

#include "sampler/mcmc/tree_lanes.h"
#include "sampler/mcmc/uturn.h"
#include "sampler/momentum.h"

enum { RMC_MAX_DEPTH = 24 };

/* Uniform numbers are drawn some of a lane at a time.  What is left of them when
 * a trajectory ends is not used: a stream is all that has to be remembered. */
enum { RMC_CHOICES = 16, RMC_DIRECTIONS = 8 };

/* One lane.  Trees grow at their `last` end, which is where the lane is; to grow
 * the other way the ends change places. */
struct rmc_tree {
    double *levels; /* rmc_rho_at; or those of some lanes are in tree_few.h */
};

/* All lanes.  Points are blocks of dim x ld, as elsewhere, if there are few
 * coordinates, and otherwise one row per lane: coordinate i of lane k is found at
 * k * lane + i * stride.  The rest is numbers per lane. */
struct rmc_trees {
    size_t n_levels, lane, stride;
    uint64_t top; /* the bit of the highest level */
    struct rmc_tree *tree;
    double *few;             /* the levels of tree_few.h: rmc_few_at */
    double *choice;          /* RMC_CHOICES per lane: uniform, for leaves */
    double *way;             /* RMC_DIRECTIONS per lane: uniform, for halves */
    double *far_x, *far_g;   /* position and gradient at the first end */
    double *next_x, *next_g; /* the point chosen so far ... */
    double *next_lp, *next_h;
    double *trial_x, *trial_g; /* ... and that of the half under construction */
    double *trial_lp, *trial_h;
    double *accept;        /* sums of min(1, exp(H0 - H)) */
    double *weight;        /* the sum of exp(H0 - H) but for the half at hand */
    double *luck;          /* uniform, decides between the halves */
    double *weight_half;   /* the sum of exp(H0 - H) in the half, ... */
    double *weight_chosen; /* ... and up to the leaf that is chosen so far */
    double *patience;      /* uniform: how long it will be so; not if lanes come
                              in bunches */
    uint64_t *depth;       /* 2^depth points but for the half at hand */
    uint64_t *n;           /* points, the start included */
    uint64_t *n_joined;    /* levels that took the last leaf without a turn;
                              not if lanes come in bunches */
    uint64_t *has_point;   /* all bits: there is a new point, ... */
    uint64_t *has_leaf;    /* ... it is not divergent, ... */
    uint64_t *is_chosen;   /* ... it is chosen, so far (not if lanes come in
                              bunches); and then: */
    uint64_t *goes_on;     /* the trajectory does */
    uint64_t *n_choices;   /* numbers for leaves that were used */
};

/* New points: numbers per lane and the velocities, dim x ld. */
struct rmc_leaves {
    double *weight, *h, *v;
};

/* ---- memory --------------------------------------------------------------- */

static inline int rmc_trees_are_few(const relmc_shape *s)
{
    return s->dim < RMC_WAYS && s->ld > 1;
}

static inline uint64_t *rmc_bits_new(relmc_arena *arena, const relmc_shape *s)
{
    return (uint64_t *)relmc_arena_get(arena, s->ld * sizeof(uint64_t));
}

/* If there is no memory, the arena knows. */
static inline struct rmc_trees
rmc_trees_new(relmc_arena *arena, const relmc_shape *s, size_t max_depth)
{
    const int are_few = rmc_trees_are_few(s);
    const relmc_shape point = {are_few ? s->dim : rmc_leading(s->dim), s->lanes,
                               s->ld};
    const relmc_shape levels = {(max_depth + 1) * RMC_ROWS * s->dim, 1, 1};
    const relmc_shape few = {(max_depth + 2) * RMC_ROWS * s->dim, s->lanes,
                             s->ld};
    const relmc_shape choices = {RMC_CHOICES, s->lanes, s->ld};
    const relmc_shape ways = {RMC_DIRECTIONS, s->lanes, s->ld};
    const struct rmc_trees t = {
        .n_levels = max_depth + 1,
        .top = UINT64_C(1) << max_depth,
        .lane = are_few ? 1 : point.dim,
        .stride = are_few ? s->ld : 1,
        .tree =
            (struct rmc_tree *)relmc_arena_get(arena, s->ld * sizeof *t.tree),
        .few = are_few ? rmc_lanes_new(arena, &few) : NULL,
        .choice = rmc_lanes_new(arena, &choices),
        .way = rmc_lanes_new(arena, &ways),
        .far_x = rmc_lanes_new(arena, &point),
        .far_g = rmc_lanes_new(arena, &point),
        .next_x = rmc_lanes_new(arena, &point),
        .next_g = rmc_lanes_new(arena, &point),
        .next_lp = rmc_per_lane_new(arena, s),
        .next_h = rmc_per_lane_new(arena, s),
        .trial_x = rmc_lanes_new(arena, &point),
        .trial_g = rmc_lanes_new(arena, &point),
        .trial_lp = rmc_per_lane_new(arena, s),
        .trial_h = rmc_per_lane_new(arena, s),
        .accept = rmc_per_lane_new(arena, s),
        .weight = rmc_per_lane_new(arena, s),
        .luck = rmc_per_lane_new(arena, s),
        .weight_half = rmc_per_lane_new(arena, s),
        .weight_chosen = rmc_per_lane_new(arena, s),
        .patience = rmc_per_lane_new(arena, s),
        .depth = rmc_bits_new(arena, s),
        .n = rmc_bits_new(arena, s),
        .n_joined = rmc_bits_new(arena, s),
        .has_point = rmc_bits_new(arena, s),
        .has_leaf = rmc_bits_new(arena, s),
        .is_chosen = rmc_bits_new(arena, s),
        .n_choices = rmc_bits_new(arena, s),
        .goes_on = rmc_bits_new(arena, s),
    };

    for (size_t k = 0; !are_few && t.tree && k < s->lanes; k++) {
        t.tree[k].levels = rmc_lanes_new(arena, &levels);
    }
    return t;
}

static inline struct rmc_leaves rmc_leaves_new(relmc_arena *arena,
                                               const relmc_shape *s)
{
    return (struct rmc_leaves){rmc_per_lane_new(arena, s),
                               rmc_per_lane_new(arena, s),
                               rmc_lanes_new(arena, s)};
}

/* ---- one lane of a block -------------------------------------------------- */

/* A lane of a block, from its coordinate 0 on, as a row. */
RMC_INLINE void rmc_row_get(size_t dim, size_t ld, const double *lane,
                            double *row)
{
    if (dim >= RMC_WAYS && ld == 1) {
        memcpy(row, lane, dim * sizeof *row);
        return;
    }
    for (size_t i = 0; i < dim; i++) {
        row[i] = lane[i * ld];
    }
}

/* A point of the tree of lane k. */
static inline void rmc_point_copy(const struct rmc_trees *t,
                                  const relmc_shape *s, size_t k,
                                  const double *from, double *to)
{
    const size_t at = k * t->lane;

    if (s->dim >= RMC_WAYS) {
        memcpy(to + at, from + at, s->dim * sizeof *to);
        return;
    }
    for (size_t i = at; i < at + s->dim * t->stride; i += t->stride) {
        to[i] = from[i];
    }
}

static inline void rmc_swap(double *a, double *b)
{
    const double was = *a;
    *a = *b;
    *b = was;
}

/* ---- weights of new leaves ------------------------------------------------ */

/* exp(H0 - H), such that sums over a tree are finite: points that are better
 * than the start by more than 690 count alike.  The start itself counts 1, so
 * one that is worse by 707 has no chance in floating point, and its 0 is right.
 */
static inline double rmc_leaf_weight(double h0, double h)
{
    const double gain = h0 - h;

    return rmc_exp(gain > 690.0 ? 690.0 : gain);
}

/* x where the mask is set, else y: without a branch that nobody can foresee. */
static inline double rmc_pick(uint64_t mask, double x, double y)
{
    return rmc_from_bits((rmc_to_bits(x) & mask) | (rmc_to_bits(y) & ~mask));
}

static inline uint64_t rmc_if_less(double x, double y)
{
    return x < y ? ~UINT64_C(0) : 0;
}

/* [NUTS] Within its half a point is chosen with its weight: it stays with a leaf
 * that was chosen when the sum of weights was W until that sum is W / u, u being
 * uniform.  So a number is needed for every choice, not for every leaf. */
RMC_INLINE void rmc_choose(const struct rmc_trees *t, size_t dim, size_t ld,
                           const relmc_state *z,
                           const struct rmc_leaves *leaves)
{
    RMC_INDEPENDENT
    for (size_t k = 0; k < ld; k++) {
        const double weight = rmc_pick(t->has_leaf[k], leaves->weight[k], 0.0);
        const double sum = t->weight_half[k] + weight;
        const double chosen = t->weight_chosen[k];
        const uint64_t is_chosen = rmc_if_less(chosen, t->patience[k] * sum);

        t->accept[k] += weight < 1.0 ? weight : 1.0;
        t->weight_half[k] = sum;
        t->weight_chosen[k] = rmc_pick(is_chosen, sum, chosen);
        t->trial_lp[k] = rmc_pick(is_chosen, z->lp[k], t->trial_lp[k]);
        t->trial_h[k] = rmc_pick(is_chosen, leaves->h[k], t->trial_h[k]);
        t->is_chosen[k] = is_chosen;
        t->n_choices[k] -= is_chosen;
    }
    for (size_t i = 0; dim < RMC_WAYS && i < dim; i++) { /* one lane */
        t->trial_x[i] = rmc_pick(t->is_chosen[0], z->x[i], t->trial_x[i]);
        t->trial_g[i] = rmc_pick(t->is_chosen[0], z->g[i], t->trial_g[i]);
    }
    for (size_t k = 0; dim >= RMC_WAYS && k < ld; k++) {
        if (t->is_chosen[k]) {
            rmc_row_get(dim, ld, z->x + k, t->trial_x + k * t->lane);
            rmc_row_get(dim, ld, z->g + k, t->trial_g + k * t->lane);
        }
    }
}

/* ---- random numbers ------------------------------------------------------- */

static __attribute__((noinline)) void
rmc_draw_choices(const struct rmc_trees *t, const relmc_system *sys, size_t k)
{
    const relmc_shape line = {RMC_CHOICES, 1, 1};

    rmc_fill_uniform(&line, &sys->lanes.streams[RELMC_FOR_ACCEPT][k],
                     t->choice + k * RMC_CHOICES);
    t->n_choices[k] = 0;
}

static __attribute__((noinline)) void
rmc_draw_ways(const struct rmc_trees *t, const relmc_system *sys, size_t k)
{
    const relmc_shape line = {RMC_DIRECTIONS, 1, 1};

    rmc_fill_uniform(&line, &sys->lanes.streams[RELMC_FOR_LENGTH][k],
                     t->way + k * RMC_DIRECTIONS);
}

/* ---- levels --------------------------------------------------------------- */

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

RMC_INLINE double *rmc_last_at(const struct rmc_tree *tree, size_t dim,
                               size_t level)
{
    return rmc_rho_at(tree, dim, level) + dim;
}

/* The first of the trajectory is in the highest level. */
RMC_INLINE double *rmc_first_at(const struct rmc_tree *tree, size_t dim,
                                uint64_t top, uint64_t m)
{
    return rmc_rho_at(tree, dim, (size_t)__builtin_ctzll(m | top)) + 3 * dim;
}

/* Join the leaf, the last of n points, n even, with the spans before it: with how
 * many without a turn. */
RMC_INLINE size_t rmc_join_levels(const struct rmc_tree *tree, size_t dim,
                                  uint64_t top, uint64_t n, const double *leaf)
{
    const size_t level = (size_t)__builtin_ctzll(n);
    double *rho = rmc_rho_at(tree, dim, level);
    const double *first = rmc_first_at(tree, dim, top, n - 2);
    size_t j = 0;
    int goes_on = rmc_span_pair(dim, first, leaf, rho);

    while (goes_on && ++j < level) {
        const double *after = first;

        first = rmc_first_at(tree, dim, top, n - (UINT64_C(2) << j));
        goes_on = rmc_span_join(dim, rmc_rho_at(tree, dim, j), first,
                                rmc_last_at(tree, dim, j), after, leaf, rho);
    }
    return j;
}

/* Enter the leaf of lane k. */
RMC_INLINE void rmc_enter_lane(const struct rmc_trees *t, size_t dim, size_t ld,
                               size_t k, const double *p, const double *v)
{
    const struct rmc_tree *tree = &t->tree[k];
    const uint64_t n = ++t->n[k];
    const size_t level = (size_t)__builtin_ctzll(n);
    double *leaf = n & 1 ? rmc_first_at(tree, dim, t->top, n - 1)
                         : rmc_last_at(tree, dim, level);

    rmc_row_get(dim, ld, p + k, leaf);
    rmc_row_get(dim, ld, v + k, leaf + dim);
    t->n_joined[k] = n & 1 ? 0 : rmc_join_levels(tree, dim, t->top, n, leaf);
    t->goes_on[k] = t->n_joined[k] == level && n & (n - 1) ? ~UINT64_C(0) : 0;
}

/* Lane k in a row of a level of tree_few.h.  The highest is the trajectory before
 * its last doubling, and the one above that has the first point since. */
static inline double *rmc_few_at(const struct rmc_trees *t, size_t dim,
                                 size_t k, size_t level, size_t row)
{
    const size_t j = k % RMC_BUNCH;

    return t->few + (k - j) * (t->n_levels + 1) * RMC_ROWS * dim +
           (level * RMC_ROWS + row) * dim * RMC_BUNCH + j;
}

/* ---- the tree of lane k --------------------------------------------------- */

/* Lane k begins: its trajectory, one point, waits in the highest level. */
static inline void rmc_begin_few(const struct rmc_trees *t,
                                 const relmc_shape *s, size_t k,
                                 const double *p, const double *v, size_t ld)
{
    const size_t row = s->dim * RMC_BUNCH;
    double *a = rmc_few_at(t, s->dim, k, t->n_levels - 1, 0);

    for (size_t i = 0; i < s->dim; i++, a += RMC_BUNCH) {
        const double at = p[i * s->ld + k];

        a[RMC_RHO * row] = a[RMC_P_FIRST * row] = a[RMC_P_LAST * row] = at;
        a[RMC_V_FIRST * row] = a[RMC_V_LAST * row] = v[i * ld];
    }
}

/* A tree of one point, with energy h: where the lane is.  Its velocity is lane j
 * of a block with leading dimension ld. */
static inline void rmc_tree_begin(const struct rmc_trees *t,
                                  const relmc_system *sys, size_t k,
                                  const relmc_state *z, double h,
                                  const double *v, size_t ld, size_t j)
{
    const relmc_shape *s = &sys->shape;

    t->n[k] = 1;
    t->depth[k] = 0;
    t->accept[k] = 0.0;
    t->next_lp[k] = z->lp[k];
    t->next_h[k] = h;
    t->weight[k] = 1.0;
    rmc_draw_choices(t, sys, k); /* while directions are, too: it is quicker */
    for (size_t i = 0; i < s->dim; i++) {
        const size_t at = i * s->ld + k, to = k * t->lane + i * t->stride;

        t->far_x[to] = t->next_x[to] = z->x[at];
        t->far_g[to] = t->next_g[to] = z->g[at];
    }
    if (rmc_trees_are_few(s)) {
        rmc_begin_few(t, s, k, z->p, v + j, ld);
        return;
    }
    double *first = rmc_first_at(&t->tree[k], s->dim, t->top, 0);
    rmc_row_get(s->dim, s->ld, z->p + k, first);
    rmc_row_get(s->dim, ld, v + j, first + s->dim);
}

/* The ends of the trajectory change places, and the lane goes to the other. */
static inline void rmc_tree_turn(const struct rmc_trees *t,
                                 const relmc_shape *s, relmc_state *z, size_t k)
{
    double *a = rmc_first_at(&t->tree[k], s->dim, t->top, 0);
    double *b = rmc_last_at(&t->tree[k], s->dim, (size_t)t->depth[k]);

    for (size_t i = 0; i < s->dim; i++) {
        const size_t at = i * s->ld + k, far = k * t->lane + i;

        rmc_swap(&t->far_x[far], &z->x[at]);
        rmc_swap(&t->far_g[far], &z->g[at]);
        rmc_swap(&a[i], &b[i]);
        rmc_swap(&a[s->dim + i], &b[s->dim + i]);
        z->p[at] = b[i];
    }
}

/* Start the other half: 2^depth leaves more, in a random direction.  `step` is
 * the step that led away from the first end; 1 if its sign changes, and with it
 * the end where the lane is.  What a uniform number says beyond the direction is
 * uniform again, and decides between the halves. */
static inline int rmc_tree_grow(const struct rmc_trees *t,
                                const relmc_system *sys, size_t k, double *step)
{
    const size_t at = (size_t)t->depth[k] % RMC_DIRECTIONS;

    if (at == 0) {
        rmc_draw_ways(t, sys, k);
    }
    const double u = t->way[k * RMC_DIRECTIONS + at];
    const uint64_t forwards = rmc_if_less(u, 0.5);
    const double next = rmc_pick(forwards, sys->move.eps[k], -sys->move.eps[k]);
    const int has_turned = next != step[k];

    t->luck[k] = 2.0 * u - rmc_pick(forwards, 0.0, 1.0);
    t->weight_half[k] = t->weight_chosen[k] = 0.0;
    step[k] = next;
    return has_turned;
}

/* Has the half all its leaves, and none of its spans turned? */
static inline int rmc_tree_has_half(const struct rmc_trees *t, size_t k)
{
    return t->n[k] == UINT64_C(2) << t->depth[k] &&
           t->n_joined[k] >= t->depth[k];
}

/* The half is complete: [NUTS] its point is taken with probability min(1, ratio
 * of the weights), which favours what is far from the start.  0 if the whole
 * trajectory turns. */
static inline int rmc_tree_close_half(const struct rmc_trees *t,
                                      const relmc_shape *s, size_t k)
{
    if (t->luck[k] * t->weight[k] < t->weight_half[k]) {
        rmc_point_copy(t, s, k, t->trial_x, t->next_x);
        rmc_point_copy(t, s, k, t->trial_g, t->next_g);
        t->next_lp[k] = t->trial_lp[k];
        t->next_h[k] = t->trial_h[k];
    }
    t->weight[k] += t->weight_half[k];
    t->depth[k]++;
    return t->n_joined[k] == t->depth[k];
}

/* The chosen point becomes that of the lane. */
static inline void rmc_tree_end(const struct rmc_trees *t, const relmc_shape *s,
                                size_t k, relmc_state *z)
{
    for (size_t i = 0; i < s->dim; i++) {
        const size_t at = k * t->lane + i * t->stride;

        z->x[i * s->ld + k] = t->next_x[at];
        z->g[i * s->ld + k] = t->next_g[at];
        z->p[i * s->ld + k] = 0.0; /* something finite, for a lane at rest */
    }
    z->lp[k] = t->next_lp[k];
    t->n_choices[k] = 0; /* none are drawn for a lane at rest */
}

/* The smaller of what the user and the adaptation allow. */
static inline uint64_t rmc_tree_limit(const struct rmc_trees *t,
                                      const relmc_system *sys)
{
    const uint64_t limit = t->n_levels - 1;
    const uint64_t wish = (uint64_t)sys->move.max_depth;

    return wish && wish < limit ? wish : limit;
}

/* The half of lane k does not go on with another leaf, which is no reason for the
 * trajectory to end if it is complete and nothing turned. */
RMC_INLINE void rmc_settle(const struct rmc_trees *t, const relmc_system *sys,
                           relmc_state *z, size_t k, double *step)
{
    if (t->has_leaf[k] && rmc_tree_has_half(t, k) &&
        rmc_tree_close_half(t, &sys->shape, k) &&
        t->depth[k] < rmc_tree_limit(t, sys)) {
        t->goes_on[k] = ~UINT64_C(0);
        if (rmc_tree_grow(t, sys, k, step)) {
            rmc_tree_turn(t, &sys->shape, z, k);
        }
    }
}

/* Those of n lanes from k on that do not go on, added to a list; nobody can foresee
 * them: without branches. */
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

/* ---- the trees of the lanes from k on, if there are few coordinates ------- */

/* Uniform numbers for choices. */
RMC_INLINE void rmc_bunch_choices(const struct rmc_trees *t,
                                  const relmc_system *sys, size_t k,
                                  rmc_bunch *u)
{
    const rmc_counts used = RMC_COUNTS(t->n_choices + k);
    const rmc_where are_used = RMC_IS_ZERO(used - RMC_CHOICES);

    for (size_t j = k; RMC_ANY(are_used) && j < k + RMC_BUNCH; j++) {
        if (t->n_choices[j] == RMC_CHOICES) {
            rmc_draw_choices(t, sys, j);
        }
    }
    const rmc_counts at = RMC_COUNTS(t->n_choices + k);
    *u = RMC_LOOK_UP(t->choice + k * RMC_CHOICES, RMC_LANES * RMC_CHOICES + at);
}

/* Choose among their leaves: rmc_choose. */
RMC_INLINE void rmc_choose_bunch(const struct rmc_trees *t, size_t dim,
                                 size_t k, const relmc_system *sys,
                                 const relmc_state *z,
                                 const struct rmc_leaves *leaves,
                                 const struct rmc_bunch_leaves *b)
{
    const size_t ld = sys->shape.ld;
    const rmc_bunch zero = {0};
    rmc_bunch patience = zero;

    rmc_bunch_choices(t, sys, k, &patience);
    const rmc_bunch weight =
        RMC_PICK(b->has_leaf, RMC_NUMBERS(leaves->weight + k), zero);
    const rmc_bunch sum = RMC_NUMBERS(t->weight_half + k) + weight;
    const rmc_bunch chosen = RMC_NUMBERS(t->weight_chosen + k);
    const rmc_where is_chosen = RMC_IS_LESS(chosen, patience * sum);

    RMC_PUT(t->accept + k,
            RMC_NUMBERS(t->accept + k) + RMC_MIN(weight, zero + 1.0));
    RMC_PUT(t->weight_half + k, sum);
    RMC_PUT_WHERE(is_chosen, t->weight_chosen + k, sum);
    RMC_PUT_WHERE(is_chosen, t->trial_lp + k, RMC_NUMBERS(z->lp + k));
    RMC_PUT_WHERE(is_chosen, t->trial_h + k, RMC_NUMBERS(leaves->h + k));
    for (size_t i = k; i < k + dim * ld; i += ld) {
        RMC_PUT_WHERE(is_chosen, t->trial_x + i, RMC_NUMBERS(z->x + i));
        RMC_PUT_WHERE(is_chosen, t->trial_g + i, RMC_NUMBERS(z->g + i));
    }
    RMC_COUNTS(t->n_choices + k) =
        RMC_COUNT(RMC_COUNTS(t->n_choices + k), is_chosen);
}

/* Enter their leaves. */
RMC_INLINE void rmc_enter_bunch(const struct rmc_trees *t, size_t dim,
                                size_t ld, size_t k, const double *p,
                                const double *v, struct rmc_bunch_leaves *b)
{
    const rmc_counts n = RMC_COUNTS(t->n + k), one = (rmc_counts){0} + 1;

    b->n = n - (one << RMC_COUNTS(t->depth + k));
    b->has_point = RMC_IS_SET(RMC_COUNTS(t->has_point + k));
    b->has_leaf = RMC_IS_SET(RMC_COUNTS(t->has_leaf + k));
    for (size_t i = 0; i < dim; i++) {
        b->at.p[i] = RMC_NUMBERS(p + i * ld + k);
        b->at.v[i] = RMC_NUMBERS(v + i * ld + k);
    }
    const rmc_where is_first = b->has_point & RMC_IS_ZERO(b->n);
    rmc_bunch_wait_as_points(dim, rmc_few_at(t, dim, k, t->n_levels, 0), b,
                             &is_first);
    rmc_bunch_enter(dim, rmc_few_at(t, dim, k, 0, 0), b);
    RMC_COUNTS(t->n + k) = RMC_COUNT(n, b->has_leaf);
}

/* rmc_tree_close_half where it is complete; where the trajectory turns, it does
 * not go on. */
RMC_INLINE void rmc_close_bunch(const struct rmc_trees *t, size_t dim,
                                size_t ld, size_t k, struct rmc_bunch_leaves *b,
                                const rmc_where *where)
{
    const rmc_bunch weight = RMC_NUMBERS(t->weight + k);
    const rmc_bunch half = RMC_NUMBERS(t->weight_half + k);
    const rmc_where taken =
        *where & RMC_IS_LESS(RMC_NUMBERS(t->luck + k) * weight, half);

    for (size_t i = k; i < k + dim * ld; i += ld) {
        RMC_PUT_WHERE(taken, t->next_x + i, RMC_NUMBERS(t->trial_x + i));
        RMC_PUT_WHERE(taken, t->next_g + i, RMC_NUMBERS(t->trial_g + i));
    }
    RMC_PUT_WHERE(taken, t->next_lp + k, RMC_NUMBERS(t->trial_lp + k));
    RMC_PUT_WHERE(taken, t->next_h + k, RMC_NUMBERS(t->trial_h + k));
    RMC_PUT_WHERE(*where, t->weight + k, weight + half);
    RMC_COUNTS(t->depth + k) = RMC_COUNT(RMC_COUNTS(t->depth + k), *where);
    const struct rmc_bunch_points first =
        rmc_bunch_firsts(dim, rmc_few_at(t, dim, k, t->n_levels, 0));
    rmc_bunch_join(dim, rmc_few_at(t, dim, k, t->n_levels - 1, 0), &first, b,
                   where);
}

/* Uniform numbers for the halves to come. */
RMC_INLINE void rmc_next_ways(const struct rmc_trees *t,
                              const relmc_system *sys, size_t k,
                              const rmc_where *where, rmc_bunch *u)
{
    const rmc_counts at = RMC_COUNTS(t->depth + k) % RMC_DIRECTIONS;
    const rmc_where is_first = *where & RMC_IS_ZERO(at);

    for (size_t j = 0; RMC_ANY(is_first) && j < RMC_BUNCH; j++) {
        if (RMC_SET(is_first)[j]) {
            rmc_draw_ways(t, sys, k + j);
        }
    }
    *u = RMC_LOOK_UP(t->way + k * RMC_DIRECTIONS,
                     RMC_LANES * RMC_DIRECTIONS + at);
}

/* rmc_tree_grow where the trajectory doubles, and rmc_tree_turn. */
RMC_INLINE void rmc_grow_bunch(const struct rmc_trees *t, size_t dim, size_t k,
                               const relmc_system *sys, relmc_state *z,
                               const struct rmc_bunch_leaves *b,
                               const rmc_where *where, double *step)
{
    const size_t ld = sys->shape.ld;
    const rmc_bunch eps = RMC_NUMBERS(sys->move.eps + k), zero = {0};
    rmc_bunch u = zero;

    rmc_next_ways(t, sys, k, where, &u);
    const rmc_where forwards = RMC_IS_LESS(u, zero + 0.5);
    const rmc_where turns =
        *where & (forwards ^ RMC_IS_POSITIVE(RMC_NUMBERS(step + k)));
    double *whole = rmc_few_at(t, dim, k, t->n_levels - 1, 0);

    RMC_PUT_WHERE(*where, t->luck + k,
                  2.0 * u - RMC_PICK(forwards, zero, zero + 1.0));
    RMC_PUT_WHERE(*where, t->weight_half + k, zero);
    RMC_PUT_WHERE(*where, t->weight_chosen + k, zero);
    RMC_PUT_WHERE(*where, step + k, RMC_PICK(forwards, eps, -eps));
    for (size_t i = 0; i < dim; i++) {
        const rmc_bunch p = RMC_ROW(whole, RMC_P_FIRST, i);
        const rmc_bunch v = RMC_ROW(whole, RMC_V_FIRST, i);
        const size_t at = i * ld + k;

        RMC_PUT_WHERE(*where, RMC_ROW_AT(whole, RMC_RHO, i), b->rho[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(whole, RMC_P_LAST, i),
                      RMC_PICK(turns, p, b->at.p[i]));
        RMC_PUT_WHERE(*where, RMC_ROW_AT(whole, RMC_V_LAST, i),
                      RMC_PICK(turns, v, b->at.v[i]));
        RMC_PUT_WHERE(turns, RMC_ROW_AT(whole, RMC_P_FIRST, i), b->at.p[i]);
        RMC_PUT_WHERE(turns, RMC_ROW_AT(whole, RMC_V_FIRST, i), b->at.v[i]);
        RMC_PUT_WHERE(turns, z->p + at, p);
        RMC_SWAP_WHERE(turns, z->x + at, t->far_x + at);
        RMC_SWAP_WHERE(turns, z->g + at, t->far_g + at);
    }
}

/* Leaves for these lanes, and what follows from them. */
RMC_INLINE void rmc_add_bunch(const struct rmc_trees *t, size_t dim, size_t k,
                              const relmc_system *sys, relmc_state *z,
                              const struct rmc_leaves *leaves, double *step,
                              rmc_lane_list *ends)
{
    const size_t ld = sys->shape.ld;
    const rmc_counts n = RMC_COUNTS(t->n + k);
    struct rmc_bunch_leaves b;

    rmc_enter_bunch(t, dim, ld, k, z->p, leaves->v, &b);
    rmc_choose_bunch(t, dim, k, sys, z, leaves, &b); /* waits for the weights */
    const rmc_where is_last = b.has_point & RMC_IS_ZERO(n & (n + 1));
    if (RMC_ANY(is_last)) { /* known early */
        const rmc_where is_complete = is_last & b.goes_on;

        rmc_close_bunch(t, dim, ld, k, &b, &is_complete);
        const rmc_where may_grow = RMC_IS_SET(
            (rmc_counts)(RMC_COUNTS(t->depth + k) < rmc_tree_limit(t, sys)));
        const rmc_where grows = is_complete & b.goes_on & may_grow;
        b.goes_on &= ~is_complete | grows;
        rmc_grow_bunch(t, dim, k, sys, z, &b, &grows, step);
    }
    RMC_COUNTS(t->goes_on + k) = RMC_SET(b.goes_on);
    const rmc_where is_end = b.has_point & ~b.goes_on;
    if (RMC_ANY(is_end)) {
        rmc_list_ends(t, k, RMC_BUNCH, ends);
    }
}

/* ---- new leaves of all lanes ---------------------------------------------- */

/* Numbers for the leaves to come. */
RMC_INLINE void rmc_next_choices(const struct rmc_trees *t, size_t lanes,
                                 const relmc_system *sys)
{
    uint64_t are_used = 0;

    for (size_t k = 0; k < lanes; k++) {
        are_used |= t->n_choices[k] & RMC_CHOICES;
    }
    for (size_t k = 0; are_used && k < lanes; k++) {
        if (t->n_choices[k] == RMC_CHOICES) {
            rmc_draw_choices(t, sys, k);
        }
    }
    for (size_t k = 0; k < lanes; k++) {
        t->patience[k] = t->choice[k * RMC_CHOICES + t->n_choices[k]];
    }
}

/* Lanes one after the other. */
RMC_INLINE void rmc_add_lanes(const struct rmc_trees *t, size_t dim, size_t ld,
                              const relmc_system *sys, relmc_state *z,
                              const struct rmc_leaves *leaves, double *step,
                              rmc_lane_list *ends)
{
    const size_t lanes = ld == 1 ? 1 : sys->shape.lanes;

    for (size_t k = 0; k < lanes; k++) {
        t->goes_on[k] = 0;
        if (t->has_leaf[k]) {
            rmc_enter_lane(t, dim, ld, k, z->p, leaves->v);
        }
    }
    rmc_choose(t, dim, ld, z, leaves); /* it waits for the weights */
    rmc_list_ends(t, 0, lanes, ends);
    const size_t n_halves = ends->n;
    ends->n = 0;
    for (size_t j = 0; j < n_halves; j++) {
        const uint32_t k = ends->lane[j];

        rmc_settle(t, sys, z, k, step);
        ends->lane[ends->n] = k;
        ends->n += !t->goes_on[k];
    }
}

RMC_INLINE void rmc_add(const struct rmc_trees *t, size_t dim, size_t ld,
                        const relmc_system *sys, relmc_state *z,
                        const struct rmc_leaves *leaves, double *step,
                        rmc_lane_list *ends)
{
    const size_t lanes = ld == 1 ? 1 : sys->shape.lanes;

    ends->n = 0;
    if (ld > 1 && dim < RMC_WAYS) {
        for (size_t k = 0; k < lanes; k += RMC_BUNCH) {
            rmc_add_bunch(t, dim, k, sys, z, leaves, step, ends);
        }
    } else {
        rmc_next_choices(t, lanes, sys);
        rmc_add_lanes(t, dim, ld, sys, z, leaves, step, ends);
    }
}

/* The same if there are few coordinates, which become a constant: no loops. */
#define RMC_ADD_FEW(ld)                                                    \
    (sys->shape.dim == 1   ? rmc_add(t, 1, ld, sys, z, leaves, step, ends) \
     : sys->shape.dim == 2 ? rmc_add(t, 2, ld, sys, z, leaves, step, ends) \
                           : rmc_add(t, 3, ld, sys, z, leaves, step, ends))

static __attribute__((noinline)) void
rmc_add_bunches(const struct rmc_trees *t, const relmc_system *sys,
                relmc_state *z, const struct rmc_leaves *leaves, double *step,
                rmc_lane_list *ends)
{
    RMC_ADD_FEW(sys->shape.ld);
}

/* Leaves for the trees, where there are any; halves that are complete are closed,
 * and others begun.  `step` is signed, and z at the end that grows.  The lanes
 * whose trajectories end are listed, those with a divergent point included. */
RMC_INLINE void rmc_trees_add(const struct rmc_trees *t,
                              const relmc_system *sys, relmc_state *z,
                              const struct rmc_leaves *leaves, double *step,
                              rmc_lane_list *ends)
{
    const size_t dim = sys->shape.dim, ld = sys->shape.ld;

    if (rmc_trees_are_few(&sys->shape)) {
        rmc_add_bunches(t, sys, z, leaves, step, ends);
    } else if (dim < RMC_WAYS) {
        RMC_ADD_FEW(1);
    } else {
        rmc_add(t, dim, ld, sys, z, leaves, step, ends);
    }
}

/* ---- limits --------------------------------------------------------------- */

/* The energy error called divergent.  With a limited speed errors stay small
 * where a trajectory without limit would fly apart. */
static inline double rmc_error_limit(const relmc_system *sys, double max_error)
{
    return max_error > 0.0                    ? max_error
           : sys->move.kinetic.ops->has_limit ? 20.0
                                              : 1000.0;
}

#endif
