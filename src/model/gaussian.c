/*
 * gaussian.c - the normal distribution: independent coordinates, a stationary
 * chain, or any covariance matrix.
 *
 *   [gaussian]  lp = -|z|^2 / 2,  z = W (x - mean),  grad = -W' z,
 *               W = L^-1 with cov = L L'
 *
 * Independent coordinates have W = diag(1/sd).  The chain (rho) has
 * correlations rho^|i-j|, so W has two diagonals: with y_i = (x_i - mean_i) /
 * sd_i, z_1 = y_1 and z_i = (y_i - rho y_(i-1)) / sqrt(1 - rho^2).  A sum of
 * squares keeps the digits that a product with the precision matrix loses when
 * cov is badly conditioned; it costs the same.
 */
#include "base/base.h"
#include "base/linalg.h"

#include <math.h>

struct gaussian {
    double dim, rho, ratio;
    relmc_vector sd, mean, cov;
    double *centre; /* dim means */
    double *spread; /* dim standard deviations; not with cov */
    double *inv_sd; /* dim; not with cov */
    double *chol;   /* dim x dim: L; NULL without cov */
    double *whiten; /* dim x dim: W, mirrored into its upper triangle */
};

/* Element i of a vector that may be unset or a single number. */
static double pick(const relmc_vector *v, size_t i, double unset)
{
    return v->n == 0 ? unset : v->values[v->n == 1 ? 0 : i];
}

static relmc_status choose_dim(struct gaussian *m, relmc_error *err)
{
    const size_t n_cov = m->cov.n;
    const struct {
        const char *name;
        size_t n;
    } given[] = {{"sd", m->sd.n}, {"mean", m->mean.n}};
    size_t dim = 2;

    if (m->dim == m->dim) {
        dim = (size_t)m->dim;
    } else if (n_cov > 0) {
        dim = (size_t)(sqrt((double)n_cov) + 0.5);
    } else if (m->sd.n > 1) {
        dim = m->sd.n;
    } else if (m->mean.n > 1) {
        dim = m->mean.n;
    }
    if (n_cov > 0 && n_cov != dim * dim) {
        return rmc_fail(err, RELMC_EINVAL,
                        "gaussian: cov needs dim*dim values, got %zu", n_cov);
    }
    if (n_cov > 0 && (m->sd.n > 0 || m->rho != 0.0 || m->ratio != 1.0)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "gaussian: give cov, or sd, ratio and rho, not both");
    }
    for (size_t j = 0; j < sizeof given / sizeof *given; j++) {
        if (given[j].n > 1 && given[j].n != dim) {
            return rmc_fail(err, RELMC_EINVAL,
                            "gaussian: %s needs 1 or %zu values, got %zu",
                            given[j].name, dim, given[j].n);
        }
    }
    m->dim = (double)dim;
    return RELMC_OK;
}

static relmc_status check_symmetry(const double *cov, size_t dim,
                                   relmc_error *err)
{
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j < i; j++) {
            const double a = cov[i * dim + j], b = cov[j * dim + i];

            if (fabs(a - b) > 1e-12 * (fabs(a) + fabs(b))) {
                return rmc_fail(err, RELMC_EINVAL,
                                "gaussian: cov is not symmetric: row %zu, "
                                "column %zu is %g, and the other way %g",
                                i + 1, j + 1, a, b);
            }
        }
    }
    return RELMC_OK;
}

/* W = L^-1, column by column, each also written as a row. */
static void invert(size_t dim, const double *restrict chol, double *restrict w)
{
    for (size_t j = 0; j < dim; j++) {
        w[j * dim + j] = 1.0 / chol[j * dim + j];
        for (size_t i = j + 1; i < dim; i++) {
            double sum = 0.0;

            for (size_t l = j; l < i; l++) {
                sum = rmc_fma(chol[i * dim + l], w[j * dim + l], sum);
            }
            w[j * dim + i] = -sum / chol[i * dim + i];
            w[i * dim + j] = w[j * dim + i];
        }
    }
}

static relmc_status set_covariance(struct gaussian *m, relmc_arena *arena,
                                   size_t dim, relmc_error *err)
{
    const size_t bytes = dim * dim * sizeof(double);
    relmc_status status;

    m->chol = relmc_arena_get(arena, bytes);
    m->whiten = relmc_arena_get(arena, bytes);
    if ((status = relmc_arena_check(arena, err)) ||
        (status = check_symmetry(m->cov.values, dim, err))) {
        return status;
    }
    const size_t row = rmc_cholesky(dim, m->cov.values, m->chol);
    if (row > 0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "gaussian: cov is not positive definite: row %zu", row);
    }
    invert(dim, m->chol, m->whiten);
    return RELMC_OK;
}

