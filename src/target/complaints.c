/*
 * complaints.c - counts what may happen often and in several threads, and keeps the
 * text of the first time.
 */
#include "target/target.h"

#include <stdio.h>

enum { NONE, BEING_WRITTEN, THERE };

void rmc_complain(struct rmc_complaints *about, int64_t n, const char *text)
{
    int expected = NONE;

    (void)atomic_fetch_add_explicit(&about->n, n, memory_order_relaxed);
    if (*text && atomic_compare_exchange_strong(&about->state, &expected,
                                                BEING_WRITTEN)) {
        (void)snprintf(about->first.message, sizeof about->first.message, "%s",
                       text);
        atomic_store(&about->state, THERE);
    }
}

int64_t rmc_complaints(struct rmc_complaints *about, const char **first)
{
    const int is_there = about && atomic_load(&about->state) == THERE;

    if (first) {
        *first = is_there ? about->first.message : NULL;
    }
    return about ? atomic_load_explicit(&about->n, memory_order_relaxed) : 0;
}
