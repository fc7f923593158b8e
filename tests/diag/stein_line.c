/*
 * stein_line.c - the graph Stein discrepancy in one dimension equals that of two simplex
 * codes and cases solved by hand, and scales with its constants.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc_diag.h"
#include "stein_interval.h"

static const double zero = 0.0, one = 1.0;

static relmc_graph_stein_report gsd_of(const stein_data *d,
                                       const relmc_graph_stein_options *o)
{
    return stein_solve(relmc_graph_stein_line, d, o);
}

static void test_line__equals_simplex(void **state)
{
    static const struct {
        const char *name;
        double c1, c2, c3, value;
        int is_unit;
    } cases[] = {
        {"gauss_d1_n50", 1.0, 1.0, 1.0, 0.275571659313, 0},
        {"gmm1_n200", 1.0, 1.0, 1.0, 0.224202820035, 0},
        {"gmm3_n200", 1.0, 1.0, 1.0, 0.336638550133, 0},
        {"gmm2_n100_c", 2.0, 1.0, 0.5, 0.37859798626, 0},
        {"uniform_box_d1_n30", 1.0, 1.0, 1.0, 0.0458836206123, 1},
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stein_data d = stein_read(cases[k].name);
        relmc_graph_stein_options o =
            options_of(cases[k].c1, cases[k].c2, cases[k].c3);

        o.lower = cases[k].is_unit ? &zero : NULL;
        o.upper = cases[k].is_unit ? &one : NULL;
        const relmc_graph_stein_report r = gsd_of(&d, &o);
        check_interval(&r, cases[k].value);
        assert_int_equal(r.n_points, d.n);
        assert_int_equal(r.n_edges, d.n - 1);
        stein_free(&d);
    }
}

/* One draw: the largest s g + h is c1 |s| + c2.  Draws 4 c2 / c3 and 2 c1 / c2 apart do
 * not constrain each other. */
static void test_line__solves_lonely_draws(void **state)
{
    const relmc_graph_stein_options o = options_of(1.5, 0.7, 2.0);
    double sum = 0.0;

    (void)state;
    for (size_t n = 1; n <= 4; n++) {
        stein_data d = stein_new(n, 1);

        sum = 0.0;
        for (size_t i = 0; i < n; i++) {
            d.x[i] = 5.0 * (double)(n - i);
            d.score[i] = i % 2 ? 0.3 : -2.0;
            d.weight[i] = (1.0 + (double)i) * 2.0 / (double)(n * (n + 1));
            sum += d.weight[i] * (1.5 * fabs(d.score[i]) + 0.7);
        }
        const relmc_graph_stein_report r = gsd_of(&d, &o);
        check_interval(&r, sum);
        stein_free(&d);
    }
}

/* Draws D apart with scores -1 and 1: (g1 - g0) / 2 + (h0 + h1) / 2 is largest
 * for slopes 1, which let g rise by D. */
static void test_line__two_close_draws(void **state)
{
    static const double lengths[] = {1e-2, 1e-4, 1e-7, 1e-10};
    const relmc_graph_stein_options o = options_of(1.0, 1.0, 1.0);

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        stein_data d = stein_new(2, 1);

        d.x[1] = lengths[k];
        d.score[0] = -1.0;
        d.score[1] = 1.0;
        const relmc_graph_stein_report r = gsd_of(&d, &o);
        check_interval(&r, 1.0 + 0.5 * lengths[k]);
        stein_free(&d);
    }
}

static void test_line__repeats_are_weights(void **state)
{
    const relmc_graph_stein_options o = options_of(1.0, 1.0, 1.0);
    stein_data a = stein_gauss(40, 1, 0.0, 3), b = stein_new(60, 1);

    (void)state;
    for (size_t i = 0; i < 60; i++) {
        b.x[i] = a.x[i % 40];
        b.score[i] = a.score[i % 40];
    }
    for (size_t i = 0; i < 40; i++) {
        a.weight[i] = i < 20 ? 2.0 : 1.0;
    }
    const relmc_graph_stein_report r = gsd_of(&a, &o), q = gsd_of(&b, &o);
    assert_int_equal(q.n_points, 40);
    assert_true(q.merge_bound == 0.0);
    check_close(r.lower, q.lower, 1e-7);
    stein_free(&a);
    stein_free(&b);
}

/* Three times the constants give three times the value; a smaller set of functions gives
 * a smaller value. */
