/* checkpoint.h - shared by the files that write and read checkpoints. */
#ifndef RMC_CHECKPOINT_H
#define RMC_CHECKPOINT_H

#include "base/archive.h"
#include "relmc_format.h"
#include "run/keep.h"

/* A borrowed text of n bytes, not terminated. */
struct rmc_span {
    const char *at;
    size_t n;
};

/* checkpoint_write.c */
extern const struct rmc_head rmc_checkpoint_head;

/* checkpoint_state.c: writes or reads the state of all chains. */
void rmc_archive_chains(relmc_run *run, relmc_archive *a);

/* checkpoint_state.c: is the target that of the checkpoint?  A sampler with
 * exact densities compares lp and gradient at every state ... */
int rmc_has_exact_states(const relmc_run *run);
relmc_status rmc_check_states(relmc_run *run, double *lp, relmc_error *err);
/* ... a sampler with minibatches evaluates all the data at the first chain.
 * `work` has room for 2 dim + 2 numbers. */
relmc_status rmc_archive_witness(relmc_run *run, relmc_archive *a, double *work,
                                 relmc_error *err);

/* checkpoint_read.c: reads and checks a file, up to the end of the manifest;
 * reads a text from an archive. */
relmc_status rmc_checkpoint_open(relmc_archive *a, relmc_arena *arena,
                                 const char *path, struct rmc_span *manifest,
                                 relmc_error *err);
struct rmc_span rmc_span_take(relmc_archive *a);
/* Loads the checkpoint into a run made from its options. */
relmc_status rmc_checkpoint_load(relmc_run *run, const char *path,
                                 relmc_error *err);

/* resume.c: writes the options that a run needs to go on. */
void rmc_archive_given(const relmc_run *run, relmc_archive *a);

/* checkpoint_manifest.c: takes the pair "key": value at *at and moves to the
 * next.  The key has its quotes; it is empty at the end. */
struct rmc_span rmc_manifest_pair(const char **at, struct rmc_span *value);
int rmc_is_same_span(struct rmc_span a, struct rmc_span b);
/* Refuses manifests that differ in more than the number of draws. */
relmc_status rmc_compare_manifests(const char *then, const char *now,
                                   relmc_error *err);

#endif
