/*
 * model_formulas.c - densities and moments of models are those of their formulas, and
 * their names and the messages for bad specs are the documented ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "component/registry.h"
#include "relmc_diag.h"
#include "support/check.h"
#include "support/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIM = 128, SPEC_BYTES = 128 };

static double lp_at(const relmc_target *target, const double *x)
{
    double lp, grad[MAX_DIM];

    assert_true(relmc_target_dim(target) <= MAX_DIM);
    assert_int_equal(relmc_target_eval(target, 1, x, &lp, grad, NULL),
                     RELMC_OK);
    return lp;
}

/* ---- the densities as their formulas give them --------------------------- */

static double sum_of_squares(const double *x, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sum;
}

static double lp_gaussian(const double *x)
{
    return -0.5 * sum_of_squares(x, 2);
}

/* precision of the inverse of [2 1; 1 3] */
static double lp_covariance(const double *x)
{
    return -0.5 * (3 * x[0] * x[0] - 2 * x[0] * x[1] + 2 * x[1] * x[1]) / 5;
}

static double lp_chain(const double *x)
{
    const double y[3] = {x[0] / 2, x[1] / 2, x[2] / 2}, rho = 0.6;
    const double a = y[1] - rho * y[0], b = y[2] - rho * y[1];

    return -0.5 * (y[0] * y[0] + (a * a + b * b) / (1 - rho * rho));
}

static double lp_banana(const double *x)
{
    const double r = x[1] + 0.1 * x[0] * x[0] - 10;

    return -0.5 * (0.01 * x[0] * x[0] + r * r);
}

static double lp_gmm(double x, double s2)
{
    const double pi = 3.14159265358979323846;
    const double a = exp(-0.5 * (x + 5) * (x + 5) * s2) * sqrt(s2);
    const double b = exp(-0.5 * x * x / s2) / sqrt(s2);
    const double c = exp(-0.5 * (x - 5) * (x - 5) * s2) * sqrt(s2);

    return log((a + b + c) / (3 * sqrt(2 * pi)));
}

static double lp_gmm1(const double *x)
{
    return lp_gmm(x[0], 1.0);
}

static double lp_gmm2(const double *x)
{
    return lp_gmm(x[0], 0.5);
}

static double lp_gmm3(const double *x)
{
    return lp_gmm(x[0], 0.3);
}

static double lp_funnel(const double *x)
{
    return -x[0] * x[0] / 18 - 4.5 * x[0] -
           0.5 * exp(-x[0]) * sum_of_squares(x + 1, 9);
}

static double lp_rosenbrock(const double *x)
{
    return -pow(x[0] - 1, 2) / 20 - 5 * pow(x[1] - x[0] * x[0], 2);
}

static double lp_hybrid(const double *x)
{
    return lp_rosenbrock(x) -
           5 * (pow(x[2] - x[1] * x[1], 2) + pow(x[3] - x[0] * x[0], 2) +
                pow(x[4] - x[3] * x[3], 2));
}

static double lp_student(const double *x)
{
    return -3 * (log(1 + x[0] * x[0] / 5) + log(1 + x[1] * x[1] / 5));
}

static double lp_joint(const double *x)
{
    return -0.5 * (2 + 4) * log(1 + sum_of_squares(x, 4) / 2);
}

static double lp_quartic(const double *x)
{
    return -pow(x[0], 4) - pow(x[1], 4);
}

static double lp_power(const double *x)
{
    return -pow(x[0], 8) - pow(x[1], 8) - pow(x[2], 8);
}

static double lp_ratio(const double *x)
{
    return -0.5 * (pow(x[0] / 0.1, 2) + x[1] * x[1] + pow(x[2] / 10, 2));
}

static double lp_two_hills(const double *x)
{
    return log(exp(-0.5 * pow(x[0] - 3, 2)) + exp(-0.5 * pow(x[0] + 3, 2))) -
           log(2 * sqrt(2 * acos(-1.0))) - 0.5 * x[1] * x[1];
}

/* y and sigma of the eight schools */
static const double school[2][8] = {{28, 8, -3, 7, -1, 1, 18, 12},
                                    {15, 10, 16, 11, 9, 11, 10, 18}};

static double lp_schools_at(const double *x, const double *theta)
{
    double lp = -x[0] * x[0] / 50 - log(1 + exp(2 * x[1]) / 25) + x[1];

    for (size_t j = 0; j < 8; j++) {
        lp -= 0.5 * pow((theta[j] - school[0][j]) / school[1][j], 2);
    }
    return lp;
}

