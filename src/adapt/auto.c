/*
 * auto.c - tunes everything, pooled over the chains: scale, step size, kinetic
 * energy, engine.
 *
 *   [warm-up]  1. windows: Newtonian NUTS; after each of them the scale becomes
 *                 the [fisher] metric of the draws of all chains, after the last
 *                 two in coordinates in which they look most normal, [warp-fit];
 *              2. the step size in the final scale, Newtonian;
 *              3. the step size with the kinetic energy that is wanted;
 *              4. a pilot run of generalised HMC with that step;
 *              5. the choice: what had the best [pilot-score]; WALNUTS if the
 *                 pilot was [sticky], or stuck in a [neck].
 *
 * A speed limit makes large distances slow while the step is small, so the way to
 * the target is Newtonian.  Decisions are made at sync points only, at iterations
 * that depend on the length of the warm-up alone; nothing changes once sampling
 * starts.
 */
#include "adapt/auto_tuner.h"
#include "adapt/far_start.h"
#include "adapt/step_size_inline.h"
#include "base/linalg.h"

enum {
    MAX_WARP_DIM = 128,  /* a layer holds matrices of this size */
    MAX_WARP_ROWS = 1000 /* draws that a warp is fitted to */
};

/* A metric that was given stays. */
static void take_scale(struct rmc_tuner *a, const relmc_system *sys)
{
    const relmc_shape *s = &sys->shape;

    for (size_t i = 0; sys->frame.scale.diag && i < s->dim; i++) {
        a->metric.sd[i] = sys->frame.scale.diag[i * s->ld];
    }
    if (sys->frame.scale.chol) {
        memcpy(a->metric.chol, sys->frame.scale.chol,
               s->dim * s->dim * sizeof(double));
        a->kind = RMC_DENSE;
    }
    if (sys->frame.scale.rank) {
        const size_t rank = sys->frame.scale.rank;

        a->metric.rank = rank;
        memcpy(a->metric.low_rank, sys->frame.scale.low_rank,
               rank * s->dim * sizeof(double));
        memcpy(a->metric.factor, sys->frame.scale.factor,
               rank * sizeof(double));
        a->kind = RMC_LOW_RANK;
    }
}

static relmc_status init_leader(struct rmc_tuner *a, relmc_arena *arena,
                                const relmc_system *sys, relmc_error *err)
{
    const size_t chains = sys->run.chains;

    a->metric =
        rmc_metric_new(arena, sys->shape.dim, chains, a->room, a->wanted);
    a->rows_x =
        relmc_arena_get(arena, RMC_MAX_CANDIDATES * chains * sizeof *a->rows_x);
    a->rows_g = relmc_arena_get(arena, chains * sizeof *a->rows_g);
    a->level = relmc_arena_get(arena, chains * sizeof *a->level);
    a->view = relmc_arena_get(arena, chains * sizeof *a->view);
    a->is_stuck = relmc_arena_get(arena, chains);
    a->is_late = relmc_arena_get(arena, chains);
    a->work = relmc_arena_get(arena, 2 * chains * a->room * sizeof *a->work);
    if (a->max_layers > 0.0) {
        const size_t rows = chains * a->room;

        rmc_warp_fit_open(&a->fit, arena, sys->shape.dim, (size_t)a->max_layers,
                          rows < MAX_WARP_ROWS ? rows : MAX_WARP_ROWS);
    }
    const relmc_status status = relmc_arena_check(arena, err);
    if (!status && a->keeps_scale) {
        take_scale(a, sys);
    }
    return status;
}

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, int64_t warmup,
                         relmc_error *err)
{
    struct rmc_tuner *a = self;
    const relmc_shape *s = &sys->shape;

    if (sys->frame.has_own_scale && warmup > 0) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "auto: it finds one metric for all chains and cannot "
                        "keep one for each: use adapt stan, dual or none");
    }
    a->has_engines = sys->move.engines != NULL;
    a->keeps_scale = sys->frame.scale.diag || sys->frame.scale.chol;
    a->wanted = sys->frame.scale.chol   ? RMC_DENSE
                : sys->frame.scale.rank ? RMC_LOW_RANK
                : a->metric_kind >= 0.0 ? (enum rmc_metric_kind)a->metric_kind
                : (double)s->dim <= a->max_dense ? RMC_DENSE
                                                 : RMC_LOW_RANK;
    if (!a->has_engines || a->keeps_scale || s->dim > MAX_WARP_DIM) {
        a->max_layers = 0.0;
    }
    rmc_tuner_plan(a, sys, warmup);
    rmc_dual_open(&a->steps, arena, s);
    a->x = relmc_arena_get(arena, s->lanes * a->room * s->dim * sizeof(double));
    a->g = relmc_arena_get(arena, s->lanes * a->room * s->dim * sizeof(double));
    a->lp = relmc_arena_get(arena, s->lanes * a->room * sizeof(double));
    a->accept = relmc_arena_get(arena, s->lanes * a->room * sizeof(double));
    a->used = relmc_arena_get(arena, s->lanes * sizeof *a->used);
    a->n_grad =
        relmc_arena_get(arena, s->lanes * RMC_MAX_PHASES * sizeof(double));
    a->diag = rmc_lanes_new(arena, s);
    a->along = relmc_arena_get(arena, RMC_MAX_RANK * s->ld * sizeof(double));
    a->warp = (relmc_warp){
        .apply = RMC_ISA(rmc_warp_apply),
        .undo = RMC_ISA(rmc_warp_undo),
        .x = rmc_lanes_new(arena, s),
        .g = rmc_lanes_new(arena, s),
        .lp = rmc_per_lane_new(arena, s),
        .room = relmc_arena_get(arena, 6 * s->ld * sizeof(double))};
    return sys->run.first == 0 ? init_leader(a, arena, sys, err)
                               : relmc_arena_check(arena, err);
}

