/*
 * kinetic_refresh.c - refresh draws momenta from exp(-K), and partial refreshes and heat
 * baths keep that distribution, for every kinetic energy.  An argument restricts the
 * tests to those whose names match.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/kinetic.h"

/* Sums over draws of p. */
struct evidence {
    stats_sums virial[MAX_DIM];  /* p_i v_i */
    stats_sums crossed[MAX_DIM]; /* p_i v_j, j the next coordinate */
    stats_sums squares;          /* |v|^2 - lap K */
    stats_sums speed;
    stats_sums fourth[MAX_DIM]; /* p_i^4 */
};

/* A correct mean exceeds |z| = 5 once in 2 million times. */
static void demand_mean(const struct subject *t, const stats_sums *sums,
                        double truth, const char *what, size_t i)
{
    const double z = stats_z(sums, truth);

    if (!(z < 5.0)) {
        wrong(t, "%s[%zu] is %.8g, should be %.8g: %.1f standard errors", what,
              i, sums->mean, truth, z);
    }
}

/* No two chains and no two calls give the same momentum. */
static void test_kinetic__chains_and_calls_differ(void **state)
{
    (void)state;
    FOR_SUBJECTS(t)
    {
        const relmc_shape s = {t->dim, LANES, LANES};

        for (int isa = 0; isa <= rmc_isa_best(); isa++) {
            relmc_stream *streams =
                test_streams_new(&t->arena, LANES, 18, 0, 0);
            double p[2][CELLS], sizes[2 * LANES];

            refresh(&t->kinetic[isa], &s, streams, p[0]);
            refresh(&t->kinetic[isa], &s, streams, p[1]);
            for (size_t i = 0; i < t->dim; i++) {
                for (size_t k = 0; k < 2 * LANES; k++) {
                    sizes[k] = fabs(p[k / LANES][i * LANES + k % LANES]);
                }
                stats_sort(sizes, 2 * LANES);
                for (size_t k = 1; k < 2 * LANES; k++) {
                    if (sizes[k] == sizes[k - 1]) {
                        wrong(t, "|p_%zu| = %.17g twice", i, sizes[k]);
                    }
                }
            }
        }
    }
    demand_none();
}

/* ---- the momentum law ---------------------------------------------------- */

static void add_evidence(const struct subject *t, const relmc_kinetic *kin,
                         const double *p, struct evidence *out)
{
    const relmc_shape s = {t->dim, LANES, LANES};
    double v[CELLS], lap[LANES], speed[LANES];

    kin->ops->velocity(kin->self, &s, p, v);
    kin->ops->laplacian(kin->self, &s, p, lap);
    kin->ops->speed(kin->self, &s, p, speed);
    for (size_t k = 0; k < LANES; k++) {
        double v2 = 0.0;

        for (size_t i = 0; i < t->dim; i++) {
            const size_t next = (i + 1) % t->dim;
            const double q = p[i * LANES + k];

            v2 += v[i * LANES + k] * v[i * LANES + k];
            stats_add(&out->virial[i], q * v[i * LANES + k]);
            stats_add(&out->crossed[i], q * v[next * LANES + k]);
            stats_add(&out->fourth[i], q * q * q * q);
        }
        stats_add(&out->squares, v2 - lap[k]);
        stats_add(&out->speed, speed[k]);
    }
}

static const struct evidence *fresh_evidence(struct subject *t)
{
    const relmc_kinetic *kin = &t->kinetic[rmc_isa_best()];
    const relmc_shape s = {t->dim, LANES, LANES};
    double p[CELLS];

    if (!t->fresh) {
        relmc_stream *streams = test_streams_new(&t->arena, LANES, 21, 0, 0);

        t->fresh = calloc(1, sizeof *t->fresh);
        assert_non_null(t->fresh);
        for (size_t n = 0; n < N_BLOCKS; n++) {
            refresh(kin, &s, streams, p);
            add_evidence(t, kin, p, t->fresh);
        }
    }
    return t->fresh;
}

/* Virial: E p_i v_j = 1 if i = j, else 0, by integration by parts; and
 * [equipartition] E |v|^2 = E lap K. */
static void check_evidence(const struct subject *t, const struct evidence *e)
{
    for (size_t i = 0; i < t->dim; i++) {
        demand_mean(t, &e->virial[i], 1.0, "E p_i v_i", i);
        if (t->dim > 1) {
            demand_mean(t, &e->crossed[i], 0.0, "E p_i v_j", i);
        }
    }
    demand_mean(t, &e->squares, 0.0, "E |v|^2 - lap K", 0);
}

