/*
 * spanner.c - [spanner] the greedy 2-spanner under the L1 distance.
 *
 * Pairs are taken by increasing length; a pair becomes an edge unless the edges
 * so far connect it within twice its length.  Every pair has an upper bound of
 * its distance in the graph; this, or that of a neighbour, decides most pairs,
 * and a search decides the rest (Farshi and Gudmundsson 2009,
 * "Experimental study of geometric t-spanners").
 */
#include "stein/spanner.h"

#include <stdlib.h>

/* A pair as one number: length as a float, then u, then v. */
enum { INDEX_BITS = 15, RADIX_BITS = 11, NONE = -1 };

/* One direction of an edge. */
typedef struct arc {
    uint32_t to;
    int32_t next; /* of the same point */
    double length;
} arc;

typedef struct heap_item {
    double key;
    uint32_t point;
} heap_item;

typedef struct graph {
    size_t n, dim;
    const double *x;
    float *bound;  /* n x n: upper bounds of distances in the graph */
    int32_t *head; /* first arc of a point */
    arc *arcs;
    size_t n_arcs, arc_room;
    double *distance; /* in this search, where stamp is `now` */
    uint32_t *stamp, now;
    heap_item *heap;
    size_t n_heap, heap_room;
    int has_failed; /* no memory */
} graph;

static double l1(const graph *g, size_t u, size_t v)
{
    const double *a = g->x + u * g->dim, *b = g->x + v * g->dim;
    double sum = 0.0;

    for (size_t k = 0; k < g->dim; k++) {
        sum += fabs(a[k] - b[k]);
    }
    return sum;
}

static void *grow(graph *g, void *block, size_t *room, size_t size)
{
    const size_t wanted = *room ? 2 * *room : 4096;
    void *bigger = realloc(block, wanted * size);

    if (!bigger) {
        g->has_failed = 1;
        return block;
    }
    *room = wanted;
    return bigger;
}

/* ---- pairs by length ------------------------------------------------------- */

