/*
 * schools.c - eight schools (Rubin 1981): a mean, a scale, and what they
 * govern, centred or not.
 *
 *   [schools]  mu ~ N(0, 5^2),  tau ~ half-Cauchy(5),  theta_j ~ N(mu, tau^2),
 *              y_j ~ N(theta_j, sigma_j^2);  t = log tau.
 *   centred, coordinates mu, t, theta:
 *     lp = prior(mu, t) - sum_j (t + z_j^2/2 + f_j^2/2),
 *     z_j = (theta_j - mu) / tau,  f_j = (theta_j - y_j) / sigma_j
 *   not centred, coordinates mu, t, eta with theta = mu + tau eta:
 *     lp = prior(mu, t) - sum_j (eta_j^2/2 + f_j^2/2)
 *   prior(mu, t) = t - log(1 + tau^2/25) - mu^2/50
 *
 * Without mu and theta the likelihood of tau is a number, which never exceeds
 * `top`: tau is drawn from its prior and accepted with exp(log_marginal - top),
 * then mu and theta are normal.  So the draws are exact, and moments need one
 * integral over t.
 */
#include "base/base.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum {
    SCHOOLS = 8,
    DIM = SCHOOLS + 2,
    WIDTH = 64 /* lanes worked on at a time */
};

static const double effect[SCHOOLS] = {28, 8, -3, 7, -1, 1, 18, 12};
static const double sigma[SCHOOLS] = {15, 10, 16, 11, 9, 11, 10, 18};
static const double prior_variance = 25.0; /* of mu; tau has its root */

struct schools {
    double centred;
    double top; /* log_marginal is nowhere larger */
};

/* mu given y and tau^2, theta integrated out */
struct middle {
    double mean, variance;
    double log_marginal; /* log p(y | tau), without constants */
};

static struct middle middle_at(double tau2)
{
    double precision = 1.0 / prior_variance, sum = 0.0, rest = 0.0;

    for (size_t j = 0; j < SCHOOLS; j++) {
        const double v = sigma[j] * sigma[j] + tau2;

        precision += 1.0 / v;
        sum += effect[j] / v;
        rest += rmc_log(v) + effect[j] * effect[j] / v;
    }
    return (struct middle){
        sum / precision, 1.0 / precision,
        -0.5 * (rest + rmc_log(precision) - sum * sum / precision)};
}

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    struct schools *m = self;

    (void)arena, (void)err;
    size->dim = DIM;
    m->top = middle_at(0.0).log_marginal;
    for (int j = -250; j < 350; j++) { /* t = j / 50 */
        m->top = fmax(m->top, middle_at(rmc_exp(0.04 * j)).log_marginal);
    }
    m->top += 1e-3; /* more than it rises between points of the grid */
    return RELMC_OK;
}

/* exp(t), small enough for 0 exp(t) to be 0 */
static inline double bounded_exp(double t)
{
    const double e = rmc_exp(t);

    return e <= DBL_MAX ? e : DBL_MAX;
}

static inline void start(size_t n, size_t ld, const double *restrict x,
                         double *restrict grad, double *restrict lp)
{
    const double w = 1.0 / prior_variance;

    for (size_t k = 0; k < n; k++) {
        const double mu = x[k], t = x[ld + k];
        const double tau2 = w * rmc_exp(2.0 * t);

        grad[k] = -w * mu;
        grad[ld + k] = 1.0 - 2.0 / (1.0 + 1.0 / tau2);
        lp[k] = t - rmc_log1p(tau2) - 0.5 * w * mu * mu;
    }
}

/* n <= WIDTH lanes */
static inline void centred(size_t n, size_t ld, const double *restrict x,
                           double *restrict grad, double *restrict lp)
{
    double shrink[WIDTH]; /* 1 / tau */

    start(n, ld, x, grad, lp);
    for (size_t k = 0; k < n; k++) {
        shrink[k] = bounded_exp(-x[ld + k]);
        grad[ld + k] -= SCHOOLS;
        lp[k] -= SCHOOLS * x[ld + k];
    }
    for (size_t j = 0; j < SCHOOLS; j++) {
        const double y = effect[j], w = 1.0 / sigma[j];
        const double *restrict theta = x + (j + 2) * ld;
        double *restrict row = grad + (j + 2) * ld;

        for (size_t k = 0; k < n; k++) {
            const double z = (theta[k] - x[k]) * shrink[k];
            const double f = (theta[k] - y) * w;

            row[k] = -rmc_fma(z, shrink[k], f * w);
            grad[k] = rmc_fma(z, shrink[k], grad[k]);
            grad[ld + k] = rmc_fma(z, z, grad[ld + k]);
            lp[k] = rmc_fma(-0.5 * z, z, rmc_fma(-0.5 * f, f, lp[k]));
        }
    }
}

