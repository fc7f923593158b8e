/*
 * sampler.h - every sampler with every kinetic energy and integrator, targets that fail,
 * and all that draws report.  Include it after cmocka.h.
 */
#ifndef TESTS_CONFORMANCE_SAMPLER_H
#define TESTS_CONFORMANCE_SAMPLER_H

#include "component/registry.h"
#include "relmc.h"
#include "support/callback.h"
#include "support/check.h"
#include "support/kept.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIM = 8, MAX_PLANS = 256, SPEC_BYTES = 96 };

/* ---- records: all that a draw reports -------------------------------------- */

struct record {
    double x[MAX_DIM];
    double lp, energy, accept_prob, step_size, speed;
    int64_t index;
    int32_t n_steps, n_grad, depth, divergent;
};

_Static_assert(sizeof(struct record) == (MAX_DIM + 5) * 8 + 8 + 16,
               "records are compared byte by byte");

struct book {
    size_t dim, room; /* records per chain */
    uint32_t first_chain, chains;
    struct record *records; /* chains x room */
    size_t *n;              /* one per chain */
};

static inline void book_open(struct book *b, size_t dim, const relmc_options *o)
{
    const int64_t warmup = o->warmup > 0 ? o->warmup : 0;

    assert_true(dim <= MAX_DIM);
    *b = (struct book){
        .dim = dim,
        .room = (size_t)(warmup + o->draws),
        .first_chain = o->first_chain,
        .chains = o->chains,
    };
    b->records = calloc(b->chains * b->room, sizeof *b->records);
    b->n = calloc(b->chains, sizeof *b->n);
    assert_non_null(b->records);
    assert_non_null(b->n);
}

static inline void book_close(struct book *b)
{
    free(b->records);
    free(b->n);
}

static inline const struct record *chain_of(const struct book *b, size_t chain)
{
    return b->records + chain * b->room;
}

/* An observer.  Every chain has records of its own, so threads need no lock. */
static inline relmc_status keep(void *ctx, const relmc_draw *d)
{
    struct book *b = ctx;
    const size_t chain = d->chain - b->first_chain;

    if (chain >= b->chains || b->n[chain] >= b->room) {
        return RELMC_EINVAL;
    }
    struct record *r = &b->records[chain * b->room + b->n[chain]++];
    memcpy(r->x, d->outputs, b->dim * sizeof *r->x);
    r->lp = d->stats[RELMC_STAT_LP];
    r->energy = d->stats[RELMC_STAT_ENERGY];
    r->accept_prob = d->stats[RELMC_STAT_ACCEPT_PROB];
    r->step_size = d->stats[RELMC_STAT_STEP_SIZE];
    r->speed = d->stats[RELMC_STAT_SPEED];
    r->index = d->index;
    r->n_steps = (int)d->stats[RELMC_STAT_N_STEPS];
    r->n_grad = (int)d->stats[RELMC_STAT_N_GRAD];
    r->depth = (int)d->stats[RELMC_STAT_TREE_DEPTH];
    r->divergent = (int)d->stats[RELMC_STAT_DIVERGENT];
    return RELMC_OK;
}

/* ---- targets -------------------------------------------------------------- */

/* What goes wrong at points with x_0 > 1. */
enum fault {
    NO_FAULT,
    REJECTED,     /* RELMC_REJECT, grad not written */
    MINUS_INF,    /* lp = -inf, gradient finite */
    PLUS_INF,     /* lp = +inf */
    NAN_LP,       /* lp = NaN, gradient finite */
    NAN_ALL,      /* lp and gradient NaN */
    NAN_GRADIENT, /* gradient NaN, lp finite */
    INF_GRADIENT, /* gradient infinite, lp finite */
    UNWRITTEN,    /* lp = -inf, gradient not written */
    CLIFF,        /* lp less by 1000 */
    FATAL,        /* a negative status */
    N_FAULTS
};

static const char *const fault_names[N_FAULTS] = {
    "none",         "rejected",     "-inf",      "+inf",  "nan lp", "nan",
    "nan gradient", "inf gradient", "unwritten", "cliff", "fatal",
};

struct faulty {
    enum fault fault;
    atomic_long n_calls;
};

