/* run.h - the parts of a run, for the files that build and advance it. */
#ifndef RMC_RUN_H
#define RMC_RUN_H

#include "component/registry.h"
#include "relmc_team.h"
#include "target/target.h"

#include <stdatomic.h>
#include <stdio.h>

enum { RMC_MAX_WATCHERS = 16 };

/* Counters of a chain have one writer, so no read-modify-write is needed. */
#define RMC_GET(counter) atomic_load_explicit(&(counter), memory_order_relaxed)
#define RMC_SET(counter, value) \
    atomic_store_explicit(&(counter), value, memory_order_relaxed)
#define RMC_ADD(counter, value) RMC_SET(counter, RMC_GET(counter) + (value))

/* Progress of one chain: written by the thread that runs it, read by any. */
struct rmc_chain {
    _Atomic int64_t done, n_grad, n_grad_sampling, n_divergent, n_clamped;
    _Atomic double sum_accept, sum_speed, step_size;
    _Atomic double seconds_warmup, seconds_sampling;
    _Atomic(const char *) sampler, kinetic; /* in use */
    int has_ended;
};

/* Chains that are advanced together, with their state. */
struct rmc_ensemble {
    relmc_run *run;
    size_t first; /* index of its first chain */
    relmc_system sys;
    relmc_state z;
    relmc_transition out;
    void *sampler, *adapt;
    struct rmc_chain *chains; /* one per lane */
    double *row;              /* coordinates of one draw ... */
    double *outputs;          /* ... and its outputs: the same array if the
                               * target has none of its own */
    double stats[RELMC_N_STATS];
    int has_started, has_synced;
    double seconds; /* in completed turns */
    double since;   /* when the present turn began */
    FILE *log;      /* of a worker: draws and milestones for the leader to
                     * replay */
    char *log_text;
    size_t log_bytes;
    relmc_status status;
    relmc_error error;
};

/* Who sees the draws: an observer or a sink. */
struct rmc_watcher {
    int (*observe)(void *ctx, const relmc_draw *draw);
    const relmc_sink_ops *sink;
    void *self; /* ctx of the observer, state of the sink */
};

/* Rows of one chain, of which n are complete; NULL where they are not kept. */
struct rmc_kept {
    double *outputs, *coordinates, *stats;
    _Atomic size_t n, n_warmup;
};

struct relmc_run {
    relmc_arena arena;
    relmc_options opts; /* every default filled in, everything copied */
    const relmc_target *target;
    int isa;
    relmc_kinetic kinetic, newtonian;
    const relmc_integrator_ops *integrator;
    const relmc_sampler_ops *sampler;
    const relmc_adapt_ops *adapt;
    double *scale_sd, *chol, *chol_t;
    int has_radius;            /* the caller gave init_radius */
    int has_step;              /* the caller gave step_size */
    struct rmc_tuning *tuning; /* options.tuning; or NULL */
    size_t n_ensembles;
    struct rmc_ensemble *ensembles;
    struct { /* the ensembles at a sync point */
        void **self;
        relmc_system **sys;
        relmc_state **z;
    } sync;
    struct rmc_chain *chains;
    struct rmc_kept *kept;       /* one per chain; NULL: nothing is kept */
    size_t room;                 /* rows of a chain there */
    struct rmc_running *running; /* chains x (outputs and lp); NULL: none */
    struct rmc_watcher watchers[RMC_MAX_WATCHERS];
    size_t n_watchers;
    const char **names; /* of the outputs */
    const char *manifest;
    int64_t position; /* iterations that every chain has made */
    int is_finished, has_advanced;
    int has_failed; /* chains may be at different iterations */
    struct {        /* a checkpoint whose sinks are not yet added */
        relmc_arena arena;
        relmc_archive *archive; /* NULL: none */
        uint64_t n_sinks;
    } loaded;
    relmc_team team; /* of one: a single process */
    int is_spread;   /* workers have the state of all chains */
    atomic_int stop;
    const void *owner; /* the thread that called relmc_run_advance */
    double last_beat;  /* of the heartbeat; owner only */
};

/* All ensembles, as the adaptation gets them at a sync point. */
static inline relmc_sync rmc_sync_of(const relmc_run *run)
{
    return (relmc_sync){
        .iteration = run->position,
        .n = run->n_ensembles,
        .self = run->sync.self,
        .sys = run->sync.sys,
        .z = run->sync.z,
    };
}

/* Iterations of each chain, warm-up included. */
static inline int64_t rmc_n_iterations(const relmc_run *run)
{
    return run->opts.warmup + run->opts.draws;
}

