/*
 * stats.h - tools of statistical tests: running moments, goodness-of-fit probabilities,
 * distribution functions by quadrature, and the exact distribution of a relativistic
 * momentum.  It uses nothing of the library, so that a mistake there cannot hide.  Include
 * it after cmocka.h.
 */
#ifndef RMC_TESTS_STATS_H
#define RMC_TESTS_STATS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- moments ------------------------------------------------------------- */

typedef struct stats_sums {
    double n, mean, m2; /* m2: sum of squares about the mean */
} stats_sums;

static inline void stats_add(stats_sums *s, double value)
{
    const double off = value - s->mean;

    s->n += 1.0;
    s->mean += off / s->n;
    s->m2 += off * (value - s->mean);
}

/* Standard error of the mean of independent values. */
static inline double stats_error(const stats_sums *s)
{
    return sqrt(s->m2 / (s->n - 1.0) / s->n);
}

/* The error of the mean in standard errors.  A mean of equal values must be exact, up to
 * rounding. */
static inline double stats_z(const stats_sums *s, double truth)
{
    const double rounding = 1e-13 * (fabs(s->mean) + fabs(truth));
    const double off = fabs(s->mean - truth);

    return off <= rounding ? 0.0 : off / stats_error(s);
}

/* ---- probabilities ------------------------------------------------------- */

/* P(|Z| > z), Z standard normal. */
static inline double stats_normal_p(double z)
{
    return erfc(fabs(z) * 0.70710678118654752440);
}

/* A radix sort: eight passes of eight bits. */
static inline void stats_sort(double *a, size_t n)
{
    uint64_t *from = malloc(n * sizeof *from), *to = malloc(n * sizeof *to);

    assert_non_null(from);
    assert_non_null(to);
    memcpy(from, a, n * sizeof *from);
    for (size_t i = 0; i < n;
         i++) { /* flip all bits if negative, else the sign */
        from[i] ^= from[i] >> 63 ? UINT64_MAX : UINT64_C(1) << 63;
    }
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t start[257] = {0};

        for (size_t i = 0; i < n; i++) {
            start[(from[i] >> shift & 255) + 1]++;
        }
        for (size_t b = 0; b < 256; b++) {
            start[b + 1] += start[b];
        }
        for (size_t i = 0; i < n; i++) {
            to[start[from[i] >> shift & 255]++] = from[i];
        }
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < n; i++) {
        from[i] ^= from[i] >> 63 ? UINT64_C(1) << 63 : UINT64_MAX;
    }
    memcpy(a, from, n * sizeof *from);
    free(from);
    free(to);
}

/* Kolmogorov-Smirnov: probability of a distance this large if u, ascending, is
 * uniform on (0, 1); Stephens' correction for finite n. */
static inline double stats_ks_p(const double *u, size_t n)
{
    const double root = sqrt((double)n);
    double worst = 0.0, sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double below = u[i] - (double)i / (double)n;
        const double above = (double)(i + 1) / (double)n - u[i];

        if (!(u[i] >= 0.0 && u[i] <= 1.0)) {
            return 0.0; /* NaN, or outside of [0, 1] */
        }
        worst = fmax(worst, fmax(below, above));
    }
    const double t = (root + 0.12 + 0.11 / root) * worst;
    if (t < 0.3) {
        return 1.0;
    }
    for (int j = 20; j >= 1; j--) {
        sum += (j % 2 ? 2.0 : -2.0) * exp(-2.0 * j * j * t * t);
    }
    return sum;
}

/*
 * Anderson-Darling: the same with a distance that weights the tails.  In the limit A2 is
 * a sum of chi-squares over j (j + 1), j = 1, 2, ...; the first one dominates the tail,
 * and the others multiply it by prod (1 - 2/(j (j+1)))^(-1/2) = sqrt(3).  Right to 10 %
 * at the 5 % point, and better further out.
 */
static inline double stats_ad_p(const double *u, size_t n)
{
    const double tiny = 1e-300;
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        if (!(u[i] >= 0.0 && u[i] <= 1.0)) {
            return 0.0;
        }
        sum += (2.0 * (double)i + 1.0) *
               log(fmax(u[i], tiny) * fmax(1.0 - u[n - 1 - i], tiny));
    }
    const double a2 = -(double)n - sum / (double)n;
    return fmin(1.0, sqrt(3.0) * erfc(sqrt(fmax(a2, 0.0))));
}

/* The smaller of the two p-values; sorts u. */
static inline double stats_uniform_p(double *u, size_t n)
{
    stats_sort(u, n);
    return fmin(stats_ks_p(u, n), stats_ad_p(u, n));
}

/* ---- distribution functions by quadrature -------------------------------- */

typedef double (*stats_fn)(const void *ctx, double x);

enum { STATS_CELLS = 4096 };

/* The law with density proportional to exp(log_density) on (lo, hi). */
typedef struct stats_law {
    stats_fn log_density;
    const void *ctx;
    double lo, hi, top; /* top: log density where it is largest on the grid */
    double mass;        /* integral of exp(log_density - top) */
    double cdf[STATS_CELLS + 1], pdf[STATS_CELLS + 1];
} stats_law;

/* Integral of f times the density over one cell: Gauss-Legendre, three points.
 * f may be NULL for 1. */
static inline double stats_law_cell(const stats_law *law, size_t i, stats_fn f,
                                    const void *f_ctx)
{
    static const double node[3] = {-0.774596669241483377, 0.0,
                                   0.774596669241483377};
    static const double weight[3] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
    const double width = (law->hi - law->lo) / STATS_CELLS;
    double sum = 0.0;

    for (int q = 0; q < 3; q++) {
        const double x = law->lo + width * ((double)i + 0.5 + 0.5 * node[q]);
        const double y = exp(law->log_density(law->ctx, x) - law->top);

        sum += weight[q] * y * (f ? f(f_ctx, x) : 1.0);
    }
    return sum * width;
}

