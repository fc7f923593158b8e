/*
 * design_inline.h - rows of data times coefficients, and residuals times rows: all that
 * regressions do with their data.  In a header, so that each model gets kernels for its
 * number of columns, on each code path.
 *
 * Data are taken in blocks of 8 rows.  A kernel multiplies a block with one
 * column of coefficients, or with a panel of 8 of them: as many lanes, or
 * classes, share one pass over the data.  In both, and so for any number of
 * lanes,
 *
 *   [dot-order]  a.x is (s_0 + s_1) + (s_2 + s_3), s_c the sum over the
 *                coordinates c, c + 4, c + 8, ... in this order, and what rows
 *                add to a coordinate is added row by row.
 *
 * Sums with a panel fit into the registers of AVX2, and these loops also fetch the
 * next rows.  One column is multiplied with rows in the order of memory: processors
 * fetch these ahead by themselves, and better.
 */
#ifndef RMC_DESIGN_H
#define RMC_DESIGN_H

#include "model/regression/regression.h"
#include "model/regression/vec_inline.h"

enum {
    RMC_ROWS = 8,                    /* of a block */
    RMC_SOON = 2 * RMC_ROWS,         /* rows: how far panels look ahead */
    RMC_WIDE = 8,                    /* columns of a panel */
    RMC_CELLS = RMC_ROWS * RMC_WIDE, /* of a block times a panel */
#ifdef __AVX512F__
    RMC_PASS = 8, /* rows whose sums with a panel fit into registers */
#else
    RMC_PASS = 4,
#endif
    RMC_LINE = 64, /* bytes */
    RMC_TILE = 2,  /* blocks that a panel takes before the next one does */
    RMC_TILE_ROWS = RMC_TILE * RMC_ROWS,
    RMC_LONG = 64 /* coordinates, and more, are many */
};

/* Inlined into their callers, accumulators would not stay in registers.  Aligned,
 * so that their speed does not depend on the code before them. */
#define RMC_KERNEL static __attribute__((noinline, aligned(64)))

/* Inlined into the models, so that `own` and the number of columns are constants
 * and loops over them have no calls inside. */
#define RMC_INLINED static inline __attribute__((always_inline))

/* Of loops.  RMC_UNROLL: fewer branches; more of it, and compilers run out of
 * registers.  RMC_EACH: none is left.  RMC_KEEP: gcc would unroll it, and find
 * no vectors then.  What clang makes of them is slower than the plain loop. */
#ifdef __clang__
#define RMC_UNROLL
#define RMC_EACH
#define RMC_KEEP
#else
#define RMC_UNROLL _Pragma("GCC unroll 2")
#define RMC_EACH   _Pragma("GCC unroll 16")
#define RMC_KEEP   _Pragma("GCC unroll 1")
#endif

/* ---- blocks of rows ------------------------------------------------------- */

/* Number of row r of those from `first` on, of which n count; the others are
 * copies of the first. */
static inline size_t rmc_row_at(const relmc_rows *rows, size_t first, size_t n,
                                size_t r)
{
    const size_t j = first + (r < n ? r : 0);

    return rows->row ? rows->row[j] : j;
}

typedef struct rmc_block {
    size_t n;                    /* rows that count; the others are copies */
    const double *row[RMC_ROWS]; /* of the data */
    size_t index[RMC_ROWS];      /* their numbers */
    int is_scattered;            /* they are not one after the other */
    const char *next[RMC_ROWS];  /* rows that come later, of so many ... */
    size_t bytes;                /* ... bytes, which panels fetch ... */
    size_t step;                 /* ... in such steps */
} rmc_block;

