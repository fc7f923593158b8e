/* team.h - the processes of one command: one, or those of relmc-mpi. The
 * leader reads options, prints and writes files; the workers get the options
 * from it. */
#ifndef RELMC_CLI_TEAM_H
#define RELMC_CLI_TEAM_H

#include "relmc_ext.h"
#include "relmc_team.h"
#include "tool/options.h"

#define OPT_MPI                                                             \
    {                                                                       \
        .name = "mpi", .kind = OPT_CHOICE, .value = "WHAT",                 \
        .fallback = "chains", .choices = "chains|data",                     \
        .doc = "what the processes of relmc-mpi share: the chains, or the " \
               "rows of the data, which then are summed up in 64 parts, "   \
               "with other rounding errors",                                \
        .group = "Several processes:"                                       \
    }

/* ---- team_none.c, or team_mpi.c ------------------------------------------ */

void team_begin(void);
/* Returns the exit code. */
int team_end(int code);
/* Ends all processes. */
void team_abort(int code);
const relmc_team *team(void);
/* The name of the MPI library, for relmc version. */
const char *team_library(void);

/* ---- team.c -------------------------------------------------------------- */

/* Do the processes share the rows of the data (--mpi data)? Else they share the
 * chains. */
bool team_shares_data(const struct opt_set *set);
/* The processes that share the chains. */
relmc_team team_of_run(const struct opt_set *set);
/* Threads of a process: `given` if it is not 0, else `usual`, within what a
 * team allows. */
uint32_t team_threads(const struct opt_set *set, uint64_t given,
                      uint32_t usual);

/* Called in this order. team_lead gives the target its shards, if the data are
 * shared, and sends the options to the workers. team_agree returns on all
 * processes the exit code of the first that failed, or 0. team_release ends a
 * run for the workers, team_dismiss ends the workers. */
int team_lead(relmc_target *target, const struct opt_set *set);
int team_agree(int code);
void team_release(relmc_run *run, const relmc_target *target);
void team_dismiss(void);

/* ---- team_worker.c: the others ------------------------------------------- */

int team_worker_run(command_table commands);

#endif
