/*
 * dual.c - the step size of warm-up follows the formulas of dual averaging and reaches the
 * target acceptance, and its search ends on any target.
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

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARMUP = 300, DRAWS = 5, CHAINS = 6 };

/* ---- against the formulas ------------------------------------------------- */

struct trace {
    double accept[CHAINS][WARMUP + DRAWS];
    double eps[CHAINS][WARMUP + DRAWS];
    size_t n[CHAINS];
};

static relmc_status follow(void *ctx, const relmc_draw *d)
{
    struct trace *trace = ctx;
    const size_t t = trace->n[d->chain]++;

    trace->accept[d->chain][t] = d->stats[RELMC_STAT_ACCEPT_PROB];
    trace->eps[d->chain][t] = d->stats[RELMC_STAT_STEP_SIZE];
    return RELMC_OK;
}

struct tuning {
    double delta, gamma, t0, kappa;
};

/*
 * Hoffman and Gelman (2014), eq. (6), with H_t = delta - a_t:
 *
 *   x_{t+1}    = mu - sqrt(t)/gamma 1/(t + t0) sum_{i <= t} H_i
 *   xbar_{t+1} = t^-kappa x_{t+1} + (1 - t^-kappa) xbar_t
 *
 * x is log eps, mu = log(10 eps_1), and xbar is used after the warm-up.  The test
 * computes the sum anew, not by a recursion.
 */
static void check_chain(const struct trace *trace, size_t k,
                        const struct tuning *u)
{
    const double mu = log(10.0 * trace->eps[k][0]);
    double sum = 0.0, bar = 0.0;

    for (size_t t = 1; t <= WARMUP; t++) {
        sum += u->delta - trace->accept[k][t - 1];
        const double now = (double)t;
        const double x = mu - sqrt(now) / u->gamma * sum / (now + u->t0);
        const double eta = pow(now, -u->kappa);

        bar = eta * x + (1.0 - eta) * bar;
        check_close(trace->eps[k][t], exp(t < WARMUP ? x : bar), 1e-11);
    }
    for (size_t t = WARMUP; t < WARMUP + DRAWS; t++) {
        assert_true(trace->eps[k][t] == trace->eps[k][WARMUP]);
    }
}

static void test_dual__follows_the_formulas(void **unused)
{
    static const struct tuning tunings[] = {
        {0.8, 0.05, 10, 0.75},
        {0.6, 0.2, 3, 0.9},
        {0.95, 0.05, 0, 0.55},
        {0.3, 1, 100, 1},
    };
    static struct trace trace;
    relmc_target *t = NULL;

    (void)unused;
    assert_int_equal(relmc_target_open(&t, "gaussian:dim=4", NULL, NULL),
                     RELMC_OK);
    for (size_t i = 0; i < sizeof tunings / sizeof *tunings; i++) {
        const struct tuning *u = &tunings[i];
        relmc_options o = RELMC_INIT(relmc_options);
        o.threads = 1;
        relmc_run *run = NULL;
        char adapt[128];

        (void)snprintf(adapt, sizeof adapt,
                       "dual:delta=%g,gamma=%g,t0=%g,kappa=%g", u->delta,
                       u->gamma, u->t0, u->kappa);
        o.adapt = adapt;
        o.sampler = "hmc";
        o.seed = 3 + i;
        o.warmup = WARMUP;
        o.draws = DRAWS;
        o.chains = CHAINS;
        o.lanes = 4;
        o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_WARMUP;
        memset(&trace, 0, sizeof trace);
        assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
        assert_int_equal(relmc_run_observe(run, follow, &trace, NULL),
                         RELMC_OK);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        for (size_t k = 0; k < CHAINS; k++) {
            check_chain(&trace, k, u);
        }
        /* every chain has its own step size */
        assert_true(trace.eps[0][WARMUP] != trace.eps[1][WARMUP]);
        relmc_run_destroy(run);
    }
    relmc_target_destroy(t);
}

/* ---- what it reaches ------------------------------------------------------ */

