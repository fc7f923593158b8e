/*
 * known_truth.c - comparisons of draws with known moments, and of ranks with the uniform
 * distribution: reference values, false alarms and power.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "compare_golden.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>

static const double unknown = (double)NAN;

/* ---- known values ---------------------------------------------------------- */

enum { CHAINS = 4, DRAWS = 1000 };

/* Autoregressive chains with the given moments and correlation 0.7. */
static relmc_series new_chains(double *x, double mean, double sd, uint32_t seed)
{
    relmc_stream stream = {seed, 0, 0, RELMC_FOR_MODEL};
    double z = relmc_normal(&stream);

    for (size_t t = 0; t < (size_t)CHAINS * DRAWS; t++) {
        z = 0.7 * z + sqrt(1.0 - 0.49) * relmc_normal(&stream);
        x[t] = mean + sd * z;
    }
    return (relmc_series){x, CHAINS, DRAWS, 1, DRAWS};
}

static void test_zscore__is_standard_for_right_chains(void **state)
{
    static double x[CHAINS * DRAWS];
    static const double level[] = {0.05, 0.5, 0.9};
    double quantile[] = {-1.6448536269514722, 0.0, 1.2815515655446004};
    const relmc_known known = {0.0, 1.0, 0.0, 0.0, 3, level, quantile, NULL};
    double square[5] = {0.0};

    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        const relmc_series s = new_chains(x, 0.0, 1.0, i);
        relmc_zscores z = RELMC_INIT(relmc_zscores);
        double q[3], worst = 0.0;

        assert_int_equal(relmc_zscore(&z, q, &s, &known, NULL), RELMC_OK);
        const double all[5] = {z.mean, z.sd, q[0], q[1], q[2]};
        for (size_t k = 0; k < 5; k++) {
            square[k] += all[k] * all[k] / 200.0;
            worst = fmax(worst, fabs(all[k]));
        }
        check_close(z.worst, worst, 1e-15);
    }
    for (size_t k = 0; k < 5; k++) { /* mean 1, standard error 0.1 */
        check_near(square[k], 1.0, 0.4);
    }
}

static void test_zscore__sees_wrong_chains(void **state)
{
    static double x[CHAINS * DRAWS];
    const relmc_known known = {.mean = 0.0, .sd = 1.0};
    relmc_zscores z = RELMC_INIT(relmc_zscores);
    relmc_series s = new_chains(x, 0.3, 1.0, 1);

    (void)state;
    assert_int_equal(relmc_zscore(&z, NULL, &s, &known, NULL), RELMC_OK);
    assert_true(z.mean > 5.0 && z.worst >= z.mean);
    s = new_chains(x, 0.0, 0.8, 1);
    assert_int_equal(relmc_zscore(&z, NULL, &s, &known, NULL), RELMC_OK);
    assert_true(z.sd < -5.0 && z.worst >= -z.sd);
    for (size_t t = 0; t < (size_t)CHAINS * DRAWS; t++) {
        x[t] = 0.5; /* constant: the mean has no standard error */
    }
    assert_int_equal(relmc_zscore(&z, NULL, &s, &known, NULL), RELMC_OK);
    assert_true(isinf(z.worst));
}

/* Computed from the summary; NaN if the truth is not given. */
static void test_zscore__is_its_formula(void **state)
{
    static double x[CHAINS * DRAWS];
    const relmc_series s = new_chains(x, 1.0, 2.0, 9);
    const relmc_known known = {.mean = 0.5, .sd = unknown, .mean_error = 0.25};
    relmc_summary summary = RELMC_INIT(relmc_summary);
    relmc_zscores z = RELMC_INIT(relmc_zscores);

    (void)state;
    assert_int_equal(relmc_summarise(&summary, &s, NULL), RELMC_OK);
    assert_int_equal(relmc_zscore(&z, NULL, &s, &known, NULL), RELMC_OK);
    check_close(z.mean, (summary.mean - 0.5) / hypot(summary.mcse_mean, 0.25),
                1e-14);
    assert_true(isnan(z.sd));
    check_close(z.worst, fabs(z.mean), 1e-15);
}

/* Draws with two values: quantiles have no error and are left out. */
static void test_zscore__of_few_values(void **state)
{
    static double x[CHAINS * DRAWS];
    static const double level[] = {0.25};
    const relmc_series s = new_chains(x, 0.0, 1.0, 4);
    double quantile[] = {0.0}, q;
    const relmc_known known = {.mean = unknown,
                               .sd = unknown,
                               .n_quantiles = 1,
                               .level = level,
                               .quantile = quantile};
    relmc_zscores z = RELMC_INIT(relmc_zscores);

    (void)state;
    for (size_t t = 0; t < (size_t)CHAINS * DRAWS; t++) {
        x[t] = x[t] > 0.0;
    }
    assert_int_equal(relmc_zscore(&z, &q, &s, &known, NULL), RELMC_OK);
    check_near(q, 0.0, 0.0);
    check_near(z.worst, 0.0, 0.0);
    quantile[0] = 0.5;
    assert_int_equal(relmc_zscore(&z, &q, &s, &known, NULL), RELMC_OK);
    assert_true(isinf(z.worst));
}

