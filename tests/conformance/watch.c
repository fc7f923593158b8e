/*
 * watch.c - while a run advances, other threads read its draws and progress or stop it,
 * and it calls the heartbeat in the thread of its owner.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { CHAINS = 3, DRAWS = 4000, WARMUP = 200, DIM = 3 };

static relmc_target *target;

static relmc_run *create(const relmc_options *o)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (relmc_run_create(&run, target, o, &err)) {
        fail_msg("%s", err.message);
    }
    return run;
}

static relmc_options options_of(uint32_t threads)
{
    relmc_options o = RELMC_INIT(relmc_options);

    o.sampler = "hmc:steps=3";
    o.adapt = "dual";
    o.chains = CHAINS;
    o.draws = DRAWS;
    o.warmup = WARMUP;
    o.threads = threads;
    o.lanes = 1;
    o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_COORDINATES | RELMC_KEEP_STATS |
             RELMC_KEEP_WARMUP;
    return o;
}

/* ---- another thread reads --------------------------------------------------- */

struct reader {
    const relmc_run *run;
    atomic_int is_over;
    double sums[CHAINS]; /* of all numbers in the rows read so far */
    size_t n[CHAINS];
    int64_t done;
    int n_wrong;
};

static void read_chain(struct reader *r, uint32_t k)
{
    relmc_draws d = RELMC_INIT(relmc_draws);

    if (relmc_run_draws(r->run, k, &d, NULL)) {
        r->n_wrong++;
        return;
    }
    r->n_wrong += d.n < r->n[k] || d.n_warmup > d.n || d.n_warmup > WARMUP;
    for (; r->n[k] < d.n; r->n[k]++) {
        const size_t t = r->n[k];

        for (size_t i = 0; i < DIM; i++) {
            r->sums[k] += d.outputs[t * DIM + i];
            r->n_wrong += d.outputs[t * DIM + i] != d.coordinates[t * DIM + i];
        }
        for (size_t i = 0; i < d.n_stats; i++) {
            r->sums[k] += d.stats[t * d.n_stats + i];
        }
        r->n_wrong += d.stats[t * d.n_stats + RELMC_STAT_N_GRAD] < 1.0;
    }
}

static void *read_all(void *ctx)
{
    struct reader *r = ctx;

    while (!atomic_load(&r->is_over)) {
        for (uint32_t k = 0; k < CHAINS; k++) {
            relmc_progress p = RELMC_INIT(relmc_progress);

            read_chain(r, k);
            r->n_wrong += relmc_run_progress(r->run, k, &p, NULL) != RELMC_OK ||
                          strcmp(p.sampler, "hmc") != 0;
            r->done = p.done > r->done ? p.done : r->done;
        }
    }
    return NULL;
}

static void test_draws__can_be_read_by_another_thread(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= CHAINS; threads += 2) {
        const relmc_options o = options_of(threads);
        relmc_run *run = create(&o);
        struct reader r = {.run = run}, again = {.run = run};
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, read_all, &r), 0);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        atomic_store(&r.is_over, 1);
        (void)pthread_join(thread, NULL);
        for (uint32_t k = 0; k < CHAINS; k++) {
            read_chain(&r, k);
            read_chain(&again,
                       k); /* rows did not change after they were read */
            assert_int_equal(r.n[k], DRAWS + WARMUP);
            assert_true(r.sums[k] == again.sums[k]);
        }
        assert_int_equal(r.n_wrong, 0);
        assert_int_equal(again.n_wrong, 0);
        relmc_run_destroy(run);
    }
}

/* ---- the heartbeat ---------------------------------------------------------- */

struct pulse {
    pthread_t owner;
    int n, n_most;   /* beats so far, beats before the stop */
    int n_elsewhere; /* beats in other threads than the owner's */
};

/* All chains have made the iterations up to the run's position. */
static void check_position(const relmc_run *run)
{
    const int64_t position = relmc_run_position(run);
    relmc_progress p = RELMC_INIT(relmc_progress);
    uint32_t k = 0;

    for (; relmc_run_progress(run, k, &p, NULL) == RELMC_OK; k++) {
        assert_true(p.done >= position);
    }
    assert_true(k > 0);
}

static int count_beats(void *ctx, relmc_run *run)
{
    struct pulse *p = ctx;

    check_position(run);
    p->n_elsewhere += !pthread_equal(p->owner, pthread_self()) || !run;
    return ++p->n >= p->n_most;
}

static void test_heartbeat__is_in_the_owners_thread(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= CHAINS; threads++) {
        relmc_options o = options_of(threads);
        struct pulse pulse = {pthread_self(), 0, INT32_MAX, 0};

        o.heartbeat = count_beats;
        o.heartbeat_ctx = &pulse;
        o.heartbeat_seconds = 1e-5;
        relmc_run *run = create(&o);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        /* with several threads, others may have done all the work */
        assert_true(pulse.n > 0 || threads > 1);
        assert_int_equal(pulse.n_elsewhere, 0);
        relmc_run_destroy(run);
    }
}

static double frozen(void)
{
    return 7.0;
}

