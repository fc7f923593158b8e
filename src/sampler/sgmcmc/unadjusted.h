/*
 * unadjusted.h - what samplers and optimisers without a Metropolis step have in
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
 */
#ifndef RMC_SAMPLER_PATH_H
#define RMC_SAMPLER_PATH_H

#include "base/base.h"

struct rmc_path {
    relmc_state start; /* where the transitions began; no momenta */
    double *h0;        /* one per lane: the energy there */
    double *on;        /* one per lane: 1 if it is under way, else 0 */
    int32_t *n_to_go;  /* one per lane */
    uint32_t *lanes, *bad;
    double max_gain;
};

struct rmc_path RMC_ISA(rmc_path_new)(relmc_arena *arena, const relmc_shape *s);

/* [runaway] for a temperature, 0 included. */
void RMC_ISA(rmc_path_limit)(struct rmc_path *path, const relmc_system *sys,
                             double max_error, double temperature);

void RMC_ISA(rmc_path_begin)(struct rmc_path *path, relmc_system *sys,
                             const relmc_state *z, relmc_transition *out,
                             const rmc_lane_list *set, const double *energy,
                             double steps);

rmc_lane_list RMC_ISA(rmc_path_busy)(const struct rmc_path *path,
                                     const relmc_system *sys);

/* Does any transition end with this step? */
int RMC_ISA(rmc_path_has_ends)(const struct rmc_path *path,
                               const rmc_lane_list *busy);

/* The lanes that ran away, back where they began; their momenta are left to the
 * caller.  `energy` counts only if there are ends. */
rmc_lane_list RMC_ISA(rmc_path_return)(struct rmc_path *path,
                                       const relmc_system *sys, relmc_state *z,
                                       relmc_transition *out,
                                       const rmc_lane_list *busy,
                                       const double *energy, int has_ends);

/* Count the step, and complete the transitions that end with it. */
void RMC_ISA(rmc_path_finish)(struct rmc_path *path, relmc_system *sys,
                              relmc_transition *out, const rmc_lane_list *busy,
                              const double *energy, double steps);

#endif
