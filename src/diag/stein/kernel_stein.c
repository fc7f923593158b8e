/*
 * kernel_stein.c - [ksd] kernel Stein discrepancies: of all pairs, a lower
 * bound from landmarks, an estimate from blocks.
 *
 * Gorham and Mackey (2017), "Measuring sample quality with kernels".  Work is
 * cut into pieces that depend on the sizes only, each piece sums in its own
 * place, and the pieces are added in order: any number of threads gives the
 * same bits.  Memory is O(n dim), and O(m^2) for m landmarks.
 */
#include "diag/stein/kernel_pairs.h"
#include "diag/stein/stein_sample.h"
#include "relmc_diag.h"

#include "base/sized_struct.h"
#include "base/threads.h"

#include <stdlib.h>

enum { TILE = RMC_STEIN_TILE, DEFAULT_LANDMARKS = 500, DEFAULT_BLOCK = 4096 };

/* The draws, whitened, coordinate by coordinate. */
typedef struct cloud {
    rmc_points points;
    rmc_imq kernel;
    double *x, *s;  /* dim x ld */
    double *weight; /* n, their sum is 1 */
    uint32_t threads;
} cloud;

/* ---- getting ready ------------------------------------------------------- */

static relmc_status read_options(relmc_ksd_options *out,
                                 const relmc_ksd_options *options, size_t dim,
                                 relmc_error *err)
{
    const relmc_status status =
        rmc_sized_read(out, sizeof *out, options, sizeof options->size,
                       "relmc_ksd_options", err);

    if (status) {
        return status;
    }
    out->c2 = out->c2 == 0.0 ? 1.0 : out->c2;
    out->beta = out->beta == 0.0 ? 0.5 : out->beta;
    out->threads = out->threads ? out->threads : 1;
    out->landmarks = out->landmarks ? out->landmarks : DEFAULT_LANDMARKS;
    out->block = out->block ? out->block : DEFAULT_BLOCK;
    if (!(out->c2 >= 1e-100 && out->c2 <= 1e100)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "ksd: c2 must be in [1e-100, 1e100]");
    }
    if (!(out->beta > 0.0 && out->beta < 1.0)) {
        return rmc_fail(err, RELMC_EINVAL, "ksd: beta must be in (0, 1)");
    }
    for (size_t i = 0; out->cholesky && i < dim; i++) {
        if (!(out->cholesky[i * dim + i] > 0.0)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "ksd: the diagonal of cholesky must be positive, "
                            "row %zu has %g",
                            i, out->cholesky[i * dim + i]);
        }
    }
    return RELMC_OK;
}

/* x <- L^-1 x and s <- L' s in every draw; column by column of the block. */
static void whiten(cloud *c, const double *factor)
{
    const size_t dim = c->points.dim, ld = c->points.ld, n = c->points.n;

    for (size_t i = 0; i < dim; i++) {
        double *xi = c->x + i * ld, *si = c->s + i * ld;
        const double own = factor[i * dim + i];

        for (size_t j = 0; j < i; j++) {
            const double f = factor[i * dim + j];

            for (size_t t = 0; t < n; t++) {
                xi[t] -= f * c->x[j * ld + t];
            }
        }
        for (size_t t = 0; t < n; t++) {
            xi[t] /= own;
            si[t] *= own;
        }
        for (size_t j = i + 1; j < dim; j++) {
            const double f = factor[j * dim + i];

            for (size_t t = 0; t < n; t++) {
                si[t] += f * c->s[j * ld + t];
            }
        }
    }
}

static void cloud_release(cloud *c)
{
    free(c->x);
    free(c->s);
    free(c->weight);
}

