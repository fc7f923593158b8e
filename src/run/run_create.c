/*
 * run_create.c - builds a run: components from their specs, ensembles of lanes,
 * starting points.
 */
#include "base/linalg.h"
#include "base/sized_struct.h"
#include "base/spec.h"
#include "base/team.h"
#include "run/keep.h"

#include <string.h>

/* ---- components ----------------------------------------------------------- */

/* Finds the component of a spec and sets the parameters in its state.  Replaces
 * the spec by one with every default. */
static relmc_status open_component(relmc_run *run, const char *role,
                                   const char **spec, const relmc_info **info,
                                   size_t state_offset, void **state,
                                   relmc_error *err)
{
    relmc_status status = rmc_component_find(info, role, *spec, run->isa, err);
    size_t bytes = 0;

    if (status) {
        return status;
    }
    if (state_offset) {
        memcpy(&bytes, (const unsigned char *)*info + state_offset,
               sizeof bytes);
    }
    void *self = relmc_arena_get(&run->arena, bytes + 1);
    if ((status = relmc_arena_check(&run->arena, err)) ||
        (status = rmc_spec_parse(*spec, *info, self, &run->arena, err))) {
        return status;
    }
    rmc_text measure = {0};
    rmc_spec_print(&measure, *info, self);
    rmc_text text = {relmc_arena_get(&run->arena, measure.bytes + 1),
                     measure.bytes + 1, 0};
    if (text.out) {
        rmc_spec_print(&text, *info, self);
        *spec = text.out;
    }
    *state = self;
    return relmc_arena_check(&run->arena, err);
}

static relmc_status open_kinetic(relmc_run *run, const char **spec,
                                 relmc_kinetic *out, relmc_error *err)
{
    const relmc_info *info = NULL;
    void *self = NULL;
    const relmc_status status =
        open_component(run, "kinetic", spec, &info,
                       offsetof(relmc_kinetic_ops, state_size), &self, err);

    if (status) {
        return status;
    }
    out->ops = (const relmc_kinetic_ops *)(const void *)info;
    out->self = self;
    return out->ops->init
               ? out->ops->init(self, &run->arena, run->target->dim, err)
               : RELMC_OK;
}

/* The kinetic energy of the options, and the Newtonian one, to which adaptation
 * may change. */
static relmc_status open_kinetics(relmc_run *run, relmc_error *err)
{
    const char *newtonian = "newtonian";
    const relmc_status status =
        open_kinetic(run, &run->opts.kinetic, &run->kinetic, err);

    return status ? status
                  : open_kinetic(run, &newtonian, &run->newtonian, err);
}

static relmc_status open_integrator(relmc_run *run, relmc_error *err)
{
    const relmc_info *info = NULL;
    void *self = NULL;
    const relmc_status status = open_component(
        run, "integrator", &run->opts.integrator, &info, 0, &self, err);

    run->integrator = (const relmc_integrator_ops *)(const void *)info;
    return status;
}

/* S with S S' = the inverse metric: one for all chains, or one for each. */
static relmc_status open_dense_scale(relmc_run *run, size_t n, relmc_error *err)
{
    const size_t dim = run->target->dim, square = dim * dim;

    run->chol = relmc_arena_get(&run->arena, n * square * sizeof(double));
    run->chol_t = relmc_arena_get(&run->arena, n * square * sizeof(double));
    if (!run->chol || !run->chol_t) {
        return relmc_arena_check(&run->arena, err);
    }
    for (size_t c = 0; c < n; c++) {
        double *chol = run->chol + c * square;
        const size_t row =
            rmc_cholesky(dim, run->opts.inv_metric_dense + c * square, chol);

        if (row) {
            return rmc_fail(err, RELMC_EINVAL,
                            "run: the inverse metric is not positive definite "
                            "(row %zu)",
                            c * dim + row);
        }
        rmc_transpose(dim, chol, run->chol_t + c * square);
    }
    return RELMC_OK;
}

static relmc_status open_scale(relmc_run *run, relmc_error *err)
{
    const size_t n_metrics = run->opts.metric_per_chain ? run->opts.chains : 1;
    const size_t n = n_metrics * run->target->dim;
    const double *variance = run->opts.inv_metric;

    if (run->opts.inv_metric_dense) {
        return open_dense_scale(run, n_metrics, err);
    }
    if (!variance) {
        return RELMC_OK;
    }
    run->scale_sd = relmc_arena_get(&run->arena, n * sizeof(double));
    if (!run->scale_sd) {
        return relmc_arena_check(&run->arena, err);
    }
    for (size_t i = 0; i < n; i++) {
        if (!(variance[i] > 0.0) || !rmc_is_finite(variance[i])) {
            return rmc_fail(err, RELMC_EINVAL,
                            "run: element %zu of the inverse metric is %g, it "
                            "must be positive",
                            i + 1, variance[i]);
        }
        run->scale_sd[i] = sqrt(variance[i]);
    }
    return RELMC_OK;
}