/* `room` has RMC_ROWS x width numbers, for data in single precision. */
static inline void rmc_block_open(rmc_block *b, const rmc_design *x,
                                  const relmc_rows *rows, size_t first,
                                  size_t distance, double *restrict room)
{
    const char *base = x->x ? (const char *)x->x : (const char *)x->x_float;
    const size_t size = x->x ? sizeof(double) : sizeof(float);

    b->n = rows->n - first < RMC_ROWS ? rows->n - first : RMC_ROWS;
    for (size_t r = 0; r < RMC_ROWS; r++) {
        b->index[r] = rmc_row_at(rows, first, b->n, r);
        if (x->x) {
            b->row[r] = x->x + b->index[r] * x->width;
            continue;
        }
        const float *restrict from = x->x_float + b->index[r] * x->width;
        double *restrict to = room + r * x->width;
        for (size_t i = 0; i < x->width; i++) {
            to[i] = (double)from[i];
        }
        b->row[r] = to;
    }
    b->is_scattered = rows->row != NULL;
    b->bytes = x->width * size;
    b->step = RMC_PASS * size;
    for (size_t r = 0; r < RMC_ROWS; r++) {
        const size_t wanted = first + distance + r;
        const size_t j = wanted < rows->n ? wanted : first;

        b->next[r] = base + (rows->row ? rows->row[j] : j) * b->bytes;
    }
}

/* Blocks at work at the same time: one of them for a single lane. */
typedef struct rmc_tile {
    size_t n;
    rmc_block block[RMC_TILE];
} rmc_tile;

/* `room` has RMC_TILE_ROWS x width numbers.  Panels take the tile in `turns` turns. */
static inline void rmc_tile_open(rmc_tile *t, const rmc_design *x,
                                 const relmc_rows *rows, size_t first,
                                 size_t columns, size_t turns,
                                 double *restrict room)
{
    const size_t most = columns == 1 ? 1 : RMC_TILE;
    const size_t distance = columns == 1 ? 1 : RMC_TILE;

    for (t->n = 0; t->n < most && first < rows->n; t->n++) {
        rmc_block_open(&t->block[t->n], x, rows, first, distance * RMC_ROWS,
                       room + t->n * RMC_ROWS * x->width);
        if (turns > 1) { /* each fetches its part */
            t->block[t->n].step /= turns;
        }
        first += RMC_ROWS;
    }
}

/* The next panels fetch another part of the rows that come later. */
static inline void rmc_tile_turn(rmc_tile *t, size_t turns)
{
    for (size_t j = 0; j < t->n; j++) {
        rmc_block *b = &t->block[j];

        for (size_t r = 0; r < RMC_ROWS; r++) {
            b->next[r] += b->bytes / turns;
        }
    }
}

/* ---- one column ----------------------------------------------------------- */

/* What is left when the coordinates are no multiple of four. */
static inline void rmc_dot_rest(const rmc_block *b, size_t whole, size_t width,
                                const double *restrict x, double *restrict part)
{
    for (size_t i = whole; i < width; i++) {
        for (size_t r = 0; r < RMC_ROWS; r++) {
            double *s = &part[4 * r + i - whole];

            *s = rmc_fma(b->row[r][i], x[i], *s);
        }
    }
}

/* Nobody foresees where a row is that does not follow the one before. */
static inline void rmc_fetch_row(const rmc_block *b, size_t r)
{
    for (size_t at = 0; b->is_scattered && at < b->bytes; at += RMC_LINE) {
        __builtin_prefetch(b->next[r] + at, 0, 2);
    }
}

/* part[4 r + c]: the four sums of row r; [dot-order] */
RMC_KERNEL void rmc_dot_one(const rmc_block *b, size_t width,
                            const double *restrict x, double *restrict part)
{
    const size_t whole = width / 4 * 4;

    for (size_t r = 0; r < RMC_ROWS; r++) {
        const double *row = b->row[r];
        rmc_four s = rmc_four_all(0.0);

        rmc_fetch_row(b, r);
        for (size_t i = 0; i < whole; i += 4) {
            s = rmc_four_fma(rmc_four_at(row + i), rmc_four_at(x + i), s);
        }
        rmc_four_put(part + 4 * r, s);
    }
    rmc_dot_rest(b, whole, width, x, part);
}

/* z[r] = a_r.x */
static inline void rmc_times_one(const rmc_block *b, size_t width,
                                 const double *restrict x, double *restrict z)
{
    _Alignas(RMC_LINE) double s[4 * RMC_ROWS];

    rmc_dot_one(b, width, x, s);
    rmc_eight_put(z, rmc_eight_fold(s));
}

