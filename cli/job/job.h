/* job.h - a run from options to files: what sample, optimize, resume and the
 * workers of relmc-mpi share. A kind of job is a table of functions. */
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
    struct data_split data;
    relmc_target *target;
    const relmc_options *options; /* of `self` */
    int64_t scale; /* steps that an iteration makes, for messages */
    relmc_run *run;
    double time_limit; /* seconds; NaN: none */
    struct checkpoint checkpoint;
    char *note; /* its configuration */
    enum ending ending;
    double seconds; /* that the run took */
};

/* Functions that return int return 0, or the exit code after a message; those
 * marked (optional) may be NULL. */
struct job_kind {
    size_t bytes;     /* of `self`, which begins as zeros */
    const char *unit; /* what messages count: "iteration" */
    /* Turns the options into those of the library; a worker does so, too. */
    int (*plan)(struct job *job);
    /* Makes sure that no other process writes the files, and that nothing is
     * lost. */
    int (*claim)(struct job *job);
    /* Adds observers, sinks and files to the new run, and restores `self` from
     * a checkpoint. */
    int (*open)(struct job *job);
    /* Writes `self` for a checkpoint to `to`, unless that is NULL, and returns
     * the bytes; adds values to the configuration there (optional). */
    size_t (*keep)(const void *self, char *to);
    void (*note)(const struct job *job, json_t *configuration);
    /* Prints the first line; starts the display of progress, or returns NULL
     * (optional). */
    void (*announce)(struct job *job);
    struct progress *(*show)(const struct job *job);
    /* The first iteration >= done at which to look; look() may end the job by
     * job->ending. It may be called twice at the place at which a run is
     * resumed. */
    int64_t (*next_look)(const struct job *job, int64_t done);
    relmc_status (*look)(struct job *job, relmc_error *err);
    /* Called after the last checkpoint (optional); after a failure (optional);
     * at the end, for tables, files and the exit code. */
    relmc_status (*settle)(struct job *job, relmc_error *err);
    void (*failed)(const struct job *job);
    int (*conclude)(struct job *job);
    void (*clear)(void *self);
};

/* Runs a job to its end; `from` is NULL for a new run. Returns the exit
 * code. */
int job_run(const struct job_kind *kind, struct opt_set *set,
            const struct resumed *from);
/* The `run` of a command that is a job. */
int job_command(struct opt_set *set);

/* ---- for workers: the parts of it ---------------------------------------- */

struct job job_begin(const struct job_kind *kind, struct opt_set *set,
                     const struct resumed *from);
int job_open_model(struct job *job);
int job_create_run(struct job *job);
void job_clear(struct job *job);

/* ---- for kinds ----------------------------------------------------------- */

/* Was the run stopped before its end? */
bool job_goes_on(const struct job *job);
/* "interrupted" or "terminated" if a signal stopped the run, else NULL. */
const char *job_stopped_how(void);
/* The exit code for the way the run ended. */
int job_ending_code(const struct job *job, bool has_results);
/* Prints "next: relmc resume ..." if the run was stopped and has a
 * checkpoint. */
void job_say_next(const struct job *job);

#endif
