/*
 * drive.c - the main loop: advances the ensembles, calls the adaptation, publishes
 * draws.
 */
#include "run/run.h"

#include "base/threads.h"

#include <errno.h>
#include <string.h>

static double now(const relmc_run *run)
{
    return run->opts.clock();
}

static int is_stopped(const relmc_run *run)
{
    return atomic_load_explicit(&run->stop, memory_order_acquire);
}

/* ---- the heartbeat: in the owner's thread only ------------------------------- */

/* The address of errno identifies a thread: the library has no variables. */
static const void *this_thread(void)
{
    return &errno;
}

static void beat(void *ctx)
{
    relmc_run *run = ctx;
    const relmc_options *o = &run->opts;
    const double at = now(run);

    if (!is_stopped(run) && at - run->last_beat >= o->heartbeat_seconds) {
        run->last_beat = at;
        if (o->heartbeat(o->heartbeat_ctx, run)) {
            relmc_run_stop(run);
        }
    }
}

static void beat_if_owner(relmc_run *run)
{
    if (run->opts.heartbeat && run->owner == this_thread()) {
        beat(run);
    }
}

/* ---- times ------------------------------------------------------------------ */

/* Seconds in the turns of this ensemble, up to now; the turns of others do not
 * count. */
static double elapsed(const struct rmc_ensemble *e)
{
    return e->seconds + (now(e->run) - e->since);
}

/* ---- one transition of one lane is done ------------------------------------ */

static void count(struct rmc_ensemble *e, size_t k, int is_warmup)
{
    struct rmc_chain *c = &e->chains[k];
    const relmc_transition *out = &e->out;

    RMC_ADD(c->n_grad, out->n_grad[k]);
    if (!is_warmup) {
        RMC_ADD(c->n_grad_sampling, out->n_grad[k]);
        RMC_ADD(c->n_divergent, out->divergent[k]);
        RMC_ADD(c->n_clamped, out->n_clamped[k]);
        RMC_ADD(c->sum_accept, out->accept_prob[k]);
        RMC_ADD(c->sum_speed, out->speed[k]);
    }
}

/* Is there a sync point at the end of warm-up?  Only after it is the tuning
 * complete. */
static int syncs_last(const relmc_run *run)
{
    const int64_t warmup = run->opts.warmup;

    return run->adapt->next_sync &&
           run->adapt->next_sync(run->ensembles[0].adapt, warmup - 1) == warmup;
}

static relmc_status complete(struct rmc_ensemble *e, size_t k)
{
    relmc_run *run = e->run;
    const relmc_options *o = &run->opts;
    struct rmc_chain *c = &e->chains[k];
    const int64_t iteration = RMC_GET(c->done), index = iteration - o->warmup;
    const int is_warmup = index < 0;
    const int is_kept =
        (o->thin == 1 || (is_warmup ? iteration : index) % o->thin == 0) &&
        (!is_warmup || o->keep & RELMC_KEEP_WARMUP);
    relmc_status status = RELMC_OK;

    RMC_SET(c->step_size, e->sys.move.eps[k]); /* the one that was used */
    count(e, k, is_warmup);
    if (is_kept) {
        status = rmc_run_publish(e, k, index);
    }
    if (is_warmup) {
        run->adapt->observe(e->adapt, &e->sys, &e->z, &e->out, k, iteration);
        RMC_SET(c->step_size, e->sys.move.eps[k]);
    }
    RMC_SET(c->done, iteration + 1);
    e->sys.lanes.warming[k] = iteration + 1 < o->warmup;
    if (iteration + 1 == o->warmup) {
        RMC_SET(c->seconds_warmup, elapsed(e));
    }
    if (iteration + 1 == o->warmup && syncs_last(run)) {
        return status; /* end_warmup announces it */
    }
    if (iteration + 1 == o->warmup && status >= 0) {
        const relmc_status reached = rmc_run_reach(e, k, 0);
        status = reached ? reached : status;
    }
    if (iteration + 1 == rmc_n_iterations(run) && status >= 0) {
        const relmc_status reached = rmc_run_end_chain(e, k, elapsed(e));
        status = reached ? reached : status;
    }
    return status;
}

/* ---- one ensemble ----------------------------------------------------------*/

