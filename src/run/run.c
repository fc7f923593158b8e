/*
 * run.c - turns the crank: ticks every ensemble, feeds the adaptation, publishes
 * the draws.
 */
#include "run/run.h"

#include "base/threads.h"
#include "diag/convergence/running_estimate.h"

#include <string.h>

/* ---- counters ------------------------------------------------------------- */

#define GET(counter) atomic_load_explicit(&(counter), memory_order_relaxed)
#define SET(counter, value) \
    atomic_store_explicit(&(counter), value, memory_order_relaxed)
/* Each counter has one writer, so no read-modify-write is needed. */
#define ADD(counter, value) SET(counter, GET(counter) + (value))

static double now(const relmc_run *run)
{
    return run->opts.clock ? run->opts.clock() : 0.0;
}

/* Time that went by in the turns of an ensemble, up to now in the present one:
 * what others did meanwhile does not count. */
static double elapsed(const struct rmc_ensemble *e)
{
    return e->seconds + (now(e->run) - e->since);
}

static int64_t n_iterations(const relmc_run *run)
{
    return run->opts.warmup + run->opts.draws;
}

/* ---- one transition of one lane is done ------------------------------------ */

/* The diagonal of S S'. */
static void inv_metric_of(const relmc_system *sys, size_t k, double *out)
{
    const relmc_scale *scale = &sys->scale;
    const size_t dim = sys->shape.dim;

    for (size_t i = 0; i < dim; i++) {
        double sum = scale->chol ? 0.0 : 1.0;

        for (size_t j = 0; scale->chol && j <= i; j++) {
            sum += scale->chol[i * dim + j] * scale->chol[i * dim + j];
        }
        for (size_t r = 0; r < scale->rank; r++) {
            const double u = scale->low_rank[r * dim + i];
            sum += (scale->factor[r] * scale->factor[r] - 1.0) * u * u;
        }
        if (scale->diag) {
            const double sd = scale->diag[i * sys->shape.ld + k];
            sum *= sd * sd;
        }
        out[i] = sum;
    }
}

static const double *fill_inv_metric(const struct rmc_ensemble *e, size_t k)
{
    if (!e->sys.scale.diag && !e->sys.scale.chol) {
        return NULL;
    }
    inv_metric_of(&e->sys, k, e->row);
    return e->row;
}

const char *rmc_run_engine(const struct rmc_ensemble *e)
{
    return e->sys.has_engines ? rmc_engine_name(e->sys.engine)
                              : e->run->sampler->info.name;
}

static relmc_milestone milestone(const struct rmc_ensemble *e, size_t k)
{
    const struct rmc_chain *c = &e->chains[k];
    const int64_t draws = GET(c->done) - e->run->opts.warmup;

    return (relmc_milestone){
        .chain = (uint32_t)(e->run->opts.first_chain + e->first + k),
        .step_size = e->sys.eps[k],
        .inv_metric = fill_inv_metric(e, k),
        .chol = e->sys.scale.chol,
        .seconds_warmup = GET(c->seconds_warmup),
        .seconds_sampling = GET(c->seconds_sampling),
        .draws = draws > 0 ? draws : 0,
        .engine = rmc_run_engine(e),
        .kinetic = e->sys.kinetic.ops->info.name,
    };
}

/* Does another process hear of it? */
static int is_follower(const relmc_run *run)
{
    return run->team.rank > 0;
}

/* Every sink, even if one of them fails. */
relmc_status rmc_run_announce(struct rmc_ensemble *e, const relmc_milestone *m,
                              int is_end)
{
    relmc_status status = RELMC_OK;

    for (size_t w = 0; w < e->run->n_watchers; w++) {
        const struct rmc_watcher *watcher = &e->run->watchers[w];
        const relmc_sink_ops *sink = watcher->sink;
        relmc_status (*const slot)(void *, const relmc_milestone *,
                                   relmc_error *) = !sink    ? NULL
                                                    : is_end ? sink->ended
                                                             : sink->warmed_up;

        if (slot) {
            const relmc_status here =
                slot(watcher->self, m, status ? NULL : &e->error);
            status = status ? status : here;
        }
    }
    return status;
}

