/*
 * special.c - ratios of Bessel functions and the cruising speed equal values of mpmath and
 * have their recurrences and limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/special.h"
#include "relmc_diag.h"
#include "support/check.h"

#include <math.h>

/* ---- [cruise] ----------------------------------------------------------- */

/* mpmath with 50 digits: the integral of [bessel-ratio] by the trapezoidal rule
 * with a step of 1/16 of the width of its peak, compared with mpmath's besselk
 * where that can be computed. */
static const struct {
    size_t dim;
    double beta, speed;
} speeds[] = {
    {1, 1e-08, 0.9999999900000010018306},
    {1, 0.0001, 0.9999000541262823651172},
    {1, 0.01, 0.9903083624787791305497},
    {1, 0.5, 0.7323298756449909334160},
    {1, 1.0, 0.6111896031733903580617},
    {1, 10.0, 0.2434472694673202236444},
    {1, 1000.0, 0.02522186997206736556819},
    {1, 1000000.0, 0.0007978842615963607592247},
    {1, 1000000000.0, 0.00002523132521073985353140},
    {1, 1000000000000.0, 7.978845608025661491696e-7},
    {2, 1e-08, 0.9999999999999990981694},
    {2, 0.0001, 0.9999999558683069542479},
    {2, 0.01, 0.9997885985964361500931},
    {2, 0.5, 0.9103365694039285684531},
    {2, 1.0, 0.8180767431316291232567},
    {2, 10.0, 0.3734241550870806828455},
    {2, 1000.0, 0.03960852229066954093921},
    {2, 1000000.0, 0.001253313353994800877098},
    {2, 1000000000.0, 0.00003963327295128931454354},
    {2, 1000000000000.0, 0.000001253314137314716929872},
    {3, 1e-08, 0.9999999999999999750000},
    {3, 0.0001, 0.9999999975003332516078},
    {3, 0.01, 0.9999753280504748298051},
    {3, 0.5, 0.9639988044205103371232},
    {3, 1.0, 0.9056391780882437200917},
    {3, 10.0, 0.4643453984070374973216},
    {3, 1000.0, 0.05041853699052388703568},
    {3, 1000000.0, 0.001595767725309058335285},
    {3, 1000000000.0, 0.00005046265039624838187099},
    {3, 1000000000000.0, 0.000001595769121604334413778},
    {10, 1e-08, 0.9999999999999999993056},
    {10, 0.0001, 0.9999999999305555555790},
    {10, 0.01, 0.9999993055578979121122},
    {10, 0.5, 0.9982782931379015065830},
    {10, 1.0, 0.9932758915551033991972},
    {10, 10.0, 0.7656204570320358409969},
    {10, 1000.0, 0.09727944277728159486786},
    {10, 1000000.0, 0.003084319663454169090950},
    {10, 1000000000.0, 0.00009753500745849353249497},
    {10, 1000000000000.0, 0.000003084327759791767539087},
    {25, 1e-08, 0.9999999999999999999094},
    {25, 0.0001, 0.9999999999909420289858},
    {25, 0.01, 0.9999999094203217148025},
    {25, 0.5, 0.9997737495906651338609},
    {25, 1.0, 0.9990973724798622070345},
    {25, 10.0, 0.9310004270104189778765},
    {25, 1000.0, 0.1555467873757900304292},
    {25, 1000000.0, 0.004950230786398478419970},
    {25, 1000000000.0, 0.0001565410392325589548951},
    {25, 1000000000000.0, 0.000004950262344172994438630},
    {199, 1e-08, 0.9999999999999999999987},
    {199, 0.0001, 0.9999999999998718145926},
    {199, 0.01, 0.9999999987181459320862},
    {199, 0.5, 0.9999967954011806010612},
    {199, 1.0, 0.9999871820410746665921},
    {199, 10.0, 0.9987239287658696837067},
    {199, 1000.0, 0.4239034781832521815040},
    {199, 1000000.0, 0.01408832247904500049641},
    {199, 1000000000.0, 0.0004455340726740164396966},
    {199, 1000000000000.0, 0.00001408902515059619520960},
    {200, 1e-08, 0.9999999999999999999987},
    {200, 0.0001, 0.9999999999998731028882},
    {200, 0.01, 0.9999999987310288874844},
    {200, 0.5, 0.9999968276078400043720},
    {200, 1.0, 0.9999873108589604803874},
    {200, 10.0, 0.9987366960842371607308},
    {200, 1000.0, 0.4248642463970569670161},
    {200, 1000000.0, 0.01412376110079197856025},
    {200, 1000000000.0, 0.0004466549076833527881124},
    {200, 1000000000000.0, 0.00001412446907099736841642},
    {10000, 1e-08, 1.000000000000000000000},
    {10000, 0.0001, 0.9999999999999999499850},
    {10000, 0.01, 0.9999999999994998499650},
    {10000, 0.5, 0.9999999987496249179545},
    {10000, 1.0, 0.9999999949984997374975},
    {10000, 10.0, 0.9999994998508407158367},
    {10000, 1000.0, 0.9950840609270438145934},
    {10000, 1000000.0, 0.09974780720851091955654},
    {10000, 1000000000.0, 0.003162190698333311887487},
    {10000, 1000000000000.0, 0.00009999749978124765669442},
    {1000000, 1e-08, 1.000000000000000000000},
    {1000000, 0.0001, 0.9999999999999999999950},
    {1000000, 0.01, 0.9999999999999999499998},
    {1000000, 0.5, 0.9999999999998749996250},
    {1000000, 1.0, 0.9999999999994999985000},
    {1000000, 10.0, 0.9999999999499998500084},
    {1000000, 1000.0, 0.9999994999993750016875},
    {1000000, 1000000.0, 0.7861511719403183487123},
    {1000000, 1000000000.0, 0.03161486398832722520755},
    {1000000, 1000000000000.0, 0.0009999995000000000002187},
};

