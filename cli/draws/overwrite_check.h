/* overwrite_check.h - refuses to overwrite a file that the same command reads, or writes by
 * another option, and files that another process writes. */
#ifndef RELMC_CLI_OVERWRITE_CHECK_H
#define RELMC_CLI_OVERWRITE_CHECK_H

#include "tool/options.h"

/* Is it one of the files that arguments and options name, other than `writer`?
 * --config is not counted: a run that repeats another writes it anew. */
bool overwrite_check_is_named(const struct opt_set *set, const char *writer,
                              const char *path);

/* May the file that the option `writer` names be written?  0, or the exit code after a
 * message if an argument or another option names it, too. */
int overwrite_check_output(const struct opt_set *set, const char *writer,
                           const char *path);
/* Only one process at a time writes the files of a run or a conversion:
 * those with the BASE of `path`, a file of it, until this process ends. 0,
 * or the exit code after a message that says who has them. overwrite_check_output does
 * it, too. */
int overwrite_check_lock(const char *who, const char *path);
/* The same of the table that `writer` names, if it is given: it does not replace a file
 * of draws, either. */
int overwrite_check_table(const struct opt_set *set, const char *writer);

#endif
