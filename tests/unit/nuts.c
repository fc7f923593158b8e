/*
 * nuts.c - trajectories of nuts and walnuts last about half a period and end on every target,
 * draws keep the width of a ridge, and walnuts reaches the neck of a funnel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "relmc_diag.h"
#include "support/callback.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- how long trajectories are -------------------------------------------- */

struct lengths {
    double eps;
    double longest, sum; /* times */
    int64_t n, n_chains;
    double *x2, *d2; /* sums per chain of x_1^2 and (x_1 - x_2)^2 */
};

static relmc_status measure(void *ctx, const relmc_draw *d)
{
    struct lengths *l = ctx;
    const double time = l->eps * (int)d->stats[RELMC_STAT_N_STEPS];

    l->longest = fmax(l->longest, time);
    l->sum += time;
    l->n++;
    if (l->x2) {
        l->x2[d->chain] += d->outputs[0] * d->outputs[0];
        l->d2[d->chain] +=
            (d->outputs[0] - d->outputs[1]) * (d->outputs[0] - d->outputs[1]);
    }
    return RELMC_OK;
}

/* From exact draws, without warm-up. */
static void run_lengths(struct lengths *l, const char *model,
                        const char *sampler, const char *kinetic, double eps,
                        int64_t draws)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *t = NULL;
    relmc_run *run = NULL;

    assert_int_equal(relmc_target_open(&t, model, NULL, NULL), RELMC_OK);
    const size_t dim = relmc_target_dim(t), n = (size_t)l->n_chains;
    double *init = malloc(n * dim * sizeof *init);
    assert_non_null(init);
    assert_int_equal(relmc_target_sample(t, 5, n, init, NULL), RELMC_OK);
    o.sampler = sampler;
    o.kinetic = kinetic;
    o.adapt = "none";
    o.chains = (uint32_t)n;
    o.warmup = RELMC_ZERO;
    o.draws = draws;
    o.threads = 1;
    o.step_size = l->eps = eps;
    o.init = init;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_observe(run, measure, l, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    free(init);
}

/* A standard normal has the period 2 pi.  At no step size are trajectories a whole period
 * long (Stan issue 2800) or much too short. */
static void test_nuts__sees_every_turn_of_a_normal(void **unused)
{
    static const char *const models[] = {"gaussian:dim=2", "gaussian:dim=50"};
    const double period = 6.283185307179586;

    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        for (double eps = 0.06; eps < 1.2; eps *= 1.13) {
            struct lengths l = {.n_chains = 64};

            run_lengths(&l, models[i], "nuts", "newtonian", eps, 10);
            const double mean = l.sum / (double)l.n;

            if (!(l.longest < 1.25 * period) || !(mean > 0.3 * period) ||
                !(mean < period)) {
                fail_msg("%s, step %g: mean %g, longest %g periods", models[i],
                         eps, mean / period, l.longest / period);
            }
        }
    }
}

/* The standard deviation along and across a narrow ridge. */
static void test_nuts__keeps_the_width_of_a_ridge(void **unused)
{
    enum { N_CHAINS = 256, N_DRAWS = 200 };
    static const struct {
        const char *sampler, *kinetic;
        double eps;
    } cases[] = {
        {"nuts", "newtonian", 0.35},   {"nuts", "relativistic", 0.5},
        {"walnuts", "newtonian", 0.5}, {"walnuts", "separable", 0.8},
        {"ghmc", "newtonian", 0.3},    {"ghmc", "relativistic", 0.4},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x2[N_CHAINS] = {0}, d2[N_CHAINS] = {0};
        struct lengths l = {.n_chains = N_CHAINS, .x2 = x2, .d2 = d2};

        run_lengths(&l, "gaussian:dim=2,rho=0.95", cases[i].sampler,
                    cases[i].kinetic, cases[i].eps, N_DRAWS);
        for (int which = 0; which < 2; which++) {
            const double *sums = which ? d2 : x2;
            double mean = 0.0, variance = 0.0;

            for (size_t k = 0; k < N_CHAINS; k++) {
                mean += sums[k] / N_DRAWS / N_CHAINS;
            }
            for (size_t k = 0; k < N_CHAINS; k++) {
                const double d = sums[k] / N_DRAWS - mean;
                variance += d * d / (N_CHAINS - 1);
            }
            check_zscore(mean, which ? 0.1 : 1.0, sqrt(variance / N_CHAINS),
                         4.5);
        }
    }
}

