/*
 * relativistic.c - the kinetic energy of special relativity: one speed limit
 * for the whole vector (the first K(p) of the paper).
 *
 *   [K-rel]    K(p) = |p|^2 / (m + M),   M = sqrt(m^2 + |p|^2/c^2)
 *   [v-rel]    dK/dp = p / M,  |dK/dp| < c
 *   [lap-rel]  lap K = d/M - |p|^2/(c^2 M^3)
 *
 * The rest energy m c^2 is left out, as in separable.c.
 */
#include "base/base.h"
#include "base/special.h"
#include "relmc_diag.h"

struct relativistic {
    double m, c, cruise;        /* as given: NaN if not */
    double mass, mass2, inv_c2; /* m, m^2, 1/c^2 */
    double beta;                /* m c^2 */
    /* [refresh] by rejection, see set_hat */
    double peak, rate, slope;
};

/*
 * [refresh]  With z ~ N(0, I) and e = |z|^2 / (2 b), e is Gamma(d/2) with rate b.
 * The wanted e = K / beta has density (e (2+e))^((d-2)/2) (1+e) exp(-beta e): the
 * ratio of the two is exp(h(e)) with h = (d-2)/2 log(2+e) + log(1+e) -
 * (beta - b) e, which is concave.  b is chosen such that the peak of h is where
 * the proposal has its mean, e* = d/(2 b); then exp(h(e) - h(e*)) is the
 * probability to accept, at least 0.65 for every d and beta.  The direction is
 * that of z, and the radius comes from z itself unless it was rejected.
 */
static void set_hat(struct relativistic *k, double d)
{
    double lo = -120.0, hi = 120.0;

    for (int n = 0; n < 100; n++) { /* the left side falls with e */
        const double mid = 0.5 * (lo + hi), e = rmc_exp(mid);

        if (0.5 * (d - 2.0) / (2.0 + e) + 1.0 / (1.0 + e) + 0.5 * d / e >
            k->beta) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    k->peak = rmc_exp(0.5 * (lo + hi));
    k->rate = 0.5 * d / k->peak;
    /* beta - b, from the equation just solved: no cancellation */
    k->slope = 0.5 * (d - 2.0) / (2.0 + k->peak) + 1.0 / (1.0 + k->peak);
}

static relmc_status init(void *self, relmc_arena *arena, size_t dim,
                         relmc_error *err)
{
    struct relativistic *k = self;

    (void)arena;
    if (k->m == k->m && k->cruise == k->cruise) {
        return rmc_fail(err, RELMC_EINVAL,
                        "relativistic: give m or cruise, not both");
    }
    if (k->cruise == k->cruise) {
        if (k->c != k->c) { /* [natural-c] E |v| as for K = |p|^2/2 */
            k->c =
                sqrt(2.0) * rmc_gamma_half_step(0.5 * (double)dim) / k->cruise;
        }
        k->beta = relmc_cruise_beta(dim, k->cruise);
        k->mass = k->beta / (k->c * k->c);
    } else {
        k->c = k->c == k->c ? k->c : 1.0;
        k->mass = k->m == k->m ? k->m : 1.0;
        k->beta = k->mass * k->c * k->c;
    }
    k->mass2 = k->mass * k->mass;
    k->inv_c2 = 1.0 / (k->c * k->c);
    set_hat(k, (double)dim);
    return RELMC_OK;
}

/* h(e) - h(peak) of set_hat */
static inline double log_accept(const struct relativistic *kin, double d,
                                double e)
{
    const double t = e - kin->peak;

    return rmc_fma(0.5 * (d - 2.0), rmc_log1p(t / (2.0 + kin->peak)),
                   rmc_fma(-kin->slope, t, rmc_log1p(t / (1.0 + kin->peak))));
}

static double draw_excess(const struct relativistic *kin, double d,
                          relmc_stream *stream)
{
    double e;

    do {
        e = rmc_draw_gamma(stream, 0.5 * d) / kin->rate;
    } while (!(rmc_log(rmc_draw_uniform(stream)) < log_accept(kin, d, e)));
    return e;
}

enum { CHUNK = 64 };

/* Lanes k0 .. k0 + n of p hold normals z: stretch them to momenta. */
static void stretch(const struct relativistic *kin, const relmc_shape *s,
                    relmc_stream *streams, size_t k0, size_t n, double *p)
{
    const double d = (double)s->dim;
    double r2[CHUNK] = {0}, u[CHUNK], odds[CHUNK];

    for (size_t i = 0; i < s->dim; i++) {
        for (size_t k = 0; k < n; k++) {
            const double z = p[i * s->ld + k0 + k];
            r2[k] = rmc_fma(z, z, r2[k]);
        }
    }
    rmc_fill_uniform(&(relmc_shape){1, n, n}, streams + k0, u);
    for (size_t k = 0; k < n; k++) {
        odds[k] = log_accept(kin, d, r2[k] / (2.0 * kin->rate)) - rmc_log(u[k]);
    }
    for (size_t k = 0; k < n; k++) {
        double e = r2[k] / (2.0 * kin->rate);
        double e_per_r2 = 1.0 / (2.0 * kin->rate);

        if (!(odds[k] > 0.0)) {
            e = draw_excess(kin, d, &streams[k0 + k]);
            e_per_r2 = e / r2[k];
        }
        /* |p|^2 = m beta e (2 + e) */
        r2[k] = sqrt(kin->mass * kin->beta * e_per_r2 * (2.0 + e));
    }
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t k = 0; k < n; k++) {
            p[i * s->ld + k0 + k] *= r2[k];
        }
    }
}

