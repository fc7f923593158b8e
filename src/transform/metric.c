/*
 * metric.c - the metric of a target, from draws and gradients.
 *
 *   [fisher]  The inverse metric S that makes draws and gradients look alike: S
 *             B S = A with A = Cov(x), B = Cov(grad lp), their geometric mean
 *             A # B^-1.  Exact for a Gaussian from d + 1 draws; for other targets
 *             it weighs curvature and spread equally.
 *
 * The diagonal form is sqrt(Var x / Var g); nutpie (Seyboldt, Carpenter and
 * others) uses it, and pooling it over chains is what makes the dense form
 * affordable.
 */
#include "transform/metric.h"
#include "base/linalg.h"

#include <stdlib.h>

/* draws and gradients that span the directions of a low-rank metric */
#define MAX_SPAN ((size_t)2 * RMC_MAX_RANK)
/* between the 10 % and the 90 % quantile of a standard normal */
#define TWO_Z90 2.5631031310892007

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

struct rmc_metric rmc_metric_new(relmc_arena *arena, size_t dim,
                                 size_t n_chains, size_t max_draws,
                                 enum rmc_metric_kind kind)
{
    const size_t span = MAX_SPAN;
    const size_t line = dim * sizeof(double);
    const size_t side = kind == RMC_DENSE ? dim : span;
    struct rmc_metric m = {
        .dim = dim,
        .mean_x = relmc_arena_get(arena, n_chains * line),
        .mean_g = relmc_arena_get(arena, n_chains * line),
        .variance_x = relmc_arena_get(arena, line),
        .variance_g = relmc_arena_get(arena, line),
        .values = relmc_arena_get(arena, line + span * sizeof(double)),
        .work = relmc_arena_get(arena, 2 * line + 2 * span * sizeof(double)),
        .sorted =
            relmc_arena_get(arena, n_chains * (max_draws + 1) * sizeof(double)),
        .sd = relmc_arena_get(arena, line),
    };
    double **const squares[] = {&m.a, &m.b, &m.c, &m.chol, &m.chol_t};

    for (size_t i = 0; kind != RMC_DIAGONAL && i < 5; i++) {
        *squares[i] = relmc_arena_get(arena, side * side * sizeof(double));
    }
    if (kind == RMC_LOW_RANK) {
        m.basis = relmc_arena_get(arena, span * line);
        m.low_rank = relmc_arena_get(arena, RMC_MAX_RANK * line);
        m.factor = relmc_arena_get(arena, RMC_MAX_RANK * sizeof(double));
    }
    for (size_t i = 0; m.sd && i < dim; i++) {
        m.sd[i] = 1.0;
    }
    return m;
}

/* Means of every chain and the pooled variance within chains: chains that have
 * not found each other yet must not look like a wide target. */
static void moments(const struct rmc_window *w, const double *const *from,
                    double *mean, double *variance)
{
    const size_t d = w->dim;

    memset(variance, 0, d * sizeof *variance);
    for (size_t c = 0; c < w->n_chains; c++) {
        double *mu = mean + c * d;

        memset(mu, 0, d * sizeof *mu);
        for (size_t t = 0; t < w->n; t++) {
            for (size_t i = 0; i < d; i++) {
                mu[i] += from[c][t * d + i];
            }
        }
        for (size_t i = 0; i < d; i++) {
            mu[i] /= (double)w->n;
        }
        for (size_t t = 0; t < w->n; t++) {
            for (size_t i = 0; i < d; i++) {
                const double e = from[c][t * d + i] - mu[i];
                variance[i] += e * e;
            }
        }
    }
    for (size_t i = 0; i < d; i++) {
        variance[i] /= (double)(w->n_chains * (w->n - 1));
    }
}

