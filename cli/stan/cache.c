/* cache.c - locks and cleans the folder of compiled programs. */
#define _DEFAULT_SOURCE /* flock */

#include "stan/cache.h"
#include "tool/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- locks --------------------------------------------------------------- */

/* Is the open file still the one at `path`?  Its last holder may have removed
 * it. */
static bool is_current(int file, const char *path)
{
    struct stat mine, there;

    return !fstat(file, &mine) && !stat(path, &there) &&
           mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

int stan_cache_lock(const char *path)
{
    for (;;) {
        const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

        if (file < 0) {
            return file;
        }
        while (flock(file, LOCK_EX)) {
            if (errno != EINTR) {
                return file; /* no locks here: two processes may do the work */
            }
        }
        if (is_current(file, path)) {
            return file;
        }
        (void)close(file);
    }
}

void stan_cache_unlock(int file, const char *path)
{
    if (file >= 0) {
        (void)unlink(path);
        (void)close(file);
    }
}

/* ---- files --------------------------------------------------------------- */

void stan_cache_remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        char *file = cli_text("%s/%s", path, entry->d_name);

        (void)unlink(file);
        free(file);
    }
    if (folder) {
        (void)closedir(folder);
    }
    (void)rmdir(path);
}

void stan_cache_remove_old(const char *cache)
{
    enum { DAY = 24 * 60 * 60 };
    DIR *folder = opendir(cache);
    const struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        char *path = cli_text("%s/%s", cache, entry->d_name);
        struct stat found;

        if (!strncmp(entry->d_name, "work.", 5) && !stat(path, &found) &&
            found.st_mtime + DAY < time(NULL)) {
            stan_cache_remove_folder(path);
        }
        free(path);
    }
    if (folder) {
        (void)closedir(folder);
    }
}

/* Is this name one of ours?  A folder given by the user may have other
 * files. */
static bool is_ours(const char *name)
{
    const char *dash = strrchr(name, '-');
    const size_t digits = dash ? strspn(dash + 1, "0123456789abcdef") : 0;

    return !strncmp(name, "work.", 5) ||
           (digits == 16 &&
            (!dash[17] || !strcmp(dash + 17, ".so") ||
             !strcmp(dash + 17, ".lock") || !strcmp(dash + 17, ".so.lock")));
}

bool stan_cache_empty(const char *cache, size_t *n)
{
    DIR *folder = opendir(cache);
    const struct dirent *entry;

    *n = 0;
    while (folder && (entry = readdir(folder))) {
        char *path = cli_text("%s/%s", cache, entry->d_name);

        if (is_ours(entry->d_name)) {
            struct stat found;

            if (!stat(path, &found) && S_ISDIR(found.st_mode)) {
                stan_cache_remove_folder(path);
            }
            (void)unlink(path);
            ++*n;
        }
        free(path);
    }
    if (folder) {
        (void)closedir(folder);
    }
    return folder;
}
