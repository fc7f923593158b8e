/*
 * adapt.c - every adaptation: the draws depend on nothing but seed and options,
 * what it found is reported and stays fixed, and it ends on any target.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "support/callback.h"
#include "support/check.h"
#include "support/kept.h"
#include "support/metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 5, WARMUP = 130, DRAWS = 12, MAX_DIM = 200 };

static const char *const adaptations[] = {
    "none",          "dual",          "stan",       "auto",
    "auto:metric=0", "auto:metric=1", "auto:neck=1"};
static const char *const samplers[] = {"auto", "nuts", "ghmc", "hmc:steps=5"};

static relmc_target *target_of(const char *model)
{
    relmc_target *target = NULL;
    relmc_error err = {0};

    if (relmc_target_open(&target, model, NULL, &err)) {
        fail_msg("%s", err.message);
    }
    return target;
}

static relmc_options options_of(const char *sampler, const char *adapt)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;

    o.sampler = sampler;
    o.adapt = adapt;
    o.kinetic = "relativistic:cruise=0.7";
    o.chains = CHAINS;
    o.warmup = WARMUP;
    o.draws = DRAWS;
    o.seed = 31;
    o.step_size = 0.1;
    return o;
}

static relmc_run *run_of(const relmc_target *target, const relmc_options *o)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (relmc_run_create(&run, target, o, &err)) {
        fail_msg("%s", err.message);
    }
    return run;
}

static void finish(relmc_run *run)
{
    relmc_error err = {0};

    if (relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s", err.message);
    }
}

/* ---- nothing but seed and options ------------------------------------------ */

static void check_same(const relmc_run *a, const relmc_run *b, size_t dim,
                       const char *what)
{
    for (size_t k = 0; k < CHAINS; k++) {
        size_t n_a, n_b;
        const double *x = kept_outputs(a, k, &n_a);
        const double *y = kept_outputs(b, k, &n_b);

        assert_int_equal(n_a, n_b);
        if (memcmp(x, y, n_a * dim * sizeof *x) != 0) {
            fail_msg("%s: chain %zu differs", what, k + 1);
        }
    }
}

/* The report; in a run of one lane and one thread that all others equal. */
static void check_ways(const relmc_target *target, relmc_options o,
                       const char *report)
{
    static const struct {
        uint32_t lanes, threads;
    } ways[] = {{5, 1}, {2, 1}, {1, 2}, {3, 2}, {1, 4}};
    const size_t dim = relmc_target_dim(target);
    char what[128];

    o.lanes = 1;
    relmc_run *reference = run_of(target, &o);
    finish(reference);
    if (!strstr(relmc_run_tuning_json(reference), report)) {
        fail_msg("%s is not in %s", report, relmc_run_tuning_json(reference));
    }
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        o.lanes = ways[w].lanes;
        o.threads = ways[w].threads;
        relmc_run *run = run_of(target, &o);
        finish(run);
        (void)snprintf(what, sizeof what, "%s, %s, %u lanes, %u threads",
                       o.adapt, o.sampler, o.lanes, o.threads);
        check_same(reference, run, dim, what);
        assert_string_equal(relmc_run_tuning_json(reference),
                            relmc_run_tuning_json(run));
        relmc_run_destroy(run);
    }
    relmc_run_destroy(reference);
}

static void test_adapt__does_not_depend_on_lanes_and_threads(void **state)
{
    relmc_target *target = target_of("gaussian:dim=6,rho=0.8");

    (void)state;
    for (size_t a = 0; a < sizeof adaptations / sizeof *adaptations; a++) {
        for (size_t s = 0; s < sizeof samplers / sizeof *samplers; s++) {
            check_ways(target, options_of(samplers[s], adaptations[a]), "");
        }
    }
    relmc_target_destroy(target);
}

static void check_pieces(const relmc_target *target, const char *adapt)
{
    const relmc_options o = options_of("auto", adapt);
    relmc_run *whole = run_of(target, &o), *pieces = run_of(target, &o);

    finish(whole);
    for (int64_t done = 0; done < WARMUP + DRAWS; done += 7) {
        relmc_error err = {0};
        assert_int_equal(relmc_run_advance(pieces, 7, &err), RELMC_OK);
    }
    check_same(whole, pieces, relmc_target_dim(target), adapt);
    relmc_run_destroy(whole);
    relmc_run_destroy(pieces);
}

