/*
 * model.c - gradient, lanes, exact draws and memory of every model, with default
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

int main(void)
{
    enum { N_LAWS = sizeof laws / sizeof *laws };
    static struct CMUnitTest tests[N_LAWS * MAX_SPECS];
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
    return _cmocka_run_group_tests("model", tests, n, NULL, close_subjects);
}
