/* team.c - checks a caller's relmc_team. */
#include "base/team.h"
#include "base/base.h"
#include "base/sized_struct.h"

/* The struct of the first version ended with ctx. */
relmc_status rmc_team_read(relmc_team *to, const relmc_team *from,
                           relmc_error *err)
{
    const relmc_status status = rmc_sized_read(
        to, sizeof *to, from, offsetof(relmc_team, ctx) + sizeof to->ctx,
        "relmc_team", err);

    if (status) {
        return status;
    }
    to->n_members = to->n_members ? to->n_members : 1;
    if (to->rank >= to->n_members) {
        return rmc_fail(err, RELMC_EINVAL,
                        "team: rank must be less than n_members, %u, not %u",
                        to->n_members, to->rank);
    }
    if (to->n_members > 1 && (!to->tell || !to->give || !to->take)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "team: tell, give and take must be set");
    }
    return RELMC_OK;
}
