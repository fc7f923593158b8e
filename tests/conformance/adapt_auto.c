/*
 * adapt_auto.c - the decisions of adaptation auto: restarts of stuck chains, the engine,
 * the warp and its metric, the smallest step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/adapt.h"

/* ---- stuck chains -------------------------------------------------------- */

/* Two normal modes, one at 0, one at 40 in every coordinate: no chain goes from one to
 * the other. */
struct pair {
    double sd;       /* of the second mode along the diagonal */
    double log_odds; /* of its mass */
    double across;   /* its standard deviation across the diagonal */
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

/* How many of the last two chains, which start at 40, end there.  The tuning has to
 * contain `says`, if given. */
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

/* [stuck] Chains leave a mode with hardly any mass.  They stay in a mode with mass, even
 * if its density is low. */
static void test_adapt__leaves_modes_without_mass(void **state)
{
    (void)state;
    assert_int_equal(count_far((struct pair){1.0, -25.0, 1.0}, 0, NULL), 0);
    assert_int_equal(count_far((struct pair){1.0, 0.0, 1.0}, 0, NULL), 2);
    assert_int_equal(count_far((struct pair){30.0, 0.0, 30.0}, 0, NULL), 2);
}

/* Restarts early in warm-up do not count as stuck at the end.  A warm-up of 19 has no
 * window: all its restarts do, once per chain. */
static void test_adapt__reports_chains_stuck_at_the_end(void **state)
{
    const struct pair pair = {1.0, -25.0, 1.0};

    (void)state;
    assert_int_equal(
        count_far(pair, 200, "\"restarts\": 2, \"stuck_at_end\": 0"), 0);
    assert_int_equal(
        count_far(pair, 19, "\"restarts\": 2, \"stuck_at_end\": 2"), 0);
}

/* [stuck] A narrow diagonal ridge has a high density and wide ranges of every
 * coordinate, but no more mass than the other mode: it attracts no chain. */
static void test_adapt__restarts_no_chain_in_a_ridge(void **state)
{
    (void)state;
    assert_int_equal(count_far((struct pair){1.0, 0.0, 1e-3}, 0, NULL), 2);
    assert_int_equal(count_far((struct pair){1.0, 0.0, 1e-6}, 0, NULL), 2);
}

/* ---- the engine ------------------------------------------------------------ */

static const char limited[] = "relativistic:cruise=0.7";

/* In how many of five runs the tuning contains `choice`. */
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

/* [neck] Steps fail in the neck of a funnel, where the density is high; [sticky] and in
 * the arms of a banana, where it is not: both get walnuts.  Elsewhere the score decides,
 * also on these two once they are warped. */
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

/* Other engines of the pilot leave a tree depth behind unless it is cleared. */
static relmc_status watch_depth(void *ctx, const relmc_draw *draw)
{
    int *is_deep = ctx;

    *is_deep |=
        draw->index >= 0 && (int)draw->stats[RELMC_STAT_TREE_DEPTH] != 0;
    return RELMC_OK;
}

static void test_adapt__reports_no_tree_depth_of_ghmc(void **state)
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

/* [sticky] Tails in which steps fail somewhat more often do not count as arms. */
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

/* ---- the warp -------------------------------------------------------------- */

static const char stretched[] =
    "\"warp\": [{\"hub\": 0, \"does\": \"stretch\"}]";
static const char bent[] = "\"warp\": [{\"hub\": 0, \"does\": \"bend\"}]";
static const char straight[] = "\"warp\": []";

/* [warp-fit] A funnel is stretched, a banana bent, a normal target left as it is. */
static void test_adapt__reports_the_warp(void **state)
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

/* The warp is fitted to the draws of all chains, at the sync points 30 and 65: of the
 * bends of rosenbrock three at the first, with this seed, and all at the second. */
static void
test_adapt__fits_the_same_warp_for_any_lanes_and_threads(void **state)
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

/* Draws and log densities are those of the target, not of its warped coordinates. */
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

/* In warped coordinates a funnel is normal, v ~ N(0, 9) and all others alike; the metric
 * is the covariance there. */
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

/* The warp is fitted in the last window but one, or in the last: the draws of that
 * window have to be transformed before the metric is estimated. */
static void test_adapt__finds_the_metric_of_warped_coordinates(void **state)
{
    (void)state;
    check_metric_of_funnel(500);
    check_metric_of_funnel(WARMUP);
}

/* A given metric belongs to the coordinates of the target: they are not warped. */
static void test_adapt__fits_no_warp_to_a_given_metric(void **state)
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

/* ---- the smallest step ------------------------------------------------------- */

/* A normal target, to which the test adds a narrow well during the run. */
struct well {
    double sd; /* 0: no well */
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

/* Does WALNUTS find no step that is small enough for a well around the chain? */
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

/* [few-levels] The first well needs three or four halvings of the step, the second
 * eight or nine, which is more than auto allows. */
static void test_adapt__gives_up_in_deep_necks(void **state)
{
    (void)state;
    assert_false(gives_up(1.0 / 8.0));
    assert_true(gives_up(1.0 / 256.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adapt__leaves_modes_without_mass),
        cmocka_unit_test(test_adapt__reports_chains_stuck_at_the_end),
        cmocka_unit_test(test_adapt__restarts_no_chain_in_a_ridge),
        cmocka_unit_test(test_adapt__knows_necks_from_arms),
        cmocka_unit_test(test_adapt__reports_no_tree_depth_of_ghmc),
        cmocka_unit_test(test_adapt__knows_arms_from_tails),
        cmocka_unit_test(test_adapt__reports_the_warp),
        cmocka_unit_test(
            test_adapt__fits_the_same_warp_for_any_lanes_and_threads),
        cmocka_unit_test(test_adapt__publishes_draws_of_the_target),
        cmocka_unit_test(test_adapt__finds_the_metric_of_warped_coordinates),
        cmocka_unit_test(test_adapt__fits_no_warp_to_a_given_metric),
        cmocka_unit_test(test_adapt__gives_up_in_deep_necks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
