/*
 * sghmc.h - what the files of sghmc, sgnht and sgd share: sghmc.c is the plain
 * reference, in double precision; sghmc_thermostat.c has the thermostat and the
 * estimate of gradient noise, sghmc_float.c the fast path, in single precision.
 */
#ifndef RMC_SAMPLER_SGHMC_H
#define RMC_SAMPLER_SGHMC_H

#include "sampler/float_state.h"
#include "sampler/momentum_inline.h"
#include "sampler/schedule_inline.h"
#include "sampler/sgmcmc/unadjusted_inline.h"

enum { RMC_EULER, RMC_BAOAB, RMC_OBABO };
enum { RMC_LINEAR, RMC_BOUNDED };
enum { RMC_ONE_THERMOSTAT, RMC_THERMOSTAT_EACH };

struct rmc_sghmc {
    /* parameters; NaN: not given */
    double friction, law, scheme, temperature, steps;
    double noise, variance; /* estimate B^? or it is known */
    double inertia, thermostat;
    double lr, momentum, max_step, decay, scale;
    double limit; /* of eps c: 0, or a schedule plus 1 */
    double max_error;
    struct rmc_schedule schedule;
    int has_thermostat;
    double per_row; /* 1/N with mean gradients */
    double t;       /* steps made */
    /* of the step at hand */
    double kick, drift, time, T, factor;
    struct rmc_momentum momentum_room;
    struct rmc_path path;
    double *zeta;            /* dim x ld, or ld: [SGNHT], from its mean D */
    double *mu;              /* the same */
    double *variances;       /* dim x ld: [noise-variance] */
    double *before, *change; /* dim x ld: the last S' g~, less the one before */
    double *room, *room2;    /* dim x ld */
    /* one per lane */
    double *push;   /* share of a kick */
    double *n_seen; /* gradients, by [noise-variance] */
    double *lap, *energy, *total, *speed;
    unsigned char *is_warm; /* it has a momentum */
    unsigned char *is_open; /* and half a kick is due */
    struct rmc_float_state floats;
    double *kinetic; /* one per lane, in single precision: K(p) now */
};

/* ---- sghmc.c --------------------------------------------------------------- */

/* The share of momentum that linear friction leaves after a part f of a step, and
 * the friction D h of a whole step. */
double RMC_ISA(rmc_sghmc_keep)(const struct rmc_sghmc *h, double f);
double RMC_ISA(rmc_sghmc_rate)(const struct rmc_sghmc *h);

/* p ~ exp(-K/T); at another temperature than 1 by a few exchanges with W, which
 * is good enough for a start; 0 without heat. */
void RMC_ISA(rmc_sghmc_warm_up)(const struct rmc_sghmc *h,
                                const relmc_system *sys, double *p,
                                const rmc_lane_list *set);

/* ---- sghmc_thermostat.c ----------------------------------------------------- */

/* mu = 1/m by default: the curvature of K at rest. */
void RMC_ISA(rmc_sghmc_open_thermostat)(struct rmc_sghmc *h,
                                        const relmc_system *sys);

/* [SGNHT] mu d zeta' = |v|^2 - T lap K for a share f of the step, or the same
 * for every coordinate. */
void RMC_ISA(rmc_sghmc_move_thermostat)(struct rmc_sghmc *h,
                                        const relmc_system *sys,
                                        const double *p, double f);

/* dp/dt = -z v for a share f of the step, z the friction beyond the bath. */
void RMC_ISA(rmc_sghmc_rub)(struct rmc_sghmc *h, const relmc_system *sys,
                            double *p, double f);

/* [noise-variance] B^ from the second differences of successive gradients. */
void RMC_ISA(rmc_sghmc_watch_noise)(struct rmc_sghmc *h,
                                    const relmc_system *sys,
                                    const relmc_state *z);

/* Gradients that lane k saw while it ran away are no noise: begin again. */
void RMC_ISA(rmc_sghmc_forget_noise)(struct rmc_sghmc *h, const relmc_shape *s,
                                     size_t k);

/* The share of the thermostat in the energy of lane k, mu d zeta^2 / 2. */
double RMC_ISA(rmc_sghmc_stored)(const struct rmc_sghmc *h,
                                 const relmc_shape *s, size_t k);

/* ---- sghmc_float.c ---------------------------------------------------------- */

/* Is there a fast path: [SGD-rel], or with heat a scheme without estimates and
 * thermostats? */
int RMC_ISA(rmc_sghmc_can_be_float)(const struct rmc_sghmc *h,
                                    const relmc_system *sys);

/* A tick of it. */
relmc_status RMC_ISA(rmc_sghmc_tick_float)(struct rmc_sghmc *h,
                                           relmc_system *sys, relmc_state *z,
                                           relmc_transition *out);

#endif