/* [fisher] */
static void estimate_diagonal(struct rmc_metric *m, size_t dim)
{
    for (size_t i = 0; i < dim; i++) {
        const double sd = sqrt(sqrt(m->variance_x[i] / m->variance_g[i]));

        if (sd > 1e-150 && sd < 1e150) { /* not for NaN */
            m->sd[i] = sd;
        }
    }
}

/* Lower triangle of the covariance within chains, in units of `unit`. */
static void covariance(const struct rmc_window *w, const double *const *from,
                       const double *mean, const double *unit, double *row,
                       double *out)
{
    const size_t d = w->dim;
    const double weight = 1.0 / (double)(w->n_chains * (w->n - 1));
    double trace = 0.0;

    memset(out, 0, d * d * sizeof *out);
    for (size_t c = 0; c < w->n_chains; c++) {
        for (size_t t = 0; t < w->n; t++) {
            for (size_t i = 0; i < d; i++) {
                row[i] = (from[c][t * d + i] - mean[c * d + i]) * unit[i];
            }
            for (size_t i = 0; i < d; i++) {
                const double e = weight * row[i];
                for (size_t j = 0; j <= i; j++) {
                    out[i * d + j] += e * row[j];
                }
            }
        }
    }
    for (size_t i = 0; i < d; i++) {
        trace += out[i * d + i];
    }
    for (size_t i = 0; i < d; i++) { /* directions not seen yet */
        out[i * d + i] += 1e-7 * trace / (double)d;
    }
}

/* c = L' A L, symmetric A by its lower triangle, L lower.  tmp: dim x dim */
static void congruence(size_t d, const double *A, const double *L, double *tmp,
                       double *c)
{
    for (size_t i = 0; i < d; i++) { /* tmp = A L */
        double *row = tmp + i * d;

        memset(row, 0, d * sizeof *row);
        for (size_t k = 0; k < d; k++) {
            const double a = k <= i ? A[i * d + k] : A[k * d + i];
            for (size_t j = 0; j <= k; j++) {
                row[j] += a * L[k * d + j];
            }
        }
    }
    memset(c, 0, d * d * sizeof *c);
    for (size_t k = 0; k < d; k++) { /* c = L' tmp */
        for (size_t i = 0; i <= k; i++) {
            const double l = L[k * d + i];
            for (size_t j = 0; j <= i; j++) {
                c[i * d + j] += l * tmp[k * d + j];
            }
        }
    }
}

/* Q <- Q diag(f); then out = Q Q', lower triangle */
static void outer(size_t d, double *Q, const double *f, double *out)
{
    for (size_t i = 0; i < d; i++) {
        for (size_t k = 0; k < d; k++) {
            Q[i * d + k] *= f[k];
        }
    }
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < d; k++) {
                sum += Q[i * d + k] * Q[j * d + k];
            }
            out[i * d + j] = sum;
        }
    }
}

/* Q <- L'^-1 Q, L lower */
static void solve_transposed(size_t d, const double *L, double *Q)
{
    for (size_t i = d; i-- > 0;) {
        for (size_t k = i + 1; k < d; k++) {
            const double l = L[k * d + i];
            for (size_t j = 0; j < d; j++) {
                Q[i * d + j] -= l * Q[k * d + j];
            }
        }
        for (size_t j = 0; j < d; j++) {
            Q[i * d + j] /= L[i * d + i];
        }
    }
}

/* [fisher] m->a <- A # B^-1 = L'^-1 (L' A L)^1/2 L^-1 with B = L L'. */
static int geometric_mean(struct rmc_metric *m, size_t d)
{
    if (rmc_cholesky(d, m->b, m->b)) {
        return 0;
    }
    congruence(d, m->a, m->b, m->chol, m->c);
    if (!rmc_eigen(d, m->c, m->values, m->work)) {
        return 0;
    }
    for (size_t i = 0; i < d; i++) { /* a fourth root on either side */
        m->values[i] = m->values[i] > 0.0 ? sqrt(sqrt(m->values[i])) : 0.0;
    }
    solve_transposed(d, m->b, m->c);
    outer(d, m->c, m->values, m->a);
    return 1;
}

