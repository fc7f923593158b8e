/*
 * two_sample.c - tests whether two sets of draws have one law: statistics of
 * ranks, distances, kernels and projections, with p-values from permutations.
 *
 * Under the hypothesis every choice of the n_x draws that are labelled x is
 * equally likely.  Column 0 of `member` holds the true labels, each other
 * column those of a permutation; every statistic is computed for WIDTH columns
 * at a time by the same operations.  A permutation depends on the seed and its
 * number only.
 */
#include "base/base.h"
#include "base/sized_struct.h"
#include "relmc_diag.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 64, /* columns worked on at a time */
    DEFAULT_PERMUTATIONS = 999,
    DEFAULT_DIRECTIONS = 32,
    MAX_PERMUTATIONS = 1 << 24,
    FOR_PERMUTATIONS = 1000, /* purposes of streams, beyond those of a run */
    FOR_DIRECTIONS
};

static const double unknown = (double)NAN;

/* A draw on a line. */
typedef struct mark {
    double at;
    size_t draw;
} mark;

/* Statistics of the columns, larger for worse. */
typedef struct line {
    double *ks;     /* [ks]  max |F - G| */
    double *ad;     /* [ad]  not yet standardised */
    double *cvm;    /* [cvm]  n_x sum (r_i - i)^2 + n_y sum (s_j - j)^2 */
    double *w1;     /* integral of |F - G| */
    double *energy; /* 2 integral of (F - G)^2 */
} line;

typedef struct study {
    size_t dim, n_x, n_y, n; /* n = n_x + n_y */
    size_t n_columns;        /* 1 + permutations, then up to whole WIDTHs */
    relmc_two_sample_options o;
    double *z;                       /* n x dim: x, then y */
    unsigned char *member;           /* n x n_columns */
    double *ones;                    /* n x WIDTH: some columns of member */
    double *row_energy, *row_kernel; /* n: sums over the other draws */
    double *energy, *kernel; /* n_columns: sums over pairs of x, each once */
    double *direction;       /* dim */
    double *sliced;          /* n_columns: sums of w1 over directions */
    size_t *label;           /* n: what is permuted */
    mark *marks;             /* n, in rising order */
    line line;
    relmc_arena arena;
} study;

/* ---- getting ready ------------------------------------------------------- */

static relmc_status read_options(relmc_two_sample_options *out,
                                 const relmc_two_sample_options *options,
                                 const relmc_two_samples *s, relmc_error *err)
{
    const relmc_status status =
        rmc_sized_read(out, sizeof *out, options, sizeof options->size,
                       "relmc_two_sample_options", err);

    if (status) {
        return status;
    }
    out->permutations = out->permutations == 0            ? DEFAULT_PERMUTATIONS
                        : out->permutations == RELMC_ZERO ? 0
                                                          : out->permutations;
    out->block = out->block ? out->block : 1;
    out->c2 = out->c2 == 0.0 ? 1.0 : out->c2;
    out->n_directions =
        out->n_directions ? out->n_directions : DEFAULT_DIRECTIONS;
    if (out->permutations < 0 || out->permutations > MAX_PERMUTATIONS) {
        return rmc_fail(err, RELMC_EINVAL,
                        "two samples: permutations must be in [0, %d]",
                        MAX_PERMUTATIONS);
    }
    if (s->n_x % out->block || s->n_y % out->block) {
        return rmc_fail(err, RELMC_EINVAL,
                        "two samples: block = %zu must divide n_x = %zu and "
                        "n_y = %zu",
                        out->block, s->n_x, s->n_y);
    }
    if (!(out->c2 >= 1e-100 && out->c2 <= 1e100)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "two samples: c2 must be in [1e-100, 1e100]");
    }
    return RELMC_OK;
}

static relmc_status check_draws(char name, size_t n, size_t dim,
                                const double *x, relmc_error *err)
{
    if (n < 2 || n > UINT32_MAX) {
        return rmc_fail(err, RELMC_EINVAL,
                        "two samples: n_%c must be at least 2, not %zu", name,
                        n);
    }
    for (size_t k = 0; k < n * dim; k++) {
        if (!rmc_is_finite(x[k])) {
            return rmc_fail(err, RELMC_EINVAL,
                            "two samples: draw %zu of %c is not finite",
                            k / dim, name);
        }
    }
    return RELMC_OK;
}

