/*
 * graph_stein_line.c - [gsd] graph Stein discrepancy of draws on a line, in
 * time proportional to their number.
 *
 * Points x_i in order carry values g_i and slopes h_i of a function.  Over an
 * interval of length D, with k = c3 D / 2, the Taylor rows of the programme are
 *   a = (g+ - g - D h) / (k D),  b = (g+ - g - D h+) / (k D),  |a|, |b| <= 1.
 * Solved for the right end, they are an optimal control problem,
 *   [line-control]  h+ = h + k (a - b),  g+ = g + D h + k D a,
 * with state (g, h) and controls (a, b): nothing is divided by the square of a
 * short distance.  A Newton step is a backward sweep of Riccati's equation and
 * a forward sweep.  The remaining rows are g / c1, h / c2, the Lipschitz row
 * (g+ - g) / (c2 D) = (h + k a) / c2 and, for each finite end e of the support
 * with s = x - e, (g - s h) / (c3 s^2 / 2); |h+ - h| <= c3 D is implied.
 */
#include "diag/stein/graph_points.h"
#include "diag/stein/interior_point.h"
#include "diag/stein/stein_sample.h"
#include "relmc_diag.h"

#include <stdlib.h>

/* Rows of an interval, after those of all points. */
enum { ROW_A, ROW_B, ROW_LIPSCHITZ, EDGE_ROWS };

/* A row of a point: (g + slope h) * scale. */
typedef struct point_row {
    double slope, scale;
} point_row;

typedef struct sym2 {
    double gg, gh, hh;
} sym2;

/* A point and the interval on its right. */
typedef struct stage {
    double ws, w;      /* coefficients of g and h in the objective */
    double c1;         /* |g| <= c1, c2 times the distance to an end at most */
    double length, k;  /* of the interval */
    sym2 cost;         /* P of the cost to go, 1/2 y'P y - p'y */
    double p_g, p_h;   /* p */
    double gain[2][2]; /* controls = free - gain (g, h) */
    double free_a, free_b;
    sym2 inverse; /* of the matrix of the controls, (a, b) for (g, h) */
} stage;

typedef struct line {
    size_t n, point_rows; /* rows per point: 2 to 4 */
    double c2, c3;
    stage *stage;    /* n */
    point_row *rows; /* n x (point_rows - 2): those of the ends */
} line;

static size_t row_of_point(const line *l, size_t i)
{
    return i * l->point_rows;
}

static size_t row_of_edge(const line *l, size_t i)
{
    return l->n * l->point_rows + i * EDGE_ROWS;
}

/* ---- Newton steps -------------------------------------------------------- */

/* Second derivatives of the rows of a point. */
static sym2 point_cost(const line *l, size_t i, const double *weight)
{
    const stage *at = l->stage + i;
    const double *w = weight + row_of_point(l, i);
    const size_t n_ends = l->point_rows - 2;
    sym2 cost = {w[0] / (at->c1 * at->c1), 0.0, w[1] / (l->c2 * l->c2)};

    for (size_t e = 0; e < n_ends; e++) {
        const point_row row = l->rows[i * n_ends + e];
        const double v = w[2 + e] * row.scale * row.scale;

        cost.gg += v;
        cost.gh += v * row.slope;
        cost.hh += v * row.slope * row.slope;
    }
    return cost;
}

/* The linear term of a point: c - A' y for numbers y on its rows. */
static void point_term(const line *l, size_t i, const double *y, double *g,
                       double *h)
{
    const stage *at = l->stage + i;
    const size_t n_ends = l->point_rows - 2;

    y += row_of_point(l, i);
    *g = at->ws - y[0] / at->c1;
    *h = at->w - y[1] / l->c2;
    for (size_t e = 0; e < n_ends; e++) {
        const point_row row = l->rows[i * n_ends + e];

        *g -= y[2 + e] * row.scale;
        *h -= y[2 + e] * row.scale * row.slope;
    }
}

/*
 * [riccati]  One step back.  With y+ = F y + G u, controls u of cost R and
 * the Lipschitz row, H = G'P+G + R, N = G'P+F + ..., gain K = H^-1 N, the new
 * P = (F - G K)'P+(F - G K) + K'R K + ... is a sum of squares (Joseph's form).
 */
