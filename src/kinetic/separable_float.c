/*
 * separable_float.c - the separable energy in single precision: the fast path.  With
 * a heat bath, random numbers, bath, kicks and drifts are one pass over memory.
 *
 * [root-width]  With q = p / (m c), R = sqrt(1 + q^2), k^2 = T / (2 m c^2), an
 * exponential e and a direction (x, y): D = k e |x|, C = sqrt(D^2 + e R), and
 * sqrt(W) z of [partial-refresh] is sqrt(2 m T) (C + D) y with probability
 * (1 + D/C) / 2, or that with C - D.
 *
 * Coordinates go by tiles of 64, and every tile takes its own words of the
 * stream, so what a lane gets does not depend on its neighbours.  Words are
 * halves of those of [philox].
 *
 * A large q, whose square is no float, should be as good as infinite.  So all is
 * in units where 1 is s: s q, s R, D and C times sqrt(s).  s is 2^-60, or 1 where
 * m c is so large that q cannot be.
 */
#include "kinetic/separable.h"

/* Rounds of [philox]: the fewest that passed the tests of its authors. */
enum { HEAT_TILE = 64, HEAT_ROUNDS = 7 };

/* A step of one lane, for the coordinates of a tile. */
struct heat {
    float keep, kick[2];
    int is_explicit, is_at_rest; /* no drift[1] */
    uint32_t key[20];            /* of the rounds of [philox] */
    float w[HEAT_TILE];          /* s / (m c) */
    float unit[HEAT_TILE];       /* s^2 */
    float width[HEAT_TILE];      /* k sqrt(s) */
    float power[HEAT_TILE];      /* sqrt(2 (1 - a^2) T m / s); 2 sqrt(D h T) */
    float rub[HEAT_TILE];        /* D h c */
    float drift[2][HEAT_TILE];   /* times c */
};

/* ---- random numbers --------------------------------------------------------- */

static inline uint32_t float_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* [normal-pairs]  An exponential, -log u, of the upper 30 bits: u is the middle of
 * one of 2^30 intervals, rounded.  2^31 u = 2^n (1 + f), and a polynomial in f,
 * fitted for the least relative error of log(1 + f), 1.3e-6. */
static inline float float_exponential(uint32_t bits)
{
    const uint32_t scale = 31U << 23;
    const uint32_t root = 0x3f3504f3U + scale; /* sqrt(1/2) */
    const uint32_t u = float_bits((float)(int32_t)(bits >> 1 | 1U));
    const uint32_t n = (u - root) & 0xff800000U;
    const float f = float_of(u - n - scale) - 1.0F;
    const float f2 = f * f;
    const float c0 = __builtin_fmaf(f, -0x1.553056p-2F, 0x1.00011cp-1F);
    const float c2 = __builtin_fmaf(f, -0x1.a2cc46p-3F, 0x1.fe57a8p-3F);
    const float c4 = __builtin_fmaf(f, -0x1.e97306p-4F, 0x1.7cac9ap-3F);
    const float series = __builtin_fmaf(f2, __builtin_fmaf(f2, c4, c2), c0);
    const float rest = __builtin_fmaf(f2, series, -f); /* -log(1 + f) */

    return __builtin_fmaf((float)(int32_t)n, -0x1.62e43p-24F, rest);
}

/* A direction (x, y) with x >= 0, from an angle within a quarter of a turn.
 * Fitted, too: x is 5e-8 off, y a part of 1e-6. */
static inline void float_direction(uint32_t bits, float *x, float *y)
{
    const float angle = (float)(int32_t)bits * 0x1p-31F;
    const float t = angle * angle;
    const float s2 = __builtin_fmaf(t, -0x1.1de616p-8F, 0x1.4594d8p-4F);
    const float s1 = __builtin_fmaf(t, s2, -0x1.4ab628p-1F);
    const float c3 = __builtin_fmaf(t, 0x1.c1f066p-11F, -0x1.54f61ap-6F);
    const float c2 = __builtin_fmaf(t, c3, 0x1.03bd06p-2F);
    const float c1 = __builtin_fmaf(t, c2, -0x1.3bd3a6p0F);

    *x = __builtin_fmaf(t, c1, 1.0F);
    *y = angle * __builtin_fmaf(t, s1, 0x1.921f9cp0F);
}

/* (-1, 1), of the lower 16 bits: the middles of 2^16 intervals. */
static inline float float_choice(uint32_t bits)
{
    return (float)(int32_t)(bits << 16 | 0x8000U) * 0x1p-31F;
}

