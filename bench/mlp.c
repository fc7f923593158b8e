/*
 * mlp.c - a training step of networks: the gradient of a minibatch and an update
 * of all parameters, against the matrix products alone.
 *
 *   sgemm     the best rate of square products, 1024
 *   limit     the products of the step and nothing else
 *   slope     the gradient in single precision: gather, prior, forward, backward
 *   engine    a step of the optimiser sgd as `relmc optimize mlp` makes it: a run
 *             of the library, 30 steps to a transition, with an observer that
 *             copies the point
 *   double    the same with precision=double
 *   momentum  the same with gradient steps that keep their momentum
 *   adam      the same with Adam
 *   euler, baoab, obabo
 *             a step of the sampler sghmc at temperature 1 with the separable
 *             energy: explicit noise, or exact refreshes, one or two of them
 *
 * What a step takes besides the gradient, in ns per parameter, is a table of its
 * own: the update, and a thirtieth of what the end of a transition takes.
 *
 * The rows are those of permutations of 60000 x 784 numbers, of which 19 % are not
 * zero, in places at random: MNIST has as many, in fewer places.  With inputs=dense
 * the model does not look for zeros, and neither does the limit.
 */
#include "bench.h"
#include "relmc_diag.h"

#include "mlp/mlp.h"
#include "relmc_extra.h"
#include "target/target.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { N = 60000, INPUTS = 784, CLASSES = 10, MAX_LAYERS = 3 };

/* Of a hundred pixels so many are not zero. */
enum { FULL = 19 };

enum what {
    LIMIT,
    SLOPE,
    ENGINE,
    DOUBLE,
    MOMENTUM,
    ADAM,
    EULER,
    BAOAB,
    OBABO,
    N_WHAT
};

/* A transition has so many steps. */
enum { STEPS = 30 };

#define HEAT "sghmc:lr=1e-10,momentum=0.9,max_step=1e-5,steps=30,scheme="

/* Rates so low that nothing moves far. */
static const struct {
    const char *name, *sampler;
} kinds[N_WHAT] = {
    {"limit", NULL},
    {"slope", NULL},
    {"engine", "sgd:lr=1e-4,momentum=0.9,max_step=3e-6,decay=1e-7,steps=30"},
    {"double", "sgd:lr=1e-4,momentum=0.9,max_step=3e-6,decay=1e-7,steps=30,"
               "precision=double"},
    {"momentum", "momentum:lr=1e-4,steps=30"},
    {"adam", "adam:lr=1e-6,steps=30"},
    {"euler", HEAT "euler,law=bounded"},
    {"baoab", HEAT "baoab"},
    {"obabo", HEAT "obabo"},
};

static struct {
    float *images;
    double *labels;
    uint32_t *order;
} set;

static uint64_t bits(void)
{
    static relmc_stream stream = {.seed = 1};

    return relmc_bits(&stream);
}

static void *get(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);

    bench_need(!p, "no memory");
    memset(p, 0, bytes);
    return p;
}

static void make_set(void)
{
    set.images = get(sizeof *set.images * N * INPUTS);
    set.labels = get(sizeof *set.labels * N);
    set.order = get(sizeof *set.order * N);
    for (size_t i = 0; i < (size_t)N * INPUTS; i++) {
        set.images[i] =
            bits() % 100 < FULL ? (float)(1 + bits() % 255) / 255.0F : 0.0F;
    }
    for (uint32_t r = 0; r < N; r++) {
        const uint32_t other = (uint32_t)(bits() % (r + 1));

        set.labels[r] = (double)(bits() % CLASSES);
        set.order[r] = set.order[other];
        set.order[other] = r;
    }
}

/* ---- one step of each kind -------------------------------------------------- */

struct job {
    enum what what;
    const struct rmc_mlp *m;
    relmc_rows rows;
    size_t at; /* in the permutation */
    double *x;
    float *xs, *gs;
    float *act[MAX_LAYERS + 1], *del[MAX_LAYERS + 1];
    relmc_run *run[N_WHAT];
};

