/*
 * regression.h - what regressions share: their parameters, their data, given or
 * made up, the intercept and the prior, and lanes as panels of design.h.
 */
#ifndef RMC_REGRESSION_H
#define RMC_REGRESSION_H

#include "model/regression/design.h"

#include <stdio.h>

/* A model begins with one of these, so that `self` points to it.  Coordinates
 * are the intercept, if there is one, then the coefficients. */
typedef struct rmc_regression {
    double dim, n, sd, effect, seed, intercept, intercept_sd; /* parameters */
    rmc_design design;
    const double *y; /* the response: design.n numbers, borrowed */
    int has_intercept;
    size_t size;                     /* coordinates: width + has_intercept */
    double weight, intercept_weight; /* 1 / sd^2 of their priors */
} rmc_regression;

/* ---- parameters ----------------------------------------------------------- */

#define RMC_PARAM(member, help, low, high, standard, what)                  \
    {                                                                       \
        .name = #member, .doc = (help), .min = (low), .max = (high),        \
        .fallback = (standard), .offset = offsetof(rmc_regression, member), \
        .kind = (what)                                                      \
    }

/* `each`, "" or " per class", is what has coefficients of its own. */
#define RMC_PARAMS_OF_SIZE(rows, each)                        \
    RMC_PARAM(dim,                                            \
              "coefficients" each                             \
              " of made-up data, the first is the intercept", \
              1, 1e4, 3, RELMC_INTEGER),                      \
        RMC_PARAM(n, "rows of made-up data", 1, 1e6, rows, RELMC_INTEGER)

#define RMC_PARAM_SD                                                      \
    RMC_PARAM(sd, "standard deviation of the normal prior", 1e-3, 1e6, 5, \
              RELMC_REAL)

#define RMC_PARAMS_OF_TRUTH(each)                                             \
    RMC_PARAM(effect, "size of the coefficients that made the data", 0, 100,  \
              1, RELMC_REAL),                                                 \
        RMC_PARAM(seed, "of made-up data", 0, 1e15, 1, RELMC_INTEGER),        \
        RMC_PARAM(intercept, "1: given data get an intercept" each, 0, 1, 0,  \
                  RELMC_INTEGER),                                             \
        RMC_PARAM(intercept_sd, "standard deviation of its prior", 1e-3, 1e6, \
                  5, RELMC_REAL)

/* ---- data ----------------------------------------------------------------- */

static inline rmc_design rmc_design_of(const relmc_data *data)
{
    return (rmc_design){data->x, data->x_float, data->n_rows, data->n_columns};
}

/* Data, and the priors; the model may have more coordinates than these. */
static inline void rmc_regression_set(rmc_regression *g, rmc_design design,
                                      const double *y, int has_intercept)
{
    g->design = design;
    g->y = y;
    g->has_intercept = has_intercept;
    g->size = design.width + (has_intercept ? 1 : 0);
    g->weight = 1.0 / (g->sd * g->sd);
    g->intercept_weight = 1.0 / (g->intercept_sd * g->intercept_sd);
}

static inline void rmc_regression_bind(rmc_regression *g,
                                       const relmc_data *data)
{
    rmc_regression_set(g, rmc_design_of(data), data->y, g->intercept > 0.0);
    g->dim = (double)g->size;
    g->n = (double)data->n_rows;
}

/* Rows to predict; y is not looked at. */
static inline relmc_status rmc_regression_match(const rmc_regression *g,
                                                const char *name,
                                                const relmc_data *data,
                                                relmc_error *err)
{
    if (!data->x == !data->x_float) {
        return rmc_fail(err, RELMC_EINVAL, "%s: give x or x_float", name);
    }
    if (data->n_columns != g->design.width) {
        return rmc_fail(err, RELMC_EINVAL,
                        "%s: the model has %zu covariates, the rows to predict "
                        "%zu",
                        name, g->design.width, data->n_columns);
    }
    return RELMC_OK;
}

static inline size_t rmc_regression_name(const void *self, size_t i, char *out,
                                         size_t room)
{
    const rmc_regression *g = self;

    if (g->has_intercept && i == 0) {
        return (size_t)snprintf(out, room, "intercept");
    }
    return (size_t)snprintf(out, room, "beta.%zu",
                            i + (g->has_intercept ? 0 : 1));
}

/* 1 / sd^2 of the prior of coordinate i */
static inline double rmc_prior_weight(const rmc_regression *g, size_t i)
{
    return g->has_intercept && i == 0 ? g->intercept_weight : g->weight;
}

/* ---- made-up data: correlated covariates of unequal scale ----------------- */

/* s_i = 1/9 .. 9; the intercept has 1 */
static inline double rmc_made_up_unit(size_t i)
{
    static const double units[] = {1.0 / 9, 1.0 / 3, 1.0, 3.0, 9.0};

    return i == 0 ? 1.0 : units[i % 5];
}

static inline relmc_stream rmc_made_up_stream(double seed)
{
    return (relmc_stream){.seed = (uint64_t)seed,
                          .chain = UINT32_MAX,
                          .purpose = RELMC_FOR_MODEL};
}

/* a_1 = 1, a_i = s_i (0.6 u + 0.8 v_i) with u, v normal */
static inline void rmc_make_up_row(relmc_stream *stream, size_t dim, double *a)
{
    const double common = relmc_normal(stream);

    for (size_t i = 0; i < dim; i++) {
        const double own = relmc_normal(stream);

        a[i] = i == 0 ? 1.0 : rmc_made_up_unit(i) * (0.6 * common + 0.8 * own);
    }
}