static relmc_status tell(struct rmc_ensemble *e, size_t k, int is_end)
{
    const relmc_milestone m = milestone(e, k);

    return is_follower(e->run) ? rmc_team_log_milestone(e, &m, is_end)
                               : rmc_run_announce(e, &m, is_end);
}

/* After its last transition, or where it was stopped. */
static relmc_status end_chain(struct rmc_ensemble *e, size_t k, double seconds)
{
    struct rmc_chain *c = &e->chains[k];

    c->has_ended = 1;
    if (GET(c->done) < e->run->opts.warmup) {
        SET(c->seconds_warmup, seconds);
    }
    SET(c->seconds_sampling, seconds - GET(c->seconds_warmup));
    return tell(e, k, 1);
}

relmc_status rmc_run_deliver(struct rmc_ensemble *e, const relmc_draw *draw)
{
    relmc_status status = RELMC_OK;

    for (size_t w = 0; w < e->run->n_watchers && status >= 0; w++) {
        const struct rmc_watcher *watcher = &e->run->watchers[w];
        relmc_status here;

        if (watcher->sink) {
            here = watcher->sink->draw(watcher->self, draw, &e->error);
        } else if ((here = watcher->observe(watcher->self, draw)) < 0) {
            here = rmc_fail(&e->error, here,
                            "an observer ended the run at draw %lld of "
                            "chain %u (%s)",
                            (long long)draw->index, draw->chain + 1,
                            relmc_status_name(here));
        }
        /* a wish to stop does not keep the draw from the others */
        status = here < 0 || !status ? here : status;
    }
    return status;
}

static relmc_status publish(struct rmc_ensemble *e, size_t k, int64_t index)
{
    const relmc_shape *s = &e->sys.shape;
    const relmc_transition *out = &e->out;
    const relmc_shape one = {s->dim, 1, 1};
    double lp = e->z.lp[k];

    for (size_t i = 0; i < s->dim; i++) {
        e->row[i] = e->z.x[i * s->ld + k];
    }
    if (e->sys.warp.n) {
        e->sys.warp.apply(&e->sys.warp, &one, e->row, NULL, &lp);
    }
    const relmc_draw draw = {
        .size = sizeof draw,
        .chain = (uint32_t)(e->run->opts.first_chain + e->first + k),
        .index = index,
        .x = e->outputs,
        .lp = lp,
        .energy = out->energy[k],
        .accept_prob = out->accept_prob[k],
        .step_size = GET(e->chains[k].step_size),
        .speed = out->speed[k],
        .n_steps = out->n_steps[k],
        .n_grad = out->n_grad[k],
        .tree_depth = out->depth[k],
        .divergent = out->divergent[k],
        .coordinates = e->row,
    };
    relmc_status status = RELMC_OK;

    if (e->outputs != e->row) {
        status = e->sys.model->output(e->sys.model_self,
                                      e->sys.model_chain ? e->sys.model_chain[k]
                                                         : NULL,
                                      e->row, e->outputs, &e->error);
    }
    return status < 0            ? status
           : is_follower(e->run) ? rmc_team_log_draw(e, &draw)
                                 : rmc_run_deliver(e, &draw);
}

static void count(struct rmc_ensemble *e, size_t k, int is_warmup)
{
    struct rmc_chain *c = &e->chains[k];
    const relmc_transition *out = &e->out;

    ADD(c->n_grad, out->n_grad[k]);
    if (!is_warmup) {
        ADD(c->n_grad_sampling, out->n_grad[k]);
        ADD(c->n_divergent, out->divergent[k]);
        ADD(c->n_clamped, out->n_clamped[k]);
        ADD(c->sum_accept, out->accept_prob[k]);
        ADD(c->sum_speed, out->speed[k]);
    }
}

