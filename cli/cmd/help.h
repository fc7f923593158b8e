/* help.h - prints help texts from the tables of options and components. */
#ifndef RELMC_CLI_HELP_H
#define RELMC_CLI_HELP_H

#include "tool/cli.h"

void help_overview(command_table commands, bool has_colour);
/* The components that `relmc sample` combines, by name. */
void help_component_names(void);

/* "relmc 0.2.0 ..." on stdout. */
void version_line(void);

#endif