static inline void float_keys(uint64_t seed, uint32_t key[2 * HEAT_ROUNDS])
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (size_t r = 0; r < HEAT_ROUNDS; r++) {
        key[2 * r] = k0;
        key[2 * r + 1] = k1;
        k0 += RMC_PHILOX_W0;
        k1 += RMC_PHILOX_W1;
    }
}

#if defined(__AVX512F__)
/* Words of sixteen blocks.  Types are those of floats so that compilers leave the
 * order of xors as it is: the first one does not wait for products. */
enum { BLOCKS = 16 };
typedef __m512 words;

static inline words words_all(uint32_t x)
{
    return _mm512_castsi512_ps(_mm512_set1_epi32((int32_t)x));
}

static inline words words_times(uint32_t m, words c)
{
    return _mm512_castsi512_ps(
        _mm512_mul_epu32(_mm512_set1_epi64(m), _mm512_castps_si512(c)));
}

static inline words words_odd(words c)
{
    return _mm512_castsi512_ps(_mm512_srli_epi64(_mm512_castps_si512(c), 32));
}

static inline words words_xor(words a, words b)
{
    return _mm512_xor_ps(a, b);
}

/* Upper or lower halves of products: of a, then of b, by fours of words. */
static inline words words_upper(words a, words b)
{
    return _mm512_shuffle_ps(a, b, 0xdd);
}

static inline words words_lower(words a, words b)
{
    return _mm512_shuffle_ps(a, b, 0x88);
}

/* Positions of the blocks from `at` on, their lower and their upper halves. */
static inline void words_count(uint64_t at, words c[2])
{
    const __m512i even =
        _mm512_add_epi64(_mm512_set1_epi64((int64_t)at),
                         _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0));
    const __m512i odd = _mm512_add_epi64(even, _mm512_set1_epi64(1));

    c[0] = _mm512_castsi512_ps(
        _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32)));
    c[1] = _mm512_castsi512_ps(
        _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd));
}

static inline void words_put(uint32_t *to, words a)
{
    _mm512_storeu_ps(to, a);
}

/* Words 1 and 2 of four change places. */
static inline words words_swap(words a)
{
    return _mm512_permute_ps(a, 0xd8);
}
#elif defined(__AVX2__)
/* The same of eight blocks. */
enum { BLOCKS = 8 };
typedef __m256 words;

static inline words words_all(uint32_t x)
{
    return _mm256_castsi256_ps(_mm256_set1_epi32((int32_t)x));
}

static inline words words_times(uint32_t m, words c)
{
    return _mm256_castsi256_ps(
        _mm256_mul_epu32(_mm256_set1_epi64x(m), _mm256_castps_si256(c)));
}

static inline words words_odd(words c)
{
    return _mm256_castsi256_ps(_mm256_srli_epi64(_mm256_castps_si256(c), 32));
}

static inline words words_xor(words a, words b)
{
    return _mm256_xor_ps(a, b);
}

static inline words words_upper(words a, words b)
{
    return _mm256_shuffle_ps(a, b, 0xdd);
}

static inline words words_lower(words a, words b)
{
    return _mm256_shuffle_ps(a, b, 0x88);
}

static inline void words_count(uint64_t at, words c[2])
{
    const __m256i even = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)at),
                                          _mm256_set_epi64x(6, 4, 2, 0));
    const __m256i odd = _mm256_add_epi64(even, _mm256_set1_epi64x(1));

    c[0] = _mm256_castsi256_ps(
        _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa));
    c[1] = _mm256_castsi256_ps(
        _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa));
}

static inline void words_put(uint32_t *to, words a)
{
    _mm256_storeu_ps((float *)(void *)to, a);
}

static inline words words_swap(words a)
{
    return _mm256_permute_ps(a, 0xd8);
}
#endif

#ifdef __AVX2__
/* [philox], a round.  Elements 1 and 2 of four change places in words 2 and 3; to
 * do it twice is to undo it. */
static inline void words_round(words k0, words k1, words c[4])
{
    const words a = words_times(RMC_PHILOX_M0, c[0]);
    const words b = words_times(RMC_PHILOX_M0, words_odd(c[0]));
    const words d = words_times(RMC_PHILOX_M1, c[2]);
    const words e = words_times(RMC_PHILOX_M1, words_odd(c[2]));

    c[0] = words_xor(words_xor(c[1], k0), words_upper(d, e));
    c[2] = words_xor(words_xor(c[3], k1), words_upper(a, b));
    c[1] = words_lower(d, e);
    c[3] = words_lower(a, b);
}

