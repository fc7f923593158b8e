/* datadir.h - files in share/relmc and programs in libexec/relmc, which came
 * with the tool. */
#ifndef RELMC_CLI_DATADIR_H
#define RELMC_CLI_DATADIR_H

/* The folder NAME of share/relmc that holds `file`; yours. NULL after a message
 * if it is nowhere. */
char *datadir_find_folder(const char *name, const char *file);

/* The path of a program that a command runs; yours. NULL, without a message, if
 * it is not there. */
char *datadir_find_program(const char *name);

#endif
