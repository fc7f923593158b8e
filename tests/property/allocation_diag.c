/*
 * allocation_diag.c - each request for memory of every diagnostic fails once: the status
 * is ENOMEM, nothing leaks, the output is unchanged.
 *
 * Linked with --wrap (support/scarce.h), to count all requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc_diag.h"
#include "relmc_ext.h"
#include "support/scarce.h"

#include <math.h>
#include <string.h>

/* ---- inputs ---------------------------------------------------------------- */

enum { CHAINS = 4, DRAWS = 2000, N = 120, DIM = 2 };

/* A random walk: it needs so many lags that Fourier transforms are used. */
static double walk[CHAINS * DRAWS];
static const relmc_series slow = {walk, CHAINS, DRAWS, 1, DRAWS};

/* Independent normal draws with their scores; y are other draws. */
static double x[N * DIM], y[N * DIM], score[N * DIM], u[N * DIM];
static relmc_target *banana;

static int make_samples(void **unused)
{
    relmc_stream stream = {.seed = 5};

    (void)unused;
    for (size_t j = 0; j < CHAINS * DRAWS; j++) {
        const double step = relmc_normal(&stream);

        walk[j] = j % DRAWS ? 0.999 * walk[j - 1] + 0.1 * step : step;
    }
    for (size_t j = 0; j < N * DIM; j++) {
        x[j] = relmc_normal(&stream);
        y[j] = relmc_normal(&stream);
        score[j] = -x[j];
        u[j] = relmc_uniform(&stream);
    }
    return relmc_target_open(&banana, "banana", NULL, NULL);
}

static int drop_samples(void **unused)
{
    (void)unused;
    relmc_target_destroy(banana);
    return 0;
}

/* ---- unchanged outputs ----------------------------------------------------- */

/* At least as large as any report. */
static union {
    unsigned char bytes[8192];
    double numbers[1024];
} room, before;

static double *fresh_room(void)
{
    memset(&room, 0x55, sizeof room);
    before = room;
    return room.numbers;
}

static void *fresh_report(size_t size)
{
    (void)fresh_room();
    memcpy(&room, &size, sizeof size);
    before = room;
    return &room;
}

static relmc_status kept(relmc_status status)
{
    if (status) {
        assert_memory_equal(&room, &before, sizeof room);
    }
    return status;
}

/* ---- draws of one quantity ------------------------------------------------- */

static relmc_status summarise(relmc_error *err)
{
    return kept(
        relmc_summarise(fresh_report(sizeof(relmc_summary)), &slow, err));
}

static relmc_status ess_mean(relmc_error *err)
{
    return kept(relmc_ess_mean(fresh_room(), &slow, err));
}

static relmc_status quantiles(relmc_error *err)
{
    static const double p[] = {0.1, 0.5, 1.0};

    return kept(relmc_quantiles((void *)fresh_room(), &slow, 3, p, err));
}

static relmc_status local_ess(relmc_error *err)
{
    return kept(relmc_local_ess(fresh_room(), &slow, 20, err));
}

static relmc_status rhat_nested(relmc_error *err)
{
    return kept(relmc_rhat_nested(fresh_report(sizeof(relmc_nested_rhat)),
                                  &slow, 2, err));
}

/* ---- Stein discrepancies --------------------------------------------------- */

static const relmc_stein_sample plane = {N, DIM, x, score, NULL};
static const relmc_stein_sample line = {N, 1, x, score, NULL};
static relmc_ksd_options ksd_options;

static relmc_status ksd(relmc_error *err)
{
    return kept(relmc_ksd(fresh_report(sizeof(relmc_ksd_report)), &plane,
                          &ksd_options, err));
}

static relmc_status ksd_nystrom(relmc_error *err)
{
    return kept(relmc_ksd_nystrom(fresh_report(sizeof(relmc_ksd_bound)), &plane,
                                  &ksd_options, err));
}

static relmc_status ksd_blocks(relmc_error *err)
{
    return kept(relmc_ksd_blocks(fresh_report(sizeof(relmc_ksd_estimate)),
                                 &plane, &ksd_options, err));
}

static relmc_status graph_stein_line(relmc_error *err)
{
    return kept(relmc_graph_stein_line(
        fresh_report(sizeof(relmc_graph_stein_report)), &line, NULL, err));
}

/* ---- against known answers ------------------------------------------------- */

static relmc_status mae(relmc_error *err)
{
    return kept(
        relmc_mae(fresh_report(sizeof(relmc_mae_report)), banana, N, x, err));
}

