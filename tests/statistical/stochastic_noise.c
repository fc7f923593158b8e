/*
 * stochastic_noise.c - samplers without a Metropolis step under gradient noise and at large
 * steps: thermostats and noise estimates correct the noise, and no path runs away unseen.
 *
 *   stochastic_noise        the tests
 *   stochastic_noise full   the same with more draws
 *   stochastic_noise NAME   the tests whose names match
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "statistical/stochastic.h"

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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise__shows_and_is_made_up_for),
        cmocka_unit_test(test_noise__of_each_coordinate_needs_its_thermostat),
        cmocka_unit_test(test_noise__of_minibatches_is_made_up_for),
        cmocka_unit_test(test_noise__beyond_the_friction_is_counted),
        cmocka_unit_test(test_noise__is_not_learnt_from_runaways),
        cmocka_unit_test(test_path__never_runs_away_with_linear_friction),
        cmocka_unit_test(test_path__that_runs_away_is_seen_and_counted),
        cmocka_unit_test(test_path__stays_on_the_grid_of_the_paper),
    };

    read_arguments(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
