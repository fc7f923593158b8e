/*
 * summary.c - the summary of the draws of one quantity: location, spread,
 * R-hat, effective sample sizes and standard errors, as the R package posterior
 * computes them.
 *
 * Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), "Rank-normalization,
 * folding, and localization: an improved R-hat for assessing convergence of
 * MCMC", Bayesian Analysis 16(2).  These values are undefined (NaN):
 *   - everything, when a draw is NaN;
 *   - values from moments or indicators, when a draw is infinite;
 *   - R-hat and effective sizes, when the draws are constant;
 *   - R-hat below 4 draws, effective sizes below 12 draws per chain: shorter
 *     halves do not reach the first lags that decide where to stop.
 * R-hat is infinite when every chain stands still at a place of its own.
 */
#include "base/sized_struct.h"
#include "diag/convergence/series.h"
#include "relmc_diag.h"

#include <float.h>
#include <math.h>

/* The undefined value. */
static const double unknown = (double)NAN;

/* The smaller and the larger of two, and NaN if there is one. */
static double min_or_nan(double a, double b)
{
    return a < b || isnan(a) ? a : b;
}

static double max_or_nan(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

/* ---- ranks --------------------------------------------------------------- */

/* R-hat of folded draws: it needs only sums over half-chains, so they need not
 * go back to their places. */
static double folded_rhat(rmc_work *w, size_t n, double median)
{
    rmc_chains *s = &w->half;

    if (!rmc_fold(w, n, median)) {
        return unknown;
    }
    rmc_score_in_place(w, n);
    if (!rmc_has_spread(s->x, n)) {
        return unknown;
    }
    const rmc_owners owners = {s->n_chains, s->n, s->mean, s->sum};

    rmc_owner_moments(w, n, &owners);
    s->within =
        rmc_sum(s->sum, s->n_chains) / (double)(s->n - 1) / (double)s->n_chains;
    const double mean = rmc_mean(s->mean, s->n_chains);

    s->between = rmc_variance(s->mean, s->n_chains, mean);
    return rmc_chains_rhat(s);
}

/* The values that ranks give; the sorted draws are overwritten. */
static void summarise_ranks(relmc_summary *out, rmc_work *w)
{
    const size_t n = rmc_order_drop_middles(&w->order);

    rmc_fill_scores(w->score, n);
    rmc_rank_normalise(w, n);
    if (!rmc_has_spread(w->half.x, n)) {
        return;
    }
    rmc_chains_centre(&w->half);
    out->rhat_bulk = rmc_chains_rhat(&w->half);
    out->ess_bulk = rmc_chains_ess(&w->half);
    out->rhat_folded = folded_rhat(w, n, out->median);
    out->rhat = isinf(out->rhat_bulk) /* folded constants may agree */
                    ? out->rhat_bulk
                    : max_or_nan(out->rhat_bulk, out->rhat_folded);
}

/* ---- moments ------------------------------------------------------------- */

/* A power of 2 that brings deviations from the mean near 1: effective sizes do
 * not change by it, but squares of huge draws do not overflow. */
static double scale_of(const rmc_order *o, double mean)
{
    double least, greatest;

    rmc_limits(o->x, o->n, &least, &greatest);
    const double most = fmax(mean - least, greatest - mean);

    return most > 0x1p-1000 && most < 0x1p1000 ? ldexp(1.0, -ilogb(most)) : 1.0;
}

/* The effective size for the error of the mean. */
static double mean_ess(rmc_work *w, double mean)
{
    const size_t n = w->half.n_chains * w->half.n;
    const double scale = scale_of(&w->order, mean);

    if (!rmc_has_spread(w->order.x, n)) {
        return unknown;
    }
    for (size_t i = 0; i < n; i++) { /* so the means of chains keep digits */
        w->half.x[i] = (w->order.x[i] - mean) * scale;
    }
    rmc_chains_centre(&w->half);
    return rmc_chains_ess(&w->half);
}

/* The effective size of (x - mean)^2, for the error of the standard
 * deviation. */
static double sd_ess(rmc_work *w, double mean)
{
    const size_t n = w->half.n_chains * w->half.n;
    const double scale = scale_of(&w->order, mean);
    double *y = w->half.x, low = HUGE_VAL, high = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double c = (w->order.x[i] - mean) * scale;

        y[i] = c * c;
        low = y[i] < low ? y[i] : low;
        high = y[i] > high ? y[i] : high;
    }
    if (!((high - low) / scale / scale >= DBL_EPSILON)) {
        return unknown;
    }
    rmc_chains_centre(&w->half);
    return rmc_chains_ess(&w->half);
}

/* [mcse-sd]  Var(sd) = Var(c^2 mean) / 4 v, by the delta method, with c the
 * centred draws, v = mean c^2, Var(c^2 mean) = (mean c^4 - v^2) / ess. */
static double sd_error(const rmc_order *o, double mean, double ess)
{
    double second = 0.0, fourth = 0.0;

    for (size_t i = 0; i < o->n; i++) {
        const double c = o->x[i] - mean, c2 = c * c;

        second += c2;
        fourth += c2 * c2;
    }
    const double n = (double)o->n, v = second / n;

    return sqrt((fourth / n - v * v) / ess / v / 4.0);
}

double rmc_quantile_ess(rmc_work *w, double q)
{
    rmc_chains *half = &w->half;

    return rmc_chains_indicate(half, w->order.x, -HUGE_VAL, q)
               ? rmc_chains_ess(half)
               : unknown;
}

/* ---- the summary --------------------------------------------------------- */

