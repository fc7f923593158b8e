/*
 * nuts.c - the no-U-turn sampler with any kinetic energy and integrator.
 *
 *   [NUTS]    p ~ exp(-K); the trajectory doubles, forwards or backwards with
 *             equal probability, until it turns back on itself [U-turn]; the
 *             next point is one of its points, with weights exp(-H).
 *
 * Hoffman and Gelman (2014); weights and criterion of Betancourt (2017), with
 * v = dK/dp in place of his M^-1 p.  The seam checks are those of Stan since
 * 2.22.  The tree is in tree.h.  Every lane builds its own: one tick is one
 * integrator step, one leaf, of every busy lane.
 */
#include "tree.h"

struct nuts {
    double max_depth, max_error;
    struct rmc_tree *trees;                 /* one per lane */
    double *step;                           /* one per lane; 0 at rest */
    double *h0, *energy, *uniform, *weight; /* one per lane */
    double *v;                              /* dim x ld */
    uint32_t *lanes;
    struct rmc_momentum momentum;
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct nuts *n = self;
    const relmc_shape *s = &sys->shape;

    n->trees = rmc_trees_new(arena, s, (size_t)n->max_depth);
    n->step = rmc_per_lane_new(arena, s);
    n->h0 = rmc_per_lane_new(arena, s);
    n->energy = rmc_per_lane_new(arena, s);
    n->uniform = rmc_per_lane_new(arena, s);
    n->weight = rmc_per_lane_new(arena, s);
    n->v = rmc_lanes_new(arena, s);
    n->lanes = relmc_arena_get(arena, s->ld * sizeof *n->lanes);
    n->momentum = rmc_momentum_new(arena, s);
    return relmc_arena_check(arena, err);
}

static void begin(struct nuts *n, relmc_system *sys, relmc_state *z,
                  relmc_transition *out, const rmc_lane_list *set)
{
    const relmc_shape *s = &sys->shape, c = rmc_compact(s, set);
    const relmc_kinetic *kin = &sys->kinetic;

    rmc_momentum_draw(&n->momentum, sys, z->p, set, 0.0);
    const double *p = rmc_gather(s, set, z->p, n->momentum.p);
    kin->ops->energy(kin->self, &c, p, n->energy);
    kin->ops->speed(kin->self, &c, p, n->uniform);
    kin->ops->velocity(kin->self, &c, p, n->v);
    for (size_t j = 0; j < set->n; j++) {
        const size_t k = set->lane[j];

        n->h0[k] = n->energy[j] - z->lp[k];
        rmc_tree_begin(&n->trees[k], s, k, z, n->h0[k], &c, j, n->v);
        out->speed[k] = n->uniform[j];
        out->accept_prob[k] = 0.0;
        out->n_steps[k] = 0;
        n->step[k] = sys->eps[k];
        sys->busy[k] = 1;
        (void)rmc_tree_grow(&n->trees[k], sys, z, k, &n->step[k]);
    }
}

static void finish(struct nuts *n, relmc_system *sys, relmc_state *z,
                   relmc_transition *out, size_t k, int is_divergent)
{
    const struct rmc_tree *t = &n->trees[k];
    const int32_t stages = (int32_t)(sys->integrator->n_coef - 1) / 2;

    rmc_tree_end(t, &sys->shape, k, z);
    n->step[k] = 0.0;
    sys->busy[k] = 0;
    out->n_done++;
    out->done[k] = 1;
    out->accept_prob[k] /= (double)out->n_steps[k];
    out->energy[k] = t->next_h;
    out->n_grad[k] = out->n_steps[k] * stages;
    out->depth[k] = t->depth;
    out->divergent[k] = is_divergent;
}

/* `h` is K and becomes H.  Parameters, because that is where gcc believes
 * `restrict`. */
static void weigh_lanes(size_t lanes, const double *restrict h0,
                        const double *restrict lp, double *restrict h,
                        double *restrict weight)
{
    for (size_t k = 0; k < lanes; k++) {
        const double H = h[k] - lp[k];

        h[k] = H;
        weight[k] = rmc_leaf_weight(h0[k], H);
    }
}

