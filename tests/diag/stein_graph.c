/*
 * stein_graph.c - the graph Stein discrepancy in several dimensions equals that of two
 * simplex codes, and its spanner follows the definition.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc_diag.h"
#include "relmc_extra.h"
#include "stein/spanner.h"
#include "stein_interval.h"

static relmc_graph_stein_report gsd_of(const stein_data *d,
                                       const relmc_graph_stein_options *o)
{
    return stein_solve(relmc_graph_stein, d, o);
}

static void test_graph__equals_simplex(void **state)
{
    static const double low[3] = {0.0, 0.0, 0.0}, high[3] = {1.0, 1.0, 1.0};
    static const struct {
        const char *name;
        double c1, c2, c3, value; /* summed over the coordinates */
        size_t n_points;
        int is_unit;
    } cases[] = {
        {"gmm1_n200", 1.0, 1.0, 1.0, 0.224202820035, 200, 0},
        {"gauss_d2_n100", 1.0, 1.0, 1.0, 1.408266782147, 100, 0},
        {"banana_n100", 1.0, 1.0, 1.0, 3.59211425604, 100, 0},
        {"gauss_d3_n60", 1.0, 1.0, 1.0, 4.70351313496, 60, 0},
        {"gauss_d2_n40_c", 1.0, 0.5, 2.0, 1.861758859661, 40, 0},
        {"weighted_dups_d2_n60", 1.0, 1.0, 1.0, 2.1040451408, 40, 0},
        {"uniform_box_d2_n40", 1.0, 1.0, 1.0, 0.327828985737, 40, 1},
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stein_data d = stein_read(cases[k].name);
        relmc_graph_stein_options o =
            options_of(cases[k].c1, cases[k].c2, cases[k].c3);

        o.lower = cases[k].is_unit ? low : NULL;
        o.upper = cases[k].is_unit ? high : NULL;
        const relmc_graph_stein_report r = gsd_of(&d, &o);
        check_interval(&r, cases[k].value);
        assert_int_equal(r.n_points, cases[k].n_points);
        assert_true(r.merge_bound == 0.0);
        stein_free(&d);
    }
}

/* Draws too far apart to constrain each other: the discrepancy is the sum over draws and
 * coordinates of w (c1 |s| + c2). */
static void test_graph__solves_lonely_draws(void **state)
{
    const relmc_graph_stein_options o = options_of(1.5, 0.7, 2.0);

    (void)state;
    for (size_t n = 1; n <= 4; n++) {
        stein_data d = stein_new(n, 3);
        double sum = 0.0;

        for (size_t i = 0; i < 3 * n; i++) {
            d.x[i] = i % 3 == 0 ? 5.0 * (double)i : 0.1;
            d.score[i] = i % 2 ? 0.3 : -2.0;
            sum += (1.5 * fabs(d.score[i]) + 0.7) / (double)n;
        }
        const relmc_graph_stein_report r = gsd_of(&d, &o);
        check_interval(&r, sum);
        assert_int_equal(r.n_edges, 0);
        stein_free(&d);
    }
}

static void test_graph__threads_change_no_bit(void **state)
{
    stein_data d = stein_gauss(150, 3, 0.0, 5);
    relmc_graph_stein_options o = options_of(1.0, 1.0, 1.0);
    relmc_graph_stein_report r[3] = {RELMC_INIT(relmc_graph_stein_report),
                                     RELMC_INIT(relmc_graph_stein_report),
                                     RELMC_INIT(relmc_graph_stein_report)};

    (void)state;
    for (uint32_t k = 0; k < 3; k++) {
        o.threads = k + 1;
        r[k] = gsd_of(&d, &o);
        assert_memory_equal(&r[0], &r[k], sizeof r[k]);
    }
    stein_free(&d);
}

static void test_graph__sees_a_wrong_mean(void **state)
{
    stein_data right = stein_gauss(300, 2, 0.0, 17);
    stein_data wrong = stein_gauss(300, 2, 1.0, 17);

    (void)state;
    assert_true(gsd_of(&wrong, NULL).lower > 1.5 * gsd_of(&right, NULL).upper);
    stein_free(&right);
    stein_free(&wrong);
}

/* Draws 1e-5 apart: if merged, the solution has a bound that is reported.  If not, the
 * factors lose their digits: the status is an error, and the interval still holds. */
static void test_graph__close_draws_are_merged_or_fail_loudly(void **state)
{
    stein_data d = stein_new(300, 2);
    const relmc_stein_sample sample = stein_sample_of(&d);
    relmc_graph_stein_options o = options_of(1.0, 1.0, 1.0);
    relmc_graph_stein_report as_it_is = RELMC_INIT(relmc_graph_stein_report);
    relmc_error err = {0};
    uint64_t seed = 3;

    (void)state;
    for (size_t i = 0; i < 600; i++) {
        d.x[i] = (i < 2 ? 0.5 : d.x[i - 2]) + 1e-5 * next_normal(&seed);
        d.score[i] = -d.x[i];
    }
    o.tolerance = 1e-6;
    const relmc_graph_stein_report merged = gsd_of(&d, &o);
    assert_true(merged.n_points < 100);
    assert_true(merged.merge_bound > 0.0 && merged.merge_bound < 1e-3);

    o.merge = RELMC_ZERO;
    const relmc_status status = relmc_graph_stein(&as_it_is, &sample, &o, &err);
    assert_int_equal(as_it_is.n_points, 300);
    if (status) {
        assert_int_equal(status, RELMC_EUNSUPP);
        assert_non_null(strstr(err.message, "merge close draws"));
    }
    assert_true(as_it_is.lower <= merged.upper + merged.merge_bound);
    assert_true(as_it_is.upper >= merged.lower - merged.merge_bound);
    stein_free(&d);
}

