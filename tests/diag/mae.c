/*
 * mae.c - histogram errors: exact probabilities of bins, the error of independent draws,
 * and that wrong draws have larger errors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diag/compare/binomial.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "support/check.h"
#include "unit/ks.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_BINS = 401 };

static const char *const names[] = {"gmm1", "gmm2", "gmm3", "banana"};

static relmc_target *open_target(const char *spec)
{
    relmc_target *t = NULL;

    assert_int_equal(relmc_target_open(&t, spec, NULL, NULL), RELMC_OK);
    return t;
}

/* Exact draws, n x dim; the caller frees them. */
static double *draw(const relmc_target *t, uint64_t seed, size_t n)
{
    double *x = calloc(n * relmc_target_dim(t), sizeof *x);

    assert_non_null(x);
    assert_int_equal(relmc_target_sample(t, seed, n, x, NULL), RELMC_OK);
    return x;
}

static relmc_mae_report mae_of(const relmc_target *t, size_t n, const double *x)
{
    relmc_mae_report out = RELMC_INIT(relmc_mae_report);

    assert_int_equal(relmc_mae(&out, t, n, x, NULL), RELMC_OK);
    return out;
}

/* ---- the probabilities ----------------------------------------------------- */

/* The last column of a golden file, rows whose first column is `only` (all of
 * them if it is negative). */
static size_t read_last(const char *file_name, int only, double *out)
{
    char path[1024], row[256];

    (void)snprintf(path, sizeof path, "%s/compare/%s", RELMC_GOLDEN_DIR,
                   file_name);
    FILE *file = fopen(path, "r");
    size_t n = 0;

    assert_non_null(file);
    assert_non_null(fgets(row, sizeof row, file)); /* names */
    while (fgets(row, sizeof row, file)) {
        if (only < 0 || strtol(row, NULL, 10) == only) {
            assert_true(n < MAX_BINS);
            out[n++] = strtod(strrchr(row, ',') + 1, NULL);
        }
    }
    (void)fclose(file);
    return n;
}

static void check_bins(const char *spec, const char *file_name, int only,
                       double tolerance)
{
    relmc_target *t = open_target(spec);
    double p[MAX_BINS], golden[MAX_BINS], sum = 0.0;
    size_t n_bins = 0;

    assert_int_equal(relmc_mae_bins(p, &n_bins, t, NULL), RELMC_OK);
    assert_int_equal(read_last(file_name, only, golden), n_bins - 1);
    for (size_t k = 0; k + 1 < n_bins; k++) {
        /* relative, down to where the quadrature of the golden file ends */
        check_near(p[k], golden[k], 1e-12 * golden[k] + tolerance);
        sum += golden[k];
    }
    check_near(p[n_bins - 1], 1.0 - sum, 1e-15);
    relmc_target_destroy(t);
}

static void test_bins__equal_the_published_ones(void **state)
{
    (void)state;
    check_bins("gmm1", "bins_gmm.csv", 1, 0.0);
    check_bins("gmm2", "bins_gmm.csv", 2, 0.0);
    check_bins("gmm3", "bins_gmm.csv", 3, 0.0);
    check_bins("banana", "bins_banana_20x20.csv", -1, 1e-17);
}

/* The tiny probability of the outside keeps its digits: 2 Phi(-7) / 3 and a little
 * more. */
static void test_bins__rest_keeps_its_digits(void **state)
{
    relmc_target *t = open_target("gmm1");
    double p[MAX_BINS];
    size_t n_bins = 0;

    (void)state;
    assert_int_equal(relmc_mae_bins(p, &n_bins, t, NULL), RELMC_OK);
    assert_int_equal(n_bins, 49);
    check_close(p[48],
                (erfc(7.0 / sqrt(2.0)) + erfc(12.0 / sqrt(2.0)) +
                 erfc(17.0 / sqrt(2.0))) /
                    3.0,
                1e-13);
    relmc_target_destroy(t);
}

/* ---- the error ------------------------------------------------------------- */

/* One draw in a known bin: TV = 1 - p_k. */
static void test_mae__of_one_draw(void **state)
{
    static const double x[][2] = {
        {-40.0, -110.0}, {0.1, 9.0}, {39.9, 13.9}, {41.0, 0.0}, {0.0, -1e300}};
    static const size_t bin[] = {0, 219, 399, 400, 400};
    relmc_target *t = open_target("banana");
    double p[MAX_BINS];
    size_t n_bins = 0;

    (void)state;
    assert_int_equal(relmc_mae_bins(p, &n_bins, t, NULL), RELMC_OK);
    for (size_t i = 0; i < sizeof bin / sizeof *bin; i++) {
        const relmc_mae_report r = mae_of(t, 1, x[i]);

        assert_int_equal(r.n_bins, 401);
        assert_int_equal(r.n_outside, bin[i] == 400);
        check_close(r.tv, 1.0 - p[bin[i]], 1e-13);
        check_close(r.mae, 2.0 * r.tv / 401.0, 1e-14);
    }
    relmc_target_destroy(t);
}

