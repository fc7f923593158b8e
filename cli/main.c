/* main.c - finds the command and gathers its options. */
#include "cmd/help.h"
#include "commands.h"
#include "job/team.h"
#include "tool/cli.h"
#include "tool/config.h"
#include "tool/openblas_kernels.h"
#include "tool/options.h"
#include "tool/signals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int unknown_command(const char *name)
{
    struct nearest nearest = {.wanted = name};
    const relmc_info *model;

    for (size_t i = 0; (model = relmc_info_at("model", i)); i++) {
        if (!strcmp(model->name, name)) {
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

/* Every place options come from; the strongest is read first. */
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

static int run_command(const struct command *command, int argc, char **argv)
{
    struct opt_set set;

    if (asks_for_help(argc, argv)) {
        help_command(command, cli_wants_colour(STDOUT_FILENO, "auto"));
        return CLI_OK;
    }
    opt_init(&set, command, cli_commands);
    int code = gather(&set, argc, argv);
    if (!code) {
        code = command->run(&set);
    }
    opt_clear(&set);
    return code;
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
    return command ? run_command(command, argc - 2, argv + 2)
                   : unknown_command(word);
}

static int lead(int argc, char **argv)
{
    const int code = dispatch(argc, argv);

    team_dismiss();
    if (fflush(stdout) || ferror(stdout)) {
        return cli_fail(CLI_IO, "relmc", "cannot write to standard output: %s",
                        strerror(errno));
    }
    return code;
}

int main(int argc, char **argv)
{
    blas_choose_kernels(argv);
    signals_begin();
    team_begin();
    return team_end(team()->rank ? team_follow(cli_commands)
                                 : lead(argc, argv));
}
