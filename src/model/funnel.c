/*
 * funnel.c - Neal's funnel (2003): a scale and what it scales.
 *
 *   [funnel]  v ~ N(0, sd^2),  x_i ~ N(0, e^v),  i = 1 .. n = dim - 1:
 *             lp = -v (v / sd^2 + n) / 2 - |y|^2 / 2,  y = x exp(-v/2)
 *             d lp / dv = -v / sd^2 - n/2 + |y|^2 / 2
 */
#include "base/base.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

struct funnel {
    double dim, sd;
};

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    const struct funnel *m = self;

    (void)arena, (void)err;
    size->dim = (size_t)m->dim;
    return RELMC_OK;
}

/* Row 0 of grad holds exp(-v/2) and lp holds |y|^2 until the end. */
static inline void evaluate(const struct funnel *m, size_t dim, size_t ld,
                            const double *restrict x, double *restrict grad,
                            double *restrict lp)
{
    const double w = 1.0 / (m->sd * m->sd), half_n = 0.5 * ((double)dim - 1.0);
    double *shrink = grad;

    for (size_t k = 0; k < ld; k++) {
        const double s = rmc_exp(-0.5 * x[k]);

        shrink[k] = s <= DBL_MAX ? s : DBL_MAX; /* 0 s is 0 */
        lp[k] = 0.0;
    }
    for (size_t i = 1; i < dim; i++) {
        double *restrict row = grad + i * ld;

        for (size_t k = 0; k < ld; k++) {
            const double y = shrink[k] * x[i * ld + k];

            row[k] = -shrink[k] * y;
            lp[k] = rmc_fma(y, y, lp[k]);
        }
    }
    for (size_t k = 0; k < ld; k++) {
        const double v = x[k], half_y2 = 0.5 * lp[k];

        grad[k] = rmc_fma(-w, v, half_y2 - half_n);
        lp[k] = rmc_fma(-v, rmc_fma(0.5 * w, v, half_n), -half_y2);
    }
}

static int lanes(const void *self, const relmc_shape *s,
                 const double *restrict x, double *restrict lp,
                 double *restrict grad, relmc_error *err)
{
    const size_t dim = s->dim, ld = s->ld;

    (void)err;
    if (ld == 1) { /* as a constant it leaves no loops over lanes */
        evaluate(self, dim, 1, x, grad, lp);
    } else {
        evaluate(self, dim, ld, x, grad, lp);
    }
    return RELMC_OK;
}

static void moments(const void *self, double *mean, double *variance)
{
    const struct funnel *m = self;
    const double v = m->sd * m->sd, e = rmc_exp(0.5 * v);

    for (size_t i = 0; i < (size_t)m->dim; i++) {
        mean[i] = 0.0;
        variance[i] = i == 0 ? v : e;
    }
}

static void draw(const void *self, relmc_stream *stream, double *x)
{
    const struct funnel *m = self;

    x[0] = m->sd * relmc_normal(stream);
    const double scale = rmc_exp(0.5 * x[0]);
    for (size_t i = 1; i < (size_t)m->dim; i++) {
        x[i] = scale * relmc_normal(stream);
    }
}

static size_t coordinate_name(const void *self, size_t i, char *out,
                              size_t room)
{
    (void)self;
    if (i == 0) {
        return (size_t)snprintf(out, room, "v");
    }
    return (size_t)snprintf(out, room, "x.%zu", i);
}

static const relmc_param params[] = {
    {"dim", "dimension, v included", 2, 1e6, 10, offsetof(struct funnel, dim),
     RELMC_INTEGER},
    {"sd", "standard deviation of v", 1e-6, 35, 3, offsetof(struct funnel, sd),
     RELMC_REAL},
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_funnel) = {
    .info = {"model", "funnel", "Neal's funnel", params},
    .state_size = sizeof(struct funnel),
    .init = init,
    .lanes = lanes,
    .moments = moments,
    .draw = draw,
    .coordinate_name = coordinate_name,
};
