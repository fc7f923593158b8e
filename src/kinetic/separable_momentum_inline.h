/*
 * separable_momentum_inline.h - a draw from the table, and four of them.  Inlined
 * because a draw takes a few nanoseconds, in loops.
 */
#ifndef RMC_KINETIC_SEPARABLE_MOMENTUM_INLINE_H
#define RMC_KINETIC_SEPARABLE_MOMENTUM_INLINE_H

#include "kinetic/separable_momentum.h"

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

#endif
