/*
 * momentum.c - new momenta for some of the lanes.
 */
#include "sampler/momentum.h"

struct rmc_momentum RMC_ISA(rmc_momentum_new)(relmc_arena *arena,
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

void RMC_ISA(rmc_find_idle)(const relmc_system *sys, rmc_lane_list *set)
{
    size_t n = 0;

    for (size_t k = 0; k < sys->shape.lanes; k++) {
        set->lane[n] = (uint32_t)k;
        n += !(sys->lanes.busy[k] | sys->lanes.rest[k]);
    }
    set->n = n;
}

relmc_stream *RMC_ISA(rmc_streams_take)(const struct rmc_momentum *m,
                                        const relmc_system *sys, int purpose,
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

void RMC_ISA(rmc_streams_put)(const relmc_stream *from, const relmc_system *sys,
                              int purpose, const rmc_lane_list *set)
{
    if (from == sys->lanes.streams[purpose]) {
        return;
    }
    for (size_t j = 0; j < set->n; j++) {
        sys->lanes.streams[purpose][set->lane[j]] = from[j];
    }
}

void RMC_ISA(rmc_uniform_lanes)(const struct rmc_momentum *m,
                                const relmc_system *sys, int purpose,
                                const rmc_lane_list *set, double *out)
{
    const relmc_shape c = rmc_compact(&sys->shape, set);
    const relmc_shape line = {1, c.lanes, c.ld};
    relmc_stream *streams = RMC_ISA(rmc_streams_take)(m, sys, purpose, set);

    rmc_fill_uniform(&line, streams, out);
    RMC_ISA(rmc_streams_put)(streams, sys, purpose, set);
}

const double *RMC_ISA(rmc_momentum_draw)(const struct rmc_momentum *m,
                                         const relmc_system *sys, double *p,
                                         const rmc_lane_list *set, double keep)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape c = rmc_compact(&sys->shape, set);
    double *q = set->n == sys->shape.lanes ? p : m->p;
    relmc_stream *streams =
        RMC_ISA(rmc_streams_take)(m, sys, RELMC_FOR_MOMENTUM, set);

    if (keep > 0.0) {
        const relmc_bath bath = {.keep = keep, .temperature = 1.0};

        (void)rmc_gather(&sys->shape, set, p, q);
        kin->ops->partial(kin->self, &c, streams, &bath, q, m->work);
    } else {
        kin->ops->refresh(kin->self, &c, streams, q);
    }
    RMC_ISA(rmc_streams_put)(streams, sys, RELMC_FOR_MOMENTUM, set);
    rmc_scatter(&sys->shape, set, q, p);
    return q;
}
