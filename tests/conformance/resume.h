/*
 * resume.h - runs that are saved and resumed, in a folder of their own, with all their
 * draws recorded.  Include it after cmocka.h.
 */
#ifndef TESTS_CONFORMANCE_RESUME_H
#define TESTS_CONFORMANCE_RESUME_H

#include "relmc.h"
#include "support/callback.h"
#include "support/kept.h"
#include "support/run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHAINS = 4, /* enough to fit a warp at the sync point 65 */
    WARMUP = 130,
    DRAWS = 12,
    TOTAL = WARMUP + DRAWS,
    DIM = 3,
    FIELDS = 9 + DIM
};

static char folder[] = "resume-XXXXXX"; /* in the working directory */

/* ---- files are synced before they are renamed ------------------------------- */

static struct stat synced; /* the last file that fsync was called for */
static int n_unsafe_names; /* files renamed since the last fsync of a folder */

/* These two replace the functions of the C library. */
int fsync(int fd)
{
    assert_int_equal(fstat(fd, &synced), 0);
    if (S_ISDIR(synced.st_mode)) {
        n_unsafe_names = 0;
    }
    return fdatasync(fd);
}

int rename(const char *from, const char *to)
{
    struct stat now;

    assert_int_equal(stat(from, &now), 0);
    if (now.st_ino != synced.st_ino || now.st_size != synced.st_size) {
        fail_msg("%s becomes %s and is not on the disk", from, to);
    }
    n_unsafe_names++;
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

/* ---- runs with a log of their draws ------------------------------------------ */

struct log {
    double value[CHAINS][TOTAL][FIELDS];
    int64_t stop_at;     /* stop the run after the draw of this index ... */
    uint32_t stop_chain; /* ... of this chain */
};

static inline relmc_status note_draw(void *ctx, const relmc_draw *d)
{
    struct log *log = ctx;
    double *v = log->value[d->chain][d->index + WARMUP];
    const double fields[] = {
        d->stats[RELMC_STAT_LP],          d->stats[RELMC_STAT_ENERGY],
        d->stats[RELMC_STAT_ACCEPT_PROB], d->stats[RELMC_STAT_STEP_SIZE],
        d->stats[RELMC_STAT_SPEED],       d->stats[RELMC_STAT_N_STEPS],
        d->stats[RELMC_STAT_N_GRAD],      d->stats[RELMC_STAT_TREE_DEPTH],
        d->stats[RELMC_STAT_DIVERGENT]};

    assert_true(d->index + WARMUP < TOTAL);
    memcpy(v, fields, sizeof fields);
    memcpy(v + 9, d->outputs, DIM * sizeof *v);
    return d->chain == log->stop_chain && d->index == log->stop_at
               ? RELMC_STOPPED
               : RELMC_OK;
}

static inline relmc_options options_of(const char *sampler, const char *adapt)
{
    return repeatable_options(sampler, adapt, CHAINS, WARMUP, DRAWS);
}

/* A new run, or the run that was saved in a file. */
static inline relmc_run *open_run(const relmc_target *target,
                                  const relmc_options *o, struct log *log,
                                  const char *file)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    check_ok(open_or_resume(&run, target, o, file, &err), &err);
    check_ok(relmc_run_observe(run, note_draw, log, &err), &err);
    return run;
}

static inline void save(relmc_run *run, const char *file)
{
    relmc_error err = {0};

    check_ok(relmc_run_save(run, file, "a note", 7, &err), &err);
}

static inline struct log *new_log(void)
{
    struct log *log = calloc(1, sizeof *log);

    assert_non_null(log);
    log->stop_at = INT64_MAX;
    log->stop_chain = 1;
    return log;
}

/* ---- files -------------------------------------------------------------------- */

static inline char *read_whole(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 22);

    if (!file || !text) {
        fail_msg("cannot read %s", path);
    }
    *bytes = fread(text, 1, 1 << 22, file);
    (void)fclose(file);
    return text;
}

static inline void enter(const char *name)
{
    assert_true(!mkdir(name, 0700) || !access(name, W_OK));
    assert_int_equal(chdir(name), 0);
}

static inline void leave(void)
{
    assert_int_equal(chdir(".."), 0);
}

static inline int make_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder) || chdir(folder);
}

static inline int remove_folder(void **state)
{
    char command[64];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("..") || system(command);
}

#endif
