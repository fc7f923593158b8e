/* temporary_file.h - names for files that are not whole yet. */
#ifndef RMC_TEMPORARY_FILE_H
#define RMC_TEMPORARY_FILE_H

#include <stdio.h>

/* A new file "PATH.PROCESS-N.tmp", which no other process has; `mode` ends with x:
 * "wbx".  NULL, and errno, if there is none.  `name` has room for `path` and
 * RMC_TEMPORARY_TAIL more. */
enum { RMC_TEMPORARY_TAIL = 48 };
FILE *rmc_temporary_open(const char *path, const char *mode, char *name,
                         size_t room);

#endif
