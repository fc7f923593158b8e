/*
 * warp.c - runs in warped coordinates, and runs without warm-up that use their tuning, have
 * the quantiles of the target, in every coordinate and in the log density.  Standard errors
 * come from the effective sample sizes of the indicators.
 *
 *   warp        the fast part
 *   warp full   ten times as many draws, more of them exact
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "relmc_diag.h"
#include "support/kept.h"
#include "support/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 4, RUNS = 8, MAX_STATS = 11, N_LEVELS = 5, BLOCK = 10000 };

static const double levels[N_LEVELS] = {0.01, 0.05, 0.5, 0.95, 0.99};
static const double max_z = 4.5;
static size_t n_exact = 300000;
static int64_t n_draws = 1000;

/* ---- exact quantiles --------------------------------------------------------- */

struct law {
    const char *model;
    relmc_target *target;
    size_t dim, n_stats; /* statistics: coordinates and log density */
    double quantile[MAX_STATS][N_LEVELS];
};

/* The log density at a point. */
static double density_at(const struct law *law, const double *x)
{
    double lp, grad[MAX_STATS];

    assert_int_equal(relmc_target_eval(law->target, 1, x, &lp, grad, NULL),
                     RELMC_OK);
    return lp;
}

/* n_exact values of every statistic. */
static double *draw_exactly(const struct law *law)
{
    const size_t dim = law->dim;
    double *x = malloc(BLOCK * dim * sizeof *x);
    double *values = malloc(law->n_stats * n_exact * sizeof *values);

    assert_non_null(x);
    assert_non_null(values);
    for (size_t done = 0; done < n_exact; done += BLOCK) {
        assert_int_equal(
            relmc_target_sample(law->target, 4711 + done, BLOCK, x, NULL),
            RELMC_OK);
        for (size_t t = 0; t < BLOCK; t++) {
            for (size_t i = 0; i < dim; i++) {
                values[i * n_exact + done + t] = x[t * dim + i];
            }
            values[dim * n_exact + done + t] = density_at(law, x + t * dim);
        }
    }
    free(x);
    return values;
}

static void law_open(struct law *law, const char *model)
{
    relmc_error err = {0};

    *law = (struct law){.model = model};
    if (relmc_target_open(&law->target, model, NULL, &err)) {
        fail_msg("%s", err.message);
    }
    law->dim = relmc_target_dim(law->target);
    law->n_stats = law->dim + 1;
    assert_true(law->n_stats <= MAX_STATS);
    double *values = draw_exactly(law);
    for (size_t i = 0; i < law->n_stats; i++) {
        stats_sort(values + i * n_exact, n_exact);
        for (size_t q = 0; q < N_LEVELS; q++) {
            const size_t at = (size_t)(levels[q] * (double)n_exact);

            law->quantile[i][q] = values[i * n_exact + at];
        }
    }
    free(values);
}

/* ---- runs ---------------------------------------------------------------------- */

/* Sums over all runs: means of the indicators and their variances, in units of
 * p (1 - p). */
struct tally {
    double mean[MAX_STATS][N_LEVELS], variance[MAX_STATS][N_LEVELS];
    double ess, n_grad; /* of the worst statistic; after warm-up */
    double worst_rhat;
};

/* Values of a statistic, CHAINS x n. */
static void statistic(const struct law *law, const relmc_run *run, size_t i,
                      size_t n, double *values)
{
    for (size_t k = 0; k < CHAINS; k++) {
        size_t n_here;
        const double *x = kept_outputs(run, k, &n_here);

        assert_int_equal(n_here, n);
        for (size_t t = 0; t < n; t++) {
            values[k * n + t] = i < law->dim
                                    ? x[t * law->dim + i]
                                    : density_at(law, x + t * law->dim);
        }
    }
}

static void add_costs(const relmc_run *run, double ess, struct tally *tally)
{
    tally->ess += ess;
    for (uint32_t k = 0; k < CHAINS; k++) {
        relmc_progress progress = RELMC_INIT(relmc_progress);

        assert_int_equal(relmc_run_progress(run, k, &progress, NULL), RELMC_OK);
        tally->n_grad += (double)progress.n_grad_sampling;
    }
}

static void add_run(const struct law *law, const relmc_run *run, size_t n,
                    struct tally *tally)
{
    double *values = malloc(2 * CHAINS * n * sizeof *values);
    double *is_below = values + CHAINS * n, least = HUGE_VAL;

    assert_non_null(values);
    for (size_t i = 0; i < law->n_stats; i++) {
        const relmc_series all = {values, CHAINS, n, 1, n};
        relmc_summary summary = RELMC_INIT(relmc_summary);

        statistic(law, run, i, n, values);
        assert_int_equal(relmc_summarise(&summary, &all, NULL), RELMC_OK);
        least = fmin(least, summary.ess_bulk);
        tally->worst_rhat = fmax(tally->worst_rhat, summary.rhat);
        for (size_t q = 0; q < N_LEVELS; q++) {
            const relmc_series series = {is_below, CHAINS, n, 1, n};
            double ess = 0.0, sum = 0.0;

            for (size_t j = 0; j < CHAINS * n; j++) {
                is_below[j] = values[j] < law->quantile[i][q];
                sum += is_below[j];
            }
            assert_int_equal(relmc_ess_mean(&ess, &series, NULL), RELMC_OK);
            if (!(ess > 0.0)) { /* the indicator is constant */
                ess = (double)(CHAINS * n);
            }
            tally->mean[i][q] += sum / (double)(CHAINS * n) / RUNS;
            tally->variance[i][q] += 1.0 / ess / (RUNS * RUNS);
        }
    }
    free(values);
    add_costs(run, least, tally);
}