static void test_adapt__does_not_depend_on_pieces(void **state)
{
    relmc_target *target = target_of("quartic:dim=3");

    (void)state;
    for (size_t a = 0; a < sizeof adaptations / sizeof *adaptations; a++) {
        check_pieces(target, adaptations[a]);
    }
    relmc_target_destroy(target);
}

/* ---- frozen ---------------------------------------------------------------- */

struct watch {
    double eps[CHAINS];
    int has_changed;
};

static relmc_status watch_step(void *ctx, const relmc_draw *draw)
{
    struct watch *w = ctx;

    if (draw->index == 0) {
        w->eps[draw->chain] = draw->stats[RELMC_STAT_STEP_SIZE];
    } else if (draw->index > 0 &&
               draw->stats[RELMC_STAT_STEP_SIZE] != w->eps[draw->chain]) {
        w->has_changed = 1;
    }
    return RELMC_OK;
}

/* After warm-up neither the step nor the metric nor the choice changes: what
 * depends on the past of a chain is biased. */
static void test_adapt__is_over_when_sampling_begins(void **state)
{
    relmc_target *target = target_of("funnel:dim=3");

    (void)state;
    for (size_t a = 0; a < sizeof adaptations / sizeof *adaptations; a++) {
        const relmc_options o = options_of("auto", adaptations[a]);
        relmc_run *run = run_of(target, &o);
        struct watch w = {0};
        double before[9] = {0}, after[9] = {0};
        char *tuning;

        assert_int_equal(relmc_run_observe(run, watch_step, &w, NULL),
                         RELMC_OK);
        assert_int_equal(relmc_run_advance(run, WARMUP, NULL), RELMC_OK);
        assert_non_null(metric_kind(run, 1, NULL, before));
        tuning = malloc(strlen(relmc_run_tuning_json(run)) + 1);
        assert_non_null(tuning);
        strcpy(tuning, relmc_run_tuning_json(run));
        finish(run);
        assert_non_null(metric_kind(run, 1, NULL, after));
        assert_false(w.has_changed);
        assert_memory_equal(before, after, sizeof before);
        assert_string_equal(tuning, relmc_run_tuning_json(run));
        free(tuning);
        relmc_run_destroy(run);
    }
    relmc_target_destroy(target);
}

/* ---- what it finds --------------------------------------------------------- */

