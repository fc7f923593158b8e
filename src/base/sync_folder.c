/* sync_folder.c - writes the names of files to the disk. */
#include "base/sync_folder.h"
#include "base/base.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void rmc_sync_folder(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash) {
        slash[slash == path] = '\0'; /* the root keeps its slash */
    }
    const int folder = open(slash ? path : ".", O_RDONLY);
    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
}
