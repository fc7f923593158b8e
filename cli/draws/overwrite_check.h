/* overwrite_check.h - what is written takes the place of nothing that is read, or written
 * elsewhere. */
#ifndef RELMC_CLI_GUARD_H
#define RELMC_CLI_GUARD_H

#include "tool/options.h"

/* Is it one of the files that arguments and options name, other than `writer`?
 * --config is not counted: a run that repeats another writes it anew. */
bool guard_is_named(const struct opt_set *set, const char *writer,
                    const char *path);

/* For a file that the option `writer` has written, before it is: 0, or the exit
 * code after a message if it is named elsewhere. */
int guard_output(const struct opt_set *set, const char *writer,
                 const char *path);
/* Only one process at a time writes the files of a run or a conversion: those with
 * the BASE of `path`, a file of it, until this process ends.  0, or the exit code after
 * a message that says who has them.  guard_output does it, too. */
int guard_lock(const char *who, const char *path);
/* For the table that `writer` names, if it does: it does not replace draws,
 * either. */
int guard_table(const struct opt_set *set, const char *writer);

#endif
