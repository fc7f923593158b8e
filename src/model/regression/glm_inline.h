/*
 * glm_inline.h - regressions whose rows enter through one number, z = a.x: lanes in
 * panels, one pass over the data for many of them, and predictions.
 *
 * What a model does with z is its own; the rest is here, inlined with it.
 */
#ifndef RMC_GLM_H
#define RMC_GLM_H

#include "model/regression/design_narrow_inline.h"
#include "model/regression/design_pairs_inline.h"
#include "model/regression/prior_inline.h"

enum {
    RMC_PANELS = 8, /* in one pass over the data, and so many lanes: */
    RMC_LANES = RMC_PANELS * RMC_WIDE
};

/* Lanes at work.  What rows add is kept by place in the block: [8 r + k], or [r]
 * if there is but one lane. */
typedef struct rmc_panel {
    double *tally;    /* the model's own */
    double *residual; /* RMC_CELLS: sums of d lp / dz ... */
    double *slope;    /* 8: ... their totals */
    double *b;        /* 8: intercepts */
    double *sum, *x;  /* width x 8 */
} rmc_panel;

/* The responses of a tile, or strip: how many blocks, how many rows that count, and y
 * or a function of it. */
typedef struct rmc_answers {
    size_t blocks, n;
    double y[RMC_TILE_ROWS];
} rmc_answers;

/* What is a model's own. */
typedef struct rmc_glm {
    const char *name;
    size_t
        tally; /* bytes that it keeps per panel; all 0 before the first row */
    double (*answer)(double y); /* for judge */
    /* z of a tile becomes d lp / dz, but for a factor; 0 for rows that do not
     * count. */
    void (*judge)(size_t columns, const rmc_answers *is, double *z,
                  void *tally);
    /* lp and its gradient, after all rows */
    void (*finish)(const rmc_regression *g, rmc_panel_shape l,
                   const relmc_rows *rows, const rmc_panel *p, const double *x,
                   double *grad, double *lp);
    /* The two numbers that are predicted for a row with this z. */
    void (*predict)(const rmc_regression *g, const double *x, double z,
                    double *out);
} rmc_glm;

/* ---- scratch -------------------------------------------------------------- */

/* numbers, whole lines of the cache */
static inline size_t rmc_tally_size(const rmc_glm *own)
{
    return (own->tally + RMC_LINE - 1) / RMC_LINE * RMC_WIDE;
}

static inline size_t rmc_panel_size(const rmc_glm *own, size_t width)
{
    return rmc_tally_size(own) + RMC_CELLS + (2 * width + 2) * RMC_WIDE;
}

static inline void rmc_glm_size(const rmc_regression *g, const rmc_glm *own,
                                relmc_size *size)
{
    const size_t width = g->design.width;

    size->dim = g->size;
    size->n_data = g->design.n;
    size->scratch =
        (RMC_PANELS * rmc_panel_size(own, width) + RMC_TILE_ROWS * width) *
        sizeof(double);
}

/* Number p of the panels; number RMC_PANELS is room for the rows of a tile. */
static inline double *rmc_panel_room(const rmc_glm *own, size_t width,
                                     void *scratch, size_t p)
{
    return (double *)scratch + p * rmc_panel_size(own, width);
}

/* Panel p of the lanes at x, nothing added yet. */
static inline rmc_panel rmc_panel_open(const rmc_regression *g,
                                       const rmc_glm *own, rmc_panel_shape l,
                                       size_t p, void *scratch, const double *x)
{
    const size_t width = g->design.width;
    double *room = rmc_panel_room(own, width, scratch, p);
    rmc_panel panel = {.tally = room};

    panel.residual = panel.tally + rmc_tally_size(own);
    panel.slope = panel.residual + RMC_CELLS;
    panel.b = panel.slope + RMC_WIDE;
    panel.sum = panel.b + RMC_WIDE;
    panel.x = panel.sum + width * RMC_WIDE;
    for (double *at = room; at < panel.sum + width * l.columns; at++) {
        *at = 0.0;
    }
    rmc_pack_lanes(g, l.ld, l.n - p * l.columns, l.columns, x + p * l.columns,
                   panel.b, panel.x);
    return panel;
}

