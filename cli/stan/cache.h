/* cache.h - locks and cleans the folder of compiled programs. */
#ifndef RELMC_CLI_STAN_CACHE_H
#define RELMC_CLI_STAN_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* Waits for a process that is making the same file. The lock ends with this
 * process. Returns a descriptor for stan_cache_unlock, -1 without a lock. */
int stan_cache_lock(const char *path);
void stan_cache_unlock(int file, const char *path);

/* Removes a folder that contains only files. */
void stan_cache_remove_folder(const char *path);
/* Removes what a killed process left a day ago or earlier. */
void stan_cache_remove_old(const char *cache);
/* Removes all that was compiled, and counts it. False if there is no such
 * folder. */
bool stan_cache_empty(const char *cache, size_t *n);

#endif
