/*
 * sampler.c - every sampler, with every kinetic energy and integrator, moves, refuses or
 * counts what it cannot sample, counts gradients, and takes no memory while it samples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/sampler.h"

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
                /* lp belongs to x, and H = K - lp with K >= 0 */
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

/* Small steps keep the energy, with any metric.  A kick and a drift with different
 * metrics still leave the target invariant: only the acceptance shows the bug. */
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

        o.sampler = info->name; /* without batch_rows the density is exact */
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

/* An optimiser reaches the edge x_0 = 1 only with long steps. */
static void look_around(relmc_options *o)
{
    if (flags_of(o->sampler) & RELMC_OPTIMISES) {
        o->step_size = 3.0;
    }
}

/* Draws are finite, and faults are counted as divergences. */
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
            n_bad += r->x[0] > 1.0; /* the density is zero there, or tiny */
            n_divergent += r->index >= 0 ? r->divergent : 0;
        }
        assert_int_equal(relmc_run_progress(run, (uint32_t)k, &report, NULL),
                         RELMC_OK);
        assert_int_equal(report.n_divergent, n_divergent);
        n_met += n_divergent;
    }
    n_bad += n_met == 0; /* the chains must have crossed the edge */
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
            /* without [MH] nothing rejects a point on the cliff */
            if (fault != NAN_GRADIENT && fault != INF_GRADIENT &&
                !(fault == CLIFF &&
                  flags_of(plans[i].sampler) & RELMC_UNADJUSTED)) {
                check_survival(&plans[i], (enum fault)fault, i % 2 != 0);
            }
        }
    }
}

/* Beyond the edge the density is right, but a trajectory with such a gradient is
 * rejected. */
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

/* ---- counts of gradients ---------------------------------------------------- */

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

/* The gradients counted are the calls of the callback; a step costs as many as the
 * integrator has stages. */
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
