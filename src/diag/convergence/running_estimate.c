/*
 * running_estimate.c - estimates from running statistics: mean, error, R-hat,
 * effective sample size and quantiles of draws that were not kept.
 */
#include "diag/convergence/running_estimate.h"

#include "base/running_moments.h"
#include "diag/convergence/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double unknown = (double)NAN;

static const rmc_running *chain_of(const rmc_running_set *set, size_t k)
{
    return set->first + k * set->stride;
}

/* ---- batches ------------------------------------------------------------- */

/* The same number of batches from every chain, all of the same length.  The
 * chains are cut into halves as in the exact summary. */
struct batches {
    double each;         /* draws in a batch */
    size_t n;            /* of every chain */
    rmc_chains half;     /* 2 n_chains of n / 2 means of batches */
    rmc_moments *halves; /* of the draws in them */
    relmc_arena arena;
};

/* The length of the longest batches, and how many of that length every chain
 * has. */
static void find_common(struct batches *b, const rmc_running_set *set)
{
    int64_t each = 1, n = INT64_MAX;

    for (size_t k = 0; k < set->n_chains; k++) {
        const int64_t here = chain_of(set, k)->each;

        each = here > each ? here : each;
    }
    for (size_t k = 0; k < set->n_chains; k++) {
        const rmc_running *r = chain_of(set, k);
        const int64_t here = (int64_t)r->n_batches * r->each / each;

        n = here < n ? here : n;
    }
    b->each = (double)each;
    b->n = (size_t)n;
}

/* The i-th batch of that length. */
static rmc_moments batch_at(const struct batches *b, const rmc_running *r,
                            size_t i)
{
    const size_t n_merged = (size_t)(b->each / (double)r->each);
    rmc_moments sum = {0};

    for (size_t j = i * n_merged; j < (i + 1) * n_merged; j++) {
        sum = rmc_moments_merge(
            sum, (rmc_moments){(double)r->each, r->mean[j], r->squares[j]});
    }
    return sum;
}

static relmc_status take_batches(struct batches *b, const rmc_running_set *set,
                                 double centre, relmc_error *err)
{
    const size_t m = 2 * set->n_chains, n = b->n / 2;

    b->half = (rmc_chains){
        .n_chains = m,
        .n = n,
        .x = relmc_arena_get(&b->arena, m * n * sizeof(double)),
        .mean = relmc_arena_get(&b->arena, m * sizeof(double)),
        .sum = relmc_arena_get(&b->arena, (n + m + RMC_LAGS) * sizeof(double)),
    };
    b->halves = relmc_arena_get(&b->arena, m * sizeof *b->halves);
    if (b->arena.has_failed) {
        return rmc_fail(err, RELMC_ENOMEM, "online: out of memory");
    }
    for (size_t h = 0; h < m; h++) {
        const size_t first = h % 2 ? b->n - n : 0;

        for (size_t i = 0; i < n; i++) {
            const rmc_moments here =
                batch_at(b, chain_of(set, h / 2), first + i);

            b->half.x[h * n + i] = here.mean - centre;
            b->halves[h] = rmc_moments_merge(b->halves[h], here);
        }
    }
    return RELMC_OK;
}

/*
 * [batch-ess]  Of n draws with variance V: V / Var(mean), where Var(mean) is
 * that of the means of batches over their own effective size.  So batches may
 * be shorter than the correlation time of the draws, since the correlation of
 * the batches adds the rest, or longer, since they are then nearly independent.
 * With batches of one draw this is the effective size of the draws, exactly.
 */
