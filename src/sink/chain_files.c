/* chain_files.c - a file for every chain. */
#include "sink/chain_files.h"

#include <errno.h>
#include <string.h>

relmc_status rmc_chain_file_cannot(const struct rmc_chain_file *f,
                                   const char *verb, relmc_error *err)
{
    return rmc_fail(err, RELMC_EIO, "cannot %s %s: %s", verb, f->path,
                    strerror(errno ? errno : EIO));
}

relmc_status rmc_chain_file_check(const struct rmc_chain_file *f,
                                  relmc_error *err)
{
    return ferror(f->stream) ? rmc_chain_file_cannot(f, "write", err)
                             : RELMC_OK;
}

static relmc_status set_path(struct rmc_chain_file *f, relmc_arena *arena,
                             const char *base, uint32_t chain,
                             const char *extension, relmc_error *err)
{
    const size_t bytes =
        strlen(base) + sizeof "_4294967296" + strlen(extension);

    f->path = relmc_arena_get(arena, bytes);
    if (f->path) {
        (void)snprintf(f->path, bytes, "%s_%lld%s", base, (long long)chain + 1,
                       extension);
    }
    return relmc_arena_check(arena, err);
}

relmc_status rmc_chain_files_close(const struct rmc_chain_files *files,
                                   relmc_error *err)
{
    relmc_status status = RELMC_OK;

    for (size_t i = 0; i < files->n; i++) {
        struct rmc_chain_file *f = rmc_chain_files_at(files, i);

        if (!f->stream) {
            continue;
        }
        errno = 0;
        const int had_failed = ferror(f->stream);
        if ((fclose(f->stream) || had_failed) && !status) {
            status = rmc_chain_file_cannot(f, "write", err);
        }
        f->stream = NULL;
    }
    return status;
}

/* Files of a resumed run hold draws: they are not removed. */
static void abandon(const struct rmc_chain_files *files, int is_resumed)
{
    (void)rmc_chain_files_close(files, NULL);
    for (size_t i = 0; i < files->n && !is_resumed; i++) {
        const struct rmc_chain_file *f = rmc_chain_files_at(files, i);

        (void)remove(f->path);
    }
}

relmc_status rmc_chain_files_open(struct rmc_chain_files *files,
                                  relmc_arena *arena, const relmc_header *h,
                                  const char *base, const char *extension,
                                  rmc_chain_file_opener *opener, void *self,
                                  relmc_error *err)
{
    relmc_status status = RELMC_OK;

    files->first_chain = h->first_chain;
    files->first = relmc_arena_get(arena, h->chains * files->size);
    if (!files->first) {
        return relmc_arena_check(arena, err);
    }
    for (uint32_t k = 0; k < h->chains && !status; k++) {
        struct rmc_chain_file *f = rmc_chain_files_at(files, k);

        status = set_path(f, arena, base, h->first_chain + k, extension, err);
        if (!status) {
            status = opener(self, f, arena, h->first_chain + k, h, err);
        }
        files->n += f->stream != NULL;
    }
    if (status) {
        abandon(files, h->is_resumed);
    }
    return status;
}

relmc_status rmc_chain_files_archive(const struct rmc_chain_files *files,
                                     relmc_archive *a,
                                     rmc_chain_file_archiver *archiver,
                                     void *self, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    for (size_t i = 0; i < files->n && !status; i++) {
        status = archiver(self, rmc_chain_files_at(files, i), a, err);
    }
    if (relmc_archive_is_reading(a) &&
        (status || relmc_archive_has_failed(a))) {
        (void)rmc_chain_files_close(files, NULL);
    }
    return status;
}
