/*
 * stein_kernel.c - kernel Stein discrepancies equal reference values and a plain double
 * loop, and have the invariances and bounds of their definition.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diag/stein/kernel_pairs.h"
#include "relmc_diag.h"
#include "stein_files.h"
#include "support/check.h"

static relmc_ksd_options options_of(double c2, double beta)
{
    return (relmc_ksd_options){
        .size = sizeof(relmc_ksd_options), .c2 = c2, .beta = beta};
}

static relmc_ksd_report ksd_of(const stein_data *d, const relmc_ksd_options *o)
{
    const relmc_stein_sample sample = stein_sample_of(d);
    relmc_ksd_report out = RELMC_INIT(relmc_ksd_report);

    assert_int_equal(relmc_ksd(&out, &sample, o, NULL), RELMC_OK);
    return out;
}

/* ---- values ---------------------------------------------------------------- */

static void test_ksd__equals_reference_values(void **state)
{
    FILE *file = stein_open("ksd_imq_values.csv");
    char line[512], name[64];
    int n_lines = 0;

    (void)state;
    assert_non_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) {
        double v[4];
        char *at = strchr(line, ',');

        (void)snprintf(name, sizeof name, "%.*s", (int)(at - line), line);
        for (int k = 0; k < 4; k++) {
            v[k] = strtod(at + 1, &at);
        }
        stein_data d = stein_read(name);
        const relmc_ksd_options o = options_of(v[0], v[1]);
        const relmc_ksd_report r = ksd_of(&d, &o);

        check_close(r.v, v[2], 1e-12);
        check_near(r.u, v[3], 1e-12 * v[2]);
        check_close(r.ksd, sqrt(v[2]), 1e-12);
        stein_free(&d);
        n_lines++;
    }
    (void)fclose(file);
    assert_int_equal(n_lines, 33);
}

/* [ksd] by its formula, with pow of the C library. */
static double plain_k0(const stein_data *d, size_t i, size_t j, double c2,
                       double beta)
{
    double r = 0.0, p = 0.0, t = 0.0;

    for (size_t k = 0; k < d->dim; k++) {
        const size_t a = i * d->dim + k, b = j * d->dim + k;

        r += (d->x[a] - d->x[b]) * (d->x[a] - d->x[b]);
        p += d->score[a] * d->score[b];
        t += (d->score[a] - d->score[b]) * (d->x[a] - d->x[b]);
    }
    const double b = c2 + r;

    return p * pow(b, -beta) +
           2.0 * beta * pow(b, -beta - 1.0) *
               ((double)d->dim + t - 2.0 * (beta + 1.0) * r / b);
}

static double plain_v(const stein_data *d, double c2, double beta)
{
    double sum = 0.0;

    for (size_t i = 0; i < d->n; i++) {
        for (size_t j = 0; j < d->n; j++) {
            sum += d->weight[i] * d->weight[j] * plain_k0(d, i, j, c2, beta);
        }
    }
    return sum;
}

/* Every code path: dimensions 1 to 4 and the general one, two kinds of kernel,
 * sizes around a tile, weights that differ. */
static void test_ksd__equals_plain_loop(void **state)
{
    static const size_t sizes[] = {1, 2, 255, 256, 257, 600};

    (void)state;
    for (size_t dim = 1; dim <= 9; dim++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            stein_data d = stein_gauss(sizes[s], dim, 0.3, 7 + dim);
            double sum = 0.0;

            for (size_t i = 0; i < d.n; i++) {
                d.weight[i] = 1.0 + (double)(i % 5);
                sum += d.weight[i];
            }
            for (size_t i = 0; i < d.n; i++) {
                d.weight[i] /= sum;
            }
            for (int k = 0; k < 2; k++) {
                const double beta = k ? 0.7 : 0.5;
                const relmc_ksd_options o = options_of(1.3, beta);

                check_close(ksd_of(&d, &o).v, plain_v(&d, 1.3, beta), 1e-11);
            }
            stein_free(&d);
        }
    }
}

