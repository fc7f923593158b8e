/*
 * rng_inline.h - random numbers, one at a time and, for component files, by blocks.
 * A cell of a block takes one word of its lane's stream, so that the numbers of a lane
 * do not depend on how many lanes there are.
 *
 * Inline: each code path makes as many blocks at once as its vectors hold.
 */
#ifndef RMC_RNG_INLINE_H
#define RMC_RNG_INLINE_H

#include "base/vmath_inline.h"
#include "relmc_ext.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#define RMC_PHILOX_M0 0xD2511F53u
#define RMC_PHILOX_M1 0xCD9E8D57u
#define RMC_PHILOX_W0 0x9E3779B9u
#define RMC_PHILOX_W1 0xBB67AE85u

enum { RMC_PHILOX_ROUNDS = 10 };

/* [philox] One block: two words of the stream `id` (chain | purpose << 32), at
 * position `at`.  Salmon et al. (2011).  Ten rounds, except in
 * kinetic/separable_float.c. */
static inline void rmc_philox(int rounds, uint64_t seed, uint64_t at,
                              uint64_t id, uint64_t word[2])
{
    uint32_t c0 = (uint32_t)at, c1 = (uint32_t)(at >> 32);
    uint32_t c2 = (uint32_t)id, c3 = (uint32_t)(id >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (int r = 0; r < rounds; r++) {
        const uint64_t p0 = (uint64_t)RMC_PHILOX_M0 * c0;
        const uint64_t p1 = (uint64_t)RMC_PHILOX_M1 * c2;

        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += RMC_PHILOX_W0;
        k1 += RMC_PHILOX_W1;
    }
    word[0] = c0 | (uint64_t)c1 << 32;
    word[1] = c2 | (uint64_t)c3 << 32;
}

#ifdef __AVX2__
/* Four blocks at once, the same words. */
static inline void rmc_philox4(uint64_t seed, __m256i at, __m256i id,
                               __m256i word[2])
{
    const __m256i m0 = _mm256_set1_epi64x(RMC_PHILOX_M0);
    const __m256i m1 = _mm256_set1_epi64x(RMC_PHILOX_M1);
    const __m256i low = _mm256_set1_epi64x(0xffffffff);
    const __m256i w0 = _mm256_set1_epi64x(RMC_PHILOX_W0);
    const __m256i w1 = _mm256_set1_epi64x(RMC_PHILOX_W1);
    __m256i c0 = at, c1 = _mm256_srli_epi64(at, 32);
    __m256i c2 = id, c3 = _mm256_srli_epi64(id, 32);
    __m256i k0 = _mm256_set1_epi64x((int64_t)seed);
    __m256i k1 = _mm256_srli_epi64(k0, 32);

    /* Only the low halves count; mul_epu32 ignores what is above. */
    for (int r = 0; r < RMC_PHILOX_ROUNDS; r++) {
        const __m256i p0 = _mm256_mul_epu32(m0, c0);
        const __m256i p1 = _mm256_mul_epu32(m1, c2);

        c0 = _mm256_xor_si256(_mm256_srli_epi64(p1, 32),
                              _mm256_xor_si256(c1, k0));
        c2 = _mm256_xor_si256(_mm256_srli_epi64(p0, 32),
                              _mm256_xor_si256(c3, k1));
        c1 = p1;
        c3 = p0;
        k0 = _mm256_add_epi64(k0, w0);
        k1 = _mm256_add_epi64(k1, w1);
    }
    word[0] =
        _mm256_or_si256(_mm256_and_si256(c0, low), _mm256_slli_epi64(c1, 32));
    word[1] =
        _mm256_or_si256(_mm256_and_si256(c2, low), _mm256_slli_epi64(c3, 32));
}
#endif

#ifdef __AVX512F__
/* Eight blocks at once. */
static inline void rmc_philox8(uint64_t seed, __m512i at, __m512i id,
                               __m512i word[2])
{
    const __m512i m0 = _mm512_set1_epi64(RMC_PHILOX_M0);
    const __m512i m1 = _mm512_set1_epi64(RMC_PHILOX_M1);
    const __m512i low = _mm512_set1_epi64(0xffffffff);
    const __m512i w0 = _mm512_set1_epi64(RMC_PHILOX_W0);
    const __m512i w1 = _mm512_set1_epi64(RMC_PHILOX_W1);
    __m512i c0 = at, c1 = _mm512_srli_epi64(at, 32);
    __m512i c2 = id, c3 = _mm512_srli_epi64(id, 32);
    __m512i k0 = _mm512_set1_epi64((int64_t)seed);
    __m512i k1 = _mm512_srli_epi64(k0, 32);

    for (int r = 0; r < RMC_PHILOX_ROUNDS; r++) {
        const __m512i p0 = _mm512_mul_epu32(m0, c0);
        const __m512i p1 = _mm512_mul_epu32(m1, c2);

        c0 = _mm512_xor_si512(_mm512_srli_epi64(p1, 32),
                              _mm512_xor_si512(c1, k0));
        c2 = _mm512_xor_si512(_mm512_srli_epi64(p0, 32),
                              _mm512_xor_si512(c3, k1));
        c1 = p1;
        c3 = p0;
        k0 = _mm512_add_epi64(k0, w0);
        k1 = _mm512_add_epi64(k1, w1);
    }
    word[0] =
        _mm512_or_si512(_mm512_and_si512(c0, low), _mm512_slli_epi64(c1, 32));
    word[1] =
        _mm512_or_si512(_mm512_and_si512(c2, low), _mm512_slli_epi64(c3, 32));
}
#endif

/* A number in (0, 1), never 0 or 1: the middle of one of 2^52 equal intervals. */
static inline double rmc_unit(uint64_t bits)
{
    return rmc_from_bits(bits >> 12 | 0x3ff0000000000000u) - (1.0 - 0x1p-53);
}

static inline uint64_t rmc_stream_id(const relmc_stream *s)
{
    return s->chain | (uint64_t)s->purpose << 32;
}

/* Takes n words of a stream, from its next whole block on; returns the position of
 * that block. */
static inline uint64_t rmc_stream_take(relmc_stream *s, size_t n)
{
    const uint64_t block = (s->word + 1) / 2;

    s->word = 2 * block + (n + 1) / 2 * 2;
    return block;
}

#if defined(__AVX512F__)
/* Makes the first words of a lane, side by side; returns how many of the n.  Stores
 * whole vectors, so that loads that follow soon do not wait. */
static inline size_t rmc_fill_line(uint64_t seed, uint64_t at, uint64_t id,
                                   size_t n, double *out)
{
    const __m512i ids = _mm512_set1_epi64((int64_t)id);
    size_t i = 0;

    while (i + 8 <= n) {
        const __m512i ats = _mm512_add_epi64(
            _mm512_set1_epi64((int64_t)(at + i / 2)),
            _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0)); /* unpack orders them */
        __m512i w[2];

        rmc_philox8(seed, ats, ids, w);
        _mm512_storeu_si512(out + i, _mm512_unpacklo_epi64(w[0], w[1]));
        i += 8;
        if (i + 8 <= n) {
            _mm512_storeu_si512(out + i, _mm512_unpackhi_epi64(w[0], w[1]));
            i += 8;
        }
    }
    return i;
}
#elif defined(__AVX2__)
/* Makes the first words of a lane, side by side; returns how many of the n. */
static inline size_t rmc_fill_line(uint64_t seed, uint64_t at, uint64_t id,
                                   size_t n, double *out)
{
    const __m256i ids = _mm256_set1_epi64x((int64_t)id);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const __m256i ats = _mm256_add_epi64(
            _mm256_set1_epi64x((int64_t)(at + i / 2)),
            _mm256_set_epi64x(3, 1, 2, 0)); /* unpack puts them in order */
        __m256i w[2];

        rmc_philox4(seed, ats, ids, w);
        _mm256_storeu_pd(
            out + i, _mm256_castsi256_pd(_mm256_unpacklo_epi64(w[0], w[1])));
        _mm256_storeu_pd(out + i + 4, _mm256_castsi256_pd(
                                          _mm256_unpackhi_epi64(w[0], w[1])));
    }
    return i;
}
#endif