/* n <= WIDTH lanes */
static inline void not_centred(size_t n, size_t ld, const double *restrict x,
                               double *restrict grad, double *restrict lp)
{
    double tau[WIDTH];

    start(n, ld, x, grad, lp);
    for (size_t k = 0; k < n; k++) {
        tau[k] = bounded_exp(x[ld + k]);
    }
    for (size_t j = 0; j < SCHOOLS; j++) {
        const double y = effect[j], w = 1.0 / sigma[j];
        const double *restrict eta = x + (j + 2) * ld;
        double *restrict row = grad + (j + 2) * ld;

        for (size_t k = 0; k < n; k++) {
            const double f = (rmc_fma(tau[k], eta[k], x[k]) - y) * w;
            const double slope = f * w; /* of f^2/2 along theta */

            row[k] = -rmc_fma(tau[k], slope, eta[k]);
            grad[k] -= slope;
            grad[ld + k] = rmc_fma(-slope, tau[k] * eta[k], grad[ld + k]);
            lp[k] = rmc_fma(-0.5 * eta[k], eta[k], rmc_fma(-0.5 * f, f, lp[k]));
        }
    }
}

static int lanes(const void *self, const relmc_shape *s,
                 const double *restrict x, double *restrict lp,
                 double *restrict grad, relmc_error *err)
{
    const size_t ld = s->ld;
    const struct schools *m = self;

    (void)err;
    for (size_t k = 0; k < ld; k += WIDTH) {
        const size_t n = ld - k < WIDTH ? ld - k : WIDTH;

        if (m->centred != 0.0) {
            centred(n, ld, x + k, grad + k, lp + k);
        } else {
            not_centred(n, ld, x + k, grad + k, lp + k);
        }
    }
    return RELMC_OK;
}

/* theta_j given mu, tau^2 and y is normal: its variance, and the share of mu
 * in its mean. */
static double pull(size_t j, double tau2, double *share)
{
    const double s2 = sigma[j] * sigma[j];

    *share = s2 / (s2 + tau2);
    return *share * tau2;
}

/* Adds weight times 1, E x_i and E x_i^2 given tau. */
static void add_moments(const struct schools *m, double t, double weight,
                        double *first, double *second)
{
    const double tau2 = rmc_exp(2.0 * t);
    const struct middle c = middle_at(tau2);
    double mean[DIM] = {c.mean, t}, variance[DIM] = {c.variance, 0.0};

    for (size_t j = 0; j < SCHOOLS; j++) {
        const double scale = m->centred != 0.0 ? 1.0 : rmc_exp(-t);
        double a;

        variance[j + 2] = pull(j, tau2, &a);
        /* of theta_j, or of eta_j = (theta_j - mu) / tau */
        const double off = (1.0 - a) * effect[j];
        const double slope = m->centred != 0.0 ? a : a - 1.0;

        mean[j + 2] = scale * (off + slope * c.mean);
        variance[j + 2] =
            scale * scale * (variance[j + 2] + slope * slope * c.variance);
    }
    for (size_t i = 0; i < DIM; i++) {
        first[i] += weight * mean[i];
        second[i] += weight * (variance[i] + mean[i] * mean[i]);
    }
}

/* The integrand is analytic and dies out at both ends, so that the trapezoidal
 * rule is right to rounding. */
static void moments(const void *self, double *mean, double *variance)
{
    const struct schools *m = self;
    const double w = 1.0 / prior_variance;
    double total = 0.0;

    for (size_t i = 0; i < DIM; i++) {
        mean[i] = variance[i] = 0.0;
    }
    for (int j = -640; j < 160; j++) {
        const double t = j / 16.0, tau2 = rmc_exp(2.0 * t);
        const double weight = rmc_exp(t + middle_at(tau2).log_marginal -
                                      m->top - rmc_log1p(w * tau2));

        total += weight;
        add_moments(m, t, weight, mean, variance);
    }
    for (size_t i = 0; i < DIM; i++) {
        mean[i] /= total;
        variance[i] = variance[i] / total - mean[i] * mean[i];
    }
}

static void draw(const void *self, relmc_stream *stream, double *x)
{
    const struct schools *m = self;
    const double scale = sqrt(prior_variance);
    struct middle c;
    double tau;

    do { /* a ratio of normals is Cauchy's */
        tau = scale * fabs(relmc_normal(stream) / relmc_normal(stream));
        c = middle_at(tau * tau);
    } while (rmc_log(relmc_uniform(stream)) > c.log_marginal - m->top);
    x[0] = c.mean + sqrt(c.variance) * relmc_normal(stream);
    x[1] = rmc_log(tau);
    for (size_t j = 0; j < SCHOOLS; j++) {
        double share;
        const double sd = sqrt(pull(j, tau * tau, &share));
        const double theta = share * x[0] + (1.0 - share) * effect[j] +
                             sd * relmc_normal(stream);

        x[j + 2] = m->centred != 0.0 ? theta : (theta - x[0]) / tau;
    }
}

static size_t coordinate_name(const void *self, size_t i, char *out,
                              size_t room)
{
    const struct schools *m = self;

    if (i < 2) {
        return (size_t)snprintf(out, room, "%s", i == 0 ? "mu" : "log_tau");
    }
    return (size_t)snprintf(out, room, "%s.%zu",
                            m->centred != 0.0 ? "theta" : "eta", i - 1);
}

static const relmc_param params[] = {
    {"centred", "1: theta, 0: eta = (theta - mu) / tau", 0, 1, 1,
     offsetof(struct schools, centred), RELMC_INTEGER},
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_schools) = {
    .info = {"model", "schools", "eight schools, a hierarchy", params},
    .state_size = sizeof(struct schools),
    .init = init,
    .lanes = lanes,
    .moments = moments,
    .draw = draw,
    .coordinate_name = coordinate_name,
};
