/*
 * stochastic.c - the errors of samplers without a Metropolis step, for every sampler,
 * kinetic energy, scheme and step size: their size, their order in the step, the effect
 * of gradient noise, and its correction by thermostats and noise estimates.
 *
 *   stochastic        the tests
 *   stochastic full   the same with more draws, and a table of the errors
 *   stochastic NAME   the tests whose names match
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc_ext.h"
#include "support/callback.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHAINS = 64 };

static int64_t n_draws = 1500;
static int is_full;

/* ---- targets: U = x^2/2 and U = x^4/4 in one dimension --------------------- */

enum well { HARMONIC, QUARTIC, N_WELLS };

static const char *const well_names[N_WELLS] = {"x^2/2", "x^4/4"};

struct target {
    enum well well;
    double noise; /* sd of the noise of the gradient */
    double skew;  /* factor of the noise of a second coordinate */
    relmc_stream stream;
};

static double potential(enum well well, double x)
{
    return well == HARMONIC ? 0.5 * x * x : 0.25 * x * x * x * x;
}

static double slope(enum well well, double x)
{
    return well == HARMONIC ? x : x * x * x;
}

/* One sequence of normal numbers for all lanes. */
static double normal(struct target *t)
{
    return relmc_normal(&t->stream);
}

static int evaluate(size_t dim, size_t lanes, size_t ld, const double *x,
                    double *grad, double *lp, void *ctx)
{
    struct target *t = ctx;

    for (size_t k = 0; k < lanes; k++) {
        lp[k] = 0.0;
    }
    for (size_t i = 0; i < dim; i++) {
        for (size_t k = 0; k < lanes; k++) {
            lp[k] -= potential(t->well, x[i * ld + k]);
            grad[i * ld + k] = -slope(t->well, x[i * ld + k]);
            if (t->noise > 0.0) {
                grad[i * ld + k] += t->noise * (i ? t->skew : 1.0) * normal(t);
            }
        }
    }
    return RELMC_OK;
}

/* ---- exact answers --------------------------------------------------------- */

/* m = c = 1: K and v^2 are functions of each other. */
static double kinetic(int is_newtonian, double p)
{
    return is_newtonian ? 0.5 * p * p : sqrt(1.0 + p * p) - 1.0;
}

static double square_speed(int is_newtonian, double K)
{
    return is_newtonian ? 2.0 * K : 1.0 - 1.0 / ((K + 1.0) * (K + 1.0));
}

struct moments {
    double u, v2; /* E[U], E[v^2] */
};

static struct moments exact(enum well well, int is_newtonian, double T)
{
    enum { N = 200000 };
    const double range = 60.0 * (T > 1.0 ? T : 1.0);
    double sum_x = 0.0, sum_u = 0.0, sum_p = 0.0, sum_v2 = 0.0;

    for (int i = 0; i < N; i++) {
        const double y = range * ((i + 0.5) / N);
        const double U = potential(well, y), K = kinetic(is_newtonian, y);

        sum_x += exp(-U / T);
        sum_u += U * exp(-U / T);
        sum_p += exp(-K / T);
        sum_v2 += square_speed(is_newtonian, K) * exp(-K / T);
    }
    return (struct moments){sum_u / sum_x, sum_v2 / sum_p};
}

/* ---- estimates ------------------------------------------------------------- */

struct cell {
    const char *sampler, *kinetic;
    enum well well;
    double step, temperature, noise, skew;
    size_t dim; /* 0: 1 */
};

struct tally {
    double u[CHAINS], v2[CHAINS], first[CHAINS], second[CHAINS];
    int64_t n[CHAINS], n_divergent, n_not_finite;
    int is_newtonian;
    size_t dim;
};

static relmc_status add(void *ctx, const relmc_draw *d)
{
    struct tally *t = ctx;

    t->n[d->chain]++;
    t->u[d->chain] -= d->stats[RELMC_STAT_LP];
    t->v2[d->chain] += square_speed(
        t->is_newtonian, d->stats[RELMC_STAT_ENERGY] + d->stats[RELMC_STAT_LP]);
    t->first[d->chain] += d->outputs[0] * d->outputs[0];
    t->second[d->chain] += t->dim > 1 ? d->outputs[1] * d->outputs[1] : 0.0;
    t->n_divergent += (int)d->stats[RELMC_STAT_DIVERGENT];
    for (size_t i = 0; i < t->dim; i++) {
        t->n_not_finite += !isfinite(d->outputs[i]);
    }
    t->n_not_finite += !isfinite(d->stats[RELMC_STAT_LP]) ||
                       !isfinite(d->stats[RELMC_STAT_ENERGY]);
    return RELMC_OK;
}