/* A standard normal with something wrong at x_0 > 1. */
static inline int faulty_point(size_t dim, const double *x, double *grad,
                               double *lp, void *ctx)
{
    struct faulty *f = ctx;
    const enum fault fault = x[0] > 1.0 ? f->fault : NO_FAULT;

    atomic_fetch_add_explicit(&f->n_calls, 1, memory_order_relaxed);
    if (fault == REJECTED) {
        return RELMC_REJECT;
    }
    *lp = 0.0;
    if (fault == UNWRITTEN) {
        *lp = -HUGE_VAL;
        return RELMC_OK;
    }
    for (size_t i = 0; i < dim; i++) {
        *lp -= 0.5 * x[i] * x[i];
        grad[i] = fault == NAN_ALL || fault == NAN_GRADIENT ? (double)NAN
                  : fault == INF_GRADIENT                   ? HUGE_VAL
                                                            : -x[i];
    }
    *lp = fault == MINUS_INF                    ? -HUGE_VAL
          : fault == PLUS_INF                   ? HUGE_VAL
          : fault == NAN_LP || fault == NAN_ALL ? (double)NAN
          : fault == CLIFF                      ? *lp - 1000.0
                                                : *lp;
    return fault == FATAL ? -42 : RELMC_OK;
}

/* The same for many points, where lp = -inf rejects a point. */
static inline int faulty_lanes(size_t dim, size_t lanes, size_t ld,
                               const double *x, double *grad, double *lp,
                               void *ctx)
{
    double at[MAX_DIM], slope[MAX_DIM];
    int status = RELMC_OK;

    for (size_t k = 0; k < lanes; k++) {
        for (size_t i = 0; i < dim; i++) {
            at[i] = x[i * ld + k];
            slope[i] = grad[i * ld + k]; /* faulty_point may not write it */
        }
        const int code = faulty_point(dim, at, slope, &lp[k], ctx);
        status = code < 0 ? code : status;
        lp[k] = code > 0 ? -HUGE_VAL : lp[k];
        for (size_t i = 0; i < dim; i++) {
            grad[i * ld + k] = slope[i];
        }
    }
    return status;
}

static inline relmc_target *open_model(const char *spec)
{
    relmc_target *t = NULL;
    relmc_error err = {0};

    if (relmc_target_open(&t, spec, NULL, &err)) {
        print_error("%s\n", err.message);
        fail();
    }
    return t;
}

static inline relmc_target *open_faulty(struct faulty *f, size_t dim,
                                        int has_lanes)
{
    relmc_target *t = NULL;

    assert_int_equal(has_lanes
                         ? target_of_lanes(&t, dim, faulty_lanes, f, NULL)
                         : target_of_point(&t, dim, faulty_point, f, NULL),
                     RELMC_OK);
    return t;
}

/* ---- plans: sampler x kinetic x integrator -------------------------------- */

struct plan {
    char sampler[SPEC_BYTES], kinetic[SPEC_BYTES], integrator[SPEC_BYTES];
};

/* In addition to every registered sampler with its defaults; each is combined with
 * one integrator per kinetic energy. */
static const char *const more_samplers[] = {
    "hmc:steps=3,jitter=0",
    "hmc:time=2,jitter=0.9",
    "nuts:max_depth=3",
    "ghmc:steps=3,record=2,slice=0",
    "ghmc:time=0.7,drift=0.2",
    "walnuts:max_depth=4,tolerance=0.05,levels=5",
    "tempered:replicas=3,steps=2,rounds=2",
    "sghmc:scheme=euler,law=bounded,noise=estimate,temperature=0.7",
    "sghmc:scheme=obabo,schedule=cosine,law=bounded",
    "sgnht:thermostat=each,scheme=obabo,law=bounded,steps=3",
    "sgd:scheme=baoab,friction=0.3,decay=0.001",
};

enum { N_MORE = sizeof more_samplers / sizeof *more_samplers };

static inline unsigned flags_of(const char *sampler)
{
    const relmc_info *info = NULL;

    assert_int_equal(
        rmc_component_find(&info, "sampler", sampler, RMC_BASELINE, NULL),
        RELMC_OK);
    return ((const relmc_sampler_ops *)(const void *)info)->flags;
}

