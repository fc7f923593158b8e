/*
 * unadjusted_inline.h - what samplers and optimisers without a Metropolis step have in
 * common: a transition of a fixed number of steps, one gradient each, and a way
 * back for a lane that runs away.
 *
 *   [runaway]  A lane without density at any step; or, where a transition ends,
 *              with a number beyond 1e100, or with more energy than at its start
 *              by max_error for each coordinate, in units of T, times N/n for
 *              minibatches, whose energies are noisy.  It goes back to where
 *              its transition began.
 *
 * All transitions take the same number of ticks, so that the lanes of an
 * ensemble stay in step.
 *
 * Inlined because a step of a small target takes tens of nanoseconds, and these
 * functions are called several times in it.
 */
#ifndef RMC_SAMPLER_UNADJUSTED_INLINE_H
#define RMC_SAMPLER_UNADJUSTED_INLINE_H

#include "base/base.h"

struct rmc_path {
    relmc_state start; /* where the transitions began; no momenta */
    double *h0;        /* one per lane: the energy there */
    double *on;        /* one per lane: 1 if it is under way, else 0 */
    int32_t *n_to_go;  /* one per lane */
    uint32_t *lanes, *bad;
    double max_gain;
};

static inline struct rmc_path rmc_path_new(relmc_arena *arena,
                                           const relmc_shape *s)
{
    const size_t bytes = s->ld * sizeof(uint32_t);
    struct rmc_path path = {
        .start = {.x = rmc_lanes_new(arena, s),
                  .g = rmc_lanes_new(arena, s),
                  .lp = rmc_per_lane_new(arena, s)},
        .h0 = rmc_per_lane_new(arena, s),
        .on = rmc_per_lane_new(arena, s),
        .n_to_go = (int32_t *)relmc_arena_get(arena, bytes),
        .lanes = (uint32_t *)relmc_arena_get(arena, bytes),
        .bad = (uint32_t *)relmc_arena_get(arena, bytes),
    };
    return path;
}

/* [runaway] for a temperature, 0 included. */
static inline void rmc_path_limit(struct rmc_path *path,
                                  const relmc_system *sys, double max_error,
                                  double temperature)
{
    path->max_gain = max_error * (temperature > 0.0 ? temperature : 1.0) *
                     (double)sys->shape.dim *
                     (sys->batch.n_rows ? sys->batch.scale : 1.0);
}

static inline void rmc_path_begin(struct rmc_path *path, relmc_system *sys,
                                  const relmc_state *z, relmc_transition *out,
                                  const rmc_lane_list *set,
                                  const double *energy, double steps)
{
    rmc_copy_lanes(&sys->shape, set, z->x, path->start.x);
    rmc_copy_lanes(&sys->shape, set, z->g, path->start.g);
    for (size_t j = 0; j < set->n; j++) {
        const size_t k = set->lane[j];

        path->start.lp[k] = z->lp[k];
        path->h0[k] = energy[k];
        path->on[k] = 1.0;
        path->n_to_go[k] = (int32_t)steps;
        out->divergent[k] = out->n_clamped[k] = 0;
        sys->lanes.busy[k] = 1;
    }
}

static inline rmc_lane_list rmc_path_busy(const struct rmc_path *path,
                                          const relmc_system *sys)
{
    rmc_lane_list set = {path->lanes, 0};

    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (sys->lanes.busy[k]) {
            set.lane[set.n++] = (uint32_t)k;
        }
    }
    return set;
}

/* Does any transition end with this step? */
static inline int rmc_path_has_ends(const struct rmc_path *path,
                                    const rmc_lane_list *busy)
{
    int has_ends = 0;

    for (size_t j = 0; j < busy->n; j++) {
        has_ends |= path->n_to_go[busy->lane[j]] == 1;
    }
    return has_ends;
}

static inline int rmc_path_is_wild(const relmc_shape *s, const double *a,
                                   size_t k)
{
    int is_fine = 1;

    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        is_fine &= fabs(a[j]) < 1e100;
    }
    return !is_fine;
}

/* The lanes that ran away, back where they began; their momenta are left to the
 * caller.  `energy` counts only if there are ends. */
static inline rmc_lane_list
rmc_path_return(struct rmc_path *path, const relmc_system *sys, relmc_state *z,
                relmc_transition *out, const rmc_lane_list *busy,
                const double *energy, int has_ends)
{
    const relmc_shape *s = &sys->shape;
    rmc_lane_list bad = {path->bad, 0};

    for (size_t j = 0; j < busy->n; j++) {
        const size_t k = busy->lane[j];
        int is_bad = !rmc_is_finite(z->lp[k]);

        if (has_ends && path->n_to_go[k] == 1) {
            is_bad |= !(energy[k] - path->h0[k] < path->max_gain) ||
                      rmc_path_is_wild(s, z->x, k) ||
                      rmc_path_is_wild(s, z->p, k) ||
                      rmc_path_is_wild(s, z->g, k);
        }
        bad.lane[bad.n] = (uint32_t)k;
        bad.n += is_bad != 0;
    }
    if (bad.n) {
        rmc_copy_lanes(s, &bad, path->start.x, z->x);
        rmc_copy_lanes(s, &bad, path->start.g, z->g);
    }
    for (size_t j = 0; j < bad.n; j++) {
        z->lp[bad.lane[j]] = path->start.lp[bad.lane[j]];
        out->divergent[bad.lane[j]] = 1;
    }
    return bad;
}

/* Count the step, and complete the transitions that end with it. */
static inline void rmc_path_finish(struct rmc_path *path, relmc_system *sys,
                                   relmc_transition *out,
                                   const rmc_lane_list *busy,
                                   const double *energy, double steps)
{
    for (size_t j = 0; j < busy->n; j++) {
        const size_t k = busy->lane[j];

        if (--path->n_to_go[k] > 0) {
            continue;
        }
        out->done[k] = 1;
        out->n_done++;
        out->accept_prob[k] = 1.0;
        out->energy[k] = energy[k];
        out->n_steps[k] = out->n_grad[k] = (int32_t)steps;
        path->on[k] = 0.0;
        sys->lanes.busy[k] = 0;
    }
}

#endif
