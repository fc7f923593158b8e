/* checkpoint.c - a run of `relmc sample` in a file: what the library keeps, and
 * beside it the options and the record. */
#define _POSIX_C_SOURCE 200809L

#include "checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the note: the configuration and the record ----------------------------- */

/* What is kept of a chain besides the statistics of its draws. */
enum { N_SUMS = 4 };

static size_t chain_bytes(const struct chain_record *c)
{
    const size_t n_stats = c->stats ? c->n * N_STATS : 0;

    return sizeof(uint64_t) + (N_SUMS + n_stats) * sizeof(double);
}

static char *put(char *to, const void *from, size_t bytes)
{
    if (bytes) {
        memcpy(to, from, bytes);
    }
    return to + bytes;
}

static char *make_note(const struct checkpoint *c, size_t *bytes)
{
    const struct record *record = c->record;
    const size_t text = strlen(c->config) + 1;

    *bytes = text;
    for (size_t k = 0; k < record->n_chains; k++) {
        *bytes += chain_bytes(&record->chains[k]);
    }
    char *note = malloc(*bytes);
    char *to = note ? put(note, c->config, text) : NULL;
    for (size_t k = 0; to && k < record->n_chains; k++) {
        const struct chain_record *chain = &record->chains[k];
        const double sums[N_SUMS] = {chain->last, chain->mean, chain->squares,
                                     chain->jumps};
        const uint64_t n = chain->n;

        to = put(to, &n, sizeof n);
        to = put(to, sums, sizeof sums);
        to = put(to, chain->stats,
                 chain->stats ? chain->n * N_STATS * sizeof(double) : 0);
    }
    return note;
}

/* ---- writing ----------------------------------------------------------------- */

relmc_status checkpoint_write(struct checkpoint *c, relmc_error *err)
{
    size_t bytes = 0;

    if (!c->path) {
        return RELMC_OK;
    }
    char *note = make_note(c, &bytes);
    if (!note) {
        *err = (relmc_error){RELMC_ENOMEM, "out of memory for a checkpoint"};
        return err->status;
    }
    const relmc_status status =
        relmc_run_save(c->run, c->path, note, bytes, err);
    free(note);
    c->last = cli_clock();
    if (!status) {
        c->is_written = true;
        c->position = relmc_run_position(c->run);
    }
    return status;
}

relmc_status checkpoint_tend(struct checkpoint *c, relmc_error *err)
{
    return c->path && cli_clock() - c->last >= c->every
               ? checkpoint_write(c, err)
               : RELMC_OK;
}

/* ---- reading ----------------------------------------------------------------- */

static relmc_status read_note(struct resumed *out, const char *path,
                              relmc_error *err)
{
    size_t bytes = 0;
    relmc_status status = relmc_checkpoint_note(path, NULL, 0, &bytes, err);

    if (status) {
        return status;
    }
    out->note = cli_alloc(bytes + 1, 1); /* ends, whatever it holds */
    status = relmc_checkpoint_note(path, out->note, bytes, &out->bytes, err);
    if (!status && out->bytes > bytes) {
        *err = (relmc_error){RELMC_EIO, "it has changed while it was read"};
        status = err->status;
    }
    if (!status) {
        out->file = cli_text("%s", path);
    }
    return status;
}

/* A damaged one is put aside, so that the good one is not the first to be
 * replaced. */
static void put_aside(const char *path)
{
    char *aside = cli_text("%s.damaged", path);

    (void)rename(path, aside);
    free(aside);
}

int checkpoint_read(struct resumed *out, const char *path, const char *who,
                    const struct voice *voice)
{
    relmc_error err = {0}, other = {0};
    char *before = cli_text("%s.1", path);

    *out = (struct resumed){.path = cli_text("%s", path)};
    relmc_status status = read_note(out, path, &err);
    if (status && !access(before, F_OK)) {
        free(out->note);
        out->note = NULL;
        if (!read_note(out, before, &other)) {
            cli_warn(voice, "%s; going on from the one before, %s", err.message,
                     before);
            put_aside(path);
            status = RELMC_OK;
        }
    }
    free(before);
    return status ? cli_fail_status(who, status, &err) : CLI_OK;
}

void checkpoint_clear(struct resumed *resumed)
{
    free(resumed->path);
    free(resumed->file);
    free(resumed->note);
    *resumed = (struct resumed){0};
}

struct reader {
    const char *at;
    size_t left;
};

static bool take(struct reader *r, void *to, size_t bytes)
{
    if (bytes > r->left) {
        return false;
    }
    if (bytes) {
        memcpy(to, r->at, bytes);
    }
    r->at += bytes;
    r->left -= bytes;
    return true;
}

bool checkpoint_restore(struct record *record, const struct resumed *from,
                        size_t room)
{
    const size_t text = strlen(from->note) + 1;
    struct reader r = {from->note + text,
                       from->bytes > text ? from->bytes - text : 0};

    for (size_t k = 0; k < record->n_chains; k++) {
        struct chain_record *c = &record->chains[k];
        double sums[N_SUMS];
        uint64_t n = 0;

        if (!take(&r, &n, sizeof n) || !take(&r, sums, sizeof sums) ||
            (c->stats && n > room) ||
            (c->stats &&
             !take(&r, c->stats, (size_t)n * N_STATS * sizeof(double)))) {
            return false;
        }
        c->n = (size_t)n;
        c->last = sums[0];
        c->mean = sums[1];
        c->squares = sums[2];
        c->jumps = sums[3];
    }
    return r.left == 0;
}
