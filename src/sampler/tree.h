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
 * With few coordinates four lanes are worked on at once (tree_few.h); with more of
 * them, lane after lane, and coordinates at once (span.h).
 */
#ifndef RMC_SAMPLER_TREE_H
#define RMC_SAMPLER_TREE_H

#include "momentum.h"
#include "span.h"

enum { RMC_MAX_DEPTH = 24 };

/* The levels; rho of the span that ends with the new leaf; momentum and velocity
 * there.  Rows of dim numbers, which change places. */
struct rmc_stack {
    struct rmc_span *level;
    double *rho, *p, *v;
};

/* Uniform numbers are drawn some of a lane at a time.  What is left of them when
 * a trajectory ends is not used: a stream is all that has to be remembered. */
enum { RMC_CHOICES = 16, RMC_DIRECTIONS = 8 };

/* Trees grow at their `last` end, which is where the lane is; to grow the other
 * way the ends change places.  Points are blocks of dim x ld, as elsewhere, if
 * there are few coordinates, and otherwise one row per lane: coordinate i of
 * lane k is found at k * lane + i * stride.  The rest is numbers per lane. */
struct rmc_trees {
    size_t n_levels, lane, stride;
    struct rmc_stack *stacks;  /* one per lane, or ... */
    double *few;               /* ... the levels of tree_few.h */
    double *far_x, *far_g;     /* position and gradient at the first end */
    double *next_x, *next_g;   /* the point chosen so far ... */
    double *trial_x, *trial_g; /* ... and that of the half under construction */
    double *next_lp, *trial_lp, *next_h, *trial_h;
    double *weight, *weight_half; /* sums of exp(H0 - H), 1 for the start */
    double *accept;               /* sums of min(1, exp(H0 - H)) */
    double *luck;                 /* uniform, decides between the halves */
    uint64_t *n;                  /* points, the start included */
    uint64_t *n_joined;  /* levels that took the last leaf without a turn */
    uint64_t *has_point; /* all bits: there is a new point, ... */
    uint64_t *has_leaf;  /* ... and it is not divergent; and then: its */
    uint64_t *goes_on;   /* half is neither complete nor has it turned */
    int32_t *depth;
    double *choice; /* RMC_CHOICES per lane, for leaves */
    double *way;    /* RMC_DIRECTIONS per lane, for halves */
};

/* New points: numbers per lane and the velocities, dim x ld. */
struct rmc_leaves {
    double *weight, *h, *v;
};

/* ---- memory --------------------------------------------------------------- */

static inline int rmc_trees_are_few(const relmc_shape *s)
{
    return s->dim < RMC_WAYS;
}

/* One for each lane. */
static inline struct rmc_stack *
rmc_stacks_new(relmc_arena *arena, const relmc_shape *s, size_t n_levels)
{
    struct rmc_stack *stacks =
        (struct rmc_stack *)relmc_arena_get(arena, s->lanes * sizeof *stacks);

    for (size_t k = 0; stacks && k < s->lanes; k++) {
        const struct rmc_span newest = rmc_span_new(arena, s->dim);

        stacks[k].rho = newest.rho;
        stacks[k].p = newest.p_last;
        stacks[k].v = newest.v_last;
        stacks[k].level = (struct rmc_span *)relmc_arena_get(
            arena, n_levels * sizeof(struct rmc_span));
        for (size_t j = 0; stacks[k].level && j < n_levels; j++) {
            stacks[k].level[j] = rmc_span_new(arena, s->dim);
        }
    }
    return stacks;
}

/* The rows of a span in tree_few.h. */
enum { RMC_RHO, RMC_P_FIRST, RMC_V_FIRST, RMC_P_LAST, RMC_V_LAST, RMC_ROWS };

/* Lane k of coordinate 0 of a row of a level there; and how far it is to the next
 * coordinate. */
static inline size_t rmc_few_width(const relmc_shape *s)
{
    return s->ld == 1 ? 1 : 4;
}