static uint32_t float_bits(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* Lists all pairs shorter than `longest`; only counts them if out is NULL. */
static size_t list_pairs(const graph *g, double longest, uint64_t *out)
{
    size_t n_pairs = 0;

    for (size_t u = 0; u < g->n; u++) {
        /* points are in the order of their first coordinate */
        for (size_t v = u + 1;
             v < g->n && g->x[v * g->dim] - g->x[u * g->dim] < longest; v++) {
            const double length = l1(g, u, v);

            if (length < longest) {
                if (out) {
                    out[n_pairs] = (uint64_t)float_bits((float)length)
                                       << 2 * INDEX_BITS |
                                   (uint64_t)u << INDEX_BITS | v;
                }
                n_pairs++;
            }
        }
    }
    return n_pairs;
}

/* Sorts by length; equal lengths keep their order.  Uses n more numbers at `spare`;
 * returns pairs or spare, whichever has the result. */
static uint64_t *sort_pairs(uint64_t *pairs, uint64_t *spare, size_t n)
{
    for (int shift = 2 * INDEX_BITS; shift < 2 * INDEX_BITS + 32;
         shift += RADIX_BITS) {
        size_t start[1 << RADIX_BITS] = {0}, sum = 0;
        const uint64_t mask = (1 << RADIX_BITS) - 1;

        for (size_t i = 0; i < n; i++) {
            start[pairs[i] >> shift & mask]++;
        }
        for (size_t b = 0; b <= mask; b++) {
            const size_t here = start[b];

            start[b] = sum;
            sum += here;
        }
        for (size_t i = 0; i < n; i++) {
            spare[start[pairs[i] >> shift & mask]++] = pairs[i];
        }
        uint64_t *other = pairs;
        pairs = spare;
        spare = other;
    }
    return pairs;
}

/* ---- the search ------------------------------------------------------------ */

static void push_heap(graph *g, double key, uint32_t point)
{
    if (g->n_heap == g->heap_room) {
        g->heap = grow(g, g->heap, &g->heap_room, sizeof *g->heap);
        if (g->has_failed) {
            return;
        }
    }
    size_t i = g->n_heap++;
    while (i > 0 && g->heap[(i - 1) / 2].key > key) {
        g->heap[i] = g->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    g->heap[i] = (heap_item){key, point};
}

static heap_item pop_heap(graph *g)
{
    const heap_item top = g->heap[0], last = g->heap[--g->n_heap];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < g->n_heap) {
        if (child + 1 < g->n_heap &&
            g->heap[child + 1].key < g->heap[child].key) {
            child++;
        }
        if (g->heap[child].key >= last.key) {
            break;
        }
        g->heap[i] = g->heap[child];
        i = child;
    }
    g->heap[i] = last;
    return top;
}

/* Rounds up, so that the float is a bound, too. */
static void lower_bound(graph *g, size_t u, size_t v, double length)
{
    const float up = (float)(length * (1.0 + 1e-6));

    if (up < g->bound[u * g->n + v]) {
        g->bound[u * g->n + v] = g->bound[v * g->n + u] = up;
    }
}

/* Dijkstra's search from u, without points through which v is beyond `limit`. */
static int is_connected(graph *g, uint32_t u, uint32_t v, double limit)
{
    g->now++;
    g->n_heap = 0;
    g->distance[u] = 0.0;
    g->stamp[u] = g->now;
    push_heap(g, 0.0, u);
    while (g->n_heap > 0) {
        const heap_item top = pop_heap(g);

        if (top.key > g->distance[top.point]) {
            continue;
        }
        lower_bound(g, u, top.point, top.key);
        if (top.point == v) {
            return 1;
        }
        for (int32_t a = g->head[top.point]; a != NONE; a = g->arcs[a].next) {
            const uint32_t to = g->arcs[a].to;
            const double key = top.key + g->arcs[a].length;
            const int is_better =
                g->stamp[to] != g->now || key < g->distance[to];

            if (is_better && key + l1(g, to, v) <= limit) {
                g->stamp[to] = g->now;
                g->distance[to] = key;
                push_heap(g, key, to);
            }
        }
    }
    return 0;
}

/* Lowers the bound of (u, v) by paths through a neighbour of u. */
static void try_neighbours(graph *g, uint32_t u, uint32_t v)
{
    double best = HUGE_VAL;

    for (int32_t a = g->head[u]; a != NONE; a = g->arcs[a].next) {
        const double length =
            g->arcs[a].length + (double)g->bound[g->arcs[a].to * g->n + v];

        best = length < best ? length : best;
    }
    lower_bound(g, u, v, best);
}

static int is_needed(graph *g, uint32_t u, uint32_t v, double limit)
{
    const float *bound = &g->bound[u * g->n + v];

    if ((double)*bound <= limit) {
        return 0;
    }
    try_neighbours(g, u, v);
    try_neighbours(g, v, u);
    return (double)*bound > limit && !is_connected(g, u, v, limit);
}

/* ---- the spanner ----------------------------------------------------------- */

static void add_arc(graph *g, uint32_t from, uint32_t to, double length)
{
    if (g->n_arcs == g->arc_room) {
        g->arcs = grow(g, g->arcs, &g->arc_room, sizeof *g->arcs);
        if (g->has_failed) {
            return;
        }
    }
    g->arcs[g->n_arcs] = (arc){to, g->head[from], length};
    g->head[from] = (int32_t)g->n_arcs++;
}

static void add_edges(graph *g, const uint64_t *pairs, size_t n_pairs)
{
    const uint64_t mask = (1 << INDEX_BITS) - 1;

    for (size_t i = 0; i < n_pairs && !g->has_failed; i++) {
        const uint32_t u = (uint32_t)(pairs[i] >> INDEX_BITS & mask);
        const uint32_t v = (uint32_t)(pairs[i] & mask);
        const double length = l1(g, u, v);

        if (is_needed(g, u, v, 2.0 * length)) {
            add_arc(g, u, v, length);
            add_arc(g, v, u, length);
            lower_bound(g, u, v, length);
        }
    }
}

static int find_edges(graph *g, double longest)
{
    const size_t n_pairs = list_pairs(g, longest, NULL);
    uint64_t *pairs = malloc((2 * n_pairs + 1) * sizeof *pairs);

    g->bound = malloc(g->n * g->n * sizeof *g->bound);
    g->head = malloc(g->n * sizeof *g->head);
    g->distance = malloc(g->n * sizeof *g->distance);
    g->stamp = calloc(g->n, sizeof *g->stamp);
    g->arc_room = 4 * g->n;
    g->arcs = malloc(g->arc_room * sizeof *g->arcs);
    if (!pairs || !g->bound || !g->head || !g->distance || !g->stamp ||
        !g->arcs) {
        free(pairs);
        return 0;
    }
    for (size_t i = 0; i < g->n * g->n; i++) {
        g->bound[i] = HUGE_VALF;
    }
    for (size_t i = 0; i < g->n; i++) {
        g->head[i] = NONE;
    }
    (void)list_pairs(g, longest, pairs);
    add_edges(g, sort_pairs(pairs, pairs + n_pairs, n_pairs), n_pairs);
    free(pairs);
    return !g->has_failed;
}

/* Arcs come in pairs: from u to v, then from v to u; u < v. */
static rmc_edge *edges_of(const graph *g)
{
    rmc_edge *edges = malloc((g->n_arcs / 2 + 1) * sizeof *edges);

    for (size_t i = 0; edges && i < g->n_arcs / 2; i++) {
        edges[i] = (rmc_edge){g->arcs[2 * i + 1].to, g->arcs[2 * i].to,
                              g->arcs[2 * i].length};
    }
    return edges;
}

relmc_status rmc_spanner(rmc_edge **edges, size_t *n_edges, size_t n,
                         size_t dim, const double *x, double longest,
                         relmc_error *err)
{
    graph g = {.n = n, .dim = dim, .x = x};

    if (n > RMC_SPANNER_MAX) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "graph stein: %zu distinct draws; above one dimension "
                        "there may be %d, so thin or merge them",
                        n, RMC_SPANNER_MAX);
    }
    rmc_edge *found = find_edges(&g, longest) ? edges_of(&g) : NULL;

    free(g.bound);
    free(g.head);
    free(g.arcs);
    free(g.distance);
    free(g.stamp);
    free(g.heap);
    if (!found) {
        return rmc_fail(err, RELMC_ENOMEM,
                        "graph stein: no memory for the graph of %zu points",
                        n);
    }
    *edges = found;
    *n_edges = g.n_arcs / 2;
    return RELMC_OK;
}