/* H and weights of the new points.  All lanes, so that it vectorises; what it
 * makes of resting ones is not used. */
static void weigh(struct nuts *n, const relmc_system *sys, const relmc_state *z)
{
    const relmc_shape *s = &sys->shape;
    const relmc_kinetic *kin = &sys->kinetic;

    kin->ops->energy(kin->self, s, z->p, n->energy);
    kin->ops->velocity(kin->self, s, z->p, n->v);
    weigh_lanes(s->lanes, n->h0, z->lp, n->energy, n->weight);
}

/* One uniform number for every busy lane: those at rest keep theirs. */
static void draw_uniform(struct nuts *n, const relmc_system *sys,
                         const rmc_lane_list *busy)
{
    const relmc_shape *s = &sys->shape;

    rmc_uniform_lanes(&n->momentum, sys, RELMC_FOR_ACCEPT, busy, n->uniform);
    for (size_t j = busy->n; busy->n < s->lanes && j-- > 0;) {
        n->uniform[busy->lane[j]] =
            n->uniform[j]; /* from the back: lane >= j */
    }
}

/* One leaf more in lane k. */
static void add_leaf(struct nuts *n, relmc_system *sys, relmc_state *z,
                     relmc_transition *out, size_t k, double max_error)
{
    const relmc_shape *s = &sys->shape;
    struct rmc_tree *t = &n->trees[k];
    const double error = n->energy[k] - n->h0[k], weight = n->weight[k];

    out->n_steps[k]++;
    if (!rmc_is_finite(error) || error > max_error) {
        finish(n, sys, z, out, k, 1);
        return;
    }
    out->accept_prob[k] += weight < 1.0 ? weight : 1.0;
    t->weight_half += weight;
    if (n->uniform[k] * t->weight_half < weight) {
        rmc_tree_choose(t, s, k, z, n->energy[k]);
    }
    if (!rmc_tree_enter(t, s, k, z->p, n->v)) {
        finish(n, sys, z, out, k, 0);
    } else if (rmc_tree_has_half(t)) {
        if (rmc_tree_close_half(t, sys, k) &&
            t->depth < rmc_tree_limit(sys, n->max_depth)) {
            (void)rmc_tree_grow(t, sys, z, k, &n->step[k]);
        } else {
            finish(n, sys, z, out, k, 0);
        }
    }
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct nuts *n = self;
    const double max_error = rmc_error_limit(sys, n->max_error);
    rmc_lane_list set = {n->lanes, 0};

    out->n_done = 0;
    rmc_find_idle(sys, &set);
    if (set.n) {
        begin(n, sys, z, out, &set);
    }
    const relmc_status status =
        sys->integrator->step(sys->integrator, sys, z, n->step);
    if (status) {
        return status;
    }
    weigh(n, sys, z);
    set.n = 0;
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (sys->busy[k]) {
            set.lane[set.n++] = (uint32_t)k;
        }
    }
    draw_uniform(n, sys, &set);
    for (size_t j = 0; j < set.n; j++) {
        add_leaf(n, sys, z, out, set.lane[j], max_error);
    }
    return RELMC_OK;
}

static const relmc_param params[] = {
    {"max_depth", "a trajectory has at most 2^max_depth - 1 steps", 1,
     RMC_MAX_DEPTH, 10, offsetof(struct nuts, max_depth), RELMC_INTEGER},
    {"max_error",
     "energy error called divergent; 0: 20 if K limits the speed, else 1000", 0,
     1e12, 0, offsetof(struct nuts, max_error), RELMC_REAL},
    {0},
};

const relmc_sampler_ops rmc_sampler_nuts = {
    .info = {"sampler", "nuts", "the no-U-turn sampler", params},
    .state_size = sizeof(struct nuts),
    .flags = RELMC_NEEDS_EXACT,
    .init = init,
    .tick = tick,
};
