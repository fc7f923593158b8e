/*
 * logistic.c - logistic regression, on data that are given, or made up with
 * correlated covariates of unequal scale.
 *
 *   [logistic]  lp = -|x|^2 / (2 sd^2) + sum_r (y_r z_r - log(1 + e^z_r)),
 *               z_r = sum_i a_ri x_i,
 *               grad = -x / sd^2 + sum_r (y_r - 1 / (1 + e^-z_r)) a_r
 *
 * With intercept=1 there is one more coordinate in front, which is added to all
 * z_r and has a prior of its own.  With m = z if y = 1 and -z if not, a term of
 * the sum is min(m, 0) - log(1 + e^-|m|); the logarithm is taken once for the
 * product of many rows.  There are no exact draws.
 */
#include "model/regression/glm_inline.h"

#include <math.h>

enum {
    FLUSH =
        64 /* blocks, in whole tiles, whose product, at most 2^512, is kept */
};

struct tally {
    double margin[RMC_CELLS];  /* sum of min(m, 0) */
    double product[RMC_CELLS]; /* of 1 + e^-|m|, of so many blocks: */
    double logs[RMC_WIDE];     /* of products that were full */
    size_t blocks;
};

/* ---- lp and its gradient -------------------------------------------------- */

/* A sign: a zero that has it. */
static double answer(double y)
{
    return y > 0.0 ? 0.0 : -0.0;
}

/* A block: z becomes y - 1/(1 + e^-z), by cases, so that no difference of nearly
 * equal numbers is taken; e is e^-|z|. */
RMC_INLINED void weigh(size_t columns, const double *restrict sign,
                       const double *restrict e, double *restrict z,
                       struct tally *restrict t)
{
    const rmc_eight zero = rmc_eight_all(0.0), one = rmc_eight_all(1.0);

    for (size_t j = 0; j < RMC_ROWS * columns; j += 8) {
        const rmc_eight side = columns == 1 ? rmc_eight_at(sign + j)
                                            : rmc_eight_all(sign[j / columns]);
        const rmc_eight m = rmc_eight_flip(rmc_eight_at(z + j), side);
        const rmc_eight f = rmc_eight_at(e + j), total = rmc_eight_add(one, f);
        const rmc_eight missed =
            rmc_eight_div(rmc_eight_pick(f, one, m), total);
        const rmc_eight margin = rmc_eight_at(t->margin + j);
        const rmc_eight product = rmc_eight_at(t->product + j);

        rmc_eight_put(t->margin + j,
                      rmc_eight_add(margin, rmc_eight_min(m, zero)));
        rmc_eight_put(t->product + j, rmc_eight_mul(product, total));
        rmc_eight_put(z + j, rmc_eight_flip(missed, side));
    }
}

static void flush(size_t columns, struct tally *t)
{
    for (size_t k = 0; t->blocks && k < columns; k++) {
        double p = 1.0;

        for (size_t r = 0; r < RMC_ROWS; r++) {
            p *= t->product[r * columns + k];
        }
        t->logs[k] += rmc_log(p);
    }
    t->blocks = 0;
}

/* In loops over blocks: in one, the chain of operations from z to the result would
 * be longer than processors look ahead.  The quotients of a block are made while
 * the exponentials of the next one are.  Rows that do not count are made certain,
 * and so add nothing. */
RMC_INLINED void judge(size_t columns, const rmc_answers *is,
                       double *restrict z, void *tally)
{
    const size_t cells = RMC_ROWS * columns, all = is->blocks * cells;
    struct tally *t = tally;
    _Alignas(RMC_LINE) double e[RMC_TILE * RMC_CELLS];
    _Alignas(RMC_LINE) double scale[RMC_TILE * RMC_CELLS];

    for (size_t j = 0; t->blocks == 0 && j < cells; j++) {
        t->product[j] = 1.0;
    }
    for (size_t at = 0; at < all; at += cells) {
        RMC_KEEP
        for (size_t j = at; j < at + cells; j++) {
            e[j] = rmc_exp_reduce(-fabs(z[j]), &scale[j]);
        }
    }
    for (size_t j = is->n * columns; j < all; j++) {
        z[j] = copysign(1.0, is->y[j / columns]);
        e[j] = scale[j] = 0.0;
    }
    for (size_t at = 0; at < all; at += cells) {
        RMC_KEEP
        for (size_t j = at; j < at + cells; j++) {
            e[j] = rmc_exp_restore(e[j], scale[j]);
        }
        weigh(columns, is->y + at / columns, e + at, z + at, t);
    }
    t->blocks += is->blocks;
    if (t->blocks == FLUSH) {
        flush(columns, t);
    }
}

