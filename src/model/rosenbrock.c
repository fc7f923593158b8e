/*
 * rosenbrock.c - curved ridges, one after the other or several from one root:
 * the hybrid Rosenbrock distribution of Pagani, Wiegand and Nadarajah (2022).
 *
 *   [rosenbrock]  lp = -a (x_1 - mean)^2 - b sum_(i>1) (x_i - x_p^2)^2
 *
 * Here p, the parent of i, is i - 1; but a new block of `block` coordinates
 * starts from x_1 again.  So x_1 ~ N(mean, 1/(2a)) and x_i given its parent is
 * N(x_p^2, 1/(2b)): exact draws are a chain of normals.
 */
#include "base/base.h"

#include <math.h>

struct rosenbrock {
    double dim, block, mean, a, b;
};

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    struct rosenbrock *m = self;

    (void)arena;
    if (m->block != m->block) {
        m->block = m->dim - 1.0;
    }
    if (m->block > m->dim - 1.0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "rosenbrock: block must be at most dim - 1 = %g, "
                        "not %g",
                        m->dim - 1.0, m->block);
    }
    size->dim = (size_t)m->dim;
    return RELMC_OK;
}

/* Steps from x_1 to coordinate i. */
static inline size_t depth(const struct rosenbrock *m, size_t i)
{
    return i == 0 ? 0 : (i - 1) % (size_t)m->block + 1;
}

static inline size_t parent(const struct rosenbrock *m, size_t i)
{
    return depth(m, i) == 1 ? 0 : i - 1;
}

static inline void evaluate(const struct rosenbrock *m, size_t dim, size_t ld,
                            const double *restrict x, double *restrict grad,
                            double *restrict lp)
{
    const double a = m->a, b = m->b, mean = m->mean;
    const size_t block = (size_t)m->block;

    for (size_t k = 0; k < ld; k++) {
        const double r = x[k] - mean;

        grad[k] = -2.0 * a * r;
        lp[k] = -a * r * r;
    }
    for (size_t i = 1, first = 1; i < dim; i++) {
        first = i - first == block ? i : first;
        const size_t p = i == first ? 0 : i - 1;
        const double *restrict above = x + p * ld;
        double *restrict grad_above = grad + p * ld;
        double *restrict row = grad + i * ld;

        for (size_t k = 0; k < ld; k++) {
            const double r = rmc_fma(-above[k], above[k], x[i * ld + k]);
            const double h = 2.0 * b * r;

            row[k] = -h;
            grad_above[k] = rmc_fma(2.0 * h, above[k], grad_above[k]);
            lp[k] = rmc_fma(-0.5 * h, r, lp[k]);
        }
    }
}

static int lanes(const void *self, const relmc_shape *s,
                 const double *restrict x, double *restrict lp,
                 double *restrict grad, relmc_error *err)
{
    const size_t dim = s->dim, ld = s->ld;

    (void)err;
    if (ld == 1) { /* as a constant it leaves no loops over lanes */
        evaluate(self, dim, 1, x, grad, lp);
    } else {
        evaluate(self, dim, ld, x, grad, lp);
    }
    return RELMC_OK;
}

enum { MAX_DEPTH = 3, MAX_ORDER = 2 << MAX_DEPTH };

/*
 * Raw moments E x^n, n = 0 .. MAX_ORDER, of a coordinate `depth` steps from
 * x_1; only those up to MAX_ORDER >> depth are known.
 *
 * For x = mu + s z:   E x^(n+1) = mu E x^n + n s^2 E x^(n-1).
 * For x = y^2 + s z:  E x^n = sum_(j even) C(n, j) s^j (j - 1)!! E y^(2(n-j)).
 */
static void raw_moments(const struct rosenbrock *m, size_t n_steps, double *e)
{
    const double s2 = 0.5 / m->a, t2 = 0.5 / m->b;

    e[0] = 1.0;
    e[1] = m->mean;
    for (size_t n = 1; n < MAX_ORDER; n++) {
        e[n + 1] = m->mean * e[n] + (double)n * s2 * e[n - 1];
    }
    for (size_t d = 1; d <= n_steps; d++) {
        for (size_t n = 1; n <= (size_t)MAX_ORDER >> d; n++) {
            double sum = 0.0, factor = 1.0; /* C(n, j) t^j (j - 1)!! */

            for (size_t j = 0; j <= n; j += 2) {
                sum += factor * e[2 * (n - j)];
                factor *= t2 * (double)(n - j) * ((double)(n - j) - 1.0) /
                          ((double)j + 2.0);
            }
            e[n] = sum;
        }
    }
}

static void moments(const void *self, double *mean, double *variance)
{
    const struct rosenbrock *m = self;

    for (size_t i = 0; i < (size_t)m->dim; i++) {
        const size_t n_steps = depth(m, i);
        double e[MAX_ORDER + 1];

        mean[i] = variance[i] = (double)NAN;
        if (n_steps <= MAX_DEPTH) {
            raw_moments(m, n_steps, e);
            mean[i] = e[1];
            variance[i] = e[2] - e[1] * e[1];
        }
    }
}

static void draw(const void *self, relmc_stream *stream, double *x)
{
    const struct rosenbrock *m = self;
    const double s = sqrt(0.5 / m->a), t = sqrt(0.5 / m->b);

    x[0] = m->mean + s * relmc_normal(stream);
    for (size_t i = 1; i < (size_t)m->dim; i++) {
        const double above = x[parent(m, i)];

        x[i] = above * above + t * relmc_normal(stream);
    }
}

static const relmc_param params[] = {
    {"dim", "dimension", 2, 1e6, 2, offsetof(struct rosenbrock, dim),
     RELMC_INTEGER},
    {"block", "coordinates before the next starts from x_1; default all", 1,
     1e6, (double)NAN, offsetof(struct rosenbrock, block), RELMC_INTEGER},
    {"mean", "mean of x_1", -1e6, 1e6, 1, offsetof(struct rosenbrock, mean),
     RELMC_REAL},
    {"a", "precision of x_1, halved", 1e-12, 1e12, 0.05,
     offsetof(struct rosenbrock, a), RELMC_REAL},
    {"b", "precision of the others around x_p^2, halved", 1e-12, 1e12, 5,
     offsetof(struct rosenbrock, b), RELMC_REAL},
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_rosenbrock) = {
    .info = {"model", "rosenbrock", "curved ridges, exact draws", params},
    .state_size = sizeof(struct rosenbrock),
    .init = init,
    .lanes = lanes,
    .moments = moments,
    .draw = draw,
};