static double lp_schools(const double *x)
{
    double lp = lp_schools_at(x, x + 2);

    for (size_t j = 0; j < 8; j++) {
        lp -= 0.5 * pow((x[j + 2] - x[0]) / exp(x[1]), 2) + x[1];
    }
    return lp;
}

static double lp_not_centred(const double *x)
{
    double theta[8];

    for (size_t j = 0; j < 8; j++) {
        theta[j] = x[0] + exp(x[1]) * x[j + 2];
    }
    return lp_schools_at(x, theta) - 0.5 * sum_of_squares(x + 2, 8);
}

/* The stream of made-up data. */
static relmc_stream data_stream(uint64_t seed)
{
    return (relmc_stream){
        .seed = seed, .chain = UINT32_MAX, .purpose = RELMC_FOR_MODEL};
}

/* dim=3, n=40, sd=2, effect=0.5, seed=7 */
static double lp_logistic(const double *x)
{
    static const double unit[3] = {1, 1.0 / 3, 1};
    relmc_stream stream = data_stream(7);
    double truth[3], lp = -sum_of_squares(x, 3) / 8;

    for (size_t i = 0; i < 3; i++) {
        truth[i] = 0.5 * relmc_normal(&stream) / unit[i];
    }
    for (size_t r = 0; r < 40; r++) {
        const double common = relmc_normal(&stream);
        double z = 0.0, z_truth = 0.0;

        for (size_t i = 0; i < 3; i++) {
            const double own = relmc_normal(&stream);
            const double a = i ? unit[i] * (0.6 * common + 0.8 * own) : 1.0;

            z += a * x[i];
            z_truth += a * truth[i];
        }
        const int is_one = relmc_uniform(&stream) < 1 / (1 + exp(-z_truth));
        lp += log(1 / (1 + exp(is_one ? -z : z)));
    }
    return lp;
}

/* log N(x; mean, variance) without log(2 pi)/2 */
static double log_normal(double x, double mean, double variance)
{
    return -0.5 * ((x - mean) * (x - mean) / variance + log(variance));
}

/* n=5, seed=3; up to a constant, which is that of mu ~ N(0, 25) */
static double lp_volatility(const double *x)
{
    relmc_stream stream = data_stream(3);
    const double mu = x[0], phi = tanh(x[1]), sigma2 = exp(2 * x[2]);
    const double *h = x + 3;
    double lp = log_normal(mu, 0, 25) + 0.5 * log(25) +
                log_normal(x[1], 1.5, 1) + log(1 - phi * phi) +
                log_normal(x[2], -1.5, 1);
    double hidden = 0.2 / sqrt(1 - 0.95 * 0.95) * relmc_normal(&stream);

    for (size_t t = 0; t < 5; t++) {
        const double y = exp(0.5 * (hidden - 1)) * relmc_normal(&stream);

        lp += log_normal(y, 0, exp(h[t]));
        lp += t == 0 ? log_normal(h[0], mu, sigma2 / (1 - phi * phi))
                     : log_normal(h[t], mu + phi * (h[t - 1] - mu), sigma2);
        hidden = 0.95 * hidden + 0.2 * relmc_normal(&stream);
    }
    return lp;
}

static void test_model__densities_are_the_printed_ones(void **state)
{
    static const struct {
        const char *spec;
        double (*lp)(const double *x);
    } printed[] = {
        {"gaussian", lp_gaussian},
        {"gaussian:cov=[2,1,1,3]", lp_covariance},
        {"gaussian:dim=3,sd=2,rho=0.6", lp_chain},
        {"banana", lp_banana},
        {"gmm1", lp_gmm1},
        {"gmm2", lp_gmm2},
        {"gmm3", lp_gmm3},
        {"funnel", lp_funnel},
        {"rosenbrock", lp_rosenbrock},
        {"rosenbrock:dim=5,block=2", lp_hybrid},
        {"student", lp_student},
        {"student:nu=2,dim=4,joint=1", lp_joint},
        {"quartic", lp_quartic},
        {"quartic:dim=3,power=8", lp_power},
        {"gaussian:dim=3,ratio=100", lp_ratio},
        {"mixture:dim=2", lp_two_hills},
        {"schools", lp_schools},
        {"schools:centred=0", lp_not_centred},
        {"logistic:n=40,sd=2,effect=0.5,seed=7", lp_logistic},
        {"volatility:n=5,seed=3", lp_volatility},
    };

    (void)state;
    for (size_t j = 0; j < sizeof printed / sizeof *printed; j++) {
        relmc_target *target = target_of(printed[j].spec);
        relmc_stream stream = {.seed = 14};
        double x[MAX_DIM];

        for (int n = 0; n < 50; n++) {
            for (size_t i = 0; i < relmc_target_dim(target); i++) {
                x[i] = 2.0 * relmc_normal(&stream);
            }
            check_close(lp_at(target, x), printed[j].lp(x), 1e-12);
        }
        relmc_target_destroy(target);
    }
}

