/* running_moments.c - adds draws to running statistics.  It takes no memory, and the
 * statistics depend on the draws and their order only. */
#include "base/running_moments.h"

#include <string.h>

/* ---- sorting ------------------------------------------------------------- */

enum { SHORT_RUN = 16 };

static void insertion_sort(double *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const double moving = x[i];
        size_t j = i;

        for (; j > 0 && moving < x[j - 1]; j--) {
            x[j] = x[j - 1];
        }
        x[j] = moving;
    }
}

/* Merges the sorted runs [0, middle) and [middle, n), without a branch on numbers. */
static void merge_runs(double *out, const double *x, size_t middle, size_t n)
{
    size_t i = 0, j = middle, at = 0;

    while (i < middle && j < n) {
        const int is_right = x[j] < x[i];

        out[at++] = is_right ? x[j] : x[i];
        j += (size_t)is_right;
        i += (size_t)!is_right;
    }
    memcpy(out + at, x + i, (middle - i) * sizeof *x);
    memcpy(out + at + (middle - i), x + j, (n - j) * sizeof *x);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Sorts x, which consists of sorted runs of length `run`; returns the sorted
 * numbers, in x or in spare. */
static const double *merge_sort(double *x, double *spare, size_t n, size_t run)
{
    for (; run < n; run *= 2) {
        for (size_t from = 0; from < n; from += 2 * run) {
            const size_t here = least(2 * run, n - from);

            merge_runs(spare + from, x + from, least(run, here), here);
        }
        double *other = spare;
        spare = x;
        x = other;
    }
    return x;
}

/* ---- the sketch ---------------------------------------------------------- */

size_t rmc_sketch_levels(size_t room, int64_t n)
{
    size_t levels = 1;
    double held = (double)room;

    for (; held < (double)n && levels < RMC_MAX_LEVELS; levels++) {
        held *= RMC_FAN;
    }
    return levels;
}

/* Of every RMC_FAN points a middle one moves up.  There are two, which take turns;
 * neighbouring levels begin with different ones. */
static void collapse(rmc_sketch *s, size_t h)
{
    const size_t n = s->room / RMC_FAN;
    const size_t is_odd = ((size_t)s->n_collapses[h]++ + h) % 2;
    const size_t offset = RMC_FAN / 2 - 1 + is_odd;
    double *x = s->points + h * s->room;
    double *up = s->points + (h + 1) * s->room + s->used[h + 1];
    size_t run = n; /* the level below sent sorted runs */

    if (h == 0) {
        run = SHORT_RUN;
        for (size_t from = 0; from < s->room; from += run) {
            insertion_sort(x + from, least(run, s->room - from));
        }
    }
    const double *sorted = merge_sort(x, s->scratch, s->room, run);

    for (size_t i = 0; i < n; i++) {
        up[i] = sorted[i * RMC_FAN + offset];
    }
    s->used[h] = 0;
    s->used[h + 1] += n;
}

static void add_point(rmc_sketch *s, double x)
{
    if (s->used[0] == s->room) {
        size_t h = 1;

        while (h + 1 < s->n_levels && s->used[h] == s->room) {
            h++;
        }
        while (h-- > 0) { /* from the highest full level down */
            collapse(s, h);
        }
    }
    s->points[s->used[0]++] = x;
}

/* ---- batches ------------------------------------------------------------- */

rmc_moments rmc_moments_merge(rmc_moments a, rmc_moments b)
{
    const double n = a.n + b.n, gap = b.mean - a.mean;

    return n > 0.0 ? (rmc_moments){n, a.mean + gap * (b.n / n),
                                   a.squares + b.squares +
                                       gap * gap * (a.n / n) * b.n}
                   : a;
}

static void halve_batches(rmc_running *r)
{
    const double each = (double)r->each;

    for (size_t b = 0; b < RMC_BATCHES / 2; b++) {
        const rmc_moments both = rmc_moments_merge(
            (rmc_moments){each, r->mean[2 * b], r->squares[2 * b]},
            (rmc_moments){each, r->mean[2 * b + 1], r->squares[2 * b + 1]});

        r->mean[b] = both.mean;
        r->squares[b] = both.squares;
    }
    r->n_batches = RMC_BATCHES / 2;
    r->each *= 2;
}

/* If there is no room the batch stays open: it is the first half of one of
 * the doubled length. */
static void close_batch(rmc_running *r)
{
    if (r->n_batches == RMC_BATCHES) {
        halve_batches(r);
        return;
    }
    r->mean[r->n_batches] = r->open_mean;
    r->squares[r->n_batches] = r->open_squares;
    r->n_batches++;
    r->n_open = 0;
    r->open_mean = 0.0;
    r->open_squares = 0.0;
}

void rmc_running_start(rmc_running *r)
{
    r->each = 1;
}

void rmc_running_add(rmc_running *r, double x)
{
    r->n++;
    if (x != x) {
        r->n_nan++;
        return;
    }
    const double off = x - r->open_mean;

    r->n_open++;
    r->open_mean += off / (double)r->n_open;
    r->open_squares += off * (x - r->open_mean);
    if (r->n_open == r->each) {
        close_batch(r);
    }
    add_point(&r->sketch, x);
}
