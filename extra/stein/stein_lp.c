/*
 * stein_lp.c - [gsd] the linear programme of one coordinate of the graph Stein
 * discrepancy, solved with sparse Cholesky factors.
 *
 * Point i has 1 + dim variables: the value g_i and the slopes h_ik.  Variables
 * and rows are divided by their bounds, so that all are between -1 and 1.
 * The rows of the programme come first, then one per variable.
 */
#include "stein/stein_lp.h"
#include "relmc_diag.h"

#include "diag/stein/stein_sample.h"

#include <cholmod.h>
#include <stdlib.h>

typedef struct programme {
    size_t n_vars, n_rows; /* rows without those of the variables */
    size_t *start;         /* n_rows + 1: where a row begins */
    int *var;              /* its variables */
    double *value;         /* their coefficients */
    double *most;          /* n_vars: bound of |variable| before scaling */
    double *c;             /* n_vars: the objective, scaled */
    double *dx;            /* n_vars */
    int *place;            /* of each product of two entries in the matrix */
    cholmod_common common;
    cholmod_sparse *matrix; /* A' W A, its lower triangle */
    cholmod_factor *factor;
    cholmod_dense *rhs, *solution, *room_y, *room_e;
} programme;

/* ---- rows ------------------------------------------------------------------ */

/* Completes the row of the entries up to `end`: |row| <= bound. */
static void end_row(programme *p, size_t end, double bound)
{
    for (size_t e = p->start[p->n_rows]; e < end; e++) {
        p->value[e] *= p->most[p->var[e]] / bound;
    }
    p->start[++p->n_rows] = end;
}

static size_t add_entry(programme *p, size_t end, size_t var, double value)
{
    p->var[end] = (int)var;
    p->value[end] = value;
    return end + 1;
}

/* |var_a - var_b| <= bound, unless it follows from the bounds of the two. */
static void add_difference(programme *p, size_t a, size_t b, double bound)
{
    if (bound < p->most[a] + p->most[b]) {
        size_t end = add_entry(p, p->start[p->n_rows], a, 1.0);

        end = add_entry(p, end, b, -1.0);
        end_row(p, end, bound);
    }
}

/* |g_u - g_v - <h_at, x_u - x_v>| <= c3 D^2 / 2 */
static void add_taylor(programme *p, const rmc_stein_graph *graph,
                       const rmc_edge *edge, size_t at)
{
    const size_t dim = graph->points->dim, width = 1 + dim;
    const double *u = graph->points->x + edge->u * dim;
    const double *v = graph->points->x + edge->v * dim;
    size_t end = p->start[p->n_rows];

    end = add_entry(p, end, edge->u * width, 1.0);
    end = add_entry(p, end, edge->v * width, -1.0);
    for (size_t k = 0; k < dim; k++) {
        end = add_entry(p, end, at * width + 1 + k, v[k] - u[k]);
    }
    end_row(p, end, 0.5 * graph->options->c3 * edge->length * edge->length);
}

static void add_edge(programme *p, const rmc_stein_graph *graph,
                     const rmc_edge *edge)
{
    const relmc_graph_stein_options *o = graph->options;
    const size_t width = 1 + graph->points->dim;
    const size_t u = edge->u * width, v = edge->v * width;

    add_difference(p, u, v, o->c2 * edge->length);
    for (size_t k = 1; k < width; k++) {
        add_difference(p, u + k, v + k, o->c3 * edge->length);
    }
    if (edge->length < 4.0 * o->c2 / o->c3) {
        add_taylor(p, graph, edge, edge->u);
        add_taylor(p, graph, edge, edge->v);
    }
}

/* The distance from coordinate `axis` of a point to an end of the support;
 * 0 if there is no such end. */
