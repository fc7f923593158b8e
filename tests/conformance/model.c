/*
 * model.c - gradient, lanes, exact draws, moments and names of every model, with default
 * parameters and with the specs below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/spec.h"
#include "component/registry.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "support/check.h"
#include "support/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_DRAWS = 200000,
    BLOCK = 64,
    MAX_DIM = 128,
    MAX_SPECS = 64,
    SPEC_BYTES = 128
};

/* Every option of every model at least once. */
static const char *const extra_specs[] = {
    "gaussian:dim=1",
    "gaussian:dim=9",
    "gaussian:sd=[0.01,1,100],mean=[3,-2,1e3]",
    "gaussian:dim=3,sd=5,mean=-1",
    "gaussian:dim=5,rho=0.9,sd=[1,2,3,4,5],mean=2",
    "gaussian:dim=4,rho=-0.7",
    "gaussian:dim=5,ratio=1e4,sd=3",
    "gaussian:dim=1,ratio=100",
    "gaussian:cov=[2,1,0.5,1,3,-1,0.5,-1,1],mean=[1,0,-1]",
    "gaussian:cov=[1,0.999,0.999,1]",
    "banana:sd=2,bend=0.5,shift=-1",
    "mixture:mean=2,variance=9",
    "mixture:mean=0,variance=[1,100]",
    "mixture:mean=[-4,0,1,7],variance=[1,0.01,2,4],weight=[1,2,3,0.5]",
    "mixture:mean=[-9,-7,-4,-1,0,2,5,6],weight=[1,2,3,4,5,6,7,8]",
    "mixture:dim=3,mean=[-1,1]",
    "funnel:dim=3,sd=0.5",
    "rosenbrock:dim=7,block=2",
    "rosenbrock:dim=6,block=3,mean=0.4,a=50,b=40",
    "student:nu=1,dim=3",
    "student:nu=2,dim=4,joint=1",
    "student:nu=30,dim=3",
    "student:nu=30,dim=3,joint=1",
    "quartic:power=2,dim=1",
    "quartic:power=8,dim=3",
    "quartic:power=64",
    "schools:centred=0",
    "logistic:dim=25,n=1000,effect=0.7",
    "logistic:dim=1,n=7,sd=2,seed=9",
    "volatility:n=1,seed=2",
};

/* Their squares have no variance, or one too large for our number of draws. */
static const char *const heavy_specs[] = {
    "funnel",
    "student",
    "rosenbrock:dim=7,block=2",
};

/* Their density has no largest value. */
static const char *const unbounded_specs[] = {"schools"};

/* Sums of a quantity over draws. */
struct sums {
    double q, q2;
};

/* Sums over the draws, for one coordinate i. */
struct evidence {
    struct sums off;     /* x_i - mean_i */
    struct sums square;  /* (x_i - mean_i)^2 */
    struct sums slope;   /* g_i */
    struct sums virial;  /* x_i g_i */
    struct sums crossed; /* x_j g_i, j being the next coordinate */
    struct sums tied;    /* h(x_j) (x_i g_i + 1), h(x) = x^2 / (1 + x^2) */
};

struct subject {
    char spec[SPEC_BYTES];
    relmc_arena arena;
    const relmc_model_ops *ops[RMC_N_ISA];
    void *self;
    size_t dim;
    relmc_rows rows;           /* all of a model with rows */
    struct evidence *evidence; /* dim; made at first use */
};

static struct subject subjects[MAX_SPECS];
static size_t n_subjects;

/* ---- subjects ------------------------------------------------------------ */

static void open_subject(const char *spec)
{
    struct subject *m = &subjects[n_subjects];
    relmc_size size = {0};

    assert_true(n_subjects++ < MAX_SPECS);
    (void)snprintf(m->spec, sizeof m->spec, "%s", spec);
    for (int isa = 0; isa <= rmc_isa_best(); isa++) {
        const relmc_info *info;

        assert_int_equal(rmc_component_find(&info, "model", spec, isa, NULL),
                         RELMC_OK);
        m->ops[isa] = (const relmc_model_ops *)(const void *)info;
    }
    m->self = relmc_arena_get(&m->arena, m->ops[0]->state_size);
    assert_int_equal(
        rmc_spec_parse(spec, &m->ops[0]->info, m->self, &m->arena, NULL),
        RELMC_OK);
    assert_int_equal(m->ops[0]->init(m->self, &m->arena, &size, NULL),
                     RELMC_OK);
    m->dim = size.dim;
    m->rows = (relmc_rows){NULL, size.n_data, 1.0,
                           relmc_arena_get(&m->arena, size.scratch + 1)};
}