static double *numbers(study *s, size_t n)
{
    return relmc_arena_get(&s->arena, n * sizeof(double));
}

static relmc_status take_memory(study *s, relmc_error *err)
{
    const size_t n = s->n, columns = s->n_columns;

    /* sizes that do not overflow; the arena gives nothing after a failure */
    s->arena.has_failed =
        n > SIZE_MAX / 64 / columns || n > SIZE_MAX / 64 / s->dim;
    s->z = numbers(s, n * s->dim);
    s->member = relmc_arena_get(&s->arena, n * columns);
    s->ones = numbers(s, n * WIDTH);
    s->row_energy = numbers(s, n);
    s->row_kernel = numbers(s, n);
    s->energy = numbers(s, columns);
    s->kernel = numbers(s, columns);
    s->direction = numbers(s, s->dim);
    s->sliced = numbers(s, columns);
    s->label = relmc_arena_get(&s->arena, n * sizeof *s->label);
    s->marks = relmc_arena_get(&s->arena, n * sizeof *s->marks);
    s->line.ks = numbers(s, columns);
    s->line.ad = numbers(s, columns);
    s->line.cvm = numbers(s, columns);
    s->line.w1 = numbers(s, columns);
    s->line.energy = numbers(s, columns);
    return relmc_arena_check(&s->arena, err);
}

/* Labels blocks of draws x in column r > 0: the first n_x / block of a
 * random permutation (Fisher and Yates). */
static void permute(study *s, size_t r)
{
    const size_t block = s->o.block, n = s->n / block, n_x = s->n_x / block;
    relmc_stream stream = {s->o.seed, 0, (uint32_t)r, FOR_PERMUTATIONS};

    for (size_t i = 0; i < n; i++) {
        s->label[i] = i;
    }
    for (size_t i = 0; i < n_x; i++) {
        const double u = relmc_uniform(&stream);
        const size_t j = i + (size_t)(u * (double)(n - i));
        const size_t chosen = s->label[j];

        s->label[j] = s->label[i];
        s->label[i] = chosen;
        for (size_t k = 0; k < block; k++) {
            s->member[(chosen * block + k) * s->n_columns + r] = 1;
        }
    }
}

static relmc_status prepare(study *s, const relmc_two_samples *samples,
                            relmc_error *err)
{
    const size_t dim = samples->dim;
    const size_t columns = (size_t)s->o.permutations + 1;

    s->dim = dim;
    s->n_x = samples->n_x;
    s->n_y = samples->n_y;
    s->n = s->n_x + s->n_y;
    s->n_columns = (columns + WIDTH - 1) / WIDTH * WIDTH;
    const relmc_status status = take_memory(s, err);
    if (status) {
        return status;
    }
    memcpy(s->z, samples->x, s->n_x * dim * sizeof *s->z);
    memcpy(s->z + s->n_x * dim, samples->y, s->n_y * dim * sizeof *s->z);
    for (size_t i = 0; i < s->n_x; i++) {
        s->member[i * s->n_columns] = 1;
    }
    for (size_t r = 1; r < columns; r++) {
        permute(s, r);
    }
    return RELMC_OK;
}

/* The share of labellings, the true one included, with a statistic at least as
 * large as that of the true one. */
static double p_value(const study *s, const double *statistic)
{
    const double limit = statistic[0] - 1e-10 * fabs(statistic[0]);
    const size_t n = (size_t)s->o.permutations;
    size_t n_worse = 1;

    for (size_t r = 1; r <= n; r++) {
        n_worse += statistic[r] >= limit;
    }
    return n ? (double)n_worse / (double)(n + 1) : unknown;
}

/* ---- pairs of draws ------------------------------------------------------ */

static double distance(const study *s, size_t i, size_t j)
{
    const double *a = s->z + i * s->dim, *b = s->z + j * s->dim;
    double sum = 0.0;

    for (size_t k = 0; k < s->dim; k++) {
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    }
    return sqrt(sum);
}

