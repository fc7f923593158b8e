/* datadir.c - finds the files and programs that came with the tool. */
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

static bool holds(const char *folder, const char *name, int mode)
{
    char *path = cli_text("%s/%s", folder, name);
    const bool is_there = !access(path, mode);

    free(path);
    return is_there;
}

/* The first of the n places that holds the file; the others are freed. */
static char *first_with(char **places, size_t n, const char *file, int mode)
{
    char *found = NULL;

    for (size_t i = 0; i < n; i++) {
        if (!found && places[i] && holds(places[i], file, mode)) {
            found = places[i];
        } else {
            free(places[i]);
        }
    }
    return found;
}

/* Beside the program in the build tree, where it was installed, or where that
 * tree was moved to.  Programs stand in bin or in libexec/relmc. */
char *datadir_find_folder(const char *name, const char *file)
{
    const char *given = getenv("RELMC_DATADIR");
    char *own = own_folder();
    char *places[] = {
        given && *given ? cli_text("%s/%s", given, name) : NULL,
        own ? cli_text("%s/" RELMC_DATADIR_FROM_BIN "/%s", own, name) : NULL,
        own ? cli_text("%s/" RELMC_DATADIR_FROM_EXEC "/%s", own, name) : NULL,
        own ? cli_text("%s/share/relmc/%s", own, name) : NULL,
        cli_text("%s/%s", RELMC_DATADIR, name),
    };
    char *found =
        first_with(places, sizeof places / sizeof *places, file, R_OK);

    free(own);
    if (!found) {
        (void)cli_fail(0, "relmc",
                       "cannot find %s/%s of relmc: set RELMC_DATADIR to the "
                       "folder share/relmc of the installation",
                       name, file);
    }
    return found;
}

char *datadir_find_program(const char *name)
{
    const char *given = getenv("RELMC_EXEC_PATH");
    char *own = own_folder();
    char *places[] = {
        given && *given ? cli_text("%s", given) : NULL,
        own ? cli_text("%s/" RELMC_EXEC_FROM_BIN, own) : NULL,
        own ? cli_text("%s", own) : NULL,
        cli_text("%s", RELMC_EXEC),
    };
    char *folder =
        first_with(places, sizeof places / sizeof *places, name, X_OK);
    char *path = folder ? cli_text("%s/%s", folder, name) : NULL;

    free(folder);
    free(own);
    return path;
}
