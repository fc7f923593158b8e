/*
 * histogram_error.c - compares a histogram of draws with its exact
 * probabilities, for the paper's mixtures and banana.
 *
 *   [mae]         (1/K) sum_k |n_k / n - p_k|, total variation K/2 times that
 *   [iid-floor]   E|n_k - n p| = 2 v q P(n_k = v), v = floor(n p) + 1, for a
 *                 binomial n_k (de Moivre)
 *   [rosenblatt]  u_1 = P(X_1 <= x_1), u_2 = P(X_2 <= x_2 | x_1), ...
 */
#include "base/base.h"
#include "base/sized_struct.h"
#include "diag/compare/binomial.h"
#include "relmc_diag.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_DIM = 2,
    NODES = 16, /* of the Gauss-Legendre rule */
    PANELS = 8, /* times per cell of the banana */
    MAX_BINS = 1 << 24
};

/* A target, its window and the cells in it. */
typedef struct law {
    const char *name; /* relmc_target_name of the target */
    size_t dim;
    size_t n_cells[MAX_DIM];
    double low[MAX_DIM], high[MAX_DIM];
    double sd[3]; /* of the mixture's parts around -5, 0, 5 */
    void (*fill)(const struct law *, double *p); /* cells, then the rest */
    void (*uniform)(const struct law *, const double *x, double *u);
} law;

static const double mixture_mean[3] = {-5, 0, 5};
/* x_1 ~ N(0, sd^2), x_2 | x_1 ~ N(shift - bend x_1^2, 1) */
static const double banana_sd = 10.0, banana_bend = 0.1, banana_shift = 10.0;

static const double root_half = 0.707106781186547524401;

/* P(Z > |z|), Z standard normal */
static double tail(double z)
{
    return 0.5 * erfc(fabs(z) * root_half);
}

/* P(Z <= z) */
static double normal_cdf(double z)
{
    return 0.5 * erfc(-z * root_half);
}

/* P(a < Z <= b) from the tails beyond a and b, so that small ones keep their
 * digits. */
static double between(double a, double tail_a, double b, double tail_b)
{
    if (a > 0.0) {
        return tail_a - tail_b;
    }
    return b < 0.0 ? tail_b - tail_a : 1.0 - tail_a - tail_b;
}

/* The i-th of the n + 1 ends of cells. */
static double edge(const law *l, size_t axis, size_t i)
{
    const double n = (double)l->n_cells[axis];

    return l->low[axis] + (l->high[axis] - l->low[axis]) * (double)i / n;
}

/* ---- the mixtures -------------------------------------------------------- */

static void mixture_fill(const law *l, double *p)
{
    const size_t n = l->n_cells[0];

    memset(p, 0, (n + 1) * sizeof *p);
    for (size_t j = 0; j < 3; j++) {
        const double mean = mixture_mean[j], sd = l->sd[j];
        double a = (l->low[0] - mean) / sd, tail_a = tail(a);

        p[n] += tail_a / 3.0;
        for (size_t i = 0; i < n; i++) {
            const double b = (edge(l, 0, i + 1) - mean) / sd, tail_b = tail(b);

            p[i] += between(a, tail_a, b, tail_b) / 3.0;
            a = b;
            tail_a = tail_b;
        }
        p[n] += tail_a / 3.0;
    }
}

static void mixture_uniform(const law *l, const double *x, double *u)
{
    double sum = 0.0;

    for (size_t j = 0; j < 3; j++) {
        sum += normal_cdf((*x - mixture_mean[j]) / l->sd[j]);
    }
    *u = sum / 3.0;
}

/* ---- the banana ---------------------------------------------------------- */

/* Nodes and weights on [-1, 1], by Newton steps on the Legendre polynomial. */
static void gauss_legendre(double node[NODES], double weight[NODES])
{
    const double pi = 3.14159265358979323846;

    for (size_t i = 0; i < NODES; i++) {
        double z = cos(pi * ((double)i + 0.75) / (NODES + 0.5)), slope = 1.0;

        for (int round = 0; round < 8; round++) {
            double last = 1.0, now = z;

            for (int k = 2; k <= NODES; k++) {
                const double next =
                    ((2 * k - 1) * z * now - (k - 1) * last) / k;

                last = now;
                now = next;
            }
            slope = NODES * (z * now - last) / (z * z - 1.0);
            z -= now / slope;
        }
        node[i] = z;
        weight[i] = 2.0 / ((1.0 - z * z) * slope * slope);
    }
}