/* ---- lp and its gradient -------------------------------------------------- */

/* z of some blocks, without intercepts yet, becomes d lp / dz. */
RMC_INLINED void rmc_glm_judge(const rmc_regression *g, const rmc_glm *own,
                               size_t columns, const rmc_answers *is,
                               double *restrict z, const rmc_panel *p)
{
    const size_t cells = RMC_ROWS * columns, all = is->blocks * cells;

    for (size_t j = 0; g->has_intercept && j < all; j++) {
        z[j] += p->b[j % columns];
    }
    own->judge(columns, is, z, p->tally);
    for (size_t j = 0; g->has_intercept && j < all; j++) {
        p->residual[j % cells] += z[j];
    }
}

RMC_INLINED void rmc_glm_add(const rmc_regression *g, const rmc_glm *own,
                             size_t columns, rmc_tile *tile,
                             const rmc_answers *is, const rmc_panel *p)
{
    const size_t width = g->design.width, cells = RMC_ROWS * columns;
    _Alignas(RMC_LINE) double z[RMC_TILE * RMC_CELLS];

    for (size_t j = 0; j < tile->n; j++) {
        rmc_times(&tile->block[j], width, columns, p->x, z + j * cells);
    }
    rmc_glm_judge(g, own, columns, is, z, p);
    for (size_t j = 0; j < tile->n; j++) {
        rmc_add(&tile->block[j], width, columns, z + j * cells, p->sum);
    }
}

#ifdef RMC_HAS_PAIRS
/* The same for panels p[0] and p[1]. */
RMC_INLINED void rmc_glm_add_pair(const rmc_regression *g, const rmc_glm *own,
                                  rmc_tile *tile, const rmc_answers *is,
                                  const rmc_panel *p)
{
    const size_t width = g->design.width;
    const size_t apart = (size_t)(p[1].x - p[0].x); /* of sums, too */
    _Alignas(RMC_LINE) double z[2 * RMC_APART];

    for (size_t j = 0; j < tile->n; j++) {
        rmc_times_pair(&tile->block[j], width, p->x, apart, z + j * RMC_CELLS);
    }
    for (size_t q = 0; q < 2; q++) {
        rmc_glm_judge(g, own, RMC_WIDE, is, z + q * RMC_APART, &p[q]);
    }
    for (size_t j = 0; j < tile->n; j++) {
        rmc_add_pair(&tile->block[j], width, z + j * RMC_CELLS, p->sum, apart);
    }
}
#endif

/* All panels. */
RMC_INLINED void rmc_glm_add_all(const rmc_regression *g, const rmc_glm *own,
                                 size_t columns, size_t panels, rmc_tile *tile,
                                 const rmc_answers *is, const rmc_panel *panel)
{
    const size_t turns = rmc_turns(panels);
    size_t p = 0;

#ifdef RMC_HAS_PAIRS
    for (; p + 1 < panels; p += 2) {
        rmc_glm_add_pair(g, own, tile, is, &panel[p]);
        rmc_tile_turn(tile, turns);
    }
#endif
    for (; p < panels; p++) {
        rmc_glm_add(g, own, columns, tile, is, &panel[p]);
        if (turns > 1) {
            rmc_tile_turn(tile, turns);
        }
    }
}

RMC_INLINED void rmc_glm_add_tiles(const rmc_regression *g, const rmc_glm *own,
                                   size_t columns, size_t panels,
                                   const relmc_rows *rows,
                                   const rmc_panel *panel)
{
    double *room =
        rmc_panel_room(own, g->design.width, rows->scratch, RMC_PANELS);
    rmc_tile tile;
    rmc_answers is;

    for (size_t first = 0; first < rows->n; first += tile.n * RMC_ROWS) {
        rmc_tile_open(&tile, &g->design, rows, first, columns,
                      rmc_turns(panels), room);
        is.blocks = tile.n;
        is.n = 0;
        for (size_t j = 0; j < tile.n; j++) {
            is.n += tile.block[j].n;
            for (size_t r = 0; r < RMC_ROWS; r++) {
                is.y[j * RMC_ROWS + r] =
                    own->answer(g->y[tile.block[j].index[r]]);
            }
        }
        rmc_glm_add_all(g, own, columns, panels, &tile, &is, panel);
    }
}