/* Adaptation sets the step sizes to begin with. */
static relmc_status tune(struct rmc_ensemble *e)
{
    const relmc_status status = e->run->adapt->start(e->adapt, &e->sys, &e->z);

    e->has_synced = 0;
    if (status) {
        e->error = e->sys.error;
    }
    return status;
}

static relmc_status start(struct rmc_ensemble *e)
{
    relmc_status status = RELMC_OK;

    e->has_started = 1;
    if ((status = tune(e))) {
        return status;
    }
    for (size_t k = 0; k < e->sys.shape.lanes && !status; k++) {
        RMC_SET(e->chains[k].step_size, e->sys.move.eps[k]);
        e->sys.lanes.warming[k] = e->run->opts.warmup > 0;
        if (e->run->opts.warmup == 0) {
            status = rmc_run_reach(e, k, 0);
        }
        if (rmc_n_iterations(e->run) == 0 && !status) {
            status = rmc_run_end_chain(e, k, elapsed(e));
        }
    }
    return status;
}

/* Handles the lanes that completed a transition; adds those that rest to
 * *n_resting. */
static relmc_status complete_lanes(struct rmc_ensemble *e, int64_t until,
                                   size_t *n_resting)
{
    relmc_status status = RELMC_OK;

    for (size_t k = 0; k < e->sys.shape.lanes && status >= 0; k++) {
        if (!e->out.done[k]) {
            continue;
        }
        const relmc_status here = complete(e, k);

        e->out.done[k] = 0;
        status = here < 0 || !status ? here : status;
        if (RMC_GET(e->chains[k].done) >= until) {
            e->sys.lanes.rest[k] = 1;
            ++*n_resting;
        }
    }
    return status;
}

static relmc_status tick(struct rmc_ensemble *e, int64_t until,
                         size_t *n_resting)
{
    const relmc_status failed =
        e->run->sampler->tick(e->sampler, &e->sys, &e->z, &e->out);

    if (failed) {
        e->error = e->sys.error;
        return failed;
    }
    return e->out.n_done ? complete_lanes(e, until, n_resting) : RELMC_OK;
}

/* On a request to stop: completes the transitions at hand.  If they were the
 * last ones, the turn is complete, and the next one stops. */
static relmc_status wind_down(struct rmc_ensemble *e, int64_t until,
                              size_t n_resting)
{
    const size_t lanes = e->sys.shape.lanes;
    relmc_status status = RELMC_OK;

    memset(e->sys.lanes.rest, 1, lanes);
    while (status >= 0 && memchr(e->sys.lanes.busy, 1, lanes)) {
        const relmc_status here = tick(e, until, &n_resting);
        status = here < 0 || !status ? here : status;
    }
    return status < 0 || n_resting == lanes ? status : RELMC_STOPPED;
}

static relmc_status drive_ensemble(struct rmc_ensemble *e, int64_t until)
{
    relmc_run *run = e->run;
    const size_t lanes = e->sys.shape.lanes;
    size_t n_resting = 0;
    relmc_status status = RELMC_OK;

    if ((!e->has_started && (status = start(e))) ||
        (e->has_synced && (status = tune(e)))) {
        return status;
    }
    for (size_t k = 0; k < lanes; k++) {
        e->sys.lanes.rest[k] = RMC_GET(e->chains[k].done) >= until;
        n_resting += e->sys.lanes.rest[k];
    }
    while (n_resting < lanes && status >= 0) {
        if (is_stopped(run)) {
            const relmc_status down = wind_down(e, until, n_resting);
            return down ? down : status; /* an observer stopped the run */
        }
        beat_if_owner(run);
        status = tick(e, until, &n_resting);
        if (status == RELMC_STOPPED) {
            relmc_run_stop(run);
        }
    }
    return status;
}

void rmc_run_turn(void *ctx, size_t i)
{
    relmc_run *run = ctx;
    struct rmc_ensemble *e = &run->ensembles[i];

    if (!rmc_is_mine(run, i)) {
        return;
    }
    e->since = now(run);
    e->status = drive_ensemble(e, run->position);
    e->seconds += now(run) - e->since;
    if (e->status < 0) {
        relmc_run_stop(run); /* the others end, too */
    }
}

/* ---- the run -------------------------------------------------------------- */

static relmc_status stopped(relmc_error *err)
{
    return rmc_fail(err, RELMC_STOPPED, "the run was asked to stop");
}

