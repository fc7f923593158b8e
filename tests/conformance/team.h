/*
 * team.h - processes that are forked and connected by pipes, and the log of a run's draws.
 * Include it after cmocka.h.
 */
#ifndef TESTS_CONFORMANCE_TEAM_H
#define TESTS_CONFORMANCE_TEAM_H

#include "relmc_ext.h"
#include "relmc_team.h"
#include "support/run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHAINS = 5, WARMUP = 130, DRAWS = 20, DIM = 3, MOST = 4, FIELDS = 7 };

/* ---- processes and pipes ------------------------------------------------------ */

struct pipes {
    uint32_t rank, size;
    int down[MOST][2], up[MOST][2]; /* from the leader to member r, and back */
    pid_t child[MOST];
};

static inline void write_all(int file, const char *data, size_t bytes)
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

static inline void read_all(int file, char *data, size_t bytes)
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

static inline void tell(void *ctx, void *data, size_t bytes)
{
    const struct pipes *p = ctx;

    for (uint32_t r = 1; r < p->size && p->rank == 0; r++) {
        write_all(p->down[r][1], data, bytes);
    }
    if (p->rank > 0) {
        read_all(p->down[p->rank][0], data, bytes);
    }
}

static inline void give(void *ctx, const void *data, size_t bytes)
{
    const struct pipes *p = ctx;

    write_all(p->up[p->rank][1], data, bytes);
}

static inline void take(void *ctx, uint32_t from, void *data, size_t bytes)
{
    const struct pipes *p = ctx;

    read_all(p->up[from][0], data, bytes);
}

static inline relmc_team team_of(struct pipes *p)
{
    return (relmc_team){.size = sizeof(relmc_team),
                        .rank = p->rank,
                        .n_members = p->size,
                        .tell = tell,
                        .give = give,
                        .take = take,
                        .ctx = p};
}

/* A reader sees the end of a pipe only when all its writers have closed it. */
static inline void keep_own_ends(struct pipes *p)
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

static inline void open_pipes(struct pipes *p, uint32_t size)
{
    *p = (struct pipes){.size = size};
    for (uint32_t r = 1; r < size; r++) {
        assert_int_equal(pipe(p->down[r]) | pipe(p->up[r]), 0);
    }
}

/* Checks that all workers have exited with 0. */
static inline void close_pipes(struct pipes *p)
{
    for (uint32_t r = 1; r < p->size; r++) {
        int how = 0;

        assert_int_equal(waitpid(p->child[r], &how, 0), p->child[r]);
        assert_int_equal(how, 0);
        (void)close(p->down[r][1]);
        (void)close(p->up[r][0]);
    }
}

/* ---- the draws of a run ---------------------------------------------------------- */

struct log {
    double value[CHAINS][WARMUP + DRAWS][FIELDS + DIM];
    int64_t next[CHAINS];
    int64_t stop_at; /* stop after the draw of chain 1 with this index */
};

static inline relmc_status note_draw(void *ctx, const relmc_draw *d)
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

static inline struct log *new_log(void)
{
    struct log *log = calloc(1, sizeof *log);

    assert_non_null(log);
    log->stop_at = INT64_MIN;
    return log;
}

static inline void check_same(const struct log *a, const struct log *b,
                              const char *what)
{
    if (memcmp(a->value, b->value, sizeof a->value) != 0) {
        fail_msg("%s: the draws are others", what);
    }
}

static inline relmc_options options_of(const char *sampler, const char *adapt)
{
    return repeatable_options(sampler, adapt, CHAINS, WARMUP, DRAWS);
}

static inline struct log *run_alone(const relmc_target *target,
                                    const relmc_options *o)
{
    struct log *log = new_log();
    relmc_run *run = run_of(target, o);
    relmc_error err = {0};

    check_ok(relmc_run_observe(run, note_draw, log, &err), &err);
    advance(run, INT64_MAX);
    relmc_run_destroy(run);
    return log;
}

#endif
