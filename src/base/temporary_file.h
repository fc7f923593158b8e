/* temporary_file.h - opens a file that gets its name when it is complete. */
#ifndef RMC_TEMPORARY_FILE_H
#define RMC_TEMPORARY_FILE_H

#include <stdio.h>

/* Creates a file "PATH.PROCESS-N.tmp"; `mode` ends with x, "wbx", so that it is a new
 * one.  NULL, and errno, on failure.  `name` has room for `path` and
 * RMC_TEMPORARY_TAIL more. */
enum { RMC_TEMPORARY_TAIL = 48 };
FILE *rmc_temporary_open(const char *path, const char *mode, char *name,
                         size_t room);

#endif
