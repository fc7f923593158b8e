/*
 * start_stop.c - starts without density are refused, and a run that is stopped ends with
 * complete transitions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "component/registry.h"
#include "property/targets.h"
#include "relmc.h"
#include "support/callback.h"
#include "support/check.h"
#include "support/kept.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- starts --------------------------------------------------------------- */

static void test_init__that_is_not_finite_is_refused(void **unused)
{
    static const double bad[] = {(double)NAN, HUGE_VAL, -HUGE_VAL};
    const relmc_info *info;
    relmc_target *t = NULL;

    (void)unused;
    for (size_t i = 0;; i++) {
        double init[3 * 128] = {0};

        info = rmc_component_info("model", i);
        if (!info) {
            break;
        }
        assert_int_equal(relmc_target_open(&t, info->name, NULL, NULL),
                         RELMC_OK);
        const size_t dim = relmc_target_dim(t);
        assert_true(dim <= 128);
        for (size_t j = 0; j < 3 * dim; j++) {
            relmc_options o = RELMC_INIT(relmc_options);
            o.threads = 1;
            relmc_run *run = NULL;
            relmc_error err = {0};
            char chain[32];

            (void)snprintf(chain, sizeof chain, "chain %zu:", 101 + j / dim);
            init[j] = bad[j % 3];
            o.chains = 3;
            o.first_chain = 100;
            o.init = init;
            o.lanes = 1 + (uint32_t)(j % 3);
            assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_EINIT);
            assert_null(run);
            if (!strstr(err.message, chain)) {
                print_error("%s: '%s' does not name %s\n", info->name,
                            err.message, chain);
                fail();
            }
            init[j] = 0.0;
        }
        relmc_target_destroy(t);
    }
    /* also where the density does not depend on the coordinate */
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_run *run = NULL;

    assert_int_equal(target_of_point(&t, 1, flat, NULL, NULL), RELMC_OK);
    o.chains = 1;
    o.init = bad;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_EINIT);
    relmc_target_destroy(t);
}

/* The density is positive in a box that a random start hits with probability p. */
static int box(size_t dim, const double *x, double *grad, double *lp, void *ctx)
{
    const double *p = ctx;

    for (size_t i = 0; i < dim; i++) {
        grad[i] = 0.0;
    }
    *lp = x[0] > 2.0 - 4.0 * *p ? 0.0 : -HUGE_VAL;
    return RELMC_OK;
}

static void test_init__is_tried_again(void **unused)
{
    double p = 0.1;
    relmc_target *t = NULL;
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_error err = {0};
    int n_made = 0;

    (void)unused;
    o.chains = 8;
    o.draws = 5;
    o.warmup = 5;
    assert_int_equal(target_of_point(&t, 2, box, &p, NULL), RELMC_OK);
    for (uint64_t seed = 0; seed < 100; seed++) { /* fails with 0.9^100 */
        relmc_run *run = NULL;

        o.seed = seed;
        o.lanes = 1 + (uint32_t)(seed % 8);
        if (relmc_run_create(&run, t, &o, NULL) == RELMC_OK) {
            n_made++;
            assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        }
        relmc_run_destroy(run);
    }
    assert_true(n_made >= 98);
    p = -1.0; /* nowhere */
    relmc_run *run = NULL;
    assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_EINIT);
    assert_null(run);
    assert_non_null(strstr(err.message, "chain 1:"));
    assert_non_null(strstr(err.message, "100 random points"));
    relmc_target_destroy(t);
}

static void test_init__is_kept(void **unused)
{
    const double init[] = {1, 2, 3, 4};
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *t = NULL;
    relmc_run *run = NULL;
    size_t n;

    (void)unused;
    assert_int_equal(target_of_point(&t, 2, flat, NULL, NULL), RELMC_OK);
    o.chains = 2;
    o.lanes = 2;
    o.init = init;
    o.draws = 1;
    o.warmup = RELMC_ZERO;
    o.step_size = 1e-13;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    for (size_t k = 0; k < 2; k++) {
        const double *x = kept_outputs(run, k, &n);

        check_near(x[0], init[2 * k], 1e-9);
        check_near(x[1], init[2 * k + 1], 1e-9);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(t);
}

/* ---- stopping ------------------------------------------------------------- */

struct stopper {
    relmc_run *run;
    int64_t at; /* the index at which chain 1 stops the run */
    relmc_status answer;
    int calls_stop;
    _Atomic int64_t n_seen[4];
};

static relmc_status stop_there(void *ctx, const relmc_draw *d)
{
    struct stopper *s = ctx;

    s->n_seen[d->chain]++;
    if (d->chain == 1 && d->index == s->at) {
        if (s->calls_stop) {
            relmc_run_stop(s->run);
        }
        return s->answer;
    }
    return RELMC_OK;
}

/* Reports and the memory sink hold exactly the draws that were observed. */
static void check_whole(const relmc_run *run, const struct stopper *s,
                        int64_t warmup)
{
    for (size_t k = 0; k < 4; k++) {
        relmc_progress r = {.size = sizeof r};
        size_t n;

        assert_int_equal(relmc_run_progress(run, (uint32_t)k, &r, NULL),
                         RELMC_OK);
        assert_int_equal(r.done > warmup ? r.done - warmup : 0, s->n_seen[k]);
        assert_non_null(kept_outputs(run, k, &n));
        assert_int_equal(n, s->n_seen[k]);
    }
}

static void try_to_stop(relmc_status answer, int calls_stop, uint32_t lanes,
                        uint32_t threads)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    struct stopper s = {.at = 20, .answer = answer, .calls_stop = calls_stop};
    relmc_run *run = NULL;
    relmc_error err = {0};

    o.warmup = 10;
    o.draws = 100000;
    o.lanes = lanes;
    o.threads = threads;
    assert_int_equal(relmc_run_create(&run, banana, &o, NULL), RELMC_OK);
    s.run = run;
    assert_int_equal(relmc_run_observe(run, stop_there, &s, NULL), RELMC_OK);
    const relmc_status status = relmc_run_advance(run, INT64_MAX, &err);
    assert_int_equal(status, answer < 0 ? answer : RELMC_STOPPED);
    assert_int_equal(err.status, status);
    assert_true(*err.message);
    assert_true(s.n_seen[1] >= 21);
    assert_true(lanes < 4 || s.n_seen[0] < 1000);
    if (status == RELMC_STOPPED) {
        check_whole(run, &s, 10);
    } else {
        assert_non_null(strstr(err.message, "chain 2"));
        assert_non_null(strstr(err.message, "draw 20"));
    }
    assert_int_equal(relmc_run_finish(run, NULL), RELMC_OK);
    relmc_run_destroy(run);
}