/* Eigenvalues w of m->a become w^(n/(n + d)): few draws say little.  m->values
 * gets their square roots, m->c the eigenvectors. */
static int shrink(struct rmc_metric *m, size_t d, double n)
{
    const double power = n / (n + (double)d);
    double largest = 0.0;

    memcpy(m->c, m->a, d * d * sizeof *m->c);
    if (!rmc_eigen(d, m->c, m->values, m->work)) {
        return 0;
    }
    for (size_t i = 0; i < d; i++) {
        largest = m->values[i] > largest ? m->values[i] : largest;
    }
    for (size_t i = 0; i < d; i++) {
        const double floor = 1e-13 * largest;
        const double w = m->values[i] > floor ? m->values[i] : floor;

        m->values[i] = rmc_exp(0.5 * power * rmc_log(w));
    }
    return 1;
}

static int estimate_dense(struct rmc_metric *m, const struct rmc_window *w)
{
    const size_t d = m->dim;
    double *unit = m->values;

    for (size_t i = 0; i < d; i++) {
        unit[i] = 1.0 / m->sd[i];
    }
    covariance(w, w->x, m->mean_x, unit, m->work, m->a);
    covariance(w, w->g, m->mean_g, m->sd, m->work, m->b);
    if (!geometric_mean(m, d) || !shrink(m, d, (double)(w->n * w->n_chains))) {
        return 0;
    }
    outer(d, m->c, m->values, m->a);
    if (rmc_cholesky(d, m->a, m->chol)) {
        return 0;
    }
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            m->chol[i * d + j] *= m->sd[i];
        }
    }
    rmc_transpose(d, m->chol, m->chol_t);
    return 1;
}

/* ---- diagonal plus low rank ------------------------------------------------ */

/* Draw number t of all chains, in units of `unit`. */
static void take_draw(const struct rmc_window *w, const double *const *from,
                      const double *mean, const double *sd, int is_gradient,
                      size_t t, double *out)
{
    const size_t d = w->dim, c = t / w->n;
    const double *row = from[c] + t % w->n * d;

    for (size_t i = 0; i < d; i++) {
        const double e = row[i] - mean[c * d + i];
        out[i] = is_gradient ? e * sd[i] : e / sd[i];
    }
}

/* out minus its projection on the first n rows of the basis, made a unit vector;
 * 0 if nothing is left.  Twice, because once is not enough. */
static int orthogonalise(size_t d, const double *basis, size_t n, double *out)
{
    const double before = sqrt(dot(d, out, out));

    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0; r < n; r++) {
            const double along = dot(d, basis + r * d, out);
            for (size_t i = 0; i < d; i++) {
                out[i] -= along * basis[r * d + i];
            }
        }
    }
    const double after = sqrt(dot(d, out, out));
    for (size_t i = 0; i < d; i++) {
        out[i] /= after;
    }
    return after > 1e-6 * before;
}

/* Every n / N_PICK-th draw is for the basis. */
static size_t pick_stride(size_t n)
{
    enum { N_PICK = RMC_MAX_RANK };

    return n / N_PICK > 2 ? n / N_PICK : 2;
}

/* Orthonormal rows that span some of the draws and gradients. */
static size_t make_basis(struct rmc_metric *m, const struct rmc_window *w)
{
    const size_t n = w->n * w->n_chains, stride = pick_stride(n);
    size_t rank = 0;

    for (size_t t = 0; t < n; t += stride) {
        for (int is_gradient = 0; is_gradient < 2; is_gradient++) {
            double *row = m->basis + rank * w->dim;

            if (rank == MAX_SPAN) {
                return rank;
            }
            take_draw(w, is_gradient ? w->g : w->x,
                      is_gradient ? m->mean_g : m->mean_x, m->sd, is_gradient,
                      t, row);
            rank += (size_t)orthogonalise(w->dim, m->basis, rank, row);
        }
    }
    return rank;
}

