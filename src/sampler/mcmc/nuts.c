/*
 * nuts.c - the no-U-turn sampler with any kinetic energy and integrator.
 *
 *   [NUTS]    p ~ exp(-K); the trajectory doubles, forwards or backwards with
 *             equal probability, until it turns back on itself [U-turn]; the
 *             next point is one of its points, with weights exp(-H).
 *
 * Hoffman and Gelman (2014); weights and criterion of Betancourt (2017), with
 * v = dK/dp in place of his M^-1 p.  The seam checks are those of Stan since
 * 2.22.  The trees are in
 * tree_rows_inline.h.  Every lane builds its own: one tick is one
 * integrator step, one leaf, of every busy lane.
 */
#include "sampler/mcmc/tree_rows_inline.h"

#include <float.h>

struct nuts {
    double max_depth, max_error;
    struct rmc_trees trees;
    double *step; /* one per lane; 0 at rest */
    uint32_t *lanes;
    size_t n_busy;
    int is_odd;         /* the tick, see is_time_to_begin */
    double error_limit; /* above it a point is divergent */
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct nuts *n = self;
    const relmc_shape *s = &sys->shape;

    n->trees = rmc_trees_new(arena, s, (size_t)n->max_depth);
    n->step = rmc_per_lane_new(arena, s);
    n->lanes = relmc_arena_get(arena, s->ld * sizeof *n->lanes);
    return relmc_arena_check(arena, err);
}

static void begin(struct nuts *n, relmc_system *sys, relmc_state *z,
                  relmc_transition *out, const rmc_lane_list *set)
{
    rmc_trees_begin(&n->trees, sys, z, out, set, n->step);
    n->n_busy += set->n;
    n->error_limit = rmc_error_limit(sys, n->max_error);
    for (size_t j = 0; j < set->n; j++) { /* from now on, in every tick */
        n->trees.has_point[set->lane[j]] = ~UINT64_C(0);
    }
}

static void finish(struct nuts *n, relmc_system *sys, relmc_state *z,
                   relmc_transition *out, size_t k)
{
    const struct rmc_trees *t = &n->trees;
    const int is_divergent = !t->has_leaf[k];
    /* the start is no step, and a divergent one no point */
    const int32_t n_steps = (int32_t)t->n[k] - 1 + is_divergent;

    rmc_tree_finish(t, sys, z, out, k, n_steps, is_divergent);
    out->accept_prob[k] = t->accept[k] / (double)n_steps;
    n->step[k] = 0.0;
    n->n_busy--;
    t->has_point[k] = 0;
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
    double *h = t->leaves.h, *weight = t->leaves.weight;
    const double max_error = n->error_limit;

    kin->ops->energy(kin->self, s, z->p, h);
    kin->ops->velocity(kin->self, s, z->p, t->leaves.v);
    if (s->ld == 1) {
        weigh_lanes(1, t->has_point, t->h0, z->lp, max_error, h, weight,
                    t->has_leaf);
        return;
    }
    for (size_t k = 0; k < s->ld; k += RMC_BUNCH) { /* whole vectors */
        weigh_lanes(RMC_BUNCH, t->has_point + k, t->h0 + k, z->lp + k,
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
    rmc_trees_add(&n->trees, sys, z, n->step, &set);
    for (size_t j = 0; j < set.n; j++) {
        finish(n, sys, z, out, set.lane[j]);
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
