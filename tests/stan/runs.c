/*
 * runs.c - runs of Stan models: their draws do not depend on threads or processes, and
 * crashes and failures of a model are reported.  The libraries are variants of mock.c.
 */
#define _DEFAULT_SOURCE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "relmc_diag.h"
#include "stan/open_mock.h"
#include "support/kept.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DRAWS = 50 };

/* ---- runs ----------------------------------------------------------------------- */

struct kept {
    double x[8][DRAWS][N_OUTPUTS], z[8][DRAWS][DIM];
    size_t n[8];
};

static relmc_status keep(void *ctx, const relmc_draw *d)
{
    struct kept *kept = ctx;
    const size_t t = kept->n[d->chain]++;

    memcpy(kept->x[d->chain][t], d->outputs, sizeof kept->x[0][0]);
    memcpy(kept->z[d->chain][t], d->coordinates, sizeof kept->z[0][0]);
    return RELMC_OK;
}

static relmc_options usual(uint32_t threads)
{
    return (relmc_options){.size = sizeof(relmc_options),
                           .seed = 7,
                           .draws = DRAWS,
                           .warmup = 40,
                           .chains = 4,
                           .threads = threads,
                           .keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_RUNNING};
}

static struct kept *sample(const relmc_target *t, const relmc_options *o)
{
    struct kept *kept = calloc(1, sizeof *kept);
    relmc_run *run = NULL;
    relmc_error err = {0};
    size_t n = 0;

    assert_non_null(kept);
    if (relmc_run_create(&run, t, o, &err) ||
        relmc_run_observe(run, keep, kept, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s", err.message);
    }
    const double *rows = kept_outputs(run, o->chains - 1, &n);
    assert_int_equal(n, DRAWS);
    assert_memory_equal(rows, kept->x[o->first_chain + o->chains - 1],
                        sizeof kept->x[0]);
    relmc_online online = RELMC_INIT(relmc_online);
    assert_int_equal(relmc_run_online(&online, NULL, run, TAU, 0, NULL, NULL),
                     RELMC_OK);
    assert_true(online.mean > 0.0);
    assert_int_equal(
        relmc_run_online(&online, NULL, run, N_OUTPUTS, 0, NULL, NULL),
        RELMC_OK);
    assert_true(online.mean < 0.0); /* lp */
    assert_int_equal(
        relmc_run_online(&online, NULL, run, N_OUTPUTS + 1, 0, NULL, NULL),
        RELMC_EINVAL);
    relmc_run_destroy(run);
    return kept;
}

static void no_child_is_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static size_t n_open_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t n = 0;

    while (folder && readdir(folder)) {
        n++;
    }
    if (folder) {
        (void)closedir(folder);
    }
    return n;
}

static void draws_show_outputs(void **state)
{
    relmc_target *t = open_mock(MOCK("plain"), "{\"m\": 1}");
    const relmc_options o = usual(1);
    struct kept *kept = sample(t, &o);

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        double previous = 0.0;

        for (size_t i = 0; i < DRAWS; i++) {
            const double *x = kept->x[k][i], *z = kept->z[k][i];

            assert_true(x[MU] == z[MU] && x[SIGMA] == exp(z[SIGMA]));
            assert_memory_equal(x + B11, z + B11, 4 * sizeof *x);
            assert_true(x[TAU] == x[SIGMA] * x[SIGMA]);
            assert_true(x[K] == 1.0); /* every draw has its own generator */
            assert_true(x[U] != previous);
            previous = x[U];
        }
    }
    free(kept);
    relmc_target_destroy(t);
}

/* Coordinates of draws give their outputs again. */
static void outputs_of_points_are_those_of_draws(void **state)
{
    static const char *const mocks[] = {MOCK("plain"), MOCK("threads")};

    (void)state;
    for (size_t m = 0; m < 2; m++) {
        relmc_target *t = open_mock(mocks[m], "{\"m\": 1}");
        const relmc_options o = usual(2);
        struct kept *kept = sample(t, &o);
        double out[DRAWS][N_OUTPUTS];

        for (uint32_t k = 0; k < 4; k++) {
            assert_int_equal(relmc_target_outputs(t, o.seed, k, 0, DRAWS,
                                                  kept->z[k][0], out[0], NULL),
                             RELMC_OK);
            assert_memory_equal(out, kept->x[k], sizeof out);
            assert_int_equal(relmc_target_outputs(t, o.seed, k, 9, 3,
                                                  kept->z[k][9], out[0], NULL),
                             RELMC_OK);
            assert_memory_equal(out, kept->x[k][9], 3 * sizeof *out);
        }
        free(kept);
        relmc_target_destroy(t);
    }
}

