/*
 * relmc_diag.h - diagnostics: arrays in, numbers out.
 *
 * The conventions are those of relmc.h: start reports and options from RELMC_INIT(type).
 * Structs that say "frozen" have no size and never change.  Only relmc_run_online
 * needs a run.
 */
#ifndef RELMC_DIAG_H
#define RELMC_DIAG_H

#include "relmc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- diagnostics: draws of one quantity ----------------------------------- */

/* draws[t*stride + c*chain_stride] is draw t of chain c. */
typedef struct relmc_series { /* frozen */
    const double *draws;
    size_t n_chains, n_draws;
    size_t stride, chain_stride;
} relmc_series;

/* Undefined values are NaN. */
typedef struct relmc_summary {
    size_t size; /* sizeof(relmc_summary) */
    double mean, sd, median;
    double q5, q95;
    double mcse_mean;
    double ess_bulk, ess_tail, rhat; /* rhat: the larger of the two below */
    double mad;                      /* median of |x - median|, times 1.4826 */
    double mcse_sd;
    double ess_mean, ess_sd; /* of the draws and of their squared deviations */
    double rhat_bulk, rhat_folded;
} relmc_summary;

/* Rank-normalised split R-hat, effective sample sizes and standard errors of
 * Vehtari et al. (2021), as the R package posterior computes them. */
RELMC_API relmc_status relmc_summarise(relmc_summary *out, const relmc_series *series,
                                       relmc_error *err);

/* ess_mean alone, in a fraction of the time: nothing is sorted. */
RELMC_API relmc_status relmc_ess_mean(double *out, const relmc_series *series,
                                      relmc_error *err);

typedef struct relmc_quantile { /* frozen */
    double value, ess, mcse;
} relmc_quantile;

/* n quantiles at p[0..n) in [0, 1], one after another in out. */
RELMC_API relmc_status relmc_quantiles(relmc_quantile *out, const relmc_series *series,
                                       size_t n, const double *p, relmc_error *err);

/* Effective sample sizes of the probabilities of n_bins >= 1 intervals that
 * hold equally many draws each. */
RELMC_API relmc_status relmc_local_ess(double *out, const relmc_series *series,
                                       size_t n_bins, relmc_error *err);

/* [nested-rhat] of Margossian et al. (2024), for many short chains: the chains
 * of a superchain, n_chains / n_superchains in sequence, start at one place.
 * raw: of the draws; bulk and folded: of their ranks, as in relmc_summary. */
typedef struct relmc_nested_rhat {
    size_t size; /* sizeof(relmc_nested_rhat) */
    double raw, bulk, folded;
} relmc_nested_rhat;

RELMC_API relmc_status relmc_rhat_nested(relmc_nested_rhat *out, const relmc_series *series,
                                         size_t n_superchains, relmc_error *err);

/* [ebfmi] Energy fraction of missing information from the energies of
 * successive transitions: chain[c] for every chain, *pooled for all. */
RELMC_API relmc_status relmc_ebfmi(double *chain, double *pooled,
                                   const relmc_series *energy, relmc_error *err);

/* [var-kinetic] Variance of the kinetic energy under the momentum law, beta =
 * m c^2: of one coordinate of the separable energy (dim = 1), or of the joint
 * one; beta = HUGE_VAL is Newtonian, dim / 2. */
RELMC_API double relmc_kinetic_variance(size_t dim, double beta);

/* [ebfmi] What to expect from a target whose potential energy varies like that
 * of a normal law, by dim / 2. */
RELMC_API double relmc_ebfmi_expected(size_t dim, double kinetic_variance);

/* ---- diagnostics: Stein discrepancies ------------------------------------ */

/* Draws with the gradient of the log density at each of them. */
typedef struct relmc_stein_sample { /* frozen */
    size_t n, dim;
    const double *x;      /* n x dim, a draw per row */
    const double *score;  /* n x dim, grad log density, a draw per row */
    const double *weight; /* n, of any sign, divided by their sum, which must be
                             positive; NULL: all equal */
} relmc_stein_sample;

/* [ksd] Kernel Stein discrepancy with the inverse multiquadric kernel
 * (c2 + |x - y|^2)^-beta. */
typedef struct relmc_ksd_options {
    size_t size;            /* sizeof(relmc_ksd_options) */
    double c2;              /* default 1 */
    double beta;            /* in (0, 1); default 1/2 */
    const double *cholesky; /* dim x dim, lower factor L of a fixed reference
                               covariance L L': draws become L^-1 x and scores
                               L' s; default: the identity */
    uint32_t threads;       /* default 1; the result does not depend on it */
    uint32_t landmarks;     /* relmc_ksd_nystrom; default 500 */
    size_t block;           /* relmc_ksd_blocks: draws per block; default
                               4096 */
} relmc_ksd_options;