static void products(struct job *j)
{
    const struct rmc_mlp *m = j->m;
    const int n = (int)j->rows.n;

    for (size_t l = 0; l < m->n_layers; l++) {
        const int a = (int)m->width[l], b = (int)m->width[l + 1];

        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, b, a, 1.0F,
                    j->act[l], a, j->xs + m->offset[l], b, 0.0F, j->act[l + 1],
                    b);
    }
    for (size_t l = m->n_layers; l-- > 0;) {
        const int a = (int)m->width[l], b = (int)m->width[l + 1];

        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, a, b, n, 1.0F,
                    j->act[l], a, j->del[l + 1], b, 0.0F, j->gs + m->offset[l],
                    b);
        if (l) {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, a, b, 1.0F,
                        j->del[l + 1], b, j->xs + m->offset[l], b, 0.0F,
                        j->del[l], a);
        }
    }
}

static void slope(struct job *j)
{
    double lp = 0.0;

    j->at = j->at + 2 * j->rows.n <= N ? j->at + j->rows.n : 0;
    j->rows.row = set.order + j->at;
    (void)rmc_model_mlp.rows_float(j->m, j->xs, &j->rows, &lp, j->gs, NULL);
    BENCH_KEEP(lp);
}

/* So many steps as a transition has. */
static void steps(void *ctx)
{
    struct job *j = ctx;
    relmc_error err;

    if (j->run[j->what]) {
        bench_need(relmc_run_advance(j->run[j->what], 1, &err), err.message);
        return;
    }
    for (int i = 0; i < STEPS; i++) {
        if (j->what == LIMIT) {
            products(j);
        } else {
            slope(j);
        }
    }
}

static relmc_status watch(void *ctx, const relmc_draw *draw)
{
    struct job *j = ctx;

    memcpy(j->x, draw->coordinates, j->m->dim * sizeof *j->x);
    return (int)draw->stats[RELMC_STAT_DIVERGENT] ? RELMC_ETARGET : RELMC_OK;
}

static void open_runs(struct job *j, const relmc_target *t)
{
    relmc_error err;

    for (int w = 0; w < N_WHAT; w++) {
        relmc_options o = RELMC_INIT(relmc_options);

        o.sampler = kinds[w].sampler;
        o.kinetic = "separable";
        o.chains = 1;
        o.keep = RELMC_ZERO;
        o.warmup = RELMC_ZERO;
        o.draws = 1000000000;
        o.batch_rows = (uint32_t)j->rows.n;
        if (kinds[w].sampler) {
            bench_need(relmc_run_create(&j->run[w], t, &o, &err), err.message);
            bench_need(relmc_run_observe(j->run[w], watch, j, &err),
                       err.message);
        }
    }
}

/* ---- nets ------------------------------------------------------------------- */

static double peak(void)
{
    enum { SIDE = 1024 };
    float *m[3];
    double least = 1e300;

    for (int i = 0; i < 3; i++) {
        m[i] = get(sizeof **m * SIDE * SIDE);
        for (size_t c = 0; c < (size_t)SIDE * SIDE; c++) {
            m[i][c] = (float)(c % 97) * 1e-3F;
        }
    }
    for (int i = 0; i < 20; i++) {
        const double from = bench_seconds();

        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE,
                    1.0F, m[0], SIDE, m[1], SIDE, 0.0F, m[2], SIDE);
        least = fmin(least, bench_seconds() - from);
    }
    for (int i = 0; i < 3; i++) {
        free(m[i]);
    }
    return 2.0 * SIDE * SIDE * SIDE / least;
}

static double operations(const struct rmc_mlp *m)
{
    double n = 0.0;

    for (size_t l = 0; l < m->n_layers; l++) {
        n += (l ? 6.0 : 4.0) * (double)(m->width[l] * m->width[l + 1]);
    }
    return n;
}

static struct job open_job(const relmc_target *t, size_t batch)
{
    const struct rmc_mlp *m = t->self;
    struct job j = {
        .m = m,
        .rows = {NULL, batch, (double)N / (double)batch, get(t->scratch)},
        .x = get(m->dim * sizeof(double)),
        .xs = get(m->dim * sizeof(float)),
        .gs = get(m->dim * sizeof(float))};
    relmc_stream stream = {.seed = 2};

    rmc_model_mlp.start(m, &stream, j.x);
    for (size_t i = 0; i < m->dim; i++) {
        j.xs[i] = (float)j.x[i];
    }
    for (size_t l = 0; l <= m->n_layers; l++) {
        j.act[l] = get(batch * m->width[l] * sizeof(float));
        j.del[l] = get(batch * m->width[l] * sizeof(float));
        for (size_t i = 0; i < batch * m->width[l]; i++) {
            j.act[l][i] = j.del[l][i] = (float)(bits() % 256) / 255.0F;
        }
    }
    return j;
}

