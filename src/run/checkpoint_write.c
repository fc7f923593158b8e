/* checkpoint_write.c - writes a run to a checkpoint.
 *
 * The file: a head (magic, order of bytes, format, length, checksum), the note
 * of the caller, the manifest, the state that all chains share, each chain,
 * each sink.  Numbers are in the byte order of the machine; a machine with
 * another one refuses the file.
 *
 * The file is written under another name and synchronised to the disk before it
 * replaces the previous one, which stays as PATH.1.  So a complete checkpoint
 * exists whenever the machine fails.
 */
#include "base/sync_folder.h"
#include "base/temporary_file.h"
#include "run/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = RELMC_CHECKPOINT_HEAD };

const struct rmc_head rmc_checkpoint_head = {RELMC_CHECKPOINT_MAGIC,
                                             RELMC_CHECKPOINT_VERSION};

static void visit_text(relmc_archive *a, const void *text, size_t bytes)
{
    (void)relmc_archive_count(a, bytes, UINT64_MAX);
    rmc_archive_put(a, text, bytes);
}

static relmc_status write_sinks(relmc_run *run, relmc_archive *a,
                                relmc_error *err)
{
    relmc_status status = RELMC_OK;
    uint64_t n = 0;

    for (size_t w = 0; w < run->n_watchers; w++) {
        n += run->watchers[w].sink != NULL;
    }
    (void)relmc_archive_count(a, n, UINT64_MAX);
    for (size_t w = 0; w < run->n_watchers && !status; w++) {
        const struct rmc_watcher *watcher = &run->watchers[w];

        if (watcher->sink) {
            const char *name = watcher->sink->info.name;

            visit_text(a, name, strlen(name));
            if (watcher->sink->archive) {
                status = watcher->sink->archive(watcher->self, a, err);
            }
        }
    }
    return status;
}

struct paths {
    const char *path;
    char *fresh; /* of `room` bytes */
    size_t room;
    char *old;
};

static char *join(relmc_arena *arena, const char *path, const char *tail)
{
    const size_t bytes = strlen(path) + strlen(tail) + 1;
    rmc_text text = {relmc_arena_get(arena, bytes), bytes, 0};

    if (text.out) {
        rmc_text_add(&text, "%s%s", path, tail);
    }
    return text.out;
}

static relmc_status cannot_write(const char *path, relmc_error *err)
{
    return rmc_fail(err, RELMC_EIO, "cannot write %s: %s", path,
                    strerror(errno ? errno : EIO));
}

static relmc_status write_content(relmc_run *run, relmc_archive *a,
                                  const void *note, size_t note_bytes,
                                  double *work, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    visit_text(a, note, note_bytes);
    visit_text(a, run->manifest, strlen(run->manifest) + 1);
    rmc_archive_given(run, a);
    rmc_archive_common(run, a);
    rmc_archive_chains(run, a);
    if (!rmc_has_exact_states(run)) {
        status = rmc_archive_witness(run, a, work, err);
    }
    rmc_keep_archive(run, a);
    rmc_running_archive(run, a);
    return status ? status : write_sinks(run, a, err);
}

/* Writes the content, then the head with its length and checksum. */
static relmc_status write_file(relmc_run *run, FILE *out, const char *path,
                               const void *note, size_t note_bytes,
                               double *work, relmc_error *err)
{
    relmc_archive a = {.out = out};
    unsigned char head[HEAD] = {0};

    errno = 0;
    if (fwrite(head, 1, HEAD, out) != HEAD) {
        return cannot_write(path, err);
    }
    const relmc_status status =
        write_content(run, &a, note, note_bytes, work, err);
    if (status) {
        return status;
    }
    rmc_head_make(head, &rmc_checkpoint_head, &a);
    if (a.why) {
        errno = a.error;
        return cannot_write(path, err);
    }
    if (fseek(out, 0, SEEK_SET) || fwrite(head, 1, HEAD, out) != HEAD ||
        fflush(out) || fsync(fileno(out))) {
        return cannot_write(path, err);
    }
    return RELMC_OK;
}

/* Links the present file as PATH.1, so that PATH exists until the new file
 * replaces it; renames it where files cannot have two names. */
static relmc_status put_in_place(const struct paths *p, relmc_error *err)
{
    if (!access(p->path, F_OK)) {
        (void)remove(p->old);
        if (link(p->path, p->old)) {
            (void)rename(p->path, p->old);
        }
    }
    if (rename(p->fresh, p->path)) {
        return cannot_write(p->path, err);
    }
    rmc_sync_folder(p->fresh);
    return RELMC_OK;
}

static relmc_status save(relmc_run *run, const struct paths *p,
                         const void *note, size_t note_bytes, double *work,
                         relmc_error *err)
{
    FILE *out = rmc_temporary_open(p->path, "wbx", p->fresh, p->room);

    if (!out) {
        return cannot_write(p->path, err);
    }
    relmc_status status =
        write_file(run, out, p->fresh, note, note_bytes, work, err);
    if (fclose(out) && !status) {
        status = cannot_write(p->fresh, err);
    }
    if (!status) {
        status = put_in_place(p, err);
    }
    if (status) {
        (void)remove(p->fresh);
    }
    return status;
}

relmc_status relmc_run_save(relmc_run *run, const char *path, const void *note,
                            size_t note_bytes, relmc_error *err)
{
    relmc_arena arena = {.memory = run->arena.memory};

    if (run->is_finished || run->has_failed) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: it %s and cannot be kept in a checkpoint",
                        run->is_finished ? "is finished" : "has failed");
    }
    const size_t room = strlen(path) + RMC_TEMPORARY_TAIL;
    const struct paths p = {
        .path = path,
        .fresh = relmc_arena_get(&arena, room),
        .room = room,
        .old = join(&arena, path, ".1"),
    };
    double *work =
        relmc_arena_get(&arena, (2 * run->target->dim + 2) * sizeof *work);
    relmc_status status = rmc_team_gather(run, err);
    if (status) {
        rmc_arena_release(&arena);
        return status;
    }
    status = p.fresh && p.old && work
                 ? save(run, &p, note, note_bytes, work, err)
                 : rmc_fail(err, RELMC_ENOMEM, "out of memory");
    rmc_arena_release(&arena);
    return status;
}