/* The inverse metric of a correlated Gaussian is its covariance. */
static void test_adapt__finds_the_metric(void **state)
{
    enum { DIM = 4 };
    const double rho = 0.9;
    relmc_target *target = target_of("gaussian:dim=4,rho=0.9");
    relmc_options o = options_of("nuts", "auto");
    double dense[DIM * DIM], diagonal[DIM];

    (void)state;
    o.warmup = 300;
    relmc_run *run = run_of(target, &o);
    finish(run);
    assert_string_equal(metric_kind(run, 0, diagonal, dense), "dense");
    for (size_t i = 0; i < DIM; i++) {
        check_close(diagonal[i], 1.0, 0.1);
        for (size_t j = 0; j < DIM; j++) {
            const double truth = pow(rho, fabs((double)i - (double)j));
            check_near(dense[i * DIM + j], truth, 0.1);
        }
    }
    assert_int_equal(relmc_run_metric(run, CHAINS, NULL, NULL, NULL, NULL),
                     RELMC_EINVAL);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

/* Stan's windows: variances within the error of so few draws, chains alone. */
static void test_adapt__stan_finds_variances(void **state)
{
    enum { DIM = 3 };
    relmc_target *target = target_of("gaussian:dim=3,ratio=100");
    relmc_options o = options_of("nuts", "stan");
    double first[DIM], second[DIM];

    (void)state;
    o.kinetic = "newtonian";
    o.warmup = 1000;
    relmc_run *run = run_of(target, &o);
    finish(run);
    assert_string_equal(metric_kind(run, 0, first, NULL), "diagonal");
    assert_string_equal(metric_kind(run, 1, second, NULL), "diagonal");
    for (size_t i = 0; i < DIM; i++) {
        const double sd = pow(100.0, (double)i / (DIM - 1) - 0.5);
        const double truth = sd * sd + 1e-5; /* its pull to 1e-3 */

        check_close(first[i], truth, 0.4);
        assert_true(first[i] != second[i]);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

struct beginning {
    double accept[CHAINS], step[CHAINS]; /* of the first, of the second one */
    int n[CHAINS];
};

static relmc_status see_beginning(void *ctx, const relmc_draw *draw)
{
    struct beginning *b = ctx;
    const int n = b->n[draw->chain]++;

    if (n == 0) {
        b->accept[draw->chain] = draw->stats[RELMC_STAT_ACCEPT_PROB];
    } else if (n == 1) {
        b->step[draw->chain] = draw->stats[RELMC_STAT_STEP_SIZE];
    }
    return RELMC_OK;
}

/* [stan-windows] rstan 2.21 goes from an acceptance of 1 to a step of 14.38551, and
 * from 2/3 to one of 7.847232, whatever the first step was. */
static void test_adapt__stan_begins_at_the_guess(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3,ratio=100");
    relmc_options o = options_of("nuts", "stan");
    struct beginning b = {0};

    (void)state;
    o.kinetic = "newtonian";
    o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_WARMUP;
    o.step_size = 1.0;
    relmc_run *run = run_of(target, &o);
    assert_int_equal(relmc_run_observe(run, see_beginning, &b, NULL), RELMC_OK);
    finish(run);
    for (size_t k = 0; k < CHAINS; k++) {
        const double s = (0.8 - b.accept[k]) / 11.0;

        check_close(b.step[k], 10.0 * exp(-s / 0.05), 1e-12);
    }
    check_close(10.0 * exp(0.2 / 11.0 / 0.05), 14.38551, 1e-6);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

static void test_adapt__keeps_a_metric_that_was_given(void **state)
{
    static const char *const adapts[] = {"auto", "stan", "dual"};
    static const double variance[2] = {4.0, 0.25};
    static const double dense[4] = {2.0, 0.5, 0.5, 1.0};
    relmc_target *target = target_of("gaussian:dim=2");
    double found[4] = {0};

    (void)state;
    for (size_t a = 0; a < sizeof adapts / sizeof *adapts; a++) {
        relmc_options o = options_of("nuts", adapts[a]);

        o.inv_metric = variance;
        relmc_run *run = run_of(target, &o);
        finish(run);
        assert_string_equal(metric_kind(run, 0, found, NULL), "diagonal");
        assert_memory_equal(found, variance, sizeof variance);
        relmc_run_destroy(run);
    }
    relmc_options o = options_of("auto", "auto");
    o.inv_metric_dense = dense;
    relmc_run *run = run_of(target, &o);
    finish(run);
    assert_string_equal(metric_kind(run, 0, NULL, found), "dense");
    for (size_t i = 0; i < 4; i++) {
        check_close(found[i], dense[i], 1e-14);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

/* ---- any target ------------------------------------------------------------ */

static int flat(size_t dim, const double *x, double *g, double *lp, void *ctx)
{
    (void)x, (void)ctx;
    memset(g, 0, dim * sizeof *g);
    *lp = 0.0;
    return RELMC_OK;
}

static int improper(size_t dim, const double *x, double *g, double *lp,
                    void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp += x[i];
        g[i] = 1.0;
    }
    return RELMC_OK;
}

static int half_space(size_t dim, const double *x, double *g, double *lp,
                      void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= 0.5 * x[i] * x[i];
        g[i] = -x[i];
    }
    return x[0] > 0.0 ? RELMC_OK : RELMC_REJECT;
}

static int steps_of_one(size_t dim, const double *x, double *g, double *lp,
                        void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= floor(fabs(x[i]));
        g[i] = 0.0;
    }
    return RELMC_OK;
}

static int nan_outside(size_t dim, const double *x, double *g, double *lp,
                       void *ctx)
{
    const int status = half_space(dim, x, g, lp, ctx);

    if (status) {
        *lp = (double)NAN;
    }
    return RELMC_OK;
}

static int only_here(size_t dim, const double *x, double *g, double *lp,
                     void *ctx)
{
    (void)ctx;
    memset(g, 0, dim * sizeof *g);
    *lp = 0.0;
    return x[0] == 0.5 ? RELMC_OK : RELMC_REJECT;
}

static void test_adapt__ends_on_any_target(void **state)
{
    static callback_point *const targets[] = {
        flat, improper, half_space, steps_of_one, nan_outside, only_here};

    (void)state;
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        for (size_t dim = 1; dim <= 3; dim += 2) {
            for (size_t a = 0; a < sizeof adaptations / sizeof *adaptations;
                 a++) {
                relmc_options o = options_of("auto", adaptations[a]);
                relmc_target *target = NULL;
                double init[CHAINS * 3];

                if (IS_INSTRUMENTED && (a + t + dim / 2) % 2) {
                    continue; /* one dimension each */
                }
                for (size_t i = 0; i < CHAINS * 3; i++) {
                    init[i] = 0.5;
                }
                o.init = init;
                assert_int_equal(
                    target_of_point(&target, dim, targets[t], NULL, NULL),
                    RELMC_OK);
                relmc_run *run = run_of(target, &o);
                finish(run);
                for (size_t k = 0; k < CHAINS; k++) {
                    size_t n;
                    const double *x = kept_outputs(run, k, &n);

                    for (size_t i = 0; i < n * dim; i++) {
                        assert_true(isfinite(x[i]));
                    }
                }
                relmc_run_destroy(run);
                relmc_target_destroy(target);
            }
        }
    }
}

/* ---- far starts ------------------------------------------------------------ */

/* From 10 and 1000 away on light, normal and heavy tails: the typical set is
 * reached in warm-up, by all chains. */
static void test_adapt__comes_home_from_far_away(void **state)
{
    static const struct {
        const char *model;
        size_t dim;
        double typical; /* of the log density: no worse than this */
    } cells[] = {{"gaussian:dim=10", 10, -30.0},
                 {"quartic:dim=10", 10, -20.0},
                 {"quartic:dim=10,power=8", 10, -20.0},
                 {"student:dim=10,nu=2", 10, -60.0},
                 {"banana", 2, -20.0},
                 {"logistic:dim=3,n=500", 3, -400.0}};
    static const double distance[] = {10.0, 1000.0};

    (void)state;
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
        for (size_t far = 0; far < 2; far++) {
            relmc_target *target = target_of(cells[c].model);
            relmc_options o = options_of("auto", "auto");
            double init[CHAINS * 10], lp, g[10];

            for (size_t i = 0; i < CHAINS * 10; i++) {
                init[i] = distance[far] * (1.0 + 0.01 * (double)i);
            }
            o.init = init;
            o.warmup = 400;
            o.step_size = 1.0;
            relmc_run *run = run_of(target, &o);
            finish(run);
            for (size_t k = 0; k < CHAINS; k++) {
                size_t n;
                const double *x = kept_outputs(run, k, &n);

                assert_int_equal(relmc_target_eval(target, 1,
                                                   x + (n - 1) * cells[c].dim,
                                                   &lp, g, NULL),
                                 RELMC_OK);
                if (!(lp > cells[c].typical)) {
                    fail_msg("%s from %g: chain %zu ends at lp %g",
                             cells[c].model, distance[far], k + 1, lp);
                }
            }
            relmc_run_destroy(run);
            relmc_target_destroy(target);
        }
    }
}

/* Two coordinates between walls that grow exponentially. */
static int walls(size_t dim, const double *x, double *g, double *lp, void *ctx)
{
    const double steep = *(const double *)ctx;

    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= cosh(steep * x[i]);
        g[i] = -steep * sinh(steep * x[i]);
    }
    return RELMC_OK;
}