static relmc_status estimate(relmc_online *out, struct batches *b, double n_all,
                             relmc_error *err)
{
    const size_t m = b->half.n_chains;
    const double n = b->each * (double)b->half.n; /* draws of a half */
    const double n_batches = (double)b->half.n;
    double within = 0.0;

    for (size_t h = 0; h < m; h++) {
        within += b->halves[h].squares / (n - 1.0) / (double)m;
    }
    rmc_chains_centre(&b->half);
    const double between = b->half.between;

    if (!(within + between > 0.0) || !rmc_is_finite(within + between)) {
        return RELMC_OK; /* constant, or not finite */
    }
    /* [rhat] as in rmc_chains_rhat, of the draws */
    out->rhat = n > 1.0 ? sqrt(between / within + (n - 1.0) / n) : unknown;
    const double of_batches = rmc_chains_ess(&b->half);
    if (b->half.has_failed) {
        return rmc_fail(err, RELMC_ENOMEM, "online: out of memory");
    }
    const double draws = within * (n - 1.0) / n + between;
    const double means =
        b->half.within * (n_batches - 1.0) / n_batches + between;
    const double used = b->each * (double)b->n * (double)m / 2.0;

    const double ess = draws / means * of_batches * (n_all / used);
    const double most = n_all * log10(n_all); /* as in [ess] */

    out->ess = ess > most ? most : ess;
    out->mcse_mean = out->sd / sqrt(out->ess);
    return RELMC_OK;
}

static relmc_status estimate_from_batches(relmc_online *out,
                                          const rmc_running_set *set,
                                          relmc_error *err)
{
    struct batches b = {.n = 0};
    relmc_status status = RELMC_OK;

    find_common(&b, set);
    if (b.n >= 2) {
        status = take_batches(&b, set, out->mean, err);
        if (!status) {
            status = estimate(out, &b, (double)out->n, err);
        }
        rmc_arena_release(&b.arena);
    }
    return status;
}

/* ---- moments ------------------------------------------------------------- */

static rmc_moments moments_of(const rmc_running *r)
{
    rmc_moments sum = {(double)r->n_open, r->open_mean, r->open_squares};

    for (size_t i = 0; i < r->n_batches; i++) {
        sum = rmc_moments_merge(
            sum, (rmc_moments){(double)r->each, r->mean[i], r->squares[i]});
    }
    return sum;
}

/* ---- quantiles ----------------------------------------------------------- */

/* Points in order, each of which stands for `weight` draws around it. */
struct list {
    const double *x;
    size_t n;
    double weight;
};

/* The single draws of all chains are a list, the points of a level of a chain
 * are one. */
struct lists {
    struct list *list;
    size_t n;
    double *x; /* the points of all lists, one list after another */
    double *sorted;
    size_t n_points;
    double error; /* how far a rank may be off, in draws */
    relmc_arena arena;
};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static relmc_status make_room(struct lists *l, const rmc_running_set *set,
                              relmc_error *err)
{
    for (size_t k = 0; k < set->n_chains; k++) {
        const rmc_sketch *s = &chain_of(set, k)->sketch;

        for (size_t h = 0; h < s->n_levels; h++) {
            l->n_points += s->used[h];
        }
    }
    const size_t bytes = l->n_points * sizeof *l->x;

    l->x = relmc_arena_get(&l->arena, bytes);
    l->sorted = relmc_arena_get(&l->arena, bytes);
    l->list = relmc_arena_get(&l->arena, (set->n_chains * RMC_MAX_LEVELS + 1) *
                                             sizeof *l->list);
    return l->arena.has_failed
               ? rmc_fail(err, RELMC_ENOMEM, "online: out of memory")
               : RELMC_OK;
}

/* Makes a list of the points that were added after the other lists. */
static void close_list(struct lists *l, double *from, double *end,
                       double weight)
{
    if (end > from) {
        qsort(from, (size_t)(end - from), sizeof *from, compare);
        l->list[l->n++] = (struct list){from, (size_t)(end - from), weight};
    }
}

static double *copy_level(double *to, const rmc_sketch *s, size_t h)
{
    memcpy(to, s->points + h * s->room, s->used[h] * sizeof *to);
    return to + s->used[h];
}

/* [sketch]  Bounds the error of a rank: a collapse adds RMC_FAN / 2 points at
 * most, a place between two points of a list half a point. */
static void take_points(struct lists *l, const rmc_running_set *set)
{
    double *end = l->x;

    for (size_t k = 0; k < set->n_chains; k++) {
        end = copy_level(end, &chain_of(set, k)->sketch, 0);
    }
    close_list(l, l->x, end, 1.0);
    for (size_t k = 0; k < set->n_chains; k++) {
        const rmc_sketch *s = &chain_of(set, k)->sketch;
        double weight = 1.0;

        for (size_t h = 1; h < s->n_levels; h++) {
            double *from = end;

            l->error += (double)s->n_collapses[h - 1] * weight * 0.5 * RMC_FAN;
            weight *= RMC_FAN;
            end = copy_level(end, s, h);
            close_list(l, from, end, weight);
            l->error += s->used[h] ? 0.5 * weight : 0.0;
        }
    }
    memcpy(l->sorted, l->x, l->n_points * sizeof *l->sorted);
    qsort(l->sorted, l->n_points, sizeof *l->sorted, compare);
}