/* Blocks before the first round. */
static inline void words_start(uint64_t id, uint64_t at, words c[4])
{
    words_count(at, c);
    c[2] = words_all((uint32_t)id);
    c[3] = words_all((uint32_t)(id >> 32));
}

static inline void words_end(const words c[4], size_t n, uint32_t *word)
{
    words_put(word, c[0]);
    words_put(word + n, c[1]);
    words_put(word + 2 * n, words_swap(c[2]));
    words_put(word + 3 * n, words_swap(c[3]));
}
#endif

/* Words of n blocks, n a multiple of 16: the first ones of all, the second ones of
 * all, and so on. */
static inline void heat_words(relmc_stream *stream, const uint32_t *key,
                              size_t n, uint32_t *word)
{
    const uint64_t id = rmc_stream_id(stream);
    const uint64_t at = rmc_stream_take(stream, 2 * n);

#ifdef __AVX2__
    enum { AT_ONCE = 16 / BLOCKS };

    for (size_t b = 0; b < n; b += 16) {
        words c[AT_ONCE][4]; /* in turns, for one would wait for its own
                                    results */

        for (size_t j = 0; j < AT_ONCE; j++) {
            words_start(id, at + b + j * BLOCKS, c[j]);
        }
        for (size_t r = 0; r < HEAT_ROUNDS; r++) {
            const words k0 = words_all(key[2 * r]);
            const words k1 = words_all(key[2 * r + 1]);

            for (size_t j = 0; j < AT_ONCE; j++) {
                words_round(k0, k1, c[j]);
            }
        }
        for (size_t j = 0; j < AT_ONCE; j++) {
            words_end(c[j], n, word + b + j * BLOCKS);
        }
    }
#else
    (void)key;
    for (size_t b = 0; b < n; b++) {
        uint64_t pair[2];

        rmc_philox(HEAT_ROUNDS, stream->seed, at + b, id, pair);
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
static inline float float_bounded(float q)
{
    const float most = 1e18F;

    q = most < q ? most : q; /* NaN stays */
    return -most > q ? -most : q;
}

/* v / c */
static inline float float_velocity(float q)
{
    return q / sqrtf(__builtin_fmaf(q, q, 1.0F));
}

/* The same, of coordinate j. */
static inline float heat_velocity(const struct heat *h, size_t j, float p)
{
    const float q = h->w[j] * p;

    return q / sqrtf(__builtin_fmaf(q, q, h->unit[j]));
}

/* [O-step] with linear friction, and what is before and after it; in short loops,
 * so that roots and quotients do not wait for each other. */
static inline void heat_exactly(const struct heat *h,
                                const uint32_t *restrict half,
                                const float *restrict g, float *restrict p,
                                float *restrict x)
{
    enum { N = HEAT_TILE };
    float e[N], n1[N], n2[N], from[N], root[N];

    for (size_t j = 0; j < N; j++) {
        e[j] = float_exponential(half[j]);
        float_direction(half[N + j], &n1[j], &n2[j]);
        from[j] = __builtin_fmaf(h->kick[0], g[j], p[j]);
        const float q = h->w[j] * from[j];
        root[j] = sqrtf(__builtin_fmaf(q, q, h->unit[j]));
        x[j] = __builtin_fmaf(h->drift[0][j], q / root[j], x[j]);
    }
    for (size_t j = 0; j < N; j++) {
        const float d = h->width[j] * e[j] * n1[j];
        const float c = sqrtf(__builtin_fmaf(d, d, e[j] * root[j]));
        const float u = float_choice(half[N + j]);
        const uint32_t is_less =
            float_bits(__builtin_fmaf(-u, c, d)) & 0x80000000U;
        const float width = c + float_of(float_bits(d) ^ is_less);
        const float noise = width * (h->power[j] * n2[j]);

        p[j] = __builtin_fmaf(h->kick[1], g[j],
                              __builtin_fmaf(h->keep, from[j], noise));
    }
    for (size_t j = 0; j < N && !h->is_at_rest; j++) {
        x[j] = __builtin_fmaf(h->drift[1][j], heat_velocity(h, j, p[j]), x[j]);
    }
}

/* [SGHMC] */
static inline void heat_explicitly(const struct heat *h,
                                   const uint32_t *restrict half,
                                   const float *restrict g, float *restrict p,
                                   float *restrict x)
{
    enum { N = HEAT_TILE, PAIRS = N / 2 };
    float normal[N], v[N];

    for (size_t j = 0; j < PAIRS; j++) {
        const float r = sqrtf(float_exponential(half[j]));
        const uint32_t sign = half[j] << 31;
        float n1, n2;

        float_direction(half[PAIRS + j], &n1, &n2);
        normal[j] = float_of(float_bits(n1) ^ sign) * r;
        normal[PAIRS + j] = n2 * r;
        v[j] = heat_velocity(h, j, p[j]);
        v[PAIRS + j] = heat_velocity(h, PAIRS + j, p[PAIRS + j]);
    }
    for (size_t j = 0; j < N; j++) {
        const float noise = __builtin_fmaf(h->power[j], normal[j], p[j]);

        p[j] = __builtin_fmaf(h->kick[1], g[j],
                              __builtin_fmaf(-h->rub[j], v[j], noise));
        x[j] = __builtin_fmaf(h->drift[1][j], heat_velocity(h, j, p[j]), x[j]);
    }
}

/* ---- tiles ------------------------------------------------------------------ */

static inline void heat_tile(const struct heat *h, relmc_stream *stream,
                             const float *g, float *p, float *x)
{
    uint32_t half[2 * HEAT_TILE];

    if (h->is_explicit) {
        heat_words(stream, h->key, HEAT_TILE / 4, half);
        heat_explicitly(h, half, g, p, x);
        return;
    }
    heat_words(stream, h->key, HEAT_TILE / 2, half);
    heat_exactly(h, half, g, p, x);
}

/* n <= 64 coordinates, ld apart. */
static inline void heat_some(const struct heat *h, relmc_stream *stream,
                             size_t n, size_t ld, const float *g, float *p,
                             float *x)
{
    float a[HEAT_TILE] = {0}, b[HEAT_TILE] = {0};
    float c[HEAT_TILE] = {0};

    for (size_t j = 0; j < n; j++) {
        a[j] = g[j * ld];
        b[j] = p[j * ld];
        c[j] = x[j * ld];
    }
    heat_tile(h, stream, a, b, c);
    for (size_t j = 0; j < n; j++) {
        p[j * ld] = b[j];
        x[j * ld] = c[j];
    }
}

/* ---- the slots --------------------------------------------------------------- */

/* One cell, with w = 1 / (m c); rate and drift are times c. */
static inline void push_cell(const relmc_push *by, float w, float g, float *p,
                             float *x)
{
    const float rub = by->rate != 0.0F
                          ? by->rate * float_velocity(float_bounded(w * *p))
                          : 0.0F;
    const float to = __builtin_fmaf(by->keep, *p, by->kick * g) - rub;
    const float v = float_velocity(float_bounded(w * to));

    *p = to;
    *x = __builtin_fmaf(by->drift, v, by->shrink * *x);
}

static inline void push_uniform(size_t n, const relmc_push *given, float w,
                                const float *restrict g, float *restrict p,
                                float *restrict x)
{
    const relmc_push by = *given;

    for (size_t j = 0; j < n; j++) {
        push_cell(&by, w, g[j], &p[j], &x[j]);
    }
}

void RMC_ISA(rmc_separable_push_float)(const void *self, const relmc_shape *s,
                                       const relmc_push *by, const float *g,
                                       float *p, float *x)
{
    const struct rmc_separable *kin = self;
    const size_t n = rmc_cells(s);

    for (size_t j = 0; j < n && !kin->is_uniform; j++) {
        const size_t i = j / s->ld;
        const float c = (float)(1.0 / kin->inv_c[i]);
        const relmc_push here = {by->keep, c * by->rate, by->kick, by->shrink,
                                 c * by->drift};

        push_cell(&here, (float)(kin->inv_c[i] / kin->mass[i]), g[j], &p[j],
                  &x[j]);
    }
    if (kin->is_uniform) {
        const float c = (float)(1.0 / kin->inv_c[0]);
        const float w = (float)(kin->inv_c[0] / kin->mass[0]);
        relmc_push all = {by->keep, 0.0F, by->kick, by->shrink, c * by->drift};

        if (by->rate == 0.0F) { /* a constant, for the compiler */
            push_uniform(n, &all, w, g, p, x);
            return;
        }
        all.rate = c * by->rate;
        push_uniform(n, &all, w, g, p, x);
    }
}

/* Up to so many coordinates at a time. */
enum { TILE = 64 };

/* [K-sep] is m c^2 q^2 / (1 + sqrt(1 + q^2)): q becomes that over m c^2, and
 * speed |v| / c. */
static inline void weigh_tile(float q[TILE], float speed[TILE])
{
    for (size_t j = 0; j < TILE; j++) {
        const float root = sqrtf(__builtin_fmaf(q[j], q[j], 1.0F));
        const float next = 1.0F + root, over = 1.0F / (root * next);
        const float size = q[j] < 0.0F ? -q[j] : q[j];

        speed[j] = size * (next * over);
        q[j] = size * (size * (root * over));
    }
}

/* A lane, whose energies are summed in the same order for any number of them. */
static inline void weigh_lane(const struct rmc_separable *kin, size_t n,
                              size_t ld, int is_uniform,
                              const float *restrict p, double *energy,
                              double *speed)
{
    enum { SUMS = 8 };
    const float usual = (float)(kin->inv_c[0] / kin->mass[0]);
    double energies[SUMS] = {0}, speeds[SUMS] = {0};
    float q[TILE] = {0}, v[TILE];

    for (size_t at = 0; at < n; at += TILE) {
        const size_t here = n - at < TILE ? n - at : TILE;

        for (size_t j = 0; j < here; j++) {
            const float w =
                is_uniform ? usual
                           : (float)(kin->inv_c[at + j] / kin->mass[at + j]);
            q[j] = float_bounded(w * p[(at + j) * ld]);
        }
        weigh_tile(q, v);
        for (size_t j = 0; j < here; j++) {
            const double beta = kin->beta[is_uniform ? 0 : at + j];

            energies[j % SUMS] += beta * (double)q[j];
            speeds[j % SUMS] += (double)v[j];
        }
    }
    *energy = *speed = 0.0;
    for (size_t j = 0; j < SUMS; j++) {
        *energy += energies[j];
        *speed += speeds[j] / (double)n;
    }
}

void RMC_ISA(rmc_separable_weigh_float)(const void *self, const relmc_shape *s,
                                        const float *p, double *energy,
                                        double *speed)
{
    const struct rmc_separable *kin = self;

    if (kin->is_uniform && s->ld == 1) { /* constants, for the compiler */
        weigh_lane(kin, s->dim, 1, 1, p, energy, speed);
        return;
    }
    for (size_t k = 0; k < s->lanes; k++) {
        weigh_lane(kin, s->dim, s->ld, kin->is_uniform, p + k, &energy[k],
                   &speed[k]);
    }
}

/* The coordinates from `at` on, or all if they are alike. */
static void heat_of(const struct rmc_separable *kin, const relmc_heat *by,
                    size_t at, size_t n, struct heat *h)
{
    const double T = by->bath.temperature, a = (double)(float)by->bath.keep;

    h->keep = (float)a;
    h->kick[0] = by->kick[0];
    h->kick[1] = by->kick[1];
    h->is_explicit = by->is_explicit;
    h->is_at_rest = by->drift[1] == 0.0F;
    for (size_t j = 0; j < HEAT_TILE; j++) {
        const size_t i = kin->is_uniform ? 0 : at + (j < n ? j : 0);
        const double c = 1.0 / kin->inv_c[i], w = kin->inv_c[i] / kin->mass[i];
        const double s = w < 0x1p-30 ? 1.0 : 0x1p-60; /* w s is a float, too */

        h->w[j] = (float)(w * s);
        h->unit[j] = (float)(s * s);
        h->width[j] = (float)sqrt(0.5 * T / kin->beta[i] * s);
        h->power[j] =
            (float)(by->is_explicit
                        ? 2.0 * sqrt(by->bath.rate * T)
                        : sqrt(2.0 * (1.0 - a * a) * T * kin->mass[i] / s));
        h->rub[j] = (float)(c * by->bath.rate);
        h->drift[0][j] = (float)(c * (double)by->drift[0]);
        h->drift[1][j] = (float)(c * (double)by->drift[1]);
    }
}

void RMC_ISA(rmc_separable_heat_float)(const void *self, size_t dim, size_t ld,
                                       relmc_stream *stream,
                                       const relmc_heat *by, const float *g,
                                       float *p, float *x)
{
    const struct rmc_separable *kin = self;
    struct heat h;

    float_keys(stream->seed, h.key);
    for (size_t at = 0; at < dim; at += HEAT_TILE) {
        const size_t left = dim - at;
        const size_t n = left < HEAT_TILE ? left : HEAT_TILE;

        if (at == 0 || !kin->is_uniform) {
            heat_of(kin, by, at, n, &h);
        }
        if (ld == 1 && n == HEAT_TILE) {
            heat_tile(&h, stream, g + at, p + at, x + at);
        } else {
            heat_some(&h, stream, n, ld, g + at * ld, p + at * ld, x + at * ld);
        }
    }
}