static void test_known__comes_from_reference_draws(void **state)
{
    static double x[CHAINS * DRAWS], y[CHAINS * DRAWS];
    static const double level[] = {0.1, 0.9};
    const relmc_series s = new_chains(x, 3.0, 2.0, 21);
    const relmc_series reference = new_chains(y, 3.0, 2.0, 22);
    double quantile[2], error[2], q[2];
    relmc_known known = {.n_quantiles = 2,
                         .level = level,
                         .quantile = quantile,
                         .quantile_error = error};
    relmc_summary summary = RELMC_INIT(relmc_summary);
    relmc_quantile expected[2];
    relmc_zscores z = RELMC_INIT(relmc_zscores);

    (void)state;
    assert_int_equal(relmc_known_from(&known, &reference, NULL), RELMC_OK);
    assert_int_equal(relmc_summarise(&summary, &reference, NULL), RELMC_OK);
    assert_int_equal(relmc_quantiles(expected, &reference, 2, level, NULL),
                     RELMC_OK);
    check_close(known.mean, summary.mean, 0.0);
    check_close(known.mean_error, summary.mcse_mean, 0.0);
    check_close(known.sd, summary.sd, 0.0);
    check_close(known.sd_error, summary.mcse_sd, 0.0);
    for (size_t i = 0; i < 2; i++) {
        check_close(quantile[i], expected[i].value, 0.0);
        check_close(error[i], expected[i].mcse, 0.0);
    }
    assert_int_equal(relmc_zscore(&z, q, &s, &known, NULL), RELMC_OK);
    assert_true(z.worst < 4.0);
    check_near(q[0], 0.0, 4.0);
    known.level = NULL;
    assert_int_equal(relmc_zscore(&z, q, &s, &known, NULL), RELMC_EINVAL);
}

/* ---- uniform numbers ------------------------------------------------------- */

/* "key": {..., "member": NUMBER, ...} */
static double golden_member(const char *key, const char *member)
{
    return strtod(after_key(after_key(golden_text(), key), member), NULL);
}

/* gamma jumps where the upper and the lower bound move, both at once.  In the golden file
 * rounding may move one of them first; its coverage is then a little lower. */
