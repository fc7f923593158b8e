/*
 * target.c - the kinds of callback give the same target, failures are distinguished, and
 * the gradient check finds wrong gradients.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "component/registry.h"
#include "relmc_diag.h"
#include "support/callback.h"
#include "support/check.h"
#include "unit/target.h"

#include <math.h>
#include <string.h>

/* ---- making ------------------------------------------------------------- */

static void test_create__fills_in(void **state)
{
    struct quartic q = {0};

    (void)state;
    for (int kind = 0; kind < N_KINDS; kind++) {
        relmc_target *t = new_target((enum kind)kind, &q);

        assert_int_equal(relmc_target_dim(t), DIM);
        assert_string_equal(relmc_target_name(t), "callback");
        relmc_target_destroy(t);
    }
    relmc_target_destroy(NULL);
}

static void test_create__refuses_nonsense(void **state)
{
    relmc_target *t = NULL;
    relmc_error err = {0};

    (void)state;
    assert_int_equal(target_of_point(&t, 2, NULL, NULL, &err), RELMC_EINVAL);
    assert_non_null(strstr(err.message, "give point, rows or lanes"));
    assert_int_equal(target_of_lanes(&t, 2, NULL, NULL, &err), RELMC_EINVAL);
    assert_int_equal(target_of_rows(&t, 2, 9, NULL, NULL, &err), RELMC_EINVAL);
    assert_int_equal(target_of_point(&t, 0, point, NULL, &err), RELMC_EINVAL);
    assert_non_null(strstr(err.message, "dim"));
    assert_int_equal(target_of_point(&t, SIZE_MAX, point, NULL, &err),
                     RELMC_EINVAL);
    assert_int_equal(target_of_rows(&t, 2, 0, subset, NULL, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "n_data"));
    assert_int_equal(target_of_rows(&t, 2, SIZE_MAX, subset, NULL, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "n_data"));
    assert_int_equal(target_of_point(&t, 0, point, NULL, NULL), RELMC_EINVAL);
    assert_null(t); /* failed calls do not change it */
}

static void test_open__refuses_unknown_models_and_parameters(void **state)
{
    relmc_target *t = NULL;
    relmc_error err = {0};

    (void)state;
    assert_int_equal(relmc_target_open(&t, "banan", NULL, &err),
                     RELMC_EUNKNOWN);
    assert_non_null(strstr(err.message, "did you mean \"banana\"?"));
    assert_int_equal(relmc_target_open(&t, "gaussian:dmi=3", NULL, &err),
                     RELMC_EUNKNOWN);
    assert_int_equal(relmc_target_open(&t, "gaussian:dim=0", NULL, &err),
                     RELMC_EINVAL);
    assert_null(t);
}

/* The name of a target is a spec with every parameter. */
static void test_open__names_can_be_opened(void **state)
{
    const relmc_info *info;

    (void)state;
    for (size_t i = 0; (info = rmc_component_info("model", i)); i++) {
        relmc_target *t = NULL, *again = NULL;

        assert_int_equal(relmc_target_open(&t, info->name, NULL, NULL),
                         RELMC_OK);
        assert_int_equal(
            relmc_target_open(&again, relmc_target_name(t), NULL, NULL),
            RELMC_OK);
        assert_string_equal(relmc_target_name(t), relmc_target_name(again));
        assert_int_equal(relmc_target_dim(t), relmc_target_dim(again));
        relmc_target_destroy(t);
        relmc_target_destroy(again);
    }
}

/* ---- evaluating --------------------------------------------------------- */

static void draw_point(relmc_stream *s, double x[DIM])
{
    for (size_t i = 0; i < DIM; i++) {
        x[i] = relmc_normal(s);
    }
}

static void test_eval__minibatch_of_all_rows_is_exact(void **state)
{
    struct quartic q = {0};
    relmc_target *whole = new_target(POINT, &q),
                 *batch = new_target(SUBSET, &q);
    relmc_stream s = {100, 0, 0, 0};

    (void)state;
    for (int n = 0; n < 100; n++) {
        double x[DIM], a, b, ga[DIM], gb[DIM];

        draw_point(&s, x);
        assert_int_equal(relmc_target_eval(whole, 1, x, &a, ga, NULL),
                         RELMC_OK);
        assert_int_equal(relmc_target_eval(batch, 1, x, &b, gb, NULL),
                         RELMC_OK);
        check_close(a, b, 1e-14);
        for (size_t i = 0; i < DIM; i++) {
            check_close(ga[i], gb[i], 1e-14);
        }
    }
    relmc_target_destroy(whole);
    relmc_target_destroy(batch);
}

