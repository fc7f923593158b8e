/* drive.h - turns the crank until a run has done enough. */
#ifndef RELMC_CLI_STOP_H
#define RELMC_CLI_STOP_H

#include "job/checkpoint.h"
#include "tool/options.h"

/* NaN: no such rule. */
struct stop_rules {
    double ess, rhat; /* to be reached by every parameter */
    double seconds;   /* of the whole run */
};

enum ending { ENDED_IN_FULL, ENDED_BY_RULE, ENDED_BY_TIME };

/* "90", "30s", "10m", "2h", "3h50m" in seconds; false if it is none of these. */
bool stop_parse_time(const char *text, double *seconds);

/* The time that an option gives, NaN if it is not given; 0, or the exit code after
 * a message. */
int stop_read_time(double *seconds, const struct opt_set *set,
                   const char *option);

bool stop_has_rule(const struct stop_rules *rules);

/* relmc_run_advance; blocks of that size will take about a quarter of a second. */
relmc_status stop_advance(relmc_run *run, int64_t n, int64_t *block,
                          relmc_error *err);

/* Runs to the end, or to the first place where the rules hold.  These places
 * depend on the number of draws only, and all chains stand there.  On the way
 * checkpoints are written. */
relmc_status stop_run(enum ending *ending, relmc_run *run,
                      const struct stop_rules *rules,
                      const struct record *record, const relmc_options *options,
                      struct checkpoint *checkpoint, relmc_error *err);

#endif