static int step_back(stage *at, sym2 next, const double *w, double c2)
{
    const double k = at->k, d = at->length;
    const double wa = w[ROW_A], wb = w[ROW_B];
    const double wl = w[ROW_LIPSCHITZ] / (c2 * c2);
    /* P+ G, column by column */
    const double ag = k * (next.gg * d + next.gh);
    const double ah = k * (next.gh * d + next.hh);
    const double bg = -k * next.gh, bh = -k * next.hh;
    const double haa = k * (d * ag + ah) + wa + wl * k * k;
    const double hab = k * (d * bg + bh);
    const double hbb = -k * bh + wb;
    const double det = haa * hbb - hab * hab;
    const double nah = d * ag + ah + wl * k, nbh = d * bg + bh;

    if (!(det > 0.0)) {
        return 0;
    }
    const sym2 inv = {hbb / det, -hab / det, haa / det};
    const double kag = inv.gg * ag + inv.gh * bg;
    const double kah = inv.gg * nah + inv.gh * nbh;
    const double kbg = inv.gh * ag + inv.hh * bg;
    const double kbh = inv.gh * nah + inv.hh * nbh;
    /* F - G K, and the Lipschitz row under it */
    const double gg = 1.0 - k * d * kag, gh = d - k * d * kah;
    const double hg = -k * (kag - kbg), hh = 1.0 - k * (kah - kbh);
    const double lg = -k * kag, lh = 1.0 - k * kah;
    const double pgg = next.gg * gg + next.gh * hg;
    const double pgh = next.gg * gh + next.gh * hh;
    const double phg = next.gh * gg + next.hh * hg;
    const double phh = next.gh * gh + next.hh * hh;

    at->inverse = inv;
    at->gain[0][0] = kag;
    at->gain[0][1] = kah;
    at->gain[1][0] = kbg;
    at->gain[1][1] = kbh;
    at->cost.gg +=
        gg * pgg + hg * phg + wa * kag * kag + wb * kbg * kbg + wl * lg * lg;
    at->cost.gh +=
        gg * pgh + hg * phh + wa * kag * kah + wb * kbg * kbh + wl * lg * lh;
    at->cost.hh +=
        gh * pgh + hh * phh + wa * kah * kah + wb * kbh * kbh + wl * lh * lh;
    return 1;
}

static int factor(void *ctx, const rmc_ipm_rows *rows)
{
    line *l = ctx;

    for (size_t i = l->n; i-- > 0;) {
        stage *at = l->stage + i;

        at->cost = point_cost(l, i, rows->weight);
        if (i + 1 < l->n &&
            !step_back(at, l->stage[i + 1].cost,
                       rows->weight + row_of_edge(l, i), l->c2)) {
            return 0;
        }
    }
    return 1;
}

/* The linear terms, backwards. */
static void sweep_back(line *l, const double *push)
{
    for (size_t i = l->n; i-- > 0;) {
        stage *at = l->stage + i;
        const double *y = push + row_of_edge(l, i);

        point_term(l, i, push, &at->p_g, &at->p_h);
        if (i + 1 == l->n) {
            continue;
        }
        const double g = at[1].p_g, h = at[1].p_h, k = at->k, d = at->length;
        const double lip = y[ROW_LIPSCHITZ] / l->c2;
        const double a = k * (d * g + h) - y[ROW_A] - lip * k;
        const double b = -k * h - y[ROW_B];

        at->free_a = at->inverse.gg * a + at->inverse.gh * b;
        at->free_b = at->inverse.gh * a + at->inverse.hh * b;
        at->p_g += g - (at->gain[0][0] * a + at->gain[1][0] * b);
        at->p_h += d * g + h - lip - (at->gain[0][1] * a + at->gain[1][1] * b);
    }
}

/* The rows of point i, at r. */
static void write_point_rows(const line *l, size_t i, double g, double h,
                             double *r)
{
    const size_t n_ends = l->point_rows - 2;

    r[0] = g / l->stage[i].c1;
    r[1] = h / l->c2;
    for (size_t e = 0; e < n_ends; e++) {
        const point_row row = l->rows[i * n_ends + e];

        r[2 + e] = (g + row.slope * h) * row.scale;
    }
}

