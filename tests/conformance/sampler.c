/*
 * sampler.c - what every sampler must do, with every kinetic energy and every
 * integrator: the draws depend on (seed, chain, index) and on nothing else;
 * the chain moves; what cannot be sampled is refused, counted or reported; the
 * gradients are counted right; no memory is taken while sampling.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

/* ---- everything a draw says, kept ----------------------------------------- */

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

static void book_open(struct book *b, size_t dim, const relmc_options *o)
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

static void book_close(struct book *b)
{
    free(b->records);
    free(b->n);
}

static const struct record *chain_of(const struct book *b, size_t chain)
{
    return b->records + chain * b->room;
}

/* An observer: a chain has its own records, so threads do not meet. */
static relmc_status keep(void *ctx, const relmc_draw *d)
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

static void print_record(const struct record *r, size_t dim)
{
    print_error("  %lld: lp %.17g H %.17g a %.17g eps %.17g v %.17g L %d "
                "div %d x",
                (long long)r->index, r->lp, r->energy, r->accept_prob,
                r->step_size, r->speed, r->n_steps, r->divergent);
    for (size_t i = 0; i < dim; i++) {
        print_error(" %.17g", r->x[i]);
    }
    print_error("\n");
}

/* n records, bit by bit. */
static void same_records(const struct record *a, const struct record *b,
                         size_t n, size_t dim, const char *what)
{
    for (size_t t = 0; t < n; t++) {
        if (memcmp(&a[t], &b[t], sizeof a[t])) {
            print_error("%s: record %zu differs\n", what, t);
            print_record(&a[t], dim);
            print_record(&b[t], dim);
            fail();
        }
    }
}

static void same_books(const struct book *a, const struct book *b,
                       const char *what)
{
    assert_int_equal(a->chains, b->chains);
    for (size_t k = 0; k < a->chains; k++) {
        char where[600];

        (void)snprintf(where, sizeof where, "%s, chain %zu", what, k);
        if (a->n[k] != b->n[k]) {
            print_error("%s: %zu and %zu records\n", where, a->n[k], b->n[k]);
            fail();
        }
        same_records(chain_of(a, k), chain_of(b, k), a->n[k], a->dim, where);
    }
}

/* ---- targets -------------------------------------------------------------- */

/* The status of the points with x_0 > 1. */
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
static int faulty_point(size_t dim, const double *x, double *grad, double *lp,
                        void *ctx)
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

