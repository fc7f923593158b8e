/* seed.h - a random seed, if none is given. */
#ifndef RELMC_CLI_SEED_H
#define RELMC_CLI_SEED_H

#include "tool/options.h"

/* Draws a random --seed unless one is given; 0, or the exit code after a
 * message. */
int seed_settle(struct opt_set *set);

#endif
