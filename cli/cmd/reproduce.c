/* reproduce.c - relmc reproduce: runs the program relmc-reproduce. */
#define _POSIX_C_SOURCE 200809L

#include "job/team.h"
#include "tool/cli.h"
#include "tool/datadir.h"
#include "tool/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char program[] = "relmc-reproduce";

/* One process makes the figures: the others of relmc-mpi end first. */
static int pass_on(char **arguments)
{
    size_t n = 0;
    char *path = datadir_find_program(program);

    if (!path) {
        return cli_fail(CLI_IO, "relmc reproduce",
                        "the program %s is not installed (looked beside relmc "
                        "and in libexec/relmc; RELMC_EXEC_PATH names another "
                        "folder)",
                        program);
    }
    while (arguments[n]) {
        n++;
    }
    char **argv = cli_alloc(n + 2, sizeof *argv);
    argv[0] = path;
    memcpy(argv + 1, arguments, n * sizeof *argv);
    team_dismiss();
    (void)team_end(CLI_OK);
    (void)execv(path, argv);
    exit(cli_fail(CLI_IO, "relmc reproduce", "cannot run %s: %s", path,
                  strerror(errno)));
}

/* relmc-reproduce reads the other options. */
static const struct opt options[] = {OPT_COMMON, {0}};

const struct command cmd_reproduce = {
    .name = "reproduce",
    .argument = "[FIGURE...]",
    .doc = "make the figures of the paper, and judge its claims",
    .options = options,
    .pass_on = pass_on,
};