static inline double *rmc_few_at(const struct rmc_trees *t,
                                 const relmc_shape *s, size_t k, size_t level,
                                 size_t row)
{
    const size_t width = rmc_few_width(s), j = k % width;

    return t->few + (k - j) * t->n_levels * RMC_ROWS * s->dim +
           (level * RMC_ROWS + row) * s->dim * width + j;
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
    const relmc_shape choices = {RMC_CHOICES, s->lanes, s->ld};
    const relmc_shape ways = {RMC_DIRECTIONS, s->lanes, s->ld};
    const relmc_shape few = {(max_depth + 1) * RMC_ROWS * s->dim, s->lanes,
                             s->ld};
    const relmc_shape point = {are_few ? s->dim : rmc_leading(s->dim), s->lanes,
                               s->ld};

    return (struct rmc_trees){
        .n_levels = max_depth + 1,
        .lane = are_few ? 1 : point.dim,
        .stride = are_few ? s->ld : 1,
        .stacks = are_few ? NULL : rmc_stacks_new(arena, s, max_depth + 1),
        .few = are_few ? rmc_lanes_new(arena, &few) : NULL,
        .far_x = rmc_lanes_new(arena, &point),
        .far_g = rmc_lanes_new(arena, &point),
        .next_x = rmc_lanes_new(arena, &point),
        .next_g = rmc_lanes_new(arena, &point),
        .trial_x = rmc_lanes_new(arena, &point),
        .trial_g = rmc_lanes_new(arena, &point),
        .next_lp = rmc_per_lane_new(arena, s),
        .trial_lp = rmc_per_lane_new(arena, s),
        .next_h = rmc_per_lane_new(arena, s),
        .trial_h = rmc_per_lane_new(arena, s),
        .weight = rmc_per_lane_new(arena, s),
        .weight_half = rmc_per_lane_new(arena, s),
        .accept = rmc_per_lane_new(arena, s),
        .luck = rmc_per_lane_new(arena, s),
        .n = rmc_bits_new(arena, s),
        .n_joined = rmc_bits_new(arena, s),
        .has_point = rmc_bits_new(arena, s),
        .has_leaf = rmc_bits_new(arena, s),
        .goes_on = rmc_bits_new(arena, s),
        .depth = (int32_t *)relmc_arena_get(arena, s->ld * sizeof(int32_t)),
        .choice = rmc_lanes_new(arena, &choices),
        .way = rmc_lanes_new(arena, &ways),
    };
}

static inline struct rmc_leaves rmc_leaves_new(relmc_arena *arena,
                                               const relmc_shape *s)
{
    return (struct rmc_leaves){rmc_per_lane_new(arena, s),
                               rmc_per_lane_new(arena, s),
                               rmc_lanes_new(arena, s)};
}

/* ---- random numbers ------------------------------------------------------- */

static void rmc_draw_choices(const struct rmc_trees *t, const relmc_system *sys,
                             size_t k)
{
    const relmc_shape line = {RMC_CHOICES, 1, 1};

    rmc_fill_uniform(&line, &sys->streams[RELMC_FOR_ACCEPT][k],
                     t->choice + RMC_CHOICES * k);
}

static void rmc_draw_ways(const struct rmc_trees *t, const relmc_system *sys,
                          size_t k)
{
    const relmc_shape line = {RMC_DIRECTIONS, 1, 1};

    rmc_fill_uniform(&line, &sys->streams[RELMC_FOR_LENGTH][k],
                     t->way + RMC_DIRECTIONS * k);
}

/* That of the leaf after n points.  If n - 1 is a multiple of RMC_CHOICES, they
 * have to be drawn before. */
static inline double rmc_choice_at(const struct rmc_trees *t, size_t k,
                                   uint64_t n)
{
    return t->choice[RMC_CHOICES * k + (n - 1) % RMC_CHOICES];
}

/* ---- one lane of a block -------------------------------------------------- */

/* Lane k of a block as a row. */
static inline void rmc_row_get(const relmc_shape *s, size_t k,
                               const double *block, double *row)
{
    if (s->ld == 1) {
        memcpy(row, block, s->dim * sizeof *row);
        return;
    }
    for (size_t i = 0; i < s->dim; i++) {
        row[i] = block[i * s->ld + k];
    }
}

