/*
 * stein.c - what Stein discrepancies cost: the kernel's per pair, beside what
 * the machine's multiply-adds allow, and the graph's at n = 1000, beside CLP if
 * it is there.  `full` also lets CLP try three dimensions, for minutes.
 */
#include "bench.h"

#include "base/base.h"
#include "relmc.h"
#include "relmc_diag.h"
#ifdef BENCH_HAS_EXTRA
#include "relmc_extra.h"
#endif
#ifdef BENCH_HAS_CLP
#include "stein/spanner.h"
#include <coin/Clp_C_Interface.h>
#endif

#include <math.h>
#include <string.h>

enum { MANY = 10000, GRAPH = 1000, MILLION = 1000000 };

struct job {
    relmc_stein_sample sample;
    relmc_ksd_options ksd;
    relmc_graph_stein_options graph;
    relmc_graph_stein_report report;
};

static double *new_draws(size_t n, size_t dim, double scale)
{
    double *x = malloc(n * dim * sizeof *x);
    uint64_t state = 7;

    bench_need(!x, "no memory");
    for (size_t i = 0; i < n * dim; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = scale *
               rmc_normal_quantile(((double)(state >> 12) + 0.5) * 0x1p-52);
    }
    return x;
}

/* Standard normal draws; the same seed gives the scores with the other sign. */
static struct job new_job(size_t n, size_t dim)
{
    struct job job = {.sample = {n, dim, new_draws(n, dim, 1.0),
                                 new_draws(n, dim, -1.0), NULL},
                      .ksd = {.size = sizeof job.ksd},
                      .graph = {.size = sizeof job.graph}};

    return job;
}

static void free_job(struct job *job)
{
    free((void *)(uintptr_t)job->sample.x);
    free((void *)(uintptr_t)job->sample.score);
}

/* ---- the kernel ------------------------------------------------------------ */

/* Multiply-adds of one pair that any method needs: |z|^2, <s, s'>,
 * <s - s', z> with two subtractions per coordinate, an inverse square root of
 * two steps of seven, and seven for the rest. */
static double operations(size_t dim)
{
    return 5.0 * (double)dim + 14.0 + 7.0;
}

enum { LANES = 48, ROUNDS = 1000 };

#if defined(__x86_64__)
__attribute__((target("avx2,fma")))
#endif
static void
multiply_add(void *ctx)
{
    double *restrict out = ctx, a[LANES];

    for (int j = 0; j < LANES; j++) {
        a[j] = out[j];
    }
    for (int n = 0; n < ROUNDS; n++) {
        for (int j = 0; j < LANES; j++) {
            a[j] = __builtin_fma(a[j], 0.999, 0.001);
        }
    }
    for (int j = 0; j < LANES; j++) {
        out[j] = a[j];
    }
}

static double fma_limit(void)
{
    double room[LANES] = {0.0};
    const double ns = bench_least(multiply_add, room, 0.2);

    BENCH_KEEP(room);
    return ns / (LANES * ROUNDS);
}

static void run_ksd(void *ctx)
{
    struct job *job = ctx;
    relmc_ksd_report out = RELMC_INIT(relmc_ksd_report);
    relmc_error err = {0};

    bench_need(relmc_ksd(&out, &job->sample, &job->ksd, &err), err.message);
}

static void bench_kernel(void)
{
    static const size_t dims[] = {1, 2, 3, 4, 10, 50};
    const double limit = fma_limit(), pairs = 0.5 * MANY * (MANY - 1.0);

    (void)printf("kernel Stein discrepancy, n = %d, one thread; a multiply-add "
                 "takes %.3f ns\n%4s %9s %12s %12s\n",
                 MANY, limit, "dim", "seconds", "ns per pair", "x limit");
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
        struct job job = new_job(MANY, dims[k]);
        const double ns = bench_least(run_ksd, &job, 0.5);

        (void)printf("%4zu %9.4f %12.3f %12.2f\n", dims[k], ns * 1e-9,
                     ns / pairs, ns / pairs / (limit * operations(dims[k])));
        free_job(&job);
    }
}

