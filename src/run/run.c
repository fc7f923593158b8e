/* run.c - the public functions on a run: observers and sinks, progress,
 * results.
 */
#include "run/run.h"

#include "base/sized_struct.h"
#include "base/spec.h"

#include <string.h>

void relmc_run_stop(relmc_run *run)
{
    atomic_store_explicit(&run->stop, 1, memory_order_release);
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

relmc_status relmc_run_observe(relmc_run *run,
                               int (*fn)(void *ctx, const relmc_draw *),
                               void *ctx, relmc_error *err)
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

/* Chains that were stopped end at their present iteration. */
static relmc_status end_chains(relmc_run *run, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    for (size_t i = 0; run->ensembles && i < run->n_ensembles; i++) {
        struct rmc_ensemble *e = &run->ensembles[i];

        for (size_t k = 0; e->has_started && k < e->sys.shape.lanes; k++) {
            const relmc_status here = e->chains[k].has_ended
                                          ? RELMC_OK
                                          : rmc_run_end_chain(e, k, e->seconds);

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

relmc_status relmc_run_progress(const relmc_run *run, uint32_t chain,
                                relmc_progress *out, relmc_error *err)
{
    if (chain >= run->opts.chains) {
        return rmc_fail(err, RELMC_EINVAL, "run: no chain %u, there are %u",
                        chain, run->opts.chains);
    }
    struct rmc_chain *c = &run->chains[chain];
    const int64_t done = RMC_GET(c->done);
    const double n_sampled = (double)(done - run->opts.warmup);
    const relmc_progress report = {
        .done = done,
        .total = rmc_n_iterations(run),
        .warmup = run->opts.warmup,
        .n_grad = RMC_GET(c->n_grad),
        .n_grad_sampling = RMC_GET(c->n_grad_sampling),
        .n_divergent = RMC_GET(c->n_divergent),
        .n_clamped = RMC_GET(c->n_clamped),
        .accept_prob =
            n_sampled > 0 ? RMC_GET(c->sum_accept) / n_sampled : (double)NAN,
        .speed =
            n_sampled > 0 ? RMC_GET(c->sum_speed) / n_sampled : (double)NAN,
        .step_size = RMC_GET(c->step_size),
        .seconds_warmup = RMC_GET(c->seconds_warmup),
        .seconds_sampling = RMC_GET(c->seconds_sampling),
        .sampler = RMC_GET(c->sampler),
        .kinetic = RMC_GET(c->kinetic),
    };

    return rmc_sized_fill(out, &report, sizeof report, "relmc_progress", err);
}

const char *relmc_run_tuning_json(const relmc_run *run)
{
    const char *text =
        run->adapt->report ? run->adapt->report(run->ensembles[0].adapt) : "";

    return *text ? text : "{}";
}
