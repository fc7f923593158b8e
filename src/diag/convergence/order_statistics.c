/*
 * order_statistics.c - the draws of one quantity in order: sorting, quantiles,
 * scores of ranks.
 *
 * It sorts words of 64 bits: a key of at most 33 bits that rises with the draw,
 * above the place the draw came from.  The key is linear in the draw if that
 * separates the draws well; otherwise it is the leading bits of their
 * representation, which always separates them enough.  Three passes of radix
 * sort order the words; runs of equal keys, mostly short, are then sorted by
 * value.
 */
#include "diag/convergence/series_inline.h"
#include "relmc_diag.h"

#include <math.h>

enum { DIGIT = 11, N_DIGITS = 3, KEY = DIGIT * N_DIGITS, RADIX = 1 << DIGIT };

/* Runs of equal keys up to this length are sorted by insertion. */
enum { SHORT_RUN = 24 };

/* Prefetches are this many draws ahead of random accesses. */
enum { AHEAD = 24 };

/* ---- loading ------------------------------------------------------------- */

static unsigned bits_for(size_t n)
{
    unsigned bits = 0;

    while (bits < 63 && ((n - 1) >> bits) > 0) {
        bits++;
    }
    return bits;
}

int rmc_order_load(rmc_order *o, const relmc_series *series)
{
    const size_t second = series->n_draws - o->n_half; /* where it starts */
    double *middle = o->x + o->n_halves * o->n_half;
    uint64_t n_nan = 0; /* an integer: doubles would be added in turn */

    for (size_t c = 0; c < o->n_chains; c++) {
        const double *from = series->draws + c * series->chain_stride;
        double *first = o->x + 2 * c * o->n_half;

        for (size_t t = 0; t < o->n_half; t++) { /* + 0.0: no negative zero */
            first[t] = from[t * series->stride] + 0.0;
            first[o->n_half + t] = from[(second + t) * series->stride] + 0.0;
        }
        if (second > o->n_half) {
            *middle++ = from[o->n_half * series->stride] + 0.0;
        }
    }
    for (size_t i = 0; i < o->n; i++) {
        n_nan += o->x[i] != o->x[i];
    }
    o->bits = bits_for((o->n_half > o->n_chains ? o->n_half : o->n_chains) + 1);
    o->place = o->bits + bits_for(o->n_halves + 1);
    return n_nan == 0;
}

/* ---- sorting ------------------------------------------------------------- */

/* Doubles in their order as integers. */
static uint64_t ordinal(double x)
{
    const uint64_t bits = rmc_to_bits(x);

    return bits >> 63 ? ~bits : bits | 1ULL << 63;
}

/* Words from keys that are linear in x. */
static void label_linearly(rmc_order *o, double min, double scale)
{
    for (size_t h = 0, i = 0; h <= o->n_halves; h++) {
        const size_t n = h < o->n_halves ? o->n_half : o->n - i;

        for (size_t t = 0; t < n; t++, i++) {
            const uint64_t key = (uint64_t)(int64_t)((o->x[i] - min) * scale);

            o->label[i] = key << o->place | (uint64_t)h << o->bits | t;
        }
    }
}

/* Words from the leading bits of x - min, as integers. */
static void label_by_bits(rmc_order *o, double min, double max, unsigned key)
{
    const uint64_t least = ordinal(min), range = ordinal(max) - least;
    unsigned drop = 0;

    while (drop < 63 && (range >> drop) >> key) {
        drop++;
    }
    for (size_t h = 0, i = 0; h <= o->n_halves; h++) {
        const size_t n = h < o->n_halves ? o->n_half : o->n - i;

        for (size_t t = 0; t < n; t++, i++) {
            const uint64_t k = (ordinal(o->x[i]) - least) >> drop;

            o->label[i] = k << o->place | (uint64_t)h << o->bits | t;
        }
    }
}

/* Counts the words with each digit; returns the largest count of a leading
 * digit. */
