/*
 * summary.c - what the draws of one quantity say: location, spread, R-hat and
 * effective sample sizes, as the R package posterior computes them.
 *
 * Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), "Rank-normalization,
 * folding, and localization: an improved R-hat for assessing convergence of
 * MCMC", Bayesian Analysis 16(2).  Where a value cannot be told it is NaN:
 *   - everything, when a draw is NaN;
 *   - what needs moments (mcse_mean, ess_tail), when a draw is infinite;
 *   - R-hat and effective sizes, when the draws are constant;
 *   - R-hat below 4 draws, effective sizes below 12 draws per chain: shorter
 *     halves do not reach the first lags that decide where to stop.
 * R-hat is infinite when every chain stands still at a place of its own.
 */
#include "base/base.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* What a value is that cannot be told. */
static const double unknown = (double)NAN;

/* Autocovariances are computed this many lags at a time. */
enum { LAGS = 8 };

/* Half-chains shorter than this have no effective sample size. */
enum { MIN_HALF = 6 };

/* Where a draw is, kept while the values are sorted. */
typedef struct draw {
    double value;
    size_t place; /* c * n + t: draw t of chain c */
} draw;

/* Chains, and after centre_chains the two variances that R-hat and the
 * effective sample size are made of. */
typedef struct chains {
    size_t n_chains, n;
    double *x;      /* n_chains x n: x[c*n + t] is draw t of chain c */
    double *mean;   /* one per chain, from the mean of all */
    double within;  /* mean over chains of the variance in a chain */
    double between; /* variance of the means of the chains; 0 for one chain */
} chains;

/* All the memory one summary needs. */
typedef struct work {
    size_t n_chains, n_draws;
    double *x;            /* n_chains x n_draws, one chain after another */
    draw *sorted, *spare; /* n_chains * n_draws */
    double *score;        /* n_chains * n_draws: of ranks, at most */
    chains half;          /* 2 n_chains chains of n_draws / 2 draws */
} work;

/* ---- small things -------------------------------------------------------- */

/* The smaller and the larger of two, and NaN if there is one. */
static double min_or_nan(double a, double b)
{
    return a < b || isnan(a) ? a : b;
}

static double max_or_nan(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

/* The second pass adds what the first lost to rounding: the mean of equal
 * numbers is that number, and their variance is 0. */
static double mean_of(const double *x, size_t n)
{
    double sum = 0.0, rest = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    const double mean = sum / (double)n;
    if (!rmc_is_finite(mean)) {
        return mean;
    }
    for (size_t i = 0; i < n; i++) {
        rest += x[i] - mean;
    }
    return mean + rest / (double)n;
}

/* sum (x - mean)^2 / (n - 1); NaN for one number */
static double variance_of(const double *x, size_t n, double mean)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += (x[i] - mean) * (x[i] - mean);
    }
    return n > 1 ? sum / (double)(n - 1) : unknown;
}

static void subtract(double *x, size_t n, double shift)
{
    for (size_t i = 0; i < n; i++) {
        x[i] -= shift;
    }
}

/* Finite and not constant; the tolerance is posterior's, and absolute. */
static int has_spread(const double *x, size_t n)
{
    double min = x[0], max = x[0];

    for (size_t i = 0; i < n; i++) {
        if (!rmc_is_finite(x[i])) {
            return 0;
        }
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
    }
    return max - min >= DBL_EPSILON;
}

static int has_nan(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) {
            return 1;
        }
    }
    return 0;
}

/* ---- order --------------------------------------------------------------- */

/* Two sorted runs into one; the comparison decides no branch, only addresses,
 * because nothing could predict it. */
static void merge(const draw *a, size_t n_a, const draw *b, size_t n_b,
                  draw *out)
{
    const draw *a_end = a + n_a, *b_end = b + n_b;

    while (a < a_end && b < b_end) {
        const size_t is_b = b->value < a->value;
        const draw *from = is_b ? b : a;

        *out++ = *from;
        a += 1 - is_b;
        b += is_b;
    }
    while (a < a_end) {
        *out++ = *a++;
    }
    while (b < b_end) {
        *out++ = *b++;
    }
}