static int evaluate(const struct subject *m, int isa, size_t n, size_t ld,
                    const double *x, double *grad, double *lp)
{
    const relmc_shape shape = {m->dim, n, ld};

    return m->ops[isa]->lanes
               ? m->ops[isa]->lanes(m->self, &shape, x, lp, grad, NULL)
               : m->ops[isa]->rows(m->self, &shape, x, &m->rows, lp, grad,
                                   NULL);
}

static int open_subjects(void **state)
{
    const relmc_info *info;

    (void)state;
    for (size_t i = 0; (info = rmc_component_info("model", i)); i++) {
        open_subject(info->name);
    }
    for (size_t i = 0; i < sizeof extra_specs / sizeof *extra_specs; i++) {
        open_subject(extra_specs[i]);
    }
    return 0;
}

static int close_subjects(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_subjects; i++) {
        rmc_arena_release(&subjects[i].arena);
    }
    return 0;
}

static int is_among(const struct subject *m, const char *const *specs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(specs[i], m->spec)) {
            return 1;
        }
    }
    return 0;
}

static int is_heavy(const struct subject *m)
{
    return is_among(m, heavy_specs, sizeof heavy_specs / sizeof *heavy_specs);
}

static int is_unbounded(const struct subject *m)
{
    return is_among(m, unbounded_specs,
                    sizeof unbounded_specs / sizeof *unbounded_specs);
}

/* An exact draw, or a point around 0 of a model that has none. */
static void draw_point(const struct subject *m, relmc_stream *stream, double *x)
{
    if (m->ops[0]->draw) {
        m->ops[0]->draw(m->self, stream, x);
        return;
    }
    for (size_t i = 0; i < m->dim; i++) {
        x[i] = relmc_normal(stream);
    }
}

static double lp_at(const relmc_target *target, const double *x)
{
    double lp, grad[MAX_DIM];

    assert_true(relmc_target_dim(target) <= MAX_DIM);
    assert_int_equal(relmc_target_eval(target, 1, x, &lp, grad, NULL),
                     RELMC_OK);
    return lp;
}

/* n draws as a block: x[i*ld + k] */
static void fill_with_draws(const struct subject *m, relmc_stream *stream,
                            size_t n, size_t ld, double *x)
{
    double row[MAX_DIM];

    assert_true(m->dim <= MAX_DIM);
    for (size_t k = 0; k < n; k++) {
        m->ops[0]->draw(m->self, stream, row);
        for (size_t i = 0; i < m->dim; i++) {
            x[i * ld + k] = row[i];
        }
    }
}

/* ---- the gradient -------------------------------------------------------- */

static void test_model__gradient_is_that_of_the_density(void **state)
{
    const struct subject *m = *state;
    relmc_target *target = target_of(m->spec);
    relmc_stream stream = {.seed = 11};
    double x[MAX_DIM];

    for (int n = 0; n < 40; n++) {
        relmc_gradient_report report = RELMC_INIT(relmc_gradient_report);

        draw_point(m, &stream, x);
        assert_int_equal(relmc_gradient_check(&report, target, x, NULL),
                         RELMC_OK);
        if (!report.is_ok) {
            fail_msg("%s: d lp / dx.%zu at %.17g is %.17g, said %.17g", m->spec,
                     report.worst + 1, x[report.worst], report.numeric,
                     report.analytic);
        }
    }
    relmc_target_destroy(target);
}

/* ---- lanes --------------------------------------------------------------- */

/* The lanes of a block equal the same points one at a time. */
static void compare_lanes(const struct subject *m, int isa, size_t n,
                          const double *points)
{
    const size_t ld = rmc_leading(n), bytes = m->dim * ld * sizeof(double);
    double *x = calloc(1, bytes), *grad = calloc(1, bytes);
    double *lp = calloc(ld, sizeof *lp);

    assert_true(x && grad && lp);
    for (size_t i = 0; i < m->dim; i++) {
        for (size_t k = 0; k < n; k++) {
            x[i * ld + k] = points[k * m->dim + i];
        }
    }
    assert_int_equal(evaluate(m, isa, n, ld, x, grad, lp), RELMC_OK);
    for (size_t k = 0; k < n; k++) {
        double one_lp, one[MAX_DIM];

        assert_int_equal(
            evaluate(m, 0, 1, 1, points + k * m->dim, one, &one_lp), RELMC_OK);
        assert_memory_equal(&one_lp, &lp[k], sizeof one_lp);
        for (size_t i = 0; i < m->dim; i++) {
            assert_memory_equal(&one[i], &grad[i * ld + k], sizeof one[i]);
        }
    }
    if (m->ops[isa]->omits_lp) { /* the same without the density */
        double *alone = calloc(1, bytes);

        assert_non_null(alone);
        assert_int_equal(evaluate(m, isa, n, ld, x, alone, NULL), RELMC_OK);
        for (size_t i = 0; i < m->dim; i++) {
            assert_memory_equal(alone + i * ld, grad + i * ld,
                                n * sizeof *grad);
        }
        free(alone);
    }
    free(x);
    free(grad);
    free(lp);
}

