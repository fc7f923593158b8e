/*
 * batch.c - minibatches: their rows, the mean and variance of their gradients with and
 * without a control variate, and batches of lanes or shared by all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/callback.h"
#include "support/check.h"
#include "target/target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 2, N_ROWS = 12, LANES = 3, MAX_SEEN = 64 };

/* ---- a target that records its calls --------------------------------------- */

struct witness {
    uint32_t rows[MAX_SEEN];
    size_t n;
    double scale;
};

/* lp = -|x|^2/2 (the prior) - scale sum_r (x_0 - r)^2 (1 + r/4)/2 - scale sum_r r
 * x_1: the rows differ in slope and in curvature. */
static int on_rows(size_t dim, const double *x, const uint32_t *rows,
                   size_t n_rows, double scale, double *grad, double *lp,
                   void *ctx)
{
    struct witness *w = ctx;

    (void)dim;
    *lp = -0.5 * (x[0] * x[0] + x[1] * x[1]);
    grad[0] = -x[0];
    grad[1] = -x[1];
    w->n = 0;
    w->scale = scale;
    for (size_t i = 0; i < n_rows; i++) {
        const double r = (double)rows[i], bend = 1.0 + 0.25 * r;

        *lp -= scale * (0.5 * bend * (x[0] - r) * (x[0] - r) + r * x[1]);
        grad[0] -= scale * bend * (x[0] - r);
        grad[1] -= scale * r;
        w->rows[w->n++] = rows[i];
    }
    return RELMC_OK;
}

/* ---- a system of LANES chains on it ------------------------------------------- */

struct bench {
    relmc_arena arena;
    relmc_target *target;
    relmc_system sys;
    struct witness witness;
    double *x, *g, *lp;
};

static void bench_open(struct bench *b, size_t n_rows, int kind, int is_shared,
                       const double *center)
{
    const relmc_shape s = {DIM, LANES, rmc_leading(LANES)};
    const struct rmc_batch_plan plan = {.n_rows = n_rows,
                                        .kind = kind,
                                        .is_shared = is_shared,
                                        .seed = 17,
                                        .center = center};

    *b = (struct bench){.sys.shape = s};
    assert_int_equal(
        target_of_rows(&b->target, DIM, N_ROWS, on_rows, &b->witness, NULL),
        RELMC_OK);
    b->sys.target.ops = b->target->ops[RMC_BASELINE];
    b->sys.target.self = b->target->self;
    b->sys.target.n_data = b->target->n_data;
    b->sys.lanes.busy = relmc_arena_get(&b->arena, s.ld);
    b->sys.scratch.row = relmc_arena_get(&b->arena, 2 * DIM * sizeof(double));
    b->sys.lanes.streams[RELMC_FOR_BATCH] =
        relmc_arena_get(&b->arena, s.ld * sizeof(relmc_stream));
    b->x = rmc_lanes_new(&b->arena, &s);
    b->g = rmc_lanes_new(&b->arena, &s);
    b->lp = rmc_per_lane_new(&b->arena, &s);
    assert_int_equal(relmc_arena_check(&b->arena, NULL), RELMC_OK);
    for (uint32_t k = 0; k < LANES; k++) {
        b->sys.lanes.streams[RELMC_FOR_BATCH][k] =
            (relmc_stream){.seed = 17, .chain = k, .purpose = RELMC_FOR_BATCH};
    }
    memset(b->sys.lanes.busy, 1, LANES);
    assert_int_equal(rmc_batch_open(&b->sys, &b->arena, &plan, NULL), RELMC_OK);
    if (center) {
        assert_int_equal(relmc_target_eval(b->target, 1, center,
                                           &b->sys.batch.center_lp,
                                           b->sys.batch.center_grad, NULL),
                         RELMC_OK);
    }
}

static void bench_close(struct bench *b)
{
    relmc_target_destroy(b->target);
    rmc_arena_release(&b->arena);
}

