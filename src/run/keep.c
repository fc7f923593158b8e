/*
 * keep.c - keeps draws in memory, as rows, for relmc_run_draws.
 *
 * All room is reserved before the first draw, so that rows never move.  The thread that
 * makes a draw writes its rows and then counts them: another thread that sees the count
 * sees the rows.
 */
#include "run/keep.h"

#include "base/archive.h"
#include "base/sized_struct.h"

#include <string.h>

enum {
    SHOWN = RELMC_KEEP_OUTPUTS | RELMC_KEEP_COORDINATES,
    ROWS = SHOWN | RELMC_KEEP_STATS,
    ALL = ROWS | RELMC_KEEP_WARMUP | RELMC_KEEP_RUNNING
};

/* One kept array of a chain. */
struct part {
    int bit;
    size_t width;
    double **rows;
};

enum { N_PARTS = 3 };

static void list_parts(struct part out[N_PARTS], const relmc_run *run,
                       struct rmc_kept *kept)
{
    const relmc_target *t = run->target;

    out[0] = (struct part){RELMC_KEEP_OUTPUTS, t->n_outputs, &kept->outputs};
    out[1] = (struct part){RELMC_KEEP_STATS, RELMC_N_STATS, &kept->stats};
    out[2] = (struct part){RELMC_KEEP_COORDINATES, t->dim, &kept->coordinates};
}

static int has_outputs(const relmc_run *run)
{
    return run->target->ops[run->isa]->output != NULL;
}

/* Which arrays are kept.  If the outputs are the coordinates they are kept
 * once. */
static int arrays_of(const relmc_run *run)
{
    const int keep = run->opts.keep & ROWS;

    return keep & SHOWN && !has_outputs(run)
               ? (keep & ~SHOWN) | RELMC_KEEP_OUTPUTS
               : keep;
}

static size_t n_thinned(int64_t n, uint32_t thin)
{
    return (size_t)((n + thin - 1) / thin);
}

relmc_status rmc_keep_check(const relmc_options *o, relmc_error *err)
{
    if (o->keep & ~ALL) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: keep must be a sum of RELMC_KEEP_..., not %d",
                        o->keep);
    }
    return o->keep_points >= 2 && o->keep_points <= 65536
               ? RELMC_OK
               : rmc_fail(err, RELMC_EINVAL,
                          "run: keep_points must be in [2, 65536], not %u",
                          o->keep_points);
}

/* One block of all chains for every array; 0 if there is no memory. */
static int open_arrays(relmc_run *run)
{
    struct part parts[N_PARTS];

    for (size_t p = 0; p < N_PARTS; p++) {
        double *block = NULL;

        for (size_t k = 0; k < run->opts.chains; k++) {
            list_parts(parts, run, &run->kept[k]);
            const size_t each = run->room * parts[p].width;
            const double bytes = 8.0 * (double)run->opts.chains * (double)each;

            if (!(arrays_of(run) & parts[p].bit) || !run->room) {
                break;
            }
            if (k == 0 &&
                !(block = bytes < 1e15
                              ? rmc_arena_get_unset(&run->arena, (size_t)bytes)
                              : NULL)) {
                return 0;
            }
            *parts[p].rows = block + k * each;
        }
    }
    return 1;
}

relmc_status rmc_keep_open(relmc_run *run, relmc_error *err)
{
    const relmc_options *o = &run->opts;
    const int has_warmup = (o->keep & RELMC_KEEP_WARMUP) != 0;

    if (!arrays_of(run) || run->team.rank > 0) {
        return RELMC_OK;
    }
    run->room = n_thinned(o->draws, o->thin) +
                (has_warmup ? n_thinned(o->warmup, o->thin) : 0);
    run->kept = relmc_arena_get(&run->arena, o->chains * sizeof *run->kept);
    return run->kept && open_arrays(run)
               ? RELMC_OK
               : rmc_fail(err, RELMC_ENOMEM,
                          "run: no memory to keep %zu draws in each of %u "
                          "chains; with keep = RELMC_ZERO none are kept",
                          run->room, o->chains);
}

