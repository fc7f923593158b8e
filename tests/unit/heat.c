/*
 * heat.c - the heat bath in single precision: the distribution of its noise from a given
 * momentum, in the middle and in the tails; drifts of large momenta; equal bits on all
 * code paths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "support/stats.h"
#include "support/system.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 1 << 15, ROUNDS = 512, MARKS = 16 };

static float p[N], x[N], g[N];

struct setting {
    double m, c, T, p, keep, rate; /* linear friction, or explicit */
};

static const struct setting settings[] = {
    {.m = 0.7, .c = 1.3, .T = 1.0, .p = 0.4, .keep = 0.6},
    {.m = 0.7, .c = 1.3, .T = 2.0, .p = -3.0, .keep = 0.9},
    {.m = 2.0, .c = 30.0, .T = 0.5, .p = 1.0, .keep = 0.0},
    /* T / (m c^2) is 25, 1000 and 4e4: the smaller root is rare, and small */
    {.m = 1.0, .c = 0.2, .T = 1.0, .p = 0.0, .keep = 0.5},
    {.m = 0.1, .c = 0.1, .T = 1.0, .p = 0.001, .keep = 0.3},
    {.m = 0.1, .c = 0.1, .T = 1.0, .p = 8.0, .keep = 0.3},
    {.m = 0.01, .c = 0.05, .T = 1.0, .p = 0.0, .keep = 0.0},
    {.m = 0.7, .c = 1.3, .T = 2.0, .p = 0.4, .rate = 0.3},
};

static relmc_kinetic open_energy(relmc_arena *arena, double m, double c,
                                 size_t dim, int isa)
{
    char spec[100];

    (void)snprintf(spec, sizeof spec, "separable:m=%.17g,c=%.17g", m, c);
    return test_kinetic_open(arena, spec, dim, isa);
}

/* ---- the law ------------------------------------------------------------------- */

static double bessel_k0(double z)
{
    const double step = 0.05;
    double sum = 0.5 * exp(-z);

    for (double t = step; z * cosh(t) < 745.0; t += step) {
        sum += exp(-z * cosh(t));
    }
    return step * sum;
}

/* P(|d| < at) for d normal with the variance W T, where W has the distribution of
 * [partial-refresh] given p: a reciprocal inverse Gaussian one with chi = M^2 c^2 / T and
 * psi = c^2 / T.  So d has a density proportional to K_0(sqrt(psi (chi + d^2 / T))),
 * which is integrated over s, d^2 / T = chi sinh(s)^2. */
static double share_below(const struct setting *s, double at)
{
    enum { STEPS = 400 };
    const double q = s->p / (s->m * s->c), root = sqrt(1.0 + q * q);
    const double beta = root * s->m * s->c * s->c / s->T;
    const double end = asinh(at / (root * s->m * s->c));
    double sum = 0.0;

    for (int i = 0; i <= STEPS; i++) { /* Simpson's rule */
        const double ends = i == 0 || i == STEPS ? 1.0 : 2.0 + 2.0 * (i % 2);
        const double rise = cosh(end * i / STEPS);

        sum += ends * rise * bessel_k0(beta * rise);
    }
    return 2.0 / 3.14159265358979323846 * beta * exp(beta) * sum * end /
           (3.0 * STEPS);
}

struct tally {
    double below[MARKS], n;
    stats_sums noise, pairs;
};

/* One bath takes p to a p + d; counts |d| / size. */
static void count(const struct setting *s, const double *mark, double size,
                  struct tally *t)
{
    relmc_arena arena = {0};
    const relmc_kinetic kin =
        open_energy(&arena, s->m, s->c, N, rmc_isa_best());
    const relmc_heat by = {
        .bath = {.keep = s->keep, .rate = s->rate, .temperature = s->T},
        .is_explicit = s->rate > 0.0};
    const double q = s->p / (s->m * s->c), from = (double)(float)s->p;
    const double rest = s->rate > 0.0
                            ? from - s->rate * s->c * q / sqrt(1.0 + q * q)
                            : (double)(float)s->keep * from;
    relmc_stream stream = {.seed = 5};

    for (int r = 0; r < ROUNDS; r++) {
        for (size_t j = 0; j < N; j++) {
            p[j] = (float)s->p;
        }
        kin.ops->heat_float(kin.self, N, 1, &stream, &by, g, p, x);
        for (size_t j = 0; j < N; j++) {
            const double d = ((double)p[j] - rest) / size;
            const double other = ((double)p[j ^ 32U] - rest) / size;

            for (size_t k = 0; k < MARKS; k++) {
                t->below[k] += fabs(d) < mark[k];
            }
            stats_add(&t->noise, d);
            if (j < (j ^ 32U)) { /* count each pair once */
                stats_add(&t->pairs, d * other);
            }
            t->n += 1.0;
        }
    }
    rmc_arena_release(&arena);
}

