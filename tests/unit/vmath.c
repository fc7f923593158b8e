/*
 * vmath.c - the elementary functions agree with long double, also at the ends of their
 * ranges, and vectorised loops give the bits of scalar calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "cpu.h"
#include "support/check.h"

#include <float.h>
#include <math.h>

static const double inf = HUGE_VAL;

typedef double (*unary)(double);

/* ---- arguments ---------------------------------------------------------- */

/* +-2^e with e uniform in (from, to): every order of magnitude */
static double draw_magnitude(relmc_stream *s, double from, double to)
{
    const double e = from + (to - from) * relmc_uniform(s);
    const double x = ldexp(1.0 + relmc_uniform(s), (int)floor(e));

    return relmc_bits(s) & 1 ? -x : x;
}

static double draw_exp(relmc_stream *s)
{
    if (relmc_bits(s) % 4 == 0) {
        return draw_magnitude(s, -1074.0, 9.0);
    }
    return -707.5 + (707.5 + 709.782712893384) * relmc_uniform(s);
}

static double draw_log(relmc_stream *s)
{
    if (relmc_bits(s) % 4 == 0) {
        return 1.0 + draw_magnitude(s, -52.0, -2.0);
    }
    return fabs(draw_magnitude(s, -1022.0, 1023.0));
}

static double draw_log1p(relmc_stream *s)
{
    const double x = draw_magnitude(s, -1074.0, 1023.0);

    if (relmc_bits(s) % 4 == 0) {
        return draw_magnitude(s, -60.0, 0.0) / 2.0;
    }
    return x > -1.0 ? x : -1.0 - 1.0 / x;
}

static double draw_unit(relmc_stream *s)
{
    return relmc_uniform(s);
}

/* ---- the functions, one at a time and in loops -------------------------- */

#define LOOP(name)                                              \
    static __attribute__((noinline)) void name##_loop(          \
        size_t n, const double *restrict x, double *restrict y) \
    {                                                           \
        for (size_t i = 0; i < n; i++) {                        \
            y[i] = rmc_##name(x[i]);                            \
        }                                                       \
    }

LOOP(exp)
LOOP(log)
LOOP(log1p)
LOOP(normal_quantile)

static const struct function {
    const char *name;
    unary scalar;
    void (*loop)(size_t n, const double *x, double *y);
    double (*draw)(relmc_stream *s);
    long double (*reference)(long double x);
} functions[] = {
    {"exp", rmc_exp, exp_loop, draw_exp, expl},
    {"log", rmc_log, log_loop, draw_log, logl},
    {"log1p", rmc_log1p, log1p_loop, draw_log1p, log1pl},
    {"normal_quantile", rmc_normal_quantile, normal_quantile_loop, draw_unit,
     NULL},
};

enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* The error of y in units of its last place. */
static double ulps_off(double y, long double truth)
{
    const double nearest = (double)truth;

    if (y == nearest) {
        return 0.0;
    }
    if (!rmc_is_finite(nearest)) {
        return (double)INFINITY;
    }
    const int exponent = fabs(nearest) < DBL_MIN ? -1021 : ilogb(nearest) + 1;
    return (double)(fabsl((long double)y - truth) /
                    ldexpl(1.0L, exponent - 53));
}

static void test_vmath__is_within_two_ulps(void **state)
{
    enum { N = 1000000 };

    (void)state;
    for (int f = 0; f < N_FUNCTIONS; f++) {
        relmc_stream stream = {20, 0, 0, 0};
        double worst = 0.0, where = 0.0;

        for (int i = 0; i < N && functions[f].reference; i++) {
            const double x = functions[f].draw(&stream);
            const double off = ulps_off(functions[f].scalar(x),
                                        functions[f].reference((long double)x));

            if (!(off <= worst)) {
                worst = off;
                where = x;
            }
        }
        if (!(worst <= 2.0)) {
            fail_msg("%s(%a) is %g ulps off", functions[f].name, where, worst);
        }
    }
}

/* Loops are compiled to vector instructions where there are some.  Scalar calls use a
 * pointer, so that the compiler cannot vectorise them. */
static void test_vmath__a_loop_equals_scalar_calls_bitwise(void **state)
{
    enum { N = 4099 };
    static double x[N], y[N];

    (void)state;
    for (int f = 0; f < N_FUNCTIONS; f++) {
        unary volatile scalar = functions[f].scalar;
        relmc_stream stream = {21, 0, 0, 0};

        for (int i = 0; i < N; i++) {
            x[i] = functions[f].draw(&stream);
        }
        if (functions[f].reference) {
            const double edges[] = {0.0,     -0.0, inf,     -inf,  1.0,
                                    DBL_MAX, -1.0, DBL_MIN, 1e-310};
            memcpy(x, edges, sizeof edges);
        }
        functions[f].loop(N, x, y);
        for (int i = 0; i < N; i++) {
            const double one = scalar(x[i]);

            if (isnan(one) ? !isnan(y[i])
                           : rmc_to_bits(one) != rmc_to_bits(y[i])) {
                fail_msg("%s(%a) is %a alone and %a in a loop",
                         functions[f].name, x[i], one, y[i]);
            }
        }
    }
}

