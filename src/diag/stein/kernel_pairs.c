/*
 * kernel_pairs.c - the kernel of the Stein discrepancy, many pairs at a time.
 *
 * With z = x - y, b = c2 + |z|^2, t = <s_x - s_y, z> and p = <s_x, s_y>
 * [ksd]  k0 = p b^-beta + 2 beta b^(-beta-1) (d + t - 2 (beta + 1) |z|^2 / b).
 *
 * The body is written once and compiled twice, for any machine and for AVX2
 * with FMA.  It consists of + - * fma and bits, each sum has its own place and
 * order, so both give the same bits.  The loops over columns vectorise.
 */
#include "diag/stein/kernel_pairs.h"

#include "base/base.h"

#define ALWAYS static inline __attribute__((always_inline))

/* One row against the columns. */
typedef struct row {
    const double *x, *s; /* dim x ld of the row's points, at this row */
    const double *y, *t; /* dim x ld of the columns, at the first column */
    size_t ld, ld_cols, n_cols, dim;
    double weight;
    rmc_imq kernel;
} row;

/*
 * 1 / sqrt(b) for normal b: half the exponent from the bits, 3.5 % off, then
 * twice y <- y (1 + e/2 + 3 e^2/8 + 5 e^3/16), e = 1 - b y^2, which takes an
 * error e to about e^4: below 2 units in the last place.
 */
ALWAYS double inverse_sqrt(double b)
{
    double y = rmc_from_bits(0x5fe6eb50c7b537a9u - (rmc_to_bits(b) >> 1));

    for (int n = 0; n < 2; n++) {
        const double e = rmc_fma(-b * y, y, 1.0);
        const double f = rmc_fma(rmc_fma(e, 0.3125, 0.375), e, 0.5);

        y = rmc_fma(y * e, f, y);
    }
    return y;
}

/* beta = 1/2, q = b^-1/2: k0 = q (p + q^2 (d + t - 3 r q^2)) */
ALWAYS double half_kernel(double c2, double dim, double r, double p, double t)
{
    const double q = inverse_sqrt(c2 + r);
    const double w = q * q;
    const double u = rmc_fma(-3.0 * r, w, dim + t);

    return q * rmc_fma(w, u, p);
}

ALWAYS double any_kernel(rmc_imq kernel, double dim, double r, double p,
                         double t)
{
    const double b = kernel.c2 + r, w = 1.0 / b;
    const double u =
        rmc_fma(-2.0 * (kernel.beta + 1.0) * r, w, dim + t) * 2.0 * kernel.beta;

    return rmc_exp(-kernel.beta * rmc_log(b)) * rmc_fma(w, u, p);
}

/* A row in `dim` coordinates, a constant: all in registers. */
ALWAYS void add_row(const row *a, const size_t dim, double *restrict sum)
{
    const double *restrict y = a->y, *restrict t = a->t;
    const size_t n_cols = a->n_cols, ld = a->ld_cols;
    const double c2 = a->kernel.c2, weight = a->weight;
    double x[4], s[4];

    for (size_t k = 0; k < dim; k++) {
        x[k] = a->x[k * a->ld];
        s[k] = a->s[k * a->ld];
    }
    for (size_t j = 0; j < n_cols; j++) {
        double r = 0.0, p = 0.0, q = 0.0;

        for (size_t k = 0; k < dim; k++) {
            const double z = x[k] - y[k * ld + j];

            r = rmc_fma(z, z, r);
            p = rmc_fma(s[k], t[k * ld + j], p);
            q = rmc_fma(s[k] - t[k * ld + j], z, q);
        }
        sum[j] = rmc_fma(weight, half_kernel(c2, (double)dim, r, p, q), sum[j]);
    }
}