static double hurried(void)
{
    static double at; /* only one thread calls this */

    return at += 1.0;
}

static void test_heartbeat__keeps_its_distance(void **state)
{
    relmc_options o = options_of(1);
    struct pulse pulse = {pthread_self(), 0, INT32_MAX, 0};

    (void)state;
    o.heartbeat = count_beats;
    o.heartbeat_ctx = &pulse;
    o.clock = frozen;
    relmc_run *run = create(&o);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    assert_int_equal(pulse.n, 0);
    relmc_run_destroy(run);
    o.clock = hurried; /* a second later at every call */
    o.heartbeat_seconds = 1000.0;
    run = create(&o);
    const double from = hurried();
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    const double seconds = hurried() - from;
    assert_true(pulse.n > 5);
    assert_true(pulse.n <= seconds / 1000.0 + 1.0);
    relmc_run_destroy(run);
}

static void test_heartbeat__stops_the_run(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= CHAINS; threads++) {
        relmc_options o = options_of(threads);
        struct pulse pulse = {pthread_self(), 0, 2, 0};

        o.draws = INT64_C(1) << 40;
        o.keep = RELMC_ZERO;
        o.heartbeat = count_beats;
        o.heartbeat_ctx = &pulse;
        o.heartbeat_seconds = 0.001;
        relmc_run *run = create(&o);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL),
                         RELMC_STOPPED);
        assert_int_equal(pulse.n, 2);
        assert_int_equal(relmc_run_advance(run, 1, NULL), RELMC_STOPPED);
        relmc_run_destroy(run);
    }
}

struct race {
    pthread_t owner;
    int is_on;
    atomic_int is_shared;
};

/* Gives the owner nothing to do: it waits for the other thread, and beats. */
static int slow_point(void *ctx, const double *x, double *lp, double *grad,
                      relmc_error *err)
{
    struct race *race = ctx;
    const struct timespec pause = {0, 2000000};

    (void)err;
    if (!pthread_equal(race->owner, pthread_self())) {
        atomic_store(&race->is_shared, 1);
        (void)nanosleep(&pause, NULL);
    }
    while (race->is_on && !atomic_load(&race->is_shared)) {
        (void)nanosleep(&pause, NULL); /* so that each thread gets a chain */
    }
    *lp = -0.5 * x[0] * x[0];
    grad[0] = -x[0];
    return RELMC_OK;
}

static void test_heartbeat__goes_on_while_the_owner_waits(void **state)
{
    relmc_density density = RELMC_INIT(relmc_density);
    relmc_options o = options_of(2);
    struct pulse pulse = {pthread_self(), 0, INT32_MAX, 0};
    struct race race = {.owner = pthread_self()};
    relmc_target *slow = NULL;
    relmc_run *run = NULL;

    (void)state;
    density.dim = 1;
    density.ctx = &race;
    density.point = slow_point;
    o.chains = 2;
    o.draws = 40;
    o.warmup = RELMC_ZERO;
    o.adapt = "none";
    o.heartbeat = count_beats;
    o.heartbeat_ctx = &pulse;
    o.heartbeat_seconds = 0.01;
    assert_int_equal(relmc_target_create(&slow, &density, NULL), RELMC_OK);
    assert_int_equal(relmc_run_create(&run, slow, &o, NULL), RELMC_OK);
    race.is_on = 1;
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    assert_true(pulse.n >= 3); /* 240 ms */
    assert_int_equal(pulse.n_elsewhere, 0);
    relmc_run_destroy(run);
    relmc_target_destroy(slow);
}

/* ---- a stop from elsewhere ----------------------------------------------------- */

static void *stop(void *ctx)
{
    relmc_progress p = RELMC_INIT(relmc_progress);
    relmc_run *run = ctx;

    while (p.done < WARMUP + 10) {
        (void)relmc_run_progress(run, 0, &p, NULL);
    }
    relmc_run_stop(run);
    return NULL;
}

static void test_stop__comes_from_any_thread(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        relmc_options o = options_of(threads);
        pthread_t thread;

        o.draws = INT64_C(1) << 40;
        o.keep = RELMC_ZERO;
        o.chains = threads;
        relmc_run *run = create(&o);
        assert_int_equal(pthread_create(&thread, NULL, stop, run), 0);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL),
                         RELMC_STOPPED);
        (void)pthread_join(thread, NULL);
        relmc_run_destroy(run);
    }
}

static int open_target(void **state)
{
    (void)state;
    return relmc_target_open(&target, "gaussian:dim=3,rho=0.5", NULL, NULL);
}

static int close_target(void **state)
{
    (void)state;
    relmc_target_destroy(target);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws__can_be_read_by_another_thread),
        cmocka_unit_test(test_heartbeat__is_in_the_owners_thread),
        cmocka_unit_test(test_heartbeat__keeps_its_distance),
        cmocka_unit_test(test_heartbeat__stops_the_run),
        cmocka_unit_test(test_heartbeat__goes_on_while_the_owner_waits),
        cmocka_unit_test(test_stop__comes_from_any_thread),
    };

    return cmocka_run_group_tests(tests, open_target, close_target);
}
