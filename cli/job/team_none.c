/* team_none.c - the team of a program with one process. */
#include "job/team.h"
#include "relmc_team.h"

void team_begin(void)
{
}

int team_end(int code)
{
    return code;
}

void team_abort(int code)
{
    (void)code;
}

const relmc_team *team(void)
{
    static const relmc_team alone = {.size = sizeof alone, .n_members = 1};

    return &alone;
}

const char *team_library(void)
{
    return "no";
}