/* The products of a row, `dim` coordinates at a time from the k-th. */
ALWAYS void add_products(const row *a, size_t from, const size_t dim,
                         double *restrict r, double *restrict p,
                         double *restrict q)
{
    const double *restrict y = a->y + from * a->ld_cols;
    const double *restrict t = a->t + from * a->ld_cols;
    const size_t n_cols = a->n_cols, ld = a->ld_cols;
    double x[4], s[4];

    for (size_t k = 0; k < dim; k++) {
        x[k] = a->x[(from + k) * a->ld];
        s[k] = a->s[(from + k) * a->ld];
    }
    for (size_t j = 0; j < n_cols; j++) {
        double rj = r[j], pj = p[j], qj = q[j];

        for (size_t k = 0; k < dim; k++) {
            const double z = x[k] - y[k * ld + j];

            rj = rmc_fma(z, z, rj);
            pj = rmc_fma(s[k], t[k * ld + j], pj);
            qj = rmc_fma(s[k] - t[k * ld + j], z, qj);
        }
        r[j] = rj;
        p[j] = pj;
        q[j] = qj;
    }
}

/* A row in any number of coordinates, with any beta. */
ALWAYS void add_long_row(const row *a, double *restrict sum)
{
    double r[RMC_STEIN_TILE], p[RMC_STEIN_TILE], q[RMC_STEIN_TILE];
    const size_t n_cols = a->n_cols;
    const double dim = (double)a->dim, weight = a->weight;
    const rmc_imq kernel = a->kernel;
    size_t k = 0;

    for (size_t j = 0; j < n_cols; j++) {
        r[j] = p[j] = q[j] = 0.0;
    }
    for (; k + 4 <= a->dim; k += 4) {
        add_products(a, k, 4, r, p, q);
    }
    for (; k < a->dim; k++) {
        add_products(a, k, 1, r, p, q);
    }
    if (kernel.beta == 0.5) {
        for (size_t j = 0; j < n_cols; j++) {
            sum[j] = rmc_fma(
                weight, half_kernel(kernel.c2, dim, r[j], p[j], q[j]), sum[j]);
        }
        return;
    }
    for (size_t j = 0; j < n_cols; j++) {
        sum[j] =
            rmc_fma(weight, any_kernel(kernel, dim, r[j], p[j], q[j]), sum[j]);
    }
}

ALWAYS void add_pairs(const rmc_pairs *pairs, double *restrict sum)
{
    const rmc_points *rows = pairs->rows, *cols = pairs->cols;
    row a = {.y = cols->x + pairs->first_col,
             .t = cols->s + pairs->first_col,
             .ld = rows->ld,
             .ld_cols = cols->ld,
             .n_cols = pairs->end_col - pairs->first_col,
             .dim = rows->dim,
             .kernel = pairs->kernel};
    const size_t path = a.kernel.beta == 0.5 ? a.dim : 0;

    for (size_t i = pairs->first_row; i < pairs->end_row; i++) {
        a.x = rows->x + i;
        a.s = rows->s + i;
        a.weight = pairs->weight[i];
        switch (path) {
        case 1:
            add_row(&a, 1, sum);
            break;
        case 2:
            add_row(&a, 2, sum);
            break;
        case 3:
            add_row(&a, 3, sum);
            break;
        case 4:
            add_row(&a, 4, sum);
            break;
        default:
            add_long_row(&a, sum);
            break;
        }
    }
}

void rmc_stein_pairs_plain(const rmc_pairs *pairs, double *sum)
{
    add_pairs(pairs, sum);
}

#ifdef RMC_HAS_AVX2
__attribute__((target("avx2,fma"))) static void
add_pairs_avx2(const rmc_pairs *pairs, double *sum)
{
    add_pairs(pairs, sum);
}
#endif

void rmc_stein_pairs(const rmc_pairs *pairs, double *sum)
{
#ifdef RMC_HAS_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        add_pairs_avx2(pairs, sum);
        return;
    }
#endif
    rmc_stein_pairs_plain(pairs, sum);
}

/* k0(x, x) = |s|^2 c2^-beta + 2 beta d c2^(-beta-1) */
double rmc_stein_diagonal(const rmc_points *points, size_t i, rmc_imq kernel)
{
    const double scale = rmc_exp(-kernel.beta * rmc_log(kernel.c2));
    double sum = 0.0;

    for (size_t k = 0; k < points->dim; k++) {
        const double s = points->s[k * points->ld + i];

        sum = rmc_fma(s, s, sum);
    }
    return scale * (sum + 2.0 * kernel.beta * (double)points->dim / kernel.c2);
}
