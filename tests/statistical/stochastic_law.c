/*
 * stochastic_law.c - the errors of samplers without a Metropolis step have the known size and
 * order in the step, for every sampler, kinetic energy, scheme and temperature.
 *
 *   stochastic_law        the tests
 *   stochastic_law full   the same with more draws, and a table of the errors
 *   stochastic_law NAME   the tests whose names match
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "statistical/stochastic.h"

/* ---- what is known exactly: Newtonian particles in a harmonic well ---------- */

static void test_law__of_newtonian_splittings_is_the_known_one(void **unused)
{
    static const char *const laws[] = {"linear", "bounded"};
    static const double steps[] = {0.5, 1.0, 1.6};

    (void)unused;
    for (size_t i = 0; i < 6; i++) {
        const double h = steps[i / 2], short_by = 0.25 * h * h;
        char spec[80];
        struct cell c = {.sampler = spec, .kinetic = "newtonian", .step = h};

        (void)snprintf(spec, sizeof spec, "sghmc:scheme=baoab,law=%s,steps=4",
                       laws[i % 2]);
        struct law l = measure(&c, n_draws);
        is_about(&c, &l, l.u, 0.0, 0.0);
        is_about(&c, &l, l.v2, -short_by, 0.0);
        assert_int_equal(l.n_divergent, 0);
        (void)snprintf(spec, sizeof spec, "sghmc:scheme=obabo,law=%s,steps=4",
                       laws[i % 2]);
        l = measure(&c, n_draws);
        is_about(&c, &l, l.u, 1.0 / (1.0 - short_by) - 1.0, 0.0);
        is_about(&c, &l, l.v2, 0.0, 0.0);
    }
}

/* The Euler scheme of the paper: with p' = (1 - D h) p - h x + ..., x' = x + h p'
 * the stationary covariance solves three linear equations. */
static void
test_law__of_the_newtonian_euler_scheme_is_the_known_one(void **state)
{
    const double h = 0.4, f = 0.4; /* D = 1 */
    const struct cell c = {.sampler = "sghmc:scheme=euler,law=bounded,steps=4",
                           .kinetic = "newtonian",
                           .step = h};
    double xx = 1.0, xp = 0.0, pp = 1.0;

    (void)state;
    for (int n = 0; n < 4000; n++) {
        const double a = 1.0 - f;
        const double new_pp =
            a * a * pp - 2.0 * a * h * xp + h * h * xx + 2.0 * f;
        const double xq = a * xp - h * xx; /* E[x p'] */

        xx = xx + 2.0 * h * xq + h * h * new_pp;
        xp = xq + h * new_pp;
        pp = new_pp;
    }
    const struct law l = measure(&c, 2 * n_draws);
    is_about(&c, &l, l.u, xx - 1.0, 0.0);
    is_about(&c, &l, l.v2, pp - 1.0, 0.0);
    assert_true(pp > 1.2); /* 1 without discretisation error */
}

static void test_law__of_sgld_is_the_known_one(void **unused)
{
    static const char *const specs[] = {"sgld:steps=5",
                                        "sgld:steps=5,temperature=2.5"};

    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        const struct cell c = {.sampler = specs[i],
                               .kinetic = "newtonian",
                               .step = 0.5,
                               .temperature = i ? 2.5 : 1.0};
        const struct law l = measure(&c, 2 * n_draws);

        is_about(&c, &l, l.u, 1.0 / (1.0 - 0.25) - 1.0, 0.0);
    }
}

/* A metric that is fixed after warm-up keeps the distribution; one that follows the
 * gradients does not. */