/* ---- rows ------------------------------------------------------------------------ */

static void test_batch__an_epoch_has_every_row_once(void **unused)
{
    struct bench b;
    int n_moved = 0;
    uint32_t before[N_ROWS] = {0};

    (void)unused;
    bench_open(&b, 4, RELMC_BATCH_EPOCHS, 0, NULL);
    for (int epoch = 0; epoch < 50; epoch++) {
        uint32_t seen[N_ROWS];
        int count[N_ROWS] = {0};

        for (size_t n = 0; n < 3; n++) {
            relmc_advance(&b.sys);
            const relmc_rows rows = rmc_batch_rows(&b.sys, 1);

            assert_int_equal(rows.n, 4);
            assert_true(rows.scale == 3.0);
            memcpy(seen + 4 * n, rows.row, 4 * sizeof *seen);
        }
        for (size_t i = 0; i < N_ROWS; i++) {
            assert_true(seen[i] < N_ROWS);
            count[seen[i]]++;
        }
        for (size_t i = 0; i < N_ROWS; i++) {
            assert_int_equal(count[i], 1);
        }
        n_moved += memcmp(seen, before, sizeof seen) != 0;
        memcpy(before, seen, sizeof seen);
    }
    assert_int_equal(n_moved, 50); /* every epoch has a new permutation */
    bench_close(&b);
}

/* Each epoch leaves out other rows, those that do not fill a batch. */
static void test_batch__that_does_not_divide_is_fair(void **unused)
{
    enum { EPOCHS = 20000 };
    struct bench b;
    double count[N_ROWS] = {0};

    (void)unused;
    bench_open(&b, 5, RELMC_BATCH_EPOCHS, 0, NULL);
    for (int n = 0; n < 2 * EPOCHS; n++) {
        relmc_advance(&b.sys);
        const relmc_rows rows = rmc_batch_rows(&b.sys, 0);
        uint32_t mask = 0;

        for (size_t i = 0; i < rows.n; i++) {
            count[rows.row[i]]++;
            mask |= UINT32_C(1) << rows.row[i];
        }
        assert_int_equal(__builtin_popcount(mask), 5);
    }
    for (size_t i = 0; i < N_ROWS; i++) {
        const double p = 10.0 / 12.0;

        check_zscore(count[i] / EPOCHS, p, sqrt(p * (1.0 - p) / EPOCHS), 4.5);
    }
    bench_close(&b);
}

static void test_batch__with_replacement_is_independent(void **unused)
{
    enum { N = 20000 };
    struct bench b;
    double count[N_ROWS] = {0};
    int n_twice = 0;

    (void)unused;
    bench_open(&b, 4, RELMC_BATCH_REPLACE, 0, NULL);
    for (int n = 0; n < N; n++) {
        relmc_advance(&b.sys);
        const relmc_rows rows = rmc_batch_rows(&b.sys, 2);

        for (size_t i = 0; i < 4; i++) {
            count[rows.row[i]]++;
        }
        n_twice += rows.row[0] == rows.row[3];
    }
    for (size_t i = 0; i < N_ROWS; i++) {
        const double p = 1.0 / 12.0;

        check_zscore(count[i] / (4.0 * N), p, sqrt(p * (1.0 - p) / (4.0 * N)),
                     4.5);
    }
    check_zscore((double)n_twice / N, 1.0 / 12.0,
                 sqrt(11.0 / 144.0 / (double)N), 4.5);
    bench_close(&b);
}

/* A fresh batch has no row twice and shares a random number of rows with the last one;
 * batches of an epoch share none. */