/* ---- during a phase -------------------------------------------------------- */

static void enter_phase(struct rmc_tuner *a, relmc_system *sys)
{
    const struct rmc_phase *p = rmc_tuner_phase(a);

    if (!p) {
        return;
    }
    sys->move.kinetic = p->is_wanted ? sys->move.wanted : sys->move.newtonian;
    sys->move.engine = p->engine;
    sys->move.max_depth = p->max_depth;
    sys->frame.epoch++;
}

static relmc_status start(void *self, relmc_system *sys, relmc_state *z)
{
    struct rmc_tuner *a = self;
    relmc_status status = RELMC_OK;

    if (a->now == 0) {
        enter_phase(a, sys);
    }
    const struct rmc_phase *p = rmc_tuner_phase(a);
    if (!p || p->task == RMC_PILOT) {
        return RELMC_OK;
    }
    if (a->now == 0 && (status = rmc_approach(&a->steps, sys, z))) {
        return status;
    }
    /* the step found for another kinetic energy is a good first guess */
    const int is_near = p->task == RMC_STEP && a->now > 0 &&
                        a->phases[a->now - 1].task == RMC_STEP;
    if (!is_near) {
        status = rmc_dual_search(&a->steps, sys, z);
    }
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        const double centre = (is_near ? 1.5 : 10.0) * sys->move.eps[k];
        rmc_dual_begin(&a->steps, k, rmc_log(centre));
    }
    return status;
}

static void observe(void *self, relmc_system *sys, const relmc_state *z,
                    const relmc_transition *out, size_t k, int64_t iteration)
{
    struct rmc_tuner *a = self;
    const struct rmc_phase *p = rmc_tuner_phase(a);
    const relmc_shape *s = &sys->shape;

    if (!p) {
        return;
    }
    const int64_t t = iteration - p->from;
    if (t >= 0 && t % a->stride == 0) {
        const size_t row = k * a->room + p->row + (size_t)(t / a->stride);

        for (size_t i = 0; i < s->dim; i++) {
            a->x[row * s->dim + i] = z->x[i * s->ld + k];
            a->g[row * s->dim + i] = z->g[i * s->ld + k];
        }
        a->lp[row] = z->lp[k];
        a->accept[row] = out->accept_prob[k];
        a->used[k] = row + 1 - k * a->room;
    }
    if (t >= (int64_t)rmc_tuner_first_fair(p) * a->stride) {
        a->n_grad[k * RMC_MAX_PHASES + a->now] += out->n_grad[k];
    }
    if (p->task != RMC_PILOT) {
        sys->move.eps[k] = rmc_dual_next(&a->steps, k, out->accept_prob[k]);
    }
}

/* ---- between phases -------------------------------------------------------- */

static int64_t next_sync(const void *self, int64_t iteration)
{
    const struct rmc_tuner *a = self;

    for (size_t i = 0; i < a->n_phases; i++) {
        if (a->phases[i].end > iteration) {
            return a->phases[i].end;
        }
    }
    return 0;
}

static relmc_status sync_chains(const relmc_sync *m, relmc_error *err)
{
    struct rmc_tuner *a = m->self[0];
    struct rmc_phase *p = &a->phases[a->now];
    const relmc_status status =
        p->task == RMC_WINDOW ? rmc_tuner_end_window(a, m, p, err) : RELMC_OK;

    if (status) {
        return status;
    }
    if (p->task == RMC_STEP) {
        rmc_tuner_end_step(a, m, p);
    }
    if (a->now + 1 == a->n_phases) {
        rmc_tuner_decide(a, m);
    }
    for (size_t e = 0; e < m->n; e++) {
        struct rmc_tuner *b = m->self[e];

        b->now++;
        enter_phase(b, m->sys[e]);
    }
    return RELMC_OK;
}

static const char *report(const void *self)
{
    return ((const struct rmc_tuner *)self)->report;
}

/* ---- checkpoints ----------------------------------------------------------- */