static relmc_status cloud_fill(cloud *c, const relmc_stein_sample *sample,
                               const relmc_ksd_options *o, relmc_error *err)
{
    const size_t n = sample->n, dim = sample->dim;

    c->points = (rmc_points){n, dim, n, NULL, NULL};
    c->kernel = (rmc_imq){o->c2, o->beta};
    c->threads = o->threads;
    c->x = rmc_stein_alloc(n, dim, sizeof *c->x);
    c->s = rmc_stein_alloc(n, dim, sizeof *c->s);
    c->weight = rmc_stein_alloc(n, 1, sizeof *c->weight);
    if (!c->x || !c->s || !c->weight) {
        return rmc_fail(err, RELMC_ENOMEM,
                        "ksd: no memory for %zu draws of %zu coordinates", n,
                        dim);
    }
    for (size_t t = 0; t < n; t++) {
        for (size_t k = 0; k < dim; k++) {
            c->x[k * n + t] = sample->x[t * dim + k];
            c->s[k * n + t] = sample->score[t * dim + k];
        }
    }
    if (o->cholesky) {
        whiten(c, o->cholesky);
    }
    c->points.x = c->x;
    c->points.s = c->s;
    return rmc_stein_weights("ksd", sample, c->weight, err);
}

/* Options checked and completed, the cloud filled; release it in any case. */
static relmc_status prepare(cloud *c, relmc_ksd_options *o,
                            const relmc_stein_sample *sample,
                            const relmc_ksd_options *options, relmc_error *err)
{
    relmc_status status = rmc_stein_check("ksd", sample, err);

    if (status || (status = read_options(o, options, sample->dim, err))) {
        return status;
    }
    return cloud_fill(c, sample, o, err);
}

static relmc_status check_result(double value, relmc_error *err)
{
    if (rmc_is_finite(value)) {
        return RELMC_OK;
    }
    return rmc_fail(err, RELMC_EINVAL,
                    "ksd: overflow; draws and scores must be below 1e70");
}

static size_t min_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- all pairs ----------------------------------------------------------- */

/* sum over i in [first, end_row), j in [col, end) and j > i of w_i w_j k0 */
static double tile_sum(const cloud *c, size_t first, size_t end_row, size_t col,
                       size_t end)
{
    double sum[TILE] = {0.0}, total = 0.0;
    rmc_pairs pairs = {&c->points, &c->points, c->weight, first,
                       end_row,    col,        end,       c->kernel};

    if (col >= end_row) {
        rmc_stein_pairs(&pairs, sum);
    }
    for (size_t i = first; col < end_row && i + 1 < end_row; i++) {
        pairs.first_row = i;
        pairs.end_row = i + 1;
        pairs.first_col = i + 1;
        rmc_stein_pairs(&pairs, sum + (i + 1 - col));
    }
    for (size_t j = col; j < end; j++) {
        total = rmc_fma(c->weight[j], sum[j - col], total);
    }
    return total;
}

/* sum over i < j of w_i w_j k0, with i from [first, first + TILE) and j below
 * `end`. */
static double band_sum(const cloud *c, size_t first, size_t end)
{
    const size_t end_row = min_of(first + TILE, end);
    double total = 0.0;

    for (size_t col = first; col < end; col += TILE) {
        total += tile_sum(c, first, end_row, col, min_of(col + TILE, end));
    }
    return total;
}

struct bands {
    const cloud *cloud;
    double *sum; /* one per band */
};

static void work_on_band(void *ctx, size_t i)
{
    const struct bands *bands = ctx;

    bands->sum[i] = band_sum(bands->cloud, i * TILE, bands->cloud->points.n);
}

static relmc_status sum_pairs(const cloud *c, double *out, relmc_error *err)
{
    const size_t n_bands = (c->points.n + TILE - 1) / TILE;
    struct bands bands = {c, rmc_stein_alloc(n_bands, 1, sizeof(double))};

    if (!bands.sum) {
        return rmc_fail(err, RELMC_ENOMEM, "ksd: no memory for %zu sums",
                        n_bands);
    }
    rmc_share_work(c->threads, n_bands, work_on_band, &bands);
    *out = 0.0;
    for (size_t i = 0; i < n_bands; i++) {
        *out += bands.sum[i];
    }
    free(bands.sum);
    return RELMC_OK;
}

