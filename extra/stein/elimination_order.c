/*
 * elimination_order.c - chooses the order in which points of a graph are eliminated: by
 * minimum degree or nested dissection, whichever is better.
 *
 * It is chosen once for all programmes, before threads start: nested dissection
 * may draw random numbers from a state that threads would share.
 */
#include "stein/elimination_order.h"

#include <cholmod.h>

/* The graph as a matrix, its lower triangle. */
static cholmod_sparse *matrix_of(size_t n, const rmc_edge *edges,
                                 size_t n_edges, cholmod_common *common)
{
    cholmod_triplet *t =
        cholmod_allocate_triplet(n, n, n + n_edges, -1, CHOLMOD_REAL, common);
    cholmod_sparse *matrix = NULL;

    if (t) {
        int *row = t->i, *col = t->j;
        double *x = t->x;

        for (size_t i = 0; i < n; i++) {
            row[i] = col[i] = (int)i;
            x[i] = 1.0;
        }
        for (size_t e = 0; e < n_edges; e++) {
            row[n + e] = (int)edges[e].v; /* u < v */
            col[n + e] = (int)edges[e].u;
            x[n + e] = 1.0;
        }
        t->nnz = n + n_edges;
        matrix = cholmod_triplet_to_sparse(t, 0, common);
    }
    (void)cholmod_free_triplet(&t, common);
    return matrix;
}

int rmc_order(int *order, size_t n, size_t width, const rmc_edge *edges,
              size_t n_edges)
{
    cholmod_common common;

    (void)cholmod_start(&common);
    common.print = 0;
    common.supernodal = CHOLMOD_SIMPLICIAL;
    common.nmethods = 2;
    common.method[0].ordering = CHOLMOD_AMD;
    common.method[1].ordering = CHOLMOD_METIS;

    cholmod_sparse *matrix = matrix_of(n, edges, n_edges, &common);
    cholmod_factor *factor = matrix ? cholmod_analyze(matrix, &common) : NULL;
    const int is_there = factor != NULL;

    for (size_t i = 0; is_there && i < n * width; i++) {
        const int *point = factor->Perm;

        order[i] = point[i / width] * (int)width + (int)(i % width);
    }
    (void)cholmod_free_factor(&factor, &common);
    (void)cholmod_free_sparse(&matrix, &common);
    (void)cholmod_finish(&common);
    return is_there;
}
