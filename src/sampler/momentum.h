/*
 * momentum.h - new momenta for some of the lanes, for every sampler.
 *
 * A set of lanes is gathered into a compact block, so that the work is in
 * proportion to the set and what a lane gets does not depend on the others.
 */
#ifndef RMC_SAMPLER_MOMENTUM_H
#define RMC_SAMPLER_MOMENTUM_H

#include "base/base.h"

struct rmc_momentum {
    relmc_stream *streams; /* of a set of lanes, compact */
    double *p, *work;      /* dim x ld, (2 dim + 1) x ld */
};

struct rmc_momentum RMC_ISA(rmc_momentum_new)(relmc_arena *arena,
                                              const relmc_shape *s);

/* The lanes that may start a transition; nobody can foresee them: without
 * branches. */
void RMC_ISA(rmc_find_idle)(const relmc_system *sys, rmc_lane_list *set);

/* The streams of a set of lanes, compact; rmc_streams_put returns them. */
relmc_stream *RMC_ISA(rmc_streams_take)(const struct rmc_momentum *m,
                                        const relmc_system *sys, int purpose,
                                        const rmc_lane_list *set);

void RMC_ISA(rmc_streams_put)(const relmc_stream *from, const relmc_system *sys,
                              int purpose, const rmc_lane_list *set);

/* One uniform number for each lane of the set, compact. */
void RMC_ISA(rmc_uniform_lanes)(const struct rmc_momentum *m,
                                const relmc_system *sys, int purpose,
                                const rmc_lane_list *set, double *out);

/* p ~ exp(-K) in these lanes; with keep = a > 0 [partial-refresh] of what is
 * there.  Returns them, compact. */
const double *RMC_ISA(rmc_momentum_draw)(const struct rmc_momentum *m,
                                         const relmc_system *sys, double *p,
                                         const rmc_lane_list *set, double keep);

#endif