/* The same for many points; a rejected point is lp = -inf here. */
static int faulty_lanes(size_t dim, size_t lanes, size_t ld, const double *x,
                        double *grad, double *lp, void *ctx)
{
    double at[MAX_DIM], slope[MAX_DIM];
    int status = RELMC_OK;

    for (size_t k = 0; k < lanes; k++) {
        for (size_t i = 0; i < dim; i++) {
            at[i] = x[i * ld + k];
            slope[i] = grad[i * ld + k]; /* what was there stays, unwritten */
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

static relmc_target *open_model(const char *spec)
{
    relmc_target *t = NULL;
    relmc_error err = {0};

    if (relmc_target_open(&t, spec, NULL, &err)) {
        print_error("%s\n", err.message);
        fail();
    }
    return t;
}

static relmc_target *open_faulty(struct faulty *f, size_t dim, int has_lanes)
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

/* Besides every registered sampler with its defaults; of these one integrator
 * for each kinetic energy. */
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

static unsigned flags_of(const char *sampler)
{
    const relmc_info *info = NULL;

    assert_int_equal(
        rmc_component_find(&info, "sampler", sampler, RMC_BASELINE, NULL),
        RELMC_OK);
    return ((const relmc_sampler_ops *)(const void *)info)->flags;
}

static size_t list_samplers(char out[][SPEC_BYTES], size_t room)
{
    const relmc_info *info;
    size_t n = 0;

    for (size_t i = 0; (info = rmc_component_info("sampler", i)); i++) {
        if (flags_of(info->name) & RELMC_OPTIMISES &&
            strcmp(info->name, "sgd") != 0) {
            continue; /* no kinetic energy: optimiser.c */
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

static size_t list_plans(struct plan *plans)
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
                /* these are made of a kick and a drift: any will do */
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
        plans[i / 3] = plans[i]; /* each sampler, energy, integrator is left */
    }
    return IS_INSTRUMENTED ? (n + 2) / 3 : n;
}

static relmc_options options_of(const struct plan *p)
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

static void describe(char out[512], const struct plan *p,
                     const relmc_options *o, const char *target)
{
    (void)snprintf(out, 512,
                   "%.60s %.95s %.95s %.95s lanes=%u threads=%u isa=%.20s",
                   target, p->sampler, p->kinetic, p->integrator, o->lanes,
                   o->threads, o->isa ? o->isa : "default");
}

/* ---- one run, kept -------------------------------------------------------- */

static relmc_run *create(const relmc_target *t, const relmc_options *o)
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
static void sample(struct book *b, const relmc_target *t,
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

static void same_as(const struct book *reference, const relmc_target *t,
                    const relmc_options *o, int64_t piece, const char *what)
{
    struct book b;

    sample(&b, t, o, piece);
    same_books(reference, &b, what);
    book_close(&b);
}

/* ---- (seed, chain, index) and nothing else -------------------------------- */

/* Lanes, threads, code path and pieces do not show in the draws.  All lanes meet
 * both code paths; how many threads, and which pieces, changes from one of the
 * many plans to the next, so that every pair occurs. */
static void try_all_ways(const relmc_target *t, const struct plan *p,
                         const char *name, size_t turn)
{
    static const uint32_t lanes[] = {1, 3, 8, 64};
    const char *const isas[] = {"baseline", strchr(relmc_build(), ' ') + 1};
    relmc_options o = options_of(p);
    struct book reference;
    char what[512];

    o.chains = 70;
    o.lanes = 1;
    o.isa = "baseline";
    sample(&reference, t, &o, 0);
    for (size_t w = 0; w < 4; w++, turn++) {
        o.lanes = lanes[w];
        o.threads = 1;
        for (size_t i = 0; i < 2; i++) {
            o.isa = isas[i];
            describe(what, p, &o, name);
            same_as(&reference, t, &o, 0, what);
        }
        same_as(&reference, t, &o, turn % 2 ? 1 : 5, what);
        o.threads = turn % 2 ? 2 : 4;
        o.isa = isas[turn / 2 % 2];
        describe(what, p, &o, name);
        same_as(&reference, t, &o, 0, what);
    }
    book_close(&reference);
}

static void
test_sampler__draws_do_not_depend_on_how_they_are_made(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);
    relmc_target *banana = open_model("banana");
    relmc_target *gaussian = open_model("gaussian:dim=5,rho=0.5");

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        try_all_ways(i % 2 ? banana : gaussian, &plans[i],
                     i % 2 ? "banana" : "gaussian", i / 2);
    }
    relmc_target_destroy(banana);
    relmc_target_destroy(gaussian);
}

/* One chain's trouble is not its neighbour's, nor its own later on. */
static void
test_sampler__draws_do_not_depend_on_faults_of_neighbours(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        for (int fault = REJECTED; fault < FATAL; fault++) {
            struct faulty f = {.fault = (enum fault)fault};
            const int has_lanes = (i + (size_t)fault) % 2 != 0;
            relmc_target *t = open_faulty(&f, 2, has_lanes);
            relmc_options o = options_of(&plans[i]);
            struct book reference;
            char what[512];

            o.chains = 12;
            o.lanes = 1;
            o.init_radius = 0.9;
            sample(&reference, t, &o, 0);
            o.lanes = 8;
            describe(what, &plans[i], &o, fault_names[fault]);
            same_as(&reference, t, &o, 0, what);
            o.lanes = 5;
            same_as(&reference, t, &o, 3, what);
            book_close(&reference);
            relmc_target_destroy(t);
        }
    }
}

static void
test_sampler__draws_do_not_depend_on_the_number_of_the_first(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);
    relmc_target *t = open_model("banana");

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        relmc_options o = options_of(&plans[i]);
        struct book eight, one;

        o.chains = 8;
        sample(&eight, t, &o, 0);
        o.chains = 1;
        o.first_chain = 5;
        sample(&one, t, &o, 0);
        same_records(chain_of(&eight, 5), chain_of(&one, 0), one.room, 2,
                     plans[i].sampler);
        /* and it is a stream of its own */
        assert_memory_not_equal(chain_of(&eight, 0), chain_of(&one, 0),
                                sizeof(struct record));
        book_close(&eight);
        book_close(&one);
    }
    relmc_target_destroy(t);
}

