/*
 * options.c - checks the options of a run and fills in every default.
 */
#include "run/keep.h"

#include "base/threads.h"

#include <string.h>

static const char *const batch_names[] = {
    [RELMC_BATCH_AUTO] = "auto",
    [RELMC_BATCH_EPOCHS] = "epochs",
    [RELMC_BATCH_FRESH] = "fresh",
    [RELMC_BATCH_REPLACE] = "replace",
};
enum { N_BATCH_KINDS = sizeof batch_names / sizeof *batch_names };

const char *rmc_batch_name(int kind)
{
    return batch_names[kind];
}

static relmc_status check_counts(const relmc_options *o, size_t dim,
                                 relmc_error *err)
{
    const struct {
        const char *name;
        int64_t value, max;
    } counts[] = {
        {"draws", o->draws, INT64_C(1) << 53},
        {"warmup", o->warmup, INT64_C(1) << 53},
        {"chains", o->chains, INT64_C(1) << 24},
        {"lanes", o->lanes, 4096},
        {"threads", o->threads, 4096},
        {"thin", o->thin, INT64_C(1) << 31},
        {"batch_rows", o->batch_rows, INT64_C(1) << 31},
    };

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].value < 0 || counts[i].value > counts[i].max) {
            return rmc_fail(err, RELMC_EINVAL,
                            "run: %s must be in [0, %lld], not %lld",
                            counts[i].name, (long long)counts[i].max,
                            (long long)counts[i].value);
        }
    }
    if (!(o->step_size > 0.0 && o->step_size <= 1e12)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: step_size must be in (0, 1e12], not %g",
                        o->step_size);
    }
    if (!(o->init_radius >= 0.0 && o->init_radius <= 1e12)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: init_radius must be in [0, 1e12], not %g",
                        o->init_radius);
    }
    if (!(o->heartbeat_seconds > 0.0 && o->heartbeat_seconds <= 1e9)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: heartbeat_seconds must be in (0, 1e9], not %g",
                        o->heartbeat_seconds);
    }
    if (o->inv_metric && o->inv_metric_dense) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: give inv_metric or inv_metric_dense, not both");
    }
    if (dim > SIZE_MAX / 64 / (o->chains + 8)) {
        return rmc_fail(err, RELMC_ENOMEM,
                        "run: %u chains of dimension %zu do not fit in memory",
                        o->chains, dim);
    }
    return RELMC_OK;
}

/* Enough lanes for the vector units, but not so many that threads stay idle; 1
 * if the target has no kernel for several.  Draws do not depend on it. */
static uint32_t choose_lanes(const relmc_run *run)
{
    const relmc_options *o = &run->opts;
    const relmc_target *target = run->target;
    enum { ENOUGH = 16, TOO_FEW = 4 };
    const uint32_t at_once = o->threads * run->team.n_members;
    const uint32_t per_thread = (o->chains + at_once - 1) / at_once;

    /* rows are padded to 8 numbers: few lanes would be mostly padding */
    const relmc_model_ops *ops = target->ops[rmc_isa_best()];
    const int is_shared = !o->batch_rows || o->batch_is_shared;

    if (!((ops->lanes && !o->batch_rows) || (ops->rows && is_shared)) ||
        ops->is_one_by_one || per_thread < TOO_FEW) {
        return 1;
    }
    return per_thread < ENOUGH ? per_thread : ENOUGH;
}

/* 0 means the default; RELMC_ZERO means none. */
static int64_t count_or(int64_t given, int64_t fallback)
{
    return given == RELMC_ZERO ? 0 : given == 0 ? fallback : given;
}

static const char *text_or(const char *given, const char *fallback)
{
    return given ? given : fallback;
}

