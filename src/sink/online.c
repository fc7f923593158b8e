/* online.c - keeps running statistics of every coordinate and of lp, in a memory
 * that does not grow with the draws; warm-up is left out. */
#include "base/base.h"
#include "base/running_moments.h"

struct online {
    double points; /* of a level of the sketch that move up */
    size_t n;      /* quantities: the coordinates and lp */
    size_t chains;
    uint32_t first_chain;
    rmc_running *running; /* chains x n */
};

/* Each chain has its own: several threads may be at work. */
static void place(struct online *o, rmc_running *r, double *memory,
                  double *scratch, size_t n_levels)
{
    rmc_running_start(r);
    r->sketch.n_levels = n_levels;
    r->sketch.room = RMC_FAN * (size_t)o->points;
    r->sketch.points = memory;
    r->sketch.scratch = scratch;
}

static relmc_status open(void *self, relmc_arena *arena, const char *args,
                         const relmc_header *header, relmc_error *err)
{
    struct online *o = self;
    const size_t room = RMC_FAN * (size_t)o->points;
    const uint32_t thin = header->options->thin;
    const size_t n_levels =
        rmc_sketch_levels(room, (header->draws + thin - 1) / thin);
    const double bytes = (double)header->chains * (double)(header->dim + 1) *
                         ((double)(n_levels * room) * sizeof(double) +
                          (double)sizeof *o->running);

    (void)args; /* they are parameters */
    o->n = header->dim + 1;
    o->chains = header->chains;
    o->first_chain = header->first_chain;
    o->running =
        bytes < 1e15
            ? relmc_arena_get(arena, header->chains * o->n * sizeof *o->running)
            : NULL;
    for (size_t k = 0; o->running && k < header->chains; k++) {
        double *memory =
            relmc_arena_get(arena, (o->n * n_levels + 1) * room * 8);

        for (size_t i = 0; memory && i < o->n; i++) {
            place(o, &o->running[k * o->n + i],
                  memory + (i * n_levels + 1) * room, memory, n_levels);
        }
        if (!memory) {
            o->running = NULL;
        }
    }
    return o->running ? RELMC_OK
                      : rmc_fail(err, RELMC_ENOMEM,
                                 "online: %zu values in %u chains need %.4g "
                                 "GB, more than there is; fewer points help",
                                 o->n, header->chains, bytes * 1e-9);
}

static relmc_status draw(void *self, const relmc_draw *d, relmc_error *err)
{
    struct online *o = self;
    rmc_running *running = o->running + (d->chain - o->first_chain) * o->n;

    (void)err;
    if (d->index < 0) {
        return RELMC_OK;
    }
    for (size_t i = 0; i + 1 < o->n; i++) {
        rmc_running_add(&running[i], d->x[i]);
    }
    rmc_running_add(&running[o->n - 1], d->lp);
    return RELMC_OK;
}

static const rmc_running *running(const void *self, size_t i, size_t *stride)
{
    const struct online *o = self;

    *stride = o->n;
    return o->running + i;
}

/* Levels that this run will not need may have been there, but empty. */
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

static relmc_status archive(void *self, relmc_archive *a, relmc_error *err)
{
    const struct online *o = self;

    (void)err;
    for (size_t i = 0; i < o->chains * o->n; i++) {
        archive_running(&o->running[i], a);
    }
    return RELMC_OK;
}

static const relmc_param params[] = {
    {"points",
     "size of the sketch of the quantiles: its error falls as 1/points", 2,
     65536, 256, offsetof(struct online, points), RELMC_INTEGER},
    {0},
};

const relmc_sink_ops RMC_ISA(rmc_sink_online) = {
    .info = {"sink", "online",
             "running estimates in constant memory, for relmc_run_online",
             params},
    .state_size = sizeof(struct online),
    .open = open,
    .draw = draw,
    .running = running,
    .archive = archive,
};