/* ---- ensembles ------------------------------------------------------------ */

static void open_streams(struct rmc_ensemble *e)
{
    const relmc_options *o = &e->run->opts;
    const relmc_shape *s = &e->sys.shape;

    for (uint32_t purpose = 0; purpose < RELMC_N_PURPOSES; purpose++) {
        e->sys.lanes.streams[purpose] =
            relmc_arena_get(&e->run->arena, s->ld * sizeof(relmc_stream));
        for (size_t k = 0; e->sys.lanes.streams[purpose] && k < s->lanes; k++) {
            e->sys.lanes.streams[purpose][k] = (relmc_stream){
                .seed = o->seed,
                .chain = (uint32_t)(o->first_chain + e->first + k),
                .purpose = purpose,
            };
        }
    }
}

static void open_transition(struct rmc_ensemble *e)
{
    relmc_arena *arena = &e->run->arena;
    const size_t ld = e->sys.shape.ld;

    e->out = (relmc_transition){
        .done = relmc_arena_get(arena, ld),
        .accept_prob = relmc_arena_get(arena, ld * sizeof(double)),
        .energy = relmc_arena_get(arena, ld * sizeof(double)),
        .speed = relmc_arena_get(arena, ld * sizeof(double)),
        .n_steps = relmc_arena_get(arena, ld * sizeof(int32_t)),
        .n_grad = relmc_arena_get(arena, ld * sizeof(int32_t)),
        .depth = relmc_arena_get(arena, ld * sizeof(int32_t)),
        .divergent = relmc_arena_get(arena, ld * sizeof(int32_t)),
        .n_clamped = relmc_arena_get(arena, ld * sizeof(int32_t)),
    };
}

/* Sets the metric of the options. */
static void give_scale(struct rmc_ensemble *e)
{
    const relmc_run *run = e->run;
    const relmc_shape *s = &e->sys.shape;
    relmc_frame *frame = &e->sys.frame;
    const size_t is_own = run->opts.metric_per_chain != 0;

    frame->has_own_scale = is_own && (run->scale_sd || run->chol);
    if (run->chol) {
        const size_t at = is_own ? e->first * s->dim * s->dim : 0;

        frame->scale.chol = run->chol + at;
        frame->scale.chol_t = run->chol_t + at;
    }
    if (run->scale_sd) {
        double *diag = rmc_lanes_new(&e->run->arena, s);

        for (size_t j = 0; diag && j < rmc_cells(s); j++) {
            const size_t k = j % s->ld < s->lanes ? j % s->ld : 0;
            const size_t row = is_own ? e->first + k : 0;

            diag[j] = run->scale_sd[row * s->dim + j / s->ld];
        }
        frame->scale.diag = diag;
    }
}

static void open_system(struct rmc_ensemble *e)
{
    relmc_run *run = e->run;
    relmc_arena *arena = &run->arena;
    relmc_system *sys = &e->sys;
    const relmc_shape *s = &sys->shape;

    sys->target.ops = run->target->ops[run->isa];
    sys->target.self = run->target->self;
    sys->target.n_data = run->target->n_data;
    sys->target.is_float = run->target->is_float && !run->opts.center;
    sys->target.scratch = run->target->scratch
                              ? relmc_arena_get(arena, run->target->scratch)
                              : NULL;
    sys->run.transitions = run->opts.warmup + run->opts.draws;
    sys->run.warmup = run->opts.warmup;
    sys->run.chains = run->opts.chains;
    sys->run.first = (uint32_t)e->first;
    sys->move.kinetic = sys->move.wanted = run->kinetic;
    sys->move.newtonian = run->newtonian;
    sys->move.integrator = run->integrator;
    sys->move.eps = rmc_per_lane_new(arena, s);
    sys->lanes.rest = relmc_arena_get(arena, s->ld);
    sys->lanes.warming = relmc_arena_get(arena, s->ld);
    sys->lanes.busy = relmc_arena_get(arena, s->ld);
    sys->scratch.v = rmc_lanes_new(arena, s);
    sys->scratch.row = relmc_arena_get(arena, 2 * s->dim * sizeof(double));
    sys->scratch.lp = rmc_per_lane_new(arena, s);
    e->row = relmc_arena_get(arena, s->dim * sizeof(double));
    e->outputs =
        sys->target.ops->output
            ? relmc_arena_get(arena, run->target->n_outputs * sizeof(double))
            : e->row;
    e->z = rmc_state_new(arena, s);
    open_streams(e);
    open_transition(e);
    give_scale(e);
    for (size_t k = 0; sys->move.eps && k < s->lanes; k++) {
        sys->move.eps[k] = run->opts.step_size;
    }
}

