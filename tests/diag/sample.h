/* sample.h - series with memory of their own, made or read from golden files.
 * Include it after cmocka.h. */
#ifndef TESTS_DIAG_SAMPLE_H
#define TESTS_DIAG_SAMPLE_H

#include "normal.h"
#include "relmc.h"
#include "relmc_diag.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A series with memory of its own: draws[c*n_draws + t]. */
typedef struct sample {
    double *draws;
    size_t n_chains, n_draws;
} sample;

static inline sample new_sample(size_t n_chains, size_t n_draws)
{
    sample s = {calloc(n_chains * n_draws, sizeof(double)), n_chains, n_draws};

    assert_non_null(s.draws);
    return s;
}

static inline relmc_series series_of(const sample *s)
{
    return (relmc_series){.draws = s->draws,
                          .n_chains = s->n_chains,
                          .n_draws = s->n_draws,
                          .stride = 1,
                          .chain_stride = s->n_draws};
}

static inline relmc_summary summary_of(const sample *s)
{
    const relmc_series series = series_of(s);
    relmc_summary out = RELMC_INIT(relmc_summary);
    double ess_mean;

    assert_int_equal(relmc_summarise(&out, &series, NULL), RELMC_OK);
    assert_int_equal(relmc_ess_mean(&ess_mean, &series, NULL), RELMC_OK);
    assert_memory_equal(&ess_mean, &out.ess_mean, sizeof ess_mean);
    return out;
}

/* Stationary AR(1) chains of variance 1: x' = rho x + sqrt(1 - rho^2) e. */
static inline sample new_ar1(size_t n_chains, size_t n_draws, double rho,
                             uint64_t seed)
{
    const sample s = new_sample(n_chains, n_draws);
    uint64_t state = seed;

    for (size_t c = 0; c < n_chains; c++) {
        double x = next_normal(&state);

        for (size_t t = 0; t < n_draws; t++) {
            s.draws[c * n_draws + t] = x;
            x = rho * x + sqrt(1.0 - rho * rho) * next_normal(&state);
        }
    }
    return s;
}

/* Equal, both NaN, or within `rel` of each other. */
static inline int agree(double a, double b, double rel)
{
    return a == b || (isnan(a) && isnan(b)) ||
           (isfinite(a) && isfinite(b) &&
            fabs(a - b) <= rel * fmax(fabs(a), fabs(b)));
}

/* strtod reads NaN and Inf, but not the NA of R. */
static inline double number_of(const char *text)
{
    return strncmp(text, "NA", 2) == 0 ? (double)NAN : strtod(text, NULL);
}

/* Reads <name>_<chains>x<draws>.csv: a header, then one column per chain. */
static inline sample read_sample(const char *folder, const char *name)
{
    char path[1024], line[16384];
    size_t n_chains = 0, n_draws = 0;

    for (const char *at = name; (at = strchr(at, '_')); at++) {
        char *end;
        const size_t m = strtoul(at + 1, &end, 10);

        if (m > 0 && *end == 'x') {
            n_chains = m;
            n_draws = strtoul(end + 1, NULL, 10);
        }
    }
    assert_true(n_chains > 0 && n_draws > 0);
    const sample s = new_sample(n_chains, n_draws);

    snprintf(path, sizeof path, "%s/%s.csv", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        fail_msg("cannot read %s", path);
    }
    assert_non_null(fgets(line, sizeof line, file)); /* the header */
    for (size_t t = 0; t < n_draws; t++) {
        assert_non_null(fgets(line, sizeof line, file));
        const char *at = line;

        for (size_t c = 0; c < n_chains; c++) {
            s.draws[c * n_draws + t] = number_of(at);
            at += strcspn(at, ",\n");
            at += *at == ',';
        }
    }
    fclose(file);
    return s;
}

#endif
