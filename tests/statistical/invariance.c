/*
 * invariance.c - every transition leaves the target invariant, whatever the
 * step size.
 *
 * Chains start at exact independent draws of the model and make a few
 * transitions with steps so large that a third of them is rejected.  Every
 * chain gives one point: the points are independent, so that the two-sample
 * test of Kolmogorov and Smirnov against fresh exact draws has an exact level.
 * It looks at every coordinate, at the log density and at the product of the
 * first two coordinates.
 *
 *   invariance        a part of the grid
 *   invariance full   all of it, with more chains
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "support/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIM = 10, MAX_STATS = MAX_DIM + 2, N_PILOT = 1000 };

static const double min_p_value = 1e-6;

/* ---- Kolmogorov and Smirnov ----------------------------------------------- */

/* P(D > d) for two samples, n_eff = n m / (n + m), large. */
static double ks_p_value(double d, double n_eff)
{
    const double root = sqrt(n_eff);
    const double t = (root + 0.12 + 0.11 / root) * d;
    double sum = 0.0;

    if (t < 0.3) {
        return 1.0;
    }
    for (int j = 1; j <= 100; j++) {
        sum += (j % 2 ? 2.0 : -2.0) * exp(-2.0 * j * j * t * t);
    }
    return sum < 0.0 ? 0.0 : sum > 1.0 ? 1.0 : sum;
}

/* Both sorted; ties count as one jump. */
static double ks_distance(const double *a, size_t n, const double *b, size_t m)
{
    double worst = 0.0;
    size_t i = 0, j = 0;

    while (i < n && j < m) {
        const double x = a[i] < b[j] ? a[i] : b[j];

        while (i < n && a[i] <= x) {
            i++;
        }
        while (j < m && b[j] <= x) {
            j++;
        }
        worst =
            fmax(worst, fabs((double)i / (double)n - (double)j / (double)m));
    }
    return worst;
}

static void test_ks__knows_its_distribution(void **unused)
{
    static const double a[] = {1, 2, 3, 4}, b[] = {2.5, 2.6, 3.5, 5};

    (void)unused;
    assert_true(fabs(ks_distance(a, 4, b, 4) - 0.5) < 1e-15);
    /* quantiles of the limit law: 1.3581 at 0.05, 1.9495 at 0.001 */
    assert_true(fabs(ks_p_value(1.3581 / 1000, 1e6) - 0.05) < 1e-4);
    assert_true(fabs(ks_p_value(1.9495 / 1000, 1e6) - 0.001) < 1e-5);
}

/* ---- statistics of points ------------------------------------------------- */

/* stat[j*n + t]: the j-th statistic of the t-th point. */
struct points {
    size_t n, n_stats;
    double *stat;
};

static void points_new(struct points *s, size_t n, size_t dim)
{
    s->n = n;
    s->n_stats = dim + 1 + (dim > 1);
    s->stat = malloc(n * s->n_stats * sizeof *s->stat);
    assert_non_null(s->stat);
}

static void points_set(struct points *s, size_t t, size_t dim, const double *x,
                       double lp)
{
    for (size_t i = 0; i < dim; i++) {
        s->stat[i * s->n + t] = x[i];
    }
    s->stat[dim * s->n + t] = lp;
    if (dim > 1) {
        s->stat[(dim + 1) * s->n + t] = x[0] * x[1];
    }
}

static void points_sort(struct points *s)
{
    for (size_t j = 0; j < s->n_stats; j++) {
        stats_sort(s->stat + j * s->n, s->n);
    }
}

/* ---- models --------------------------------------------------------------- */

struct model {
    const char *spec;
    size_t dim;
    relmc_target *target;
    struct points exact; /* sorted */
};

/* steps: few, so that a wrong end of the trajectory shows. */
static struct model models[] = {
    {.spec = "gaussian:dim=1"},
    {.spec = "gaussian:dim=2,rho=0.8"},
    {.spec = "gaussian:dim=10,rho=0.5,sd=[1,2,3,1,2,3,1,2,3,1]"},
    {.spec = "quartic:dim=1"},
    {.spec = "banana"},
    {.spec = "gmm1"},
    {.spec = "gmm2"},
    {.spec = "gmm3"},
    {.spec = "student:dim=2,nu=3"},
    {.spec = "student:dim=2,nu=5,joint=1"},
    {.spec = "quartic:dim=3"},
    {.spec = "funnel:dim=3"},
};

enum { N_MODELS = sizeof models / sizeof *models };