/* Does this process advance ensemble n? */
static inline int rmc_is_mine(const relmc_run *run, size_t n)
{
    return run->team.n_members < 2 || n % run->team.n_members == run->team.rank;
}

/* options.c */
const char *rmc_batch_name(int kind); /* "fresh" */
relmc_status rmc_run_fill_options(relmc_run *run, relmc_error *err);

/* tuning_read.c: applies options.tuning, if given, in four steps: fills in
 * options that were left out; adapts it to the number of chains and sets their
 * starting points; compares its specs with those of the run; copies it to an
 * ensemble. */
relmc_status rmc_tuning_open(relmc_run *run, relmc_error *err);
relmc_status rmc_tuning_fit(relmc_run *run, relmc_error *err);
relmc_status rmc_tuning_check(const relmc_run *run, relmc_error *err);
relmc_status rmc_tuning_give(struct rmc_ensemble *e, relmc_error *err);
/* Has every chain a dense metric of its own?  Then it has an ensemble of its own. */
int rmc_tuning_is_dense_per_chain(const relmc_run *run);
const char *rmc_tuning_metric_type(const relmc_run *run);

/* manifest.c */
relmc_status rmc_manifest_make(relmc_run *run, relmc_error *err);

/* checkpoint_read.c: `expect` checks that a sink is the next one of the
 * checkpoint, before the sink opens its file; `sink` reads its state; `close`
 * frees the checkpoint. */
relmc_status rmc_checkpoint_expect(relmc_run *run, const relmc_sink_ops *ops,
                                   relmc_error *err);
relmc_status rmc_checkpoint_sink(relmc_run *run, const relmc_sink_ops *ops,
                                 void *self, relmc_error *err);
void rmc_checkpoint_close(relmc_run *run);

/* checkpoint_state.c: writes or reads the state that changes. */
void rmc_archive_common(relmc_run *run, relmc_archive *a);
void rmc_archive_chain(struct rmc_ensemble *e, size_t k, relmc_archive *a);
void rmc_archive_counters(struct rmc_ensemble *e, size_t k, relmc_archive *a);

/* drive.c: advances ensemble i of the run `ctx` to run->position. */
void rmc_run_turn(void *ctx, size_t i);

/* publish.c: hands a draw or a milestone of lane k to observers and sinks.  A
 * worker logs it instead; the leader reads the log and calls `deliver` or
 * `announce`. */
relmc_status rmc_run_publish(struct rmc_ensemble *e, size_t k, int64_t index);
relmc_status rmc_run_reach(struct rmc_ensemble *e, size_t k, int is_end);
/* Called after the last transition of a chain, or when the run was stopped. */
relmc_status rmc_run_end_chain(struct rmc_ensemble *e, size_t k,
                               double seconds);
/* run_metric.c: the diagonal of S S'. */
void rmc_run_inv_metric(const relmc_system *sys, size_t k, double *out);
relmc_status rmc_run_deliver(struct rmc_ensemble *e, const relmc_draw *draw);
relmc_status rmc_run_announce(struct rmc_ensemble *e, const relmc_milestone *m,
                              int is_end);
/* The name of the sampler, or of its engine in use. */
const char *rmc_run_engine(const struct rmc_ensemble *e);
/* The index of the last engine of a sampler, 0 if it has none. */
uint64_t rmc_run_last_engine(const relmc_sampler_ops *sampler);
/* Updates the names in relmc_run_progress, after sync points. */
void rmc_run_show_method(relmc_run *run);

/* run_team.c.  A worker logs draws and milestones.  The leader has workers
 * advance their ensembles to run->position, replays their logs, gathers the
 * state of all chains and scatters it to the workers.  Without a team these do
 * nothing. */
relmc_status rmc_team_log_draw(struct rmc_ensemble *e, const relmc_draw *draw);
relmc_status rmc_team_log_milestone(struct rmc_ensemble *e,
                                    const relmc_milestone *m, int is_end);
relmc_status rmc_team_call(relmc_run *run, relmc_error *err);
relmc_status rmc_team_replay(relmc_run *run, relmc_error *err);
relmc_status rmc_team_gather(relmc_run *run, relmc_error *err);
relmc_status rmc_team_scatter(relmc_run *run, relmc_error *err);
void rmc_team_close(relmc_run *run);

/* run_create.c: a resumed run needs no starting points. */
relmc_status rmc_run_make(relmc_run **out, const relmc_target *target,
                          const relmc_options *given, const relmc_team *team,
                          int is_resumed, relmc_error *err);

/* run.c: closes the sinks; the first error replaces *status. */
void rmc_run_close_sinks(relmc_run *run, relmc_status *status,
                         relmc_error *err);

#endif