static void summarise_draws(relmc_summary *out, rmc_work *w)
{
    rmc_order *o = &w->order;
    const size_t n = o->n;

    out->mean = rmc_mean(o->x, n);
    out->sd = sqrt(rmc_variance(o->x, n, out->mean));
    rmc_order_sort(o);
    out->q5 = rmc_quantile_of(o->sorted, n, 0.05);
    out->median = rmc_quantile_of(o->sorted, n, 0.5);
    out->q95 = rmc_quantile_of(o->sorted, n, 0.95);
    out->mad = 1.4826 * 0.5 *
               (rmc_nearest_of(o->sorted, n, out->median, (n - 1) / 2) +
                rmc_nearest_of(o->sorted, n, out->median, n / 2));
    if (w->half.n < 2) {
        return;
    }
    out->ess_mean = mean_ess(w, out->mean);
    out->mcse_mean = out->sd / sqrt(out->ess_mean);
    if (rmc_has_spread(o->x, n)) {
        out->ess_sd = sd_ess(w, out->mean);
        out->mcse_sd = sd_error(o, out->mean, out->ess_sd);
        out->ess_tail = min_or_nan(rmc_quantile_ess(w, out->q5),
                                   rmc_quantile_ess(w, out->q95));
    }
    summarise_ranks(out, w);
}

/* ---- memory -------------------------------------------------------------- */

relmc_status rmc_check_series(const relmc_series *series, relmc_error *err)
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

/* The draws and their half-chains: all that moments need.  The arrays of sizes
 * m n cannot overflow. */
static relmc_status create_halves(rmc_work *w, const relmc_series *series,
                                  relmc_error *err)
{
    const relmc_status status = rmc_check_series(series, err);

    *w = (rmc_work){.score = NULL};
    if (status) {
        return status;
    }
    const size_t m = series->n_chains, n = series->n_draws, half = n / 2;

    if (m >= UINT32_MAX / 2 || n > SIZE_MAX / 256 / m) {
        w->arena.has_failed = 1;
        return RELMC_OK;
    }
    relmc_arena *a = &w->arena;

    w->order = (rmc_order){
        .n_chains = m,
        .n_halves = 2 * m,
        .n_half = half,
        .n = m * n,
        .x = relmc_arena_get(a, m * n * sizeof(double)),
    };
    w->half = (rmc_chains){
        .n_chains = 2 * m,
        .n = half,
        .mean = relmc_arena_get(a, 2 * m * sizeof(double)),
        .sum = relmc_arena_get(a, (half + 2 * m + RMC_LAGS) * 8),
    };
    return RELMC_OK;
}

static relmc_status check_room(const rmc_work *w, const relmc_series *series,
                               relmc_error *err)
{
    return w->arena.has_failed
               ? rmc_fail(err, RELMC_ENOMEM,
                          "series: no memory for %zu chains of %zu draws",
                          series->n_chains, series->n_draws)
               : RELMC_OK;
}

relmc_status rmc_work_create(rmc_work *w, const relmc_series *series,
                             relmc_error *err)
{
    const relmc_status status = create_halves(w, series, err);
    const size_t n = w->order.n;
    relmc_arena *a = &w->arena;

    if (status) {
        return status;
    }
    if (!a->has_failed) {
        w->order.label = relmc_arena_get(a, n * sizeof(uint64_t));
        w->order.spare = relmc_arena_get(a, n * sizeof(uint64_t));
        w->half.x = relmc_arena_get(a, n * sizeof(double));
        w->half.bits =
            relmc_arena_get(a, w->half.n_chains * rmc_words_of(w->half.n) * 8);
        w->score = relmc_arena_get(a, (n + 1) / 2 * sizeof(double));
        w->owner = relmc_arena_get(a, n * sizeof(uint32_t));
    }
    return check_room(w, series, err);
}

relmc_status rmc_work_release(rmc_work *w, relmc_status status,
                              relmc_error *err)
{
    if (!status && w->half.has_failed) {
        status =
            rmc_fail(err, RELMC_ENOMEM, "series: no memory for transforms");
    }
    rmc_arena_release(&w->arena);
    return status;
}

relmc_status relmc_summarise(relmc_summary *out, const relmc_series *series,
                             relmc_error *err)
{
    relmc_summary found = {
        .mean = unknown,
        .sd = unknown,
        .median = unknown,
        .q5 = unknown,
        .q95 = unknown,
        .mcse_mean = unknown,
        .ess_bulk = unknown,
        .ess_tail = unknown,
        .rhat = unknown,
        .mad = unknown,
        .mcse_sd = unknown,
        .ess_mean = unknown,
        .ess_sd = unknown,
        .rhat_bulk = unknown,
        .rhat_folded = unknown,
    };
    rmc_work w;
    relmc_status status = rmc_work_create(&w, series, err);

    if (!status && rmc_order_load(&w.order, series)) {
        summarise_draws(&found, &w);
    }
    status = rmc_work_release(&w, status, err);
    if (!status) {
        status =
            rmc_sized_fill(out, &found, sizeof found, "relmc_summary", err);
    }
    return status;
}

relmc_status relmc_ess_mean(double *out, const relmc_series *series,
                            relmc_error *err)
{
    double found = unknown;
    rmc_work w;
    relmc_status status = create_halves(&w, series, err);

    status = status ? status : check_room(&w, series, err);
    w.half.x = w.order.x; /* the draws are not needed once they are centred */
    if (!status && rmc_order_load(&w.order, series) && w.half.n >= 2) {
        found = mean_ess(&w, rmc_mean(w.order.x, w.order.n));
    }
    status = rmc_work_release(&w, status, err);
    if (!status) {
        *out = found;
    }
    return status;
}
