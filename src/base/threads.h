/* threads.h - the same work on many items, by several threads. */
#ifndef RMC_THREADS_H
#define RMC_THREADS_H

#include <stddef.h>

/* work(ctx, i) for every i < n, by at most `threads` threads, of which the
 * caller is one.  Items are handed out one at a time.  Returns when all are
 * done; if threads cannot be had, those there are do the work. */
void rmc_share_work(size_t threads, size_t n, void (*work)(void *ctx, size_t i),
                    void *ctx);

#endif