/* sum += z_r a_r, row by row */
RMC_KERNEL void rmc_add_one(const rmc_block *b, size_t width,
                            const double *restrict z, double *restrict sum)
{
    const double *restrict r0 = b->row[0], *restrict r1 = b->row[1];
    const double *restrict r2 = b->row[2], *restrict r3 = b->row[3];
    const double *restrict r4 = b->row[4], *restrict r5 = b->row[5];
    const double *restrict r6 = b->row[6], *restrict r7 = b->row[7];
    const double z0 = z[0], z1 = z[1], z2 = z[2], z3 = z[3];
    const double z4 = z[4], z5 = z[5], z6 = z[6], z7 = z[7];

    for (size_t i = 0; i < width; i++) {
        double s = sum[i];

        s = rmc_fma(r0[i], z0, s);
        s = rmc_fma(r1[i], z1, s);
        s = rmc_fma(r2[i], z2, s);
        s = rmc_fma(r3[i], z3, s);
        s = rmc_fma(r4[i], z4, s);
        s = rmc_fma(r5[i], z5, s);
        s = rmc_fma(r6[i], z6, s);
        sum[i] = rmc_fma(r7[i], z7, s);
    }
}

/* ---- a panel: x[8 i + k] is coordinate i of column k ---------------------- */

/* Rows that come later.  Every line is asked for twice, with AVX2 because steps are
 * half a line: processors that wait for many lines do not heed a request for one
 * more. */
RMC_INLINED void rmc_fetch(const char *later)
{
    __builtin_prefetch(later, 0, 2);
    if (RMC_PASS > 4) {
        __builtin_prefetch(later + RMC_LINE, 0, 2);
    }
}

/* Sum number c, of [dot-order], of RMC_PASS rows.  Rows c, c + 4, ... of those that
 * come next are fetched one after the other. */
#define RMC_SUM(name)                                                        \
    RMC_INLINED void name(size_t c, const double *const *row, size_t width,  \
                          const double *restrict x, const char *const *next, \
                          size_t bytes, rmc_eight *restrict s)               \
    {                                                                        \
        size_t i = c, end = RMC_PASS > 4 ? width / 2 : width;                \
                                                                             \
        RMC_EACH                                                             \
        for (size_t r = 0; r < RMC_PASS; r++) {                              \
            s[r] = rmc_eight_all(0.0);                                       \
        }                                                                    \
        for (size_t n = c; n < RMC_PASS; n += 4) {                           \
            const char *later = next[n];                                     \
                                                                             \
            RMC_MANY                                                         \
            for (; i < end; i += 4) {                                        \
                const rmc_eight v = rmc_eight_hold(x + i * RMC_WIDE);        \
                                                                             \
                rmc_fetch(later);                                            \
                later += bytes;                                              \
                RMC_EACH                                                     \
                for (size_t r = 0; r < RMC_PASS; r++) {                      \
                    s[r] = rmc_eight_fma(rmc_eight_all(row[r][i]), v, s[r]); \
                }                                                            \
            }                                                                \
            end = width;                                                     \
        }                                                                    \
    }

#define RMC_MANY
RMC_SUM(rmc_sum_wide)
#undef RMC_MANY
#define RMC_MANY RMC_UNROLL /* rows may come from memory */
RMC_SUM(rmc_sum_long)
#undef RMC_MANY
#undef RMC_SUM

RMC_INLINED void rmc_sums_put(double *restrict to, const rmc_eight *restrict s)
{
    RMC_EACH
    for (size_t r = 0; r < RMC_PASS; r++) {
        rmc_eight_put(to + r * RMC_WIDE, s[r]);
    }
}

/* What was put there is added to. */
RMC_INLINED void rmc_sums_meet(const double *restrict at, rmc_eight *restrict s)
{
    RMC_EACH
    for (size_t r = 0; r < RMC_PASS; r++) {
        s[r] = rmc_eight_add(rmc_eight_at(at + r * RMC_WIDE), s[r]);
    }
}