static inline size_t list_samplers(char out[][SPEC_BYTES], size_t room)
{
    const relmc_info *info;
    size_t n = 0;

    for (size_t i = 0; (info = rmc_component_info("sampler", i)); i++) {
        if (flags_of(info->name) & RELMC_OPTIMISES &&
            strcmp(info->name, "sgd") != 0) {
            continue; /* has no kinetic energy; optimiser.c tests it */
        }
        assert_true(n < room);
        (void)snprintf(out[n++], SPEC_BYTES, "%s", info->name);
    }
    for (size_t i = 0; i < N_MORE; i++) {
        assert_true(n < room);
        (void)snprintf(out[n++], SPEC_BYTES, "%s", more_samplers[i]);
    }
    return n;
}

static inline size_t list_plans(struct plan *plans)
{
    char samplers[40][SPEC_BYTES];
    const size_t n_samplers = list_samplers(samplers, 40);
    const relmc_info *kinetic, *integrator;
    size_t n = 0;

    for (size_t s = 0; s < n_samplers; s++) {
        for (size_t i = 0; (kinetic = rmc_component_info("kinetic", i)); i++) {
            for (size_t j = 0;
                 (integrator = rmc_component_info("integrator", j)); j++) {
                if (s + N_MORE >= n_samplers && (s + i + j) % 4 != 0) {
                    continue;
                }
                /* samplers without an accept step use no integrator */
                if (flags_of(samplers[s]) & RELMC_UNADJUSTED && j > 0 &&
                    s + N_MORE < n_samplers) {
                    continue;
                }
                struct plan *p = &plans[n++];

                assert_true(n <= MAX_PLANS);
                (void)snprintf(p->sampler, SPEC_BYTES, "%.95s", samplers[s]);
                (void)snprintf(p->kinetic, SPEC_BYTES, "%s", kinetic->name);
                (void)snprintf(p->integrator, SPEC_BYTES, "%s",
                               integrator->name);
            }
        }
    }
    for (size_t i = 0; IS_INSTRUMENTED && i < n; i += 3) {
        plans[i / 3] = plans[i]; /* every sampler, energy, integrator remains */
    }
    return IS_INSTRUMENTED ? (n + 2) / 3 : n;
}

static inline relmc_options options_of(const struct plan *p)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;

    o.sampler = p->sampler;
    o.adapt = "dual"; /* every chain on its own */
    if (flags_of(p->sampler) & RELMC_UNADJUSTED) {
        o.adapt = "none";
        o.step_size = 0.2;
    }
    o.kinetic = p->kinetic;
    o.integrator = p->integrator;
    o.seed = 20250;
    o.chains = 4;
    o.warmup = 8;
    o.draws = 8;
    o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_WARMUP;
    return o;
}

static inline void describe(char out[512], const struct plan *p,
                            const relmc_options *o, const char *target)
{
    (void)snprintf(out, 512,
                   "%.60s %.95s %.95s %.95s lanes=%u threads=%u isa=%.20s",
                   target, p->sampler, p->kinetic, p->integrator, o->lanes,
                   o->threads, o->isa ? o->isa : "default");
}

/* ---- a run and its records ------------------------------------------------- */

static inline relmc_run *create(const relmc_target *t, const relmc_options *o)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (relmc_run_create(&run, t, o, &err)) {
        print_error("%s\n", err.message);
        fail();
    }
    return run;
}

/* In pieces of `piece` iterations, or at once for 0. */
static inline void sample(struct book *b, const relmc_target *t,
                          const relmc_options *o, int64_t piece)
{
    relmc_run *run = create(t, o);
    relmc_error err = {0};
    relmc_status status = RELMC_OK;

    book_open(b, relmc_target_dim(t), o);
    assert_int_equal(relmc_run_observe(run, keep, b, NULL), RELMC_OK);
    if (piece == 0) {
        status = relmc_run_advance(run, INT64_MAX, &err);
    }
    for (int64_t done = 0; piece > 0 && done < (int64_t)b->room && !status;
         done += piece) {
        status = relmc_run_advance(run, piece, &err);
    }
    if (status) {
        print_error("%s: %s\n", relmc_status_name(status), err.message);
        fail();
    }
    for (size_t k = 0; k < b->chains; k++) {
        relmc_progress r = {.size = sizeof r};

        assert_int_equal(relmc_run_progress(run, (uint32_t)k, &r, NULL),
                         RELMC_OK);
        assert_int_equal(r.done, b->room);
    }
    relmc_run_destroy(run);
}

#endif
