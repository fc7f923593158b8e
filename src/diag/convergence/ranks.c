/* ranks.c - draws become normal scores of their ranks, or of the ranks of their
 * distances from the median. */
#include "diag/convergence/series_inline.h"

#include <math.h>

/* Prefetches are this many draws ahead of random accesses. */
enum { AHEAD = 24 };

/* Middle draws count as half-chains of their own, after the others. */
static uint32_t owner_of(const rmc_order *o, uint64_t label)
{
    const size_t half = rmc_half_of(o, label);
    const size_t place = (size_t)(label & ((1ULL << o->bits) - 1));

    return (uint32_t)(half + (half == o->n_halves ? place : 0));
}

/* z[place] of every draw; equal draws share the average of their ranks. */
void rmc_rank_normalise(const rmc_work *w, size_t n)
{
    const rmc_order *o = &w->order;
    double *z = w->half.x;

    for (size_t first = 0, end; first < n; first = end) {
        end = first + 1;
        while (end < n && o->sorted[end] == o->sorted[first]) {
            end++;
        }
        const double score = rmc_shared_score(w->score, n, first, end);

        for (size_t i = first; i < end; i++) {
            if (i + AHEAD < n) {
                __builtin_prefetch(&z[rmc_index_of(o, o->label[i + AHEAD])], 1);
            }
            z[rmc_index_of(o, o->label[i])] = score;
        }
    }
}

/* x -> |x - median|, in rising order in half.x, with the half-chains they come
 * from.  Distances rise to either side of the median, so two sorted runs are
 * merged, outwards from the median.  Returns 0 if a distance is NaN (an
 * infinite draw and an infinite median). */
int rmc_fold(rmc_work *w, size_t n, double median)
{
    const rmc_order *o = &w->order;
    double *out = w->half.x;
    size_t right = 0;

    while (right < n && o->sorted[right] < median) {
        right++;
    }
    size_t left = right; /* one past the next on the left */
    for (size_t i = 0; i < n; i++) {
        const double a = left > 0 ? median - o->sorted[left - 1] : HUGE_VAL;
        const double b = right < n ? o->sorted[right] - median : HUGE_VAL;
        const size_t is_left = right == n || (left > 0 && a < b);
        const size_t from = is_left ? left - 1 : right;

        out[i] = is_left ? a : b;
        w->owner[i] = owner_of(o, o->label[from]);
        left -= is_left;
        right += 1 - is_left;
        if (isnan(out[i])) {
            return 0;
        }
    }
    return 1;
}

/* Rising numbers become scores; their owners do not matter here. */
void rmc_score_in_place(const rmc_work *w, size_t n)
{
    double *x = w->half.x;

    for (size_t first = 0, end; first < n; first = end) {
        end = first + 1;
        while (end < n && x[end] == x[first]) {
            end++;
        }
        const double score = rmc_shared_score(w->score, n, first, end);

        for (size_t i = first; i < end; i++) {
            x[i] = score;
        }
    }
}

void rmc_unfold(rmc_work *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        w->half.x[i] = w->order.sorted[i];
        w->owner[i] = owner_of(&w->order, w->order.label[i]);
    }
}

/* The second pass adds to the means what the first lost to rounding: the mean
 * of equal numbers is that number. */
void rmc_owner_moments(const rmc_work *w, size_t n, const rmc_owners *out)
{
    const double *x = w->half.x;

    for (size_t k = 0; k < out->n; k++) {
        out->mean[k] = out->squares[k] = 0.0;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            const size_t k = w->owner[i];

            out->squares[k] += pass ? x[i] - out->mean[k] : x[i];
        }
        for (size_t k = 0; k < out->n; k++) {
            out->mean[k] += out->squares[k] / (double)out->n_each;
            out->squares[k] = 0.0;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const double d = x[i] - out->mean[w->owner[i]];

        out->squares[w->owner[i]] += d * d;
    }
}