static void fill_defaults(relmc_options *o, unsigned flags)
{
    const int is_unadjusted = (flags & RELMC_UNADJUSTED) != 0;

    o->kinetic =
        text_or(o->kinetic, flags & RELMC_NO_MOMENTUM ? "newtonian"
                            : is_unadjusted           ? "separable"
                                            : "relativistic:cruise=0.79");
    o->integrator = text_or(o->integrator, "leapfrog");
    o->adapt = text_or(o->adapt, is_unadjusted ? "none" : "auto");
    o->keep = o->keep == RELMC_ZERO ? 0
              : o->keep             ? o->keep
                                    : RELMC_KEEP_OUTPUTS | RELMC_KEEP_STATS;
    o->keep_points = o->keep_points ? o->keep_points : 256;
    o->draws = count_or(o->draws, 1000);
    o->warmup = count_or(o->warmup, 500);
    o->chains = o->chains ? o->chains : 4;
    const uint32_t processors = rmc_processors();
    o->threads = o->threads               ? o->threads
                 : o->chains < processors ? o->chains
                                          : processors;
    o->clock = o->clock ? o->clock : rmc_system_clock;
    o->heartbeat_seconds =
        o->heartbeat_seconds == 0.0 ? 0.1 : o->heartbeat_seconds;
    o->thin = o->thin ? o->thin : 1;
    o->step_size = o->step_size == 0.0 ? 1.0 : o->step_size;
    o->init_radius = o->init_radius == 0.0          ? 2.0
                     : o->init_radius == RELMC_ZERO ? 0.0
                                                    : o->init_radius;
}

/* Comes before fill_defaults, since defaults depend on the sampler. */
static relmc_status find_sampler(relmc_run *run, relmc_error *err)
{
    const relmc_info *info = NULL;
    const relmc_status status =
        rmc_component_find(&info, "sampler", run->opts.sampler, run->isa, err);

    run->sampler = (const relmc_sampler_ops *)(const void *)info;
    return status;
}

static relmc_status check_batch(const relmc_run *run, relmc_error *err)
{
    const relmc_options *o = &run->opts;
    const char *sampler = run->sampler->info.name;
    const size_t n_data = run->target->n_data;

    if (run->sampler->flags & RELMC_UNADJUSTED &&
        strcmp(o->adapt, "none") != 0) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "%s has no acceptance probability to adapt to: use "
                        "adapt none",
                        sampler);
    }
    if (o->batch < 0 || o->batch >= N_BATCH_KINDS) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: batch must be RELMC_BATCH_AUTO, EPOCHS, FRESH "
                        "or REPLACE, not %d",
                        o->batch);
    }
    if ((o->batch || o->batch_is_shared || o->center) && !o->batch_rows) {
        return rmc_fail(err, RELMC_EINVAL,
                        "run: batch, batch_is_shared and center are for "
                        "minibatches: set batch_rows");
    }
    if (!o->batch_rows) {
        return RELMC_OK;
    }
    if (run->sampler->flags & RELMC_NEEDS_EXACT) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "%s has a Metropolis step and needs the exact density: "
                        "no minibatches",
                        sampler);
    }
    if (o->batch_rows > n_data) {
        return rmc_fail(err, RELMC_EINVAL,
                        n_data
                            ? "run: batch_rows must be at most the %zu rows of "
                              "data, not %u"
                            : "run: the target has no data (%zu rows) to "
                              "take minibatches of %u from",
                        n_data, o->batch_rows);
    }
    return RELMC_OK;
}

relmc_status rmc_run_fill_options(relmc_run *run, relmc_error *err)
{
    relmc_options *o = &run->opts;
    const size_t dim = run->target->dim;

    relmc_status status;
    if ((status = rmc_isa_find(&run->isa, o->isa, err)) ||
        (status = rmc_tuning_open(run, err))) {
        return status;
    }
    o->sampler = text_or(o->sampler, "auto");
    if ((status = find_sampler(run, err))) {
        return status;
    }
    run->has_radius = o->init_radius != 0.0;
    run->has_step = o->step_size != 0.0;
    fill_defaults(o, run->sampler->flags);
    if ((status = check_counts(o, dim, err)) ||
        (status = rmc_keep_check(o, err)) || (status = check_batch(run, err)) ||
        (status = rmc_tuning_fit(run, err))) {
        return status;
    }
    const size_t n_metrics = o->metric_per_chain ? o->chains : 1;
    if (rmc_tuning_is_dense_per_chain(run) ||
        (o->inv_metric_dense && o->metric_per_chain)) {
        o->lanes = 1; /* an ensemble has room for one factor */
    }
    o->lanes = o->lanes ? o->lanes : choose_lanes(run);
    o->lanes = o->lanes < o->chains ? o->lanes : o->chains;
    o->init = rmc_arena_copy(&run->arena, o->init, o->chains * dim);
    o->center = rmc_arena_copy(&run->arena, o->center, dim);
    o->inv_metric = rmc_arena_copy(&run->arena, o->inv_metric, n_metrics * dim);
    o->inv_metric_dense =
        rmc_arena_copy(&run->arena, o->inv_metric_dense, n_metrics * dim * dim);
    return relmc_arena_check(&run->arena, err);
}
