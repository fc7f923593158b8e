/* progress.h - reports on a run while it is going on. */
#ifndef RELMC_CLI_PROGRESS_H
#define RELMC_CLI_PROGRESS_H

#include "tool/cli.h"

#include <stdatomic.h>

struct progress_setup {
    const char *mode; /* auto, bar, plain, json, none */
    const relmc_run *run;
    size_t n_chains;
    uint32_t first_chain;  /* 0-based */
    int64_t refresh;       /* a line every so many iterations, 0 for none */
    double speed_of_light; /* NaN: not shown */
    bool has_colour;
    const atomic_int *signal; /* not 0 when asked to stop */
};

struct progress;

/* Starts the reporter, a thread of its own; NULL if it cannot be. */
struct progress *progress_start(const struct progress_setup *setup);
/* Prints the final state and ends the thread. NULL is fine. */
void progress_finish(struct progress *progress);

#endif