struct estimate {
    double mean, error;
};

static struct estimate over_chains(const double *sum, const int64_t *n)
{
    double mean = 0.0, square = 0.0;

    for (size_t k = 0; k < CHAINS; k++) {
        mean += sum[k] / (double)n[k] / CHAINS;
    }
    for (size_t k = 0; k < CHAINS; k++) {
        square += pow(sum[k] / (double)n[k] - mean, 2);
    }
    return (struct estimate){mean, sqrt(square / (CHAINS - 1) / CHAINS)};
}

struct law {
    struct estimate u, v2;         /* relative errors */
    struct estimate first, second; /* E[x_1^2], E[x_2^2] */
    int64_t n_divergent, n_not_finite, n_clamped;
};

static struct law measure(const struct cell *c, int64_t draws)
{
    static struct tally tally;
    const size_t dim = c->dim ? c->dim : 1;
    const double T = c->temperature > 0.0 ? c->temperature : 1.0;
    struct target target = {.well = c->well,
                            .noise = c->noise,
                            .skew = c->skew,
                            .stream = {.seed = 9, .purpose = 77}};
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *t = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};

    tally = (struct tally){.is_newtonian = !strncmp(c->kinetic, "newtonian", 9),
                           .dim = dim};
    o.sampler = c->sampler;
    o.kinetic = c->kinetic;
    o.step_size = c->step;
    o.chains = o.lanes = CHAINS;
    o.warmup = 100 + (int64_t)(20.0 / c->step);
    o.draws = draws;
    o.seed = 4711;
    if (target_of_lanes(&t, dim, evaluate, &target, &err) ||
        relmc_run_create(&run, t, &o, &err) ||
        relmc_run_observe(run, add, &tally, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s: %s", c->sampler, err.message);
    }
    const struct moments truth = exact(c->well, tally.is_newtonian, T);
    struct law law = {.u = over_chains(tally.u, tally.n),
                      .v2 = over_chains(tally.v2, tally.n),
                      .first = over_chains(tally.first, tally.n),
                      .second = over_chains(tally.second, tally.n),
                      .n_divergent = tally.n_divergent,
                      .n_not_finite = tally.n_not_finite};

    for (size_t k = 0; k < CHAINS; k++) {
        relmc_progress r = {.size = sizeof r};

        assert_int_equal(relmc_run_progress(run, (uint32_t)k, &r, NULL),
                         RELMC_OK);
        law.n_clamped += r.n_clamped;
    }
    law.u.mean = law.u.mean / ((double)dim * truth.u) - 1.0;
    law.u.error /= (double)dim * truth.u;
    law.v2.mean = law.v2.mean / truth.v2 - 1.0;
    law.v2.error /= truth.v2;
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    return law;
}

static void print_law(const struct cell *c, const struct law *l)
{
    print_error("%s, %s, %s, h = %g: E[U] %+.2f (%.2f) %%, E[v^2] %+.2f (%.2f) "
                "%%, %lld divergent\n",
                well_names[c->well], c->kinetic, c->sampler, c->step,
                100.0 * l->u.mean, 100.0 * l->u.error, 100.0 * l->v2.mean,
                100.0 * l->v2.error, (long long)l->n_divergent);
}

/* An estimate is `wanted` up to `slack` and its standard error. */
static void is_about(const struct cell *c, const struct law *l,
                     struct estimate e, double wanted, double slack)
{
    if (!(fabs(e.mean - wanted) <= slack + 4.5 * e.error) ||
        !(e.error < 0.02)) {
        print_law(c, l);
        fail_msg("%g (%g) is not %g", e.mean, e.error, wanted);
    }
}

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

/* ---- gradient noise ----------------------------------------------------------- */

enum { NOISY = 2 }; /* sd: B = 4 */

/* With linear friction at rate 1 noise raises the temperature by h B / 2. */
static void test_noise__shows_and_is_made_up_for(void **unused)
{
    static const char *const repairs[] = {
        "sgnht:steps=10",
        "sgnht:steps=10,law=bounded",
        "sgnht:steps=10,thermostat=each",
        "sghmc:steps=10,variance=4",
        "sghmc:steps=10,scheme=obabo,law=bounded,variance=4",
        "sghmc:steps=10,noise=estimate",
    };
    static const char *const kinetics[] = {"newtonian", "separable"};
    const size_t n = sizeof repairs / sizeof *repairs;

    (void)unused;
    for (size_t k = 0; k < 2; k++) {
        struct cell c = {.kinetic = kinetics[k], .step = 0.1, .noise = NOISY};

        c.sampler = "sghmc:steps=10";
        struct law l = measure(&c, n_draws);
        print_law(&c, &l);
        assert_true(l.u.mean > 5.0 * l.u.error && l.v2.mean > 8.0 * l.v2.error);
        for (size_t i = 0; i < n; i++) {
            c.sampler = repairs[i];
            l = measure(&c, n_draws);
            print_law(&c, &l);
            is_about(&c, &l, l.u, 0.0, 0.015);
            is_about(&c, &l, l.v2, 0.0, 0.015);
        }
    }
}

