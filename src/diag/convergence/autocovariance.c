/*
 * autocovariance.c - R-hat and effective sample size of a set of chains.
 *
 * Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), "Rank-normalization,
 * folding, and localization: an improved R-hat for assessing convergence of
 * MCMC", Bayesian Analysis 16(2).
 */
#include "diag/convergence/series_inline.h"

#include <float.h>
#include <math.h>

/* Sums run in this many parts. */
enum { PARTS = 8 };

/* Half-chains shorter than this have no effective sample size. */
enum { MIN_HALF = 6 };

/* Lags beyond which transforms are cheaper than products, for numbers and for
 * bits, and the lags that the first transform gives. */
enum { DIRECT = 48, DIRECT_BITS = 1024, FIRST_TRANSFORM = 1024 };

/* ---- sums ---------------------------------------------------------------- */

static double add_parts(const double part[PARTS])
{
    return ((part[0] + part[1]) + (part[2] + part[3])) +
           ((part[4] + part[5]) + (part[6] + part[7]));
}

double rmc_sum(const double *x, size_t n)
{
    double part[PARTS] = {0.0};
    size_t i = 0;

    for (; i + PARTS <= n; i += PARTS) {
        for (size_t j = 0; j < PARTS; j++) {
            part[j] += x[i + j];
        }
    }
    for (; i < n; i++) {
        part[i % PARTS] += x[i];
    }
    return add_parts(part);
}

/* sum of x - shift, and of its square */
static inline __attribute__((always_inline)) void
sums_about_any(const double *x, size_t n, double shift, double *first,
               double *second)
{
    double a[PARTS] = {0.0}, b[PARTS] = {0.0};
    size_t i = 0;

    for (; i + PARTS <= n; i += PARTS) {
        RMC_KEEP_WAYS
        for (size_t j = 0; j < PARTS; j++) {
            const double d = x[i + j] - shift;

            a[j] += d;
            b[j] += d * d;
        }
    }
    for (; i < n; i++) {
        const double d = x[i] - shift;

        a[i % PARTS] += d;
        b[i % PARTS] += d * d;
    }
    *first = add_parts(a);
    *second = add_parts(b);
}

RMC_WIDE(sums_about,
         (const double *x, size_t n, double shift, double *first,
          double *second),
         (x, n, shift, first, second))

/* The second pass adds what the first lost to rounding. */
double rmc_mean(const double *x, size_t n)
{
    const double mean = rmc_sum(x, n) / (double)n;
    double rest, unused;

    if (!rmc_is_finite(mean)) {
        return mean;
    }
    sums_about(x, n, mean, &rest, &unused);
    return mean + rest / (double)n;
}

double rmc_variance(const double *x, size_t n, double mean)
{
    double unused, sum;

    sums_about(x, n, mean, &unused, &sum);
    return n > 1 ? sum / (double)(n - 1) : (double)NAN;
}

void rmc_limits(const double *x, size_t n, double *least, double *most)
{
    double min[PARTS], max[PARTS];

    for (size_t j = 0; j < PARTS; j++) {
        min[j] = max[j] =
            x[n - 1 - j % n]; /* the end of a chain is in this sum */
    }
    for (size_t i = 0; i + PARTS <= n; i += PARTS) {
        for (size_t j = 0; j < PARTS; j++) {
            min[j] = x[i + j] < min[j] ? x[i + j] : min[j];
            max[j] = x[i + j] > max[j] ? x[i + j] : max[j];
        }
    }
    *least = min[0];
    *most = max[0];
    for (size_t j = 1; j < PARTS; j++) {
        *least = min[j] < *least ? min[j] : *least;
        *most = max[j] > *most ? max[j] : *most;
    }
}

int rmc_has_spread(const double *x, size_t n)
{
    double min, max;

    rmc_limits(x, n, &min, &max);
    return rmc_is_finite(min) && rmc_is_finite(max) && max - min >= DBL_EPSILON;
}

/* ---- variances ----------------------------------------------------------- */

static void find_between(rmc_chains *s)
{
    s->between = 0.0;
    if (s->n_chains > 1) {
        const double mean = rmc_mean(s->mean, s->n_chains);

        s->between = rmc_variance(s->mean, s->n_chains, mean);
    }
}

void rmc_chains_centre(rmc_chains *s)
{
    s->within = 0.0;
    s->n_lags = 0;
    s->is_bits = 0;
    for (size_t c = 0; c < s->n_chains; c++) {
        double *x = s->x + c * s->n, unused, sum;

        s->mean[c] = rmc_mean(x, s->n);
        for (size_t t = 0; t < s->n; t++) {
            x[t] -= s->mean[c];
        }
        sums_about(x, s->n, 0.0, &unused, &sum);
        s->within += sum / (double)(s->n - 1) / (double)s->n_chains;
    }
    find_between(s);
}