static void refresh(const void *self, const relmc_shape *s,
                    relmc_stream *streams, double *p)
{
    rmc_fill_normal(s, streams, p);
    for (size_t k = 0; k < s->lanes; k += CHUNK) {
        const size_t n = s->lanes - k < CHUNK ? s->lanes - k : CHUNK;
        stretch(self, s, streams, k, n, p);
    }
}

/* [K-rel] relativistic mass at |p|^2 = r2 */
static inline double rel_mass(const struct relativistic *kin, double r2)
{
    return sqrt(rmc_fma(r2, kin->inv_c2, kin->mass2));
}

/* [partial-refresh] [O-step] as in separable.c, with one W for the whole
 * vector. */
static void partial(const void *self, const relmc_shape *s,
                    relmc_stream *streams, const relmc_bath *bath,
                    double *restrict p, double *restrict work)
{
    const struct relativistic *kin = self;
    const relmc_shape one = {1, s->lanes, s->ld};
    const double T = bath->temperature;
    double *restrict z = work, *restrict w = work + rmc_cells(s);
    double *restrict keep = w + s->ld;

    rmc_fill_normal(&one, streams, z);
    rmc_norms2(s, p, w);
    for (size_t k = 0; k < s->ld; k++) {
        const double M = rel_mass(kin, w[k]);
        const double y = z[k] * z[k] * T * kin->inv_c2 / M;
        const double d = 1.0 + 0.5 * y + sqrt(rmc_fma(0.25 * y, y, y));

        w[k] = M;
        z[k] = d;
    }
    for (size_t k = 0; k < s->lanes; k++) {
        const double u = rmc_draw_uniform(&streams[k]);
        const double W =
            w[k] * (rmc_fma(u, 1.0 / z[k], u) <= 1.0 ? z[k] : 1.0 / z[k]);
        const double a =
            bath->rate > 0.0 ? rmc_exp(-bath->rate / W) : bath->keep;

        keep[k] = a;
        w[k] = sqrt((1.0 - a * a) * T * W);
    }
    rmc_fill_normal(s, streams, z);
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t k = 0; k < s->lanes; k++) {
            const size_t j = i * s->ld + k;
            p[j] = rmc_fma(keep[k], p[j], w[k] * z[j]);
        }
    }
}