/* Makes n words of one lane, stride apart. */
static inline void rmc_fill_lane(relmc_stream *s, size_t n, size_t stride,
                                 double *out)
{
    const uint64_t id = rmc_stream_id(s), at = rmc_stream_take(s, n);
    size_t i = 0;

#ifdef __AVX2__
    if (stride == 1) {
        i = rmc_fill_line(s->seed, at, id, n, out);
    }
#endif
    for (; i < n; i += 2) {
        uint64_t word[2];

        rmc_philox(RMC_PHILOX_ROUNDS, s->seed, at + i / 2, id, word);
        out[i * stride] = rmc_from_bits(word[0]);
        if (i + 1 < n) {
            out[(i + 1) * stride] = rmc_from_bits(word[1]);
        }
    }
}

#ifdef __AVX2__
/* Fills four lanes of a dim x ld block. */
static inline void rmc_fill_four(const relmc_shape *s, relmc_stream *streams,
                                 double *out)
{
    uint64_t at[4], id[4];

    for (size_t j = 0; j < 4; j++) {
        at[j] = rmc_stream_take(&streams[j], s->dim);
        id[j] = rmc_stream_id(&streams[j]);
    }
    /* not a load, which would wait for the stores */
    __m256i ats = _mm256_set_epi64x((int64_t)at[3], (int64_t)at[2],
                                    (int64_t)at[1], (int64_t)at[0]);
    const __m256i ids = _mm256_set_epi64x((int64_t)id[3], (int64_t)id[2],
                                          (int64_t)id[1], (int64_t)id[0]);
    for (size_t i = 0; i < s->dim; i += 2) {
        double *row = out + i * s->ld;
        __m256i w[2];

        rmc_philox4(streams->seed, ats, ids, w);
        ats = _mm256_add_epi64(ats, _mm256_set1_epi64x(1));
        _mm256_storeu_pd(row, _mm256_castsi256_pd(w[0]));
        if (i + 1 < s->dim) {
            _mm256_storeu_pd(row + s->ld, _mm256_castsi256_pd(w[1]));
        }
    }
}
#endif

