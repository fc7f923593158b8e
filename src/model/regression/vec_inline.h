/*
 * vec_inline.h - four or eight numbers side by side, for loops whose sums must stay in
 * registers: compilers are not asked to find the vectors.  Inlined because a call for
 * each operation would put them into memory.
 *
 * Four are one register of AVX2; without it the same operations come one by one.  Eight,
 * a row of a panel of design_inline.h, are one register of AVX-512, elsewhere two fours.
 * The bits are the same everywhere.
 */
#ifndef RMC_VEC_INLINE_H
#define RMC_VEC_INLINE_H

#include "base/base.h"

/* What one register does; mm is the prefix of its intrinsics.  `hold`: numbers that are
 * used often stay in a register; compilers would load them again for every use. */
#define RMC_VEC_IN_REGISTER(vec, mm)                  \
    static inline vec vec##_at(const double *x)       \
    {                                                 \
        return mm##_loadu_pd(x);                      \
    }                                                 \
    static inline void vec##_put(double *to, vec a)   \
    {                                                 \
        mm##_storeu_pd(to, a);                        \
    }                                                 \
    static inline vec vec##_hold(const double *x)     \
    {                                                 \
        vec a = mm##_loadu_pd(x);                     \
                                                      \
        __asm__("" ::"v"(a));                         \
        return a;                                     \
    }                                                 \
    static inline vec vec##_all(double x)             \
    {                                                 \
        return mm##_set1_pd(x);                       \
    }                                                 \
    static inline vec vec##_add(vec a, vec b)         \
    {                                                 \
        return mm##_add_pd(a, b);                     \
    }                                                 \
    /* a b + c, rounded once */                       \
    static inline vec vec##_fma(vec a, vec b, vec c)  \
    {                                                 \
        return mm##_fmadd_pd(a, b, c);                \
    }                                                 \
    static inline vec vec##_mul(vec a, vec b)         \
    {                                                 \
        return mm##_mul_pd(a, b);                     \
    }                                                 \
    static inline vec vec##_div(vec a, vec b)         \
    {                                                 \
        return mm##_div_pd(a, b);                     \
    }                                                 \
    /* a < b ? a : b */                               \
    static inline vec vec##_min(vec a, vec b)         \
    {                                                 \
        return mm##_min_pd(a, b);                     \
    }                                                 \
    /* The signs of a change where `sign` has one. */ \
    static inline vec vec##_flip(vec a, vec sign)     \
    {                                                 \
        return mm##_xor_pd(a, sign);                  \
    }

/* ---- four ----------------------------------------------------------------- */

#if defined(__AVX2__) && defined(__FMA__)

typedef __m256d rmc_four;

RMC_VEC_IN_REGISTER(rmc_four, _mm256)

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

/* ---- eight ---------------------------------------------------------------- */

#ifdef __AVX512F__

typedef __m512d rmc_eight;

RMC_VEC_IN_REGISTER(rmc_eight, _mm512)

static inline rmc_eight rmc_eight_pick(rmc_eight a, rmc_eight b, rmc_eight sign)
{
    return _mm512_mask_blend_pd(_mm512_movepi64_mask(_mm512_castpd_si512(sign)),
                                a, b);
}

static inline rmc_eight rmc_eight_fold(const double *s)
{
    return _mm512_insertf64x4(_mm512_castpd256_pd512(rmc_four_fold(s)),
                              rmc_four_fold(s + 16), 1);
}

#else

typedef struct rmc_eight {
    rmc_four low, high;
} rmc_eight;

/* From memory, the halves `step` apart; of two; and of three. */
#define RMC_EIGHT_FROM(what, step)                                           \
    static inline rmc_eight rmc_eight_##what(const double *x)                \
    {                                                                        \
        return (rmc_eight){rmc_four_##what(x), rmc_four_##what(x + (step))}; \
    }
#define RMC_EIGHT_OF_2(what)                                           \
    static inline rmc_eight rmc_eight_##what(rmc_eight a, rmc_eight b) \
    {                                                                  \
        return (rmc_eight){rmc_four_##what(a.low, b.low),              \
                           rmc_four_##what(a.high, b.high)};           \
    }
#define RMC_EIGHT_OF_3(what)                                           \
    static inline rmc_eight rmc_eight_##what(rmc_eight a, rmc_eight b, \
                                             rmc_eight c)              \
    {                                                                  \
        return (rmc_eight){rmc_four_##what(a.low, b.low, c.low),       \
                           rmc_four_##what(a.high, b.high, c.high)};   \
    }

RMC_EIGHT_FROM(at, 4)
RMC_EIGHT_FROM(hold, 4)
RMC_EIGHT_FROM(fold, 16)
RMC_EIGHT_OF_2(add)
RMC_EIGHT_OF_2(mul)
RMC_EIGHT_OF_2(div)
RMC_EIGHT_OF_2(min)
RMC_EIGHT_OF_2(flip)
RMC_EIGHT_OF_3(fma)
RMC_EIGHT_OF_3(pick)

static inline void rmc_eight_put(double *to, rmc_eight a)
{
    rmc_four_put(to, a.low);
    rmc_four_put(to + 4, a.high);
}

static inline rmc_eight rmc_eight_all(double x)
{
    const rmc_four a = rmc_four_all(x);

    return (rmc_eight){a, a};
}

#undef RMC_EIGHT_FROM
#undef RMC_EIGHT_OF_2
#undef RMC_EIGHT_OF_3

#endif

#undef RMC_VEC_IN_REGISTER

#endif
