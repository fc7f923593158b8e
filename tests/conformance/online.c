/*
 * online.c - the sink of running estimates gets the draws that the memory sink gets,
 * gives the same estimates for any lanes and threads, and takes no memory during a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "relmc_diag.h"
#include "support/check.h"
#include "support/kept.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const double levels[] = {0.05, 0.5, 0.95};
enum { N_LEVELS = 3, DIM = 3 };

static relmc_options small_options(void)
{
    relmc_options o = RELMC_INIT(relmc_options);

    o.sampler = "hmc";
    o.seed = 8;
    o.chains = 4;
    o.warmup = 50;
    o.draws = 300;
    o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_RUNNING;
    return o;
}

/* A finished run of gaussian:dim=3. */
static relmc_run *run_with(const relmc_options *o, relmc_target **t)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (relmc_target_open(t, "gaussian:dim=3,rho=0.5", NULL, &err) ||
        relmc_run_create(&run, *t, o, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        print_error("%s\n", err.message);
        fail();
    }
    return run;
}

struct all {
    relmc_online online[DIM + 1];
    double quantile[DIM + 1][N_LEVELS];
};

static struct all ask_all(const relmc_run *run)
{
    struct all a;

    memset(&a, 0, sizeof a); /* compared byte by byte */
    for (size_t i = 0; i <= DIM; i++) {
        a.online[i].size = sizeof a.online[i];
        assert_int_equal(relmc_run_online(&a.online[i], a.quantile[i], run, i,
                                          N_LEVELS, levels, NULL),
                         RELMC_OK);
    }
    return a;
}

static struct all result_of(const relmc_options *o)
{
    relmc_target *t = NULL;
    relmc_run *run = run_with(o, &t);
    const struct all a = ask_all(run);

    relmc_run_destroy(run);
    relmc_target_destroy(t);
    return a;
}

/* ---- the draws it gets ------------------------------------------------------ */

static void check_against_memory(relmc_options o, size_t n)
{
    relmc_target *t = NULL;
    relmc_run *run = run_with(&o, &t);
    const struct all a = ask_all(run);
    double *x = malloc(4 * n * sizeof *x);

    for (size_t i = 0; i < DIM; i++) {
        const relmc_series series = {x, 4, n, 1, n};
        relmc_summary exact = RELMC_INIT(relmc_summary);

        for (size_t k = 0; k < 4; k++) {
            size_t n_rows;
            const double *rows = kept_outputs(run, k, &n_rows);

            for (size_t r = 0; r < n; r++) { /* the last n, without warm-up */
                x[k * n + r] = rows[(n_rows - n + r) * DIM + i];
            }
        }
        assert_int_equal(relmc_summarise(&exact, &series, NULL), RELMC_OK);
        assert_int_equal(a.online[i].n, 4 * n);
        check_close(a.online[i].mean, exact.mean, 1e-11);
        check_close(a.online[i].sd, exact.sd, 1e-11);
        check_close(a.quantile[i][0], exact.q5, 1e-13);
        check_close(a.quantile[i][1], exact.median, 1e-13);
        check_close(a.quantile[i][2], exact.q95, 1e-13);
    }
    free(x);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
}

static void test_online__sees_the_draws_after_warmup(void **unused)
{
    relmc_options o = small_options();

    (void)unused;
    check_against_memory(o, 300);
    o.keep |= RELMC_KEEP_WARMUP;
    check_against_memory(o, 300);
    o.thin = 7;
    check_against_memory(o, 43);
    o.first_chain = 5;
    check_against_memory(o, 43);
}

/* lp of a normal law in 3 dimensions: -1/2 of a chi-squared with 3 degrees. */
static void test_online__keeps_lp_last(void **unused)
{
    relmc_options o = small_options();

    (void)unused;
    o.draws = 20000;
    const struct all a = result_of(&o);
    check_zscore(a.online[DIM].mean, -1.5, a.online[DIM].mcse_mean, 4.5);
    check_near(a.online[DIM].sd, sqrt(1.5), 0.05);
    check_near(a.quantile[DIM][1], -0.5 * 2.36597, 0.05);
}

static void test_online__does_not_depend_on_lanes_and_threads(void **unused)
{
    static const struct {
        uint32_t lanes, threads;
        const char *isa;
    } ways[] = {{1, 1, NULL}, {4, 1, NULL}, {2, 2, NULL}, {1, 4, "baseline"}};
    relmc_options o = small_options();

    (void)unused;
    o.draws = 5000;
    const struct all first = result_of(&o);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        o.lanes = ways[i].lanes;
        o.threads = ways[i].threads;
        o.isa = ways[i].isa;
        const struct all a = result_of(&o);
        assert_memory_equal(&a, &first, sizeof a);
    }
}

