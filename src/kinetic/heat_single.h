/*
 * heat_single.h - momenta of the separable energy in touch with a heat bath, in
 * single precision: random numbers, bath, kicks and drifts in one pass.
 *
 * With q = p / (m c), R = sqrt(1 + q^2) and g = N^2 T / (2 m c^2), the width of
 * [partial-refresh] is W/T = m b or m R^2 / b, b = R + g + sqrt(g (g + 2 R)); the
 * first with probability b / (b + R).
 *
 * Coordinates go by tiles of 64, and every tile takes its own words of the
 * stream, so what a lane gets does not depend on its neighbours.  Words are
 * halves of those of [philox].
 */
#ifndef RMC_HEAT_SINGLE_H
#define RMC_HEAT_SINGLE_H

#include "../base/base.h"

enum { RMC_HEAT_TILE = 64 };

/* A step of one lane, for the coordinates of a tile. */
struct rmc_heat {
    float keep, kick[2];
    int is_explicit;
    uint64_t key[20];              /* of the rounds of [philox] */
    float w[RMC_HEAT_TILE];        /* 1 / (m c) */
    float half_t[RMC_HEAT_TILE];   /* T / (2 m c^2) */
    float power[RMC_HEAT_TILE];    /* (1 - a^2) T m; or 2 D h T */
    float rub[RMC_HEAT_TILE];      /* D h c */
    float drift[2][RMC_HEAT_TILE]; /* times c */
};

/* ---- normal pairs ----------------------------------------------------------- */

static inline uint32_t rmc_single_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float rmc_single_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* (0, 1], from 2^-32 on: the middles of 2^31 intervals, rounded. */
static inline float rmc_single_unit(uint32_t bits)
{
    return ((float)(int32_t)(bits >> 1) + 0.5F) * 0x1p-31F;
}

/* -2 log u for u from 2^-32 to 1: u = 2^k (1 + f), and a polynomial in f, fitted
 * for the least relative error of log(1 + f), 4e-8. */
static inline float rmc_single_square(float u)
{
    const uint32_t root = 0x3f3504f3U; /* sqrt(1/2) */
    const uint32_t shifted = rmc_single_bits(u) - root + (64U << 23);
    const float k = (float)(int32_t)(shifted >> 23) - 64.0F;
    const float f = rmc_single_of((shifted & 0x007fffffU) + root) - 1.0F;
    const float f2 = f * f;
    const float c0 = __builtin_fmaf(f, -0x1.00037ap-2F, 0x1.5556c8p-2F);
    const float c2 = __builtin_fmaf(f, -0x1.538550p-3F, 0x1.98dc0ap-3F);
    const float c4 = __builtin_fmaf(f, -0x1.2413c2p-3F, 0x1.3150fap-3F);
    const float high = __builtin_fmaf(f2, 0x1.64ce60p-4F, c4);
    const float series = __builtin_fmaf(f2, __builtin_fmaf(f2, high, c2), c0);
    const float tail = __builtin_fmaf(f, series, -0.5F);
    const float log_m = __builtin_fmaf(f2, tail, f);

    return __builtin_fmaf(-2.0F, log_m, k * -0x1.62e43p0F);
}

#ifdef __AVX2__
/* [philox], eight blocks: the even ones in the low halves of c, the odd ones in
 * those of d, in turns, for one would wait for its own results. */
static inline void rmc_philox8(const uint64_t *key, __m256i c[4], __m256i d[4])
{
    const __m256i m0 = _mm256_set1_epi64x(RMC_PHILOX_M0);
    const __m256i m1 = _mm256_set1_epi64x(RMC_PHILOX_M1);

    for (size_t r = 0; r < 10; r++) {
        const __m256i k0 = _mm256_set1_epi64x((int64_t)key[2 * r]);
        const __m256i k1 = _mm256_set1_epi64x((int64_t)key[2 * r + 1]);
        const __m256i a = _mm256_mul_epu32(m0, c[0]);
        const __m256i b = _mm256_mul_epu32(m0, d[0]);
        const __m256i e = _mm256_mul_epu32(m1, c[2]);
        const __m256i f = _mm256_mul_epu32(m1, d[2]);

        c[0] = _mm256_xor_si256(_mm256_xor_si256(c[1], k0),
                                _mm256_srli_epi64(e, 32));
        d[0] = _mm256_xor_si256(_mm256_xor_si256(d[1], k0),
                                _mm256_srli_epi64(f, 32));
        c[2] = _mm256_xor_si256(_mm256_xor_si256(c[3], k1),
                                _mm256_srli_epi64(a, 32));
        d[2] = _mm256_xor_si256(_mm256_xor_si256(d[3], k1),
                                _mm256_srli_epi64(b, 32));
        c[1] = e;
        d[1] = f;
        c[3] = a;
        d[3] = b;
    }
}
#endif