/* [approach] Where the log density is -1e14 or -1e200, no chain sees energies of
 * 1; and it is alone, so that none can show it the way. */
static void test_adapt__comes_home_from_where_it_is_blind(void **state)
{
    static const struct {
        const char *sampler, *adapt;
        double steep;
    } cells[] = {{"auto", "auto", 10.0},
                 {"auto", "auto", 50.0},
                 {"auto", "auto", 230.0},
                 {"nuts", "stan", 50.0},
                 {"hmc", "dual", 50.0}};

    (void)state;
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
        double steep = cells[c].steep;
        relmc_target *target = NULL;
        relmc_options o = options_of(cells[c].sampler, cells[c].adapt);
        double init[2] = {2.0, -1.7};
        size_t n;

        assert_int_equal(target_of_point(&target, 2, walls, &steep, NULL),
                         RELMC_OK);
        o.chains = 1;
        o.init = init;
        o.warmup = 400;
        relmc_run *run = run_of(target, &o);
        finish(run);
        const double *x = kept_outputs(run, 0, &n);
        for (size_t t = 0; t < n; t++) {
            assert_true(fabs(steep * x[2 * t]) < 10.0);
            assert_true(fabs(steep * x[2 * t + 1]) < 10.0);
        }
        assert_true(x[0] != x[2 * (n - 1)]);
        relmc_run_destroy(run);
        relmc_target_destroy(target);
    }
}

