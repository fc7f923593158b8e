/*
 * interior_point.h - interior point method for linear programmes whose rows lie
 * between -1 and 1: maximise c'x subject to |A x| <= 1.
 */
#ifndef RMC_DIAG_STEIN_IPM_H
#define RMC_DIAG_STEIN_IPM_H

#include <stddef.h>

/* The rows of a programme.  `upper` and `lower` are the slacks 1 - r and 1 + r,
 * kept by recurrence because a difference would lose their digits. */
typedef struct rmc_ipm_rows {
    size_t n;
    double *r;                   /* the rows A x themselves */
    double *upper, *lower;       /* slacks */
    double *z_upper, *z_lower;   /* their multipliers */
    double *weight;              /* z_upper / upper + z_lower / lower */
    double *push;                /* the linear term of a Newton step */
    double *dr;                  /* A dx */
    double *dz_upper, *dz_lower; /* the steps of the multipliers */
} rmc_ipm_rows;

enum { RMC_IPM_ARRAYS = 10 };

/* The functions of a programme that the method calls; they return 0 on
 * failure. */
typedef struct rmc_ipm_problem {
    void *ctx;
    /* M = A' diag(weight) A, ready to be solved with. */
    int (*factor)(void *ctx, const rmc_ipm_rows *rows);
    /* dr = A dx with M dx = c - A' push. */
    int (*solve)(void *ctx, rmc_ipm_rows *rows);
    /* Rigorous ends: *lower is c'x of a feasible x near the iterate; *upper is
     * the sum of all multipliers plus a bound on the effect of their defect. */
    void (*certify)(void *ctx, const rmc_ipm_rows *rows, double *lower,
                    double *upper);
} rmc_ipm_problem;

typedef struct rmc_ipm_result {
    double lower, upper; /* the best seen */
    size_t n_iterations;
    int is_closed;
} rmc_ipm_result;

/* Gives `rows` its arrays, out of RMC_IPM_ARRAYS * n numbers at `room`, and
 * starts at x = 0 with all multipliers `z`. */
void rmc_ipm_start(rmc_ipm_rows *rows, size_t n, double *room, double z);

/* Mehrotra's predictor and corrector until upper - lower <= tolerance *
 * max(1e-3, |lower|) or there is no more progress. */
rmc_ipm_result rmc_ipm_solve(const rmc_ipm_problem *problem, rmc_ipm_rows *rows,
                             double tolerance, size_t max_iterations);

#endif