/* Do chains meet when warm-up is over?  What adaptation found is known after
 * that. */
static int meets_last(const relmc_run *run)
{
    const int64_t warmup = run->opts.warmup;

    return run->adapt->next_meeting &&
           run->adapt->next_meeting(run->ensembles[0].adapt, warmup - 1) ==
               warmup;
}

static relmc_status complete(struct rmc_ensemble *e, size_t k)
{
    relmc_run *run = e->run;
    const relmc_options *o = &run->opts;
    struct rmc_chain *c = &e->chains[k];
    const int64_t iteration = GET(c->done), index = iteration - o->warmup;
    const int is_warmup = index < 0;
    const int is_kept =
        (o->thin == 1 || (is_warmup ? iteration : index) % o->thin == 0) &&
        (!is_warmup || o->save_warmup);
    relmc_status status = RELMC_OK;

    SET(c->step_size, e->sys.eps[k]); /* the one that was used */
    count(e, k, is_warmup);
    if (is_kept) {
        status = publish(e, k, index);
    }
    if (is_warmup) {
        run->adapt->observe(e->adapt, &e->sys, &e->z, &e->out, k, iteration);
        SET(c->step_size, e->sys.eps[k]);
    }
    SET(c->done, iteration + 1);
    e->sys.warming[k] = iteration + 1 < o->warmup;
    if (iteration + 1 == o->warmup) {
        SET(c->seconds_warmup, elapsed(e));
    }
    if (iteration + 1 == o->warmup && meets_last(run)) {
        return status; /* and hears of it there */
    }
    if (iteration + 1 == o->warmup && status >= 0) {
        const relmc_status told = tell(e, k, 0);
        status = told ? told : status;
    }
    if (iteration + 1 == n_iterations(run) && status >= 0) {
        const relmc_status told = end_chain(e, k, elapsed(e));
        status = told ? told : status;
    }
    return status;
}

/* ---- one ensemble ----------------------------------------------------------*/

/* Adaptation sets the step sizes to begin with. */
static relmc_status tune(struct rmc_ensemble *e)
{
    const relmc_status status = e->run->adapt->start(e->adapt, &e->sys, &e->z);

    e->has_met = 0;
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
        SET(e->chains[k].step_size, e->sys.eps[k]);
        e->sys.warming[k] = e->run->opts.warmup > 0;
        if (e->run->opts.warmup == 0) {
            status = tell(e, k, 0);
        }
        if (n_iterations(e->run) == 0 && !status) {
            status = end_chain(e, k, elapsed(e));
        }
    }
    return status;
}