static void model_open(struct model *m, size_t n_exact)
{
    enum { SEED = 4711 };
    relmc_error err = {0};

    if (relmc_target_open(&m->target, m->spec, &err)) {
        print_error("%s\n", err.message);
        fail();
    }
    m->dim = relmc_target_dim(m->target);
    double *x = malloc(n_exact * m->dim * sizeof *x);
    assert_non_null(x);
    assert_int_equal(relmc_target_draw(m->target, SEED, n_exact, x, NULL),
                     RELMC_OK);
    points_new(&m->exact, n_exact, m->dim);
    for (size_t t = 0; t < n_exact; t++) {
        double lp, grad[MAX_DIM];

        assert_int_equal(
            relmc_target_eval(m->target, x + t * m->dim, &lp, grad, NULL),
            RELMC_OK);
        points_set(&m->exact, t, m->dim, x + t * m->dim, lp);
    }
    points_sort(&m->exact);
    free(x);
}

static void model_close(struct model *m)
{
    relmc_target_destroy(m->target);
    free(m->exact.stat);
}

/* ---- one cell of the grid ------------------------------------------------- */

enum scale { UNIT, DIAGONAL, DENSE, N_SCALES };

static const char *const scale_names[N_SCALES] = {"unit", "diag", "dense"};
static const char *const kinetics[] = {
    "newtonian:m=1.7", "relativistic:m=0.8,c=1.5", "separable:m=1.3,c=2"};
static const char *const integrators[] = {"leapfrog", "mclachlan", "blanes",
                                          "yoshida"};

struct cell {
    struct model *model;
    const char *kinetic, *integrator;
    double persist;
    enum scale scale;
    size_t n; /* chains */
    uint64_t seed;
};

struct watch {
    const struct cell *cell;
    struct points points;
    int64_t last; /* index of the draw that counts */
};

static relmc_status look(void *ctx, const relmc_draw *d)
{
    struct watch *w = ctx;

    if (d->index == w->last) {
        points_set(&w->points, d->chain, w->cell->model->dim, d->x, d->lp);
    }
    return RELMC_OK;
}

/* A diagonal and a dense inverse metric that have nothing to do with the
 * target. */
static void set_scale(relmc_options *o, enum scale scale, size_t dim,
                      double room[MAX_DIM * MAX_DIM])
{
    memset(room, 0, MAX_DIM * MAX_DIM * sizeof *room);
    for (size_t i = 0; i < dim; i++) {
        if (scale == DIAGONAL) {
            room[i] = 0.5 + 0.4 * (double)(i % 4);
        }
        for (size_t j = 0; scale == DENSE && j < dim; j++) {
            const double far = i > j ? (double)(i - j) : (double)(j - i);
            room[i * dim + j] = pow(-0.5, far) * (i == j ? 1.5 : 1.0);
        }
    }
    o->inv_metric = scale == DIAGONAL ? room : NULL;
    o->inv_metric_dense = scale == DENSE ? room : NULL;
}

/* n chains from exact draws; the mean acceptance probability. */
static double transport(const struct cell *c, size_t n, double step_size,
                        struct watch *w)
{
    const size_t dim = c->model->dim;
    relmc_options o = RELMC_OPTIONS_INIT;
    double room[MAX_DIM * MAX_DIM], sum = 0.0;
    double *init = malloc(n * dim * sizeof *init);
    relmc_run *run = NULL;
    relmc_error err = {0};
    char sampler[64];

    assert_non_null(init);
    assert_int_equal(
        relmc_target_draw(c->model->target, c->seed, n, init, NULL), RELMC_OK);
    (void)snprintf(sampler, sizeof sampler, "hmc:steps=4,persist=%g",
                   c->persist);
    o.sampler = sampler;
    o.kinetic = c->kinetic;
    o.integrator = c->integrator;
    o.adapt = "none";
    o.seed = c->seed + 1;
    o.warmup = RELMC_NONE;
    /* the first momentum is fresh: what persists shows later */
    o.draws = c->persist > 0.0 ? 5 : 1;
    o.chains = (uint32_t)n;
    o.lanes = 64;
    o.step_size = step_size;
    o.init = init;
    set_scale(&o, c->scale, dim, room);
    if (relmc_run_create(&run, c->model->target, &o, &err)) {
        print_error("%s\n", err.message);
        fail();
    }
    if (w) {
        w->last = o.draws - 1;
        assert_int_equal(relmc_run_observe(run, look, w, NULL), RELMC_OK);
    }
    assert_int_equal(relmc_run_all(run, NULL), RELMC_OK);
    for (size_t k = 0; k < n; k++) {
        relmc_chain_report r = {.size = sizeof r};

        assert_int_equal(relmc_run_report(run, k, &r, NULL), RELMC_OK);
        sum += r.accept_prob;
    }
    relmc_run_destroy(run);
    free(init);
    return sum / (double)n;
}