/* Mean acceptance and step size after warm-up, over 16 chains. */
static void reach(const relmc_target *t, relmc_options *o, double *accept,
                  double *step_size)
{
    relmc_run *run = NULL;

    o->chains = 16;
    assert_int_equal(relmc_run_create(&run, t, o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    *accept = *step_size = 0.0;
    for (size_t k = 0; k < 16; k++) {
        relmc_progress r = {.size = sizeof r};

        assert_int_equal(relmc_run_progress(run, (uint32_t)k, &r, NULL),
                         RELMC_OK);
        *accept += r.accept_prob / 16;
        *step_size += r.step_size / 16;
    }
    relmc_run_destroy(run);
}

/* Averaging log eps leaves the acceptance somewhat above its target: a little for the
 * leapfrog, more for integrators whose acceptance falls steeply at the limit of
 * stability. */
static void test_dual__reaches_the_acceptance_asked_for(void **unused)
{
    static const double deltas[] = {0.6, 0.8, 0.9};
    relmc_target *t = NULL;
    const relmc_info *kinetic, *integrator;

    (void)unused;
    assert_int_equal(relmc_target_open(&t, "gaussian:dim=10", NULL, NULL),
                     RELMC_OK);
    for (size_t n = 0; (kinetic = rmc_component_info("kinetic", n / 3)); n++) {
        const double delta = deltas[n % 3];

        if (IS_INSTRUMENTED && delta != 0.8) {
            continue;
        }
        for (size_t i = 0; (integrator = rmc_component_info("integrator", i));
             i++) {
            const double above =
                strcmp(integrator->name, "leapfrog") ? 1 : 0.05;
            relmc_options o = RELMC_INIT(relmc_options);
            o.threads = 1;
            double accept, step_size;
            char adapt[64];

            if (IS_INSTRUMENTED && i > 0) {
                break;
            }
            (void)snprintf(adapt, sizeof adapt, "dual:delta=%g", delta);
            o.kinetic = kinetic->name;
            o.integrator = integrator->name;
            o.adapt = adapt;
            o.sampler = "hmc";
            o.seed = 11;
            o.warmup = 3000;
            o.draws = 400;
            reach(t, &o, &accept, &step_size);
            if (!(accept > delta - 0.05 && accept < delta + above)) {
                print_error("%s %s: delta %g, accepted %.3f at step %g\n",
                            o.kinetic, o.integrator, delta, accept, step_size);
                fail();
            }
        }
    }
    relmc_target_destroy(t);
}

/* [first-step] The search gives the same step size for any first guess. */
static void test_dual__forgets_the_first_guess(void **unused)
{
    static const double guesses[] = {1e-9, 1e-3, 1, 300, 1e6};
    relmc_target *t = NULL;
    double reference = 0.0;

    (void)unused;
    assert_int_equal(relmc_target_open(&t, "gaussian:dim=10", NULL, NULL),
                     RELMC_OK);
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
        static struct trace trace;
        relmc_options o = RELMC_INIT(relmc_options);
        o.threads = 1;
        relmc_run *run = NULL;
        double mean = 0.0;

        o.sampler = "hmc";
        o.adapt = "dual";
        o.chains = CHAINS;
        o.warmup = WARMUP;
        o.draws = DRAWS;
        o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_WARMUP;
        o.step_size = guesses[i];
        memset(&trace, 0, sizeof trace);
        assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
        assert_int_equal(relmc_run_observe(run, follow, &trace, NULL),
                         RELMC_OK);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        for (size_t k = 0; k < CHAINS; k++) {
            /* the search doubles and halves only */
            const double power = log2(trace.eps[k][0] / guesses[i]);

            check_near(power, nearbyint(power), 1e-9);
            assert_true(trace.eps[k][0] > 0.05 && trace.eps[k][0] < 20.0);
            mean += trace.eps[k][WARMUP] / CHAINS;
        }
        reference = i ? reference : mean;
        check_close(mean, reference, 0.2);
        relmc_run_destroy(run);
    }
    relmc_target_destroy(t);
}

static void test_dual__leaves_the_step_size_without_warmup(void **unused)
{
    relmc_target *t = NULL;
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    double accept, step_size;

    (void)unused;
    assert_int_equal(relmc_target_open(&t, "gaussian:dim=3", NULL, NULL),
                     RELMC_OK);
    o.draws = 10;
    o.step_size = 0.375;
    o.warmup = RELMC_ZERO;
    reach(t, &o, &accept, &step_size);
    assert_true(step_size == 0.375);
    o.warmup = 50;
    o.adapt = "none";
    reach(t, &o, &accept, &step_size);
    assert_true(step_size == 0.375);
    relmc_target_destroy(t);
}

/* ---- pathological targets -------------------------------------------------- */

static int flat(size_t dim, const double *x, double *grad, double *lp,
                void *ctx)
{
    (void)x, (void)ctx;
    memset(grad, 0, dim * sizeof *grad);
    *lp = 0.0;
    return RELMC_OK;
}

/* Unbounded. */
static int improper(size_t dim, const double *x, double *grad, double *lp,
                    void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp += x[i];
        grad[i] = 1.0;
    }
    return RELMC_OK;
}