/* A point of the tree of lane k. */
static inline void rmc_point_copy(const struct rmc_trees *t,
                                  const relmc_shape *s, size_t k,
                                  const double *from, double *to)
{
    const size_t at = k * t->lane;

    if (!rmc_trees_are_few(s)) {
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

static inline void rmc_exchange(double **a, double **b)
{
    double *was = *a;
    *a = *b;
    *b = was;
}

/* ---- new leaves ----------------------------------------------------------- */

/* exp(H0 - H), such that sums over a tree are finite: points that are better
 * than the start by more than 690 count alike.  The start itself counts 1, so
 * one that is worse by 707 has no chance in floating point, and its 0 is right.
 */
static inline double rmc_leaf_weight(double h0, double h)
{
    const double gain = h0 - h;

    return rmc_exp(gain > 690.0 ? 690.0 : gain);
}

/* [NUTS] Within its half a point is chosen with its weight: a new leaf replaces
 * the trial with the probability that it has among those so far. */
static inline void rmc_choose_lane(const struct rmc_trees *t,
                                   const relmc_system *sys, size_t k,
                                   const relmc_state *z,
                                   const struct rmc_leaves *leaves)
{
    const relmc_shape *s = &sys->shape;

    if (t->n[k] % RMC_CHOICES == 1) {
        rmc_draw_choices(t, sys, k);
    }
    const double u = rmc_choice_at(t, k, t->n[k]);
    t->weight_half[k] += leaves->weight[k];
    t->accept[k] += leaves->weight[k] < 1.0 ? leaves->weight[k] : 1.0;
    if (u * t->weight_half[k] < leaves->weight[k]) {
        rmc_row_get(s, k, z->x, t->trial_x + k * t->lane);
        rmc_row_get(s, k, z->g, t->trial_g + k * t->lane);
        t->trial_lp[k] = z->lp[k];
        t->trial_h[k] = leaves->h[k];
    }
}

/* Enter the leaf of one lane, after n points, into the counter; how many levels
 * it was joined with without a turn.  To wait is to change places with rows that
 * nobody needs any more. */
static inline uint64_t rmc_enter_row(struct rmc_stack *stack, uint64_t n,
                                     size_t dim)
{
    struct rmc_span *a = stack->level;
    struct rmc_newest b = {stack->rho, a, stack->p, stack->v};

    if (!(n & 1)) { /* the first of two points */
        rmc_exchange(&a->p_first, &stack->p);
        rmc_exchange(&a->v_first, &stack->v);
        return 0;
    }
    int goes_on = rmc_span_pair(dim, &b);
    for (a++; goes_on && n >> (a - stack->level) & 1; a++) {
        b.from = a - 1;
        goes_on = rmc_span_join(dim, a, &b);
    }
    if (goes_on) {
        rmc_exchange(&a->rho, &stack->rho);
        rmc_exchange(&a->p_first, &a[-1].p_first);
        rmc_exchange(&a->v_first, &a[-1].v_first);
        rmc_exchange(&a->p_last, &stack->p);
        rmc_exchange(&a->v_last, &stack->v);
    }
    return (uint64_t)(a - stack->level - !goes_on);
}

static inline void rmc_add_lane(const struct rmc_trees *t,
                                const relmc_system *sys, size_t k,
                                const relmc_state *z,
                                const struct rmc_leaves *leaves)
{
    const relmc_shape *s = &sys->shape;
    struct rmc_stack *stack = &t->stacks[k];

    rmc_choose_lane(t, sys, k, z, leaves);
    rmc_row_get(s, k, z->p, stack->p);
    rmc_row_get(s, k, leaves->v, stack->v);
    const uint64_t n = t->n[k]++, is_complete = !(n & (n + 1));

    t->n_joined[k] = rmc_enter_row(stack, n, s->dim);
    t->goes_on[k] =
        t->n_joined[k] == (uint64_t)__builtin_ctzll(n + 1) && !is_complete
            ? ~UINT64_C(0)
            : 0;
}

static inline void rmc_add_lanes(const struct rmc_trees *t,
                                 const relmc_system *sys, const relmc_state *z,
                                 const struct rmc_leaves *leaves,
                                 rmc_lane_list *ends)
{
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        t->goes_on[k] = 0;
        if (t->has_leaf[k]) {
            rmc_add_lane(t, sys, k, z, leaves);
        }
        ends->lane[ends->n] = (uint32_t)k;
        ends->n += (t->has_point[k] & ~t->goes_on[k]) != 0;
    }
}

/* ---- new leaves, few coordinates ------------------------------------------ */

#define RMC_INLINE static inline __attribute__((always_inline))

#define NAME(f)             rmc_##f##_one
#define WIDTH               1
#define NUMBER              double
#define MASK                uint64_t
#define GET(at)             (*(at))
#define GET_MASK(at)        (*(at))
#define PUT(at, x)          (*(at) = (x))
#define PUT_MASK(at, x)     (*(at) = (x))
#define PUT_WHERE(m, at, x) (*(at) = (m) ? (x) : *(at))
#define FOR_EACH(of)        (of(0))
#define KEEP(m, x)          rmc_from_bits(rmc_to_bits(x) & (m))
#define UP_TO_1(x)          ((x) < 1.0 ? (x) : 1.0)
#define IF_LESS(x, y)       ((uint64_t)0 - ((x) < (y)))
#define IF_SAME(x, y)       ((uint64_t)0 - ((x) == (y)))
#define ONLY_MORE(m, x)     ((m) = (x) > 0.0 ? (m) : 0)
#define WHICH(m)            ((unsigned)((m) != 0))
#define SURE(m)             (~UINT64_C(0))
#define MAY_GO_ON(m)        ((m) && ((m) = ~UINT64_C(0)))
#ifdef __AVX2__
#define CONDITION     __m128d
#define IS_LESS(x, y) _mm_cmplt_sd(_mm_set_sd(x), _mm_set_sd(y))
#define PUT_IF(m, at, x) \
    _mm_store_sd(at, _mm_blendv_pd(_mm_load_sd(at), _mm_set_sd(x), m))
#else
#define CONDITION MASK
#define IS_LESS   IF_LESS
#define PUT_IF(m, at, x) \
    (*(at) =             \
         rmc_from_bits((rmc_to_bits(x) & (m)) | (rmc_to_bits(*(at)) & ~(m))))
#endif
#include "tree_few.h"

/* Numbers and masks of four lanes, and where they are found. */
typedef double rmc_quad __attribute__((vector_size(32)));
typedef uint64_t rmc_quad_bits __attribute__((vector_size(32)));
typedef double rmc_quad_at
    __attribute__((vector_size(32), aligned(8), may_alias));
typedef uint64_t rmc_quad_bits_at
    __attribute__((vector_size(32), aligned(8), may_alias));

#define NAME(f)         rmc_##f##_four
#define WIDTH           4
#define NUMBER          rmc_quad
#define MASK            rmc_quad_bits
#define CONDITION       MASK
#define GET(at)         (*(const rmc_quad_at *)(at))
#define GET_MASK(at)    (*(const rmc_quad_bits_at *)(at))
#define PUT(at, x)      (*(rmc_quad_at *)(at) = (x))
#define PUT_MASK(at, x) (*(rmc_quad_bits_at *)(at) = (x))
#ifdef __AVX2__
#define PUT_WHERE(m, at, x) \
    _mm256_storeu_pd(at,    \
                     _mm256_blendv_pd(_mm256_loadu_pd(at), (x), (__m256d)(m)))
#define UP_TO_1(x) ((rmc_quad)_mm256_min_pd(x, _mm256_set1_pd(1.0)))
#define WHICH(m)   ((unsigned)_mm256_movemask_pd((__m256d)(m)))
#else
#define PUT_WHERE(m, at, x) \
    PUT_MASK(at, ((rmc_quad_bits)(x) & (m)) | (GET_MASK(at) & ~(m)))
#define UP_TO_1(x)                                     \
    ((rmc_quad)(((rmc_quad_bits)(x)&IF_LESS(x, 1.0)) | \
                ((rmc_quad_bits)((rmc_quad){0} + 1.0) & ~IF_LESS(x, 1.0))))
#define WHICH(m)                                       \
    ((unsigned)((m)[0] & 1) | (unsigned)((m)[1] & 2) | \
     (unsigned)((m)[2] & 4) | (unsigned)((m)[3] & 8))
#endif
#define FOR_EACH(of)    ((rmc_quad){of(0), of(1), of(2), of(3)})
#define KEEP(m, x)      ((rmc_quad)((rmc_quad_bits)(x) & (m)))
#define IF_LESS(x, y)   ((rmc_quad_bits)((x) < (y)))
#define IF_SAME(x, y)   ((rmc_quad_bits)((x) == (y)))
#define IS_LESS         IF_LESS
#define PUT_IF          PUT_WHERE
#define ONLY_MORE(m, x) ((m) &= IF_LESS(0.0, x))
#define SURE(m)         (m)
#define MAY_GO_ON(m)    1
#include "tree_few.h"

/* ---- new leaves of all lanes ---------------------------------------------- */

/* Leaves for the trees, where there are any.  The lanes that do not go on with
 * another leaf are listed, those with a divergent point included. */
static inline void rmc_trees_add(const struct rmc_trees *t,
                                 const relmc_system *sys, const relmc_state *z,
                                 const struct rmc_leaves *leaves,
                                 rmc_lane_list *ends)
{
    ends->n = 0;
    if (!rmc_trees_are_few(&sys->shape)) {
        rmc_add_lanes(t, sys, z, leaves, ends);
    } else if (sys->shape.ld == 1) {
        rmc_add_few_one(t, sys, z, leaves, ends);
    } else {
        rmc_add_few_four(t, sys, z, leaves, ends);
    }
}

/* ---- the tree of lane k --------------------------------------------------- */

/* Momentum or velocity at an end of the span of a level, and how far apart the
 * coordinates are. */
static inline double *rmc_tree_row(const struct rmc_trees *t,
                                   const relmc_shape *s, size_t k, size_t level,
                                   int row, size_t *stride)
{
    if (rmc_trees_are_few(s)) {
        *stride = rmc_few_width(s);
        return rmc_few_at(t, s, k, level, (size_t)row);
    }
    const struct rmc_span *a = &t->stacks[k].level[level];
    double *const rows[] = {a->rho, a->p_first, a->v_first, a->p_last,
                            a->v_last};

    *stride = 1;
    return rows[row];
}

/* A tree of one point, with energy h: where the lane is.  Its velocity is lane j
 * of a block with leading dimension ld. */
static inline void rmc_tree_begin(const struct rmc_trees *t,
                                  const relmc_shape *s, size_t k,
                                  const relmc_state *z, double h,
                                  const double *v, size_t ld, size_t j)
{
    size_t stride;
    double *p_first = rmc_tree_row(t, s, k, 0, RMC_P_FIRST, &stride);
    double *v_first = rmc_tree_row(t, s, k, 0, RMC_V_FIRST, &stride);

    for (size_t i = 0; i < s->dim; i++) {
        const size_t at = i * s->ld + k, to = k * t->lane + i * t->stride;

        t->far_x[to] = t->next_x[to] = z->x[at];
        t->far_g[to] = t->next_g[to] = z->g[at];
        p_first[i * stride] = z->p[at];
        v_first[i * stride] = v[i * ld + j];
    }
    t->next_lp[k] = z->lp[k];
    t->next_h[k] = h;
    t->weight[k] = 1.0;
    t->accept[k] = 0.0;
    t->n[k] = 1;
    t->depth[k] = 0;
}

static inline void rmc_turn_few(const struct rmc_trees *t, const relmc_shape *s,
                                size_t k)
{
    const size_t level = (size_t)t->depth[k], width = rmc_few_width(s);
    double *p_first = rmc_few_at(t, s, k, level, RMC_P_FIRST);
    double *v_first = rmc_few_at(t, s, k, level, RMC_V_FIRST);
    double *p_last = rmc_few_at(t, s, k, level, RMC_P_LAST);
    double *v_last = rmc_few_at(t, s, k, level, RMC_V_LAST);

    for (size_t i = 0; i < s->dim * width; i += width) {
        rmc_swap(&p_first[i], &p_last[i]);
        rmc_swap(&v_first[i], &v_last[i]);
    }
}

/* The ends of the trajectory change places, and the lane goes to the other. */
static inline void rmc_tree_turn(const struct rmc_trees *t,
                                 const relmc_shape *s, relmc_state *z, size_t k)
{
    const size_t level = (size_t)t->depth[k];
    size_t stride;

    if (rmc_trees_are_few(s)) {
        rmc_turn_few(t, s, k);
    } else {
        struct rmc_span *whole = &t->stacks[k].level[level];

        rmc_exchange(&whole->p_first, &whole->p_last);
        rmc_exchange(&whole->v_first, &whole->v_last);
    }
    const double *p_last = rmc_tree_row(t, s, k, level, RMC_P_LAST, &stride);
    for (size_t i = 0; i < s->dim; i++) {
        const size_t at = i * s->ld + k, far = k * t->lane + i * t->stride;

        rmc_swap(&t->far_x[far], &z->x[at]);
        rmc_swap(&t->far_g[far], &z->g[at]);
        z->p[at] = p_last[i * stride];
    }
}

/* Start the other half: 2^depth leaves more, in a random direction.  `step` is
 * the step that led away from the first end; 1 if its sign changes, and with it
 * the end where the lane is.  What a uniform number says beyond the direction is
 * uniform again, and decides between the halves. */
static inline int rmc_tree_grow(const struct rmc_trees *t,
                                const relmc_system *sys, relmc_state *z,
                                size_t k, double *step)
{
    const size_t at = (size_t)t->depth[k] % RMC_DIRECTIONS;

    if (at == 0) {
        rmc_draw_ways(t, sys, k);
    }
    const double u = t->way[RMC_DIRECTIONS * k + at];
    const double next = u < 0.5 ? sys->eps[k] : -sys->eps[k];
    const int has_turned = next != *step;

    t->luck[k] = u < 0.5 ? 2.0 * u : 2.0 * u - 1.0;
    t->weight_half[k] = 0.0;
    *step = next;
    if (has_turned && t->depth[k]) { /* a single point is both ends */
        rmc_tree_turn(t, &sys->shape, z, k);
    }
    return has_turned;
}

/* Has the half all its leaves, and none of its spans turned? */
static inline int rmc_tree_has_half(const struct rmc_trees *t, size_t k)
{
    return t->n[k] == UINT64_C(2) << t->depth[k] &&
           t->n_joined[k] >= (uint64_t)t->depth[k];
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
    return t->n_joined[k] == (uint64_t)t->depth[k];
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
