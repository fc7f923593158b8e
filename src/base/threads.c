/* threads.c - hands out work items to threads. */
#include "base/threads.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MAX_THREADS = 256 };

struct share {
    atomic_size_t next;
    size_t n;
    void (*work)(void *ctx, size_t i);
    void *ctx;
};

static void *take_items(void *arg)
{
    struct share *share = arg;
    size_t i;

    while ((i = atomic_fetch_add(&share->next, 1)) < share->n) {
        share->work(share->ctx, i);
    }
    return NULL;
}

void rmc_share_work(size_t threads, size_t n, void (*work)(void *ctx, size_t i),
                    void *ctx)
{
    struct share share = {.n = n, .work = work, .ctx = ctx};
    pthread_t helper[MAX_THREADS];
    size_t n_helpers = 0;

    threads = threads < n ? threads : n;
    while (n_helpers + 1 < threads && n_helpers < MAX_THREADS &&
           !pthread_create(&helper[n_helpers], NULL, take_items, &share)) {
        n_helpers++;
    }
    (void)take_items(&share);
    for (size_t i = 0; i < n_helpers; i++) {
        (void)pthread_join(helper[i], NULL);
    }
}