static void test_cruise_speed__equals_fifty_digits(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        check_close(relmc_cruise_speed(speeds[i].dim, speeds[i].beta),
                    speeds[i].speed, 4e-15);
    }
}

/* docs/math.md: beta = 1 */
static void test_cruise_speed__is_what_the_documentation_says(void **state)
{
    (void)state;
    check_near(relmc_cruise_speed(1, 1.0), 0.611, 5e-4);
    check_near(relmc_cruise_speed(2, 1.0), 0.818, 5e-4);
    check_near(relmc_cruise_speed(10, 1.0), 0.993, 5e-4);
    check_near(relmc_cruise_speed(25, 1.0), 0.999, 5e-4);
}

/* beta -> inf: E|v|/c = E|z| / sqrt(beta), z normal, up to a factor
 * 1 - O(d/beta); E|z| = sqrt(2) Gamma((d+1)/2) / Gamma(d/2). */
static void test_cruise_speed__is_newtonian_for_large_beta(void **state)
{
    static const size_t dims[] = {1, 2, 3, 10, 1000};

    (void)state;
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        const double d = (double)dims[i];
        const double norm =
            sqrt(2.0) * exp(lgamma(0.5 * (d + 1.0)) - lgamma(0.5 * d));

        for (double beta = 1e5 * d; beta < 1e13; beta *= 10.0) {
            check_close(relmc_cruise_speed(dims[i], beta) * sqrt(beta), norm,
                        2.0 * (d + 1.0) / beta + 1e-11);
        }
    }
}

/* beta -> 0 */
static void test_cruise_speed__is_one_for_small_beta(void **state)
{
    static const size_t dims[] = {1, 2, 3, 10, 1000, 1000000};

    (void)state;
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        for (double beta = 1e-3; beta > 1e-100; beta /= 100.0) {
            const double v = relmc_cruise_speed(dims[i], beta);

            check_near(v, 1.0, 2.0 * beta + 1e-14);
            assert_true(v <= 1.0 + 1e-14);
        }
    }
}

static void test_cruise_speed__falls_with_beta_and_grows_with_dim(void **state)
{
    (void)state;
    for (double beta = 1e-3; beta < 1e9; beta *= 1.7) {
        double last = 0.0;

        for (size_t dim = 1; dim <= 64; dim *= 2) {
            const double v = relmc_cruise_speed(dim, beta);

            assert_true(v > last - 1e-14 && v <= 1.0 + 1e-14);
            assert_true(v >= relmc_cruise_speed(dim, 1.7 * beta) - 1e-14);
            last = v;
        }
    }
}

static void test_cruise_beta__is_the_inverse(void **state)
{
    static const size_t dims[] = {1, 2, 3, 10, 199, 1000, 1000000};
    static const double wanted[] = {1e-6, 1e-3, 0.01, 0.1,  0.3,
                                    0.5,  0.6,  0.9,  0.99, 0.999};

    (void)state;
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        for (size_t j = 0; j < sizeof wanted / sizeof *wanted; j++) {
            const double beta = relmc_cruise_beta(dims[i], wanted[j]);

            check_close(relmc_cruise_speed(dims[i], beta), wanted[j], 1e-13);
        }
    }
    /* speed -> 1: beta = 1 - speed for d = 1, to first order */
    check_close(relmc_cruise_beta(1, 1.0 - 1e-6), 1e-6, 1e-4);
}

