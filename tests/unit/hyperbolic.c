/*
 * hyperbolic.c - momenta of one relativistic coordinate: the quantile table agrees with
 * long double quadrature, and its draws with those by rejection.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/spec.h"
#include "component/registry.h"
#include "cpu.h"
#include "kinetic/separable_momentum_inline.h"
#include "ks.h"
#include "support/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Aligned like the arena's blocks. */
static _Alignas(64) double table[RMC_TABLE_SIZE];

static const double all_a[] = {1e-36, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.1,
                               0.5,   1.0,   2.0,  5.0,  20.0, 1e2,  1e4,
                               1e6,   1e9,   1e12, 1e18, 1e36};

enum { N_A = sizeof all_a / sizeof *all_a };

/* ---- [hyperbolic] in long double -------------------------------------------
 * With y = sqrt(a) sinh t: K = 2 a sinh^2(t/2), dy = sqrt(a) cosh t dt; this
 * integrand is entire and has no small scales but those of K.  Panels are one
 * unit of K or less, with 16 points of Gauss-Legendre each. */

enum { POINTS = 8 };

static const long double node[POINTS] = {
    0.9894009349916499325962L, 0.9445750230732325760780L,
    0.8656312023878317438805L, 0.7554044083550030338951L,
    0.6178762444026437484467L, 0.4580167776572273863424L,
    0.2816035507792589132305L, 0.09501250983763744018532L};
static const long double weight[POINTS] = {
    0.02715245941175409485178L, 0.06225352393864789286284L,
    0.09515851168249278480993L, 0.1246289712555338720525L,
    0.1495959888165767320815L,  0.1691565193950025381893L,
    0.1826034150449235888668L,  0.1894506104550684962854L};

static long double t_of_energy(long double k, long double a)
{
    return 2.0L * asinhl(sqrtl(k / (2.0L * a)));
}

static long double energy_of_y(long double y, long double a)
{
    return y * y / (1.0L + sqrtl(1.0L + y * y / a));
}

/* mass between two values of t, divided by exp(-k0) */
static long double panel(long double from, long double to, long double a,
                         long double k0)
{
    const long double mid = 0.5L * (from + to), half = 0.5L * (to - from);
    long double sum = 0.0L;

    for (int i = 0; i < POINTS; i++) {
        for (int side = -1; side <= 1; side += 2) {
            const long double t = mid + side * half * node[i];
            const long double s = sinhl(0.5L * t);

            sum += weight[i] * expl(k0 - 2.0L * a * s * s) * coshl(t);
        }
    }
    return sum * half * sqrtl(a);
}

/* mass beyond the point with K = k */
static long double mass_beyond(long double k, long double a)
{
    const long double step = 1.0L;
    long double sum = 0.0L;

    for (int n = 0; n < 48; n++) {
        sum += panel(t_of_energy(k + n * step, a),
                     t_of_energy(k + (n + 1) * step, a), a, k);
    }
    return sum * expl(-k);
}

/* mass between 0 and the point with K = k: K grows like t^2 at first, so panels are
 * uniform in t; beyond t = 1 they are uniform in K */
static long double mass_below(long double k, long double a)
{
    const long double end = t_of_energy(k, a);
    const int n = 4 + (int)(4.0L * end);
    long double sum = 0.0L;

    for (int i = 0; i < n; i++) {
        sum += panel(end * i / n, end * (i + 1) / n, a, 0.0L);
    }
    return sum;
}

/* The whole mass: the tail beyond K = 1/2 and the rest, twice. */
static long double whole_mass(long double a)
{
    return 2.0L * (mass_below(0.5L, a) + mass_beyond(0.5L, a));
}

/* 2 sqrt(a) exp(a) K_1(a), by mpmath with 40 digits */
static void test_reference__is_right(void **state)
{
    (void)state;
    check_close((double)whole_mass(1.0L), 3.272306972526516493027, 1e-15);
    check_close((double)whole_mass(0.25L), 4.811276588171025332886, 1e-15);
    check_close((double)whole_mass(1e-12L), 2000000.000002, 1e-15);
    check_close((double)whole_mass(20.0L), 2.552923254684490374532, 1e-15);
    check_close((double)whole_mass(1e18L), sqrt(2.0 * 3.14159265358979323846),
                1e-15);
}

/* ---- the table ---------------------------------------------------------- */

/* Bits that make u = w (tail) or 1/2 - w (centre), w = (r + 1/2) 2^-53. */
static uint64_t bits_of(uint64_t r, int is_tail)
{
    const uint64_t last = (UINT64_C(1) << 52) - 1;

    return (is_tail ? r : last - r) << 12;
}