/* [binomial]  sums to one with the right mean, and de Moivre's formula is the
 * mean deviation. */
static void test_floor__is_the_mean_deviation(void **state)
{
    static const double p[] = {1e-12, 1e-3, 0.02, 0.3, 0.5, 0.97};
    static const double sizes[] = {1, 2, 7, 100, 3000};

    (void)state;
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            const double n = sizes[j], v = floor(n * p[i]) + 1.0;
            double all = 0.0, mean = 0.0, deviation = 0.0;

            for (double k = 0.0; k <= n; k += 1.0) {
                const double f = rmc_binomial(k, n, p[i]);

                all += f;
                mean += k * f;
                deviation += fabs(k - n * p[i]) * f;
            }
            check_close(all, 1.0, 1e-12);
            check_close(mean, n * p[i], 1e-12);
            check_close(2.0 * v * (1.0 - p[i]) * rmc_binomial(v, n, p[i]),
                        deviation, 1e-11);
        }
    }
}

/* Independent draws have the floor as their mean error.  A normal approximation would
 * fail for bins that expect less than one draw. */
static void test_floor__is_the_mean_error_of_exact_draws(void **state)
{
    enum { REPEATS = 200, N = 1000 };

    (void)state;
    for (size_t m = 0; m < 4; m++) {
        relmc_target *t = open_target(names[m]);
        double *x = draw(t, 71 + m, (size_t)REPEATS * N);
        double mean = 0.0, square = 0.0, floor_of = 0.0;

        for (size_t i = 0; i < REPEATS; i++) {
            const relmc_mae_report r =
                mae_of(t, N, x + i * N * relmc_target_dim(t));

            floor_of = r.mae_floor;
            check_close(r.tv_floor, r.mae_floor * (double)r.n_bins / 2, 1e-14);
            mean += r.mae / REPEATS;
            square += r.mae * r.mae / REPEATS;
        }
        const double se = sqrt((square - mean * mean) / REPEATS);

        check_zscore(mean, floor_of, se, 4.0);
        assert_true(se < 0.02 * mean);
        free(x);
        relmc_target_destroy(t);
    }
}

/* A mixture with one component too light, and a banana too flat. */
static void test_mae__sees_wrong_draws(void **state)
{
    enum { N = 20000 };
    static const char *const wrong[][2] = {
        {"gmm1", "mixture:mean=[-5,0,5],weight=[1,1,0.8]"},
        {"gmm2", "mixture:mean=[-5,0,5],variance=[2,0.8,2]"},
        {"gmm3", "gmm2"},
        {"banana", "banana:bend=0.09"}};

    (void)state;
    for (size_t m = 0; m < 4; m++) {
        relmc_target *t = open_target(wrong[m][0]);
        relmc_target *w = open_target(wrong[m][1]);
        double *good = draw(t, 5, N), *bad = draw(w, 5, N);
        const relmc_mae_report a = mae_of(t, N, good), b = mae_of(t, N, bad);

        assert_true(a.mae < 1.4 * a.mae_floor);
        assert_true(b.mae > 1.8 * b.mae_floor);
        free(good);
        free(bad);
        relmc_target_destroy(t);
        relmc_target_destroy(w);
    }
}

/* ---- the uniform variant --------------------------------------------------- */

static double uniform_cdf(double x, double parameter)
{
    (void)parameter;
    return x;
}

/* [rosenblatt]  Exact draws become uniform, in every coordinate and in equal cells;
 * draws of another distribution do not. */
static void test_rosenblatt__makes_draws_uniform(void **state)
{
    enum { N = 20000 };

    (void)state;
    for (size_t m = 0; m < 4; m++) {
        relmc_target *t = open_target(names[m]);
        const size_t dim = relmc_target_dim(t);
        double *u = draw(t, 31, N), *one = calloc(N, sizeof *one);
        relmc_mae_report r = RELMC_INIT(relmc_mae_report);

        assert_non_null(one);
        assert_int_equal(relmc_rosenblatt(u, t, N, u, NULL), RELMC_OK);
        for (size_t k = 0; k < dim; k++) {
            for (size_t i = 0; i < N; i++) {
                one[i] = u[i * dim + k];
            }
            assert_true(ks_one(N, one, 1, uniform_cdf, 0.0) < KS_LIMIT);
        }
        assert_int_equal(relmc_mae_uniform(&r, dim, N, u, 20, NULL), RELMC_OK);
        assert_int_equal(r.n_bins, dim == 1 ? 20 : 400);
        assert_true(r.mae < 1.5 * r.mae_floor);
        for (size_t i = 0; i < N * dim; i++) {
            u[i] = pow(u[i], 1.2);
        }
        assert_int_equal(relmc_mae_uniform(&r, dim, N, u, 20, NULL), RELMC_OK);
        assert_true(r.mae > 2.0 * r.mae_floor);
        free(u);
        free(one);
        relmc_target_destroy(t);
    }
}

