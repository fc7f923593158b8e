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
#include "regression.h"

#include <math.h>
#include <stdio.h>

enum {
    PANELS = 8, /* in one pass over the data, and so many lanes: */
    LANES = PANELS * RMC_WIDE,
    FLUSH = 64 /* blocks whose product, at most 2^512, is kept */
};

struct logistic {
    double dim, n, sd, effect, seed, intercept, intercept_sd;
    rmc_regression on;
    double *sign; /* n: 1 where y is 1, else -1 */
};

/* Of the lanes of a panel, by place in the block: [8 r + k], or [r]. */
struct tally {
    double margin[RMC_CELLS];  /* sum of min(m, 0) */
    double product[RMC_CELLS]; /* of 1 + e^-|m| */
    double residual[RMC_CELLS];
    double logs[RMC_WIDE]; /* of products that were full */
};

struct room {
    struct tally *tally; /* one per panel, these */
    double *x, *sum;     /* width x 8 */
    double *b;           /* 8 */
    double *block;       /* of a tile */
};

/* ---- data ----------------------------------------------------------------- */

static size_t scratch_of(size_t width)
{
    const size_t panel = (2 * width + 1) * RMC_WIDE * sizeof(double);

    return PANELS * (sizeof(struct tally) + panel) +
           RMC_TILE_ROWS * width * sizeof(double);
}

static struct room divide(void *scratch, size_t width)
{
    struct room room = {.tally = scratch};

    room.x = (double *)(void *)(room.tally + PANELS);
    room.sum = room.x + LANES * width;
    room.b = room.sum + LANES * width;
    room.block = room.b + LANES;
    return room;
}

static void fill_in(struct logistic *m, relmc_size *size)
{
    rmc_regression_set_priors(&m->on, m->sd, m->intercept_sd);
    size->dim = m->on.size;
    size->n_data = m->on.design.n;
    size->scratch = scratch_of(m->on.design.width);
}

static void make_data(struct logistic *m, size_t dim, size_t n, double *x,
                      double *truth)
{
    relmc_stream stream = rmc_made_up_stream(m->seed);

    rmc_make_up_truth(&stream, dim, m->effect, truth);
    for (size_t r = 0; r < n; r++) {
        rmc_make_up_row(&stream, dim, x + r * dim);
        const double z = rmc_made_up_dot(dim, x + r * dim, truth);
        const int y = relmc_uniform(&stream) < 1.0 / (1.0 + rmc_exp(-z));

        m->sign[r] = y ? 1.0 : -1.0;
    }
}

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    struct logistic *m = self;
    const size_t dim = (size_t)m->dim, n = (size_t)m->n;
    relmc_status status = rmc_refuse_intercept("logistic", m->intercept, err);

    if (status) {
        return status;
    }
    double *x = relmc_arena_get(arena, n * dim * sizeof(double));
    double *truth = relmc_arena_get(arena, dim * sizeof(double));
    m->sign = relmc_arena_get(arena, n * sizeof(double));
    if (!(status = relmc_arena_check(arena, err))) {
        make_data(m, dim, n, x, truth);
        rmc_regression_set(&m->on, x, NULL, n, dim, 0);
        fill_in(m, size);
    }
    return status;
}

static relmc_status bind(void *self, relmc_arena *arena, const relmc_data *data,
                         relmc_size *size, relmc_error *err)
{
    struct logistic *m = self;

    if (data->n_classes != 2) {
        return rmc_fail(err, RELMC_EINVAL,
                        data->n_classes
                            ? "logistic: the response must have 2 classes, not "
                              "%zu; softmax takes more"
                            : "logistic: the response must have 2 classes, not "
                              "%zu (a number)",
                        data->n_classes);
    }
    m->sign = relmc_arena_get(arena, data->n_rows * sizeof(double));
    const relmc_status status = relmc_arena_check(arena, err);
    if (status) {
        return status;
    }
    for (size_t r = 0; r < data->n_rows; r++) {
        m->sign[r] = data->y[r] > 0.0 ? 1.0 : -1.0;
    }
    rmc_regression_set(&m->on, data->x, data->x_single, data->n_rows,
                       data->n_columns, m->intercept > 0.0);
    m->dim = (double)m->on.size;
    m->n = (double)data->n_rows;
    fill_in(m, size);
    return RELMC_OK;
}

