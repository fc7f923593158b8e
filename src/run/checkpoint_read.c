/* checkpoint_read.c - reads a checkpoint, a file of checkpoint_write.c, into a
 * run. */
#include "run/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { HEAD = RELMC_CHECKPOINT_HEAD };

static relmc_status damaged(const char *path, const char *how, relmc_error *err)
{
    return rmc_fail(err, RELMC_EIO, "%s is damaged: %s", path, how);
}

static relmc_status check_head(const unsigned char *file, size_t bytes,
                               const char *path, relmc_error *err)
{
    uint32_t format = 0;

    switch (rmc_head_check(&rmc_checkpoint_head, file, bytes, &format)) {
    case RMC_HEAD_GOOD:
        return RELMC_OK;
    case RMC_HEAD_FOREIGN:
        return rmc_fail(err, RELMC_EIO, "%s is not a checkpoint of relmc",
                        path);
    case RMC_HEAD_LENGTH:
        return damaged(path, "its length is not what it should be", err);
    case RMC_HEAD_HASH:
        return damaged(path, "its checksum does not match", err);
    case RMC_HEAD_ORDER:
        return rmc_fail(err, RELMC_EIO,
                        "%s comes from a machine with another order of bytes",
                        path);
    default:
        return rmc_fail(err, RELMC_EIO,
                        "%s has checkpoint format %u; this version reads %d",
                        path, format, RELMC_CHECKPOINT_VERSION);
    }
}

/* The next text of an archive; the archive owns it. */
struct rmc_span rmc_span_take(relmc_archive *a)
{
    const size_t n = (size_t)relmc_archive_count(a, 0, SIZE_MAX);
    const struct rmc_span text = {(const char *)a->at, n};

    if (n > (size_t)(a->end - a->at)) {
        relmc_archive_fail(a, "it ends too early");
        return (struct rmc_span){"", 0};
    }
    a->at += n;
    return text;
}

relmc_status rmc_checkpoint_expect(relmc_run *run, const relmc_sink_ops *ops,
                                   relmc_error *err)
{
    relmc_archive ahead = *run->loaded.archive;
    const struct rmc_span mine = {ops->info.name, strlen(ops->info.name)};
    const struct rmc_span name =
        run->loaded.n_sinks ? rmc_span_take(&ahead) : (struct rmc_span){"", 0};

    if (rmc_is_same_span(name, mine)) {
        return RELMC_OK;
    }
    run->has_failed = 1;
    return rmc_fail(
        err, RELMC_EINVAL, "checkpoint: the next sink was %.*s, not %s",
        name.n ? (int)name.n : 4, name.n ? name.at : "none", mine.at);
}

relmc_status rmc_checkpoint_sink(relmc_run *run, const relmc_sink_ops *ops,
                                 void *self, relmc_error *err)
{
    relmc_archive *a = run->loaded.archive;
    relmc_status status = RELMC_OK;

    (void)rmc_span_take(a); /* its name */
    if (ops->archive) {
        status = ops->archive(self, a, err);
    }
    if (!status && a->why) {
        status = rmc_fail(err, RELMC_EINVAL, "checkpoint: sink %s: %s",
                          ops->info.name, a->why);
    }
    run->loaded.n_sinks--;
    run->has_failed |= status != RELMC_OK;
    return status;
}

void rmc_checkpoint_close(relmc_run *run)
{
    run->loaded.archive = NULL;
    rmc_arena_release(&run->loaded.arena);
}

/* ---- reading ---------------------------------------------------------------- */

static relmc_status cannot_read(const char *path, relmc_error *err)
{
    return rmc_fail(err, RELMC_EIO, "cannot read %s: %s", path,
                    strerror(errno ? errno : EIO));
}

/* Reads and checks the whole file; the archive begins after its head. */
static relmc_status read_stream(relmc_archive *a, relmc_arena *arena, FILE *in,
                                const char *path, relmc_error *err)
{
    errno = 0;
    const long size = fseek(in, 0, SEEK_END) ? -1 : ftell(in);
    if (size < 0 || fseek(in, 0, SEEK_SET)) {
        return cannot_read(path, err);
    }
    const size_t bytes = (size_t)size;
    unsigned char *file = relmc_arena_get(arena, bytes + 1);
    relmc_status status = relmc_arena_check(arena, err);
    if (status) {
        return status;
    }
    if (fread(file, 1, bytes, in) != bytes) {
        return cannot_read(path, err);
    }
    if ((status = check_head(file, bytes, path, err))) {
        return status;
    }
    *a = (relmc_archive){.at = file + HEAD, .end = file + bytes};
    return RELMC_OK;
}

