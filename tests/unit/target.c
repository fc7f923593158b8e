/*
 * target.c - the three kinds of callback give the same target, failures are distinguished,
 * and the gradient check finds wrong gradients.
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
#include "target/target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a target in three shapes: lp = -sum w_i x_i^4 / 4, w_i = i + 1 --------
 * No density where x_0 > 10, failure for good where x_0 < -10. */

enum { DIM = 5, MAX_LANES = 11, MAX_LD = 16 };

enum fault { RIGHT, SCALED, FLIPPED, NOT_A_NUMBER, SHIFTED };

struct quartic {
    enum fault fault; /* of the gradient */
    size_t where;     /* the coordinate with the fault */
    int n_calls;
};

static double wrong(const struct quartic *q, size_t i, double slope)
{
    if (q->fault == SCALED) {
        return 1.1 * slope; /* in all coordinates */
    }
    if (i != q->where) {
        return slope;
    }
    switch (q->fault) {
    case FLIPPED:
        return -slope;
    case NOT_A_NUMBER:
        return (double)NAN;
    case SHIFTED:
        return slope + 1e-4;
    default:
        return slope;
    }
}

static int point(size_t dim, const double *x, double *grad, double *lp,
                 void *ctx)
{
    struct quartic *q = ctx;
    double sum = 0.0;

    q->n_calls++;
    if (x[0] > 10.0) {
        grad[0] = (double)NAN; /* must not be used */
        return RELMC_REJECT;
    }
    if (x[0] < -10.0) {
        return -42;
    }
    for (size_t i = 0; i < dim; i++) {
        const double w = (double)(i + 1), cube = x[i] * x[i] * x[i];

        sum -= 0.25 * w * cube * x[i];
        grad[i] = wrong(q, i, -w * cube);
    }
    *lp = sum;
    return RELMC_OK;
}

static int lanes(size_t dim, size_t n, size_t ld, const double *x, double *grad,
                 double *lp, void *ctx)
{
    for (size_t k = 0; k < n; k++) {
        double at[DIM] = {0}, slope[DIM];

        for (size_t i = 0; i < dim; i++) {
            at[i] = x[i * ld + k];
        }
        const int code = point(dim, at, slope, &lp[k], ctx);
        if (code < 0) {
            return code;
        }
        for (size_t i = 0; i < dim; i++) {
            grad[i * ld + k] = code ? 0.0 : slope[i];
        }
        if (code) {
            lp[k] = -HUGE_VAL;
        }
    }
    return RELMC_OK;
}

/* Data: row j is the term of coordinate j % dim, 1/n_copies of it. */
enum { N_COPIES = 4, N_DATA = DIM * N_COPIES };

static int subset(size_t dim, const double *x, const uint32_t *rows,
                  size_t n_rows, double scale, double *grad, double *lp,
                  void *ctx)
{
    (void)ctx;
    if (x[0] > 10.0) {
        return 7; /* any positive number rejects */
    }
    if (x[0] < -10.0) {
        return -1;
    }
    *lp = 0.0;
    memset(grad, 0, dim * sizeof *grad);
    for (size_t j = 0; j < n_rows; j++) {
        const size_t i = rows[j] % dim;
        const double w = (double)(i + 1) / N_COPIES;
        const double cube = x[i] * x[i] * x[i];

        *lp -= scale * 0.25 * w * cube * x[i];
        grad[i] -= scale * w * cube;
    }
    return RELMC_OK;
}

enum kind { POINT, LANES, SUBSET, N_KINDS };

static relmc_target *new_target(enum kind kind, struct quartic *q)
{
    relmc_target *t = NULL;
    const relmc_status status =
        kind == POINT   ? target_of_point(&t, DIM, point, q, NULL)
        : kind == LANES ? target_of_lanes(&t, DIM, lanes, q, NULL)
                        : target_of_rows(&t, DIM, N_DATA, subset, q, NULL);

    assert_int_equal(status, RELMC_OK);
    return t;
}

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

/* ---- evaluating all lanes of a system ----------------------------------- */

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
        cmocka_unit_test(test_system__evaluates_lanes_like_points),
        cmocka_unit_test(test_system__gives_the_gradient_alone),
        cmocka_unit_test(test_system__rejects_single_lanes),
        cmocka_unit_test(test_system__rejects_what_is_not_a_number),
        cmocka_unit_test(test_system__ends_when_the_target_fails),
        cmocka_unit_test(test_system__leaves_idle_lanes_alone),
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
