/*
 * metric.h - the metric of a target, from the draws and gradients of a window.
 */
#ifndef RMC_ADAPT_METRIC_H
#define RMC_ADAPT_METRIC_H

#include "base/base.h"

/* Positions and gradients of several chains: n x dim each, a draw per row. */
struct rmc_window {
    size_t dim, n_chains, n;
    const double *const *x, *const *g;
};

enum rmc_metric_kind {
    RMC_DIAGONAL,
    RMC_LOW_RANK, /* diagonal plus low rank */
    RMC_DENSE
};

enum { RMC_MAX_RANK = 32 };

/* Results, and room for all that is computed on the way. */
struct rmc_metric {
    size_t dim;
    double *sd;                /* dim scales: S = diag(sd), or ... */
    double *chol, *chol_t;     /* ... L with L L' the inverse metric, and L' */
    size_t rank;               /* ... diag(sd) (I + U (f - 1) U') */
    double *low_rank, *factor; /* rank rows u, and f */
    double *mean_x, *mean_g;   /* n_chains x dim */
    double *variance_x, *variance_g;
    double *a, *b, *c, *values, *work, *sorted, *basis;
};

/* `kind` is the most that will be wanted; windows of up to max_draws draws of
 * each chain. */
struct rmc_metric rmc_metric_new(relmc_arena *arena, size_t dim,
                                 size_t n_chains, size_t max_draws,
                                 enum rmc_metric_kind kind);

/* [fisher] The scale of these draws; what kind it is.  The wanted one if there
 * are enough draws for it, diagonal otherwise.  Coordinates without a usable
 * estimate keep their sd. */
enum rmc_metric_kind rmc_metric_estimate(struct rmc_metric *m,
                                         const struct rmc_window *w,
                                         enum rmc_metric_kind wanted);

/* The largest eigenvalue of the covariance of the draws in units of the metric:
 * how much longer than wide the target still is.  Corrected for the number of
 * draws and for heavy tails; at least 1.  The draws, n x dim of each chain, are
 * whitened in place. */
double rmc_metric_stretch(struct rmc_metric *m, double *const *x,
                          size_t n_chains, size_t n, enum rmc_metric_kind kind);

#endif