/* [white-noise] */
static void choose_rows(relmc_options *o, const relmc_sampler_ops *sampler,
                        const void *self)
{
    if (o->batch == RELMC_BATCH_AUTO) {
        o->batch =
            sampler->wants_white_noise && sampler->wants_white_noise(self)
                ? RELMC_BATCH_FRESH
                : RELMC_BATCH_EPOCHS;
    }
}

/* Opens minibatches, and evaluates all the data at the centre once. */
static relmc_status open_batch(struct rmc_ensemble *e, relmc_error *err)
{
    relmc_options *o = &e->run->opts;

    choose_rows(o, e->run->sampler, e->sampler);
    const struct rmc_batch_plan plan = {
        .n_rows = o->batch_rows,
        .kind = o->batch,
        .is_shared = o->batch_is_shared,
        .seed = o->seed,
        .center = o->center,
    };
    relmc_batch *b = &e->sys.batch;
    relmc_status status = rmc_batch_open(&e->sys, &e->run->arena, &plan, err);

    if (!status && b->center) {
        status = relmc_target_eval(e->run->target, 1, b->center, &b->center_lp,
                                   b->center_grad, err);
    }
    return status;
}

/* The model's memory for each chain. */
static relmc_status open_model_chains(struct rmc_ensemble *e, relmc_error *err)
{
    const relmc_options *o = &e->run->opts;
    const relmc_model_ops *model = e->sys.target.ops;
    const size_t lanes = e->sys.shape.lanes;
    const size_t n = e->run->n_ensembles;
    relmc_chain about = {
        .seed = o->seed,
        .threads = (uint32_t)(o->threads < n ? o->threads : n),
    };
    relmc_status status;

    if (!model->chain_open) {
        return RELMC_OK;
    }
    e->sys.target.chain =
        relmc_arena_get(&e->run->arena, lanes * sizeof(void *));
    status = relmc_arena_check(&e->run->arena, err);
    for (size_t k = 0; k < lanes && !status; k++) {
        about.number = (uint32_t)(o->first_chain + e->first + k);
        status = model->chain_open(e->sys.target.self, &e->run->arena, &about,
                                   &e->sys.target.chain[k], err);
    }
    return status;
}

static void close_model_chains(relmc_run *run)
{
    for (size_t n = 0; run->ensembles && n < run->n_ensembles; n++) {
        const relmc_system *sys = &run->ensembles[n].sys;

        for (size_t k = 0; sys->target.chain && k < sys->shape.lanes; k++) {
            if (sys->target.chain[k]) {
                sys->target.ops->chain_close(sys->target.self,
                                             sys->target.chain[k]);
            }
        }
    }
}

static relmc_status open_ensemble(relmc_run *run, struct rmc_ensemble *e,
                                  size_t first, size_t lanes, relmc_error *err)
{
    const relmc_info *sampler = NULL, *adapt = NULL;
    relmc_status status;

    *e = (struct rmc_ensemble){.run = run, .first = first};
    e->sys.shape = (relmc_shape){run->target->dim, lanes, rmc_leading(lanes)};
    e->chains = run->chains + first;
    open_system(e);
    if ((status = relmc_arena_check(&run->arena, err)) ||
        (status = rmc_tuning_give(e, err)) ||
        (status = open_model_chains(e, err)) ||
        (status = open_component(run, "sampler", &run->opts.sampler, &sampler,
                                 offsetof(relmc_sampler_ops, state_size),
                                 &e->sampler, err)) ||
        (status = open_component(run, "adapt", &run->opts.adapt, &adapt,
                                 offsetof(relmc_adapt_ops, state_size),
                                 &e->adapt, err))) {
        return status;
    }
    run->adapt = (const relmc_adapt_ops *)(const void *)adapt;
    if (run->opts.batch_rows && (status = open_batch(e, err))) {
        return status;
    }
    e->sys.move.engines = run->sampler->engines;
    if ((uint64_t)e->sys.move.engine > rmc_run_last_engine(run->sampler)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "tuning: the sampler has no such engine");
    }
    if (run->sampler->init &&
        (status = run->sampler->init(e->sampler, &run->arena, &e->sys, err))) {
        return status;
    }
    return run->adapt->init ? run->adapt->init(e->adapt, &run->arena, &e->sys,
                                               run->opts.warmup, err)
                            : RELMC_OK;
}