/* A start is where it was put if there is no warm-up. */
static void test_adapt__moves_nothing_without_warmup(void **state)
{
    static const double init[2] = {2.0, -1.7};
    double steep = 50.0;
    relmc_target *target = NULL;
    relmc_options o = options_of("auto", "auto");
    size_t n;

    (void)state;
    assert_int_equal(target_of_point(&target, 2, walls, &steep, NULL),
                     RELMC_OK);
    o.chains = 1;
    o.init = init;
    o.warmup = RELMC_ZERO;
    o.step_size = 1.0; /* all of them are refused */
    relmc_run *run = run_of(target, &o);
    finish(run);
    assert_memory_equal(kept_outputs(run, 0, &n), init, sizeof init);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

/* ---- stuck chains -------------------------------------------------------- */

/* Two normal laws in four dimensions, one at 0, one at 40 in every coordinate:
 * too far to go from one to the other. */
struct pair {
    double sd;       /* of the second along the diagonal ... */
    double log_odds; /* its mass */
    double across;   /* ... and across it */
};

static int pair_lp(size_t dim, const double *x, double *g, double *lp,
                   void *ctx)
{
    const struct pair *pair = ctx;
    const int is_far = x[0] > 20.0;
    const double sd = is_far ? pair->sd : 1.0, centre = is_far ? 40.0 : 0.0;
    const double across = is_far ? pair->across : 1.0;
    double mean = 0.0;

    for (size_t i = 0; i < dim; i++) {
        mean += (x[i] - centre) / (double)dim;
    }
    *lp = is_far ? pair->log_odds - log(sd) - (double)(dim - 1) * log(across)
                 : 0.0;
    for (size_t i = 0; i < dim; i++) {
        const double z = mean / sd, e = (x[i] - centre - mean) / across;

        *lp -= 0.5 * (z * z + e * e);
        g[i] = -z / sd - e / across;
    }
    return RELMC_OK;
}

/* How many of the last two chains, which begin at 40, are still there; the
 * tuning has to say so, unless it is NULL. */
static int count_far(struct pair pair, int64_t warmup, const char *says)
{
    enum { DIM = 4, N = 4 };
    relmc_target *target = NULL;
    relmc_options o = options_of("auto", "auto");
    double init[N * DIM] = {0};
    int n_far = 0;

    for (size_t j = 2 * DIM; j < N * DIM; j++) {
        init[j] = 40.0;
    }
    o.chains = N;
    o.init = init;
    o.warmup = warmup ? warmup : o.warmup;
    assert_int_equal(target_of_point(&target, DIM, pair_lp, &pair, NULL),
                     RELMC_OK);
    relmc_run *run = run_of(target, &o);
    finish(run);
    for (size_t k = 0; k < N; k++) {
        size_t n;
        const double *x = kept_outputs(run, k, &n);
        const int is_far = x[(n - 1) * DIM] > 20.0;

        assert_true(n == DRAWS);
        assert_true(k >= 2 || !is_far);
        n_far += is_far;
    }
    assert_true(!says || strstr(relmc_run_tuning_json(run), says));
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    return n_far;
}

/* [stuck] A mode that has next to no mass is left; one whose density is low, but
 * whose mass is not, is not. */
static void test_adapt__leaves_modes_without_mass(void **state)
{
    (void)state;
    assert_int_equal(count_far((struct pair){1.0, -25.0, 1.0}, 0, NULL), 0);
    assert_int_equal(count_far((struct pair){1.0, 0.0, 1.0}, 0, NULL), 2);
    assert_int_equal(count_far((struct pair){30.0, 0.0, 30.0}, 0, NULL), 2);
}

/* A restart on the way to the target is nothing to warn of.  With so little
 * warm-up that there is no window it is, and both chains count once. */
static void test_adapt__reports_chains_stuck_at_the_end(void **state)
{
    const struct pair pair = {1.0, -25.0, 1.0};

    (void)state;
    assert_int_equal(
        count_far(pair, 200, "\"restarts\": 2, \"stuck_at_end\": 0"), 0);
    assert_int_equal(
        count_far(pair, 19, "\"restarts\": 2, \"stuck_at_end\": 2"), 0);
}

/* [stuck] A ridge with a high density, along which every coordinate goes far but
 * only with the others, holds no more than its mass. */
static void test_adapt__stays_out_of_ridges(void **state)
{
    (void)state;
    assert_int_equal(count_far((struct pair){1.0, 0.0, 1e-3}, 0, NULL), 2);
    assert_int_equal(count_far((struct pair){1.0, 0.0, 1e-6}, 0, NULL), 2);
}

/* ---- the engine ------------------------------------------------------------ */

static const char limited[] = "relativistic:cruise=0.7";

/* In how many of five runs the report says so. */
static int count_choices(const char *model, const char *kinetic,
                         const char *adapt, const char *choice)
{
    relmc_target *target = target_of(model);
    int n = 0;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        relmc_options o = options_of("auto", adapt);

        o.kinetic = kinetic;
        o.chains = 4;
        o.warmup = 500;
        o.draws = 1;
        o.seed = seed;
        relmc_run *run = run_of(target, &o);
        finish(run);
        n += strstr(relmc_run_tuning_json(run), choice) != NULL;
        relmc_run_destroy(run);
    }
    relmc_target_destroy(target);
    return n;
}