/* Adds weight times P(x_2 in cell | x_1) to a row of cells. */
static void add_row(const law *l, double x1, double weight, double *p)
{
    const double root_2pi = 2.50662827463100050242;
    const double z1 = x1 / banana_sd;
    const double mean = banana_shift - banana_bend * x1 * x1;
    const double density =
        weight * exp(-0.5 * z1 * z1) / (root_2pi * banana_sd);
    double a = l->low[1] - mean, tail_a = tail(a);

    for (size_t j = 0; j < l->n_cells[1]; j++) {
        const double b = edge(l, 1, j + 1) - mean, tail_b = tail(b);

        p[j] += density * between(a, tail_a, b, tail_b);
        a = b;
        tail_a = tail_b;
    }
}

static void banana_fill(const law *l, double *p)
{
    const size_t rows = l->n_cells[0], columns = l->n_cells[1];
    double node[NODES], weight[NODES], inside = 0.0;

    gauss_legendre(node, weight);
    memset(p, 0, (rows * columns + 1) * sizeof *p);
    for (size_t i = 0; i < rows; i++) {
        const double from = edge(l, 0, i), to = edge(l, 0, i + 1);
        const double half = 0.5 * (to - from) / PANELS;

        for (int panel = 0; panel < PANELS; panel++) {
            const double middle = from + half * (2 * panel + 1);

            for (size_t k = 0; k < NODES; k++) {
                add_row(l, middle + half * node[k], half * weight[k],
                        p + i * columns);
            }
        }
    }
    for (size_t k = 0; k < rows * columns; k++) {
        inside += p[k];
    }
    p[rows * columns] = 1.0 - inside;
}

static void banana_uniform(const law *l, const double *x, double *u)
{
    const double x1 = x[0], x2 = x[1];

    (void)l;
    u[0] = normal_cdf(x1 / banana_sd);
    u[1] = normal_cdf(x2 + banana_bend * x1 * x1 - banana_shift);
}

/* ---- which law ----------------------------------------------------------- */

/* sd: square roots of 2, 0.5; 10/3, 0.3 */
static const law laws[] = {
    {"gmm1", 1, {48, 1}, {-12}, {12}, {1, 1, 1}, mixture_fill, mixture_uniform},
    {"gmm2",
     1,
     {48, 1},
     {-12},
     {12},
     {1.41421356237309504880, 0.707106781186547524401, 1.41421356237309504880},
     mixture_fill,
     mixture_uniform},
    {"gmm3",
     1,
     {48, 1},
     {-12},
     {12},
     {1.82574185835055371152, 0.547722557505166113457, 1.82574185835055371152},
     mixture_fill,
     mixture_uniform},
    {"banana:sd=10,bend=0.1,shift=10",
     2,
     {20, 20},
     {-40, -110},
     {40, 14},
     {0},
     banana_fill,
     banana_uniform},
};

/* NULL if there is none. */
static const law *find_law(const relmc_target *target)
{
    const char *name = relmc_target_name(target);

    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        if (strcmp(laws[i].name, name) == 0) {
            return &laws[i];
        }
    }
    return NULL;
}

static relmc_status no_law(const relmc_target *target, relmc_error *err)
{
    return rmc_fail(err, RELMC_EUNSUPP,
                    "%.200s: exact probabilities are known for gmm1, gmm2, "
                    "gmm3 and banana (with its own numbers) only",
                    relmc_target_name(target));
}

/* ---- counting ------------------------------------------------------------ */

/* The cell of a draw, or that of the rest; n if a number is NaN. */
static size_t cell_of(const law *l, const double *x, size_t n)
{
    size_t cell = 0, is_outside = 0;

    for (size_t i = 0; i < l->dim; i++) {
        const double cells = (double)l->n_cells[i];
        const double at =
            cells * ((x[i] - l->low[i]) / (l->high[i] - l->low[i]));

        if (at != at) {
            return n;
        }
        if (at < 0.0 || at >= cells) {
            is_outside = 1;
        } else {
            cell = cell * l->n_cells[i] + (size_t)at;
        }
    }
    return is_outside ? n - 1 : cell;
}

static relmc_status count(const law *l, size_t n, const double *x,
                          size_t n_bins, double *counts, relmc_error *err)
{
    for (size_t t = 0; t < n; t++) {
        const size_t cell = cell_of(l, x + t * l->dim, n_bins);

        if (cell == n_bins) {
            return rmc_fail(err, RELMC_EINVAL, "mae: draw %zu is NaN", t);
        }
        counts[cell] += 1.0;
    }
    return RELMC_OK;
}

/* [iid-floor]  E|n_k / n - p| */
static double expected_error(double n, double p)
{
    const double v = floor(n * p) + 1.0;

    return v > n ? 0.0 : 2.0 * v * (1.0 - p) * rmc_binomial(v, n, p) / n;
}