static void test_online__can_be_asked_on_the_way(void **unused)
{
    relmc_options o = small_options();
    relmc_target *t = NULL;
    relmc_run *run = NULL;
    relmc_online online = RELMC_INIT(relmc_online);

    (void)unused;
    assert_int_equal(
        relmc_target_open(&t, "gaussian:dim=3,rho=0.5", NULL, NULL), 0);
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    for (int64_t n = 0; n <= 350; n += 50) {
        assert_int_equal(relmc_run_online(&online, NULL, run, 0, 0, NULL, NULL),
                         RELMC_OK);
        assert_int_equal(online.n, n > 50 ? 4 * (n - 50) : 0);
        assert_int_equal(isnan(online.mean) != 0, n <= 50);
        assert_int_equal(relmc_run_advance(run, 50, NULL), RELMC_OK);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(t);
}

static void test_online__refuses_nonsense(void **unused)
{
    static const double bad[] = {0.5, 1.5};
    relmc_options o = small_options();
    relmc_target *t = NULL;
    o.keep_points = 16;
    relmc_run *run = run_with(&o, &t);
    relmc_online online = {.size = sizeof online, .n = 77};
    relmc_error err = {0};
    double q[2];

    (void)unused;
    assert_int_equal(relmc_run_online(&online, q, run, 4, 0, NULL, &err),
                     RELMC_EINVAL);
    assert_int_equal(relmc_run_online(&online, q, run, 0, 2, bad, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "1.5"));
    assert_int_equal(online.n, 77);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    o.keep = RELMC_KEEP_OUTPUTS;
    run = run_with(&o, &t);
    assert_int_equal(relmc_run_online(&online, q, run, 0, 0, NULL, &err),
                     RELMC_EUNSUPP);
    assert_non_null(strstr(err.message, "RELMC_KEEP_RUNNING"));
    relmc_run_destroy(run);
    for (uint32_t points = 1; points < 100000; points += 65536) {
        o.keep_points = points;
        assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_EINVAL);
        assert_non_null(strstr(err.message, "keep_points"));
    }
    relmc_target_destroy(t);
}

/* ---- memory --------------------------------------------------------------- */

struct purse {
    atomic_long n_requests;
    atomic_size_t bytes;
};

static void *acquire(void *ctx, size_t bytes)
{
    struct purse *p = ctx;

    p->n_requests++;
    p->bytes += bytes;
    return aligned_alloc(64, bytes);
}

static void release(void *ctx, void *block, size_t bytes)
{
    struct purse *p = ctx;

    p->bytes -= bytes;
    free(block);
}

/* The bytes that a run of `draws` draws holds after the first of them. */
static size_t bytes_of(int64_t draws)
{
    struct purse purse = {0};
    relmc_options o = small_options();
    relmc_target *t = NULL;
    relmc_run *run = NULL;

    o.draws = draws;
    o.keep = RELMC_KEEP_RUNNING;
    o.acquire = acquire;
    o.release = release;
    o.memory_ctx = &purse;
    assert_int_equal(relmc_target_open(&t, "gaussian:dim=3", NULL, NULL),
                     RELMC_OK);
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    const long n_requests = purse.n_requests;
    const size_t bytes = purse.bytes;
    assert_int_equal(relmc_run_advance(run, 30000, NULL), RELMC_OK);
    assert_int_equal(purse.n_requests, n_requests);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    assert_int_equal(purse.bytes, 0);
    return bytes;
}

/* The sketch gets another level for every factor of 8 in draws: 16 kB for each of the
 * 4 x 4 quantities. */
static void test_online__takes_memory_beforehand_and_little(void **unused)
{
    const size_t small = bytes_of(100000), large = bytes_of(10000000);
    const size_t huge = bytes_of((int64_t)1 << 50);

    (void)unused;
    assert_true(large > small && large - small < 3 * 16 * 17000);
    assert_true(huge < 8000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_online__sees_the_draws_after_warmup),
        cmocka_unit_test(test_online__keeps_lp_last),
        cmocka_unit_test(test_online__does_not_depend_on_lanes_and_threads),
        cmocka_unit_test(test_online__can_be_asked_on_the_way),
        cmocka_unit_test(test_online__refuses_nonsense),
        cmocka_unit_test(test_online__takes_memory_beforehand_and_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
