/*
 * quantiles.c - quantiles, their effective sample sizes and standard errors;
 * effective sample sizes of small intervals.
 */
#include "diag/convergence/series.h"
#include "relmc_diag.h"

#include <math.h>
#include <stdlib.h>

static const double unknown = (double)NAN;

/* ---- the beta distribution ----------------------------------------------- */

/* log Gamma(z), z >= 1: Stirling's series beyond 16, reached by recurrence.
 * (That of the C library keeps the sign in a global variable.) */
static double log_gamma(double z)
{
    double product = 1.0;

    while (z < 16.0) {
        product *= z;
        z += 1.0;
    }
    const double w = 1.0 / (z * z);
    const double series =
        (1.0 / 12 -
         w * (1.0 / 360 -
              w * (1.0 / 1260 -
                   w * (1.0 / 1680 - w * (1.0 / 1188 - w * 691.0 / 360360))))) /
        z;

    return (z - 0.5) * log(z) - z + 0.918938533204672741780 + series -
           log(product);
}

/* [beta-cdf]  The continued fraction for I_x(a, b) a B(a, b) x^-a (1-x)^-b,
 * evaluated from the front (Lentz); for x below the mean. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double f = d;

    for (int i = 1; i < 1000000; i++) {
        const double m = i;
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd =
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

        d = 1.0 + even * d;
        c = 1.0 + even / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= d * c;
        d = 1.0 + odd * d;
        c = 1.0 + odd / c;
        d = 1.0 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= d * c;
        if (fabs(d * c - 1.0) < 1e-16) {
            break;
        }
    }
    return f;
}

/* P(X <= x) for X ~ Beta(a, b), a and b at least 1. */
static double beta_cdf(double a, double b, double x)
{
    const double log_front = log_gamma(a + b) - log_gamma(a) - log_gamma(b) +
                             a * log(x) + b * log1p(-x);

    if (x < (a + 1.0) / (a + b + 2.0)) {
        return exp(log_front) * beta_fraction(a, b, x) / a;
    }
    return 1.0 - exp(log_front) * beta_fraction(b, a, 1.0 - x) / b;
}

/* The x with P(X <= x) = p, by halving intervals. */
static double beta_quantile(double p, double a, double b)
{
    double low = 0.0, high = 1.0;

    for (int i = 0; i < 100; i++) {
        const double mid = 0.5 * (low + high);

        if (!(low < mid && mid < high) || high - low < 1e-16 * mid) {
            break;
        }
        if (beta_cdf(a, b, mid) < p) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return 0.5 * (low + high);
}

/* ---- quantiles ----------------------------------------------------------- */

/* [mcse-quantile]  A quantile estimated from e draws is the order statistic at
 * a level ~ Beta(e p + 1, e (1 - p) + 1); its error is half the distance
 * between the draws at the levels of -1 and +1 standard deviations of a
 * normal. */
static double quantile_error(const rmc_order *o, double p, double ess)
{
    const double n = (double)o->n;
    const double a = ess * p + 1.0, b = ess * (1.0 - p) + 1.0;

    if (!rmc_is_finite(ess)) {
        return unknown;
    }
    const double below = floor(beta_quantile(0.1586553, a, b) * n);
    const double above = ceil(beta_quantile(0.8413447, a, b) * n);
    const size_t i = below < 1.0 ? 1 : (size_t)below;
    const size_t j = above > n ? o->n : (size_t)above;

    return (o->sorted[j - 1] - o->sorted[i - 1]) / 2.0;
}

static void estimate_quantile(relmc_quantile *out, rmc_work *w, double p)
{
    const rmc_order *o = &w->order;
    const double n = (double)o->n;

    out->value = rmc_quantile_of(o->sorted, o->n, p);
    if (w->half.n >= 2 && rmc_has_spread(o->x, o->n)) {
        /* all draws are below the largest: take a level a little lower */
        const double level = p < 1.0 ? p : (n - 0.5) / n;

        out->ess = rmc_quantile_ess(w, rmc_quantile_of(o->sorted, o->n, level));
        out->mcse = quantile_error(o, p, out->ess);
    }
}

/* Room for n results of some bytes, until the work is released. */
static void *take(rmc_work *w, size_t n, size_t bytes)
{
    return relmc_arena_get(&w->arena,
                           n < SIZE_MAX / 64 ? (n + 1) * bytes : SIZE_MAX);
}

static relmc_status check_levels(size_t n, const double *p, relmc_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!(p[i] >= 0.0 && p[i] <= 1.0)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "quantiles: p must be in [0, 1], not %g", p[i]);
        }
    }
    return RELMC_OK;
}

relmc_status relmc_quantiles(relmc_quantile *out, const relmc_series *series,
                             size_t n, const double *p, relmc_error *err)
{
    relmc_status status = check_levels(n, p, err);
    rmc_work w;

    if (status) {
        return status;
    }
    status = rmc_work_create(&w, series, err);
    relmc_quantile *found = take(&w, n, sizeof *found);

    if (!status) {
        status = relmc_arena_check(&w.arena, err);
    }
    if (!status) {
        const int is_known = rmc_order_load(&w.order, series);

        if (is_known) {
            rmc_order_sort(&w.order);
        }
        for (size_t i = 0; i < n; i++) {
            found[i] = (relmc_quantile){unknown, unknown, unknown};
            if (is_known) {
                estimate_quantile(&found[i], &w, p[i]);
            }
        }
        for (size_t i = 0; !w.half.has_failed && i < n; i++) {
            out[i] = found[i];
        }
    }
    return rmc_work_release(&w, status, err);
}

/* ---- small intervals ----------------------------------------------------- */

static double interval_ess(rmc_work *w, double from, double to)
{
    const rmc_order *o = &w->order;
    const double low = rmc_quantile_of(o->sorted, o->n, from);
    const double high = rmc_quantile_of(o->sorted, o->n, to);

    return rmc_chains_indicate(&w->half, o->x, low, high)
               ? rmc_chains_ess(&w->half)
               : unknown;
}

relmc_status relmc_local_ess(double *out, const relmc_series *series,
                             size_t n_bins, relmc_error *err)
{
    rmc_work w;

    if (n_bins == 0) {
        return rmc_fail(err, RELMC_EINVAL, "local: n_bins must be at least 1");
    }
    relmc_status status = rmc_work_create(&w, series, err);
    double *found = take(&w, n_bins, sizeof *found);

    if (!status) {
        status = relmc_arena_check(&w.arena, err);
    }
    if (!status) {
        const int is_known = rmc_order_load(&w.order, series) && w.half.n >= 2;

        if (is_known) {
            rmc_order_sort(&w.order);
        }
        for (size_t i = 0; i < n_bins; i++) {
            const double n = (double)n_bins, from = (double)i / n;

            found[i] = is_known ? interval_ess(&w, from, (double)(i + 1) / n)
                                : unknown;
        }
        for (size_t i = 0; !w.half.has_failed && i < n_bins; i++) {
            out[i] = found[i];
        }
    }
    return rmc_work_release(&w, status, err);
}
