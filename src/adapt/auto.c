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
 * A speed limit forbids to cover large distances while the step is small, so the
 * way to the target is Newtonian.  All decisions fall at meetings, at iterations
 * that depend on the length of the warm-up only, and are final when sampling
 * begins.
 */
#include "adapt/engine_score.h"
#include "adapt/far_start.h"
#include "adapt/stuck_chains.h"
#include "transform/metric.h"
#include "transform/warp_fit.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_PHASES = 16,
    MAX_CANDIDATES = 4,
    MAX_WARP_DIM = 128,   /* squares of it are kept for every layer ... */
    MAX_WARP_ROWS = 1000, /* ... and so many draws looked at */
    MAX_LAYERS = 32,
    REPORT_BYTES = 4096 /* MAX_LAYERS of them among the rest */
};

enum task {
    WINDOW, /* find the scale */
    STEP,   /* find the step size */
    PILOT   /* see how good an engine is with the step that was found */
};

/* A stretch of warm-up: what is done in it, and what was found at its end. */
struct phase {
    enum task task;
    int64_t from, end; /* draws from `from` on count; it ends before `end` */
    size_t row, n;     /* where they are kept, and how many */
    int is_wanted;     /* kinetic energy: that of the options, or Newtonian */
    int engine;
    int32_t max_depth; /* of trees; 0: no limit */
    int may_warp;      /* other coordinates may be chosen at its end */
    double eps, score;
    const char *why; /* it was chosen */
};

struct tuner {
    struct rmc_dual steps;
    double metric_kind, max_dense, estimator, time, margin;
    double sticky, neck, shorten, max_layers;
    int keeps_scale; /* it was given */
    int has_engines;
    struct phase phases[MAX_PHASES];
    size_t n_phases, now;
    /* Draws of the present window, or of all that comes after the windows: rows
     * of dim numbers, `room` of them for every lane. */
    size_t room;
    int64_t stride; /* one of so many draws is kept */
    double *x, *g, *lp, *accept;
    size_t *used;    /* rows that hold something, one per lane */
    double *n_grad;  /* fair gradients of every phase: MAX_PHASES per lane */
    double *diag;    /* dim x ld */
    double *along;   /* room of a low-rank scale */
    relmc_warp warp; /* scratch of its own, layers of the leader */
    /* The rest belongs to the first ensemble, which leads. */
    struct rmc_warp_fit fit;
    struct rmc_metric metric;
    enum rmc_metric_kind kind, wanted; /* of metric: present, at most */
    double **rows_x, **rows_g;         /* MAX_CANDIDATES x chains, chains */
    double *level, *work;
    struct rmc_view *view;  /* one per chain */
    unsigned char *is_lost; /* one per chain */
    size_t n_respawned;
    char report[REPORT_BYTES];
};

/* ---- the plan -------------------------------------------------------------- */

static void add_phase(struct tuner *a, struct phase phase)
{
    if (phase.end > phase.from && a->n_phases < MAX_PHASES) {
        a->phases[a->n_phases++] = phase;
    }
}

/* Windows that grow, the first ones short: they are on the way.  Trees are kept
 * small until there is a scale. */
static void plan_windows(struct tuner *a, int64_t end)
{
    static const struct {
        int64_t end;
        int32_t max_depth;
    } usual[] = {{30, 6},  {50, 7},  {75, 8},  {100, 0}, {150, 0},
                 {250, 0}, {450, 0}, {850, 0}, {1650, 0}};
    int64_t from = end / 10 < 15 ? end / 10 : 15;

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const int64_t here = usual[i].end;

        if (end - here < here - from) {
            break; /* the last one would be shorter than this */
        }
        add_phase(a, (struct phase){.task = WINDOW,
                                    .from = from,
                                    .end = here,
                                    .max_depth = usual[i].max_depth});
        from = here;
    }
    add_phase(a, (struct phase){.task = WINDOW, .from = from, .end = end});
    for (size_t i = 0; i < 2 && i < a->n_phases; i++) {
        a->phases[a->n_phases - 1 - i].may_warp = 1;
    }
}