/* The step size at which `wanted` of the proposals are accepted. */
static double find_step_size(const struct cell *c, double wanted)
{
    double low = 1e-3, high = 100.0;

    for (int i = 0; i < 10; i++) {
        const double middle = sqrt(low * high);

        if (transport(c, N_PILOT, middle, NULL) > wanted) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void check_cell(const struct cell *c, double wanted)
{
    const double step_size = find_step_size(c, wanted);
    struct watch w = {.cell = c};
    double least = 1.0;
    int is_bad = 0;

    points_new(&w.points, c->n, c->model->dim);
    const double accepted = transport(c, c->n, step_size, &w);
    points_sort(&w.points);
    for (size_t j = 0; j < w.points.n_stats; j++) {
        const struct points *exact = &c->model->exact;
        const double n = (double)c->n, m = (double)exact->n;
        const double d = ks_distance(w.points.stat + j * c->n, c->n,
                                     exact->stat + j * exact->n, exact->n);
        const double p = ks_p_value(d, n * m / (n + m));

        least = fmin(least, p);
        is_bad |= !(p > min_p_value);
        if (!(p > min_p_value)) {
            print_error("statistic %zu: D = %.3g, p = %.3g\n", j, d, p);
        }
    }
    if (is_bad || !(accepted > 0.3 && accepted < 0.95)) {
        print_error("%s %s %s persist=%g %s, step %.3g: acceptance %.3f, "
                    "least p %.3g\n",
                    c->model->spec, c->kinetic, c->integrator, c->persist,
                    scale_names[c->scale], step_size, accepted, least);
        fail();
    }
    free(w.points.stat);
}

/* ---- the grid ------------------------------------------------------------- */

struct grid {
    size_t n, n_exact;
    size_t every, offset; /* a part of the cells */
    size_t n_integrators;
};

static struct grid grid = {40000, 200000, 7, 0, 2};

static void check_grid(double persist, double wanted, uint64_t seed)
{
    size_t number = 0;

    for (size_t m = 0; m < N_MODELS; m++) {
        struct cell c = {.model = &models[m], .persist = persist, .n = grid.n};

        for (size_t k = 0; k < 3; k++) {
            for (size_t i = 0; i < grid.n_integrators; i++) {
                for (int s = 0; s < N_SCALES; s++, number++) {
                    c.kinetic = kinetics[k];
                    c.integrator = integrators[i];
                    c.scale = (enum scale)s;
                    c.seed = seed + 2 * number;
                    if (number % grid.every == grid.offset) {
                        check_cell(&c, wanted);
                    }
                }
            }
        }
    }
}

static void test_hmc__leaves_every_target_invariant(void **unused)
{
    (void)unused;
    check_grid(0.0, 0.67, 1000);
}

static void test_ghmc__leaves_every_target_invariant(void **unused)
{
    (void)unused;
    check_grid(0.7, 0.67, 100000);
}

/* Where half of the proposals are rejected the sign of a kept momentum
 * matters most. */
static void test_ghmc__turns_back_when_it_is_rejected(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < 3; k++) {
        for (size_t m = 0; m <= 3; m += 3) {
            struct cell c = {.model = &models[m],
                             .kinetic = kinetics[k],
                             .integrator = "leapfrog",
                             .persist = 0.9,
                             .scale = UNIT,
                             .n = 2 * grid.n,
                             .seed = 77 + 2 * k};
            check_cell(&c, 0.5);
        }
    }
}

static int open_models(void **unused)
{
    (void)unused;
    for (size_t m = 0; m < N_MODELS; m++) {
        model_open(&models[m], grid.n_exact);
    }
    return 0;
}

static int close_models(void **unused)
{
    (void)unused;
    for (size_t m = 0; m < N_MODELS; m++) {
        model_close(&models[m]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ks__knows_its_distribution),
        cmocka_unit_test(test_hmc__leaves_every_target_invariant),
        cmocka_unit_test(test_ghmc__leaves_every_target_invariant),
        cmocka_unit_test(test_ghmc__turns_back_when_it_is_rejected),
    };

    if (argc > 1 && !strcmp(argv[1], "full")) {
        grid = (struct grid){100000, 400000, 1, 0, 2};
    }
    return cmocka_run_group_tests(tests, open_models, close_models);
}