static void test_law__of_preconditioned_sgld_is_right(void **unused)
{
    static const struct {
        const char *spec;
        int is_right;
    } cases[] = {
        {"psgld:steps=5,lambda=0.5,beta=0.9", 1},
        {"sgld_adam:steps=5,lambda=0.5,beta=0.9", 1},
        {"psgld:steps=5,lambda=0.5,beta=0.9,learn=always", 0},
        {"sgld_adam:steps=5,lambda=0.5,beta=0.9,learn=always", 0},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cell c = {
            .sampler = cases[i].spec, .kinetic = "newtonian", .step = 0.02};
        const struct law l = measure(&c, 8 * n_draws);

        print_law(&c, &l);
        if (cases[i].is_right) {
            is_about(&c, &l, l.u, 0.0, 0.02);
        } else {
            assert_true(l.u.mean - 4.0 * l.u.error > 0.05);
        }
    }
}

/* ---- order ------------------------------------------------------------------ */

/* At h = 0.8 BAOAB is within 1 % of E[U], and Euler 14 % away. */
static void test_law__of_baoab_is_right_where_euler_is_not(void **unused)
{
    struct cell c = {.kinetic = "separable", .step = 0.8};

    (void)unused;
    c.sampler = "sghmc:scheme=baoab,law=bounded,steps=4";
    struct law l = measure(&c, 8 * n_draws);
    print_law(&c, &l);
    assert_true(fabs(l.u.mean) + 2.0 * l.u.error < 0.01);
    c.sampler = "sghmc:scheme=baoab,law=linear,steps=4";
    l = measure(&c, 8 * n_draws);
    print_law(&c, &l);
    assert_true(fabs(l.u.mean) + 2.0 * l.u.error < 0.01);
    c.sampler = "sghmc:scheme=euler,law=bounded,steps=4";
    l = measure(&c, 4 * n_draws);
    print_law(&c, &l);
    is_about(&c, &l, l.u, 0.137, 0.005);
}

/* log2 of the ratio of the errors of steps 2 h and h. */
static double order(struct cell c, double h, int of_speed, int64_t draws)
{
    struct estimate e[2];

    for (int i = 0; i < 2; i++) {
        c.step = h * (double)(i + 1);
        const struct law l = measure(&c, draws);

        e[i] = of_speed ? l.v2 : l.u;
        assert_int_equal(l.n_divergent, 0);
        if (!(fabs(e[i].mean) > 8.0 * e[i].error)) {
            print_law(&c, &l);
            fail_msg("too few draws for the order");
        }
    }
    return log2(e[1].mean / e[0].mean);
}

/* The errors of BAOAB show in E[v^2], those of OBABO in E[U]. */
static void test_order__is_2_for_splittings_and_1_for_euler(void **unused)
{
    static const struct {
        const char *sampler, *kinetic;
        enum well well;
        int of_speed;
        double lo, hi, h;
    } cases[] = {
        {"sghmc:scheme=euler,law=bounded,steps=4", "separable", HARMONIC, 1,
         0.8, 1.4, 0.15},
        {"sghmc:scheme=euler,law=bounded,steps=4", "newtonian", HARMONIC, 1,
         0.8, 1.7, 0.15},
        {"sghmc:scheme=euler,law=bounded,steps=4", "relativistic", QUARTIC, 1,
         0.8, 1.5, 0.15},
        {"sghmc:scheme=euler,steps=4", "separable", HARMONIC, 0, 0.5, 1.2,
         0.15},
        {"sghmc:scheme=baoab,law=bounded,steps=4", "separable", HARMONIC, 1,
         1.7, 2.4, 0.5},
        {"sghmc:scheme=baoab,steps=4", "separable", HARMONIC, 1, 1.7, 2.4, 0.5},
        {"sghmc:scheme=baoab,steps=4", "relativistic", QUARTIC, 1, 1.5, 2.6,
         0.3},
        {"sghmc:scheme=obabo,law=bounded,steps=4", "separable", HARMONIC, 0,
         1.7, 2.8, 0.7},
        {"sghmc:scheme=obabo,steps=4", "newtonian", HARMONIC, 0, 1.7, 2.8, 0.5},
        {"sgnht:scheme=euler,law=bounded,steps=4", "separable", HARMONIC, 0,
         0.8, 1.5, 0.15},
        {"sgnht:scheme=baoab,law=bounded,steps=4", "separable", HARMONIC, 1,
         1.7, 2.5, 0.5},
        {"sgnht:scheme=baoab,thermostat=each,steps=4", "separable", HARMONIC, 1,
         1.7, 2.5, 0.5},
        {"sgnht:scheme=obabo,steps=4", "separable", HARMONIC, 0, 1.7, 3, 0.7},
    };
    const size_t n = sizeof cases / sizeof *cases;

    (void)unused;
    for (size_t i = 0; i < n; i += is_full ? 1 : 3) {
        const struct cell c = {.sampler = cases[i].sampler,
                               .kinetic = cases[i].kinetic,
                               .well = cases[i].well};
        const int is_euler = strstr(cases[i].sampler, "euler") != NULL;
        const double q = order(c, cases[i].h, cases[i].of_speed,
                               (is_euler ? 3 : 6) * n_draws);

        print_message("order %.2f: %s %s %s\n", q, cases[i].sampler,
                      cases[i].kinetic, well_names[cases[i].well]);
        if (!(q > cases[i].lo && q < cases[i].hi)) {
            fail_msg("%s %s: order %g", cases[i].sampler, cases[i].kinetic, q);
        }
    }
}