/* Every thin-th record of warm-up and of sampling, each counted from its
 * start; the warm-up's only when asked for. */
static void check_thinned(const struct book *all, const struct book *some,
                          const relmc_options *o)
{
    for (size_t k = 0; k < all->chains; k++) {
        size_t n = 0;

        for (size_t t = 0; t < all->room; t++) {
            const int64_t index = (int64_t)t - o->warmup;
            const int is_kept =
                index < 0 ? o->keep == RELMC_KEEP_WARMUP && t % o->thin == 0
                          : index % (int64_t)o->thin == 0;
            if (is_kept) {
                same_records(chain_of(all, k) + t, chain_of(some, k) + n, 1,
                             all->dim, "thin");
                n++;
            }
        }
        assert_int_equal(n, some->n[k]);
    }
}

static void test_sampler__draws_do_not_depend_on_who_watches(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);
    relmc_target *t = open_model("gaussian:dim=3,rho=-0.3");

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        relmc_options o = options_of(&plans[i]);
        struct book all, some;

        sample(&all, t, &o, 0);
        for (uint32_t thin = 1; thin <= 5; thin += 2) {
            for (uint32_t save = 0; save <= 1; save++) {
                o.thin = thin;
                o.keep = save ? RELMC_KEEP_WARMUP : RELMC_ZERO;
                sample(&some, t, &o, 0);
                check_thinned(&all, &some, &o);
                book_close(&some);
            }
        }
        book_close(&all);
    }
    relmc_target_destroy(t);
}

static relmc_status ignore(void *ctx, const relmc_draw *d)
{
    (void)ctx, (void)d;
    return RELMC_OK;
}

static void test_sampler__draws_do_not_depend_on_other_observers(void **unused)
{
    const struct plan plan = {"hmc", "separable", "leapfrog"};
    relmc_target *t = open_model("banana");
    relmc_options o = options_of(&plan);
    struct book alone, among;
    size_t n;

    (void)unused;
    sample(&alone, t, &o, 0);
    relmc_run *run = create(t, &o);
    book_open(&among, 2, &o);
    assert_int_equal(relmc_run_observe(run, ignore, NULL, NULL), RELMC_OK);
    assert_int_equal(relmc_run_observe(run, keep, &among, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    same_books(&alone, &among, "observers");
    for (size_t k = 0; k < 4; k++) {
        const double *x = kept_outputs(run, k, &n);

        assert_int_equal(n, alone.room);
        for (size_t r = 0; r < n; r++) {
            assert_memory_equal(x + 2 * r, chain_of(&alone, k)[r].x,
                                2 * sizeof *x);
        }
    }
    relmc_run_destroy(run);
    book_close(&alone);
    book_close(&among);
    relmc_target_destroy(t);
}

/* Two targets that are the same give the same draws, whatever the sampler. */
static void check_same(const relmc_target *one, const relmc_target *other,
                       double init_radius, const char *name)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);

    for (size_t i = 0; i < n; i++) {
        relmc_options o = options_of(&plans[i]);
        struct book reference;
        char what[512];

        o.chains = 9;
        o.lanes = 4;
        o.init_radius = init_radius;
        sample(&reference, one, &o, 0);
        describe(what, &plans[i], &o, name);
        same_as(&reference, other, &o, 0, what);
        book_close(&reference);
    }
}

/* A kernel for lanes and a callback for points are the same target. */
static void test_sampler__point_and_lanes_targets_agree(void **unused)
{
    struct faulty f = {.fault = REJECTED};
    relmc_target *point = open_faulty(&f, 3, 0);
    relmc_target *lanes = open_faulty(&f, 3, 1);

    (void)unused;
    check_same(point, lanes, 0.5, "point and lanes");
    relmc_target_destroy(point);
    relmc_target_destroy(lanes);
}

