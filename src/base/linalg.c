/* linalg.c - the dense linear algebra that metrics need. */
#include "base/linalg.h"
#include "base/base.h"

size_t rmc_cholesky(size_t dim, const double *a, double *out)
{
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * dim + j];

            for (size_t l = 0; l < j; l++) {
                sum = rmc_fma(-out[i * dim + l], out[j * dim + l], sum);
            }
            if (j < i) {
                out[i * dim + j] = sum / out[j * dim + j];
            } else if (sum > 0.0 && rmc_is_finite(sum)) {
                out[i * dim + i] = sqrt(sum);
            } else {
                return i + 1;
            }
        }
        for (size_t j = i + 1; j < dim; j++) {
            out[i * dim + j] = 0.0;
        }
    }
    return 0;
}

void rmc_transpose(size_t dim, const double *a, double *out)
{
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j < dim; j++) {
            out[j * dim + i] = a[i * dim + j];
        }
    }
}

/* ---- eigenvalues: Householder to a tridiagonal, then QL with shifts -------- */

/* x[0..n) becomes the u for which H = I - 2 u u' takes x to (0, ..., 0, -+|x|);
 * returns that last entry.  If x is 0, so is u. */
static double reflector(size_t n, double *x)
{
    double norm2 = 0.0, scale = 0.0;

    for (size_t i = 0; i < n; i++) {
        scale = fabs(x[i]) > scale ? fabs(x[i]) : scale;
    }
    if (scale == 0.0) {
        return 0.0;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] /= scale;
        norm2 += x[i] * x[i];
    }
    const double last = x[n - 1];
    const double length = last > 0.0 ? -sqrt(norm2) : sqrt(norm2);
    x[n - 1] = last - length;
    /* |u|^2 = 2 length (length - last) before u has length 1 */
    const double unit = 1.0 / sqrt(2.0 * length * (length - last));
    for (size_t i = 0; i < n; i++) {
        x[i] *= unit;
    }
    return scale * length;
}

/* A <- H A H = A - u q' - q u' for the leading m x m block, lower triangle, with
 * H = I - 2 u u' and q = 2 (A u - (u'A u) u).  work: m */
static void reflect_both(size_t dim, size_t m, double *a, const double *u,
                         double *work)
{
    double uw = 0.0;

    memset(work, 0, m * sizeof *work);
    for (size_t i = 0; i < m; i++) { /* A u */
        const double *row = a + i * dim;
        double sum = row[i] * u[i];

        for (size_t j = 0; j < i; j++) {
            sum += row[j] * u[j];
            work[j] += row[j] * u[i];
        }
        work[i] += sum;
    }
    for (size_t i = 0; i < m; i++) {
        uw += u[i] * work[i];
    }
    for (size_t i = 0; i < m; i++) {
        work[i] = 2.0 * (work[i] - uw * u[i]);
    }
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j <= i; j++) {
            a[i * dim + j] -= u[i] * work[j] + work[i] * u[j];
        }
    }
}

/* Multiplies the leading m x m block by H from the left; row and column m become
 * those of the identity, so u is lost.  work: m */
static void reflect_left(size_t dim, size_t m, double *a, double *work)
{
    const double *u = a + m * dim;

    memset(work, 0, m * sizeof *work);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            work[j] += 2.0 * u[i] * a[i * dim + j];
        }
    }
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            a[i * dim + j] -= u[i] * work[j];
        }
    }
    for (size_t j = 0; j < m; j++) {
        a[m * dim + j] = a[j * dim + m] = 0.0;
    }
    a[m * dim + m] = 1.0;
}

/* The symmetric a becomes Q with a = Q T Q', T tridiagonal: `on` its diagonal,
 * off[i] the entry between i - 1 and i.  work: dim. */
static void tridiagonalise(size_t dim, double *a, double *on, double *off,
                           double *work)
{
    for (size_t m = dim; m-- > 1;) { /* row m is reduced to its last entry */
        on[m] = a[m * dim + m];
        off[m] = reflector(m, a + m * dim);
        reflect_both(dim, m, a, a + m * dim, work);
    }
    on[0] = a[0];
    off[0] = 0.0;
    a[0] = 1.0;
    for (size_t m = 1; m < dim; m++) { /* Q, from the smallest H on */
        reflect_left(dim, m, a, work);
    }
}

/* One implicit QL sweep over the unreduced block low .. high, with Wilkinson's
 * shift; the rotations are applied to the columns of q. */
static void ql_sweep(size_t dim, double *q, double *on, double *off, size_t low,
                     size_t high)
{
    const double half = (on[low + 1] - on[low]) / (2.0 * off[low + 1]);
    const double root = sqrt(half * half + 1.0);
    double g = on[high] - on[low] +
               off[low + 1] / (half + (half < 0.0 ? -root : root));
    double s = 1.0, c = 1.0, carry = 0.0;

    for (size_t i = high; i-- > low;) {
        const double f = s * off[i + 1], b = c * off[i + 1];
        const double r = sqrt(f * f + g * g);

        if (i + 1 < high) {
            off[i + 2] = r;
        }
        if (r == 0.0) { /* the block splits here */
            on[i + 1] -= carry;
            if (i + 1 < high) {
                off[i + 2] = 0.0;
            }
            return;
        }
        s = f / r;
        c = g / r;
        const double base = on[i + 1] - carry;
        const double t = (on[i] - base) * s + 2.0 * c * b;
        carry = s * t;
        on[i + 1] = base + carry;
        g = c * t - b;
        for (size_t k = 0; k < dim; k++) {
            const double right = q[k * dim + i + 1], left = q[k * dim + i];
            q[k * dim + i + 1] = s * left + c * right;
            q[k * dim + i] = c * left - s * right;
        }
    }
    on[low] -= carry;
    off[low + 1] = g;
}

int rmc_eigen(size_t dim, double *a, double *w, double *work)
{
    enum { MAX_SWEEPS = 60 };
    double *off = work, norm = 0.0;

    tridiagonalise(dim, a, w, off, work + dim);
    for (size_t i = 0; i < dim; i++) {
        const double here = fabs(w[i]) + fabs(off[i]);
        norm = here > norm ? here : norm;
    }
    for (size_t low = 0; low < dim; low++) {
        for (int sweep = 0;; sweep++) {
            size_t high = low;

            while (high + 1 < dim &&
                   fabs(off[high + 1]) >
                       0x1p-53 * (fabs(w[high]) + fabs(w[high + 1])) +
                           0x1p-55 * norm) {
                high++;
            }
            if (high == low) {
                break;
            }
            if (sweep == MAX_SWEEPS) {
                return 0;
            }
            ql_sweep(dim, a, w, off, low, high);
        }
    }
    for (size_t i = 0; i < dim; i++) {
        if (!rmc_is_finite(w[i])) {
            return 0;
        }
    }
    return 1;
}