static relmc_status temperature(relmc_error *err)
{
    return kept(
        relmc_temperature(fresh_report(sizeof(relmc_temperature_report)),
                          banana, N, 4, x, NULL, err));
}

static relmc_status mae_uniform(relmc_error *err)
{
    return kept(relmc_mae_uniform(fresh_report(sizeof(relmc_mae_report)), DIM,
                                  N, u, 5, err));
}

static relmc_status two_sample(relmc_error *err)
{
    const relmc_two_samples samples = {DIM, N, N, x, y};
    const relmc_two_sample_options options = {.size = sizeof options,
                                              .permutations = 9};
    relmc_two_sample_report *out = fresh_report(sizeof *out);

    return kept(relmc_two_sample(out, (relmc_coordinate_test *)(out + 1),
                                 &samples, &options, err));
}

enum { N_LEVELS = 3 };

static const double levels[N_LEVELS] = {0.05, 0.5, 0.95};

static relmc_status known_from(relmc_error *err)
{
    double *numbers = fresh_room();
    relmc_known known = {.n_quantiles = N_LEVELS,
                         .level = levels,
                         .quantile = numbers,
                         .quantile_error = numbers + N_LEVELS};
    const relmc_known as_it_was = known;
    const relmc_status status = relmc_known_from(&known, &slow, err);

    if (status) {
        assert_memory_equal(&known, &as_it_was, sizeof known);
    }
    return kept(status);
}

static relmc_status zscore(relmc_error *err)
{
    double quantile[N_LEVELS] = {-1.6, 0.0, 1.6};
    const relmc_known known = {.mean = 0.0,
                               .sd = 1.0,
                               .n_quantiles = N_LEVELS,
                               .level = levels,
                               .quantile = quantile};
    relmc_zscores *out = fresh_report(sizeof *out);

    return kept(relmc_zscore(out, (double *)(out + 1), &slow, &known, err));
}

static relmc_status ecdf_band(relmc_error *err)
{
    relmc_ecdf_band *out = fresh_report(sizeof *out);
    size_t *bounds = (size_t *)(out + 1);

    return kept(
        relmc_ecdf_band_find(out, bounds, bounds + 10, N, 10, 0.05, err));
}

static relmc_status ecdf_test(relmc_error *err)
{
    return kept(relmc_ecdf_test(fresh_room(), N, u, 10, err));
}

/* ---- all of them ----------------------------------------------------------- */

static const struct {
    const char *name;
    deed doing;
} deeds[] = {
    {"summarise", summarise},
    {"quantiles", quantiles},
    {"ess_mean", ess_mean},
    {"local_ess", local_ess},
    {"rhat_nested", rhat_nested},
    {"graph_stein_line", graph_stein_line},
    {"mae", mae},
    {"temperature", temperature},
    {"mae_uniform", mae_uniform},
    {"two_sample", two_sample},
    {"known_from", known_from},
    {"zscore", zscore},
    {"ecdf_band", ecdf_band},
    {"ecdf_test", ecdf_test},
};

static void test_diagnostics__survive_every_failure(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        fail_each(deeds[i].doing, deeds[i].name);
    }
}

static void test_ksd__survives_every_failure(void **unused)
{
    static const double cholesky[DIM * DIM] = {2.0, 0.0, 0.5, 1.0};

    (void)unused;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        ksd_options = (relmc_ksd_options){.size = sizeof ksd_options,
                                          .cholesky = cholesky,
                                          .threads = threads,
                                          .landmarks = 20,
                                          .block = 30};
        fail_each(ksd, "ksd");
        fail_each(ksd_nystrom, "ksd_nystrom");
        fail_each(ksd_blocks, "ksd_blocks");
    }
}

static void test_others__take_no_memory(void **unused)
{
    const long n = n_requests;
    double energy[CHAINS], pooled, p[401];
    size_t n_bins = 0;

    (void)unused;
    assert_int_equal(relmc_ebfmi(energy, &pooled, &slow, NULL), RELMC_OK);
    assert_int_equal(relmc_mae_bins(p, &n_bins, banana, NULL), RELMC_OK);
    assert_int_equal(relmc_rosenblatt(u, banana, N, x, NULL), RELMC_OK);
    assert_int_equal(n_requests, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diagnostics__survive_every_failure),
        cmocka_unit_test(test_ksd__survives_every_failure),
        cmocka_unit_test(test_others__take_no_memory),
    };

    return cmocka_run_group_tests(tests, make_samples, drop_samples);
}
