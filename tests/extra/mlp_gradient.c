/*
 * mlp_gradient.c - the gradient of a neural network is that of lp, and precisions, blocks,
 * minibatches and lanes agree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extra/mlp_networks.h"
#include "relmc_diag.h"
#include "run/run.h"
#include "support/check.h"

/* ---- gradients ---------------------------------------------------------------- */

static void check_gradient(const char *spec, size_t n_classes)
{
    char text[160];

    (void)snprintf(text, sizeof text, "%s,precision=double", spec);
    relmc_target *t = open_spec(text, n_classes);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        double x[MAX_DIM];
        relmc_gradient_report report = RELMC_INIT(relmc_gradient_report);

        some_point(t, seed, x);
        assert_int_equal(relmc_gradient_check(&report, t, x, NULL), RELMC_OK);
        if (!report.is_ok || !(report.max_error < 1e-7)) {
            fail_msg("%s: coordinate %zu is %.12g, should be %.12g", text,
                     report.worst, report.analytic, report.numeric);
        }
    }
    relmc_target_destroy(t);
}

static void test_gradients(void **state)
{
    (void)state;
    for_each_network(check_gradient);
}

/* ---- precisions --------------------------------------------------------------- */

static void check_precisions(const char *spec, size_t n_classes)
{
    char text[160];
    double x[MAX_DIM], one[MAX_DIM], two[MAX_DIM], largest = 0.0;

    (void)snprintf(text, sizeof text, "%s,precision=double", spec);
    relmc_target *d = open_spec(text, n_classes);
    relmc_target *s = open_spec(spec, n_classes);
    some_point(d, 3, x);
    const double lp_s = on_rows(s, x, NULL, ROWS, 1.0, one);
    const double lp_d = on_rows(d, x, NULL, ROWS, 1.0, two);
    check_close(lp_s, lp_d, 1e-5);
    assert_true(lp_s != lp_d); /* the precisions do differ */
    for (size_t i = 0; i < d->dim; i++) {
        largest = fmax(largest, fabs(two[i]));
    }
    for (size_t i = 0; i < d->dim; i++) {
        check_near(one[i], two[i], 1e-5 * largest);
    }
    relmc_target_destroy(d);
    relmc_target_destroy(s);
}

static void test_precisions_agree(void **state)
{
    (void)state;
    for_each_network(check_precisions);
}

/* A point and gradient in single precision give the same, if the point fits. */
static void check_single(const char *spec, size_t n_classes)
{
    static const uint32_t row[] = {3, 1, 20, 7, 7, 2};
    relmc_target *t = open_spec(spec, n_classes);
    const relmc_rows rows = {row, 6, 2.5, aligned_alloc(64, t->scratch)};
    double x[MAX_DIM], grad[MAX_DIM], lp = 0.0;
    float at[MAX_DIM], slope[MAX_DIM];

    assert_non_null(rows.scratch);
    some_point(t, 8, x);
    for (size_t i = 0; i < t->dim; i++) {
        at[i] = (float)x[i];
        x[i] = (double)at[i];
    }
    assert_int_equal(
        rmc_model_mlp.rows_float(t->self, at, &rows, &lp, slope, NULL),
        RELMC_OK);
    assert_true(lp == on_rows(t, x, row, 6, 2.5, grad));
    for (size_t i = 0; i < t->dim; i++) {
        assert_true((double)slope[i] == grad[i]);
    }
    at[0] = NAN; /* a rectified unit would turn it into 0 */
    (void)rmc_model_mlp.rows_float(t->self, at, &rows, &lp, slope, NULL);
    assert_true(lp == -HUGE_VAL);
    free(rows.scratch);
    relmc_target_destroy(t);
}

static void test_single_is_the_same(void **state)
{
    relmc_target *t = open_spec("mlp:hidden=4", 3);
    relmc_target *u = open_spec("mlp:hidden=4,precision=double", 3);

    (void)state;
    for_each_network(check_single);
    assert_true(t->is_float);
    assert_false(u->is_float);
    relmc_target_destroy(t);
    relmc_target_destroy(u);
}

