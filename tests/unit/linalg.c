/* linalg.c - the Cholesky factor of random matrices, and of some that have none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/linalg.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

enum { MAX_DIM = 24 };

static double a[MAX_DIM * MAX_DIM], l[MAX_DIM * MAX_DIM];

/* B B' with B lower triangular and a positive diagonal, so l should be B. */
static void make_spd(size_t dim, relmc_stream *s, double *b)
{
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j < dim; j++) {
            b[i * dim + j] = j > i ? 0.0 : relmc_normal(s);
        }
        b[i * dim + i] = 1.0 + fabs(b[i * dim + i]);
    }
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j < dim; j++) {
            double sum = 0.0;

            for (size_t k = 0; k < dim; k++) {
                sum += b[i * dim + k] * b[j * dim + k];
            }
            a[i * dim + j] = sum;
        }
    }
}

/* Backward stable: |L L' - A|_ij <= (i+1) eps sqrt(A_ii A_jj) or so. */
static void check_factor(size_t dim)
{
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j < dim; j++) {
            double sum = 0.0;

            for (size_t k = 0; k < dim; k++) {
                sum += l[i * dim + k] * l[j * dim + k];
            }
            check_near(sum, a[i * dim + j],
                       1e-16 * (double)(2 * dim + 4) *
                           sqrt(a[i * dim + i] * a[j * dim + j]));
            assert_true(j <= i || l[i * dim + j] == 0.0);
        }
        assert_true(l[i * dim + i] > 0.0);
    }
}

static void test_cholesky__of_random_matrices(void **state)
{
    static double b[MAX_DIM * MAX_DIM];
    relmc_stream s = {70, 0, 0, 0};

    (void)state;
    for (size_t dim = 1; dim <= MAX_DIM; dim++) {
        for (int n = 0; n < 20; n++) {
            make_spd(dim, &s, b);
            memset(l, 0xff, sizeof l);
            assert_int_equal(rmc_cholesky(dim, a, l), 0);
            check_factor(dim);
            /* in place: the same factor */
            memcpy(b, a, sizeof a);
            assert_int_equal(rmc_cholesky(dim, b, b), 0);
            assert_memory_equal(b, l, dim * dim * sizeof *l);
        }
    }
}

/* Only the lower triangle is read. */
static void test_cholesky__does_not_read_the_upper_triangle(void **state)
{
    static double b[MAX_DIM * MAX_DIM];
    relmc_stream s = {71, 0, 0, 0};
    const size_t dim = 9;

    (void)state;
    make_spd(dim, &s, b);
    assert_int_equal(rmc_cholesky(dim, a, l), 0);
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = i + 1; j < dim; j++) {
            a[i * dim + j] = (double)NAN;
        }
    }
    assert_int_equal(rmc_cholesky(dim, a, b), 0);
    assert_memory_equal(b, l, dim * dim * sizeof *l);
}

/* A_ij -> s_i s_j A_ij, s powers of two: the factor scales exactly. */
static void test_cholesky__scales_exactly(void **state)
{
    static double b[MAX_DIM * MAX_DIM];
    relmc_stream s = {72, 0, 0, 0};
    const size_t dim = 10;

    (void)state;
    make_spd(dim, &s, b);
    assert_int_equal(rmc_cholesky(dim, a, l), 0);
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j < dim; j++) {
            a[i * dim + j] = ldexp(a[i * dim + j], 40 * ((int)(i + j) - 10));
        }
    }
    assert_int_equal(rmc_cholesky(dim, a, b), 0);
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j < dim; j++) {
            const double scaled = ldexp(l[i * dim + j], 40 * ((int)i - 5));
            assert_true(b[i * dim + j] == scaled);
        }
    }
}

static void test_cholesky__names_the_row_that_is_to_blame(void **state)
{
    static const double wrong[] = {-1.0, 0.0, (double)NAN, (double)INFINITY,
                                   -(double)INFINITY};
    static double b[MAX_DIM * MAX_DIM];
    relmc_stream s = {73, 0, 0, 0};
    const size_t dim = 7;

    (void)state;
    for (size_t row = 0; row < dim; row++) {
        for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
            make_spd(dim, &s, b);
            a[row * dim + row] = wrong[w];
            assert_int_equal(rmc_cholesky(dim, a, l), row + 1);
        }
        for (size_t column = 0; column < row; column++) {
            make_spd(dim, &s, b);
            a[row * dim + column] = (double)NAN;
            assert_int_equal(rmc_cholesky(dim, a, l), row + 1);
        }
        /* one step too far from the diagonal: the quadratic form is negative */
        make_spd(dim, &s, b);
        const double d = b[row * dim + row];
        a[row * dim + row] -= 1.001 * d * d;
        assert_int_equal(rmc_cholesky(dim, a, l), row + 1);
    }
}

static void test_cholesky__of_nothing(void **state)
{
    (void)state;
    assert_int_equal(rmc_cholesky(0, a, l), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cholesky__of_random_matrices),
        cmocka_unit_test(test_cholesky__does_not_read_the_upper_triangle),
        cmocka_unit_test(test_cholesky__scales_exactly),
        cmocka_unit_test(test_cholesky__names_the_row_that_is_to_blame),
        cmocka_unit_test(test_cholesky__of_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