static relmc_status open_ensembles(relmc_run *run, relmc_error *err)
{
    const size_t chains = run->opts.chains, lanes = run->opts.lanes;
    relmc_status status = RELMC_OK;

    run->n_ensembles = (chains + lanes - 1) / lanes;
    run->ensembles =
        relmc_arena_get(&run->arena, run->n_ensembles * sizeof *run->ensembles);
    run->chains = relmc_arena_get(&run->arena, chains * sizeof *run->chains);
    run->sync.self =
        relmc_arena_get(&run->arena, run->n_ensembles * sizeof(void *));
    run->sync.sys =
        relmc_arena_get(&run->arena, run->n_ensembles * sizeof(void *));
    run->sync.z =
        relmc_arena_get(&run->arena, run->n_ensembles * sizeof(void *));
    if ((status = relmc_arena_check(&run->arena, err))) {
        return status;
    }
    for (size_t n = 0; n < run->n_ensembles && !status; n++) {
        const size_t first = n * lanes;
        const size_t here = chains - first < lanes ? chains - first : lanes;

        status = open_ensemble(run, &run->ensembles[n], first, here, err);
        run->sync.self[n] = run->ensembles[n].adapt;
        run->sync.sys[n] = &run->ensembles[n].sys;
        run->sync.z[n] = &run->ensembles[n].z;
    }
    return status;
}

/* ---- starting points ------------------------------------------------------ */

/* A starting point of lane k, in coordinates of the target, to e->row. */
static void choose_point(const relmc_options *o, struct rmc_ensemble *e,
                         size_t k)
{
    const size_t dim = e->sys.shape.dim;
    relmc_stream *stream = &e->sys.lanes.streams[RELMC_FOR_INIT][k];

    if (o->init) {
        memcpy(e->row, o->init + (e->first + k) * dim, dim * sizeof *e->row);
        return;
    }
    if (e->sys.target.ops->start && !e->run->has_radius) {
        e->sys.target.ops->start(e->sys.target.self, stream, e->row);
        return;
    }
    for (size_t i = 0; i < dim; i++) {
        e->row[i] = o->init_radius * (2.0 * relmc_uniform(stream) - 1.0);
    }
}

static void place(const relmc_options *o, struct rmc_ensemble *e, size_t k)
{
    const relmc_shape *s = &e->sys.shape;
    const relmc_shape one = {s->dim, 1, 1};
    const relmc_warp *warp = &e->sys.frame.warp;

    choose_point(o, e, k);
    if (warp->n) {
        warp->undo(warp, &one, e->row, NULL, NULL);
    }
    for (size_t i = 0; i < s->dim; i++) {
        e->z.x[i * s->ld + k] = e->row[i];
    }
}

static int is_good_start(const struct rmc_ensemble *e, size_t k)
{
    const relmc_shape *s = &e->sys.shape;
    int is_good = rmc_is_finite(e->z.lp[k]);

    for (size_t i = 0; i < s->dim; i++) {
        is_good &= rmc_is_finite(e->z.x[i * s->ld + k]) &&
                   rmc_is_finite(e->z.g[i * s->ld + k]);
    }
    return is_good;
}

static relmc_status no_start(const struct rmc_ensemble *e, size_t k,
                             relmc_error *err)
{
    const relmc_options *o = &e->run->opts;
    const uint64_t chain = o->first_chain + e->first + k + 1;

    if (o->init || o->init_radius == 0.0) {
        return rmc_fail(err, RELMC_EINIT,
                        "chain %llu: the start has log density %g or a "
                        "gradient that is not finite; give another start",
                        (unsigned long long)chain, e->z.lp[k]);
    }
    return rmc_fail(err, RELMC_EINIT,
                    "chain %llu: no finite log density and gradient at 100 "
                    "random points in (-%g, %g); give a start or another "
                    "radius",
                    (unsigned long long)chain, o->init_radius, o->init_radius);
}

