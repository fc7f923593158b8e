/* file_lock.h - one process at a time writes a file. */
#ifndef RELMC_CLI_FILE_LOCK_H
#define RELMC_CLI_FILE_LOCK_H

#include <stdbool.h>

/* Takes the lock of the name `path`, whose file need not exist: a lock of the
 * kernel on PATH.lock, until this process ends. 0, also if it has the lock
 * already, or the exit code after a message that says who holds it. *is_new may
 * be NULL. */
int file_lock_take(const char *who, const char *path, bool *is_new);

#endif
