/*
 * vmath_inline.h - elementary functions made of + - * / sqrt and fma only.
 *
 * Inline: compilers turn a loop that calls one of them into vector code, and each code
 * path needs its own.
 *
 * The C library's exp and log differ in their last bits between versions and
 * processors; these do not, so the same seed gives the same draws everywhere.
 * They have no branches, and a vectorised loop gives the same bits as single calls.
 * Errors are below 2 units in the last place (tests/unit/vmath.c).
 */
#ifndef RMC_VMATH_INLINE_H
#define RMC_VMATH_INLINE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "relmc needs IEEE arithmetic: do not compile with -ffast-math"
#endif

static inline uint64_t rmc_to_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double rmc_from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* a b + c, rounded once on every machine. */
static inline double rmc_fma(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

static inline int rmc_is_finite(double x)
{
    return x - x == 0.0;
}

/* ln 2 in two parts: k * HI is exact for |k| < 2^11. */
#define RMC_LN2_HI 0x1.62e42fefa3800p-1
#define RMC_LN2_LO 0x1.ef35793c76730p-45

/* exp(r) - 1 for |r| <= ln 2 / 2: the Taylor polynomial of degree 13. */
static inline double rmc_expm1_near_0(double r)
{
    const double r2 = r * r, r4 = r2 * r2;
    /* sum of r^n / (n + 2)!, by pairs */
    const double c0 = rmc_fma(r, 1.0 / 6, 1.0 / 2);
    const double c2 = rmc_fma(r, 1.0 / 120, 1.0 / 24);
    const double c4 = rmc_fma(r, 1.0 / 5040, 1.0 / 720);
    const double c6 = rmc_fma(r, 1.0 / 362880, 1.0 / 40320);
    const double c8 = rmc_fma(r, 1.0 / 39916800, 1.0 / 3628800);
    const double c10 = rmc_fma(r, 1.0 / 6227020800, 1.0 / 479001600);
    const double lo = rmc_fma(r2, c2, c0);
    const double mid = rmc_fma(r2, c6, c4);
    const double hi = rmc_fma(r2, c10, c8);
    const double q = rmc_fma(r4, rmc_fma(r4, hi, mid), lo);

    return rmc_fma(r2, q, r);
}

/*
 * exp: x = k ln 2 + r with |r| <= ln 2 / 2, then a polynomial, then a shift of
 * the exponent.  Results below 5e-308 are 0.
 */
static inline double rmc_exp(double x)
{
    const double shifter = 0x1.8p52; /* adding it rounds to an integer */
    const double kd0 = rmc_fma(x, 0x1.71547652b82fep+0, shifter);
    const double kd = kd0 - shifter;
    const double r = rmc_fma(-kd, RMC_LN2_LO, rmc_fma(-kd, RMC_LN2_HI, x));
    const double y = rmc_expm1_near_0(r);
    /* 2^(k-1): half the scale, so that k = 1024 does not overflow early */
    const double half =
        rmc_from_bits((rmc_to_bits(kd0) << 52) + 0x3fe0000000000000u);
    double e = 2.0 * rmc_fma(half, y, half);

    e = x < -707.5 ? 0.0 : e;
    e = x > 709.782712893384 ? HUGE_VAL : e;
    return e;
}

/* exp for x <= 0, where nothing overflows, in two steps, as two loops may be
 * faster than one.  The first makes r and 2^k; below -707, those of -707. */
static inline double rmc_exp_reduce(double x, double *scale)
{
    const double shifter = 0x1.8p52;
    const double at = x < -707.0 ? -707.0 : x;
    const double kd0 = rmc_fma(at, 0x1.71547652b82fep+0, shifter);
    const double kd = kd0 - shifter;

    *scale = rmc_from_bits((rmc_to_bits(kd0) << 52) + 0x3ff0000000000000u);
    return rmc_fma(-kd, RMC_LN2_LO, rmc_fma(-kd, RMC_LN2_HI, at));
}

static inline double rmc_exp_restore(double r, double scale)
{
    return rmc_fma(scale, rmc_expm1_near_0(r), scale);
}

static inline double rmc_exp_down(double x)
{
    double scale;
    const double r = rmc_exp_reduce(x, &scale);

    return rmc_exp_restore(r, scale);
}

/*
 * log of a positive number in the normal range: x = 2^k (1 + f) with 1 + f in
 * [sqrt(1/2), sqrt(2)], s = f / (2 + f),
 * log(1 + f) = 2 atanh(s) = f - s (f - R), R = 2 (s^2/3 + s^4/5 + ...).
 */
static inline double rmc_log_normal(double x)
{
    const uint64_t bits = rmc_to_bits(x);
    const uint64_t shifted = bits - 0x3fe6a09e667f3bcdu; /* sqrt(1/2) */
    /* k as a double, without a conversion from 64-bit integers: its 12 bits
     * are put into the mantissa of 1.5 2^52 */
    const uint64_t kbits = ((shifted >> 52) ^ 0x800) + 0x4338000000000000u;
    const double k = rmc_from_bits(kbits) - (0x1.8p52 + 2048.0);
    const double m =
        rmc_from_bits((shifted & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s, z2 = z * z, z4 = z2 * z2;
    const double a = rmc_fma(z, 2.0 / 5, 2.0 / 3);
    const double b = rmc_fma(z, 2.0 / 9, 2.0 / 7);
    const double c = rmc_fma(z, 2.0 / 13, 2.0 / 11);
    const double d = rmc_fma(z, 2.0 / 17, 2.0 / 15);
    const double e = rmc_fma(z, 2.0 / 21, 2.0 / 19);
    const double R =
        z * rmc_fma(z4, rmc_fma(z4, e, rmc_fma(z2, d, c)), rmc_fma(z2, b, a));
    const double h = 0.5 * f * f;
    const double tail = rmc_fma(s, h + R, k * RMC_LN2_LO);

    return rmc_fma(k, RMC_LN2_HI, f - (h - tail));
}

/* log of any x.  Arguments below the normal range count as 0. */
static inline double rmc_log(double x)
{
    double y = rmc_log_normal(x);

    y = x < 0x1p-1022 ? -HUGE_VAL : y;
    y = x < 0.0 ? (double)NAN : y;
    y = x <= 0x1.fffffffffffffp1023 ? y : x; /* inf and NaN */
    return y;
}

/* log(1 + x), accurate for small x: log(u) plus what u = 1 + x lost in rounding. */
static inline double rmc_log1p(double x)
{
    const double u = 1.0 + x;
    const double log_u = rmc_log(u);

    return rmc_is_finite(log_u) ? log_u + (x - (u - 1.0)) / u : log_u;
}

/* Polynomial a[0] + a[1] x + ... + a[7] x^7. */
static inline double rmc_poly7(const double a[8], double x)
{
    double y = a[7];

    for (int i = 6; i >= 0; i--) {
        y = rmc_fma(y, x, a[i]);
    }
    return y;
}

/*
 * [normal-quantile]  z with P(Z <= z) = u, for u in (0, 1): the rational
 * approximations of Wichura (1988), Algorithm AS 241, PPND16, relative error
 * about 1e-16.  All three are computed and one is chosen, so that loops
 * vectorise; the quotient is taken once.
 */
static inline double rmc_normal_quantile(double u)
{
    static const double a[8] = {
        3.3871328727963666080e0, 1.3314166789178437745e2,
        1.9715909503065514427e3, 1.3731693765509461125e4,
        4.5921953931549871457e4, 6.7265770927008700853e4,
        3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[8] = {1.0,
                                4.2313330701600911252e1,
                                6.8718700749205790830e2,
                                5.3941960214247511077e3,
                                2.1213794301586595867e4,
                                3.9307895800092710610e4,
                                2.8729085735721942674e4,
                                5.2264952788528545610e3};
    static const double c[8] = {
        1.42343711074968357734e0,  4.63033784615654529590e0,
        5.76949722146069140550e0,  3.64784832476320460504e0,
        1.27045825245236838258e0,  2.41780725177450611770e-1,
        2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[8] = {1.0,
                                2.05319162663775882187e0,
                                1.67638483018380384940e0,
                                6.89767334985100004550e-1,
                                1.48103976427480074590e-1,
                                1.51986665636164571966e-2,
                                5.47593808499534494600e-4,
                                1.05075007164441684324e-9};
    static const double e[8] = {
        6.65790464350110377720e0,  5.46378491116411436990e0,
        1.78482653991729133580e0,  2.96560571828504891230e-1,
        2.65321895265761230930e-2, 1.24266094738807843860e-3,
        2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[8] = {1.0,
                                5.99832206555887937690e-1,
                                1.36929880922735805310e-1,
                                1.48753612908506148525e-2,
                                7.86869131145613259100e-4,
                                1.84631831751005468180e-5,
                                1.42151175831644588870e-7,
                                2.04426310338993978564e-15};
    const double q = u - 0.5;
    const int is_centre = fabs(q) <= 0.425;
    const double tail = q < 0.0 ? u : 1.0 - u;
    const double r0 = rmc_fma(-q, q, 0.180625);
    const double r = sqrt(-rmc_log(tail));
    const int is_near = r <= 5.0;
    const double t = is_near ? r - 1.6 : r - 5.0;
    double num = is_near ? rmc_poly7(c, t) : rmc_poly7(e, t);
    double den = is_near ? rmc_poly7(d, t) : rmc_poly7(f, t);

    num = q < 0.0 ? -num : num;
    num = is_centre ? q * rmc_poly7(a, r0) : num;
    den = is_centre ? rmc_poly7(b, r0) : den;
    return num / den;
}

#endif
