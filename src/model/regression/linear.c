/*
 * linear.c - linear regression with normal errors, on data that are given, or
 * made up with correlated covariates of unequal scale.
 *
 *   [linear]  y_r ~ N(z_r, sigma^2),  z_r = sum_i a_ri x_i,
 *             x ~ N(0, sd^2),  s = log sigma ~ N(0, log_sigma_sd^2):
 *             lp = -|x|^2 / (2 sd^2) - s^2 / (2 log_sigma_sd^2)
 *                  - n (s + log(2 pi) / 2) - R / (2 sigma^2),
 *             R = sum_r (y_r - z_r)^2
 *
 * Coordinates are the intercept, if there is one, the coefficients, and s last.
 */
#include "model/regression/glm_inline.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#define HALF_LOG_2PI 0x1.d67f1c864beb5p-1

struct linear {
    rmc_regression on;
    double sigma, log_sigma_sd;
};

struct tally {
    double square[RMC_CELLS];
};

/* ---- lp and its gradient -------------------------------------------------- */

static double answer(double y)
{
    return y;
}

RMC_INLINED void judge(size_t columns, const rmc_answers *is,
                       double *restrict z, void *tally)
{
    double *restrict square = ((struct tally *)tally)->square;
    const size_t cells = RMC_ROWS * columns;

    for (size_t at = 0; at < is->blocks * cells; at += cells) {
        for (size_t j = 0; j < cells; j++) {
            z[at + j] = is->y[(at + j) / columns] - z[at + j];
        }
    }
    for (size_t j = is->n * columns; j < is->blocks * cells; j++) {
        z[j] = 0.0;
    }
    for (size_t at = 0; at < is->blocks * cells; at += cells) {
        for (size_t j = 0; j < cells; j++) {
            square[j] = rmc_fma(z[at + j], z[at + j], square[j]);
        }
    }
}

static void finish(const rmc_regression *g, rmc_panel_shape l,
                   const relmc_rows *rows, const rmc_panel *p, const double *x,
                   double *grad, double *lp)
{
    const struct linear *m = (const struct linear *)(const void *)g;
    const struct tally *t = (const void *)p->tally;
    const double w = 1.0 / (m->log_sigma_sd * m->log_sigma_sd);
    const double n = (double)rows->n;
    const rmc_panel_shape lane = {1, l.ld, l.columns};

    for (size_t k = 0; k < l.n; k++) {
        const size_t last = g->size * l.ld + k;
        const double s = x[last], precision = rmc_exp(-2.0 * s);
        const double all = rmc_fold(t->square, l.columns, k) * precision;
        const double misfit =
            all <= DBL_MAX ? all : HUGE_VAL; /* inf x 0, too */

        lp[k] = rows->scale * rmc_fma(-n, s + HALF_LOG_2PI, -0.5 * misfit);
        lp[k] = rmc_fma(-0.5 * w * s, s, lp[k]);
        grad[last] = rmc_fma(rows->scale, misfit - n, -w * s);
        rmc_finish(g, lane, rows->scale * precision, x + k, p->slope + k,
                   p->sum + k, grad + k, lp + k);
    }
}

static void predict_row(const rmc_regression *g, const double *x, double z,
                        double *out)
{
    out[0] = z;
    out[1] = rmc_exp(x[g->size]);
}

static const rmc_glm own = {"linear", sizeof(struct tally), answer, judge,
                            finish,   predict_row};

RMC_KERNEL void pass(const rmc_regression *g, rmc_panel_shape l,
                     const double *x, const relmc_rows *rows, double *grad,
                     double *lp)
{
    rmc_glm_pass(g, &own, l, x, rows, grad, lp);
}

static int rows(const void *self, const relmc_shape *s, const double *x,
                const relmc_rows *some, double *lp, double *grad,
                relmc_error *err)
{
    (void)err;
    return rmc_pass_lanes(self, pass, RMC_LANES, s, x, some, grad, lp);
}

/* ---- data ----------------------------------------------------------------- */

static void fill_in(const rmc_regression *g, relmc_size *size)
{
    rmc_glm_size(g, &own, size);
    size->dim++;
}

static double respond(const rmc_regression *g, relmc_stream *stream,
                      const double *a, const double *truth)
{
    const struct linear *m = (const struct linear *)(const void *)g;
    const double z = rmc_made_up_dot((size_t)g->dim, a, truth);

    return z + m->sigma * relmc_normal(stream);
}

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    const relmc_status status =
        rmc_make_up(self, own.name, 1, respond, arena, err);

    if (!status) {
        fill_in(self, size);
    }
    return status;
}

static relmc_status bind(void *self, relmc_arena *arena, const relmc_data *data,
                         relmc_size *size, relmc_error *err)
{
    (void)arena;
    if (data->n_classes) {
        return rmc_fail(err, RELMC_EINVAL,
                        "linear: the response must be a number (n_classes 0), "
                        "not one of %zu classes",
                        data->n_classes);
    }
    rmc_regression_bind(self, data);
    fill_in(self, size);
    return RELMC_OK;
}

static relmc_status predict(const void *self, const double *x,
                            const relmc_data *data, void *scratch, double *out,
                            relmc_error *err)
{
    return rmc_glm_predict(self, &own, x, data, scratch, out, err);
}

static size_t coordinate_name(const void *self, size_t i, char *out,
                              size_t room)
{
    const rmc_regression *g = self;

    if (i == g->size) {
        return (size_t)snprintf(out, room, "log_sigma");
    }
    return rmc_regression_name(g, i, out, room);
}

static const relmc_param params[] = {
    RMC_PARAMS_OF_SIZE(100, ""),
    {"sigma", "of the errors of made-up data", 0, 1e6, 1,
     offsetof(struct linear, sigma), RELMC_REAL},
    RMC_PARAM_SD,
    {"log_sigma_sd", "standard deviation of the prior of log sigma", 1e-3, 1e6,
     2, offsetof(struct linear, log_sigma_sd), RELMC_REAL},
    RMC_PARAMS_OF_TRUTH(""),
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_linear) = {
    .info = {"model", "linear",
             "linear regression with normal errors, on your data or made-up "
             "ones",
             params},
    .state_size = sizeof(struct linear),
    .init = init,
    .bind = bind,
    .rows = rows,
    .predict = predict,
    .coordinate_name = coordinate_name,
};