/* Covariances in the basis, of the draws that are not part of it: those would
 * seem to vary by their whole length in one direction. */
static void project(struct rmc_metric *m, const struct rmc_window *w,
                    size_t rank, int is_gradient, double *out)
{
    const size_t n = w->n * w->n_chains, stride = pick_stride(n);
    const size_t step = n / 400 > 1 ? n / 400 : 1; /* as many as are needed */
    double along[MAX_SPAN], count = 0.0;

    memset(out, 0, rank * rank * sizeof *out);
    for (size_t t = 0; t < n; t += step) {
        if (t % stride == 0) {
            continue;
        }
        take_draw(w, is_gradient ? w->g : w->x,
                  is_gradient ? m->mean_g : m->mean_x, m->sd, is_gradient, t,
                  m->work);
        for (size_t i = 0; i < rank; i++) {
            along[i] = dot(w->dim, m->basis + i * w->dim, m->work);
            for (size_t j = 0; j <= i; j++) {
                out[i * rank + j] += along[i] * along[j];
            }
        }
        count += 1.0;
    }
    for (size_t i = 0; i < rank; i++) { /* a little of what is expected */
        for (size_t j = 0; j <= i; j++) {
            out[i * rank + j] = (out[i * rank + j] + (i == j)) / (count + 1.0);
        }
    }
}

/* Where the scale differs most from what it is already: the index of an f, and
 * by what factor. */
static size_t most_extreme(const double *f, size_t n, double *factor)
{
    size_t at = 0;

    *factor = 0.0;
    for (size_t k = 0; k < n; k++) {
        const double here = f[k] > 1.0 ? f[k] : 1.0 / f[k];

        if (here > *factor) {
            *factor = here;
            at = k;
        }
    }
    return at;
}

/* The directions in which the scale differs by more than 1.5. */
static size_t keep_directions(struct rmc_metric *m, size_t rank)
{
    size_t n = 0;

    while (n < RMC_MAX_RANK) {
        double difference;
        const size_t k = most_extreme(m->values, rank, &difference);
        const double f = m->values[k];
        double *row = m->low_rank + n * m->dim;

        if (difference < 1.5) {
            break;
        }
        m->values[k] = 1.0; /* taken */
        memset(row, 0, m->dim * sizeof *row);
        for (size_t r = 0; r < rank; r++) {
            const double v = m->c[r * rank + k];
            for (size_t i = 0; i < m->dim; i++) {
                row[i] += v * m->basis[r * m->dim + i];
            }
        }
        m->factor[n++] = f;
    }
    return n;
}

/* [low-rank]  S = diag(sd) (I + U (f - 1) U'), from the Fisher metric in the span
 * of some draws and gradients. */
static size_t estimate_low_rank(struct rmc_metric *m,
                                const struct rmc_window *w)
{
    const size_t rank = make_basis(m, w);

    project(m, w, rank, 0, m->a);
    project(m, w, rank, 1, m->b);
    /* the matrices are mixed with the identity already: little is left to do */
    if (!geometric_mean(m, rank) ||
        !shrink(m, rank, 8.0 * (double)(w->n * w->n_chains))) {
        return 0;
    }
    return keep_directions(m, rank);
}

/* ---- all of them ----------------------------------------------------------- */

enum rmc_metric_kind rmc_metric_estimate(struct rmc_metric *m,
                                         const struct rmc_window *w,
                                         enum rmc_metric_kind wanted)
{
    const size_t n = w->n * w->n_chains;

