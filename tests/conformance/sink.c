/*
 * sink.c - a full disk, a missing directory or a bad argument of a sink is reported and
 * leaves no files, and rows in memory are kept as asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/sink.h"
#include "relmc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the file system ------------------------------------------------------ */

/* The status of opening a sink; the run goes on without it. */
static relmc_status try_sink(const char *spec, relmc_error *err)
{
    relmc_options o = small_options();
    relmc_target *t = NULL;
    relmc_run *run = create("banana", &o, &t);
    const relmc_status status = relmc_run_write(run, spec, err);

    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    assert_int_equal(relmc_run_finish(run, NULL), RELMC_OK);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    return status;
}

static int exists(const char *base, unsigned chain)
{
    struct stat info;
    char path[256];

    file_name(path, base, chain);
    return lstat(path, &info) == 0;
}

static void test_csv__reports_a_full_disk(void **unused)
{
    char path[256], spec[300];
    relmc_error err = {0};
    FILE *full = fopen("/dev/full", "w");

    (void)unused;
    if (!full) {
        skip();
    }
    assert_int_equal(fclose(full), 0);
    /* the first file is made, the second cannot be written */
    file_name(path, "full", 2);
    assert_int_equal(symlink("/dev/full", path), 0);
    (void)snprintf(spec, sizeof spec, "csv:%s/full", folder);
    assert_int_equal(try_sink(spec, &err), RELMC_EIO);
    assert_int_equal(err.status, RELMC_EIO);
    assert_non_null(strstr(err.message, path));
    assert_null(strchr(err.message, '\n'));
    for (unsigned k = 1; k <= 3; k++) {
        assert_false(exists("full", k));
    }
}

static void test_csv__reports_a_disk_that_fills_up(void **unused)
{
    relmc_options o = small_options();
    relmc_target *t = NULL;
    relmc_error err = {0}, err2 = {0};
    struct rlimit old, small;
    char path[256], spec[300];

    (void)unused;
    o.draws = 2000;
    o.chains = 1;
    relmc_run *run = create("banana", &o, &t);
    (void)snprintf(spec, sizeof spec, "csv:%s/fills", folder);
    assert_int_equal(relmc_run_write(run, spec, NULL), RELMC_OK);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 20000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const relmc_status status = relmc_run_advance(run, INT64_MAX, &err);
    const relmc_status closed = relmc_run_finish(run, &err2);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, handler);
    file_name(path, "fills", 1);
    assert_int_equal(status, RELMC_EIO);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(closed, RELMC_EIO);
    assert_non_null(strstr(err2.message, path));
    relmc_run_destroy(run);
    relmc_target_destroy(t);
}

static void test_csv__reports_a_missing_directory(void **unused)
{
    relmc_error err = {0};
    char spec[300];

    (void)unused;
    (void)snprintf(spec, sizeof spec, "csv:%s/no/such/out", folder);
    assert_int_equal(try_sink(spec, &err), RELMC_EIO);
    assert_non_null(strstr(err.message, spec + 4));
    assert_non_null(strstr(err.message, "No such file"));
}

/* If the third of three files cannot be made, the others are removed. */
static void test_csv__leaves_nothing_behind(void **unused)
{
    relmc_error err = {0};
    char path[256], spec[300];

    (void)unused;
    file_name(path, "part", 3);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(spec, sizeof spec, "csv:%s/part", folder);
    assert_int_equal(try_sink(spec, &err), RELMC_EIO);
    assert_non_null(strstr(err.message, path));
    assert_false(exists("part", 1));
    assert_false(exists("part", 2));
    assert_true(exists("part", 3));
    assert_int_equal(rmdir(path), 0);
}

