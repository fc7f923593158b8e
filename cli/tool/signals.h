/* signals.h - signals that stop a run. */
#ifndef RELMC_CLI_SIGNALS_H
#define RELMC_CLI_SIGNALS_H

#include "tool/cli.h"

#include <signal.h>
#include <stdatomic.h>

/* What the signals did before. */
struct signals {
    struct sigaction interrupt, terminate, hangup, user, pipe;
};

/* For the whole program: writing beyond the size limit of files is an error of
 * that write, not a signal. */
void signals_begin(void);

/* Between these two calls the first signal stops the run, and the second ends
 * the program. Without a run, look at signals_caught. */
void signals_catch(struct signals *old, relmc_run *run);
void signals_release(const struct signals *old);

/* The number of the signal that came, or 0. */
const atomic_int *signals_caught(void);

#endif
