/*
 * logistic.c - what the gradient of logistic regression costs: one chain against
 * a pure read of the data and two calls of BLAS, many chains against one and
 * against the machine's peak, minibatches, data in single precision.
 *
 * A pass over the data is timed in parts of 5000 rows, one after the other, and
 * the least times of the parts in many rounds are added up: a whole pass takes
 * longer than a busy machine leaves one process alone.
 *
 *   bench-logistic [rows [columns]]
 */
#include "bench.h"

#include "model/regression/vec_inline.h"
#include "target/target.h"

#include <math.h>
#include <string.h>

#ifdef BENCH_HAS_CBLAS
#include <cblas.h>
#ifdef BENCH_HAS_OPENBLAS
void openblas_set_num_threads(int n);
#endif
#else
#define BENCH_CBLAS ""
#endif

enum { MAX_LANES = 64, ROUNDS = 20, BATCH = 100, PART = 5000, MAX_PARTS = 200 };

struct job {
    relmc_data data;
    relmc_target *whole, *target[MAX_PARTS]; /* of parts of the data */
    const relmc_model_ops *ops;
    void *scratch;
    double *x, *grad, *lp;
    double *z;       /* n_rows */
    uint32_t *batch; /* BATCH rows at a time, all of them scattered */
    size_t at, lanes, parts, part;
    int isa;
};

/* First row of a part. */
static size_t row_of(const struct job *j, size_t part)
{
    return j->data.n_rows * part / j->parts;
}

static void *get(size_t bytes)
{
    const size_t page = bytes > 1u << 24 ? 1u << 21 : 64;
    void *p = aligned_alloc(page, (bytes + page - 1) / page * page);

    bench_need(!p, "out of memory");
    memset(p, 0, bytes);
    return p;
}

/* ---- limits of the machine ------------------------------------------------ */

static void read_all(void *ctx)
{
    const struct job *j = ctx;
    const size_t d = j->data.n_columns, first = row_of(j, j->part);
    const double *x = j->data.x + first * d;
    const size_t n = (row_of(j, j->part + 1) - first) * d / 32 * 32;
    double sum[32] = {0};

    for (size_t i = 0; i < n; i += 32) {
        for (size_t c = 0; c < 32; c++) {
            sum[c] += x[i + c];
        }
    }
    BENCH_KEEP(&sum);
}

/* Ten independent vectors: enough to fill two pipes of latency 4. */
enum { CHAINS = 10, TURNS = 100000 };

#define MULTIPLY_ADD(vector, all, fma)                            \
    vector m = all(0.999), a[CHAINS];                             \
                                                                  \
    for (int c = 0; c < CHAINS; c++) {                            \
        a[c] = all((double)c);                                    \
    }                                                             \
    for (size_t t = 0; t < TURNS; t++) {                          \
        _Pragma("GCC unroll 10") for (int c = 0; c < CHAINS; c++) \
        {                                                         \
            a[c] = fma(a[c], m, m);                               \
        }                                                         \
        __asm__ volatile("");                                     \
    }                                                             \
    BENCH_KEEP(a);

static void multiply_add(void *ctx)
{
    (void)ctx;
    MULTIPLY_ADD(rmc_four, rmc_four_all, rmc_four_fma)
}

#ifdef __AVX2__
__attribute__((target("avx512f"))) static void multiply_add_wide(void *ctx)
{
    (void)ctx;
    MULTIPLY_ADD(__m512d, _mm512_set1_pd, _mm512_fmadd_pd)
}
#else
#define multiply_add_wide multiply_add
#endif

/* Operations per second, with the vectors of the code path at hand. */
static double peak_of(int isa)
{
    const int is_wide = isa == RMC_AVX512;
    const double seconds =
        bench_calls(is_wide ? multiply_add_wide : multiply_add, NULL, 1);

    return 2.0 * CHAINS * TURNS * (is_wide ? 8 : 4) / seconds;
}

/* ---- the subjects --------------------------------------------------------- */

