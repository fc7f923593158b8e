/*
 * descent.h - begins and ends a step, for all optimisers.
 *
 * All lanes of an ensemble step together, with one count of steps and one
 * learning rate, so an optimiser is a flat loop over the cells of a block.  A
 * step reads z->x and z->g and writes the new point to descent.x; it becomes
 * the state if the density there is finite.  Otherwise the lane stays where it
 * was, with momentum 0, and the step counts as divergent.
 *
 *   [schedule]    eta_t = eta s_t
 *   [mean-scale]  g = grad lp / N for a target with N rows of data
 *   [decay]       x <- (1 - lambda s_t) x, decoupled from the gradient
 *
 * z->p holds the momentum, or the first moment.
 *
 * In single precision (float_state.h) steps are made in place, and z is set at
 * the end of a transition only; a lane that fails goes back to where its
 * transition began.
 */
#ifndef RMC_SAMPLER_DESCENT_H
#define RMC_SAMPLER_DESCENT_H

#include "sampler/float_state.h"
#include "sampler/schedule_inline.h"

enum { RMC_SCALE_MEAN, RMC_SCALE_SUM };

/* The largest decay factor of a moment. */
#define RMC_BELOW_ONE 0.999999999

struct rmc_descent {
    double rate, decay, steps, scale; /* parameters */
    struct rmc_schedule schedule;
    int64_t t;                 /* steps so far */
    int32_t n_steps, n_failed; /* of this transition */
    double *x, *g, *lp;        /* the new point of this step */
    unsigned char *failed;     /* one per lane: no density there */
    struct rmc_float_state floats;
    float *second; /* moment, of optimisers that have one; or NULL */
};

/* The factors of a step. */
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

/* Memory for a second moment: d->second in single precision, else *second. */
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

/* Evaluates d->x on the next minibatch, and ends the step. */
relmc_status RMC_ISA(rmc_descent_finish)(struct rmc_descent *d,
                                         relmc_system *sys, relmc_state *z,
                                         relmc_transition *out);

/* ---- the same in single precision ------------------------------------------ */

/* The gradient of this step. */
const float *RMC_ISA(rmc_descent_slope_float)(const struct rmc_descent *d);

/* Where to write the new point.  The last step of a transition keeps the old
 * point, for the report. */
float *RMC_ISA(rmc_descent_begin_float)(struct rmc_descent *d,
                                        const relmc_shape *s,
                                        const relmc_state *z);

/* Evaluates y on the next minibatch, and ends the step. */
relmc_status RMC_ISA(rmc_descent_finish_float)(struct rmc_descent *d,
                                               relmc_system *sys,
                                               relmc_state *z, float *y,
                                               relmc_transition *out);

/* For a checkpoint; the run saves position and momentum. */
void RMC_ISA(rmc_descent_archive)(struct rmc_descent *d,
                                  const relmc_system *sys, size_t k,
                                  relmc_archive *archive);

/* The second moment, in the precision it has. */
void RMC_ISA(rmc_descent_archive_second)(struct rmc_descent *d,
                                         const relmc_system *sys, size_t k,
                                         double *second,
                                         relmc_archive *archive);

/* Parameters of all optimisers; `type` has a member `descent`. */
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