/* One thermostat cannot correct different noise of two coordinates. */
static void test_noise__of_each_coordinate_needs_its_thermostat(void **unused)
{
    struct cell c = {.kinetic = "newtonian",
                     .step = 0.1,
                     .noise = NOISY,
                     .skew = 0.1,
                     .dim = 2};

    (void)unused;
    c.sampler = "sgnht:steps=10";
    struct law l = measure(&c, n_draws);
    assert_true(l.first.mean > 1.03 + 5.0 * l.first.error);
    assert_true(l.second.mean < 0.97 - 5.0 * l.second.error);
    c.sampler = "sgnht:steps=10,thermostat=each";
    l = measure(&c, 2 * n_draws);
    is_about(&c, &l, l.first, 1.0, 0.015);
    is_about(&c, &l, l.second, 1.0, 0.015);
}

/* [SGHMC] 2 D T < h B: D is raised, nothing becomes NaN, and such steps are counted. */
static void test_noise__beyond_the_friction_is_counted(void **unused)
{
    struct cell c = {.sampler = "sghmc:scheme=euler,law=bounded,variance=100",
                     .kinetic = "separable",
                     .step = 0.1,
                     .noise = 10.0};

    (void)unused;
    struct law l = measure(&c, 200);
    assert_int_equal(l.n_clamped, 200 * 10 * CHAINS);
    assert_int_equal(l.n_not_finite, 0);
    c.sampler = "sghmc:scheme=euler,law=bounded,variance=100,friction=5.01";
    l = measure(&c, 200);
    assert_int_equal(l.n_clamped, 0);
    /* little noise remains, and the distribution is about right */
    l = measure(&c, n_draws);
    is_about(&c, &l, l.u, 0.0, 0.05);
}

/* The gradients of a diverging transition do not count as noise.  If they did, the chain
 * would fail hundreds of times, not a few. */
static void test_noise__is_not_learnt_from_runaways(void **unused)
{
    const struct cell c = {.sampler = "sghmc:noise=estimate",
                           .kinetic = "newtonian",
                           .well = QUARTIC,
                           .step = 0.62};
    /* a short run: eventually a chain ends where every step of that size fails, and
     * stays there */
    enum { SOME = 1500 };
    const struct law l = measure(&c, SOME);

    (void)unused;
    if (l.n_divergent == 0 || l.n_divergent > SOME / 10 || !(l.u.mean < 1.0)) {
        print_law(&c, &l);
        fail();
    }
}

/* ---- robustness ---------------------------------------------------------------- */

static void test_path__never_runs_away_with_linear_friction(void **unused)
{
    static const char *const specs[] = {"sghmc:scheme=euler", "sghmc",
                                        "sghmc:scheme=obabo", "sgnht",
                                        "sgnht:thermostat=each"};
    static const char *const kinetics[] = {"separable", "relativistic"};

    (void)unused;
    for (size_t i = 0; i < 10; i++) {
        for (double h = 0.1; h < 1.7; h += 0.5) {
            const struct cell c = {.sampler = specs[i / 2],
                                   .kinetic = kinetics[i % 2],
                                   .well = QUARTIC,
                                   .step = h};
            const struct law l = measure(&c, n_draws / 4);

            if (l.n_divergent || l.n_not_finite || !(l.u.mean < 3.0)) {
                print_law(&c, &l);
                fail();
            }
        }
    }
}

static void test_path__that_runs_away_is_seen_and_counted(void **unused)
{
    static const struct {
        const char *sampler, *kinetic;
        double step;
    } cases[] = {
        {"sghmc", "newtonian", 1.6},
        {"sghmc:scheme=euler", "newtonian", 0.8},
        {"sghmc:scheme=euler,law=bounded", "separable", 0.8},
        {"sghmc:law=bounded", "separable", 1.6},
        {"sghmc:scheme=obabo,law=bounded", "relativistic", 1.6},
        {"sgnht:scheme=euler,law=bounded", "separable", 0.8},
        {"sgnht", "newtonian", 1.6},
        {"sgld", "newtonian", 0.8},
        {"sgd", "newtonian", 1.6},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cell c = {.sampler = cases[i].sampler,
                               .kinetic = cases[i].kinetic,
                               .well = QUARTIC,
                               .step = cases[i].step};
        const struct law l = measure(&c, n_draws / 4);

        if (l.n_divergent == 0 || l.n_not_finite) {
            print_law(&c, &l);
            fail();
        }
    }
}

