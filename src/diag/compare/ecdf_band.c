/*
 * ecdf_band.c - tests whether numbers are uniform: exact bands for their
 * empirical distribution function at all points at once.
 *
 * Sailynoja, Buerkner and Vehtari (2022).  The counts X_i of numbers <= i / K
 * are a Markov chain, the same as a Poisson process of rate n given that it
 * ends at n; so all steps have one kernel,
 *
 *   [ecdf-band]  f_i(y) = sum_x f_{i-1}(x) Poisson(y - x; n / K) in the bounds,
 *                coverage = f_K(n) / Poisson(n; n)
 *
 * A count x at point i is within the bounds if P(X_i <= x) > gamma / 2 and
 * P(X_i >= x) > gamma / 2; the upper bounds mirror the lower ones.
 */
#include "base/base.h"
#include "base/sized_struct.h"
#include "diag/compare/binomial.h"
#include "relmc_diag.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_CELLS = 1 << 26 };

typedef struct walk {
    size_t n, n_points;
    double *cdf;    /* (n_points - 1) x (n + 1): P(X_i <= x), i from 1 */
    double *step;   /* n + 1: the Poisson kernel */
    double *f, *to; /* n + 1 */
    double last;    /* Poisson(n; n) */
    size_t *lower;  /* n_points - 1 */
    relmc_arena arena;
} walk;

static relmc_status walk_create(walk *w, size_t n, size_t n_points,
                                relmc_error *err)
{
    *w = (walk){.n = n, .n_points = n_points};
    if (n == 0 || n_points < 2 || n >= MAX_CELLS / n_points) {
        return rmc_fail(err, RELMC_EINVAL,
                        "ecdf: n must be at least 1, n_points at least 2, and "
                        "their product below %d",
                        MAX_CELLS);
    }
    const double rate = (double)n / (double)n_points;
    const size_t bytes = (n + 1) * sizeof(double);

    w->cdf = relmc_arena_get(&w->arena, n_points * bytes);
    w->step = relmc_arena_get(&w->arena, bytes);
    w->f = relmc_arena_get(&w->arena, bytes);
    w->to = relmc_arena_get(&w->arena, bytes);
    w->lower = relmc_arena_get(&w->arena, n_points * sizeof *w->lower);
    const relmc_status status = relmc_arena_check(&w->arena, err);
    if (status) {
        return status;
    }
    w->last = rmc_poisson((double)n, (double)n);
    for (size_t x = 0; x <= n; x++) {
        w->step[x] = rmc_poisson((double)x, rate);
    }
    for (size_t i = 1; i < n_points; i++) {
        double *cdf = w->cdf + (i - 1) * (n + 1), sum = 0.0;

        for (size_t x = 0; x <= n; x++) {
            sum += rmc_binomial((double)x, (double)n,
                                (double)i / (double)n_points);
            cdf[x] = sum;
        }
    }
    return RELMC_OK;
}

/* lower[i - 1]: the least x with P(X_i <= x) > tail. */
static void set_bounds(walk *w, double tail)
{
    for (size_t i = 1; i < w->n_points; i++) {
        const double *cdf = w->cdf + (i - 1) * (w->n + 1);
        size_t low = 0, high = w->n;

        while (low < high) {
            const size_t mid = low + (high - low) / 2;

            if (cdf[mid] > tail) {
                high = mid;
            } else {
                low = mid + 1;
            }
        }
        w->lower[i - 1] = low;
    }
}

/* P(X_i >= x) = P(X_{K-i} <= n - x) */
static size_t upper_bound(const walk *w, size_t i)
{
    return w->n - w->lower[w->n_points - i - 1];
}