    if (w->n < 2 || !w->n_chains) {
        return RMC_DIAGONAL;
    }
    moments(w, w->x, m->mean_x, m->variance_x);
    moments(w, w->g, m->mean_g, m->variance_g);
    estimate_diagonal(m, w->dim);
    m->rank = 0;
    if (wanted == RMC_DENSE && n >= 2 * w->dim && estimate_dense(m, w)) {
        return RMC_DENSE;
    }
    if (wanted == RMC_LOW_RANK && n >= 16) {
        m->rank = estimate_low_rank(m, w);
    }
    return m->rank ? RMC_LOW_RANK : RMC_DIAGONAL;
}

/* x <- S^-1 (x - mean), one draw */
static void whiten(const struct rmc_metric *m, enum rmc_metric_kind kind,
                   const double *mean, double *x)
{
    const size_t d = m->dim;
    const int is_dense = kind == RMC_DENSE;

    for (size_t i = 0; i < d; i++) {
        double sum = x[i] - mean[i];

        for (size_t j = 0; is_dense && j < i; j++) {
            sum -= m->chol[i * d + j] * x[j];
        }
        x[i] = sum / (is_dense ? m->chol[i * d + i] : m->sd[i]);
    }
    for (size_t r = 0; kind == RMC_LOW_RANK && r < m->rank; r++) {
        const double *u = m->low_rank + r * d;
        const double along = (1.0 / m->factor[r] - 1.0) * dot(d, u, x);

        for (size_t i = 0; i < d; i++) {
            x[i] += along * u[i];
        }
    }
}

/* One power iteration: u <- Cov u, with |u| = 1 before; |Cov u| is returned and
 * m->sorted holds the draws along u. */
static double power_step(struct rmc_metric *m, double *const *z,
                         size_t n_chains, size_t n, double *u)
{
    const size_t d = m->dim;
    const double length = sqrt(dot(d, u, u));
    double *next = m->work;

    memset(next, 0, d * sizeof *next);
    for (size_t c = 0; c < n_chains; c++) {
        for (size_t t = 0; t < n; t++) {
            const double *row = z[c] + t * d;
            const double along = dot(d, row, u) / length;

            m->sorted[c * n + t] = along;
            for (size_t i = 0; i < d; i++) {
                next[i] += along * row[i];
            }
        }
    }
    for (size_t i = 0; i < d; i++) {
        u[i] = next[i] / (double)(n_chains * n);
    }
    return sqrt(dot(d, u, u));
}

double rmc_metric_stretch(struct rmc_metric *m, double *const *x,
                          size_t n_chains, size_t n, enum rmc_metric_kind kind)
{
    enum { N_POWER = 20 };
    const struct rmc_window w = {m->dim, n_chains, n, (const double *const *)x,
                                 NULL};
    const double total = (double)(n * n_chains);
    double *u = m->values, largest = 1.0;

    if (n < 2 || !n_chains) {
        return 1.0;
    }
    moments(&w, w.x, m->mean_x, m->variance_x);
    for (size_t c = 0; c < n_chains; c++) {
        for (size_t t = 0; t < n; t++) {
            whiten(m, kind, m->mean_x + c * m->dim, x[c] + t * m->dim);
        }
    }
    for (size_t i = 0; i < m->dim; i++) { /* no direction is special */
        u[i] = 1.0 + 0.5 * (double)((i * 7919) % 101) / 101.0;
    }
    for (int step = 0; step < N_POWER; step++) {
        largest = power_step(m, x, n_chains, n, u);
        if (!(largest > 0.0) || !rmc_is_finite(largest)) {
            return 1.0;
        }
    }
    /* [quantile-scale] along u: heavy tails are not length */
    const size_t all = n * n_chains;
    qsort(m->sorted, all, sizeof *m->sorted, rmc_ascending);
    const double spread =
        (m->sorted[all * 9 / 10] - m->sorted[all / 10]) / TWO_Z90;
    largest = spread * spread < largest ? spread * spread : largest;
    /* a sample looks longer than the target */
    const double excess = 1.0 + sqrt((double)m->dim / total);
    largest /= excess * excess;
    return largest > 1.0 ? largest : 1.0;
}
