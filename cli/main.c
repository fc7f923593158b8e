/* main.c - finds the command and runs it. */
#include "cmd/help.h"
#include "commands.h"
#include "job/team.h"
#include "tool/cli.h"
#include "tool/openblas_kernels.h"
#include "tool/signals.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int unknown_command(const char *name)
{
    struct nearest nearest = {.wanted = name};
    relmc_component model = RELMC_INIT(relmc_component);

    for (size_t i = 0; !relmc_component_at("model", i, &model, NULL); i++) {
        if (!strcmp(model.name, name)) {
            return cli_fail(
                CLI_USAGE, "relmc",
                "no command \"%s\" (did you mean \"relmc sample %s\"?)", name,
                name);
        }
    }
    for (command_table c = cli_commands; *c; c++) {
        cli_nearest_offer(&nearest, (*c)->name);
    }
    if (nearest.word) {
        return cli_fail(CLI_USAGE, "relmc",
                        "no command \"%s\" (did you mean \"%s\"?)", name,
                        nearest.word);
    }
    return cli_fail(CLI_USAGE, "relmc",
                    "no command \"%s\" (relmc help lists them)", name);
}

static int dispatch(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";

    if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
        help_overview(cli_commands, cli_wants_colour(STDOUT_FILENO, "auto"));
        return CLI_OK;
    }
    if (!strcmp(word, "--version")) {
        version_line();
        return CLI_OK;
    }
    if (word[0] == '-') {
        return cli_fail(CLI_USAGE, "relmc",
                        "unknown option %s (options follow a command: relmc "
                        "sample banana %s)",
                        word, word);
    }
    const struct command *command = command_find(cli_commands, word);
    return command ? command_run(command, cli_commands, argc - 2, argv + 2)
                   : unknown_command(word);
}

static int lead(int argc, char **argv)
{
    const int code = dispatch(argc, argv);

    team_dismiss();
    return command_finish(code);
}

int main(int argc, char **argv)
{
    openblas_kernels_choose(argv);
    signals_begin();
    team_begin();
    return team_end(team()->rank ? team_worker_run(cli_commands)
                                 : lead(argc, argv));
}
