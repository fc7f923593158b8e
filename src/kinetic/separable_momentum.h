/*
 * separable_momentum.h - draws from the momentum law of one relativistic coordinate.
 *
 *   [hyperbolic]  density of y = p / sqrt(m):  exp(-y^2 / (1 + sqrt(1 + y^2/a))),
 *                 a = m c^2;  normal for a -> inf, Laplace for a -> 0
 *
 * The law has one parameter, so its quantile function is tabulated once: one
 * uniform in, one draw out, no branches.  Where too many tables would be needed,
 * because every coordinate has its own a, rejection serves instead.
 */
#ifndef RMC_HYPERBOLIC_H
#define RMC_HYPERBOLIC_H

#include "base/base.h"

/*
 * The table.  By symmetry u is in (0, 1/2).  With w = u below 1/4 and 1/2 - u
 * above, the exponent and the first 4 bits of the mantissa of w pick an
 * interval, and the rest of the mantissa is the argument of a polynomial of
 * degree 7: intervals shrink geometrically towards the tail and towards the
 * centre, which keeps them clear of the branch points y = +-i sqrt(a) for every
 * a.  8 coefficients fill one cache line.  Tail probabilities are right to 1e-13
 * relative, for a from 1e-12 to 1e18 (tests/unit/hyperbolic.c).
 */
enum {
    RMC_TABLE_BITS = 4,
    RMC_TABLE_OCTAVES = 52, /* w from 2^-54 to 2^-2 */
    RMC_TABLE_SIDE = RMC_TABLE_OCTAVES << RMC_TABLE_BITS,
    RMC_TABLE_SIZE = 2 * 8 * RMC_TABLE_SIDE /* numbers: tail, then centre */
};

static inline double rmc_hyperbolic_density(double y, double inv_a)
{
    return rmc_exp(-y * y / (1.0 + sqrt(rmc_fma(y * inv_a, y, 1.0))));
}

/* Gauss-Legendre, three points. */
static inline double rmc_hyperbolic_mass(double from, double to, double inv_a)
{
    const double mid = 0.5 * (from + to), half = 0.5 * (to - from);
    const double off = half * 0.774596669241483377;

    return half / 9.0 *
           (5.0 * (rmc_hyperbolic_density(mid - off, inv_a) +
                   rmc_hyperbolic_density(mid + off, inv_a)) +
            8.0 * rmc_hyperbolic_density(mid, inv_a));
}

/* The y at which K(y) = k. */
static inline double rmc_hyperbolic_at(double k, double inv_a)
{
    return sqrt(k * rmc_fma(k, inv_a, 2.0));
}

/* Mass of (0, inf), in panels that double from the smaller of the law's two
 * scales, 1 and sqrt(a), on. */
static inline double rmc_hyperbolic_half(double a)
{
    enum { PARTS = 64 };
    const double inv_a = 1.0 / a, end = rmc_hyperbolic_at(45.0, inv_a);
    double sum = 0.0, from = 0.0, to = a < 1.0 ? sqrt(a) : 1.0;

    while (from < end) {
        const double width = (to - from) / PARTS;
        for (int i = 0; i < PARTS; i++) {
            sum += rmc_hyperbolic_mass(from + width * i, from + width * (i + 1),
                                       inv_a);
        }
        from = to;
        to *= 2.0;
    }
    return sum;
}

/* Move from y so far that the mass passed is dm (inwards if negative). */
static inline double rmc_hyperbolic_move(double y, double dm, double inv_a)
{
    double to = y + dm / rmc_hyperbolic_density(y, inv_a);

    to = y + dm / rmc_hyperbolic_density(0.5 * (y + to), inv_a);
    for (int n = 0; n < 2; n++) {
        const double miss = rmc_hyperbolic_mass(y, to, inv_a) - dm;
        to -= miss / rmc_hyperbolic_density(to, inv_a);
    }
    return to;
}

/* A start for the sweep from the tail: the mass beyond the y at which K = k is
 * exp(-k) times the integral over t of exp(-t) dy/dk at k + t. */