/* Handle the lanes that completed a transition; how many of them rest now. */
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
        if (GET(e->chains[k].done) >= until) {
            e->sys.rest[k] = 1;
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

static int is_stopped(const relmc_run *run)
{
    return atomic_load_explicit(&run->stop, memory_order_relaxed);
}

/* The run was asked to stop: the transitions at hand are completed.  If they were
 * the last ones, nothing is missing: the next turn will tell. */
static relmc_status wind_down(struct rmc_ensemble *e, int64_t until,
                              size_t n_resting)
{
    const size_t lanes = e->sys.shape.lanes;
    relmc_status status = RELMC_OK;

    memset(e->sys.rest, 1, lanes);
    while (status >= 0 && memchr(e->sys.busy, 1, lanes)) {
        const relmc_status here = tick(e, until, &n_resting);
        status = here < 0 || !status ? here : status;
    }
    return status < 0 || n_resting == lanes ? status : RELMC_STOPPED;
}

static relmc_status turn(struct rmc_ensemble *e, int64_t until)
{
    relmc_run *run = e->run;
    const size_t lanes = e->sys.shape.lanes;
    size_t n_resting = 0;
    relmc_status status = RELMC_OK;

    if ((!e->has_started && (status = start(e))) ||
        (e->has_met && (status = tune(e)))) {
        return status;
    }
    for (size_t k = 0; k < lanes; k++) {
        e->sys.rest[k] = GET(e->chains[k].done) >= until;
        n_resting += e->sys.rest[k];
    }
    while (n_resting < lanes && status >= 0) {
        if (is_stopped(run)) {
            const relmc_status down = wind_down(e, until, n_resting);
            return down ? down : status; /* an observer has said so */
        }
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
    e->status = turn(e, run->position);
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
    rmc_share_work(run->opts.threads, run->n_ensembles, rmc_run_turn, run);
    if ((status = rmc_team_hear(run, err))) {
        return status;
    }
    for (size_t i = 0; i < run->n_ensembles; i++) {
        const struct rmc_ensemble *e = &run->ensembles[i];

        if (e->status < 0) { /* the first error, in the order of the chains */
            return rmc_fail(err, e->status, "%s", e->error.message);
        }
        status = e->status ? e->status : status;
    }
    return status ? stopped(err) : RELMC_OK;
}

static int64_t next_meeting(const relmc_run *run)
{
    return run->adapt->next_meeting && run->position < run->opts.warmup
               ? run->adapt->next_meeting(run->ensembles[0].adapt,
                                          run->position)
               : 0;
}

/* Of all chains, whoever turns them. */
static relmc_status end_warmup(relmc_run *run, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    for (size_t i = 0; i < run->n_ensembles; i++) {
        struct rmc_ensemble *e = &run->ensembles[i];

        for (size_t k = 0; k < e->sys.shape.lanes && !status; k++) {
            status = tell(e, k, 0);
            if (!status && n_iterations(run) == run->opts.warmup) {
                status = end_chain(e, k, e->seconds);
            }
        }
        if (status) {
            return rmc_fail(err, status, "%s", e->error.message);
        }
    }
    return RELMC_OK;
}

static relmc_status meet(relmc_run *run, relmc_error *err)
{
    const relmc_meeting m = rmc_meeting_of(run);

    relmc_status status = rmc_team_gather(run, err);

    if (status) {
        return status;
    }
    for (size_t i = 0; i < run->n_ensembles; i++) {
        run->ensembles[i].has_met = 1;
    }
    status = run->adapt->meet(&m, err);
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
        const int64_t done = GET(run->chains[k].done);

        least = done < least ? done : least;
    }
    return least;
}

relmc_status relmc_run_advance(relmc_run *run, int64_t n, relmc_error *err)
{
    const int64_t total = n_iterations(run);
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
        const int64_t meeting = next_meeting(run), before = run->position;
        const int is_meeting = meeting && meeting <= until;

        run->has_advanced |= until > before;
        run->position = is_meeting ? meeting : until;
        status = advance_all(run, err);
        if (status == RELMC_STOPPED) { /* not all chains came so far */
            run->position = least_done(run);
        }
        /* Chains that were stopped right there meet, too: a run that goes on
         * looks for meetings after its position. */
        if (is_meeting && status >= 0 && run->position == meeting) {
            const relmc_status met = meet(run, err);
            status = met ? met : status;
        }
        if (status < 0) {
            run->position = before;
            run->has_failed = 1;
        }
    } while (!status && run->position < until);
    return status;
}

int64_t relmc_run_position(const relmc_run *run)
{
    return run->position;
}

relmc_status relmc_run_all(relmc_run *run, relmc_error *err)
{
    return relmc_run_advance(run, n_iterations(run), err);
}

void relmc_run_stop(relmc_run *run)
{
    atomic_store_explicit(&run->stop, 1, memory_order_relaxed);
}

/* ---- watchers ------------------------------------------------------------- */

static relmc_status check_room(const relmc_run *run, relmc_error *err)
{
    if (run->n_watchers == RMC_MAX_WATCHERS) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: at most %d observers and sinks",
                        RMC_MAX_WATCHERS);
    }
    if (run->has_advanced) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: add observers and sinks before the first draw");
    }
    return RELMC_OK;
}