static double to_end(const rmc_stein_graph *graph, size_t point, size_t axis,
                     int is_upper)
{
    const double *end =
        is_upper ? graph->options->upper : graph->options->lower;

    if (!end || !rmc_is_finite(end[axis])) {
        return 0.0;
    }
    return graph->points->x[point * graph->points->dim + axis] - end[axis];
}

/* |g| <= c2 |s| and |h_k| <= c3 |s| for the other coordinates. */
static void bound_variables(programme *p, const rmc_stein_graph *graph,
                            size_t point, size_t axis)
{
    const relmc_graph_stein_options *o = graph->options;
    const size_t width = 1 + graph->points->dim;
    double *most = p->most + point * width;

    for (size_t k = 0; k < width; k++) {
        most[k] = k == 0 ? o->c1 : o->c2;
    }
    for (int e = 0; e < 2; e++) {
        const double s = fabs(to_end(graph, point, axis, e));

        for (size_t k = 0; s > 0.0 && k < width; k++) {
            if (k != axis + 1) {
                most[k] = fmin(most[k], (k == 0 ? o->c2 : o->c3) * s);
            }
        }
    }
}

/* |g - s h| <= c3 s^2 / 2 */
static void add_ends(programme *p, const rmc_stein_graph *graph, size_t point,
                     size_t axis)
{
    const size_t at = point * (1 + graph->points->dim);

    for (int e = 0; e < 2; e++) {
        const double s = to_end(graph, point, axis, e);

        if (s != 0.0) {
            size_t end = add_entry(p, p->start[p->n_rows], at, 1.0);

            end = add_entry(p, end, at + 1 + axis, -s);
            end_row(p, end, 0.5 * graph->options->c3 * s * s);
        }
    }
}

static void write_rows(programme *p, const rmc_stein_graph *graph, size_t axis)
{
    const rmc_graph_points *points = graph->points;
    const size_t dim = points->dim, width = 1 + dim;

    for (size_t i = 0; i < points->n; i++) {
        bound_variables(p, graph, i, axis);
        p->c[i * width] = points->ws[i * dim + axis] * p->most[i * width];
        p->c[i * width + 1 + axis] =
            points->weight[i] * p->most[i * width + 1 + axis];
    }
    for (size_t i = 0; i < points->n; i++) {
        add_ends(p, graph, i, axis);
    }
    for (size_t e = 0; e < graph->n_edges; e++) {
        add_edge(p, graph, graph->edges + e);
    }
}

/* ---- the matrix ------------------------------------------------------------ */