/* Sums over pairs of x for `width` columns from `first` on. */
static inline void add_pairs(study *s, size_t first, size_t width)
{
    for (size_t i = 0; i < s->n; i++) {
        for (size_t b = 0; b < width; b++) {
            s->ones[i * width + b] = s->member[i * s->n_columns + first + b];
        }
    }
    for (size_t i = 1; i < s->n; i++) {
        double energy[WIDTH] = {0.0}, kernel[WIDTH] = {0.0};

        for (size_t j = 0; j < i; j++) {
            const double *one = s->ones + j * width;
            const double r = distance(s, i, j);
            const double k = 1.0 / sqrt(s->o.c2 + r * r);

            for (size_t b = 0; b < width; b++) {
                energy[b] += r * one[b];
                kernel[b] += k * one[b];
            }
            if (first == 0) {
                s->row_energy[i] += r;
                s->row_energy[j] += r;
                s->row_kernel[i] += k;
                s->row_kernel[j] += k;
            }
        }
        for (size_t b = 0; b < width; b++) {
            s->energy[first + b] += energy[b] * s->ones[i * width + b];
            s->kernel[first + b] += kernel[b] * s->ones[i * width + b];
        }
    }
}

/* E f(x, x') + E f(y, y') - 2 E f(x, y), with (v) and without (u) the pairs of
 * a draw with itself, for which f is `own`. */
typedef struct contrast {
    double v, u;
} contrast;

static contrast contrast_of(const study *s, size_t column, double pairs,
                            const double *row, double own)
{
    const double n_x = (double)s->n_x, n_y = (double)s->n_y;
    double of_x = 0.0, of_y = 0.0;

    for (size_t i = 0; i < s->n; i++) {
        const double is_x = s->member[i * s->n_columns + column];

        of_x += is_x * row[i];
        of_y += (1.0 - is_x) * row[i];
    }
    const double xx = 2.0 * pairs, xy = of_x - xx, yy = of_y - xy;
    const double across = 2.0 * xy / (n_x * n_y);

    return (contrast){(xx + own * n_x) / (n_x * n_x) +
                          (yy + own * n_y) / (n_y * n_y) - across,
                      xx / (n_x * (n_x - 1.0)) + yy / (n_y * (n_y - 1.0)) -
                          across};
}

/* [energy-distance], [mmd] */
static void compare_pairs(relmc_two_sample_report *out, study *s)
{
    if (s->o.permutations == 0) {
        add_pairs(s, 0, 1);
    }
    for (size_t first = 0; s->o.permutations && first < s->n_columns;
         first += WIDTH) {
        add_pairs(s, first, WIDTH);
    }
    for (size_t r = 0; r <= (size_t)s->o.permutations; r++) {
        const contrast e = contrast_of(s, r, s->energy[r], s->row_energy, 0.0);
        const contrast k =
            contrast_of(s, r, s->kernel[r], s->row_kernel, 1.0 / sqrt(s->o.c2));

        s->energy[r] = -e.v;
        s->kernel[r] = k.v;
        if (r == 0) {
            out->energy = -e.v;
            out->energy_u = -e.u;
            out->mmd = k.v;
            out->mmd_u = k.u;
        }
    }
    out->energy_p = p_value(s, s->energy);
    out->mmd_p = p_value(s, s->kernel);
}

/* ---- draws on a line ----------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const mark *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* The draws along the direction, in rising order. */
static void project(study *s)
{
    for (size_t i = 0; i < s->n; i++) {
        double sum = 0.0;

        for (size_t k = 0; k < s->dim; k++) {
            sum += s->direction[k] * s->z[i * s->dim + k];
        }
        s->marks[i] = (mark){sum, i};
    }
    qsort(s->marks, s->n, sizeof *s->marks, by_place);
}

/* sum over the f draws of one sample in a group with the common rank, of
 * (rank - i)^2, where i = before + 1 .. before + f */