/* Sorts the n draws at *from by value; *from and *spare may change places. */
static void sort_draws(draw **from, draw **spare, size_t n)
{
    for (size_t run = 1; run < n; run *= 2) {
        draw *in = *from, *out = *spare;

        for (size_t i = 0; i < n; i += 2 * run) {
            const size_t n_a = run < n - i ? run : n - i;
            const size_t n_b = run < n - i - n_a ? run : n - i - n_a;

            merge(in + i, n_a, in + i + n_a, n_b, out + i);
        }
        *from = out;
        *spare = in;
    }
}

/* Type 7: h = 1 + (n - 1) p, linear between the neighbours of the
 * h-th smallest. */
static double quantile_of(const draw *sorted, size_t n, double p)
{
    const double h = 1.0 + (double)(n - 1) * p;
    const double below = floor(h);
    const size_t i = (size_t)below - 1;
    const double a = sorted[i].value;
    const double b = i + 1 < n ? sorted[i + 1].value : a;
    const double f = h - below;

    return f > 0.0 && a != b ? (1.0 - f) * a + f * b : a;
}

/* [z-scale]  z = Phi^-1((r - 3/8) / (n + 1/4)), r = 1 .. n the rank */
static double score_of(double rank, size_t n)
{
    return rmc_normal_quantile((rank - 0.375) / ((double)n + 0.25));
}

/* score[r] is that of rank r + 1; the upper half mirrors the lower. */
static void fill_scores(double *score, size_t n)
{
    for (size_t r = 0; r < (n + 1) / 2; r++) {
        score[r] = score_of((double)(r + 1), n);
        score[n - 1 - r] = -score[r];
    }
}

/* z[place] of every draw; equal draws share the average of their ranks. */
static void rank_normalise(const draw *sorted, size_t n, const double *score,
                           double *z)
{
    for (size_t first = 0, end; first < n; first = end) {
        end = first + 1;
        while (end < n && sorted[end].value == sorted[first].value) {
            end++;
        }
        const double shared =
            end - first == 1 ? score[first]
                             : score_of(0.5 * (double)(first + 1 + end), n);

        for (size_t i = first; i < end; i++) {
            z[sorted[i].place] = shared;
        }
    }
}

/* x -> |x - median|.  Left of the median the order turns round, right
 * of it it stays: two sorted runs, so no second sort.  Returns 0 if a distance
 * is NaN (an infinite draw and an infinite median). */
static int fold(draw *sorted, draw *spare, size_t n, double median)
{
    size_t n_left = 0;

    while (n_left < n && sorted[n_left].value < median) {
        n_left++;
    }
    for (size_t i = 0; i < n; i++) {
        const draw *from = &sorted[i < n_left ? n_left - 1 - i : i];

        spare[i].value = fabs(from->value - median);
        spare[i].place = from->place;
        if (isnan(spare[i].value)) {
            return 0;
        }
    }
    merge(spare, n_left, spare + n_left, n - n_left, sorted);
    return 1;
}

/* ---- chains -------------------------------------------------------------- */

/* Every chain becomes two: its first and its last floor(n / 2) draws. */
static void split_chains(const double *x, size_t n_draws, chains *half)
{
    for (size_t c = 0; c < half->n_chains; c++) {
        const double *from = x + (c / 2) * n_draws;

        from += c % 2 ? n_draws - half->n : 0;
        for (size_t t = 0; t < half->n; t++) {
            half->x[c * half->n + t] = from[t];
        }
    }
}

/* The same for sorted draws: they get their places in the halves, and the
 * middle draw of odd chains goes.  Returns how many stay. */
static size_t split_sorted(draw *sorted, size_t n_draws, const chains *half)
{
    const size_t n_all = half->n_chains / 2 * n_draws;
    size_t n_kept = 0;

    for (size_t i = 0; i < n_all; i++) {
        const size_t c = sorted[i].place / n_draws;
        const size_t t = sorted[i].place % n_draws;
        const size_t second = n_draws - half->n; /* where it starts */

        if (t < half->n || t >= second) {
            const size_t skip = t < half->n ? 0 : second - half->n;

            sorted[n_kept].value = sorted[i].value;
            sorted[n_kept].place = 2 * c * half->n + t - skip;
            n_kept++;
        }
    }
    return n_kept;
}

/* Subtracts from every chain its mean and finds the two variances.  Returns 0
 * if the draws are constant or not all finite.  The mean of all goes first, so
 * that the means of chains far from 0 keep their digits. */