static void plan(struct tuner *a, const relmc_system *sys, int64_t warmup)
{
    const int has_limit = sys->wanted.ops->has_limit;
    const int64_t most = a->has_engines ? 240 : 150;
    const int64_t tail = warmup < 2 * most ? warmup / 2 : most;
    int64_t at = warmup - tail;

    if (warmup < 20) { /* too few for more than a step size */
        add_phase(a, (struct phase){STEP, .end = warmup, .is_wanted = 1});
        return;
    }
    plan_windows(a, at);
    if (a->has_engines && has_limit) {
        add_phase(a, (struct phase){STEP, at, at + tail / 3, .is_wanted = 0});
        at += tail / 3;
    }
    const int64_t end = a->has_engines ? warmup - tail / 3 : warmup;
    add_phase(a, (struct phase){STEP, at, end, .is_wanted = 1});
    add_phase(a, (struct phase){PILOT, end, warmup, .is_wanted = 1,
                                .engine = RELMC_ENGINE_GHMC});
}

/* Every window has all the rows there are, one after another; what comes after
 * the windows shares them. */
static void plan_rows(struct tuner *a, int64_t stride)
{
    size_t tail = 0;

    a->stride = stride;
    a->room = 1;
    for (size_t i = 0; i < a->n_phases; i++) {
        struct phase *p = &a->phases[i];

        p->n = (size_t)((p->end - p->from + stride - 1) / stride);
        p->row = p->task == WINDOW ? 0 : tail;
        tail += p->task == WINDOW ? 0 : p->n;
        a->room = p->row + p->n > a->room ? p->row + p->n : a->room;
    }
}

/* Only some of the draws are kept if there are very many of them, or very many
 * dimensions. */
static void plan_memory(struct tuner *a, size_t dim)
{
    const double bytes = 64e6; /* for a chain */
    const double fit = bytes / (2.0 * sizeof(double) * (double)dim);
    const double most = fit < 2000.0 ? fit : 2000.0;

    plan_rows(a, 1);
    if ((double)a->room > most) {
        plan_rows(a, 1 + (int64_t)((double)a->room / most));
    }
}

/* A scale that was given stays. */
static void take_scale(struct tuner *a, const relmc_system *sys)
{
    const relmc_shape *s = &sys->shape;

    for (size_t i = 0; sys->scale.diag && i < s->dim; i++) {
        a->metric.sd[i] = sys->scale.diag[i * s->ld];
    }
    if (sys->scale.chol) {
        memcpy(a->metric.chol, sys->scale.chol,
               s->dim * s->dim * sizeof(double));
        a->kind = RMC_DENSE;
    }
}

static relmc_status init_leader(struct tuner *a, relmc_arena *arena,
                                const relmc_system *sys, relmc_error *err)
{
    const size_t chains = sys->chains;

    a->metric =
        rmc_metric_new(arena, sys->shape.dim, chains, a->room, a->wanted);
    a->rows_x =
        relmc_arena_get(arena, MAX_CANDIDATES * chains * sizeof *a->rows_x);
    a->rows_g = relmc_arena_get(arena, chains * sizeof *a->rows_g);
    a->level = relmc_arena_get(arena, chains * sizeof *a->level);
    a->view = relmc_arena_get(arena, chains * sizeof *a->view);
    a->is_lost = relmc_arena_get(arena, chains);
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
    struct tuner *a = self;
    const relmc_shape *s = &sys->shape;

    a->has_engines = sys->has_engines;
    a->keeps_scale = sys->scale.diag || sys->scale.chol;
    a->wanted = sys->scale.chol         ? RMC_DENSE
                : a->metric_kind >= 0.0 ? (enum rmc_metric_kind)a->metric_kind
                : (double)s->dim <= a->max_dense ? RMC_DENSE
                                                 : RMC_LOW_RANK;
    if (!a->has_engines || a->keeps_scale || s->dim > MAX_WARP_DIM) {
        a->max_layers = 0.0;
    }
    plan(a, sys, warmup);
    plan_memory(a, s->dim);
    rmc_dual_open(&a->steps, arena, s);
    a->x = relmc_arena_get(arena, s->lanes * a->room * s->dim * sizeof(double));
    a->g = relmc_arena_get(arena, s->lanes * a->room * s->dim * sizeof(double));
    a->lp = relmc_arena_get(arena, s->lanes * a->room * sizeof(double));
    a->accept = relmc_arena_get(arena, s->lanes * a->room * sizeof(double));
    a->used = relmc_arena_get(arena, s->lanes * sizeof *a->used);
    a->n_grad = relmc_arena_get(arena, s->lanes * MAX_PHASES * sizeof(double));
    a->diag = rmc_lanes_new(arena, s);
    a->along = relmc_arena_get(arena, RMC_MAX_RANK * s->ld * sizeof(double));
    a->warp = (relmc_warp){
        .apply = rmc_warp_apply,
        .undo = rmc_warp_undo,
        .x = rmc_lanes_new(arena, s),
        .g = rmc_lanes_new(arena, s),
        .lp = rmc_per_lane_new(arena, s),
        .room = relmc_arena_get(arena, 6 * s->ld * sizeof(double))};
    return sys->first == 0 ? init_leader(a, arena, sys, err)
                           : relmc_arena_check(arena, err);
}