static void test_noise__has_the_law_given_p(void **state)
{
    static const double mark[MARKS] = {0.001, 0.003, 0.01, 0.03, 0.1, 0.2,
                                       0.4,   0.7,   1.0,  1.5,  2.0, 2.5,
                                       3.0,   4.0,   5.0,  7.0};

    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const struct setting *s = &settings[i];
        const double q = s->p / (s->m * s->c);
        const double mean = s->m * sqrt(1.0 + q * q) + s->T / (s->c * s->c);
        const double size = s->rate > 0.0
                                ? sqrt(2.0 * s->rate * s->T)
                                : sqrt((1.0 - s->keep * s->keep) * s->T * mean);
        struct tally t = {0};

        count(s, mark, size, &t);
        for (size_t k = 0; k < MARKS; k++) {
            const double share =
                s->rate > 0.0 ? erf(mark[k] * 0.70710678118654752440)
                              : share_below(s, mark[k] * sqrt(s->T * mean));
            const double spread = t.n * share * (1.0 - share);
            const double z = (t.below[k] - t.n * share) / sqrt(spread);

            if (spread > 20.0 && !(fabs(z) < 4.5)) {
                fail_msg("setting %zu: %g below %g, not %g (z = %g)", i,
                         t.below[k] / t.n, mark[k], share, z);
            }
        }
        assert_true(stats_z(&t.noise, 0.0) < 4.5);
        assert_true(stats_z(&t.pairs, 0.0) < 4.5);
    }
}

/* ---- large momenta, code paths -------------------------------------------------- */

/* Momenta up to the largest floats, with masses of all sizes. */
static void test_drift__of_large_momenta_is_that_of_light(void **state)
{
    static const double masses[] = {1e-12, 1e-6, 1.0, 1e6, 1e12};
    static const double momenta[] = {1e-3, 1.0, 1e10, 1e20, 1e24};

    (void)state;
    for (size_t i = 0; i < 5 * 5 * 2; i++) {
        const double m = masses[i % 5], from = momenta[i / 5 % 5], c = 1.7;
        const relmc_heat by = {.bath = {.keep = 1.0},
                               .drift = {(float)(i / 25), (float)(1 - i / 25)}};
        relmc_arena arena = {0};
        const relmc_kinetic kin = open_energy(&arena, m, c, 1, rmc_isa_best());
        relmc_stream stream = {.seed = 6};
        const double q = (double)(float)from / (m * c);
        const double v = c * q / sqrt(1.0 + q * q);
        float to = (float)from, at = 0.0F, force = 0.0F;

        kin.ops->heat_float(kin.self, 1, 1, &stream, &by, &force, &to, &at);
        assert_true(to == (float)from);
        if (!(fabs((double)at - v) < 3e-7 * v)) {
            fail_msg("m = %g, p = %g: v = %g, not %g", m, from, (double)at, v);
        }
        rmc_arena_release(&arena);
    }
}

/* Also for block numbers of 33 bits. */
static void test_bits__do_not_depend_on_code_paths(void **state)
{
    enum { DIM = 200 };
    const relmc_heat by[2] = {
        {.bath = {.keep = 0.8, .temperature = 1.5}, .drift = {0.1F, 0.2F}},
        {.bath = {.rate = 0.1, .temperature = 1.5},
         .is_explicit = 1,
         .drift = {0.0F, 0.2F}}};

    (void)state;
    for (size_t i = 0; i < 2 * 2; i++) {
        float at[RMC_N_ISA][DIM] = {{0}}, to[RMC_N_ISA][DIM] = {{0}};

        for (int isa = 0; isa <= rmc_isa_best(); isa++) {
            relmc_arena arena = {0};
            const relmc_kinetic kin = open_energy(&arena, 0.7, 1.3, DIM, isa);
            relmc_stream stream = {.seed = 0x123456789abcdefU,
                                   .chain = 3,
                                   .purpose = 2,
                                   .word = i % 2 ? (1ULL << 33) - 10 : 1};

            for (size_t j = 0; j < DIM; j++) {
                to[isa][j] = (float)j - 100.0F;
            }
            kin.ops->heat_float(kin.self, DIM, 1, &stream, &by[i / 2], g,
                                to[isa], at[isa]);
            rmc_arena_release(&arena);
            assert_memory_equal(to[0], to[isa], sizeof to[0]);
            assert_memory_equal(at[0], at[isa], sizeof at[0]);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise__has_the_law_given_p),
        cmocka_unit_test(test_drift__of_large_momenta_is_that_of_light),
        cmocka_unit_test(test_bits__do_not_depend_on_code_paths),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
