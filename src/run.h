/* run.h - what a run is made of, for the files that build and turn it. */
#ifndef RMC_RUN_H
#define RMC_RUN_H

#include "registry.h"
#include "target/target.h"

#include <stdatomic.h>

enum { RMC_MAX_WATCHERS = 16 };

/* Progress of one chain: written by the thread that runs it, read by any. */
struct rmc_chain {
    _Atomic int64_t done, n_grad, n_grad_sampling, n_divergent, n_clamped;
    _Atomic double sum_accept, sum_speed, step_size;
    _Atomic double seconds_warmup, seconds_sampling;
    int has_ended;
};

/* Some chains in lockstep: everything that moves. */
struct rmc_ensemble {
    relmc_run *run;
    size_t first; /* index of its first chain */
    relmc_system sys;
    relmc_state z;
    relmc_transition out;
    void *sampler, *adapt;
    struct rmc_chain *chains; /* one per lane */
    double *row;              /* coordinates of one draw ... */
    double *outputs;          /* ... and what it shows: the same if the target
                               * has no outputs of its own */
    int has_started, has_met;
    double seconds; /* spent in turns that are over */
    double since;   /* when the present turn began */
    relmc_status status;
    relmc_error error;
};

/* Who sees the draws: an observer or a sink. */
struct rmc_watcher {
    relmc_draw_fn observe;
    const relmc_sink_ops *sink;
    void *self; /* ctx of the observer, state of the sink */
};

struct relmc_run {
    relmc_arena arena;
    relmc_allocator allocator;
    relmc_options opts; /* every default filled in, everything copied */
    const relmc_target *target;
    int isa;
    relmc_kinetic kinetic, newtonian;
    const relmc_integrator_ops *integrator;
    const relmc_sampler_ops *sampler;
    const relmc_adapt_ops *adapt;
    double *scale_sd, *chol, *chol_t;
    int has_radius; /* the user wants to start in a box */
    size_t n_ensembles;
    struct rmc_ensemble *ensembles;
    struct { /* what the ensembles bring to a meeting */
        void **self;
        relmc_system **sys;
        relmc_state **z;
    } met;
    struct rmc_chain *chains;
    struct rmc_watcher watchers[RMC_MAX_WATCHERS];
    size_t n_watchers;
    const char **names; /* of the outputs */
    const char *manifest;
    int64_t position; /* iterations that every chain has made */
    int is_finished, has_advanced;
    int has_failed; /* the chains are anywhere */
    struct {        /* a checkpoint whose sinks are to come */
        relmc_arena arena;
        relmc_archive *archive; /* NULL: none */
        uint64_t n_sinks;
    } loaded;
    atomic_int stop;
};

/* The ensembles, where they are now. */
static inline relmc_meeting rmc_meeting_of(const relmc_run *run)
{
    return (relmc_meeting){
        .iteration = run->position,
        .n = run->n_ensembles,
        .self = run->met.self,
        .sys = run->met.sys,
        .z = run->met.z,
    };
}

/* manifest.c */
relmc_status rmc_manifest_make(relmc_run *run, relmc_error *err);

/* checkpoint.c: what the checkpoint says of the next sink; and its end. */
relmc_status rmc_checkpoint_sink(relmc_run *run, const relmc_sink_ops *ops,
                                 void *self, relmc_error *err);
void rmc_checkpoint_close(relmc_run *run);

/* run_create.c leaves a run ready for run.c to turn. */
void rmc_run_close_sinks(relmc_run *run, relmc_status *status,
                         relmc_error *err);

#endif