/* [rhat]  sqrt((B / W + n - 1) / n), B = n between, W = within */
double rmc_chains_rhat(const rmc_chains *s)
{
    const double n = (double)s->n;

    return sqrt(s->between / s->within + (n - 1.0) / n);
}

/* ---- indicators ---------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
#define COUNTS     __attribute__((target("popcnt")))
#define HAS_COUNTS 1
#else
#define HAS_COUNTS 0
#endif

/* How often bits t and t + lag are both set. */
static inline __attribute__((always_inline)) uint64_t
count_any(const uint64_t *bits, size_t n, size_t lag)
{
    const size_t shift = lag / 64, r = lag % 64;
    const uint64_t *later = bits + shift;
    uint64_t count = 0;

    for (size_t i = 0; i + shift <= n / 64; i++) {
        const uint64_t moved = later[i] >> r | later[i + 1] << 1 << (63 - r);

        count += (uint64_t)__builtin_popcountll(bits[i] & moved);
    }
    return count;
}

static uint64_t count_plain(const uint64_t *bits, size_t n, size_t lag)
{
    return count_any(bits, n, lag);
}

#if HAS_COUNTS
COUNTS static uint64_t count_fast(const uint64_t *bits, size_t n, size_t lag)
{
    return count_any(bits, n, lag);
}
#endif

static uint64_t count_pairs(const uint64_t *bits, size_t n, size_t lag)
{
#if HAS_COUNTS
    if (__builtin_cpu_supports("popcnt")) {
        return count_fast(bits, n, lag);
    }
#endif
    return count_plain(bits, n, lag);
}

static unsigned bit_at(const uint64_t *bits, size_t t)
{
    return (unsigned)(bits[t / 64] >> (t % 64)) & 1U;
}

int rmc_chains_indicate(rmc_chains *s, const double *x, double low, double high)
{
    const size_t words = rmc_words_of(s->n);
    uint64_t all = 0;

    s->within = 0.0;
    s->n_lags = 0;
    s->is_bits = 1;
    for (size_t c = 0; c < s->n_chains; c++) {
        uint64_t *bits = s->bits + c * words;
        const double *from = x + c * s->n;

        for (size_t w = 0; w < words; w++) {
            const size_t left = 64 * w < s->n ? s->n - 64 * w : 0;
            uint64_t word = 0;

            for (size_t b = 0; b < (left < 64 ? left : 64); b++) {
                const double v = from[64 * w + b];

                word |= (uint64_t)((v >= low) & (v <= high)) << b;
            }
            bits[w] = word;
        }
        const uint64_t ones = count_pairs(bits, s->n, 0);
        const double n = (double)s->n, p = (double)ones / n;

        all += ones;
        s->mean[c] = p;
        s->within += p * (1.0 - p) * n / (n - 1.0) / (double)s->n_chains;
    }
    find_between(s);
    return all > 0 && all < s->n_chains * s->n;
}

/* From here on bits are slower than a transform of numbers. */
static void expand_bits(rmc_chains *s)
{
    for (size_t c = 0; c < s->n_chains; c++) {
        const uint64_t *bits = s->bits + c * rmc_words_of(s->n);

        for (size_t t = 0; t < s->n; t++) {
            s->x[c * s->n + t] = (double)bit_at(bits, t) - s->mean[c];
        }
    }
    s->is_bits = 0;
}

/* sum of (b_t - p)(b_t+l - p) = pairs - p (heads + tails) + (n - l) p^2, where
 * heads are the bits with a successor and tails those with a predecessor. */
static void add_bit_products(const uint64_t *bits, size_t n, double p,
                             size_t lag, double sum[RMC_LAGS])
{
    uint64_t outside = 0; /* bits before lag and bits from n - lag on */
    const uint64_t ones = (uint64_t)(p * (double)n + 0.5);

    for (size_t t = 0; t < lag; t++) {
        outside += bit_at(bits, t) + bit_at(bits, n - 1 - t);
    }
    for (size_t j = 0; j < RMC_LAGS && lag + j < n; j++) {
        const double pairs = (double)count_pairs(bits, n, lag + j);
        const double ends = (double)(2 * ones - outside);

        sum[j] += pairs - p * ends + (double)(n - lag - j) * p * p;
        outside += bit_at(bits, lag + j) + bit_at(bits, n - 1 - lag - j);
    }
}