/* ---- during a phase -------------------------------------------------------- */

static const struct phase *present(const struct tuner *a)
{
    return a->now < a->n_phases ? &a->phases[a->now] : NULL;
}

static void enter_phase(struct tuner *a, relmc_system *sys)
{
    const struct phase *p = present(a);

    if (!p) {
        return;
    }
    sys->kinetic = p->is_wanted ? sys->wanted : sys->newtonian;
    sys->engine = p->engine;
    sys->max_depth = p->max_depth;
    sys->epoch++;
}

static relmc_status start(void *self, relmc_system *sys, relmc_state *z)
{
    struct tuner *a = self;
    relmc_status status = RELMC_OK;

    if (a->now == 0) {
        enter_phase(a, sys);
    }
    const struct phase *p = present(a);
    if (!p || p->task == PILOT) {
        return RELMC_OK;
    }
    if (a->now == 0 && (status = rmc_approach(&a->steps, sys, z))) {
        return status;
    }
    /* the step for another kinetic energy is a good guess */
    const int is_near =
        p->task == STEP && a->now > 0 && a->phases[a->now - 1].task == STEP;
    if (!is_near) {
        status = rmc_dual_search(&a->steps, sys, z);
    }
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        const double centre = (is_near ? 1.5 : 10.0) * sys->eps[k];
        rmc_dual_begin(&a->steps, k, rmc_log(centre));
    }
    return status;
}

/* The first row of a phase that shows how good its engine is: not the search for
 * the step size. */
static size_t first_fair(const struct phase *p)
{
    return p->task == PILOT ? 0 : p->n / 2;
}

static void observe(void *self, relmc_system *sys, const relmc_state *z,
                    const relmc_transition *out, size_t k, int64_t iteration)
{
    struct tuner *a = self;
    const struct phase *p = present(a);
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
    if (t >= (int64_t)first_fair(p) * a->stride) {
        a->n_grad[k * MAX_PHASES + a->now] += out->n_grad[k];
    }
    if (p->task != PILOT) {
        sys->eps[k] = rmc_dual_next(&a->steps, k, out->accept_prob[k]);
    }
}

/* ---- meetings: everything pooled ------------------------------------------- */

/* NOLINTBEGIN(bugprone-macro-parentheses): they are declared here */
/* Every lane k of every ensemble e, in the order of the chains. */
#define FOR_CHAINS(m, e, k, chain)                 \
    for (size_t e = 0, chain = 0; e < (m)->n; e++) \
        for (size_t k = 0; k < (m)->sys[e]->shape.lanes; k++, chain++)
/* NOLINTEND(bugprone-macro-parentheses) */

/* Where the draws of a phase begin, lane k. */
static size_t row_of(const struct tuner *a, const struct phase *p, size_t k)
{
    return k * a->room + p->row;
}

/* [lost]  The chains that know nothing of the scale. */
static size_t find_lost(struct tuner *a, const relmc_meeting *m,
                        const struct phase *p)
{
    const size_t dim = a->metric.dim;

    FOR_CHAINS(m, e, k, chain)
    {
        const struct tuner *b = m->self[e];
        const size_t row = row_of(b, p, k);

        a->view[chain] = rmc_look(dim, p->n, b->x + row * dim, b->g + row * dim,
                                  b->lp + row, a->work);
    }
    return rmc_find_lost(dim, m->sys[0]->chains, a->view, a->is_lost);
}