/* The same for panels and few coordinates. */
RMC_INLINED void rmc_glm_add_strips(const rmc_regression *g, const rmc_glm *own,
                                    size_t panels, const relmc_rows *rows,
                                    const rmc_panel *panel)
{
    const size_t width = g->design.width;
    double *room = rmc_panel_room(own, width, rows->scratch, RMC_PANELS);
    _Alignas(RMC_LINE) double z[RMC_TILE * RMC_CELLS];
    rmc_strip strip;
    rmc_answers is;

    for (size_t first = 0; first < rows->n; first += strip.n) {
        rmc_strip_open(&strip, &g->design, rows, first, room);
        is.blocks = strip.rows / RMC_ROWS;
        is.n = strip.n;
        for (size_t r = 0; r < strip.rows; r++) {
            is.y[r] = own->answer(g->y[rmc_row_at(rows, first, strip.n, r)]);
        }
        for (size_t p = 0; p < panels; p++) {
            rmc_strip_times(&strip, width, panel[p].x, z);
            rmc_glm_judge(g, own, RMC_WIDE, &is, z, &panel[p]);
            rmc_strip_add(&strip, width, z, panel[p].sum);
        }
    }
}

/* One pass over the rows for at most RMC_LANES lanes. */
RMC_INLINED void rmc_glm_pass(const rmc_regression *g, const rmc_glm *own,
                              rmc_panel_shape l, const double *x,
                              const relmc_rows *rows, double *grad, double *lp)
{
    const size_t panels = (l.n + l.columns - 1) / l.columns;
    rmc_panel panel[RMC_PANELS];

    for (size_t p = 0; p < panels; p++) {
        panel[p] = rmc_panel_open(g, own, l, p, rows->scratch, x);
    }
    if (l.columns == 1) {
        rmc_glm_add_tiles(g, own, 1, 1, rows, panel);
    } else if (g->design.width <= RMC_FEW) {
        rmc_glm_add_strips(g, own, panels, rows, panel);
    } else {
        rmc_glm_add_tiles(g, own, RMC_WIDE, panels, rows, panel);
    }
    for (size_t p = 0; p < panels; p++) {
        const size_t at = p * l.columns, left = l.n - at;
        const rmc_panel_shape lanes = {left < l.columns ? left : l.columns,
                                       l.ld, l.columns};

        for (size_t k = 0; k < lanes.n; k++) {
            panel[p].slope[k] = rmc_fold(panel[p].residual, l.columns, k);
        }
        own->finish(g, lanes, rows, &panel[p], x + at, grad + at, lp + at);
    }
}

/* ---- predictions ---------------------------------------------------------- */

static inline relmc_status rmc_glm_predict(const rmc_regression *g,
                                           const rmc_glm *own, const double *x,
                                           const relmc_data *data,
                                           void *scratch, double *out,
                                           relmc_error *err)
{
    const relmc_rows rows = {NULL, data->n_rows, 1.0, scratch};
    const rmc_design design = rmc_design_of(data);
    const relmc_status status = rmc_regression_match(g, own->name, data, err);

    if (status) {
        return status;
    }
    double *room = rmc_panel_room(own, design.width, scratch, RMC_PANELS);
    const double b = g->has_intercept ? x[0] : 0.0;
    for (size_t first = 0; first < rows.n; first += RMC_ROWS) {
        rmc_block block;
        double z[RMC_ROWS];

        rmc_block_open(&block, &design, &rows, first, RMC_SOON, room);
        rmc_times_one(&block, design.width, x + (g->has_intercept ? 1 : 0), z);
        for (size_t r = 0; r < block.n; r++) {
            own->predict(g, x, z[r] + b, out + 2 * (first + r));
        }
    }
    return RELMC_OK;
}

#endif
