/*
 * binomial.c - probabilities of binomial and Poisson counts.
 *
 *   [binomial]  C(n, k) p^k q^(n-k) = exp(s(n) - s(k) - s(n-k)
 *               - D(k, n p) - D(n-k, n q)) sqrt(n / (2 pi k (n-k))),
 *               s(k) = log k! - log(sqrt(2 pi k) (k/e)^k),
 *               D(k, m) = k log(k / m) + m - k
 */
#include "diag/compare/binomial.h"

#include <math.h>

/* s(k): the error of Stirling's formula, k >= 1 */
static double stirling_error(double k)
{
    const double half_log_2pi = 0.918938533204672741780;

    if (k < 16.0) {
        double factorial = 1.0;

        for (int j = 2; j <= (int)k; j++) {
            factorial *= j;
        }
        return log(factorial) - (k + 0.5) * log(k) + k - half_log_2pi;
    }
    const double w = 1.0 / (k * k);

    return (1.0 / 12 -
            w * (1.0 / 360 - w * (1.0 / 1260 - w * (1.0 / 1680 - w / 1188)))) /
           k;
}

/* D(k, m) with k = (1 + d) m, so that nothing large cancels */
static double deviance(double k, double m)
{
    const double d = (k - m) / m;

    return fabs(d) < 1.0 ? m * ((1.0 + d) * log1p(d) - d)
                         : k * log(k / m) + m - k;
}

double rmc_poisson(double k, double m)
{
    const double two_pi = 6.28318530717958647693;

    return k < 1.0
               ? exp(-m)
               : exp(-stirling_error(k) - deviance(k, m)) / sqrt(two_pi * k);
}

double rmc_binomial(double k, double n, double p)
{
    const double two_pi = 6.28318530717958647693, q = 1.0 - p, l = n - k;

    if (!(p > 1e-290 && q > 0.0)) {
        return p > 0.5 ? k == n : k == 0.0;
    }
    if (k < 1.0) {
        return exp(n * log1p(-p));
    }
    if (l < 1.0) {
        return exp(n * log(p));
    }
    const double s = stirling_error(n) - stirling_error(k) - stirling_error(l);

    return exp(s - deviance(k, n * p) - deviance(l, n * q)) *
           sqrt(n / (two_pi * k * l));
}