/* Standard deviation i: `ratio` from the first to the last, in equal factors,
 * with geometric mean 1. */
static double stretch(const struct gaussian *m, size_t i)
{
    const double last = m->dim > 1.0 ? m->dim - 1.0 : 1.0;
    const double at = m->dim > 1.0 ? (double)i / last - 0.5 : 0.0;

    return m->ratio == 1.0 ? 1.0 : rmc_exp(rmc_log(m->ratio) * at);
}

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    struct gaussian *m = self;
    relmc_status status = choose_dim(m, err);

    if (status) {
        return status;
    }
    if (fabs(m->rho) == 1.0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "gaussian: rho must be inside (-1, 1), not %g", m->rho);
    }
    const size_t dim = (size_t)m->dim;
    size->dim = dim;
    m->centre = relmc_arena_get(arena, dim * sizeof(double));
    m->spread = relmc_arena_get(arena, dim * sizeof(double));
    m->inv_sd = relmc_arena_get(arena, dim * sizeof(double));
    if ((status = relmc_arena_check(arena, err))) {
        return status;
    }
    for (size_t i = 0; i < dim; i++) {
        m->centre[i] = pick(&m->mean, i, 0.0);
        m->spread[i] = pick(&m->sd, i, 1.0) * stretch(m, i);
        m->inv_sd[i] = 1.0 / m->spread[i];
    }
    return m->cov.n > 0 ? set_covariance(m, arena, dim, err) : RELMC_OK;
}

/* These three leave |z|^2 in lp, which starts at 0. */

static inline void independent(const struct gaussian *m, size_t dim, size_t ld,
                               const double *restrict x, double *restrict grad,
                               double *restrict lp)
{
    for (size_t i = 0; i < dim; i++) {
        const double mean = m->centre[i], w = m->inv_sd[i];

        for (size_t k = 0; k < ld; k++) {
            const double z = w * (x[i * ld + k] - mean);

            grad[i * ld + k] = -w * z;
            lp[k] = rmc_fma(z, z, lp[k]);
        }
    }
}

static inline void chain(const struct gaussian *m, size_t dim, size_t ld,
                         const double *restrict x, double *restrict grad,
                         double *restrict lp)
{
    const double rho = m->rho;
    const double scale = 1.0 / sqrt((1.0 - rho) * (1.0 + rho));

    independent(m, 1, ld, x, grad, lp);
    for (size_t i = 1; i < dim; i++) {
        const double mean0 = m->centre[i - 1], w0 = m->inv_sd[i - 1];
        const double mean = m->centre[i], w = m->inv_sd[i];
        double *restrict grad0 = grad + (i - 1) * ld;

        for (size_t k = 0; k < ld; k++) {
            const double y0 = w0 * (x[(i - 1) * ld + k] - mean0);
            const double y = w * (x[i * ld + k] - mean);
            const double z = scale * rmc_fma(-rho, y0, y);
            const double h = scale * z;

            grad[i * ld + k] = -w * h;
            grad0[k] = rmc_fma(rho * w0, h, grad0[k]);
            lp[k] = rmc_fma(z, z, lp[k]);
        }
    }
}

/* out[i*ld + k] += a[i] b[k] */
static inline void add_outer(size_t n, size_t ld, const double *restrict a,
                             const double *restrict b, double *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < ld; k++) {
            out[i * ld + k] = rmc_fma(a[i], b[k], out[i * ld + k]);
        }
    }
}

/* Column by column, so that one lane is a loop over coordinates.  Here grad
 * holds -z first; the j-th pass of the second loop is the last to need z_j. */
static inline void correlated(const struct gaussian *m, size_t dim, size_t ld,
                              const double *restrict x, double *restrict grad,
                              double *restrict lp)
{
    for (size_t j = 0; j < dim * ld; j++) {
        grad[j] = 0.0;
    }
    for (size_t j = 0; j < dim; j++) {
        const double mean = m->centre[j];

        for (size_t k = 0; k < ld; k++) {
            lp[k] = mean - x[j * ld + k];
        }
        add_outer(dim - j, ld, m->whiten + j * dim + j, lp, grad + j * ld);
    }
    for (size_t k = 0; k < ld; k++) {
        lp[k] = 0.0;
    }
    for (size_t j = 0; j < dim; j++) {
        double *restrict z = grad + j * ld;
        const double w = m->whiten[j * dim + j];

        add_outer(j, ld, m->whiten + j * dim, z, grad);
        for (size_t k = 0; k < ld; k++) {
            lp[k] = rmc_fma(z[k], z[k], lp[k]);
            z[k] *= w;
        }
    }
}