/* The middle, the symmetry, and the two factors of the banana. */
static void test_rosenblatt__at_known_points(void **state)
{
    relmc_target *gmm = open_target("gmm3"), *banana = open_target("banana");
    const double x[3] = {0.0, 1.3, -1.3}, y[2] = {10.0, 1.0};
    double u[3], v[2];

    (void)state;
    assert_int_equal(relmc_rosenblatt(u, gmm, 3, x, NULL), RELMC_OK);
    check_close(u[0], 0.5, 1e-15);
    check_close(u[1] + u[2], 1.0, 1e-15);
    assert_int_equal(relmc_rosenblatt(v, banana, 1, y, NULL), RELMC_OK);
    check_close(v[0], 0.84134474606854294859, 1e-15);
    check_close(v[1], 0.84134474606854294859, 1e-15);
    relmc_target_destroy(gmm);
    relmc_target_destroy(banana);
}

/* Cells of the cube: the ends belong to the first and the last. */
static void test_uniform__counts_cells(void **state)
{
    static const double u[] = {0.0, 0.0, 1.0, 1.0, 0.49, 0.51, 0.51, 0.49};
    relmc_mae_report r = RELMC_INIT(relmc_mae_report);

    (void)state;
    assert_int_equal(relmc_mae_uniform(&r, 2, 4, u, 2, NULL), RELMC_OK);
    check_near(r.mae, 0.0, 1e-15);
    assert_int_equal(relmc_mae_uniform(&r, 1, 8, u, 2, NULL), RELMC_OK);
    check_near(r.mae, 0.0, 1e-15);
    assert_int_equal(relmc_mae_uniform(&r, 1, 7, u, 2, NULL), RELMC_OK);
    check_close(r.mae, 0.5 / 7.0, 1e-13);
    assert_int_equal(r.n_outside, 0);
}

/* ---- what is refused ------------------------------------------------------- */

static void test_mae__refuses_with_a_clear_line(void **state)
{
    static const double x[4] = {0.0, 0.0, 0.0, (double)NAN};
    static const char *const others[] = {"gaussian:dim=2", "banana:bend=0.2",
                                         "mixture"};
    relmc_target *banana = open_target("banana");
    relmc_error err;
    relmc_mae_report r = RELMC_INIT(relmc_mae_report);
    size_t n_bins;
    double u[4];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        relmc_target *t = open_target(others[i]);

        assert_int_equal(relmc_mae(&r, t, 1, x, &err), RELMC_EUNSUPP);
        assert_non_null(strstr(err.message, "gmm1, gmm2, gmm3 and banana"));
        assert_int_equal(relmc_mae_bins(NULL, &n_bins, t, NULL), RELMC_EUNSUPP);
        assert_int_equal(relmc_rosenblatt(u, t, 1, x, NULL), RELMC_EUNSUPP);
        relmc_target_destroy(t);
    }
    assert_int_equal(relmc_mae(&r, banana, 0, x, &err), RELMC_EINVAL);
    assert_int_equal(relmc_mae(&r, banana, 2, x, &err), RELMC_EINVAL);
    assert_string_equal(err.message, "mae: draw 1 is NaN");
    assert_int_equal(relmc_mae_uniform(&r, 2, 2, x, 5, &err), RELMC_EINVAL);
    assert_int_equal(relmc_mae_uniform(&r, 2, 1, x, 0, &err), RELMC_EINVAL);
    assert_int_equal(relmc_mae_uniform(&r, 2, 1, x, 5000, &err), RELMC_EINVAL);
    assert_int_equal(relmc_mae_uniform(&r, 1, 1, x, SIZE_MAX, &err),
                     RELMC_EINVAL);
    relmc_target_destroy(banana);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bins__equal_the_published_ones),
        cmocka_unit_test(test_bins__rest_keeps_its_digits),
        cmocka_unit_test(test_mae__of_one_draw),
        cmocka_unit_test(test_floor__is_the_mean_deviation),
        cmocka_unit_test(test_floor__is_the_mean_error_of_exact_draws),
        cmocka_unit_test(test_mae__sees_wrong_draws),
        cmocka_unit_test(test_rosenblatt__makes_draws_uniform),
        cmocka_unit_test(test_rosenblatt__at_known_points),
        cmocka_unit_test(test_uniform__counts_cells),
        cmocka_unit_test(test_mae__refuses_with_a_clear_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
