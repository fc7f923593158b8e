/* drive.h - advances a run until its job ends it. */
#ifndef RELMC_CLI_DRIVE_H
#define RELMC_CLI_DRIVE_H

#include "job/job.h"

/* Advances to the end, to the time limit, or until the job's look() ends it.
 * The places of looks depend on the number of iterations only; all chains have
 * made that many. Checkpoints are written in between. */
relmc_status drive_run(struct job *job, relmc_error *err);

#endif