static void put(double *rows, size_t n, size_t width, const double *row)
{
    if (rows) {
        memcpy(rows + n * width, row, width * sizeof *row);
    }
}

void rmc_keep_draw(relmc_run *run, const relmc_draw *d)
{
    const relmc_target *t = run->target;
    struct rmc_kept *kept = &run->kept[d->chain - run->opts.first_chain];
    const size_t n = RMC_GET(kept->n);

    put(kept->outputs, n, t->n_outputs, d->outputs);
    put(kept->coordinates, n, t->dim, d->coordinates);
    put(kept->stats, n, RELMC_N_STATS, d->stats);
    RMC_ADD(kept->n_warmup, (size_t)(d->index < 0));
    atomic_store_explicit(&kept->n, n + 1, memory_order_release);
}

relmc_status relmc_run_draws(const relmc_run *run, uint32_t chain,
                             relmc_draws *out, relmc_error *err)
{
    const int keep = run->opts.keep;
    relmc_draws draws = {
        .n_outputs = run->target->n_outputs,
        .dim = run->target->dim,
        .n_stats = RELMC_N_STATS,
    };

    if (chain >= run->opts.chains) {
        return rmc_fail(err, RELMC_EINVAL, "run: no chain %u, there are %u",
                        chain, run->opts.chains);
    }
    if (run->kept) {
        struct rmc_kept *kept = &run->kept[chain];

        draws.n = atomic_load_explicit(&kept->n, memory_order_acquire);
        draws.n_warmup = RMC_GET(kept->n_warmup);
        /* another thread may have added rows since */
        draws.n_warmup = draws.n_warmup < draws.n ? draws.n_warmup : draws.n;
        draws.outputs = keep & RELMC_KEEP_OUTPUTS ? kept->outputs : NULL;
        draws.stats = kept->stats;
        draws.coordinates = !(keep & RELMC_KEEP_COORDINATES) ? NULL
                            : has_outputs(run)               ? kept->coordinates
                                                             : kept->outputs;
    }
    return rmc_sized_fill(out, &draws, sizeof draws, "relmc_draws", err);
}

/* ---- checkpoints ------------------------------------------------------------ */

/* Reads n rows; skips them if the array is not kept now. */
static void visit_rows(relmc_archive *a, double *rows, size_t n, size_t width)
{
    double lost;

    for (size_t i = 0; !rows && !a->why && i < n * width; i++) {
        relmc_archive_reals(a, &lost, 1);
    }
    if (rows) {
        relmc_archive_reals(a, rows, n * width);
    }
}

void rmc_keep_archive(relmc_run *run, relmc_archive *a)
{
    const int now = run->kept ? arrays_of(run) : 0;
    const int then = (int)relmc_archive_count(a, (uint64_t)now, ROWS);
    const int is_whole = !(now & ~then); /* the file has every array that is
                                          * kept now */
    struct rmc_kept none = {0};
    struct part parts[N_PARTS];

    for (size_t k = 0; then && k < run->opts.chains; k++) {
        struct rmc_kept *kept = run->kept && is_whole ? &run->kept[k] : &none;
        const uint64_t most = run->kept ? run->room : SIZE_MAX;
        const size_t n = (size_t)relmc_archive_count(a, RMC_GET(kept->n), most);
        const size_t n_warmup =
            (size_t)relmc_archive_count(a, RMC_GET(kept->n_warmup), n);

        list_parts(parts, run, kept);
        for (size_t p = 0; p < N_PARTS; p++) {
            if (then & parts[p].bit && !a->why) {
                visit_rows(a, *parts[p].rows, n, parts[p].width);
            }
        }
        RMC_SET(kept->n, n);
        RMC_SET(kept->n_warmup, n_warmup);
    }
}
