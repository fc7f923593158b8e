/*
 * vec8.h - eight numbers side by side, a row of a panel of design.h: one register
 * of AVX-512, elsewhere two of four.h.  The same bits everywhere.
 */
#ifndef RMC_EIGHT_H
#define RMC_EIGHT_H

#include "model/regression/vec4.h"

#ifdef __AVX512F__

typedef __m512d rmc_eight;

static inline rmc_eight rmc_eight_at(const double *x)
{
    return _mm512_loadu_pd(x);
}

static inline void rmc_eight_put(double *to, rmc_eight a)
{
    _mm512_storeu_pd(to, a);
}

static inline rmc_eight rmc_eight_hold(const double *x)
{
    rmc_eight a = _mm512_loadu_pd(x);

    __asm__("" ::"v"(a));
    return a;
}

static inline rmc_eight rmc_eight_all(double x)
{
    return _mm512_set1_pd(x);
}

static inline rmc_eight rmc_eight_add(rmc_eight a, rmc_eight b)
{
    return _mm512_add_pd(a, b);
}

static inline rmc_eight rmc_eight_fma(rmc_eight a, rmc_eight b, rmc_eight c)
{
    return _mm512_fmadd_pd(a, b, c);
}

static inline rmc_eight rmc_eight_mul(rmc_eight a, rmc_eight b)
{
    return _mm512_mul_pd(a, b);
}

static inline rmc_eight rmc_eight_div(rmc_eight a, rmc_eight b)
{
    return _mm512_div_pd(a, b);
}

static inline rmc_eight rmc_eight_min(rmc_eight a, rmc_eight b)
{
    return _mm512_min_pd(a, b);
}

static inline rmc_eight rmc_eight_flip(rmc_eight a, rmc_eight sign)
{
    return _mm512_xor_pd(a, sign);
}

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

/* What four.h has, done twice. */
static inline rmc_eight rmc_eight_at(const double *x)
{
    return (rmc_eight){rmc_four_at(x), rmc_four_at(x + 4)};
}

static inline void rmc_eight_put(double *to, rmc_eight a)
{
    rmc_four_put(to, a.low);
    rmc_four_put(to + 4, a.high);
}

static inline rmc_eight rmc_eight_hold(const double *x)
{
    return (rmc_eight){rmc_four_hold(x), rmc_four_hold(x + 4)};
}

static inline rmc_eight rmc_eight_all(double x)
{
    const rmc_four a = rmc_four_all(x);

    return (rmc_eight){a, a};
}

static inline rmc_eight rmc_eight_add(rmc_eight a, rmc_eight b)
{
    return (rmc_eight){rmc_four_add(a.low, b.low),
                       rmc_four_add(a.high, b.high)};
}

static inline rmc_eight rmc_eight_fma(rmc_eight a, rmc_eight b, rmc_eight c)
{
    return (rmc_eight){rmc_four_fma(a.low, b.low, c.low),
                       rmc_four_fma(a.high, b.high, c.high)};
}

static inline rmc_eight rmc_eight_mul(rmc_eight a, rmc_eight b)
{
    return (rmc_eight){rmc_four_mul(a.low, b.low),
                       rmc_four_mul(a.high, b.high)};
}

static inline rmc_eight rmc_eight_div(rmc_eight a, rmc_eight b)
{
    return (rmc_eight){rmc_four_div(a.low, b.low),
                       rmc_four_div(a.high, b.high)};
}

static inline rmc_eight rmc_eight_min(rmc_eight a, rmc_eight b)
{
    return (rmc_eight){rmc_four_min(a.low, b.low),
                       rmc_four_min(a.high, b.high)};
}

static inline rmc_eight rmc_eight_flip(rmc_eight a, rmc_eight sign)
{
    return (rmc_eight){rmc_four_flip(a.low, sign.low),
                       rmc_four_flip(a.high, sign.high)};
}

static inline rmc_eight rmc_eight_pick(rmc_eight a, rmc_eight b, rmc_eight sign)
{
    return (rmc_eight){rmc_four_pick(a.low, b.low, sign.low),
                       rmc_four_pick(a.high, b.high, sign.high)};
}

static inline rmc_eight rmc_eight_fold(const double *s)
{
    return (rmc_eight){rmc_four_fold(s), rmc_four_fold(s + 16)};
}

#endif

#endif
