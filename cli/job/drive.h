/* drive.h - advances a run until its job ends it. */
#ifndef RELMC_CLI_DRIVE_H
#define RELMC_CLI_DRIVE_H

#include "job/job.h"

/* Runs to the end, to a look that ends the job, or to the time limit.  The places of
 * looks depend on the number of iterations only, and all chains are at that place; between
 * them checkpoints are written. */
relmc_status drive_run(struct job *job, relmc_error *err);

#endif
