/*
 * descent.h - what the optimisers have in common: how a step begins and ends.
 *
 * All lanes of an ensemble make their steps together, so one count of steps and
 * one learning rate serve all cells of a block, and an optimiser is a flat loop
 * over them.  A step reads z->x and z->g and writes the new point to descent.x;
 * it becomes the state if the density there is finite.  A lane without density
 * stays where it was, at rest; such steps are counted as divergent.
 *
 *   [schedule]    eta_t = eta s_t
 *   [mean-scale]  g = grad lp / N for a target with N rows of data
 *   [decay]       x <- (1 - lambda s_t) x, decoupled from the gradient
 *
 * z->p holds the momentum, or the first moment.
 *
 * In single precision (float_state.h) steps are made in place, and only where a
 * transition ends are z and descent.x what is said above; a lane that fails goes
 * back to where its transition began.
 */
#ifndef RMC_SAMPLER_DESCENT_H
#define RMC_SAMPLER_DESCENT_H

#include "sampler/float_state.h"
#include "sampler/schedule_inline.h"

enum { RMC_SCALE_MEAN, RMC_SCALE_SUM };

/* The most that may be kept of a moment: it must be forgotten some day. */
#define RMC_BELOW_ONE 0.999999999

struct rmc_descent {
    double rate, decay, steps, scale; /* parameters */
    struct rmc_schedule schedule;
    int64_t t;                 /* steps so far */
    int32_t n_steps, n_failed; /* of this transition */
    double *x, *g, *lp;        /* where the step at hand leads */
    unsigned char *failed;     /* one per lane: no density there */
    struct rmc_float_state floats;
    float *second; /* moment, of optimisers that have one; or NULL */
};

/* What a step is to be made with. */
struct rmc_descent_step {
    size_t n;     /* cells */
    double rate;  /* eta, at this time */
    double slope; /* factor of z->g */
    double keep;  /* factor of z->x */
    double t;     /* number of the step, from 1 */
};

/* ---- begin and end --------------------------------------------------------- */

relmc_status RMC_ISA(rmc_descent_init)(struct rmc_descent *d,
                                       relmc_arena *arena,
                                       const relmc_system *sys,
                                       relmc_error *err);

/* Room for a second moment, here or there. */
relmc_status RMC_ISA(rmc_descent_init_second)(struct rmc_descent *d,
                                              relmc_arena *arena,
                                              const relmc_system *sys,
                                              double **second,
                                              relmc_error *err);

/* N for gradients on the scale of the mean, else 1. */
double RMC_ISA(rmc_descent_rows)(const struct rmc_descent *d,
                                 const relmc_system *sys);

struct rmc_descent_step RMC_ISA(rmc_descent_begin)(struct rmc_descent *d,
                                                   const relmc_system *sys,
                                                   relmc_transition *out);

/* The gradient at d->x, on the next minibatch. */
relmc_status RMC_ISA(rmc_descent_finish)(struct rmc_descent *d,
                                         relmc_system *sys, relmc_state *z,
                                         relmc_transition *out);

/* ---- the same in single precision ------------------------------------------ */

/* Where the step at hand finds its gradient. */
const float *RMC_ISA(rmc_descent_slope_float)(const struct rmc_descent *d);

/* Where it is to leave the new point: the last one of a transition keeps the old
 * one, for the report. */
float *RMC_ISA(rmc_descent_begin_float)(struct rmc_descent *d,
                                        const relmc_shape *s,
                                        const relmc_state *z);

/* The gradient at y, on the next minibatch. */
relmc_status RMC_ISA(rmc_descent_finish_float)(struct rmc_descent *d,
                                               relmc_system *sys,
                                               relmc_state *z, float *y,
                                               relmc_transition *out);

/* For a checkpoint; position and momentum are the run's. */
void RMC_ISA(rmc_descent_archive)(struct rmc_descent *d,
                                  const relmc_system *sys, size_t k,
                                  relmc_archive *archive);

/* The second moment, in the precision it has. */
void RMC_ISA(rmc_descent_archive_second)(struct rmc_descent *d,
                                         const relmc_system *sys, size_t k,
                                         double *second,
                                         relmc_archive *archive);

/* The parameters of all of them; `type` has a member `descent`. */
/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type */
#define RMC_DESCENT_PARAMS(type, usual_rate, usual_decay)                     \
    {"lr", "learning rate eta, times the step size of the run", 0, 1e12,      \
     usual_rate, offsetof(type, descent.rate), RELMC_REAL, NULL},             \
    {"decay", "weights shrink by this part in every step, lambda", 0, 1,      \
     usual_decay, offsetof(type, descent.decay), RELMC_REAL, NULL},           \
    {"scale", "gradients of the mean or the sum over the data", 0, 1,         \
     RMC_SCALE_MEAN, offsetof(type, descent.scale), RELMC_CHOICE,             \
     "mean|sum"},                                                             \
    {"steps", "steps of a transition", 1, 1e6, 1,                             \
     offsetof(type, descent.steps), RELMC_INTEGER, NULL},                     \
    RMC_SCHEDULE_PARAMS(type, descent.schedule)
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

#endif