static void close_job(struct job *j)
{
    for (size_t l = 0; l <= j->m->n_layers; l++) {
        free(j->act[l]);
        free(j->del[l]);
    }
    free(j->rows.scratch);
    free(j->x);
    free(j->xs);
    free(j->gs);
    for (int w = 0; w < N_WHAT; w++) {
        relmc_run_destroy(j->run[w]);
    }
}

static void print_row(const char *spec, size_t batch, double best,
                      const struct rmc_mlp *m, const double *least)
{
    printf("%-34s %5zu %8zu", spec, batch, m->dim);
    for (int w = 0; w < N_WHAT; w++) {
        printf(" %8.0f", (double)batch / least[w] * 1e9);
    }
    printf("  %.2f", operations(m) * (double)batch / least[LIMIT] * 1e9 / best);
    for (int w = 1; w < N_WHAT; w++) {
        printf(" %.2f", least[LIMIT] / least[w]);
    }
    printf("\n%-34s %5s %8s %8s %8s", "  ns per parameter", "", "", "", "");
    for (int w = SLOPE + 1; w < N_WHAT; w++) {
        printf(" %8.2f", (least[w] - least[SLOPE]) / (double)m->dim);
    }
    printf("\n");
    (void)fflush(stdout);
}

/* The kinds take turns, in rounds, so that all see the same machine. */
static void measure(const char *spec, size_t batch, double best, int rounds)
{
    const relmc_data data = {sizeof data, N,          INPUTS, NULL,
                             set.images,  set.labels, CLASSES};
    relmc_target *t = NULL;
    relmc_error err;
    double least[N_WHAT];

    bench_need(
        relmc_target_open_ops(&t, relmc_extra_model(0), spec, &data, &err),
        err.message);
    struct job j = open_job(t, batch);
    open_runs(&j, t);
    for (int w = 0; w < N_WHAT; w++) {
        least[w] = 1e300;
    }
    for (int r = 0; r < rounds; r++) {
        for (int w = 0; w < N_WHAT; w++) {
            j.what = (enum what)w;
            least[w] = fmin(least[w], bench_least(steps, &j, 0.02) / STEPS);
        }
    }
    print_row(spec, batch, best, j.m, least);
    close_job(&j);
    relmc_target_destroy(t);
}

int main(int argc, char **argv)
{
    static const char *const specs[] = {
        "mlp:hidden=100",       "mlp:hidden=100,inputs=dense",
        "mlp:hidden=[500,300]", "mlp:hidden=[500,300],inputs=dense",
        "mlp:hidden=[400,400]", "mlp:hidden=[400,400],inputs=dense"};
    static const size_t batches[] = {32, 100, 256, 1000};
    const int rounds = argc > 1 ? atoi(argv[1]) : 20;
    const size_t only = argc > 2 ? (size_t)atoi(argv[2]) : 100;

    bench_usage(argc, argv,
                "bench-mlp [rounds [rows of a batch, or 0 for four sizes]]");
    make_set();
    { /* BLAS gets its one thread from the model */
        const relmc_data data = {sizeof data, 1,          1, NULL,
                                 set.images,  set.labels, 0};
        relmc_target *t = NULL;

        bench_need(
            relmc_target_open_ops(&t, relmc_extra_model(0), "mlp", &data, NULL),
            "no model");
        relmc_target_destroy(t);
    }
    const double best = peak();
    const char *kernels = relmc_extra_blas_kernels();

    printf("BLAS kernels for %s (OPENBLAS_CORETYPE chooses others)\n",
           kernels ? kernels : "an unknown processor");
    printf("sgemm %.1f GFLOP/s; samples/s, limit over sgemm, the rest over "
           "limit\n",
           best * 1e-9);
    printf("%-34s %5s %8s", "784 inputs, 10 classes", "batch", "dim");
    for (int w = 0; w < N_WHAT; w++) {
        printf(" %8s", kinds[w].name);
    }
    printf("\n");
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
            if (only == 0 || batches[b] == only) {
                measure(specs[s], batches[b], best, rounds);
            }
        }
    }
    free(set.images);
    free(set.labels);
    free(set.order);
    return 0;
}
