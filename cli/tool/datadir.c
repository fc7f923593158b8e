/* datadir.c - finds the files that came with the tool. */
#define _POSIX_C_SOURCE 200809L

#include "tool/datadir.h"
#include "tool/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of this program, or NULL. */
static char *own_folder(void)
{
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

    if (n <= 0) {
        return NULL;
    }
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    return slash ? cli_text("%.*s", (int)(slash - path), path) : NULL;
}

static bool holds(const char *folder, const char *name)
{
    char *path = cli_text("%s/%s", folder, name);
    const bool is_there = !access(path, R_OK);

    free(path);
    return is_there;
}

/* Beside the tool in the build tree, where it was installed, or where that
 * tree was moved to. */
char *share_find(const char *name, const char *file)
{
    const char *given = getenv("RELMC_DATADIR");
    char *own = own_folder();
    char *places[] = {
        given && *given ? cli_text("%s/%s", given, name) : NULL,
        own ? cli_text("%s/%s/%s", own, RELMC_DATADIR_FROM_BIN, name) : NULL,
        own ? cli_text("%s/share/relmc/%s", own, name) : NULL,
        cli_text("%s/%s", RELMC_DATADIR, name),
    };
    char *found = NULL;

    free(own);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!found && places[i] && holds(places[i], file)) {
            found = places[i];
        } else {
            free(places[i]);
        }
    }
    if (!found) {
        (void)cli_fail(0, "relmc",
                       "cannot find %s/%s of relmc: set RELMC_DATADIR to the "
                       "folder share/relmc of the installation",
                       name, file);
    }
    return found;
}