static void test_line__scales_with_its_functions(void **state)
{
    stein_data d = stein_gauss(100, 1, 0.0, 13);
    relmc_graph_stein_options o = options_of(1.0, 1.0, 1.0);
    const double whole = gsd_of(&d, &o).lower;

    (void)state;
    o = options_of(3.0, 3.0, 3.0);
    check_close(gsd_of(&d, &o).lower, 3.0 * whole, 1e-7);
    o = options_of(0.5, 1.0, 1.0);
    assert_true(gsd_of(&d, &o).upper < whole);
    o = options_of(1.0, 1.0, 0.5);
    assert_true(gsd_of(&d, &o).upper < whole);
    o = options_of(1.0, 1.0, 1.0);
    const double low = -4.0;
    o.lower = &low;
    assert_true(gsd_of(&d, &o).upper < whole);
    stein_free(&d);
}

static void test_line__sees_a_wrong_mean(void **state)
{
    stein_data right = stein_gauss(2000, 1, 0.0, 17);
    stein_data wrong = stein_gauss(2000, 1, 0.5, 17);

    (void)state;
    assert_true(gsd_of(&wrong, NULL).lower > 4.0 * gsd_of(&right, NULL).upper);
    stein_free(&right);
    stein_free(&wrong);
}

static void test_line__merging_stays_within_its_bound(void **state)
{
    stein_data d = stein_gauss(1000, 1, 0.0, 19);
    relmc_graph_stein_options o = options_of(1.0, 1.0, 1.0);
    const relmc_graph_stein_report whole = gsd_of(&d, &o);

    (void)state;
    o.merge = 0.01;
    const relmc_graph_stein_report merged = gsd_of(&d, &o);
    assert_true(merged.n_points < 600 && merged.merge_bound > 0.0);
    assert_true(merged.merge_bound < 0.03);
    check_near(merged.lower, whole.lower, merged.merge_bound);
    stein_free(&d);
}

static void test_line__closes_for_many_draws(void **state)
{
    stein_data d = stein_gauss(20000, 1, 0.0, 23);
    const relmc_graph_stein_report r = gsd_of(&d, NULL);

    (void)state;
    check_close(r.lower, r.upper, 1e-6);
    assert_true(r.lower > 0.005 && r.upper < 0.05);
    stein_free(&d);
}

/* A solution that does not converge is an error; its interval holds the optimum. */
static void test_line__fails_loudly(void **state)
{
    stein_data d = stein_read("gmm1_n200");
    const relmc_stein_sample sample = stein_sample_of(&d);
    relmc_graph_stein_options o = options_of(1.0, 1.0, 1.0);
    relmc_graph_stein_report r = RELMC_INIT(relmc_graph_stein_report);
    relmc_error err;

    (void)state;
    o.max_iterations = 5;
    assert_int_equal(relmc_graph_stein_line(&r, &sample, &o, &err),
                     RELMC_EUNSUPP);
    assert_non_null(strstr(err.message, "after 5 iterations"));
    assert_true(r.lower < 0.2242028 && 0.2242029 < r.upper);
    stein_free(&d);
}

static void check_refused(const relmc_stein_sample *sample,
                          const relmc_graph_stein_options *o, const char *words)
{
    relmc_graph_stein_report out = RELMC_INIT(relmc_graph_stein_report);
    relmc_error err;

    assert_int_equal(relmc_graph_stein_line(&out, sample, o, &err),
                     RELMC_EINVAL);
    if (!strstr(err.message, words)) {
        fail_msg("'%s' does not say '%s'", err.message, words);
    }
}

static void test_line__refuses_what_makes_no_sense(void **state)
{
    stein_data d = stein_gauss(10, 2, 0.0, 29);
    relmc_stein_sample sample = stein_sample_of(&d);
    relmc_graph_stein_options o = options_of(1.0, 1.0, -1.0);

    (void)state;
    check_refused(&sample, NULL, "dim 1, not 2");
    sample.dim = 1;
    check_refused(&sample, &o, "c3");
    o = options_of(1.0, 1.0, 1.0);
    o.lower = &zero;
    check_refused(&sample, &o, "not inside its support");
    o.lower = NULL;
    o.merge = -2.0;
    check_refused(&sample, &o, "merge");
    d.x[4] = HUGE_VAL;
    check_refused(&sample, NULL, "draw 4");
    stein_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line__equals_simplex),
        cmocka_unit_test(test_line__solves_lonely_draws),
        cmocka_unit_test(test_line__two_close_draws),
        cmocka_unit_test(test_line__repeats_are_weights),
        cmocka_unit_test(test_line__scales_with_its_functions),
        cmocka_unit_test(test_line__sees_a_wrong_mean),
        cmocka_unit_test(test_line__merging_stays_within_its_bound),
        cmocka_unit_test(test_line__closes_for_many_draws),
        cmocka_unit_test(test_line__fails_loudly),
        cmocka_unit_test(test_line__refuses_what_makes_no_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
