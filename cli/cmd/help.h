/* help.h - help texts, made from the tables of options and components. */
#ifndef RELMC_CLI_HELP_H
#define RELMC_CLI_HELP_H

#include "tool/cli.h"

void help_overview(command_table commands, bool has_colour);
/* All components of a role, parameters included. */
void help_components(const char *role);
/* A component: its line and its parameters, indented. */
void help_component(const relmc_info *info);
/* The components that `relmc sample` combines, by name. */
void help_component_names(void);

/* "relmc 0.1.0 ..." on stdout. */
void version_line(void);

#endif
