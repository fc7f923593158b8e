/*
 * banana.c - a normal distribution bent into a parabola (Haario et al. 1999;
 * with these numbers the paper's Banana).
 *
 *   [banana]  lp = -(x_1^2 / sd^2 + r^2) / 2,  r = x_2 + bend x_1^2 - shift
 *
 * So x_1 ~ N(0, sd^2) and x_2 = shift - bend x_1^2 + z with z ~ N(0, 1).
 */
#include "base/base.h"

struct banana {
    double sd, bend, shift;
};

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    (void)self, (void)arena, (void)err;
    size->dim = 2;
    return RELMC_OK;
}

static int lanes(const void *self, const relmc_shape *s,
                 const double *restrict x, double *restrict lp,
                 double *restrict grad, relmc_error *err)
{
    const size_t ld = s->ld;
    const struct banana *m = self;
    const double w = 1.0 / (m->sd * m->sd), b = m->bend, shift = m->shift;

    (void)err;
    for (size_t k = 0; k < ld; k++) {
        const double x1 = x[k];
        const double r = rmc_fma(b * x1, x1, x[ld + k] - shift);

        lp[k] = -0.5 * rmc_fma(w * x1, x1, r * r);
        grad[k] = -x1 * rmc_fma(2.0 * b, r, w);
        grad[ld + k] = -r;
    }
    return RELMC_OK;
}

static void moments(const void *self, double *mean, double *variance)
{
    const struct banana *m = self;
    const double v = m->sd * m->sd, bv = m->bend * v;

    mean[0] = 0.0;
    mean[1] = m->shift - bv;
    variance[0] = v;
    variance[1] = 1.0 + 2.0 * bv * bv;
}

static void draw(const void *self, relmc_stream *stream, double *x)
{
    const struct banana *m = self;

    x[0] = m->sd * relmc_normal(stream);
    x[1] = m->shift - m->bend * x[0] * x[0] + relmc_normal(stream);
}

static const relmc_param params[] = {
    {"sd", "standard deviation of x_1", 1e-50, 1e50, 10,
     offsetof(struct banana, sd), RELMC_REAL},
    {"bend", "curvature of the ridge x_2 = shift - bend x_1^2", -1e50, 1e50,
     0.1, offsetof(struct banana, bend), RELMC_REAL},
    {"shift", "x_2 of the mode", -1e100, 1e100, 10,
     offsetof(struct banana, shift), RELMC_REAL},
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_banana) = {
    .info = {"model", "banana", "the paper's bent normal, 2 dimensions",
             params},
    .state_size = sizeof(struct banana),
    .init = init,
    .lanes = lanes,
    .moments = moments,
    .draw = draw,
};
