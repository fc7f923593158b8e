/*
 * newtonian.c - the kinetic energy of ordinary HMC.
 *
 *   [K-newton]  K(p) = |p|^2 / 2m,   dK/dp = p / m,   lap K = d / m
 */
#include "base/base.h"

struct newtonian {
    double m;
};

static void refresh(const void *self, const relmc_shape *s,
                    relmc_stream *streams, double *p)
{
    const double sd = sqrt(((const struct newtonian *)self)->m);
    const size_t n = rmc_cells(s);

    rmc_fill_normal(s, streams, p);
    for (size_t j = 0; j < n; j++) {
        p[j] *= sd;
    }
}

/* [partial-refresh] [O-step] with the constant W = m: an autoregression. */
static void partial(const void *self, const relmc_shape *s,
                    relmc_stream *streams, const relmc_bath *bath, double *p,
                    double *work)
{
    const double m = ((const struct newtonian *)self)->m;
    const double a = bath->rate > 0.0 ? rmc_exp(-bath->rate / m) : bath->keep;
    const double b = sqrt((1.0 - a * a) * bath->temperature * m);
    const size_t n = rmc_cells(s);

    rmc_fill_normal(s, streams, work);
    for (size_t j = 0; j < n; j++) {
        p[j] = rmc_fma(a, p[j], b * work[j]);
    }
}

static void energy(const void *self, const relmc_shape *s,
                   const double *restrict p, double *restrict e)
{
    const double w = 0.5 / ((const struct newtonian *)self)->m;

    rmc_norms2(s, p, e);
    for (size_t k = 0; k < s->ld; k++) {
        e[k] *= w;
    }
}

static void velocity(const void *self, const relmc_shape *s,
                     const double *restrict p, double *restrict v)
{
    const double w = 1.0 / ((const struct newtonian *)self)->m;
    const size_t n = rmc_cells(s);

    for (size_t j = 0; j < n; j++) {
        v[j] = w * p[j];
    }
}

static void laplacian(const void *self, const relmc_shape *s, const double *p,
                      double *lap)
{
    (void)p;
    for (size_t k = 0; k < s->ld; k++) {
        lap[k] = (double)s->dim / ((const struct newtonian *)self)->m;
    }
}

static void curvature(const void *self, const relmc_shape *s, const double *p,
                      double *out)
{
    const size_t n = rmc_cells(s);

    (void)p;
    for (size_t j = 0; j < n; j++) {
        out[j] = 1.0 / ((const struct newtonian *)self)->m;
    }
}

/* Nothing limits the speed: the plain mean of |v_i|. */
static void speed(const void *self, const relmc_shape *s,
                  const double *restrict p, double *restrict out)
{
    const double w =
        1.0 / (((const struct newtonian *)self)->m * (double)s->dim);

    for (size_t k = 0; k < s->ld; k++) {
        out[k] = 0.0;
    }
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t k = 0; k < s->ld; k++) {
            out[k] = rmc_fma(w, fabs(p[i * s->ld + k]), out[k]);
        }
    }
}

/* The rate is part of what is kept. */
static void push_float(const void *self, const relmc_shape *s,
                       const relmc_push *by, const float *restrict g,
                       float *restrict p, float *restrict x)
{
    const double m = ((const struct newtonian *)self)->m;
    const float keep = (float)((double)by->keep - (double)by->rate / m);
    const float kick = by->kick, shrink = by->shrink;
    const float drift = (float)((double)by->drift / m);
    const size_t n = rmc_cells(s);

    for (size_t j = 0; j < n; j++) {
        const float to = keep * p[j] + kick * g[j];

        p[j] = to;
        x[j] = shrink * x[j] + drift * to;
    }
}

/* Sums side by side, so that one lane vectorises. */
static inline void weigh_lane(size_t n, size_t ld, const float *restrict p,
                              double *squares, double *sizes)
{
    enum { SUMS = 8 };
    double square[SUMS] = {0}, size[SUMS] = {0};

    size_t i = 0;

    for (; i + SUMS <= n; i += SUMS) {
        for (size_t j = 0; j < SUMS; j++) {
            const double at = (double)p[(i + j) * ld];

            square[j] += at * at;
            size[j] += fabs(at);
        }
    }
    for (; i < n; i++) {
        const double at = (double)p[i * ld];

        square[i % SUMS] += at * at;
        size[i % SUMS] += fabs(at);
    }
    *squares = *sizes = 0.0;
    for (size_t j = 0; j < SUMS; j++) {
        *squares += square[j];
        *sizes += size[j];
    }
}

static void weigh_float(const void *self, const relmc_shape *s, const float *p,
                        double *energy, double *speed)
{
    const double w = 1.0 / ((const struct newtonian *)self)->m;

    for (size_t k = 0; k < s->lanes; k++) {
        double squares, sizes;

        if (s->ld == 1) { /* a constant, for the compiler */
            weigh_lane(s->dim, 1, p, &squares, &sizes);
        } else {
            weigh_lane(s->dim, s->ld, p + k, &squares, &sizes);
        }
        energy[k] = 0.5 * w * squares;
        speed[k] = w * sizes / (double)s->dim;
    }
}

static double cruise(const void *self, size_t dim)
{
    const double two_over_pi = 0.63661977236758134308;

    (void)dim;
    return sqrt(two_over_pi / ((const struct newtonian *)self)->m);
}

static const relmc_param params[] = {
    {"m", "mass m", 1e-12, 1e12, 1.0, offsetof(struct newtonian, m),
     RELMC_REAL},
    {0},
};

const relmc_kinetic_ops RMC_ISA(rmc_kinetic_newtonian) = {
    .info = {"kinetic", "newtonian", "Gaussian momentum, ordinary HMC", params},
    .state_size = sizeof(struct newtonian),
    .refresh = refresh,
    .partial = partial,
    .energy = energy,
    .velocity = velocity,
    .laplacian = laplacian,
    .curvature = curvature,
    .speed = speed,
    .cruise = cruise,
    .push_float = push_float,
    .weigh_float = weigh_float,
};
