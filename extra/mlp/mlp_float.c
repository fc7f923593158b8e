/* mlp_float.c - networks in single precision. */
#include "base/base.h"

#include <stdint.h>
#include <string.h>

typedef float real;

/*
 * exp of a number that is not positive: x = k ln 2 + r with |r| <= ln 2 / 2,
 * the Taylor polynomial of degree 7, then a shift of the exponent; 0 below -87.
 * NaN stays NaN.  Without branches, so that loops vectorise.
 */
static inline float exp_of(float x)
{
    const float shifter = 0x1.8p23F; /* adding it rounds to an integer */
    const float high = 0x1.63p-1F, low = -0x1.bd0106p-13F; /* ln 2 */
    const float bounded = x < -87.0F ? -87.0F : x;
    const float k = bounded * 0x1.715476p0F + shifter, n = k - shifter;
    const float r = (bounded - n * high) - n * low, r2 = r * r;
    const float a = 1.0F / 6 + r * (1.0F / 24);
    const float b = 1.0F / 120 + r * (1.0F / 720 + r * (1.0F / 5040));
    const float y = 1.0F + (r + r2 * (0.5F + r * (a + r2 * b)));
    uint32_t bits;
    float power;

    memcpy(&bits, &k, sizeof bits);
    bits = (bits << 23) + 0x3f800000U;
    memcpy(&power, &bits, sizeof power);
    return x < -87.0F ? 0.0F : y * power;
}

#define PASS           rmc_mlp_float
#define GEMM           cblas_sgemm
#define input_of(data) ((data)->x_float)

#include "mlp/mlp_pass_inline.h"
