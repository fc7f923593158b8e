/*
 * linear.c - linear regression with normal errors, on data that are given, or
 * made up with correlated covariates of unequal scale.
 *
 *   [linear]  y_r ~ N(z_r, sigma^2),  z_r = sum_i a_ri x_i,
 *             x ~ N(0, sd^2),  s = log sigma ~ N(0, log_sigma_sd^2):
 *             lp = -|x|^2 / (2 sd^2) - s^2 / (2 log_sigma_sd^2)
 *                  - n (s + log(2 pi) / 2) - R / (2 sigma^2),
 *             R = sum_r (y_r - z_r)^2
 *
 * Coordinates are the intercept, if there is one, the coefficients, and s last.
 */
#include "regression.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum {
    PANELS = 8, /* in one pass over the data, and so many lanes: */
    LANES = PANELS * RMC_WIDE
};

#define HALF_LOG_2PI 0x1.d67f1c864beb5p-1

struct linear {
    double dim, n, sigma, sd, log_sigma_sd, effect, seed, intercept,
        intercept_sd;
    rmc_regression on;
    const double *y; /* n */
};

/* Of the lanes of a panel, by place in the block: [8 r + k], or [r]. */
struct tally {
    double square[RMC_CELLS], residual[RMC_CELLS];
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

static void fill_in(struct linear *m, relmc_size *size)
{
    rmc_regression_set_priors(&m->on, m->sd, m->intercept_sd);
    size->dim = m->on.size + 1;
    size->n_data = m->on.design.n;
    size->scratch = scratch_of(m->on.design.width);
}

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    struct linear *m = self;
    const size_t dim = (size_t)m->dim, n = (size_t)m->n;
    relmc_status status = rmc_refuse_intercept("linear", m->intercept, err);

    if (status) {
        return status;
    }
    double *x = relmc_arena_get(arena, n * dim * sizeof(double));
    double *y = relmc_arena_get(arena, n * sizeof(double));
    double *truth = relmc_arena_get(arena, dim * sizeof(double));
    if ((status = relmc_arena_check(arena, err))) {
        return status;
    }
    relmc_stream stream = rmc_made_up_stream(m->seed);
    rmc_make_up_truth(&stream, dim, m->effect, truth);
    for (size_t r = 0; r < n; r++) {
        rmc_make_up_row(&stream, dim, x + r * dim);
        y[r] = rmc_made_up_dot(dim, x + r * dim, truth) +
               m->sigma * relmc_normal(&stream);
    }
    m->y = y;
    rmc_regression_set(&m->on, x, NULL, n, dim, 0);
    fill_in(m, size);
    return RELMC_OK;
}

static relmc_status bind(void *self, relmc_arena *arena, const relmc_data *data,
                         relmc_size *size, relmc_error *err)
{
    struct linear *m = self;

    (void)arena;
    if (data->n_classes) {
        return rmc_fail(err, RELMC_EINVAL,
                        "linear: the response must be a number (n_classes 0), "
                        "not one of %zu classes",
                        data->n_classes);
    }
    m->y = data->y;
    rmc_regression_set(&m->on, data->x, data->x_single, data->n_rows,
                       data->n_columns, m->intercept > 0.0);
    m->dim = (double)m->on.size;
    m->n = (double)data->n_rows;
    fill_in(m, size);
    return RELMC_OK;
}

/* ---- lp and its gradient -------------------------------------------------- */

static inline void add_block(const struct linear *m, size_t columns,
                             rmc_block *block, const double *x, const double *b,
                             double *sum, struct tally *t)
{
    const size_t width = m->on.design.width, n = block->n;
    double z[RMC_CELLS];

    rmc_times(block, width, columns, x, z);
    for (size_t r = 0; r < RMC_ROWS; r++) {
        const double y = m->y[block->index[r]];

        for (size_t k = 0; k < columns; k++) {
            const size_t j = r * columns + k;

            z[j] = r < n ? y - (z[j] + b[k]) : 0.0;
            t->square[j] = rmc_fma(z[j], z[j], t->square[j]);
            t->residual[j] += z[j];
        }
    }
    rmc_add(block, width, columns, z, sum);
}

static inline void add_rows(const struct linear *m, size_t columns,
                            size_t panels, const relmc_rows *rows,
                            const struct room *room)
{
    const size_t stride = m->on.design.width * columns;
    rmc_tile tile;

    for (size_t first = 0; first < rows->n; first += tile.n * RMC_ROWS) {
        rmc_tile_open(&tile, &m->on.design, rows, first, columns, room->block);
        for (size_t p = 0; p < panels; p++) {
            for (size_t j = 0; j < tile.n; j++) {
                add_block(m, columns, &tile.block[j], room->x + p * stride,
                          room->b + p * columns, room->sum + p * stride,
                          &room->tally[p]);
            }
            if (p == 0 && panels > 1) {
                rmc_tile_turn(&tile);
            }
        }
    }
}