static size_t count_digits(const rmc_order *o, size_t count[N_DIGITS][RADIX])
{
    size_t most = 0;

    for (size_t d = 0; d < N_DIGITS; d++) {
        for (size_t r = 0; r < RADIX; r++) {
            count[d][r] = 0;
        }
    }
    for (size_t i = 0; i < o->n; i++) {
        const uint64_t key = o->label[i] >> o->place;

        count[0][key % RADIX]++;
        count[1][key / RADIX % RADIX]++;
        count[2][key / RADIX / RADIX]++;
    }
    for (size_t r = 0; r < RADIX; r++) {
        most = count[2][r] > most ? count[2][r] : most;
    }
    return most;
}

static void label_draws(rmc_order *o, size_t count[N_DIGITS][RADIX])
{
    const unsigned room = 64 - o->place, key = room < KEY ? room : KEY;
    double min, max;

    rmc_limits(o->x, o->n, &min, &max);
    const double scale = ((double)(1ULL << key) - 1.0) / (max - min);

    if (max > min && rmc_is_finite(max - min) && rmc_is_finite(scale)) {
        label_linearly(o, min, scale);
        if (count_digits(o, count) <= o->n / 16 + 1) {
            return;
        }
    }
    label_by_bits(o, min, max, key);
    (void)count_digits(o, count);
}

static void sort_by_digit(rmc_order *o, unsigned shift, size_t count[RADIX])
{
    const size_t first = (size_t)(o->label[0] >> shift) % RADIX;
    uint64_t *from = o->label, *to = o->spare;
    size_t at = 0;

    if (count[first] == o->n) {
        return;
    }
    for (size_t r = 0; r < RADIX; r++) {
        const size_t n = count[r];

        count[r] = at;
        at += n;
    }
    for (size_t i = 0; i < o->n; i++) {
        to[count[(from[i] >> shift) % RADIX]++] = from[i];
    }
    o->label = to;
    o->spare = from;
}

static double value_of(const rmc_order *o, uint64_t label)
{
    return o->x[rmc_index_of(o, label)];
}

static void sort_by_insertion(const rmc_order *o, uint64_t *label, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const uint64_t moving = label[i];
        const double value = value_of(o, moving);
        size_t j = i;

        for (; j > 0 && value_of(o, label[j - 1]) > value; j--) {
            label[j] = label[j - 1];
        }
        label[j] = moving;
    }
}

static int is_sorted(const rmc_order *o, const uint64_t *label, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (value_of(o, label[i]) < value_of(o, label[i - 1])) {
            return 0;
        }
    }
    return 1;
}

/* Merges neighbouring runs, of twice the length each time. */
static void sort_by_merging(const rmc_order *o, uint64_t *label, size_t n,
                            uint64_t *spare)
{
    uint64_t *from = label, *to = spare;

    for (size_t run = 1; run < n; run *= 2) {
        for (size_t i = 0; i < n; i += 2 * run) {
            const size_t middle = run < n - i ? i + run : n;
            const size_t end = run < n - middle ? middle + run : n;
            size_t a = i, b = middle;

            for (size_t k = i; k < end; k++) {
                const int is_b =
                    a == middle ||
                    (b < end && value_of(o, from[b]) < value_of(o, from[a]));

                to[k] = from[is_b ? b++ : a++];
            }
        }
        uint64_t *done = from;
        from = to;
        to = done;
    }
    for (size_t i = 0; from != label && i < n; i++) {
        label[i] = from[i];
    }
}

static void sort_equal_keys(rmc_order *o)
{
    for (size_t first = 0, end; first < o->n; first = end) {
        const uint64_t key = o->label[first] >> o->place;

        end = first + 1;
        while (end < o->n && o->label[end] >> o->place == key) {
            end++;
        }
        const size_t n = end - first;

        if (n > SHORT_RUN && !is_sorted(o, o->label + first, n)) {
            sort_by_merging(o, o->label + first, n, o->spare);
        } else if (n > 1 && n <= SHORT_RUN) {
            sort_by_insertion(o, o->label + first, n);
        }
    }
}