/* Rows of a phase from its t-th draw on, of the chains that are not lost; how
 * many chains.  g may be NULL. */
static size_t collect(const struct tuner *a, const relmc_meeting *m,
                      const struct phase *p, size_t t, double **x, double **g)
{
    size_t n = 0;

    FOR_CHAINS(m, e, k, chain)
    {
        const struct tuner *b = m->self[e];
        const size_t at = (row_of(b, p, k) + t) * a->metric.dim;

        if (!a->is_lost[chain]) {
            x[n] = b->x + at;
            if (g) {
                g[n] = b->g + at;
            }
            n++;
        }
    }
    return n;
}

static void set_scale(struct tuner *a, const relmc_meeting *m)
{
    for (size_t e = 0; e < m->n; e++) {
        struct tuner *b = m->self[e];
        relmc_system *sys = m->sys[e];

        for (size_t j = 0; j < rmc_cells(&sys->shape); j++) {
            b->diag[j] = a->metric.sd[j / sys->shape.ld];
        }
        sys->scale = (relmc_scale){.diag = b->diag,
                                   .rank = a->metric.rank,
                                   .low_rank = a->metric.low_rank,
                                   .factor = a->metric.factor,
                                   .room = b->along};
        if (a->kind == RMC_DENSE) {
            sys->scale = (relmc_scale){.chol = a->metric.chol,
                                       .chol_t = a->metric.chol_t};
        }
    }
}

/* Lane k goes on from a row that another one has kept. */
static void move_lane(relmc_system *sys, relmc_state *z, size_t k,
                      const struct tuner *from, size_t row)
{
    const relmc_shape *s = &sys->shape;

    for (size_t i = 0; i < s->dim; i++) {
        z->x[i * s->ld + k] = from->x[row * s->dim + i];
        z->g[i * s->ld + k] = from->g[row * s->dim + i];
    }
    z->lp[k] = from->lp[row];
}

/* Lost chains go on from where others have been in this window. */
static void respawn(struct tuner *a, const relmc_meeting *m,
                    const struct phase *p, size_t n_good)
{
    FOR_CHAINS(m, e, k, chain)
    {
        relmc_stream *stream = &m->sys[e]->streams[RELMC_FOR_INIT][k];
        size_t good = 0;

        if (!a->is_lost[chain]) {
            continue;
        }
        const size_t host = (size_t)(relmc_uniform(stream) * (double)n_good);
        const size_t t = (size_t)(relmc_uniform(stream) * (double)p->n);
        FOR_CHAINS(m, f, j, other)
        {
            if (!a->is_lost[other] && good++ == host) {
                const struct tuner *b = m->self[f];
                move_lane(m->sys[e], m->z[e], k, b, row_of(b, p, j) + t);
                m->sys[e]->eps[k] = m->sys[f]->eps[j];
            }
        }
        a->n_respawned++;
    }
}

/* ---- other coordinates ------------------------------------------------------ */

/* The coordinates that were found are those of all ensembles. */
static void set_warp(const struct tuner *a, const relmc_meeting *m)
{
    for (size_t e = 0; e < m->n; e++) {
        struct tuner *b = m->self[e];

        b->warp.n = a->fit.n_layers;
        b->warp.layers = a->fit.layers;
        m->sys[e]->warp = b->warp;
    }
}

/* Rows of a window and states of all chains, from one kind of coordinates to
 * another. */
static void carry_over(const relmc_meeting *m, const struct phase *p,
                       relmc_warp_fn way)
{
    FOR_CHAINS(m, e, k, chain)
    {
        const struct tuner *b = m->self[e];
        const size_t dim = m->sys[e]->shape.dim, first = row_of(b, p, k);
        const relmc_shape one = {dim, 1, 1};

        for (size_t row = first; row < first + p->n; row++) {
            way(&b->warp, &one, b->x + row * dim, b->g + row * dim,
                b->lp + row);
        }
    }
    for (size_t e = 0; e < m->n; e++) {
        const struct tuner *b = m->self[e];

        way(&b->warp, &m->sys[e]->shape, m->z[e]->x, m->z[e]->g, m->z[e]->lp);
    }
}

