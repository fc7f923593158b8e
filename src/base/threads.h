/* threads.h - shares work among threads, counts processors, reads the clock. */
#ifndef RMC_THREADS_H
#define RMC_THREADS_H

#include <stddef.h>
#include <stdint.h>

/* Calls work(ctx, i) for every i < n in at most `threads` threads, one of which is the
 * caller's; each takes one item at a time.  Returns when all are done.  If threads
 * cannot be created, fewer do the work. */
void rmc_share_work(size_t threads, size_t n, void (*work)(void *ctx, size_t i),
                    void *ctx);

/* The same; when no items are left, the caller calls beat(ctx) about every `seconds`
 * until the other threads are done. */
void rmc_share_work_beating(size_t threads, size_t n,
                            void (*work)(void *ctx, size_t i), void *ctx,
                            double seconds, void (*beat)(void *ctx));

/* Processors that are online; at least 1. */
uint32_t rmc_processors(void);
/* Seconds of a clock that is never set back. */
double rmc_system_clock(void);

#endif
