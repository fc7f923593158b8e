/* team.h - a caller's relmc_team. */
#ifndef RMC_TEAM_H
#define RMC_TEAM_H

#include "relmc_team.h"

/* A team of one for NULL, and where only one member is. */
relmc_status rmc_team_read(relmc_team *to, const relmc_team *from,
                           relmc_error *err);

#endif
