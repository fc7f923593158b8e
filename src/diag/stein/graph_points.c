/* graph_points.c - options and points of the graph Stein discrepancies. */
#include "diag/stein/graph_points.h"
#include "base/sized_struct.h"
#include "diag/stein/stein_sample.h"
#include "relmc_diag.h"

#include <stdlib.h>

static double fallback(double value, double other)
{
    return value == 0.0 ? other : value;
}

static relmc_status check_constants(const relmc_graph_stein_options *o,
                                    relmc_error *err)
{
    const double c[] = {o->c1, o->c2, o->c3};

    for (size_t i = 0; i < 3; i++) {
        if (!(c[i] >= 1e-6 && c[i] <= 1e6)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "graph stein: c%zu must be in [1e-6, 1e6]", i + 1);
        }
    }
    if (!(o->tolerance >= 1e-10 && o->tolerance <= 1.0)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "graph stein: tolerance must be in [1e-10, 1]");
    }
    if (!(o->merge >= 0.0 && rmc_is_finite(o->merge))) {
        return rmc_fail(err, RELMC_EINVAL,
                        "graph stein: merge must be finite and not negative");
    }
    return RELMC_OK;
}

static relmc_status check_support(const relmc_graph_stein_options *o,
                                  const relmc_stein_sample *sample,
                                  relmc_error *err)
{
    for (size_t i = 0; i < sample->n * sample->dim; i++) {
        const size_t k = i % sample->dim;

        if ((o->lower && !(sample->x[i] > o->lower[k])) ||
            (o->upper && !(sample->x[i] < o->upper[k]))) {
            return rmc_fail(err, RELMC_EINVAL,
                            "graph stein: coordinate %zu of draw %zu is %g, "
                            "which is not inside its support",
                            k, i / sample->dim, sample->x[i]);
        }
    }
    return RELMC_OK;
}

relmc_status rmc_graph_options(relmc_graph_stein_options *out,
                               const relmc_graph_stein_options *options,
                               const relmc_stein_sample *sample,
                               relmc_error *err)
{
    relmc_status status;

    if ((status = rmc_stein_check("graph stein", sample, err)) ||
        (status =
             rmc_sized_read(out, sizeof *out, options, sizeof options->size,
                            "relmc_graph_stein_options", err))) {
        return status;
    }
    out->c1 = fallback(out->c1, 1.0);
    out->c2 = fallback(out->c2, 1.0);
    out->c3 = fallback(out->c3, 1.0);
    out->tolerance = fallback(out->tolerance, 1e-6);
    if (out->merge == RELMC_ZERO || (sample->dim == 1 && out->merge == 0.0)) {
        out->merge = 0.0;
    } else {
        out->merge = fallback(out->merge, 1e-4 * out->c2 / out->c3);
    }
    out->threads = out->threads ? out->threads : 1;
    out->max_iterations = out->max_iterations ? out->max_iterations : 200;
    if ((status = check_constants(out, err))) {
        return status;
    }
    return check_support(out, sample, err);
}

/* ---- points -------------------------------------------------------------- */

static int comes_before(const double *a, const double *b, size_t dim)
{
    for (size_t k = 0; k < dim; k++) {
        if (a[k] != b[k]) {
            return a[k] < b[k];
        }
    }
    return 0;
}

static void sift_down(const double *x, size_t dim, size_t *order, size_t root,
                      size_t n)
{
    const size_t moving = order[root];
    size_t child;

    while ((child = 2 * root + 1) < n) {
        if (child + 1 < n && comes_before(x + order[child] * dim,
                                          x + order[child + 1] * dim, dim)) {
            child++;
        }
        if (!comes_before(x + moving * dim, x + order[child] * dim, dim)) {
            break;
        }
        order[root] = order[child];
        root = child;
    }
    order[root] = moving;
}

/* A heap sort, since a comparison function of qsort has no access to the
 * draws. */