/* Their stream depends on the seed and the number of the chain. */
static void chains_have_their_own_random_numbers(void **state)
{
    relmc_target *t = open_mock(MOCK("threads"), "{\"m\": 1}");
    relmc_options o = usual(1);
    struct kept *kept = sample(t, &o);

    (void)state;
    for (size_t a = 0; a < 4; a++) {
        for (size_t b = 0; b < a; b++) {
            assert_true(kept->x[a][0][U] != kept->x[b][0][U]);
        }
    }
    o.first_chain = 3;
    o.chains = 1;
    o.adapt = "none";
    o.step_size = 0.3;
    struct kept *late = sample(t, &o);
    for (size_t i = 0; i < DRAWS; i++) {
        assert_true(late->x[3][i][U] == kept->x[3][i][U]);
    }
    o.seed = 8;
    struct kept *other = sample(t, &o);
    assert_true(other->x[3][0][U] != kept->x[3][0][U]);
    free(other);
    free(late);
    free(kept);
    relmc_target_destroy(t);
}

static relmc_run *memory_run(const relmc_target *t, const relmc_options *o,
                             const char *checkpoint)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (open_or_resume(&run, t, o, checkpoint, &err)) {
        fail_msg("%s", err.message);
    }
    return run;
}

/* Also random outputs, with and without worker processes. */
static void runs_go_on_from_checkpoints(void **state)
{
    static const char file[] = "stan-runs.ckpt";
    relmc_target *t = open_mock(MOCK("plain"), "{\"m\": 1}");

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        relmc_options o = usual(1 + i % 2);
        relmc_run *whole = memory_run(t, &o, NULL);

        assert_int_equal(relmc_run_advance(whole, INT64_MAX, NULL), RELMC_OK);
        o.threads = 1 + i / 2;
        relmc_run *run = memory_run(t, &o, NULL);
        assert_int_equal(relmc_run_advance(run, o.warmup + DRAWS / 2, NULL),
                         RELMC_OK);
        assert_int_equal(relmc_run_save(run, file, NULL, 0, NULL), RELMC_OK);
        relmc_run_destroy(run);
        o.threads = 2 - i / 2;
        run = memory_run(t, &o, file);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        for (size_t k = 0; k < 4; k++) {
            size_t n, m;
            const double *x = kept_outputs(whole, k, &n);
            const double *y = kept_outputs(run, k, &m);

            assert_int_equal(n, m);
            assert_int_equal(n, DRAWS);
            assert_memory_equal(x, y,
                                n * relmc_target_n_outputs(t) * sizeof *x);
        }
        relmc_run_destroy(run);
        relmc_run_destroy(whole);
        (void)remove(file);
        (void)remove("stan-runs.ckpt.1");
    }
    relmc_target_destroy(t);
}

static void same_draws_for_any_number_of_threads(void **state)
{
    static const char *const libraries[] = {MOCK("plain"), MOCK("threads")};
    static const char *const samplers[] = {"auto", "hmc:steps=5",
                                           "tempered:replicas=3"};
    const size_t n_files = n_open_files();

    (void)state;
    for (size_t s = 0; s < sizeof samplers / sizeof *samplers; s++) {
        struct kept *first = NULL;

        for (size_t i = 0; i < 8; i++) {
            relmc_target *t = open_mock(libraries[i % 2], "{\"m\": 1}");
            relmc_options o = usual(i / 2 == 1 ? 4 : i / 2 == 2 ? 2 : 1);

            o.sampler = samplers[s];
            o.lanes = i / 2 == 3 ? 4 : 0;
            o.lanes = i / 2 == 2 ? 2 : o.lanes;
            struct kept *kept = sample(t, &o);
            if (first) {
                assert_memory_equal(first, kept, sizeof *kept);
                free(kept);
            } else {
                first = kept;
            }
            relmc_target_destroy(t);
            no_child_is_left();
        }
        free(first);
    }
    assert_int_equal(n_open_files(), n_files);
}

