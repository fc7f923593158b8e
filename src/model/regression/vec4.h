/*
 * vec4.h - four numbers side by side, for loops whose sums must stay in registers:
 * compilers are not asked to find the vectors.  Without AVX2 the same operations
 * come one by one, and give the same bits.
 */
#ifndef RMC_FOUR_H
#define RMC_FOUR_H

#include "base/base.h"

#if defined(__AVX2__) && defined(__FMA__)

typedef __m256d rmc_four;

static inline rmc_four rmc_four_at(const double *x)
{
    return _mm256_loadu_pd(x);
}

static inline void rmc_four_put(double *to, rmc_four a)
{
    _mm256_storeu_pd(to, a);
}

/* Numbers that are used often stay in a register: compilers would load them
 * again for every use. */
static inline rmc_four rmc_four_hold(const double *x)
{
    rmc_four a = _mm256_loadu_pd(x);

    __asm__("" ::"x"(a));
    return a;
}

static inline rmc_four rmc_four_all(double x)
{
    return _mm256_set1_pd(x);
}

static inline rmc_four rmc_four_add(rmc_four a, rmc_four b)
{
    return _mm256_add_pd(a, b);
}

/* a b + c, rounded once */
static inline rmc_four rmc_four_fma(rmc_four a, rmc_four b, rmc_four c)
{
    return _mm256_fmadd_pd(a, b, c);
}

static inline rmc_four rmc_four_mul(rmc_four a, rmc_four b)
{
    return _mm256_mul_pd(a, b);
}

static inline rmc_four rmc_four_div(rmc_four a, rmc_four b)
{
    return _mm256_div_pd(a, b);
}

/* a < b ? a : b */
static inline rmc_four rmc_four_min(rmc_four a, rmc_four b)
{
    return _mm256_min_pd(a, b);
}

/* The signs of a change where `sign` has one. */
static inline rmc_four rmc_four_flip(rmc_four a, rmc_four sign)
{
    return _mm256_xor_pd(a, sign);
}

/* b where `sign` has one, else a */
static inline rmc_four rmc_four_pick(rmc_four a, rmc_four b, rmc_four sign)
{
    return _mm256_blendv_pd(a, b, sign);
}

/* (s_0 + s_1) + (s_2 + s_3) of each of the four that begin at s */
static inline rmc_four rmc_four_fold(const double *s)
{
    const rmc_four ab = _mm256_hadd_pd(rmc_four_at(s), rmc_four_at(s + 4));
    const rmc_four cd = _mm256_hadd_pd(rmc_four_at(s + 8), rmc_four_at(s + 12));

    return _mm256_add_pd(_mm256_permute2f128_pd(ab, cd, 0x20),
                         _mm256_permute2f128_pd(ab, cd, 0x31));
}

#else

typedef struct rmc_four {
    double of[4];
} rmc_four;

#define RMC_FOUR_TIMES(what)         \
    rmc_four y;                      \
                                     \
    for (size_t i = 0; i < 4; i++) { \
        y.of[i] = (what);            \
    }                                \
    return y;

static inline rmc_four rmc_four_at(const double *x)
{
    RMC_FOUR_TIMES(x[i])
}

static inline void rmc_four_put(double *to, rmc_four a)
{
    for (size_t i = 0; i < 4; i++) {
        to[i] = a.of[i];
    }
}

static inline rmc_four rmc_four_hold(const double *x)
{
    RMC_FOUR_TIMES(x[i])
}

static inline rmc_four rmc_four_all(double x)
{
    RMC_FOUR_TIMES(x)
}

static inline rmc_four rmc_four_add(rmc_four a, rmc_four b)
{
    RMC_FOUR_TIMES(a.of[i] + b.of[i])
}

static inline rmc_four rmc_four_fma(rmc_four a, rmc_four b, rmc_four c)
{
    RMC_FOUR_TIMES(rmc_fma(a.of[i], b.of[i], c.of[i]))
}

static inline rmc_four rmc_four_mul(rmc_four a, rmc_four b)
{
    RMC_FOUR_TIMES(a.of[i] * b.of[i])
}

static inline rmc_four rmc_four_div(rmc_four a, rmc_four b)
{
    RMC_FOUR_TIMES(a.of[i] / b.of[i])
}

static inline rmc_four rmc_four_min(rmc_four a, rmc_four b)
{
    RMC_FOUR_TIMES(a.of[i] < b.of[i] ? a.of[i] : b.of[i])
}

static inline rmc_four rmc_four_flip(rmc_four a, rmc_four sign)
{
    RMC_FOUR_TIMES(signbit(sign.of[i]) ? -a.of[i] : a.of[i])
}

static inline rmc_four rmc_four_pick(rmc_four a, rmc_four b, rmc_four sign)
{
    RMC_FOUR_TIMES(signbit(sign.of[i]) ? b.of[i] : a.of[i])
}

static inline rmc_four rmc_four_fold(const double *s)
{
    RMC_FOUR_TIMES((s[4 * i] + s[4 * i + 1]) + (s[4 * i + 2] + s[4 * i + 3]))
}

#undef RMC_FOUR_TIMES

#endif

#endif
