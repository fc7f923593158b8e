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
 * In single precision (single.h) steps are made in place, and only where a
 * transition ends are z and descent.x what is said above; a lane that fails goes
 * back to where its transition began.
 */
#ifndef RMC_SAMPLER_DESCENT_H
#define RMC_SAMPLER_DESCENT_H

#include "sampler/float_state.h"
#include "sampler/schedule.h"

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
    struct rmc_single single;
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

/* ---- loops over cells ------------------------------------------------------ */

/* What [Adam] and its like need to know. */
struct rmc_scaling {
    double beta1, beta2, epsilon;
    double rate, slope, keep; /* of the step */
    double correct;
};

#define real            double
#define LOOP(name)      rmc_loop_##name##_double
#define fma_of(a, b, c) rmc_fma(a, b, c)
#define sqrt_of(a)      sqrt(a)
#include "sampler/optimizer/descent_loops.h"
#undef real
#undef LOOP
#undef fma_of
#undef sqrt_of

#define real            float
#define LOOP(name)      rmc_loop_##name##_single
#define fma_of(a, b, c) __builtin_fmaf(a, b, c)
#define sqrt_of(a)      sqrtf(a)
#include "sampler/optimizer/descent_loops.h"
#undef real
#undef LOOP
#undef fma_of
#undef sqrt_of

/* ---- begin and end --------------------------------------------------------- */

static inline relmc_status rmc_descent_init(struct rmc_descent *d,
                                            relmc_arena *arena,
                                            const relmc_system *sys,
                                            relmc_error *err)
{
    const relmc_shape *s = &sys->shape;

    d->x = rmc_lanes_new(arena, s);
    d->g = rmc_lanes_new(arena, s);
    d->lp = rmc_per_lane_new(arena, s);
    d->failed = (unsigned char *)relmc_arena_get(arena, s->ld);
    const relmc_status status = rmc_single_init(&d->single, arena, sys, 1, err);
    if (!status && d->single.is_on) {
        d->single.before = rmc_floats_new(arena, s);
    }
    return status ? status : relmc_arena_check(arena, err);
}

/* Room for a second moment, here or there. */
static inline relmc_status rmc_descent_init_second(struct rmc_descent *d,
                                                   relmc_arena *arena,
                                                   const relmc_system *sys,
                                                   double **second,
                                                   relmc_error *err)
{
    if (d->single.is_on) {
        d->second = rmc_floats_new(arena, &sys->shape);
    } else {
        *second = rmc_lanes_new(arena, &sys->shape);
    }
    return relmc_arena_check(arena, err);
}

/* N for gradients on the scale of the mean, else 1. */
static inline double rmc_descent_rows(const struct rmc_descent *d,
                                      const relmc_system *sys)
{
    return d->scale == RMC_SCALE_MEAN && sys->target.n_data
               ? (double)sys->target.n_data
               : 1.0;
}

static inline struct rmc_descent_step rmc_descent_begin(struct rmc_descent *d,
                                                        const relmc_system *sys,
                                                        relmc_transition *out)
{
    const double n = (double)sys->run.transitions * d->steps;
    const double part = rmc_schedule_at(&d->schedule, (double)d->t, n);

    out->n_done = 0;
    memset(sys->lanes.busy, 1, sys->shape.lanes);
    d->t++;
    return (struct rmc_descent_step){
        .n = rmc_cells(&sys->shape),
        .rate = d->rate * *sys->move.eps * part,
        .slope = 1.0 / rmc_descent_rows(d, sys),
        .keep = 1.0 - d->decay * part,
        .t = (double)d->t,
    };
}

/* The largest change of a coordinate of lane k.  Absolute values of doubles are
 * in the order of their bits; NaN is above all. */
static inline double rmc_descent_stride(const relmc_shape *s, const double *a,
                                        const double *b, size_t k)
{
    int64_t most = 0;

    for (size_t i = k; i < rmc_cells(s); i += s->ld) {
        const int64_t bits = (int64_t)rmc_to_bits(fabs(a[i] - b[i]));
        most = bits > most ? bits : most;
    }
    return rmc_from_bits((uint64_t)most);
}

/* Which lanes have no density, or a gradient that is no number, where they
 * went. */
static inline size_t rmc_descent_find_failed(struct rmc_descent *d,
                                             const relmc_shape *s)
{
    size_t n = 0;

    memset(d->failed, 0, s->lanes);
    if (!rmc_any_not_finite(s->lanes, d->lp) &&
        !rmc_any_not_finite(rmc_cells(s), d->g)) {
        return 0;
    }
    for (size_t k = 0; k < s->lanes; k++) {
        int is_finite = rmc_is_finite(d->lp[k]);

        for (size_t i = k; i < rmc_cells(s); i += s->ld) {
            is_finite &= rmc_is_finite(d->g[i]) && rmc_is_finite(d->x[i]);
        }
        d->failed[k] = !is_finite;
        n += !is_finite;
    }
    return n;
}

/* The failed lanes are where they were before, at rest. */
static inline void rmc_descent_undo(struct rmc_descent *d, const relmc_shape *s,
                                    relmc_state *z)
{
    for (size_t k = 0; k < s->lanes; k++) {
        if (!d->failed[k]) {
            continue;
        }
        d->lp[k] = z->lp[k];
        for (size_t i = k; i < rmc_cells(s); i += s->ld) {
            d->x[i] = z->x[i];
            d->g[i] = z->g[i];
            z->p[i] = 0.0;
        }
    }
}

