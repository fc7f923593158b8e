/*
 * target_lanes.c - a system evaluates its lanes as if they were single points, rejects single
 * lanes, leaves idle lanes alone and ends when the target fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/callback.h"
#include "target/target.h"
#include "unit/target.h"

#include <math.h>
#include <string.h>

/* ---- evaluating all lanes of a system ----------------------------------- */

enum { MAX_LANES = 11, MAX_LD = 16 };

static double block_x[DIM * MAX_LD], block_g[DIM * MAX_LD], block_lp[MAX_LD];
static double scratch[2 * DIM], scratch_lp[MAX_LD];
static unsigned char busy[MAX_LD];

static relmc_system system_of(const relmc_target *t, size_t n_lanes, int isa)
{
    memset(busy, 1, sizeof busy);
    return (relmc_system){.shape = {DIM, n_lanes, rmc_leading(n_lanes)},
                          .target.ops = t->ops[isa],
                          .target.self = t->self,
                          .target.n_data = t->n_data,
                          .lanes.busy = busy,
                          .scratch.row = scratch,
                          .scratch.lp = scratch_lp};
}

static void fill_block(const relmc_shape *s, relmc_stream *stream)
{
    memset(block_x, 0, sizeof block_x);
    for (size_t k = 0; k < s->lanes; k++) {
        for (size_t i = 0; i < s->dim; i++) {
            block_x[i * s->ld + k] = relmc_normal(stream);
        }
    }
}

/* Lane k of the block equals relmc_target_eval at that point, bit for bit. */
static void check_lane(const relmc_target *t, const relmc_shape *s, size_t k)
{
    double x[DIM], g[DIM], lp;

    for (size_t i = 0; i < DIM; i++) {
        x[i] = block_x[i * s->ld + k];
    }
    assert_int_equal(relmc_target_eval(t, 1, x, &lp, g, NULL), RELMC_OK);
    assert_true(rmc_to_bits(lp) == rmc_to_bits(block_lp[k]));
    for (size_t i = 0; i < DIM; i++) {
        assert_true(rmc_to_bits(g[i]) == rmc_to_bits(block_g[i * s->ld + k]));
    }
}

/* A target with the callback of this kind, or a model. */
static relmc_target *target_at(int kind, struct quartic *q, const char *model)
{
    relmc_target *t = NULL;

    if (kind < N_KINDS) {
        return new_target((enum kind)kind, q);
    }
    assert_int_equal(relmc_target_open(&t, model, NULL, NULL), RELMC_OK);
    return t;
}

static void test_system__evaluates_lanes_like_points(void **state)
{
    struct quartic q = {0};
    relmc_stream stream = {101, 0, 0, 0};

    (void)state;
    for (int kind = 0; kind <= N_KINDS; kind++) {
        relmc_target *t = target_at(kind, &q, "gaussian:dim=5,rho=0.5");

        for (size_t n = 1; n <= MAX_LANES; n++) {
            for (int isa = 0; isa <= rmc_isa_best(); isa++) {
                relmc_system sys = system_of(t, n, isa);

                fill_block(&sys.shape, &stream);
                assert_int_equal(relmc_eval(&sys, block_x, block_lp, block_g),
                                 RELMC_OK);
                for (size_t k = 0; k < n; k++) {
                    check_lane(t, &sys.shape, k);
                }
            }
        }
        relmc_target_destroy(t);
    }
}

/* The gradient is the same without lp, also if the model then saves work (student). */
static void test_system__gives_the_gradient_alone(void **state)
{
    struct quartic q = {0};
    relmc_stream stream = {103, 0, 0, 0};

    (void)state;
    for (int kind = 0; kind <= N_KINDS; kind++) {
        relmc_target *t = target_at(kind, &q, "student:dim=5");

        assert_true(kind < N_KINDS || t->ops[0]->omits_lp);
        for (size_t n = 1; n <= MAX_LANES; n++) {
            relmc_system sys = system_of(t, n, RMC_BASELINE);
            const size_t cells = rmc_cells(&sys.shape);
            double alone[DIM * MAX_LD] = {0};

            fill_block(&sys.shape, &stream);
            assert_int_equal(relmc_eval(&sys, block_x, block_lp, block_g),
                             RELMC_OK);
            assert_int_equal(relmc_eval(&sys, block_x, NULL, alone), RELMC_OK);
            for (size_t j = 0; j < cells; j++) {
                assert_true(j % sys.shape.ld >= n || alone[j] == block_g[j]);
            }
        }
        relmc_target_destroy(t);
    }
}