static void sort_draws(const relmc_stein_sample *sample, size_t *order)
{
    for (size_t i = 0; i < sample->n; i++) {
        order[i] = i;
    }
    for (size_t i = sample->n / 2; i-- > 0;) {
        sift_down(sample->x, sample->dim, order, i, sample->n);
    }
    for (size_t end = sample->n; end-- > 1;) {
        const size_t last = order[end];

        order[end] = order[0];
        order[0] = last;
        sift_down(sample->x, sample->dim, order, 0, end);
    }
}

static double distance(const double *a, const double *b, size_t dim)
{
    double sum = 0.0;

    for (size_t k = 0; k < dim; k++) {
        sum += fabs(a[k] - b[k]);
    }
    return sum;
}

/* The point that draw x is merged into, the latest within `merge`; n if there
 * is none.  Points are ordered by their first coordinate. */
static size_t find_point(const rmc_graph_points *p, const double *x,
                         double merge)
{
    for (size_t i = p->n; i-- > 0;) {
        const double *at = p->x + i * p->dim;

        if (x[0] - at[0] > merge) {
            break;
        }
        if (distance(at, x, p->dim) <= merge) {
            return i;
        }
    }
    return p->n;
}

static void add_draw(rmc_graph_points *p, size_t i, double weight,
                     const double *x, const double *score,
                     const relmc_graph_stein_options *o)
{
    const size_t dim = p->dim;
    double sum = 0.0;

    if (i == p->n) {
        memcpy(p->x + i * dim, x, dim * sizeof *x);
        p->n++;
    }
    for (size_t k = 0; k < dim; k++) {
        p->ws[i * dim + k] += weight * score[k];
        sum += o->c2 * fabs(score[k]) + o->c3;
    }
    p->weight[i] += weight;
    p->bound += fabs(weight) * distance(p->x + i * dim, x, dim) * sum;
}

/* Merges the draws one after another, in lexical order. */
static void merge_draws(rmc_graph_points *out, const relmc_stein_sample *sample,
                        const relmc_graph_stein_options *options,
                        const double *weight, size_t *order)
{
    sort_draws(sample, order);
    for (size_t j = 0; j < sample->n; j++) {
        const size_t t = order[j];
        const double *x = sample->x + t * sample->dim;

        add_draw(out, find_point(out, x, options->merge), weight[t], x,
                 sample->score + t * sample->dim, options);
    }
}

relmc_status rmc_graph_points_take(rmc_graph_points *out,
                                   const relmc_stein_sample *sample,
                                   const relmc_graph_stein_options *options,
                                   relmc_error *err)
{
    const size_t n = sample->n, dim = sample->dim;
    double *weight = rmc_stein_alloc(n, 1, sizeof *weight);
    size_t *order = rmc_stein_alloc(n, 1, sizeof *order);
    relmc_status status;

    *out = (rmc_graph_points){.dim = dim};
    out->x = rmc_stein_alloc(n, dim, sizeof(double));
    out->ws = rmc_stein_alloc(n, dim, sizeof(double));
    out->weight = rmc_stein_alloc(n, 1, sizeof(double));
    if (!weight || !order || !out->x || !out->ws || !out->weight) {
        status = rmc_fail(err, RELMC_ENOMEM,
                          "graph stein: no memory for %zu draws", n);
    } else if (!(status =
                     rmc_stein_weights("graph stein", sample, weight, err))) {
        merge_draws(out, sample, options, weight, order);
    }
    free(weight);
    free(order);
    return status;
}

void rmc_graph_points_release(rmc_graph_points *points)
{
    free(points->x);
    free(points->ws);
    free(points->weight);
}

relmc_status rmc_graph_report(relmc_graph_stein_report *out,
                              const relmc_graph_stein_report *found,
                              int is_closed, double tolerance, relmc_error *err)
{
    const relmc_status status = rmc_sized_fill(out, found, sizeof *found,
                                               "relmc_graph_stein_report", err);

    if (status || is_closed) {
        return status;
    }
    return rmc_fail(err, RELMC_EUNSUPP,
                    "graph stein: after %zu iterations the optimum is only "
                    "known to be in [%.9g, %.9g], wider than %g; merge close "
                    "draws or allow a wider interval",
                    found->n_iterations, found->lower, found->upper, tolerance);
}
