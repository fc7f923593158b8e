/* init_points.c - points and mass matrices from JSON files; points from npy
 * files. */
#include "job/init_points.h"

#include "tool/config.h"
#include "tool/npy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a row of numbers was found, for messages. */
struct place {
    const char *path, *who;
    size_t dim;
};

static int read_row(const struct place *at, const json_t *row, double *out)
{
    if (!json_is_array(row) || json_array_size(row) != at->dim) {
        return cli_fail(
            CLI_MODEL, at->who, "%s: expected %zu numbers in a row, found %zu",
            at->path, at->dim, json_is_array(row) ? json_array_size(row) : 0);
    }
    for (size_t i = 0; i < at->dim; i++) {
        const json_t *item = json_array_get(row, i);

        if (!json_is_number(item)) {
            return cli_fail(CLI_MODEL, at->who,
                            "%s: element %zu of a row is not a number",
                            at->path, i + 1);
        }
        out[i] = json_number_value(item);
    }
    return CLI_OK;
}

/* Is it a list of rows rather than one row? */
static bool is_nested(const json_t *value)
{
    const json_t *first = json_array_get(value, 0);

    return json_is_array(first) || json_is_object(first);
}

/* The row itself, or the value of "x" in an object. */
static const json_t *row_of(const json_t *value)
{
    return json_is_object(value) ? json_object_get(value, "x") : value;
}

static int read_npy(struct points *out, const char *path, size_t dim,
                    const char *who)
{
    struct npy array;
    const int code = npy_read(&array, path, who);

    if (code) {
        return code;
    }
    if (array.n_columns != dim) {
        free(array.values);
        return cli_fail(CLI_MODEL, who,
                        "%s: points of %zu numbers, expected %zu", path,
                        array.n_columns, dim);
    }
    *out = (struct points){array.n_rows, array.values};
    return CLI_OK;
}

int init_points_read(struct points *out, const char *path, size_t dim,
                     const char *who)
{
    const struct place at = {path, who, dim};
    const char *dot = strrchr(path, '.');

    if (dot && !strcmp(dot, ".npy")) {
        return read_npy(out, path, dim, who);
    }
    json_t *root = NULL;
    int code = config_load(&root, path, who, CLI_MODEL);

    if (code) {
        return code;
    }
    const json_t *rows = row_of(root);
    const bool is_list = is_nested(rows);

    if (!json_is_array(rows)) {
        json_decref(root);
        return cli_fail(CLI_MODEL, who,
                        "%s: expected {\"x\": [%zu numbers]} or a list of "
                        "such points",
                        path, dim);
    }
    out->n = is_list ? json_array_size(rows) : 1;
    out->values = cli_alloc(out->n * dim, sizeof(double));
    for (size_t k = 0; k < out->n && !code; k++) {
        const json_t *row = is_list ? json_array_get(rows, k) : rows;

        code = read_row(&at, row_of(row), out->values + k * dim);
    }
    json_decref(root);
    if (code) {
        free(out->values);
        *out = (struct points){0};
    }
    return code;
}

static int check_variances(const struct place *at, const struct metric *metric)
{
    const size_t stride = metric->is_dense ? at->dim + 1 : 1;

    for (size_t i = 0; i < at->dim; i++) {
        if (!(metric->values[i * stride] > 0.0)) {
            return cli_fail(CLI_MODEL, at->who,
                            "%s: variance %zu of inv_metric is %g, it must be "
                            "positive",
                            at->path, i + 1, metric->values[i * stride]);
        }
    }
    return CLI_OK;
}

/* Up to rounding, on the scale of the variances; only one triangle is used. */
static int check_symmetry(const struct place *at, const double *a)
{
    const size_t n = at->dim;

    for (size_t i = 1; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            const double below = a[i * n + j], above = a[j * n + i];
            const double scale = sqrt(a[i * n + i] * a[j * n + j]);

            if (fabs(below - above) > 1e-10 * scale) {
                return cli_fail(CLI_MODEL, at->who,
                                "%s: inv_metric must be symmetric, but row "
                                "%zu, column %zu is %g and row %zu, column "
                                "%zu is %g",
                                at->path, i + 1, j + 1, below, j + 1, i + 1,
                                above);
            }
        }
    }
    return CLI_OK;
}

int init_points_read_metric(struct metric *out, const char *path, size_t dim,
                            const char *who)
{
    const struct place at = {path, who, dim};
    json_t *root = NULL;
    int code = config_load(&root, path, who, CLI_MODEL);

    if (code) {
        return code;
    }
    const json_t *rows = json_object_get(root, "inv_metric");
    const json_t *tuning = json_object_get(root, "tuning");
    const bool is_dense = is_nested(rows);
    const size_t n = is_dense ? dim : 1;

    if (json_array_size(json_object_get(tuning, "warp")) > 0) {
        json_decref(root);
        return cli_fail(CLI_MODEL, who,
                        "%s: this metric is that of warped coordinates, which "
                        "only the run that found them has; one of a run with "
                        "--adapt auto:warp=0 would do",
                        path);
    }
    if (!json_is_array(rows) || (is_dense && json_array_size(rows) != dim)) {
        json_decref(root);
        return cli_fail(CLI_MODEL, who,
                        "%s: expected {\"inv_metric\": [...]} with %zu "
                        "numbers or %zu rows",
                        path, dim, dim);
    }
    out->is_dense = is_dense;
    out->values = cli_alloc(n * dim, sizeof(double));
    for (size_t i = 0; i < n && !code; i++) {
        code = read_row(&at, is_dense ? json_array_get(rows, i) : rows,
                        out->values + i * dim);
    }
    if (!code && !(code = check_variances(&at, out)) && is_dense) {
        code = check_symmetry(&at, out->values);
    }
    json_decref(root);
    if (code) {
        free(out->values);
        *out = (struct metric){0};
    }
    return code;
}
