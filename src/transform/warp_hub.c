/* warp_hub.c - what a line and a square along a hub explain of the other coordinates. */
#include "transform/warp_fit_parts.h"

void rmc_fit_mean_of(size_t d, size_t n, const double *x, double *mean)
{
    memset(mean, 0, d * sizeof *mean);
    for (size_t t = 0; t < n; t++) {
        for (size_t i = 0; i < d; i++) {
            mean[i] += x[t * d + i] / (double)n;
        }
    }
}

struct rmc_fit_hub rmc_fit_look_along(struct rmc_warp_fit *f, relmc_layer *l,
                                      size_t hub, size_t n, const double *x)
{
    const double w = 1.0 / (double)n;
    struct rmc_fit_hub h = {0};
    double mean = 0.0, square = 0.0;

    for (size_t t = 0; t < n; t++) {
        mean += w * x[t * f->dim + hub];
    }
    for (size_t t = 0; t < n; t++) {
        const double e = x[t * f->dim + hub] - mean;
        square += w * e * e;
    }
    l->hub = hub;
    l->middle = mean;
    l->width = sqrt(square);
    for (size_t t = 0; t < n; t++) {
        const double s = (x[t * f->dim + hub] - mean) / l->width;

        f->s[t] = s;
        h.skew += w * s * s * s;
    }
    for (size_t t = 0; t < n; t++) {
        const double s = f->s[t];

        f->q[t] = s * s - h.skew * s - 1.0;
        h.norm2 += w * f->q[t] * f->q[t];
    }
    h.norm2 = h.norm2 > 1e-6 ? h.norm2 : 0.0; /* not for NaN */
    return h;
}

struct rmc_fit_shares rmc_fit_share(const struct rmc_warp_fit *f,
                                    const struct rmc_fit_hub *h, size_t n,
                                    const double *y, size_t stride)
{
    const double w = 1.0 / (double)n;
    struct rmc_fit_shares a = {0};

    for (size_t t = 0; t < n; t++) {
        a.mean += w * y[t * stride];
    }
    for (size_t t = 0; t < n; t++) {
        const double e = y[t * stride] - a.mean;

        a.variance += w * e * e;
        a.line += w * e * f->s[t];
        a.square += w * e * f->q[t];
    }
    a.square = h->norm2 > 0.0 ? a.square / h->norm2 : 0.0;
    a.without_line = a.variance - a.line * a.line;
    a.without_square = a.without_line - a.square * a.square * h->norm2;
    return a;
}
