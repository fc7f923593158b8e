/* process.h - finds and runs other programs. */
#ifndef RELMC_CLI_PROCESS_H
#define RELMC_CLI_PROCESS_H

/* The file that the shell would run for that name; NULL if there is none. */
char *process_find(const char *name);

/* Runs argv[0], a path, with nothing to read, in the C locale.  Returns its
 * exit code, 128 + a signal, or 127 if it cannot be started; *output is all it
 * wrote, to be freed. */
int process_run(char *const *argv, char **output);

#endif