/* |P/w - 1|, P the probability beyond the point, or between 0 and it */
static double relative_error(double a, long double whole, uint64_t r,
                             int is_tail)
{
    const long double w = ((long double)r + 0.5L) * 0x1p-53L;
    const double y = rmc_hyperbolic_draw(table, bits_of(r, is_tail));
    const long double k = energy_of_y((long double)y, (long double)a);
    const long double mass = is_tail ? mass_beyond(k, (long double)a)
                                     : mass_below(k, (long double)a);

    return (double)fabsl(mass / whole / w - 1.0L);
}

static void check_side(double a, int is_tail, relmc_stream *s)
{
    const long double whole = whole_mass((long double)a);
    double worst = 0.0;

    /* a point or two in each interval of the table, and the ends of octaves */
    for (unsigned octave = 0; octave < RMC_TABLE_OCTAVES; octave++) {
        const uint64_t low = UINT64_C(1) << octave >> 1;
        const uint64_t high = (UINT64_C(1) << octave) - 1;

        worst = fmax(worst, relative_error(a, whole, low, is_tail));
        worst = fmax(worst, relative_error(a, whole, high, is_tail));
        for (unsigned j = 0; j < 1u << RMC_TABLE_BITS && octave > 5; j++) {
            const double part = (j + relmc_uniform(s)) / (1 << RMC_TABLE_BITS);
            const uint64_t r = low + (uint64_t)((double)low * part);

            worst = fmax(worst, relative_error(a, whole, r, is_tail));
        }
    }
    if (!(worst <= 1e-13)) {
        fail_msg("a = %g, %s: probabilities are off by %g", a,
                 is_tail ? "tail" : "centre", worst);
    }
}

static void test_table__has_the_right_probabilities(void **state)
{
    relmc_stream s = {90, 0, 0, 0};

    (void)state;
    for (int i = 0; i < N_A; i++) {
        RMC_ISA(rmc_hyperbolic_tabulate)(all_a[i], table);
        check_side(all_a[i], 1, &s);
        check_side(all_a[i], 0, &s);
    }
}

/* The lowest bit is the sign and has no other effect; extreme draws are finite. */
static void test_draw__is_symmetric_and_finite(void **state)
{
    relmc_stream s = {91, 0, 0, 0};

    (void)state;
    RMC_ISA(rmc_hyperbolic_tabulate)(1.0, table);
    for (int n = 0; n < 100000; n++) {
        const uint64_t bits = relmc_bits(&s) & ~UINT64_C(1);
        const double y = rmc_hyperbolic_draw(table, bits);

        assert_true(y > 0.0 && y < 100.0);
        assert_true(rmc_hyperbolic_draw(table, bits | 1) == -y);
    }
    assert_true(rmc_hyperbolic_draw(table, 0) >
                rmc_hyperbolic_draw(table, 0x1000));
    assert_true(rmc_hyperbolic_draw(table, 0) < 100.0);
    assert_true(rmc_hyperbolic_draw(table, UINT64_MAX - 1) > 0.0);
    assert_true(rmc_hyperbolic_draw(table, UINT64_MAX - 1) < 1e-15);
}

/* The same bits with and without vectors, for any n. */
static void test_transform__equals_one_draw_at_a_time(void **state)
{
    enum { N = 1003 };
    static double y[N + 1];
    static uint64_t bits[N];
    relmc_stream s = {92, 0, 0, 0};

    (void)state;
    for (int i = 0; i < N_A; i += 3) {
        RMC_ISA(rmc_hyperbolic_tabulate)(all_a[i], table);
        for (size_t n = 0; n <= N; n = n < 20 ? n + 1 : N + (n == N)) {
            for (size_t j = 0; j < n; j++) {
                bits[j] = j == 3   ? 0
                          : j == 5 ? UINT64_MAX
                                   : relmc_bits(&s) >> (j % 4 ? 0 : j % 60);
                y[j] = rmc_from_bits(bits[j]);
            }
            y[n] = 42.0;
            RMC_ISA(rmc_hyperbolic_transform)(table, n, y);
            for (size_t j = 0; j < n; j++) {
                assert_true(rmc_to_bits(y[j]) ==
                            rmc_to_bits(rmc_hyperbolic_draw(table, bits[j])));
            }
            assert_true(y[n] == 42.0);
        }
    }
}

/* The baseline code path of the library equals that of this file, which may be compiled
 * for another. */