void rmc_order_sort(rmc_order *o)
{
    size_t count[N_DIGITS][RADIX];

    label_draws(o, count);
    for (unsigned d = 0; d < N_DIGITS; d++) {
        if (o->place + d * DIGIT < 64) {
            sort_by_digit(o, o->place + d * DIGIT, count[d]);
        }
    }
    sort_equal_keys(o);
    o->sorted = (double *)(void *)o->spare;
    for (size_t i = 0; i < o->n; i++) {
        if (i + AHEAD < o->n) {
            __builtin_prefetch(&o->x[rmc_index_of(o, o->label[i + AHEAD])]);
        }
        o->sorted[i] = value_of(o, o->label[i]);
    }
}

size_t rmc_order_drop_middles(rmc_order *o)
{
    const size_t n_kept = o->n_halves * o->n_half;
    size_t n = 0;

    for (size_t i = 0; n_kept < o->n && i < o->n; i++) {
        o->label[n] = o->label[i];
        o->sorted[n] = o->sorted[i];
        n += rmc_half_of(o, o->label[i]) < o->n_halves;
    }
    return n_kept;
}

/* ---- quantiles ----------------------------------------------------------- */

double rmc_quantile_of(const double *sorted, size_t n, double p)
{
    const double h = 1.0 + (double)(n - 1) * p;
    const double below = floor(h);
    const size_t i = (size_t)below - 1;
    const double a = sorted[i];
    const double b = i + 1 < n ? sorted[i + 1] : a;
    const double f = h - below;

    return f > 0.0 && a != b ? (1.0 - f) * a + f * b : a;
}

/* How many of the n draws are less than x. */
static size_t count_below(const double *sorted, size_t n, double x)
{
    size_t low = 0, high = n;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (sorted[mid] < x) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* Distances rise to the left and to the right of the centre.  The k + 1 nearest
 * are some `left` of the one side and the rest of the other: `left` is the
 * least number such that the next on the left is not nearer than the last
 * taken on the right. */
double rmc_nearest_of(const double *sorted, size_t n, double centre, size_t k)
{
    const size_t n_left = count_below(sorted, n, centre);
    const size_t n_right = n - n_left, want = k + 1;
    size_t low = want > n_right ? want - n_right : 0;
    size_t high = want < n_left ? want : n_left;

    while (low < high) {
        const size_t left = low + (high - low) / 2, right = want - left;
        const double next = centre - sorted[n_left - 1 - left];
        const double last = sorted[n_left + right - 1] - centre;

        if (next < last) {
            low = left + 1;
        } else {
            high = left;
        }
    }
    const double a = low > 0 ? centre - sorted[n_left - low] : 0.0;
    const double b =
        low < want ? sorted[n_left + want - low - 1] - centre : 0.0;

    return a > b ? a : b;
}

/* ---- scores -------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE     __attribute__((target("avx2,fma")))
#define HAS_WIDE 1
#else
#define HAS_WIDE 0
#endif

static inline __attribute__((always_inline)) void fill_any(double *score,
                                                           size_t n)
{
    const double total = (double)n + 0.25;
    const size_t n_lower = (n + 1) / 2;

    for (size_t r = 0; r < n_lower; r++) {
        score[r] = ((double)(int64_t)r + 0.625) / total;
    }
    for (size_t r = 0; r < n_lower; r++) {
        score[r] = rmc_normal_quantile(score[r]);
    }
}

static void fill_plain(double *score, size_t n)
{
    fill_any(score, n);
}

/* The same bits on all machines: fma rounds once, with or without hardware. */
#if HAS_WIDE
WIDE static void fill_wide(double *score, size_t n)
{
    fill_any(score, n);
}
#endif

void rmc_fill_scores(double *score, size_t n)
{
#if HAS_WIDE
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        fill_wide(score, n);
        return;
    }
#endif
    fill_plain(score, n);
}

double rmc_shared_score(const double *score, size_t n, size_t first, size_t end)
{
    if (end - first == 1) {
        return first < (n + 1) / 2 ? score[first] : -score[n - 1 - first];
    }
    const double rank = 0.5 * (double)(first + 1 + end);

    return rmc_normal_quantile((rank - 0.375) / ((double)n + 0.25));
}