/* n coefficients that make data: effect N(0, 1) / s_i */
static inline void rmc_make_up_truth(relmc_stream *stream, size_t n,
                                     double effect, double *truth)
{
    for (size_t i = 0; i < n; i++) {
        truth[i] = effect * relmc_normal(stream) / rmc_made_up_unit(i);
    }
}

static inline double rmc_made_up_dot(size_t n, const double *a,
                                     const double *truth)
{
    double z = 0.0;

    for (size_t i = 0; i < n; i++) {
        z += a[i] * truth[i];
    }
    return z;
}

/* The response of a row with covariates a. */
typedef double rmc_respond(const rmc_regression *g, relmc_stream *stream,
                           const double *a, const double *truth);

/* `sets` of coefficients, one after the other in `truth`, make the data. */
static inline relmc_status rmc_make_up(rmc_regression *g, const char *name,
                                       size_t sets, rmc_respond *respond,
                                       relmc_arena *arena, relmc_error *err)
{
    const size_t dim = (size_t)g->dim, n = (size_t)g->n;

    if (g->intercept > 0.0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "%s: intercept must be 0 without data of your own: "
                        "those made up have one",
                        name);
    }
    double *x = relmc_arena_get(arena, n * dim * sizeof(double));
    double *y = relmc_arena_get(arena, n * sizeof(double));
    double *truth = relmc_arena_get(arena, sets * dim * sizeof(double));
    const relmc_status status = relmc_arena_check(arena, err);
    if (status) {
        return status;
    }
    relmc_stream stream = rmc_made_up_stream(g->seed);
    for (size_t c = 0; c < sets; c++) {
        rmc_make_up_truth(&stream, dim, g->effect, truth + c * dim);
    }
    for (size_t r = 0; r < n; r++) {
        rmc_make_up_row(&stream, dim, x + r * dim);
        y[r] = respond(g, &stream, x + r * dim, truth);
    }
    rmc_regression_set(g, (rmc_design){x, NULL, n, dim}, y, 0);
    return RELMC_OK;
}

/* ---- lanes ---------------------------------------------------------------- */

/* n lanes whose coordinates are ld apart, and `columns`, 1 or 8, of a panel. */
typedef struct rmc_panel_shape {
    size_t n, ld, columns;
} rmc_panel_shape;

/* `columns` lanes, 1 or 8, of coordinates that are ld apart; what is missing
 * becomes 0. */
static inline void rmc_pack(size_t n, size_t ld, size_t lanes, size_t columns,
                            const double *restrict x, double *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < columns; k++) {
            to[i * columns + k] = k < lanes ? x[i * ld + k] : 0.0;
        }
    }
}

/* The same with the intercepts, or zeros, apart. */
static inline void rmc_pack_lanes(const rmc_regression *g, size_t ld,
                                  size_t lanes, size_t columns,
                                  const double *restrict x, double *restrict b,
                                  double *restrict to)
{
    for (size_t k = 0; k < columns; k++) {
        b[k] = g->has_intercept && k < lanes ? x[k] : 0.0;
    }
    rmc_pack(g->design.width, ld, lanes, columns,
             x + (g->has_intercept ? ld : 0), to);
}

/* Sums over rows are kept for each of the 8 places in a block; here they meet. */
static inline double rmc_fold(const double *s, size_t columns, size_t k)
{
    const double *at = s + k;
    double sum[RMC_ROWS];

    for (size_t r = 0; r < RMC_ROWS; r++) {
        sum[r] = at[r * columns];
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) +
           ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/* lp and grad of the prior of `g->size` coordinates at x, plus `scale` times the
 * sums over rows (of the intercept: folded already).  `lp` is added to. */
static inline void rmc_finish(const rmc_regression *g, rmc_panel_shape l,
                              double scale, const double *restrict x,
                              const double *restrict intercept,
                              const double *restrict sum, double *restrict grad,
                              double *restrict lp)
{
    for (size_t i = 0; i < g->size; i++) {
        const double w = rmc_prior_weight(g, i);
        const double *s = g->has_intercept
                              ? i ? sum + (i - 1) * l.columns : intercept
                              : sum + i * l.columns;

        for (size_t k = 0; k < l.n; k++) {
            const double b = x[i * l.ld + k];

            grad[i * l.ld + k] = rmc_fma(scale, s[k], -w * b);
            lp[k] = rmc_fma(-0.5 * w * b, b, lp[k]);
        }
    }
}

/* Of the lanes of l, all in one pass over the rows. */
typedef void rmc_pass(const rmc_regression *g, rmc_panel_shape l,
                      const double *x, const relmc_rows *rows, double *grad,
                      double *lp);

/* One lane alone, or all of them, `most` at a time, in panels. */
static inline int rmc_pass_lanes(const rmc_regression *g, rmc_pass *pass,
                                 size_t most, const relmc_shape *s,
                                 const double *x, const relmc_rows *rows,
                                 double *grad, double *lp)
{
    const size_t columns = s->ld == 1 ? 1 : RMC_WIDE;

    for (size_t k = 0; k < s->ld; k += most) {
        const size_t left = s->ld - k;

        pass(g, (rmc_panel_shape){left < most ? left : most, s->ld, columns},
             x + k, rows, grad + k, lp + k);
    }
    return RELMC_OK;
}

#endif
