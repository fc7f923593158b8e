/*
 * hmc_moments.c - long chains have the exact moments of their target at small and large
 * step sizes, and trajectories have the length and speed of the options.  Standard errors
 * come from the effective sample sizes of relmc_summarise.
 *
 *   hmc_moments        the fast part
 *   hmc_moments full   ten times as many draws
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "relmc_diag.h"
#include "support/check.h"
#include "support/kept.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIM = 10, CHAINS = 16 };

static const double max_z = 4.5;
static int64_t factor = 1;

/* ---- moments of a run ------------------------------------------------------ */

struct sample {
    relmc_target *target;
    relmc_run *run;
    size_t dim, n_draws;
    const double *x[CHAINS];
};

static void sample_open(struct sample *s, const char *model, relmc_options *o)
{
    relmc_error err = {0};
    relmc_status status;

    *s = (struct sample){0};
    o->chains = CHAINS;
    o->seed = o->seed ? o->seed : 99;
    o->draws *= factor;
    if ((status = relmc_target_open(&s->target, model, NULL, &err)) ||
        (status = relmc_run_create(&s->run, s->target, o, &err)) ||
        (status = relmc_run_advance(s->run, INT64_MAX, &err))) {
        print_error("%s\n", err.message);
        fail();
    }
    s->dim = relmc_target_dim(s->target);
    for (size_t k = 0; k < CHAINS; k++) {
        s->x[k] = kept_outputs(s->run, k, &s->n_draws);
        assert_non_null(s->x[k]);
    }
}

static void sample_close(struct sample *s)
{
    relmc_run_destroy(s->run);
    relmc_target_destroy(s->target);
}

/* The mean of f over the draws should be `truth`. */
typedef double (*statistic)(const double *x, size_t i, const double *mean);

static double value(const double *x, size_t i, const double *mean)
{
    (void)mean;
    return x[i];
}

static double square(const double *x, size_t i, const double *mean)
{
    return (x[i] - mean[i]) * (x[i] - mean[i]);
}

/* with the next coordinate */
static double product(const double *x, size_t i, const double *mean)
{
    return (x[i] - mean[i]) * (x[i + 1] - mean[i + 1]);
}

static void check_mean(const struct sample *s, statistic f, size_t i,
                       const double *mean, double truth, const char *what)
{
    double *values = malloc(CHAINS * s->n_draws * sizeof *values);
    relmc_summary summary = RELMC_INIT(relmc_summary);

    assert_non_null(values);
    for (size_t k = 0; k < CHAINS; k++) {
        for (size_t t = 0; t < s->n_draws; t++) {
            values[k * s->n_draws + t] = f(s->x[k] + t * s->dim, i, mean);
        }
    }
    const relmc_series series = {values, CHAINS, s->n_draws, 1, s->n_draws};
    assert_int_equal(relmc_summarise(&summary, &series, NULL), RELMC_OK);
    const double z = (summary.mean - truth) / summary.mcse_mean;

    if (!(fabs(z) < max_z) || !(summary.rhat < 1.05)) {
        print_error("%s, coordinate %zu: %.6g, should be %.6g +- %.2g, z = "
                    "%.2f, R-hat %.3f\n%s\n",
                    what, i, summary.mean, truth, summary.mcse_mean, z,
                    summary.rhat, relmc_run_manifest_json(s->run));
        fail();
    }
    free(values);
}

static void check_moments(const struct sample *s)
{
    double mean[MAX_DIM], variance[MAX_DIM];

    assert_int_equal(relmc_target_moments(s->target, mean, variance, NULL),
                     RELMC_OK);
    for (size_t i = 0; i < s->dim; i++) {
        check_mean(s, value, i, mean, mean[i], "mean");
        check_mean(s, square, i, mean, variance[i], "variance");
    }
}

/* ---- fixed steps ---------------------------------------------------------- */

static const char *const kinetics[] = {
    "newtonian",
    "relativistic:c=1.5,m=0.7",
    "separable:c=2,m=1.4",
};