/* One draw: v = |s|^2 c2^-beta + 2 beta d c2^(-beta-1), and no pairs. */
static void test_ksd__of_one_draw(void **state)
{
    stein_data d = stein_gauss(1, 2, 1.0, 3);
    const relmc_ksd_options o = options_of(4.0, 0.5);
    const relmc_ksd_report r = ksd_of(&d, &o);
    const double s2 = d.score[0] * d.score[0] + d.score[1] * d.score[1];

    (void)state;
    check_close(r.v, s2 / 2.0 + 2.0 / 8.0, 1e-14);
    assert_true(isnan(r.u));
    stein_free(&d);
}

/* ---- laws ------------------------------------------------------------------ */

static void test_ksd__repeats_are_weights(void **state)
{
    stein_data one = stein_gauss(50, 2, 0.0, 5);
    stein_data two = stein_new(100, 2);

    (void)state;
    for (size_t i = 0; i < 100; i++) {
        const size_t from = i < 50 ? i : i % 10;

        memcpy(two.x + 2 * i, one.x + 2 * from, 2 * sizeof(double));
        memcpy(two.score + 2 * i, one.score + 2 * from, 2 * sizeof(double));
    }
    for (size_t i = 0; i < 50; i++) {
        one.weight[i] = i < 10 ? 6.0 : 1.0; /* the scale has no effect */
    }
    check_close(ksd_of(&one, NULL).v, ksd_of(&two, NULL).v, 1e-12);
    stein_free(&one);
    stein_free(&two);
}

/* Whitening is a change of variables: y = L^-1 x has scores L' s. */
static void test_ksd__whitening_is_a_change_of_variables(void **state)
{
    static const double factor[9] = {2.0, 0.0, 0.0, -0.5, 0.5,
                                     0.0, 0.3, 0.1, 4.0};
    stein_data d = stein_gauss(300, 3, 0.2, 9), w = stein_new(300, 3);
    relmc_ksd_options o = options_of(1.0, 0.5);

    (void)state;
    for (size_t t = 0; t < d.n; t++) {
        double *y = w.x + 3 * t, *s = w.score + 3 * t;

        for (size_t i = 0; i < 3; i++) {
            y[i] = d.x[3 * t + i];
            for (size_t j = 0; j < i; j++) {
                y[i] -= factor[3 * i + j] * y[j];
            }
            y[i] /= factor[3 * i + i];
            for (size_t j = i; j < 3; j++) {
                s[i] += factor[3 * j + i] * d.score[3 * t + j];
            }
        }
    }
    const double plain = ksd_of(&d, &o).v;

    o.cholesky = factor;
    const double whitened = ksd_of(&d, &o).v;
    check_close(whitened, ksd_of(&w, NULL).v, 1e-12);
    assert_true(fabs(whitened - plain) >
                0.01 * plain); /* whitening has an effect */
    stein_free(&d);
    stein_free(&w);
}

static void assert_same_bits(const void *a, const void *b, size_t bytes)
{
    assert_memory_equal(a, b, bytes);
}

static void test_ksd__threads_change_no_bit(void **state)
{
    stein_data d = stein_gauss(5000, 2, 0.0, 11);
    const relmc_stein_sample sample = stein_sample_of(&d);
    relmc_ksd_options o = options_of(1.0, 0.5);
    relmc_ksd_report a[4] = {
        RELMC_INIT(relmc_ksd_report), RELMC_INIT(relmc_ksd_report),
        RELMC_INIT(relmc_ksd_report), RELMC_INIT(relmc_ksd_report)};
    relmc_ksd_bound b[4] = {
        RELMC_INIT(relmc_ksd_bound), RELMC_INIT(relmc_ksd_bound),
        RELMC_INIT(relmc_ksd_bound), RELMC_INIT(relmc_ksd_bound)};
    relmc_ksd_estimate c[4] = {
        RELMC_INIT(relmc_ksd_estimate), RELMC_INIT(relmc_ksd_estimate),
        RELMC_INIT(relmc_ksd_estimate), RELMC_INIT(relmc_ksd_estimate)};

    (void)state;
    o.landmarks = 300;
    o.block = 700;
    for (uint32_t k = 0; k < 4; k++) {
        o.threads = 2 * k + 1;
        assert_int_equal(relmc_ksd(&a[k], &sample, &o, NULL), RELMC_OK);
        assert_int_equal(relmc_ksd_nystrom(&b[k], &sample, &o, NULL), RELMC_OK);
        assert_int_equal(relmc_ksd_blocks(&c[k], &sample, &o, NULL), RELMC_OK);
        assert_same_bits(&a[0], &a[k], sizeof a[k]);
        assert_same_bits(&b[0], &b[k], sizeof b[k]);
        assert_same_bits(&c[0], &c[k], sizeof c[k]);
    }
    stein_free(&d);
}

