/*
 * target.c - makes targets from callbacks or model names, and evaluates them for
 * all lanes of a system whatever they are made of.
 */
#include "target/target.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- making and ending ---------------------------------------------------- */

/* 0, 1, ..., n - 1; NULL for none. */
static uint32_t *number_rows(relmc_arena *arena, size_t n)
{
    uint32_t *rows = n ? relmc_arena_get(arena, n * sizeof *rows) : NULL;

    for (size_t i = 0; rows && i < n; i++) {
        rows[i] = (uint32_t)i;
    }
    return rows;
}

static relmc_status create(relmc_target **out, size_t dim, size_t n_data,
                           relmc_target **made, relmc_error *err)
{
    relmc_arena arena = {0};

    if (dim == 0 || dim > UINT32_MAX || n_data > UINT32_MAX) {
        return rmc_fail(err, RELMC_EINVAL,
                        "target: dim must be in [1, 2^32), not %zu", dim);
    }
    relmc_target *t = relmc_arena_get(&arena, sizeof *t);
    uint32_t *rows = number_rows(&arena, n_data);
    const relmc_status status = relmc_arena_check(&arena, err);
    if (status) {
        rmc_arena_release(&arena);
        return status;
    }
    *t = (relmc_target){.arena = arena,
                        .dim = dim,
                        .n_data = n_data,
                        .n_outputs = dim,
                        .rows = rows,
                        .name = "callback"};
    for (int isa = 0; isa < RMC_N_ISA; isa++) {
        t->ops[isa] = &t->callbacks;
    }
    *made = t;
    *out = t;
    return RELMC_OK;
}

static relmc_status no_callback(relmc_error *err)
{
    return rmc_fail(err, RELMC_EINVAL, "target: the callback is NULL");
}

relmc_status relmc_target_create(relmc_target **out, size_t dim,
                                 relmc_logp_fn fn, void *ctx, relmc_error *err)
{
    relmc_target *t = NULL;
    const relmc_status status =
        fn ? create(out, dim, 0, &t, err) : no_callback(err);

    if (t) {
        t->callbacks.point = fn;
        t->self = ctx;
    }
    return status;
}

relmc_status relmc_target_create_minibatch(relmc_target **out, size_t dim,
                                           size_t n_data, relmc_minibatch_fn fn,
                                           void *ctx, relmc_error *err)
{
    relmc_target *t = NULL;

    if (fn && (n_data == 0 || n_data > UINT32_MAX)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "target: n_data must be in [1, 2^32), not %zu", n_data);
    }
    const relmc_status status =
        fn ? create(out, dim, n_data, &t, err) : no_callback(err);
    if (t) {
        t->callbacks.subset = fn;
        t->self = ctx;
    }
    return status;
}

relmc_status relmc_target_create_lanes(relmc_target **out, size_t dim,
                                       relmc_lanes_fn fn, void *ctx,
                                       relmc_error *err)
{
    relmc_target *t = NULL;
    const relmc_status status =
        fn ? create(out, dim, 0, &t, err) : no_callback(err);

    if (t) {
        t->callbacks.lanes = fn;
        t->self = ctx;
    }
    return status;
}

static char *print_spec(relmc_arena *arena, const relmc_info *info,
                        const void *state)
{
    rmc_text measure = {0};

    rmc_spec_print(&measure, info, state);
    rmc_text text = {relmc_arena_get(arena, measure.bytes + 1),
                     measure.bytes + 1, 0};
    if (text.out) {
        rmc_spec_print(&text, info, state);
    }
    return text.out;
}

/* The state of a model and what it says of itself; the rest is in place. */
static relmc_status open_model(relmc_target *t, relmc_arena *arena,
                               const char *spec, const relmc_data *data,
                               relmc_error *err)
{
    const relmc_model_ops *ops = t->ops[rmc_isa_best()];
    relmc_size size = {0};
    relmc_status status;

    if (data ? !ops->bind : !ops->init) {
        return rmc_fail(err, RELMC_EINVAL,
                        data ? "%s takes no data" : "%s needs data",
                        ops->info.name);
    }
    void *self = relmc_arena_get(arena, ops->state_size);
    if ((status = relmc_arena_check(arena, err)) ||
        (status = rmc_spec_parse(spec, &ops->info, self, arena, err)) ||
        (status = data ? ops->bind(self, arena, data, &size, err)
                       : ops->init(self, arena, &size, err))) {
        return status;
    }
    t->self = self;
    t->dim = size.dim;
    t->n_data = size.n_data;
    t->n_outputs = ops->output ? size.n_outputs : size.dim;
    t->scratch = size.scratch;
    t->is_one_by_one = size.is_one_by_one;
    t->is_single = size.is_single && ops->on_rows_single;
    t->rows = number_rows(arena, size.n_data);
    t->name = print_spec(arena, &ops->info, self);
    return relmc_arena_check(arena, err);
}

