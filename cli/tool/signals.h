/* signals.h - signals of the user or the system stop a run. */
#ifndef RELMC_CLI_SIGNALS_H
#define RELMC_CLI_SIGNALS_H

#include "tool/cli.h"

#include <signal.h>
#include <stdatomic.h>

/* What the signals did before. */
struct signals {
    struct sigaction interrupt, terminate, hangup, user, pipe;
};

/* Of the whole program: a file that may not grow is an error of who writes it. */
void signals_begin(void);

/* From here to there the first signal asks the run to stop, and the second
 * ends the program.  Without a run, look at signals_caught yourself. */
void signals_catch(struct signals *old, relmc_run *run);
void signals_release(const struct signals *old);

/* The number of the signal that came, or 0. */
const atomic_int *signals_caught(void);

#endif