/* ---- where scales differ -------------------------------------------------- */

struct neck {
    int64_t n, n_deep;
};

static relmc_status look_down(void *ctx, const relmc_draw *d)
{
    struct neck *neck = ctx;
    const double q05 = -1.6448536269514722 * 3.0; /* v ~ N(0, 9) */

    if (d->index >= 0) {
        neck->n++;
        neck->n_deep += d->outputs[0] < q05;
    }
    return RELMC_OK;
}

/* The percentage of draws below the 5 % quantile of v in a funnel, from random starts. */
static double percent_in_the_neck(const char *sampler)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *t = NULL;
    relmc_run *run = NULL;
    struct neck neck = {0};

    assert_int_equal(relmc_target_open(&t, "funnel:dim=10", NULL, NULL),
                     RELMC_OK);
    o.sampler = sampler;
    o.kinetic = "newtonian";
    o.adapt = "dual";
    o.chains = 64;
    o.warmup = 300;
    o.draws = 1000;
    o.threads = 1;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_observe(run, look_down, &neck, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    return 100.0 * (double)neck.n_deep / (double)neck.n;
}

static void test_walnuts__visits_the_neck_of_a_funnel(void **unused)
{
    (void)unused;
    check_near(percent_in_the_neck("walnuts"), 5.0, 1.5);
    check_near(percent_in_the_neck("nuts"), 0.0, 2.5);
}

/* ---- every transition ends ------------------------------------------------- */

enum odd { FLAT, SLOPE, HALF_SPACE, NAN_OUTSIDE, STEEP, N_ODD };

static int odd_point(size_t dim, const double *x, double *grad, double *lp,
                     void *ctx)
{
    const enum odd odd = *(const enum odd *)ctx;

    memset(grad, 0, dim * sizeof *grad);
    *lp = 0.0;
    switch (odd) {
    case SLOPE:
        *lp = x[0], grad[0] = 1.0;
        break;
    case HALF_SPACE:
        *lp = x[0] > 0.0 ? -x[0] : -HUGE_VAL, grad[0] = -1.0;
        break;
    case NAN_OUTSIDE:
        *lp = fabs(x[0]) < 1.0 ? 0.0 : (double)NAN;
        grad[0] = *lp;
        break;
    case STEEP:
        *lp = -exp(fabs(x[0])), grad[0] = x[0] > 0.0 ? *lp : -*lp;
        break;
    default:
        break;
    }
    return RELMC_OK;
}

static void test_samplers__end_on_every_target(void **unused)
{
    static const char *const samplers[] = {"nuts", "walnuts", "ghmc"};
    static const char *const kinetics[] = {"newtonian", "relativistic"};

    (void)unused;
    for (int n = 0; n < N_ODD * 3 * 2; n++) {
        enum odd odd = (enum odd)(n % N_ODD);
        relmc_options o = RELMC_INIT(relmc_options);
        o.threads = 1;
        relmc_target *t = NULL;
        relmc_run *run = NULL;
        const double init[] = {0.5, 0.5, 0.1, 0.1};

        assert_int_equal(target_of_point(&t, 2, odd_point, &odd, NULL),
                         RELMC_OK);
        o.sampler = samplers[n / N_ODD % 3];
        o.kinetic = kinetics[n / N_ODD / 3];
        o.adapt = "dual";
        o.chains = 2;
        o.warmup = 40;
        o.draws = 20;
        o.init = init;
        assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        relmc_run_destroy(run);
        relmc_target_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nuts__sees_every_turn_of_a_normal),
        cmocka_unit_test(test_nuts__keeps_the_width_of_a_ridge),
        cmocka_unit_test(test_walnuts__visits_the_neck_of_a_funnel),
        cmocka_unit_test(test_samplers__end_on_every_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
