/*
 * team.c - a run in several processes makes the draws of a run in one, bit for bit:
 * samplers of every kind with every adaptation, files of sinks, and checkpoints resumed
 * by another number of processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/team.h"
#include "support/callback.h"

#include <stdio.h>

static char folder[] = "team-XXXXXX"; /* in the working directory */

static void serve(struct pipes *p, const relmc_target *target,
                  const relmc_options *o)
{
    const relmc_team team = team_of(p);
    relmc_run *run = NULL;
    int code = 1;

    if (!relmc_run_create_team(&run, target, o, &team, NULL)) {
        code = relmc_run_serve(run, NULL) != RELMC_OK;
        relmc_run_destroy(run);
    }
    _exit(code);
}

static relmc_run *open_team(struct pipes *p, uint32_t size,
                            const relmc_target *target, const relmc_options *o,
                            const char *file)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    open_pipes(p, size);
    for (uint32_t r = 1; r < size; r++) {
        p->child[r] = fork();
        assert_true(p->child[r] >= 0);
        if (p->child[r] == 0) {
            p->rank = r;
            keep_own_ends(p);
            serve(p, target, o);
        }
    }
    keep_own_ends(p);
    const relmc_team team = team_of(p);
    check_ok(file ? relmc_run_resume_team(&run, target, file, o, &team, &err)
                  : relmc_run_create_team(&run, target, o, &team, &err),
             &err);
    return run;
}

static void close_team(struct pipes *p, relmc_run *run)
{
    relmc_run_release(run);
    relmc_run_destroy(run);
    close_pipes(p);
}

/* In blocks, as the tool does. */
static void run_in_blocks(relmc_run *run, int64_t block)
{
    while (relmc_run_position(run) < WARMUP + DRAWS) {
        advance(run, block);
    }
}

/* The tuning of a run; the leader asks the workers for their part. */
struct tuning {
    unsigned char at[20000];
    size_t bytes; /* 0: not set yet */
};

static void check_tuning(relmc_run *run, struct tuning *known)
{
    struct tuning here = {0};
    relmc_error err = {0};

    check_ok(relmc_run_tuning(run, here.at, sizeof here.at, &here.bytes, &err),
             &err);
    assert_true(here.bytes <= sizeof here.at);
    if (known->bytes) {
        assert_int_equal(here.bytes, known->bytes);
        assert_memory_equal(here.at, known->at, here.bytes);
    }
    *known = here;
}

/* ---- tests ------------------------------------------------------------------------ */

static const char stretched[] = "\"does\": \"stretch\"";

static const struct {
    const char *model, *sampler, *adapt;
    uint32_t lanes, batch;
    const char *report; /* part of the tuning */
} methods[] = {
    {"gaussian:dim=3,rho=0.5", "auto", "auto", 0, 0, "\"warp\": []"},
    {"gaussian:dim=3,rho=0.5", "nuts", "auto:metric=1", 2, 0, ""},
    {"funnel:dim=3", "auto", "auto", 0, 0, stretched},
    {"funnel:dim=3", "auto", "auto", 1, 0, stretched},
    {"funnel:dim=3", "auto", "auto:neck=1,warp=0", 1, 0, "\"neck\""},
    {"gaussian:dim=3,rho=0.5", "nuts", "stan", 1, 0, ""},
    {"gaussian:dim=3,rho=0.5", "hmc:steps=5", "dual", 2, 0, ""},
    {"gaussian:dim=3", "ghmc", "none", 1, 0, ""},
    {"gaussian:dim=3", "tempered", "auto", 1, 0, ""},
    {"logistic:dim=3,n=100", "sghmc", "none", 1, 10, ""},
    {"logistic:dim=3,n=100", "sgnht", "none", 2, 10, ""},
    {"logistic:dim=3,n=100", "adam", "none", 1, 10, ""},
};

static void test_team__draws_do_not_depend_on_its_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        relmc_target *target = target_of(methods[i].model);
        relmc_options o = options_of(methods[i].sampler, methods[i].adapt);

        o.batch_rows = methods[i].batch;
        struct log *wanted = run_alone(target, &o);
        struct tuning tuning = {0};
        o.lanes = methods[i].lanes;
        for (uint32_t size = 1; size <= MOST; size++) {
            struct log *log = new_log();
            struct pipes pipes;
            relmc_error err = {0};

            o.threads = size % 2 + 1;
            relmc_run *run = open_team(&pipes, size, target, &o, NULL);
            check_ok(relmc_run_observe(run, note_draw, log, &err), &err);
            run_in_blocks(run, 7 * size);
            check_tuning(run, &tuning);
            check_ok(relmc_run_finish(run, &err), &err);
            check_same(log, wanted, methods[i].sampler);
            check_tuning(run, &tuning);
            assert_non_null(
                strstr(relmc_run_tuning_json(run), methods[i].report));
            relmc_progress report = {.size = sizeof report};
            for (size_t k = 0; k < CHAINS; k++) {
                check_ok(relmc_run_progress(run, (uint32_t)k, &report, &err),
                         &err);
                assert_int_equal(report.done, WARMUP + DRAWS);
                assert_true(report.n_grad >= WARMUP + DRAWS);
            }
            close_team(&pipes, run);
            free(log);
        }
        free(wanted);
        relmc_target_destroy(target);
    }
}