static int solve(void *ctx, rmc_ipm_rows *rows)
{
    line *l = ctx;

    sweep_back(l, rows->push);
    const stage *at = l->stage;
    const sym2 p = at->cost;
    const double det = p.gg * p.hh - p.gh * p.gh;
    double g = (p.hh * at->p_g - p.gh * at->p_h) / det;
    double h = (p.gg * at->p_h - p.gh * at->p_g) / det;

    for (size_t i = 0; i < l->n; i++, at++) {
        write_point_rows(l, i, g, h, rows->dr + row_of_point(l, i));
        if (i + 1 < l->n) {
            double *dr = rows->dr + row_of_edge(l, i);
            const double a =
                at->free_a - at->gain[0][0] * g - at->gain[0][1] * h;
            const double b =
                at->free_b - at->gain[1][0] * g - at->gain[1][1] * h;

            dr[ROW_A] = a;
            dr[ROW_B] = b;
            dr[ROW_LIPSCHITZ] = (h + at->k * a) / l->c2;
            g += at->length * (h + at->k * a);
            h += at->k * (a - b);
        }
    }
    return rmc_is_finite(g) && rmc_is_finite(h);
}

/* ---- certificates -------------------------------------------------------- */

static double max_of(double a, double b)
{
    return a > b ? a : b;
}

/* The objective of the function that the first point and the controls define,
 * divided by its largest row if that exceeds 1: feasible up to rounding. */
static double certified_lower(const line *l, const rmc_ipm_rows *rows)
{
    double g = rows->r[0] * l->stage->c1, h = rows->r[1] * l->c2;
    double worst = 1.0, sum = 0.0, row[4];

    for (size_t i = 0; i < l->n; i++) {
        const stage *at = l->stage + i;
        const double *r = rows->r + row_of_edge(l, i);

        sum += at->ws * g + at->w * h;
        write_point_rows(l, i, g, h, row);
        for (size_t j = 0; j < l->point_rows; j++) {
            worst = max_of(worst, fabs(row[j]));
        }
        if (i + 1 < l->n) {
            const double slope = h + at->k * r[ROW_A];

            worst = max_of(worst, max_of(fabs(r[ROW_A]), fabs(r[ROW_B])));
            worst = max_of(worst, fabs(slope) / l->c2);
            g += at->length * slope;
            h += at->k * (r[ROW_A] - r[ROW_B]);
        }
    }
    return sum / worst;
}

/*
 * [line-dual]  Multipliers y = z_upper - z_lower of all rows bound the
 * optimum by sum (z_upper + z_lower) + sum |defect|, the defect taken in the
 * first state and the controls, each of which is at most 1 in its row; the
 * adjoint state (g, h) carries it from right to left.
 */
static double certified_upper(const line *l, const rmc_ipm_rows *rows,
                              double *y)
{
    double sum = 0.0, g = 0.0, h = 0.0;

    for (size_t i = 0; i < rows->n; i++) {
        y[i] = rows->z_upper[i] - rows->z_lower[i];
        sum += rows->z_upper[i] + rows->z_lower[i];
    }
    for (size_t i = l->n; i-- > 0;) {
        const stage *at = l->stage + i;
        double g_own, h_own;

        if (i + 1 < l->n) {
            const double *r = y + row_of_edge(l, i);
            const double lip = r[ROW_LIPSCHITZ] / l->c2;

            sum += fabs(at->k * (at->length * g + h - lip) - r[ROW_A]);
            sum += fabs(-at->k * h - r[ROW_B]);
            h += at->length * g - lip;
        }
        point_term(l, i, y, &g_own, &h_own);
        g += g_own;
        h += h_own;
    }
    return sum + fabs(g) * l->stage->c1 + fabs(h) * l->c2;
}

static void certify(void *ctx, const rmc_ipm_rows *rows, double *lower,
                    double *upper)
{
    const line *l = ctx;

    *lower = certified_lower(l, rows);
    *upper = certified_upper(l, rows, rows->push); /* free between steps */
}

/* ---- the programme ------------------------------------------------------- */

static void write_ends(line *l, size_t i, double x,
                       const relmc_graph_stein_options *o)
{
    const double *end[2] = {o->lower, o->upper};
    const size_t n_ends = l->point_rows - 2;
    point_row *row = l->rows + i * n_ends;

    for (size_t e = 0; e < 2; e++) {
        if (end[e] && rmc_is_finite(*end[e])) {
            const double s = x - *end[e];

            l->stage[i].c1 = fmin(l->stage[i].c1, l->c2 * fabs(s));
            row->slope = -s;
            row->scale = 2.0 / (l->c3 * s * s);
            row++;
        }
    }
}

