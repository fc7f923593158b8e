/* atomic_file.c - files that appear when they are complete, or not at all. */
#define _POSIX_C_SOURCE 200809L

#include "tool/atomic_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FILE *atomic_file_open_temporary(const char *path, char **name)
{
    enum { MOST = 1000 }; /* left by processes that were killed */
    FILE *file = NULL;

    *name = NULL;
    for (int n = 0; n < MOST && !file; n++) {
        free(*name);
        *name = cli_text("%s.%ld-%d.tmp", path, (long)getpid(), n);
        file = fopen(*name, "wbx");
        if (!file && errno != EEXIST) {
            break;
        }
    }
    if (!file) {
        const int why = errno;

        free(*name);
        *name = NULL;
        errno = why;
    }
    return file;
}

size_t atomic_file_temporary_of(const char *name)
{
    const char *tail = strrchr(name, '.');
    const char *at = tail;

    if (!tail || strcmp(tail, ".tmp") != 0) {
        return 0;
    }
    while (at > name && strchr("0123456789-", at[-1])) {
        at--;
    }
    return at < tail && at > name && at[-1] == '.' ? (size_t)(at - 1 - name)
                                                   : 0;
}

int atomic_file_open(struct atomic_file *out, const char *who, const char *path)
{
    *out = (struct atomic_file){.who = who, .path = cli_text("%s", path)};
    out->file = atomic_file_open_temporary(path, &out->temporary);
    if (out->file) {
        return CLI_OK;
    }
    const int code =
        cli_fail(CLI_IO, who, "cannot write %s: %s", path, strerror(errno));
    atomic_file_drop(out);
    return code;
}

int atomic_file_close(struct atomic_file *out)
{
    const bool is_written = !ferror(out->file) && !fflush(out->file);
    const bool is_closed = !fclose(out->file);
    int code = CLI_OK;

    out->file = NULL;
    if (!is_written || !is_closed || rename(out->temporary, out->path)) {
        code = cli_fail(CLI_IO, out->who, "cannot write %s: %s", out->path,
                        strerror(errno));
        (void)remove(out->temporary);
    }
    atomic_file_drop(out);
    return code;
}

void atomic_file_drop(struct atomic_file *out)
{
    if (out->file) {
        (void)fclose(out->file);
        (void)remove(out->temporary);
    }
    free(out->path);
    free(out->temporary);
    *out = (struct atomic_file){0};
}
