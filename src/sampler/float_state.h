/*
 * float_state.h - states of optimisers, and of sghmc, in single precision, for
 * targets whose gradients have no more: a step then moves less than half of the
 * memory.
 *
 * x, p and g are float, from the first step on.  Where a transition ends z->x and
 * z->lp say the same in double: that is what draws show and checkpoints keep, and
 * where a lane that fails goes back to.  z->p and z->g are not used any more; p
 * and g are in the part of the checkpoint that is the sampler's.
 */
#ifndef RMC_SAMPLER_FLOAT_STATE_H
#define RMC_SAMPLER_FLOAT_STATE_H

#include "base/base.h"

enum { RMC_PRECISION_AUTO, RMC_PRECISION_SINGLE, RMC_PRECISION_DOUBLE };

struct rmc_float_state {
    double wanted; /* parameter: one of these */
    int is_on;
    int has_begun; /* p and `first` are what counts, not z->p and z->g */
    int is_loaded; /* x is z->x */
    float *x, *p, *g;
    float *first;  /* g where the transition began */
    float *before; /* x of the step before; NULL if it is not needed */
};

/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member */
#define RMC_PRECISION_PARAM(type, member)                                     \
    {"precision", "of positions, momenta and gradients; auto: single if the " \
     "gradients of the model are", 0, 2, RMC_PRECISION_AUTO,                  \
     offsetof(type, member.wanted), RELMC_CHOICE, "auto|single|double"}
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

float *RMC_ISA(rmc_floats_new)(relmc_arena *arena, const relmc_shape *s);

/* Makes the choice; `can` says whether the optimiser can do without doubles. */
relmc_status RMC_ISA(rmc_float_state_init)(struct rmc_float_state *f,
                                           relmc_arena *arena,
                                           const relmc_system *sys, int can,
                                           relmc_error *err);

/* At the start of a transition; 1 if there is something new. */
int RMC_ISA(rmc_float_state_load)(struct rmc_float_state *f,
                                  const relmc_shape *s, const relmc_state *z);

void RMC_ISA(rmc_swap_floats)(float **a, float **b);

/* At its end. */
void RMC_ISA(rmc_float_state_store)(struct rmc_float_state *f,
                                    const relmc_shape *s, const relmc_state *z);

/* Lane k is where its transition began, at rest. */
void RMC_ISA(rmc_float_state_return)(const struct rmc_float_state *f,
                                     const relmc_shape *s, const relmc_state *z,
                                     size_t k);

int RMC_ISA(rmc_any_float_not_finite)(size_t n, const float *x);

/* Is any number of the state infinite or NaN?  If one of p is, one of x is in the
 * next step, or the energy is too large or NaN. */
int RMC_ISA(rmc_float_state_is_wild)(const struct rmc_float_state *f,
                                     const relmc_shape *s);

/* ... of lane k? */
int RMC_ISA(rmc_float_state_lane_is_wild)(const struct rmc_float_state *f,
                                          const relmc_shape *s, size_t k);

/* The largest change of a coordinate of lane k in the last step. */
double RMC_ISA(rmc_float_state_stride)(const struct rmc_float_state *f,
                                       const relmc_shape *s, size_t k);

/* For a checkpoint, numbers of lane k: kept as doubles; `room` is for these. */
void RMC_ISA(rmc_floats_archive)(relmc_archive *archive, const relmc_shape *s,
                                 size_t k, float *block, double *room);

void RMC_ISA(rmc_float_state_archive)(struct rmc_float_state *f,
                                      const relmc_system *sys, size_t k,
                                      relmc_archive *archive);

#endif