static void test_pairs__code_paths_give_the_same_bits(void **state)
{
    (void)state;
    for (size_t dim = 1; dim <= 6; dim++) {
        stein_data d = stein_gauss(300, dim, 0.0, 20 + dim);
        const rmc_points points = {300 / dim, dim, 300, d.x, d.score};

        for (int k = 0; k < 2; k++) {
            const rmc_pairs pairs = {
                &points, &points, d.weight, 0, 50, 1, 50, {1.5, k ? 0.3 : 0.5}};
            double fast[RMC_STEIN_TILE] = {0.0}, plain[RMC_STEIN_TILE] = {0.0};

            rmc_stein_pairs(&pairs, fast);
            rmc_stein_pairs_plain(&pairs, plain);
            assert_true(fast[0] != 0.0);
            assert_same_bits(fast, plain, sizeof fast);
        }
        stein_free(&d);
    }
}

/* Stein's identity: E k0 = 0 under the target only. */
static void test_blocks__see_a_wrong_mean_and_no_right_one(void **state)
{
    relmc_ksd_options o = options_of(1.0, 0.5);
    relmc_ksd_estimate right = RELMC_INIT(relmc_ksd_estimate);
    relmc_ksd_estimate wrong = RELMC_INIT(relmc_ksd_estimate);

    (void)state;
    o.block = 200;
    for (size_t dim = 1; dim <= 3; dim++) {
        stein_data a = stein_gauss(20000, dim, 0.0, 31 + dim);
        stein_data b = stein_gauss(20000, dim, 0.2, 31 + dim);
        relmc_stein_sample sample = stein_sample_of(&a);

        assert_int_equal(relmc_ksd_blocks(&right, &sample, &o, NULL), RELMC_OK);
        sample = stein_sample_of(&b);
        assert_int_equal(relmc_ksd_blocks(&wrong, &sample, &o, NULL), RELMC_OK);
        assert_int_equal(right.n_blocks, 100);
        check_zscore(right.u, 0.0, right.standard_error, 4.5);
        assert_true(wrong.u > 10.0 * wrong.standard_error);
        stein_free(&a);
        stein_free(&b);
    }
}

static void test_blocks__are_the_mean_of_their_u(void **state)
{
    stein_data d = stein_gauss(1001, 2, 0.1, 41);
    relmc_ksd_options o = options_of(1.0, 0.5);
    relmc_stein_sample sample = stein_sample_of(&d);
    relmc_ksd_estimate out = RELMC_INIT(relmc_ksd_estimate);
    double u[2];

    (void)state;
    o.block = 500;
    assert_int_equal(relmc_ksd_blocks(&out, &sample, &o, NULL), RELMC_OK);
    for (size_t b = 0; b < 2; b++) {
        const size_t first = b ? 501 : 0;
        const relmc_stein_sample part = {b ? 500 : 501, 2, d.x + 2 * first,
                                         d.score + 2 * first, NULL};
        relmc_ksd_report r = RELMC_INIT(relmc_ksd_report);

        assert_int_equal(relmc_ksd(&r, &part, &o, NULL), RELMC_OK);
        u[b] = r.u;
    }
    check_close(out.u, (501.0 * u[0] + 500.0 * u[1]) / 1001.0, 1e-10);
    check_close(out.standard_error, 0.5 * fabs(u[0] - u[1]), 1e-2);
    stein_free(&d);
}

