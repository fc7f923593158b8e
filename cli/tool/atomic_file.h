/* atomic_file.h - files that appear when they are complete, or not at all. */
#ifndef RELMC_CLI_ATOMIC_FILE_H
#define RELMC_CLI_ATOMIC_FILE_H

#include "tool/cli.h"

#include <stdio.h>

/* A new file "PATH.PROCESS-N.tmp", which no other process has; the library
 * names its own in the same way. NULL, and errno, if there is none. *name is
 * yours. */
FILE *atomic_file_open_temporary(const char *path, char **name);
/* The length of PATH, if that is the name of such a file; else 0. */
size_t atomic_file_temporary_of(const char *name);

struct atomic_file {
    const char *who;
    char *path, *temporary; /* `temporary` is in the same folder */
    FILE *file;
};

/* 0, or the exit code after a message. */
int atomic_file_open(struct atomic_file *out, const char *who,
                     const char *path);
/* The new file replaces the old one. */
int atomic_file_close(struct atomic_file *out);
/* Removes the new file; does nothing after atomic_file_close. */
void atomic_file_drop(struct atomic_file *out);

#endif