static void test_sink__refuses_bad_arguments(void **unused)
{
    static const struct {
        const char *spec;
        relmc_status status;
        const char *says;
    } cases[] = {
        {"csv", RELMC_EINVAL, "csv:BASE"},
        {"csv:", RELMC_EINVAL, "csv:BASE"},
        {"csv:,digits=8", RELMC_EINVAL, "csv:BASE"},
        {"csv:sink-bad,digits=0", RELMC_EINVAL, "[1, 17]"},
        {"csv:sink-bad,digits=18", RELMC_EINVAL, "[1, 17]"},
        {"csv:sink-bad,digits=3.5", RELMC_EINVAL, "3.5"},
        {"csv:sink-bad,digits=", RELMC_EINVAL, "digits"},
        {"csv:sink-bad,digits=8x", RELMC_EINVAL, "8x"},
        {"csv:sink-bad,digits=nan", RELMC_EINVAL, "digits"},
        {"cvs", RELMC_EUNKNOWN, "csv"},
        {"", RELMC_EUNKNOWN, "sink"},
        {":x", RELMC_EUNKNOWN, "sink"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        relmc_error err = {0};
        const relmc_status status = try_sink(cases[i].spec, &err);

        if (status != cases[i].status || !strstr(err.message, cases[i].says)) {
            print_error("'%s': %s, '%s'\n", cases[i].spec,
                        relmc_status_name(status), err.message);
            fail();
        }
        assert_int_equal(err.status, status);
    }
    assert_int_equal(access("sink-bad_1.csv", F_OK), -1);
}

/* ---- rows in memory ------------------------------------------------------- */

static relmc_status see(void *ctx, const relmc_draw *draw)
{
    (void)ctx;
    (void)draw;
    return RELMC_OK;
}

static void test_draws__are_kept_as_asked(void **unused)
{
    relmc_options o = small_options();
    relmc_target *t = NULL;
    relmc_run *run = create("banana", &o, &t);
    relmc_draws d = RELMC_INIT(relmc_draws);
    relmc_error err = {0};

    (void)unused;
    assert_int_equal(relmc_run_draws(run, 0, &d, NULL), RELMC_OK);
    assert_non_null(d.outputs); /* no rows yet */
    assert_non_null(d.stats);
    assert_null(d.coordinates);
    assert_int_equal(d.n, 0);
    assert_int_equal(d.n_outputs, 2);
    assert_int_equal(d.dim, 2);
    assert_int_equal(d.n_stats, RELMC_N_STATS);
    assert_int_equal(relmc_run_advance(run, 30, NULL), RELMC_OK);
    const double *first = d.outputs;
    assert_int_equal(relmc_run_draws(run, 2, &d, NULL), RELMC_OK);
    assert_int_equal(d.n, 10);
    assert_int_equal(d.n_warmup, 0);
    assert_int_equal(relmc_run_draws(run, 0, &d, NULL), RELMC_OK);
    assert_ptr_equal(d.outputs, first);
    assert_int_equal(relmc_run_draws(run, 3, &d, &err), RELMC_EINVAL);
    assert_non_null(strstr(err.message, "there are 3"));
    /* observers must be added before the first draw */
    assert_int_equal(relmc_run_observe(run, see, NULL, NULL), RELMC_EINVAL);
    relmc_run_destroy(run);
    relmc_target_destroy(t);

    o.keep = RELMC_ZERO;
    run = create("banana", &o, &t);
    assert_int_equal(relmc_run_advance(run, 30, NULL), RELMC_OK);
    assert_int_equal(relmc_run_draws(run, 0, &d, NULL), RELMC_OK);
    assert_int_equal(d.n, 0);
    assert_true(!d.outputs && !d.stats && !d.coordinates);
    relmc_run_destroy(run);
    relmc_target_destroy(t);

    o.keep = RELMC_KEEP_COORDINATES | RELMC_KEEP_WARMUP;
    run = create("banana", &o, &t);
    assert_int_equal(relmc_run_advance(run, 30, NULL), RELMC_OK);
    assert_int_equal(relmc_run_draws(run, 0, &d, NULL), RELMC_OK);
    assert_int_equal(d.n, 30);
    assert_int_equal(d.n_warmup, 20);
    assert_true(!d.outputs && !d.stats && d.coordinates);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
}

static void test_draws__keep_is_a_sum(void **unused)
{
    static const int wrong[] = {32, -2, INT32_MAX};
    relmc_options o = small_options();
    relmc_target *t = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};

    (void)unused;
    assert_int_equal(relmc_target_open(&t, "banana", NULL, NULL), RELMC_OK);
    for (size_t i = 0; i < 3; i++) {
        o.keep = wrong[i];
        assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_EINVAL);
        assert_non_null(strstr(err.message, "RELMC_KEEP_"));
    }
    relmc_target_destroy(t);
}

static void test_stats__have_the_names_of_columns(void **unused)
{
    (void)unused;
    assert_string_equal(relmc_stat_name(RELMC_STAT_LP), "lp__");
    assert_string_equal(relmc_stat_name(RELMC_STAT_SPEED), "speed__");
    assert_string_equal(relmc_stat_name(RELMC_STAT_N_GRAD), "n_grad__");
    assert_null(relmc_stat_name(RELMC_N_STATS));
    assert_null(relmc_stat_name(-1));
}

static int remove_folder(void **unused)
{
    static const char *const bases[] = {"full", "fills"};

    (void)unused;
    return remove_files(bases, sizeof bases / sizeof *bases);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv__reports_a_full_disk),
        cmocka_unit_test(test_csv__reports_a_disk_that_fills_up),
        cmocka_unit_test(test_csv__reports_a_missing_directory),
        cmocka_unit_test(test_csv__leaves_nothing_behind),
        cmocka_unit_test(test_sink__refuses_bad_arguments),
        cmocka_unit_test(test_draws__are_kept_as_asked),
        cmocka_unit_test(test_draws__keep_is_a_sum),
        cmocka_unit_test(test_stats__have_the_names_of_columns),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
