/* memory.c - keeps every published draw in one block per chain. */
#include "base/base.h"

struct memory {
    size_t dim, chains, room; /* room: rows per chain */
    uint32_t first_chain;
    size_t *n;   /* rows kept, one per chain */
    double *row; /* chains x room x dim */
};

static relmc_status open(void *self, relmc_arena *arena, const char *args,
                         const relmc_header *header, relmc_error *err)
{
    struct memory *m = self;
    const relmc_options *o = header->options;
    const int64_t kept =
        (header->draws + o->thin - 1) / o->thin +
        (o->save_warmup ? (header->warmup + o->thin - 1) / o->thin : 0);
    const double values =
        (double)kept * (double)header->chains * (double)header->dim;

    if (*args) {
        return rmc_fail(err, RELMC_EINVAL,
                        "memory takes no arguments, not '%s'", args);
    }
    m->dim = header->dim;
    m->chains = header->chains;
    m->first_chain = header->first_chain;
    m->room = (size_t)kept;
    m->n = relmc_arena_get(arena, m->chains * sizeof *m->n);
    m->row = values < 1e15 ? relmc_arena_get(arena, (size_t)values * 8) : NULL;
    if (!m->n || !m->row) {
        return rmc_fail(err, RELMC_ENOMEM,
                        "memory: %.4g draws of %zu values in %zu chains need "
                        "%.4g GB, more than there is",
                        (double)kept, m->dim, m->chains, values * 8e-9);
    }
    return RELMC_OK;
}

static relmc_status draw(void *self, const relmc_draw *draw, relmc_error *err)
{
    struct memory *m = self;
    const size_t chain = draw->chain - m->first_chain;
    double *row = m->row + (chain * m->room + m->n[chain]) * m->dim;

    (void)err;
    memcpy(row, draw->x, m->dim * sizeof *row);
    m->n[chain]++;
    return RELMC_OK;
}

static const double *rows(const void *self, size_t k, size_t *n)
{
    const struct memory *m = self;

    *n = m->n[k];
    return m->row + k * m->room * m->dim;
}

static relmc_status archive(void *self, relmc_archive *a, relmc_error *err)
{
    struct memory *m = self;

    (void)err;
    for (size_t k = 0; k < m->chains; k++) {
        m->n[k] = (size_t)relmc_archive_count(a, m->n[k], m->room);
        relmc_archive_reals(a, m->row + k * m->room * m->dim, m->n[k] * m->dim);
    }
    return RELMC_OK;
}

const relmc_sink_ops RMC_ISA(rmc_sink_memory) = {
    .info = {"sink", "memory", "keep the draws, for relmc_run_draws", NULL},
    .state_size = sizeof(struct memory),
    .open = open,
    .draw = draw,
    .rows = rows,
    .archive = archive,
};