/* So are one that leaves out the density where nobody asks for it, and one that
 * does not. */
static void test_sampler__needs_no_density_on_the_way(void **unused)
{
    const char *spec = "student:dim=3,nu=3";
    const relmc_info *info;
    relmc_target *leaves_out = open_model(spec), *has_all = NULL;

    (void)unused;
    assert_int_equal(rmc_component_find(&info, "model", spec, 0, NULL),
                     RELMC_OK);
    relmc_model_ops ops = *(const relmc_model_ops *)(const void *)info;
    assert_true(ops.omits_lp);
    ops.omits_lp = 0;
    assert_int_equal(relmc_target_open_ops(&has_all, &ops, spec, NULL, NULL),
                     RELMC_OK);
    check_same(has_all, leaves_out, 2.0, "density left out");
    relmc_target_destroy(leaves_out);
    relmc_target_destroy(has_all);
}

/* Where it is left out a trajectory ends when it should, whatever its neighbours
 * see of it before. */
static void test_sampler__lanes_run_away_alone(void **unused)
{
    const struct plan plan = {"hmc:steps=16", "newtonian", "leapfrog"};
    relmc_target *t = open_model("gmm1");
    relmc_options o = options_of(&plan);
    struct book reference;
    int64_t n_divergent = 0;

    (void)unused;
    o.adapt = "none";
    o.step_size = 1e12;
    o.chains = 8;
    o.lanes = 1;
    sample(&reference, t, &o, 0);
    for (size_t r = 0; r < reference.room; r++) {
        n_divergent += chain_of(&reference, 0)[r].divergent;
    }
    assert_int_equal(n_divergent, reference.room);
    o.lanes = 8;
    same_as(&reference, t, &o, 0, "lanes that run away");
    book_close(&reference);
    relmc_target_destroy(t);
}

/* ---- the chain moves ------------------------------------------------------ */

static void test_sampler__moves(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);
    relmc_target *t = open_model("gaussian:dim=3");

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        relmc_options o = options_of(&plans[i]);
        struct book b;

        o.warmup = 100;
        o.draws = 50;
        sample(&b, t, &o, 0);
        for (size_t k = 0; k < b.chains; k++) {
            const struct record *r = chain_of(&b, k);
            size_t n_moved = 0;

            for (size_t j = 100; j < b.room; j++) {
                const int has_moved =
                    memcmp(r[j].x, r[j - 1].x, sizeof r->x) != 0;
                double lp = 0.0;

                n_moved += (size_t)has_moved;
                for (size_t c = 0; c < 3; c++) {
                    assert_true(!has_moved || r[j].x[c] != r[j - 1].x[c]);
                    lp -= 0.5 * r[j].x[c] * r[j].x[c];
                }
                /* lp is that of the draw, H is K more than -lp */
                check_near(r[j].lp - r[100].lp,
                           lp + 0.5 * (r[100].x[0] * r[100].x[0] +
                                       r[100].x[1] * r[100].x[1] +
                                       r[100].x[2] * r[100].x[2]),
                           1e-12);
                assert_true(r[j].energy + r[j].lp >= -1e-12);
                assert_true(r[j].accept_prob >= 0.0 && r[j].accept_prob <= 1.0);
                assert_true(r[j].step_size == r[100].step_size);
            }
            if (n_moved < 20) {
                print_error("%s %s %s: %zu moves in 50\n", plans[i].sampler,
                            plans[i].kinetic, plans[i].integrator, n_moved);
                fail();
            }
        }
        book_close(&b);
    }
    relmc_target_destroy(t);
}

/* Small steps keep the energy, with any mass matrix: a kick and a drift that
 * do not belong together leave the target invariant, and only this shows. */