static void test_model__lanes_and_code_paths_give_the_same_bits(void **state)
{
    static const size_t n_lanes[] = {1, 3, 8, 13, 64, 100};
    const struct subject *m = *state;
    relmc_stream stream = {.seed = 12};
    double *points = calloc(100 * m->dim, sizeof *points);

    assert_non_null(points);
    for (size_t k = 0; k < 100; k++) {
        draw_point(m, &stream, points + k * m->dim);
        if (k % 10 == 9) { /* some far out */
            points[k * m->dim] *= 1e4;
        }
    }
    for (size_t j = 0; j < sizeof n_lanes / sizeof *n_lanes; j++) {
        for (int isa = 0; isa <= rmc_isa_best(); isa++) {
            compare_lanes(m, isa, n_lanes[j], points);
        }
    }
    free(points);
}

static void test_model__far_out_is_a_number(void **state)
{
    static const double far[] = {1e8, -1e8, 1e100, -1e100, 1e200, -1e200};
    const struct subject *m = *state;

    for (size_t j = 0; j < sizeof far / sizeof *far; j++) {
        for (size_t i = 0; i <= m->dim; i++) { /* one of them, or all */
            double x[MAX_DIM] = {0}, grad[MAX_DIM], lp;

            for (size_t l = 0; l < m->dim; l++) {
                x[l] = l == i || i == m->dim ? far[j] : 0.0;
            }
            assert_int_equal(evaluate(m, 0, 1, 1, x, grad, &lp), RELMC_OK);
            /* NaN is not */
            assert_true(lp < (is_unbounded(m) ? HUGE_VAL : 1e3));
        }
    }
}

/* ---- draws --------------------------------------------------------------- */

static void add(struct sums *s, double q)
{
    s->q += q;
    s->q2 += q * q;
}

/* All sums, in one pass over the draws. */
static const struct evidence *evidence_of(struct subject *m)
{
    const size_t dim = m->dim;
    const relmc_model_ops *ops = m->ops[rmc_isa_best()];
    relmc_stream stream = {.seed = 13, .purpose = RELMC_FOR_MODEL};
    static double x[MAX_DIM * BLOCK], grad[MAX_DIM * BLOCK], lp[BLOCK];
    double mean[MAX_DIM], variance[MAX_DIM];

    if (m->evidence) {
        return m->evidence;
    }
    m->evidence = relmc_arena_get(&m->arena, dim * sizeof *m->evidence);
    assert_non_null(m->evidence);
    memset(mean, 0, sizeof mean);
    if (ops->moments) {
        ops->moments(m->self, mean, variance);
    }
    for (size_t t = 0; t < N_DRAWS; t += BLOCK) {
        fill_with_draws(m, &stream, BLOCK, BLOCK, x);
        assert_int_equal(evaluate(m, rmc_isa_best(), BLOCK, BLOCK, x, grad, lp),
                         RELMC_OK);
        for (size_t j = 0; j < dim * BLOCK; j++) {
            const size_t i = j / BLOCK, next = (i + 1) % dim;
            struct evidence *e = &m->evidence[i];
            const double off = x[j] - mean[i], y = x[next * BLOCK + j % BLOCK];
            const double virial = x[j] * grad[j];

            add(&e->off, off);
            add(&e->square, off * off);
            add(&e->slope, grad[j]);
            add(&e->virial, virial);
            add(&e->crossed, y * grad[j]);
            add(&e->tied, y * y / (1.0 + y * y) * (virial + 1.0));
        }
    }
    return m->evidence;
}

static double mean_of(const struct sums *s)
{
    return s->q / N_DRAWS;
}

static double error_of(const struct sums *s)
{
    const double mean = mean_of(s);

    return sqrt((s->q2 / N_DRAWS - mean * mean) / N_DRAWS);
}