static void test_batch__is_fresh_if_it_should_be(void **unused)
{
    enum { N = 20000, OF = 4 };
    static const int kinds[] = {RELMC_BATCH_FRESH, RELMC_BATCH_EPOCHS};

    (void)unused;
    for (size_t j = 0; j < 2; j++) {
        uint32_t last[OF] = {0};
        struct bench b;
        double n_common = 0.0;

        bench_open(&b, OF, kinds[j], 0, NULL);
        for (int n = 0; n < N; n++) {
            relmc_advance(&b.sys);
            const relmc_rows rows = rmc_batch_rows(&b.sys, 1);

            for (size_t i = 0; i < (size_t)OF * OF; i++) {
                const uint32_t row = rows.row[i / OF];

                assert_true(i / OF == i % OF || row != rows.row[i % OF]);
                n_common += n % 3 && row == last[i % OF];
            }
            memcpy(last, rows.row, sizeof last);
        }
        if (j) {
            assert_true(n_common == 0.0);
        } else { /* hypergeometric: 4 of 12, 4 marked */
            const double n = 2.0 * N / 3.0, mean = 4.0 / 3.0;

            check_zscore(n_common / n, mean,
                         sqrt(mean * (2.0 / 3.0) * (8.0 / 11.0) / n), 4.5);
        }
        bench_close(&b);
    }
}

static void test_batch__belongs_to_one_lane_or_to_all(void **unused)
{
    struct bench own, shared;
    int n_same = 0;

    (void)unused;
    bench_open(&own, 4, RELMC_BATCH_EPOCHS, 0, NULL);
    bench_open(&shared, 4, RELMC_BATCH_EPOCHS, 1, NULL);
    for (int n = 0; n < 100; n++) {
        relmc_advance(&own.sys);
        relmc_advance(&shared.sys);
        n_same += !memcmp(rmc_batch_rows(&own.sys, 0).row,
                          rmc_batch_rows(&own.sys, 1).row, 4 * 4);
        assert_ptr_equal(rmc_batch_rows(&shared.sys, 0).row,
                         rmc_batch_rows(&shared.sys, 2).row);
    }
    assert_true(n_same < 5);
    /* an idle lane keeps its batch */
    uint32_t rows[4];
    memcpy(rows, rmc_batch_rows(&own.sys, 1).row, sizeof rows);
    own.sys.lanes.busy[1] = 0;
    relmc_advance(&own.sys);
    assert_memory_equal(rows, rmc_batch_rows(&own.sys, 1).row, sizeof rows);
    bench_close(&own);
    bench_close(&shared);
}

/* ---- gradients --------------------------------------------------------------------- */

struct spread {
    double mean[DIM + 1], variance[DIM + 1]; /* of the gradient, and of lp */
    double n;
};

/* Moments over many batches at one point. */
static struct spread spread_at(size_t n_rows, int kind, int is_shared,
                               const double *center, const double *x)
{
    enum { N = 6000 };
    struct bench b;
    struct spread s = {.n = (double)N * LANES};
    double first[DIM + 1] = {0};

    bench_open(&b, n_rows, kind, is_shared, center);
    for (size_t j = 0; j < (size_t)DIM * b.sys.shape.ld; j++) {
        b.x[j] = x[j / b.sys.shape.ld];
    }
    for (int n = 0; n < N; n++) {
        relmc_advance(&b.sys);
        assert_int_equal(relmc_eval(&b.sys, b.x, b.lp, b.g), RELMC_OK);
        for (size_t k = 0; k < LANES; k++) {
            for (size_t i = 0; i <= DIM; i++) {
                const double y =
                    i < DIM ? b.g[i * b.sys.shape.ld + k] : b.lp[k];

                first[i] = n + (int)k ? first[i]
                                      : y; /* subtracted to reduce rounding */
                s.mean[i] += (y - first[i]) / s.n;
                s.variance[i] += (y - first[i]) * (y - first[i]) / s.n;
            }
        }
    }
    for (size_t i = 0; i <= DIM; i++) {
        s.variance[i] -= s.mean[i] * s.mean[i];
        s.variance[i] = s.variance[i] > 0.0 ? s.variance[i] : 0.0;
        s.mean[i] += first[i];
    }
    bench_close(&b);
    return s;
}

