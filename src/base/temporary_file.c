/* temporary_file.c - opens a file that gets its name when it is complete. */
#include "base/temporary_file.h"
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

FILE *rmc_temporary_open(const char *path, const char *mode, char *name,
                         size_t room)
{
    enum { MOST = 1000 }; /* files left by killed processes */
    FILE *file = NULL;

    for (int n = 0; n < MOST && !file; n++) {
        (void)snprintf(name, room, "%s.%ld-%d.tmp", path, (long)getpid(), n);
        file = fopen(name, mode);
        if (!file && errno != EEXIST) {
            break;
        }
    }
    return file;
}