static inline void stats_law_open(stats_law *law, stats_fn log_density,
                                  const void *ctx, double lo, double hi)
{
    const double width = (hi - lo) / STATS_CELLS;
    double sum = 0.0;

    *law = (stats_law){log_density, ctx, lo, hi, -HUGE_VAL, 0.0, {0}, {0}};
    for (size_t i = 0; i <= STATS_CELLS; i++) {
        law->pdf[i] = log_density(ctx, lo + width * (double)i);
        law->top = fmax(law->top, law->pdf[i]);
    }
    for (size_t i = 0; i < STATS_CELLS; i++) {
        law->cdf[i] = sum;
        sum += stats_law_cell(law, i, NULL, NULL);
    }
    law->cdf[STATS_CELLS] = law->mass = sum;
    for (size_t i = 0; i <= STATS_CELLS; i++) {
        law->cdf[i] /= law->mass;
        law->pdf[i] = exp(law->pdf[i] - law->top) / law->mass;
    }
}

/* P(X <= x), by a cubic with the values and slopes at both ends of the cell; the error is
 * about 1e-9. */
static inline double stats_law_cdf(const stats_law *law, double x)
{
    const double width = (law->hi - law->lo) / STATS_CELLS;
    const double at = (x - law->lo) / width;

    if (!(at > 0.0)) {
        return at <= 0.0 ? 0.0 : (double)NAN;
    }
    if (at >= STATS_CELLS) {
        return 1.0;
    }
    const size_t i = (size_t)at;
    const double t = at - (double)i, s = 1.0 - t;
    const double f = law->cdf[i + 1] - law->cdf[i];
    const double u = law->cdf[i] + f * t * t * (3.0 - 2.0 * t) +
                     width * t * s * (law->pdf[i] * s - law->pdf[i + 1] * t);
    return fmin(fmax(u, 0.0), 1.0);
}

/* E f(X) */
static inline double stats_law_mean(const stats_law *law, stats_fn f,
                                    const void *f_ctx)
{
    double sum = 0.0;

    for (size_t i = 0; i < STATS_CELLS; i++) {
        sum += stats_law_cell(law, i, f, f_ctx);
    }
    return sum / law->mass;
}

/* ---- the radius of a relativistic momentum -------------------------------- */

/*
 * |p| = m c sinh x has density |p|^(d-1) exp(-K), so x has density
 * sinh(x)^(d-1) cosh(x) exp(-beta (cosh x - 1)), beta = m c^2: it is smooth, has one peak
 * and a moderate width for every beta and d.
 */
typedef struct stats_momentum {
    double d, m, c, beta;
    stats_law law; /* of x */
} stats_momentum;

static inline double stats_momentum_log(const void *ctx, double x)
{
    const stats_momentum *r = ctx;
    const double half = sinh(0.5 * x);
    const double volume = r->d > 1.0 ? (r->d - 1.0) * log(sinh(x)) : 0.0;

    return volume + log(cosh(x)) - 2.0 * r->beta * half * half;
}

/* The point between `peak` and `end` at which the log density has fallen by `drop`; `end`
 * if there is none. */
static inline double stats_momentum_edge(const stats_momentum *r, double peak,
                                         double end, double drop)
{
    const double level = stats_momentum_log(r, peak) - drop;
    double in = peak, out = end;

    for (int n = 0; n < 200; n++) {
        const double mid = 0.5 * (in + out);

        if (stats_momentum_log(r, mid) > level) {
            in = mid;
        } else {
            out = mid;
        }
    }
    return out;
}

static inline void stats_momentum_open(stats_momentum *r, size_t dim, double m,
                                       double c)
{
    double lo = -60.0, hi = log(60.0);

    *r = (stats_momentum){.d = (double)dim, .m = m, .c = c, .beta = m * c * c};
    for (int n = 0; n < 200; n++) { /* bisect for the peak */
        const double mid = 0.5 * (lo + hi), x = exp(mid), s = sinh(x);

        if ((r->d - 1.0) * cosh(x) / (s * s) + 1.0 / cosh(x) > r->beta) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    const double peak = exp(lo);
    const double from = stats_momentum_edge(r, peak, 0.0, 45.0);
    const double to = stats_momentum_edge(r, peak, 100.0, 45.0);

    stats_law_open(&r->law, stats_momentum_log, r, from, to);
}

/* P(|p| <= radius) */
static inline double stats_momentum_cdf(const stats_momentum *r, double radius)
{
    return stats_law_cdf(&r->law, asinh(radius / (r->m * r->c)));
}

/* P(p <= value), for one dimension. */
static inline double stats_momentum_cdf_signed(const stats_momentum *r,
                                               double value)
{
    const double half = 0.5 * stats_momentum_cdf(r, fabs(value));

    return value < 0.0 ? 0.5 - half : 0.5 + half;
}

typedef struct stats_power {
    const stats_momentum *r;
    double power;
} stats_power;

static inline double stats_momentum_power(const void *ctx, double x)
{
    const stats_power *f = ctx;

    return pow(f->r->m * f->r->c * sinh(x), f->power);
}

/* E |p|^power */
static inline double stats_momentum_moment(const stats_momentum *r,
                                           double power)
{
    const stats_power f = {r, power};

    return stats_law_mean(&r->law, stats_momentum_power, &f);
}

#endif
