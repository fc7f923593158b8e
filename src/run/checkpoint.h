/* checkpoint.h - what writing and reading of checkpoints share. */
#ifndef RMC_CHECKPOINT_H
#define RMC_CHECKPOINT_H

#include "base/archive.h"
#include "relmc_format.h"
#include "run/keep.h"

/* Some text, borrowed. */
struct rmc_span {
    const char *at;
    size_t n;
};

/* checkpoint_write.c */
extern const struct rmc_head rmc_checkpoint_head;

/* checkpoint_state.c: what moves. */
void rmc_archive_chains(relmc_run *run, relmc_archive *a);

/* checkpoint_state.c: is it the same target?  Of samplers with exact densities the
 * state says so ... */
int rmc_has_exact_states(const relmc_run *run);
relmc_status rmc_check_states(relmc_run *run, double *lp, relmc_error *err);
/* ... where states are those of minibatches: all the data, at the first chain.  2 dim
 * + 2 numbers at `work`. */
relmc_status rmc_archive_witness(relmc_run *run, relmc_archive *a, double *work,
                                 relmc_error *err);

/* checkpoint_read.c: the file, checked; the archive is behind its manifest.  Some
 * text of it, borrowed. */
relmc_status rmc_checkpoint_open(relmc_archive *a, relmc_arena *arena,
                                 const char *path, struct rmc_span *manifest,
                                 relmc_error *err);
struct rmc_span rmc_span_take(relmc_archive *a);
/* Of a run that was just made for it. */
relmc_status rmc_checkpoint_load(relmc_run *run, const char *path,
                                 relmc_error *err);

/* resume.c: options that a run needs to go on. */
void rmc_archive_given(const relmc_run *run, relmc_archive *a);

/* checkpoint_manifest.c: "key": value, and on to the next; the key has its quotes, and
 * is empty at the end. */
struct rmc_span rmc_manifest_pair(const char **at, struct rmc_span *value);
int rmc_is_same_span(struct rmc_span a, struct rmc_span b);
/* More draws, or fewer, are the same run. */
relmc_status rmc_compare_manifests(const char *then, const char *now,
                                   relmc_error *err);

#endif