/* ---- edges -------------------------------------------------------------- */

static void check_bits(double a, double b)
{
    if (rmc_to_bits(a) != rmc_to_bits(b)) {
        fail_msg("%a should be %a", a, b);
    }
}

static void test_exp__edges(void **state)
{
    const double top = 709.782712893384;

    (void)state;
    check_bits(rmc_exp(0.0), 1.0);
    check_bits(rmc_exp(-0.0), 1.0);
    check_bits(rmc_exp(5e-324), 1.0);
    check_bits(rmc_exp(-1e-310), 1.0);
    check_bits(rmc_exp(inf), inf);
    check_bits(rmc_exp(-inf), 0.0);
    check_bits(rmc_exp(1e308), inf);
    check_bits(rmc_exp(-1e308), 0.0);
    assert_true(isnan(rmc_exp((double)NAN)));
    /* the borders: the largest finite result, and the flush to zero */
    assert_true(ulps_off(rmc_exp(top), expl((long double)top)) <= 2.0);
    assert_true(rmc_exp(top) <= DBL_MAX);
    check_bits(rmc_exp(nextafter(top, inf)), inf);
    assert_true(ulps_off(rmc_exp(-707.5), expl(-707.5L)) <= 2.0);
    check_bits(rmc_exp(nextafter(-707.5, -inf)), 0.0);
    /* near every (k + 1/2) log 2, where the exponent changes */
    for (int k = -1020; k <= 1023; k++) {
        const double x = (k + 0.5) * 0.69314718055994530942;

        assert_true(ulps_off(rmc_exp(x), expl((long double)x)) <= 2.0);
        assert_true(ulps_off(rmc_exp(nextafter(x, inf)),
                             expl((long double)nextafter(x, inf))) <= 2.0);
    }
}

static void test_log__edges(void **state)
{
    (void)state;
    check_bits(rmc_log(1.0), 0.0);
    check_bits(rmc_log(0.0), -inf);
    check_bits(rmc_log(-0.0), -inf);
    check_bits(rmc_log(inf), inf);
    assert_true(isnan(rmc_log(-1.0)));
    assert_true(isnan(rmc_log(-5e-324)));
    assert_true(isnan(rmc_log(-inf)));
    assert_true(isnan(rmc_log((double)NAN)));
    /* subnormal numbers count as zero */
    check_bits(rmc_log(5e-324), -inf);
    check_bits(rmc_log(nextafter(DBL_MIN, 0.0)), -inf);
    assert_true(ulps_off(rmc_log(DBL_MIN), logl((long double)DBL_MIN)) <= 2.0);
    assert_true(ulps_off(rmc_log(DBL_MAX), logl((long double)DBL_MAX)) <= 2.0);
    /* where the extracted exponent changes */
    for (int k = -1021; k <= 1023; k++) {
        double x = ldexp(0x1.6a09e667f3bccp-1, k);

        for (int i = 0; i < 3; i++, x = nextafter(x, inf)) {
            assert_true(ulps_off(rmc_log(x), logl((long double)x)) <= 2.0);
        }
    }
}

static void test_log1p__edges(void **state)
{
    (void)state;
    check_near(rmc_log1p(0.0), 0.0, 0.0);
    check_bits(rmc_log1p(5e-324), 5e-324);
    check_bits(rmc_log1p(-5e-324), -5e-324);
    check_bits(rmc_log1p(1e-310), 1e-310);
    check_bits(rmc_log1p(inf), inf);
    check_bits(rmc_log1p(-1.0), -inf);
    assert_true(isnan(rmc_log1p(-2.0)));
    assert_true(isnan(rmc_log1p(-inf)));
    assert_true(isnan(rmc_log1p((double)NAN)));
    check_ulps(rmc_log1p(DBL_MAX), (double)logl((long double)DBL_MAX), 2);
    check_ulps(rmc_log1p(-1.0 + 0x1p-53), (double)-36.736800569677101399L, 2);
}

static void test_is_finite__edges(void **state)
{
    (void)state;
    assert_true(rmc_is_finite(0.0));
    assert_true(rmc_is_finite(-DBL_MAX));
    assert_true(rmc_is_finite(5e-324));
    assert_false(rmc_is_finite(inf));
    assert_false(rmc_is_finite(-inf));
    assert_false(rmc_is_finite((double)NAN));
}

/* ---- [normal-quantile] -------------------------------------------------- */

