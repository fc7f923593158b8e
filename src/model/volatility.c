/*
 * volatility.c - stochastic volatility: a hidden autoregression h that sets
 * the variances of made-up data y, centred.
 *
 *   [volatility]  h_1 ~ N(mu, sigma^2/(1 - phi^2)),
 *                 h_t ~ N(mu + phi (h_(t-1) - mu), sigma^2),
 *                 y_t ~ N(0, exp(h_t));
 *                 mu ~ N(0, 5^2),  s = log sigma ~ N(-1.5, 1),
 *                 w = atanh phi with density N(w; 1.5, 1) / cosh(w)^2
 *   coordinates mu, w, s, h:
 *     lp = -mu^2/50 - (w - 1.5)^2/2 - (s + 1.5)^2/2 + (3/2) log(1 - phi^2)
 *          - sum_t (s + z_t^2/2) - sum_t (h_t + y_t^2 e^-h_t)/2,
 *     z_1 = (h_1 - mu) sqrt(1 - phi^2)/sigma,
 *     z_t = (h_t - mu - phi (h_(t-1) - mu))/sigma
 *
 * The data are made with mu = -1, phi = 0.95, sigma = 0.2 from a stream of
 * their own.  There are no exact draws.
 */
#include "base/base.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum {
    OTHERS = 3, /* coordinates before h */
    WIDTH = 64  /* lanes worked on at a time */
};

struct volatility {
    double n, seed;
    double *y2; /* n: y_t^2 */
};

static void make_data(struct volatility *m)
{
    const double mu = -1.0, phi = 0.95, sigma = 0.2;
    relmc_stream stream = {.seed = (uint64_t)m->seed,
                           .chain = UINT32_MAX,
                           .purpose = RELMC_FOR_MODEL};
    double h = sigma / sqrt(1.0 - phi * phi) * relmc_normal(&stream);

    for (size_t t = 0; t < (size_t)m->n; t++) {
        const double e = relmc_normal(&stream);

        m->y2[t] = rmc_exp(mu + h) * e * e;
        h = phi * h + sigma * relmc_normal(&stream);
    }
}

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    struct volatility *m = self;

    size->dim = (size_t)m->n + OTHERS;
    m->y2 = relmc_arena_get(arena, (size_t)m->n * sizeof(double));
    const relmc_status status = relmc_arena_check(arena, err);
    if (!status) {
        make_data(m);
    }
    return status;
}

/* exp(t), small enough for 0 exp(t) to be 0 */
static inline double bounded_exp(double t)
{
    const double e = rmc_exp(t);

    return e <= DBL_MAX ? e : DBL_MAX;
}

/* What the lanes have in common with their autoregression. */
struct law {
    double phi[WIDTH], fresh[WIDTH]; /* fresh: 1 - phi^2 */
    double precise[WIDTH];           /* 1 / sigma */
};

/* The priors, and what is needed of mu, w and s. */
static inline void start(struct law *law, double n_obs, size_t n, size_t ld,
                         const double *restrict x, double *restrict grad,
                         double *restrict lp)
{
    const double log_4 = 1.3862943611198906188;

    for (size_t k = 0; k < n; k++) {
        const double mu = x[k], w = x[ld + k], s = x[2 * ld + k];
        const double e = rmc_exp(-2.0 * fabs(w)), a = 1.0 / (1.0 + e);
        const double phi = (w < 0.0 ? -a : a) * (1.0 - e);
        const double log_fresh = log_4 - 2.0 * (fabs(w) + rmc_log1p(e));

        law->phi[k] = phi;
        law->fresh[k] = 4.0 * e * a * a;
        law->precise[k] = bounded_exp(-s);
        grad[k] = -0.04 * mu;
        grad[ld + k] = 1.5 - w - 3.0 * phi;
        grad[2 * ld + k] = -1.5 - s - n_obs;
        lp[k] = 1.5 * log_fresh - n_obs * s - 0.02 * mu * mu -
                0.5 * (w - 1.5) * (w - 1.5) - 0.5 * (s + 1.5) * (s + 1.5);
    }
}