relmc_status relmc_run_observe(relmc_run *run, relmc_draw_fn fn, void *ctx,
                               relmc_error *err)
{
    const relmc_status status = check_room(run, err);

    if (!status) {
        run->watchers[run->n_watchers++] =
            (struct rmc_watcher){.observe = fn, .self = ctx};
    }
    return status;
}

relmc_status relmc_run_write(relmc_run *run, const char *sink_spec,
                             relmc_error *err)
{
    const relmc_info *info = NULL;
    const size_t n = rmc_spec_name_length(sink_spec);
    relmc_status status;

    if ((status = check_room(run, err)) ||
        (status =
             rmc_component_find(&info, "sink", sink_spec, run->isa, err))) {
        return status;
    }
    const relmc_sink_ops *ops = (const relmc_sink_ops *)(const void *)info;
    if (run->loaded.archive &&
        (status = rmc_checkpoint_expect(run, ops, err))) {
        return status;
    }
    const relmc_header header = {
        .dim = run->target->n_outputs,
        .chains = run->opts.chains,
        .first_chain = run->opts.first_chain,
        .warmup = run->opts.warmup,
        .draws = run->opts.draws,
        .model = run->target->name,
        .names = run->names,
        .options = &run->opts,
        .manifest = run->manifest,
        .n_coordinates = run->target->dim,
        .library = run->target->library,
        .data = run->target->data ? run->target->data : "",
        .is_resumed = run->loaded.archive != NULL,
    };
    void *self = relmc_arena_get(&run->arena, ops->state_size);
    if ((status = relmc_arena_check(&run->arena, err)) ||
        (info->params &&
         (status = rmc_spec_parse(sink_spec, info, self, &run->arena, err))) ||
        (status =
             ops->open(self, &run->arena, sink_spec + n + (sink_spec[n] == ':'),
                       &header, err))) {
        run->arena.has_failed = 0; /* the run goes on without this sink */
        return status;
    }
    if (run->loaded.archive &&
        (status = rmc_checkpoint_sink(run, ops, self, err))) {
        return status;
    }
    run->watchers[run->n_watchers++] =
        (struct rmc_watcher){.sink = ops, .self = self};
    return RELMC_OK;
}

/* The chains that were stopped end where they are. */
static relmc_status end_chains(relmc_run *run, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    for (size_t i = 0; run->ensembles && i < run->n_ensembles; i++) {
        struct rmc_ensemble *e = &run->ensembles[i];

        for (size_t k = 0; e->has_started && k < e->sys.shape.lanes; k++) {
            const relmc_status here =
                e->chains[k].has_ended ? RELMC_OK : end_chain(e, k, e->seconds);

            if (here && !status) {
                status = rmc_fail(err, here, "%s", e->error.message);
            }
        }
    }
    return status;
}

void rmc_run_close_sinks(relmc_run *run, relmc_status *status, relmc_error *err)
{
    if (!run->is_finished) {
        *status = end_chains(run, err);
    }
    for (size_t w = 0; w < run->n_watchers && !run->is_finished; w++) {
        const struct rmc_watcher *watcher = &run->watchers[w];

        if (watcher->sink && watcher->sink->close) {
            const relmc_status here =
                watcher->sink->close(watcher->self, *status ? NULL : err);
            *status = *status ? *status : here;
        }
    }
    run->is_finished = 1;
}

relmc_status relmc_run_finish(relmc_run *run, relmc_error *err)
{
    relmc_status status = run->is_finished || run->has_failed
                              ? RELMC_OK
                              : rmc_team_gather(run, err);

    if (!status) {
        rmc_run_close_sinks(run, &status, err);
    }
    return status;
}