typedef struct relmc_ksd_report {
    size_t size; /* sizeof(relmc_ksd_report) */
    double ksd;  /* sqrt(v) */
    double v;    /* sum over all i, j of w_i w_j k0(x_i, x_j) */
    double u;    /* the same over i != j, over 1 - sum w_i^2: unbiased, may be
                   negative; NaN for one draw */
} relmc_ksd_report;

/* All pairs: n^2 / 2 of them. */
RELMC_API relmc_status relmc_ksd(relmc_ksd_report *out, const relmc_stein_sample *sample,
                                 const relmc_ksd_options *options, relmc_error *err);

typedef struct relmc_ksd_bound {
    size_t size;        /* sizeof(relmc_ksd_bound) */
    double ksd;         /* sqrt(v) */
    double v;           /* a lower bound of relmc_ksd_report.v */
    size_t n_landmarks; /* those that were independent */
} relmc_ksd_bound;

/* [nystrom] n x landmarks pairs.  Close to the truth for dim <= 3. */
RELMC_API relmc_status relmc_ksd_nystrom(relmc_ksd_bound *out,
                                         const relmc_stein_sample *sample,
                                         const relmc_ksd_options *options,
                                         relmc_error *err);

typedef struct relmc_ksd_estimate {
    size_t size;           /* sizeof(relmc_ksd_estimate) */
    double u;              /* unbiased for independent draws */
    double standard_error; /* from the spread of the blocks */
    size_t n_blocks;
} relmc_ksd_estimate;

/* The mean of u over blocks of consecutive draws: n x block / 2 pairs.
 * Weights must not be negative. */
RELMC_API relmc_status relmc_ksd_blocks(relmc_ksd_estimate *out,
                                        const relmc_stein_sample *sample,
                                        const relmc_ksd_options *options, relmc_error *err);

/* [gsd] Graph Stein discrepancy of Gorham and Mackey (2015): one linear
 * programme per coordinate. */
typedef struct relmc_graph_stein_options {
    size_t size;             /* sizeof(relmc_graph_stein_options) */
    double c1, c2, c3;       /* bounds of a function, its gradient and the Lipschitz
                            constant of that; default 1 */
    double tolerance;        /* of the interval, relative; default 1e-6 */
    double merge;            /* draws closer than this (L1) become one; default 0
                            for dim 1 and 1e-4 c2/c3 beyond; RELMC_ZERO for 0 */
    const double *lower;     /* dim ends of the support, may be infinite; default: */
    const double *upper;     /* the whole space */
    uint32_t threads;        /* default 1; the result does not depend on it */
    uint32_t max_iterations; /* default 200 */
} relmc_graph_stein_options;

typedef struct relmc_graph_stein_report {
    size_t size;         /* sizeof(relmc_graph_stein_report) */
    double lower, upper; /* the optimum for the merged draws is in between */
    double merge_bound;  /* how far merging may have moved it */
    size_t n_points;     /* distinct draws after merging */
    size_t n_edges;      /* of the graph */
    size_t n_iterations; /* of the hardest programme */
} relmc_graph_stein_report;

/* dim = 1, in O(n) per iteration.  Draws of more dimensions are for
 * relmc_graph_stein in relmc_extra.h.  If the interval does not close, the
 * status is RELMC_EUNSUPP and *out holds the interval there is. */
RELMC_API relmc_status relmc_graph_stein_line(relmc_graph_stein_report *out,
                                              const relmc_stein_sample *sample,
                                              const relmc_graph_stein_options *options,
                                              relmc_error *err);

/* ---- diagnostics: temperature --------------------------------------------- */

typedef struct relmc_temperature_report {
    size_t size;           /* sizeof(relmc_temperature_report) */
    double temperature;    /* 1 for draws of the target */
    double standard_error; /* NaN: undefined */
} relmc_temperature_report;

/* [virial] How hot draws are: T if they have the law density^(1/T).  For samplers
 * without a Metropolis step, whose bias R-hat and ESS do not show.  x is n x dim,
 * the draws of n_chains chains of equal length, one chain after the other; at
 * each of them the gradient over all data is taken.  `center` has dim values,
 * best the mean of more draws than these; NULL: the mean of these, which makes
 * them look colder by one part in as many as are independent. */
RELMC_API relmc_status relmc_temperature(relmc_temperature_report *out,
                                         const relmc_target *target, size_t n,
                                         size_t n_chains, const double *x,
                                         const double *center, relmc_error *err);

/* ---- diagnostics: against known answers and reference draws --------------- */

/* [mae] How far the frequencies of draws in bins are from their exact
 * probabilities. */
