/*
 * logistic.c - logistic regression on made-up data with correlated covariates
 * of unequal scale.
 *
 *   [logistic]  lp = -|x|^2 / (2 sd^2) + sum_r (y_r z_r - log(1 + e^z_r)),
 *               z_r = sum_i a_ri x_i,
 *               grad = -x / sd^2 + sum_r (y_r - 1 / (1 + e^-z_r)) a_r
 *
 * The data are made of a stream of their own: a_r1 = 1, and a_ri = s_i (0.6 u_r
 * + 0.8 v_ri) with u, v normal and s_i = 1/9 .. 9; y_r = 1 with probability
 * 1 / (1 + e^-z_r) at x_i = effect N(0, 1) / s_i.  There are no exact draws.
 */
#include "../base/base.h"

#include <math.h>
#include <stdio.h>

enum {
    CELLS = 512, /* of z kept at a time: rows times lanes */
    WIDTH = 64   /* lanes at a time */
};

struct logistic {
    double dim, n, sd, effect, seed;
    double *by_row;    /* n x dim: a_ri */
    double *by_column; /* dim x n: the same */
    double *y;         /* n */
};

/* s_i; the intercept has 1 */
static double unit(size_t i)
{
    static const double units[] = {1.0 / 9, 1.0 / 3, 1.0, 3.0, 9.0};

    return i == 0 ? 1.0 : units[i % 5];
}

static void make_data(struct logistic *m, size_t dim, size_t n, double *truth)
{
    relmc_stream stream = {.seed = (uint64_t)m->seed,
                           .chain = UINT32_MAX,
                           .purpose = RELMC_FOR_MODEL};

    for (size_t i = 0; i < dim; i++) {
        truth[i] = m->effect * relmc_normal(&stream) / unit(i);
    }
    for (size_t r = 0; r < n; r++) {
        const double common = relmc_normal(&stream);
        double z = 0.0;

        for (size_t i = 0; i < dim; i++) {
            const double own = relmc_normal(&stream);
            const double a =
                i == 0 ? 1.0 : unit(i) * (0.6 * common + 0.8 * own);

            m->by_row[r * dim + i] = m->by_column[i * n + r] = a;
            z += a * truth[i];
        }
        m->y[r] = relmc_uniform(&stream) < 1.0 / (1.0 + rmc_exp(-z));
    }
}

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    struct logistic *m = self;
    const size_t dim = (size_t)m->dim, n = (size_t)m->n;
    const size_t bytes = n * dim * sizeof(double);

    size->dim = dim;
    m->by_row = relmc_arena_get(arena, bytes);
    m->by_column = relmc_arena_get(arena, bytes);
    m->y = relmc_arena_get(arena, n * sizeof(double));
    double *truth = relmc_arena_get(arena, dim * sizeof(double));
    const relmc_status status = relmc_arena_check(arena, err);
    if (!status) {
        make_data(m, dim, n, truth);
    }
    return status;
}

/* z = a x for some rows of data: an inner loop over lanes, or over rows if
 * there is one lane. */
static inline void predict(const struct logistic *m, size_t dim, size_t row,
                           size_t rows, size_t n, size_t ld,
                           const double *restrict x, double *restrict z)
{
    for (size_t j = 0; j < rows * n; j++) {
        z[j] = 0.0;
    }
    for (size_t i = 0; i < dim; i++) {
        const double *a = m->by_column + i * (size_t)m->n + row;

        for (size_t r = 0; r < rows; r++) {
            for (size_t k = 0; k < n; k++) {
                z[r * n + k] = rmc_fma(a[r], x[i * ld + k], z[r * n + k]);
            }
        }
    }
}

/* z becomes y - 1/(1 + e^-z), and term the log probability of y; both by cases,
 * so that no difference of nearly equal numbers is taken. */
static inline void judge(const double *restrict y, size_t rows, size_t n,
                         double *restrict z, double *restrict term)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t k = 0; k < n; k++) {
            const double at = z[r * n + k], e = rmc_exp(-fabs(at));
            const int is_right = (at > 0.0) == (y[r] > 0.0);
            const double missed = (is_right ? e : 1.0) / (1.0 + e);

            term[r * n + k] = (is_right ? 0.0 : -fabs(at)) - rmc_log1p(e);
            z[r * n + k] = y[r] > 0.0 ? missed : -missed;
        }
    }
}

/* n <= WIDTH lanes */
static inline void block(const struct logistic *m, size_t dim, size_t n,
                         size_t ld, const double *restrict x,
                         double *restrict grad, double *restrict lp)
{
    const size_t n_rows = (size_t)m->n, step = CELLS / n;
    const double w = 1.0 / (m->sd * m->sd);
    double z[CELLS] = {0}, term[CELLS] = {0};

    for (size_t k = 0; k < n; k++) {
        lp[k] = 0.0;
    }
    for (size_t i = 0; i < dim; i++) {
        for (size_t k = 0; k < n; k++) {
            const double b = x[i * ld + k];

            grad[i * ld + k] = -w * b;
            lp[k] = rmc_fma(-0.5 * w * b, b, lp[k]);
        }
    }
    for (size_t row = 0; row < n_rows; row += step) {
        const size_t rows = n_rows - row < step ? n_rows - row : step;

        predict(m, dim, row, rows, n, ld, x, z);
        judge(m->y + row, rows, n, z, term);
        for (size_t r = 0; r < rows; r++) {
            const double *a = m->by_row + (row + r) * dim;

            for (size_t k = 0; k < n; k++) {
                lp[k] += term[r * n + k];
            }
            for (size_t i = 0; i < dim; i++) {
                for (size_t k = 0; k < n; k++) {
                    grad[i * ld + k] =
                        rmc_fma(z[r * n + k], a[i], grad[i * ld + k]);
                }
            }
        }
    }
}

static int lanes(size_t dim, size_t n_lanes, size_t ld,
                 const double *restrict x, double *restrict grad,
                 double *restrict lp, void *ctx)
{
    (void)n_lanes;
    if (ld == 1) { /* as constants they leave no loops over lanes */
        block(ctx, dim, 1, 1, x, grad, lp);
        return RELMC_OK;
    }
    for (size_t k = 0; k < ld; k += WIDTH) {
        const size_t n = ld - k < WIDTH ? ld - k : WIDTH;

        block(ctx, dim, n, ld, x + k, grad + k, lp + k);
    }
    return RELMC_OK;
}

static void name(const void *self, size_t i, char *out, size_t bytes)
{
    (void)self;
    (void)snprintf(out, bytes, "beta.%zu", i + 1);
}

static const relmc_param params[] = {
    {"dim", "coefficients, the first is the intercept", 1, 1e4, 3,
     offsetof(struct logistic, dim), RELMC_INTEGER},
    {"n", "rows of data", 1, 1e6, 500, offsetof(struct logistic, n),
     RELMC_INTEGER},
    {"sd", "standard deviation of the normal prior", 1e-3, 1e6, 5,
     offsetof(struct logistic, sd), RELMC_REAL},
    {"effect", "size of the coefficients that made the data", 0, 100, 1,
     offsetof(struct logistic, effect), RELMC_REAL},
    {"seed", "of the data", 0, 1e15, 1, offsetof(struct logistic, seed),
     RELMC_INTEGER},
    {0},
};

const relmc_model_ops rmc_model_logistic = {
    .info = {"model", "logistic", "logistic regression on made-up data",
             params},
    .state_size = sizeof(struct logistic),
    .init = init,
    .lanes = lanes,
    .name = name,
};
