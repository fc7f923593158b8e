/* job.h - a run from options to files: what sample, optimize, resume and the workers of
 * relmc-mpi share.  A kind of job is a table of functions. */
#ifndef RELMC_CLI_JOB_H
#define RELMC_CLI_JOB_H

#include "data/data_options.h"
#include "job/checkpoint.h"

#include <jansson.h>

enum ending { ENDED_IN_FULL, ENDED_BY_RULE, ENDED_BY_TIME };

struct job {
    const struct job_kind *kind;
    void *self; /* what only this kind knows */
    struct opt_set *set;
    const struct resumed *from; /* NULL: a new run */
    struct voice voice;
    struct on_data data;
    relmc_target *target;
    const relmc_options *options; /* of `self` */
    int64_t scale;                /* steps of an iteration, for messages; 1 */
    relmc_run *run;
    double time_limit; /* seconds; NaN: none */
    struct checkpoint checkpoint;
    char *note; /* its configuration */
    enum ending ending;
    double seconds; /* that the run has taken */
};

/* Functions that return int return 0, or the exit code after a message; those marked
 * (optional) may be NULL. */
struct job_kind {
    size_t bytes;     /* of `self`, which begins as zeros */
    const char *unit; /* of progress, in messages: "iteration" */
    /* The options become those of the library; a worker does this, too. */
    int (*plan)(struct job *job);
    /* The files are this run's: no other process writes them, and nothing is lost. */
    int (*claim)(struct job *job);
    /* The run is there: its observers, sinks and files; what a checkpoint held. */
    int (*open)(struct job *job);
    /* What a checkpoint keeps of `self`: the bytes, which go to `to` unless that is
     * NULL; and values that the configuration does not have (optional). */
    size_t (*keep)(const void *self, char *to);
    void (*note)(const struct job *job, json_t *configuration);
    /* The first line; and what shows how far the run is while it goes on, which may
     * be NULL (optional). */
    void (*announce)(struct job *job);
    struct progress *(*show)(const struct job *job);
    /* The first place from `done` on at which to look, in iterations.  Looking may set
     * job->ending.  A run that goes on may have been looked at in its first place. */
    int64_t (*next_look)(const struct job *job, int64_t done);
    relmc_status (*look)(struct job *job, relmc_error *err);
    /* After the last checkpoint (optional); what stays if the run has failed
     * (optional); and at the end the tables, the files and the exit code. */
    relmc_status (*settle)(struct job *job, relmc_error *err);
    void (*failed)(const struct job *job);
    int (*conclude)(struct job *job);
    void (*clear)(void *self);
};

/* All of it; `from` is NULL for a new run.  The exit code. */
int job_run(const struct job_kind *kind, struct opt_set *set,
            const struct resumed *from);
/* A command that is a job: a new run. */
int job_command(struct opt_set *set);

/* ---- for workers: the parts of it --------------------------------------------- */

struct job job_begin(const struct job_kind *kind, struct opt_set *set,
                     const struct resumed *from);
int job_open_model(struct job *job);
int job_create_run(struct job *job);
void job_clear(struct job *job);

/* ---- for kinds ------------------------------------------------------------------- */

/* The run was stopped, and has more to do. */
bool job_goes_on(const struct job *job);
/* "interrupted", if a signal stopped the run: else NULL. */
const char *job_stopped_how(void);
/* The exit code of a run that ended where it did; one without results was in vain. */
int job_ending_code(const struct job *job, bool has_results);
/* "next: relmc resume ...", if the run has more to do and a checkpoint. */
void job_say_next(const struct job *job);

#endif
