/*
 * evaluate.c - lp and gradient of every lane of a system, whatever the target is made
 * of.
 */
#include "target/target.h"

#include <assert.h>
#include <string.h>

int rmc_eval_point(const struct rmc_subject *of, const double *x, double *lp,
                   double *g, relmc_error *err)
{
    const relmc_model_ops *ops = of->ops;
    const relmc_shape one = {of->dim, 1, 1};

    *lp = -HUGE_VAL;
    if (ops->point && !of->rows.row) {
        return ops->point(of->self, of->chain, x, lp, g, err);
    }
    if (ops->rows) {
        return ops->rows(of->self, &one, x, &of->rows, lp, g, err);
    }
    assert(ops->lanes);
    return ops->lanes(of->self, &one, x, lp, g, err);
}

static struct rmc_subject lane_of(const relmc_system *sys, size_t k)
{
    return (struct rmc_subject){
        .ops = sys->target.ops,
        .self = sys->target.self,
        .chain = sys->target.chain ? sys->target.chain[k] : NULL,
        .dim = sys->shape.dim,
        .rows = rmc_batch_rows(sys, k),
    };
}

static relmc_status target_failed(relmc_system *sys, int code)
{
    if (sys->error.status < 0) { /* the error has a text */
        return sys->error.status;
    }
    return rmc_fail(&sys->error, RELMC_ETARGET,
                    "target: the log density failed for good (status %d)",
                    code);
}

/* Is there no density?  NaN is none. */
static int is_empty(int code, double lp)
{
    return code > 0 || !(lp > -HUGE_VAL);
}

/* A lane without density: lp = -inf, and no force that could be NaN. */
static void reject_lane(const relmc_shape *s, size_t k, double *lp, double *g)
{
    lp[k] = -HUGE_VAL;
    for (size_t i = 0; i < s->dim; i++) {
        g[i * s->ld + k] = 0.0;
    }
}

/* [control-variate] The same rows at the centre are taken off, and all rows
 * there are put in their place. */
static int take_off_center(relmc_system *sys, const struct rmc_subject *of,
                           double *lp, double *g)
{
    const relmc_batch *b = &sys->batch;
    double *slope = b->work, at_center;
    const int code =
        rmc_eval_point(of, b->center, &at_center, slope, &sys->error);

    *lp += b->center_lp - at_center;
    for (size_t i = 0; i < of->dim; i++) {
        g[i] += b->center_grad[i] - slope[i];
    }
    return code;
}

/* One lane, contiguous. */
static int eval_lane(relmc_system *sys, size_t k, const double *x, double *lp,
                     double *g)
{
    const struct rmc_subject of = lane_of(sys, k);
    const int code = rmc_eval_point(&of, x, lp, g, &sys->error);

    return code || !sys->batch.center ? code : take_off_center(sys, &of, lp, g);
}

static relmc_status eval_one_by_one(relmc_system *sys, const double *x,
                                    double *lp, double *g)
{
    const relmc_shape *s = &sys->shape;
    double *at = sys->scratch.row, *slope = sys->scratch.row + s->dim;

    for (size_t k = 0; k < s->lanes; k++) {
        if (!sys->lanes.busy[k]) {
            continue;
        }
        for (size_t i = 0; i < s->dim; i++) {
            at[i] = x[i * s->ld + k];
        }
        const int code = eval_lane(sys, k, at, &lp[k], slope);
        if (code < 0) {
            return target_failed(sys, code);
        }
        for (size_t i = 0; i < s->dim; i++) {
            g[i * s->ld + k] = slope[i];
        }
        if (is_empty(code, lp[k])) {
            reject_lane(s, k, lp, g);
        }
    }
    return RELMC_OK;
}

/* Do all lanes look at the same rows, and can the model take them at once? */
static int is_one_pass(const relmc_system *sys)
{
    const relmc_model_ops *ops = sys->target.ops;
    const relmc_batch *b = &sys->batch;

    return ops->rows && !b->center &&
           (sys->shape.ld == 1 ||
            (!ops->is_one_by_one && (!b->n_rows || b->is_shared)));
}