/* The first version ended with n_classes. */
static relmc_status read_data(relmc_data *out, const relmc_data *data,
                              relmc_error *err)
{
    return rmc_sized_read(out, sizeof *out, data,
                          offsetof(relmc_data, n_classes) +
                              sizeof data->n_classes,
                          "relmc_data", err);
}

static relmc_status check_data(const relmc_data *data, relmc_error *err)
{
    const size_t n = data->n_rows * data->n_columns;

    if (data->n_rows == 0 || data->n_rows > UINT32_MAX ||
        data->n_columns == 0 || data->n_columns > UINT32_MAX) {
        return rmc_fail(err, RELMC_EINVAL,
                        "data: rows and columns must be in [1, 2^32), not %zu "
                        "and %zu",
                        data->n_rows, data->n_columns);
    }
    if (!data->x == !data->x_single || !data->y) {
        return rmc_fail(err, RELMC_EINVAL, "data: give x or x_single, and y");
    }
    for (size_t j = 0; j < n; j++) {
        const double value = data->x ? data->x[j] : (double)data->x_single[j];

        if (!rmc_is_finite(value)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "data: row %zu, column %zu is not a finite number",
                            j / data->n_columns + 1, j % data->n_columns + 1);
        }
    }
    for (size_t r = 0; r < data->n_rows; r++) {
        const double y = data->y[r];
        const int is_class =
            y >= 0.0 && y < (double)data->n_classes && y == floor(y);

        if (!rmc_is_finite(y) || (data->n_classes && !is_class)) {
            return rmc_fail(
                err, RELMC_EINVAL,
                "data: the response of row %zu is %g, it must be %s", r + 1, y,
                data->n_classes ? "a class 0, 1, ... below n_classes"
                                : "finite");
        }
    }
    return RELMC_OK;
}

/* By its functions, or, without them, by its name. */
static relmc_status open_any(relmc_target **out, const relmc_model_ops *ops,
                             const char *spec, const relmc_data *data,
                             relmc_error *err)
{
    relmc_arena arena = {0};
    relmc_target *t = relmc_arena_get(&arena, sizeof *t);
    relmc_status status = relmc_arena_check(&arena, err);
    relmc_data given;

    if (!status && data && !(status = read_data(&given, data, err))) {
        data = &given;
        status = check_data(data, err);
    }
    for (int isa = 0; isa <= rmc_isa_best() && !status; isa++) {
        const relmc_info *info = ops ? &ops->info : NULL;

        status =
            ops ? RELMC_OK : rmc_component_find(&info, "model", spec, isa, err);
        t->ops[isa] = (const relmc_model_ops *)(const void *)info;
    }
    if (status || (status = open_model(t, &arena, spec, data, err))) {
        rmc_arena_release(&arena);
        return status;
    }
    t->arena = arena;
    *out = t;
    return RELMC_OK;
}

relmc_status relmc_target_open(relmc_target **out, const char *spec,
                               relmc_error *err)
{
    return open_any(out, NULL, spec, NULL, err);
}

relmc_status relmc_target_open_data(relmc_target **out, const char *spec,
                                    const relmc_data *data, relmc_error *err)
{
    return open_any(out, NULL, spec, data, err);
}

relmc_status relmc_target_open_ops(relmc_target **out,
                                   const relmc_model_ops *ops, const char *spec,
                                   const relmc_data *data, relmc_error *err)
{
    return open_any(out, ops, spec, data, err);
}

void relmc_target_destroy(relmc_target *target)
{
    if (target) {
        relmc_arena arena = target->arena; /* holds the target itself */
        const relmc_model_ops *ops = target->ops[rmc_isa_best()];

        if (ops->close) {
            ops->close(rmc_ctx(target->self));
        }
        rmc_arena_release(&arena);
    }
}

size_t relmc_target_dim(const relmc_target *target)
{
    return target->dim;
}

const char *relmc_target_name(const relmc_target *target)
{
    return target->name;
}