/* The precision of inputs and that of the arithmetic may differ. */
static void test_inputs_of_both_precisions(void **state)
{
    static const char *const specs[] = {"mlp:hidden=4",
                                        "mlp:hidden=4,precision=double"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const relmc_data a = data_of(3, 0), b = data_of(3, 1);
        relmc_target *t = open_on(specs[i], &a), *u = open_on(specs[i], &b);
        double x[MAX_DIM], g[2][MAX_DIM], p[2][ROWS * MAX_CLASSES];

        some_point(t, 4, x);
        const double lp = on_rows(t, x, NULL, ROWS, 1.0, g[0]);
        assert_true(lp == on_rows(u, x, NULL, ROWS, 1.0, g[1]));
        assert_memory_equal(g[0], g[1], t->dim * sizeof(double));
        assert_int_equal(relmc_target_predict(t, x, &a, p[0], NULL), RELMC_OK);
        assert_int_equal(relmc_target_predict(t, x, &b, p[1], NULL), RELMC_OK);
        assert_memory_equal(p[0], p[1], sizeof p[0]);
        relmc_target_destroy(t);
        relmc_target_destroy(u);
    }
}

/* With saturated outputs lp is right or -inf. */
static void test_extremes(void **state)
{
    static const double zero[2] = {0.0, 0.0}, x0[2] = {1.0, 1.0};
    static const char *const specs[] = {"mlp:hidden=1,sd=inf",
                                        "mlp:hidden=1,sd=inf,output=softmax",
                                        "mlp:hidden=1,sd=inf,precision=double"};
    const relmc_data data = {sizeof data, 2, 1, x0, NULL, zero, 2};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        relmc_target *t = open_on(specs[i], &data);
        double x[MAX_DIM] = {1.0, 0.0}, g[MAX_DIM];

        x[2] = i == 1 ? -100.0 : 200.0; /* log odds of -200 for class 0 */
        x[3] = i == 1 ? 100.0 : 0.0;
        check_close(on_rows(t, x, NULL, 2, 1.0, g), -400.0, 1e-6);
        check_close(g[2], i == 1 ? 2.0 : -2.0, 1e-6);
        x[2] = -x[2];
        x[3] = -x[3];
        check_near(on_rows(t, x, NULL, 2, 1.0, g), 0.0, 1e-40);
        x[0] = x[2] = 1e300;
        x[3] = -1e300;
        assert_true(on_rows(t, x, NULL, 2, 1.0, g) == -HUGE_VAL);
        relmc_target_destroy(t);
    }
}

/* ---- rows ----------------------------------------------------------------------- */

/* Terms of parts of the rows add up to those of all rows, in any order. */
static void check_rows(const char *spec, size_t n_classes)
{
    uint32_t order[ROWS];
    char text[160];
    double x[MAX_DIM], all[MAX_DIM], sum[MAX_DIM], part[MAX_DIM];

    (void)snprintf(text, sizeof text, "%s,precision=double,block=5", spec);
    relmc_target *t = open_spec(text, n_classes);
    some_point(t, 5, x);
    for (uint32_t r = 0; r < ROWS; r++) {
        order[r] = (7 * r + 3) % ROWS;
    }
    const double prior = on_rows(t, x, NULL, 0, 1.0, part);
    const double lp = on_rows(t, x, NULL, ROWS, 1.0, all);
    double total = prior;
    memcpy(sum, part, sizeof sum);
    for (size_t at = 0, n; at < ROWS; at += n) {
        double slope[MAX_DIM];

        n = at == 0 ? 11 : at + 2 < ROWS ? 2 : ROWS - at;
        total += on_rows(t, x, order + at, n, 1.0, slope) - prior;
        for (size_t i = 0; i < t->dim; i++) {
            sum[i] += slope[i] - part[i];
        }
    }
    check_close(total, lp, 1e-12);
    for (size_t i = 0; i < t->dim; i++) {
        check_near(sum[i], all[i], 1e-11 * (1.0 + fabs(all[i])));
    }
    relmc_target_destroy(t);
}

