/* team.h - checks a caller's relmc_team. */
#ifndef RMC_TEAM_H
#define RMC_TEAM_H

#include "relmc_team.h"

/* Copies and checks a team; NULL and n_members = 0 are a team of one. */
relmc_status rmc_team_read(relmc_team *to, const relmc_team *from,
                           relmc_error *err);

#endif