static int centre_chains(chains *s)
{
    const size_t n_all = s->n_chains * s->n;

    if (!has_spread(s->x, n_all)) {
        return 0;
    }
    subtract(s->x, n_all, mean_of(s->x, n_all));
    s->within = 0.0;
    for (size_t c = 0; c < s->n_chains; c++) {
        double *x = s->x + c * s->n;

        s->mean[c] = mean_of(x, s->n);
        subtract(x, s->n, s->mean[c]);
        s->within += variance_of(x, s->n, 0.0) / (double)s->n_chains;
    }
    s->between = 0.0;
    if (s->n_chains > 1) {
        const double mean = mean_of(s->mean, s->n_chains);

        s->between = variance_of(s->mean, s->n_chains, mean);
    }
    return 1;
}

/* [rhat]  sqrt((B / W + n - 1) / n), B = n between, W = within */
static double rhat_of(const chains *s)
{
    const double n = (double)s->n;

    return sqrt(s->between / s->within + (n - 1.0) / n);
}

/* sum[j] += sum_t x[t] x[t + lag + j].  The inner loop runs over lags, so it
 * vectorises and each sum keeps its order. */
static void add_lag_products(const double *x, size_t n, size_t lag,
                             double sum[LAGS])
{
    const size_t n_full = n > lag + LAGS ? n - lag - LAGS : 0;
    double s[LAGS] = {0.0};

    for (size_t t = 0; t < n_full; t++) {
        for (size_t j = 0; j < LAGS; j++) {
            s[j] += x[t] * x[t + lag + j];
        }
    }
    for (size_t j = 0; j < LAGS; j++) {
        for (size_t t = n_full; t + lag + j < n; t++) {
            s[j] += x[t] * x[t + lag + j];
        }
        sum[j] += s[j];
    }
}

/* rho_t = 1 - (W - a_t) / V,  V = W (n - 1) / n + between, a_t the mean
 * over chains of sum_i x_i x_{i+t} / n; for t = lag .. lag + LAGS - 1. */
static void correlations(const chains *s, size_t lag, double rho[LAGS])
{
    const double n = (double)s->n;
    const double total = s->within * (n - 1.0) / n + s->between;
    double sum[LAGS] = {0.0};

    for (size_t c = 0; c < s->n_chains; c++) {
        add_lag_products(s->x + c * s->n, s->n, lag, sum);
    }
    for (size_t j = 0; j < LAGS; j++) {
        const double a = sum[j] / (n * (double)s->n_chains);

        rho[j] = 1.0 - (s->within - a) / total;
    }
}

/*
 * [ess]  S / tau, tau = -1 + 2 sum of P_k + the correlation after them, where
 * P_k = rho_2k + rho_2k+1 are taken as long as they are positive (Geyer's
 * initial positive sequence) and lowered to their predecessor where they rise
 * (his initial monotone sequence).  tau is at least 1 / log10 S, which bounds
 * the gain of antithetic chains.  Lags are computed as they are needed: few when
 * chains mix, all of them, n^2 products, when they stay apart.
 */
static double ess_of(const chains *s)
{
    const double n_all = (double)(s->n_chains * s->n);
    double rho[LAGS], even = 1.0, pair, lowest = HUGE_VAL, sum = 0.0;
    size_t t = 0;

    if (s->n < MIN_HALF) {
        return unknown;
    }
    correlations(s, 0, rho);
    pair = even + rho[1];
    while (t + 5 < s->n && pair > 0.0) {
        lowest = pair < lowest ? pair : lowest;
        sum += lowest;
        t += 2;
        if (t % LAGS == 0) {
            correlations(s, t, rho);
        }
        even = rho[t % LAGS];
        pair = even + rho[t % LAGS + 1];
    }
    const double after = even > 0.0 || pair >= 0.0 ? even : 0.0;
    const double tau = -1.0 + 2.0 * sum + after;

    return n_all / fmax(tau, 1.0 / log10(n_all));
}

/* ---- the summary --------------------------------------------------------- */

/* Effective sample size of the indicator x <= q: of the quantile q. */
static double quantile_ess(work *w, double q)
{
    chains *half = &w->half;

    split_chains(w->x, w->n_draws, half);
    for (size_t i = 0; i < half->n_chains * half->n; i++) {
        half->x[i] = half->x[i] <= q ? 1.0 : 0.0;
    }
    return centre_chains(half) ? ess_of(half) : unknown;
}

