/* stop_rules.h - rules that end a run by its draws, and times in options. */
#ifndef RELMC_CLI_STOP_RULES_H
#define RELMC_CLI_STOP_RULES_H

#include "job/record.h"
#include "tool/options.h"

/* The time that an option gives, such as 90, 30s or 3h50m, in seconds; NaN if
 * it is not given. 0, or the exit code after a message. */
int stop_rules_read_time(double *seconds, const struct opt_set *set,
                         const char *option);

/* What every parameter must reach; NaN: no such rule. */
struct stop_rules {
    double ess, rhat;
};

bool stop_rules_are_given(const struct stop_rules *rules);
/* Do the rules hold? *suspect, 0 at first, is the parameter that failed last;
 * it is checked first. */
bool stop_rules_hold(const struct stop_rules *rules,
                     const struct record *record, size_t *suspect);

/* The first iteration >= done at which the rules are checked: after 100, 200,
 * ... draws, from 400 on after a quarter more each time. */
int64_t stop_rules_next_look(int64_t warmup, int64_t done);

#endif
