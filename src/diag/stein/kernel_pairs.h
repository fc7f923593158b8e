/* kernel_pairs.h - the kernel of the Stein discrepancy, of many pairs. */
#ifndef RMC_DIAG_STEIN_PAIRS_H
#define RMC_DIAG_STEIN_PAIRS_H

#include <stddef.h>

/* Columns per call, at most: the sums stay in the nearest cache. */
enum { RMC_STEIN_TILE = 256 };

/* Points with their scores: x[k*ld + i] is coordinate k of point i. */
typedef struct rmc_points {
    size_t n, dim, ld;
    const double *x, *s;
} rmc_points;

typedef struct rmc_imq {
    double c2, beta;
} rmc_imq;

/* Rows first_row .. end_row of `rows` against columns first_col .. end_col of
 * `cols`, at most RMC_STEIN_TILE columns. */
typedef struct rmc_pairs {
    const rmc_points *rows, *cols;
    const double *weight; /* of the rows, by their number */
    size_t first_row, end_row, first_col, end_col;
    rmc_imq kernel;
} rmc_pairs;

/* [ksd]  sum[j - first_col] += sum over rows i of weight_i k0(x_i, x_j).
 * The fastest code path of this machine; all give the same bits. */
void rmc_stein_pairs(const rmc_pairs *pairs, double *sum);
/* The code path that every machine has. */
void rmc_stein_pairs_plain(const rmc_pairs *pairs, double *sum);

/* k0(x_i, x_i) */
double rmc_stein_diagonal(const rmc_points *points, size_t i, rmc_imq kernel);

#endif