static void test_sampler__accepts_small_steps(void **unused)
{
    static const double variances[] = {0.3, 1, 3};
    static const double dense[] = {2, 0.9, -0.3, 0.9, 1, 0.4, -0.3, 0.4, 1.5};
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);
    relmc_target *t = open_model("gaussian:dim=3,rho=0.6,sd=[1,2,0.5]");

    (void)unused;
    for (size_t i = 0; i < 3 * n; i++) {
        const struct plan *p = &plans[i / 3];
        relmc_options o = options_of(p);
        struct book b;

        o.adapt = "none";
        o.step_size = 0.01;
        o.inv_metric = i % 3 == 1 ? variances : NULL;
        o.inv_metric_dense = i % 3 == 2 ? dense : NULL;
        sample(&b, t, &o, 0);
        for (size_t j = 0; j < b.chains * b.room; j++) {
            if (!(b.records[j].accept_prob > 0.998)) {
                print_error("%s %s %s, metric %zu: acceptance %g\n", p->sampler,
                            p->kinetic, p->integrator, i % 3,
                            b.records[j].accept_prob);
                fail();
            }
        }
        book_close(&b);
    }
    relmc_target_destroy(t);
}

/* ---- what cannot be sampled ----------------------------------------------- */

static int subset(size_t dim, const double *x, const uint32_t *rows,
                  size_t n_rows, double scale, double *grad, double *lp,
                  void *ctx)
{
    (void)rows, (void)n_rows, (void)scale, (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= 0.5 * x[i] * x[i];
        grad[i] = -x[i];
    }
    return RELMC_OK;
}

static void test_sampler__with_metropolis_refuses_minibatches(void **unused)
{
    relmc_target *t = NULL;
    const relmc_info *info;

    (void)unused;
    assert_int_equal(target_of_rows(&t, 2, 10, subset, NULL, NULL), RELMC_OK);
    for (size_t i = 0; (info = rmc_component_info("sampler", i)); i++) {
        const relmc_sampler_ops *ops =
            (const relmc_sampler_ops *)(const void *)info;
        relmc_options o = RELMC_INIT(relmc_options);
        o.threads = 1;
        relmc_run *run = NULL;
        relmc_error err = {0};

        o.sampler = info->name; /* all the rows are the exact density */
        assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_OK);
        relmc_run_destroy(run);
        run = NULL;
        o.batch_rows = 5;
        const relmc_status status = relmc_run_create(&run, t, &o, &err);
        if (ops->flags & RELMC_NEEDS_EXACT) {
            assert_int_equal(status, RELMC_EUNSUPP);
            assert_null(run);
            assert_int_equal(err.status, RELMC_EUNSUPP);
            assert_non_null(strstr(err.message, info->name));
            assert_non_null(strstr(err.message, "minibatch"));
        } else {
            assert_int_equal(status, RELMC_OK);
            relmc_run_destroy(run);
        }
    }
    relmc_target_destroy(t);
}

/* An optimiser does not come by an edge, unless it makes long steps. */
static void look_around(relmc_options *o)
{
    if (flags_of(o->sampler) & RELMC_OPTIMISES) {
        o->step_size = 3.0;
    }
}

