/*
 * walnuts.c - the no-U-turn sampler with a step size that varies along the
 * trajectory: for targets with scales that differ from place to place.
 *
 *   [NUTS]     as in nuts.c, of macro steps of size h.
 *   [WALNUTS]  a macro step is 2^j integrator steps of h/2^j, j the least with
 *              max H - min H <= tolerance on the way.  The way back must find
 *              the same j: else the trajectory ends before this step.
 *
 * Bou-Rabee, Carpenter, Kleppe and Liu (2025), the deterministic variant.  One
 * tick is one integrator step of every busy lane; the lanes are at different
 * stages of their macro steps.
 */
#include "sampler/mcmc/tree_rows_inline.h"

enum { MAX_LEVELS = 20 };

/* The macro step of one lane.  Rows of dim numbers. */
struct walk {
    double *from_x, *from_p, *from_g;  /* where it begins ... */
    double *to_x, *to_p, *to_g, *to_v; /* ... and ends */
    double from_h, to_h, to_lp;        /* H and lp there */
    double macro;                      /* h, signed */
    double far_h;                      /* H at the other end of the tree */
    double low, high;                  /* of H, on the way */
    int32_t level;                     /* j */
    int32_t back;                      /* the level tried on the way back,
                                                -1 on the way there */
    int32_t n_to_go;                   /* integrator steps */
    int32_t n_macro, n_whole; /* macro steps so far, and those with j = 0 */
};

struct walnuts {
    double max_depth, max_error, tolerance, levels;
    struct rmc_trees trees;
    struct walk *walks;   /* one per lane */
    double *macro, *step; /* h and the step of the integrator, signed */
    uint32_t *lanes;
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct walnuts *n = self;
    const relmc_shape *s = &sys->shape;
    const size_t row = rmc_leading(s->dim);

    n->trees = rmc_trees_new(arena, s, (size_t)n->max_depth);
    n->walks = relmc_arena_get(arena, s->lanes * sizeof *n->walks);
    n->macro = rmc_per_lane_new(arena, s);
    n->step = rmc_per_lane_new(arena, s);
    n->lanes = relmc_arena_get(arena, s->ld * sizeof *n->lanes);
    for (size_t k = 0; n->walks && k < s->lanes; k++) {
        struct walk *w = &n->walks[k];
        double *room = relmc_arena_get(arena, 7 * row * sizeof *room);

        if (!room) {
            break;
        }
        w->from_x = room, w->from_p = room + row, w->from_g = room + 2 * row;
        w->to_x = room + 3 * row, w->to_p = room + 4 * row;
        w->to_g = room + 5 * row, w->to_v = room + 6 * row;
    }
    return relmc_arena_check(arena, err);
}

/* ---- rows: one lane of a block -------------------------------------------- */

static void get_row(const relmc_shape *s, size_t k, const double *block,
                    double *row)
{
    for (size_t i = 0; i < s->dim; i++) {
        row[i] = block[i * s->ld + k];
    }
}

static void put_row(const relmc_shape *s, size_t k, const double *row,
                    double *block)
{
    for (size_t i = 0; i < s->dim; i++) {
        block[i * s->ld + k] = row[i];
    }
}

/* ---- a macro step of lane k ------------------------------------------------ */

/* 2^level integrator steps from here, where the energy is h. */
static void set_out(struct walnuts *n, size_t k, int32_t level, double h)
{
    struct walk *w = &n->walks[k];
    const double parts = (double)(INT32_C(1) << level);

    w->low = w->high = h;
    w->n_to_go = INT32_C(1) << level;
    n->step[k] = (w->back < 0 ? n->macro[k] : -n->macro[k]) / parts;
}

static void begin_step(struct walnuts *n, const relmc_shape *s,
                       const relmc_state *z, size_t k)
{
    struct walk *w = &n->walks[k];

    get_row(s, k, z->x, w->from_x);
    get_row(s, k, z->p, w->from_p);
    get_row(s, k, z->g, w->from_g);
    w->macro = n->macro[k];
    w->level = 0;
    w->back = -1;
    w->n_macro++;
    set_out(n, k, 0, w->from_h);
}