static void bench_million(void)
{
    struct job job = new_job(MILLION, 2);
    relmc_ksd_bound bound = RELMC_INIT(relmc_ksd_bound);
    relmc_ksd_estimate estimate = RELMC_INIT(relmc_ksd_estimate);
    relmc_error err = {0};
    double start = bench_seconds();

    bench_need(relmc_ksd_nystrom(&bound, &job.sample, &job.ksd, &err),
               err.message);
    (void)printf("n = 1e6, dim 2: bound by %zu landmarks %.2f s",
                 bound.n_landmarks, bench_seconds() - start);
    start = bench_seconds();
    bench_need(relmc_ksd_blocks(&estimate, &job.sample, &job.ksd, &err),
               err.message);
    (void)printf(", %zu blocks %.2f s\n", estimate.n_blocks,
                 bench_seconds() - start);
    free_job(&job);
}

/* ---- the graph ------------------------------------------------------------- */

static void run_graph(void *ctx)
{
    struct job *job = ctx;
    relmc_error err = {0};
    relmc_status status;

    job->report.size = sizeof job->report;
#ifdef BENCH_HAS_EXTRA
    status = relmc_graph_stein(&job->report, &job->sample, &job->graph, &err);
#else
    status =
        relmc_graph_stein_line(&job->report, &job->sample, &job->graph, &err);
#endif
    bench_need(status, err.message);
}

#ifdef BENCH_HAS_CLP
/* A programme in rows, as [gsd] is written. */
struct programme {
    int n_rows, n_entries;
    int *row, *col;
    double *value, *bound;
};

static void entry(struct programme *p, size_t col, double value)
{
    p->row[p->n_entries] = p->n_rows;
    p->col[p->n_entries] = (int)col;
    p->value[p->n_entries++] = value;
}

static void end_row(struct programme *p, double bound)
{
    p->bound[p->n_rows++] = bound;
}

static void add_edge(struct programme *p, const double *x, size_t dim, size_t u,
                     size_t v)
{
    const size_t width = 1 + dim, ends[2] = {u, v};
    double length = 0.0;

    for (size_t k = 0; k < dim; k++) {
        length += fabs(x[u * dim + k] - x[v * dim + k]);
    }
    for (size_t k = 0; k < width; k++) {
        entry(p, u * width + k, 1.0);
        entry(p, v * width + k, -1.0);
        end_row(p, length);
    }
    for (size_t e = 0; e < 2; e++) {
        entry(p, u * width, 1.0);
        entry(p, v * width, -1.0);
        for (size_t k = 0; k < dim; k++) {
            entry(p, ends[e] * width + 1 + k, x[v * dim + k] - x[u * dim + k]);
        }
        end_row(p, 0.5 * length * length);
    }
}

/* CLP wants columns. */
static Clp_Simplex *load(const struct programme *p, size_t n, size_t dim,
                         const double *score, size_t axis)
{
    const size_t n_cols = n * (1 + dim), n_entries = (size_t)p->n_entries;
    CoinBigIndex *start = calloc(n_cols + 2, sizeof *start);
    int *index = malloc(n_entries * sizeof *index);
    double *value = malloc(n_entries * sizeof *value);
    double *c = calloc(n_cols, sizeof *c), *one = malloc(n_cols * sizeof *one);
    double *minus = malloc((n_cols + (size_t)p->n_rows) * sizeof *minus);
    Clp_Simplex *model = Clp_newModel();

    for (size_t e = 0; e < n_entries; e++) {
        start[p->col[e] + 2]++;
    }
    for (size_t i = 2; i < n_cols + 2; i++) {
        start[i] += start[i - 1];
    }
    for (size_t e = 0; e < n_entries; e++) {
        const int at = start[p->col[e] + 1]++;

        index[at] = p->row[e];
        value[at] = p->value[e];
    }
    for (size_t i = 0; i < n_cols; i++) {
        one[i] = 1.0;
        minus[i] = -1.0;
    }
    for (size_t i = 0; i < n; i++) {
        c[i * (1 + dim)] = score[i * dim + axis] / (double)n;
        c[i * (1 + dim) + 1 + axis] = 1.0 / (double)n;
    }
    for (int i = 0; i < p->n_rows; i++) {
        minus[n_cols + (size_t)i] = -p->bound[i];
    }
    Clp_setLogLevel(model, 0);
    Clp_loadProblem(model, (int)n_cols, p->n_rows, start, index, value, minus,
                    one, c, minus + n_cols, p->bound);
    Clp_setOptimizationDirection(model, -1.0);
    free(start);
    free(index);
    free(value);
    free(c);
    free(one);
    free(minus);
    return model;
}