/* ---- minibatches: the mean of 20 numbers ----------------------------------------- */

enum { N_NUMBERS = 20 };

/* Observation r is N(x, 1).  Their mean is 0, so that x is normal with mean 0 and variance
 * 1 / N_NUMBERS. */
static double number(size_t r)
{
    return ((double)r - 0.5 * (N_NUMBERS - 1)) / 6.0;
}

static int deviations(size_t dim, const double *x, const uint32_t *rows,
                      size_t n_rows, double scale, double *grad, double *lp,
                      void *ctx)
{
    (void)dim, (void)ctx;
    *lp = grad[0] = 0.0;
    for (size_t n = 0; n < n_rows; n++) {
        const double off = number(rows[n]) - x[0];

        *lp -= 0.5 * scale * off * off;
        grad[0] += scale * off;
    }
    return RELMC_OK;
}

/* The variance over the true one. */
static struct estimate spread_of(const char *sampler, const char *kinetic,
                                 int batch)
{
    static struct tally tally;
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *t = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};

    tally = (struct tally){.is_newtonian = 1, .dim = 1};
    o.sampler = sampler;
    o.kinetic = kinetic;
    o.step_size = 0.02;
    o.batch_rows = 2;
    o.batch = batch;
    o.chains = CHAINS;
    o.warmup = 300;
    o.draws = n_draws;
    o.seed = 5;
    if (target_of_rows(&t, 1, N_NUMBERS, deviations, NULL, &err) ||
        relmc_run_create(&run, t, &o, &err) ||
        relmc_run_observe(run, add, &tally, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s: %s", sampler, err.message);
    }
    struct estimate e = over_chains(tally.first, tally.n);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    e.mean *= N_NUMBERS;
    e.error *= N_NUMBERS;
    return e;
}

/* [white-noise] Samplers that correct for noise use independent minibatches.  The others
 * use epochs, whose noise cancels. */
static void test_noise__of_minibatches_is_made_up_for(void **unused)
{
    static const struct {
        const char *sampler;
        int batch;
        double least, most;
    } cases[] = {
        {"sghmc:steps=10,noise=estimate", 0, 0.95, 1.05},
        {"sgnht:steps=10", 0, 0.95, 1.05},
        {"sghmc:steps=10,noise=estimate", RELMC_BATCH_REPLACE, 0.95, 1.05},
        {"sghmc:steps=10,noise=estimate", RELMC_BATCH_EPOCHS, 0.0, 0.7},
        {"sgnht:steps=10", RELMC_BATCH_EPOCHS, 0.0, 0.93},
        {"sghmc:steps=10", 0, 1.0, 1.3},
        {"sghmc:steps=10", RELMC_BATCH_FRESH, 1.7, 9.0},
    };

    (void)unused;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const char *kinetic = i % 2 ? "newtonian" : "separable:c=2";
        const struct estimate e =
            spread_of(cases[i / 2].sampler, kinetic, cases[i / 2].batch);

        if (is_full) {
            print_error("%s, %s, batch %d: variance %.3f (%.3f)\n",
                        cases[i / 2].sampler, kinetic, cases[i / 2].batch,
                        e.mean, e.error);
        }
        if (!(e.mean >= cases[i / 2].least - 3.0 * e.error) ||
            !(e.mean <= cases[i / 2].most + 3.0 * e.error) ||
            !(e.error < 0.1 * e.mean)) {
            fail_msg("%s, %s, batch %d: variance %g (%g)", cases[i / 2].sampler,
                     kinetic, cases[i / 2].batch, e.mean, e.error);
        }
    }
}

/* ---- the paper's logistic regression ---------------------------------------------- */

enum { N_ROWS = 500, N_COLUMNS = 3 };

struct answers {
    double x[N_ROWS][N_COLUMNS], y[N_ROWS];
};

static void make_answers(struct answers *a)
{
    static const double truth[N_COLUMNS] = {0.5, -1.0, 1.5};
    relmc_stream stream = {.seed = 3};

    for (size_t r = 0; r < N_ROWS; r++) {
        double z = 0.0;

        for (size_t i = 0; i < N_COLUMNS; i++) {
            a->x[r][i] = i ? relmc_normal(&stream) : 1.0;
            z += truth[i] * a->x[r][i];
        }
        a->y[r] = relmc_uniform(&stream) * (1.0 + exp(-z)) < 1.0 ? 1.0 : 0.0;
    }
}