/* Saved by some processes and resumed by more or fewer, in warm-up and after it. */
static void test_team__checkpoints_are_for_every_size(void **state)
{
    static const int64_t cuts[] = {1, 30, 50, 64, 65, 129, 130, 145};
    char path[64];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/run.ckpt", folder);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        relmc_target *target = target_of(methods[i].model);
        relmc_options o = options_of(methods[i].sampler, methods[i].adapt);

        o.batch_rows = methods[i].batch;
        struct log *wanted = run_alone(target, &o);
        for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
            struct log *log = new_log();
            struct pipes pipes;
            relmc_error err = {0};

            const uint32_t sizes[] = {1 + (uint32_t)c % 3,
                                      1 + (uint32_t)(c + 1) % 3};
            relmc_run *run = open_team(&pipes, sizes[0], target, &o, NULL);
            check_ok(relmc_run_observe(run, note_draw, log, &err), &err);
            check_ok(relmc_run_advance(run, cuts[c], &err), &err);
            check_ok(relmc_run_save(run, path, "", 0, &err), &err);
            close_team(&pipes, run);
            run = open_team(&pipes, sizes[1], target, &o, path);
            check_ok(relmc_run_observe(run, note_draw, log, &err), &err);
            run_in_blocks(run, 30);
            check_same(log, wanted, methods[i].sampler);
            close_team(&pipes, run);
            free(log);
        }
        free(wanted);
        relmc_target_destroy(target);
    }
}

/* Chain 1 belongs to a worker; other chains may be further when the stop arrives. */
static void test_team__an_observer_can_stop_it(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    const relmc_options o = options_of("nuts", "dual");
    struct log *log = new_log();
    struct pipes pipes;
    relmc_error err = {0};

    (void)state;
    log->stop_at = 5;
    relmc_run *run = open_team(&pipes, 2, target, &o, NULL);
    check_ok(relmc_run_observe(run, note_draw, log, &err), &err);
    check_ok(relmc_run_advance(run, WARMUP, &err), &err);
    assert_int_equal(relmc_run_advance(run, 10, &err), RELMC_STOPPED);
    close_team(&pipes, run);
    free(log);
    relmc_target_destroy(target);
}

/* A log density that fails in a chain of a worker. */
static int fails_far_out(size_t dim, const double *x, double *grad, double *lp,
                         void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= 0.5 * x[i] * x[i];
        grad[i] = -x[i];
    }
    return x[0] > 3.0 ? -1 : 0;
}

static void test_team__an_error_is_that_of_one_process(void **state)
{
    relmc_target *target = NULL;
    relmc_error alone = {0}, err = {0};
    relmc_options o = options_of("nuts", "none");
    struct pipes pipes;
    relmc_run *run = NULL;

    (void)state;
    o.draws = 10000;
    check_ok(target_of_point(&target, DIM, fails_far_out, NULL, &err), &err);
    run = run_of(target, &o);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, &alone), RELMC_ETARGET);
    relmc_run_destroy(run);
    run = open_team(&pipes, 3, target, &o, NULL);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, &err), RELMC_ETARGET);
    assert_string_equal(err.message, alone.message);
    close_team(&pipes, run);
    relmc_target_destroy(target);
}

/* no_clock makes the times in the files equal. */
static void compare_files(const char *a, const char *b)
{
    for (int k = 1; k <= CHAINS; k++) {
        char name[2][80];
        FILE *file[2];
        int here = 0, there = 0;
        long n = 0;

        (void)snprintf(name[0], sizeof name[0], "%s_%d.csv", a, k);
        (void)snprintf(name[1], sizeof name[1], "%s_%d.csv", b, k);
        for (int i = 0; i < 2; i++) {
            file[i] = fopen(name[i], "r");
            assert_non_null(file[i]);
        }
        do {
            here = getc(file[0]);
            there = getc(file[1]);
            if (here != there) {
                fail_msg("%s and %s differ at byte %ld", name[0], name[1], n);
            }
            n++;
        } while (here != EOF);
        assert_true(n > 1000);
        for (int i = 0; i < 2; i++) {
            (void)fclose(file[i]);
            (void)remove(name[i]);
        }
    }
}

/* Files contain their own name, so those to compare need the same name. */
static void put_aside(void)
{
    for (int k = 1; k <= CHAINS; k++) {
        char from[80], to[80];

        (void)snprintf(from, sizeof from, "%s/all_%d.csv", folder, k);
        (void)snprintf(to, sizeof to, "%s/one_%d.csv", folder, k);
        assert_int_equal(rename(from, to), 0);
    }
}

static void test_team__files_are_those_of_one_process(void **state)
{
    static const char *const adaptations[] = {"auto", "stan", "dual"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        relmc_target *target = target_of("gaussian:dim=3,rho=0.5");
        const relmc_options o = options_of("nuts", adaptations[i]);

        for (uint32_t size = 1; size <= 3; size += 2) {
            struct pipes pipes;
            char sink[64];
            relmc_error err = {0};
            relmc_run *run = open_team(&pipes, size, target, &o, NULL);

            (void)snprintf(sink, sizeof sink, "csv:%s/all", folder);
            check_ok(relmc_run_write(run, sink, &err), &err);
            run_in_blocks(run, 40);
            check_ok(relmc_run_finish(run, &err), &err);
            close_team(&pipes, run);
            if (size == 1) {
                put_aside();
            }
        }
        char a[64], b[64];

        (void)snprintf(a, sizeof a, "%s/one", folder);
        (void)snprintf(b, sizeof b, "%s/all", folder);
        compare_files(a, b);
        relmc_target_destroy(target);
    }
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char path[64];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/run.ckpt", folder);
    (void)remove(path);
    (void)snprintf(path, sizeof path, "%s/run.ckpt.1", folder);
    (void)remove(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_team__draws_do_not_depend_on_its_size),
        cmocka_unit_test(test_team__checkpoints_are_for_every_size),
        cmocka_unit_test(test_team__an_observer_can_stop_it),
        cmocka_unit_test(test_team__an_error_is_that_of_one_process),
        cmocka_unit_test(test_team__files_are_those_of_one_process),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