/* In the target's own coordinates. */
static relmc_status eval_all(relmc_system *sys, const double *x, double *lp,
                             double *g)
{
    const relmc_shape *s = &sys->shape;
    const relmc_model_ops *ops = sys->target.ops;
    const void *self = sys->target.self;
    const int has_lanes = ops->lanes && !sys->batch.n_rows;
    int code = 0;

    if (!lp && has_lanes && ops->omits_lp) {
        code = ops->lanes(self, s, x, NULL, g, &sys->error);
        return code ? target_failed(sys, code) : RELMC_OK;
    }
    lp = lp ? lp : sys->scratch.lp;
    if (has_lanes) {
        code = ops->lanes(self, s, x, lp, g, &sys->error);
    } else if (is_one_pass(sys)) {
        const relmc_rows rows = rmc_batch_rows(sys, 0);

        code = ops->rows(self, s, x, &rows, lp, g, &sys->error);
    } else if (s->ld > 1) {
        return eval_one_by_one(sys, x, lp, g);
    } else {
        code = eval_lane(sys, 0, x, lp, g);
    }
    if (code < 0) {
        return target_failed(sys, code);
    }
    const int may_be_empty = code > 0 || rmc_any_not_finite(s->lanes, lp);
    for (size_t k = 0; k < s->lanes && may_be_empty; k++) {
        if (is_empty(code, lp[k])) {
            reject_lane(s, k, lp, g);
        }
    }
    return RELMC_OK;
}

/* [warp]  At y, by way of x.  Lanes that are not busy keep what they have. */
static relmc_status eval_warped(relmc_system *sys, const double *y, double *lp,
                                double *g)
{
    const relmc_shape *s = &sys->shape;
    const relmc_warp *w = &sys->frame.warp;
    double *here = lp ? w->lp : NULL;

    memcpy(w->x, y, rmc_cells(s) * sizeof *y);
    w->apply(w, s, w->x, NULL, NULL);
    const relmc_status status = eval_all(sys, w->x, here, w->g);
    if (status) {
        return status;
    }
    w->undo(w, s, w->x, w->g, here);
    for (size_t k = 0; k < s->lanes; k++) {
        if (!sys->lanes.busy[k]) {
            continue;
        }
        for (size_t i = 0; i < s->dim; i++) {
            g[i * s->ld + k] = w->g[i * s->ld + k];
        }
        if (lp) {
            lp[k] = w->lp[k];
        }
        if (lp && !rmc_is_finite(lp[k])) {
            reject_lane(s, k, lp, g);
        }
    }
    return RELMC_OK;
}

relmc_status relmc_eval(relmc_system *sys, const double *x, double *lp,
                        double *g)
{
    return sys->frame.warp.n ? eval_warped(sys, x, lp, g)
                             : eval_all(sys, x, lp, g);
}

/* One lane, contiguous. */
static int eval_lane_float(relmc_system *sys, size_t k, const float *x,
                           double *lp, float *g)
{
    const relmc_shape *s = &sys->shape;
    const relmc_view *target = &sys->target;
    const relmc_rows rows = rmc_batch_rows(sys, k);
    float *at = (float *)(void *)sys->scratch.row, *slope = at + s->dim;

    *lp = -HUGE_VAL;
    if (s->ld == 1) {
        return target->ops->rows_float(target->self, x, &rows, lp, g,
                                       &sys->error);
    }
    for (size_t i = 0; i < s->dim; i++) {
        at[i] = x[i * s->ld + k];
    }
    const int code = target->ops->rows_float(target->self, at, &rows, lp, slope,
                                             &sys->error);
    for (size_t i = 0; i < s->dim; i++) {
        g[i * s->ld + k] = slope[i];
    }
    return code;
}

relmc_status relmc_eval_float(relmc_system *sys, const float *x, double *lp,
                              float *g)
{
    const relmc_shape *s = &sys->shape;

    for (size_t k = 0; k < s->lanes; k++) {
        const int code =
            sys->lanes.busy[k] ? eval_lane_float(sys, k, x, &lp[k], g) : 0;

        if (code < 0) {
            return target_failed(sys, code);
        }
        if (sys->lanes.busy[k] && is_empty(code, lp[k])) {
            lp[k] = -HUGE_VAL;
            for (size_t i = 0; i < s->dim; i++) {
                g[i * s->ld + k] = 0.0F;
            }
        }
    }
    return RELMC_OK;
}