static void gradient(void *ctx)
{
    struct job *j = ctx;
    const relmc_target *target = j->target[j->part];
    const size_t n = row_of(j, j->part + 1) - row_of(j, j->part);
    const size_t ld = rmc_leading(j->lanes);
    const relmc_shape shape = {relmc_target_dim(target), j->lanes, ld};
    const relmc_rows rows = {NULL, n, 1.0, j->scratch};

    (void)j->ops->rows(target->self, &shape, j->x, &rows, j->lp, j->grad, NULL);
    BENCH_KEEP(j->grad);
}

static void minibatch(void *ctx)
{
    struct job *j = ctx;
    const relmc_shape shape = {relmc_target_dim(j->whole), 1, 1};
    const relmc_rows rows = {j->batch + j->at, BATCH, 1.0, j->scratch};

    (void)j->ops->rows(j->whole->self, &shape, j->x, &rows, j->lp, j->grad,
                       NULL);
    j->at = j->at + 2 * BATCH > j->data.n_rows ? 0 : j->at + BATCH;
    BENCH_KEEP(j->grad);
}

#ifdef BENCH_HAS_CBLAS
/* The likelihood's part of the gradient; the sigmoid vectorises, too.  All parts
 * of the first product, then all of the second. */
static void two_products(void *ctx)
{
    struct job *j = ctx;
    const size_t part = j->part % j->parts, first = row_of(j, part);
    const int n = (int)(row_of(j, part + 1) - first);
    const int d = (int)j->data.n_columns;
    const double *x = j->data.x + first * j->data.n_columns;
    double *z = j->z + first;

    if (j->part < j->parts) {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, n, d, 1.0, x, d, j->x, 1, 0.0,
                    z, 1);
        for (int r = 0; r < n; r++) {
            z[r] = j->data.y[first + (size_t)r] - 1.0 / (1.0 + rmc_exp(-z[r]));
        }
    } else {
        cblas_dgemv(CblasRowMajor, CblasTrans, n, d, 1.0, x, d, z, 1,
                    part ? 1.0 : 0.0, j->grad, 1);
    }
    BENCH_KEEP(j->grad);
}
#endif

/* ---- data ----------------------------------------------------------------- */

static void open_job(struct job *j, double *x, float *x_float)
{
    relmc_error err = {0};

    j->data.x = x;
    j->data.x_float = x_float;
    bench_need(relmc_target_open(&j->whole, "logistic", &j->data, &err),
               err.message);
    for (size_t p = 0; p < j->parts; p++) {
        const size_t first = row_of(j, p), at = first * j->data.n_columns;
        relmc_data part = j->data;

        part.n_rows = row_of(j, p + 1) - first;
        part.x = x ? x + at : NULL;
        part.x_float = x_float ? x_float + at : NULL;
        part.y += first;
        bench_need(relmc_target_open(&j->target[p], "logistic", &part, &err),
                   err.message);
    }
    j->ops = j->whole->ops[j->isa];
    j->scratch = get(j->whole->scratch);
}

static void fill(struct job *j, double *x, float *x_float, double *y)
{
    const size_t n = j->data.n_rows, d = j->data.n_columns;
    relmc_stream stream = {.seed = 1};

    for (size_t i = 0; i < n * d; i++) {
        x_float[i] = (float)(2.0 * relmc_uniform(&stream) - 1.0);
        x[i] = (double)x_float[i];
    }
    for (size_t r = 0; r < n; r++) {
        y[r] = (double)(relmc_bits(&stream) & 1);
        j->batch[r] = (uint32_t)(relmc_bits(&stream) % n);
    }
    for (size_t i = 0; i < d * MAX_LANES; i++) {
        j->x[i] = 0.1 * relmc_normal(&stream);
    }
}

/* ---- the table ------------------------------------------------------------ */

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* Least times of the parts of a pass. */
typedef struct times {
    double of[2 * MAX_PARTS];
} times;

static void time_parts(struct job *j, size_t parts, void (*subject)(void *),
                       times *t)
{
    for (size_t p = 0; p < parts; p++) {
        double took;

        j->part = p;
        took = bench_calls(subject, j, 1);
        t->of[p] = t->of[p] > 0.0 ? least(t->of[p], took) : took;
    }
}

static double total(const times *t)
{
    double sum = 0.0;

    for (size_t p = 0; p < 2 * MAX_PARTS; p++) {
        sum += t->of[p];
    }
    return sum;
}

