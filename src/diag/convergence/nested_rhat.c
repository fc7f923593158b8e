/*
 * nested_rhat.c - nested R-hat, for many chains too short to be split.
 *
 * Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari, Gelman (2024), "Nested
 * R-hat: assessing the convergence of Markov chain Monte Carlo when running
 * many short chains", Bayesian Analysis.
 */
#include "base/sized_struct.h"
#include "diag/convergence/series.h"
#include "relmc_diag.h"

#include <math.h>

static const double unknown = (double)NAN;

typedef struct nest {
    rmc_owners chains;
    size_t n_super;
    double *super_mean; /* one per superchain */
} nest;

/* Owners were half-chains, and middle draws after them; now they are chains. */
static void join_halves(const rmc_work *w)
{
    const uint32_t n_halves = (uint32_t)w->order.n_halves;

    for (size_t i = 0; i < w->order.n; i++) {
        const uint32_t owner = w->owner[i];

        w->owner[i] = owner < n_halves ? owner / 2 : owner - n_halves;
    }
}

/* [nested-rhat]  sqrt(1 + B / W): B is the variance of the means of
 * superchains; W the mean over them of the variance of the means of their
 * chains (0 for one chain) and the mean variance in a chain (0 for one draw).
 */
static double nested_of(const rmc_work *w, nest *s)
{
    const size_t n_each = s->chains.n / s->n_super, n = s->chains.n_each;
    double within = 0.0;

    if (!rmc_has_spread(w->half.x, w->order.n)) {
        return unknown;
    }
    rmc_owner_moments(w, w->order.n, &s->chains);
    for (size_t k = 0; k < s->n_super; k++) {
        const double *mean = s->chains.mean + k * n_each;
        const double centre = rmc_mean(mean, n_each);

        s->super_mean[k] = centre;
        within += n_each > 1 ? rmc_variance(mean, n_each, centre) : 0.0;
        within += rmc_mean(s->chains.squares + k * n_each, n_each) /
                  (double)(n > 1 ? n - 1 : 1);
    }
    within /= (double)s->n_super;
    const double mean = rmc_mean(s->super_mean, s->n_super);

    return sqrt(1.0 + rmc_variance(s->super_mean, s->n_super, mean) / within);
}

static void find_nested(relmc_nested_rhat *out, rmc_work *w, nest *s)
{
    const size_t n = w->order.n;

    rmc_order_sort(&w->order);
    rmc_fill_scores(w->score, n);
    rmc_unfold(w, n);
    join_halves(w);
    out->raw = nested_of(w, s);
    rmc_score_in_place(w, n);
    out->bulk = nested_of(w, s);
    if (rmc_fold(w, n, rmc_quantile_of(w->order.sorted, n, 0.5))) {
        join_halves(w);
        rmc_score_in_place(w, n);
        out->folded = nested_of(w, s);
    }
}

relmc_status relmc_rhat_nested(relmc_nested_rhat *out,
                               const relmc_series *series, size_t n_superchains,
                               relmc_error *err)
{
    relmc_nested_rhat found = {
        .raw = unknown, .bulk = unknown, .folded = unknown};
    rmc_work w;

    if (n_superchains == 0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "nested: n_superchains must be at least 1");
    }
    relmc_status status = rmc_work_create(&w, series, err);
    if (!status && series->n_chains % n_superchains) {
        status = rmc_fail(err, RELMC_EINVAL,
                          "nested: %zu chains do not make %zu superchains",
                          series->n_chains, n_superchains);
    }
    if (!status) {
        const size_t bytes = series->n_chains * sizeof(double);
        nest s = {
            .chains = {series->n_chains, series->n_draws,
                       relmc_arena_get(&w.arena, bytes),
                       relmc_arena_get(&w.arena, bytes)},
            .n_super = n_superchains,
            .super_mean = relmc_arena_get(&w.arena, bytes),
        };

        status = relmc_arena_check(&w.arena, err);
        if (!status && rmc_order_load(&w.order, series)) {
            find_nested(&found, &w, &s);
        }
    }
    status = rmc_work_release(&w, status, err);
    if (!status) {
        status =
            rmc_sized_fill(out, &found, sizeof found, "relmc_nested_rhat", err);
    }
    return status;
}