const double *relmc_run_draws(const relmc_run *run, size_t k, size_t *n)
{
    *n = 0;
    for (size_t w = 0; w < run->n_watchers; w++) {
        const struct rmc_watcher *watcher = &run->watchers[w];

        if (watcher->sink && watcher->sink->rows && k < run->opts.chains) {
            return watcher->sink->rows(watcher->self, k, n);
        }
    }
    return NULL;
}

relmc_status relmc_run_online(relmc_online *out, double *quantile,
                              const relmc_run *run, size_t i, size_t n,
                              const double *level, relmc_error *err)
{
    if (i > run->target->n_outputs) {
        return rmc_fail(err, RELMC_EINVAL, "run: no output %zu, there are %zu",
                        i, run->target->n_outputs);
    }
    for (size_t w = 0; w < run->n_watchers; w++) {
        const struct rmc_watcher *watcher = &run->watchers[w];

        if (watcher->sink && watcher->sink->running) {
            rmc_running_set set = {.n_chains = run->opts.chains};

            set.first = watcher->sink->running(watcher->self, i, &set.stride);
            return rmc_running_estimate(out, quantile, &set, n, level, err);
        }
    }
    return rmc_fail(err, RELMC_EUNSUPP,
                    "run: running estimates need the sink \"online\"");
}

relmc_status relmc_run_report(const relmc_run *run, size_t chain,
                              relmc_chain_report *out, relmc_error *err)
{
    if (chain >= run->opts.chains) {
        return rmc_fail(err, RELMC_EINVAL, "run: no chain %zu, there are %u",
                        chain, run->opts.chains);
    }
    if (out->size < offsetof(relmc_chain_report, done)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "relmc_chain_report: size must be "
                        "sizeof(relmc_chain_report), not %u",
                        out->size);
    }
    struct rmc_chain *c = &run->chains[chain];
    const int64_t done = GET(c->done);
    const double n_sampled = (double)(done - run->opts.warmup);
    const uint32_t size = out->size;
    const relmc_chain_report report = {
        .size = size,
        .chain = (uint32_t)(run->opts.first_chain + chain),
        .done = done,
        .total = n_iterations(run),
        .warmup = run->opts.warmup,
        .n_grad = GET(c->n_grad),
        .n_grad_sampling = GET(c->n_grad_sampling),
        .n_divergent = GET(c->n_divergent),
        .n_clamped = GET(c->n_clamped),
        .accept_prob =
            n_sampled > 0 ? GET(c->sum_accept) / n_sampled : (double)NAN,
        .speed = n_sampled > 0 ? GET(c->sum_speed) / n_sampled : (double)NAN,
        .step_size = GET(c->step_size),
        .seconds_warmup = GET(c->seconds_warmup),
        .seconds_sampling = GET(c->seconds_sampling),
    };

    memcpy(out, &report, size < sizeof report ? size : sizeof report);
    return RELMC_OK;
}

const char *relmc_run_tuning(const relmc_run *run)
{
    const char *text =
        run->adapt->report ? run->adapt->report(run->ensembles[0].adapt) : "";

    return *text ? text : "{}";
}

const char *relmc_run_metric(const relmc_run *run, size_t chain,
                             double *diagonal, double *dense)
{
    const size_t lanes = run->opts.lanes, dim = run->target->dim;

    if (chain >= run->opts.chains) {
        return NULL;
    }
    const relmc_system *sys = &run->ensembles[chain / lanes].sys;
    const relmc_scale *scale = &sys->scale;
    if (diagonal) {
        inv_metric_of(sys, chain % lanes, diagonal);
    }
    for (size_t i = 0; dense && scale->chol && i < dim; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t k = 0; k <= j; k++) {
                sum += scale->chol[i * dim + k] * scale->chol[j * dim + k];
            }
            dense[i * dim + j] = dense[j * dim + i] = sum;
        }
    }
    return scale->chol   ? "dense"
           : scale->rank ? "low rank"
           : scale->diag ? "diagonal"
                         : "unit";
}