#ifdef __AVX512F__
/* Fills eight lanes. */
static inline void rmc_fill_eight(const relmc_shape *s, relmc_stream *streams,
                                  double *out)
{
    int64_t at[8], id[8];

    for (size_t j = 0; j < 8; j++) {
        at[j] = (int64_t)rmc_stream_take(&streams[j], s->dim);
        id[j] = (int64_t)rmc_stream_id(&streams[j]);
    }
    __m512i ats = _mm512_set_epi64(at[7], at[6], at[5], at[4], at[3], at[2],
                                   at[1], at[0]);
    const __m512i ids = _mm512_set_epi64(id[7], id[6], id[5], id[4], id[3],
                                         id[2], id[1], id[0]);
    for (size_t i = 0; i < s->dim; i += 2) {
        double *row = out + i * s->ld;
        __m512i w[2];

        rmc_philox8(streams->seed, ats, ids, w);
        ats = _mm512_add_epi64(ats, _mm512_set1_epi64(1));
        _mm512_storeu_si512(row, w[0]);
        if (i + 1 < s->dim) {
            _mm512_storeu_si512(row + s->ld, w[1]);
        }
    }
}
#endif

/* dim words of every lane's stream, as the bits of dim x ld doubles.  All streams
 * have the same seed. */
static inline void rmc_fill_bits(const relmc_shape *s, relmc_stream *streams,
                                 double *out)
{
    size_t k = 0;

#ifdef __AVX512F__
    for (; k + 8 <= s->lanes; k += 8) {
        rmc_fill_eight(s, streams + k, out + k);
    }
#endif
#ifdef __AVX2__
    for (; k + 4 <= s->lanes; k += 4) {
        rmc_fill_four(s, streams + k, out + k);
    }
#endif
    for (; k < s->lanes; k++) {
        rmc_fill_lane(&streams[k], s->dim, s->ld, out + k);
    }
}

/* Standard normals, dim x ld; padding is finite. */
static inline void rmc_fill_normal(const relmc_shape *s, relmc_stream *streams,
                                   double *out)
{
    const size_t n = s->dim * s->ld;

    rmc_fill_bits(s, streams, out);
    for (size_t j = 0; j < n; j++) {
        out[j] = rmc_normal_quantile(rmc_unit(rmc_to_bits(out[j])));
    }
}

/* Uniforms in (0, 1), dim x ld. */
static inline void rmc_fill_uniform(const relmc_shape *s, relmc_stream *streams,
                                    double *out)
{
    const size_t n = s->dim * s->ld;

    rmc_fill_bits(s, streams, out);
    for (size_t j = 0; j < n; j++) {
        out[j] = rmc_unit(rmc_to_bits(out[j]));
    }
}

/* ---- one at a time: rng.c makes these public ------------------------------ */

static inline uint64_t rmc_draw_bits(relmc_stream *s)
{
    uint64_t word[2];

    rmc_philox(RMC_PHILOX_ROUNDS, s->seed, s->word / 2, rmc_stream_id(s), word);
    return word[s->word++ & 1];
}

static inline double rmc_draw_uniform(relmc_stream *s)
{
    return rmc_unit(rmc_draw_bits(s));
}

static inline double rmc_draw_normal(relmc_stream *s)
{
    return rmc_normal_quantile(rmc_draw_uniform(s));
}

static inline double rmc_draw_exponential(relmc_stream *s)
{
    return -rmc_log(rmc_draw_uniform(s));
}

/*
 * [gamma] Marsaglia and Tsang (2000): v = (1 + x / sqrt(9 d))^3 with x normal
 * and d = shape - 1/3, accepted with probability above 95 %.  For a shape below 1
 * a draw of shape + 1 is multiplied by a power of a uniform.
 */
static inline double rmc_draw_gamma(relmc_stream *s, double shape)
{
    const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0;
    const double c = 1.0 / sqrt(9.0 * d);
    double lift = 1.0, x, v;

    if (shape < 1.0) {
        lift = rmc_exp(-rmc_draw_exponential(s) / shape);
    }
    do {
        do {
            x = rmc_draw_normal(s);
            v = rmc_fma(c, x, 1.0);
        } while (v <= 0.0);
        v = v * v * v;
    } while (rmc_log(rmc_draw_uniform(s)) >=
             0.5 * x * x + d * (1.0 - v + rmc_log(v)));
    return d * v * lift;
}

#endif