static void test_gradient__from_batches_is_unbiased(void **unused)
{
    static const double x[DIM] = {3.2, -0.7}, center[DIM] = {4.0, 0.5};
    struct bench b;
    double truth[DIM + 1];

    (void)unused;
    bench_open(&b, 4, RELMC_BATCH_EPOCHS, 0, NULL);
    assert_int_equal(
        relmc_target_eval(b.target, 1, x, &truth[DIM], truth, NULL), RELMC_OK);
    bench_close(&b);
    for (uint32_t i = 0; i < 4; i++) {
        const int kind = i % 2 ? RELMC_BATCH_REPLACE : RELMC_BATCH_EPOCHS;
        const struct spread s = spread_at(3, kind, 0, i < 2 ? NULL : center, x);

        for (size_t j = 0; j <= DIM; j++) {
            assert_true(i >= 2 || s.variance[j] > 1.0);
            check_zscore(s.mean[j], truth[j], sqrt(s.variance[j] / s.n) + 1e-9,
                         4.5);
        }
    }
}

/* (N/n)^2 n times the variance of a row; without replacement times (N-n)/(N-1). */
static void test_gradient__has_the_known_variance(void **unused)
{
    static const double x[DIM] = {3.2, -0.7};
    const double row = (N_ROWS * N_ROWS - 1) / 12.0; /* of r */
    const double wanted = 16.0 * 3.0 * row;

    (void)unused;
    check_close(spread_at(3, RELMC_BATCH_REPLACE, 0, NULL, x).variance[1],
                wanted, 0.04);
    check_close(spread_at(3, RELMC_BATCH_EPOCHS, 0, NULL, x).variance[1],
                wanted * 9.0 / 11.0, 0.04);
}

/* [control-variate] There is no noise at the centre and little near it; a gradient that is
 * linear in x has none anywhere. */
static void test_gradient__is_quieter_with_a_control_variate(void **unused)
{
    static const double center[DIM] = {4.0, 0.5}, near[DIM] = {4.1, 0.6};

    (void)unused;
    const struct spread with =
        spread_at(3, RELMC_BATCH_EPOCHS, 0, center, near);
    const struct spread without =
        spread_at(3, RELMC_BATCH_EPOCHS, 0, NULL, near);
    const struct spread there =
        spread_at(3, RELMC_BATCH_EPOCHS, 0, center, center);

    assert_true(with.variance[0] < 1e-2 * without.variance[0]);
    assert_true(with.variance[0] > 0.0);
    assert_true(fabs(with.variance[1]) < 1e-9);
    assert_true(fabs(there.variance[0]) < 1e-9);
}

static void test_gradient__of_all_rows_is_that_of_the_target(void **unused)
{
    static const double x[DIM] = {3.2, -0.7};
    const struct spread all = spread_at(N_ROWS, RELMC_BATCH_EPOCHS, 0, NULL, x);
    const struct spread none =
        spread_at(N_ROWS, RELMC_BATCH_EPOCHS, 1, NULL, x);

    (void)unused;
    for (size_t i = 0; i <= DIM; i++) {
        check_close(all.mean[i], none.mean[i], 1e-9);
        assert_true(fabs(all.variance[i]) <
                    1e-6 * (1.0 + all.mean[i] * all.mean[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch__an_epoch_has_every_row_once),
        cmocka_unit_test(test_batch__that_does_not_divide_is_fair),
        cmocka_unit_test(test_batch__with_replacement_is_independent),
        cmocka_unit_test(test_batch__is_fresh_if_it_should_be),
        cmocka_unit_test(test_batch__belongs_to_one_lane_or_to_all),
        cmocka_unit_test(test_gradient__from_batches_is_unbiased),
        cmocka_unit_test(test_gradient__has_the_known_variance),
        cmocka_unit_test(test_gradient__is_quieter_with_a_control_variate),
        cmocka_unit_test(test_gradient__of_all_rows_is_that_of_the_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