/* A subset callback sees the rows 0, 1, ..., n-1 once and the scale 1. */
static int note_rows(size_t dim, const double *x, const uint32_t *rows,
                     size_t n_rows, double scale, double *grad, double *lp,
                     void *ctx)
{
    size_t *n = ctx;

    (void)x;
    assert_true(scale == 1.0);
    for (size_t j = 0; j < n_rows; j++) {
        assert_int_equal(rows[j], j);
    }
    memset(grad, 0, dim * sizeof *grad);
    *lp = 0.0;
    *n = n_rows;
    return RELMC_OK;
}

static void test_eval__minibatch_gets_every_row_once(void **state)
{
    static const size_t sizes[] = {1, 2, 63, 1000};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        relmc_target *t = NULL;
        const double x = 1.0;
        double lp, g;
        size_t n = 0;

        assert_int_equal(target_of_rows(&t, 1, sizes[i], note_rows, &n, NULL),
                         RELMC_OK);
        assert_int_equal(relmc_target_eval(t, 1, &x, &lp, &g, NULL), RELMC_OK);
        assert_int_equal(n, sizes[i]);
        relmc_target_destroy(t);
    }
}

static void test_eval__separates_reject_from_failure(void **state)
{
    struct quartic q = {0};

    (void)state;
    for (int kind = 0; kind < N_KINDS; kind++) {
        relmc_target *t = new_target((enum kind)kind, &q);
        double x[DIM] = {11.0}, lp = 1.0, g[DIM];
        relmc_error err = {0};

        assert_int_equal(relmc_target_eval(t, 1, x, &lp, g, &err),
                         RELMC_REJECT);
        assert_int_equal(err.status, RELMC_REJECT);
        assert_true(lp == -HUGE_VAL);
        x[0] = -11.0;
        assert_int_equal(relmc_target_eval(t, 1, x, &lp, g, &err),
                         RELMC_ETARGET);
        assert_non_null(strstr(err.message, kind == SUBSET ? "-1" : "-42"));
        relmc_target_destroy(t);
    }
}

/* ---- names, moments and draws of models ---------------------------------- */

static void test_model__callbacks_know_no_moments(void **state)
{
    struct quartic q = {0};
    relmc_target *t = new_target(POINT, &q);
    relmc_error err = {0};
    double mean[DIM], variance[DIM];

    (void)state;
    assert_int_equal(relmc_target_moments(t, mean, variance, &err),
                     RELMC_EUNSUPP);
    assert_int_equal(relmc_target_sample(t, 1, 1, mean, &err), RELMC_EUNSUPP);
    assert_int_equal(q.n_calls, 0);
    relmc_target_destroy(t);
}

static void test_model__draws_depend_on_the_seed_only(void **state)
{
    relmc_target *t = NULL;
    double a[20], b[20], c[20];

    (void)state;
    assert_int_equal(relmc_target_open(&t, "gaussian:dim=2", NULL, NULL),
                     RELMC_OK);
    assert_int_equal(relmc_target_sample(t, 9, 10, a, NULL), RELMC_OK);
    assert_int_equal(relmc_target_sample(t, 9, 5, b, NULL), RELMC_OK);
    assert_int_equal(relmc_target_sample(t, 10, 10, c, NULL), RELMC_OK);
    assert_memory_equal(a, b, 10 * sizeof *a); /* fewer draws are a prefix */
    assert_memory_not_equal(a, c, sizeof a);
    relmc_target_destroy(t);
}

/* ---- gradient check ----------------------------------------------------- */

static relmc_gradient_report check_gradient(const relmc_target *t,
                                            const double *x)
{
    relmc_gradient_report report;
    relmc_error err = {0};

    memset(&report, 0xff, sizeof report);
    report.size = sizeof report;
    if (relmc_gradient_check(&report, t, x, &err)) {
        fail_msg("%s", err.message);
    }
    return report;
}

static void test_gradient_check__passes_what_is_right(void **state)
{
    relmc_stream s = {105, 0, 0, 0};
    struct quartic q = {0};

    (void)state;
    for (int kind = 0; kind < N_KINDS; kind++) {
        relmc_target *t = new_target((enum kind)kind, &q);

        for (int n = 0; n < 30; n++) {
            double x[DIM];

            draw_point(&s, x);
            const relmc_gradient_report report = check_gradient(t, x);
            assert_true(report.is_ok);
            assert_true(report.max_error < 1e-7);
            assert_true(report.worst < DIM);
            check_near(report.analytic, report.numeric, 1e-6);
        }
        relmc_target_destroy(t);
    }
}

