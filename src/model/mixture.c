/*
 * mixture.c - mixtures of normal distributions on the line, with standard
 * normal coordinates beside it if wanted; gmm1, gmm2 and gmm3 are the paper's.
 *
 *   [gmm]  lp = log sum_j exp(t_j),
 *          t_j = log weight_j - log(2 pi variance_j) / 2 - r_j d_j / 2,
 *          grad = -sum_j d_j exp(t_j) / sum_j exp(t_j),
 *          r_j = x - mean_j,  d_j = r_j / variance_j
 *
 * Components are taken in one after the other.  Before and after each, `top` is
 * the largest t so far, `sum` is sum_j exp(t_j - top) and `slope` the same sum
 * weighted with -d_j.  So no exponential overflows, and the first component
 * needs none:
 *
 *   [log-sum-exp]  rise = t - top,  e = exp(-|rise|),
 *                  sum <- rise > 0 ? sum e + 1 : sum + e
 */
#include "base/base.h"

#include <float.h>
#include <math.h>

enum {
    MAX_COMPONENTS = 64,
    WIDTH = 64 /* lanes worked on at a time */
};

struct mixture {
    double dim;
    relmc_vector mean, variance, weight;
    size_t n;
    size_t n_padded; /* the first and then pairs; the last may be exp(-inf) */
    double centre[MAX_COMPONENTS + 1];  /* mean_j */
    double inv_var[MAX_COMPONENTS + 1]; /* 1 / variance_j */
    double height[MAX_COMPONENTS + 1];  /* t_j at mean_j */
    double sd[MAX_COMPONENTS];
    double share[MAX_COMPONENTS]; /* weight_j, summing to 1 */
};

/* Element j of a vector that may be unset or a single number. */
static double pick(const relmc_vector *v, size_t j, double unset)
{
    return v->n == 0 ? unset : v->values[v->n == 1 ? 0 : j];
}

static relmc_status set_components(struct mixture *m, relmc_size *size,
                                   relmc_error *err)
{
    const double log_2pi = 1.8378770664093454836;
    const struct {
        const char *name;
        size_t n;
    } given[] = {{"mean", m->mean.n},
                 {"variance", m->variance.n},
                 {"weight", m->weight.n}};
    const size_t n_given = sizeof given / sizeof *given;
    double total = 0.0;

    m->n = 1;
    for (size_t l = 0; l < n_given; l++) {
        m->n = given[l].n > m->n ? given[l].n : m->n;
    }
    if (m->n > MAX_COMPONENTS) {
        return rmc_fail(err, RELMC_EINVAL,
                        "mixture: at most %d components, got %zu",
                        MAX_COMPONENTS, m->n);
    }
    for (size_t l = 0; l < n_given; l++) {
        if (given[l].n > 1 && given[l].n != m->n) {
            return rmc_fail(err, RELMC_EINVAL,
                            "mixture: %s needs 1 or %zu values, got %zu",
                            given[l].name, m->n, given[l].n);
        }
    }
    for (size_t j = 0; j < m->n; j++) {
        total += pick(&m->weight, j, 1.0);
    }
    for (size_t j = 0; j < m->n; j++) {
        const double variance = pick(&m->variance, j, 1.0);

        m->centre[j] = pick(&m->mean, j, 0.0);
        m->inv_var[j] = 1.0 / variance;
        m->sd[j] = sqrt(variance);
        m->share[j] = pick(&m->weight, j, 1.0) / total;
        m->height[j] =
            rmc_log(m->share[j]) - 0.5 * (log_2pi + rmc_log(variance));
    }
    m->n_padded = m->n | 1;
    if (m->n_padded > m->n) {
        m->height[m->n] = -HUGE_VAL;
    }
    size->dim = (size_t)m->dim;
    return RELMC_OK;
}

static relmc_status init(void *self, relmc_arena *arena, relmc_size *size,
                         relmc_error *err)
{
    static const double two_hills[] = {-3, 3};
    struct mixture *m = self;

    (void)arena;
    if (m->mean.n == 0) {
        m->mean = (relmc_vector){two_hills, 2};
    }
    return set_components(m, size, err);
}

/* The paper's three have variances 1/s, s, 1/s around -5, 0, 5. */
static relmc_status set_gmm(struct mixture *m, const double variance[3],
                            relmc_size *size, relmc_error *err)
{
    static const double mean[] = {-5, 0, 5};

    m->dim = 1.0;
    m->mean = (relmc_vector){mean, 3};
    m->variance = (relmc_vector){variance, 3};
    return set_components(m, size, err);
}

