/*
 * tempered.c - parallel tempering: transitions leave the joint distribution of all
 * replicas invariant, at large steps with many rejections; runs find the weights of modes
 * between which other samplers do not move; warm-up makes all swaps equally likely and all
 * replicas accept alike, and then ends.
 *
 * Targets are one-dimensional, so that quadrature gives the distribution of every replica.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/run.h"
#include "sampler/mcmc/tempered.h"
#include "support/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tempered laws by quadrature ----------------------------------------- */

struct tempered_law {
    const relmc_target *target;
    double beta;
    stats_law law;
};

static double log_density(const void *ctx, double x)
{
    const struct tempered_law *l = ctx;
    double lp, grad;

    assert_int_equal(relmc_target_eval(l->target, 1, &x, &lp, &grad, NULL),
                     RELMC_OK);
    return l->beta * lp;
}

static void law_open(struct tempered_law *l, const relmc_target *target,
                     double beta, double width)
{
    l->target = target;
    l->beta = beta;
    stats_law_open(&l->law, log_density, l, -width, width);
}

static double quantile(const stats_law *law, double u)
{
    double lo = law->lo, hi = law->hi;

    for (int i = 0; i < 50; i++) {
        const double middle = 0.5 * (lo + hi);

        *(stats_law_cdf(law, middle) < u ? &lo : &hi) = middle;
    }
    return lo;
}

static relmc_target *open_model(const char *spec)
{
    relmc_target *t = NULL;

    assert_int_equal(relmc_target_open(&t, spec, NULL, NULL), RELMC_OK);
    assert_int_equal(relmc_target_dim(t), 1);
    return t;
}

static relmc_run *create(const relmc_target *t, const relmc_options *o)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (relmc_run_create(&run, t, o, &err)) {
        fail_msg("%s", err.message);
    }
    return run;
}

static struct rmc_tempered *sampler_of(const relmc_run *run, size_t chain,
                                       size_t *k)
{
    const struct rmc_ensemble *e = &run->ensembles[chain / run->opts.lanes];

    *k = chain - e->first;
    return e->sampler;
}

/* ---- all replicas together are invariant --------------------------------- */

enum { CHAINS = 8000, REPLICAS = 4 };

struct joint {
    const char *model, *kinetic;
    double step_size, width; /* all tempered laws are in (-width, width) */
};

/* Puts every replica at an exact draw; replica 0 starts at one. */
static void place(relmc_run *run, const struct tempered_law *laws,
                  relmc_stream *stream)
{
    for (size_t chain = 0; chain < CHAINS; chain++) {
        size_t k;
        struct rmc_tempered *t = sampler_of(run, chain, &k);

        t->has_replicas[k] = 1;
        for (size_t r = 1; r < REPLICAS; r++) {
            const size_t j = k * REPLICAS + r;
            const double u = relmc_uniform(stream);

            t->home.x[j] = quantile(&laws[r].law, u);
            assert_int_equal(relmc_target_eval(run->target, 1, &t->home.x[j],
                                               &t->home.lp[j], &t->home.g[j],
                                               NULL),
                             RELMC_OK);
        }
    }
}

/* All replicas have their exact distributions, and neighbours are independent: neither x
 * nor |x - middle| is correlated. */
static void check_joint(const relmc_run *run, const struct tempered_law *laws,
                        const struct joint *c)
{
    static double u[REPLICAS][CHAINS];

    for (size_t chain = 0; chain < CHAINS; chain++) {
        size_t k;
        const struct rmc_tempered *t = sampler_of(run, chain, &k);

        for (size_t r = 0; r < REPLICAS; r++) {
            u[r][chain] =
                stats_law_cdf(&laws[r].law, t->home.x[k * REPLICAS + r]);
        }
    }
    for (size_t r = 0; r + 1 < REPLICAS; r++) {
        stats_sums place = {0}, distance = {0};

        for (size_t chain = 0; chain < CHAINS; chain++) {
            const double a = u[r][chain] - 0.5, b = u[r + 1][chain] - 0.5;

            stats_add(&place, a * b);
            stats_add(&distance, (fabs(a) - 0.25) * (fabs(b) - 0.25));
        }
        if (!(stats_z(&place, 0.0) < 4.5 && stats_z(&distance, 0.0) < 4.5)) {
            fail_msg("%s %s: replicas %zu and %zu depend on each other, z = "
                     "%.2f and %.2f",
                     c->model, c->kinetic, r, r + 1, stats_z(&place, 0.0),
                     stats_z(&distance, 0.0));
        }
    }
    for (size_t r = 0; r < REPLICAS; r++) {
        const double p = stats_uniform_p(u[r], CHAINS);

        if (!(p > 1e-6)) {
            fail_msg("%s %s: replica %zu, p = %.3g", c->model, c->kinetic, r,
                     p);
        }
    }
}