static void test_model__draws_have_the_declared_moments(void **state)
{
    struct subject *m = *state;
    double mean[MAX_DIM], variance[MAX_DIM];

    if (!m->ops[0]->draw || !m->ops[0]->moments) {
        return;
    }
    const struct evidence *e = evidence_of(m);
    m->ops[0]->moments(m->self, mean, variance);
    for (size_t i = 0; i < m->dim; i++) {
        if (!isnan(mean[i])) {
            check_zscore(mean_of(&e[i].off), 0.0, error_of(&e[i].off), 4.5);
        }
        if (!isnan(variance[i]) && !is_heavy(m)) {
            check_zscore(mean_of(&e[i].square), variance[i],
                         error_of(&e[i].square), 4.5);
        }
    }
}

/* [stein]  E f(x) g_i = -E df/dx_i for every f: the draws and the gradient are
 * of the same distribution.  Here f is 1, x_i, x_j and x_i h(x_j). */
static void test_model__draws_are_those_of_the_density(void **state)
{
    struct subject *m = *state;

    if (!m->ops[0]->draw) {
        return;
    }
    const struct evidence *e = evidence_of(m);
    for (size_t i = 0; i < m->dim; i++) {
        check_zscore(mean_of(&e[i].slope), 0.0, error_of(&e[i].slope), 4.5);
        check_zscore(mean_of(&e[i].virial), -1.0, error_of(&e[i].virial), 4.5);
        if (m->dim > 1) {
            check_zscore(mean_of(&e[i].crossed), 0.0, error_of(&e[i].crossed),
                         4.5);
            check_zscore(mean_of(&e[i].tied), 0.0, error_of(&e[i].tied), 4.5);
        }
    }
}

/* ---- memory -------------------------------------------------------------- */

struct scarce {
    int left, taken;
};

static void *acquire(void *ctx, size_t bytes)
{
    struct scarce *s = ctx;

    if (s->left-- <= 0) {
        return NULL;
    }
    s->taken++;
    return aligned_alloc(64, bytes);
}

static void release(void *ctx, void *block, size_t bytes)
{
    (void)bytes;
    ((struct scarce *)ctx)->taken--;
    free(block);
}

static relmc_status build(const struct subject *m, relmc_arena *arena,
                          relmc_error *err)
{
    const relmc_model_ops *ops = m->ops[0];
    void *self = relmc_arena_get(arena, ops->state_size);
    relmc_size size = {0};
    relmc_status status = relmc_arena_check(arena, err);

    if (!status) {
        status = rmc_spec_parse(m->spec, &ops->info, self, arena, err);
    }
    return status ? status : ops->init(self, arena, &size, err);
}

static void test_model__survives_failure_of_every_allocation(void **state)
{
    const struct subject *m = *state;
    relmc_status status = RELMC_ENOMEM;

    for (int n = 0; status; n++) {
        struct scarce scarce = {.left = n};
        relmc_arena arena = {.memory = {acquire, release, &scarce}};
        relmc_error err = {0};

        status = build(m, &arena, &err);
        assert_true(status == RELMC_OK || status == RELMC_ENOMEM);
        assert_int_equal(err.status, status);
        rmc_arena_release(&arena);
        assert_int_equal(scarce.taken, 0);
    }
}

/* ---- the densities as their formulas give them --------------------------- */

static double sum_of_squares(const double *x, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sum;
}

static double lp_gaussian(const double *x)
{
    return -0.5 * sum_of_squares(x, 2);
}

/* precision of the inverse of [2 1; 1 3] */
static double lp_covariance(const double *x)
{
    return -0.5 * (3 * x[0] * x[0] - 2 * x[0] * x[1] + 2 * x[1] * x[1]) / 5;
}

static double lp_chain(const double *x)
{
    const double y[3] = {x[0] / 2, x[1] / 2, x[2] / 2}, rho = 0.6;
    const double a = y[1] - rho * y[0], b = y[2] - rho * y[1];

    return -0.5 * (y[0] * y[0] + (a * a + b * b) / (1 - rho * rho));
}

static double lp_banana(const double *x)
{
    const double r = x[1] + 0.1 * x[0] * x[0] - 10;

    return -0.5 * (0.01 * x[0] * x[0] + r * r);
}

