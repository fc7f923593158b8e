/* tuning.h - the result of adaptation: a line for the reader, a file for later
 * runs. */
#ifndef RELMC_CLI_TUNING_H
#define RELMC_CLI_TUNING_H

#include "tool/cli.h"

#include "relmc.h"

/* Prints engine, kinetic energy, metric, step size and why; and a line about
 * the coordinates if they were changed. */
void tuning_say(const struct voice *voice, const relmc_run *run,
                const relmc_target *target);

/* Names of the engine and the kinetic energy in use, yours to free; NULL if
 * adaptation does not say. */
void tuning_choice(const relmc_run *run, char **engine, char **kinetic);

/* Writes step size and inverse metric of the first chain, in the form that
 * --inv-metric reads (but for warped coordinates), and all that adaptation
 * reports. */
int tuning_write(const char *path, const char *who, const relmc_run *run,
                 size_t dim);

#endif
