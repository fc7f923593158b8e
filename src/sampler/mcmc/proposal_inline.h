/*
 * proposal_inline.h - where trajectories began, and the way back: for samplers that
 * accept or reject the end of a trajectory.
 *
 * Like momentum_inline.h it works on sets of lanes, results for a set are compact,
 * and it is inlined for the same reason.
 */
#ifndef RMC_SAMPLER_PROPOSAL_INLINE_H
#define RMC_SAMPLER_PROPOSAL_INLINE_H

#include "sampler/momentum_inline.h"

struct rmc_proposal {
    relmc_state start; /* where the trajectories began */
    double *h0;        /* H there, one per lane */
    /* of a set of lanes, compact: H at the end, and exp(H0 - H) */
    double *energy, *ratio;
    double *lp, *h0_there; /* scratch */
};

static inline struct rmc_proposal rmc_proposal_new(relmc_arena *arena,
                                                   const relmc_shape *s)
{
    const struct rmc_proposal q = {
        .start = rmc_state_new(arena, s),
        .h0 = rmc_per_lane_new(arena, s),
        .energy = rmc_per_lane_new(arena, s),
        .ratio = rmc_per_lane_new(arena, s),
        .lp = rmc_per_lane_new(arena, s),
        .h0_there = rmc_per_lane_new(arena, s),
    };
    return q;
}

/* Trajectories of these lanes begin at z; returns their momenta, compact. */
static inline const double *rmc_proposal_begin(const struct rmc_proposal *q,
                                               const struct rmc_momentum *m,
                                               const relmc_system *sys,
                                               relmc_state *z,
                                               const rmc_lane_list *set)
{
    const relmc_shape *s = &sys->shape, c = rmc_compact(s, set);
    const relmc_shape line = {1, s->lanes, s->ld};
    const relmc_kinetic *kin = &sys->move.kinetic;
    const double *p = rmc_gather(s, set, z->p, m->p);
    const double *restrict lp = rmc_gather(&line, set, z->lp, q->lp);
    double *restrict h0 = set->n == s->lanes ? q->h0 : q->h0_there;
    const double *restrict energy = q->energy;

    rmc_copy_lanes(s, set, z->p, q->start.p);
    rmc_copy_lanes(s, set, z->x, q->start.x);
    rmc_copy_lanes(s, set, z->g, q->start.g);
    rmc_copy_lanes(&line, set, z->lp, q->start.lp);
    kin->ops->energy(kin->self, &c, p, q->energy);
    for (size_t j = 0; j < c.ld; j++) {
        h0[j] = energy[j] - lp[j];
    }
    rmc_scatter(&line, set, h0, q->h0);
    return p;
}

/* [MH] Where these lanes are now: q->energy becomes H, q->ratio exp(H0 - H), 0
 * where there is no density.  Compact; vectorised. */
static inline void rmc_proposal_weigh(const struct rmc_proposal *q,
                                      const struct rmc_momentum *m,
                                      const relmc_system *sys,
                                      const relmc_state *z,
                                      const rmc_lane_list *set)
{
    const relmc_shape *s = &sys->shape, line = {1, s->lanes, s->ld};
    const relmc_shape c = rmc_compact(s, set);
    const relmc_kinetic *kin = &sys->move.kinetic;
    const double *restrict lp = rmc_gather(&line, set, z->lp, q->lp);
    const double *restrict h0 = rmc_gather(&line, set, q->h0, q->h0_there);
    double *restrict h1 = q->energy, *restrict ratio = q->ratio;

    kin->ops->energy(kin->self, &c, rmc_gather(s, set, z->p, m->p), h1);
    for (size_t j = 0; j < c.ld; j++) {
        const double H = h1[j] - lp[j];
        double r = rmc_exp(h0[j] - H); /* NaN for NaN */

        r = lp[j] - lp[j] == 0.0 ? r : 0.0;
        ratio[j] = r >= 0.0 ? r : 0.0;
        h1[j] = H;
    }
}

/* [GHMC] Where the end was rejected: back to the start, momentum reversed.  A
 * sampler that does not keep the momentum needs this, too: a NaN in a lane at
 * rest would spread. */
static inline void rmc_proposal_undo(const struct rmc_proposal *q,
                                     const relmc_system *sys, relmc_state *z,
                                     const rmc_lane_list *set)
{
    const relmc_shape *s = &sys->shape;

    rmc_copy_lanes(s, set, q->start.x, z->x);
    rmc_copy_lanes(s, set, q->start.g, z->g);
    for (size_t j = 0; j < set->n; j++) {
        z->lp[set->lane[j]] = q->start.lp[set->lane[j]];
    }
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t j = 0; j < set->n; j++) {
            const size_t at = i * s->ld + set->lane[j];
            z->p[at] = -q->start.p[at];
        }
    }
}

#endif