/* [nystrom]  The bound rises with the number of landmarks and is v with all of them. */
static void test_nystrom__is_a_rising_lower_bound(void **state)
{
    static const uint32_t landmarks[] = {5, 20, 80, 400};
    stein_data d = stein_read("gmm3_n200");
    const relmc_stein_sample sample = stein_sample_of(&d);
    relmc_ksd_options o = options_of(1.0, 0.5);
    const double v = ksd_of(&d, &o).v;
    relmc_ksd_bound out = RELMC_INIT(relmc_ksd_bound);
    double last = 0.0;

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        o.landmarks = landmarks[k];
        assert_int_equal(relmc_ksd_nystrom(&out, &sample, &o, NULL), RELMC_OK);
        assert_true(out.v > last && out.v <= v * (1.0 + 1e-10));
        assert_true(out.n_landmarks <= landmarks[k]);
        check_close(out.ksd * out.ksd, out.v, 1e-14);
        last = out.v;
    }
    check_close(out.v, v, 1e-5);
    stein_free(&d);
}

/* ---- refusals -------------------------------------------------------------- */

static void check_refused(const relmc_stein_sample *sample,
                          const relmc_ksd_options *o, const char *words)
{
    relmc_ksd_report out = {sizeof out, -1.0, -1.0, -1.0};
    relmc_error err;

    assert_int_equal(relmc_ksd(&out, sample, o, &err), RELMC_EINVAL);
    if (!strstr(err.message, words)) {
        fail_msg("'%s' does not say '%s'", err.message, words);
    }
    assert_true(out.v == -1.0); /* untouched */
}

static void test_ksd__refuses_what_makes_no_sense(void **state)
{
    stein_data d = stein_gauss(10, 2, 0.0, 51);
    const relmc_stein_sample good = stein_sample_of(&d);
    relmc_stein_sample bad = good;
    relmc_ksd_options o = options_of(1.0, 1.0);
    relmc_ksd_estimate estimate = RELMC_INIT(relmc_ksd_estimate);

    (void)state;
    check_refused(&good, &o, "beta must be in (0, 1)");
    o = options_of(-1.0, 0.5);
    check_refused(&good, &o, "c2");
    o = options_of(1.0, 0.5);
    o.block = 6;
    assert_int_equal(relmc_ksd_blocks(&estimate, &good, &o, NULL),
                     RELMC_EINVAL);
    o.cholesky = (const double[]){1.0, 0.0, 0.0, 0.0};
    check_refused(&good, &o, "cholesky");
    bad.n = 0;
    check_refused(&bad, NULL, "at least 1");
    bad = good;
    bad.score = NULL;
    check_refused(&bad, NULL, "NULL");
    d.weight[3] = -1.0;
    check_refused(&good, NULL, "positive");
    d.weight[3] = 0.1;
    d.score[7] = (double)NAN;
    check_refused(&good, NULL, "score 1 of draw 3");
    d.score[7] = 1e200;
    d.score[9] = 1e200;
    check_refused(&good, NULL, "overflow");
    stein_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ksd__equals_reference_values),
        cmocka_unit_test(test_ksd__equals_plain_loop),
        cmocka_unit_test(test_ksd__of_one_draw),
        cmocka_unit_test(test_ksd__repeats_are_weights),
        cmocka_unit_test(test_ksd__whitening_is_a_change_of_variables),
        cmocka_unit_test(test_ksd__threads_change_no_bit),
        cmocka_unit_test(test_pairs__code_paths_give_the_same_bits),
        cmocka_unit_test(test_blocks__see_a_wrong_mean_and_no_right_one),
        cmocka_unit_test(test_blocks__are_the_mean_of_their_u),
        cmocka_unit_test(test_nystrom__is_a_rising_lower_bound),
        cmocka_unit_test(test_ksd__refuses_what_makes_no_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