/* Lanes whose point has no density try again, at most 100 times as in Stan. */
static relmc_status find_start(struct rmc_ensemble *e, relmc_error *err)
{
    const relmc_options *o = &e->run->opts;
    const int is_random = !o->init && o->init_radius > 0.0;
    const int n_tries = is_random ? 100 : 1;
    const size_t lanes = e->sys.shape.lanes;
    size_t bad = 0;

    memset(e->sys.lanes.busy, 1, lanes);
    relmc_advance(&e->sys);
    for (int try = 0; try < n_tries; try++) {
        for (size_t k = 0; k < lanes; k++) {
            if (e->sys.lanes.busy[k]) {
                place(o, e, k);
            }
        }
        if (relmc_eval(&e->sys, e->z.x, e->z.lp, e->z.g)) {
            return rmc_fail(err, e->sys.error.status, "%s",
                            e->sys.error.message);
        }
        bad = lanes;
        for (size_t k = lanes; k-- > 0;) {
            e->sys.lanes.busy[k] = !is_good_start(e, k);
            bad = e->sys.lanes.busy[k] ? k : bad;
        }
        if (bad == lanes) {
            return RELMC_OK;
        }
    }
    return no_start(e, bad, err);
}

/* ---- the run -------------------------------------------------------------- */

/* All names in one block: the first pass measures, the second writes. */
static relmc_status name_outputs(relmc_run *run, relmc_error *err)
{
    enum { LONGEST = 1024 };
    const size_t n = run->target->n_outputs;
    char name[LONGEST];
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        relmc_target_output_name(run->target, i, name, sizeof name);
        bytes += strlen(name) + 1;
    }
    char *room = relmc_arena_get(&run->arena, bytes);
    run->names = relmc_arena_get(&run->arena, n * sizeof *run->names);
    if (!run->names || !room) {
        return relmc_arena_check(&run->arena, err);
    }
    for (size_t i = 0; i < n; i++) {
        relmc_target_output_name(run->target, i, name, sizeof name);
        const size_t length = strlen(name) + 1;

        run->names[i] = memcpy(room, name, length);
        room += length;
    }
    return RELMC_OK;
}

static relmc_status build(relmc_run *run, int is_resumed, relmc_error *err)
{
    relmc_status status;

    if ((status = rmc_run_fill_options(run, err)) ||
        (status = open_kinetics(run, err)) ||
        (status = open_integrator(run, err)) ||
        (status = rmc_tuning_check(run, err)) ||
        (status = open_scale(run, err)) ||
        (status = open_ensembles(run, err)) ||
        (status = rmc_keep_open(run, err)) ||
        (status = rmc_running_open(run, err)) ||
        (status = name_outputs(run, err)) ||
        (status = rmc_manifest_make(run, err))) {
        return status;
    }
    rmc_run_show_method(run);
    run->last_beat = run->opts.clock();
    for (size_t n = 0; n < run->n_ensembles && !status && !is_resumed; n++) {
        status = find_start(&run->ensembles[n], err);
        memset(run->ensembles[n].sys.lanes.busy, 0,
               run->ensembles[n].sys.shape.lanes);
    }
    return status;
}

relmc_status relmc_run_create(relmc_run **out, const relmc_target *target,
                              const relmc_options *options, relmc_error *err)
{
    return relmc_run_create_team(out, target, options, NULL, err);
}

relmc_status rmc_run_make(relmc_run **out, const relmc_target *target,
                          const relmc_options *given, const relmc_team *team,
                          int is_resumed, relmc_error *err)
{
    relmc_arena arena = {
        .memory = {given->acquire, given->release, given->memory_ctx}};
    relmc_run *run = relmc_arena_get(&arena, sizeof *run);

    if (!run) {
        return relmc_arena_check(&arena, err);
    }
    run->arena = arena;
    run->opts = *given;
    run->target = target;
    run->team = *team;
    const relmc_status status = build(run, is_resumed, err);
    if (status) {
        relmc_run_destroy(run);
        return status;
    }
    *out = run;
    return RELMC_OK;
}

relmc_status relmc_run_create_team(relmc_run **out, const relmc_target *target,
                                   const relmc_options *options,
                                   const relmc_team *team, relmc_error *err)
{
    relmc_options given;
    relmc_team members;
    relmc_status status =
        rmc_sized_read(&given, sizeof given, options, sizeof options->size,
                       "relmc_options", err);

    if (!status) {
        status = rmc_team_read(&members, team, err);
    }
    return status ? status
                  : rmc_run_make(out, target, &given, &members, 0, err);
}

void relmc_run_destroy(relmc_run *run)
{
    if (run) {
        relmc_status ignored = RELMC_OK;

        rmc_run_close_sinks(run, &ignored, NULL);
        rmc_team_close(run);
        close_model_chains(run);
        rmc_checkpoint_close(run);
        relmc_arena arena = run->arena; /* it holds the run itself */
        rmc_arena_release(&arena);
    }
}
