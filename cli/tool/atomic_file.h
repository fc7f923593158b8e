/* atomic_file.h - files that appear when they are complete, or not at all. */
#ifndef RELMC_CLI_OUTPUT_H
#define RELMC_CLI_OUTPUT_H

#include "tool/cli.h"

#include <stdio.h>

/* A new file "PATH.PROCESS-N.tmp", which no other process has; the library names its
 * own in the same way.  NULL, and errno, if there is none.  *name is yours. */
FILE *temporary_open(const char *path, char **name);
/* The length of PATH, if that is the name of such a file; else 0. */
size_t temporary_of(const char *name);

struct output {
    const char *who;
    char *path, *temporary; /* the one next to the other */
    FILE *file;
};

/* 0, or the exit code after a message. */
int output_open(struct output *out, const char *who, const char *path);
/* What was written takes the place of what was there. */
int output_close(struct output *out);
/* It is forgotten; fine after output_close, too. */
void output_drop(struct output *out);

#endif