static void test_cruise__refuses_nonsense(void **state)
{
    (void)state;
    assert_true(isnan(relmc_cruise_speed(0, 1.0)));
    assert_true(isnan(relmc_cruise_speed(1, 0.0)));
    assert_true(isnan(relmc_cruise_speed(1, -1.0)));
    assert_true(isnan(relmc_cruise_speed(1, (double)NAN)));
    assert_true(isnan(relmc_cruise_beta(0, 0.5)));
    assert_true(isnan(relmc_cruise_beta(1, 0.0)));
    assert_true(isnan(relmc_cruise_beta(1, 1.0)));
    assert_true(isnan(relmc_cruise_beta(1, (double)NAN)));
}

/* ---- [bessel-ratio] ----------------------------------------------------- */

static void test_bessel_ratio__of_half_integers_is_elementary(void **state)
{
    (void)state;
    for (double x = 1e-6; x < 1e9; x *= 3.0) {
        /* K_1/2 : K_3/2 : K_5/2 = 1 : 1 + 1/x : 1 + 3/x + 3/x^2 */
        const double k3 = 1.0 + 1.0 / x;
        const double k5 = 1.0 + 3.0 / x + 3.0 / (x * x);

        check_close(rmc_bessel_k_ratio(0.5, 1.5, x), 1.0 / k3, 2e-14);
        check_close(rmc_bessel_k_ratio(1.5, 2.5, x), k3 / k5, 2e-14);
        check_close(rmc_bessel_k_ratio(0.5, 2.5, x), 1.0 / k5, 4e-14);
        check_close(rmc_bessel_k_ratio(2.5, 1.5, x), k5 / k3, 2e-14);
        check_close(rmc_bessel_k_ratio(1.5, 1.5, x), 1.0, 0.0);
    }
}

/* K_(n+1) = K_(n-1) + (2 n / x) K_n, for any order */
static void test_bessel_ratio__obeys_the_recurrence(void **state)
{
    relmc_stream s = {80, 0, 0, 0};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        const double n = 1.0 + exp(10.0 * relmc_uniform(&s));
        const double x = exp(-8.0 + 24.0 * relmc_uniform(&s));
        const double up = rmc_bessel_k_ratio(n + 1.0, n, x);
        const double down = rmc_bessel_k_ratio(n - 1.0, n, x);

        check_close(up, down + 2.0 * n / x, 1e-13);
        check_close(up * rmc_bessel_k_ratio(n, n + 1.0, x), 1.0, 1e-13);
    }
}

/* Gamma(z + 1/2) / Gamma(z) */
static void test_gamma_half_step__obeys_its_laws(void **state)
{
    (void)state;
    check_close(rmc_gamma_half_step(0.5), 0.56418958354775628695, 1e-15);
    check_close(rmc_gamma_half_step(1.0), 0.88622692545275801365, 1e-15);
    for (double z = 0.5; z < 1e12; z *= 1.31) {
        const double r = rmc_gamma_half_step(z);

        /* r(z) r(z + 1/2) = z */
        check_close(r * rmc_gamma_half_step(z + 0.5), z, 4e-15);
        check_close(rmc_gamma_half_step(z + 1.0), r * (z + 0.5) / z, 4e-15);
        if (z < 100.0) {
            check_close(r,
                        (double)(tgammal((long double)z + 0.5L) /
                                 tgammal((long double)z)),
                        1e-14);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cruise_speed__equals_fifty_digits),
        cmocka_unit_test(test_cruise_speed__is_what_the_documentation_says),
        cmocka_unit_test(test_cruise_speed__is_newtonian_for_large_beta),
        cmocka_unit_test(test_cruise_speed__is_one_for_small_beta),
        cmocka_unit_test(test_cruise_speed__falls_with_beta_and_grows_with_dim),
        cmocka_unit_test(test_cruise_beta__is_the_inverse),
        cmocka_unit_test(test_cruise__refuses_nonsense),
        cmocka_unit_test(test_bessel_ratio__of_half_integers_is_elementary),
        cmocka_unit_test(test_bessel_ratio__obeys_the_recurrence),
        cmocka_unit_test(test_gamma_half_step__obeys_its_laws),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
