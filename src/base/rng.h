/*
 * rng.h - random words in bulk, for component files that turn them into
 * momenta.  One word of a stream per cell of a block, so what a lane gets does
 * not depend on how many lanes there are.
 */
#ifndef RMC_RNG_H
#define RMC_RNG_H

#include "relmc_ext.h"
#include "vmath.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#define RMC_PHILOX_M0 0xD2511F53u
#define RMC_PHILOX_M1 0xCD9E8D57u
#define RMC_PHILOX_W0 0x9E3779B9u
#define RMC_PHILOX_W1 0xBB67AE85u

/* [philox] Four blocks at once: block j has counter (at[j], id[j]), where `at`
 * is the position of the block in its stream and `id` is chain | purpose << 32;
 * lo and hi are its two words.  Salmon et al. (2011), ten rounds. */
static inline void rmc_philox4(uint64_t seed, const uint64_t at[4],
                               const uint64_t id[4], uint64_t lo[4],
                               uint64_t hi[4])
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

#ifdef __AVX2__
    const __m256i m0 = _mm256_set1_epi64x(RMC_PHILOX_M0);
    const __m256i m1 = _mm256_set1_epi64x(RMC_PHILOX_M1);
    const __m256i low = _mm256_set1_epi64x(0xffffffff);
    __m256i c0 = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256i c2 = _mm256_loadu_si256((const __m256i *)(const void *)id);
    __m256i c1 = _mm256_srli_epi64(c0, 32);
    __m256i c3 = _mm256_srli_epi64(c2, 32);

    /* Only the low halves count; mul_epu32 ignores what xor leaves above. */
    for (int r = 0; r < 10; r++) {
        const __m256i p0 = _mm256_mul_epu32(m0, c0);
        const __m256i p1 = _mm256_mul_epu32(m1, c2);

        c0 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1),
                              _mm256_set1_epi64x(k0));
        c2 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3),
                              _mm256_set1_epi64x(k1));
        c1 = p1;
        c3 = p0;
        k0 += RMC_PHILOX_W0;
        k1 += RMC_PHILOX_W1;
    }
    c0 = _mm256_or_si256(_mm256_and_si256(c0, low), _mm256_slli_epi64(c1, 32));
    c2 = _mm256_or_si256(_mm256_and_si256(c2, low), _mm256_slli_epi64(c3, 32));
    _mm256_storeu_si256((__m256i *)(void *)lo, c0);
    _mm256_storeu_si256((__m256i *)(void *)hi, c2);
#else
    for (int j = 0; j < 4; j++) {
        uint32_t c0 = (uint32_t)at[j], c1 = (uint32_t)(at[j] >> 32);
        uint32_t c2 = (uint32_t)id[j], c3 = (uint32_t)(id[j] >> 32);
        uint32_t r0 = k0, r1 = k1;

        for (int r = 0; r < 10; r++) {
            const uint64_t p0 = (uint64_t)RMC_PHILOX_M0 * c0;
            const uint64_t p1 = (uint64_t)RMC_PHILOX_M1 * c2;

            c0 = (uint32_t)(p1 >> 32) ^ c1 ^ r0;
            c2 = (uint32_t)(p0 >> 32) ^ c3 ^ r1;
            c1 = (uint32_t)p1;
            c3 = (uint32_t)p0;
            r0 += RMC_PHILOX_W0;
            r1 += RMC_PHILOX_W1;
        }
        lo[j] = c0 | (uint64_t)c1 << 32;
        hi[j] = c2 | (uint64_t)c3 << 32;
    }
#endif
}

/* (0, 1), never an end: the middles of 2^52 equal intervals. */
static inline double rmc_unit(uint64_t bits)
{
    return rmc_from_bits(bits >> 12 | 0x3ff0000000000000u) - (1.0 - 0x1p-53);
}

static inline uint64_t rmc_stream_id(const relmc_stream *s)
{
    return s->chain | (uint64_t)s->purpose << 32;
}

/* Skip to the next whole block of a stream and take n words there; the
 * position of that block. */
static inline uint64_t rmc_stream_take(relmc_stream *s, size_t n)
{
    const uint64_t block = (s->word + 1) / 2;

    s->word = 2 * block + (n + 1) / 2 * 2;
    return block;
}

/* The words of one lane: n of them, stride apart, from block `at` on. */
static inline void rmc_fill_lane(const relmc_stream *s, uint64_t at, size_t n,
                                 size_t stride, double *out)
{
    const uint64_t id = rmc_stream_id(s), ids[4] = {id, id, id, id};

    for (size_t i = 0; i < n; i += 8) {
        const uint64_t b = at + i / 2, ats[4] = {b, b + 1, b + 2, b + 3};
        uint64_t word[2][4];

        rmc_philox4(s->seed, ats, ids, word[0], word[1]);
        const size_t m = n - i < 8 ? n - i : 8;
        for (size_t j = 0; j < m; j++) {
            out[(i + j) * stride] = rmc_from_bits(word[j & 1][j >> 1]);
        }
    }
}

/* dim words of every lane's stream, as the bits of dim x ld doubles.  All
 * streams of an array have the same seed. */
static inline void rmc_fill_bits(const relmc_shape *s, relmc_stream *streams,
                                 double *out)
{
    size_t k = 0;

    for (; k + 4 <= s->lanes; k += 4) {
        uint64_t at[4], id[4], lo[4], hi[4];

        for (size_t j = 0; j < 4; j++) {
            at[j] = rmc_stream_take(&streams[k + j], s->dim);
            id[j] = rmc_stream_id(&streams[k + j]);
        }
        for (size_t i = 0; i < s->dim; i += 2) {
            double *row = out + i * s->ld + k;

            rmc_philox4(streams[k].seed, at, id, lo, hi);
            for (size_t j = 0; j < 4; j++) {
                row[j] = rmc_from_bits(lo[j]);
                at[j]++;
            }
            for (size_t j = 0; j < 4 && i + 1 < s->dim; j++) {
                row[s->ld + j] = rmc_from_bits(hi[j]);
            }
        }
    }
    for (; k < s->lanes; k++) {
        const uint64_t at = rmc_stream_take(&streams[k], s->dim);
        rmc_fill_lane(&streams[k], at, s->dim, s->ld, out + k);
    }
}

/* Standard normals, dim x ld; padding gets something finite. */
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

#endif
