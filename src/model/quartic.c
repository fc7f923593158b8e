/*
 * quartic.c - light tails: independent coordinates with an even power.
 *
 *   [quartic]  lp = -sum_i x_i^q,  d lp / dx_i = -q x_i^(q-1),  q = 2, 4, 6 ...
 *
 * |x|^q ~ Gamma(1/q).  Since Gamma(s) has the law of U^(1/s) Gamma(s + 1), an
 * exact draw is x = u Gamma(1 + 1/q)^(1/q) with u uniform in (-1, 1).
 */
#include "base/base.h"

#include <math.h>

struct quartic {
    double dim, power;
};

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    const struct quartic *m = self;

    (void)arena;
    if ((size_t)m->power % 2 != 0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "quartic: power must be even, not %g", m->power);
    }
    size->dim = (size_t)m->dim;
    return RELMC_OK;
}

static inline void evaluate(double power, size_t dim, size_t ld,
                            const double *restrict x, double *restrict grad,
                            double *restrict lp)
{
    const size_t n = dim * ld, half = (size_t)power / 2;

    for (size_t j = 0; j < n; j++) {
        grad[j] = -power * x[j];
    }
    for (size_t q = 1; q < half; q++) {
        for (size_t j = 0; j < n; j++) {
            grad[j] *= x[j] * x[j];
        }
    }
    for (size_t k = 0; k < ld; k++) {
        lp[k] = 0.0;
    }
    for (size_t i = 0; i < dim; i++) {
        for (size_t k = 0; k < ld; k++) {
            lp[k] = rmc_fma(grad[i * ld + k], x[i * ld + k], lp[k]);
        }
    }
    for (size_t k = 0; k < ld; k++) {
        lp[k] /= power;
    }
}

static int lanes(const void *self, const relmc_shape *s,
                 const double *restrict x, double *restrict lp,
                 double *restrict grad, relmc_error *err)
{
    const size_t dim = s->dim, ld = s->ld;
    const struct quartic *m = self;

    (void)err;
    if (ld == 1) { /* as a constant it leaves no loops over lanes */
        evaluate(m->power, dim, 1, x, grad, lp);
    } else {
        evaluate(m->power, dim, ld, x, grad, lp);
    }
    return RELMC_OK;
}

/* log Gamma(z) - (z - 1/2) log z + z - log(2 pi)/2, for z > 20 */
static double stirling(double z)
{
    const double y = 1.0 / (z * z);

    return (1.0 / 12 + y * (-1.0 / 360 + y * (1.0 / 1260 - y / 1680))) / z;
}

/*
 * [gamma-ratio]  Gamma(z + d) / Gamma(z) for z >= 1 and 0 <= d <= 1: pushed up
 * to z > 20 by Gamma(z + 1) = z Gamma(z), then the difference of two Stirling
 * series, written so that no large logarithms cancel.
 */
static double gamma_ratio(double z, double d)
{
    double ratio = 1.0;

    for (int n = 0; n < 20; n++) {
        ratio *= z / (z + d);
        z += 1.0;
    }
    return ratio *
           rmc_exp((z + d - 0.5) * rmc_log1p(d / z) + d * (rmc_log(z) - 1.0) +
                   stirling(z + d) - stirling(z));
}

/* E x^2 = Gamma(3/q) / Gamma(1/q) = Gamma(1 + 3/q) / (3 Gamma(1 + 1/q)) */
static void moments(const void *self, double *mean, double *variance)
{
    const struct quartic *m = self;
    const double s = 1.0 / m->power, e = gamma_ratio(1.0 + s, 2.0 * s) / 3.0;

    for (size_t i = 0; i < (size_t)m->dim; i++) {
        mean[i] = 0.0;
        variance[i] = e;
    }
}

static void draw(const void *self, relmc_stream *stream, double *x)
{
    const struct quartic *m = self;
    const double s = 1.0 / m->power;

    for (size_t i = 0; i < (size_t)m->dim; i++) {
        const double u = 2.0 * relmc_uniform(stream) - 1.0;

        x[i] = u * rmc_exp(s * rmc_log(relmc_gamma(stream, 1.0 + s)));
    }
}

static const relmc_param params[] = {
    {"dim", "dimension", 1, 1e6, 2, offsetof(struct quartic, dim),
     RELMC_INTEGER},
    {"power", "even power q", 2, 64, 4, offsetof(struct quartic, power),
     RELMC_INTEGER},
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_quartic) = {
    .info = {"model", "quartic", "x^4 or a higher even power, light tails",
             params},
    .state_size = sizeof(struct quartic),
    .init = init,
    .lanes = lanes,
    .moments = moments,
    .draw = draw,
};
