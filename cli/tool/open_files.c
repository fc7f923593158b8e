/* open_files.c - how many files the process may have open at once. */
#define _POSIX_C_SOURCE 200809L

#include "tool/open_files.h"
#include "tool/cli.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

/* Standard streams, locks, a checkpoint, libraries, pipes. */
enum { USUAL = 64 };

int open_files_allow(const char *who, size_t n, const char *what)
{
    const rlim_t wanted = (rlim_t)n + USUAL;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted) {
        return CLI_OK; /* unknown: opening a file will fail with a message */
    }
    if (limit.rlim_max < wanted) {
        return cli_fail(CLI_USAGE, who,
                        "%s needs %llu open files, and the system allows %llu "
                        "(ulimit -Hn)",
                        what, (unsigned long long)wanted,
                        (unsigned long long)limit.rlim_max);
    }
    limit.rlim_cur = wanted;
    return setrlimit(RLIMIT_NOFILE, &limit)
               ? cli_fail(CLI_IO, who, "%s needs %llu open files: %s", what,
                          (unsigned long long)wanted, strerror(errno))
               : CLI_OK;
}