static double lp_gmm(double x, double s2)
{
    const double pi = 3.14159265358979323846;
    const double a = exp(-0.5 * (x + 5) * (x + 5) * s2) * sqrt(s2);
    const double b = exp(-0.5 * x * x / s2) / sqrt(s2);
    const double c = exp(-0.5 * (x - 5) * (x - 5) * s2) * sqrt(s2);

    return log((a + b + c) / (3 * sqrt(2 * pi)));
}

static double lp_gmm1(const double *x)
{
    return lp_gmm(x[0], 1.0);
}

static double lp_gmm2(const double *x)
{
    return lp_gmm(x[0], 0.5);
}

static double lp_gmm3(const double *x)
{
    return lp_gmm(x[0], 0.3);
}

static double lp_funnel(const double *x)
{
    return -x[0] * x[0] / 18 - 4.5 * x[0] -
           0.5 * exp(-x[0]) * sum_of_squares(x + 1, 9);
}

static double lp_rosenbrock(const double *x)
{
    return -pow(x[0] - 1, 2) / 20 - 5 * pow(x[1] - x[0] * x[0], 2);
}

static double lp_hybrid(const double *x)
{
    return lp_rosenbrock(x) -
           5 * (pow(x[2] - x[1] * x[1], 2) + pow(x[3] - x[0] * x[0], 2) +
                pow(x[4] - x[3] * x[3], 2));
}

static double lp_student(const double *x)
{
    return -3 * (log(1 + x[0] * x[0] / 5) + log(1 + x[1] * x[1] / 5));
}

static double lp_joint(const double *x)
{
    return -0.5 * (2 + 4) * log(1 + sum_of_squares(x, 4) / 2);
}

static double lp_quartic(const double *x)
{
    return -pow(x[0], 4) - pow(x[1], 4);
}

static double lp_power(const double *x)
{
    return -pow(x[0], 8) - pow(x[1], 8) - pow(x[2], 8);
}

static double lp_ratio(const double *x)
{
    return -0.5 * (pow(x[0] / 0.1, 2) + x[1] * x[1] + pow(x[2] / 10, 2));
}

static double lp_two_hills(const double *x)
{
    return log(exp(-0.5 * pow(x[0] - 3, 2)) + exp(-0.5 * pow(x[0] + 3, 2))) -
           log(2 * sqrt(2 * acos(-1.0))) - 0.5 * x[1] * x[1];
}

/* y and sigma of the eight schools */
static const double school[2][8] = {{28, 8, -3, 7, -1, 1, 18, 12},
                                    {15, 10, 16, 11, 9, 11, 10, 18}};

static double lp_schools_at(const double *x, const double *theta)
{
    double lp = -x[0] * x[0] / 50 - log(1 + exp(2 * x[1]) / 25) + x[1];

    for (size_t j = 0; j < 8; j++) {
        lp -= 0.5 * pow((theta[j] - school[0][j]) / school[1][j], 2);
    }
    return lp;
}

static double lp_schools(const double *x)
{
    double lp = lp_schools_at(x, x + 2);

    for (size_t j = 0; j < 8; j++) {
        lp -= 0.5 * pow((x[j + 2] - x[0]) / exp(x[1]), 2) + x[1];
    }
    return lp;
}

static double lp_not_centred(const double *x)
{
    double theta[8];

    for (size_t j = 0; j < 8; j++) {
        theta[j] = x[0] + exp(x[1]) * x[j + 2];
    }
    return lp_schools_at(x, theta) - 0.5 * sum_of_squares(x + 2, 8);
}

/* The stream of made-up data. */
static relmc_stream data_stream(uint64_t seed)
{
    return (relmc_stream){
        .seed = seed, .chain = UINT32_MAX, .purpose = RELMC_FOR_MODEL};
}

/* dim=3, n=40, sd=2, effect=0.5, seed=7 */
static double lp_logistic(const double *x)
{
    static const double unit[3] = {1, 1.0 / 3, 1};
    relmc_stream stream = data_stream(7);
    double truth[3], lp = -sum_of_squares(x, 3) / 8;

    for (size_t i = 0; i < 3; i++) {
        truth[i] = 0.5 * relmc_normal(&stream) / unit[i];
    }
    for (size_t r = 0; r < 40; r++) {
        const double common = relmc_normal(&stream);
        double z = 0.0, z_truth = 0.0;

        for (size_t i = 0; i < 3; i++) {
            const double own = relmc_normal(&stream);
            const double a = i ? unit[i] * (0.6 * common + 0.8 * own) : 1.0;

            z += a * x[i];
            z_truth += a * truth[i];
        }
        const int is_one = relmc_uniform(&stream) < 1 / (1 + exp(-z_truth));
        lp += log(1 / (1 + exp(is_one ? -z : z)));
    }
    return lp;
}

