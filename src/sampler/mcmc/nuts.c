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
#include "sampler/mcmc/tree.h"

#include <float.h>

struct nuts {
    double max_depth, max_error;
    struct rmc_trees trees;
    struct rmc_leaves leaves;
    double *step; /* one per lane; 0 at rest */
    double *h0;   /* one per lane */
    uint32_t *lanes;
    size_t n_busy;
    int is_odd;         /* the tick, see is_time_to_begin */
    double error_limit; /* above it a point is divergent */
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
    n->leaves = rmc_leaves_new(arena, s);
    n->lanes = relmc_arena_get(arena, s->ld * sizeof *n->lanes);
    n->momentum = rmc_momentum_new(arena, s);
    return relmc_arena_check(arena, err);
}

static void begin(struct nuts *n, relmc_system *sys, relmc_state *z,
                  relmc_transition *out, const rmc_lane_list *set)
{
    const relmc_shape *s = &sys->shape, c = rmc_compact(s, set);
    const relmc_kinetic *kin = &sys->move.kinetic;

    const double *p = rmc_momentum_draw(&n->momentum, sys, z->p, set, 0.0);

    kin->ops->energy(kin->self, &c, p, n->leaves.h);
    kin->ops->speed(kin->self, &c, p, n->leaves.weight);
    kin->ops->velocity(kin->self, &c, p, n->leaves.v);
    n->n_busy += set->n;
    n->error_limit = rmc_error_limit(sys, n->max_error);
    for (size_t j = 0; j < set->n; j++) {
        const size_t k = set->lane[j];

        n->h0[k] = n->leaves.h[j] - z->lp[k];
        n->step[k] = sys->move.eps[k];
        out->speed[k] = n->leaves.weight[j];
        sys->lanes.busy[k] = 1;
        n->trees.has_point[k] = ~UINT64_C(0); /* from now on, in every tick */
        rmc_tree_begin(&n->trees, sys, k, z, n->h0[k], n->leaves.v, c.ld, j);
        (void)rmc_tree_grow(&n->trees, sys, k, n->step);
    }
}

static void finish(struct nuts *n, relmc_system *sys, relmc_state *z,
                   relmc_transition *out, size_t k, int is_divergent)
{
    const struct rmc_trees *t = &n->trees;
    const int32_t stages = (int32_t)(sys->move.integrator->n_coef - 1) / 2;
    /* the start is no step, and a divergent one no point */
    const int32_t steps = (int32_t)t->n[k] - 1 + is_divergent;

    rmc_tree_end(t, &sys->shape, k, z);
    n->step[k] = 0.0;
    n->n_busy--;
    sys->lanes.busy[k] = 0;
    t->has_point[k] = 0;
    out->n_done++;
    out->done[k] = 1;
    out->accept_prob[k] = t->accept[k] / (double)steps;
    out->energy[k] = t->next_h[k];
    out->n_steps[k] = steps;
    out->n_grad[k] = steps * stages;
    out->depth[k] = (int32_t)t->depth[k];
    out->divergent[k] = is_divergent;
}

/* `h` is K and becomes H.  Where it is not divergent, the point is a leaf.
 * Parameters, because that is where gcc believes `restrict`. */
static inline void weigh_lanes(size_t lanes, const uint64_t *restrict has_point,
                               const double *restrict h0,
                               const double *restrict lp, double max_error,
                               double *restrict h, double *restrict weight,
                               uint64_t *restrict has_leaf)
{
    for (size_t k = 0; k < lanes; k++) {
        const double H = h[k] - lp[k], error = H - h0[k];
        const uint64_t is_small = error <= max_error ? has_point[k] : 0;

        h[k] = H;
        weight[k] = rmc_leaf_weight(h0[k], H);
        has_leaf[k] = error >= -DBL_MAX ? is_small : 0; /* not for NaN */
    }
}

/* H and weights of the new points.  What becomes of lanes at rest is not used. */
static void weigh(const struct nuts *n, const relmc_system *sys,
                  const relmc_state *z)
{
    const relmc_shape *s = &sys->shape;
    const relmc_kinetic *kin = &sys->move.kinetic;
    const struct rmc_trees *t = &n->trees;
    double *h = n->leaves.h, *weight = n->leaves.weight;
    const double max_error = n->error_limit;

    kin->ops->energy(kin->self, s, z->p, h);
    kin->ops->velocity(kin->self, s, z->p, n->leaves.v);
    if (s->ld == 1) {
        weigh_lanes(1, t->has_point, n->h0, z->lp, max_error, h, weight,
                    t->has_leaf);
        return;
    }
    for (size_t k = 0; k < s->ld; k += RMC_BUNCH) { /* whole vectors */
        weigh_lanes(RMC_BUNCH, t->has_point + k, n->h0 + k, z->lp + k,
                    max_error, h + k, weight + k, t->has_leaf + k);
    }
}

/* Spans are joined at every second leaf of a trajectory, and there it ends, too.
 * If lanes begin at even ticks only, there is little to do for the trees at odd
 * ones, and at even ones for more lanes at once.  A trajectory has an odd number
 * of steps, so this is one tick of rest for each: for models that take all lanes
 * at once and have no data, which are cheap. */
static int is_time_to_begin(struct nuts *n, const relmc_system *sys)
{
    n->is_odd = n->is_odd && n->n_busy > 0;
    return !n->is_odd || !rmc_trees_are_few(&sys->shape) ||
           !sys->target.ops->lanes;
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct nuts *n = self;
    const size_t lanes = sys->shape.lanes;
    rmc_lane_list set = {n->lanes, 0};

    out->n_done = 0;
    n->is_odd = !n->is_odd;
    if (n->n_busy < lanes && is_time_to_begin(n, sys)) {
        rmc_find_idle(sys, &set);
        if (set.n) {
            begin(n, sys, z, out, &set);
        }
    }
    const relmc_status status =
        sys->move.integrator->step(sys->move.integrator, sys, z, n->step);
    if (status) {
        return status;
    }
    weigh(n, sys, z);
    rmc_trees_add(&n->trees, sys, z, &n->leaves, n->step, &set);
    for (size_t j = 0; j < set.n; j++) {
        const size_t k = set.lane[j];

        finish(n, sys, z, out, k, !n->trees.has_leaf[k]);
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

const relmc_sampler_ops RMC_ISA(rmc_sampler_nuts) = {
    .info = {"sampler", "nuts", "the no-U-turn sampler", params},
    .state_size = sizeof(struct nuts),
    .flags = RELMC_NEEDS_EXACT,
    .init = init,
    .tick = tick,
};