/* Can every chain be told in the new coordinates?  Out of range of the draws they
 * were made from they may be anything. */
static int fits_all(const relmc_meeting *m)
{
    for (size_t e = 0; e < m->n; e++) {
        const relmc_shape *s = &m->sys[e]->shape;
        const relmc_warp *w = &((const struct tuner *)m->self[e])->warp;

        memcpy(w->x, m->z[e]->x, rmc_cells(s) * sizeof *w->x);
        rmc_warp_undo(w, s, w->x, NULL, NULL);
        if (rmc_any_not_finite(rmc_cells(s), w->x)) {
            return 0;
        }
    }
    return 1;
}

/* [warp-fit]  Those from before stay, or become better, or are fitted anew in the
 * target's own coordinates. */
static void change_coordinates(struct tuner *a, const relmc_meeting *m,
                               const struct phase *p,
                               const struct rmc_window *w)
{
    const enum rmc_fit_verdict verdict = rmc_warp_fit_check(&a->fit, w);

    if (verdict == RMC_FIT_KEEP) {
        return;
    }
    carry_over(m, p, rmc_warp_apply);
    if (verdict == RMC_FIT_TAKE_TRIAL) {
        rmc_fit_copy(a->fit.dim, &a->fit.layers[0], &a->fit.trial);
    } else {
        rmc_warp_fit(&a->fit, w);
    }
    set_warp(a, m);
    if (!fits_all(m)) {
        a->fit.n_layers = 0;
        set_warp(a, m);
    }
    carry_over(m, p, rmc_warp_undo);
}

/* Gradients and log densities that were carried over are those of the target but
 * for rounding errors; a checkpoint wants the same bits. */
static relmc_status evaluate_all(const relmc_meeting *m, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    for (size_t e = 0; e < m->n && !status; e++) {
        relmc_system *sys = m->sys[e];

        memset(sys->busy, 1, sys->shape.lanes);
        status = relmc_eval(sys, m->z[e]->x, m->z[e]->lp, m->z[e]->g);
        memset(sys->busy, 0, sys->shape.lanes);
        if (status) {
            return rmc_fail(err, status, "%s", sys->error.message);
        }
    }
    return RELMC_OK;
}

static relmc_status end_window(struct tuner *a, const relmc_meeting *m,
                               const struct phase *p, relmc_error *err)
{
    const size_t n_lost = find_lost(a, m, p);
    const struct rmc_window w = {
        .dim = a->metric.dim,
        .n_chains = collect(a, m, p, 0, a->rows_x, a->rows_g),
        .n = p->n,
        .x = (const double *const *)a->rows_x,
        .g = (const double *const *)a->rows_g,
    };
    const int was_warped = a->fit.n_layers > 0;

    if (p->may_warp && rmc_warp_fit_can(&a->fit, &w)) {
        change_coordinates(a, m, p, &w);
    }
    if (!a->keeps_scale) {
        a->kind = rmc_metric_estimate(
            &a->metric, &w, (enum rmc_estimator)a->estimator, a->wanted);
        set_scale(a, m);
    }
    if (n_lost) {
        respawn(a, m, p, w.n_chains);
    }
    return was_warped || a->fit.n_layers ? evaluate_all(m, err) : RELMC_OK;
}

/* The median over chains of the averaged steps, for all of them. */
static double pool_steps(struct tuner *a, const relmc_meeting *m)
{
    size_t n = 0;

    FOR_CHAINS(m, e, k, chain)
    {
        const struct tuner *b = m->self[e];
        if (!a->is_lost[chain]) {
            a->level[n++] = b->steps.log_eps_bar[k];
        }
    }
    return rmc_exp(rmc_median(a->level, n));
}

static void set_steps(const relmc_meeting *m, double eps)
{
    for (size_t e = 0; e < m->n; e++) {
        for (size_t k = 0; k < m->sys[e]->shape.lanes; k++) {
            m->sys[e]->eps[k] = eps;
        }
    }
}

/* [crossing-time]  In the scale that was found the target is sqrt(lambda) times
 * longer than wide; a momentum should last as long as it takes to cross it.  The
 * draws are whitened where the gradients were, which are of no more use. */