/* How many of n sorted numbers are at most v. */
static size_t count_upto(const double *x, size_t n, double v)
{
    size_t low = 0;

    while (n > 0) {
        const size_t half = n / 2;

        if (x[low + half] <= v) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

/* Draws below v: half of those of a point at v, linear between points. */
static double rank_of(const struct lists *l, double v)
{
    double rank = 0.0;

    for (size_t i = 0; i < l->n; i++) {
        const struct list *list = &l->list[i];
        const size_t n = count_upto(list->x, list->n, v);

        if (n == 0) {
            continue;
        }
        const double last = list->x[n - 1];
        double places = (double)n;

        if (v == last) {
            places -= 0.5;
        } else if (n < list->n) {
            places += (v - last) / (list->x[n] - last) - 0.5;
        }
        rank += list->weight * places;
    }
    return rank;
}

/* The place with `rank` draws below it.  The rank is linear between
 * neighbouring points, and may jump at a point.  For single draws this is the
 * quantile of type 7. */
static double quantile_at(const struct lists *l, double rank)
{
    size_t low = 0, high = l->n_points - 1;

    while (low < high) { /* the first point with at least this rank */
        const size_t middle = low + (high - low) / 2;

        if (rank_of(l, l->sorted[middle]) < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const double right = l->sorted[low];
    const double left = low ? l->sorted[low - 1] : right;

    if (!(right > left) || !rmc_is_finite(right - left) ||
        rank_of(l, right) < rank) {
        return right;
    }
    const double from = rank_of(l, left);
    const double step = 2.0 * (rank_of(l, left + 0.5 * (right - left)) - from);

    return rank - from < step ? left + (rank - from) / step * (right - left)
                              : right;
}

static relmc_status find_quantiles(relmc_online *out, double *quantile,
                                   const rmc_running_set *set, size_t n,
                                   const double *level, relmc_error *err)
{
    struct lists l = {.n = 0};
    const relmc_status status = make_room(&l, set, err);

    if (!status) {
        take_points(&l, set);
        out->rank_error = l.error / (double)out->n;
    }
    for (size_t j = 0; j < n && !status; j++) {
        quantile[j] = quantile_at(&l, ((double)out->n - 1.0) * level[j] + 0.5);
    }
    rmc_arena_release(&l.arena);
    return status;
}

/* ---- all of it ----------------------------------------------------------- */

relmc_status rmc_running_estimate(relmc_online *out, double *quantile,
                                  const rmc_running_set *set, size_t n,
                                  const double *level, relmc_error *err)
{
    relmc_online found = {
        .mean = unknown,
        .sd = unknown,
        .mcse_mean = unknown,
        .ess = unknown,
        .rhat = unknown,
        .rank_error = unknown,
    };
    rmc_moments all = {0};
    int64_t n_nan = 0;
    relmc_status status = RELMC_OK;

    for (size_t j = 0; j < n; j++) {
        if (!(level[j] >= 0.0 && level[j] <= 1.0)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "online: levels must be in [0, 1], not %g",
                            level[j]);
        }
        quantile[j] = unknown;
    }
    for (size_t k = 0; k < set->n_chains; k++) {
        const rmc_running *r = chain_of(set, k);

        found.n += r->n;
        n_nan += r->n_nan;
        all = rmc_moments_merge(all, moments_of(r));
    }
    if (found.n > 0 && n_nan == 0) {
        found.mean = all.mean;
        found.sd = all.n > 1.0 ? sqrt(all.squares / (all.n - 1.0)) : unknown;
        status = estimate_from_batches(&found, set, err);
        if (!status) {
            status = find_quantiles(&found, quantile, set, n, level, err);
        }
    }
    if (!status) {
        *out = found;
    }
    return status;
}