/* The mock without threads crashes if two threads call it, so the calls must be made by
 * workers. */
static void workers_make_the_calls(void **state)
{
    /* one process would make this many calls, no worker does */
    relmc_target *t = open_mock(MOCK("plain"), "{\"m\": 1, \"leave\": 100000}");
    relmc_options o = usual(4);
    relmc_run *run = NULL;
    relmc_error err = {0};

    (void)state;
    assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_OK);
    /* no worker has ended */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
    relmc_run_destroy(run);
    no_child_is_left();
    o.threads = 1;
    assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_OK);
    no_child_is_left();
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    t = open_mock(MOCK("threads"), "{\"m\": 1}");
    o.threads = 4;
    assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_OK);
    no_child_is_left();
    relmc_run_destroy(run);
    relmc_target_destroy(t);
}

/* ---- crashes and failures -------------------------------------------------------- */

static void rejections_are_counted(void **state)
{
    int64_t counts[2] = {0};

    (void)state;
    for (size_t i = 0; i < 2; i++) { /* in this process and in workers */
        relmc_target *t =
            open_mock(MOCK("plain"), "{\"m\": 1, \"reject\": 1.5}");
        const double x[DIM] = {2.0};
        double grad[DIM], lp;
        relmc_error err = {0};
        const char *first = "";
        const relmc_options o = usual(i ? 4 : 1);

        assert_int_equal(relmc_target_rejections(t, &first), 0);
        assert_null(first);
        struct kept *kept = sample(t, &o);
        for (size_t k = 0; k < 4; k++) {
            for (size_t j = 0; j < DRAWS; j++) {
                assert_true(kept->x[k][j][MU] <= 1.5);
            }
        }
        free(kept);
        counts[i] = relmc_target_rejections(t, &first);
        assert_true(counts[i] > 0);
        assert_string_equal(first,
                            "Exception: normal_lpdf: Location parameter is "
                            "inf, but must be finite!");
        assert_int_equal(relmc_target_eval(t, 1, x, &lp, grad, &err),
                         RELMC_REJECT);
        assert_non_null(strstr(err.message, "normal_lpdf"));
        assert_true(lp == -HUGE_VAL);
        assert_int_equal(relmc_target_rejections(t, NULL), counts[i] + 1);
        assert_int_equal(relmc_target_output_failures(t, NULL), 0);
        relmc_target_destroy(t);
    }
    assert_int_equal(counts[0], counts[1]);
}

static void not_a_number_is_no_density(void **state)
{
    relmc_target *t = open_mock(MOCK("plain"), "{\"m\": 1, \"nan\": 1.5}");
    const relmc_options o = usual(1);
    struct kept *kept = sample(t, &o);

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        for (size_t j = 0; j < DRAWS; j++) {
            assert_true(kept->x[k][j][MU] <= 1.5);
        }
    }
    assert_int_equal(relmc_target_rejections(t, NULL), 0);
    free(kept);
    relmc_target_destroy(t);
}

/* Outputs of the blocks before the one that throws are kept. */
static void failed_outputs_are_nan(void **state)
{
    static const struct {
        const char *data, *said;
        size_t first; /* the first output that is NaN */
    } cases[] = {
        {"{\"m\": 1, \"fail\": 1}", "Exception: u is out of range", U},
        {"{\"m\": 1, \"fail_tp\": 1}", "Exception: tau is not finite", TAU},
    };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        relmc_target *t = open_mock(MOCK("plain"), cases[i / 2].data);
        const relmc_options o = usual(i % 2 ? 4 : 1);
        struct kept *kept = calloc(1, sizeof *kept);
        relmc_run *run = NULL;
        const char *first = NULL;
        int64_t n = 0;

        assert_non_null(kept);
        assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
        assert_int_equal(relmc_run_observe(run, keep, kept, NULL), RELMC_OK);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        for (size_t j = 0; j < 4 * DRAWS; j++) {
            const double *x = kept->x[j / DRAWS][j % DRAWS];
            const int is_lost = x[MU] > 1.0;

            n += is_lost;
            for (size_t k = 0; k < N_OUTPUTS; k++) {
                assert_int_equal(isnan(x[k]) != 0,
                                 is_lost && k >= cases[i / 2].first);
            }
            assert_true(x[SIGMA] == exp(kept->z[j / DRAWS][j % DRAWS][SIGMA]));
        }
        assert_true(n > 10);
        assert_int_equal(relmc_target_output_failures(t, &first), n);
        assert_string_equal(first, cases[i / 2].said);
        relmc_run_destroy(run);
        relmc_target_destroy(t);
        free(kept);
    }
}

