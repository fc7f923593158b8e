/*
 * mlp_sparse.c - networks whose inputs are mostly zero: lists of nonzero inputs give the
 * same as all inputs, for every width and any rows, and are used where they save time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mlp/mlp.h"
#include "relmc_diag.h"
#include "relmc_extra.h"
#include "support/check.h"
#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 29, COLUMNS = 21, CLASSES = 3 };

static double inputs[ROWS * COLUMNS], classes[ROWS];
static float inputs_single[ROWS * COLUMNS];

/* Row 4 and column 7 are empty, row 5 and column 8 are full. */
static int make_data(void **state)
{
    relmc_stream stream = {.seed = 21};

    (void)state;
    for (size_t r = 0; r < ROWS; r++) {
        classes[r] = floor(CLASSES * relmc_uniform(&stream));
        for (size_t j = 0; j < COLUMNS; j++) {
            const double x = relmc_normal(&stream), u = relmc_uniform(&stream);
            const int is_full =
                r != 4 && j != 7 && (u < 0.2 || r == 5 || j == 8);

            inputs_single[r * COLUMNS + j] = is_full ? (float)x : 0.0F;
            inputs[r * COLUMNS + j] = (double)inputs_single[r * COLUMNS + j];
        }
    }
    return 0;
}

static relmc_target *open_spec(int is_single, const char *spec)
{
    const relmc_data data = {sizeof data,
                             ROWS,
                             COLUMNS,
                             is_single ? NULL : inputs,
                             is_single ? inputs_single : NULL,
                             classes,
                             CLASSES};
    relmc_target *t = NULL;
    relmc_error err = {0};

    if (relmc_target_open_ops(&t, relmc_extra_model(0), spec, &data, &err)) {
        fail_msg("%s: %s", spec, err.message);
    }
    return t;
}

static int is_sparse(const relmc_target *t)
{
    const struct rmc_mlp *m = t->self;

    assert_true(!m->sparse.start == !!m->x);
    return m->sparse.start != NULL;
}

/* Exactly n numbers, so that sanitizers find accesses beyond them. */
static double *get(size_t n)
{
    double *x = calloc(n, sizeof *x);

    assert_non_null(x);
    return x;
}

static double *some_point(const relmc_target *t, uint64_t seed)
{
    relmc_stream stream = {.seed = seed};
    double *x = get(t->dim);

    for (size_t i = 0; i < t->dim; i++) {
        x[i] = 0.3 * relmc_normal(&stream);
    }
    return x;
}

/* With garbage in the scratch.  `pass`: NULL for that of the model. */
static double on_rows(const relmc_target *t, const struct rmc_mlp_pass *pass,
                      const double *x, const uint32_t *row, size_t n,
                      double *grad)
{
    const relmc_shape one = {t->dim, 1, 1};
    const relmc_rows rows = {row, n, 1.5, aligned_alloc(64, t->scratch)};
    struct rmc_mlp m = *(const struct rmc_mlp *)t->self;
    double lp = 0.0;

    assert_non_null(rows.scratch);
    memset(rows.scratch, 0xff, t->scratch);
    m.pass = pass ? pass : m.pass;
    assert_int_equal(rmc_model_mlp.rows(&m, &one, x, &rows, &lp, grad, NULL),
                     RELMC_OK);
    free(rows.scratch);
    return lp;
}

static void check_same(const char *what, const relmc_target *t, double lp,
                       double should, const double *g, const double *h,
                       double error)
{
    double largest = 0.0;

    for (size_t i = 0; i < t->dim; i++) {
        largest = fmax(largest, fabs(h[i]));
    }
    check_close(lp, should, error);
    for (size_t i = 0; i < t->dim; i++) {
        if (!(fabs(g[i] - h[i]) <= error * largest)) {
            fail_msg("%s: coordinate %zu of the slope is %.12g, should be "
                     "%.12g",
                     what, i, g[i], h[i]);
        }
    }
}

/* Widths of one register, a bit more, all registers, and several parts. */
static const char *const widths[] = {"8",   "9",   "15",      "100",
                                     "104", "105", "[311,4]", "[40,3,9]"};
enum { N_WIDTHS = sizeof widths / sizeof *widths };