relmc_status relmc_ksd(relmc_ksd_report *out, const relmc_stein_sample *sample,
                       const relmc_ksd_options *options, relmc_error *err)
{
    cloud c = {.x = NULL};
    relmc_ksd_options o;
    double off = 0.0, diagonal = 0.0, squares = 0.0;
    relmc_status status = prepare(&c, &o, sample, options, err);

    if (!status) {
        status = sum_pairs(&c, &off, err);
    }
    for (size_t i = 0; !status && i < c.points.n; i++) {
        const double w2 = c.weight[i] * c.weight[i];

        squares += w2;
        diagonal =
            rmc_fma(w2, rmc_stein_diagonal(&c.points, i, c.kernel), diagonal);
    }
    cloud_release(&c);
    if (status || (status = check_result(off + diagonal, err))) {
        return status;
    }
    const double v = 2.0 * off + diagonal;
    const relmc_ksd_report found = {
        .ksd = sqrt(v > 0.0 ? v : 0.0), /* v < 0 is rounding */
        .v = v,
        .u = sample->n > 1 ? 2.0 * off / (1.0 - squares) : (double)NAN,
    };
    return rmc_sized_fill(out, &found, sizeof found, "relmc_ksd_report", err);
}

/* ---- blocks -------------------------------------------------------------- */

struct blocks {
    const cloud *cloud;
    size_t n_blocks;
    double *u, *share; /* one per block */
};

/* Blocks differ by one draw at most. */
static size_t block_start(const struct blocks *b, size_t i)
{
    const size_t n = b->cloud->points.n;

    return i * (n / b->n_blocks) + min_of(i, n % b->n_blocks);
}

static void work_on_block(void *ctx, size_t i)
{
    const struct blocks *b = ctx;
    const size_t first = block_start(b, i), end = block_start(b, i + 1);
    double off = 0.0, sum = 0.0, squares = 0.0;

    for (size_t row = first; row < end; row += TILE) {
        off += band_sum(b->cloud, row, end);
    }
    for (size_t t = first; t < end; t++) {
        const double w = b->cloud->weight[t];

        sum += w;
        squares = rmc_fma(w, w, squares);
    }
    b->share[i] = sum;
    b->u[i] = 2.0 * off / (sum * sum - squares);
}

static relmc_status check_blocks(const cloud *c, const relmc_ksd_options *o,
                                 relmc_error *err)
{
    if (o->block < 2 || c->points.n / o->block < 2) {
        return rmc_fail(err, RELMC_EINVAL,
                        "ksd: %zu draws do not make two blocks of %zu; blocks "
                        "must have 2 to n / 2 draws",
                        c->points.n, o->block);
    }
    for (size_t i = 0; i < c->points.n; i++) {
        if (c->weight[i] < 0.0) {
            return rmc_fail(err, RELMC_EINVAL,
                            "ksd: weights must not be negative in blocks");
        }
    }
    return RELMC_OK;
}

/* u = sum p_b u_b, p_b the share of the weights;
 * error^2 = B / (B - 1) sum p_b^2 (u_b - u)^2 */
static void average_blocks(relmc_ksd_estimate *out, const struct blocks *b)
{
    const double n = (double)b->n_blocks;
    double mean = 0.0, sum = 0.0;

    for (size_t i = 0; i < b->n_blocks; i++) {
        mean = rmc_fma(b->share[i], b->u[i], mean);
    }
    for (size_t i = 0; i < b->n_blocks; i++) {
        const double off = b->share[i] * (b->u[i] - mean);

        sum = rmc_fma(off, off, sum);
    }
    out->u = mean;
    out->standard_error = sqrt(sum * n / (n - 1.0));
    out->n_blocks = b->n_blocks;
}