typedef struct relmc_mae_report {
    size_t size;                /* sizeof(relmc_mae_report) */
    double mae;                 /* mean over the bins of |n_k / n - p_k| */
    double tv;                  /* total variation: half the sum of them */
    double mae_floor, tv_floor; /* their means for n independent draws */
    size_t n_bins;              /* with the one for all the rest */
    size_t n_outside;           /* draws in that one */
} relmc_mae_report;

/* The bins of Lu et al. (2017): 48 of width 1/2 on [-12, 12] for gmm1, gmm2 and gmm3,
 * 20 x 20 cells on [-40, 40] x [-110, 14] for banana (x_2 varies fastest), and
 * one more, the last, for all the rest.  p gets *n_bins exact probabilities
 * and may be NULL.  RELMC_EUNSUPP for other targets. */
RELMC_API relmc_status relmc_mae_bins(double *p, size_t *n_bins, const relmc_target *target,
                                      relmc_error *err);

/* n draws x, n x dim, in these bins. */
RELMC_API relmc_status relmc_mae(relmc_mae_report *out, const relmc_target *target,
                                 size_t n, const double *x, relmc_error *err);

/* [rosenblatt] Draws of the same four targets become n x dim independent
 * uniform numbers in [0, 1]; u may be x. */
RELMC_API relmc_status relmc_rosenblatt(double *u, const relmc_target *target, size_t n,
                                        const double *x, relmc_error *err);

/* Uniform numbers u in [0, 1], n x dim, in per_axis^dim equal cells, at most
 * 2^24; there is no rest. */
RELMC_API relmc_status relmc_mae_uniform(relmc_mae_report *out, size_t dim, size_t n,
                                         const double *u, size_t per_axis,
                                         relmc_error *err);

/* Two sets of draws, a draw per row, that should have one law. */
typedef struct relmc_two_samples { /* frozen */
    size_t dim, n_x, n_y;
    const double *x, *y; /* n_x x dim, n_y x dim */
} relmc_two_samples;

typedef struct relmc_two_sample_options {
    size_t size;              /* sizeof(relmc_two_sample_options) */
    int64_t permutations;     /* default 999; RELMC_ZERO for 0 */
    uint64_t seed;            /* of permutations and directions */
    size_t block;             /* so many draws in sequence stay together; must
                                 divide n_x and n_y; default 1 */
    double c2;                /* of the kernel (c2 + |x - y|^2)^(-1/2);
                                 default 1 */
    size_t n_directions;      /* default 32 */
    const double *directions; /* n_directions x dim; default: random ones */
    double *w1;               /* n_directions, filled in; default: not kept */
} relmc_two_sample_options;

/* One coordinate.  _p: from permutations, NaN without; a small one means different laws. */
typedef struct relmc_coordinate_test { /* frozen */
    double ks, ks_p;                   /* Kolmogorov-Smirnov */
    double ks_p_exact;                 /* for independent draws without ties */
    double ad, ad_p;                   /* [ad] Anderson-Darling, midranks, standardised */
    double cvm, cvm_p;                 /* [cvm] Cramer-von Mises */
} relmc_coordinate_test;

/* All coordinates.  _u: without pairs of a draw with itself, unbiased. */
typedef struct relmc_two_sample_report {
    size_t size;                       /* sizeof(relmc_two_sample_report) */
    double energy, energy_u, energy_p; /* [energy-distance], squared */
    double mmd, mmd_u, mmd_p;          /* [mmd], squared */
    double sliced_w1, sliced_w1_p;     /* [sliced] mean over the directions */
    double sliced_w1_max;              /* and the largest */
    double sliced_energy;              /* the mean of [energy-distance] */
    size_t n_permutations;
} relmc_two_sample_report;

/* `coordinates` has room for dim of them, or is NULL.  O(N^2) for every
 * permutation, N = n_x + n_y: thin long chains first. */
RELMC_API relmc_status relmc_two_sample(relmc_two_sample_report *out,
                                        relmc_coordinate_test *coordinates,
                                        const relmc_two_samples *samples,
                                        const relmc_two_sample_options *options,
                                        relmc_error *err);

/* The known values of a quantity; NaN: unknown. */
typedef struct relmc_known { /* frozen */
    double mean, sd;
    double mean_error, sd_error; /* standard errors, 0 for exact values */
    size_t n_quantiles;
    const double *level;    /* n_quantiles, in [0, 1] */
    double *quantile;       /* n_quantiles */
    double *quantile_error; /* n_quantiles; NULL for exact ones */
} relmc_known;

/* The estimates of reference draws become the known values: mean, sd, their
 * errors, and the quantiles at the levels you set. */
RELMC_API relmc_status relmc_known_from(relmc_known *known, const relmc_series *reference,
                                        relmc_error *err);

/* [zscore] (estimate - known) / standard error of the difference; NaN if
 * nothing is known. */
