/*
 * adapt.c - every adaptation: its draws depend on seed and options only, what it found is
 * reported and stays fixed, and it ends on any target and from any start.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/adapt.h"

static const char *const adaptations[] = {
    "none",          "dual",          "stan",       "auto",
    "auto:metric=0", "auto:metric=1", "auto:neck=1"};
static const char *const samplers[] = {"auto", "nuts", "ghmc", "hmc:steps=5"};

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

/* Adaptation to the past of a chain would bias the draws. */
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

/* [stan-windows] Each chain estimates its own variances. */
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
        const double truth = sd * sd + 1e-5; /* Stan shrinks towards 1e-3 */

        check_close(first[i], truth, 0.4);
        assert_true(first[i] != second[i]);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

struct beginning {
    double accept[CHAINS]; /* of the first transition */
    double step[CHAINS];   /* of the second */
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

/* [stan-windows] After a first transition with acceptance 1 the step size of rstan 2.21
 * is 14.38551, after one with 2/3 it is 7.847232, whatever the first step size. */
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
                    continue; /* one dimension per target and adaptation */
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

/* From 10 and 1000 away, in light, normal and heavy tails, all chains reach the
 * typical set in warm-up. */
static void test_adapt__reaches_the_typical_set_from_far_away(void **state)
{
    static const struct {
        const char *model;
        size_t dim;
        double typical; /* least log density of the typical set */
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

/* Every coordinate lies between walls that grow exponentially. */
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

/* [approach] Where the log density is -1e14 or -1e200, rounding hides energy
 * differences of 1.  With one chain there is no other to restart from. */
static void test_adapt__approaches_from_where_energies_are_rounded(void **state)
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

/* Only warm-up may move the start of a chain. */
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
    o.step_size = 1.0; /* so long that every transition is rejected */
    relmc_run *run = run_of(target, &o);
    finish(run);
    assert_memory_equal(kept_outputs(run, 0, &n), init, sizeof init);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
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
        cmocka_unit_test(test_adapt__reaches_the_typical_set_from_far_away),
        cmocka_unit_test(
            test_adapt__approaches_from_where_energies_are_rounded),
        cmocka_unit_test(test_adapt__moves_nothing_without_warmup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
