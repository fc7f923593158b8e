/* keep.h - what a run keeps of its draws: rows (keep.c), or running statistics in
 * constant memory (running.c). */
#ifndef RMC_KEEP_H
#define RMC_KEEP_H

#include "run/run.h"

relmc_status rmc_keep_check(const relmc_options *o, relmc_error *err);

/* Reserves all memory. */
relmc_status rmc_keep_open(relmc_run *run, relmc_error *err);
/* Only for a run that keeps rows. */
void rmc_keep_draw(relmc_run *run, const relmc_draw *d);
/* Reading skips arrays that the run does not keep.  If the file lacks one that
 * it keeps, all rows are skipped, and the run keeps draws from here on. */
void rmc_keep_archive(relmc_run *run, relmc_archive *a);

relmc_status rmc_running_open(relmc_run *run, relmc_error *err);
/* Only for a run with running statistics, and a draw after warm-up. */
void rmc_running_draw(relmc_run *run, const relmc_draw *d);
void rmc_running_archive(relmc_run *run, relmc_archive *a);

#endif