static void test_kinetic__refresh_obeys_equipartition(void **state)
{
    (void)state;
    FOR_SUBJECTS(t)
    {
        check_evidence(t, fresh_evidence(t));
    }
    demand_none();
}

static void test_kinetic__mean_speed_is_cruise(void **state)
{
    (void)state;
    FOR_SUBJECTS(t)
    {
        const double cruise = t->kinetic->ops->cruise(t->kinetic->self, t->dim);

        demand_mean(t, &fresh_evidence(t)->speed, cruise, "E speed", 0);
        if (strstr(t->spec, "cruise=0.6") && !(fabs(cruise - 0.6) < 1e-12)) {
            wrong(t, "cruises at %.17g", cruise);
        }
    }
    demand_none();
}

/* Three partial refreshes of exact draws give exact draws; the new p' is correlated
 * with p: E p p' = a E p^2. */
static void test_kinetic__partial_leaves_law_invariant(void **state)
{
    static const double a[] = {0.0, 0.5, 0.9};
    enum { N = sizeof a / sizeof *a };

    (void)state;
    FOR_SUBJECTS(t)
    {
        const relmc_kinetic *kin = &t->kinetic[rmc_isa_best()];
        const relmc_shape s = {t->dim, LANES, LANES};
        relmc_stream *streams = test_streams_new(&t->arena, LANES, 22, 0, 0);
        struct evidence e = {0};
        stats_sums memory[N] = {0};
        double p[CELLS], old[CELLS], work[3 * CELLS];

        for (size_t n = 0; n < N_BLOCKS; n++) {
            refresh(kin, &s, streams, p);
            for (size_t j = 0; j < N; j++) {
                memcpy(old, p, sizeof old);
                kin->ops->partial(
                    kin->self, &s, streams,
                    &(relmc_bath){.keep = a[j], .temperature = 1.0}, p, work);
                for (size_t k = 0; k < LANES; k++) {
                    stats_add(&memory[j], (p[k] - a[j] * old[k]) * old[k]);
                }
            }
            add_evidence(t, kin, p, &e);
        }
        check_evidence(t, &e);
        for (size_t j = 0; j < N; j++) {
            demand_mean(t, &memory[j], 0.0, "E (p' - a p) p", j);
        }
        for (size_t i = 0; i < t->dim; i++) {
            const stats_sums *f = &fresh_evidence(t)->fourth[i];
            const double error =
                hypot(stats_error(f), stats_error(&e.fourth[i]));

            if (!(fabs(f->mean - e.fourth[i].mean) < 5.0 * error)) {
                wrong(t, "E p_%zu^4 is %g when partial, %g when fresh", i,
                      e.fourth[i].mean, f->mean);
            }
        }
    }
    demand_none();
}

/* ---- [O-step] at any temperature -------------------------------------------- */

/* exp(-K/T) is exp(-K) of the energy with mass m T and speed limit c/T. */
static void open_heated(relmc_kinetic *out, relmc_arena *arena,
                        const char *name, size_t dim, double m, double c,
                        double T)
{
    char spec[SPEC_BYTES];

    if (strcmp(name, "newtonian") == 0) {
        (void)snprintf(spec, sizeof spec, "newtonian:m=%.17g", m * T);
    } else {
        (void)snprintf(spec, sizeof spec, "%s:m=%.17g,c=%.17g", name, m * T,
                       c / T);
    }
    *out = test_kinetic_open(arena, spec, dim, rmc_isa_best());
}

/* Applies a heat bath, in double precision or in single precision. */
static void bathe(const relmc_kinetic *kin, const relmc_shape *s,
                  relmc_stream *streams, const relmc_bath *bath, int is_single,
                  double *p)
{
    const relmc_heat heat = {.bath = *bath};
    double work[3 * CELLS];
    float g[CELLS] = {0}, q[CELLS], x[CELLS] = {0};

    if (!is_single) {
        kin->ops->partial(kin->self, s, streams, bath, p, work);
        return;
    }
    for (size_t j = 0; j < rmc_cells(s); j++) {
        q[j] = (float)p[j];
    }
    for (size_t k = 0; k < s->lanes; k++) {
        kin->ops->heat_float(kin->self, s->dim, s->ld, &streams[k], &heat,
                             g + k, q + k, x + k);
    }
    for (size_t j = 0; j < rmc_cells(s); j++) {
        p[j] = (double)q[j];
    }
}

