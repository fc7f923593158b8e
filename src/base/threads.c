/* threads.c - shares work among threads, counts processors, reads the clock. */
#include "base/threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 256 };

struct share {
    atomic_size_t next;
    size_t n;
    void (*work)(void *ctx, size_t i);
    void *ctx;
    pthread_mutex_t lock; /* for n_busy */
    pthread_cond_t is_idle;
    size_t n_busy; /* helpers at work */
};

static void take_items(struct share *share)
{
    size_t i;

    while ((i = atomic_fetch_add(&share->next, 1)) < share->n) {
        share->work(share->ctx, i);
    }
}

static void *help(void *arg)
{
    struct share *share = arg;

    take_items(share);
    (void)pthread_mutex_lock(&share->lock);
    share->n_busy--;
    (void)pthread_cond_signal(&share->is_idle);
    (void)pthread_mutex_unlock(&share->lock);
    return NULL;
}

static struct timespec after(double seconds)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    const double at = (double)t.tv_nsec * 1e-9 + seconds;
    t.tv_sec += (time_t)at;
    t.tv_nsec = (long)((at - (double)(time_t)at) * 1e9);
    return t;
}

/* Waits until all helpers are done. */
static void wait_beating(struct share *share, double seconds,
                         void (*beat)(void *ctx))
{
    (void)pthread_mutex_lock(&share->lock);
    while (share->n_busy) {
        const struct timespec until = after(seconds);
        int is_late = 0;

        while (share->n_busy && !is_late) {
            is_late = pthread_cond_timedwait(&share->is_idle, &share->lock,
                                             &until) == ETIMEDOUT;
        }
        if (is_late) {
            (void)pthread_mutex_unlock(&share->lock);
            beat(share->ctx);
            (void)pthread_mutex_lock(&share->lock);
        }
    }
    (void)pthread_mutex_unlock(&share->lock);
}

void rmc_share_work_beating(size_t threads, size_t n,
                            void (*work)(void *ctx, size_t i), void *ctx,
                            double seconds, void (*beat)(void *ctx))
{
    struct share share = {.n = n, .work = work, .ctx = ctx};
    pthread_t helper[MAX_THREADS];
    size_t n_helpers = 0;

    (void)pthread_mutex_init(&share.lock, NULL);
    (void)pthread_cond_init(&share.is_idle, NULL);
    threads = threads < n ? threads : n;
    while (n_helpers + 1 < threads && n_helpers < MAX_THREADS) {
        (void)pthread_mutex_lock(&share.lock);
        share.n_busy++;
        (void)pthread_mutex_unlock(&share.lock);
        if (pthread_create(&helper[n_helpers], NULL, help, &share)) {
            (void)pthread_mutex_lock(&share.lock);
            share.n_busy--;
            (void)pthread_mutex_unlock(&share.lock);
            break;
        }
        n_helpers++;
    }
    take_items(&share);
    if (beat) {
        wait_beating(&share, seconds, beat);
    }
    for (size_t i = 0; i < n_helpers; i++) {
        (void)pthread_join(helper[i], NULL);
    }
    (void)pthread_cond_destroy(&share.is_idle);
    (void)pthread_mutex_destroy(&share.lock);
}

void rmc_share_work(size_t threads, size_t n, void (*work)(void *ctx, size_t i),
                    void *ctx)
{
    rmc_share_work_beating(threads, n, work, ctx, 0.0, NULL);
}

uint32_t rmc_processors(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 && n < 4096 ? (uint32_t)n : 1;
}

double rmc_system_clock(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