/* [normal-pairs]  A direction (x, y): an angle within an eighth of a turn from an
 * axis, the sign and the choice of the axis. */
static inline void rmc_single_direction(uint32_t bits, float *x, float *y)
{
    const float angle = (float)(int32_t)(bits << 2) * 0x1.921fb6p-32F;
    const float t = angle * angle;
    const float s3 = __builtin_fmaf(t, 1.0F / 362880, -1.0F / 5040);
    const float s2 = __builtin_fmaf(t, s3, 1.0F / 120);
    const float s1 = __builtin_fmaf(t, s2, -1.0F / 6);
    const float along = __builtin_fmaf(angle * t, s1, angle);
    const float c3 = __builtin_fmaf(t, 1.0F / 40320, -1.0F / 720);
    const float c2 = __builtin_fmaf(t, c3, 1.0F / 24);
    const float c1 = __builtin_fmaf(t, c2, -0.5F);
    const float size = __builtin_fmaf(t, c1, 1.0F);
    const float axis =
        rmc_single_of(rmc_single_bits(size) ^ (bits & 0x80000000U));
    const int is_y = (bits & 0x40000000U) != 0;

    *x = is_y ? along : axis;
    *y = is_y ? axis : along;
}

static inline void rmc_single_keys(uint64_t seed, uint64_t key[20])
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (size_t r = 0; r < 10; r++) {
        key[2 * r] = k0;
        key[2 * r + 1] = k1;
        k0 += RMC_PHILOX_W0;
        k1 += RMC_PHILOX_W1;
    }
}

/* Words of n blocks, n a multiple of 8: the first ones of all, the second ones of
 * all, and so on. */
static inline void rmc_single_words(relmc_stream *stream, const uint64_t *key,
                                    size_t n, uint32_t *word)
{
    const uint64_t id = rmc_stream_id(stream);
    const uint64_t at = rmc_stream_take(stream, 2 * n);

#ifdef __AVX2__
    const __m256i even = _mm256_set_epi64x(6, 4, 2, 0);
    const __m256i one = _mm256_set1_epi64x(1);
    const __m256i ids = _mm256_set1_epi64x((int64_t)id);
    const __m256i high = _mm256_srli_epi64(ids, 32);

    for (size_t b = 0; b < n; b += 8) {
        const __m256i first =
            _mm256_add_epi64(_mm256_set1_epi64x((int64_t)(at + b)), even);
        const __m256i second = _mm256_add_epi64(first, one);
        __m256i c[4] = {first, _mm256_srli_epi64(first, 32), ids, high};
        __m256i d[4] = {second, _mm256_srli_epi64(second, 32), ids, high};

        rmc_philox8(key, c, d);
        for (size_t q = 0; q < 4; q++) {
            const __m256i all =
                _mm256_blend_epi32(c[q], _mm256_slli_epi64(d[q], 32), 0xaa);
            _mm256_storeu_si256((__m256i *)(void *)(word + q * n + b), all);
        }
    }
#else
    (void)key;
    for (size_t b = 0; b < n; b++) {
        uint64_t pair[2];

        rmc_philox(stream->seed, at + b, id, pair);
        word[b] = (uint32_t)pair[0];
        word[n + b] = (uint32_t)(pair[0] >> 32);
        word[2 * n + b] = (uint32_t)pair[1];
        word[3 * n + b] = (uint32_t)(pair[1] >> 32);
    }
#endif
}

/* ---- cells ------------------------------------------------------------------ */

/* With q = p / (m c), [v-sep] is c q / sqrt(1 + q^2); a large q, whose square is
 * no float, is as good as infinite. */
static inline float rmc_single_bounded(float q)
{
    const float most = 1e18F;

    q = most < q ? most : q; /* NaN stays */
    return -most > q ? -most : q;
}

/* The same in fewer instructions; but NaN becomes large, and shows in the energy. */
static inline float rmc_single_clamped(float q)
{
    const uint32_t bits = rmc_single_bits(q), sign = bits & 0x80000000U;
    const uint32_t size = bits ^ sign, most = 0x5d5e0b6bU; /* 1e18 */

    return rmc_single_of((size < most ? size : most) | sign);
}

/* v / c */
static inline float rmc_single_velocity(float q)
{
    return q / sqrtf(__builtin_fmaf(q, q, 1.0F));
}

/* [O-step] with linear friction, and what is before and after it; in short loops,
 * so that roots and quotients do not wait for each other. */