/* [neck] Steps fail in the neck of a funnel, where the density is high: walnuts;
 * [sticky] in the arms of a banana, where it is not: nuts; anywhere: what was best.
 * In coordinates of their own neither has any. */
static void test_adapt__knows_necks_from_arms(void **state)
{
    static const char own[] = "auto:warp=0";

    (void)state;
    assert_int_equal(
        count_choices("funnel", limited, own, "\"walnuts\", \"why\": \"neck\""),
        5);
    assert_int_equal(count_choices("banana", limited, own,
                                   "\"walnuts\", \"why\": \"sticky\""),
                     5);
    assert_int_equal(
        count_choices("gaussian:dim=10", limited, own, "\"why\": \"score\""),
        5);
    assert_int_equal(
        count_choices("funnel", limited, "auto", "\"why\": \"score\""), 5);
    assert_int_equal(
        count_choices("banana", limited, "auto", "\"why\": \"score\""), 5);
}

/* Nothing of the engines that lost the pilot stays behind. */
static relmc_status watch_depth(void *ctx, const relmc_draw *draw)
{
    int *is_deep = ctx;

    *is_deep |=
        draw->index >= 0 && (int)draw->stats[RELMC_STAT_TREE_DEPTH] != 0;
    return RELMC_OK;
}

static void test_adapt__leaves_no_trees_to_ghmc(void **state)
{
    relmc_target *target = target_of("gaussian:dim=10");
    relmc_options o = options_of("auto", "auto");
    int is_deep = 0;

    (void)state;
    o.warmup = 500;
    relmc_run *run = run_of(target, &o);
    assert_int_equal(relmc_run_observe(run, watch_depth, &is_deep, NULL),
                     RELMC_OK);
    finish(run);
    assert_non_null(strstr(relmc_run_tuning_json(run), "\"engine\": \"ghmc\""));
    assert_false(is_deep);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

/* [sticky] Steps that fail somewhat more often in the tails do not make arms of
 * them. */
static void test_adapt__knows_arms_from_tails(void **state)
{
    static const char *const models[] = {
        "quartic:dim=10", "quartic:dim=10,power=8", "student:dim=10,nu=2"};
    int n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        n +=
            count_choices(models[i], "newtonian", "auto", "\"why\": \"score\"");
    }
    assert_true(n > 11); /* of 15 */
}

/* ---- other coordinates ------------------------------------------------------ */

static const char stretched[] =
    "\"warp\": [{\"hub\": 0, \"does\": \"stretch\"}]";
static const char bent[] = "\"warp\": [{\"hub\": 0, \"does\": \"bend\"}]";
static const char straight[] = "\"warp\": []";

/* [warp-fit] Those that are known to be better, and none where there are none. */
static void test_adapt__says_which_coordinates_it_found(void **state)
{
    (void)state;
    assert_int_equal(count_choices("funnel", limited, "auto", stretched), 5);
    assert_int_equal(count_choices("banana", limited, "auto", bent), 5);
    assert_int_equal(
        count_choices("gaussian:dim=10", limited, "auto", straight), 5);
    assert_int_equal(count_choices("funnel", limited, "auto:warp=0", straight),
                     5);
    assert_int_equal(count_choices("banana", limited, "auto:warp=0", straight),
                     5);
}