static inline void observe(const double *restrict y2, size_t n_obs, size_t n,
                           size_t ld, const double *restrict h,
                           double *restrict grad, double *restrict lp)
{
    for (size_t t = 0; t < n_obs; t++) {
        for (size_t k = 0; k < n; k++) {
            grad[t * ld + k] = y2[t] * bounded_exp(-h[t * ld + k]);
        }
    }
    for (size_t t = 0; t < n_obs; t++) {
        for (size_t k = 0; k < n; k++) {
            const double e = grad[t * ld + k];

            lp[k] -= 0.5 * (h[t * ld + k] + e);
            grad[t * ld + k] = 0.5 * (e - 1.0);
        }
    }
}

static inline void first(const struct law *law, size_t n, size_t ld,
                         const double *restrict x, double *restrict grad,
                         double *restrict lp)
{
    for (size_t k = 0; k < n; k++) {
        const double root = sqrt(law->fresh[k]) * law->precise[k];
        const double z = (x[OTHERS * ld + k] - x[k]) * root, z2 = z * z;

        grad[OTHERS * ld + k] = rmc_fma(-z, root, grad[OTHERS * ld + k]);
        grad[k] = rmc_fma(z, root, grad[k]);
        grad[ld + k] = rmc_fma(law->phi[k], z2, grad[ld + k]);
        grad[2 * ld + k] += z2;
        lp[k] = rmc_fma(-0.5, z2, lp[k]);
    }
}

static inline void follow(const struct law *law, size_t n_obs, size_t n,
                          size_t ld, const double *restrict x,
                          double *restrict grad, double *restrict lp)
{
    for (size_t t = 1; t < n_obs; t++) {
        const double *restrict h = x + (OTHERS + t) * ld, *restrict h0 = h - ld;
        double *restrict row = grad + (OTHERS + t) * ld;
        double *restrict row0 = row - ld;

        for (size_t k = 0; k < n; k++) {
            const double phi = law->phi[k], before = h0[k] - x[k];
            const double z =
                rmc_fma(-phi, before, h[k] - x[k]) * law->precise[k];
            const double q = z * law->precise[k];

            row[k] -= q;
            row0[k] = rmc_fma(phi, q, row0[k]);
            grad[k] = rmc_fma(1.0 - phi, q, grad[k]);
            grad[ld + k] = rmc_fma(law->fresh[k] * before, q, grad[ld + k]);
            grad[2 * ld + k] = rmc_fma(z, z, grad[2 * ld + k]);
            lp[k] = rmc_fma(-0.5 * z, z, lp[k]);
        }
    }
}

/* n <= WIDTH lanes */
static inline void block(const struct volatility *m, size_t n, size_t ld,
                         const double *restrict x, double *restrict grad,
                         double *restrict lp)
{
    const size_t n_obs = (size_t)m->n;
    struct law law;

    start(&law, m->n, n, ld, x, grad, lp);
    observe(m->y2, n_obs, n, ld, x + OTHERS * ld, grad + OTHERS * ld, lp);
    first(&law, n, ld, x, grad, lp);
    follow(&law, n_obs, n, ld, x, grad, lp);
}

static int lanes(const void *self, const relmc_shape *s,
                 const double *restrict x, double *restrict lp,
                 double *restrict grad, relmc_error *err)
{
    const size_t ld = s->ld;

    (void)err;
    if (ld == 1) { /* as constants they leave no loops over lanes */
        block(self, 1, 1, x, grad, lp);
        return RELMC_OK;
    }
    for (size_t k = 0; k < ld; k += WIDTH) {
        const size_t n = ld - k < WIDTH ? ld - k : WIDTH;

        block(self, n, ld, x + k, grad + k, lp + k);
    }
    return RELMC_OK;
}

static size_t coordinate_name(const void *self, size_t i, char *out,
                              size_t room)
{
    static const char *const names[OTHERS] = {"mu", "atanh_phi", "log_sigma"};

    (void)self;
    if (i < OTHERS) {
        return (size_t)snprintf(out, room, "%s", names[i]);
    }
    return (size_t)snprintf(out, room, "h.%zu", i - OTHERS + 1);
}

static const relmc_param params[] = {
    {"n", "observations; the dimension is n + 3", 1, 1e6, 100,
     offsetof(struct volatility, n), RELMC_INTEGER},
    {"seed", "of the data", 0, 1e15, 1, offsetof(struct volatility, seed),
     RELMC_INTEGER},
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_volatility) = {
    .info = {"model", "volatility", "stochastic volatility on made-up data",
             params},
    .state_size = sizeof(struct volatility),
    .init = init,
    .lanes = lanes,
    .coordinate_name = coordinate_name,
};