static int logistic(size_t dim, const double *x, const uint32_t *rows,
                    size_t n_rows, double scale, double *grad, double *lp,
                    void *ctx)
{
    const struct answers *a = ctx;

    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= 0.5 * x[i] * x[i];
        grad[i] = -x[i];
    }
    for (size_t n = 0; n < n_rows; n++) {
        const double *row = a->x[rows[n]];
        double z = 0.0;

        for (size_t i = 0; i < dim; i++) {
            z += row[i] * x[i];
        }
        const double y = a->y[rows[n]];
        *lp += scale * (y * z - fmax(z, 0.0) - log1p(exp(-fabs(z))));
        for (size_t i = 0; i < dim; i++) {
            grad[i] += scale * (y - 1.0 / (1.0 + exp(-z))) * row[i];
        }
    }
    return RELMC_OK;
}

struct far {
    double most;
    int64_t n_divergent, n_not_finite;
};

static relmc_status look(void *ctx, const relmc_draw *d)
{
    struct far *f = ctx;

    for (size_t i = 0; i < N_COLUMNS; i++) {
        f->most = fmax(f->most, fabs(d->outputs[i]));
        f->n_not_finite += !isfinite(d->outputs[i]);
    }
    f->n_not_finite += !isfinite(d->stats[RELMC_STAT_LP]) ||
                       !isfinite(d->stats[RELMC_STAT_ENERGY]);
    f->n_divergent += (int)d->stats[RELMC_STAT_DIVERGENT];
    return RELMC_OK;
}

/* Steps eps from e^-5 to 1 with eps c = 0.1, as in the paper: relativistic particles with
 * linear friction never diverge.  Newtonian particles do, and that is counted. */
static struct far try_logistic(const char *sampler, const char *kinetic,
                               double step, uint32_t batch)
{
    static struct answers answers;
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *t = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};
    struct far f = {0};

    make_answers(&answers);
    o.sampler = sampler;
    o.kinetic = kinetic;
    o.step_size = step;
    o.batch_rows = batch;
    o.draws = is_full ? 400 : 100;
    o.warmup = RELMC_ZERO;
    o.chains = 2;
    o.seed = 11;
    if (target_of_rows(&t, N_COLUMNS, N_ROWS, logistic, &answers, &err) ||
        relmc_run_create(&run, t, &o, &err) ||
        relmc_run_observe(run, look, &f, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s: %s", sampler, err.message);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    return f;
}

static void test_path__stays_on_the_grid_of_the_paper(void **unused)
{
    static const char *const specs[] = {"sghmc", "sgnht", "sghmc:scheme=euler"};
    static const uint32_t batches[] = {10, 100};
    int64_t n_divergent = 0;

    (void)unused;
    for (size_t i = 0; i < 3 * 2 * 16; i++) {
        const double step = exp(-5.0 + (double)(i % 16) / 3.0);
        const uint32_t batch = batches[i / 16 % 2];
        char kinetic[60];

        (void)snprintf(kinetic, sizeof kinetic, "separable:m=0.001,c=%.17g",
                       0.1 / step);
        struct far f = try_logistic(specs[i / 32], kinetic, step, batch);
        if (f.n_divergent || f.n_not_finite || !(f.most < 50.0)) {
            fail_msg("%s, eps = %g, batch %u: %lld divergent, |x| up to %g",
                     specs[i / 32], step, batch, (long long)f.n_divergent,
                     f.most);
        }
        f = try_logistic(specs[i / 32], "newtonian:m=0.001", step, batch);
        assert_int_equal(f.n_not_finite, 0);
        n_divergent += f.n_divergent;
    }
    assert_true(n_divergent > 1000);
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
        cmocka_unit_test(test_noise__shows_and_is_made_up_for),
        cmocka_unit_test(test_noise__of_each_coordinate_needs_its_thermostat),
        cmocka_unit_test(test_noise__of_minibatches_is_made_up_for),
        cmocka_unit_test(test_noise__beyond_the_friction_is_counted),
        cmocka_unit_test(test_noise__is_not_learnt_from_runaways),
        cmocka_unit_test(test_path__never_runs_away_with_linear_friction),
        cmocka_unit_test(test_path__that_runs_away_is_seen_and_counted),
        cmocka_unit_test(test_path__stays_on_the_grid_of_the_paper),
        cmocka_unit_test(test_table__of_errors),
    };

    if (argc > 1 && !strcmp(argv[1], "full")) {
        n_draws *= 4;
        is_full = 1;
    } else if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