/* log N(x; mean, variance) without log(2 pi)/2 */
static double log_normal(double x, double mean, double variance)
{
    return -0.5 * ((x - mean) * (x - mean) / variance + log(variance));
}

/* n=5, seed=3; up to a constant, which is that of mu ~ N(0, 25) */
static double lp_volatility(const double *x)
{
    relmc_stream stream = data_stream(3);
    const double mu = x[0], phi = tanh(x[1]), sigma2 = exp(2 * x[2]);
    const double *h = x + 3;
    double lp = log_normal(mu, 0, 25) + 0.5 * log(25) +
                log_normal(x[1], 1.5, 1) + log(1 - phi * phi) +
                log_normal(x[2], -1.5, 1);
    double hidden = 0.2 / sqrt(1 - 0.95 * 0.95) * relmc_normal(&stream);

    for (size_t t = 0; t < 5; t++) {
        const double y = exp(0.5 * (hidden - 1)) * relmc_normal(&stream);

        lp += log_normal(y, 0, exp(h[t]));
        lp += t == 0 ? log_normal(h[0], mu, sigma2 / (1 - phi * phi))
                     : log_normal(h[t], mu + phi * (h[t - 1] - mu), sigma2);
        hidden = 0.95 * hidden + 0.2 * relmc_normal(&stream);
    }
    return lp;
}

static void test_model__densities_are_the_printed_ones(void **state)
{
    static const struct {
        const char *spec;
        double (*lp)(const double *x);
    } printed[] = {
        {"gaussian", lp_gaussian},
        {"gaussian:cov=[2,1,1,3]", lp_covariance},
        {"gaussian:dim=3,sd=2,rho=0.6", lp_chain},
        {"banana", lp_banana},
        {"gmm1", lp_gmm1},
        {"gmm2", lp_gmm2},
        {"gmm3", lp_gmm3},
        {"funnel", lp_funnel},
        {"rosenbrock", lp_rosenbrock},
        {"rosenbrock:dim=5,block=2", lp_hybrid},
        {"student", lp_student},
        {"student:nu=2,dim=4,joint=1", lp_joint},
        {"quartic", lp_quartic},
        {"quartic:dim=3,power=8", lp_power},
        {"gaussian:dim=3,ratio=100", lp_ratio},
        {"mixture:dim=2", lp_two_hills},
        {"schools", lp_schools},
        {"schools:centred=0", lp_not_centred},
        {"logistic:n=40,sd=2,effect=0.5,seed=7", lp_logistic},
        {"volatility:n=5,seed=3", lp_volatility},
    };

    (void)state;
    for (size_t j = 0; j < sizeof printed / sizeof *printed; j++) {
        relmc_target *target = target_of(printed[j].spec);
        relmc_stream stream = {.seed = 14};
        double x[MAX_DIM];

        for (int n = 0; n < 50; n++) {
            for (size_t i = 0; i < relmc_target_dim(target); i++) {
                x[i] = 2.0 * relmc_normal(&stream);
            }
            check_close(lp_at(target, x), printed[j].lp(x), 1e-12);
        }
        relmc_target_destroy(target);
    }
}

static void test_model__mixtures_are_normalised(void **state)
{
    static const char *const specs[] = {
        "gmm1", "gmm2", "gmm3", "mixture",
        "mixture:mean=[-4,0,1,7],variance=[1,0.5,2,4],weight=[1,2,3,0.5]"};

    (void)state;
    for (size_t j = 0; j < sizeof specs / sizeof *specs; j++) {
        relmc_target *target = target_of(specs[j]);
        const double h = 0.01;
        double sum = 0.0;

        for (double x = -40.0; x < 40.0; x += h) {
            sum += h * exp(lp_at(target, &x));
        }
        check_near(sum, 1.0, 1e-12);
        relmc_target_destroy(target);
    }
}

/* Far out one component dominates: lp and gradient are those of that component. */
static void test_model__mixture_is_right_in_the_tails(void **state)
{
    static const double at[] = {60, 1e3, 1e8, 1e150};
    relmc_target *target = target_of("gmm3");
    const double v = 1 / 0.3, pi = 3.14159265358979323846;

    (void)state;
    for (int j = 0; j < 8; j++) {
        const double x = j % 2 ? -at[j / 2] : at[j / 2];
        const double r = x - (x > 0.0 ? 5.0 : -5.0);
        double lp, grad;

        assert_int_equal(relmc_target_eval(target, 1, &x, &lp, &grad, NULL),
                         RELMC_OK);
        check_close(lp, -0.5 * r * r / v - log(3 * sqrt(2 * pi * v)), 1e-14);
        check_close(grad, -r / v, 1e-14);
    }
    relmc_target_destroy(target);
}