static void test_table__is_the_same_on_every_code_path(void **state)
{
    enum { LANES = 14, LD = 16 };
    const relmc_shape shape = {33, LANES, LD};
    static double p[33 * LD], y[33 * LD];
    relmc_stream ours[LANES], theirs[LANES];
    relmc_arena arena = {0};
    const relmc_info *info = NULL;

    (void)state;
    assert_int_equal(
        rmc_component_find(&info, "kinetic", "separable", RMC_BASELINE, NULL),
        RELMC_OK);
    const relmc_kinetic_ops *ops =
        (const relmc_kinetic_ops *)(const void *)info;
    void *self = relmc_arena_get(&arena, ops->state_size);
    assert_int_equal(
        rmc_spec_parse("separable:m=1,c=3", info, self, &arena, NULL),
        RELMC_OK);
    assert_int_equal(ops->init(self, &arena, shape.dim, NULL), RELMC_OK);
    for (uint32_t k = 0; k < LANES; k++) {
        ours[k] = theirs[k] = (relmc_stream){93, 7, k, RELMC_FOR_MOMENTUM};
    }
    ops->refresh(self, &shape, theirs, p);
    RMC_ISA(rmc_hyperbolic_tabulate)(9.0, table);
    rmc_fill_bits(&shape, ours, y);
    RMC_ISA(rmc_hyperbolic_transform)(table, rmc_cells(&shape), y);
    for (size_t j = 0; j < rmc_cells(&shape); j++) {
        if (j % LD < LANES) {
            assert_true(rmc_to_bits(p[j]) == rmc_to_bits(y[j]));
        }
    }
    rmc_arena_release(&arena);
}

/* ---- rejection ---------------------------------------------------------- */

enum { N_DRAWS = 1000000 };

static void test_reject__has_the_law_of_the_table(void **state)
{
    static const double some_a[] = {1e-6, 0.1, 1.0, 30.0, 1e8};
    double *x = malloc(N_DRAWS * sizeof *x), *y = malloc(N_DRAWS * sizeof *y);

    (void)state;
    assert_non_null(x);
    assert_non_null(y);
    for (size_t i = 0; i < sizeof some_a / sizeof *some_a; i++) {
        relmc_stream s = {94, 0, (uint32_t)i, 0}, t = {94, 0, (uint32_t)i, 1};

        RMC_ISA(rmc_hyperbolic_tabulate)(some_a[i], table);
        for (size_t n = 0; n < N_DRAWS; n++) {
            x[n] = RMC_ISA(rmc_hyperbolic_reject)(&s, some_a[i]);
            y[n] = rmc_hyperbolic_draw(table, relmc_bits(&t));
        }
        /* three words per attempt */
        assert_true(3.0 * N_DRAWS / (double)s.word > 0.66);
        const double ks = ks_two(N_DRAWS, x, y);
        if (!(ks < KS_LIMIT)) {
            fail_msg("a = %g: Kolmogorov-Smirnov %g", some_a[i], ks);
        }
    }
    free(x);
    free(y);
}

static void test_reject__is_right_in_the_limits(void **state)
{
    (void)state;
    for (int i = 0; i < N_A; i++) {
        relmc_stream s = {95, 0, (uint32_t)i, 0};
        double sum = 0.0, squares = 0.0;
        const int n = N_DRAWS / 50;

        /* virial: E[y dK/dy] = 1, dK/dy = y / sqrt(1 + y^2/a) */
        for (int t = 0; t < n; t++) {
            const double y = RMC_ISA(rmc_hyperbolic_reject)(&s, all_a[i]);
            const double virial = y * (y / sqrt(1.0 + y * y / all_a[i]));

            assert_true(rmc_is_finite(y));
            sum += virial;
            squares += virial * virial;
        }
        const double mean = sum / n;
        check_zscore(mean, 1.0, sqrt((squares / n - mean * mean) / n), 4.5);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference__is_right),
        cmocka_unit_test(test_table__has_the_right_probabilities),
        cmocka_unit_test(test_draw__is_symmetric_and_finite),
        cmocka_unit_test(test_transform__equals_one_draw_at_a_time),
        cmocka_unit_test(test_table__is_the_same_on_every_code_path),
        cmocka_unit_test(test_reject__has_the_law_of_the_table),
        cmocka_unit_test(test_reject__is_right_in_the_limits),
    };

    if (!cpu_is_enough() || LDBL_MANT_DIG < 64) {
        return CPU_SKIPPED;
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