/* mpmath with 60 digits: the root of log Phi(z) - log u. */
static const struct {
    double u, z;
} quantiles[] = {
    {0x1p-54, -8.292361075813595538234152},
    {0x1p-53, -8.209536151601386855630769},
    {0x1.8p-52, -8.076571004130124650188628},
    {0x1.203af9ee75616p-50, -7.941345326170996771330131},
    {0x1.c25c268497682p-44, -7.348796102800677513478579},
    {0x1.e8a37a45fc321p-37, -6.657904643501103806051656},
    {0x1.e8a37a45fc35fp-37, -6.657904643501102745703436},
    {0x1.07e1fe91b0b70p-36, -6.646570887477112861427718},
    {0x1.b7cdfd9d7bdbbp-34, -6.361340902404056199100397},
    {0x1.5798ee2308c3ap-27, -5.612001244174788727930121},
    {0x1.4f8b588e368f1p-17, -4.264890793922824610233749},
    {0x1.0624dd2f1a9fcp-10, -3.090232306167813535358005},
    {0x1.47ae147ae147bp-7, -2.326347874040841093075096},
    {0x1.8d4fdf3b645a2p-6, -1.972961051311884837602748},
    {0x1.999999999999ap-5, -1.644853626951472687952128},
    {0x1.3333333333332p-4, -1.439531470938456032987641},
    {0x1.3333333333333p-4, -1.439531470938455934949801},
    {0x1.3333333333335p-4, -1.439531470938455738874122},
    {0x1.999999999999ap-4, -1.281551565544600435334517},
    {0x1.44ed0bb7cb20cp-3, -0.9999999999999999057376864},
    {0x1p-2, -0.674489750196081743202227},
    {0x1.5555555555555p-2, -0.4307272992954575410962829},
    {0x1.999999999999ap-2, -0.2533471031357997413246887},
    {0x1.f5c28f5c28f5cp-2, -0.02506890825871105803269163},
    {0x1.fffff94a03595p-2, -0.0000002506628274703106513497816},
    {0x1.ffffffffffffep-2, -2.782916424671766922233923e-16},
    {0x1.fffffffffffffp-2, -1.391458212335883461116962e-16},
    {0x1p-1, 0.0},
    {0x1.0000000000002p-1, 5.565832849343533844467847e-16},
    {0x1.0000035afe535p-1, 0.0000002506628273311648301161888},
    {0x1.3333333333333p-1, 0.2533471031357997413246887},
    {0x1.8p-1, 0.674489750196081743202227},
    {0x1.ccccccccccccdp-1, 1.281551565544600593487448},
    {0x1.d99999910293ap-1, 1.439531463874084826181351},
    {0x1.d99999999999ap-1, 1.43953147093845622906332},
    {0x1.d99999a2309f9p-1, 1.439531478002826919482877},
    {0x1.f333333333333p-1, 1.959963984540053855604431},
    {0x1.ff7ced916872bp-1, 3.090232306167813277758202},
    {0x1.ffffffff24190p-1, 6.361340889697421864155442},
    {0x1.ffffffffffc7bp-1, 7.348754540300042538673184},
    {0x1.ffffffffffffep-1, 8.125890664701906858507992},
    {0x1.fffffffffffffp-1, 8.209536151601386855630769},
};

static void test_normal_quantile__equals_sixty_digits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        check_close(rmc_normal_quantile(quantiles[i].u), quantiles[i].z, 8e-16);
    }
}

/* Phi(q(u)) = u; an error r in z is an error of about z^2 r in the tail. */
static void test_normal_quantile__inverts_the_law(void **state)
{
    relmc_stream stream = {22, 0, 0, 0};

    (void)state;
    for (int i = 0; i < 400000; i++) {
        /* every second one near an end, where uniform numbers are rare */
        const double v = relmc_uniform(&stream);
        const double u = i % 2 ? v : exp2(-1.0 - 53.0 * v);
        const double z = rmc_normal_quantile(u);
        const double tail = u < 0.5 ? u : 1.0 - u;
        const double back =
            (double)(0.5L * erfcl(fabsl((long double)z) / sqrtl(2.0L)));

        assert_true(u < 0.5 ? z < 0.0 : z >= 0.0);
        check_close(back, tail, 8e-16 * (1.0 + z * z));
    }
}

static void test_normal_quantile__is_odd(void **state)
{
    relmc_stream stream = {23, 0, 0, 0};

    (void)state;
    check_bits(rmc_normal_quantile(0.5), 0.0);
    for (int i = 0; i < 400000; i++) {
        const double v = relmc_uniform(&stream);
        /* a multiple of 2^-53, so that 1 - u is exact */
        const double u =
            i % 2 ? v : (floor(exp2(51.0 - 51.0 * v)) + 0.5) * 0x1p-52;

        check_bits(rmc_normal_quantile(1.0 - u), -rmc_normal_quantile(u));
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vmath__is_within_two_ulps),
        cmocka_unit_test(test_vmath__a_loop_equals_scalar_calls_bitwise),
        cmocka_unit_test(test_exp__edges),
        cmocka_unit_test(test_log__edges),
        cmocka_unit_test(test_log1p__edges),
        cmocka_unit_test(test_is_finite__edges),
        cmocka_unit_test(test_normal_quantile__equals_sixty_digits),
        cmocka_unit_test(test_normal_quantile__inverts_the_law),
        cmocka_unit_test(test_normal_quantile__is_odd),
    };

    if (!cpu_is_enough() || LDBL_MANT_DIG < 64) {
        return CPU_SKIPPED;
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