/* ---- lp and its gradient -------------------------------------------------- */

/* z becomes y - 1/(1 + e^-z), by cases, so that no difference of nearly equal
 * numbers is taken; 0 beyond the n rows. */
static inline void judge(size_t columns, size_t n, const double *restrict sign,
                         const double *restrict b, double *restrict z,
                         struct tally *restrict t)
{
    for (size_t r = 0; r < n; r++) {
        for (size_t k = 0; k < columns; k++) {
            const size_t j = r * columns + k;
            const double m = sign[r] * (z[j] + b[k]);
            const double e = rmc_exp_down(-fabs(m));
            const double missed = (m > 0.0 ? e : 1.0) / (1.0 + e);

            z[j] = sign[r] * missed;
            t->margin[j] += m < 0.0 ? m : 0.0;
            t->product[j] *= 1.0 + e;
        }
    }
    for (size_t j = n * columns; j < RMC_ROWS * columns; j++) {
        z[j] = 0.0;
    }
}

static inline void flush(size_t columns, struct tally *t)
{
    for (size_t k = 0; k < columns; k++) {
        double p = 1.0;

        for (size_t r = 0; r < RMC_ROWS; r++) {
            p *= t->product[r * columns + k];
            t->product[r * columns + k] = 1.0;
        }
        t->logs[k] += rmc_log(p);
    }
}

static inline void clear(struct tally *t)
{
    for (size_t j = 0; j < RMC_CELLS; j++) {
        t->margin[j] = t->residual[j] = 0.0;
        t->product[j] = 1.0;
    }
    for (size_t k = 0; k < RMC_WIDE; k++) {
        t->logs[k] = 0.0;
    }
}

static inline void add_block(const struct logistic *m, size_t columns,
                             rmc_block *block, const double *x, const double *b,
                             double *sum, struct tally *t)
{
    const size_t width = m->on.design.width;
    double z[RMC_CELLS], sign[RMC_ROWS];

    for (size_t r = 0; r < RMC_ROWS; r++) {
        sign[r] = m->sign[block->index[r]];
    }
    rmc_times(block, width, columns, x, z);
    if (block->n == RMC_ROWS) { /* a constant */
        judge(columns, RMC_ROWS, sign, b, z, t);
    } else {
        judge(columns, block->n, sign, b, z, t);
    }
    for (size_t j = 0; m->on.has_intercept && j < RMC_ROWS * columns; j++) {
        t->residual[j] += z[j];
    }
    rmc_add(block, width, columns, z, sum);
}

/* One pass over the rows; panels of `columns` lanes. */
static inline void add_rows(const struct logistic *m, size_t columns,
                            size_t panels, const relmc_rows *rows,
                            const struct room *room)
{
    const size_t stride = m->on.design.width * columns;
    rmc_tile tile;

    for (size_t first = 0; first < rows->n; first += tile.n * RMC_ROWS) {
        rmc_tile_open(&tile, &m->on.design, rows, first, columns, room->block);
        for (size_t p = 0; p < panels; p++) {
            struct tally *t = &room->tally[p];

            for (size_t j = 0; j < tile.n; j++) {
                add_block(m, columns, &tile.block[j], room->x + p * stride,
                          room->b + p * columns, room->sum + p * stride, t);
                if ((first / RMC_ROWS + j) % FLUSH == FLUSH - 1) {
                    flush(columns, t);
                }
            }
            if (p == 0 && panels > 1) {
                rmc_tile_turn(&tile);
            }
        }
    }
}