static void test_minibatches_add_up(void **state)
{
    (void)state;
    for_each_network(check_rows);
}

static void test_scale_and_repeated_rows(void **state)
{
    const uint32_t row[] = {4, 4, 4};
    relmc_target *t = open_spec("mlp:hidden=4,precision=double", 3);
    double x[MAX_DIM], one[MAX_DIM], three[MAX_DIM], scaled[MAX_DIM];

    (void)state;
    some_point(t, 6, x);
    const double prior = prior_of(t, x);
    const double a = on_rows(t, x, row, 1, 1.0, one) - prior;
    const double b = on_rows(t, x, row, 3, 1.0, three) - prior;
    const double c = on_rows(t, x, row, 1, 3.0, scaled) - prior;
    assert_true(a < -1e-3);
    check_close(b, 3.0 * a, 1e-12);
    check_close(c, 3.0 * a, 1e-12);
    for (size_t i = 0; i < t->dim; i++) {
        check_near(three[i], scaled[i], 1e-12);
    }
    relmc_target_destroy(t);
}

/* The size of blocks bounds the scratch and changes results by rounding only. */
static void test_blocks(void **state)
{
    relmc_target *t = open_spec("mlp:hidden=4", 3);
    relmc_target *u = open_spec("mlp:hidden=4,block=1", 3);
    double x[MAX_DIM], g[MAX_DIM], h[MAX_DIM];

    (void)state;
    some_point(t, 7, x);
    assert_true(u->scratch < t->scratch);
    check_close(on_rows(t, x, NULL, ROWS, 1.0, g),
                on_rows(u, x, NULL, ROWS, 1.0, h), 1e-6);
    for (size_t i = 0; i < t->dim; i++) {
        check_near(g[i], h[i], 1e-4);
    }
    relmc_target_destroy(t);
    relmc_target_destroy(u);
}

/* ---- lanes ---------------------------------------------------------------------- */

/* The last draws of all chains. */
static relmc_status keep_draw(void *ctx, const relmc_draw *draw)
{
    double *to = (double *)ctx + (size_t)draw->chain * MAX_DIM;

    memcpy(to, draw->outputs, 31 * sizeof *to);
    return RELMC_OK;
}

static void test_same_draws(void **state)
{
    enum { CHAINS = 6 };
    static const uint32_t lanes[] = {0, 1, 4, 6, 2},
                          threads[] = {1, 1, 1, 1, 2};
    static double draws[5][CHAINS * MAX_DIM];
    relmc_target *t = open_spec("mlp:hidden=4", 3);

    (void)state;
    assert_int_equal(relmc_target_dim(t), 31);
    for (size_t i = 0; i < 5; i++) {
        const relmc_options options = {.size = sizeof options,
                                       .sampler = "hmc:steps=3",
                                       .adapt = "none",
                                       .step_size = 0.05,
                                       .draws = 5,
                                       .warmup = RELMC_ZERO,
                                       .chains = CHAINS,
                                       .lanes = lanes[i],
                                       .threads = threads[i]};
        relmc_run *run = NULL;

        assert_int_equal(relmc_run_create(&run, t, &options, NULL), RELMC_OK);
        assert_int_equal(relmc_run_observe(run, keep_draw, draws[i], NULL),
                         RELMC_OK);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        assert_memory_equal(draws[i], draws[0], sizeof draws[0]);
        assert_int_equal(run->opts.lanes, lanes[i] ? lanes[i] : 1);
        relmc_run_destroy(run);
    }
    assert_true(draws[0][0] != draws[0][MAX_DIM]);
    relmc_target_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_precisions_agree),
        cmocka_unit_test(test_single_is_the_same),
        cmocka_unit_test(test_inputs_of_both_precisions),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_minibatches_add_up),
        cmocka_unit_test(test_scale_and_repeated_rows),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_same_draws),
    };

    return cmocka_run_group_tests(tests, make_data, NULL);
}
