/* tuning.c - writes what warm-up found as bytes: the metric, the warp, step
 * sizes, the kinetic energy and engine in use, and where the chains are.
 *
 * All of it is read from relmc_system, whatever the adaptation.  What a sampler
 * adapts by itself (the ladder of tempered, preconditioners) is left out.
 */
#include "run/tuning.h"

#include "relmc_format.h"
#include "transform/warp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct rmc_head rmc_tuning_head = {RELMC_TUNING_MAGIC,
                                         RELMC_TUNING_VERSION};

/* ---- the archive --------------------------------------------------------- */

static size_t visit_size(relmc_archive *a, size_t n, size_t most)
{
    return (size_t)relmc_archive_count(a, n, most);
}

/* The number of values: none, one for all chains, or one for each. */
static size_t visit_share(relmc_archive *a, size_t n, size_t n_chains)
{
    n = visit_size(a, n, n_chains);
    if (n > 1 && n < n_chains) {
        relmc_archive_fail(a, "a number in it is out of range");
    }
    return n;
}

static void visit_layers(struct rmc_tuning *t, relmc_arena *arena,
                         relmc_archive *a)
{
    enum { MOST = 1024 };

    t->n_layers = visit_size(a, t->n_layers, MOST);
    if (relmc_archive_is_reading(a)) {
        t->layers = relmc_arena_get(arena, t->n_layers * sizeof *t->layers + 1);
        for (size_t i = 0; t->layers && i < t->n_layers && !a->why; i++) {
            t->layers[i] = rmc_layer_new(arena, t->dim);
        }
        if (relmc_arena_check(arena, NULL)) {
            relmc_archive_fail(a, "out of memory");
        }
    }
    for (size_t i = 0; i < t->n_layers && !a->why; i++) {
        rmc_layer_archive(t->dim, &t->layers[i], a);
    }
}

void rmc_tuning_archive(struct rmc_tuning *t, relmc_arena *arena,
                        relmc_archive *a)
{
    enum { MOST_CHAINS = 1 << 24, MOST_ENGINES = 64 };

    rmc_archive_text(a, arena, &t->sampler);
    rmc_archive_text(a, arena, &t->kinetic);
    rmc_archive_text(a, arena, &t->integrator);
    t->n_chains = visit_size(a, t->n_chains, MOST_CHAINS);
    t->is_newtonian = (int)visit_size(a, (size_t)t->is_newtonian, 1);
    t->engine = (int)visit_size(a, (size_t)t->engine, MOST_ENGINES);
    relmc_archive_reals(a, &t->time, 1);
    t->n_eps = visit_share(a, t->n_eps, t->n_chains);
    t->n_diag = visit_share(a, t->n_diag, t->n_chains);
    t->n_chol = visit_share(a, t->n_chol, t->n_chains);
    if (!t->n_eps) {
        relmc_archive_fail(a, "it has no step size");
    }
    t->rank = visit_size(a, t->rank, t->dim);
    rmc_archive_array(a, arena, &t->x, t->n_chains, t->dim);
    rmc_archive_array(a, arena, &t->eps, t->n_eps, 1);
    rmc_archive_array(a, arena, &t->diag, t->n_diag, t->dim);
    rmc_archive_array(a, arena, &t->chol, t->n_chol * t->dim, t->dim);
    rmc_archive_array(a, arena, &t->low_rank, t->rank, t->dim);
    rmc_archive_array(a, arena, &t->factor, t->rank, 1);
    visit_layers(t, arena, a);
}

/* ---- from a run ---------------------------------------------------------- */

/* n equal rows become one. */
static size_t merge_rows(size_t n, size_t width, const double *rows)
{
    for (size_t c = 1; c < n; c++) {
        if (memcmp(rows, rows + c * width, width * sizeof *rows) != 0) {
            return n;
        }
    }
    return n ? 1 : 0;
}

/* Lane k of an ensemble, which is chain `chain` of the run. */
static void take_chain(struct rmc_tuning *t, const struct rmc_ensemble *e,
                       size_t k, size_t chain)
{
    const relmc_shape *s = &e->sys.shape;
    const relmc_frame *frame = &e->sys.frame;
    const relmc_shape one = {s->dim, 1, 1};
    double *x = t->x + chain * s->dim;

    for (size_t i = 0; i < s->dim; i++) {
        x[i] = e->z.x[i * s->ld + k];
        if (frame->scale.diag) {
            t->diag[chain * s->dim + i] = frame->scale.diag[i * s->ld + k];
        }
    }
    if (frame->warp.n) {
        frame->warp.apply(&frame->warp, &one, x, NULL, NULL);
    }
    t->eps[chain] = e->sys.move.eps[k];
}