/* ---- moments in closed form ---------------------------------------------- */

static void check_moments(const char *spec, size_t i, double mean,
                          double variance)
{
    relmc_target *target = target_of(spec);
    double means[MAX_DIM], variances[MAX_DIM];

    assert_true(i < relmc_target_dim(target));
    assert_int_equal(relmc_target_moments(target, means, variances, NULL),
                     RELMC_OK);
    if (isnan(mean)) {
        assert_true(isnan(means[i]));
    } else {
        check_near(means[i], mean, 1e-14 * fabs(mean));
    }
    if (isnan(variance)) {
        assert_true(isnan(variances[i]));
    } else {
        check_close(variances[i], variance, 2e-15);
    }
    relmc_target_destroy(target);
}

static void test_model__moments_are_the_closed_forms(void **state)
{
    const double unknown = (double)NAN;
    char spec[SPEC_BYTES];

    (void)state;
    check_moments("gaussian:cov=[2,1,1,3],mean=[5,6]", 1, 6, 3);
    check_moments("gaussian:sd=[2,3],rho=0.5", 1, 0, 9);
    check_moments("gaussian:dim=3,ratio=16", 2, 0, 16);
    check_moments("mixture:dim=2", 0, 0, 10);
    check_moments("mixture:dim=2", 1, 0, 1);
    check_moments("banana", 1, 0, 201);
    check_moments("gmm1", 0, 0, 1 + 50.0 / 3);
    check_moments("gmm3", 0, 0, (2 / 0.3 + 0.3 + 50) / 3);
    check_moments("mixture:mean=[0,4],weight=[3,1]", 0, 1, 1 + 3);
    check_moments("funnel", 0, 0, 9);
    check_moments("funnel", 9, 0, exp(4.5));
    check_moments("rosenbrock", 0, 1, 10);
    check_moments("rosenbrock", 1, 11, 240.1);
    check_moments("rosenbrock:dim=7,block=2", 5, 11, 240.1);
    check_moments("rosenbrock:dim=5", 4, unknown, unknown);
    check_moments("student:nu=4", 1, 0, 2);
    check_moments("student:nu=2", 1, 0, unknown);
    check_moments("student:nu=1,joint=1", 1, unknown, unknown);
    for (int q = 2; q <= 64; q += 2) {
        (void)snprintf(spec, sizeof spec, "quartic:power=%d", q);
        check_moments(spec, 1, 0, tgamma(3.0 / q) / tgamma(1.0 / q));
    }
}

/* ---- names and specs ----------------------------------------------------- */

static void test_model__funnel_names_its_scale(void **state)
{
    const relmc_info *info;
    char name[16];

    (void)state;
    assert_int_equal(
        rmc_component_find(&info, "model", "funnel", RMC_BASELINE, NULL),
        RELMC_OK);
    const relmc_model_ops *ops = (const relmc_model_ops *)(const void *)info;
    ops->coordinate_name(NULL, 0, name, sizeof name);
    assert_string_equal(name, "v");
    ops->coordinate_name(NULL, 9, name, sizeof name);
    assert_string_equal(name, "x.9");
    ops->coordinate_name(NULL, 1000, name, 4);
    assert_string_equal(name, "x.1");
}

static void test_model__mixture_takes_64_components_and_no_more(void **state)
{
    char spec[512] = "mixture:mean=[0";
    relmc_target *target = NULL;
    relmc_error err = {0};

    (void)state;
    for (int n = 1; n < 64; n++) {
        (void)snprintf(spec + strlen(spec), 8, ",%d", n % 7);
    }
    relmc_target_destroy(target_of(strcat(spec, "]")));
    (void)snprintf(spec + strlen(spec) - 1, 8, ",9]");
    assert_int_equal(relmc_target_open(&target, spec, NULL, &err),
                     RELMC_EINVAL);
    assert_string_equal(err.message, "mixture: at most 64 components, got 65");
}

