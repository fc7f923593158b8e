/* team.h - the processes that work on one command: one, or those of relmc-mpi.
 * The first leads and is the only one that reads options, prints and writes; the
 * others get its options and serve. */
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
/* What carries the bytes, for relmc version. */
const char *team_library(void);

/* ---- team.c ------------------------------------------------------------------ */

/* Is it the rows of the data that are shared (--mpi data)?  If not: the chains. */
bool team_shares_data(const struct opt_set *set);
/* Among whom the chains are dealt out. */
relmc_team team_of_run(const struct opt_set *set);
/* Threads of a process: what was asked for, 0 for nothing, or the usual. */
uint32_t team_threads(const struct opt_set *set, uint64_t given,
                      uint32_t usual);

/* In this order: the target gets its shards if the data are shared, and the leader
 * lets the others begin, with options that are complete; all know whether all are
 * ready, the code is that of the first that is not, and with the data it is so at
 * once; the leader needs the others no more for this run; or at all. */
int team_lead(relmc_target *target, const struct opt_set *set);
int team_agree(int code);
void team_release(relmc_run *run, const relmc_target *target);
void team_dismiss(void);

/* ---- team_worker.c: the others ------------------------------------------- */

int team_follow(command_table commands);

#endif
