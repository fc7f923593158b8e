/*
 * proposal.h - where trajectories began, and the way back: for samplers that
 * accept or reject the end of a trajectory.
 *
 * Like momentum.h it works on sets of lanes; results for a set are compact.
 */
#ifndef RMC_SAMPLER_PROPOSAL_H
#define RMC_SAMPLER_PROPOSAL_H

#include "sampler/momentum.h"

struct rmc_proposal {
    relmc_state start; /* where the trajectories began */
    double *h0;        /* H there, one per lane */
    /* of a set of lanes, compact: H at the end, and exp(H0 - H) */
    double *energy, *ratio;
    double *lp, *h0_there; /* scratch */
};

struct rmc_proposal RMC_ISA(rmc_proposal_new)(relmc_arena *arena,
                                              const relmc_shape *s);

/* Trajectories of these lanes begin at z; returns their momenta, compact. */
const double *RMC_ISA(rmc_proposal_begin)(const struct rmc_proposal *q,
                                          const struct rmc_momentum *m,
                                          const relmc_system *sys,
                                          relmc_state *z,
                                          const rmc_lane_list *set);

/* [MH] Where these lanes are now: q->energy becomes H, q->ratio exp(H0 - H), 0
 * where there is no density.  Compact; vectorised. */
void RMC_ISA(rmc_proposal_weigh)(const struct rmc_proposal *q,
                                 const struct rmc_momentum *m,
                                 const relmc_system *sys, const relmc_state *z,
                                 const rmc_lane_list *set);

/* [GHMC] Where the end was rejected: back to the start, momentum reversed.  A
 * sampler that does not keep the momentum needs this, too: a NaN in a lane at
 * rest would spread. */
void RMC_ISA(rmc_proposal_undo)(const struct rmc_proposal *q,
                                const relmc_system *sys, relmc_state *z,
                                const rmc_lane_list *set);

#endif