void relmc_target_coordinate(const relmc_target *target, size_t i, char *out,
                             size_t bytes)
{
    const relmc_model_ops *ops = target->ops[rmc_isa_best()];

    if (ops->name) {
        ops->name(target->self, i, out, bytes);
    } else {
        (void)snprintf(out, bytes, "x.%zu", i + 1);
    }
}

size_t relmc_target_n_outputs(const relmc_target *target)
{
    return target->n_outputs;
}

void relmc_target_output_name(const relmc_target *target, size_t i, char *out,
                              size_t bytes)
{
    const relmc_model_ops *ops = target->ops[rmc_isa_best()];

    if (ops->output_name) {
        ops->output_name(target->self, i, out, bytes);
    } else {
        relmc_target_coordinate(target, i, out, bytes);
    }
}

/* ---- evaluating ----------------------------------------------------------- */

/* Who is to be evaluated, and on which rows. */
struct subject {
    const relmc_model_ops *ops;
    const void *self;
    void *chain;
    size_t dim;
    relmc_rows rows;
    const uint32_t *all; /* every row, for callbacks that want to be told */
};

/* lp and gradient at one point: 0, RELMC_REJECT or what the target said.  The
 * error is filled by those that have something to say. */
static int eval_point(const struct subject *of, const double *x, double *lp,
                      double *g, relmc_error *err)
{
    const relmc_model_ops *ops = of->ops;
    const relmc_rows *rows = &of->rows;
    const relmc_shape one = {of->dim, 1, 1};

    *lp = -HUGE_VAL;
    if (ops->point && !rows->row) {
        return ops->point(of->dim, x, g, lp, rmc_ctx(of->self));
    }
    if (ops->eval) {
        return ops->eval(of->self, of->chain, x, lp, g, err);
    }
    if (ops->on_rows) {
        return ops->on_rows(of->self, &one, x, rows, g, lp);
    }
    if (ops->subset) {
        return ops->subset(of->dim, x, rows->row ? rows->row : of->all, rows->n,
                           rows->scale, g, lp, rmc_ctx(of->self));
    }
    assert(ops->lanes);
    return ops->lanes(of->dim, 1, 1, x, g, lp, rmc_ctx(of->self));
}

static struct subject lane_of(const relmc_system *sys, size_t k)
{
    return (struct subject){
        .ops = sys->target.ops,
        .self = sys->target.self,
        .chain = sys->target.chain ? sys->target.chain[k] : NULL,
        .dim = sys->shape.dim,
        .rows = rmc_batch_rows(sys, k),
        .all = sys->target.rows,
    };
}

