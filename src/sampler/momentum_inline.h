/*
 * momentum_inline.h - new momenta for some of the lanes, for every sampler.
 *
 * A set of lanes is gathered into a compact block, so that the work is in
 * proportion to the set and what a lane gets does not depend on the others.
 *
 * Inlined because a step of a small target takes tens of nanoseconds, and these
 * functions are called several times in it.
 */
#ifndef RMC_SAMPLER_MOMENTUM_INLINE_H
#define RMC_SAMPLER_MOMENTUM_INLINE_H

#include "base/base.h"

struct rmc_momentum {
    relmc_stream *streams; /* of a set of lanes, compact */
    double *p, *work;      /* dim x ld, (2 dim + 1) x ld */
};

static inline struct rmc_momentum rmc_momentum_new(relmc_arena *arena,
                                                   const relmc_shape *s)
{
    const struct rmc_momentum m = {
        .streams = (relmc_stream *)relmc_arena_get(
            arena, s->ld * sizeof(relmc_stream)),
        .p = rmc_lanes_new(arena, s),
        .work = (double *)relmc_arena_get(arena, (2 * rmc_cells(s) + s->ld) *
                                                     sizeof(double)),
    };
    return m;
}

/* The lanes that may start a transition; without branches, which would be
 * unpredictable. */
static inline void rmc_find_idle(const relmc_system *sys, rmc_lane_list *set)
{
    size_t n = 0;

    for (size_t k = 0; k < sys->shape.lanes; k++) {
        set->lane[n] = (uint32_t)k;
        n += !(sys->lanes.busy[k] | sys->lanes.rest[k]);
    }
    set->n = n;
}

/* The streams of a set of lanes, compact; rmc_streams_put returns them. */
static inline relmc_stream *rmc_streams_take(const struct rmc_momentum *m,
                                             const relmc_system *sys,
                                             int purpose,
                                             const rmc_lane_list *set)
{
    if (set->n == sys->shape.lanes) {
        return sys->lanes.streams[purpose];
    }
    for (size_t j = 0; j < set->n; j++) {
        m->streams[j] = sys->lanes.streams[purpose][set->lane[j]];
    }
    return m->streams;
}

static inline void rmc_streams_put(const relmc_stream *from,
                                   const relmc_system *sys, int purpose,
                                   const rmc_lane_list *set)
{
    if (from == sys->lanes.streams[purpose]) {
        return;
    }
    for (size_t j = 0; j < set->n; j++) {
        sys->lanes.streams[purpose][set->lane[j]] = from[j];
    }
}

/* One uniform number for each lane of the set, compact. */
static inline void rmc_uniform_lanes(const struct rmc_momentum *m,
                                     const relmc_system *sys, int purpose,
                                     const rmc_lane_list *set, double *out)
{
    const relmc_shape c = rmc_compact(&sys->shape, set);
    const relmc_shape line = {1, c.lanes, c.ld};
    relmc_stream *streams = rmc_streams_take(m, sys, purpose, set);

    rmc_fill_uniform(&line, streams, out);
    rmc_streams_put(streams, sys, purpose, set);
}

/* p ~ exp(-K) in these lanes; with keep = a > 0 [partial-refresh] of what is
 * there.  Returns them, compact. */
static inline const double *
rmc_momentum_draw(const struct rmc_momentum *m, const relmc_system *sys,
                  double *p, const rmc_lane_list *set, double keep)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape c = rmc_compact(&sys->shape, set);
    double *q = set->n == sys->shape.lanes ? p : m->p;
    relmc_stream *streams = rmc_streams_take(m, sys, RELMC_FOR_MOMENTUM, set);

    if (keep > 0.0) {
        const relmc_bath bath = {.keep = keep, .temperature = 1.0};

        (void)rmc_gather(&sys->shape, set, p, q);
        kin->ops->partial(kin->self, &c, streams, &bath, q, m->work);
    } else {
        kin->ops->refresh(kin->self, &c, streams, q);
    }
    rmc_streams_put(streams, sys, RELMC_FOR_MOMENTUM, set);
    rmc_scatter(&sys->shape, set, q, p);
    return q;
}

#endif
