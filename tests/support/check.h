/*
 * check.h - comparisons of doubles for cmocka tests, with messages that show
 * both numbers.  Include it after cmocka.h.
 */
#ifndef RMC_TESTS_CHECK_H
#define RMC_TESTS_CHECK_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Sanitizers check memory, not numbers: with them, tests repeat the same code less
 * often. */
#ifdef RELMC_INSTRUMENTED
enum { IS_INSTRUMENTED = 1 };
#else
enum { IS_INSTRUMENTED = 0 };
#endif

/* |a - b| <= rel max(|a|, |b|); equal infinities are close, NaN never is. */
#define check_close(a, b, rel) \
    check_close_at((a), (b), (rel), #a, #b, __FILE__, __LINE__)

/* |a - b| <= tol */
#define check_near(a, b, tol) \
    check_near_at((a), (b), (tol), #a, #b, __FILE__, __LINE__)

/* At most `ulps` representable numbers apart. */
#define check_ulps(a, b, ulps) \
    check_ulps_at((a), (b), (ulps), #a, #b, __FILE__, __LINE__)

/* An estimate within `limit` standard errors of the truth. */
#define check_zscore(estimate, truth, standard_error, limit)                   \
    check_zscore_at((estimate), (truth), (standard_error), (limit), #estimate, \
                    __FILE__, __LINE__)

static inline void check_close_at(double a, double b, double rel,
                                  const char *a_text, const char *b_text,
                                  const char *file, int line)
{
    const double scale = fmax(fabs(a), fabs(b));

    if (a == b || fabs(a - b) <= rel * scale) {
        return;
    }
    print_error("%s = %.17g\n%s = %.17g\nrelative difference %.3g > %.3g\n",
                a_text, a, b_text, b, fabs(a - b) / scale, rel);
    _fail(file, line);
}

static inline void check_near_at(double a, double b, double tol,
                                 const char *a_text, const char *b_text,
                                 const char *file, int line)
{
    if (a == b || fabs(a - b) <= tol) {
        return;
    }
    print_error("%s = %.17g\n%s = %.17g\ndifference %.3g > %.3g\n", a_text, a,
                b_text, b, fabs(a - b), tol);
    _fail(file, line);
}

/* Maps doubles to integers in the same order; neighbours differ by 1. */
static inline int64_t check_ordinal(double x)
{
    int64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static inline void check_ulps_at(double a, double b, double ulps,
                                 const char *a_text, const char *b_text,
                                 const char *file, int line)
{
    const int64_t i = check_ordinal(a), j = check_ordinal(b);
    const uint64_t apart =
        i > j ? (uint64_t)i - (uint64_t)j : (uint64_t)j - (uint64_t)i;
    const double distance = (double)apart;

    if (!isnan(a) && !isnan(b) && distance <= ulps) {
        return;
    }
    print_error("%s = %.17g\n%s = %.17g\n%.0f ulps apart, more than %.0f\n",
                a_text, a, b_text, b, distance, ulps);
    _fail(file, line);
}

static inline void check_zscore_at(double estimate, double truth,
                                   double standard_error, double limit,
                                   const char *text, const char *file, int line)
{
    const double z = (estimate - truth) / standard_error;

    if (fabs(z) <= limit) {
        return;
    }
    print_error("%s = %.17g\nshould be %.17g +- %.3g\n"
                "%.2f standard errors away, more than %.2f\n",
                text, estimate, truth, standard_error, z, limit);
    _fail(file, line);
}

#endif
