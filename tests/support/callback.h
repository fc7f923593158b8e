/*
 * callback.h - targets from one callback that has the dimension among its arguments:
 * one function for targets of any dimension.
 */
#ifndef TEST_CALLBACK_H
#define TEST_CALLBACK_H

#include "relmc.h"

#include <assert.h>

typedef int callback_point(size_t dim, const double *x, double *grad,
                           double *lp, void *ctx);
typedef int callback_rows(size_t dim, const double *x, const uint32_t *rows,
                          size_t n_rows, double scale, double *grad, double *lp,
                          void *ctx);
typedef int callback_lanes(size_t dim, size_t lanes, size_t ld, const double *x,
                           double *grad, double *lp, void *ctx);

/* In a static table, so that tests that count allocations see those of relmc only. */
struct callback {
    int is_taken;
    size_t dim;
    callback_point *point;
    callback_rows *rows;
    callback_lanes *lanes;
    void *ctx;
};

static inline struct callback *callback_take(void)
{
    static struct callback table[64];
    size_t i = 0;

    while (i < sizeof table / sizeof *table && table[i].is_taken) {
        i++;
    }
    assert(i < sizeof table / sizeof *table);
    return &table[i];
}

static inline void callback_release(void *ctx)
{
    ((struct callback *)ctx)->is_taken = 0;
}

static inline int callback_on_point(void *ctx, const double *x, double *lp,
                                    double *grad, relmc_error *err)
{
    const struct callback *c = ctx;

    (void)err;
    return c->point(c->dim, x, grad, lp, c->ctx);
}

static inline int callback_on_rows(void *ctx, const double *x,
                                   const uint32_t *rows, size_t n, double scale,
                                   double *lp, double *grad, relmc_error *err)
{
    const struct callback *c = ctx;

    (void)err;
    return c->rows(c->dim, x, rows, n, scale, grad, lp, c->ctx);
}

static inline int callback_on_lanes(void *ctx, size_t n, size_t ld,
                                    const double *x, double *lp, double *grad,
                                    relmc_error *err)
{
    const struct callback *c = ctx;

    (void)err;
    return c->lanes(c->dim, n, ld, x, grad, lp, c->ctx);
}

static inline relmc_status callback_create(relmc_target **out,
                                           const struct callback *like,
                                           size_t n_data, relmc_error *err)
{
    struct callback *c = callback_take();
    const relmc_density density = {
        .size = sizeof density,
        .dim = like->dim,
        .n_data = n_data,
        .ctx = c,
        .point = like->point ? callback_on_point : NULL,
        .rows = like->rows ? callback_on_rows : NULL,
        .lanes = like->lanes ? callback_on_lanes : NULL,
        .release = callback_release,
    };
    const relmc_status status = relmc_target_create(out, &density, err);

    if (!status) {
        *c = *like;
        c->is_taken = 1;
    }
    return status;
}

static inline relmc_status target_of_point(relmc_target **out, size_t dim,
                                           callback_point *fn, void *ctx,
                                           relmc_error *err)
{
    const struct callback c = {.dim = dim, .point = fn, .ctx = ctx};

    return callback_create(out, &c, 0, err);
}

static inline relmc_status target_of_rows(relmc_target **out, size_t dim,
                                          size_t n_data, callback_rows *fn,
                                          void *ctx, relmc_error *err)
{
    const struct callback c = {.dim = dim, .rows = fn, .ctx = ctx};

    return callback_create(out, &c, n_data, err);
}

static inline relmc_status target_of_lanes(relmc_target **out, size_t dim,
                                           callback_lanes *fn, void *ctx,
                                           relmc_error *err)
{
    const struct callback c = {.dim = dim, .lanes = fn, .ctx = ctx};

    return callback_create(out, &c, 0, err);
}

#endif