static void test_stop__comes_from_an_observer(void **unused)
{
    (void)unused;
    for (uint32_t lanes = 1; lanes <= 4; lanes++) {
        for (uint32_t threads = 1; threads <= 2; threads++) {
            try_to_stop(RELMC_STOPPED, 0, lanes, threads);
            try_to_stop(RELMC_OK, 1, lanes, threads);
            try_to_stop(RELMC_EIO, 0, lanes, threads);
            try_to_stop(RELMC_EINVAL, 1, lanes, threads);
        }
    }
}

struct driver {
    relmc_run *run;
    relmc_status status;
};

static void *turn(void *ctx)
{
    struct driver *c = ctx;

    c->status = relmc_run_advance(c->run, INT64_MAX, NULL);
    return NULL;
}

static void test_stop__comes_from_another_thread(void **unused)
{
    (void)unused;
    for (uint32_t lanes = 1; lanes <= 4; lanes++) {
        relmc_options o = RELMC_INIT(relmc_options);
        struct stopper s = {.at = -1};
        struct driver driver = {0};
        relmc_progress r = {.size = sizeof r};
        pthread_t thread;

        o.warmup = RELMC_ZERO;
        o.draws = INT64_C(1) << 32; /* more than the test waits for */
        o.keep = RELMC_ZERO;
        o.lanes = lanes;
        o.threads = 2;
        assert_int_equal(relmc_run_create(&driver.run, banana, &o, NULL),
                         RELMC_OK);
        assert_int_equal(relmc_run_observe(driver.run, stop_there, &s, NULL),
                         RELMC_OK);
        assert_int_equal(pthread_create(&thread, NULL, turn, &driver), 0);
        while (r.done < 100) {
            assert_int_equal(relmc_run_progress(driver.run, 0, &r, NULL),
                             RELMC_OK);
        }
        relmc_run_stop(driver.run);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(driver.status, RELMC_STOPPED);
        for (size_t k = 0; k < 4; k++) {
            assert_int_equal(
                relmc_run_progress(driver.run, (uint32_t)k, &r, NULL),
                RELMC_OK);
            assert_int_equal(r.done, s.n_seen[k]);
        }
        relmc_run_destroy(driver.run);
    }
}

/* relmc_run_finish closes the sinks. */
static void test_run__does_not_go_on_when_it_is_finished(void **unused)
{
    static const char *const sinks[] = {"raw:start-stop", "csv:start-stop"};

    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        relmc_options o = RELMC_INIT(relmc_options);
        o.threads = 1;
        relmc_run *run = NULL;
        relmc_error err = {0};

        o.chains = 1;
        assert_int_equal(relmc_run_create(&run, banana, &o, NULL), RELMC_OK);
        assert_int_equal(relmc_run_write(run, sinks[i], NULL), RELMC_OK);
        assert_int_equal(relmc_run_advance(run, 8, NULL), RELMC_OK);
        assert_int_equal(relmc_run_finish(run, NULL), RELMC_OK);
        assert_int_equal(relmc_run_finish(run, NULL), RELMC_OK);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, &err), RELMC_EINVAL);
        assert_non_null(strstr(err.message, "finished"));
        relmc_run_destroy(run);
    }
    (void)remove("start-stop_1.csv");
}

static void test_stop__may_come_first(void **unused)
{
    relmc_run *run = NULL;
    relmc_progress r = {.size = sizeof r};

    (void)unused;
    assert_int_equal(relmc_run_create(&run, banana, NULL, NULL), RELMC_OK);
    relmc_run_stop(run);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_STOPPED);
    assert_int_equal(relmc_run_progress(run, 0, &r, NULL), RELMC_OK);
    assert_int_equal(r.done, 0);
    relmc_run_destroy(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init__that_is_not_finite_is_refused),
        cmocka_unit_test(test_init__is_tried_again),
        cmocka_unit_test(test_init__is_kept),
        cmocka_unit_test(test_stop__comes_from_an_observer),
        cmocka_unit_test(test_stop__comes_from_another_thread),
        cmocka_unit_test(test_stop__may_come_first),
        cmocka_unit_test(test_run__does_not_go_on_when_it_is_finished),
    };

    return cmocka_run_group_tests(tests, open_banana, close_banana);
}