static void test_model__bad_specs_are_refused_in_one_line(void **state)
{
    static const struct {
        const char *spec, *message;
    } bad[] = {
        {"gaussian:cov=[1,2,3]", "gaussian: cov needs dim*dim values, got 3"},
        {"gaussian:dim=3,cov=[1,0,0,1]",
         "gaussian: cov needs dim*dim values, got 4"},
        {"gaussian:cov=[1,0,0,1],sd=2",
         "gaussian: give cov, or sd, ratio and rho, not both"},
        {"gaussian:cov=[1,0,0,1],rho=0.5",
         "gaussian: give cov, or sd, ratio and rho, not both"},
        {"gaussian:cov=[1,2,2,1]",
         "gaussian: cov is not positive definite: row 2"},
        {"gaussian:cov=[-1,0,0,1]",
         "gaussian: cov is not positive definite: row 1"},
        {"gaussian:cov=[1,0.5,0.4,1]",
         "gaussian: cov is not symmetric: row 2, column 1 is 0.4, and the "
         "other way 0.5"},
        {"gaussian:dim=3,sd=[1,2]", "gaussian: sd needs 1 or 3 values, got 2"},
        {"gaussian:sd=[1,2],mean=[1,2,3]",
         "gaussian: mean needs 1 or 2 values, got 3"},
        {"gaussian:rho=1", "gaussian: rho must be inside (-1, 1), not 1"},
        {"gaussian:rho=-1", "gaussian: rho must be inside (-1, 1), not -1"},
        {"mixture:mean=[1,2],weight=[1,2,3]",
         "mixture: mean needs 1 or 3 values, got 2"},
        {"rosenbrock:dim=3,block=3",
         "rosenbrock: block must be at most dim - 1 = 2, not 3"},
        {"quartic:power=3", "quartic: power must be even, not 3"},
        {"gaussian:dim=0", "gaussian: dim must be in [1, 1e+06], not 0"},
        {"funnel:sd=-1", "funnel: sd must be in [1e-06, 35], not -1"},
        {"student:nu=0", "student: nu must be in [0.5, 1e+06], not 0"},
        {"banana:sd=0", "banana: sd must be in [1e-50, 1e+50], not 0"},
    };

    (void)state;
    for (size_t j = 0; j < sizeof bad / sizeof *bad; j++) {
        relmc_target *target = NULL;
        relmc_error err = {0};

        assert_int_equal(relmc_target_open(&target, bad[j].spec, NULL, &err),
                         RELMC_EINVAL);
        assert_null(target);
        assert_string_equal(err.message, bad[j].message);
    }
}

/* ---- every law for every subject ----------------------------------------- */

#define LAW(test)   \
    {               \
#test, test \
    }

static const struct law {
    const char *name;
    CMUnitTestFunction run;
} laws[] = {
    LAW(test_model__gradient_is_that_of_the_density),
    LAW(test_model__lanes_and_code_paths_give_the_same_bits),
    LAW(test_model__far_out_is_a_number),
    LAW(test_model__draws_have_the_declared_moments),
    LAW(test_model__draws_are_those_of_the_density),
    LAW(test_model__survives_failure_of_every_allocation),
};

static const struct CMUnitTest others[] = {
    cmocka_unit_test(test_model__densities_are_the_printed_ones),
    cmocka_unit_test(test_model__mixtures_are_normalised),
    cmocka_unit_test(test_model__mixture_is_right_in_the_tails),
    cmocka_unit_test(test_model__moments_are_the_closed_forms),
    cmocka_unit_test(test_model__funnel_names_its_scale),
    cmocka_unit_test(test_model__mixture_takes_64_components_and_no_more),
    cmocka_unit_test(test_model__bad_specs_are_refused_in_one_line),
};

int main(void)
{
    enum {
        N_LAWS = sizeof laws / sizeof *laws,
        N_OTHERS = sizeof others / sizeof *others
    };
    static struct CMUnitTest tests[N_LAWS * MAX_SPECS + N_OTHERS];
    static char names[N_LAWS * MAX_SPECS][64 + SPEC_BYTES];
    size_t n = 0;

    (void)open_subjects(NULL);
    for (size_t l = 0; l < N_LAWS; l++) {
        for (size_t j = 0; j < n_subjects; j++, n++) {
            (void)snprintf(names[n], sizeof names[n], "%.60s (%.120s)",
                           laws[l].name, subjects[j].spec);
            tests[n] = (struct CMUnitTest){.name = names[n],
                                           .test_func = laws[l].run,
                                           .initial_state = &subjects[j]};
        }
    }
    memcpy(tests + n, others, sizeof others);
    return _cmocka_run_group_tests("model", tests, n + N_OTHERS, NULL,
                                   close_subjects);
}