static void energy(const void *self, const relmc_shape *s, const double *p,
                   double *e)
{
    const struct relativistic *kin = self;

    rmc_norms2(s, p, e);
    for (size_t k = 0; k < s->ld; k++) {
        e[k] /= kin->mass + rel_mass(kin, e[k]);
    }
}

/* Row 0 of v holds 1/M until it is that row's turn, last. */
static void velocity(const void *self, const relmc_shape *s,
                     const double *restrict p, double *restrict v)
{
    const struct relativistic *kin = self;

    rmc_norms2(s, p, v);
    for (size_t k = 0; k < s->ld; k++) {
        v[k] = 1.0 / rel_mass(kin, v[k]);
    }
    if (s->ld == 1) {
        const double w = v[0];
        for (size_t i = 0; i < s->dim; i++) {
            v[i] = w * p[i];
        }
        return;
    }
    for (size_t i = s->dim; i-- > 0;) {
        for (size_t k = 0; k < s->ld; k++) {
            v[i * s->ld + k] = v[k] * p[i * s->ld + k];
        }
    }
}

static void laplacian(const void *self, const relmc_shape *s, const double *p,
                      double *lap)
{
    const struct relativistic *kin = self;

    rmc_norms2(s, p, lap);
    for (size_t k = 0; k < s->ld; k++) {
        const double M = rel_mass(kin, lap[k]);
        lap[k] = ((double)s->dim - lap[k] * kin->inv_c2 / (M * M)) / M;
    }
}

/* [lap-rel] term by term: 1/M - p_i^2/(c^2 M^3) */
static void curvature(const void *self, const relmc_shape *s, const double *p,
                      double *out)
{
    const struct relativistic *kin = self;

    for (size_t k = 0; k < s->ld; k++) {
        double r2 = 0.0;

        for (size_t i = 0; i < s->dim; i++) {
            r2 = rmc_fma(p[i * s->ld + k], p[i * s->ld + k], r2);
        }
        const double M = rel_mass(kin, r2), w = kin->inv_c2 / (M * M);
        for (size_t i = 0; i < s->dim; i++) {
            const double q = p[i * s->ld + k];

            out[i * s->ld + k] = rmc_fma(-w * q, q, 1.0) / M;
        }
    }
}

static void speed(const void *self, const relmc_shape *s, const double *p,
                  double *out)
{
    const struct relativistic *kin = self;

    rmc_norms2(s, p, out);
    for (size_t k = 0; k < s->ld; k++) {
        out[k] = sqrt(out[k] * kin->inv_c2) / rel_mass(kin, out[k]);
    }
}

static double cruise(const void *self, size_t dim)
{
    return relmc_cruise_speed(dim, ((const struct relativistic *)self)->beta);
}

static const relmc_param params[] = {
    {"m", "rest mass m; default 1", 1e-12, 1e12, (double)NAN,
     offsetof(struct relativistic, m), RELMC_REAL},
    {"c",
     "speed of light c; default 1, or with cruise what makes E|v| that of "
     "Newtonian particles of mass 1",
     1e-12, 1e12, (double)NAN, offsetof(struct relativistic, c), RELMC_REAL},
    {"cruise", "mean speed over c, in place of m", 1e-6, 0.999999, (double)NAN,
     offsetof(struct relativistic, cruise), RELMC_REAL},
    {0},
};

const relmc_kinetic_ops RMC_ISA(rmc_kinetic_relativistic) = {
    .info = {"kinetic", "relativistic",
             "relativistic, one speed limit for the whole vector", params},
    .state_size = sizeof(struct relativistic),
    .init = init,
    .has_limit = 1,
    .refresh = refresh,
    .partial = partial,
    .energy = energy,
    .velocity = velocity,
    .laplacian = laplacian,
    .curvature = curvature,
    .speed = speed,
    .cruise = cruise,
};
