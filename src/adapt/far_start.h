/*
 * far_start.h - [approach], the way from a start where the density is so low that
 * doubles do not show differences of energy.
 */
#ifndef RMC_ADAPT_FAR_START_H
#define RMC_ADAPT_FAR_START_H

#include "adapt/step_size.h"

/* All lanes of z, as far as that goes; d lends its trial state. */
relmc_status rmc_approach(struct rmc_dual *d, relmc_system *sys,
                          relmc_state *z);

#endif
