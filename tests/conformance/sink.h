/*
 * sink.h - small runs, and a folder in the working directory for their files.  Include it
 * after cmocka.h.
 */
#ifndef TESTS_CONFORMANCE_SINK_H
#define TESTS_CONFORMANCE_SINK_H

#include "relmc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "sink-XXXXXX";
static double ticks; /* of the clock of all runs */

static inline void file_name(char out[256], const char *base, unsigned chain)
{
    (void)snprintf(out, 256, "%s/%s_%u.csv", folder, base, chain);
}

static inline double fake_clock(void)
{
    return ticks += 0.25;
}

static inline relmc_options small_options(void)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;

    o.seed = 8;
    o.chains = 3;
    o.warmup = 20;
    o.draws = 50;
    o.clock = fake_clock;
    o.sampler = "hmc";
    o.adapt = "dual"; /* keeps the unit metric */
    return o;
}

static inline relmc_run *create(const char *model, const relmc_options *o,
                                relmc_target **t)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (relmc_target_open(t, model, NULL, &err) ||
        relmc_run_create(&run, *t, o, &err)) {
        print_error("%s\n", err.message);
        fail();
    }
    return run;
}

static inline int make_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) ? 0 : -1;
}

/* Removes the folder and what tests wrote under these names; anything else is an error. */
static inline int remove_files(const char *const *bases, size_t n)
{
    char path[256];

    for (size_t i = 0; i < n; i++) {
        for (unsigned k = 1; k <= 13; k++) {
            file_name(path, bases[i], k);
            (void)remove(path);
        }
    }
    return rmdir(folder);
}

#endif