static void line_fill(line *l, const rmc_graph_points *points,
                      const relmc_graph_stein_options *o)
{
    for (size_t i = 0; i < l->n; i++) {
        stage *at = l->stage + i;

        at->ws = points->ws[i];
        at->w = points->weight[i];
        at->c1 = o->c1;
        at->length = i + 1 < l->n ? points->x[i + 1] - points->x[i] : 0.0;
        at->k = 0.5 * l->c3 * at->length;
        write_ends(l, i, points->x[i], o);
    }
}

/* Multipliers that meet the objective in the rows g / c1 and h / c2. */
static void start_multipliers(const line *l, rmc_ipm_rows *rows, double *room,
                              size_t n_rows)
{
    double size = 0.0;

    for (size_t i = 0; i < l->n; i++) {
        const stage *at = l->stage + i;

        size += at->c1 * fabs(at->ws) + l->c2 * fabs(at->w);
    }
    size *= 0.5 / (double)(2 * l->n);
    rmc_ipm_start(rows, n_rows, room, 0.1 * size);
    for (size_t i = 0; i < l->n; i++) {
        const stage *at = l->stage + i;
        const size_t j = row_of_point(l, i);
        const double c[2] = {at->c1 * at->ws, l->c2 * at->w};

        for (size_t k = 0; k < 2; k++) {
            rows->z_upper[j + k] = size + max_of(c[k], 0.0);
            rows->z_lower[j + k] = size + max_of(-c[k], 0.0);
        }
    }
}

static size_t count_ends(const relmc_graph_stein_options *o)
{
    return (size_t)(o->lower && rmc_is_finite(*o->lower)) +
           (size_t)(o->upper && rmc_is_finite(*o->upper));
}

static relmc_status solve_line(relmc_graph_stein_report *out,
                               const rmc_graph_points *points,
                               const relmc_graph_stein_options *o,
                               relmc_error *err)
{
    const size_t n_ends = count_ends(o), n = points->n;
    const size_t n_rows = n * (2 + n_ends) + (n - 1) * EDGE_ROWS;
    line l = {.n = n, .point_rows = 2 + n_ends, .c2 = o->c2, .c3 = o->c3};
    double *room = rmc_stein_alloc(n_rows, RMC_IPM_ARRAYS, sizeof *room);
    relmc_status status = RELMC_OK;

    l.stage = rmc_stein_alloc(n, 1, sizeof *l.stage);
    l.rows = rmc_stein_alloc(n, n_ends, sizeof *l.rows);
    if (!room || !l.stage || !l.rows) {
        status = rmc_fail(err, RELMC_ENOMEM,
                          "graph stein: no memory for %zu points", n);
    } else {
        const rmc_ipm_problem problem = {&l, factor, solve, certify};
        rmc_ipm_rows rows;

        line_fill(&l, points, o);
        start_multipliers(&l, &rows, room, n_rows);
        const rmc_ipm_result found =
            rmc_ipm_solve(&problem, &rows, o->tolerance, o->max_iterations);

        const relmc_graph_stein_report report = {
            .lower = found.lower,
            .upper = found.upper,
            .merge_bound = points->bound,
            .n_points = n,
            .n_edges = n - 1,
            .n_iterations = found.n_iterations,
        };

        status =
            rmc_graph_report(out, &report, found.is_closed, o->tolerance, err);
    }
    free(room);
    free(l.stage);
    free(l.rows);
    return status;
}

relmc_status relmc_graph_stein_line(relmc_graph_stein_report *out,
                                    const relmc_stein_sample *sample,
                                    const relmc_graph_stein_options *options,
                                    relmc_error *err)
{
    relmc_graph_stein_options o;
    rmc_graph_points points = {0};
    relmc_status status = rmc_graph_options(&o, options, sample, err);

    if (status) {
        return status;
    }
    if (sample->dim != 1) {
        return rmc_fail(err, RELMC_EINVAL,
                        "graph stein: a line has dim 1, not %zu; use "
                        "relmc_graph_stein",
                        sample->dim);
    }
    status = rmc_graph_points_take(&points, sample, &o, err);
    if (!status) {
        status = solve_line(out, &points, &o, err);
    }
    rmc_graph_points_release(&points);
    return status;
}