static void test_model__mixtures_are_normalised(void **state)
{
    static const char *const specs[] = {
        "gmm1", "gmm2", "gmm3", "mixture",
        "mixture:mean=[-4,0,1,7],variance=[1,0.5,2,4],weight=[1,2,3,0.5]"};

    (void)state;
    for (size_t j = 0; j < sizeof specs / sizeof *specs; j++) {
        relmc_target *target = target_of(specs[j]);
        const double h = 0.01;
        double sum = 0.0;

        for (double x = -40.0; x < 40.0; x += h) {
            sum += h * exp(lp_at(target, &x));
        }
        check_near(sum, 1.0, 1e-12);
        relmc_target_destroy(target);
    }
}

/* Far out one component dominates: lp and gradient are those of that component. */
static void test_model__mixture_is_right_in_the_tails(void **state)
{
    static const double at[] = {60, 1e3, 1e8, 1e150};
    relmc_target *target = target_of("gmm3");
    const double v = 1 / 0.3, pi = 3.14159265358979323846;

    (void)state;
    for (int j = 0; j < 8; j++) {
        const double x = j % 2 ? -at[j / 2] : at[j / 2];
        const double r = x - (x > 0.0 ? 5.0 : -5.0);
        double lp, grad;

        assert_int_equal(relmc_target_eval(target, 1, &x, &lp, &grad, NULL),
                         RELMC_OK);
        check_close(lp, -0.5 * r * r / v - log(3 * sqrt(2 * pi * v)), 1e-14);
        check_close(grad, -r / v, 1e-14);
    }
    relmc_target_destroy(target);
}

/* ---- moments in closed form ---------------------------------------------- */

static void check_moments(const char *spec, size_t i, double mean,
                          double variance)
{
    relmc_target *target = target_of(spec);
    double means[MAX_DIM], variances[MAX_DIM];

    assert_true(i < relmc_target_dim(target));
    assert_int_equal(relmc_target_moments(target, means, variances, NULL),
                     RELMC_OK);
    if (isnan(mean)) {
        assert_true(isnan(means[i]));
    } else {
        check_near(means[i], mean, 1e-14 * fabs(mean));
    }
    if (isnan(variance)) {
        assert_true(isnan(variances[i]));
    } else {
        check_close(variances[i], variance, 2e-15);
    }
    relmc_target_destroy(target);
}

static void test_model__moments_are_the_closed_forms(void **state)
{
    const double unknown = (double)NAN;
    char spec[SPEC_BYTES];

    (void)state;
    check_moments("gaussian:cov=[2,1,1,3],mean=[5,6]", 1, 6, 3);
    check_moments("gaussian:sd=[2,3],rho=0.5", 1, 0, 9);
    check_moments("gaussian:dim=3,ratio=16", 2, 0, 16);
    check_moments("mixture:dim=2", 0, 0, 10);
    check_moments("mixture:dim=2", 1, 0, 1);
    check_moments("banana", 1, 0, 201);
    check_moments("gmm1", 0, 0, 1 + 50.0 / 3);
    check_moments("gmm3", 0, 0, (2 / 0.3 + 0.3 + 50) / 3);
    check_moments("mixture:mean=[0,4],weight=[3,1]", 0, 1, 1 + 3);
    check_moments("funnel", 0, 0, 9);
    check_moments("funnel", 9, 0, exp(4.5));
    check_moments("rosenbrock", 0, 1, 10);
    check_moments("rosenbrock", 1, 11, 240.1);
    check_moments("rosenbrock:dim=7,block=2", 5, 11, 240.1);
    check_moments("rosenbrock:dim=5", 4, unknown, unknown);
    check_moments("student:nu=4", 1, 0, 2);
    check_moments("student:nu=2", 1, 0, unknown);
    check_moments("student:nu=1,joint=1", 1, unknown, unknown);
    for (int q = 2; q <= 64; q += 2) {
        (void)snprintf(spec, sizeof spec, "quartic:power=%d", q);
        check_moments(spec, 1, 0, tgamma(3.0 / q) / tgamma(1.0 / q));
    }
}

/* ---- names and specs ----------------------------------------------------- */