static size_t count_products(const programme *p)
{
    size_t n = p->n_vars;

    for (size_t i = 0; i < p->n_rows; i++) {
        const size_t k = p->start[i + 1] - p->start[i];

        n += k * (k + 1) / 2;
    }
    return n;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Lists the products of two entries of a row, in the order in which factor() adds
 * them. */
static void list_products(const programme *p, cholmod_triplet *t)
{
    int *row = t->i, *col = t->j;
    double *x = t->x;
    size_t n = 0;

    for (size_t i = 0; i < p->n_vars; i++) {
        row[n] = col[n] = (int)i;
        x[n++] = 1.0;
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        for (size_t a = p->start[i]; a < p->start[i + 1]; a++) {
            for (size_t b = p->start[i]; b <= a; b++) {
                row[n] = larger(p->var[a], p->var[b]);
                col[n] = smaller(p->var[a], p->var[b]);
                x[n++] = 1.0;
            }
        }
    }
    t->nnz = n;
}

/* Where entry (row, col) of the matrix is. */
static int find_place(const cholmod_sparse *m, int row, int col)
{
    const int *start = m->p, *rows = m->i;
    int low = start[col], high = start[col + 1] - 1;

    while (low < high) {
        const int middle = low + (high - low) / 2;

        if (rows[middle] < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Makes the pattern of the matrix and its symbolic factor, once. */
static int analyse(programme *p, int *order)
{
    const size_t n = count_products(p);
    cholmod_triplet *t = NULL;

    if (n > INT32_MAX) {
        return 0;
    }
    t = cholmod_allocate_triplet(p->n_vars, p->n_vars, n, -1, CHOLMOD_REAL,
                                 &p->common);
    p->place = rmc_stein_alloc(n, 1, sizeof *p->place);
    if (t && p->place) {
        list_products(p, t);
        p->matrix = cholmod_triplet_to_sparse(t, 0, &p->common);
        const int *row = t->i, *col = t->j;

        for (size_t i = 0; p->matrix && i < n; i++) {
            p->place[i] = find_place(p->matrix, row[i], col[i]);
        }
    }
    cholmod_free_triplet(&t, &p->common);
    if (p->matrix) {
        p->factor = cholmod_analyze_p(p->matrix, order, NULL, 0, &p->common);
        p->rhs = cholmod_zeros(p->n_vars, 1, CHOLMOD_REAL, &p->common);
    }
    return p->factor && p->rhs;
}

static int factor(void *ctx, const rmc_ipm_rows *rows)
{
    programme *p = ctx;
    const double *box = rows->weight + p->n_rows;
    double *x = p->matrix->x;
    const int *place = p->place;

    memset(x, 0, p->matrix->nzmax * sizeof *x);
    for (size_t i = 0; i < p->n_vars; i++) {
        x[*place++] += box[i];
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        for (size_t a = p->start[i]; a < p->start[i + 1]; a++) {
            const double f = rows->weight[i] * p->value[a];

            for (size_t b = p->start[i]; b <= a; b++) {
                x[*place++] += f * p->value[b];
            }
        }
    }
    return cholmod_factorize(p->matrix, p->factor, &p->common) &&
           p->common.status == CHOLMOD_OK;
}

/* out <- A x, the rows of the variables included */
static void multiply(const programme *p, const double *x, double *out)
{
    for (size_t i = 0; i < p->n_rows; i++) {
        double sum = 0.0;

        for (size_t e = p->start[i]; e < p->start[i + 1]; e++) {
            sum += p->value[e] * x[p->var[e]];
        }
        out[i] = sum;
    }
    memcpy(out + p->n_rows, x, p->n_vars * sizeof *x);
}

/* out <- c - A' y */
static void defect(const programme *p, const double *y, double *out)
{
    for (size_t i = 0; i < p->n_vars; i++) {
        out[i] = p->c[i] - y[p->n_rows + i];
    }
    for (size_t i = 0; i < p->n_rows; i++) {
        for (size_t e = p->start[i]; e < p->start[i + 1]; e++) {
            out[p->var[e]] -= p->value[e] * y[i];
        }
    }
}

static int solve(void *ctx, rmc_ipm_rows *rows)
{
    programme *p = ctx;

    defect(p, rows->push, p->rhs->x);
    if (!cholmod_solve2(CHOLMOD_A, p->factor, p->rhs, NULL, &p->solution, NULL,
                        &p->room_y, &p->room_e, &p->common)) {
        return 0;
    }
    multiply(p, p->solution->x, rows->dr);
    return 1;
}

/* ---- certificates ---------------------------------------------------------- */

static void certify(void *ctx, const rmc_ipm_rows *rows, double *lower,
                    double *upper)
{
    programme *p = ctx;
    const double *x = rows->r + p->n_rows;
    double *y = rows->push; /* not in use between steps */
    double worst = 1.0, objective = 0.0, sum = 0.0;

    multiply(p, x, y);
    for (size_t i = 0; i < rows->n; i++) {
        worst = fabs(y[i]) > worst ? fabs(y[i]) : worst;
    }
    for (size_t i = 0; i < p->n_vars; i++) {
        objective += p->c[i] * x[i];
    }
    *lower = objective / worst;

    for (size_t i = 0; i < rows->n; i++) {
        y[i] = rows->z_upper[i] - rows->z_lower[i];
        sum += rows->z_upper[i] + rows->z_lower[i];
    }
    defect(p, y, p->dx);
    for (size_t i = 0; i < p->n_vars; i++) {
        sum += fabs(p->dx[i]); /* |variable| <= 1 */
    }
    *upper = sum;
}

/* ---- the programme --------------------------------------------------------- */

static int programme_take(programme *p, const rmc_stein_graph *graph,
                          size_t axis)
{
    const size_t n = graph->points->n, dim = graph->points->dim;
    const size_t n_rows = 2 * n + graph->n_edges * (3 + dim);
    const size_t n_entries = 4 * n + graph->n_edges * (6 + 4 * dim);

    p->n_vars = n * (1 + dim);
    p->start = rmc_stein_alloc(n_rows + 1, 1, sizeof *p->start);
    p->var = rmc_stein_alloc(n_entries, 1, sizeof *p->var);
    p->value = rmc_stein_alloc(n_entries, 1, sizeof *p->value);
    p->most = rmc_stein_alloc(p->n_vars, 1, sizeof *p->most);
    p->c = rmc_stein_alloc(p->n_vars, 1, sizeof *p->c);
    p->dx = rmc_stein_alloc(p->n_vars, 1, sizeof *p->dx);
    (void)cholmod_start(&p->common);
    p->common.print = 0;
    p->common.final_ll = 1;
    p->common.supernodal = CHOLMOD_SIMPLICIAL; /* the part under the LGPL */
    p->common.nmethods = 1;
    p->common.method[0].ordering = CHOLMOD_GIVEN;
    if (!p->start || !p->var || !p->value || !p->most || !p->c || !p->dx) {
        return 0;
    }
    write_rows(p, graph, axis);
    return analyse(p, graph->order);
}

static void programme_release(programme *p)
{
    (void)cholmod_free_sparse(&p->matrix, &p->common);
    (void)cholmod_free_factor(&p->factor, &p->common);
    (void)cholmod_free_dense(&p->rhs, &p->common);
    (void)cholmod_free_dense(&p->solution, &p->common);
    (void)cholmod_free_dense(&p->room_y, &p->common);
    (void)cholmod_free_dense(&p->room_e, &p->common);
    (void)cholmod_finish(&p->common);
    free(p->start);
    free(p->var);
    free(p->value);
    free(p->most);
    free(p->c);
    free(p->dx);
    free(p->place);
}

/* First multipliers: the rows of the variables alone give the objective. */
static void start_multipliers(const programme *p, rmc_ipm_rows *rows,
                              double *room)
{
    double size = 0.0;

    for (size_t i = 0; i < p->n_vars; i++) {
        size += fabs(p->c[i]);
    }
    size *= 0.5 / (double)p->n_vars;
    rmc_ipm_start(rows, p->n_rows + p->n_vars, room, 0.1 * size);
    for (size_t i = 0; i < p->n_vars; i++) {
        rows->z_upper[p->n_rows + i] = size + fmax(p->c[i], 0.0);
        rows->z_lower[p->n_rows + i] = size + fmax(-p->c[i], 0.0);
    }
}

relmc_status rmc_programme_solve(rmc_ipm_result *out,
                                 const rmc_stein_graph *graph, size_t axis)
{
    programme p = {0};
    double *room = NULL;
    relmc_status status = RELMC_ENOMEM;

    if (programme_take(&p, graph, axis)) {
        room =
            rmc_stein_alloc(p.n_rows + p.n_vars, RMC_IPM_ARRAYS, sizeof *room);
    }
    if (room) {
        const rmc_ipm_problem problem = {&p, factor, solve, certify};
        rmc_ipm_rows rows;

        start_multipliers(&p, &rows, room);
        *out = rmc_ipm_solve(&problem, &rows, graph->options->tolerance,
                             graph->options->max_iterations);
        status = RELMC_OK;
    }
    free(room);
    programme_release(&p);
    return status;
}