static relmc_status read_file(relmc_archive *a, relmc_arena *arena,
                              const char *path, relmc_error *err)
{
    FILE *in = fopen(path, "rb");

    if (!in) {
        return cannot_read(path, err);
    }
    const relmc_status status = read_stream(a, arena, in, path, err);
    (void)fclose(in);
    return status;
}

relmc_status rmc_checkpoint_open(relmc_archive *a, relmc_arena *arena,
                                 const char *path, struct rmc_span *manifest,
                                 relmc_error *err)
{
    const relmc_status status = read_file(a, arena, path, err);

    if (status) {
        return status;
    }
    (void)rmc_span_take(a); /* the note */
    *manifest = rmc_span_take(a);
    return a->why || !manifest->n || manifest->at[manifest->n - 1]
               ? damaged(path, "it has no manifest", err)
               : RELMC_OK;
}

/* Skips the options, which resume.c has read. */
static void skip_given(relmc_archive *a)
{
    (void)relmc_archive_count(a, 0, 1);
    for (int i = 0; i < 4; i++) {
        (void)rmc_span_take(a);
    }
    (void)relmc_archive_count(a, 0, UINT64_MAX);
    (void)relmc_archive_count(a, 0, UINT64_MAX);
}

relmc_status relmc_checkpoint_note(const char *path, void *note, size_t room,
                                   size_t *note_bytes, relmc_error *err)
{
    relmc_arena arena = {0};
    relmc_archive a = {0};
    relmc_status status = read_file(&a, &arena, path, err);

    if (!status) {
        const struct rmc_span text = rmc_span_take(&a);

        if (a.why) {
            status = damaged(path, a.why, err);
        } else if (room) {
            memcpy(note, text.at, text.n < room ? text.n : room);
        }
        *note_bytes = text.n;
    }
    rmc_arena_release(&arena);
    return status;
}

static relmc_status check_length(const relmc_run *run, relmc_error *err)
{
    const int64_t total = run->opts.warmup + run->opts.draws;

    for (size_t k = 0; k < run->opts.chains; k++) {
        const int64_t done = RMC_GET(run->chains[k].done);

        if (done > total || done < run->position) {
            return rmc_fail(err, RELMC_EINVAL,
                            "checkpoint: chain %zu has made %lld iterations "
                            "already, which is more than the %lld of this run",
                            run->opts.first_chain + k + 1, (long long)done,
                            (long long)total);
        }
    }
    return RELMC_OK;
}

static relmc_status read_content(relmc_run *run, relmc_archive *a,
                                 const char *path, const char *manifest,
                                 double *work, relmc_error *err)
{
    relmc_status status = rmc_compare_manifests(manifest, run->manifest, err);

    if (status) {
        return status;
    }
    skip_given(a);
    rmc_archive_common(run, a);
    rmc_archive_chains(run, a);
    if (!rmc_has_exact_states(run)) {
        status = rmc_archive_witness(run, a, work, err);
    }
    if (!status && !a->why && (status = check_length(run, err))) {
        return status;
    }
    rmc_keep_archive(run, a);
    rmc_running_archive(run, a);
    run->loaded.n_sinks = relmc_archive_count(a, 0, RMC_MAX_WATCHERS);
    if (!status && a->why) {
        status = rmc_fail(err, RELMC_EINVAL, "%s: %s", path, a->why);
    }
    return !status && rmc_has_exact_states(run)
               ? rmc_check_states(run, work, err)
               : status;
}

relmc_status rmc_checkpoint_load(relmc_run *run, const char *path,
                                 relmc_error *err)
{
    relmc_arena *arena = &run->loaded.arena;
    const size_t dim = run->target->dim, ld = run->ensembles[0].sys.shape.ld;
    const size_t n = 2 * dim + 2 > ld ? 2 * dim + 2 : ld;

    struct rmc_span manifest = {0};
    arena->memory = run->arena.memory;
    relmc_archive *a = relmc_arena_get(arena, sizeof *a);
    double *work = relmc_arena_get(arena, n * sizeof *work);
    relmc_status status = relmc_arena_check(arena, err);
    if (!status) {
        status = rmc_checkpoint_open(a, arena, path, &manifest, err);
    }
    if (!status) {
        status = read_content(run, a, path, manifest.at, work, err);
    }
    run->loaded.archive = a;
    return status;
}
