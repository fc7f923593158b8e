/* stein_files.h - samples for Stein discrepancies, read from golden files or drawn.
 * Include it after cmocka.h. */
#ifndef RMC_TESTS_STEIN_FILES_H
#define RMC_TESTS_STEIN_FILES_H

#include "normal.h"
#include "relmc.h"
#include "relmc_diag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct stein_data {
    size_t n, dim;
    double *x, *score, *weight;
} stein_data;

static inline stein_data stein_new(size_t n, size_t dim)
{
    stein_data d = {n, dim, calloc(n * dim, sizeof(double)),
                    calloc(n * dim, sizeof(double)), calloc(n, sizeof(double))};

    assert_true(d.x && d.score && d.weight);
    for (size_t i = 0; i < n; i++) {
        d.weight[i] = 1.0 / (double)n;
    }
    return d;
}

static inline void stein_free(stein_data *d)
{
    free(d->x);
    free(d->score);
    free(d->weight);
}

static inline relmc_stein_sample stein_sample_of(const stein_data *d)
{
    return (relmc_stein_sample){d->n, d->dim, d->x, d->score, d->weight};
}

static inline FILE *stein_open(const char *name)
{
    char path[1024];

    (void)snprintf(path, sizeof path, "%s/stein/%s", RELMC_GOLDEN_DIR, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        fail_msg("cannot read %s", path);
    }
    return file;
}

/* Columns x1.., score1.., weight. */
static inline stein_data stein_read(const char *name)
{
    char path[128], line[1024];
    size_t n = 0, columns = 1;

    (void)snprintf(path, sizeof path, "stein_%s.csv", name);
    FILE *file = stein_open(path);
    assert_non_null(fgets(line, sizeof line, file));
    for (const char *c = line; *c; c++) {
        columns += *c == ',';
    }
    while (fgets(line, sizeof line, file)) {
        n++;
    }
    const size_t dim = (columns - 1) / 2;
    stein_data d = stein_new(n, dim);

    rewind(file);
    assert_non_null(fgets(line, sizeof line, file));
    for (size_t i = 0; i < n; i++) {
        char *at = fgets(line, sizeof line, file);

        for (size_t k = 0; k < columns; k++, at++) {
            double *to = k < dim       ? &d.x[i * dim + k]
                         : k < 2 * dim ? &d.score[i * dim + k - dim]
                                       : &d.weight[i];
            *to = strtod(at, &at);
        }
    }
    (void)fclose(file);
    return d;
}

/* Draws of N(shift, 1) with the scores of N(0, 1). */
static inline stein_data stein_gauss(size_t n, size_t dim, double shift,
                                     uint64_t seed)
{
    const stein_data d = stein_new(n, dim);
    uint64_t state = seed;

    for (size_t i = 0; i < n * dim; i++) {
        d.x[i] = next_normal(&state) + shift;
        d.score[i] = -d.x[i];
    }
    return d;
}

#endif