static void archive(void *self, relmc_system *sys, size_t k, relmc_archive *ar)
{
    struct rmc_tuner *a = self;
    const size_t dim = sys->shape.dim, row = k * a->room;

    rmc_dual_archive(&a->steps, k, ar);
    relmc_archive_reals(ar, a->n_grad + k * RMC_MAX_PHASES, RMC_MAX_PHASES);
    /* after warm-up they are not used */
    const size_t used = rmc_tuner_phase(a) ? a->used[k] : 0;
    a->used[k] = (size_t)relmc_archive_count(ar, used, a->room);
    relmc_archive_reals(ar, a->x + row * dim, a->used[k] * dim);
    relmc_archive_reals(ar, a->g + row * dim, a->used[k] * dim);
    relmc_archive_reals(ar, a->lp + row, a->used[k]);
    relmc_archive_reals(ar, a->accept + row, a->used[k]);
}

static void archive_metric(struct rmc_tuner *a, relmc_archive *ar)
{
    struct rmc_metric *m = &a->metric;
    const size_t dim = m->dim;

    a->kind = (enum rmc_metric_kind)relmc_archive_count(ar, a->kind, a->wanted);
    relmc_archive_reals(ar, m->sd, dim);
    m->rank = (size_t)relmc_archive_count(
        ar, m->rank, a->wanted == RMC_LOW_RANK ? RMC_MAX_RANK : 0);
    relmc_archive_reals(ar, m->low_rank, m->rank * dim);
    relmc_archive_reals(ar, m->factor, m->rank);
    if (a->kind == RMC_DENSE) {
        relmc_archive_reals(ar, m->chol, dim * dim);
        rmc_transpose(dim, m->chol, m->chol_t);
    }
}

static void archive_common(const relmc_sync *m, relmc_archive *ar)
{
    struct rmc_tuner *a = m->self[0];
    const uint64_t now = relmc_archive_count(ar, a->now, a->n_phases);
    const uint64_t has_scale = relmc_archive_count(
        ar, a->now > 0 && a->phases[0].task == RMC_WINDOW, 1);

    for (size_t i = 0; i < a->n_phases; i++) { /* scores are set at the end */
        relmc_archive_reals(ar, &a->phases[i].eps, 1);
    }
    archive_metric(a, ar);
    if (a->max_layers > 0.0) {
        rmc_warp_fit_archive(&a->fit, ar);
    }
    a->n_restarts = (size_t)relmc_archive_count(ar, a->n_restarts, SIZE_MAX);
    relmc_archive_bytes(ar, a->is_late, m->sys[0]->run.chains);
    relmc_archive_bytes(ar, a->report, sizeof a->report);
    a->report[sizeof a->report - 1] = '\0';
    for (size_t e = 0; e < m->n; e++) {
        ((struct rmc_tuner *)m->self[e])->now = (size_t)now;
    }
    if (relmc_archive_is_reading(ar) && has_scale && !a->keeps_scale) {
        rmc_tuner_set_scale(a, m);
        rmc_tuner_set_warp(a, m);
    }
}

static const relmc_param params[] = {
    RMC_DUAL_PARAMS(struct rmc_tuner, steps),
    {"metric",
     "0 diagonal, 1 low rank, 2 dense; default -1: dense up to max_dense, low "
     "rank beyond",
     -1, 2, -1, offsetof(struct rmc_tuner, metric_kind), RELMC_INTEGER},
    {"max_dense", "the largest dimension of a dense metric", 0, 10000, 128,
     offsetof(struct rmc_tuner, max_dense), RELMC_INTEGER},
    {"time", "how long a momentum lasts, in crossing times", 0.01, 100, 2,
     offsetof(struct rmc_tuner, time), RELMC_REAL},
    {"margin", "by which an engine must beat nuts to be chosen", 1, 100, 1.2,
     offsetof(struct rmc_tuner, margin), RELMC_REAL},
    {"sticky", "correlation of acceptance in the pilot that calls for walnuts",
     -1, 1, 0.35, offsetof(struct rmc_tuner, sticky), RELMC_REAL},
    {"neck",
     "its correlation with the log density that calls for walnuts, if below",
     -1, 1, -0.25, offsetof(struct rmc_tuner, neck), RELMC_REAL},
    {"shorten", "the step of walnuts in units of that of nuts, but for necks",
     0.01, 100, 0.7, offsetof(struct rmc_tuner, shorten), RELMC_REAL},
    {"warp", "layers of coordinates that bend and stretch, at most; 0: none", 0,
     RMC_MAX_LAYERS, 12, offsetof(struct rmc_tuner, max_layers), RELMC_INTEGER},
    {0},
};

const relmc_adapt_ops RMC_ISA(rmc_adapt_auto) = {
    .info = {"adapt", "auto", "scale, step size, kinetic energy and engine",
             params},
    .state_size = sizeof(struct rmc_tuner),
    .init = init,
    .start = start,
    .observe = observe,
    .next_sync = next_sync,
    .sync = sync_chains,
    .report = report,
    .archive = archive,
    .archive_common = archive_common,
};
