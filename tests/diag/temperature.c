/*
 * temperature.c - [virial] gives the temperature of draws for which it is known: exact
 * draws of models, and normal draws that are too hot or too cold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc_diag.h"
#include "relmc_ext.h"
#include "support/callback.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 4, N = 4000 };

static relmc_target *open_target(const char *spec)
{
    relmc_target *t = NULL;

    assert_int_equal(relmc_target_open(&t, spec, NULL, NULL), RELMC_OK);
    return t;
}

static relmc_temperature_report heat_of(const relmc_target *t, const double *x,
                                        const double *center)
{
    relmc_temperature_report out = RELMC_INIT(relmc_temperature_report);

    assert_int_equal(relmc_temperature(&out, t, N, CHAINS, x, center, NULL),
                     RELMC_OK);
    return out;
}

/* For these models (x - a) . grad U has a variance and so a standard error. */
static void test_temperature__is_1_for_exact_draws(void **unused)
{
    static const char *const specs[] = {"gaussian:dim=3,rho=0.7,mean=5",
                                        "quartic:dim=4",
                                        "banana",
                                        "gmm1",
                                        "student:dim=2,nu=9",
                                        "funnel:dim=2",
                                        "schools:centred=0"};

    (void)unused;
    for (size_t j = 0; j < sizeof specs / sizeof *specs; j++) {
        relmc_target *t = open_target(specs[j]);
        double *x = calloc(N * relmc_target_dim(t), sizeof *x);

        assert_non_null(x);
        assert_int_equal(relmc_target_sample(t, 7 + j, N, x, NULL), RELMC_OK);
        const relmc_temperature_report heat = heat_of(t, x, NULL);
        assert_true(heat.standard_error < 0.2);
        check_zscore(heat.temperature, 1.0, heat.standard_error, 4.5);
        free(x);
        relmc_target_destroy(t);
    }
}

/* Chains of normals with variance T around `mean`, x' = rho x + noise. */
static double *new_normals(size_t dim, double T, double mean, double rho)
{
    relmc_stream stream = {.seed = 11};
    double *x = calloc(N * dim, sizeof *x);

    assert_non_null(x);
    for (size_t j = 0; j < N * dim; j++) {
        const double z = relmc_normal(&stream);

        x[j] = j % (N / CHAINS * dim) < dim
                   ? z
                   : rho * x[j - dim] + sqrt(1.0 - rho * rho) * z;
    }
    for (size_t j = 0; j < N * dim; j++) {
        x[j] = mean + sqrt(T) * x[j];
    }
    return x;
}

static void test_temperature__is_that_of_the_draws(void **unused)
{
    static const double temperatures[] = {0.5, 1.2, 3.0};
    static const double center[2] = {5.0, 5.0};
    relmc_target *t = open_target("gaussian:dim=2,mean=5");

    (void)unused;
    for (size_t j = 0; j < 3; j++) {
        const double T = temperatures[j];
        double *x = new_normals(2, T, 5.0, 0.0);
        const relmc_temperature_report own = heat_of(t, x, NULL);
        const relmc_temperature_report given = heat_of(t, x, center);

        check_zscore(own.temperature, T, own.standard_error, 4.5);
        check_zscore(given.temperature, T, given.standard_error, 4.5);
        /* a mean of chi-squared numbers */
        check_close(given.standard_error, T / sqrt(N), 0.1);
        free(x);
    }
    relmc_target_destroy(t);
}

/* Squares of AR(1) draws have the autocorrelations rho^2k. */
static void test_temperature__knows_what_chains_remember(void **unused)
{
    const double rho = 0.9, tau = (1.0 + rho * rho) / (1.0 - rho * rho);
    relmc_target *t = open_target("gaussian:dim=1");
    double *x = new_normals(1, 1.0, 0.0, rho);
    const double center = 0.0;
    const relmc_temperature_report heat = heat_of(t, x, &center);

    (void)unused;
    check_zscore(heat.temperature, 1.0, heat.standard_error, 4.5);
    check_close(heat.standard_error, sqrt(2.0 * tau / N), 0.25);
    free(x);
    relmc_target_destroy(t);
}