static relmc_status report(relmc_mae_report *out, size_t n, size_t n_bins,
                           size_t n_outside, const double *counts,
                           const double *p, relmc_error *err)
{
    double error = 0.0, floor_sum = 0.0;

    for (size_t k = 0; k < n_bins; k++) {
        error += fabs(counts[k] / (double)n - p[k]);
        floor_sum += expected_error((double)n, p[k]);
    }
    const relmc_mae_report found = {.mae = error / (double)n_bins,
                                    .tv = 0.5 * error,
                                    .mae_floor = floor_sum / (double)n_bins,
                                    .tv_floor = 0.5 * floor_sum,
                                    .n_bins = n_bins,
                                    .n_outside = n_outside};
    return rmc_sized_fill(out, &found, sizeof found, "relmc_mae_report", err);
}

static size_t bins_of(const law *l)
{
    return l->dim == 1 ? l->n_cells[0] + 1 : l->n_cells[0] * l->n_cells[1] + 1;
}

static relmc_status no_draws(relmc_error *err)
{
    return rmc_fail(err, RELMC_EINVAL, "mae: there must be at least 1 draw");
}

relmc_status relmc_mae_bins(double *p, size_t *n_bins,
                            const relmc_target *target, relmc_error *err)
{
    const law *l = find_law(target);

    if (!l) {
        return no_law(target, err);
    }
    *n_bins = bins_of(l);
    if (p) {
        l->fill(l, p);
    }
    return RELMC_OK;
}

relmc_status relmc_mae(relmc_mae_report *out, const relmc_target *target,
                       size_t n, const double *x, relmc_error *err)
{
    relmc_arena arena = {0};
    const law *l = find_law(target);

    if (!l) {
        return no_law(target, err);
    }
    const size_t n_bins = bins_of(l);
    double *p = relmc_arena_get(&arena, n_bins * sizeof *p);
    double *counts = relmc_arena_get(&arena, n_bins * sizeof *counts);
    relmc_status status = n ? relmc_arena_check(&arena, err) : no_draws(err);

    if (!status && !(status = count(l, n, x, n_bins, counts, err))) {
        l->fill(l, p);
        status =
            report(out, n, n_bins, (size_t)counts[n_bins - 1], counts, p, err);
    }
    rmc_arena_release(&arena);
    return status;
}

relmc_status relmc_rosenblatt(double *u, const relmc_target *target, size_t n,
                              const double *x, relmc_error *err)
{
    const law *l = find_law(target);

    if (!l) {
        return no_law(target, err);
    }
    for (size_t t = 0; t < n; t++) {
        l->uniform(l, x + t * l->dim, u + t * l->dim);
    }
    return RELMC_OK;
}

/* ---- equal cells of the unit cube ---------------------------------------- */

static relmc_status count_cube(size_t dim, size_t n, const double *u,
                               size_t per_axis, double *counts,
                               relmc_error *err)
{
    for (size_t t = 0; t < n; t++) {
        size_t cell = 0;

        for (size_t i = 0; i < dim; i++) {
            const double at = u[t * dim + i];

            if (!(at >= 0.0 && at <= 1.0)) {
                return rmc_fail(err, RELMC_EINVAL,
                                "mae: u must be in [0, 1], draw %zu has %g", t,
                                at);
            }
            const size_t k = (size_t)(at * (double)per_axis);
            cell = cell * per_axis + (k < per_axis ? k : per_axis - 1);
        }
        counts[cell] += 1.0;
    }
    return RELMC_OK;
}

relmc_status relmc_mae_uniform(relmc_mae_report *out, size_t dim, size_t n,
                               const double *u, size_t per_axis,
                               relmc_error *err)
{
    relmc_arena arena = {0};
    size_t n_bins = dim && per_axis ? 1 : 0;

    for (size_t i = 0; i < dim && n_bins <= MAX_BINS; i++) {
        n_bins = per_axis > MAX_BINS ? per_axis : n_bins * per_axis;
    }
    if (n_bins == 0 || n_bins > MAX_BINS) {
        return rmc_fail(err, RELMC_EINVAL,
                        "mae: per_axis^dim must be in [1, %d]", MAX_BINS);
    }
    double *p = relmc_arena_get(&arena, n_bins * sizeof *p);
    double *counts = relmc_arena_get(&arena, n_bins * sizeof *counts);
    relmc_status status = n ? relmc_arena_check(&arena, err) : no_draws(err);

    if (!status && !(status = count_cube(dim, n, u, per_axis, counts, err))) {
        for (size_t k = 0; k < n_bins; k++) {
            p[k] = 1.0 / (double)n_bins;
        }
        status = report(out, n, n_bins, 0, counts, p, err);
    }
    rmc_arena_release(&arena);
    return status;
}
