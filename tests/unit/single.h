/*
 * single.h - a target, runs and methods for tests of single precision.  The target is a
 * logistic regression with a normal prior; its gradient is that of double precision,
 * rounded.  Include it after cmocka.h.
 */
#ifndef TESTS_UNIT_SINGLE_H
#define TESTS_UNIT_SINGLE_H

#include "relmc_ext.h"
#include "relmc_team.h"
#include "support/kept.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 300, N_ROWS = 60, CHAINS = 5, SPEC = 200, FIELDS = DIM + 4 };

/* ---- the target -------------------------------------------------------------- */

static double rows[N_ROWS][DIM], labels[N_ROWS];

enum fault { NONE, NAN_GRADIENT, NO_DENSITY };

static enum fault fault;
static _Atomic int n_calls, n_faults;
static double steepness = 1.0; /* factor of lp */
static int is_well;            /* no rows: lp = -|x|^2 / 2 */

static inline int make_rows(void **state)
{
    relmc_stream stream = {.seed = 7};

    (void)state;
    for (size_t r = 0; r < N_ROWS; r++) {
        for (size_t i = 0; i < DIM; i++) {
            rows[r][i] = relmc_normal(&stream);
        }
        labels[r] = relmc_uniform(&stream) < 0.5 ? 1.0 : -1.0;
    }
    return 0;
}

static inline double slope_at(const double *x, const relmc_rows *some,
                              double *grad)
{
    double lp = 0.0;

    for (size_t i = 0; i < DIM; i++) {
        grad[i] = -x[i];
        lp -= 0.5 * x[i] * x[i];
    }
    for (size_t n = 0; n < some->n && !is_well; n++) {
        const size_t r = some->row ? some->row[n] : n;
        double eta = 0.0;

        for (size_t i = 0; i < DIM; i++) {
            eta += rows[r][i] * x[i];
        }
        const double missed = 1.0 / (1.0 + exp(labels[r] * eta));
        lp -= some->scale * log1p(exp(-labels[r] * eta));
        for (size_t i = 0; i < DIM; i++) {
            grad[i] += some->scale * labels[r] * missed * rows[r][i];
        }
    }
    for (size_t i = 0; i < DIM; i++) {
        grad[i] *= steepness;
    }
    return steepness * lp;
}

static inline int on_rows(const void *self, const relmc_shape *s,
                          const double *x, const relmc_rows *some, double *lp,
                          double *grad, relmc_error *err)
{
    double at[DIM], slope[DIM];

    (void)self, (void)err;
    for (size_t k = 0; k < s->lanes; k++) {
        for (size_t i = 0; i < DIM; i++) {
            at[i] = x[i * s->ld + k];
        }
        lp[k] = slope_at(at, some, slope);
        for (size_t i = 0; i < DIM; i++) {
            grad[i * s->ld + k] = slope[i];
        }
    }
    return RELMC_OK;
}

static inline int on_rows_float(const void *self, const float *x,
                                const relmc_rows *some, double *lp, float *grad,
                                relmc_error *err)
{
    const int is_bad = fault && ++n_calls % 7 == 0;
    double at[DIM], slope[DIM];

    (void)self, (void)err;
    for (size_t i = 0; i < DIM; i++) {
        at[i] = (double)x[i];
    }
    *lp = slope_at(at, some, slope);
    for (size_t i = 0; i < DIM; i++) {
        grad[i] = (float)slope[i];
    }
    n_faults += is_bad;
    if (is_bad && fault == NAN_GRADIENT) {
        grad[3] = NAN;
    }
    return is_bad && fault == NO_DENSITY ? RELMC_REJECT : RELMC_OK;
}

static inline relmc_status init(void *self, relmc_arena *arena,
                                relmc_size *size, relmc_error *err)
{
    (void)self;
    (void)arena;
    (void)err;
    size->dim = DIM;
    size->n_data = N_ROWS;
    size->is_float = 1;
    return RELMC_OK;
}

static const relmc_param no_params[] = {{0}};

static const relmc_model_ops model = {
    .info = {"model", "rounded", "a regression", no_params},
    .state_size = 1,
    .init = init,
    .rows = on_rows,
    .rows_float = on_rows_float,
};

static inline relmc_target *open_target(void)
{
    relmc_target *target = NULL;

    assert_int_equal(
        relmc_target_open_ops(&target, &model, "rounded", NULL, NULL),
        RELMC_OK);
    return target;
}

/* ---- runs --------------------------------------------------------------------- */

struct diary {
    size_t n;
    double *value;          /* CHAINS x n x FIELDS */
    atomic_int n_divergent; /* by all threads */
};

static inline double *entry(const struct diary *d, size_t chain, size_t t)
{
    return d->value + (chain * d->n + t) * FIELDS;
}