static void test_graph__fails_loudly(void **state)
{
    stein_data d = stein_read("gauss_d2_n100");
    const relmc_stein_sample sample = stein_sample_of(&d);
    relmc_graph_stein_options o = options_of(1.0, 1.0, 1.0);
    relmc_graph_stein_report r = RELMC_INIT(relmc_graph_stein_report);
    relmc_error err;

    (void)state;
    o.max_iterations = 4;
    assert_int_equal(relmc_graph_stein(&r, &sample, &o, &err), RELMC_EUNSUPP);
    assert_non_null(strstr(err.message, "after 4 iterations"));
    assert_true(r.lower < 1.4082667 && 1.4082668 < r.upper);
    stein_free(&d);
}

/* ---- the spanner ----------------------------------------------------------- */

static double l1(const stein_data *d, size_t u, size_t v)
{
    double sum = 0.0;

    for (size_t k = 0; k < d->dim; k++) {
        sum += fabs(d->x[u * d->dim + k] - d->x[v * d->dim + k]);
    }
    return sum;
}

static int compare_rows(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Shortest paths by Floyd and Warshall, without the edge `without`. */
static void all_paths(const rmc_edge *edges, size_t n_edges, size_t without,
                      size_t n, double *path)
{
    for (size_t i = 0; i < n * n; i++) {
        path[i] = i % (n + 1) ? HUGE_VAL : 0.0;
    }
    for (size_t e = 0; e < n_edges; e++) {
        if (e != without) {
            path[edges[e].u * n + edges[e].v] = edges[e].length;
            path[edges[e].v * n + edges[e].u] = edges[e].length;
        }
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < n * n; i++) {
            const double via = path[i / n * n + k] + path[k * n + i % n];

            path[i] = via < path[i] ? via : path[i];
        }
    }
}

/* [spanner]  Paths are at most twice as long as distances, and every edge is needed:
 * without it and the longer ones, the path between its ends is longer than that. */
static void test_spanner__is_a_greedy_2_spanner(void **state)
{
    enum { N = 60 };
    static double path[N * N];

    (void)state;
    for (size_t dim = 2; dim <= 4; dim++) {
        stein_data d = stein_gauss(N, dim, 0.0, 41 + dim);
        rmc_edge *edges = NULL;
        size_t n_edges = 0;

        qsort(d.x, N, dim * sizeof(double), compare_rows);
        assert_int_equal(
            rmc_spanner(&edges, &n_edges, N, dim, d.x, 100.0, NULL), RELMC_OK);
        all_paths(edges, n_edges, n_edges, N, path);
        for (size_t i = 0; i < N * N; i++) {
            assert_true(path[i] <= 2.0 * l1(&d, i / N, i % N) + 1e-9);
        }
        for (size_t e = 0; e < n_edges; e++) {
            const double length = l1(&d, edges[e].u, edges[e].v);

            check_close(edges[e].length, length, 1e-14);
            assert_true(e == 0 || edges[e - 1].length <= length + 1e-6);
            all_paths(edges, e, n_edges, N, path);
            assert_true(path[edges[e].u * N + edges[e].v] > 2.0 * length);
        }
        free(edges);
        stein_free(&d);
    }
}

static void test_spanner__has_as_many_edges_as_the_reference(void **state)
{
    static const struct {
        const char *name;
        size_t n_edges;
    } cases[] = {{"gauss_d2_n100", 139},
                 {"banana_n100", 112},
                 {"gauss_d3_n60", 105},
                 {"gauss_d2_n40_c", 52},
                 {"uniform_box_d2_n40", 53}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stein_data d = stein_read(cases[k].name);
        rmc_edge *edges = NULL;
        size_t n_edges = 0;

        qsort(d.x, d.n, d.dim * sizeof(double), compare_rows);
        assert_int_equal(
            rmc_spanner(&edges, &n_edges, d.n, d.dim, d.x, 1e6, NULL),
            RELMC_OK);
        assert_int_equal(n_edges, cases[k].n_edges);
        free(edges);
        stein_free(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph__equals_simplex),
        cmocka_unit_test(test_graph__solves_lonely_draws),
        cmocka_unit_test(test_graph__threads_change_no_bit),
        cmocka_unit_test(test_graph__sees_a_wrong_mean),
        cmocka_unit_test(test_graph__close_draws_are_merged_or_fail_loudly),
        cmocka_unit_test(test_graph__fails_loudly),
        cmocka_unit_test(test_spanner__is_a_greedy_2_spanner),
        cmocka_unit_test(test_spanner__has_as_many_edges_as_the_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