/* `lanes` of them, in panels of 1 or 8 */
static inline void pass(const struct logistic *m, size_t columns, size_t lanes,
                        size_t ld, const double *restrict x,
                        const relmc_rows *rows, double *restrict grad,
                        double *restrict lp)
{
    const rmc_regression *g = &m->on;
    const size_t stride = g->design.width * columns;
    const size_t panels = (lanes + columns - 1) / columns;
    const struct room room = divide(rows->scratch, g->design.width);

    for (size_t p = 0; p < panels; p++) {
        const size_t k = p * columns;

        clear(&room.tally[p]);
        rmc_pack_lanes(g, ld, lanes - k, columns, x + k, room.b + k,
                       room.x + p * stride);
    }
    for (size_t j = 0; j < panels * stride; j++) {
        room.sum[j] = 0.0;
    }
    add_rows(m, columns, panels, rows, &room);
    for (size_t p = 0; p < panels; p++) {
        const size_t at = p * columns;
        const size_t n = lanes - at < columns ? lanes - at : columns;
        struct tally *t = &room.tally[p];
        double slope[RMC_WIDE], prior[RMC_WIDE] = {0};

        flush(columns, t);
        for (size_t k = 0; k < n; k++) {
            slope[k] = rmc_fold(t->residual, columns, k);
        }
        rmc_finish(g, (rmc_panel_shape){n, ld, columns}, rows->scale, x + at,
                   slope, room.sum + p * stride, grad + at, prior);
        for (size_t k = 0; k < n; k++) {
            const double like = rmc_fold(t->margin, columns, k) - t->logs[k];

            lp[at + k] = rmc_fma(rows->scale, like, prior[k]);
        }
    }
}

static int on_rows(const void *self, const relmc_shape *s, const double *x,
                   const relmc_rows *rows, double *grad, double *lp)
{
    if (s->ld == 1) {
        pass(self, 1, 1, 1, x, rows, grad, lp);
        return RELMC_OK;
    }
    for (size_t k = 0; k < s->ld; k += LANES) {
        const size_t left = s->ld - k;

        pass(self, RMC_WIDE, left < LANES ? left : LANES, s->ld, x + k, rows,
             grad + k, lp + k);
    }
    return RELMC_OK;
}

/* ---- predictions ---------------------------------------------------------- */

static relmc_status predict(const void *self, const double *x,
                            const relmc_data *data, void *scratch, double *out,
                            relmc_error *err)
{
    const struct logistic *m = self;
    const size_t width = m->on.design.width;
    const rmc_design design = {data->x, data->x_single, data->n_rows, width};
    const relmc_rows rows = {NULL, data->n_rows, 1.0, scratch};
    const relmc_status status =
        rmc_regression_match(&m->on, "logistic", data, err);
    double z[RMC_ROWS], b;

    if (status) {
        return status;
    }
    const struct room room = divide(scratch, width);
    const double *beta = rmc_split_intercept(&m->on, x, &b);
    for (size_t first = 0; first < rows.n; first += RMC_ROWS) {
        rmc_block block;

        rmc_block_open(&block, &design, &rows, first, RMC_SOON, room.block);
        rmc_times_one(&block, width, beta, z);
        for (size_t r = 0; r < block.n; r++) {
            const double at = z[r] + b, e = rmc_exp(-fabs(at));
            double *p = out + 2 * (first + r);

            p[at > 0.0] = 1.0 / (1.0 + e);
            p[at <= 0.0] = e / (1.0 + e);
        }
    }
    return RELMC_OK;
}

static void name(const void *self, size_t i, char *out, size_t bytes)
{
    const struct logistic *m = self;

    rmc_regression_name(&m->on, i, out, bytes);
}

static const relmc_param params[] = {
    {"dim", "coefficients of made-up data, the first is the intercept", 1, 1e4,
     3, offsetof(struct logistic, dim), RELMC_INTEGER},
    {"n", "rows of made-up data", 1, 1e6, 500, offsetof(struct logistic, n),
     RELMC_INTEGER},
    {"sd", "standard deviation of the normal prior", 1e-3, 1e6, 5,
     offsetof(struct logistic, sd), RELMC_REAL},
    {"effect", "size of the coefficients that made the data", 0, 100, 1,
     offsetof(struct logistic, effect), RELMC_REAL},
    {"seed", "of made-up data", 0, 1e15, 1, offsetof(struct logistic, seed),
     RELMC_INTEGER},
    {"intercept", "1: given data get an intercept", 0, 1, 0,
     offsetof(struct logistic, intercept), RELMC_INTEGER},
    {"intercept_sd", "standard deviation of its prior", 1e-3, 1e6, 5,
     offsetof(struct logistic, intercept_sd), RELMC_REAL},
    {0},
};

const relmc_model_ops rmc_model_logistic = {
    .info = {"model", "logistic",
             "logistic regression, on your data or made-up ones", params},
    .state_size = sizeof(struct logistic),
    .init = init,
    .bind = bind,
    .on_rows = on_rows,
    .predict = predict,
    .name = name,
};
