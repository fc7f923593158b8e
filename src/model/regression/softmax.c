/*
 * softmax.c - regression with K classes, on data that are given, or made up.
 *
 *   [softmax]  lp = -|x|^2 / (2 sd^2) + sum_r (z_ry - log sum_c e^z_rc),
 *              z_rc = sum_i a_ri x_ci,  y the class of row r,
 *              grad_c = -x_c / sd^2 + sum_r ((y = c) - p_rc) a_r,
 *              p_rc = e^z_rc / sum_c' e^z_rc'
 *
 * The form is the symmetric one: every class has its coefficients, so that the
 * prior does not depend on how classes are numbered; only the prior fixes their
 * common part.  Coordinates: class by class, the intercept, if there is one,
 * then the coefficients.  There are no exact draws.
 */
#include "model/regression/prior_inline.h"

#include <math.h>
#include <stdio.h>

struct softmax {
    rmc_regression on;
    double classes;
    size_t k; /* the same */
};

struct room {
    double *x, *sum;  /* panels: a class of 8 lanes, or 8 classes of one lane */
    double *b;        /* per class, these: intercepts of the lanes */
    double *z;        /* RMC_CELLS; [8 r + k], or [r] */
    double *residual; /* RMC_CELLS: sums by place in the block */
    double *block;    /* of a tile */
};

/* ---- data ----------------------------------------------------------------- */

/* Panels of one pass: for 8 lanes as many as classes. */
static size_t scratch_of(const struct softmax *m)
{
    const size_t width = m->on.design.width;
    const size_t panel = (2 * width + 1) * RMC_WIDE + RMC_CELLS + RMC_CELLS;

    return ((m->k + RMC_WIDE) * panel + RMC_TILE_ROWS * width) * sizeof(double);
}

static struct room divide(const struct softmax *m, void *scratch)
{
    const size_t width = m->on.design.width, n = m->k + RMC_WIDE;
    struct room room = {.x = scratch};

    room.sum = room.x + n * width * RMC_WIDE;
    room.z = room.sum + n * width * RMC_WIDE;
    room.residual = room.z + n * RMC_CELLS;
    room.b = room.residual + n * RMC_CELLS;
    room.block = room.b + n * RMC_WIDE;
    return room;
}

static void fill_in(struct softmax *m, relmc_size *size)
{
    m->k = (size_t)m->classes;
    size->dim = m->k * m->on.size;
    size->n_data = m->on.design.n;
    size->scratch = scratch_of(m);
}

/* Class of a row: the largest of z_c + Gumbel, which is the softmax law. */
static double respond(const rmc_regression *g, relmc_stream *stream,
                      const double *a, const double *truth)
{
    const struct softmax *m = (const struct softmax *)(const void *)g;
    const size_t dim = (size_t)g->dim, classes = (size_t)m->classes;
    double top = -HUGE_VAL;
    size_t best = 0;

    for (size_t c = 0; c < classes; c++) {
        const double gumbel = -rmc_log(relmc_exponential(stream));
        const double score = rmc_made_up_dot(dim, a, truth + c * dim) + gumbel;

        best = score > top ? c : best;
        top = score > top ? score : top;
    }
    return (double)best;
}

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    struct softmax *m = self;
    const relmc_status status =
        rmc_make_up(&m->on, "softmax", (size_t)m->classes, respond, arena, err);

    if (!status) {
        fill_in(m, size);
    }
    return status;
}

static relmc_status bind(void *self, relmc_arena *arena, const relmc_data *data,
                         relmc_size *size, relmc_error *err)
{
    struct softmax *m = self;

    (void)arena;
    if (data->n_classes < 2) {
        return rmc_fail(err, RELMC_EINVAL,
                        data->n_classes
                            ? "softmax: the response must have 2 classes or "
                              "more, not %zu"
                            : "softmax: the response must have 2 classes or "
                              "more, not %zu (a number)",
                        data->n_classes);
    }
    m->classes = (double)data->n_classes;
    rmc_regression_bind(&m->on, data);
    fill_in(m, size);
    return RELMC_OK;
}

/* ---- lp and its gradient -------------------------------------------------- */

/* z of all classes, one after the other: at 8 r + k, or at r */
static inline void times(const struct softmax *m, size_t columns,
                         rmc_block *block, const struct room *room)
{
    const size_t width = m->on.design.width, stride = width * RMC_WIDE;

    if (columns == RMC_WIDE) {
        for (size_t c = 0; c < m->k; c++) {
            rmc_times_wide(block, width, room->x + c * stride,
                           room->z + c * RMC_CELLS);
        }
        return;
    }
    for (size_t c = 0; c < m->k; c += RMC_WIDE) {
        double z[RMC_CELLS];

        rmc_times_wide(block, width, room->x + c * width, z);
        for (size_t j = 0; j < RMC_CELLS; j++) {
            room->z[(c + j % RMC_WIDE) * RMC_CELLS + j / RMC_WIDE] = z[j];
        }
    }
}

