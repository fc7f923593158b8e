/*
 * regression.c - data of regressions, given or made up, their intercept and names.
 */
#include "model/regression/regression.h"

#include <stdio.h>

/* ---- data ----------------------------------------------------------------- */

rmc_design rmc_design_of(const relmc_data *data)
{
    return (rmc_design){data->x, data->x_float, data->n_rows, data->n_columns};
}

/* Data, and the priors; the model may have more coordinates than these. */
static void set(rmc_regression *g, rmc_design design, const double *y,
                int has_intercept)
{
    g->design = design;
    g->y = y;
    g->has_intercept = has_intercept;
    g->size = design.width + (has_intercept ? 1 : 0);
    g->weight = 1.0 / (g->sd * g->sd);
    g->intercept_weight = 1.0 / (g->intercept_sd * g->intercept_sd);
}

void rmc_regression_bind(rmc_regression *g, const relmc_data *data)
{
    set(g, rmc_design_of(data), data->y, g->intercept > 0.0);
    g->dim = (double)g->size;
    g->n = (double)data->n_rows;
}

relmc_status rmc_regression_match(const rmc_regression *g, const char *name,
                                  const relmc_data *data, relmc_error *err)
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

size_t rmc_regression_name(const void *self, size_t i, char *out, size_t room)
{
    const rmc_regression *g = self;

    if (g->has_intercept && i == 0) {
        return (size_t)snprintf(out, room, "intercept");
    }
    return (size_t)snprintf(out, room, "beta.%zu",
                            i + (g->has_intercept ? 0 : 1));
}

/* ---- made-up data: correlated covariates of unequal scale ----------------- */

/* s_i = 1/9 .. 9; the intercept has 1 */
static double unit_of(size_t i)
{
    static const double units[] = {1.0 / 9, 1.0 / 3, 1.0, 3.0, 9.0};

    return i == 0 ? 1.0 : units[i % 5];
}

static relmc_stream stream_of(double seed)
{
    return (relmc_stream){.seed = (uint64_t)seed,
                          .chain = UINT32_MAX,
                          .purpose = RELMC_FOR_MODEL};
}

/* a_1 = 1, a_i = s_i (0.6 u + 0.8 v_i) with u, v normal */
static void make_up_row(relmc_stream *stream, size_t dim, double *a)
{
    const double common = relmc_normal(stream);

    for (size_t i = 0; i < dim; i++) {
        const double own = relmc_normal(stream);

        a[i] = i == 0 ? 1.0 : unit_of(i) * (0.6 * common + 0.8 * own);
    }
}

/* n coefficients that make data: effect N(0, 1) / s_i */
static void make_up_truth(relmc_stream *stream, size_t n, double effect,
                          double *truth)
{
    for (size_t i = 0; i < n; i++) {
        truth[i] = effect * relmc_normal(stream) / unit_of(i);
    }
}

double rmc_made_up_dot(size_t n, const double *a, const double *truth)
{
    double z = 0.0;

    for (size_t i = 0; i < n; i++) {
        z += a[i] * truth[i];
    }
    return z;
}

relmc_status rmc_make_up(rmc_regression *g, const char *name, size_t sets,
                         rmc_respond *respond, relmc_arena *arena,
                         relmc_error *err)
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
    relmc_stream stream = stream_of(g->seed);
    for (size_t c = 0; c < sets; c++) {
        make_up_truth(&stream, dim, g->effect, truth + c * dim);
    }
    for (size_t r = 0; r < n; r++) {
        make_up_row(&stream, dim, x + r * dim);
        y[r] = respond(g, &stream, x + r * dim, truth);
    }
    set(g, (rmc_design){x, NULL, n, dim}, y, 0);
    return RELMC_OK;
}