static double rank_squares(double rank, double before, double f)
{
    const double off = rank - before - 0.5 * (f + 1.0);

    return f * off * off + f * (f * f - 1.0) / 12.0;
}

/* Equal draws first .. end - 1: f[b] of them are x, and m[b] of those
 * before. */
static void add_group(const study *s, size_t column, size_t first, size_t end,
                      const double f[WIDTH], double m[WIDTH])
{
    const double n = (double)s->n, n_x = (double)s->n_x, n_y = (double)s->n_y;
    const double size = (double)(end - first), before = (double)first;
    const double middle = before + 0.5 * size, after = (double)end;
    const double rank = before + 0.5 * (size + 1.0);
    const double spread = middle * (n - middle) - 0.25 * n * size;
    const double weight =
        spread > 0.0 ? size / n * (1.0 / n_x + 1.0 / n_y) / spread : 0.0;
    const double gap = end < s->n ? s->marks[end].at - s->marks[first].at : 0.0;
    const line *l = &s->line;

    for (size_t b = 0; b < WIDTH; b++) {
        const size_t r = column + b;
        const double excess = n * (m[b] + 0.5 * f[b]) - middle * n_x;

        l->ad[r] += weight * excess * excess;
        l->cvm[r] += n_x * rank_squares(rank, m[b], f[b]) +
                     n_y * rank_squares(rank, before - m[b], size - f[b]);
        m[b] += f[b];
        const double apart = fabs(m[b] / n_x - (after - m[b]) / n_y);
        l->ks[r] = apart > l->ks[r] ? apart : l->ks[r];
        l->w1[r] += apart * gap;
        l->energy[r] += 2.0 * apart * apart * gap;
    }
}

static void scan(const study *s, size_t column)
{
    double m[WIDTH] = {0.0};

    for (size_t first = 0, end = 0; first < s->n; first = end) {
        double f[WIDTH] = {0.0};

        while (end < s->n && s->marks[end].at == s->marks[first].at) {
            const unsigned char *is_x =
                s->member + s->marks[end].draw * s->n_columns + column;

            for (size_t b = 0; b < WIDTH; b++) {
                f[b] += is_x[b];
            }
            end++;
        }
        add_group(s, column, first, end, f, m);
    }
}

/* All statistics along s->direction. */
static void compare_on_line(study *s)
{
    const line *l = &s->line;
    double *all[] = {l->ks, l->ad, l->cvm, l->w1, l->energy};

    project(s);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        memset(all[k], 0, s->n_columns * sizeof(double));
    }
    for (size_t column = 0; column < s->n_columns; column += WIDTH) {
        scan(s, column);
    }
}

/* ---- one coordinate ------------------------------------------------------ */

/* [ks-exact]  P(max |i n_y - j n_x| >= d) along a random path from (0, 0) to
 * (n_x, n_y); q[j] is that of the part up to (i, j). */
static double exact_ks(size_t n_x, size_t n_y, double d, double *q)
{
    for (size_t i = 0; i <= n_x; i++) {
        for (size_t j = 0; j <= n_y; j++) {
            const double x = (double)i, y = (double)j;
            const double apart = fabs(x * (double)n_y - y * (double)n_x);
            const double left = j ? y * q[j - 1] : 0.0;
            const double up = i ? x * q[j] : 0.0;

            q[j] = apart >= d ? 1.0 : i + j ? (left + up) / (x + y) : 0.0;
        }
    }
    return q[n_y];
}

static double ks_p_value(study *s)
{
    const double pairs = (double)s->n_x * (double)s->n_y;

    memset(s->ones, 0, (s->n_y + 1) * sizeof *s->ones);
    return exact_ks(s->n_x, s->n_y, nearbyint(s->line.ks[0] * pairs), s->ones);
}

