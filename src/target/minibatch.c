/*
 * minibatch.c - minibatches: which rows of the data the next gradient sees.
 *
 *   [minibatch]        g~ = grad log prior + (N/n) sum over the rows of a batch
 *   [control-variate]  g~(x) - g~(c) + g(c) with the same rows at a fixed point c:
 *                      unbiased, too, and almost without noise near c.
 *
 * In epochs a lane goes through a permutation of the rows, which is shuffled
 * afresh, batch by batch; rows that are left over when less than a batch remains
 * are dropped, and the next epoch begins.  A fresh batch is the first of an epoch
 * that ends with it.
 */
#include "target/target.h"

#include <assert.h>

/* An unbiased integer below n: Lemire (2019). */
static uint32_t below(relmc_stream *stream, uint32_t n)
{
    const uint32_t least = -n % n;
    uint64_t product;

    do {
        product = (relmc_bits(stream) >> 32) * n;
    } while ((uint32_t)product < least);
    return (uint32_t)(product >> 32);
}

/* One more batch at *at of `order`: Fisher and Yates, as far as it is needed. */
static void shuffle_next(relmc_batch *b, relmc_stream *stream, uint32_t *order,
                         size_t *at)
{
    const size_t n = b->stride;

    *at += b->n_rows;
    if (b->is_fresh || *at + b->n_rows > n) {
        *at = 0;
    }
    for (size_t i = *at; i < *at + b->n_rows; i++) {
        const size_t j = i + below(stream, (uint32_t)(n - i));
        const uint32_t row = order[j];

        order[j] = order[i];
        order[i] = row;
    }
}

static void draw_next(const relmc_batch *b, relmc_stream *stream, size_t n_data,
                      uint32_t *order)
{
    for (size_t i = 0; i < b->n_rows; i++) {
        order[i] = below(stream, (uint32_t)n_data);
    }
}

static void next(relmc_system *sys, relmc_stream *stream, size_t k)
{
    relmc_batch *b = &sys->batch;
    uint32_t *order = b->order + k * b->stride;

    if (b->has_replacement) {
        draw_next(b, stream, sys->target.n_data, order);
    } else {
        shuffle_next(b, stream, order, &b->at[k]);
    }
}

void relmc_advance(relmc_system *sys)
{
    relmc_batch *b = &sys->batch;

    if (!b->n_rows) {
        return;
    }
    if (b->is_shared) {
        next(sys, &b->shared, 0);
        return;
    }
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (sys->lanes.busy[k]) {
            next(sys, &sys->lanes.streams[RELMC_FOR_BATCH][k], k);
        }
    }
}

relmc_rows rmc_batch_rows(const relmc_system *sys, size_t k)
{
    const relmc_batch *b = &sys->batch;
    const size_t owner = b->is_shared ? 0 : k;

    return b->n_rows ? (relmc_rows){b->order + owner * b->stride + b->at[owner],
                                    b->n_rows, b->scale, sys->target.scratch}
                     : (relmc_rows){NULL, sys->target.n_data, 1.0,
                                    sys->target.scratch};
}

relmc_status rmc_batch_open(relmc_system *sys, relmc_arena *arena,
                            const struct rmc_batch_plan *plan, relmc_error *err)
{
    relmc_batch *b = &sys->batch;
    const size_t n = sys->target.n_data, dim = sys->shape.dim;

    b->n_rows = plan->n_rows;
    b->scale = (double)n / (double)plan->n_rows;
    b->is_shared = plan->is_shared;
    b->has_replacement = plan->kind == RELMC_BATCH_REPLACE;
    b->is_fresh = plan->kind == RELMC_BATCH_FRESH;
    b->stride = b->has_replacement ? b->n_rows : n;
    const size_t owners = b->is_shared ? 1 : sys->shape.lanes;

    b->order = relmc_arena_get(arena, owners * b->stride * sizeof *b->order);
    b->at = relmc_arena_get(arena, owners * sizeof *b->at);
    b->shared = (relmc_stream){
        .seed = plan->seed, .chain = UINT32_MAX, .purpose = RELMC_FOR_BATCH};
    if (plan->center) {
        b->center = plan->center;
        b->center_grad = relmc_arena_get(arena, dim * sizeof(double));
        b->work = relmc_arena_get(arena, 2 * dim * sizeof(double));
    }
    const relmc_status status = relmc_arena_check(arena, err);
    for (size_t j = 0; !status && j < owners * b->stride; j++) {
        b->order[j] = (uint32_t)(j % b->stride);
    }
    for (size_t k = 0; !status && !b->has_replacement && k < owners; k++) {
        b->at[k] = n; /* the first advance begins an epoch */
    }
    return status;
}
