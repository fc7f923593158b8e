/*
 * rng.c - Philox gives its published numbers, streams share no words, filling an array
 * gives the numbers of single calls, and draws have their distributions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "cpu.h"
#include "ks.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- [philox] ----------------------------------------------------------- */

/* Salmon et al. (2011), the known-answer vectors published with Random123. */
static const struct {
    uint32_t counter[4], key[2];
    uint32_t out[4], seven[4]; /* after ten and after seven rounds */
} known[] = {
    {{0, 0, 0, 0},
     {0, 0},
     {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
     {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
     {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
     {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}},
};

enum { N_KNOWN = sizeof known / sizeof *known };

static uint64_t join(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

static void test_philox__gives_the_known_answers(void **state)
{
    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        const uint32_t *c = known[i].counter, *k = known[i].key;
        const uint32_t *out = known[i].out, *seven = known[i].seven;
        uint64_t word[2];

        rmc_philox(RMC_PHILOX_ROUNDS, join(k[0], k[1]), join(c[0], c[1]),
                   join(c[2], c[3]), word);
        assert_true(word[0] == join(out[0], out[1]));
        assert_true(word[1] == join(out[2], out[3]));
        rmc_philox(7, join(k[0], k[1]), join(c[0], c[1]), join(c[2], c[3]),
                   word);
        assert_true(word[0] == join(seven[0], seven[1]));
        assert_true(word[1] == join(seven[2], seven[3]));
    }
}

/* The counter of a stream consists of position, chain and purpose. */
static void test_bits__are_the_words_of_philox(void **state)
{
    (void)state;
    for (int i = 0; i < N_KNOWN; i++) {
        const uint32_t *c = known[i].counter, *k = known[i].key;
        const uint64_t block = join(c[0], c[1]);
        relmc_stream s = {join(k[0], k[1]), 2 * block, c[2], c[3]};

        if (block >> 63) {
            continue; /* past the end of a stream */
        }
        assert_true(relmc_bits(&s) == join(known[i].out[0], known[i].out[1]));
        assert_true(relmc_bits(&s) == join(known[i].out[2], known[i].out[3]));
    }
}

/* Philox with 32-bit words, as in the paper. */
static void philox_plain(uint64_t seed, uint64_t at, uint64_t id,
                         uint64_t out[2])
{
    uint32_t x[4] = {(uint32_t)at, (uint32_t)(at >> 32), (uint32_t)id,
                     (uint32_t)(id >> 32)};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};

    for (int round = 0; round < 10; round++) {
        const uint64_t a = x[0] * UINT64_C(0xD2511F53);
        const uint64_t b = x[2] * UINT64_C(0xCD9E8D57);
        const uint32_t y[4] = {(uint32_t)(b >> 32) ^ x[1] ^ key[0], (uint32_t)b,
                               (uint32_t)(a >> 32) ^ x[3] ^ key[1],
                               (uint32_t)a};

        memcpy(x, y, sizeof x);
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
    out[0] = join(x[0], x[1]);
    out[1] = join(x[2], x[3]);
}

static void test_bits__are_philox_at_any_position(void **state)
{
    relmc_stream pick = {30, 0, 0, 0};

    (void)state;
    for (int n = 0; n < 20000; n++) {
        const uint64_t block = relmc_bits(&pick) >> (1 + n % 63);
        relmc_stream s = {relmc_bits(&pick), 2 * block + 1,
                          (uint32_t)relmc_bits(&pick),
                          (uint32_t)relmc_bits(&pick)};
        const uint64_t id = join(s.chain, s.purpose);
        uint64_t plain[2];

        philox_plain(s.seed, block, id, plain);
        assert_true(relmc_bits(&s) == plain[1]);
        assert_true(s.word == 2 * block + 2);
        philox_plain(s.seed, block + 1, id, plain);
        assert_true(relmc_bits(&s) == plain[0]);
    }
}

/* ---- bulk --------------------------------------------------------------- */

enum { MAX_LANES = 13, MAX_DIM = 19, MAX_LD = 16 };

static relmc_shape shape_of(size_t dim, size_t lanes)
{
    return (relmc_shape){dim, lanes, rmc_leading(lanes)};
}

/* Lane k is chain 3 k + 1, at a position that depends on k. */
static void set_streams(relmc_stream *streams, size_t lanes, uint64_t start)
{
    for (size_t k = 0; k < lanes; k++) {
        streams[k] = (relmc_stream){UINT64_C(0x123456789abcdef), start + 5 * k,
                                    (uint32_t)(3 * k + 1), RELMC_FOR_MOMENTUM};
    }
}

static const double canary = -12345.678;

static void fill_canary(double *a, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        a[j] = canary;
    }
}

static void check_fill(const relmc_shape *s, uint64_t start)
{
    static relmc_stream streams[MAX_LANES];
    static double out[MAX_DIM * MAX_LD + 8];

    set_streams(streams, s->lanes, start);
    fill_canary(out, sizeof out / sizeof *out);
    rmc_fill_bits(s, streams, out);
    for (size_t k = 0; k < s->ld; k++) {
        relmc_stream one = {0};

        if (k < s->lanes) {
            one = streams[k];
            one.word =
                (start + 5 * k + 1) / 2 * 2; /* begin with a whole block */
        }
        for (size_t i = 0; i < s->dim; i++) {
            const uint64_t got = rmc_to_bits(out[i * s->ld + k]);

            assert_true(
                got == (k < s->lanes ? relmc_bits(&one) : rmc_to_bits(canary)));
        }
        if (k < s->lanes) { /* the rest of the last block is skipped */
            assert_true(streams[k].word == (one.word + 1) / 2 * 2);
        }
    }
    for (size_t j = rmc_cells(s); j < sizeof out / sizeof *out; j++) {
        assert_true(out[j] == canary);
    }
}

static void test_fill__equals_one_at_a_time(void **state)
{
    (void)state;
    for (size_t lanes = 1; lanes <= MAX_LANES; lanes++) {
        for (size_t dim = 1; dim <= MAX_DIM; dim++) {
            const relmc_shape s = shape_of(dim, lanes);

            for (uint64_t start = 0; start < 4; start++) {
                check_fill(&s, start);
            }
            check_fill(&s, (UINT64_C(1) << 33) - 3); /* position carries over */
        }
    }
}

static void test_fill__does_not_depend_on_neighbours(void **state)
{
    /* static because of GCC's bug 90348 with arrays declared in a loop */
    static relmc_stream many[MAX_LANES], alone[MAX_LANES];
    static double out[7 * MAX_LD], one[7];

    (void)state;
    for (size_t lanes = 1; lanes <= MAX_LANES; lanes++) {
        const relmc_shape s = shape_of(7, lanes);
        const relmc_shape single = shape_of(7, 1);

        set_streams(many, lanes, 1);
        set_streams(alone, lanes, 1);
        rmc_fill_normal(&s, many, out);
        for (size_t k = 0; k < lanes; k++) {
            rmc_fill_normal(&single, &alone[k], one);
            for (size_t i = 0; i < 7; i++) {
                assert_memory_equal(&one[i], &out[i * s.ld + k], sizeof *one);
            }
            assert_memory_equal(&many[k], &alone[k], sizeof *many);
        }
    }
}

static void test_fill__makes_uniforms_and_normals_of_the_words(void **state)
{
    const relmc_shape s = shape_of(5, 6);
    relmc_stream a[6], b[6], c[6];
    double bits[5 * 8], unit[5 * 8], normal[5 * 8];

    (void)state;
    set_streams(a, 6, 0);
    set_streams(b, 6, 0);
    set_streams(c, 6, 0);
    for (size_t j = 0; j < rmc_cells(&s); j++) { /* padding may be anything */
        unit[j] = normal[j] = j % 2 ? (double)NAN : -HUGE_VAL;
    }
    rmc_fill_bits(&s, a, bits);
    rmc_fill_uniform(&s, b, unit);
    rmc_fill_normal(&s, c, normal);
    for (size_t j = 0; j < rmc_cells(&s); j++) {
        assert_true(rmc_is_finite(unit[j]) && rmc_is_finite(normal[j]));
        if (j % s.ld < s.lanes) {
            const double u = rmc_unit(rmc_to_bits(bits[j]));

            assert_true(unit[j] == u);
            assert_true(normal[j] == rmc_normal_quantile(u));
        }
    }
}

/* ---- streams ------------------------------------------------------------ */

static int compare_words(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

enum { N_STREAMS = 200000, N_WORDS = 8 };

static void check_disjoint(uint64_t *words)
{
    qsort(words, (size_t)N_STREAMS * N_WORDS, sizeof *words, compare_words);
    for (size_t j = 1; j < (size_t)N_STREAMS * N_WORDS; j++) {
        assert_true(words[j - 1] != words[j]);
    }
}

/* No word occurs twice among the first eight of 200 000 streams.  By chance it would once
 * in 10^7 such tests. */
static void test_streams__share_no_words(void **state)
{
    uint64_t *words = malloc(sizeof *words * N_STREAMS * N_WORDS);
    relmc_stream pick = {40, 0, 0, 0};

    (void)state;
    assert_non_null(words);
    for (size_t n = 0; n < N_STREAMS; n++) { /* random seeds and chains */
        relmc_stream s = {relmc_bits(&pick), 0, (uint32_t)relmc_bits(&pick),
                          (uint32_t)relmc_bits(&pick)};

        for (size_t j = 0; j < N_WORDS; j++) {
            words[n * N_WORDS + j] = relmc_bits(&s);
        }
    }
    check_disjoint(words);
    for (size_t n = 0; n < N_STREAMS; n++) { /* successive seeds and chains */
        relmc_stream s = {n / 2000, 0, (uint32_t)(n / 10 % 200),
                          (uint32_t)(n % 10)};

        for (size_t j = 0; j < N_WORDS; j++) {
            words[n * N_WORDS + j] = relmc_bits(&s);
        }
    }
    check_disjoint(words);
    for (size_t n = 0; n < N_STREAMS; n++) { /* one bit of seed and of chain */
        relmc_stream s = {UINT64_C(1) << n % 64, 0,
                          (uint32_t)(1u << n / 64 % 32),
                          (uint32_t)(n / 64 / 32)};

        for (size_t j = 0; j < N_WORDS; j++) {
            words[n * N_WORDS + j] = relmc_bits(&s);
        }
    }
    check_disjoint(words);
    free(words);
}

/* ---- uniform: the ends and the bits ------------------------------------- */

static void test_uniform__never_reaches_an_end(void **state)
{
    (void)state;
    assert_true(rmc_unit(0) == 0x1p-53);
    assert_true(rmc_unit(UINT64_MAX) == 1.0 - 0x1p-53);
    assert_true(rmc_unit(0xfff) ==
                0x1p-53); /* the lowest 12 bits are not used */
    assert_true(rmc_unit(0x1000) == 3 * 0x1p-53);
    assert_true(rmc_unit(UINT64_C(1) << 63) == 0.5 + 0x1p-53);
    assert_true(rmc_unit((UINT64_C(1) << 63) - 1) == 0.5 - 0x1p-53);
    for (int bit = 12; bit < 64; bit++) {
        const double u = rmc_unit(UINT64_C(1) << bit);

        assert_true(u == ldexp(1.0, bit - 64) + 0x1p-53);
        assert_true(rmc_unit(~(UINT64_C(1) << bit)) == 1.0 - u);
    }
    assert_true(fabs(rmc_normal_quantile(rmc_unit(0))) < 8.3);
    assert_true(fabs(rmc_normal_quantile(rmc_unit(UINT64_MAX))) < 8.3);
    assert_true(-rmc_log(rmc_unit(UINT64_MAX)) > 0.0);
    assert_true(-rmc_log(rmc_unit(0)) < 37.0);
}

static void test_bits__are_fair_and_independent(void **state)
{
    enum { N = 1000000 };
    relmc_stream s = {41, 0, 0, 0};
    size_t ones[64] = {0}, same[64] = {0}, as_low[64] = {0};
    uint64_t last = relmc_bits(&s);
    const double se = 0.5 / sqrt(N);

    (void)state;
    for (int n = 0; n < N; n++) {
        const uint64_t word = relmc_bits(&s);
        const uint64_t low = 0 - (word & 1);

        for (int bit = 0; bit < 64; bit++) {
            ones[bit] += word >> bit & 1;
            same[bit] += ~(word ^ last) >> bit & 1;
            as_low[bit] += ~(word ^ low) >> bit & 1; /* equals the lowest bit */
        }
        last = word;
    }
    for (int bit = 0; bit < 64; bit++) {
        check_zscore((double)ones[bit] / N, 0.5, se, 4.5);
        check_zscore((double)same[bit] / N, 0.5, se, 4.5);
        if (bit > 0) {
            check_zscore((double)as_low[bit] / N, 0.5, se, 4.5);
        }
    }
}

/* ---- laws --------------------------------------------------------------- */

/* [gamma] Regularised lower incomplete gamma function: the series below the
 * mean, Legendre's continued fraction above. */
static double gamma_cdf(double x, double shape)
{
    const double front = exp(shape * log(x) - x - lgamma(shape));

    if (!(x > 0.0)) {
        return 0.0;
    }
    if (x < shape + 1.0) {
        double term = 1.0 / shape, sum = term;

        for (double k = shape + 1.0; term > 1e-17 * sum; k += 1.0) {
            term *= x / k;
            sum += term;
        }
        return front * sum;
    }
    double b = x + 1.0 - shape, c = 1e300, d = 1.0 / b, h = d, ratio = 0.0;
    for (int i = 1; fabs(ratio - 1.0) > 1e-16 && i < 10000; i++) {
        const double a = -i * (i - shape);

        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        ratio = c * d;
        h *= ratio;
    }
    return 1.0 - front * h;
}

static double uniform_cdf(double x, double unused)
{
    (void)unused;
    return x;
}

static double normal_cdf(double x, double unused)
{
    (void)unused;
    return 0.5 * erfc(-x / sqrt(2.0));
}

static double exponential_cdf(double x, double unused)
{
    (void)unused;
    return -expm1(-x);
}

static double draw_uniform(relmc_stream *s, double unused)
{
    (void)unused;
    return relmc_uniform(s);
}

static double draw_normal(relmc_stream *s, double unused)
{
    (void)unused;
    return relmc_normal(s);
}

static double draw_exponential(relmc_stream *s, double unused)
{
    (void)unused;
    return relmc_exponential(s);
}

/* mean, variance and fourth central moment */
static const struct law {
    const char *name;
    double (*draw)(relmc_stream *s, double parameter);
    double (*cdf)(double x, double parameter);
    double parameter, mean, variance, fourth;
} laws[] = {
    {"uniform", draw_uniform, uniform_cdf, 0, 0.5, 1.0 / 12, 1.0 / 80},
    {"normal", draw_normal, normal_cdf, 0, 0, 1, 3},
    {"exponential", draw_exponential, exponential_cdf, 0, 1, 1, 9},
#define GAMMA(k)                                      \
    {                                                 \
        "gamma " #k, relmc_gamma, gamma_cdf, k, k, k, \
            3.0 * (k) * (k) + 6.0 * (k)               \
    }
    GAMMA(0.1),
    GAMMA(0.25),
    GAMMA(1),
    GAMMA(3.7),
    GAMMA(500),
#undef GAMMA
};

enum { N_LAWS = sizeof laws / sizeof *laws, N_DRAWS = 1000000 };

/* [equal to the closed forms] shape 1, 1/2 and 3, and P + Q = 1 across x. */
static void test_gamma_cdf__is_right(void **state)
{
    (void)state;
    for (double x = 0.01; x < 40.0; x *= 1.3) {
        check_close(gamma_cdf(x, 1.0), -expm1(-x), 1e-14);
        check_close(gamma_cdf(x, 0.5), erf(sqrt(x)), 1e-13);
        check_near(gamma_cdf(x, 3.0), 1.0 - exp(-x) * (1 + x + x * x / 2),
                   1e-14);
    }
    /* on both sides of the boundary between the methods */
    check_close(gamma_cdf(nextafter(501, 0), 500), gamma_cdf(501, 500), 1e-12);
}

static void check_moments(const struct law *law, const double *x)
{
    double sum = 0.0, squares = 0.0;

    for (size_t t = 0; t < N_DRAWS; t++) {
        const double y = x[t] - law->mean;

        sum += y;
        squares += y * y;
    }
    check_zscore(law->mean + sum / N_DRAWS, law->mean,
                 sqrt(law->variance / N_DRAWS), 4.5);
    check_zscore(squares / N_DRAWS, law->variance,
                 sqrt((law->fourth - law->variance * law->variance) / N_DRAWS),
                 4.5);
}

static void check_uncorrelated(const struct law *law, const double *x)
{
    for (size_t lag = 1; lag <= 5; lag++) {
        double sum = 0.0, squares = 0.0;

        for (size_t t = lag; t < N_DRAWS; t++) {
            const double y = x[t] - law->mean, z = x[t - lag] - law->mean;

            sum += y * z;
            squares += (y * y - law->variance) * (z * z - law->variance);
        }
        check_zscore(sum / law->variance / sqrt(N_DRAWS), 0.0, 1.0, 4.5);
        check_zscore(squares / (law->fourth - law->variance * law->variance) /
                         sqrt(N_DRAWS),
                     0.0, 1.0, 4.5);
    }
}

static void test_draws__have_their_law(void **state)
{
    double *x = malloc(N_DRAWS * sizeof *x);

    (void)state;
    assert_non_null(x);
    for (int i = 0; i < N_LAWS; i++) {
        const struct law *law = &laws[i];
        relmc_stream s = {42, 0, (uint32_t)i, 0};

        for (size_t t = 0; t < N_DRAWS; t++) {
            x[t] = law->draw(&s, law->parameter);
        }
        check_moments(law, x);
        check_uncorrelated(law, x);
        const double ks = ks_one(N_DRAWS, x, 8, law->cdf, law->parameter);
        if (!(ks < KS_LIMIT)) {
            fail_msg("%s: Kolmogorov-Smirnov %g", law->name, ks);
        }
        assert_true(rmc_is_finite(x[0]) && rmc_is_finite(x[N_DRAWS - 1]));
        assert_true(law->mean == 0.0 || x[0] >= 0.0);
    }
    free(x);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox__gives_the_known_answers),
        cmocka_unit_test(test_bits__are_the_words_of_philox),
        cmocka_unit_test(test_bits__are_philox_at_any_position),
        cmocka_unit_test(test_fill__equals_one_at_a_time),
        cmocka_unit_test(test_fill__does_not_depend_on_neighbours),
        cmocka_unit_test(test_fill__makes_uniforms_and_normals_of_the_words),
        cmocka_unit_test(test_streams__share_no_words),
        cmocka_unit_test(test_uniform__never_reaches_an_end),
        cmocka_unit_test(test_bits__are_fair_and_independent),
        cmocka_unit_test(test_gamma_cdf__is_right),
        cmocka_unit_test(test_draws__have_their_law),
    };

    if (!cpu_is_enough()) {
        return CPU_SKIPPED;
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
