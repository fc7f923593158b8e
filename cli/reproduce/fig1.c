/* fig1.c - ESS over (eps, eps c): can the two be tuned one after the other? */
#include "reproduce.h"

#include <math.h>
#include <stdlib.h>

/* ESS over eps (x) and kappa = eps c (other). */
static struct line surface(const struct sheet *sheet)
{
    return sheet_line(sheet, NULL, "RHMC", "eps", "ess");
}

static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

/* The best cell among those with this eps (or this kappa). */
static size_t best_along(const struct line *s, const double *axis, double at)
{
    size_t best = s->n;

    for (size_t i = 0; i < s->n; i++) {
        if (same(axis[i], at) && (best == s->n || s->y[i] > s->y[best])) {
            best = i;
        }
    }
    return best;
}

static double largest(const struct line *s)
{
    double most = 0.0;

    for (size_t i = 0; i < s->n; i++) {
        most = fmax(most, s->y[i]);
    }
    return most;
}

/* From every eps that is not hopeless, with a quarter of the best ESS for some
 * kappa: that kappa, then the best eps for it.  The mean share of the best ESS
 * that is reached. */
static double tuned_one_by_one(const struct sheet *sheet)
{
    struct line s = surface(sheet);
    const double most = largest(&s);
    double sum = 0.0, n = 0.0;

    for (size_t i = 0; i < s.n; i++) {
        const bool is_new = i == 0 || !same(s.x[i], s.x[i - 1]);
        const size_t kappa = best_along(&s, s.x, s.x[i]);

        if (is_new && s.y[kappa] >= 0.25 * most) {
            sum += s.y[best_along(&s, s.other, s.other[kappa])] / most;
            n++;
        }
    }
    free(s.x);
    return sum / n;
}

/* The share of the variance of log ESS that a sum f(eps) + g(kappa) explains, by
 * least squares (the sums are fitted in turn).  What is below a hundredth of the
 * best is all the same. */
static double additive_share(const struct sheet *sheet)
{
    struct line s = surface(sheet);
    const double least = 0.01 * largest(&s);
    const size_t n = s.n;

    for (size_t i = 0; i < n; i++) {
        s.y[i] = log(fmax(s.y[i], least));
    }
    double *rest = cli_alloc(n + 1, sizeof *rest), mean = 0.0, total = 0.0,
           left = 0.0;

    for (size_t i = 0; i < n; i++) {
        mean += s.y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        rest[i] = s.y[i] - mean;
        total += rest[i] * rest[i];
    }
    for (int round = 0; round < 60; round++) {
        const double *axis = round % 2 ? s.other : s.x;

        for (size_t i = 0; i < n; i++) {
            double sum = 0.0, count = 0.0;
            bool is_first = true;

            for (size_t j = 0; j < n; j++) {
                if (same(axis[j], axis[i])) {
                    is_first = is_first && j >= i;
                    sum += rest[j];
                    count++;
                }
            }
            for (size_t j = 0; is_first && j < n; j++) {
                rest[j] -= same(axis[j], axis[i]) ? sum / count : 0.0;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        left += rest[i] * rest[i];
    }
    free(rest);
    free(s.x);
    return 1.0 - left / total;
}

const struct claim fig1_claims[] = {
    {
        .id = "independent-tuning",
        .says = "eps and eps c can be tuned independently",
        .quantity = "share of the best ESS reached by choosing eps c at some "
                    "eps, then eps: mean over all eps that allow a quarter of "
                    "the best",
        .measure = tuned_one_by_one,
        .holds = 0.8,
        .fails = 0.5,
    },
    {
        .id = "additive-surface",
        .says = "eps and eps c act on their own",
        .quantity = "share of the variance of log ESS, at least a hundredth of "
                    "the best, that f(eps) + g(eps c) explains",
        .measure = additive_share,
        .holds = 0.8,
        .fails = 0.5,
    },
    {0},
};