static relmc_status target_failed(relmc_system *sys, int code)
{
    if (sys->error.status < 0) { /* it has said why */
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
static int take_off_center(relmc_system *sys, const struct subject *of,
                           double *lp, double *g)
{
    const relmc_batch *b = &sys->batch;
    double *slope = b->work, at_center;
    const int code = eval_point(of, b->center, &at_center, slope, &sys->error);

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
    const struct subject of = lane_of(sys, k);
    const int code = eval_point(&of, x, lp, g, &sys->error);

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
    const relmc_batch *b = &sys->batch;

    return sys->target.ops->on_rows && !b->center &&
           (!b->n_rows || b->is_shared || sys->shape.ld == 1);
}

/* In the target's own coordinates. */
static relmc_status eval_all(relmc_system *sys, const double *x, double *lp,
                             double *g)
{
    const relmc_shape *s = &sys->shape;
    int code = 0;

    if (!lp && sys->target.ops->slope && !sys->batch.n_rows) {
        code = sys->target.ops->slope(s->dim, s->lanes, s->ld, x, g,
                                      rmc_ctx(sys->target.self));
        return code ? target_failed(sys, code) : RELMC_OK;
    }
    lp = lp ? lp : sys->scratch.lp;
    if (sys->target.ops->lanes && !sys->batch.n_rows) {
        code = sys->target.ops->lanes(s->dim, s->lanes, s->ld, x, g, lp,
                                      rmc_ctx(sys->target.self));
    } else if (is_one_pass(sys)) {
        const relmc_rows rows = rmc_batch_rows(sys, 0);

        code = sys->target.ops->on_rows(sys->target.self, s, x, &rows, g, lp);
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
static int eval_lane_single(const relmc_system *sys, size_t k, const float *x,
                            double *lp, float *g)
{
    const relmc_shape *s = &sys->shape;
    const relmc_rows rows = rmc_batch_rows(sys, k);
    float *at = (float *)(void *)sys->scratch.row, *slope = at + s->dim;

    *lp = -HUGE_VAL;
    if (s->ld == 1) {
        return sys->target.ops->on_rows_single(sys->target.self, x, &rows, g,
                                               lp);
    }
    for (size_t i = 0; i < s->dim; i++) {
        at[i] = x[i * s->ld + k];
    }
    const int code =
        sys->target.ops->on_rows_single(sys->target.self, at, &rows, slope, lp);
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
            sys->lanes.busy[k] ? eval_lane_single(sys, k, x, &lp[k], g) : 0;

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

relmc_status relmc_target_eval(const relmc_target *target, const double *x,
                               double *lp, double *grad, relmc_error *err)
{
    relmc_arena arena = {0};
    const struct subject of = {
        .ops = target->ops[rmc_isa_best()],
        .self = target->self,
        .dim = target->dim,
        .rows = {NULL, target->n_data, 1.0,
                 target->scratch ? relmc_arena_get(&arena, target->scratch)
                                 : NULL},
        .all = target->rows,
    };
    const relmc_status status = relmc_arena_check(&arena, err);
    relmc_error said = {0};

    if (status) {
        return status;
    }
    const int code = eval_point(&of, x, lp, grad, &said);
    rmc_arena_release(&arena);
    if (code < 0) {
        return said.status < 0
                   ? rmc_fail(err, said.status, "%s", said.message)
                   : rmc_fail(err, RELMC_ETARGET,
                              "target: the log density failed (status %d)",
                              code);
    }
    if (code > 0 || *lp == -HUGE_VAL) {
        *lp = -HUGE_VAL;
        return rmc_fail(err, RELMC_REJECT,
                        "target: no density at this point%s%s",
                        said.status ? ": " : "", said.message);
    }
    return RELMC_OK;
}

relmc_status relmc_target_predict(const relmc_target *target, const double *x,
                                  const relmc_data *data, double *out,
                                  relmc_error *err)
{
    const relmc_model_ops *ops = target->ops[rmc_isa_best()];
    relmc_arena arena = {0};
    relmc_data given;

    if (!ops->predict) {
        return rmc_fail(err, RELMC_EUNSUPP, "%s: it predicts nothing",
                        target->name);
    }
    relmc_status status = read_data(&given, data, err);
    if (status) {
        return status;
    }
    void *scratch =
        target->scratch ? relmc_arena_get(&arena, target->scratch) : NULL;
    status = relmc_arena_check(&arena, err);
    if (!status) {
        status = ops->predict(target->self, x, &given, scratch, out, err);
    }
    rmc_arena_release(&arena);
    return status;
}

relmc_status relmc_target_outputs(const relmc_target *target, uint64_t seed,
                                  const double *x, double *out,
                                  relmc_error *err)
{
    const relmc_model_ops *ops = target->ops[rmc_isa_best()];
    const relmc_chain about = {.seed = seed, .threads = 1};
    relmc_arena arena = {0};
    void *chain = NULL;
    relmc_status status = RELMC_OK;

    if (!ops->output) {
        memcpy(out, x, target->dim * sizeof *out);
        return RELMC_OK;
    }
    if (ops->chain_open) {
        status = ops->chain_open(target->self, &arena, &about, &chain, err);
    }
    if (!status) {
        status = ops->output(target->self, chain, x, out, err);
    }
    if (chain) {
        ops->chain_close(target->self, chain);
    }
    rmc_arena_release(&arena);
    return status;
}

size_t relmc_target_n_data(const relmc_target *target)
{
    return target->n_data;
}

/* ---- what a model knows of itself ----------------------------------------- */

relmc_status relmc_target_moments(const relmc_target *target, double *mean,
                                  double *variance, relmc_error *err)
{
    const relmc_model_ops *ops = target->ops[rmc_isa_best()];

    if (!ops->moments) {
        return rmc_fail(err, RELMC_EUNSUPP, "%s: no exact moments are known",
                        target->name);
    }
    ops->moments(target->self, mean, variance);
    return RELMC_OK;
}

relmc_status relmc_target_draw(const relmc_target *target, uint64_t seed,
                               size_t n, double *x, relmc_error *err)
{
    const relmc_model_ops *ops = target->ops[rmc_isa_best()];
    relmc_stream stream = {seed, 0, 0, RELMC_FOR_MODEL};

    if (!ops->draw) {
        return rmc_fail(err, RELMC_EUNSUPP, "%s: it cannot be drawn exactly",
                        target->name);
    }
    for (size_t t = 0; t < n; t++) {
        ops->draw(target->self, &stream, x + t * target->dim);
    }
    return RELMC_OK;
}