/* A run without warm-up if there is a tuning. */
static relmc_run *run_of(const struct law *law, uint64_t seed,
                         const void *tuning, size_t bytes)
{
    relmc_options o = RELMC_INIT(relmc_options);
    relmc_run *run = NULL;
    relmc_error err = {0};

    o.sampler = "auto";
    o.adapt = "auto";
    o.chains = CHAINS;
    o.draws = n_draws;
    o.seed = seed;
    o.tuning = tuning;
    o.tuning_bytes = bytes;
    if (relmc_run_create(&run, law->target, &o, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s", err.message);
    }
    return run;
}

/* Another run, with the tuning of the first. */
static void run_warm(const struct law *law, relmc_run *first, uint64_t seed,
                     struct tally *tally)
{
    unsigned char tuning[20000];
    size_t bytes = 0;

    assert_int_equal(
        relmc_run_tuning(first, tuning, sizeof tuning, &bytes, NULL), RELMC_OK);
    assert_true(bytes <= sizeof tuning);
    relmc_run *run = run_of(law, seed, tuning, bytes);
    assert_int_equal(relmc_run_position(run), n_draws);
    add_run(law, run, (size_t)n_draws, tally);
    relmc_run_destroy(run);
}

static void run_once(const struct law *law, uint64_t seed, const char *report,
                     struct tally *cold, struct tally *warm)
{
    relmc_run *run = run_of(law, seed, NULL, 0);

    if (!strstr(relmc_run_tuning_json(run), report)) {
        fail_msg("%s, seed %d: %s is not in %s", law->model, (int)seed, report,
                 relmc_run_tuning_json(run));
    }
    add_run(law, run, (size_t)n_draws, cold);
    run_warm(law, run, seed + 1000, warm);
    relmc_run_destroy(run);
}

static void check_tally(const struct law *law, const char *how,
                        const struct tally *tally)
{
    double worst = 0.0;

    for (size_t i = 0; i < law->n_stats; i++) {
        for (size_t q = 0; q < N_LEVELS; q++) {
            const double p = levels[q], here = tally->mean[i][q];
            const double variance =
                tally->variance[i][q] + 1.0 / (double)n_exact;
            const double z = (here - p) / sqrt(p * (1.0 - p) * variance);

            worst = fmax(worst, fabs(z));
            if (!(fabs(z) < max_z)) {
                fail_msg("%s, %s, %s %zu: %.4g of the draws are below the "
                         "quantile of %g, z = %.2f",
                         law->model, how,
                         i < law->dim ? "coordinate" : "log density", i, here,
                         p, z);
            }
        }
    }
    print_message("%s, %s: |z| up to %.2f, R-hat up to %.4f, %.4f effective "
                  "draws per gradient\n",
                  law->model, how, worst, tally->worst_rhat,
                  tally->ess / tally->n_grad);
}

/* The tuning of every run must contain `report`. */
static void check_law(const char *model, const char *report)
{
    struct law law;
    struct tally cold = {0}, warm = {0};

    law_open(&law, model);
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        run_once(&law, seed, report, &cold, &warm);
    }
    check_tally(&law, "with warm-up", &cold);
    check_tally(&law, "with a tuning", &warm);
    assert_true(warm.worst_rhat < 1.01);
    assert_true(warm.ess / warm.n_grad > 0.8 * cold.ess / cold.n_grad);
    relmc_target_destroy(law.target);
}

static void test_warp__keeps_the_law_of_a_funnel(void **state)
{
    (void)state;
    check_law("funnel", "\"warp\": [{\"hub\": 0, \"does\": \"stretch\"}]");
}

static void test_warp__keeps_the_law_of_a_banana(void **state)
{
    (void)state;
    check_law("banana", "\"warp\": [{\"hub\": 0, \"does\": \"bend\"}]");
}

static void test_warp__keeps_the_law_of_bends_on_bends(void **state)
{
    (void)state;
    check_law("rosenbrock:dim=7,block=2",
              "\"does\": \"bend\"}, {\"hub\": 0, \"does\": \"bend\"}]");
}

static void test_warp__keeps_the_law_of_eight_schools(void **state)
{
    (void)state;
    check_law("schools", "{\"hub\": 1, \"does\": \"stretch\"}");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warp__keeps_the_law_of_a_funnel),
        cmocka_unit_test(test_warp__keeps_the_law_of_a_banana),
        cmocka_unit_test(test_warp__keeps_the_law_of_bends_on_bends),
        cmocka_unit_test(test_warp__keeps_the_law_of_eight_schools),
    };

    if (argc > 1 && !strcmp(argv[1], "full")) {
        n_draws = 10000;
        n_exact = 3000000;
    } else if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