static inline void add(const struct softmax *m, size_t columns,
                       const rmc_block *block, const struct room *room)
{
    const size_t width = m->on.design.width, stride = width * RMC_WIDE;

    if (columns == RMC_WIDE) {
        for (size_t c = 0; c < m->k; c++) {
            rmc_add_wide(block, width, room->z + c * RMC_CELLS,
                         room->sum + c * stride);
        }
        return;
    }
    for (size_t c = 0; c < m->k; c += RMC_WIDE) {
        double z[RMC_CELLS];

        for (size_t j = 0; j < RMC_CELLS; j++) {
            z[j] = room->z[(c + j % RMC_WIDE) * RMC_CELLS + j / RMC_WIDE];
        }
        rmc_add_wide(block, width, z, room->sum + c * width);
    }
}

/* z_c becomes e^(z_c - top); total is their sum */
static inline void exponentials(const struct softmax *m, size_t columns,
                                const struct room *room, double *restrict top,
                                double *restrict total)
{
    const size_t cells = RMC_ROWS * columns;

    for (size_t j = 0; j < cells; j++) {
        top[j] = -HUGE_VAL;
        total[j] = 0.0;
    }
    for (size_t c = 0; c < m->k; c++) {
        double *restrict z = room->z + c * RMC_CELLS;

        for (size_t j = 0; j < cells; j++) {
            z[j] += room->b[c * RMC_WIDE + j % columns];
            top[j] = z[j] > top[j] ? z[j] : top[j];
        }
    }
    for (size_t c = 0; c < m->k; c++) {
        double *restrict z = room->z + c * RMC_CELLS;

        for (size_t j = 0; j < cells; j++) {
            z[j] = rmc_exp_down(z[j] - top[j]);
            total[j] += z[j];
        }
    }
}

/* z becomes (y = c) - p, 0 beyond the rows that count; like gets what they
 * add. */
static inline void judge(const struct softmax *m, size_t columns,
                         const rmc_block *block, const struct room *room,
                         double *restrict like)
{
    double top[RMC_CELLS], total[RMC_CELLS], right[RMC_CELLS];
    const size_t cells = block->n * columns;

    for (size_t j = 0; j < cells; j++) { /* before the intercept is added */
        const size_t c = (size_t)m->on.y[block->index[j / columns]];

        right[j] =
            room->z[c * RMC_CELLS + j] + room->b[c * RMC_WIDE + j % columns];
    }
    exponentials(m, columns, room, top, total);
    for (size_t j = 0; j < cells; j++) {
        like[j] += (right[j] - top[j]) - rmc_log(total[j]);
        total[j] = 1.0 / total[j];
    }
    for (size_t c = 0; c < m->k; c++) {
        double *restrict z = room->z + c * RMC_CELLS;
        double *restrict s = room->residual + c * RMC_CELLS;

        for (size_t j = 0; j < cells; j++) {
            const double is =
                m->on.y[block->index[j / columns]] == (double)c ? 1.0 : 0.0;

            z[j] = rmc_fma(-z[j], total[j], is);
            s[j] += z[j];
        }
        for (size_t j = cells; j < RMC_ROWS * columns; j++) {
            z[j] = 0.0;
        }
    }
}

/* Coefficients of n lanes, 8 at most, or of one, as panels. */
static inline void pack(const struct softmax *m, rmc_panel_shape l,
                        const double *restrict x, const struct room *room)
{
    const rmc_regression *g = &m->on;
    const size_t width = g->design.width, skip = g->has_intercept ? 1 : 0;
    const size_t panels = m->k + RMC_WIDE;

    for (size_t j = 0; j < panels * width * RMC_WIDE; j++) {
        room->sum[j] = room->x[j] = 0.0;
    }
    for (size_t j = 0; j < panels * RMC_CELLS; j++) {
        room->residual[j] = 0.0;
    }
    for (size_t j = 0; j < panels * RMC_WIDE; j++) {
        room->b[j] = 0.0;
    }
    for (size_t c = 0; c < m->k; c++) {
        const double *from = x + c * g->size * l.ld;

        for (size_t k = 0; skip && k < l.n; k++) {
            room->b[c * RMC_WIDE + k] = from[k];
        }
        for (size_t i = 0; i < width; i++) {
            double *to = l.columns == RMC_WIDE
                             ? room->x + (c * width + i) * RMC_WIDE
                             : room->x + c / RMC_WIDE * width * RMC_WIDE +
                                   i * RMC_WIDE + c % RMC_WIDE;

            for (size_t k = 0; k < l.n; k++) {
                to[k] = from[(i + skip) * l.ld + k];
            }
        }
    }
}

