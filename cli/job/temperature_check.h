/* temperature_check.h - do draws without a Metropolis step have the right
 * temperature? */
#ifndef RELMC_CLI_TEMPERATURE_CHECK_H
#define RELMC_CLI_TEMPERATURE_CHECK_H

#include "job/record.h"

/* Divided by the temperature that was wanted; NaN: undefined. */
struct heat {
    double ratio, error;
};

/* Uses about this many of the last n draws of all chains, which must be in
 * memory; with fewer than 12 of a chain the result is undefined. */
struct heat temperature_check(const relmc_target *target,
                              const struct record *record, size_t n,
                              size_t n_points, double temperature);

#endif
