/*
 * student.c - heavy tails: Student's t distribution, for every coordinate by
 * itself or joint.
 *
 *   [student]  independent: lp = -(nu + 1)/2 sum_i log(1 + x_i^2/nu)
 *              joint:       lp = -(nu + d)/2 log(1 + |x|^2/nu)
 *
 * x = z / sqrt(G / (nu/2)) with z normal and G ~ Gamma(nu/2): one G for every
 * coordinate, or one for all.
 */
#include "base/base.h"

#include <math.h>

struct student {
    double dim, nu, joint;
};

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    const struct student *m = self;

    (void)arena, (void)err;
    size->dim = (size_t)m->dim;
    return RELMC_OK;
}

static inline double slope_of(double nu, double y)
{
    return -(nu + 1.0) * y / rmc_fma(y, y, nu);
}

static inline void independent(double nu, size_t dim, size_t ld,
                               const double *restrict x, double *restrict grad,
                               double *restrict lp)
{
    const double inv_nu = 1.0 / nu;

    for (size_t k = 0; k < ld; k++) {
        lp[k] = 0.0;
    }
    for (size_t i = 0; i < dim; i++) {
        for (size_t k = 0; k < ld; k++) {
            const double y = x[i * ld + k];

            lp[k] += rmc_log1p(inv_nu * y * y);
            grad[i * ld + k] = slope_of(nu, y);
        }
    }
    for (size_t k = 0; k < ld; k++) {
        lp[k] *= -0.5 * (nu + 1.0);
    }
}

/* |x|^2 of every lane. */
static inline void add_squares(size_t dim, size_t ld, const double *restrict x,
                               double *restrict out)
{
    for (size_t k = 0; k < ld; k++) {
        out[k] = 0.0;
    }
    for (size_t i = 0; i < dim; i++) {
        for (size_t k = 0; k < ld; k++) {
            out[k] = rmc_fma(x[i * ld + k], x[i * ld + k], out[k]);
        }
    }
}

/* Row 0 of grad holds |x|^2, then what the other rows are multiplied with, until
 * the end. */
static inline void joint_slope(double nu, size_t dim, size_t ld,
                               const double *restrict x, double *restrict grad)
{
    const double power = nu + (double)dim;
    double *factor = grad;

    for (size_t k = 0; k < ld; k++) {
        factor[k] = -power / (nu + factor[k]);
    }
    for (size_t i = 1; i < dim; i++) {
        double *restrict row = grad + i * ld;

        for (size_t k = 0; k < ld; k++) {
            row[k] = factor[k] * x[i * ld + k];
        }
    }
    for (size_t k = 0; k < ld; k++) {
        grad[k] = factor[k] * x[k];
    }
}

static inline void joint(double nu, size_t dim, size_t ld,
                         const double *restrict x, double *restrict grad,
                         double *restrict lp)
{
    const double power = nu + (double)dim;

    add_squares(dim, ld, x, lp);
    for (size_t k = 0; k < ld; k++) {
        grad[k] = lp[k];
        lp[k] = -0.5 * power * rmc_log1p(lp[k] / nu);
    }
    joint_slope(nu, dim, ld, x, grad);
}

/* The logarithms are most of the work. */
static void gradient_alone(const struct student *m, const relmc_shape *s,
                           const double *restrict x, double *restrict grad)
{
    const size_t dim = s->dim, ld = s->ld;

    if (m->joint != 0.0) {
        add_squares(dim, ld, x, grad);
        joint_slope(m->nu, dim, ld, x, grad);
        return;
    }
    for (size_t j = 0; j < dim * ld; j++) {
        grad[j] = slope_of(m->nu, x[j]);
    }
}

static int lanes(const void *self, const relmc_shape *s,
                 const double *restrict x, double *restrict lp,
                 double *restrict grad, relmc_error *err)
{
    const size_t dim = s->dim, ld = s->ld;
    const struct student *m = self;

    (void)err;
    if (!lp) {
        gradient_alone(m, s, x, grad);
        return RELMC_OK;
    }
    /* ld = 1 as a constant leaves no loops over lanes */
    if (m->joint != 0.0 && ld == 1) {
        joint(m->nu, dim, 1, x, grad, lp);
    } else if (m->joint != 0.0) {
        joint(m->nu, dim, ld, x, grad, lp);
    } else if (ld == 1) {
        independent(m->nu, dim, 1, x, grad, lp);
    } else {
        independent(m->nu, dim, ld, x, grad, lp);
    }
    return RELMC_OK;
}

static void moments(const void *self, double *mean, double *variance)
{
    const struct student *m = self;

    for (size_t i = 0; i < (size_t)m->dim; i++) {
        mean[i] = m->nu > 1.0 ? 0.0 : (double)NAN;
        variance[i] = m->nu > 2.0 ? m->nu / (m->nu - 2.0) : (double)NAN;
    }
}

static void draw(const void *self, relmc_stream *stream, double *x)
{
    const struct student *m = self;
    const double half_nu = 0.5 * m->nu;
    double stretch = 1.0;

    for (size_t i = 0; i < (size_t)m->dim; i++) {
        if (i == 0 || m->joint == 0.0) {
            stretch = sqrt(half_nu / relmc_gamma(stream, half_nu));
        }
        x[i] = stretch * relmc_normal(stream);
    }
}

static const relmc_param params[] = {
    {"dim", "dimension d", 1, 1e6, 2, offsetof(struct student, dim),
     RELMC_INTEGER},
    {"nu", "degrees of freedom nu; 1 is Cauchy's", 0.5, 1e6, 5,
     offsetof(struct student, nu), RELMC_REAL},
    {"joint", "1: the multivariate t, 0: independent coordinates", 0, 1, 0,
     offsetof(struct student, joint), RELMC_INTEGER},
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_student) = {
    .info = {"model", "student", "Student's t, heavy tails", params},
    .state_size = sizeof(struct student),
    .init = init,
    .lanes = lanes,
    .omits_lp = 1,
    .moments = moments,
    .draw = draw,
};