/* A lane without density gets lp = -inf and gradient 0; other lanes do not change. */
static void test_system__rejects_single_lanes(void **state)
{
    struct quartic q = {0};
    relmc_stream stream = {102, 0, 0, 0};

    (void)state;
    for (int kind = 0; kind < N_KINDS; kind++) {
        relmc_target *t = new_target((enum kind)kind, &q);

        for (size_t n = 1; n <= MAX_LANES; n++) {
            const size_t bad = n / 2;
            relmc_system sys = system_of(t, n, RMC_BASELINE);

            fill_block(&sys.shape, &stream);
            block_x[bad] = 11.0;
            assert_int_equal(relmc_eval(&sys, block_x, block_lp, block_g),
                             RELMC_OK);
            assert_true(block_lp[bad] == -HUGE_VAL);
            for (size_t i = 0; i < DIM; i++) {
                assert_true(block_g[i * sys.shape.ld + bad] == 0.0);
            }
            for (size_t k = 0; k < n; k++) {
                if (k != bad) {
                    check_lane(t, &sys.shape, k);
                }
            }
        }
        relmc_target_destroy(t);
    }
}

static int not_a_number(size_t dim, const double *x, double *grad, double *lp,
                        void *ctx)
{
    (void)x, (void)ctx;
    *lp = (double)NAN;
    for (size_t i = 0; i < dim; i++) {
        grad[i] = (double)NAN;
    }
    return RELMC_OK;
}

static int not_a_number_lanes(size_t dim, size_t n, size_t ld, const double *x,
                              double *grad, double *lp, void *ctx)
{
    (void)x, (void)ctx;
    for (size_t k = 0; k < n; k++) {
        lp[k] = (double)NAN;
        for (size_t i = 0; i < dim; i++) {
            grad[i * ld + k] = (double)NAN;
        }
    }
    return RELMC_OK;
}

/* NaN rejects a point, and its gradient becomes 0. */
static void test_system__rejects_what_is_not_a_number(void **state)
{
    relmc_stream stream = {109, 0, 0, 0};

    (void)state;
    for (int is_point = 0; is_point < 2; is_point++) {
        relmc_target *t = NULL;

        assert_int_equal(
            is_point ? target_of_point(&t, DIM, not_a_number, NULL, NULL)
                     : target_of_lanes(&t, DIM, not_a_number_lanes, NULL, NULL),
            RELMC_OK);
        for (size_t n = 1; n <= MAX_LANES; n++) {
            relmc_system sys = system_of(t, n, RMC_BASELINE);

            fill_block(&sys.shape, &stream);
            assert_int_equal(relmc_eval(&sys, block_x, block_lp, block_g),
                             RELMC_OK);
            for (size_t k = 0; k < n; k++) {
                assert_true(block_lp[k] == -HUGE_VAL);
                for (size_t i = 0; i < DIM; i++) {
                    assert_true(block_g[i * sys.shape.ld + k] == 0.0);
                }
            }
        }
        relmc_target_destroy(t);
    }
}

static void test_system__ends_when_the_target_fails(void **state)
{
    struct quartic q = {0};
    relmc_stream stream = {103, 0, 0, 0};

    (void)state;
    for (int kind = 0; kind < N_KINDS; kind++) {
        relmc_target *t = new_target((enum kind)kind, &q);

        for (size_t n = 1; n <= MAX_LANES; n++) {
            relmc_system sys = system_of(t, n, RMC_BASELINE);

            fill_block(&sys.shape, &stream);
            block_x[n - 1] = -11.0;
            assert_int_equal(relmc_eval(&sys, block_x, block_lp, block_g),
                             RELMC_ETARGET);
            assert_int_equal(sys.error.status, RELMC_ETARGET);
            assert_non_null(
                strstr(sys.error.message, kind == SUBSET ? "-1" : "-42"));
        }
        relmc_target_destroy(t);
    }
}

/* An idle lane costs no call and keeps its numbers. */
static void test_system__leaves_idle_lanes_alone(void **state)
{
    struct quartic q = {0};
    relmc_target *t = new_target(POINT, &q);
    relmc_stream stream = {104, 0, 0, 0};
    const size_t n = 8;
    relmc_system sys = system_of(t, n, RMC_BASELINE);

    (void)state;
    fill_block(&sys.shape, &stream);
    memset(busy, 0, sizeof busy);
    busy[2] = busy[5] = 1;
    for (size_t j = 0; j < DIM * sys.shape.ld; j++) {
        block_g[j] = 5.0;
    }
    for (size_t k = 0; k < n; k++) {
        block_lp[k] = 6.0;
    }
    block_x[3] = -11.0; /* would end the run */
    assert_int_equal(relmc_eval(&sys, block_x, block_lp, block_g), RELMC_OK);
    assert_int_equal(q.n_calls, 2);
    check_lane(t, &sys.shape, 2);
    check_lane(t, &sys.shape, 5);
    for (size_t k = 0; k < n; k++) {
        if (!busy[k]) {
            assert_true(block_lp[k] == 6.0 && block_g[k] == 5.0);
        }
    }
    relmc_target_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_system__evaluates_lanes_like_points),
        cmocka_unit_test(test_system__gives_the_gradient_alone),
        cmocka_unit_test(test_system__rejects_single_lanes),
        cmocka_unit_test(test_system__rejects_what_is_not_a_number),
        cmocka_unit_test(test_system__ends_when_the_target_fails),
        cmocka_unit_test(test_system__leaves_idle_lanes_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
