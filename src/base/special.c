/*
 * special.c - closed forms of the relativistic momentum law: Bessel functions
 * of the second kind, and the cruising speed made of them.
 */
#include "base/special.h"
#include "base/base.h"
#include "relmc_diag.h"

/* exp(u) - 1 - u, without cancellation for small u. */
static double exp_minus(double u)
{
    double sum = 0.0;

    if (fabs(u) > 1.0) {
        return rmc_exp(u) - 1.0 - u;
    }
    for (int n = 20; n >= 3; n--) { /* u^n / n!, Horner from the end */
        sum = (sum + 1.0) * u / n;
    }
    return 0.5 * u * u * (1.0 + sum);
}

/* cosh(u) - 1 */
static double cosh_minus(double u)
{
    return 0.5 * (exp_minus(u) + exp_minus(-u));
}

/*
 * [bessel-ratio]  K_mu(x) = 1/2 integral over t of exp(mu t - x cosh t).  The
 * integrand has its peak at sinh t0 = mu/x; with t = t0 + u it is, up to a
 * constant, exp(-mu (exp u - 1 - u) - (R - mu) (cosh u - 1)) with
 * R = sqrt(mu^2 + x^2), a form in which nothing cancels, and K_nu/K_mu =
 * exp(-(mu - nu) t0) times the mean of exp(-(mu - nu) u) over it.
 * The integrand is entire, so the trapezoidal rule converges faster than any
 * power: a step of half the width of the peak is small enough by far.
 */
double rmc_bessel_k_ratio(double nu, double mu, double x)
{
    const double R = sqrt(mu * mu + x * x), delta = mu - nu;
    const double eta = x * x / (R + mu); /* R - mu */
    const double width = 1.0 / sqrt(R);
    const double h = width < 0.25 ? 0.5 * width : 0.125;
    double sum = 0.0, weighted = 0.0;

    for (int side = -1; side <= 1; side += 2) {
        double f = 1.0, g = 1.0;
        for (int n = side > 0; f > 1e-18 || g > 1e-18; n++) {
            const double u = side * n * h;

            f = rmc_exp(-mu * exp_minus(u) - eta * cosh_minus(u));
            g = f * rmc_exp(-delta * u);
            sum += f;
            weighted += g;
        }
    }
    /* exp(t0) = (mu + R) / x */
    return rmc_exp(-delta * rmc_log((mu + R) / x)) * weighted / sum;
}

/*
 * r(z) = Gamma(z + 1/2) / Gamma(z): sqrt(z) times the asymptotic series in 1/z for
 * z >= 32; below, r(z) = r(z+1) z / (z + 1/2) leads there.
 */
double rmc_gamma_half_step(double z)
{
    double shift = 1.0;

    while (z < 32.0) {
        shift *= z / (z + 0.5);
        z += 1.0;
    }
    const double w = 1.0 / z;
    const double series =
        1.0 +
        w * (-1.0 / 8 + w * (1.0 / 128 +
                             w * (5.0 / 1024 +
                                  w * (-21.0 / 32768 +
                                       w * (-399.0 / 262144 +
                                            w * (869.0 / 4194304 +
                                                 w * (39325.0 / 33554432)))))));
    return shift * sqrt(z) * series;
}

/*
 * [cruise]  E|v|/c = (d / beta) Gamma((d+1)/2)/Gamma((d+2)/2) sqrt(beta/2)
 * K_{d/2}(beta) / K_{(d+1)/2}(beta).  For d = 1 this is the separable law,
 * exp(-beta) / (beta K_1(beta)), because K_{1/2} is elementary.
 */
double relmc_cruise_speed(size_t dim, double beta)
{
    const double d = (double)dim;

    if (!(dim >= 1 && beta > 0.0)) {
        return (double)NAN;
    }
    return d / sqrt(2.0 * beta) / rmc_gamma_half_step(0.5 * (d + 1.0)) *
           rmc_bessel_k_ratio(0.5 * d, 0.5 * (d + 1.0), beta);
}

/* The speed falls from 1 to 0 as beta grows, so bisection of log beta finds it. */
double relmc_cruise_beta(size_t dim, double speed)
{
    double lo = -150.0, hi = 150.0;

    if (!(dim >= 1 && speed > 0.0 && speed < 1.0)) {
        return (double)NAN;
    }
    for (int n = 0; n < 64; n++) {
        const double mid = 0.5 * (lo + hi);

        if (relmc_cruise_speed(dim, rmc_exp(mid)) > speed) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return rmc_exp(0.5 * (lo + hi));
}
