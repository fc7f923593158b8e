/*
 * design_narrow_inline.h - rows of few numbers times panels, and residuals times rows: kernels
 * for each number of coordinates, so that they have no inner loops.  They add in
 * the order of [dot-order]; sums of nothing are left out.
 */
#ifndef RMC_STRIP_H
#define RMC_STRIP_H

#include "model/regression/design_inline.h"

enum {
    RMC_FEW = 8 /* coordinates at most */
};

typedef struct rmc_strip {
    size_t n, rows;  /* that count, and in whole blocks */
    const double *a; /* rows x width */
} rmc_strip;

/* RMC_TILE_ROWS rows, or what is left.  `room` has so many x width numbers, for
 * rows that are not side by side. */
static inline void rmc_strip_open(rmc_strip *s, const rmc_design *x,
                                  const relmc_rows *rows, size_t first,
                                  double *restrict room)
{
    const size_t left = rows->n - first;

    s->n = left < RMC_TILE_ROWS ? left : RMC_TILE_ROWS;
    s->rows = (s->n + RMC_ROWS - 1) / RMC_ROWS * RMC_ROWS;
    if (s->n == RMC_TILE_ROWS && x->x && !rows->row) {
        s->a = x->x + first * x->width;
        return;
    }
    s->a = room;
    for (size_t r = 0; r < s->rows; r++) {
        const size_t at = rmc_row_at(rows, first, s->n, r) * x->width;

        for (size_t i = 0; i < x->width; i++) {
            *room++ = x->x ? x->x[at + i] : (double)x->x_float[at + i];
        }
    }
}

/* Sum number c of a row and the next one, for 8 columns; c and c + 4 are all the
 * coordinates there can be.  A product instead of the first fused addition to 0
 * has no other bits but the sign of a zero. */
RMC_INLINED void rmc_few_sum(size_t width, size_t c, const double *restrict a,
                             const double *restrict x, rmc_eight *restrict s)
{
    const double *at = x + c * RMC_WIDE;

    s[0] = rmc_eight_mul(rmc_eight_all(a[c]), rmc_eight_at(at));
    s[1] = rmc_eight_mul(rmc_eight_all(a[width + c]), rmc_eight_at(at));
    if (c + 4 < width) {
        at += (size_t)4 * RMC_WIDE;
        s[0] = rmc_eight_fma(rmc_eight_all(a[c + 4]), rmc_eight_at(at), s[0]);
        s[1] = rmc_eight_fma(rmc_eight_all(a[width + c + 4]), rmc_eight_at(at),
                             s[1]);
    }
}

/* The same of two sums, c and c + 1, and their total. */
RMC_INLINED void rmc_few_sums(size_t width, size_t c, const double *restrict a,
                              const double *restrict x, rmc_eight *restrict s)
{
    rmc_eight t[2];

    rmc_few_sum(width, c, a, x, s);
    if (c + 1 < width) {
        rmc_few_sum(width, c + 1, a, x, t);
        s[0] = rmc_eight_add(s[0], t[0]);
        s[1] = rmc_eight_add(s[1], t[1]);
    }
}

/* z[8 r + k] = a_r.x_k, two rows at a time */
RMC_INLINED void rmc_few_times(const rmc_strip *s, size_t width,
                               const double *restrict x, double *restrict z)
{
    for (size_t r = 0; r < s->rows; r += 2) {
        const double *a = s->a + r * width;
        rmc_eight low[2], high[2];

        rmc_few_sums(width, 0, a, x, low);
        if (width > 2) {
            rmc_few_sums(width, 2, a, x, high);
            low[0] = rmc_eight_add(low[0], high[0]);
            low[1] = rmc_eight_add(low[1], high[1]);
        }
        rmc_eight_put(z + r * RMC_WIDE, low[0]);
        rmc_eight_put(z + (r + 1) * RMC_WIDE, low[1]);
    }
}

/* At most four coordinates, from number i on. */
RMC_INLINED void rmc_few_add_some(const rmc_strip *s, size_t width, size_t i,
                                  size_t n, const double *restrict z,
                                  double *restrict sum)
{
    rmc_eight to[4];

    sum += i * RMC_WIDE;
    for (size_t j = 0; j < n; j++) {
        to[j] = rmc_eight_at(sum + j * RMC_WIDE);
    }
    for (size_t r = 0; r < s->rows; r++) {
        const double *a = s->a + r * width + i;
        const rmc_eight by = rmc_eight_at(z + r * RMC_WIDE);

        for (size_t j = 0; j < n; j++) {
            to[j] = rmc_eight_fma(rmc_eight_all(a[j]), by, to[j]);
        }
    }
    for (size_t j = 0; j < n; j++) {
        rmc_eight_put(sum + j * RMC_WIDE, to[j]);
    }
}

/* sum[8 i + k] += z[8 r + k] a_ri, row by row */
RMC_INLINED void rmc_few_add(const rmc_strip *s, size_t width,
                             const double *restrict z, double *restrict sum)
{
    rmc_few_add_some(s, width, 0, width < 4 ? width : 4, z, sum);
    if (width > 4) {
        rmc_few_add_some(s, width, 4, width - 4, z, sum);
    }
}

#define RMC_CASES(kernel)             \
    switch (width) {                  \
    case 1:                           \
        kernel(s, 1, from, to);       \
        break;                        \
    case 2:                           \
        kernel(s, 2, from, to);       \
        break;                        \
    case 3:                           \
        kernel(s, 3, from, to);       \
        break;                        \
    case 4:                           \
        kernel(s, 4, from, to);       \
        break;                        \
    case 5:                           \
        kernel(s, 5, from, to);       \
        break;                        \
    case 6:                           \
        kernel(s, 6, from, to);       \
        break;                        \
    case 7:                           \
        kernel(s, 7, from, to);       \
        break;                        \
    default:                          \
        kernel(s, RMC_FEW, from, to); \
        break;                        \
    }

RMC_KERNEL void rmc_strip_times(const rmc_strip *s, size_t width,
                                const double *restrict from,
                                double *restrict to){RMC_CASES(rmc_few_times)}

RMC_KERNEL void rmc_strip_add(const rmc_strip *s, size_t width,
                              const double *restrict from, double *restrict to)
{
    RMC_CASES(rmc_few_add)
}
#undef RMC_CASES

#endif