static double crossing_time(struct tuner *a, const relmc_meeting *m,
                            const struct phase *p)
{
    const size_t n_chains = collect(a, m, p, 0, a->rows_x, a->rows_g);
    const size_t bytes = p->n * a->metric.dim * sizeof(double);

    for (size_t c = 0; c < n_chains; c++) {
        memcpy(a->rows_g[c], a->rows_x[c], bytes);
    }
    return a->time * sqrt(rmc_metric_stretch(&a->metric, a->rows_g, n_chains,
                                             p->n, a->kind));
}

static void end_step(struct tuner *a, const relmc_meeting *m, struct phase *p)
{
    const size_t n_lost = find_lost(a, m, p);

    p->eps = pool_steps(a, m);
    if (n_lost) { /* while the gradients are there */
        respawn(a, m, p, m->sys[0]->chains - n_lost);
    }
    set_steps(m, p->eps);
    const double time = crossing_time(a, m, p);
    for (size_t e = 0; e < m->n; e++) {
        m->sys[e]->time = time;
    }
}

/* ---- the choice ------------------------------------------------------------ */

/* Of the chains that are not lost. */
static double count_gradients(const struct tuner *a, const relmc_meeting *m,
                              size_t phase)
{
    double sum = 0.0;

    FOR_CHAINS(m, e, k, chain)
    {
        const struct tuner *b = m->self[e];
        sum += a->is_lost[chain] ? 0.0 : b->n_grad[k * MAX_PHASES + phase];
    }
    return sum;
}

/* [sticky], [neck]  All chains together. */
static struct rmc_verdict judge(struct tuner *a, const relmc_meeting *m,
                                const struct phase *p)
{
    double **accept = a->rows_x, **lp = a->rows_g;

    FOR_CHAINS(m, e, k, chain)
    {
        const struct tuner *b = m->self[e];

        accept[chain] = b->accept + row_of(b, p, k);
        lp[chain] = b->lp + row_of(b, p, k);
    }
    return rmc_judge(m->sys[0]->chains, p->n, (const double *const *)accept,
                     (const double *const *)lp);
}

/* [pilot-score] of the phases from `first` on. */
static void score_phases(struct tuner *a, const relmc_meeting *m, size_t first)
{
    struct rmc_pilot pilots[MAX_CANDIDATES];
    double scores[MAX_CANDIDATES];
    const size_t n = a->n_phases - first;

    for (size_t i = 0; i < n; i++) {
        const struct phase *p = &a->phases[first + i];
        double **rows = a->rows_x + i * m->sys[0]->chains;

        pilots[i] = (struct rmc_pilot){
            .n_chains = collect(a, m, p, first_fair(p), rows, NULL),
            .n = p->n - first_fair(p),
            .x = (const double *const *)rows,
            .n_grad = count_gradients(a, m, first + i),
        };
    }
    rmc_score(scores, a->metric.dim, pilots, n, a->work);
    for (size_t i = 0; i < n; i++) {
        a->phases[first + i].score = scores[i];
    }
}

/* What is kept, as a phase: NUTS with the wanted kinetic energy, unless another
 * one is clearly better; if steps fail in some places and not in others, the
 * sampler that changes them on the way.  In necks longer ones pay, since a macro
 * step is many small ones there whatever its size. */
static struct phase choose(struct tuner *a, const relmc_meeting *m,
                           size_t first)
{
    const struct phase *last = &a->phases[a->n_phases - 1];
    const struct phase *usual = last->task == PILOT ? last - 1 : last;
    struct phase best = *usual;

    best.why = "score";
    if (last->task != PILOT) {
        return best;
    }
    const struct rmc_verdict v = judge(a, m, last);
    if (v.neck < a->neck) {
        best.engine = RELMC_ENGINE_WALNUTS;
        best.why = "neck";
        return best;
    }
    if (v.sticky > a->sticky) {
        best.engine = RELMC_ENGINE_WALNUTS;
        best.eps *= a->shorten;
        best.why = "sticky";
        return best;
    }
    for (size_t i = first; i < a->n_phases; i++) {
        const struct phase *p = &a->phases[i];

        if (p->score > a->margin * usual->score && p->score > best.score) {
            best = *p;
            best.why = "score";
        }
    }
    return best;
}

static const char *name_of_kinetic(const relmc_system *sys, int is_wanted)
{
    return (is_wanted ? sys->wanted : sys->newtonian).ops->info.name;
}