/* All ensembles to run->position. */
static relmc_status advance_all(relmc_run *run, relmc_error *err)
{
    relmc_status status = rmc_team_call(run, err);

    if (status) {
        return status;
    }
    run->owner = this_thread();
    rmc_share_work_beating(run->opts.threads, run->n_ensembles, rmc_run_turn,
                           run, run->opts.heartbeat_seconds,
                           run->opts.heartbeat ? beat : NULL);
    if ((status = rmc_team_replay(run, err))) {
        return status;
    }
    for (size_t i = 0; i < run->n_ensembles; i++) {
        const struct rmc_ensemble *e = &run->ensembles[i];

        if (e->status < 0) { /* the first error in chain order */
            return rmc_fail(err, e->status, "%s", e->error.message);
        }
        status = e->status ? e->status : status;
    }
    return status ? stopped(err) : RELMC_OK;
}

static int64_t next_sync(const relmc_run *run)
{
    return run->adapt->next_sync && run->position < run->opts.warmup
               ? run->adapt->next_sync(run->ensembles[0].adapt, run->position)
               : 0;
}

/* Announces the end of warm-up for all chains, also for those of workers. */
static relmc_status end_warmup(relmc_run *run, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    for (size_t i = 0; i < run->n_ensembles; i++) {
        struct rmc_ensemble *e = &run->ensembles[i];

        for (size_t k = 0; k < e->sys.shape.lanes && !status; k++) {
            status = rmc_run_reach(e, k, 0);
            if (!status && rmc_n_iterations(run) == run->opts.warmup) {
                status = rmc_run_end_chain(e, k, e->seconds);
            }
        }
        if (status) {
            return rmc_fail(err, status, "%s", e->error.message);
        }
    }
    return RELMC_OK;
}

static relmc_status sync_chains(relmc_run *run, relmc_error *err)
{
    const relmc_sync m = rmc_sync_of(run);

    relmc_status status = rmc_team_gather(run, err);

    if (status) {
        return status;
    }
    for (size_t i = 0; i < run->n_ensembles; i++) {
        run->ensembles[i].has_synced = 1;
    }
    status = run->adapt->sync(&m, err);
    rmc_run_show_method(run);
    if (!status && run->position == run->opts.warmup) {
        status = end_warmup(run, err);
    }
    return status ? status : rmc_team_scatter(run, err);
}

/* Where all chains have been. */
static int64_t least_done(const relmc_run *run)
{
    int64_t least = INT64_MAX;

    for (size_t k = 0; k < run->opts.chains; k++) {
        const int64_t done = RMC_GET(run->chains[k].done);

        least = done < least ? done : least;
    }
    return least;
}

/* Inside relmc_run_advance, where a heartbeat may ask, `position` is where the chains
 * go.  A worker knows its own chains only. */
int64_t relmc_run_position(const relmc_run *run)
{
    const int64_t done = least_done(run);

    return run->team.rank == 0 && done < run->position ? done : run->position;
}

relmc_status relmc_run_advance(relmc_run *run, int64_t n, relmc_error *err)
{
    const int64_t total = rmc_n_iterations(run);
    relmc_status status = RELMC_OK;

    if (n < 0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: cannot advance by %lld iterations", (long long)n);
    }
    if (run->is_finished) {
        return rmc_fail(err, RELMC_EINVAL, "run: it is finished");
    }
    if (run->has_failed) {
        return rmc_fail(err, RELMC_EINVAL, "run: it has failed before");
    }
    if (is_stopped(run)) {
        return stopped(err);
    }
    rmc_checkpoint_close(run);
    const int64_t until = n < total - run->position ? run->position + n : total;
    do {
        const int64_t sync = next_sync(run), before = run->position;
        const int is_sync = sync && sync <= until;

        run->has_advanced |= until > before;
        run->position = is_sync ? sync : until;
        status = advance_all(run, err);
        if (status == RELMC_STOPPED) { /* some chains are behind */
            run->position = least_done(run);
        }
        /* A stop at a sync point does not skip it: a run that goes on looks for
         * sync points after its position. */
        if (is_sync && status >= 0 && run->position == sync) {
            const relmc_status here = sync_chains(run, err);
            status = here ? here : status;
        }
        if (status < 0) {
            run->position = before;
            run->has_failed = 1;
        }
    } while (!status && run->position < until);
    return status;
}
