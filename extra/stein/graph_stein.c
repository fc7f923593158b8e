/* graph_stein.c - [gsd] graph Stein discrepancy in any number of dimensions. */
#include "relmc_diag.h"
#include "relmc_extra.h"
#include "stein/elimination_order.h"
#include "stein/stein_lp.h"

#include "base/threads.h"
#include "diag/stein/stein_sample.h"

#include <stdlib.h>

/* One programme per coordinate. */
struct programmes {
    const rmc_stein_graph *graph;
    rmc_ipm_result *result; /* dim */
    relmc_status *status;   /* dim */
};

static void work_on_axis(void *ctx, size_t axis)
{
    const struct programmes *all = ctx;

    all->status[axis] =
        rmc_programme_solve(&all->result[axis], all->graph, axis);
}

static relmc_status add_up(relmc_graph_stein_report *out,
                           const struct programmes *all, relmc_error *err)
{
    const relmc_graph_stein_options *o = all->graph->options;
    int is_closed = 1;

    relmc_graph_stein_report found = {
        .merge_bound = all->graph->points->bound,
        .n_points = all->graph->points->n,
        .n_edges = all->graph->n_edges,
    };

    for (size_t k = 0; k < all->graph->points->dim; k++) {
        const rmc_ipm_result *r = &all->result[k];

        if (all->status[k]) {
            return rmc_fail(err, all->status[k],
                            "graph stein: no memory for the programme of "
                            "coordinate %zu",
                            k);
        }
        found.lower += r->lower;
        found.upper += r->upper;
        is_closed = is_closed && r->is_closed;
        if (r->n_iterations > found.n_iterations) {
            found.n_iterations = r->n_iterations;
        }
    }
    return rmc_graph_report(out, &found, is_closed, o->tolerance, err);
}

static relmc_status solve_all(relmc_graph_stein_report *out,
                              rmc_stein_graph *graph, relmc_error *err)
{
    const size_t dim = graph->points->dim, n = graph->points->n;
    struct programmes all = {graph, rmc_stein_alloc(dim, 1, sizeof *all.result),
                             rmc_stein_alloc(dim, 1, sizeof *all.status)};
    relmc_status status;

    graph->order = rmc_stein_alloc(n, 1 + dim, sizeof *graph->order);
    if (!all.result || !all.status || !graph->order ||
        !rmc_order(graph->order, n, 1 + dim, graph->edges, graph->n_edges)) {
        status = rmc_fail(err, RELMC_ENOMEM,
                          "graph stein: no memory for %zu programmes", dim);
    } else {
        rmc_share_work(graph->options->threads, dim, work_on_axis, &all);
        status = add_up(out, &all, err);
    }
    free(graph->order);
    free(all.result);
    free(all.status);
    return status;
}

relmc_status relmc_graph_stein(relmc_graph_stein_report *out,
                               const relmc_stein_sample *sample,
                               const relmc_graph_stein_options *options,
                               relmc_error *err)
{
    relmc_graph_stein_options o;
    rmc_graph_points points = {0};
    rmc_edge *edges = NULL;
    size_t n_edges = 0;
    relmc_status status = rmc_graph_options(&o, options, sample, err);

    if (status) {
        return status;
    }
    if (sample->dim == 1) {
        return relmc_graph_stein_line(out, sample, options, err);
    }
    status = rmc_graph_points_take(&points, sample, &o, err);
    if (!status) {
        /* Taylor and Lipschitz rows of longer edges always hold */
        const double longest = fmax(4.0 * o.c2 / o.c3, 2.0 * o.c1 / o.c2);

        status = rmc_spanner(&edges, &n_edges, points.n, points.dim, points.x,
                             longest, err);
    }
    if (!status) {
        rmc_stein_graph graph = {.points = &points,
                                 .edges = edges,
                                 .n_edges = n_edges,
                                 .options = &o};

        status = solve_all(out, &graph, err);
    }
    free(edges);
    rmc_graph_points_release(&points);
    return status;
}