static relmc_status init_gmm1(void *self, relmc_arena *arena, relmc_size *size,
                              relmc_error *err)
{
    static const double variance[] = {1, 1, 1};

    (void)arena;
    return set_gmm(self, variance, size, err);
}

static relmc_status init_gmm2(void *self, relmc_arena *arena, relmc_size *size,
                              relmc_error *err)
{
    static const double variance[] = {1 / 0.5, 0.5, 1 / 0.5};

    (void)arena;
    return set_gmm(self, variance, size, err);
}

static relmc_status init_gmm3(void *self, relmc_arena *arena, relmc_size *size,
                              relmc_error *err)
{
    static const double variance[] = {1 / 0.3, 0.3, 1 / 0.3};

    (void)arena;
    return set_gmm(self, variance, size, err);
}

/* top <- max(top, t_j); how far t_j rises above the old top */
static inline double climb(const struct mixture *m, size_t j, double x,
                           double *top)
{
    const double r = x - m->centre[j];
    const double t = rmc_fma(-0.5 * r, m->inv_var[j] * r, m->height[j]);
    const double rise = t - *top;

    *top = rise > 0.0 ? t : *top;
    return rise;
}

/* [log-sum-exp] takes in component j */
static inline void take_in(const struct mixture *m, size_t j, double x,
                           double rise, double e, double *sum, double *slope)
{
    const double keep = rise > 0.0 ? e : 1.0, share = rise > 0.0 ? 1.0 : e;
    const double d = m->inv_var[j] * (m->centre[j] - x);

    *sum = rmc_fma(*sum, keep, share);
    *slope = rmc_fma(*slope, keep, share * d);
}

/* The first component: its t, with sum = 1 and slope. */
static inline double start(const struct mixture *m, double x, double *slope)
{
    const double r = x - m->centre[0];

    *slope = m->inv_var[0] * (m->centre[0] - x);
    return rmc_fma(-0.5 * r, m->inv_var[0] * r, m->height[0]);
}

/* lp; where every t is -inf sum is NaN, elsewhere from 1 to n */
static inline double finish(double top, double sum)
{
    return top + (top >= -DBL_MAX ? rmc_log_normal(sum) : 0.0);
}

/* n <= WIDTH lanes: top, sum and slope.  Short loops keep the processor busy
 * where one long chain of operations would make it wait. */
static void block(const struct mixture *m, size_t n, const double *restrict x,
                  double *restrict slope, double *restrict top,
                  double *restrict sum)
{
    double rise[2 * WIDTH], e[2 * WIDTH];

    for (size_t k = 0; k < n; k++) {
        top[k] = start(m, x[k], &slope[k]);
        sum[k] = 1.0;
    }
    for (size_t j = 1; j < m->n_padded; j += 2) {
        for (size_t k = 0; k < n; k++) {
            rise[k] = climb(m, j, x[k], &top[k]);
            rise[n + k] = climb(m, j + 1, x[k], &top[k]);
        }
        for (size_t k = 0; k < 2 * n; k++) {
            e[k] = rmc_exp_down(-fabs(rise[k]));
        }
        for (size_t k = 0; k < n; k++) {
            take_in(m, j, x[k], rise[k], e[k], &sum[k], &slope[k]);
            take_in(m, j + 1, x[k], rise[n + k], e[n + k], &sum[k], &slope[k]);
        }
    }
}

/* The same for one lane. */
static void single(const struct mixture *m, double x, double *slope,
                   double *top, double *sum)
{
    *top = start(m, x, slope);
    *sum = 1.0;
    for (size_t j = 1; j < m->n_padded; j++) {
        const double rise = climb(m, j, x, top), e = rmc_exp_down(-fabs(rise));

        take_in(m, j, x, rise, e, sum, slope);
    }
}

/* What is on the line: top and sum in n <= WIDTH lanes, and the gradient. */
static inline void on_line(const struct mixture *m, size_t n,
                           const double *restrict x, double *restrict grad,
                           double *restrict top, double *restrict sum)
{
    if (n == 1) {
        single(m, *x, grad, top, sum);
    } else {
        block(m, n, x, grad, top, sum);
    }
    for (size_t k = 0; k < n; k++) {
        grad[k] /= sum[k];
    }
}

