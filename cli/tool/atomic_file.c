/* atomic_file.c - files that appear when they are complete, or not at all. */
#define _POSIX_C_SOURCE 200809L

#include "tool/atomic_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int output_open(struct output *out, const char *who, const char *path)
{
    *out = (struct output){.who = who, .path = cli_text("%s", path)};
    out->temporary = cli_text("%s.%ld.tmp", path, (long)getpid());
    out->file = fopen(out->temporary, "wb");
    if (out->file) {
        return CLI_OK;
    }
    const int code =
        cli_fail(CLI_IO, who, "cannot write %s: %s", path, strerror(errno));
    output_drop(out);
    return code;
}

int output_close(struct output *out)
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
    output_drop(out);
    return code;
}

void output_drop(struct output *out)
{
    if (out->file) {
        (void)fclose(out->file);
        (void)remove(out->temporary);
    }
    free(out->path);
    free(out->temporary);
    *out = (struct output){0};
}
