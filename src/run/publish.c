/*
 * publish.c - hands draws and milestones to observers and sinks.
 */
#include "relmc_format.h"
#include "run/keep.h"

const char *relmc_stat_name(int stat)
{
    static const char *const names[RELMC_N_STATS] = {
        [RELMC_STAT_LP] = RELMC_COLUMN_LP,
        [RELMC_STAT_ACCEPT_PROB] = RELMC_COLUMN_ACCEPT_PROB,
        [RELMC_STAT_STEP_SIZE] = RELMC_COLUMN_STEP_SIZE,
        [RELMC_STAT_TREE_DEPTH] = RELMC_COLUMN_TREE_DEPTH,
        [RELMC_STAT_N_STEPS] = RELMC_COLUMN_STEPS,
        [RELMC_STAT_DIVERGENT] = RELMC_COLUMN_DIVERGENT,
        [RELMC_STAT_ENERGY] = RELMC_COLUMN_ENERGY,
        [RELMC_STAT_SPEED] = RELMC_COLUMN_SPEED,
        [RELMC_STAT_N_GRAD] = "n_grad__",
    };

    return stat >= 0 && stat < RELMC_N_STATS ? names[stat] : NULL;
}

static const double *fill_inv_metric(const struct rmc_ensemble *e, size_t k)
{
    if (!e->sys.frame.scale.diag && !e->sys.frame.scale.chol) {
        return NULL;
    }
    rmc_run_inv_metric(&e->sys, k, e->row);
    return e->row;
}

const char *rmc_run_engine(const struct rmc_ensemble *e)
{
    const relmc_move *move = &e->sys.move;

    return move->engines ? move->engines[move->engine]
                         : e->run->sampler->info.name;
}

uint64_t rmc_run_last_engine(const relmc_sampler_ops *sampler)
{
    uint64_t n = 0;

    while (sampler->engines && sampler->engines[n]) {
        n++;
    }
    return n ? n - 1 : 0;
}

void rmc_run_show_method(relmc_run *run)
{
    for (size_t n = 0; n < run->n_ensembles; n++) {
        const struct rmc_ensemble *e = &run->ensembles[n];

        for (size_t k = 0; k < e->sys.shape.lanes; k++) {
            RMC_SET(e->chains[k].sampler, rmc_run_engine(e));
            RMC_SET(e->chains[k].kinetic, e->sys.move.kinetic.ops->info.name);
        }
    }
}

static relmc_milestone milestone(const struct rmc_ensemble *e, size_t k)
{
    const struct rmc_chain *c = &e->chains[k];
    const int64_t draws = RMC_GET(c->done) - e->run->opts.warmup;

    return (relmc_milestone){
        .chain = (uint32_t)(e->run->opts.first_chain + e->first + k),
        .step_size = e->sys.move.eps[k],
        .inv_metric = fill_inv_metric(e, k),
        .chol = e->sys.frame.scale.chol,
        .seconds_warmup = RMC_GET(c->seconds_warmup),
        .seconds_sampling = RMC_GET(c->seconds_sampling),
        .draws = draws > 0 ? draws : 0,
        .engine = rmc_run_engine(e),
        .kinetic = e->sys.move.kinetic.ops->info.name,
    };
}

/* Observers and sinks are in the leader's process. */
static int is_worker(const relmc_run *run)
{
    return run->team.rank > 0;
}

/* Calls every sink, even if one fails; returns the first error. */
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

relmc_status rmc_run_reach(struct rmc_ensemble *e, size_t k, int is_end)
{
    const relmc_milestone m = milestone(e, k);

    return is_worker(e->run) ? rmc_team_log_milestone(e, &m, is_end)
                             : rmc_run_announce(e, &m, is_end);
}

/* Called after the last transition of a chain, or when the run was stopped. */
relmc_status rmc_run_end_chain(struct rmc_ensemble *e, size_t k, double seconds)
{
    struct rmc_chain *c = &e->chains[k];

    c->has_ended = 1;
    if (RMC_GET(c->done) < e->run->opts.warmup) {
        RMC_SET(c->seconds_warmup, seconds);
    }
    RMC_SET(c->seconds_sampling, seconds - RMC_GET(c->seconds_warmup));
    return rmc_run_reach(e, k, 1);
}

relmc_status rmc_run_deliver(struct rmc_ensemble *e, const relmc_draw *draw)
{
    relmc_status status = RELMC_OK;

    if (e->run->kept) {
        rmc_keep_draw(e->run, draw);
    }
    if (e->run->running && draw->index >= 0) {
        rmc_running_draw(e->run, draw);
    }
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
        /* a positive value stops the run after all observers got the draw */
        status = here < 0 || !status ? here : status;
    }
    return status;
}

static void fill_stats(struct rmc_ensemble *e, size_t k, double lp)
{
    const relmc_transition *out = &e->out;

    e->stats[RELMC_STAT_LP] = lp;
    e->stats[RELMC_STAT_ACCEPT_PROB] = out->accept_prob[k];
    e->stats[RELMC_STAT_STEP_SIZE] = RMC_GET(e->chains[k].step_size);
    e->stats[RELMC_STAT_TREE_DEPTH] = out->depth[k];
    e->stats[RELMC_STAT_N_STEPS] = out->n_steps[k];
    e->stats[RELMC_STAT_DIVERGENT] = out->divergent[k];
    e->stats[RELMC_STAT_ENERGY] = out->energy[k];
    e->stats[RELMC_STAT_SPEED] = out->speed[k];
    e->stats[RELMC_STAT_N_GRAD] = out->n_grad[k];
}

relmc_status rmc_run_publish(struct rmc_ensemble *e, size_t k, int64_t index)
{
    const relmc_shape *s = &e->sys.shape;
    const relmc_shape one = {s->dim, 1, 1};
    double lp = e->z.lp[k];

    for (size_t i = 0; i < s->dim; i++) {
        e->row[i] = e->z.x[i * s->ld + k];
    }
    if (e->sys.frame.warp.n) {
        e->sys.frame.warp.apply(&e->sys.frame.warp, &one, e->row, NULL, &lp);
    }
    fill_stats(e, k, lp);
    const relmc_draw draw = {
        .size = sizeof draw,
        .chain = (uint32_t)(e->run->opts.first_chain + e->first + k),
        .index = index,
        .outputs = e->outputs,
        .coordinates = e->row,
        .stats = e->stats,
    };
    relmc_status status = RELMC_OK;

    if (e->outputs != e->row) {
        status = e->sys.target.ops->output(
            e->sys.target.self,
            e->sys.target.chain ? e->sys.target.chain[k] : NULL, e->row,
            e->outputs, &e->error);
    }
    return status < 0          ? status
           : is_worker(e->run) ? rmc_team_log_draw(e, &draw)
                               : rmc_run_deliver(e, &draw);
}