relmc_status relmc_ksd_blocks(relmc_ksd_estimate *out,
                              const relmc_stein_sample *sample,
                              const relmc_ksd_options *options,
                              relmc_error *err)
{
    cloud c = {.x = NULL};
    relmc_ksd_options o;
    struct blocks b = {.cloud = &c};
    relmc_ksd_estimate found = {0};
    relmc_status status = prepare(&c, &o, sample, options, err);

    if (!status && !(status = check_blocks(&c, &o, err))) {
        b.n_blocks = c.points.n / o.block;
        b.u = rmc_stein_alloc(b.n_blocks, 1, sizeof *b.u);
        b.share = rmc_stein_alloc(b.n_blocks, 1, sizeof *b.share);
        if (!b.u || !b.share) {
            status = rmc_fail(err, RELMC_ENOMEM,
                              "ksd: no memory for %zu blocks", b.n_blocks);
        }
    }
    if (!status) {
        rmc_share_work(c.threads, b.n_blocks, work_on_block, &b);
        average_blocks(&found, &b);
        status = check_result(found.u, err);
    }
    free(b.u);
    free(b.share);
    cloud_release(&c);
    if (!status) {
        status = rmc_sized_fill(out, &found, sizeof found, "relmc_ksd_estimate",
                                err);
    }
    return status;
}

/* ---- landmarks ----------------------------------------------------------- */

/*
 * [nystrom]  With f = sum_i w_i k0(x_i, .) the discrepancy is |f| in the space
 * of the kernel; landmarks z_j and any numbers a_j give
 *   v >= (sum_j a_j f(z_j))^2 / sum_jl a_j a_l k0(z_j, z_l),
 * with equality in the span of the landmarks for a = K^-1 b, b_j = f(z_j).  The
 * quotient is reported, so a poor solution makes the bound weaker, not wrong.
 */
enum { CHUNKS = 64 };

struct landmarks {
    const cloud *cloud;
    rmc_points points;
    double *x, *s, *one; /* dim x m, dim x m, m ones */
    double *b;           /* CHUNKS x m: the sums of a part of the draws */
    double *gram;        /* m x m, the upper triangle of its factor later */
    double *a, *room;    /* m */
};

static int landmarks_take(struct landmarks *l, const cloud *c, size_t m)
{
    const size_t n = c->points.n, dim = c->points.dim;

    l->cloud = c;
    l->x = rmc_stein_alloc(m, dim, sizeof(double));
    l->s = rmc_stein_alloc(m, dim, sizeof(double));
    l->one = rmc_stein_alloc(m, 1, sizeof(double));
    l->b = rmc_stein_alloc(m, CHUNKS, sizeof(double));
    l->gram = rmc_stein_alloc(m, m, sizeof(double));
    l->a = rmc_stein_alloc(m, 1, sizeof(double));
    l->room = rmc_stein_alloc(m, 1, sizeof(double));
    if (!l->x || !l->s || !l->one || !l->b || !l->gram || !l->a || !l->room) {
        return 0;
    }
    for (size_t j = 0; j < m; j++) { /* evenly from all draws */
        const size_t t = j * (n / m) + j * (n % m) / m;

        l->one[j] = 1.0;
        for (size_t k = 0; k < dim; k++) {
            l->x[k * m + j] = c->x[k * n + t];
            l->s[k * m + j] = c->s[k * n + t];
        }
    }
    l->points = (rmc_points){m, dim, m, l->x, l->s};
    return 1;
}

static void landmarks_release(struct landmarks *l)
{
    free(l->x);
    free(l->s);
    free(l->one);
    free(l->b);
    free(l->gram);
    free(l->a);
    free(l->room);
}

/* sum[j] += sum over rows of weight k0(row, z_j), for all landmarks. */
static void add_to_landmarks(const struct landmarks *l, const rmc_points *rows,
                             const double *weight, size_t first, size_t end,
                             double *sum)
{
    const size_t m = l->points.n;

    for (size_t row = first; row < end; row += TILE) {
        for (size_t col = 0; col < m; col += TILE) {
            const rmc_pairs pairs = {rows,
                                     &l->points,
                                     weight,
                                     row,
                                     min_of(row + TILE, end),
                                     col,
                                     min_of(col + TILE, m),
                                     l->cloud->kernel};

            rmc_stein_pairs(&pairs, sum + col);
        }
    }
}

static void work_on_chunk(void *ctx, size_t i)
{
    const struct landmarks *l = ctx;
    const cloud *c = l->cloud;
    const size_t size = (c->points.n + CHUNKS - 1) / CHUNKS;

    add_to_landmarks(l, &c->points, c->weight, min_of(i * size, c->points.n),
                     min_of((i + 1) * size, c->points.n),
                     l->b + i * l->points.n);
}