static void test_gradient_check__passes_every_model(void **state)
{
    relmc_stream s = {106, 0, 0, 0};
    const relmc_info *info;
    double x[200];

    (void)state;
    for (size_t m = 0; (info = rmc_component_info("model", m)); m++) {
        relmc_target *t = NULL;

        assert_int_equal(relmc_target_open(&t, info->name, NULL, NULL),
                         RELMC_OK);
        assert_true(relmc_target_dim(t) <= sizeof x / sizeof *x);
        for (int n = 0; n < 10; n++) {
            for (size_t i = 0; i < relmc_target_dim(t); i++) {
                x[i] = relmc_normal(&s);
            }
            const relmc_gradient_report report = check_gradient(t, x);
            if (!report.is_ok) {
                fail_msg("%s: coordinate %zu, %.17g or %.17g", info->name,
                         report.worst, report.analytic, report.numeric);
            }
        }
        relmc_target_destroy(t);
    }
}

/* The accept step corrects a gradient that is 1.1 times too long: draws cannot show it. */
static void test_gradient_check__finds_a_scaled_gradient(void **state)
{
    relmc_stream s = {107, 0, 0, 0};
    struct quartic q = {.fault = SCALED};
    relmc_target *t = new_target(POINT, &q);

    (void)state;
    for (int n = 0; n < 30; n++) {
        double x[DIM];

        draw_point(&s, x);
        const relmc_gradient_report report = check_gradient(t, x);
        assert_false(report.is_ok);
        check_close(report.analytic, 1.1 * report.numeric, 1e-6);
    }
    relmc_target_destroy(t);
}

static void test_gradient_check__names_the_wrong_coordinate(void **state)
{
    static const enum fault faults[] = {FLIPPED, SHIFTED, NOT_A_NUMBER};
    relmc_stream s = {108, 0, 0, 0};

    (void)state;
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        for (size_t where = 0; where < DIM; where++) {
            struct quartic q = {faults[f], where, 0};
            relmc_target *t = new_target(POINT, &q);
            double x[DIM];

            draw_point(&s, x);
            const relmc_gradient_report report = check_gradient(t, x);
            assert_false(report.is_ok);
            assert_int_equal(report.worst, where);
            assert_true(faults[f] != NOT_A_NUMBER || isnan(report.analytic));
            relmc_target_destroy(t);
        }
    }
}

static int half_line(size_t dim, const double *x, double *grad, double *lp,
                     void *ctx)
{
    (void)dim;
    (void)ctx;
    if (x[0] <= 0.0) {
        return RELMC_REJECT;
    }
    *lp = log(x[0]) - x[0];
    grad[0] = 1.0 / x[0] - 1.0;
    return RELMC_OK;
}

static void test_gradient_check__works_near_an_edge(void **state)
{
    relmc_target *t = NULL;
    relmc_gradient_report report = RELMC_INIT(relmc_gradient_report);
    relmc_error err = {0};
    double x = -1.0;

    (void)state;
    assert_int_equal(target_of_point(&t, 1, half_line, NULL, NULL), RELMC_OK);
    assert_int_equal(relmc_gradient_check(&report, t, &x, &err), RELMC_REJECT);
    for (x = 0.02; x < 100.0; x *= 1.7) {
        assert_true(check_gradient(t, &x).is_ok);
    }
    relmc_target_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create__fills_in),
        cmocka_unit_test(test_create__refuses_nonsense),
        cmocka_unit_test(test_open__refuses_unknown_models_and_parameters),
        cmocka_unit_test(test_open__names_can_be_opened),
        cmocka_unit_test(test_eval__minibatch_of_all_rows_is_exact),
        cmocka_unit_test(test_eval__minibatch_gets_every_row_once),
        cmocka_unit_test(test_eval__separates_reject_from_failure),
        cmocka_unit_test(test_model__callbacks_know_no_moments),
        cmocka_unit_test(test_model__draws_depend_on_the_seed_only),
        cmocka_unit_test(test_gradient_check__passes_what_is_right),
        cmocka_unit_test(test_gradient_check__passes_every_model),
        cmocka_unit_test(test_gradient_check__finds_a_scaled_gradient),
        cmocka_unit_test(test_gradient_check__names_the_wrong_coordinate),
        cmocka_unit_test(test_gradient_check__works_near_an_edge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