/* A missing half kick, for example, changes the variance at all but tiny step sizes. */
static void test_hmc__variance_of_a_normal_at_any_step_size(void **unused)
{
    static const double steps[] = {0.3, 0.5, 0.7, 0.9, 1.2};

    (void)unused;
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            relmc_options o = RELMC_INIT(relmc_options);
            o.threads = 1;
            struct sample s;

            o.sampler = "hmc:steps=4,jitter=0";
            o.kinetic = kinetics[k];
            o.adapt = "none";
            o.step_size = steps[i];
            o.warmup = 100;
            o.draws = 4000;
            sample_open(&s, "gaussian:dim=1", &o);
            check_moments(&s);
            sample_close(&s);
        }
    }
}

/* A wrong power in the density of the radius of joint relativistic momenta would show in
 * the variances of the target. */
static void test_hmc__variances_in_some_dimensions(void **unused)
{
    static const char *const models[] = {
        "gaussian:dim=3,sd=[1,2,0.5]",
        "gaussian:dim=5",
        "gaussian:dim=10,mean=3",
    };

    (void)unused;
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
            relmc_options o = RELMC_INIT(relmc_options);
            o.threads = 1;
            struct sample s;

            o.kinetic = kinetics[k];
            o.adapt = "dual:delta=0.7";
            o.draws = 2000;
            sample_open(&s, models[i], &o);
            check_moments(&s);
            sample_close(&s);
        }
    }
}

static void test_hmc__covariance_of_a_correlated_normal(void **unused)
{
    static const double metric[] = {2.0, 0.9, 0.9, 1.0};

    (void)unused;
    for (size_t k = 0; k < 3; k++) {
        for (int is_dense = 0; is_dense <= 1; is_dense++) {
            relmc_options o = RELMC_INIT(relmc_options);
            o.threads = 1;
            const double zero[2] = {0};
            struct sample s;

            o.kinetic = kinetics[k];
            o.sampler = is_dense ? "ghmc:steps=6" : "hmc:steps=8";
            o.inv_metric_dense = is_dense ? metric : NULL;
            o.draws = 3000;
            sample_open(&s, "gaussian:cov=[1,0.9,0.9,2]", &o);
            check_moments(&s);
            check_mean(&s, product, 0, zero, 0.9, "covariance");
            sample_close(&s);
        }
    }
}

/* ---- other targets -------------------------------------------------------- */

static void test_hmc__moments_of_known_targets(void **unused)
{
    static const struct {
        const char *model, *sampler;
        double step_size;
        int64_t draws;
    } cases[] = {
        {"gmm1", "hmc:steps=20", 0.5, 3000},
        {"gmm2", "hmc:steps=20", 0.8, 3000},
        {"gmm3", "hmc:steps=20", 0.4, 3000},
        {"student:dim=2,nu=5", "hmc:steps=20", 0.5, 4000},
        {"student:dim=2,nu=8,joint=1", "hmc:time=4", 0.4, 4000},
        {"quartic:dim=3", "ghmc:steps=6,record=1,time=4", 0.3, 3000},
        /* steps that are stable as far out as 3 sd */
        {"banana", "hmc:steps=150,jitter=0.9", 0.12, 4000},
    };

    (void)unused;
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            relmc_options o = RELMC_INIT(relmc_options);
            o.threads = 1;
            struct sample s;

            o.sampler = cases[i].sampler;
            o.kinetic = kinetics[k];
            o.adapt = "none";
            o.step_size = cases[i].step_size;
            o.draws = cases[i].draws;
            sample_open(&s, cases[i].model, &o);
            check_moments(&s);
            sample_close(&s);
        }
    }
}

/* ---- lengths -------------------------------------------------------------- */

struct tally {
    double n, sum, square, least, most; /* of one number per draw */
    int is_speed;
};

static relmc_status add_up(void *ctx, const relmc_draw *d)
{
    struct tally *t = ctx;
    const double y = t->is_speed ? d->stats[RELMC_STAT_SPEED]
                                 : (int)d->stats[RELMC_STAT_N_STEPS];

    t->n += 1.0;
    t->sum += y;
    t->square += y * y;
    t->least = fmin(t->least, y);
    t->most = fmax(t->most, y);
    return RELMC_OK;
}

