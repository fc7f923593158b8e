/* threads.h - the same work on many items, by several threads; processors, time. */
#ifndef RMC_THREADS_H
#define RMC_THREADS_H

#include <stddef.h>
#include <stdint.h>

/* work(ctx, i) for every i < n, by at most `threads` threads, of which the
 * caller is one.  Items are handed out one at a time.  Returns when all are
 * done; if threads cannot be had, those there are do the work. */
void rmc_share_work(size_t threads, size_t n, void (*work)(void *ctx, size_t i),
                    void *ctx);

/* The same; while others finish their last items the caller calls beat(ctx) every
 * `seconds`, about. */
void rmc_share_work_beating(size_t threads, size_t n,
                            void (*work)(void *ctx, size_t i), void *ctx,
                            double seconds, void (*beat)(void *ctx));

/* At least 1. */
uint32_t rmc_processors(void);
/* Seconds, of a clock that is never set back. */
double rmc_system_clock(void);

#endif