static inline double rmc_hyperbolic_beyond(double k, double inv_a)
{
    const double h = 1.0 / 64;
    double sum = 0.0;

    for (int n = 0; n <= 64 * 48; n++) { /* Simpson */
        const double at = k + n * h;
        const double slope =
            rmc_fma(at, inv_a, 1.0) / rmc_hyperbolic_at(at, inv_a);
        const double weight = n == 0 ? 1.0 : n % 2 ? 4.0 : 2.0;

        sum += weight * rmc_exp(-n * h) * slope;
    }
    return rmc_exp(-k) * sum * h / 3.0;
}

/* Chebyshev nodes on (-1/2, 1/2): -cos(pi (q + 1/2) / 8) / 2. */
static const double rmc_hyperbolic_node[8] = {
    -0.49039264020161522456, -0.41573480615127261854, -0.27778511650980111237,
    -0.09754516100806413392, 0.09754516100806413392,  0.27778511650980111237,
    0.41573480615127261854,  0.49039264020161522456};

/* The polynomial through (node[q], y[q]): divided differences of y - y[3], then
 * expanded.  Only differences are divided, so y itself keeps its digits. */
static inline void rmc_hyperbolic_fit(const double y[8], double coef[8])
{
    const double *t = rmc_hyperbolic_node;
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
static inline void rmc_hyperbolic_sweep(double a, double half, double y,
                                        double mass, double sign, double *side)
{
    const double inv_a = 1.0 / a;

    for (int j = 0; j < RMC_TABLE_SIDE; j++) {
        const double octave =
            rmc_from_bits((uint64_t)(1023 - 54 + (j >> RMC_TABLE_BITS)) << 52);
        const double width = octave / (1 << RMC_TABLE_BITS);
        const double low = octave + width * (j & ((1 << RMC_TABLE_BITS) - 1));
        double at[8];

        for (int q = 0; q < 8; q++) {
            const double w = low + width * (rmc_hyperbolic_node[q] + 0.5);
            const double next = 2.0 * half * w;

            y = rmc_hyperbolic_move(y, sign * (next - mass), inv_a);
            mass = next;
            at[q] = y;
        }
        rmc_hyperbolic_fit(at, side + 8 * (size_t)j);
    }
}

static inline void rmc_hyperbolic_tabulate(double a, double *table)
{
    const double inv_a = 1.0 / a, half = rmc_hyperbolic_half(a);
    const double first = 2.0 * half * 0x1p-54;
    double k = 48.0, mass = rmc_hyperbolic_beyond(k, inv_a);

    for (;;) { /* towards the first interval of the tail */
        const double next =
            mass + rmc_hyperbolic_mass(rmc_hyperbolic_at(k - 0.0625, inv_a),
                                       rmc_hyperbolic_at(k, inv_a), inv_a);
        if (next > first) {
            break;
        }
        mass = next;
        k -= 0.0625;
    }
    rmc_hyperbolic_sweep(a, half, rmc_hyperbolic_at(k, inv_a), mass, -1.0,
                         table);
    rmc_hyperbolic_sweep(a, half, 0.0, 0.0, 1.0,
                         table + (size_t)8 * RMC_TABLE_SIDE);
}

/* One draw of y from 64 random bits: the lowest is the sign. */
static inline double rmc_hyperbolic_draw(const double *table, uint64_t bits)
{
    const double u = 0.5 * rmc_unit(bits);
    const int is_tail = u < 0.25;
    const uint64_t w = rmc_to_bits(is_tail ? u : 0.5 - u);
    const size_t j = (size_t)(w >> (52 - RMC_TABLE_BITS)) -
                     ((size_t)(1023 - 54) << RMC_TABLE_BITS) +
                     (is_tail ? 0 : RMC_TABLE_SIDE);
    const double t = rmc_from_bits((w << RMC_TABLE_BITS & 0x000fffffffffffffu) |
                                   0x3ff0000000000000u) -
                     1.5;
    const double *c = table + 8 * j;
    const double t2 = t * t;
    const double lo =
        rmc_fma(t2, rmc_fma(t, c[3], c[2]), rmc_fma(t, c[1], c[0]));
    const double hi =
        rmc_fma(t2, rmc_fma(t, c[7], c[6]), rmc_fma(t, c[5], c[4]));
    const double y = rmc_fma(t2 * t2, hi, lo);

    return rmc_from_bits(rmc_to_bits(y) ^ bits << 63);
}

#ifdef __AVX2__
/* Four numbers of each row, from `at` on: rows to columns. */
static inline void rmc_transpose4(const double *const row[4], size_t at,
                                  __m256d col[4])
{
    const __m256d a = _mm256_load_pd(row[0] + at);
    const __m256d b = _mm256_load_pd(row[1] + at);
    const __m256d c = _mm256_load_pd(row[2] + at);
    const __m256d d = _mm256_load_pd(row[3] + at);
    const __m256d ab0 = _mm256_unpacklo_pd(a, b);
    const __m256d ab1 = _mm256_unpackhi_pd(a, b);
    const __m256d cd0 = _mm256_unpacklo_pd(c, d);
    const __m256d cd1 = _mm256_unpackhi_pd(c, d);

    col[0] = _mm256_permute2f128_pd(ab0, cd0, 0x20);
    col[1] = _mm256_permute2f128_pd(ab1, cd1, 0x20);
    col[2] = _mm256_permute2f128_pd(ab0, cd0, 0x31);
    col[3] = _mm256_permute2f128_pd(ab1, cd1, 0x31);
}

/* rmc_hyperbolic_draw, four at a time: the same operations, the same bits.
 * Whole cache lines are loaded and transposed, which beats gathers. */
static inline __m256d rmc_hyperbolic_draw4(const double *table, __m256i bits)
{
    const __m256i one = _mm256_set1_epi64x(0x3ff0000000000000);
    const __m256i mantissa = _mm256_set1_epi64x(0x000fffffffffffff);
    const __m256d unit = _mm256_sub_pd(
        _mm256_castsi256_pd(_mm256_or_si256(_mm256_srli_epi64(bits, 12), one)),
        _mm256_set1_pd(1.0 - 0x1p-53));
    const __m256d u = _mm256_mul_pd(_mm256_set1_pd(0.5), unit);
    const __m256d is_tail = _mm256_cmp_pd(u, _mm256_set1_pd(0.25), _CMP_LT_OQ);
    const __m256i w = _mm256_castpd_si256(
        _mm256_blendv_pd(_mm256_sub_pd(_mm256_set1_pd(0.5), u), u, is_tail));
    const __m256i index = _mm256_add_epi64(
        _mm256_sub_epi64(_mm256_srli_epi64(w, 52 - RMC_TABLE_BITS),
                         _mm256_set1_epi64x((1023 - 54) << RMC_TABLE_BITS)),
        _mm256_andnot_si256(_mm256_castpd_si256(is_tail),
                            _mm256_set1_epi64x(RMC_TABLE_SIDE)));
    const __m256d t = _mm256_sub_pd(
        _mm256_castsi256_pd(_mm256_or_si256(
            _mm256_and_si256(_mm256_slli_epi64(w, RMC_TABLE_BITS), mantissa),
            one)),
        _mm256_set1_pd(1.5));
    const double *const row[4] = {table + 8 * _mm256_extract_epi64(index, 0),
                                  table + 8 * _mm256_extract_epi64(index, 1),
                                  table + 8 * _mm256_extract_epi64(index, 2),
                                  table + 8 * _mm256_extract_epi64(index, 3)};
    __m256d c[8];

    rmc_transpose4(row, 0, c);
    rmc_transpose4(row, 4, c + 4);
    const __m256d t2 = _mm256_mul_pd(t, t);
    const __m256d lo = _mm256_fmadd_pd(t2, _mm256_fmadd_pd(t, c[3], c[2]),
                                       _mm256_fmadd_pd(t, c[1], c[0]));
    const __m256d hi = _mm256_fmadd_pd(t2, _mm256_fmadd_pd(t, c[7], c[6]),
                                       _mm256_fmadd_pd(t, c[5], c[4]));
    const __m256d y = _mm256_fmadd_pd(_mm256_mul_pd(t2, t2), hi, lo);

    return _mm256_xor_pd(y, _mm256_castsi256_pd(_mm256_slli_epi64(bits, 63)));
}
#endif

/* n draws in place of n times 64 bits. */
static inline void rmc_hyperbolic_transform(const double *table, size_t n,
                                            double *y)
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

/*
 * The same law by rejection, for any a.  e = K/a has density (1 + e) /
 * sqrt(e (2 + e)) exp(-a e); under the hat (1/sqrt(2 e) + 1) exp(-a e), a
 * mixture of Gamma(1/2) and an exponential, it is accepted with at least 0.72.
 */
static inline double rmc_hyperbolic_reject(relmc_stream *s, double a)
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

#endif
