/*
 * team.c - a run in several processes makes the draws of a run in one, bit for bit:
 * samplers of every kind with every adaptation, files of sinks, and checkpoints resumed
 * by another number of processes; shards of a log density add up to it.  The processes
 * are forked and connected by pipes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "relmc_ext.h"
#include "relmc_team.h"
#include "support/callback.h"
#include "support/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHAINS = 5, WARMUP = 130, DRAWS = 20, DIM = 3, MOST = 4, FIELDS = 7 };

static char folder[] = "team-XXXXXX"; /* in the working directory */

/* ---- processes and pipes ------------------------------------------------------ */

struct pipes {
    uint32_t rank, size;
    int down[MOST][2], up[MOST][2]; /* from the leader to member r, and back */
    pid_t child[MOST];
};

static void write_all(int file, const char *data, size_t bytes)
{
    while (bytes) {
        const ssize_t n = write(file, data, bytes);

        if (n <= 0) {
            _exit(1);
        }
        data += n;
        bytes -= (size_t)n;
    }
}

static void read_all(int file, char *data, size_t bytes)
{
    while (bytes) {
        const ssize_t n = read(file, data, bytes);

        if (n <= 0) {
            _exit(1);
        }
        data += n;
        bytes -= (size_t)n;
    }
}

static void tell(void *ctx, void *data, size_t bytes)
{
    const struct pipes *p = ctx;

    for (uint32_t r = 1; r < p->size && p->rank == 0; r++) {
        write_all(p->down[r][1], data, bytes);
    }
    if (p->rank > 0) {
        read_all(p->down[p->rank][0], data, bytes);
    }
}

static void give(void *ctx, const void *data, size_t bytes)
{
    const struct pipes *p = ctx;

    write_all(p->up[p->rank][1], data, bytes);
}

static void take(void *ctx, uint32_t from, void *data, size_t bytes)
{
    const struct pipes *p = ctx;

    read_all(p->up[from][0], data, bytes);
}

static relmc_team team_of(struct pipes *p)
{
    return (relmc_team){.size = sizeof(relmc_team),
                        .rank = p->rank,
                        .n_members = p->size,
                        .tell = tell,
                        .give = give,
                        .take = take,
                        .ctx = p};
}

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

/* A reader sees the end of a pipe only when all its writers have closed it. */
static void keep_own_ends(struct pipes *p)
{
    for (uint32_t r = 1; r < p->size; r++) {
        int *const ends[] = {&p->down[r][0], &p->down[r][1], &p->up[r][0],
                             &p->up[r][1]};
        const int is_mine[] = {p->rank == r, p->rank == 0, p->rank == 0,
                               p->rank == r};

        for (int i = 0; i < 4; i++) {
            if (!is_mine[i]) {
                (void)close(*ends[i]);
                *ends[i] = -1;
            }
        }
    }
}

