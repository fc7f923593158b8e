/*
 * relmc_team.h - one run in several processes, for who has MPI or another carrier of
 * bytes.  The conventions are those of relmc.h.
 */
#ifndef RELMC_TEAM_H
#define RELMC_TEAM_H

#include "relmc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- teams: one run, several processes ------------------------------------
 * Member 0 leads: it has the observers and sinks, and whoever calls the library
 * calls it there; the others serve.  The library does not know how bytes get from
 * one process to another.  `tell` brings those of member 0 to all of them and is
 * called by all; `give` hands bytes of another member to member 0, where `take`
 * receives them.  Both sides know how many there are.  What cannot be sent must
 * end the processes: these calls do not fail.  NULL is a team of one. */
typedef struct relmc_team {
    size_t size; /* sizeof(relmc_team) */
    uint32_t rank, n_members;
    void (*tell)(void *ctx, void *data, size_t bytes);
    void (*give)(void *ctx, const void *data, size_t bytes);
    void (*take)(void *ctx, uint32_t from, void *data, size_t bytes);
    void *ctx;
} relmc_team;

/* The chains of a run are dealt out to the members of a team, and the draws are
 * those of a run that is made by one.  All members create it with the same target
 * and options, and all but the leader call relmc_run_serve, which returns when
 * the leader has called relmc_run_release; from its first draw to there the leader
 * needs them.  It reads and writes checkpoints as if it were alone. */
RELMC_API relmc_status relmc_run_create_team(relmc_run **out, const relmc_target *,
                                             const relmc_options *, const relmc_team *,
                                             relmc_error *);
/* By the leader, in place of relmc_run_create_team: from a checkpoint. */
RELMC_API relmc_status relmc_run_resume_team(relmc_run **, const relmc_target *,
                                             const char *path, const relmc_options *,
                                             const relmc_team *, relmc_error *);
RELMC_API relmc_status relmc_run_serve(relmc_run *, relmc_error *);
RELMC_API void relmc_run_release(relmc_run *);

/* [shards]  A target on data takes its rows in `n` shards, a power of two, and adds
 * up what they give in a fixed tree, so that a log density does not depend on the
 * members of a team among which the shards are dealt out.  It differs by rounding
 * errors from that of a target without them.  All members have the target; those who
 * do not lead call relmc_target_serve, which returns when the leader has called
 * relmc_target_release.  One thread of the leader may evaluate the target. */
RELMC_API relmc_status relmc_target_shard(relmc_target *, size_t n, const relmc_team *,
                                          relmc_error *);
RELMC_API relmc_status relmc_target_serve(const relmc_target *, relmc_error *);
RELMC_API void relmc_target_release(const relmc_target *);

#ifdef __cplusplus
}
#endif
#endif
