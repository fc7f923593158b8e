/* temperature_check.h - are draws without a Metropolis step as hot as they should be? */
#ifndef RELMC_CLI_HEAT_H
#define RELMC_CLI_HEAT_H

#include "job/run_results.h"

/* Over the temperature that was asked for; NaN: undefined. */
struct heat {
    double ratio, error;
};

/* From the last n draws of every chain, at about so many of all of them; at fewer
 * than 12 of a chain it is undefined.  The draws must be in memory. */
struct heat heat_measure(const relmc_target *target,
                         const struct record *record, size_t n, size_t n_points,
                         double temperature);

#endif
