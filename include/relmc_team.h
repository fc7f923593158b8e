/*
 * relmc_team.h - one run in several processes, which exchange bytes by MPI or another
 * transport.  The conventions are those of relmc.h.
 */
#ifndef RELMC_TEAM_H
#define RELMC_TEAM_H

#include "relmc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- teams: one run, several processes ------------------------------------
 * Member 0 is the leader: it has the observers and sinks, and the program drives the run
 * there.  The others are workers.  The caller supplies the transport: all members call
 * `tell`, which copies bytes of the leader to the workers; a worker sends bytes to the
 * leader by `give`, and the leader receives them by `take`.  Both sides pass the same
 * length.  These calls do not fail: a transport that loses a message must abort all
 * processes.  NULL is a team of one. */
typedef struct relmc_team {
    size_t size; /* sizeof(relmc_team) */
    uint32_t rank, n_members;
    void (*tell)(void *ctx, void *data, size_t bytes);
    void (*give)(void *ctx, const void *data, size_t bytes);
    void (*take)(void *ctx, uint32_t from, void *data, size_t bytes);
    void *ctx;
} relmc_team;

/* The members of a team share the chains of a run; the draws are those of a run in one
 * process.  All members create the run with the same target and options.  Workers then
 * call relmc_run_serve, which returns when the leader calls relmc_run_release.  The leader
 * needs the workers from its first draw until then.  It reads and writes checkpoints as
 * in a run in one process. */
RELMC_API relmc_status relmc_run_create_team(relmc_run **out, const relmc_target *,
                                             const relmc_options *, const relmc_team *,
                                             relmc_error *);
/* Resumes from a checkpoint.  The leader calls it in place of relmc_run_create_team, which
 * workers call. */
RELMC_API relmc_status relmc_run_resume_team(relmc_run **, const relmc_target *,
                                             const char *path, const relmc_options *,
                                             const relmc_team *, relmc_error *);
RELMC_API relmc_status relmc_run_serve(relmc_run *, relmc_error *);
RELMC_API void relmc_run_release(relmc_run *);

/* [shards]  Divides the data of a target into `n` shards of rows, a power of two, which
 * the members of a team share.  Their log densities are added in a fixed tree, so that the
 * sum does not depend on the number of members; it differs by rounding errors from that
 * without shards.  All members open the target.  Workers call relmc_target_serve, which
 * returns when the leader calls relmc_target_release.  Only one thread of the leader may
 * evaluate the target. */
RELMC_API relmc_status relmc_target_shard(relmc_target *, size_t n, const relmc_team *,
                                          relmc_error *);
RELMC_API relmc_status relmc_target_serve(const relmc_target *, relmc_error *);
RELMC_API void relmc_target_release(const relmc_target *);

#ifdef __cplusplus
}
#endif
#endif
