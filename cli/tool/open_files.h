/* open_files.h - how many files the process may have open at once. */
#ifndef RELMC_CLI_OPEN_FILES_H
#define RELMC_CLI_OPEN_FILES_H

#include <stddef.h>

/* Makes room for n files besides the usual ones: raises the limit of the
 * process, as far as the system allows. 0, or the exit code after a message:
 * "WHAT needs ...". */
int open_files_allow(const char *who, size_t n, const char *what);

#endif
