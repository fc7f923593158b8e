/* auto_windows.c - the metric and the warp from the draws of a window. */
#include "adapt/auto_tuner.h"

void rmc_tuner_set_scale(struct rmc_tuner *a, const relmc_sync *m)
{
    for (size_t e = 0; e < m->n; e++) {
        struct rmc_tuner *b = m->self[e];
        relmc_system *sys = m->sys[e];

        for (size_t j = 0; j < rmc_cells(&sys->shape); j++) {
            b->diag[j] = a->metric.sd[j / sys->shape.ld];
        }
        sys->frame.scale = (relmc_scale){.diag = b->diag,
                                         .rank = a->metric.rank,
                                         .low_rank = a->metric.low_rank,
                                         .factor = a->metric.factor,
                                         .room = b->along};
        if (a->kind == RMC_DENSE) {
            sys->frame.scale = (relmc_scale){.chol = a->metric.chol,
                                             .chol_t = a->metric.chol_t};
        }
    }
}

void rmc_tuner_set_warp(const struct rmc_tuner *a, const relmc_sync *m)
{
    for (size_t e = 0; e < m->n; e++) {
        struct rmc_tuner *b = m->self[e];

        b->warp.n = a->fit.n_layers;
        b->warp.layers = a->fit.layers;
        m->sys[e]->frame.warp = b->warp;
    }
}

/* Maps the rows of a window and the states of all chains to the coordinates of the
 * target, or back. */
static void carry_over(const relmc_sync *m, const struct rmc_phase *p,
                       int is_forward)
{
    RMC_FOR_CHAINS(m, e, k, chain)
    {
        const struct rmc_tuner *b = m->self[e];
        const size_t dim = m->sys[e]->shape.dim, first = rmc_tuner_row(b, p, k);
        const relmc_shape one = {dim, 1, 1};
        const relmc_warp_fn way = is_forward ? b->warp.apply : b->warp.undo;

        for (size_t row = first; row < first + p->n; row++) {
            way(&b->warp, &one, b->x + row * dim, b->g + row * dim,
                b->lp + row);
        }
    }
    for (size_t e = 0; e < m->n; e++) {
        const struct rmc_tuner *b = m->self[e];
        const relmc_warp_fn way = is_forward ? b->warp.apply : b->warp.undo;

        way(&b->warp, &m->sys[e]->shape, m->z[e]->x, m->z[e]->g, m->z[e]->lp);
    }
}

/* Is every chain finite in the new coordinates?  Far from the draws that a warp was
 * fitted to it may be anything. */
static int fits_all(const relmc_sync *m)
{
    for (size_t e = 0; e < m->n; e++) {
        const relmc_shape *s = &m->sys[e]->shape;
        const relmc_warp *w = &((const struct rmc_tuner *)m->self[e])->warp;

        memcpy(w->x, m->z[e]->x, rmc_cells(s) * sizeof *w->x);
        w->undo(w, s, w->x, NULL, NULL);
        if (rmc_any_not_finite(rmc_cells(s), w->x)) {
            return 0;
        }
    }
    return 1;
}

/* [warp-fit]  The warp stays, or is improved, or is fitted anew in the coordinates of
 * the target. */
static void change_coordinates(struct rmc_tuner *a, const relmc_sync *m,
                               const struct rmc_phase *p,
                               const struct rmc_window *w)
{
    const enum rmc_fit_verdict verdict = rmc_warp_fit_check(&a->fit, w);

    if (verdict == RMC_FIT_KEEP) {
        return;
    }
    carry_over(m, p, 1);
    if (verdict == RMC_FIT_TAKE_TRIAL) {
        rmc_layer_copy(a->fit.dim, &a->fit.layers[0], &a->fit.trial);
    } else {
        rmc_warp_fit(&a->fit, w);
    }
    rmc_tuner_set_warp(a, m);
    if (!fits_all(m)) {
        a->fit.n_layers = 0;
        rmc_tuner_set_warp(a, m);
    }
    carry_over(m, p, 0);
}

/* Mapping rounds gradients and log densities; a checkpoint needs the target's own
 * bits. */
static relmc_status evaluate_all(const relmc_sync *m, relmc_error *err)
{
    relmc_status status = RELMC_OK;

    for (size_t e = 0; e < m->n && !status; e++) {
        relmc_system *sys = m->sys[e];

        memset(sys->lanes.busy, 1, sys->shape.lanes);
        status = relmc_eval(sys, m->z[e]->x, m->z[e]->lp, m->z[e]->g);
        memset(sys->lanes.busy, 0, sys->shape.lanes);
        if (status) {
            return rmc_fail(err, status, "%s", sys->error.message);
        }
    }
    return RELMC_OK;
}

relmc_status rmc_tuner_end_window(struct rmc_tuner *a, const relmc_sync *m,
                                  const struct rmc_phase *p, relmc_error *err)
{
    const size_t n_stuck = rmc_tuner_find_stuck(a, m, p);
    const struct rmc_window w = {
        .dim = a->metric.dim,
        .n_chains = rmc_tuner_collect(a, m, p, 0, a->rows_x, a->rows_g),
        .n = p->n,
        .x = (const double *const *)a->rows_x,
        .g = (const double *const *)a->rows_g,
    };
    const int was_warped = a->fit.n_layers > 0;

    if (p->may_warp && rmc_warp_fit_can(&a->fit, &w)) {
        change_coordinates(a, m, p, &w);
    }
    if (!a->keeps_scale) {
        a->kind = rmc_metric_estimate(&a->metric, &w, a->wanted);
        rmc_tuner_set_scale(a, m);
    }
    if (n_stuck) {
        rmc_tuner_restart(a, m, p, w.n_chains);
    }
    return was_warped || a->fit.n_layers ? evaluate_all(m, err) : RELMC_OK;
}