static void check_invariance(const struct joint *c)
{
    static struct tempered_law laws[REPLICAS];
    static double init[CHAINS];
    relmc_target *target = open_model(c->model);
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_stream stream = {.seed = 5, .purpose = RELMC_FOR_MODEL};
    double accepted = 0.0;
    size_t k;

    for (size_t r = 0; r < REPLICAS; r++) {
        law_open(&laws[r], target, pow(0.1, (double)r / (REPLICAS - 1)),
                 c->width);
    }
    for (size_t chain = 0; chain < CHAINS; chain++) {
        init[chain] = quantile(&laws[0].law, relmc_uniform(&stream));
    }
    o.sampler = "tempered:replicas=4,min_beta=0.1,steps=3";
    o.kinetic = c->kinetic;
    o.adapt = "none";
    o.chains = CHAINS;
    o.lanes = 64;
    o.warmup = RELMC_ZERO;
    o.draws = 4; /* each pair is swapped twice */
    o.step_size = c->step_size;
    o.init = init;
    o.seed = 17;
    relmc_run *run = create(target, &o);
    place(run, laws, &stream);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    for (size_t chain = 0; chain < CHAINS; chain++) {
        const struct rmc_tempered *t = sampler_of(run, chain, &k);

        accepted += t->accept[k * REPLICAS] / CHAINS;
    }
    if (!(accepted > 0.4 && accepted < 0.9)) {
        fail_msg("%s %s: %.3f are accepted", c->model, c->kinetic, accepted);
    }
    check_joint(run, laws, c);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

static void test_tempered__leaves_all_replicas_invariant(void **unused)
{
    static const struct joint cells[] = {
        {"gaussian:dim=1", "newtonian:m=1.7", 2.3, 25},
        {"gaussian:dim=1", "relativistic:m=0.8,c=1.5", 2.3, 25},
        {"quartic:dim=1", "newtonian:m=1.3", 1.0, 5},
        {"quartic:dim=1", "separable:m=1.3,c=2", 1.0, 5},
        {"gmm3", "newtonian", 1.3, 45},
        {"gmm3", "separable:m=1.3,c=2", 1.5, 45},
        {"mixture:mean=[-8,8],weight=[0.3,0.7]", "relativistic:c=2", 1.8, 40},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        check_invariance(&cells[i]);
    }
}

/* ---- whole runs ---------------------------------------------------------- */

enum { RUNS = 64, DRAWS = 500, LEVELS = 5 };

struct below {
    const stats_law *law;
    double share[RUNS][LEVELS]; /* of the draws of a chain */
};

static const double levels[LEVELS] = {0.05, 0.3, 0.5, 0.7, 0.95};

static relmc_status look(void *ctx, const relmc_draw *d)
{
    struct below *b = ctx;
    const double u = stats_law_cdf(b->law, d->outputs[0]);

    for (size_t l = 0; l < LEVELS; l++) {
        b->share[d->chain][l] += (u < levels[l]) / (double)DRAWS;
    }
    return RELMC_OK;
}

static relmc_options run_options(const char *sampler)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;

    o.sampler = sampler;
    o.adapt = "dual";
    o.chains = RUNS;
    o.lanes = 16;
    o.warmup = 600;
    o.draws = DRAWS;
    o.seed = 23;
    return o;
}

static void run_and_look(const relmc_target *target, const char *sampler,
                         struct below *b)
{
    const relmc_options o = run_options(sampler);
    relmc_run *run = create(target, &o);