static void test_model__funnel_names_its_scale(void **state)
{
    const relmc_info *info;
    char name[16];

    (void)state;
    assert_int_equal(
        rmc_component_find(&info, "model", "funnel", RMC_BASELINE, NULL),
        RELMC_OK);
    const relmc_model_ops *ops = (const relmc_model_ops *)(const void *)info;
    ops->coordinate_name(NULL, 0, name, sizeof name);
    assert_string_equal(name, "v");
    ops->coordinate_name(NULL, 9, name, sizeof name);
    assert_string_equal(name, "x.9");
    ops->coordinate_name(NULL, 1000, name, 4);
    assert_string_equal(name, "x.1");
}

static void test_model__mixture_takes_64_components_and_no_more(void **state)
{
    char spec[512] = "mixture:mean=[0";
    relmc_target *target = NULL;
    relmc_error err = {0};

    (void)state;
    for (int n = 1; n < 64; n++) {
        (void)snprintf(spec + strlen(spec), 8, ",%d", n % 7);
    }
    relmc_target_destroy(target_of(strcat(spec, "]")));
    (void)snprintf(spec + strlen(spec) - 1, 8, ",9]");
    assert_int_equal(relmc_target_open(&target, spec, NULL, &err),
                     RELMC_EINVAL);
    assert_string_equal(err.message, "mixture: at most 64 components, got 65");
}

static void test_model__bad_specs_are_refused_in_one_line(void **state)
{
    static const struct {
        const char *spec, *message;
    } bad[] = {
        {"gaussian:cov=[1,2,3]", "gaussian: cov needs dim*dim values, got 3"},
        {"gaussian:dim=3,cov=[1,0,0,1]",
         "gaussian: cov needs dim*dim values, got 4"},
        {"gaussian:cov=[1,0,0,1],sd=2",
         "gaussian: give cov, or sd, ratio and rho, not both"},
        {"gaussian:cov=[1,0,0,1],rho=0.5",
         "gaussian: give cov, or sd, ratio and rho, not both"},
        {"gaussian:cov=[1,2,2,1]",
         "gaussian: cov is not positive definite: row 2"},
        {"gaussian:cov=[-1,0,0,1]",
         "gaussian: cov is not positive definite: row 1"},
        {"gaussian:cov=[1,0.5,0.4,1]",
         "gaussian: cov is not symmetric: row 2, column 1 is 0.4, and the "
         "other way 0.5"},
        {"gaussian:dim=3,sd=[1,2]", "gaussian: sd needs 1 or 3 values, got 2"},
        {"gaussian:sd=[1,2],mean=[1,2,3]",
         "gaussian: mean needs 1 or 2 values, got 3"},
        {"gaussian:rho=1", "gaussian: rho must be inside (-1, 1), not 1"},
        {"gaussian:rho=-1", "gaussian: rho must be inside (-1, 1), not -1"},
        {"mixture:mean=[1,2],weight=[1,2,3]",
         "mixture: mean needs 1 or 3 values, got 2"},
        {"rosenbrock:dim=3,block=3",
         "rosenbrock: block must be at most dim - 1 = 2, not 3"},
        {"quartic:power=3", "quartic: power must be even, not 3"},
        {"gaussian:dim=0", "gaussian: dim must be in [1, 1e+06], not 0"},
        {"funnel:sd=-1", "funnel: sd must be in [1e-06, 35], not -1"},
        {"student:nu=0", "student: nu must be in [0.5, 1e+06], not 0"},
        {"banana:sd=0", "banana: sd must be in [1e-50, 1e+50], not 0"},
    };

    (void)state;
    for (size_t j = 0; j < sizeof bad / sizeof *bad; j++) {
        relmc_target *target = NULL;
        relmc_error err = {0};

        assert_int_equal(relmc_target_open(&target, bad[j].spec, NULL, &err),
                         RELMC_EINVAL);
        assert_null(target);
        assert_string_equal(err.message, bad[j].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model__densities_are_the_printed_ones),
        cmocka_unit_test(test_model__mixtures_are_normalised),
        cmocka_unit_test(test_model__mixture_is_right_in_the_tails),
        cmocka_unit_test(test_model__moments_are_the_closed_forms),
        cmocka_unit_test(test_model__funnel_names_its_scale),
        cmocka_unit_test(test_model__mixture_takes_64_components_and_no_more),
        cmocka_unit_test(test_model__bad_specs_are_refused_in_one_line),
    };

    return cmocka_run_group_tests_name("model_formulas", tests, NULL, NULL);
}
