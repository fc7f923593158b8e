/* fig1.c - ESS over (eps, eps c): can the two be tuned one after the other? */
#include "reproduce.h"

#include <math.h>
#include <stdlib.h>

/* ESS over eps (x) and kappa = eps c (other). */
static struct line surface(const struct sheet *sheet, const struct claim *claim)
{
    return sheet_line(sheet, NULL, claim->method, "eps", "ess");
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
static double tuned_one_by_one(const struct sheet *sheet,
                               const struct claim *claim)
{
    struct line s = surface(sheet, claim);
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

/* Takes from `rest` the mean of all cells that share their place on an axis. */
static void remove_means(double *rest, const double *axis, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0, count = 0.0;

        for (size_t j = 0; j < n; j++) {
            const double is_here = same(axis[j], axis[i]);

            sum += is_here * rest[j];
            count += is_here;
        }
        for (size_t j = 0; j < n; j++) {
            rest[j] -= same(axis[j], axis[i]) ? sum / count : 0.0;
        }
    }
}

static double squares(const double *y, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += y[i] * y[i];
    }
    return sum;
}

/* The share of the variance of log ESS that a sum f(eps) + g(kappa) explains, by
 * least squares: on a full grid its parts are means.  What is below a hundredth
 * of the best is all the same. */
static double additive_share(const struct sheet *sheet,
                             const struct claim *claim)
{
    struct line s = surface(sheet, claim);
    const double least = 0.01 * largest(&s);
    double mean = 0.0;

    for (size_t i = 0; i < s.n; i++) {
        s.y[i] = log(fmax(s.y[i], least));
        mean += s.y[i] / (double)s.n;
    }
    for (size_t i = 0; i < s.n; i++) {
        s.y[i] -= mean;
    }
    const double total = squares(s.y, s.n);

    remove_means(s.y, s.x, s.n);
    remove_means(s.y, s.other, s.n);
    const double left = squares(s.y, s.n);

    free(s.x);
    return 1.0 - left / total;
}

const struct claim fig1_claims[] = {
    {"independent-tuning", "eps and eps c can be tuned independently",
     "share of the best ESS reached by choosing eps c at some "
     "eps, then eps: mean over all eps that allow a quarter of "
     "the best",
     tuned_one_by_one, 0.8, 0.5, .method = "RHMC"},
    {"additive-surface", "eps and eps c act on their own",
     "share of the variance of log ESS, at least a hundredth of "
     "the best, that f(eps) + g(eps c) explains",
     additive_share, 0.8, 0.5, .method = "RHMC"},
    {0},
};