    memset(b->share, 0, sizeof b->share);
    assert_int_equal(relmc_run_observe(run, look, b, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    relmc_run_destroy(run);
}

/* Chains are independent: their means have the standard error. */
static void check_levels(const char *model, const struct below *b)
{
    for (size_t l = 0; l < LEVELS; l++) {
        stats_sums sums = {0};

        for (size_t k = 0; k < RUNS; k++) {
            stats_add(&sums, b->share[k][l]);
        }
        /* four independent draws of each chain have an error of 0.03 */
        if (!(stats_z(&sums, levels[l]) < 4.5) || stats_error(&sums) > 0.03) {
            fail_msg("%s: level %.2f is %.4f +- %.4f", model, levels[l],
                     sums.mean, stats_error(&sums));
        }
    }
}

static const char far_modes[] = "mixture:mean=[-8,8],weight=[0.3,0.7]";

static void test_tempered__finds_the_weights_of_modes(void **unused)
{
    static const char *const models[] = {"gmm1", "gmm2", "gmm3", far_modes};
    static struct tempered_law law;
    static struct below below;

    (void)unused;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        relmc_target *target = open_model(models[i]);

        law_open(&law, target, 1.0, 20.0);
        below.law = &law.law;
        run_and_look(target, "tempered", &below);
        check_levels(models[i], &below);
        relmc_target_destroy(target);
    }
}

/* NUTS stays in the mode where it starts. */
static void test_tempered__goes_where_nuts_does_not(void **unused)
{
    static struct tempered_law law;
    static struct below below;
    relmc_target *target = open_model(far_modes);

    (void)unused;
    law_open(&law, target, 1.0, 20.0);
    below.law = &law.law;
    run_and_look(target, "nuts", &below);
    for (size_t k = 0; k < RUNS; k++) { /* all draws of a chain in one mode */
        assert_true(below.share[k][1] < 1e-9 || below.share[k][1] > 1 - 1e-9);
    }
    run_and_look(target, "tempered", &below);
    for (size_t k = 0; k < RUNS; k++) {
        assert_true(below.share[k][1] > 0.02 && below.share[k][1] < 0.9);
    }
    relmc_target_destroy(target);
}

/* ---- warm-up ------------------------------------------------------------- */

/* After warm-up all pairs of replicas refuse equally many swaps, and all replicas accept
 * alike. */
static void check_ladder(const relmc_run *run, size_t n)
{
    double worst = 0.0, mean = 0.0, refused[RMC_MAX_REPLICAS] = {0};
    size_t k;

    for (size_t r = 0; r < n; r++) {
        double accepted = 0.0, tries = 0.0;

        for (size_t chain = 0; chain < RUNS; chain++) {
            const struct rmc_tempered *t = sampler_of(run, chain, &k);

            refused[r] += t->refused[k * n + r];
            tries += t->tries[k * n + r];
            accepted += t->accept[k * n + r] / RUNS;
        }
        if (!(accepted > 0.65 && accepted < 0.95)) {
            fail_msg("replica %zu accepts %.3f", r, accepted);
        }
        refused[r] /= r + 1 < n ? tries : 1.0;
        mean += refused[r] / (double)(n - 1);
    }
    for (size_t r = 0; r + 1 < n; r++) {
        worst = fmax(worst, fabs(refused[r] - mean));
    }
    if (!(worst < 0.02)) {
        fail_msg("swaps are refused %.3f on average, one pair is %.3f off",
                 mean, worst);
    }
}

static void test_tempered__warms_up_and_stops(void **unused)
{
    enum { N = 8 };
    static double beta[RUNS][N], stretch[RUNS][N];
    /* on gmm3 a geometric ladder refuses very different numbers of swaps */
    relmc_target *target = open_model("gmm3");
    relmc_options o = run_options("tempered");
    relmc_run *run = create(target, &o);
    size_t k;

    (void)unused;
    assert_int_equal(relmc_run_advance(run, o.warmup + 1, NULL), RELMC_OK);
    for (size_t chain = 0; chain < RUNS; chain++) {
        const struct rmc_tempered *t = sampler_of(run, chain, &k);

        memcpy(beta[chain], t->beta + k * N, sizeof *beta);
        memcpy(stretch[chain], t->log_stretch + k * N, sizeof *stretch);
        assert_true(beta[chain][0] == 1.0);
        assert_true(fabs(beta[chain][N - 1] - 0.01) < 1e-15);
        for (size_t r = 1; r < N; r++) {
            assert_true(beta[chain][r] < beta[chain][r - 1]);
        }
    }
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    for (size_t chain = 0; chain < RUNS; chain++) {
        const struct rmc_tempered *t = sampler_of(run, chain, &k);

        assert_memory_equal(beta[chain], t->beta + k * N, sizeof *beta);
        assert_memory_equal(stretch[chain], t->log_stretch + k * N,
                            sizeof *stretch);
    }
    check_ladder(run, N);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tempered__leaves_all_replicas_invariant),
        cmocka_unit_test(test_tempered__finds_the_weights_of_modes),
        cmocka_unit_test(test_tempered__goes_where_nuts_does_not),
        cmocka_unit_test(test_tempered__warms_up_and_stops),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