static int lanes(const void *self, const relmc_shape *s,
                 const double *restrict x, double *restrict lp,
                 double *restrict grad, relmc_error *err)
{
    const size_t dim = s->dim, ld = s->ld;
    const struct gaussian *m = self;

    (void)err;
    for (size_t k = 0; k < ld; k++) {
        lp[k] = 0.0;
    }
    /* ld = 1 as a constant leaves no loops over lanes */
    if (m->chol && ld == 1) {
        correlated(m, dim, 1, x, grad, lp);
    } else if (m->chol) {
        correlated(m, dim, ld, x, grad, lp);
    } else if (m->rho != 0.0 && ld == 1) {
        chain(m, dim, 1, x, grad, lp);
    } else if (m->rho != 0.0) {
        chain(m, dim, ld, x, grad, lp);
    } else if (ld == 1) {
        independent(m, dim, 1, x, grad, lp);
    } else {
        independent(m, dim, ld, x, grad, lp);
    }
    for (size_t k = 0; k < ld; k++) {
        lp[k] *= -0.5;
    }
    return RELMC_OK;
}

static void moments(const void *self, double *mean, double *variance)
{
    const struct gaussian *m = self;
    const size_t dim = (size_t)m->dim;

    for (size_t i = 0; i < dim; i++) {
        const double sd = m->spread[i];

        mean[i] = m->centre[i];
        variance[i] = m->chol ? m->cov.values[i * dim + i] : sd * sd;
    }
}

/* x = mean + L z: from the last row up, so that z is still there. */
static void draw_correlated(const struct gaussian *m, relmc_stream *stream,
                            double *x)
{
    const size_t dim = (size_t)m->dim;

    for (size_t i = 0; i < dim; i++) {
        x[i] = relmc_normal(stream);
    }
    for (size_t i = dim; i-- > 0;) {
        double sum = m->centre[i];

        for (size_t j = 0; j <= i; j++) {
            sum = rmc_fma(m->chol[i * dim + j], x[j], sum);
        }
        x[i] = sum;
    }
}

static void draw(const void *self, relmc_stream *stream, double *x)
{
    const struct gaussian *m = self;
    const size_t dim = (size_t)m->dim;
    const double fresh = sqrt((1.0 - m->rho) * (1.0 + m->rho));
    double y = 0.0;

    if (m->chol) {
        draw_correlated(m, stream, x);
        return;
    }
    for (size_t i = 0; i < dim; i++) {
        const double z = relmc_normal(stream);

        y = i == 0 ? z : rmc_fma(m->rho, y, fresh * z);
        x[i] = rmc_fma(m->spread[i], y, m->centre[i]);
    }
}

static const relmc_param params[] = {
    {"dim", "dimension d; default as long as cov, sd or mean say, else 2", 1,
     1e6, (double)NAN, offsetof(struct gaussian, dim), RELMC_INTEGER},
    {"sd", "standard deviations, one or d; default 1", 1e-100, 1e100,
     (double)NAN, offsetof(struct gaussian, sd), RELMC_VECTOR},
    {"mean", "means, one or d; default 0", -1e100, 1e100, (double)NAN,
     offsetof(struct gaussian, mean), RELMC_VECTOR},
    {"rho", "correlation of neighbours, rho^|i-j| of the others", -1, 1, 0,
     offsetof(struct gaussian, rho), RELMC_REAL},
    {"ratio", "standard deviations times 1/sqrt(ratio) .. sqrt(ratio)", 1, 1e12,
     1, offsetof(struct gaussian, ratio), RELMC_REAL},
    {"cov", "covariance matrix, d*d values by rows, instead of sd and rho",
     -1e200, 1e200, (double)NAN, offsetof(struct gaussian, cov), RELMC_VECTOR},
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_gaussian) = {
    .info = {"model", "gaussian", "normal distribution", params},
    .state_size = sizeof(struct gaussian),
    .init = init,
    .lanes = lanes,
    .moments = moments,
    .draw = draw,
};
