/*
 * ebfmi.c - energy fraction of missing information: how much the energy of a
 * chain changes between draws, relative to its variance.
 *
 * Betancourt (2016), "Diagnosing suboptimal cotangent disintegrations in
 * Hamiltonian Monte Carlo"; and the value to expect when momenta are
 * relativistic.
 */
#include "base/special.h"
#include "diag/convergence/series.h"
#include "relmc_diag.h"

#include <math.h>

/* [ebfmi]  mean (E_t - E_t-1)^2 / Var E, both unbiased for independent
 * differences; NaN for constant or infinite energies and for one draw. */
static double fraction(double squares, size_t n_squares, double variance)
{
    return n_squares > 0 && rmc_is_finite(squares) && variance > 0.0
               ? squares / (double)n_squares / variance
               : (double)NAN;
}

relmc_status relmc_ebfmi(double *chain, double *pooled,
                         const relmc_series *energy, relmc_error *err)
{
    const relmc_status status = rmc_check_series(energy, err);

    if (status) {
        return status;
    }
    const size_t m = energy->n_chains, n = energy->n_draws;
    const double shift = energy->draws[0];
    double all = 0.0, total = 0.0, total_squares = 0.0;

    for (size_t c = 0; c < m; c++) {
        const double *e = energy->draws + c * energy->chain_stride;
        double squares = 0.0, sum = 0.0, spread = 0.0;

        for (size_t t = 0; t < n; t++) {
            const double now = e[t * energy->stride];
            const double step = t ? now - e[(t - 1) * energy->stride] : 0.0;

            squares += step * step;
            sum += now - shift;
        }
        const double mean = sum / (double)n;
        for (size_t t = 0; t < n; t++) {
            const double d = e[t * energy->stride] - shift - mean;

            spread += d * d;
        }
        chain[c] = fraction(squares, n - 1, spread / (double)(n - 1));
        all += squares;
        /* the spread between the means so far and this one (Chan et al.) */
        const double before = (double)(c * n), gap = mean - total;
        total_squares +=
            spread + gap * gap * before * (double)n / (before + (double)n);
        total += gap / (double)(c + 1);
    }
    *pooled = fraction(all, m * (n - 1), total_squares / (double)(m * n - 1));
    return RELMC_OK;
}

/*
 * [var-kinetic]  d + beta^2 (1 - r^2) - d beta r, r = K_nu-1 / K_nu at beta,
 * nu = (d + 1) / 2: d for beta -> 0, d / 2 for beta -> infinity.  Large terms
 * cancel when beta is large; the asymptotic series in 1 / beta is used then.
 */
double relmc_kinetic_variance(size_t dim, double beta)
{
    const double d = (double)dim, nu = 0.5 * (d + 1.0);

    if (!(dim >= 1 && beta > 0.0)) {
        return (double)NAN;
    }
    if (beta > 100.0 * d) {
        /* of log K_nu: c1/beta + c2/beta^2 + ..., twice differentiated */
        const double w = 1.0 / beta, mu = 4.0 * nu * nu, k = mu - 1.0;
        const double c1 = k / 8.0, c2 = -k / 16.0;
        const double c3 = k * (25.0 - mu) / 384.0, c4 = k * (mu - 13.0) / 128.0;

        return 0.5 * d + w * (2.0 * c1 +
                              w * (6.0 * c2 + w * (12.0 * c3 + w * 20.0 * c4)));
    }
    const double r = rmc_bessel_k_ratio(fabs(nu - 1.0), nu, beta);

    return d + beta * beta * (1.0 - r) * (1.0 + r) - d * beta * r;
}

double relmc_ebfmi_expected(size_t dim, double kinetic_variance)
{
    return dim >= 1 && kinetic_variance > 0.0
               ? 2.0 * kinetic_variance / (0.5 * (double)dim + kinetic_variance)
               : (double)NAN;
}