/* By first coordinate, as the spanner wants them. */
static int compare_rows(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct programme new_programme(const double *x, size_t n, size_t dim)
{
    rmc_edge *edges = NULL;
    size_t n_edges = 0;
    struct programme p = {0};
    relmc_error err = {0};

    if (dim > 1) {
        bench_need(rmc_spanner(&edges, &n_edges, n, dim, x, 4.0, &err),
                   err.message);
    } else {
        n_edges = n - 1;
    }
    const size_t most = n_edges * (2 * (1 + dim) + 2 * (2 + dim));

    p.row = malloc(most * sizeof *p.row);
    p.col = malloc(most * sizeof *p.col);
    p.value = malloc(most * sizeof *p.value);
    p.bound = malloc(n_edges * (3 + dim) * sizeof *p.bound);
    for (size_t e = 0; e < n_edges; e++) {
        add_edge(&p, x, dim, edges ? edges[e].u : e,
                 edges ? edges[e].v : e + 1);
    }
    free(edges);
    return p;
}

static void rival(const struct job *job, double ours, const char *name,
                  int (*method)(Clp_Simplex *))
{
    const size_t n = job->sample.n, dim = job->sample.dim;
    double *x = new_draws(n, dim, 1.0), *score = malloc(n * dim * sizeof *x);
    double value = 0.0, seconds = 0.0;

    qsort(x, n, dim * sizeof *x, compare_rows);
    for (size_t i = 0; i < n * dim; i++) {
        score[i] = -x[i];
    }
    struct programme p = new_programme(x, n, dim);

    for (size_t axis = 0; axis < dim; axis++) {
        Clp_Simplex *model = load(&p, n, dim, score, axis);
        const double start = bench_seconds();

        (void)method(model);
        seconds += bench_seconds() - start;
        value += Clp_objectiveValue(model);
        Clp_deleteModel(model);
    }
    (void)printf("     CLP %-8s %8.3f s, %6.1f x, value off by %.1e\n", name,
                 seconds, seconds / ours,
                 value / (0.5 * (job->report.lower + job->report.upper)) - 1.0);
    free(x);
    free(score);
    free(p.row);
    free(p.col);
    free(p.value);
    free(p.bound);
}
#endif

static void bench_graph(size_t dim, int is_full)
{
    struct job job = new_job(GRAPH, dim);
    double seconds = bench_least(run_graph, &job, dim > 2 ? 0.1 : 1.0) * 1e-9;

    (void)printf("%4zu %9.4f s, %zu edges, %zu iterations, [%.9f, %.9f]\n", dim,
                 seconds, job.report.n_edges, job.report.n_iterations,
                 job.report.lower, job.report.upper);
#ifdef BENCH_HAS_CLP
    if (dim < 3) {
        rival(&job, seconds, "barrier", Clp_initialBarrierSolve);
        rival(&job, seconds, "dual", Clp_initialDualSolve);
    }
    if (dim < 3 || is_full) {
        rival(&job, seconds, "primal", Clp_initialPrimalSolve);
    }
#else
    (void)is_full;
#endif
    free_job(&job);
}

int main(int argc, char **argv)
{
    const int is_full = argc > 1 && !strcmp(argv[1], "full");

    bench_usage(argc, argv, "bench-stein [full]");
    bench_kernel();
    bench_million();
    (void)printf("\ngraph Stein discrepancy, n = %d, one thread, spanner "
                 "included\n",
                 GRAPH);
    bench_graph(1, is_full);
#ifdef BENCH_HAS_EXTRA
    bench_graph(2, is_full);
    bench_graph(3, is_full);
#endif
    return 0;
}