/* Once more from the start, with steps of half the size. */
static void refine(struct walnuts *n, const relmc_shape *s, relmc_state *z,
                   size_t k)
{
    struct walk *w = &n->walks[k];

    put_row(s, k, w->from_x, z->x);
    put_row(s, k, w->from_p, z->p);
    put_row(s, k, w->from_g, z->g);
    w->level++;
    set_out(n, k, w->level, w->from_h);
}

/* Keep where the macro step ends. */
static void keep_end(struct walnuts *n, const relmc_shape *s,
                     const relmc_state *z, size_t k)
{
    struct walk *w = &n->walks[k];

    get_row(s, k, z->x, w->to_x);
    get_row(s, k, z->p, w->to_p);
    get_row(s, k, z->g, w->to_g);
    get_row(s, k, n->trees.leaves.v, w->to_v);
    w->to_lp = z->lp[k];
    w->to_h = n->trees.leaves.h[k];
}

static void return_to_end(struct walnuts *n, const relmc_shape *s,
                          relmc_state *z, size_t k)
{
    const struct walk *w = &n->walks[k];

    put_row(s, k, w->to_x, z->x);
    put_row(s, k, w->to_p, z->p);
    put_row(s, k, w->to_g, z->g);
    put_row(s, k, w->to_v, n->trees.leaves.v);
    z->lp[k] = w->to_lp;
    n->trees.leaves.h[k] = w->to_h;
}

enum outcome { GOES_ON, HAS_ARRIVED, HAS_NO_WAY_BACK, HAS_FAILED };

/* One integrator step was made.  [WALNUTS] forwards from level 0 to the first
 * that keeps the energy; then backwards: no level below it may do so.  (That it
 * does itself need not be tried: the same points, the same energies.) */
static enum outcome proceed(struct walnuts *n, const relmc_shape *s,
                            relmc_state *z, size_t k)
{
    struct walk *w = &n->walks[k];
    const double h = n->trees.leaves.h[k];

    w->low = h < w->low ? h : w->low;
    w->high = h > w->high ? h : w->high;
    const int is_good = rmc_is_finite(h) && w->high - w->low <= n->tolerance;

    if (is_good && --w->n_to_go > 0) {
        return GOES_ON;
    }
    if (w->back < 0) {
        if (!is_good) {
            if (w->level == (int32_t)n->levels) {
                return HAS_FAILED;
            }
            refine(n, s, z, k);
            return GOES_ON;
        }
        if (w->level == 0) {
            w->n_whole++;
            return HAS_ARRIVED;
        }
        keep_end(n, s, z, k);
    } else {
        if (is_good) {
            return HAS_NO_WAY_BACK;
        }
        return_to_end(n, s, z, k);
    }
    if (++w->back == w->level) {
        return HAS_ARRIVED;
    }
    set_out(n, k, w->back, w->to_h);
    return GOES_ON;
}

/* ---- a trajectory of lane k ------------------------------------------------ */

static void begin(struct walnuts *n, relmc_system *sys, relmc_state *z,
                  relmc_transition *out, const rmc_lane_list *set)
{
    const relmc_shape *s = &sys->shape;

    rmc_trees_begin(&n->trees, sys, z, out, set, n->macro);
    for (size_t j = 0; j < set->n; j++) {
        const size_t k = set->lane[j];
        struct walk *w = &n->walks[k];

        out->n_steps[k] = 0;
        w->from_h = w->far_h = n->trees.h0[k];
        w->n_macro = w->n_whole = 0;
        begin_step(n, s, z, k);
    }
}

static void finish(struct walnuts *n, relmc_system *sys, relmc_state *z,
                   relmc_transition *out, size_t k, int is_divergent)
{
    const struct walk *w = &n->walks[k];

    rmc_tree_finish(&n->trees, sys, z, out, k, out->n_steps[k], is_divergent);
    out->accept_prob[k] = (double)w->n_whole / (double)w->n_macro;
    n->step[k] = 0.0;
}