/* The metric factors of all chains, or the one that they share. */
static void take_factors(struct rmc_tuning *t, const relmc_run *run,
                         relmc_arena *arena)
{
    const relmc_scale *first = &run->ensembles[0].sys.frame.scale;
    const size_t n = run->n_ensembles, square = t->dim * t->dim;
    const int is_shared =
        first->chol == run->ensembles[n - 1].sys.frame.scale.chol;

    t->n_chol = !first->chol ? 0 : is_shared ? 1 : n;
    t->chol = relmc_arena_get(arena, t->n_chol * square * sizeof *t->chol + 1);
    for (size_t e = 0; t->chol && e < t->n_chol; e++) {
        memcpy(t->chol + e * square, run->ensembles[e].sys.frame.scale.chol,
               square * sizeof *t->chol);
    }
    t->rank = first->rank;
    t->low_rank = rmc_arena_copy(arena, first->low_rank, t->rank * t->dim);
    t->factor = rmc_arena_copy(arena, first->factor, t->rank);
}

static void take_layers(struct rmc_tuning *t, const relmc_warp *warp,
                        relmc_arena *arena)
{
    const size_t bytes = warp->n * sizeof *t->layers;

    t->n_layers = warp->n;
    t->layers = relmc_arena_get(arena, bytes + 1);
    if (t->layers && warp->n) { /* the arrays in them are not copied */
        memcpy(t->layers, warp->layers, bytes);
    }
}

static relmc_status take(struct rmc_tuning *t, const relmc_run *run,
                         relmc_arena *arena, relmc_error *err)
{
    const relmc_system *first = &run->ensembles[0].sys;
    const size_t dim = run->target->dim, n = run->opts.chains;
    const size_t n_diag = first->frame.scale.diag ? n : 0;

    *t = (struct rmc_tuning){
        .dim = dim,
        .n_chains = n,
        .sampler = run->opts.sampler,
        .kinetic = run->opts.kinetic,
        .integrator = run->opts.integrator,
        .is_newtonian = first->move.kinetic.self == first->move.newtonian.self,
        .engine = first->move.engine,
        .time = first->move.time,
        .x = relmc_arena_get(arena, n * dim * sizeof(double)),
        .eps = relmc_arena_get(arena, n * sizeof(double)),
        .diag = relmc_arena_get(arena, n_diag * dim * sizeof(double) + 1),
    };
    take_factors(t, run, arena);
    take_layers(t, &first->frame.warp, arena);
    const relmc_status status = relmc_arena_check(arena, err);
    for (size_t e = 0, chain = 0; e < run->n_ensembles && !status; e++) {
        for (size_t k = 0; k < run->ensembles[e].sys.shape.lanes; k++) {
            take_chain(t, &run->ensembles[e], k, chain++);
        }
    }
    if (!status) {
        t->n_eps = merge_rows(n, 1, t->eps);
        t->n_diag = merge_rows(n_diag, dim, t->diag);
    }
    return status;
}

/* The bytes; the caller frees them. */
static relmc_status write(struct rmc_tuning *t, char **bytes, size_t *n,
                          relmc_error *err)
{
    unsigned char head[RMC_HEAD_BYTES] = {0};
    relmc_archive a = {.out = open_memstream(bytes, n)};

    if (a.out) {
        (void)fwrite(head, 1, sizeof head, a.out);
        (void)relmc_archive_count(&a, t->dim, SIZE_MAX);
        rmc_tuning_archive(t, NULL, &a);
    }
    if (!a.out || fclose(a.out) || a.why) {
        return rmc_fail(err, RELMC_ENOMEM, "run: out of memory");
    }
    rmc_head_make(head, &rmc_tuning_head, &a);
    memcpy(*bytes, head, sizeof head);
    return RELMC_OK;
}

relmc_status relmc_run_tuning(relmc_run *run, void *out, size_t room,
                              size_t *bytes, relmc_error *err)
{
    relmc_arena arena = {.memory = run->arena.memory};
    struct rmc_tuning t;
    char *all = NULL;
    size_t n = 0;
    relmc_status status;

    if (run->has_failed) {
        return rmc_fail(err, RELMC_EINVAL, "run: it has failed before");
    }
    if (run->position < run->opts.warmup) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "run: the tuning is known after warm-up, of %lld "
                        "iterations; there were %lld",
                        (long long)run->opts.warmup, (long long)run->position);
    }
    status = run->is_finished ? RELMC_OK : rmc_team_gather(run, err);
    if (!status && !(status = take(&t, run, &arena, err)) &&
        !(status = write(&t, &all, &n, err))) {
        if (room) {
            memcpy(out, all, n < room ? n : room);
        }
        *bytes = n;
    }
    free(all);
    rmc_arena_release(&arena);
    return status;
}