/* [ad]  Variance of the statistic under the hypothesis, two samples. */
static double ad_variance(const study *s)
{
    const double n = (double)s->n;
    const double t = 1.0 / (double)s->n_x + 1.0 / (double)s->n_y;
    double h = 0.0, g = 0.0;

    for (size_t i = 1; i < s->n; i++) {
        h += 1.0 / (double)(s->n - i); /* now sum over j = n - i .. n - 1 */
        g += i + 1 < s->n ? h / (double)(i + 1) : 0.0;
    }
    const double a = 4.0 * g - 6.0 + (10.0 - 6.0 * g) * t;
    const double b = 12.0 * g - 22.0 + 8.0 * h + (2.0 * g - 14.0 * h - 4.0) * t;
    const double c = 36.0 * h + 4.0 + (2.0 * h - 6.0) * t;
    const double d = 24.0;

    return (((a * n + b) * n + c) * n + d) /
           ((n - 1.0) * (n - 2.0) * (n - 3.0));
}

static void compare_coordinate(relmc_coordinate_test *out, study *s, size_t k)
{
    const double n = (double)s->n, pairs = (double)s->n_x * (double)s->n_y;

    memset(s->direction, 0, s->dim * sizeof *s->direction);
    s->direction[k] = 1.0;
    compare_on_line(s);
    const double a2 = (n - 1.0) / n * s->line.ad[0];

    *out = (relmc_coordinate_test){.ks = s->line.ks[0],
                                   .ks_p = p_value(s, s->line.ks),
                                   .ks_p_exact = ks_p_value(s),
                                   .ad = (a2 - 1.0) / sqrt(ad_variance(s)),
                                   .ad_p = p_value(s, s->line.ad),
                                   .cvm = s->line.cvm[0] / (pairs * n) -
                                          (4.0 * pairs - 1.0) / (6.0 * n),
                                   .cvm_p = p_value(s, s->line.cvm)};
}

/* ---- many directions ----------------------------------------------------- */

static void set_direction(study *s, size_t l, relmc_stream *stream)
{
    double square = 0.0;

    for (size_t k = 0; k < s->dim; k++) {
        s->direction[k] = s->o.directions ? s->o.directions[l * s->dim + k]
                                          : relmc_normal(stream);
        square += s->direction[k] * s->direction[k];
    }
    for (size_t k = 0; k < s->dim && !s->o.directions; k++) {
        s->direction[k] /= sqrt(square);
    }
}

/* [sliced] */
static void compare_slices(relmc_two_sample_report *out, study *s)
{
    relmc_stream stream = {s->o.seed, 0, 0, FOR_DIRECTIONS};
    const double n = (double)s->o.n_directions;

    for (size_t l = 0; l < s->o.n_directions; l++) {
        set_direction(s, l, &stream);
        compare_on_line(s);
        for (size_t r = 0; r < s->n_columns; r++) {
            s->sliced[r] += s->line.w1[r];
        }
        out->sliced_energy += s->line.energy[0] / n;
        out->sliced_w1_max = fmax(out->sliced_w1_max, s->line.w1[0]);
        if (s->o.w1) {
            s->o.w1[l] = s->line.w1[0];
        }
    }
    out->sliced_w1 = s->sliced[0] / n;
    out->sliced_w1_p = p_value(s, s->sliced);
}

relmc_status relmc_two_sample(relmc_two_sample_report *out,
                              relmc_coordinate_test *coordinates,
                              const relmc_two_samples *samples,
                              const relmc_two_sample_options *options,
                              relmc_error *err)
{
    const size_t dim = samples->dim;
    study s = {0};
    relmc_status status = RELMC_OK;

    if (dim == 0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "two samples: dim must be at least 1");
    }
    if ((status = check_draws('x', samples->n_x, dim, samples->x, err)) ||
        (status = check_draws('y', samples->n_y, dim, samples->y, err)) ||
        (status = read_options(&s.o, options, samples, err))) {
        return status;
    }
    if (!(status = prepare(&s, samples, err))) {
        relmc_two_sample_report found = {.n_permutations =
                                             (size_t)s.o.permutations};

        compare_pairs(&found, &s);
        compare_slices(&found, &s);
        for (size_t k = 0; coordinates && k < dim; k++) {
            compare_coordinate(&coordinates[k], &s, k);
        }
        status = rmc_sized_fill(out, &found, sizeof found,
                                "relmc_two_sample_report", err);
    }
    rmc_arena_release(&s.arena);
    return status;
}