static void tally(struct tally *t, const char *model, const relmc_options *o)
{
    const int is_speed = t->is_speed;
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};
    relmc_status status;

    *t = (struct tally){.least = HUGE_VAL, .is_speed = is_speed};
    if ((status = relmc_target_open(&target, model, NULL, &err)) ||
        (status = relmc_run_create(&run, target, o, &err)) ||
        (status = relmc_run_observe(run, add_up, t, &err)) ||
        (status = relmc_run_advance(run, INT64_MAX, &err))) {
        print_error("%s\n", err.message);
        fail();
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

static void test_hmc__trajectories_are_as_long_as_asked(void **unused)
{
    static const struct {
        const char *sampler;
        double step_size;
        double least, most; /* all lengths between them occur */
    } cases[] = {
        {"hmc:steps=7,jitter=0", 0.1, 7, 7},
        {"hmc:steps=1,jitter=0", 0.1, 1, 1},
        {"hmc:steps=10,jitter=0.5", 0.1, 5, 15},
        {"hmc:steps=3,jitter=1", 0.1, 1, 6},
        {"hmc:time=2,jitter=0", 0.25, 8, 8},
        {"hmc:time=2,jitter=0", 0.3, 7, 7},
        {"hmc:time=1,jitter=0.2,steps=99", 0.1, 8, 12},
        {"hmc:time=0.01,jitter=0", 1, 1, 1},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double middle = (cases[i].least + cases[i].most) / 2.0;
        relmc_options o = RELMC_INIT(relmc_options);
        o.threads = 1;
        struct tally t = {0};

        o.sampler = cases[i].sampler;
        o.adapt = "none";
        o.step_size = cases[i].step_size;
        o.warmup = RELMC_ZERO;
        o.draws = 1000;
        tally(&t, "gaussian:dim=2", &o);
        assert_true(t.least == cases[i].least);
        assert_true(t.most == cases[i].most);
        if (cases[i].least > 1) { /* else rounding up to 1 changes the mean */
            const double mean = t.sum / t.n;
            const double sd = sqrt(t.square / t.n - mean * mean);

            check_near(mean, middle, 1e-12 + max_z * sd / sqrt(t.n));
        }
    }
}

/* ---- speeds --------------------------------------------------------------- */

/* The mean speed is the cruising speed. */
static void check_speed(const char *kinetic, size_t dim, const char *sampler,
                        double truth)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    struct tally t = {.is_speed = 1};
    char model[32];

    (void)snprintf(model, sizeof model, "gaussian:dim=%zu", dim);
    o.kinetic = kinetic;
    o.sampler = sampler;
    o.adapt = "none";
    o.step_size = 0.2;
    o.warmup = RELMC_ZERO;
    o.draws = 5000;
    tally(&t, model, &o);
    const double mean = t.sum / t.n;
    const double sd = sqrt(t.square / t.n - mean * mean);

    if (!(fabs(mean - truth) < max_z * sd / sqrt(t.n))) {
        print_error("%s, dim %zu: mean speed %.5f +- %.2g, cruise %.5f\n",
                    kinetic, dim, mean, sd / sqrt(t.n), truth);
        fail();
    }
    assert_true(t.least >= 0.0);
    assert_true(!strncmp(kinetic, "newtonian", 9) || t.most < 1.0);
}

static void test_hmc__mean_speed_is_the_cruising_speed(void **unused)
{
    static const size_t dims[] = {1, 2, 3, 10};
    const char *sampler = "hmc:steps=2";

    (void)unused;
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        const size_t d = dims[i];

        /* E|v_i| = sqrt(2 / (pi m)) */
        check_speed("newtonian:m=2", d, sampler, sqrt(1.0 / acos(-1.0)));
        check_speed("relativistic:m=0.5,c=2", d, sampler,
                    relmc_cruise_speed(d, 0.5 * 2 * 2));
        check_speed("relativistic:cruise=0.6", d, sampler, 0.6);
        check_speed("separable:m=0.5,c=2", d, sampler,
                    relmc_cruise_speed(1, 0.5 * 2 * 2));
        check_speed("separable:cruise=0.9,c=3", d, sampler, 0.9);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hmc__variance_of_a_normal_at_any_step_size),
        cmocka_unit_test(test_hmc__variances_in_some_dimensions),
        cmocka_unit_test(test_hmc__covariance_of_a_correlated_normal),
        cmocka_unit_test(test_hmc__moments_of_known_targets),
        cmocka_unit_test(test_hmc__trajectories_are_as_long_as_asked),
        cmocka_unit_test(test_hmc__mean_speed_is_the_cruising_speed),
    };

    factor = argc > 1 && !strcmp(argv[1], "full") ? 10 : 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
