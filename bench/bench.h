/*
 * bench.h - how the benchmarks measure: thread CPU time, the least of many
 * short windows, ratios within one run.
 */
#ifndef BENCH_H
#define BENCH_H

#include "relmc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double bench_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double bench_calls(void (*fn)(void *ctx), void *ctx, long calls)
{
    const double start = bench_seconds();

    for (long n = 0; n < calls; n++) {
        fn(ctx);
    }
    return bench_seconds() - start;
}

/* The least time of one call of fn(ctx), in nanoseconds, over windows of some
 * 200 microseconds (reading the clock costs half of one) that add up to about
 * `budget` seconds. */
static inline double bench_least(void (*fn)(void *ctx), void *ctx,
                                 double budget)
{
    double least = 1e300, spent = 0.0;
    long calls = 1;

    while (bench_calls(fn, ctx, calls) < 2e-4) {
        calls *= 2;
    }
    while (spent < budget) {
        const double took = bench_calls(fn, ctx, calls);
        least = took < least ? took : least;
        spent += took;
    }
    return least * 1e9 / (double)calls;
}

/* The compiler must take x for used. */
#define BENCH_KEEP(x) __asm__ volatile("" ::"g"(x) : "memory")

/* The code path to measure: that of RELMC_ISA, or the best. */
static inline const char *bench_isa(void)
{
    const char *name = getenv("RELMC_ISA");

    return name ? name : strchr(relmc_build(), ' ') + 1;
}

/* What is given to programs whose arguments are numbers and names: at anything
 * that looks like an option they say how they are called, and end. */
static inline void bench_usage(int argc, char **argv, const char *usage)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-') {
            const int is_asked = strcmp(argv[i], "--help") == 0;

            (void)fprintf(is_asked ? stdout : stderr, "usage: %s\n", usage);
            exit(is_asked ? 0 : 2);
        }
    }
}

static inline void bench_need(int status, const char *message)
{
    if (status) {
        (void)fprintf(stderr, "bench: %s\n", message);
        exit(1);
    }
}

#endif