/* ---- autocorrelations ---------------------------------------------------- */

/* sum[j] += sum_t x[t] x[t + lag + j].  The inner loop runs over lags, so it
 * vectorises and each sum keeps its order. */
static inline __attribute__((always_inline)) void
add_products_any(const double *x, size_t n, size_t lag, double *sum)
{
    const size_t n_full = n > lag + RMC_LAGS ? n - lag - RMC_LAGS : 0;
    double s[RMC_LAGS] = {0.0};

    for (size_t t = 0; t < n_full; t++) {
        for (size_t j = 0; j < RMC_LAGS; j++) {
            s[j] += x[t] * x[t + lag + j];
        }
    }
    for (size_t j = 0; j < RMC_LAGS; j++) {
        for (size_t t = n_full; t + lag + j < n; t++) {
            s[j] += x[t] * x[t + lag + j];
        }
        sum[j] += s[j];
    }
}

RMC_WIDE(add_products, (const double *x, size_t n, size_t lag, double *sum),
         (x, n, lag, sum))

/* Are a few more sums likely to be enough?  Not if the last one is still as
 * large as a tenth of the first. */
static int are_few_left(const rmc_chains *s)
{
    return s->is_bits ? s->n_lags < DIRECT_BITS
                      : s->n_lags < DIRECT &&
                            (s->n_lags == 0 ||
                             s->sum[s->n_lags - 1] < 0.1 * s->sum[0]);
}

/* Finds more of the sums: a few while few are enough, then many at once. */
static void extend(rmc_chains *s)
{
    if (are_few_left(s)) {
        double *sum = s->sum + s->n_lags;

        for (size_t j = 0; j < RMC_LAGS; j++) {
            sum[j] = 0.0;
        }
        for (size_t c = 0; c < s->n_chains; c++) {
            if (s->is_bits) {
                add_bit_products(s->bits + c * rmc_words_of(s->n), s->n,
                                 s->mean[c], s->n_lags, sum);
            } else {
                add_products(s->x + c * s->n, s->n, s->n_lags, sum);
            }
        }
        s->n_lags += RMC_LAGS;
        return;
    }
    if (s->is_bits) {
        expand_bits(s);
    }
    const size_t want =
        s->n_lags < FIRST_TRANSFORM ? FIRST_TRANSFORM : 4 * s->n_lags;

    s->n_lags = want < s->n ? want : s->n;
    if (!rmc_lag_sums(s->x, s->n_chains, s->n, s->n_lags, s->sum)) {
        s->has_failed = 1;
    }
}

/* rho_t = 1 - (W - a_t) / V,  V = W (n - 1) / n + between, a_t the mean over
 * chains of sum_i x_i x_{i+t} / n. */
static double correlation(rmc_chains *s, size_t t)
{
    const double n = (double)s->n;
    const double total = s->within * (n - 1.0) / n + s->between;

    while (t >= s->n_lags && !s->has_failed) {
        extend(s);
    }
    if (s->has_failed) {
        return (double)NAN; /* ends every loop; the caller checks has_failed */
    }
    return 1.0 - (s->within - s->sum[t] / (n * (double)s->n_chains)) / total;
}

/*
 * [ess]  S / tau, tau = -1 + 2 sum of P_k + the correlation after them, where
 * P_k = rho_2k + rho_2k+1 are taken as long as they are positive (Geyer's
 * initial positive sequence) and lowered to their predecessor where they rise
 * (his initial monotone sequence).  tau is at least 1 / log10 S, which bounds
 * the gain of antithetic chains.  Lags are computed as they are needed: few
 * when chains mix, all of them when they stay apart.
 */
double rmc_chains_ess(rmc_chains *s)
{
    const double n_all = (double)(s->n_chains * s->n);
    double even = 1.0, pair, lowest = HUGE_VAL, sum = 0.0;
    size_t t = 0;

    if (s->n < MIN_HALF || !rmc_is_finite(s->within + s->between)) {
        return (double)NAN;
    }
    pair = even + correlation(s, 1);
    while (t + 5 < s->n && pair > 0.0) {
        lowest = pair < lowest ? pair : lowest;
        sum += lowest;
        t += 2;
        even = correlation(s, t);
        pair = even + correlation(s, t + 1);
    }
    const double after = even > 0.0 || pair >= 0.0 ? even : 0.0;
    const double tau = -1.0 + 2.0 * sum + after;

    return n_all / fmax(tau, 1.0 / log10(n_all));
}