/* Centred at the mean of the draws, the estimate is too low. */
static void test_temperature__needs_a_center_of_its_own(void **unused)
{
    static const double x[2] = {-1.0, 3.0}, center = 0.0;
    relmc_target *t = open_target("gaussian:dim=1");
    relmc_temperature_report out = RELMC_INIT(relmc_temperature_report);

    (void)unused;
    assert_int_equal(relmc_temperature(&out, t, 2, 1, x, NULL, NULL), RELMC_OK);
    check_close(out.temperature, 4.0, 1e-15); /* ((-2)(-1) + 2 * 3) / 2 */
    assert_int_equal(relmc_temperature(&out, t, 2, 1, x, &center, NULL),
                     RELMC_OK);
    check_close(out.temperature, 5.0, 1e-15);
    relmc_target_destroy(t);
}

static int half_line(size_t dim, const double *x, double *grad, double *lp,
                     void *ctx)
{
    (void)dim, (void)ctx;
    *lp = -x[0];
    grad[0] = -1.0;
    return x[0] < 0.0 ? RELMC_REJECT : RELMC_OK;
}

/* lp = -inf rejects the point; the gradient is not used. */
static int half_line_lanes(size_t dim, size_t lanes, size_t ld, const double *x,
                           double *grad, double *lp, void *ctx)
{
    (void)dim, (void)ld, (void)ctx;
    for (size_t k = 0; k < lanes; k++) {
        lp[k] = x[k] < 0.0 ? -HUGE_VAL : -x[k];
        grad[k] = x[k] < 0.0 ? (double)NAN : -1.0;
    }
    return RELMC_OK;
}

static void test_temperature__heeds_lanes_without_density(void **unused)
{
    static const double x[4] = {1.0, 2.0, -3.0, 4.0};
    relmc_temperature_report out = {sizeof out, 7.0, 8.0};
    relmc_target *t = NULL;
    relmc_error err = {0};

    (void)unused;
    assert_int_equal(target_of_lanes(&t, 1, half_line_lanes, NULL, NULL),
                     RELMC_OK);
    assert_int_equal(relmc_temperature(&out, t, 4, 1, x, NULL, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "no density at draw 2"));
    assert_true(out.temperature == 7.0 && out.standard_error == 8.0);
    relmc_target_destroy(t);
}

static void test_temperature__says_what_is_wrong(void **unused)
{
    static const double x[4] = {1.0, 2.0, -3.0, 4.0};
    relmc_temperature_report out = {sizeof out, 7.0, 8.0};
    relmc_target *t = NULL;
    relmc_error err = {0};

    (void)unused;
    assert_int_equal(target_of_point(&t, 1, half_line, NULL, NULL), RELMC_OK);
    assert_int_equal(relmc_temperature(&out, t, 4, 3, x, NULL, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "multiple of n_chains, not 4 with 3"));
    assert_int_equal(relmc_temperature(&out, t, 4, 0, x, NULL, &err),
                     RELMC_EINVAL);
    assert_int_equal(relmc_temperature(&out, t, 4, 1, NULL, NULL, &err),
                     RELMC_EINVAL);
    assert_int_equal(relmc_temperature(&out, t, 4, 1, x, NULL, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "no density at draw 2"));
    assert_true(out.temperature == 7.0 && out.standard_error == 8.0);
    relmc_target_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_temperature__is_1_for_exact_draws),
        cmocka_unit_test(test_temperature__is_that_of_the_draws),
        cmocka_unit_test(test_temperature__knows_what_chains_remember),
        cmocka_unit_test(test_temperature__needs_a_center_of_its_own),
        cmocka_unit_test(test_temperature__heeds_lanes_without_density),
        cmocka_unit_test(test_temperature__says_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