/* Two baths applied to exact draws at temperature T change p but not its fourth
 * moments, the virial E p_i v_i = T and [equipartition] E v_i^2 = T E d2K/dp_i2. */
static void check_bath(const char *name, size_t dim, const relmc_bath *bath,
                       int is_single)
{
    const double m = 0.7, c = 1.3, T = bath->temperature;
    const relmc_shape s = {dim, LANES, LANES};
    relmc_arena arena = {0};
    relmc_kinetic kin, heated;
    relmc_stream *streams = test_streams_new(&arena, LANES, 31, 0, 0);
    stats_sums change = {0}, virial = {0}, equal = {0};
    double p[CELLS], v[CELLS], bend[CELLS], moved = 0.0;

    open_heated(&kin, &arena, name, dim, m, c, 1.0);
    open_heated(&heated, &arena, name, dim, m, c, T);
    is_single = is_single && kin.ops->heat_float;
    for (size_t n = 0; n < N_BLOCKS; n++) {
        double fourth = 0.0;

        heated.ops->refresh(heated.self, &s, streams, p);
        for (size_t j = 0; j < dim * LANES; j++) {
            fourth -= p[j] * p[j] * p[j] * p[j];
            moved -= fabs(p[j]);
        }
        bathe(&kin, &s, streams, bath, is_single, p);
        bathe(&kin, &s, streams, bath, is_single, p);
        kin.ops->velocity(kin.self, &s, p, v);
        kin.ops->curvature(kin.self, &s, p, bend);
        for (size_t j = 0; j < dim * LANES; j++) {
            fourth += p[j] * p[j] * p[j] * p[j];
            moved += fabs(p[j]);
            stats_add(&virial, p[j] * v[j]);
            stats_add(&equal, v[j] * v[j] - T * bend[j]);
        }
        stats_add(&change, fourth);
    }
    if (stats_z(&change, 0.0) > 4.5 || stats_z(&virial, T) > 4.5 ||
        stats_z(&equal, 0.0) > 4.5 || moved == 0.0) {
        fail_msg("%s, dim %zu, T = %g, keep = %g, rate = %g, %s: z of p^4 %g, "
                 "p.v %g, v^2 %g",
                 name, dim, T, bath->keep, bath->rate,
                 is_single ? "single" : "double", stats_z(&change, 0.0),
                 stats_z(&virial, T), stats_z(&equal, 0.0));
    }
    rmc_arena_release(&arena);
}

static const char *const names[] = {"newtonian", "relativistic", "separable"};

static void test_kinetic__bath_leaves_any_temperature_invariant(void **state)
{
    static const double temperatures[] = {0.5, 1.0, 2.0};
    static const size_t dims[] = {1, 3};

    (void)state;
    for (size_t n = 0; n < 3 * 3 * 2; n++) {
        const double T = temperatures[n / 3 % 3];
        const relmc_bath linear = {.keep = 0.6, .temperature = T};
        const relmc_bath bounded = {.rate = 0.8, .temperature = T};

        check_bath(names[n % 3], dims[n / 9], &linear, 0);
        check_bath(names[n % 3], dims[n / 9], &linear, 1);
        check_bath(names[n % 3], dims[n / 9], &bounded, 0);
    }
}

/* At temperature 0 a bath is friction: p <- a p, or dp/dt = -D p/M(p) for a short
 * time.  At temperature 1 a little friction moves p by -D h v on average. */
static void test_kinetic__bath_has_the_known_limits(void **state)
{
    enum { N = 2000 };

    (void)state;
    for (size_t n = 0; n < 3; n++) {
        const relmc_shape s = {1, LANES, LANES};
        const relmc_bath cold = {.keep = 0.6}, rough = {.rate = 0.01};
        const relmc_bath warm = {.rate = 0.002, .temperature = 1.0};
        relmc_arena arena = {0};
        relmc_kinetic kin;
        relmc_stream *streams = test_streams_new(&arena, LANES, 32, 0, 0);
        stats_sums drift = {0}, spread = {0};
        double p[LANES], v[LANES], work[3 * LANES];

        open_heated(&kin, &arena, names[n], 1, 0.7, 1.3, 1.0);
        for (size_t k = 0; k < LANES; k++) {
            p[k] = 2.5;
        }
        kin.ops->velocity(kin.self, &s, p, v);
        kin.ops->partial(kin.self, &s, streams, &cold, p, work);
        check_close(p[7], 1.5, 1e-14);
        p[7] = 2.5;
        kin.ops->partial(kin.self, &s, streams, &rough, p, work);
        check_close(p[7], 2.5 * exp(-0.01 * v[7] / 2.5), 1e-12);
        for (size_t j = 0; j < N; j++) {
            for (size_t k = 0; k < LANES; k++) {
                p[k] = 2.5;
            }
            kin.ops->partial(kin.self, &s, streams, &warm, p, work);
            for (size_t k = 0; k < LANES; k++) {
                stats_add(&drift, (p[k] - 2.5) / 0.002 + v[7]);
                stats_add(&spread, (p[k] - 2.5) * (p[k] - 2.5) / 0.002);
            }
        }
        assert_true(stats_z(&drift, 0.0) < 4.5);
        check_near(spread.mean, 2.0, 0.06); /* 2 D T, and O(h) */
        rmc_arena_release(&arena);
    }
}