/* All chains take part in what is found at two sync points, 30 and 65: of the bends on
 * bends three at the first one, with this seed, and all of them at the second. */
static void test_adapt__finds_them_for_any_lanes_and_threads(void **state)
{
    static const struct {
        const char *model, *report;
    } cells[] = {{"funnel", stretched},
                 {"funnel:dim=3", stretched},
                 {"banana", bent},
                 {"rosenbrock:dim=7,block=2",
                  "\"bend\"}, {\"hub\": 0, \"does\": \"bend\"}]"}};

    (void)state;
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
        relmc_target *target = target_of(cells[c].model);
        relmc_options o = options_of("auto", "auto");

        o.seed = 1;
        check_ways(target, o, cells[c].report);
        check_pieces(target, "auto");
        relmc_target_destroy(target);
    }
}

struct honest {
    const relmc_target *target;
    double worst; /* error of a log density */
    size_t n;
};

static relmc_status compare_lp(void *ctx, const relmc_draw *draw)
{
    struct honest *h = ctx;
    double lp, g[MAX_DIM];

    assert_int_equal(
        relmc_target_eval(h->target, 1, draw->outputs, &lp, g, NULL), RELMC_OK);
    h->worst = fmax(h->worst,
                    fabs(draw->stats[RELMC_STAT_LP] - lp) / (1.0 + fabs(lp)));
    h->n++;
    return RELMC_OK;
}

/* Whoever looks at the draws does not see how they were made. */
static void test_adapt__publishes_draws_of_the_target(void **state)
{
    static const char *const models[] = {"funnel", "banana",
                                         "rosenbrock:dim=7,block=2", "schools"};

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        relmc_target *target = target_of(models[m]);
        struct honest h = {.target = target};
        relmc_options o = options_of("auto", "auto");

        o.warmup = 500;
        o.draws = 100;
        o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_WARMUP;
        relmc_run *run = run_of(target, &o);
        assert_int_equal(relmc_run_observe(run, compare_lp, &h, NULL),
                         RELMC_OK);
        finish(run);
        assert_null(strstr(relmc_run_tuning_json(run), straight));
        assert_int_equal(h.n, CHAINS * 600);
        check_near(h.worst, 0.0, 1e-9);
        relmc_run_destroy(run);
        relmc_target_destroy(target);
    }
}

/* In them a funnel is normal, v ~ N(0, 9) and all others alike, and the metric is
 * theirs. */
