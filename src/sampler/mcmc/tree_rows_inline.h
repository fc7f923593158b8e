/*
 * tree_rows_inline.h - trees, one lane after the other: the plain reference.
 *
 * No recursion: a half-built tree is a binary counter.  Of n points, the start
 * included, there is one finished span for every bit of n that is set: level j
 * holds the one of 2^j points, the highest being the trajectory before its last
 * doubling.  A new leaf is joined with the levels of the trailing ones.
 *
 * Weights are worked on in all lanes at once.  The levels are not, for every lane
 * is at another place of its tree.  Lanes of few coordinates are worked on several
 * at a time, in tree_lanes.c.
 *
 * Inlined because a step of a small target takes tens of nanoseconds, and calls
 * would be a twentieth of it; and `dim` is a constant where coordinates are few.
 */
#ifndef RMC_SAMPLER_TREE_ROWS_INLINE_H
#define RMC_SAMPLER_TREE_ROWS_INLINE_H

#include "sampler/mcmc/tree_inline.h"
#include "sampler/mcmc/uturn_inline.h"

/* ---- memory --------------------------------------------------------------- */

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
        .h0 = rmc_per_lane_new(arena, s),
        .leaves = {rmc_per_lane_new(arena, s), rmc_per_lane_new(arena, s),
                   rmc_lanes_new(arena, s)},
        .momentum = rmc_momentum_new(arena, s),
    };

    for (size_t k = 0; !are_few && t.tree && k < s->lanes; k++) {
        t.tree[k].levels = rmc_lanes_new(arena, &levels);
    }
    return t;
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
    RMC_UNROLL_COPY
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

/* [NUTS] Within its half a point is chosen with its weight: it stays with a leaf
 * that was chosen when the sum of weights was W until that sum is W / u, u being
 * uniform.  So a number is needed for every choice, not for every leaf. */
RMC_INLINE void rmc_choose(const struct rmc_trees *t, size_t dim, size_t ld,
                           const relmc_state *z)
{
    const struct rmc_leaves *leaves = &t->leaves;

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

/* ---- levels --------------------------------------------------------------- */

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

/* ---- the tree of lane k --------------------------------------------------- */

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
    RMC_ISA(rmc_draw_choices)
    (t, sys, k); /* while directions are, too: it is quicker */
    for (size_t i = 0; i < s->dim; i++) {
        const size_t at = i * s->ld + k, to = k * t->lane + i * t->stride;

        t->far_x[to] = t->next_x[to] = z->x[at];
        t->far_g[to] = t->next_g[to] = z->g[at];
    }
    if (rmc_trees_are_few(s)) {
        RMC_ISA(rmc_begin_few)(t, s, k, z->p, v + j, ld);
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
        RMC_ISA(rmc_draw_ways)(t, sys, k);
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
            RMC_ISA(rmc_draw_choices)(t, sys, k);
        }
    }
    for (size_t k = 0; k < lanes; k++) {
        t->patience[k] = t->choice[k * RMC_CHOICES + t->n_choices[k]];
    }
}

/* Lanes one after the other. */
RMC_INLINE void rmc_add_lanes(const struct rmc_trees *t, size_t dim, size_t ld,
                              const relmc_system *sys, relmc_state *z,
                              double *step, rmc_lane_list *ends)
{
    const size_t lanes = ld == 1 ? 1 : sys->shape.lanes;

    for (size_t k = 0; k < lanes; k++) {
        t->goes_on[k] = 0;
        if (t->has_leaf[k]) {
            rmc_enter_lane(t, dim, ld, k, z->p, t->leaves.v);
        }
    }
    rmc_choose(t, dim, ld, z); /* it waits for the weights */
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
                        const relmc_system *sys, relmc_state *z, double *step,
                        rmc_lane_list *ends)
{
    ends->n = 0;
    rmc_next_choices(t, ld == 1 ? 1 : sys->shape.lanes, sys);
    rmc_add_lanes(t, dim, ld, sys, z, step, ends);
}

/* Adds t->leaves to the trees that have a point; closes halves that are complete,
 * and begins others.  `step` is signed, and z at the end that grows.  Lists the
 * lanes whose trajectories end, those with a divergent point included. */
RMC_INLINE void rmc_trees_add(const struct rmc_trees *t,
                              const relmc_system *sys, relmc_state *z,
                              double *step, rmc_lane_list *ends)
{
    const size_t dim = sys->shape.dim, ld = sys->shape.ld;

    if (rmc_trees_are_few(&sys->shape)) {
        RMC_ISA(rmc_add_lanes_at_once)(t, sys, z, step, ends);
    } else if (dim >= RMC_WAYS) {
        rmc_add(t, dim, ld, sys, z, step, ends);
    } else { /* constants, for the compiler */
        dim == 1   ? rmc_add(t, 1, 1, sys, z, step, ends)
        : dim == 2 ? rmc_add(t, 2, 1, sys, z, step, ends)
                   : rmc_add(t, 3, 1, sys, z, step, ends);
    }
}

/* ---- begin and end of a trajectory ---------------------------------------- */

/* Trajectories of these lanes begin, with new momenta.  step[k] becomes eps or -eps,
 * the direction in which lane k goes first. */
static inline void rmc_trees_begin(const struct rmc_trees *t, relmc_system *sys,
                                   relmc_state *z, relmc_transition *out,
                                   const rmc_lane_list *set, double *step)
{
    const relmc_shape c = rmc_compact(&sys->shape, set);
    const relmc_kinetic *kin = &sys->move.kinetic;
    const struct rmc_leaves *a = &t->leaves;
    const double *p = rmc_momentum_draw(&t->momentum, sys, z->p, set, 0.0);

    kin->ops->energy(kin->self, &c, p, a->h);
    kin->ops->speed(kin->self, &c, p, a->weight);
    kin->ops->velocity(kin->self, &c, p, a->v);
    for (size_t j = 0; j < set->n; j++) {
        const size_t k = set->lane[j];

        t->h0[k] = a->h[j] - z->lp[k];
        step[k] = sys->move.eps[k];
        out->speed[k] = a->weight[j];
        sys->lanes.busy[k] = 1;
        rmc_tree_begin(t, sys, k, z, t->h0[k], a->v, c.ld, j);
        (void)rmc_tree_grow(t, sys, k, step);
    }
}

/* The chosen point becomes that of lane k, and the transition is complete after
 * n_steps of the integrator. */
static inline void rmc_tree_finish(const struct rmc_trees *t, relmc_system *sys,
                                   relmc_state *z, relmc_transition *out,
                                   size_t k, int32_t n_steps, int is_divergent)
{
    const int32_t stages = (int32_t)(sys->move.integrator->n_coef - 1) / 2;

    rmc_tree_end(t, &sys->shape, k, z);
    sys->lanes.busy[k] = 0;
    out->n_done++;
    out->done[k] = 1;
    out->energy[k] = t->next_h[k];
    out->n_steps[k] = n_steps;
    out->n_grad[k] = n_steps * stages;
    out->depth[k] = (int32_t)t->depth[k];
    out->divergent[k] = is_divergent;
}

/* The energy error called divergent, if max_error leaves it open.  With a limited
 * speed errors stay small where a trajectory without limit would
 * fly apart. */
static inline double rmc_error_limit(const relmc_system *sys, double max_error)
{
    return max_error > 0.0                    ? max_error
           : sys->move.kinetic.ops->has_limit ? 20.0
                                              : 1000.0;
}

#endif
