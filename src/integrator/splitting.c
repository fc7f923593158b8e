/*
 * splitting.c - palindromic splittings of Hamilton's equations: coefficients,
 * and one function that steps with any of them.
 *
 *   [kick]   p <- p + b eps S' g(x),   g = grad lp
 *   [drift]  x <- x + a eps S v(p),    v = dK/dp
 *
 * with fractions b, a, b, ..., b that read the same backwards and add up to 1
 * each.  Every such composition is reversible and preserves volume, for any
 * force and any odd velocity.
 */
#include "base/base.h"

/* out += f step T in for a triangular T, given by its columns: row j of `columns`
 * holds T[i][j] for i in [first, last).  Column after column, so that one lane
 * vectorises over i and many over k, in the same order for every i. */
static void add_column(const relmc_shape *s, const double *restrict column,
                       size_t first, size_t last, const double *restrict step,
                       double f, const double *restrict in,
                       double *restrict out)
{
    if (s->ld == 1) {
        const double w = f * step[0] * in[0];
        for (size_t i = first; i < last; i++) {
            out[i] = rmc_fma(column[i], w, out[i]);
        }
        return;
    }
    for (size_t i = first; i < last; i++) {
        for (size_t k = 0; k < s->ld; k++) {
            out[i * s->ld + k] =
                rmc_fma(column[i], f * step[k] * in[k], out[i * s->ld + k]);
        }
    }
}

/* out += f step L in and out += f step L' in.  Rows of L' are columns of L. */
static void add_lower(const relmc_shape *s, const double *chol_t,
                      const double *step, double f, const double *in,
                      double *out)
{
    for (size_t j = 0; j < s->dim; j++) {
        add_column(s, chol_t + j * s->dim, j, s->dim, step, f, in + j * s->ld,
                   out);
    }
}

static void add_upper(const relmc_shape *s, const double *chol,
                      const double *step, double f, const double *in,
                      double *out)
{
    for (size_t j = 0; j < s->dim; j++) {
        add_column(s, chol + j * s->dim, 0, j + 1, step, f, in + j * s->ld,
                   out);
    }
}

/* out += f step S in, for a diagonal S or none */
static void add_scaled(const relmc_shape *s, const double *restrict diag,
                       const double *restrict step, double f,
                       const double *restrict in, double *restrict out)
{
    const size_t n = rmc_cells(s), ld = s->ld;

    if (ld == 1) { /* one lane: the loop over coordinates is the long one */
        const double w = f * step[0];
        for (size_t j = 0; j < n; j++) {
            out[j] = rmc_fma(diag ? w * diag[j] : w, in[j], out[j]);
        }
        return;
    }
    for (size_t i = 0; i < n; i += ld) {
        for (size_t k = 0; k < ld; k++) {
            const double w = f * step[k];
            out[i + k] =
                rmc_fma(diag ? w * diag[i + k] : w, in[i + k], out[i + k]);
        }
    }
}

/* y <- (I + U (f - 1) U') y */
static void stretch(const relmc_shape *s, const relmc_scale *scale, double *y)
{
    for (size_t r = 0; r < scale->rank; r++) {
        const double *u = scale->low_rank + r * s->dim;
        double *restrict along = scale->room + r * s->ld;

        memset(along, 0, s->ld * sizeof *along);
        for (size_t i = 0; i < s->dim; i++) {
            for (size_t k = 0; k < s->ld; k++) {
                along[k] = rmc_fma(u[i], y[i * s->ld + k], along[k]);
            }
        }
    }
    for (size_t r = 0; r < scale->rank; r++) {
        const double *u = scale->low_rank + r * s->dim;
        const double *restrict along = scale->room + r * s->ld;
        const double f = scale->factor[r] - 1.0;

        for (size_t i = 0; i < s->dim; i++) {
            for (size_t k = 0; k < s->ld; k++) {
                y[i * s->ld + k] =
                    rmc_fma(f * u[i], along[k], y[i * s->ld + k]);
            }
        }
    }
}