static void open_pipes(struct pipes *p, uint32_t size)
{
    *p = (struct pipes){.size = size};
    for (uint32_t r = 1; r < size; r++) {
        assert_int_equal(pipe(p->down[r]) | pipe(p->up[r]), 0);
    }
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

/* Checks that all workers have exited with 0. */
static void close_pipes(struct pipes *p)
{
    for (uint32_t r = 1; r < p->size; r++) {
        int how = 0;

        assert_int_equal(waitpid(p->child[r], &how, 0), p->child[r]);
        assert_int_equal(how, 0);
        (void)close(p->down[r][1]);
        (void)close(p->up[r][0]);
    }
}

static void close_team(struct pipes *p, relmc_run *run)
{
    relmc_run_release(run);
    relmc_run_destroy(run);
    close_pipes(p);
}

/* ---- the results of a run -------------------------------------------------------- */

struct log {
    double value[CHAINS][WARMUP + DRAWS][FIELDS + DIM];
    int64_t next[CHAINS];
    int64_t stop_at; /* stop after the draw of chain 1 with this index */
};

static relmc_status note_draw(void *ctx, const relmc_draw *d)
{
    struct log *log = ctx;
    const int64_t at = d->index + WARMUP;
    double *v = log->value[d->chain][at];
    const double fields[FIELDS] = {
        d->stats[RELMC_STAT_LP],          d->stats[RELMC_STAT_ENERGY],
        d->stats[RELMC_STAT_ACCEPT_PROB], d->stats[RELMC_STAT_STEP_SIZE],
        d->stats[RELMC_STAT_SPEED],       d->stats[RELMC_STAT_N_STEPS],
        d->stats[RELMC_STAT_DIVERGENT]};

    assert_true(at == log->next[d->chain]++); /* in order, none twice */
    memcpy(v, fields, sizeof fields);
    memcpy(v + FIELDS, d->outputs, DIM * sizeof *v);
    return d->chain == 1 && d->index == log->stop_at ? RELMC_STOPPED : RELMC_OK;
}

static struct log *new_log(void)
{
    struct log *log = calloc(1, sizeof *log);

    assert_non_null(log);
    log->stop_at = INT64_MIN;
    return log;
}

static void check_same(const struct log *a, const struct log *b,
                       const char *what)
{
    if (memcmp(a->value, b->value, sizeof a->value) != 0) {
        fail_msg("%s: the draws are others", what);
    }
}

static relmc_options options_of(const char *sampler, const char *adapt)
{
    return repeatable_options(sampler, adapt, CHAINS, WARMUP, DRAWS);
}

static struct log *run_alone(const relmc_target *target, const relmc_options *o)
{
    struct log *log = new_log();
    relmc_run *run = run_of(target, o);
    relmc_error err = {0};

    check_ok(relmc_run_observe(run, note_draw, log, &err), &err);
    advance(run, INT64_MAX);
    relmc_run_destroy(run);
    return log;
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

/* ---- shards ----------------------------------------------------------------------- */

enum { N_SHARDS = 64 };

static relmc_target *open_shards(const char *spec, struct pipes *p)
{
    relmc_target *target = target_of(spec);
    const relmc_team team = team_of(p);
    relmc_error err = {0};

    check_ok(relmc_target_shard(target, N_SHARDS, &team, &err), &err);
    return target;
}

static relmc_target *open_shard_team(const char *spec, struct pipes *p,
                                     uint32_t size)
{
    open_pipes(p, size);
    for (uint32_t r = 1; r < size; r++) {
        p->child[r] = fork();
        assert_true(p->child[r] >= 0);
        if (p->child[r] == 0) {
            p->rank = r;
            keep_own_ends(p);
            relmc_target *target = open_shards(spec, p);
            const int code = relmc_target_serve(target, NULL) != RELMC_OK;
            relmc_target_destroy(target);
            _exit(code);
        }
    }
    keep_own_ends(p);
    return open_shards(spec, p);
}

static void close_shard_team(relmc_target *target, struct pipes *p)
{
    relmc_target_release(target);
    relmc_target_destroy(target);
    close_pipes(p);
}

static const struct {
    const char *model, *sampler, *adapt;
    uint32_t lanes, batch_rows;
    int batch, is_shared;
} on_data[] = {
    {"logistic:dim=3,n=333", "nuts", "auto", 1, 0, 0, 0},
    {"logistic:dim=3,n=333", "nuts", "auto", 3, 0, 0, 0},
    {"logistic:dim=3,n=40", "hmc:steps=5", "dual", 5, 0, 0, 0},
    {"linear:dim=2,n=100", "nuts", "stan", 1, 0, 0, 0},
    {"logistic:dim=3,n=333", "sghmc", "none", 1, 20, 0, 0},
    {"logistic:dim=3,n=333", "sgnht", "none", 5, 20, 0, 1},
    {"logistic:dim=3,n=333", "adam", "none", 1, 20, RELMC_BATCH_REPLACE, 0},
};

static void test_shards__draws_do_not_depend_on_the_team(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof on_data / sizeof *on_data; i++) {
        relmc_options o = options_of(on_data[i].sampler, on_data[i].adapt);
        struct log *wanted = NULL;

        o.lanes = on_data[i].lanes;
        o.batch_rows = on_data[i].batch_rows;
        o.batch = on_data[i].batch;
        o.batch_is_shared = on_data[i].is_shared;
        for (uint32_t size = 1; size <= MOST; size++) {
            struct pipes pipes;
            relmc_target *target =
                open_shard_team(on_data[i].model, &pipes, size);
            struct log *log = run_alone(target, &o);

            if (size == 1) {
                wanted = log;
            } else {
                check_same(log, wanted, on_data[i].sampler);
                free(log);
            }
            close_shard_team(target, &pipes);
        }
        free(wanted);
    }
}

/* Log density and gradient differ by rounding errors only. */
static void test_shards__agree_with_the_model(void **state)
{
    static const char *const models[] = {
        "logistic:dim=3,n=1000", "linear:dim=2,n=100", "logistic:dim=3,n=5"};

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct pipes pipes = {.size = 1};
        relmc_target *plain = target_of(models[m]);
        relmc_target *target = open_shards(models[m], &pipes);
        const double x[DIM] = {0.3, -1.2, 0.4};
        double lp[2], grad[2][DIM];
        relmc_error err = {0};

        assert_int_equal(relmc_target_dim(target), DIM);
        check_ok(relmc_target_eval(plain, 1, x, &lp[0], grad[0], &err), &err);
        check_ok(relmc_target_eval(target, 1, x, &lp[1], grad[1], &err), &err);
        assert_true(fabs(lp[0] - lp[1]) <= 1e-13 * fabs(lp[0]));
        for (size_t i = 0; i < DIM; i++) {
            assert_true(fabs(grad[0][i] - grad[1][i]) <=
                        1e-12 * (1.0 + fabs(lp[0])));
        }
        relmc_target_destroy(plain);
        relmc_target_destroy(target);
    }
}

static void test_shards__are_refused_without_rows(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_error err = {0};

    (void)state;
    assert_int_equal(relmc_target_shard(target, N_SHARDS, NULL, &err),
                     RELMC_EUNSUPP);
    assert_non_null(strstr(err.message, "gaussian"));
    relmc_target_destroy(target);
    target = target_of("logistic");
    assert_int_equal(relmc_target_shard(target, 0, NULL, &err), RELMC_EINVAL);
    assert_int_equal(relmc_target_shard(target, 6, NULL, &err), RELMC_EINVAL);
    check_ok(relmc_target_shard(target, 1, NULL, &err), &err);
    assert_int_equal(relmc_target_shard(target, 1, NULL, &err), RELMC_EINVAL);
    assert_int_equal(relmc_target_serve(target, &err), RELMC_EINVAL);
    relmc_target_destroy(target);
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
        cmocka_unit_test(test_shards__draws_do_not_depend_on_the_team),
        cmocka_unit_test(test_shards__agree_with_the_model),
        cmocka_unit_test(test_shards__are_refused_without_rows),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