static const size_t lanes[] = {1, 8, 16, 32, 64};
enum { N = sizeof lanes / sizeof *lanes };

static struct rounds {
    times lanes[N], read, blas, half;
    double flops, batch;
} of = {.batch = 1e300};

/* All of them in turn, so that none has a quieter machine. */
static void measure(struct job *j, struct job *single)
{
    for (int round = 0; round < ROUNDS; round++) {
        const double peak = peak_of(j->isa);

        of.flops = peak > of.flops ? peak : of.flops;
        time_parts(j, j->parts, read_all, &of.read);
#ifdef BENCH_HAS_CBLAS
        time_parts(j, 2 * j->parts, two_products, &of.blas);
#endif
        for (size_t w = 0; w < N; w++) {
            j->lanes = lanes[w];
            time_parts(j, j->parts, gradient, &of.lanes[w]);
        }
        time_parts(single, j->parts, gradient, &of.half);
        of.batch = least(of.batch, bench_calls(minibatch, j, 50) / 50);
    }
}

static void print(const struct job *j)
{
    const double cells = (double)(j->data.n_rows * j->data.n_columns);
    const double read = total(&of.read), blas = total(&of.blas);
    const double half = total(&of.half), one = total(&of.lanes[0]);

    (void)printf("code path %s; n = %zu, d = %zu; peak %.1f GF/s\nwith vectors "
                 "of %d, read %.1f "
                 "GB/s\n\n",
                 bench_isa(), j->data.n_rows, j->data.n_columns,
                 1e-9 * of.flops, j->isa == RMC_AVX512 ? 8 : 4,
                 8e-9 * cells / read);
    (void)printf("%-22s %8s %8s %10s %8s %8s\n", "", "ms", "x read",
                 "x 1 chain", "GF/s", "of peak");
    (void)printf("%-22s %8.3f %8.2f\n", "pure read of X", 1e3 * read, 1.0);
    if (blas > 0.0) {
        (void)printf("%-22s %8.3f %8.2f %10.2f\n",
                     "two dgemv (" BENCH_CBLAS ")", 1e3 * blas, blas / read,
                     blas / one);
    }
    for (size_t w = 0; w < N; w++) {
        const double took = total(&of.lanes[w]);
        const double rate = 4.0 * cells * (double)lanes[w] / took;

        (void)printf("%2zu %-19s %8.3f %8.2f %10.2f %8.1f %7.0f%%\n", lanes[w],
                     lanes[w] > 1 ? "chains" : "chain", 1e3 * took, took / read,
                     took / one, 1e-9 * rate, 100.0 * rate / of.flops);
    }
    (void)printf("%-22s %8.3f %8.2f %10.2f\n", " 1 chain, float X", 1e3 * half,
                 half / read, half / one);
    (void)printf("%-22s %8.3f %8s %10.2f  (of as many rows)\n",
                 " 1 chain, batch of 100", 1e3 * of.batch, "",
                 of.batch / one * (double)j->data.n_rows / BATCH);
}

int main(int argc, char **argv)
{
    bench_usage(argc, argv, "bench-logistic [rows [columns]]");
    const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    const size_t d = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
    static struct job j, single;
    double *x = get(n * d * sizeof *x), *y = get(n * sizeof *y);
    float *x_float = get(n * d * sizeof *x_float);

    j.data = (relmc_data){sizeof j.data, n, d, NULL, NULL, y, 2};
    j.parts = n < PART ? 1 : n / PART < MAX_PARTS ? n / PART : MAX_PARTS;
    j.x = get(d * MAX_LANES * sizeof(double));
    j.grad = get(d * MAX_LANES * sizeof(double));
    j.lp = get(MAX_LANES * sizeof(double));
    j.z = get(n * sizeof(double));
    j.batch = get(n * sizeof(uint32_t));
    fill(&j, x, x_float, y);
#ifdef BENCH_HAS_OPENBLAS
    openblas_set_num_threads(1);
#endif
    bench_need(rmc_isa_find(&j.isa, bench_isa(), NULL), "no such code path");
    single = j;
    open_job(&j, x, NULL);
    open_job(&single, NULL, x_float);
    single.lanes = 1;
    measure(&j, &single);
    print(&j);
    return 0;
}
