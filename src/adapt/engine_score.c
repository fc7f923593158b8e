/* engine_score.c - how well engines mix, from short pilot runs on the same target. */
#include "adapt/engine_score.h"

#include <stdlib.h>

/* Coordinate i of all draws, pilot after pilot, chain after chain. */
static size_t gather(size_t dim, size_t i, const struct rmc_pilot *pilots,
                     size_t n_pilots, double *out)
{
    size_t n = 0;

    for (size_t e = 0; e < n_pilots; e++) {
        for (size_t c = 0; c < pilots[e].n_chains; c++) {
            for (size_t t = 0; t < pilots[e].n; t++) {
                out[n++] = pilots[e].x[c][t * dim + i];
            }
        }
    }
    return n;
}

/* y becomes its rank among all, uniform in (-1/2, 1/2); equal values share the
 * middle of theirs. */
static void rank(size_t n, double *y, double *sorted)
{
    memcpy(sorted, y, n * sizeof *y);
    qsort(sorted, n, sizeof *sorted, rmc_ascending);
    for (size_t j = 0; j < n; j++) {
        size_t first = 0, beyond = n;

        for (size_t end = n; first < end;) {
            const size_t mid = (first + end) / 2;
            if (sorted[mid] < y[j]) {
                first = mid + 1;
            } else {
                end = mid;
            }
        }
        for (size_t begin = first; begin < beyond;) {
            const size_t mid = (begin + beyond) / 2;
            if (sorted[mid] > y[j]) {
                beyond = mid;
            } else {
                begin = mid + 1;
            }
        }
        y[j] = 0.5 * (double)(first + beyond) / (double)n - 0.5;
    }
}

/* Half the mean square of what y changes by in `lag` draws. */
static double variogram(const double *y, size_t n_chains, size_t n, size_t lag)
{
    double sum = 0.0;

    for (size_t c = 0; c < n_chains; c++) {
        for (size_t t = lag; t < n; t++) {
            const double e = y[c * n + t] - y[c * n + t - lag];
            sum += e * e;
        }
    }
    return 0.5 * sum / (double)(n_chains * (n - lag));
}

/* Draws per effective draw, by Geyer's initial positive sequence. */
static double autocorrelation_time(const double *y, size_t n_chains, size_t n,
                                   double variance)
{
    double tau = -1.0, least = HUGE_VAL;

    for (size_t lag = 0; lag + 1 < n; lag += 2) {
        const double even = 1.0 - variogram(y, n_chains, n, lag) / variance;
        const double odd = 1.0 - variogram(y, n_chains, n, lag + 1) / variance;
        const double pair = even + odd < least ? even + odd : least;

        if (!(pair > 0.0)) {
            break;
        }
        least = pair;
        tau += 2.0 * pair;
    }
    return tau > 0.1 ? tau : 0.1;
}

static double variance_of(size_t n, const double *y)
{
    double mean = 0.0, sum = 0.0;

    for (size_t j = 0; j < n; j++) {
        mean += y[j] / (double)n;
    }
    for (size_t j = 0; j < n; j++) {
        sum += (y[j] - mean) * (y[j] - mean);
    }
    return sum / (double)n;
}

/* Of the draws about the mean of their own pilot.  (About the mean of all, the
 * others would seem slow, too, if one stays in the middle.) */
static double variance_within(const struct rmc_pilot *pilots, size_t n_pilots,
                              const double *y)
{
    double sum = 0.0, draws = 0.0;

    for (size_t e = 0; e < n_pilots; e++) {
        const size_t n = pilots[e].n_chains * pilots[e].n;

        sum += (double)n * variance_of(n, y);
        draws += (double)n;
        y += n;
    }
    return sum / draws;
}

void rmc_score(double *score, size_t dim, const struct rmc_pilot *pilots,
               size_t n_pilots, double *work)
{
    for (size_t e = 0; e < n_pilots; e++) {
        score[e] = HUGE_VAL;
    }
    for (size_t i = 0; i < dim; i++) {
        const size_t n = gather(dim, i, pilots, n_pilots, work);

        rank(n, work, work + n);
        for (int is_folded = 0; is_folded < 2; is_folded++) {
            const double *y = work;

            for (size_t j = 0; is_folded && j < n; j++) {
                work[j] = fabs(work[j]);
            }
            const double variance = variance_within(pilots, n_pilots, work);
            for (size_t e = 0; e < n_pilots; e++) {
                const struct rmc_pilot *p = &pilots[e];
                const double draws = (double)(p->n_chains * p->n);
                const double here =
                    draws / p->n_grad /
                    autocorrelation_time(y, p->n_chains, p->n, variance);

                score[e] = here < score[e] ? here : score[e];
                y += p->n_chains * p->n;
            }
        }
    }
}

struct rmc_verdict rmc_judge(size_t n_chains, size_t n,
                             const double *const *accept,
                             const double *const *lp)
{
    const double all = (double)(n * n_chains);
    double mean_a = 0.0, mean_p = 0.0, aa = 0.0, pp = 0.0, ap = 0.0, lag = 0.0;

    for (size_t c = 0; c < n_chains; c++) {
        for (size_t t = 0; t < n; t++) {
            mean_a += accept[c][t] / all;
            mean_p += lp[c][t] / all;
        }
    }
    for (size_t c = 0; c < n_chains; c++) {
        for (size_t t = 0; t < n; t++) {
            const double da = accept[c][t] - mean_a, dp = lp[c][t] - mean_p;

            aa += da * da;
            pp += dp * dp;
            ap += da * dp;
            lag += t > 0 ? da * (accept[c][t - 1] - mean_a) : 0.0;
        }
    }
    return (struct rmc_verdict){.sticky = aa > 0.0 ? lag / aa : 0.0,
                                .neck =
                                    aa * pp > 0.0 ? ap / sqrt(aa * pp) : 0.0};
}