/* The probability to stay within the bounds that leave `tail` on each side. */
static double coverage_of(walk *w, double tail)
{
    size_t from = 0, to = 0; /* f is positive in between */

    set_bounds(w, tail);
    w->f[0] = 1.0;
    for (size_t i = 1; i <= w->n_points; i++) {
        const size_t low = i < w->n_points ? w->lower[i - 1] : w->n;
        const size_t high = i < w->n_points ? upper_bound(w, i) : w->n;

        for (size_t y = low; y <= high; y++) {
            double sum = 0.0;

            for (size_t x = from; x <= to && x <= y; x++) {
                sum += w->f[x] * w->step[y - x];
            }
            w->to[y] = sum;
        }
        if (low > high) { /* no count is within the bounds */
            return 0.0;
        }
        memcpy(w->f + low, w->to + low, (high - low + 1) * sizeof *w->f);
        from = low;
        to = high;
    }
    return fmin(w->f[w->n] / w->last, 1.0);
}

/* The largest gamma that covers 1 - alpha; Bonferroni's is not too large. */
static relmc_ecdf_band find_gamma(walk *w, double alpha)
{
    double low = alpha / (double)w->n_points, high = 1.0;

    for (int i = 0; i < 100 && high - low > 4 * DBL_EPSILON * low; i++) {
        const double mid = 0.5 * (low + high);

        if (coverage_of(w, 0.5 * mid) >= 1.0 - alpha) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return (relmc_ecdf_band){.gamma = low,
                             .coverage = coverage_of(w, 0.5 * low)};
}

relmc_status relmc_ecdf_band_find(relmc_ecdf_band *out, size_t *lower,
                                  size_t *upper, size_t n, size_t n_points,
                                  double alpha, relmc_error *err)
{
    walk w;

    if (!(alpha > 0.0 && alpha < 1.0)) {
        return rmc_fail(err, RELMC_EINVAL, "ecdf: alpha must be in (0, 1)");
    }
    relmc_status status = walk_create(&w, n, n_points, err);

    if (!status) {
        const relmc_ecdf_band found = find_gamma(&w, alpha);

        for (size_t i = 1; i <= n_points; i++) {
            const int is_last = i == n_points;

            if (lower) {
                lower[i - 1] = is_last ? n : w.lower[i - 1];
            }
            if (upper) {
                upper[i - 1] = is_last ? n : upper_bound(&w, i);
            }
        }
        status =
            rmc_sized_fill(out, &found, sizeof found, "relmc_ecdf_band", err);
    }
    rmc_arena_release(&w.arena);
    return status;
}

/* The least i with u <= i / K, from 1 for u = 0; exactly i for a u that is i /
 * K as the processor rounds it. */
static size_t first_point(double u, size_t n_points)
{
    const double k = (double)n_points;
    double i = ceil(u * k);

    i = i < 1.0 ? 1.0 : i;
    if (i > 1.0 && (i - 1.0) / k >= u) {
        i -= 1.0;
    }
    return (size_t)(i / k < u ? i + 1.0 : i);
}

/* The least tail probability of a count at any point. */
static double least_tail(const walk *w, const size_t *at_point)
{
    double least = 1.0;
    size_t x = 0;

    for (size_t i = 1; i < w->n_points; i++) {
        const double *cdf = w->cdf + (i - 1) * (w->n + 1);
        const double *mirror = w->cdf + (w->n_points - i - 1) * (w->n + 1);

        x += at_point[i];
        least = fmin(least, fmin(cdf[x], mirror[w->n - x]));
    }
    return least;
}

relmc_status relmc_ecdf_test(double *p_value, size_t n, const double *u,
                             size_t n_points, relmc_error *err)
{
    walk w;
    relmc_status status = walk_create(&w, n, n_points, err);

    if (!status) {
        size_t *at_point =
            relmc_arena_get(&w.arena, (n_points + 2) * sizeof *at_point);

        status = relmc_arena_check(&w.arena, err);
        for (size_t t = 0; !status && t < n; t++) {
            if (u[t] >= 0.0 && u[t] <= 1.0) {
                at_point[first_point(u[t], n_points)]++;
            } else {
                status = rmc_fail(err, RELMC_EINVAL,
                                  "ecdf: u must be in [0, 1], number %zu is %g",
                                  t, u[t]);
            }
        }
        if (!status) {
            *p_value = 1.0 - coverage_of(&w, least_tail(&w, at_point));
        }
    }
    rmc_arena_release(&w.arena);
    return status;
}