/* What is left to do for lane k after all rows. */
static inline void finish(const struct linear *m, rmc_panel_shape l, size_t k,
                          const relmc_rows *rows, const struct room *room,
                          const double *restrict x, double *restrict grad,
                          double *restrict lp)
{
    const size_t last = m->on.size * l.ld + k;
    const size_t panel = k / l.columns, at = k % l.columns;
    const struct tally *t = &room->tally[panel];
    const double *sum = room->sum + panel * m->on.design.width * l.columns + at;
    const double w = 1.0 / (m->log_sigma_sd * m->log_sigma_sd);
    const double s = x[last], precision = rmc_exp(-2.0 * s);
    const double all = rmc_fold(t->square, l.columns, at) * precision;
    const double misfit = all <= DBL_MAX ? all : HUGE_VAL; /* inf x 0, too */
    const double n = (double)rows->n;
    const double slope = rmc_fold(t->residual, l.columns, at);

    lp[k] = rows->scale * rmc_fma(-n, s + HALF_LOG_2PI, -0.5 * misfit);
    lp[k] = rmc_fma(-0.5 * w * s, s, lp[k]);
    grad[last] = rmc_fma(rows->scale, misfit - n, -w * s);
    l.n = 1;
    rmc_finish(&m->on, l, rows->scale * precision, x + k, &slope, sum, grad + k,
               lp + k);
}

static inline void pass(const struct linear *m, size_t columns, size_t lanes,
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

        room.tally[p] = (struct tally){{0}, {0}};
        rmc_pack_lanes(g, ld, lanes - k, columns, x + k, room.b + k,
                       room.x + p * stride);
    }
    for (size_t j = 0; j < panels * stride; j++) {
        room.sum[j] = 0.0;
    }
    add_rows(m, columns, panels, rows, &room);
    for (size_t k = 0; k < lanes; k++) {
        finish(m, (rmc_panel_shape){lanes, ld, columns}, k, rows, &room, x,
               grad, lp);
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
    const struct linear *m = self;
    const size_t width = m->on.design.width;
    const rmc_design design = {data->x, data->x_single, data->n_rows, width};
    const relmc_rows rows = {NULL, data->n_rows, 1.0, scratch};
    const relmc_status status =
        rmc_regression_match(&m->on, "linear", data, err);
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
            out[2 * (first + r)] = z[r] + b;
            out[2 * (first + r) + 1] = rmc_exp(x[m->on.size]);
        }
    }
    return RELMC_OK;
}

static void name(const void *self, size_t i, char *out, size_t bytes)
{
    const struct linear *m = self;

    if (i == m->on.size) {
        (void)snprintf(out, bytes, "log_sigma");
    } else {
        rmc_regression_name(&m->on, i, out, bytes);
    }
}

static const relmc_param params[] = {
    {"dim", "coefficients of made-up data, the first is the intercept", 1, 1e4,
     3, offsetof(struct linear, dim), RELMC_INTEGER},
    {"n", "rows of made-up data", 1, 1e6, 100, offsetof(struct linear, n),
     RELMC_INTEGER},
    {"sigma", "of the errors of made-up data", 0, 1e6, 1,
     offsetof(struct linear, sigma), RELMC_REAL},
    {"sd", "standard deviation of the normal prior", 1e-3, 1e6, 5,
     offsetof(struct linear, sd), RELMC_REAL},
    {"log_sigma_sd", "standard deviation of the prior of log sigma", 1e-3, 1e6,
     2, offsetof(struct linear, log_sigma_sd), RELMC_REAL},
    {"effect", "size of the coefficients that made the data", 0, 100, 1,
     offsetof(struct linear, effect), RELMC_REAL},
    {"seed", "of made-up data", 0, 1e15, 1, offsetof(struct linear, seed),
     RELMC_INTEGER},
    {"intercept", "1: given data get an intercept", 0, 1, 0,
     offsetof(struct linear, intercept), RELMC_INTEGER},
    {"intercept_sd", "standard deviation of its prior", 1e-3, 1e6, 5,
     offsetof(struct linear, intercept_sd), RELMC_REAL},
    {0},
};

const relmc_model_ops rmc_model_linear = {
    .info = {"model", "linear",
             "linear regression with normal errors, on your data or made-up "
             "ones",
             params},
    .state_size = sizeof(struct linear),
    .init = init,
    .bind = bind,
    .on_rows = on_rows,
    .predict = predict,
    .name = name,
};