/* The logarithm is a third of the work. */
static void gradient_alone(const struct mixture *m, const relmc_shape *s,
                           const double *restrict x, double *restrict grad)
{
    const size_t dim = s->dim, ld = s->ld;

    for (size_t first = 0; first < ld; first += WIDTH) {
        const size_t n = ld - first < WIDTH ? ld - first : WIDTH;
        double top[WIDTH], sum[WIDTH];

        on_line(m, n, x + first, grad + first, top, sum);
    }
    for (size_t j = ld; j < dim * ld; j++) {
        grad[j] = -x[j];
    }
}

static int lanes(const void *self, const relmc_shape *s,
                 const double *restrict x, double *restrict lp,
                 double *restrict grad, relmc_error *err)
{
    const size_t dim = s->dim, ld = s->ld;

    (void)err;
    if (!lp) {
        gradient_alone(self, s, x, grad);
        return RELMC_OK;
    }
    for (size_t first = 0; first < ld; first += WIDTH) {
        const size_t n = ld - first < WIDTH ? ld - first : WIDTH;
        double sum[WIDTH];

        on_line(self, n, x + first, grad + first, lp + first, sum);
        for (size_t k = 0; k < n; k++) {
            lp[first + k] = finish(lp[first + k], sum[k]);
        }
    }
    for (size_t i = 1; i < dim; i++) {
        for (size_t k = 0; k < ld; k++) {
            const double y = x[i * ld + k];

            grad[i * ld + k] = -y;
            lp[k] = rmc_fma(-0.5 * y, y, lp[k]);
        }
    }
    return RELMC_OK;
}

static void moments(const void *self, double *mean, double *variance)
{
    const struct mixture *m = self;

    *mean = 0.0;
    *variance = 0.0;
    for (size_t j = 0; j < m->n; j++) {
        *mean += m->share[j] * m->centre[j];
    }
    for (size_t j = 0; j < m->n; j++) {
        const double off = m->centre[j] - *mean;

        *variance += m->share[j] * (m->sd[j] * m->sd[j] + off * off);
    }
    for (size_t i = 1; i < (size_t)m->dim; i++) {
        mean[i] = 0.0;
        variance[i] = 1.0;
    }
}

static void draw(const void *self, relmc_stream *stream, double *x)
{
    const struct mixture *m = self;
    double u = relmc_uniform(stream);
    size_t j = 0;

    while (j + 1 < m->n && u >= m->share[j]) {
        u -= m->share[j];
        j++;
    }
    *x = rmc_fma(m->sd[j], relmc_normal(stream), m->centre[j]);
    for (size_t i = 1; i < (size_t)m->dim; i++) {
        x[i] = relmc_normal(stream);
    }
}

static const relmc_param params[] = {
    {"mean", "means, one or n of at most 64; default [-3,3]", -1e100, 1e100,
     (double)NAN, offsetof(struct mixture, mean), RELMC_VECTOR},
    {"variance", "variances, one or n; default 1", 1e-100, 1e100, (double)NAN,
     offsetof(struct mixture, variance), RELMC_VECTOR},
    {"weight", "weights, n, of any sum; default equal", 1e-100, 1e100,
     (double)NAN, offsetof(struct mixture, weight), RELMC_VECTOR},
    {"dim", "dimension; those beside the line are standard normal", 1, 1e6, 1,
     offsetof(struct mixture, dim), RELMC_INTEGER},
    {0},
};

const relmc_model_ops RMC_ISA(rmc_model_mixture) = {
    .info = {"model", "mixture", "normals on the line, mixed", params},
    .state_size = sizeof(struct mixture),
    .init = init,
    .lanes = lanes,
    .omits_lp = 1,
    .moments = moments,
    .draw = draw,
};

const relmc_model_ops RMC_ISA(rmc_model_gmm1) = {
    .info = {"model", "gmm1", "the paper's mixture, variances 1, 1, 1", NULL},
    .state_size = sizeof(struct mixture),
    .init = init_gmm1,
    .lanes = lanes,
    .omits_lp = 1,
    .moments = moments,
    .draw = draw,
};

const relmc_model_ops RMC_ISA(rmc_model_gmm2) = {
    .info = {"model", "gmm2", "the paper's mixture, variances 2, 0.5, 2", NULL},
    .state_size = sizeof(struct mixture),
    .init = init_gmm2,
    .lanes = lanes,
    .omits_lp = 1,
    .moments = moments,
    .draw = draw,
};

const relmc_model_ops RMC_ISA(rmc_model_gmm3) = {
    .info = {"model", "gmm3", "the paper's mixture, variances 10/3, 0.3, 10/3",
             NULL},
    .state_size = sizeof(struct mixture),
    .init = init_gmm3,
    .lanes = lanes,
    .omits_lp = 1,
    .moments = moments,
    .draw = draw,
};
