/* command.c - runs one command of a program: its options come from all
 * places. */
#include "tool/command_help.h"
#include "tool/config.h"
#include "tool/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct command *command_find(command_table commands, const char *name)
{
    while (*commands && strcmp((*commands)->name, name) != 0) {
        commands++;
    }
    return *commands;
}

/* The strongest place is read first. */
static int gather(struct opt_set *set, int argc, char **argv)
{
    int code;

    if ((code = opt_read_arguments(set, argc, argv)) ||
        (code = opt_read_environment(set)) || (code = config_read(set)) ||
        (code = config_read_user(set))) {
        return code;
    }
    return CLI_OK;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
            return true;
        }
    }
    return false;
}

int command_run(const struct command *command, command_table commands, int argc,
                char **argv)
{
    struct opt_set set;

    if (command->pass_on) {
        return command->pass_on(argv);
    }
    if (asks_for_help(argc, argv)) {
        command_help_print(command, cli_wants_colour(STDOUT_FILENO, "auto"));
        return CLI_OK;
    }
    opt_init(&set, command, commands);
    int code = gather(&set, argc, argv);
    if (!code) {
        code = command->run(&set);
    }
    opt_clear(&set);
    return code;
}

int command_finish(int code)
{
    if (fflush(stdout) || ferror(stdout)) {
        return cli_fail(CLI_IO, "relmc", "cannot write to standard output: %s",
                        strerror(errno));
    }
    return code;
}