static inline relmc_status note(void *ctx, const relmc_draw *draw)
{
    struct diary *d = ctx;
    double *v = entry(d, draw->chain, (size_t)draw->index);

    memcpy(v, draw->outputs, DIM * sizeof *v);
    v[DIM] = draw->stats[RELMC_STAT_LP];
    v[DIM + 1] = draw->stats[RELMC_STAT_ENERGY];
    v[DIM + 2] = draw->stats[RELMC_STAT_SPEED];
    v[DIM + 3] = draw->stats[RELMC_STAT_DIVERGENT];
    d->n_divergent += (int)draw->stats[RELMC_STAT_DIVERGENT];
    for (size_t i = 0; i < FIELDS; i++) {
        if (!isfinite(v[i])) {
            return RELMC_ETARGET;
        }
    }
    return RELMC_OK;
}

static inline void open_diary(struct diary *d, size_t n)
{
    *d = (struct diary){.n = n};
    d->value = calloc(CHAINS * n * FIELDS, sizeof(double));
    assert_non_null(d->value);
}

static inline relmc_options options_of(const char *sampler, const char *kinetic)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;

    o.sampler = sampler;
    o.kinetic = kinetic;
    o.warmup = RELMC_ZERO;
    o.draws = 60;
    o.chains = CHAINS;
    o.batch_rows = 20;
    o.seed = 9;
    o.init_radius = 0.1;
    return o;
}

/* A new run, or the run that was saved in a file. */
static inline relmc_run *open_run(const relmc_target *target,
                                  const relmc_options *o, struct diary *d,
                                  const char *file)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (open_or_resume(&run, target, o, file, &err) ||
        relmc_run_observe(run, note, d, &err)) {
        fail_msg("%s: %s", o->sampler, err.message);
    }
    return run;
}

static inline void go(struct diary *d, const relmc_target *target,
                      const relmc_options *o)
{
    relmc_error err = {0};

    open_diary(d, (size_t)o->draws);
    relmc_run *run = open_run(target, o, d, NULL);
    if (relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s: %s", o->sampler, err.message);
    }
    relmc_run_destroy(run);
}

/* ---- methods -------------------------------------------------------------------- */

/* Vectors of m and c, one value per coordinate. */
static char each[16 * DIM];

static const struct method {
    const char *sampler, *kinetic;
} methods[] = {
    {"momentum:lr=0.02,decay=1e-3", NULL},
    {"nesterov:lr=0.02", NULL},
    {"adam:lr=0.01", NULL},
    {"adamw:lr=0.01,decay=1e-3", NULL},
    {"rmsprop:lr=0.003", NULL},
    {"adagrad:lr=0.01", NULL},
    {"sgd:lr=0.05,momentum=0.9,max_step=0.01,decay=1e-3", "separable"},
    {"sgd:lr=0.05,momentum=0.9,max_step=0.01,law=bounded", "separable"},
    {"sgd:lr=0.02,momentum=0.9", "newtonian"},
    {"sgd:friction=0.1,scale=mean", "separable:m=2,c=0.02"},
    {"sgd:friction=0.1,scale=mean,law=bounded", "newtonian:m=40"},
    {"sgd:friction=0.1,scale=mean", each},
    /* with heat */
    {"sghmc:lr=1e-3,momentum=0.9,max_step=0.03,scheme=euler,law=bounded",
     "separable"},
    {"sghmc:lr=1e-3,momentum=0.9,max_step=0.03,scheme=euler", "separable"},
    {"sghmc:lr=1e-3,momentum=0.9,max_step=0.03,scheme=obabo", "separable"},
    {"sghmc:lr=1e-3,momentum=0.9,max_step=0.5,scheme=obabo", each},
    {"sghmc:lr=1e-3,momentum=0.9,max_step=0.03,scheme=baoab", "separable"},
};

/* Methods without heat come first.  The last method joins two kicks within a transition,
 * which saves a rounding. */
enum { N_METHODS = sizeof methods / sizeof *methods, N_COLD = N_METHODS - 5 };

static inline int make_each(void **state)
{
    size_t n = (size_t)snprintf(each, sizeof each, "separable:m=2,c=[");

    for (size_t i = 0; i < DIM; i++) {
        n += (size_t)snprintf(each + n, sizeof each - n, "%s%g", i ? "," : "",
                              0.01 + 1e-4 * (double)i);
    }
    (void)snprintf(each + n, sizeof each - n, "]");
    return make_rows(state);
}

static const char *with(char out[SPEC], const char *sampler, const char *more)
{
    (void)snprintf(out, SPEC, "%s,%s", sampler, more);
    return out;
}

#endif