/* No density where x_0 < 0; the gradient leads there. */
static int half_space(size_t dim, const double *x, double *grad, double *lp,
                      void *ctx)
{
    (void)ctx;
    *lp = -x[0];
    memset(grad, 0, dim * sizeof *grad);
    grad[0] = -1.0;
    if (x[0] < 0.0) {
        *lp = -HUGE_VAL;
    }
    return RELMC_OK;
}

/* Steps of height 5, in all directions. */
static int stairs(size_t dim, const double *x, double *grad, double *lp,
                  void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= 5.0 * floor(fabs(x[i]));
        grad[i] = x[i] > 0 ? -5.0 : 5.0;
    }
    return RELMC_OK;
}

/* Neighbouring points have unrelated densities. */
static int noise(size_t dim, const double *x, double *grad, double *lp,
                 void *ctx)
{
    uint64_t bits = 0;

    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        memcpy(&bits, &x[i], sizeof bits);
        *lp -= (double)(bits * 0x9e3779b97f4a7c15u >> 40) * 1e-3;
        grad[i] = 0.0;
    }
    return RELMC_OK;
}

/* Only the start has a density. */
static int one_point(size_t dim, const double *x, double *grad, double *lp,
                     void *ctx)
{
    int is_start = 1;

    (void)ctx;
    for (size_t i = 0; i < dim; i++) {
        is_start &= x[i] == 0.0;
        grad[i] = is_start ? 1.0 : (double)NAN;
    }
    *lp = is_start ? 0.0 : (double)NAN;
    return RELMC_OK;
}

static int huge_gradient(size_t dim, const double *x, double *grad, double *lp,
                         void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= 1e300 * fabs(x[i]);
        grad[i] = x[i] > 0 ? -1e300 : 1e300;
    }
    return RELMC_OK;
}

/* Warm-up ends with a positive, finite step size, and the run ends. */
static void check_end(relmc_target *t, const char *name, const char *adapt,
                      const char *kinetic)
{
    static const double zeros[2 * 4] = {0};
    const int64_t warmup = IS_INSTRUMENTED ? 100 : 500;
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_run *run = NULL;
    relmc_error err = {0};

    o.adapt = adapt;
    o.sampler = strcmp(adapt, "auto") ? "hmc" : "auto";
    o.kinetic = kinetic;
    o.init = zeros;
    o.warmup = warmup;
    o.draws = 20;
    o.lanes = 2;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    if (relmc_run_advance(run, INT64_MAX, &err)) {
        print_error("%s, %s: %s\n", name, adapt, err.message);
        fail();
    }
    for (size_t c = 0; c < 4; c++) {
        relmc_progress r = {.size = sizeof r};

        assert_int_equal(relmc_run_progress(run, (uint32_t)c, &r, NULL),
                         RELMC_OK);
        assert_int_equal(r.done, warmup + 20);
        if (!(r.step_size > 0.0 && isfinite(r.step_size))) {
            print_error("%s, %s: step size %g\n", name, adapt, r.step_size);
            fail();
        }
    }
    relmc_run_destroy(run);
}

static void test_dual__ends_on_any_target(void **unused)
{
    static const struct {
        const char *name;
        callback_point *fn;
    } targets[] = {
        {"flat", flat},
        {"improper", improper},
        {"half space", half_space},
        {"stairs", stairs},
        {"noise", noise},
        {"one point", one_point},
        {"huge gradient", huge_gradient},
    };
    static const char *const adapts[] = {"dual", "stan", "auto"};
    const relmc_info *kinetic;

    (void)unused;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        relmc_target *t = NULL;

        assert_int_equal(target_of_point(&t, 2, targets[i].fn, NULL, NULL),
                         RELMC_OK);
        for (size_t a = 0; a < sizeof adapts / sizeof *adapts; a++) {
            for (size_t k = 0; (kinetic = rmc_component_info("kinetic", k));
                 k++) {
                check_end(t, targets[i].name, adapts[a], kinetic->name);
            }
        }
        relmc_target_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dual__follows_the_formulas),
        cmocka_unit_test(test_dual__reaches_the_acceptance_asked_for),
        cmocka_unit_test(test_dual__forgets_the_first_guess),
        cmocka_unit_test(test_dual__leaves_the_step_size_without_warmup),
        cmocka_unit_test(test_dual__ends_on_any_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
