/*
 * running.c - running statistics of every output and of lp, in memory that does not grow
 * with the draws, for relmc_run_online.  Warm-up is left out.
 */
#include "run/keep.h"

#include "base/archive.h"
#include "base/running_moments.h"
#include "base/sized_struct.h"
#include "diag/convergence/running_estimate.h"

/* The outputs and lp. */
static size_t n_quantities(const relmc_run *run)
{
    return run->target->n_outputs + 1;
}

/* `scratch` is one per chain: chains may be in different threads. */
static void place(rmc_running *r, size_t room, double *memory, double *scratch,
                  size_t n_levels)
{
    rmc_running_start(r);
    r->sketch.n_levels = n_levels;
    r->sketch.room = room;
    r->sketch.points = memory;
    r->sketch.scratch = scratch;
}

/* 0 if there is no memory. */
static int open_chain(relmc_run *run, rmc_running *first, size_t room,
                      size_t n_levels)
{
    const size_t n = n_quantities(run);
    double *memory = relmc_arena_get(&run->arena, (n * n_levels + 1) * room *
                                                      sizeof *memory);

    for (size_t i = 0; memory && i < n; i++) {
        place(&first[i], room, memory + (i * n_levels + 1) * room, memory,
              n_levels);
    }
    return memory != NULL;
}

relmc_status rmc_running_open(relmc_run *run, relmc_error *err)
{
    const relmc_options *o = &run->opts;
    const size_t room = RMC_FAN * (size_t)o->keep_points, n = n_quantities(run);
    const size_t n_levels =
        rmc_sketch_levels(room, (o->draws + o->thin - 1) / o->thin);
    const double bytes = (double)o->chains * (double)n *
                         ((double)(n_levels * room) * sizeof(double) +
                          (double)sizeof *run->running);
    int is_fine = bytes < 1e15;

    if (!(o->keep & RELMC_KEEP_RUNNING) || run->team.rank > 0) {
        return RELMC_OK;
    }
    run->running =
        is_fine
            ? relmc_arena_get(&run->arena, o->chains * n * sizeof *run->running)
            : NULL;
    is_fine &= run->running != NULL;
    for (size_t k = 0; k < o->chains && is_fine; k++) {
        is_fine = open_chain(run, run->running + k * n, room, n_levels);
    }
    return is_fine ? RELMC_OK
                   : rmc_fail(err, RELMC_ENOMEM,
                              "run: running statistics of %zu values in %u "
                              "chains need %.4g GB, more than there is; fewer "
                              "keep_points help",
                              n, o->chains, bytes * 1e-9);
}

void rmc_running_draw(relmc_run *run, const relmc_draw *d)
{
    const size_t n = n_quantities(run);
    rmc_running *of = run->running + (d->chain - run->opts.first_chain) * n;
    for (size_t i = 0; i + 1 < n; i++) {
        rmc_running_add(&of[i], d->outputs[i]);
    }
    rmc_running_add(&of[n - 1], d->stats[RELMC_STAT_LP]);
}

relmc_status relmc_run_online(relmc_online *out, double *quantile,
                              const relmc_run *run, size_t i, size_t n,
                              const double *level, relmc_error *err)
{
    const rmc_running_set set = {
        .first = run->running ? run->running + i : NULL,
        .stride = n_quantities(run),
        .n_chains = run->opts.chains,
    };

    if (i >= n_quantities(run)) {
        return rmc_fail(err, RELMC_EINVAL, "run: no output %zu, there are %zu",
                        i, run->target->n_outputs);
    }
    if (!set.first) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "run: running estimates need RELMC_KEEP_RUNNING in "
                        "options.keep");
    }
    relmc_online found;
    const relmc_status status =
        rmc_running_estimate(&found, quantile, &set, n, level, err);

    return status
               ? status
               : rmc_sized_fill(out, &found, sizeof found, "relmc_online", err);
}

/* ---- checkpoints ------------------------------------------------------------ */

/* The file may have more levels than this run; these are empty. */
static void archive_sketch(rmc_sketch *s, relmc_archive *a)
{
    const size_t n_levels =
        (size_t)relmc_archive_count(a, s->n_levels, RMC_MAX_LEVELS);

    if (relmc_archive_count(a, s->room, SIZE_MAX) != s->room) {
        relmc_archive_fail(a, "its sketches have another number of points");
    }
    for (size_t h = 0; h < n_levels; h++) {
        const int is_here = h < s->n_levels;

        s->used[h] =
            (size_t)relmc_archive_count(a, s->used[h], is_here ? s->room : 0);
        s->n_collapses[h] = (int64_t)relmc_archive_count(
            a, (uint64_t)s->n_collapses[h], INT64_MAX);
        if (is_here) {
            relmc_archive_reals(a, s->points + h * s->room, s->used[h]);
        }
    }
}

static void archive_running(rmc_running *r, relmc_archive *a)
{
    int64_t *const counts[] = {&r->n, &r->n_nan, &r->each, &r->n_open};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        *counts[i] =
            (int64_t)relmc_archive_count(a, (uint64_t)*counts[i], INT64_MAX);
    }
    r->n_batches = (size_t)relmc_archive_count(a, r->n_batches, RMC_BATCHES);
    relmc_archive_reals(a, r->mean, r->n_batches);
    relmc_archive_reals(a, r->squares, r->n_batches);
    relmc_archive_reals(a, &r->open_mean, 1);
    relmc_archive_reals(a, &r->open_squares, 1);
    archive_sketch(&r->sketch, a);
}

void rmc_running_archive(relmc_run *run, relmc_archive *a)
{
    const size_t n = run->opts.chains * n_quantities(run);
    const int is_there = (int)relmc_archive_count(a, run->running != NULL, 1);

    if (is_there && !run->running) {
        relmc_archive_fail(a,
                           "it has running statistics and this run has none");
        return;
    }
    for (size_t i = 0; is_there && !a->why && i < n; i++) {
        archive_running(&run->running[i], a);
    }
}
