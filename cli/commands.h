/* commands.h - the commands of the tool. */
#ifndef RELMC_CLI_COMMANDS_H
#define RELMC_CLI_COMMANDS_H

#include "tool/cli.h"

/* In the order of the overview that `relmc help` prints. */
extern const struct command *const cli_commands[];

#endif