/* z[8 r + k] of RMC_PASS rows: one sum after the other, added up as soon as they
 * can be. */
#define RMC_DOT(name, sum)                                             \
    RMC_KERNEL void name(const double *const *row, size_t width,       \
                         const double *restrict x, double *restrict z, \
                         const char *const *next, size_t bytes)        \
    {                                                                  \
        const double *at[RMC_PASS];                                    \
        _Alignas(RMC_LINE) double high[RMC_PASS * RMC_WIDE];           \
        rmc_eight s[RMC_PASS];                                         \
                                                                       \
        RMC_EACH                                                       \
        for (size_t r = 0; r < RMC_PASS; r++) {                        \
            at[r] = row[r];                                            \
        }                                                              \
        sum(0, at, width, x, next, bytes, s);                          \
        rmc_sums_put(z, s);                                            \
        sum(1, at, width, x, next, bytes, s);                          \
        rmc_sums_meet(z, s);                                           \
        rmc_sums_put(z, s);                                            \
        sum(2, at, width, x, next, bytes, s);                          \
        rmc_sums_put(high, s);                                         \
        sum(3, at, width, x, next, bytes, s);                          \
        rmc_sums_meet(high, s);                                        \
        rmc_sums_meet(z, s);                                           \
        rmc_sums_put(z, s);                                            \
    }

RMC_DOT(rmc_dot_wide, rmc_sum_wide)
RMC_DOT(rmc_dot_long, rmc_sum_long)
#undef RMC_DOT

/* z[8 r + k] = a_r.x_k */
static inline void rmc_times_wide(rmc_block *b, size_t width,
                                  const double *restrict x, double *restrict z)
{
    for (size_t r = 0; r < RMC_ROWS; r += RMC_PASS) {
        if (width < RMC_LONG) {
            rmc_dot_wide(b->row + r, width, x, z + r * RMC_WIDE, b->next + r,
                         b->step);
        } else {
            rmc_dot_long(b->row + r, width, x, z + r * RMC_WIDE, b->next + r,
                         b->step);
        }
    }
}

RMC_KERNEL void rmc_add_some(const double *const *row, size_t width,
                             const double *restrict z, double *restrict sum)
{
    const double *at[RMC_PASS];
    rmc_eight by[RMC_PASS];

    RMC_EACH
    for (size_t r = 0; r < RMC_PASS; r++) {
        at[r] = row[r];
        by[r] = rmc_eight_hold(z + r * RMC_WIDE);
    }
    RMC_UNROLL
    for (size_t i = 0; i < width; i++) {
        double *to = sum + i * RMC_WIDE;
        rmc_eight s = rmc_eight_at(to);

        __builtin_prefetch(to + RMC_LINE);
        RMC_EACH
        for (size_t r = 0; r < RMC_PASS; r++) {
            s = rmc_eight_fma(rmc_eight_all(at[r][i]), by[r], s);
        }
        rmc_eight_put(to, s);
    }
}

/* sum[8 i + k] += z[8 r + k] a_ri, row by row */
static inline void rmc_add_wide(const rmc_block *b, size_t width,
                                const double *restrict z, double *restrict sum)
{
    for (size_t r = 0; r < RMC_ROWS; r += RMC_PASS) {
        rmc_add_some(b->row + r, width, z + r * RMC_WIDE, sum);
    }
}

/* ---- either --------------------------------------------------------------- */

static inline void rmc_times(rmc_block *b, size_t width, size_t columns,
                             const double *restrict x, double *restrict z)
{
    if (columns == 1) {
        rmc_times_one(b, width, x, z);
    } else {
        rmc_times_wide(b, width, x, z);
    }
}

static inline void rmc_add(const rmc_block *b, size_t width, size_t columns,
                           const double *restrict z, double *restrict sum)
{
    if (columns == 1) {
        rmc_add_one(b, width, z, sum);
    } else {
        rmc_add_wide(b, width, z, sum);
    }
}

#endif
