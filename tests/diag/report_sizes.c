/* report_sizes.c - reports of callers with older and newer headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "relmc_diag.h"
#include "relmc_spec.h"

#include <string.h>

enum { N = 40, ROOM = 512, BYTE = 0x55 };

static double x[N], y[N], score[N], u[N];
static const relmc_series series = {x, 2, N / 2, 1, N / 2};
static const relmc_stein_sample line = {N, 1, x, score, NULL};
static relmc_target *model;
static relmc_run *run;

/* ---- one call for each report -------------------------------------------- */

static int summarise(void *out, relmc_error *err)
{
    return relmc_summarise(out, &series, err);
}

static int rhat_nested(void *out, relmc_error *err)
{
    return relmc_rhat_nested(out, &series, 1, err);
}

static int ksd(void *out, relmc_error *err)
{
    return relmc_ksd(out, &line, NULL, err);
}

static int ksd_nystrom(void *out, relmc_error *err)
{
    return relmc_ksd_nystrom(out, &line, NULL, err);
}

static int ksd_blocks(void *out, relmc_error *err)
{
    const relmc_ksd_options options = {.size = sizeof options, .block = 10};

    return relmc_ksd_blocks(out, &line, &options, err);
}

static int graph_stein_line(void *out, relmc_error *err)
{
    return relmc_graph_stein_line(out, &line, NULL, err);
}

static int temperature(void *out, relmc_error *err)
{
    return relmc_temperature(out, model, N, 2, x, NULL, err);
}

static int mae(void *out, relmc_error *err)
{
    return relmc_mae(out, model, N, x, err);
}

static int mae_uniform(void *out, relmc_error *err)
{
    return relmc_mae_uniform(out, 1, N, u, 5, err);
}

static int two_sample(void *out, relmc_error *err)
{
    const relmc_two_samples samples = {1, N, N, x, y};

    return relmc_two_sample(out, NULL, &samples, NULL, err);
}

static int zscore(void *out, relmc_error *err)
{
    const relmc_known known = {.mean = 0.0, .sd = 1.0};

    return relmc_zscore(out, NULL, &series, &known, err);
}

static int ecdf_band(void *out, relmc_error *err)
{
    return relmc_ecdf_band_find(out, NULL, NULL, N, 10, 0.05, err);
}

static int gradient_check(void *out, relmc_error *err)
{
    return relmc_gradient_check(out, model, x, err);
}

static int online(void *out, relmc_error *err)
{
    return relmc_run_online(out, NULL, run, 0, 0, NULL, err);
}

static int progress(void *out, relmc_error *err)
{
    return relmc_run_progress(run, 0, out, err);
}

static int draws(void *out, relmc_error *err)
{
    return relmc_run_draws(run, 0, out, err);
}

static int component(void *out, relmc_error *err)
{
    return relmc_component_find("sampler", "nuts", out, err);
}

static int parameter(void *out, relmc_error *err)
{
    return relmc_component_param("sampler", "nuts", 0, out, err);
}

static const struct {
    size_t size;
    int (*call)(void *out, relmc_error *err);
} reports[] = {
    {sizeof(relmc_summary), summarise},
    {sizeof(relmc_nested_rhat), rhat_nested},
    {sizeof(relmc_ksd_report), ksd},
    {sizeof(relmc_ksd_bound), ksd_nystrom},
    {sizeof(relmc_ksd_estimate), ksd_blocks},
    {sizeof(relmc_graph_stein_report), graph_stein_line},
    {sizeof(relmc_temperature_report), temperature},
    {sizeof(relmc_mae_report), mae},
    {sizeof(relmc_mae_report), mae_uniform},
    {sizeof(relmc_two_sample_report), two_sample},
    {sizeof(relmc_zscores), zscore},
    {sizeof(relmc_ecdf_band), ecdf_band},
    {sizeof(relmc_gradient_report), gradient_check},
    {sizeof(relmc_online), online},
    {sizeof(relmc_progress), progress},
    {sizeof(relmc_draws), draws},
    {sizeof(relmc_component), component},
    {sizeof(relmc_parameter), parameter},
};

/* ---- tests --------------------------------------------------------------- */

static union {
    size_t size;
    unsigned char bytes[ROOM];
} room;

static int call(size_t i, size_t size, relmc_error *err)
{
    memset(&room, BYTE, sizeof room);
    room.size = size;
    return reports[i].call(&room, err);
}

static void check_untouched(size_t from)
{
    for (size_t b = from; b < ROOM; b++) {
        assert_int_equal(room.bytes[b], BYTE);
    }
}

static void test_reports__fill_what_the_caller_has(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        const size_t known = reports[i].size;
        unsigned char whole[ROOM];
        relmc_error err = {0};

        assert_int_equal(call(i, known, &err), RELMC_OK);
        assert_int_equal(room.size, known);
        check_untouched(known);
        memcpy(whole, &room, sizeof whole);

        assert_int_equal(call(i, known + 64, &err), RELMC_OK);
        assert_int_equal(room.size, known + 64);
        check_untouched(known);
        assert_memory_equal(room.bytes + sizeof(size_t), whole + sizeof(size_t),
                            known - sizeof(size_t));

        assert_int_equal(call(i, known - 8, &err), RELMC_OK);
        check_untouched(known - 8);
        assert_memory_equal(room.bytes + sizeof(size_t), whole + sizeof(size_t),
                            known - 8 - sizeof(size_t));
    }
}

static void test_reports__need_a_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        relmc_error err = {0};

        assert_int_equal(call(i, 0, &err), RELMC_EINVAL);
        assert_non_null(strstr(err.message, "size"));
        check_untouched(sizeof(size_t));
        assert_int_equal(call(i, SIZE_MAX, NULL), RELMC_EINVAL);
        check_untouched(sizeof(size_t));
    }
}

static int begin(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++) {
        x[i] = ((i * 17) % N - 0.5 * N) / 10.0;
        y[i] = ((i * 23) % N - 0.45 * N) / 10.0;
        score[i] = -x[i];
        u[i] = (i + 0.5) / N;
    }
    relmc_options o = RELMC_INIT(relmc_options);

    o.draws = o.warmup = 20;
    o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_RUNNING;
    return relmc_target_open(&model, "gmm1", NULL, NULL) ||
           relmc_run_create(&run, model, &o, NULL) ||
           relmc_run_advance(run, INT64_MAX, NULL);
}

static int end(void **state)
{
    (void)state;
    relmc_run_destroy(run);
    relmc_target_destroy(model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports__fill_what_the_caller_has),
        cmocka_unit_test(test_reports__need_a_size),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