static void no_start_is_an_error(void **state)
{
    relmc_target *t = open_mock(MOCK("plain"), "{\"m\": 1, \"reject\": -5}");
    relmc_run *run = NULL;
    relmc_error err = {0};

    (void)state;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        const relmc_options o = usual(threads);

        assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_EINIT);
        assert_null(run);
        no_child_is_left();
    }
    assert_int_equal(relmc_target_rejections(t, NULL), 200);
    relmc_target_destroy(t);
}

static void a_crash_ends_the_run_with_a_message(void **state)
{
    static const struct {
        const char *data, *said;
    } cases[] = {
        {"{\"m\": 1, \"crash\": 60}",
         "stan: the model crashed in the log density of chain "},
        {"{\"m\": 1, \"leave\": 60}", "stan: the model ended its process in "},
    };
    const size_t n_files = n_open_files();

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        relmc_target *t = open_mock(MOCK("plain"), cases[i].data);
        const relmc_options o = usual(4);
        relmc_run *run = NULL;
        relmc_error err = {0};

        assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_OK);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, &err),
                         RELMC_ETARGET);
        if (!strstr(err.message, cases[i].said) ||
            !strstr(err.message,
                    i ? "(exit code 7)" : "signal 11 (segmentation fault)")) {
            fail_msg("%s", err.message);
        }
        relmc_run_destroy(run);
        relmc_target_destroy(t);
        no_child_is_left();
    }
    assert_int_equal(n_open_files(), n_files);
}

/* The workers of a killed parent end, even during a long call: the pipe whose end all of
 * them hold is closed. */
static void workers_die_with_their_parent(void **state)
{
    int ends[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        relmc_target *t = open_mock(MOCK("plain"), "{\"m\": 1, \"slow\": 2e7}");
        relmc_options o = usual(4);
        relmc_run *run = NULL;

        (void)close(ends[0]);
        (void)write(ends[1], "x", 1); /* create waits for the first gradient */
        _exit(relmc_run_create(&run, t, &o, NULL));
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    (void)usleep(100000);
    struct pollfd closed = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&closed, 1, 0), 0); /* not closed yet */
    assert_int_equal(kill(parent, SIGKILL), 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    assert_int_equal(poll(&closed, 1, 15000), 1); /* a gradient takes 20 s */
    assert_int_equal(read(ends[0], &byte, 1), 0);
    (void)close(ends[0]);
    no_child_is_left();
}

static void *stop_soon(void *run)
{
    (void)usleep(50000);
    relmc_run_stop(run);
    return NULL;
}

/* A slow model is stopped between transitions.  Signals of the terminal do not reach its
 * workers. */
static void slow_models_can_be_stopped(void **state)
{
    relmc_target *t = open_mock(MOCK("plain"), "{\"m\": 1, \"slow\": 200}");
    relmc_options o = usual(4);
    relmc_run *run = NULL;
    relmc_error err = {0};
    pthread_t thread;

    (void)state;
    o.draws = 1000000;
    o.sampler = "hmc:steps=5";
    assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_OK);
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, run), 0);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, &err), RELMC_STOPPED);
    (void)pthread_join(thread, NULL);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    no_child_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_show_outputs),
        cmocka_unit_test(outputs_of_points_are_those_of_draws),
        cmocka_unit_test(chains_have_their_own_random_numbers),
        cmocka_unit_test(runs_go_on_from_checkpoints),
        cmocka_unit_test(same_draws_for_any_number_of_threads),
        cmocka_unit_test(workers_make_the_calls),
        cmocka_unit_test(rejections_are_counted),
        cmocka_unit_test(not_a_number_is_no_density),
        cmocka_unit_test(failed_outputs_are_nan),
        cmocka_unit_test(no_start_is_an_error),
        cmocka_unit_test(a_crash_ends_the_run_with_a_message),
        cmocka_unit_test(workers_die_with_their_parent),
        cmocka_unit_test(slow_models_can_be_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
