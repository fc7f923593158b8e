/*
 * target.h - a target by callbacks for points, lanes and rows, with faults in its gradient.
 * Include it after cmocka.h.
 */
#ifndef TESTS_UNIT_TARGET_H
#define TESTS_UNIT_TARGET_H

#include "relmc.h"
#include "support/callback.h"

#include <math.h>
#include <string.h>

/* ---- a target in three shapes: lp = -sum w_i x_i^4 / 4, w_i = i + 1 --------
 * No density where x_0 > 10, failure for good where x_0 < -10. */

enum { DIM = 5 };

enum fault { RIGHT, SCALED, FLIPPED, NOT_A_NUMBER, SHIFTED };

struct quartic {
    enum fault fault; /* of the gradient */
    size_t where;     /* the coordinate with the fault */
    int n_calls;
};

static inline double wrong(const struct quartic *q, size_t i, double slope)
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

static inline int point(size_t dim, const double *x, double *grad, double *lp,
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

static inline int lanes(size_t dim, size_t n, size_t ld, const double *x,
                        double *grad, double *lp, void *ctx)
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

static inline int subset(size_t dim, const double *x, const uint32_t *rows,
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

static inline relmc_target *new_target(enum kind kind, struct quartic *q)
{
    relmc_target *t = NULL;
    const relmc_status status =
        kind == POINT   ? target_of_point(&t, DIM, point, q, NULL)
        : kind == LANES ? target_of_lanes(&t, DIM, lanes, q, NULL)
                        : target_of_rows(&t, DIM, N_DATA, subset, q, NULL);

    assert_int_equal(status, RELMC_OK);
    return t;
}

#endif