/* Nothing non-finite ever is a draw; the trouble is counted. */
static void check_survival(const struct plan *p, enum fault fault, int lanes)
{
    struct faulty f = {.fault = fault};
    relmc_target *t = open_faulty(&f, 2, lanes);
    relmc_options o = options_of(p);
    relmc_run *run;
    struct book b;
    int64_t n_met = 0;
    size_t n_bad = 0;

    o.draws = 60;
    o.lanes = 4;
    o.init_radius = 0.9;
    look_around(&o);
    run = create(t, &o);
    book_open(&b, 2, &o);
    assert_int_equal(relmc_run_observe(run, keep, &b, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    for (size_t k = 0; k < 4; k++) {
        relmc_progress report = {.size = sizeof report};
        int64_t n_divergent = 0;

        for (size_t j = 0; j < b.room; j++) {
            const struct record *r = &chain_of(&b, k)[j];

            n_bad += !isfinite(r->x[0]) || !isfinite(r->x[1]) ||
                     !isfinite(r->lp) || !isfinite(r->energy) ||
                     !isfinite(r->accept_prob) || !isfinite(r->speed) ||
                     !isfinite(r->step_size) || r->n_steps < 1;
            /* beyond the edge there is no density, or next to none */
            n_bad += r->x[0] > 1.0;
            n_divergent += r->index >= 0 ? r->divergent : 0;
        }
        assert_int_equal(relmc_run_progress(run, (uint32_t)k, &report, NULL),
                         RELMC_OK);
        assert_int_equal(report.n_divergent, n_divergent);
        n_met += n_divergent;
    }
    n_bad += n_met == 0; /* the edge was met and that was counted */
    if (n_bad) {
        print_error("%s %s %s, fault %s (%s): %zu wrong\n", p->sampler,
                    p->kinetic, p->integrator, fault_names[fault],
                    lanes ? "lanes" : "point", n_bad);
        fail();
    }
    relmc_run_destroy(run);
    book_close(&b);
    relmc_target_destroy(t);
}

static void test_sampler__survives_and_counts_faults(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        for (int fault = REJECTED; fault < FATAL; fault++) {
            /* a cliff that has a density is no fault without [MH] */
            if (fault != NAN_GRADIENT && fault != INF_GRADIENT &&
                !(fault == CLIFF &&
                  flags_of(plans[i].sampler) & RELMC_UNADJUSTED)) {
                check_survival(&plans[i], (enum fault)fault, i % 2 != 0);
            }
        }
    }
}

/* Where the gradient is wrong but the density is not, a draw may lie; yet the
 * way there was NaN and is refused. */
static void test_sampler__survives_gradients_that_are_not_finite(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        check_survival(&plans[i], NAN_GRADIENT, i % 2 != 0);
        check_survival(&plans[i], INF_GRADIENT, i % 2 != 0);
    }
}

static void test_sampler__ends_when_the_target_fails_for_good(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        for (uint32_t threads = 1; threads <= 2; threads++) {
            struct faulty f = {.fault = FATAL};
            relmc_target *t = open_faulty(&f, 2, i % 2 != 0);
            relmc_options o = options_of(&plans[i]);
            relmc_error err = {0};

            o.draws = 1000;
            o.lanes = 2;
            o.threads = threads;
            o.init_radius = 0.9;
            look_around(&o);
            relmc_run *run = create(t, &o);
            assert_int_equal(relmc_run_advance(run, INT64_MAX, &err),
                             RELMC_ETARGET);
            assert_int_equal(err.status, RELMC_ETARGET);
            assert_non_null(strstr(err.message, "-42"));
            relmc_run_destroy(run);
            relmc_target_destroy(t);
        }
    }
}

static void test_sampler__ends_when_the_target_fails_at_the_start(void **unused)
{
    struct faulty f = {.fault = FATAL};
    const double init[] = {2.0, 0.0};
    relmc_target *t = open_faulty(&f, 2, 0);
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_run *run = NULL;
    relmc_error err = {0};

    (void)unused;
    o.chains = 1;
    o.init = init;
    assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_ETARGET);
    assert_null(run);
    assert_non_null(strstr(err.message, "-42"));
    relmc_target_destroy(t);
}

/* ---- accounts ------------------------------------------------------------- */

static int64_t stages_of(const char *integrator)
{
    const relmc_info *info = NULL;

    assert_int_equal(
        rmc_component_find(&info, "integrator", integrator, RMC_BASELINE, NULL),
        RELMC_OK);
    const relmc_integrator_ops *ops =
        (const relmc_integrator_ops *)(const void *)info;
    return (int64_t)(ops->n_coef - 1) / 2;
}

/* Each gradient is one call of the callback, and each step costs as many as
 * the integrator has stages: chain by chain, and with lanes in all. */