static inline void rmc_swap(double **a, double **b)
{
    double *c = *a;

    *a = *b;
    *b = c;
}

/* After the last step of a transition; single.x and single.before, or z->x and
 * d->x, are its two ends. */
static inline void rmc_descent_report(struct rmc_descent *d, relmc_system *sys,
                                      const relmc_state *z,
                                      relmc_transition *out)
{
    const relmc_shape *s = &sys->shape;

    for (size_t k = 0; k < s->lanes; k++) {
        out->done[k] = 1;
        out->accept_prob[k] = 1.0;
        out->energy[k] = -z->lp[k];
        out->speed[k] = d->single.is_on ? rmc_single_stride(&d->single, s, k)
                                        : rmc_descent_stride(s, z->x, d->x, k);
        out->n_steps[k] = out->n_grad[k] = d->n_steps;
    }
    out->n_done = s->lanes;
    memset(sys->lanes.busy, 0, s->lanes);
    d->n_steps = 0;
}

/* The gradient at d->x, on the next minibatch. */
static inline relmc_status rmc_descent_finish(struct rmc_descent *d,
                                              relmc_system *sys, relmc_state *z,
                                              relmc_transition *out)
{
    const relmc_shape *s = &sys->shape;

    relmc_advance(sys);
    const relmc_status status = relmc_eval(sys, d->x, d->lp, d->g);
    if (status) {
        return status;
    }
    const size_t n_failed = rmc_descent_find_failed(d, s);
    if (n_failed) {
        rmc_descent_undo(d, s, z);
    }
    for (size_t k = 0; k < s->lanes; k++) {
        out->divergent[k] = d->failed[k] + (d->n_steps ? out->divergent[k] : 0);
    }
    rmc_swap(&z->x, &d->x);
    rmc_swap(&z->g, &d->g);
    rmc_swap(&z->lp, &d->lp);
    if (++d->n_steps == (int32_t)d->steps) {
        rmc_descent_report(d, sys, z, out);
    }
    return RELMC_OK;
}

/* ---- the same in single precision ------------------------------------------ */

/* Where the step at hand finds its gradient. */
static inline const float *rmc_descent_slope_single(const struct rmc_descent *d)
{
    return d->n_steps ? d->single.g : d->single.first;
}

/* Where it is to leave the new point: the last one of a transition keeps the old
 * one, for the report. */
static inline float *rmc_descent_begin_single(struct rmc_descent *d,
                                              const relmc_shape *s,
                                              const relmc_state *z)
{
    (void)rmc_single_load(&d->single, s, z);
    return d->n_steps + 1 == (int32_t)d->steps ? d->single.before : d->single.x;
}

static inline void rmc_descent_find_failed_single(struct rmc_descent *d,
                                                  const relmc_shape *s,
                                                  const relmc_state *z,
                                                  int is_last)
{
    const int is_wild = is_last && rmc_single_is_wild(&d->single, s);

    for (size_t k = 0; k < s->lanes; k++) {
        d->failed[k] = !rmc_is_finite(d->lp[k]) ||
                       (is_wild && rmc_single_lane_is_wild(&d->single, s, k));
        if (d->failed[k]) {
            rmc_single_return(&d->single, s, z, k);
            for (size_t j = k; d->second && j < rmc_cells(s); j += s->ld) {
                d->second[j] = rmc_any_not_finite_single(1, &d->second[j])
                                   ? 0.0F
                                   : d->second[j];
            }
            d->lp[k] = z->lp[k];
        }
    }
}

/* The gradient at y, on the next minibatch. */
static inline relmc_status rmc_descent_finish_single(struct rmc_descent *d,
                                                     relmc_system *sys,
                                                     relmc_state *z, float *y,
                                                     relmc_transition *out)
{
    const relmc_shape *s = &sys->shape;
    const int is_last = y != d->single.x;

    relmc_advance(sys);
    const relmc_status status = relmc_eval_float(sys, y, d->lp, d->single.g);
    if (status) {
        return status;
    }
    if (is_last) {
        rmc_swap_floats(&d->single.x, &d->single.before);
    }
    rmc_descent_find_failed_single(d, s, z, is_last);
    for (size_t k = 0; k < s->lanes; k++) {
        out->divergent[k] = d->failed[k] + (d->n_steps ? out->divergent[k] : 0);
    }
    d->n_steps++;
    if (is_last) {
        rmc_single_store(&d->single, s, z);
        rmc_swap(&z->lp, &d->lp);
        rmc_descent_report(d, sys, z, out);
    }
    return RELMC_OK;
}

/* For a checkpoint; position and momentum are the run's. */
static inline void rmc_descent_archive(struct rmc_descent *d,
                                       const relmc_system *sys, size_t k,
                                       relmc_archive *archive)
{
    double t = (double)d->t;

    rmc_length_archive(archive, sys, rmc_schedule_is_fixed(&d->schedule));
    rmc_steps_archive(archive, k, &t);
    d->t = t >= 0.0 && t < 9e15 ? (int64_t)t : 0;
    rmc_single_archive(&d->single, sys, k, archive);
}

/* The second moment, in the precision it has. */
static inline void rmc_descent_archive_second(struct rmc_descent *d,
                                              const relmc_system *sys, size_t k,
                                              double *second,
                                              relmc_archive *archive)
{
    if (d->single.is_on) {
        rmc_floats_archive(archive, &sys->shape, k, d->second, sys->scratch.v);
    } else {
        relmc_archive_lane(archive, &sys->shape, k, second);
    }
}

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