/* A macro step has arrived: is it a leaf? */
static void weigh(struct walnuts *n, relmc_system *sys, size_t k)
{
    const double error = n->trees.leaves.h[k] - n->trees.h0[k];
    const int is_small = !(error > rmc_error_limit(sys, n->max_error));

    n->trees.leaves.weight[k] =
        rmc_leaf_weight(n->trees.h0[k], n->trees.leaves.h[k]);
    n->trees.has_point[k] = ~UINT64_C(0);
    n->trees.has_leaf[k] = is_small ? ~UINT64_C(0) : 0;
}

/* What it means for the trajectory of lane k. */
static void settle(struct walnuts *n, relmc_system *sys, relmc_state *z,
                   relmc_transition *out, size_t k)
{
    const struct rmc_trees *t = &n->trees;
    struct walk *w = &n->walks[k];

    if (!t->goes_on[k]) {
        finish(n, sys, z, out, k, !t->has_leaf[k]);
        return;
    }
    w->from_h = n->trees.leaves.h[k];
    if (n->macro[k] != w->macro) { /* it goes on from its other end */
        const double near_h = w->from_h;

        w->from_h = w->far_h;
        w->far_h = near_h;
    }
    begin_step(n, &sys->shape, z, k);
}

/* ---- all lanes ------------------------------------------------------------- */

static void measure(struct walnuts *n, const relmc_system *sys,
                    const relmc_state *z)
{
    const relmc_kinetic *kin = &sys->move.kinetic;

    kin->ops->energy(kin->self, &sys->shape, z->p, n->trees.leaves.h);
    kin->ops->velocity(kin->self, &sys->shape, z->p, n->trees.leaves.v);
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        n->trees.leaves.h[k] -= z->lp[k];
    }
}

/* One integrator step was made: which macro steps have arrived? */
static void proceed_all(struct walnuts *n, relmc_system *sys, relmc_state *z,
                        relmc_transition *out)
{
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        n->trees.has_point[k] = n->trees.has_leaf[k] = 0;
        if (!sys->lanes.busy[k]) {
            continue;
        }
        out->n_steps[k]++;
        const enum outcome outcome = proceed(n, &sys->shape, z, k);

        if (outcome == HAS_ARRIVED) {
            weigh(n, sys, k);
        } else if (outcome != GOES_ON) {
            finish(n, sys, z, out, k, outcome == HAS_FAILED);
        }
    }
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct walnuts *n = self;
    rmc_lane_list set = {n->lanes, 0};

    out->n_done = 0;
    rmc_find_idle(sys, &set);
    if (set.n) {
        begin(n, sys, z, out, &set);
    }
    const relmc_status status =
        sys->move.integrator->step(sys->move.integrator, sys, z, n->step);
    if (status) {
        return status;
    }
    measure(n, sys, z);
    proceed_all(n, sys, z, out);
    rmc_trees_add(&n->trees, sys, z, n->macro, &set);
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (n->trees.has_point[k]) {
            settle(n, sys, z, out, k);
        }
    }
    return RELMC_OK;
}

static const relmc_param params[] = {
    {"max_depth", "a trajectory has at most 2^max_depth - 1 macro steps", 1,
     RMC_MAX_DEPTH, 10, offsetof(struct walnuts, max_depth), RELMC_INTEGER},
    {"max_error",
     "energy error called divergent; 0: 20 if K limits the speed, else 1000", 0,
     1e12, 0, offsetof(struct walnuts, max_error), RELMC_REAL},
    {"tolerance", "the energy varies by at most this in a macro step", 1e-6,
     1e6, 1, offsetof(struct walnuts, tolerance), RELMC_REAL},
    {"levels", "a macro step is halved at most so often", 0, MAX_LEVELS, 10,
     offsetof(struct walnuts, levels), RELMC_INTEGER},
    {0},
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_walnuts) = {
    .info = {"sampler", "walnuts",
             "NUTS with steps that adapt along the trajectory", params},
    .state_size = sizeof(struct walnuts),
    .flags = RELMC_NEEDS_EXACT,
    .init = init,
    .tick = tick,
};
