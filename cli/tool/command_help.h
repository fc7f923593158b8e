/* command_help.h - the help text of a command, and what other help texts
 * share. */
#ifndef RELMC_CLI_COMMAND_HELP_H
#define RELMC_CLI_COMMAND_HELP_H

#include "tool/cli.h"

#include "relmc_spec.h"

void command_help_print(const struct command *command, bool has_colour);

void command_help_heading(const char *text, bool has_colour);
/* "  left            right", the right part wrapped and indented. */
void command_help_entry(const char *left, const char *right, size_t indent);
/* Whole lines. */
void command_help_examples(const char *lines, bool has_colour);
/* "in [0, 1], default 0.5" */
void command_help_range(char *out, size_t bytes, const relmc_parameter *param);

#endif