static void work_on_gram(void *ctx, size_t i)
{
    const struct landmarks *l = ctx;

    add_to_landmarks(l, &l->points, l->one, i, i + 1,
                     l->gram + i * l->points.n);
}

/* gram <- R with R' R = gram, row by row; a row whose landmark depends on the
 * ones before it becomes 0, as if the landmark were not there.  Returns how
 * many are left. */
static size_t factor_gram(double *gram, size_t m)
{
    size_t n_left = 0;

    for (size_t i = 0; i < m; i++) {
        double *ri = gram + i * m;
        const double whole = ri[i];

        for (size_t h = 0; h < i; h++) {
            const double *rh = gram + h * m;
            const double f = rh[i];

            for (size_t j = i; f != 0.0 && j < m; j++) {
                ri[j] -= f * rh[j];
            }
        }
        const int is_new = ri[i] > 1e-8 * whole;
        const double scale = is_new ? 1.0 / sqrt(ri[i]) : 0.0;

        for (size_t j = i; j < m; j++) {
            ri[j] *= scale;
        }
        n_left += (size_t)is_new;
    }
    return n_left;
}

/* a <- gram^-1 b, 0 where there is no row. */
static void solve_gram(const double *gram, size_t m, const double *b, double *a)
{
    memcpy(a, b, m * sizeof *a);
    for (size_t i = 0; i < m; i++) {
        const double *ri = gram + i * m;

        a[i] = ri[i] > 0.0 ? a[i] / ri[i] : 0.0;
        for (size_t j = i + 1; j < m; j++) {
            a[j] -= ri[j] * a[i];
        }
    }
    for (size_t i = m; i-- > 0;) {
        const double *ri = gram + i * m;
        double sum = a[i];

        for (size_t j = i + 1; j < m; j++) {
            sum -= ri[j] * a[j];
        }
        a[i] = ri[i] > 0.0 ? sum / ri[i] : 0.0;
    }
}

static double bound_of(struct landmarks *l, size_t *n_left)
{
    const size_t m = l->points.n;
    double *b = l->b, ab = 0.0, aka = 0.0;

    rmc_share_work(l->cloud->threads, CHUNKS, work_on_chunk, l);
    rmc_share_work(l->cloud->threads, m, work_on_gram, l);
    for (size_t i = 1; i < CHUNKS; i++) {
        for (size_t j = 0; j < m; j++) {
            b[j] += b[i * m + j];
        }
    }
    *n_left = factor_gram(l->gram, m);
    solve_gram(l->gram, m, b, l->a);
    add_to_landmarks(l, &l->points, l->a, 0, m, l->room);
    for (size_t j = 0; j < m; j++) {
        ab = rmc_fma(l->a[j], b[j], ab);
        aka = rmc_fma(l->a[j], l->room[j], aka);
    }
    return aka > 0.0 ? ab * ab / aka : 0.0 * ab; /* NaN stays NaN */
}

relmc_status relmc_ksd_nystrom(relmc_ksd_bound *out,
                               const relmc_stein_sample *sample,
                               const relmc_ksd_options *options,
                               relmc_error *err)
{
    cloud c = {.x = NULL};
    relmc_ksd_options o;
    struct landmarks l = {.x = NULL};
    relmc_ksd_bound found = {0};
    relmc_status status = prepare(&c, &o, sample, options, err);

    if (!status && !landmarks_take(&l, &c, min_of(o.landmarks, c.points.n))) {
        status = rmc_fail(err, RELMC_ENOMEM, "ksd: no memory for %u landmarks",
                          o.landmarks);
    }
    if (!status) {
        found.v = bound_of(&l, &found.n_landmarks);
        found.ksd = sqrt(found.v);
        status = check_result(found.v, err);
    }
    landmarks_release(&l);
    cloud_release(&c);
    if (!status) {
        status =
            rmc_sized_fill(out, &found, sizeof found, "relmc_ksd_bound", err);
    }
    return status;
}