/* Repeated rows, the empty row, the full row, more than one block. */
static void test_lists_are_the_inputs(void **state)
{
    static const uint32_t row[] = {5, 3, 28, 4, 5, 0, 11, 4, 4, 4, 4, 4, 17};
    enum { PICKED = sizeof row / sizeof *row };

    (void)state;
    for (size_t i = 0; i < 2 * N_WIDTHS; i++) {
        const int is_double = (int)(i % 2);
        char spec[100], dense[120];

        (void)snprintf(spec, sizeof spec, "mlp:hidden=%s,precision=%s,block=5",
                       widths[i / 2], is_double ? "double" : "single");
        (void)snprintf(dense, sizeof dense, "%s,inputs=dense", spec);
        relmc_target *t = open_spec(1, spec), *u = open_spec(1, dense);
        double *x = some_point(t, 1 + i), *g = get(t->dim), *h = get(t->dim);
        const struct rmc_mlp_pass *plain =
            is_double ? &rmc_mlp_double_baseline : &rmc_mlp_float_baseline;
        const double error = is_double ? 1e-13 : 1e-5;

        assert_true(is_sparse(t) && !is_sparse(u));
        for (size_t n = PICKED; n != 0; n = n == ROWS ? 0 : ROWS) {
            const uint32_t *which = n == ROWS ? NULL : row;
            const double should = on_rows(u, NULL, x, which, n, h);

            double lp = on_rows(t, NULL, x, which, n, g);
            check_same(spec, t, lp, should, g, h, error);
            lp = on_rows(t, plain, x, which, n, g);
            check_same(spec, t, lp, should, g, h, error);
        }
        free(x);
        free(g);
        free(h);
        relmc_target_destroy(t);
        relmc_target_destroy(u);
    }
}

static void test_gradients(void **state)
{
    static const char *const hiddens[] = {"8", "15", "[9,3,5]"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char spec[100];
        relmc_gradient_report report = RELMC_INIT(relmc_gradient_report);

        (void)snprintf(spec, sizeof spec,
                       "mlp:hidden=%s,precision=double,activation=tanh",
                       hiddens[i]);
        relmc_target *t = open_spec(0, spec);
        double *x = some_point(t, 30 + i);
        assert_true(is_sparse(t));
        assert_int_equal(relmc_gradient_check(&report, t, x, NULL), RELMC_OK);
        if (!report.is_ok || !(report.max_error < 1e-6)) {
            fail_msg("%s: coordinate %zu is %.12g, should be %.12g", spec,
                     report.worst, report.analytic, report.numeric);
        }
        free(x);
        relmc_target_destroy(t);
    }
}

/* A point in single precision, in memory of exactly its size. */
static void test_single_point(void **state)
{
    relmc_target *t = open_spec(1, "mlp:hidden=9");
    const relmc_rows rows = {NULL, ROWS, 1.5, aligned_alloc(64, t->scratch)};
    double *x = some_point(t, 50), *grad = get(t->dim), lp = 0.0;
    float *at = calloc(t->dim, sizeof *at), *slope = calloc(t->dim, sizeof *at);

    (void)state;
    assert_true(rows.scratch && at && slope && is_sparse(t));
    for (size_t i = 0; i < t->dim; i++) {
        at[i] = (float)x[i];
        x[i] = (double)at[i];
    }
    assert_int_equal(
        rmc_model_mlp.rows_float(t->self, at, &rows, &lp, slope, NULL),
        RELMC_OK);
    assert_true(lp == on_rows(t, NULL, x, NULL, ROWS, grad));
    for (size_t i = 0; i < t->dim; i++) {
        assert_true((double)slope[i] == grad[i]);
    }
    free(rows.scratch);
    free(x);
    free(grad);
    free(at);
    free(slope);
    relmc_target_destroy(t);
}

/* Inputs of either precision give the same bits. */
static void test_both_precisions(void **state)
{
    static const char *const specs[] = {"mlp:hidden=12",
                                        "mlp:hidden=12,precision=double"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        relmc_target *t = open_spec(0, specs[i]), *u = open_spec(1, specs[i]);
        double *x = some_point(t, 60), *g = get(t->dim), *h = get(t->dim);

        assert_true(is_sparse(t) && is_sparse(u));
        const double lp = on_rows(t, NULL, x, NULL, ROWS, g);
        assert_true(lp == on_rows(u, NULL, x, NULL, ROWS, h));
        assert_memory_equal(g, h, t->dim * sizeof *g);
        free(x);
        free(g);
        free(h);
        relmc_target_destroy(t);
        relmc_target_destroy(u);
    }
}

/* Lists are used up to a third of nonzero inputs, and not for narrow layers. */
static void test_where_it_suits(void **state)
{
    double x[9][1], y[9] = {0};
    relmc_data data = {sizeof data, 9, 1, x[0], NULL, y, 0};

    (void)state;
    for (size_t full = 0; full <= 9; full++) {
        for (size_t narrow = 0; narrow < 2; narrow++) {
            relmc_target *t = NULL;

            for (size_t r = 0; r < 9; r++) {
                x[r][0] = r < full ? -1.0 : -0.0;
            }
            assert_int_equal(
                relmc_target_open_ops(&t, relmc_extra_model(0),
                                      narrow ? "mlp:hidden=7" : "mlp:hidden=8",
                                      &data, NULL),
                RELMC_OK);
            assert_int_equal(is_sparse(t), !narrow && full <= 3);
            relmc_target_destroy(t);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_are_the_inputs),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_single_point),
        cmocka_unit_test(test_both_precisions),
        cmocka_unit_test(test_where_it_suits),
    };

    return cmocka_run_group_tests(tests, make_data, NULL);
}