/* E p_i^4 over a long orbit of partial refreshes, with exact values. */
static void check_orbit(const char *spec, size_t dim, const double *exact)
{
    enum { WIDTH = 256, N_STEPS = 4000 };
    const relmc_shape s = {dim, WIDTH, WIDTH};
    relmc_arena arena = {0};
    const relmc_kinetic kin =
        test_kinetic_open(&arena, spec, dim, rmc_isa_best());
    relmc_stream *streams = test_streams_new(&arena, WIDTH, 23, 0, 0);
    double *p = rmc_lanes_new(&arena, &s);
    double *sum = rmc_lanes_new(&arena, &s);
    double *work =
        relmc_arena_get(&arena, (2 * rmc_cells(&s) + s.ld) * sizeof *work);
    struct subject t = {.dim = dim};

    (void)snprintf(t.spec, sizeof t.spec, "%s", spec);
    refresh(&kin, &s, streams, p);
    for (size_t n = 0; n < N_STEPS; n++) {
        kin.ops->partial(kin.self, &s, streams,
                         &(relmc_bath){.keep = 0.9, .temperature = 1.0}, p,
                         work);
        for (size_t j = 0; j < rmc_cells(&s); j++) {
            sum[j] += p[j] * p[j] * p[j] * p[j] / N_STEPS;
        }
    }
    for (size_t i = 0; i < dim;
         i++) { /* lanes are independent, steps are not */
        stats_sums lanes = {0};

        for (size_t k = 0; k < WIDTH; k++) {
            stats_add(&lanes, sum[i * WIDTH + k]);
        }
        demand_mean(&t, &lanes, exact[i], "E p^4", i);
    }
    rmc_arena_release(&arena);
}

/* An autoregression with independent draws of exp(-K), which is wrong, gives 25.5 in
 * place of 35.4 in the first case. */
static void test_kinetic__partial_keeps_fourth_moment(void **state)
{
    static const double m[] = {0.3, 2, 5, 1, 0.7}, c[] = {2, 0.5, 1.5, 1, 3};
    static stats_momentum law;
    double exact[5];

    (void)state;
    stats_momentum_open(&law, 1, 1.0, 1.0);
    exact[0] = stats_momentum_moment(&law, 4.0);
    check_near(exact[0], 35.4, 0.1);
    check_orbit("separable", 1, exact);
    check_orbit("relativistic", 1, exact);

    for (size_t i = 0; i < 5; i++) {
        stats_momentum_open(&law, 1, m[i], c[i]);
        exact[i] = stats_momentum_moment(&law, 4.0);
    }
    check_orbit("separable:m=[0.3,2,5,1,0.7],c=[2,0.5,1.5,1,3]", 5, exact);

    /* a uniform direction u has E u_i^4 = 3 / (d (d + 2)) */
    stats_momentum_open(&law, 5, 2.5, 0.7);
    for (size_t i = 0; i < 5; i++) {
        exact[i] = stats_momentum_moment(&law, 4.0) * 3.0 / 35.0;
    }
    check_orbit("relativistic:m=2.5,c=0.7", 5, exact);
    demand_none();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinetic__chains_and_calls_differ),
        cmocka_unit_test(test_kinetic__refresh_obeys_equipartition),
        cmocka_unit_test(test_kinetic__mean_speed_is_cruise),
        cmocka_unit_test(test_kinetic__partial_leaves_law_invariant),
        cmocka_unit_test(test_kinetic__partial_keeps_fourth_moment),
        cmocka_unit_test(test_kinetic__bath_leaves_any_temperature_invariant),
        cmocka_unit_test(test_kinetic__bath_has_the_known_limits),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, open_subjects, close_subjects);
}