static void check_metric_of_funnel(int64_t warmup)
{
    enum { DIM = 10 };
    relmc_target *target = target_of("funnel");
    relmc_options o = options_of("auto", "auto");
    double dense[DIM * DIM];

    o.chains = 4;
    o.warmup = warmup;
    relmc_run *run = run_of(target, &o);
    finish(run);
    assert_non_null(strstr(relmc_run_tuning_json(run), stretched));
    assert_string_equal(metric_kind(run, 0, NULL, dense), "dense");
    check_close(dense[0], 9.0, 0.1);
    for (size_t i = 1; i < DIM; i++) {
        check_close(dense[i * DIM + i], dense[DIM + 1], 0.1);
        for (size_t j = 0; j < i; j++) {
            const double ij = dense[i * DIM + i] * dense[j * DIM + j];

            check_near(dense[i * DIM + j] / sqrt(ij), 0.0, 0.1);
        }
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

/* They are found in the last window but one, and in the last one, which then was
 * drawn in others. */
static void test_adapt__finds_the_metric_of_other_coordinates(void **state)
{
    (void)state;
    check_metric_of_funnel(500);
    check_metric_of_funnel(WARMUP);
}

/* A metric that was given is one of the target's own coordinates. */
static void test_adapt__keeps_the_coordinates_of_a_metric(void **state)
{
    static const double variance[] = {9.0, 2.0, 3.0};
    static const double dense[] = {9.0, 0.0, 0.0, 0.0, 2.0, 0.5, 0.0, 0.5, 3.0};
    relmc_target *target = target_of("funnel:dim=3");

    (void)state;
    for (int is_dense = 0; is_dense < 2; is_dense++) {
        relmc_options o = options_of("auto", "auto");
        double found[9];

        o.warmup = 500;
        o.inv_metric = is_dense ? NULL : variance;
        o.inv_metric_dense = is_dense ? dense : NULL;
        relmc_run *run = run_of(target, &o);
        finish(run);
        assert_non_null(strstr(relmc_run_tuning_json(run), straight));
        assert_string_equal(metric_kind(run, 0, found, NULL),
                            is_dense ? "dense" : "diagonal");
        for (size_t i = 0; i < 3; i++) {
            check_close(found[i], variance[i], 1e-14);
        }
        relmc_run_destroy(run);
    }
    relmc_target_destroy(target);
}

/* ---- scales that get smaller than steps ------------------------------------- */

/* A normal target, and a well in it that opens later. */
struct well {
    double sd; /* 0: none yet */
    double centre[4];
};

static int well_lp(size_t dim, const double *x, double *g, double *lp,
                   void *ctx)
{
    const struct well *well = ctx;
    const double stiff = well->sd > 0.0 ? 1.0 / (well->sd * well->sd) : 0.0;

    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        const double e = x[i] - well->centre[i];

        *lp -= 0.5 * x[i] * x[i] + 0.5 * stiff * e * e;
        g[i] = -x[i] - stiff * e;
    }
    return RELMC_OK;
}

/* Does WALNUTS find no step that is small enough, if a well opens where the chain
 * is? */
static int gives_up(double sd)
{
    enum { DIM = 4 };
    struct well well = {0};
    relmc_target *target = NULL;
    relmc_options o = options_of("auto", "auto:neck=1");
    relmc_progress report = {.size = sizeof report};
    size_t n;

    o.chains = 1;
    assert_int_equal(target_of_point(&target, DIM, well_lp, &well, NULL),
                     RELMC_OK);
    relmc_run *run = run_of(target, &o);
    assert_int_equal(relmc_run_advance(run, WARMUP + 1, NULL), RELMC_OK);
    memcpy(well.centre, kept_outputs(run, 0, &n), sizeof well.centre);
    assert_int_equal(n, 1);
    well.sd = sd;
    assert_int_equal(relmc_run_advance(run, 1, NULL), RELMC_OK);
    assert_int_equal(relmc_run_progress(run, 0, &report, NULL), RELMC_OK);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    return report.n_divergent > 0;
}

/* [few-levels] Three or four halvings will do for the first, eight or nine for
 * the second. */
static void test_adapt__gives_up_in_deep_necks(void **state)
{
    (void)state;
    assert_false(gives_up(1.0 / 8.0));
    assert_true(gives_up(1.0 / 256.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adapt__does_not_depend_on_lanes_and_threads),
        cmocka_unit_test(test_adapt__does_not_depend_on_pieces),
        cmocka_unit_test(test_adapt__is_over_when_sampling_begins),
        cmocka_unit_test(test_adapt__finds_the_metric),
        cmocka_unit_test(test_adapt__stan_finds_variances),
        cmocka_unit_test(test_adapt__stan_begins_at_the_guess),
        cmocka_unit_test(test_adapt__keeps_a_metric_that_was_given),
        cmocka_unit_test(test_adapt__ends_on_any_target),
        cmocka_unit_test(test_adapt__comes_home_from_far_away),
        cmocka_unit_test(test_adapt__comes_home_from_where_it_is_blind),
        cmocka_unit_test(test_adapt__moves_nothing_without_warmup),
        cmocka_unit_test(test_adapt__leaves_modes_without_mass),
        cmocka_unit_test(test_adapt__reports_chains_stuck_at_the_end),
        cmocka_unit_test(test_adapt__stays_out_of_ridges),
        cmocka_unit_test(test_adapt__knows_necks_from_arms),
        cmocka_unit_test(test_adapt__leaves_no_trees_to_ghmc),
        cmocka_unit_test(test_adapt__knows_arms_from_tails),
        cmocka_unit_test(test_adapt__says_which_coordinates_it_found),
        cmocka_unit_test(test_adapt__finds_them_for_any_lanes_and_threads),
        cmocka_unit_test(test_adapt__publishes_draws_of_the_target),
        cmocka_unit_test(test_adapt__finds_the_metric_of_other_coordinates),
        cmocka_unit_test(test_adapt__keeps_the_coordinates_of_a_metric),
        cmocka_unit_test(test_adapt__gives_up_in_deep_necks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
