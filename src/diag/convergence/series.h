/* series.h - the draws of one quantity: their order, their half-chains, sums of
 * lagged products, effective sample sizes. */
#ifndef RMC_SERIES_H
#define RMC_SERIES_H

#include "base/base.h"
#include "relmc_diag.h"

/* ---- order_statistics.c -------------------------------------------------- */

/* The draws of all chains and their order.  They are kept half-chain after
 * half-chain (n_halves of n_half draws), then the middle draws that odd chains
 * have left over. */
typedef struct rmc_order {
    size_t n_chains, n_halves, n_half;
    size_t n;        /* all draws */
    double *x;       /* n */
    double *sorted;  /* n: x in rising order */
    uint64_t *label; /* n: of sorted[i]; the low bits name its half and draw */
    uint64_t *spare; /* n; `sorted` lives here once the labels are in order */
    unsigned bits;   /* of the place in a half */
    unsigned place;  /* of half and place together */
} rmc_order;

/* Loads the draws; returns 0 if one of them is NaN.  Memory is set before. */
int rmc_order_load(rmc_order *o, const relmc_series *series);
void rmc_order_sort(rmc_order *o);
/* Removes the middle draws; returns how many draws are left. */
size_t rmc_order_drop_middles(rmc_order *o);

/* Type 7: h = 1 + (n - 1) p, linear between the neighbours of the h-th. */
double rmc_quantile_of(const double *sorted, size_t n, double p);
/* The k-th smallest |x - centre|, k = 0 .. n - 1. */
double rmc_nearest_of(const double *sorted, size_t n, double centre, size_t k);

/* [z-scale]  score[r] = Phi^-1((r + 5/8) / (n + 1/4)), the lower half of the
 * ranks r = 0 .. n - 1: (n + 1) / 2 numbers. */
void rmc_fill_scores(double *score, size_t n);
/* Score of the draws first .. end - 1 of n in order, which are equal. */
double rmc_shared_score(const double *score, size_t n, size_t first,
                        size_t end);

/* ---- fft.c --------------------------------------------------------------- */

/* sum[l] = sum over chains and t of x[t] x[t + l], l < n_lags <= n, from
 * Fourier transforms.  x is n_chains x n.  Returns 0 without memory. */
int rmc_lag_sums(const double *x, size_t n_chains, size_t n, size_t n_lags,
                 double *sum);

/* ---- autocovariance.c ---------------------------------------------------- */

/* Chains without their means, and what R-hat and the effective sample size are
 * made of.  The draws of an indicator are bits, as long as few lags are
 * needed. */
typedef struct rmc_chains {
    size_t n_chains, n;
    double *x;      /* n_chains x n: x[c*n + t] is draw t of chain c */
    uint64_t *bits; /* n_chains x rmc_words_of(n), zero at the end of a chain */
    double *mean;   /* one per chain */
    double within;  /* mean over chains of the variance in a chain */
    double between; /* variance of the means of the chains; 0 for one chain */
    double *sum;    /* n + n_chains + RMC_LAGS: of lagged products */
    size_t n_lags;  /* how many of them are known */
    int is_bits;
    int has_failed; /* no memory for a transform */
} rmc_chains;

/* Sums of lagged products are computed this many lags at a time. */
enum { RMC_LAGS = 16 };

static inline size_t rmc_words_of(size_t n)
{
    return n / 64 + 2;
}

/* Sums in eight parts, in an order that any vector unit can follow. */
double rmc_sum(const double *x, size_t n);
/* The mean of equal numbers is that number. */
double rmc_mean(const double *x, size_t n);
/* sum (x - mean)^2 / (n - 1); NaN for one number */
double rmc_variance(const double *x, size_t n, double mean);
void rmc_limits(const double *x, size_t n, double *least, double *most);
/* Finite and not constant, with the absolute tolerance of the R package
 * posterior. */
int rmc_has_spread(const double *x, size_t n);

/* Subtracts from every chain its mean and finds the two variances. */
void rmc_chains_centre(rmc_chains *s);
/* The chains become the indicators of low <= x <= high.  Returns 0 if they are
 * constant. */
int rmc_chains_indicate(rmc_chains *s, const double *x, double low,
                        double high);
double rmc_chains_rhat(const rmc_chains *s);
double rmc_chains_ess(rmc_chains *s);

/* ---- summary.c ----------------------------------------------------------- */

/* All the memory one series needs. */
typedef struct rmc_work {
    rmc_order order;
    rmc_chains half; /* 2 n_chains chains of n_draws / 2 draws */
    double *score;   /* (n + 1) / 2 */
    uint32_t *owner; /* n: half-chains of draws in order */
    relmc_arena arena;
} rmc_work;

relmc_status rmc_check_series(const relmc_series *series, relmc_error *err);
/* Release it afterwards, whatever it returns. */
relmc_status rmc_work_create(rmc_work *w, const relmc_series *series,
                             relmc_error *err);
/* Returns `status`, or an error if a transform found no memory. */
relmc_status rmc_work_release(rmc_work *w, relmc_status status,
                              relmc_error *err);
/* The effective sample size of the indicator x <= q. */
double rmc_quantile_ess(rmc_work *w, double q);

/* ---- ranks.c ------------------------------------------------------------- */

/* Scores of the first n sorted draws in half.x, every one in its place. */
void rmc_rank_normalise(const rmc_work *w, size_t n);
/* The n sorted draws, or their distances from the median, in rising order in
 * half.x, and their owners.  rmc_fold returns 0 if a distance is NaN. */
void rmc_unfold(rmc_work *w, size_t n);
int rmc_fold(rmc_work *w, size_t n, double median);
/* Rising numbers in half.x become scores. */
void rmc_score_in_place(const rmc_work *w, size_t n);

/* Means and sums of squared deviations of the n_each numbers of n owners. */
typedef struct rmc_owners {
    size_t n, n_each;
    double *mean, *squares;
} rmc_owners;

void rmc_owner_moments(const rmc_work *w, size_t n, const rmc_owners *out);

#endif