/* Of the draws as they are: for the error of the mean. */
static double mean_ess(work *w)
{
    split_chains(w->x, w->n_draws, &w->half);
    return centre_chains(&w->half) ? ess_of(&w->half) : unknown;
}

/* What ranks tell; the sorted draws are used up. */
static void summarise_ranks(relmc_summary *out, work *w)
{
    chains *half = &w->half;
    const size_t n = split_sorted(w->sorted, w->n_draws, half);

    fill_scores(w->score, n);
    rank_normalise(w->sorted, n, w->score, half->x);
    if (!centre_chains(half)) {
        return;
    }
    const double rhat = rhat_of(half);
    out->ess_bulk = ess_of(half);

    if (!fold(w->sorted, w->spare, n, out->median)) {
        return;
    }
    rank_normalise(w->sorted, n, w->score, half->x);
    if (centre_chains(half)) {
        out->rhat = max_or_nan(rhat, rhat_of(half));
    }
}

static void forget(relmc_summary *out)
{
    out->mean = out->sd = out->median = unknown;
    out->q5 = out->q95 = out->mcse_mean = unknown;
    out->ess_bulk = out->ess_tail = out->rhat = unknown;
}

static void summarise_draws(relmc_summary *out, work *w)
{
    const size_t n = w->n_chains * w->n_draws;

    out->mean = mean_of(w->x, n);
    out->sd = sqrt(variance_of(w->x, n, out->mean));

    for (size_t i = 0; i < n; i++) {
        w->sorted[i].value = w->x[i];
        w->sorted[i].place = i;
    }
    sort_draws(&w->sorted, &w->spare, n);
    out->q5 = quantile_of(w->sorted, n, 0.05);
    out->median = quantile_of(w->sorted, n, 0.5);
    out->q95 = quantile_of(w->sorted, n, 0.95);

    if (w->half.n < 2) {
        return;
    }
    out->mcse_mean = out->sd / sqrt(mean_ess(w));
    if (has_spread(w->x, n)) {
        out->ess_tail =
            min_or_nan(quantile_ess(w, out->q5), quantile_ess(w, out->q95));
    }
    summarise_ranks(out, w);
}

static void load_series(work *w, const relmc_series *series)
{
    for (size_t c = 0; c < w->n_chains; c++) {
        const double *from = series->draws + c * series->chain_stride;

        for (size_t t = 0; t < w->n_draws; t++) {
            w->x[c * w->n_draws + t] = from[t * series->stride];
        }
    }
}

static relmc_status check_series(const relmc_series *series, relmc_error *err)
{
    if (!series || !series->draws) {
        return rmc_fail(err, RELMC_EINVAL, "series: draws must not be NULL");
    }
    if (series->n_chains == 0 || series->n_draws == 0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "series: n_chains and n_draws must be at least 1");
    }
    if ((series->n_draws > 1 && series->stride == 0) ||
        (series->n_chains > 1 && series->chain_stride == 0)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "series: stride and chain_stride must be at least 1");
    }
    return RELMC_OK;
}

relmc_status relmc_summarise(relmc_summary *out, const relmc_series *series,
                             relmc_error *err)
{
    const relmc_status status = check_series(series, err);

    if (status) {
        return status;
    }
    const size_t m = series->n_chains, n = series->n_draws;
    const size_t most = SIZE_MAX / (5 * sizeof(double)); /* 3 m n + 2 m fit */
    double *reals = NULL;
    draw *draws = NULL;

    if (n <= most / m) {
        reals = malloc((3 * m * n + 2 * m) * sizeof *reals);
        draws = calloc(m * n, 2 * sizeof *draws);
    }
    if (!reals || !draws) {
        free(draws);
        free(reals);
        return rmc_fail(err, RELMC_ENOMEM,
                        "summary: no memory for %zu chains of %zu draws", m, n);
    }
    work w = {
        .n_chains = m,
        .n_draws = n,
        .x = reals,
        .sorted = draws,
        .spare = draws + m * n,
        .score = reals + m * n,
        .half = {.n_chains = 2 * m,
                 .n = n / 2,
                 .x = reals + 2 * m * n,
                 .mean = reals + 3 * m * n},
    };

    forget(out);
    load_series(&w, series);
    if (!has_nan(w.x, m * n)) {
        summarise_draws(out, &w);
    }
    free(draws);
    free(reals);
    return RELMC_OK;
}