static void check_accounts(const struct plan *p, enum fault fault,
                           uint32_t lanes)
{
    struct faulty f = {.fault = fault};
    relmc_target *t = open_faulty(&f, 2, 0);
    relmc_options o = options_of(p);
    const int64_t stages =
        flags_of(p->sampler) & RELMC_UNADJUSTED ? 1 : stages_of(p->integrator);
    struct book b;
    int64_t n_steps = 0, n_grad = 0, n_reported = 0, n_sampling = 0;

    o.adapt = "none";
    o.step_size = 0.3;
    o.draws = 30;
    o.chains = lanes;
    o.lanes = lanes;
    o.init_radius = 0.9;
    relmc_run *run = create(t, &o);
    book_open(&b, 2, &o);
    f.n_calls = 0;
    assert_int_equal(relmc_run_observe(run, keep, &b, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    for (size_t k = 0; k < lanes; k++) {
        relmc_progress report = {.size = sizeof report};

        assert_int_equal(relmc_run_progress(run, (uint32_t)k, &report, NULL),
                         RELMC_OK);
        n_reported += report.n_grad;
        n_sampling += report.n_grad_sampling;
        for (size_t j = 0; j < b.room; j++) {
            const struct record *r = &chain_of(&b, k)[j];

            assert_int_equal(r->n_grad, r->n_steps * stages);
            n_steps += r->n_steps;
            n_grad += r->n_grad;
            n_sampling -= r->index >= 0 ? r->n_grad : 0;
        }
    }
    assert_int_equal(n_grad, f.n_calls);
    assert_int_equal(n_reported, f.n_calls);
    assert_int_equal(n_steps * stages, f.n_calls);
    assert_int_equal(n_sampling, 0);
    relmc_run_destroy(run);
    book_close(&b);
    relmc_target_destroy(t);
}

static void test_sampler__counts_every_gradient(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        check_accounts(&plans[i], NO_FAULT, 1);
        check_accounts(&plans[i], REJECTED, 1);
        check_accounts(&plans[i], NO_FAULT, 5);
        check_accounts(&plans[i], REJECTED, 5);
    }
}

/* ---- memory --------------------------------------------------------------- */

struct purse {
    atomic_long n_acquired, n_held;
};

static void *acquire(void *ctx, size_t bytes)
{
    struct purse *purse = ctx;

    purse->n_acquired++;
    purse->n_held++;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(void *ctx, void *block, size_t bytes)
{
    struct purse *purse = ctx;

    (void)bytes;
    purse->n_held--;
    free(block);
}

static void test_sampler__takes_no_memory_while_sampling(void **unused)
{
    static struct plan plans[MAX_PLANS];
    const size_t n = list_plans(plans);
    relmc_target *t = open_model("gaussian:dim=4");

    (void)unused;
    for (size_t i = 0; i < n; i++) {
        struct purse purse = {0};
        relmc_options o = options_of(&plans[i]);
        relmc_run *run = NULL;

        o.acquire = acquire;
        o.release = release;
        o.memory_ctx = &purse;
        o.threads = 2;
        o.lanes = 2;
        assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
        assert_true(purse.n_held > 0);
        const long before = purse.n_acquired;
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        assert_int_equal(purse.n_acquired, before);
        assert_int_equal(purse.n_held, before);
        relmc_run_destroy(run);
        assert_int_equal(purse.n_held, 0);
    }
    relmc_target_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_sampler__draws_do_not_depend_on_how_they_are_made),
        cmocka_unit_test(
            test_sampler__draws_do_not_depend_on_faults_of_neighbours),
        cmocka_unit_test(
            test_sampler__draws_do_not_depend_on_the_number_of_the_first),
        cmocka_unit_test(test_sampler__draws_do_not_depend_on_who_watches),
        cmocka_unit_test(test_sampler__draws_do_not_depend_on_other_observers),
        cmocka_unit_test(test_sampler__point_and_lanes_targets_agree),
        cmocka_unit_test(test_sampler__needs_no_density_on_the_way),
        cmocka_unit_test(test_sampler__lanes_run_away_alone),
        cmocka_unit_test(test_sampler__moves),
        cmocka_unit_test(test_sampler__accepts_small_steps),
        cmocka_unit_test(test_sampler__with_metropolis_refuses_minibatches),
        cmocka_unit_test(test_sampler__survives_and_counts_faults),
        cmocka_unit_test(test_sampler__survives_gradients_that_are_not_finite),
        cmocka_unit_test(test_sampler__ends_when_the_target_fails_for_good),
        cmocka_unit_test(test_sampler__ends_when_the_target_fails_at_the_start),
        cmocka_unit_test(test_sampler__counts_every_gradient),
        cmocka_unit_test(test_sampler__takes_no_memory_while_sampling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