static inline void finish(const struct softmax *m, rmc_panel_shape l,
                          double scale, const double *restrict x,
                          const struct room *room, double *restrict grad,
                          double *restrict lp)
{
    const rmc_regression *g = &m->on;
    const size_t stride = g->design.width * RMC_WIDE;
    const rmc_panel_shape panel = {l.n, l.ld, RMC_WIDE};

    for (size_t c = 0; c < m->k; c++) {
        const size_t at = c * g->size * l.ld;
        const double *sum =
            l.columns == RMC_WIDE
                ? room->sum + c * stride
                : room->sum + c / RMC_WIDE * stride + c % RMC_WIDE;
        double slope[RMC_WIDE];

        for (size_t k = 0; k < l.n; k++) {
            slope[k] = rmc_fold(room->residual + c * RMC_CELLS, l.columns, k);
        }
        rmc_finish(g, panel, scale, x + at, slope, sum, grad + at, lp);
    }
}

/* What the rows add to the sums and to the logarithm of the likelihood. */
static inline void add_rows(const struct softmax *m, size_t columns,
                            const relmc_rows *rows, const struct room *room,
                            double *restrict like)
{
    rmc_block block;

    for (size_t first = 0; first < rows->n; first += RMC_ROWS) {
        rmc_block_open(&block, &m->on.design, rows, first, RMC_SOON,
                       room->block);
        times(m, columns, &block, room);
        judge(m, columns, &block, room, like);
        add(m, columns, &block, room);
    }
}

static void pass(const rmc_regression *g, rmc_panel_shape l, const double *x,
                 const relmc_rows *rows, double *grad, double *lp)
{
    const struct softmax *m = (const struct softmax *)(const void *)g;
    const struct room room = divide(m, rows->scratch);
    double like[RMC_CELLS] = {0}, prior[RMC_WIDE] = {0};

    pack(m, l, x, &room);
    if (l.columns == 1) { /* constants */
        add_rows(m, 1, rows, &room, like);
    } else {
        add_rows(m, RMC_WIDE, rows, &room, like);
    }
    finish(m, l, rows->scale, x, &room, grad, prior);
    for (size_t k = 0; k < l.n; k++) {
        lp[k] = rmc_fma(rows->scale, rmc_fold(like, l.columns, k), prior[k]);
    }
}

static int rows(const void *self, const relmc_shape *s, const double *x,
                const relmc_rows *some, double *lp, double *grad,
                relmc_error *err)
{
    (void)err;
    return rmc_pass_lanes(self, pass, RMC_WIDE, s, x, some, grad, lp);
}

/* ---- predictions ---------------------------------------------------------- */

static relmc_status predict(const void *self, const double *x,
                            const relmc_data *data, void *scratch, double *out,
                            relmc_error *err)
{
    const struct softmax *m = self;
    const relmc_rows rows = {NULL, data->n_rows, 1.0, scratch};
    const rmc_design design = rmc_design_of(data);
    const relmc_status status =
        rmc_regression_match(&m->on, "softmax", data, err);
    double top[RMC_ROWS], total[RMC_ROWS];

    if (status) {
        return status;
    }
    const struct room room = divide(m, scratch);
    pack(m, (rmc_panel_shape){1, 1, 1}, x, &room);
    for (size_t first = 0; first < rows.n; first += RMC_ROWS) {
        rmc_block block;

        rmc_block_open(&block, &design, &rows, first, RMC_SOON, room.block);
        times(m, 1, &block, &room);
        exponentials(m, 1, &room, top, total);
        for (size_t r = 0; r < block.n; r++) {
            for (size_t c = 0; c < m->k; c++) {
                *out++ = room.z[c * RMC_CELLS + r] / total[r];
            }
        }
    }
    return RELMC_OK;
}

static size_t coordinate_name(const void *self, size_t i, char *out,
                              size_t room)
{
    const struct softmax *m = self;
    const size_t c = i / m->on.size, j = i % m->on.size;

    if (m->on.has_intercept && j == 0) {
        return (size_t)snprintf(out, room, "intercept.%zu", c + 1);
    }
    return (size_t)snprintf(out, room, "beta.%zu.%zu", c + 1,
                            j + (m->on.has_intercept ? 0 : 1));
}

static const relmc_param params[] = {
    RMC_PARAMS_OF_SIZE(500, " per class"),
    {"classes", "of made-up data", 2, 1e3, 3, offsetof(struct softmax, classes),
     RELMC_INTEGER},
    RMC_PARAM_SD,
    RMC_PARAMS_OF_TRUTH(" per class"),
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_softmax) = {
    .info = {"model", "softmax",
             "regression with several classes, on your data or made-up ones",
             params},
    .state_size = sizeof(struct softmax),
    .init = init,
    .bind = bind,
    .rows = rows,
    .predict = predict,
    .coordinate_name = coordinate_name,
};
