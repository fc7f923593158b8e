/*
 * prior_inline.h - the prior of regressions, and lanes as panels of design_inline.h.
 * Inlined because every evaluation runs through it, and its fused multiply-adds are
 * instructions of the model's own code path.
 */
#ifndef RMC_PRIOR_INLINE_H
#define RMC_PRIOR_INLINE_H

#include "model/regression/design_inline.h"
#include "model/regression/regression.h"

/* 1 / sd^2 of the prior of coordinate i */
static inline double rmc_prior_weight(const rmc_regression *g, size_t i)
{
    return g->has_intercept && i == 0 ? g->intercept_weight : g->weight;
}

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

/* Sums over rows are kept for each of the 8 places in a block; this adds them up. */
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
