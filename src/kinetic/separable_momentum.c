/*
 * separable_momentum.c - [hyperbolic] the quantile table, and rejection.
 */
#include "kinetic/separable_momentum.h"

#include "kinetic/separable_momentum_inline.h"

static double density(double y, double inv_a)
{
    return rmc_exp(-y * y / (1.0 + sqrt(rmc_fma(y * inv_a, y, 1.0))));
}

/* Gauss-Legendre, three points. */
static double mass_between(double from, double to, double inv_a)
{
    const double mid = 0.5 * (from + to), half = 0.5 * (to - from);
    const double off = half * 0.774596669241483377;

    return half / 9.0 *
           (5.0 * (density(mid - off, inv_a) + density(mid + off, inv_a)) +
            8.0 * density(mid, inv_a));
}

/* The y at which K(y) = k. */
static double y_at(double k, double inv_a)
{
    return sqrt(k * rmc_fma(k, inv_a, 2.0));
}

/* Mass of (0, inf), in panels that double from the smaller of the law's two
 * scales, 1 and sqrt(a), on. */
static double half_mass(double a)
{
    enum { PARTS = 64 };
    const double inv_a = 1.0 / a, end = y_at(45.0, inv_a);
    double sum = 0.0, from = 0.0, to = a < 1.0 ? sqrt(a) : 1.0;

    while (from < end) {
        const double width = (to - from) / PARTS;
        for (int i = 0; i < PARTS; i++) {
            sum +=
                mass_between(from + width * i, from + width * (i + 1), inv_a);
        }
        from = to;
        to *= 2.0;
    }
    return sum;
}

/* Move from y so far that the mass passed is dm (inwards if negative). */
static double move(double y, double dm, double inv_a)
{
    double to = y + dm / density(y, inv_a);

    to = y + dm / density(0.5 * (y + to), inv_a);
    for (int n = 0; n < 2; n++) {
        const double miss = mass_between(y, to, inv_a) - dm;
        to -= miss / density(to, inv_a);
    }
    return to;
}

/* A start for the sweep from the tail: the mass beyond the y at which K = k is
 * exp(-k) times the integral over t of exp(-t) dy/dk at k + t. */
static double beyond(double k, double inv_a)
{
    const double h = 1.0 / 64;
    double sum = 0.0;

    for (int n = 0; n <= 64 * 48; n++) { /* Simpson */
        const double at = k + n * h;
        const double slope = rmc_fma(at, inv_a, 1.0) / y_at(at, inv_a);
        const double weight = n == 0 ? 1.0 : n % 2 ? 4.0 : 2.0;

        sum += weight * rmc_exp(-n * h) * slope;
    }
    return rmc_exp(-k) * sum * h / 3.0;
}

/* Chebyshev nodes on (-1/2, 1/2): -cos(pi (q + 1/2) / 8) / 2. */
static const double node[8] = {-0.49039264020161522456, -0.41573480615127261854,
                               -0.27778511650980111237, -0.09754516100806413392,
                               0.09754516100806413392,  0.27778511650980111237,
                               0.41573480615127261854,  0.49039264020161522456};

/* The polynomial through (node[q], y[q]): divided differences of y - y[3], then
 * expanded.  Only differences are divided, so y itself keeps its digits. */
static void fit(const double y[8], double coef[8])
{
    const double *t = node;
    double d[8], p[8] = {0};

    for (int q = 0; q < 8; q++) {
        d[q] = y[q] - y[3];
    }
    for (int n = 1; n < 8; n++) {
        for (int q = 7; q >= n; q--) {
            d[q] = (d[q] - d[q - 1]) / (t[q] - t[q - n]);
        }
    }
    for (int n = 7; n >= 0; n--) { /* p <- p (x - t_n) + d_n */
        for (int q = 7; q > 0; q--) {
            p[q] = rmc_fma(-t[n], p[q], p[q - 1]);
        }
        p[0] = rmc_fma(-t[n], p[0], d[n]);
    }
    p[0] += y[3];
    memcpy(coef, p, sizeof p);
}

/* One side of the table, swept with growing w from `y`, where the mass on the
 * far side (beyond y in the tail, below y in the centre) is `mass`. */
static void sweep(double a, double half, double y, double mass, double sign,
                  double *side)
{
    const double inv_a = 1.0 / a;

    for (int j = 0; j < RMC_TABLE_SIDE; j++) {
        const double octave =
            rmc_from_bits((uint64_t)(1023 - 54 + (j >> RMC_TABLE_BITS)) << 52);
        const double width = octave / (1 << RMC_TABLE_BITS);
        const double low = octave + width * (j & ((1 << RMC_TABLE_BITS) - 1));
        double at[8];

        for (int q = 0; q < 8; q++) {
            const double w = low + width * (node[q] + 0.5);
            const double next = 2.0 * half * w;

            y = move(y, sign * (next - mass), inv_a);
            mass = next;
            at[q] = y;
        }
        fit(at, side + 8 * (size_t)j);
    }
}

void RMC_ISA(rmc_hyperbolic_tabulate)(double a, double *table)
{
    const double inv_a = 1.0 / a, half = half_mass(a);
    const double first = 2.0 * half * 0x1p-54;
    double k = 48.0, mass = beyond(k, inv_a);

    for (;;) { /* towards the first interval of the tail */
        const double next =
            mass + mass_between(y_at(k - 0.0625, inv_a), y_at(k, inv_a), inv_a);
        if (next > first) {
            break;
        }
        mass = next;
        k -= 0.0625;
    }
    sweep(a, half, y_at(k, inv_a), mass, -1.0, table);
    sweep(a, half, 0.0, 0.0, 1.0, table + (size_t)8 * RMC_TABLE_SIDE);
}

void RMC_ISA(rmc_hyperbolic_transform)(const double *table, size_t n, double *y)
{
    size_t j = 0;

#ifdef __AVX2__
    for (; j + 4 <= n; j += 4) {
        const __m256i bits = _mm256_castpd_si256(_mm256_loadu_pd(y + j));
        _mm256_storeu_pd(y + j, rmc_hyperbolic_draw4(table, bits));
    }
#endif
    for (; j < n; j++) {
        y[j] = rmc_hyperbolic_draw(table, rmc_to_bits(y[j]));
    }
}

double RMC_ISA(rmc_hyperbolic_reject)(relmc_stream *s, double a)
{
    const double r = sqrt(1.57079632679489661923 * a); /* sqrt(pi a / 2) */

    for (;;) {
        double e;

        if (rmc_draw_uniform(s) * (1.0 + r) < r) {
            const double z = rmc_draw_normal(s);
            e = z * z / (2.0 * a);
        } else {
            e = rmc_draw_exponential(s) / a;
        }
        const uint64_t bits = rmc_draw_bits(s);
        const double hat = 0.70710678118654752440 + sqrt(e);
        if (rmc_unit(bits) * hat * sqrt(2.0 + e) <= 1.0 + e) {
            const double y = sqrt(a * e * (2.0 + e));
            return bits & 1 ? -y : y;
        }
    }
}