/* ---- temperature ------------------------------------------------------------- */

static void test_law__is_that_of_any_temperature(void **unused)
{
    static const char *const schemes[] = {
        "sghmc:steps=10", "sghmc:law=bounded,steps=10",
        "sghmc:scheme=obabo,steps=10", "sgnht:steps=10"};
    static const char *const kinetics[] = {"newtonian", "separable",
                                           "relativistic"};
    static const double temperatures[] = {0.5, 2.0};

    (void)unused;
    for (size_t i = 0; i < 24; i++) {
        char spec[80];
        const struct cell c = {.sampler = spec,
                               .kinetic = kinetics[i % 3],
                               .temperature = temperatures[i / 3 % 2],
                               .step = 0.2};

        (void)snprintf(spec, sizeof spec, "%s,temperature=%g", schemes[i / 6],
                       c.temperature);
        const struct law l = measure(&c, n_draws / 2);
        is_about(&c, &l, l.u, 0.0, 0.012);
        is_about(&c, &l, l.v2, 0.0, 0.012);
    }
}

/* ---- the table ------------------------------------------------------------------ */

static void test_table__of_errors(void **unused)
{
    static const char *const specs[] = {
        "sghmc:scheme=euler,law=bounded",
        "sghmc:scheme=euler",
        "sghmc:law=bounded",
        "sghmc",
        "sghmc:scheme=obabo,law=bounded",
        "sghmc:scheme=obabo",
        "sgnht:scheme=euler,law=bounded",
        "sgnht",
        "sgnht:scheme=obabo",
        "sgld",
    };
    static const char *const kinetics[] = {"separable", "newtonian"};

    (void)unused;
    if (!is_full) {
        skip();
    }
    for (size_t i = 0; i < 2 * 2 * 10; i++) {
        for (double h = 0.1; h < 1.7; h *= 2.0) {
            const struct cell c = {.sampler = specs[i % 10],
                                   .kinetic = kinetics[i / 10 % 2],
                                   .well = (enum well)(i / 20),
                                   .step = h};
            const struct law l = measure(&c, n_draws);

            print_law(&c, &l);
            assert_int_equal(l.n_not_finite, 0);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law__of_newtonian_splittings_is_the_known_one),
        cmocka_unit_test(
            test_law__of_the_newtonian_euler_scheme_is_the_known_one),
        cmocka_unit_test(test_law__of_sgld_is_the_known_one),
        cmocka_unit_test(test_law__of_preconditioned_sgld_is_right),
        cmocka_unit_test(test_law__of_baoab_is_right_where_euler_is_not),
        cmocka_unit_test(test_order__is_2_for_splittings_and_1_for_euler),
        cmocka_unit_test(test_law__is_that_of_any_temperature),
        cmocka_unit_test(test_table__of_errors),
    };

    read_arguments(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