/* A JSON number with its key; null where there is none. */
static void add_number(rmc_text *text, const char *key, double value)
{
    char digits[32] = "null";

    if (rmc_is_finite(value)) {
        (void)rmc_format_number(digits, value, 6);
    }
    rmc_text_add(text, "\"%s\": %s", key, digits);
}

static void write_report(struct tuner *a, const relmc_system *sys, size_t first,
                         const struct phase *best)
{
    static const char *const kinds[] = {"diagonal", "low rank", "dense"};
    rmc_text text = {a->report, sizeof a->report, 0};

    rmc_text_add(&text, "{");
    if (a->has_engines) {
        rmc_text_add(&text, "\"engine\": \"%s\", \"why\": \"%s\", ",
                     rmc_engine_name(best->engine), best->why);
    }
    rmc_text_add(&text, "\"kinetic\": \"%s\", \"metric\": \"%s\", ",
                 name_of_kinetic(sys, best->is_wanted), kinds[a->kind]);
    add_number(&text, "step_size", best->eps);
    rmc_text_add(&text, ", ");
    add_number(&text, "time", sys->time);
    rmc_text_add(&text, ", \"respawned\": %zu, \"warp\": [", a->n_respawned);
    for (size_t i = 0; i < a->fit.n_layers; i++) {
        const relmc_layer *l = &a->fit.layers[i];

        rmc_text_add(&text, "%s{\"hub\": %zu, \"does\": \"%s\"}", i ? ", " : "",
                     l->hub, l->rank ? "stretch" : "bend");
    }
    rmc_text_add(&text, "], \"scores\": {");
    for (size_t i = first; i < a->n_phases && a->has_engines; i++) {
        const struct phase *p = &a->phases[i];

        char key[64];

        (void)snprintf(key, sizeof key, "%s %s",
                       name_of_kinetic(sys, p->is_wanted),
                       rmc_engine_name(p->engine));
        rmc_text_add(&text, "%s", i > first ? ", " : "");
        add_number(&text, key, p->score);
    }
    rmc_text_add(&text, "}}");
}

/* Warm-up is over. */
static void decide(struct tuner *a, const relmc_meeting *m)
{
    struct phase *last = &a->phases[a->n_phases - 1];
    size_t first = a->n_phases, n_lost = 0;

    while (first > 0 && a->phases[first - 1].task != WINDOW) {
        first--;
    }
    if (last->task == PILOT) { /* it had the step of the phase before */
        last->eps = a->phases[a->n_phases - 2].eps;
        n_lost = find_lost(a, m, last);
    }
    if (a->has_engines) {
        score_phases(a, m, first);
    }
    const struct phase best = choose(a, m, first);
    if (n_lost) {
        respawn(a, m, last, m->sys[0]->chains - n_lost);
    }
    set_steps(m, best.eps);
    for (size_t e = 0; e < m->n; e++) {
        relmc_system *sys = m->sys[e];

        sys->kinetic = best.is_wanted ? sys->wanted : sys->newtonian;
        sys->engine = best.engine;
        sys->epoch++;
    }
    write_report(a, m->sys[0], first, &best);
}

static int64_t next_meeting(const void *self, int64_t iteration)
{
    const struct tuner *a = self;

    for (size_t i = 0; i < a->n_phases; i++) {
        if (a->phases[i].end > iteration) {
            return a->phases[i].end;
        }
    }
    return 0;
}

static relmc_status meet(const relmc_meeting *m, relmc_error *err)
{
    struct tuner *a = m->self[0];
    struct phase *p = &a->phases[a->now];
    const relmc_status status =
        p->task == WINDOW ? end_window(a, m, p, err) : RELMC_OK;

    if (status) {
        return status;
    }
    if (p->task == STEP) {
        end_step(a, m, p);
    }
    if (a->now + 1 == a->n_phases) {
        decide(a, m);
    }
    for (size_t e = 0; e < m->n; e++) {
        struct tuner *b = m->self[e];

        b->now++;
        enter_phase(b, m->sys[e]);
    }
    return RELMC_OK;
}

static const char *report(const void *self)
{
    return ((const struct tuner *)self)->report;
}