typedef struct relmc_zscores {
    size_t size; /* sizeof(relmc_zscores) */
    double mean, sd;
    double worst; /* the largest |z|, quantiles included; infinite if a known
                     value cannot be compared */
} relmc_zscores;

/* `quantile` gets n_quantiles z-scores, or is NULL. */
RELMC_API relmc_status relmc_zscore(relmc_zscores *out, double *quantile,
                                    const relmc_series *series, const relmc_known *known,
                                    relmc_error *err);

/* [ecdf-band] Bounds that the counts of n uniform numbers <= i / n_points, i =
 * 1 .. n_points, keep all at once with probability `coverage` >= 1 - alpha,
 * as tight as possible.  Each of them is crossed on one side with probability
 * gamma / 2 at most. */
typedef struct relmc_ecdf_band {
    size_t size; /* sizeof(relmc_ecdf_band) */
    double gamma, coverage;
} relmc_ecdf_band;

/* lower and upper: n_points counts each, or NULL. */
RELMC_API relmc_status relmc_ecdf_band_find(relmc_ecdf_band *out, size_t *lower,
                                            size_t *upper, size_t n, size_t n_points,
                                            double alpha, relmc_error *err);

/* The exact p-value of that test for n numbers u in [0, 1]: the least alpha
 * whose band they leave.  Ranks r = 0 .. L of simulation-based calibration are
 * u = (r + 1) / (L + 1) with L + 1 points, or a divisor of it. */
RELMC_API relmc_status relmc_ecdf_test(double *p_value, size_t n, const double *u,
                                       size_t n_points, relmc_error *err);

/* ---- a run ---------------------------------------------------------------- */

/* Estimates of one quantity from all draws after warm-up, with RELMC_KEEP_RUNNING, whose
 * memory does not grow with the draws.  Undefined values are NaN; docs/diagnostics.md
 * says how good they are. */
typedef struct relmc_online {
    size_t size; /* sizeof(relmc_online) */
    int64_t n;   /* draws of all chains */
    double mean, sd;
    double mcse_mean;
    double ess;        /* [batch-ess] of the mean */
    double rhat;       /* split, of the draws as they are */
    double rank_error; /* quantiles: their ranks are off by at most this share
                          of the draws */
} relmc_online;

/* Output i, or lp for i = relmc_target_n_outputs.  `quantile` gets n quantiles at level[0..n)
 * in [0, 1]; both may be NULL if n is 0.  Not while the run is going on.
 * RELMC_EUNSUPP without RELMC_KEEP_RUNNING. */
RELMC_API relmc_status relmc_run_online(relmc_online *out, double *quantile,
                                        const relmc_run *run, size_t i, size_t n,
                                        const double *level, relmc_error *err);

/* ---- a target and a kinetic energy ---------------------------------------- */

/* RELMC_EUNSUPP of these two: the model does not know.  Exact mean and variance of every
 * coordinate, NaN where unknown or infinite. */
RELMC_API relmc_status relmc_target_moments(const relmc_target *, double *mean,
                                            double *variance, relmc_error *);
/* Exact independent draws, n x dim. */
RELMC_API relmc_status relmc_target_sample(const relmc_target *, uint64_t seed, size_t n,
                                           double *x, relmc_error *);
/* How many points the density rejected; in how many draws outputs failed and are NaN.
 * `first` (or NULL): the first message, NULL if there is none. */
RELMC_API int64_t relmc_target_rejections(const relmc_target *, const char **first);
RELMC_API int64_t relmc_target_output_failures(const relmc_target *, const char **first);

/* The gradient against high-order finite differences of lp at x. */
typedef struct relmc_gradient_report {
    size_t size;         /* sizeof(relmc_gradient_report) */
    size_t worst;        /* coordinate with the largest error */
    double max_error;    /* |analytic - numeric| / (|numeric| + scale) there */
    double analytic;     /* d lp / d x_worst, as the target says */
    double numeric;      /* the same, by finite differences */
    double numeric_fuzz; /* how far `numeric` itself can be trusted, relative */
    int is_ok;           /* max_error is explained by numeric_fuzz */
} relmc_gradient_report;

RELMC_API relmc_status relmc_gradient_check(relmc_gradient_report *out,
                                            const relmc_target *target, const double *x,
                                            relmc_error *err);

/* [cruise] Mean speed over c under the momentum law, beta = m c^2: of one
 * coordinate of the separable energy (dim = 1) or of the joint one; and the
 * beta that gives a wanted speed in (0, 1). */
RELMC_API double relmc_cruise_speed(size_t dim, double beta);
RELMC_API double relmc_cruise_beta(size_t dim, double speed);

#ifdef __cplusplus
}
#endif
#endif
