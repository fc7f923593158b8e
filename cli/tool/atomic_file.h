/* atomic_file.h - files that appear when they are complete, or not at all. */
#ifndef RELMC_CLI_ATOMIC_FILE_H
#define RELMC_CLI_ATOMIC_FILE_H

#include "tool/cli.h"

#include <stdio.h>

/* A new file "PATH.PROCESS-N.tmp", which no other process has; the library
 * names its own in the same way. NULL, and errno, if there is none. *name is
 * yours. */
FILE *temporary_open(const char *path, char **name);
/* The length of PATH, if that is the name of such a file; else 0. */
size_t temporary_of(const char *name);

struct output {
    const char *who;
    char *path, *temporary; /* `temporary` is in the same folder */
    FILE *file;
};

/* 0, or the exit code after a message. */
int output_open(struct output *out, const char *who, const char *path);
/* The new file replaces the old one. */
int output_close(struct output *out);
/* Removes the new file; does nothing after output_close. */
void output_drop(struct output *out);

#endif