static void kick(const relmc_system *sys, relmc_state *z, const double *step,
                 double b)
{
    if (sys->frame.scale.chol) {
        add_upper(&sys->shape, sys->frame.scale.chol, step, b, z->g, z->p);
    } else if (sys->frame.scale.rank) {
        for (size_t j = 0; j < rmc_cells(&sys->shape); j++) {
            sys->scratch.v[j] = sys->frame.scale.diag[j] * z->g[j];
        }
        stretch(&sys->shape, &sys->frame.scale, sys->scratch.v);
        add_scaled(&sys->shape, NULL, step, b, sys->scratch.v, z->p);
    } else {
        add_scaled(&sys->shape, sys->frame.scale.diag, step, b, z->g, z->p);
    }
}

static void drift(const relmc_system *sys, relmc_state *z, const double *step,
                  double a)
{
    const relmc_kinetic *kin = &sys->move.kinetic;

    kin->ops->velocity(kin->self, &sys->shape, z->p, sys->scratch.v);
    if (sys->frame.scale.chol) {
        add_lower(&sys->shape, sys->frame.scale.chol_t, step, a, sys->scratch.v,
                  z->x);
    } else {
        stretch(&sys->shape, &sys->frame.scale, sys->scratch.v);
        add_scaled(&sys->shape, sys->frame.scale.diag, step, a, sys->scratch.v,
                   z->x);
    }
}

static relmc_status split_step(const relmc_integrator_ops *method,
                               relmc_system *sys, relmc_state *z,
                               const double *step)
{
    kick(sys, z, step, method->coef[0]);
    for (size_t n = 1; n < method->n_coef; n += 2) {
        const int is_last = n + 2 == method->n_coef;

        drift(sys, z, step, method->coef[n]);
        const relmc_status status =
            relmc_eval(sys, z->x, is_last ? z->lp : NULL, z->g);
        if (status) {
            return status;
        }
        kick(sys, z, step, method->coef[n + 1]);
    }
    return RELMC_OK;
}

#define SPLITTING(label, text, the_order, coefficients)            \
    const relmc_integrator_ops RMC_ISA(rmc_integrator_##label) = { \
        .info = {"integrator", #label, text, NULL},                \
        .order = (the_order),                                      \
        .coef = (coefficients),                                    \
        .n_coef = sizeof(coefficients) / sizeof(double),           \
        .step = split_step,                                        \
        .kick = kick,                                              \
        .drift = drift,                                            \
    }

/* [leapfrog] Stoermer-Verlet. */
static const double leapfrog[] = {0.5, 1.0, 0.5};
SPLITTING(leapfrog, "one gradient per step", 2, leapfrog);

/* [two-stage] McLachlan (1995): smallest error constant of the family. */
static const double mclachlan[] = {0.1931833275037836, 0.5, 0.6136333449924328,
                                   0.5, 0.1931833275037836};
SPLITTING(mclachlan, "two gradients per step, least error for small steps", 2,
          mclachlan);

/* [two-stage] Blanes, Casas and Sanz-Serna (2014), BCSS2: least energy error on
 * Gaussians over the whole range of stable steps. */
static const double blanes[] = {0.21178, 0.5, 0.57644, 0.5, 0.21178};
SPLITTING(blanes, "two gradients per step, least error for large steps", 2,
          blanes);

/* [fourth-order] Yoshida (1990): three leapfrogs of lengths w, 1 - 2w, w with
 * w = 1 / (2 - 2^(1/3)). */
static const double yoshida[] = {0.6756035959798289,  1.3512071919596578,
                                 -0.1756035959798288, -1.7024143839193153,
                                 -0.1756035959798288, 1.3512071919596578,
                                 0.6756035959798289};
SPLITTING(yoshida, "three gradients per step, order four", 4, yoshida);