static inline void rmc_heat_exactly(const struct rmc_heat *h,
                                    const uint32_t *restrict half,
                                    const float *restrict g, float *restrict p,
                                    float *restrict x)
{
    enum { N = RMC_HEAT_TILE };
    float r2[N], n1[N], n2[N], from[N], root2[N], root[N], width[N], q[N];

    for (size_t j = 0; j < N; j++) {
        r2[j] = rmc_single_square(rmc_single_unit(half[j]));
        rmc_single_direction(half[N + j], &n1[j], &n2[j]);
    }
    for (size_t j = 0; j < N; j++) {
        from[j] = __builtin_fmaf(h->kick[0], g[j], p[j]);
        q[j] = rmc_single_clamped(h->w[j] * from[j]);
        root2[j] = __builtin_fmaf(q[j], q[j], 1.0F);
        root[j] = sqrtf(root2[j]);
        x[j] = __builtin_fmaf(h->drift[0][j], q[j] / root[j], x[j]);
    }
    for (size_t j = 0; j < N; j++) {
        const float u = rmc_single_unit(half[N + N + j]);
        const float s = h->half_t[j] * r2[j] * (n1[j] * n1[j]);
        const float b = root[j] + s + sqrtf(s * (s + 2.0F * root[j]));
        const float other = root2[j] / b;

        width[j] = u * (b + root[j]) <= b ? b : other;
    }
    for (size_t j = 0; j < N; j++) {
        const float noise = sqrtf(h->power[j] * width[j] * r2[j]) * n2[j];

        p[j] = __builtin_fmaf(h->kick[1], g[j],
                              __builtin_fmaf(h->keep, from[j], noise));
        q[j] = rmc_single_clamped(h->w[j] * p[j]);
    }
    for (size_t j = 0; j < N; j++) {
        x[j] = __builtin_fmaf(h->drift[1][j], rmc_single_velocity(q[j]), x[j]);
    }
}

/* [SGHMC] */
static inline void rmc_heat_explicitly(const struct rmc_heat *h,
                                       const uint32_t *restrict half,
                                       const float *restrict g,
                                       float *restrict p, float *restrict x)
{
    enum { N = RMC_HEAT_TILE, PAIRS = N / 2 };
    float normal[N], q[N];

    for (size_t j = 0; j < PAIRS; j++) {
        const float r = sqrtf(rmc_single_square(rmc_single_unit(half[j])));
        float n1, n2;

        rmc_single_direction(half[PAIRS + j], &n1, &n2);
        normal[j] = r * n1;
        normal[PAIRS + j] = r * n2;
    }
    for (size_t j = 0; j < N; j++) {
        const float v = rmc_single_velocity(rmc_single_clamped(h->w[j] * p[j]));
        const float noise = __builtin_fmaf(h->power[j], normal[j], p[j]);

        p[j] = __builtin_fmaf(h->kick[1], g[j],
                              __builtin_fmaf(-h->rub[j], v, noise));
        q[j] = rmc_single_clamped(h->w[j] * p[j]);
    }
    for (size_t j = 0; j < N; j++) {
        x[j] = __builtin_fmaf(h->drift[1][j], rmc_single_velocity(q[j]), x[j]);
    }
}

/* ---- tiles ------------------------------------------------------------------ */

static inline void rmc_heat_tile(const struct rmc_heat *h, relmc_stream *stream,
                                 const float *g, float *p, float *x)
{
    uint32_t half[3 * RMC_HEAT_TILE];

    if (h->is_explicit) {
        rmc_single_words(stream, h->key, RMC_HEAT_TILE / 4, half);
        rmc_heat_explicitly(h, half, g, p, x);
        return;
    }
    rmc_single_words(stream, h->key, 3 * RMC_HEAT_TILE / 4, half);
    rmc_heat_exactly(h, half, g, p, x);
}

/* n <= 64 coordinates, ld apart. */
static inline void rmc_heat_some(const struct rmc_heat *h, relmc_stream *stream,
                                 size_t n, size_t ld, const float *g, float *p,
                                 float *x)
{
    float a[RMC_HEAT_TILE] = {0}, b[RMC_HEAT_TILE] = {0};
    float c[RMC_HEAT_TILE] = {0};

    for (size_t j = 0; j < n; j++) {
        a[j] = g[j * ld];
        b[j] = p[j * ld];
        c[j] = x[j * ld];
    }
    rmc_heat_tile(h, stream, a, b, c);
    for (size_t j = 0; j < n; j++) {
        p[j * ld] = b[j];
        x[j * ld] = c[j];
    }
}

#endif