static void finish(const rmc_regression *g, rmc_panel_shape l,
                   const relmc_rows *rows, const rmc_panel *p, const double *x,
                   double *grad, double *lp)
{
    struct tally *t = (void *)p->tally;
    double prior[RMC_WIDE] = {0};

    flush(l.columns, t);
    rmc_finish(g, l, rows->scale, x, p->slope, p->sum, grad, prior);
    for (size_t k = 0; k < l.n; k++) {
        const double like = rmc_fold(t->margin, l.columns, k) - t->logs[k];

        lp[k] = rmc_fma(rows->scale, like, prior[k]);
    }
}

static void predict_row(const rmc_regression *g, const double *x, double z,
                        double *out)
{
    const double e = rmc_exp(-fabs(z));

    (void)g;
    (void)x;
    out[z > 0.0] = 1.0 / (1.0 + e);
    out[z <= 0.0] = e / (1.0 + e);
}

static const rmc_glm own = {"logistic", sizeof(struct tally), answer, judge,
                            finish,     predict_row};

RMC_KERNEL void pass(const rmc_regression *g, rmc_panel_shape l,
                     const double *x, const relmc_rows *rows, double *grad,
                     double *lp)
{
    rmc_glm_pass(g, &own, l, x, rows, grad, lp);
}

static int rows(const void *self, const relmc_shape *s, const double *x,
                const relmc_rows *some, double *lp, double *grad,
                relmc_error *err)
{
    (void)err;
    return rmc_pass_lanes(self, pass, RMC_LANES, s, x, some, grad, lp);
}

/* ---- data ----------------------------------------------------------------- */

static double respond(const rmc_regression *g, relmc_stream *stream,
                      const double *a, const double *truth)
{
    const double z = rmc_made_up_dot((size_t)g->dim, a, truth);

    return relmc_uniform(stream) < 1.0 / (1.0 + rmc_exp(-z)) ? 1.0 : 0.0;
}

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    const relmc_status status =
        rmc_make_up(self, own.name, 1, respond, arena, err);

    if (!status) {
        rmc_glm_size(self, &own, size);
    }
    return status;
}

static relmc_status bind(void *self, relmc_arena *arena, const relmc_data *data,
                         relmc_size *size, relmc_error *err)
{
    (void)arena;
    if (data->n_classes != 2) {
        return rmc_fail(err, RELMC_EINVAL,
                        data->n_classes
                            ? "logistic: the response must have 2 classes, not "
                              "%zu; softmax takes more"
                            : "logistic: the response must have 2 classes, not "
                              "%zu (a number)",
                        data->n_classes);
    }
    rmc_regression_bind(self, data);
    rmc_glm_size(self, &own, size);
    return RELMC_OK;
}

static relmc_status predict(const void *self, const double *x,
                            const relmc_data *data, void *scratch, double *out,
                            relmc_error *err)
{
    return rmc_glm_predict(self, &own, x, data, scratch, out, err);
}

static const relmc_param params[] = {
    RMC_PARAMS_OF_SIZE(500, ""),
    RMC_PARAM_SD,
    RMC_PARAMS_OF_TRUTH(""),
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_logistic) = {
    .info = {"model", "logistic",
             "logistic regression, on your data or made-up ones", params},
    .state_size = sizeof(rmc_regression),
    .init = init,
    .bind = bind,
    .rows = rows,
    .predict = predict,
    .coordinate_name = rmc_regression_name,
};
