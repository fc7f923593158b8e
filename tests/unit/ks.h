/*
 * ks.h - Kolmogorov-Smirnov distances, times the square root of the number of draws.
 * With random seeds correct draws would exceed KS_LIMIT once in 8000 tests; seeds are
 * fixed.
 */
#ifndef RMC_TESTS_KS_H
#define RMC_TESTS_KS_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static const double KS_LIMIT = 2.2;

static inline int ks_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline void ks_sort(size_t n, double *x)
{
    qsort(x, n, sizeof *x, ks_compare);
}

/* Draws against a distribution function, which is evaluated at every `stride`-th draw;
 * this loses at most stride/n of the distance.  Sorts x. */
static inline double ks_one(size_t n, double *x, size_t stride,
                            double (*cdf)(double x, double parameter),
                            double parameter)
{
    double worst = 0.0;

    ks_sort(n, x);
    for (size_t i = 0; i < n; i += stride) {
        const double f = cdf(x[i], parameter);

        worst = fmax(worst, f - (double)i / (double)n);
        worst = fmax(worst, (double)(i + 1) / (double)n - f);
    }
    return sqrt((double)n) * worst;
}

/* Two samples of n draws each.  Sorts both. */
static inline double ks_two(size_t n, double *x, double *y)
{
    size_t i = 0, j = 0;
    double worst = 0.0;

    ks_sort(n, x);
    ks_sort(n, y);
    while (i < n && j < n) {
        if (x[i] <= y[j]) {
            i++;
        } else {
            j++;
        }
        worst = fmax(worst, fabs((double)i - (double)j));
    }
    return worst / sqrt(2.0 * (double)n);
}

#endif