static void test_band__equals_reference_values(void **state)
{
    static const struct {
        size_t n, n_points;
        double alpha, slack; /* of the coverage */
        const char *name;
    } cases[] = {{50, 50, 0.05, 0.0, "N50_K50_alpha0.05"},
                 {50, 50, 0.001, 2e-5, "N50_K50_alpha0.001"},
                 {100, 100, 0.05, 0.0, "N100_K100_alpha0.05"},
                 {100, 100, 0.001, 0.0, "N100_K100_alpha0.001"},
                 {250, 100, 0.05, 6e-4, "N250_K100_alpha0.05"},
                 {250, 100, 0.001, 0.0, "N250_K100_alpha0.001"},
                 {1000, 100, 0.05, 4e-5, "N1000_K100_alpha0.05"},
                 {1000, 100, 0.001, 2e-6, "N1000_K100_alpha0.001"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* "name": { "gamma_lo": G, "coverage_at_gamma": C } */
        const double gamma = golden_member(cases[i].name, "gamma_lo");
        const double coverage =
            golden_member(cases[i].name, "coverage_at_gamma");
        relmc_ecdf_band b = RELMC_INIT(relmc_ecdf_band);

        assert_int_equal(relmc_ecdf_band_find(&b, NULL, NULL, cases[i].n,
                                              cases[i].n_points, cases[i].alpha,
                                              NULL),
                         RELMC_OK);
        check_close(b.gamma, gamma, 1e-10);
        check_near(b.coverage, coverage + 0.5 * cases[i].slack,
                   0.5 * cases[i].slack + 1e-12);
        assert_true(b.coverage >= 1.0 - cases[i].alpha);
    }
}

/* Bounds and p-values equal counts over all 5^4 ways to put 4 numbers in 5 equal
 * cells. */
static void test_band__covers_what_it_says(void **state)
{
    enum { N = 4, POINTS = 5, WAYS = 625 };
    static const double alpha[] = {0.001, 0.02, 0.05, 0.2, 0.5};
    double p[WAYS];

    (void)state;
    for (size_t a = 0; a < sizeof alpha / sizeof *alpha; a++) {
        size_t lower[POINTS], upper[POINTS], n_inside = 0, n_rejected = 0;
        relmc_ecdf_band band = RELMC_INIT(relmc_ecdf_band);

        assert_int_equal(relmc_ecdf_band_find(&band, lower, upper, N, POINTS,
                                              alpha[a], NULL),
                         RELMC_OK);
        for (size_t way = 0; way < WAYS; way++) {
            double u[N];
            size_t cell[N], is_inside = 1;

            for (size_t i = 0, w = way; i < N; i++, w /= POINTS) {
                cell[i] = w % POINTS;
                u[i] = (double)(cell[i] + 1) / POINTS;
            }
            for (size_t k = 0; k < POINTS; k++) {
                size_t count = 0;

                for (size_t i = 0; i < N; i++) {
                    count += cell[i] <= k;
                }
                is_inside &= lower[k] <= count && count <= upper[k];
            }
            n_inside += is_inside;
            assert_int_equal(relmc_ecdf_test(&p[way], N, u, POINTS, NULL),
                             RELMC_OK);
            n_rejected += p[way] <= alpha[a];
            /* outside the band is p <= alpha */
            assert_int_equal(is_inside, p[way] > alpha[a]);
        }
        check_close(band.coverage, (double)n_inside / WAYS, 1e-12);
        assert_true((double)n_rejected <= alpha[a] * WAYS);
    }
    for (size_t way = 0; way < WAYS;
         way++) { /* [ecdf-band] P(p <= own) = own */
        size_t n_smaller = 0;

        for (size_t other = 0; other < WAYS; other++) {
            n_smaller += p[other] <= p[way] + 1e-9;
        }
        check_near(p[way], (double)n_smaller / WAYS, 1e-12);
    }
}

/* In floating point 100 x 0.07 > 7, yet 0.07 must count as the point 7 / 100. */
static void test_band__counts_ranks_exactly(void **state)
{
    double p[4];

    (void)state;
    for (size_t i = 1; i < 100; i++) {
        const double at = (double)i / 100.0, above = nextafter(at, 1.0);
        const double pairs[2][2] = {{at, at - 1e-9}, {above, at + 1e-9}};

        for (size_t k = 0; k < 4; k++) {
            const double u = pairs[k / 2][k % 2], all[4] = {u, u, u, u};

            assert_int_equal(relmc_ecdf_test(&p[k], 4, all, 100, NULL),
                             RELMC_OK);
        }
        check_close(p[0], p[1], 0.0);
        check_close(p[2], p[3], 0.0);
    }
}

/* A small simulation-based calibration: ranks of the truth among L draws of a posterior
 * that is right, too narrow, or shifted. */
static double calibrate(double shift, double sd)
{
    enum { SIMULATIONS = 400, L = 99 };
    relmc_stream stream = {17, 0, 0, RELMC_FOR_MODEL};
    static double u[SIMULATIONS];
    double p;

    for (size_t i = 0; i < SIMULATIONS; i++) {
        const double truth = relmc_normal(&stream);
        size_t rank = 0;

        for (size_t l = 0; l < L; l++) {
            rank += shift + sd * relmc_normal(&stream) < truth;
        }
        u[i] = (double)(rank + 1) / (L + 1);
    }
    assert_int_equal(relmc_ecdf_test(&p, SIMULATIONS, u, L + 1, NULL),
                     RELMC_OK);
    return p;
}

static void test_band__separates_calibrated_from_not(void **state)
{
    (void)state;
    assert_true(calibrate(0.0, 1.0) > 0.01);
    assert_true(calibrate(0.3, 1.0) < 1e-4);
    assert_true(calibrate(0.0, 0.7) < 1e-4);
}

static void test_band__refuses_with_a_clear_line(void **state)
{
    static const double u[] = {0.5, 1.5};
    relmc_ecdf_band b = RELMC_INIT(relmc_ecdf_band);
    relmc_error err;
    double p;

    (void)state;
    assert_int_equal(relmc_ecdf_band_find(&b, NULL, NULL, 10, 10, 0.0, &err),
                     RELMC_EINVAL);
    assert_int_equal(relmc_ecdf_band_find(&b, NULL, NULL, 0, 10, 0.1, &err),
                     RELMC_EINVAL);
    assert_int_equal(
        relmc_ecdf_band_find(&b, NULL, NULL, SIZE_MAX, SIZE_MAX, 0.1, &err),
        RELMC_EINVAL);
    assert_int_equal(relmc_ecdf_test(&p, 2, u, 10, &err), RELMC_EINVAL);
    assert_string_equal(err.message,
                        "ecdf: u must be in [0, 1], number 1 is 1.5");
    assert_int_equal(relmc_ecdf_test(&p, 1, u, 1, &err), RELMC_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zscore__is_standard_for_right_chains),
        cmocka_unit_test(test_zscore__sees_wrong_chains),
        cmocka_unit_test(test_zscore__is_its_formula),
        cmocka_unit_test(test_zscore__of_few_values),
        cmocka_unit_test(test_known__comes_from_reference_draws),
        cmocka_unit_test(test_band__equals_reference_values),
        cmocka_unit_test(test_band__covers_what_it_says),
        cmocka_unit_test(test_band__counts_ranks_exactly),
        cmocka_unit_test(test_band__separates_calibrated_from_not),
        cmocka_unit_test(test_band__refuses_with_a_clear_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