/* ---- checkpoints ----------------------------------------------------------- */

static void archive(void *self, relmc_system *sys, size_t k, relmc_archive *ar)
{
    struct tuner *a = self;
    const size_t dim = sys->shape.dim, row = k * a->room;

    rmc_dual_archive(&a->steps, k, ar);
    relmc_archive_reals(ar, a->n_grad + k * MAX_PHASES, MAX_PHASES);
    /* after warm-up nobody asks for them */
    const size_t used = present(a) ? a->used[k] : 0;
    a->used[k] = (size_t)relmc_archive_count(ar, used, a->room);
    relmc_archive_reals(ar, a->x + row * dim, a->used[k] * dim);
    relmc_archive_reals(ar, a->g + row * dim, a->used[k] * dim);
    relmc_archive_reals(ar, a->lp + row, a->used[k]);
    relmc_archive_reals(ar, a->accept + row, a->used[k]);
}

static void archive_metric(struct tuner *a, relmc_archive *ar)
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

static void archive_common(const relmc_meeting *m, relmc_archive *ar)
{
    struct tuner *a = m->self[0];
    const uint64_t now = relmc_archive_count(ar, a->now, a->n_phases);
    const uint64_t has_scale =
        relmc_archive_count(ar, a->now > 0 && a->phases[0].task == WINDOW, 1);

    for (size_t i = 0; i < a->n_phases; i++) { /* scores come at the end */
        relmc_archive_reals(ar, &a->phases[i].eps, 1);
    }
    archive_metric(a, ar);
    if (a->max_layers > 0.0) {
        rmc_warp_fit_archive(&a->fit, ar);
    }
    a->n_respawned = (size_t)relmc_archive_count(ar, a->n_respawned, SIZE_MAX);
    relmc_archive_bytes(ar, a->report, sizeof a->report);
    a->report[sizeof a->report - 1] = '\0';
    for (size_t e = 0; e < m->n; e++) {
        ((struct tuner *)m->self[e])->now = (size_t)now;
    }
    if (relmc_archive_is_reading(ar) && has_scale && !a->keeps_scale) {
        set_scale(a, m);
        set_warp(a, m);
    }
}

static const relmc_param params[] = {
    RMC_DUAL_PARAMS(struct tuner, steps),
    {"metric",
     "0 diagonal, 1 low rank, 2 dense; default -1: dense up to max_dense, low "
     "rank beyond",
     -1, 2, -1, offsetof(struct tuner, metric_kind), RELMC_INTEGER},
    {"max_dense", "the largest dimension of a dense metric", 0, 10000, 128,
     offsetof(struct tuner, max_dense), RELMC_INTEGER},
    {"estimator", "of scales: 0 [fisher], 1 variance, 2 quantiles", 0, 2, 0,
     offsetof(struct tuner, estimator), RELMC_INTEGER},
    {"time", "how long a momentum lasts, in crossing times", 0.01, 100, 2,
     offsetof(struct tuner, time), RELMC_REAL},
    {"margin", "by which an engine must beat nuts to be chosen", 1, 100, 1.2,
     offsetof(struct tuner, margin), RELMC_REAL},
    {"sticky", "correlation of acceptance in the pilot that calls for walnuts",
     -1, 1, 0.35, offsetof(struct tuner, sticky), RELMC_REAL},
    {"neck",
     "its correlation with the log density that calls for walnuts, if below",
     -1, 1, -0.25, offsetof(struct tuner, neck), RELMC_REAL},
    {"shorten", "the step of walnuts in units of that of nuts, but for necks",
     0.01, 100, 0.7, offsetof(struct tuner, shorten), RELMC_REAL},
    {"warp", "layers of coordinates that bend and stretch, at most; 0: none", 0,
     MAX_LAYERS, 12, offsetof(struct tuner, max_layers), RELMC_INTEGER},
    {0},
};

const relmc_adapt_ops RMC_ISA(rmc_adapt_auto) = {
    .info = {"adapt", "auto", "scale, step size, kinetic energy and engine",
             params},
    .state_size = sizeof(struct tuner),
    .init = init,
    .start = start,
    .observe = observe,
    .next_meeting = next_meeting,
    .meet = meet,
    .report = report,
    .archive = archive,
    .archive_common = archive_common,
};
