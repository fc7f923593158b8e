/*
 * optimiser.c - every optimiser finds the minimum of a quadratic and of a logistic
 * regression, comes close to it with minibatches, makes the same steps for any lanes and
 * any length of a transition, and survives points without density or with gradients that
 * are not numbers.  property/allocation.c tests that it takes no memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "component/registry.h"
#include "relmc_ext.h"
#include "support/callback.h"
#include "support/check.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 3, N_ROWS = 200, SPEC_BYTES = 200, CHAINS = 8 };

/* ---- which, and with what ---------------------------------------------------
 * Learning rates that suit problems of size 1 in a few thousand steps; others
 * get their defaults. */

static const struct {
    const char *name, *parameters;
} usual[] = {
    {"momentum", "lr=0.05"},
    {"nesterov", "lr=0.05"},
    {"adam", "lr=0.05"},
    {"adamw", "lr=0.05,decay=0"},
    {"rmsprop", "lr=0.05"},
    {"adagrad", "lr=0.5"},
    {"santa", "lr=0.01,beta=100,gamma=1"},
    {"santa_sgd", "lr=0.01"},
    {"sgd", "lr=0.05,momentum=0.9,max_step=0.1"},
};

static const char *parameters_of(const char *name)
{
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (!strcmp(usual[i].name, name)) {
            return usual[i].parameters;
        }
    }
    fail_msg("%s: give it parameters in the table above", name);
    return NULL;
}

static int is_optimiser(const relmc_info *info)
{
    const relmc_sampler_ops *ops =
        (const relmc_sampler_ops *)(const void *)info;

    return (ops->flags & RELMC_OPTIMISES) != 0;
}

typedef void (*check_fn)(const char *name);

static void for_each(check_fn check)
{
    const relmc_info *info;
    size_t n = 0;

    for (size_t i = 0; (info = rmc_component_info("sampler", i)); i++) {
        if (is_optimiser(info)) {
            check(info->name);
            n++;
        }
    }
    assert_true(n >= 8);
}

/* ---- targets ---------------------------------------------------------------- */

static const double curvature[DIM] = {1.0, 5.0, 0.2};
static const double centre[DIM] = {0.3, -1.0, 0.7};

enum fault { NONE, NAN_GRADIENT, NO_DENSITY };

struct bowl {
    enum fault fault;
    _Atomic int n_calls, n_faults;
};

/* Every seventh evaluation fails, after those that look for a start. */
static int bowl_lp(size_t dim, const double *x, double *grad, double *lp,
                   void *ctx)
{
    struct bowl *bowl = ctx;
    const int is_bad = bowl->fault && ++bowl->n_calls % 7 == 0;

    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        grad[i] = -curvature[i] * (x[i] - centre[i]);
        *lp += 0.5 * grad[i] * (x[i] - centre[i]);
    }
    bowl->n_faults += is_bad;
    if (is_bad && bowl->fault == NAN_GRADIENT) {
        grad[1] = (double)NAN;
    }
    return is_bad && bowl->fault == NO_DENSITY ? RELMC_REJECT : RELMC_OK;
}

static double rows[N_ROWS][DIM], labels[N_ROWS], mode[DIM];

static int logistic_lp(size_t dim, const double *x, const uint32_t *row,
                       size_t n, double scale, double *grad, double *lp,
                       void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        grad[i] = -0.1 * x[i];
        *lp -= 0.05 * x[i] * x[i];
    }
    for (size_t j = 0; j < n; j++) {
        const double *a = rows[row[j]];
        const double eta = a[0] * x[0] + a[1] * x[1] + a[2] * x[2];
        const double y = labels[row[j]];

        *lp -= scale * log1p(exp(y > 0.5 ? -eta : eta));
        for (size_t i = 0; i < dim; i++) {
            grad[i] += scale * (y - 1.0 / (1.0 + exp(-eta))) * a[i];
        }
    }
    return RELMC_OK;
}

/* Solves 3 linear equations; the matrix is positive definite. */
static void solve(double a[DIM][DIM], double *b)
{
    for (size_t i = 0; i < DIM; i++) {
        for (size_t j = 0; j < DIM; j++) {
            const double f = a[j][i] / a[i][i];

            for (size_t k = 0; j != i && k < DIM; k++) {
                a[j][k] -= f * a[i][k];
            }
            b[j] -= j != i ? f * b[i] : 0.0;
        }
    }
    for (size_t i = 0; i < DIM; i++) {
        b[i] /= a[i][i];
    }
}

/* The data, and the mode by Newton's method. */
static int make_logistic(void **state)
{
    relmc_stream stream = {.seed = 5};
    uint32_t all[N_ROWS];

    (void)state;
    for (size_t j = 0; j < N_ROWS; j++) {
        all[j] = (uint32_t)j;
        for (size_t i = 0; i < DIM; i++) {
            rows[j][i] = i ? relmc_normal(&stream) : 1.0;
        }
        const double eta = 0.5 * rows[j][0] + rows[j][1] - 1.5 * rows[j][2];
        labels[j] = relmc_uniform(&stream) < 1.0 / (1.0 + exp(-eta));
    }
    for (int t = 0; t < 30; t++) {
        double h[DIM][DIM] = {{0.1, 0, 0}, {0, 0.1, 0}, {0, 0, 0.1}};
        double g[DIM], lp;

        (void)logistic_lp(DIM, mode, all, N_ROWS, 1.0, g, &lp, NULL);
        for (size_t j = 0; j < N_ROWS; j++) {
            const double *a = rows[j];
            const double p =
                1.0 /
                (1.0 + exp(-a[0] * mode[0] - a[1] * mode[1] - a[2] * mode[2]));

            for (size_t i = 0; i < DIM * DIM; i++) {
                h[i / DIM][i % DIM] += p * (1.0 - p) * a[i / DIM] * a[i % DIM];
            }
        }
        solve(h, g);
        for (size_t i = 0; i < DIM; i++) {
            mode[i] += g[i];
        }
    }
    return 0;
}

/* ---- one run ---------------------------------------------------------------- */

struct diary {
    size_t n;               /* draws per chain */
    double *x;              /* CHAINS x n x (DIM + 2): with lp and speed */
    atomic_int n_divergent; /* by all threads */
    atomic_int n_moved;     /* steps that failed but moved */
};

static relmc_status note(void *ctx, const relmc_draw *d)
{
    struct diary *diary = ctx;
    double *x = diary->x + (d->chain * diary->n + (size_t)d->index) * (DIM + 2);

    memcpy(x, d->outputs, DIM * sizeof *x);
    x[DIM] = d->stats[RELMC_STAT_LP];
    x[DIM + 1] = d->stats[RELMC_STAT_SPEED];
    diary->n_divergent += (int)d->stats[RELMC_STAT_DIVERGENT];
    diary->n_moved += (int)d->stats[RELMC_STAT_DIVERGENT] && d->index > 0 &&
                      memcmp(x, x - (DIM + 2), DIM * sizeof *x) != 0;
    for (size_t i = 0; i < DIM + 2; i++) {
        if (!isfinite(x[i])) {
            return RELMC_ETARGET;
        }
    }
    return RELMC_OK;
}

static void optimise(struct diary *diary, const relmc_target *target,
                     relmc_options *o)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    o->warmup = RELMC_ZERO;
    o->chains = CHAINS;
    o->seed = 3;
    diary->n = (size_t)o->draws;
    diary->n_divergent = diary->n_moved = 0;
    diary->x = calloc(CHAINS * diary->n * (DIM + 2), sizeof(double));
    assert_non_null(diary->x);
    if (relmc_run_create(&run, target, o, &err) ||
        relmc_run_observe(run, note, diary, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s: %s", o->sampler, err.message);
    }
    relmc_run_destroy(run);
}

static relmc_target *open_bowl(struct bowl *bowl)
{
    relmc_target *target = NULL;

    assert_int_equal(target_of_point(&target, DIM, bowl_lp, bowl, NULL),
                     RELMC_OK);
    return target;
}

static relmc_target *open_logistic(void)
{
    relmc_target *target = NULL;

    assert_int_equal(
        target_of_rows(&target, DIM, N_ROWS, logistic_lp, NULL, NULL),
        RELMC_OK);
    return target;
}

static const char *spec_of(char out[SPEC_BYTES], const char *name,
                           const char *more)
{
    (void)snprintf(out, SPEC_BYTES, "%s:%s%s%s", name, parameters_of(name),
                   *more ? "," : "", more);
    return out;
}

/* All chains end at the goal. */
static void check_end(const struct diary *diary, const char *name,
                      const double *goal, double tolerance)
{
    for (size_t k = 0; k < CHAINS; k++) {
        const double *x = diary->x + (k * diary->n + diary->n - 1) * (DIM + 2);

        for (size_t i = 0; i < DIM; i++) {
            if (!(fabs(x[i] - goal[i]) <= tolerance)) {
                fail_msg("%s: chain %zu ends with coordinate %zu at %.9g, not "
                         "%.9g +- %g",
                         name, k, i, x[i], goal[i], tolerance);
            }
        }
    }
}

/* ---- they find the minimum -------------------------------------------------- */

/* Returns how many steps were undone. */
static int64_t check_arrival(const relmc_target *target, const char *name,
                             uint32_t batch, const double *goal,
                             double tolerance)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    struct diary diary;
    char spec[SPEC_BYTES];

    o.sampler = spec_of(spec, name, "schedule=cosine");
    o.draws = 4000;
    o.batch_rows = batch;
    optimise(&diary, target, &o);
    check_end(&diary, name, goal, tolerance);
    free(diary.x);
    return diary.n_divergent;
}

static void check_quadratic(const char *name)
{
    struct bowl bowl = {0};
    relmc_target *target = open_bowl(&bowl);

    assert_int_equal(check_arrival(target, name, 0, centre, 1e-4), 0);
    relmc_target_destroy(target);
}

static void check_logistic(const char *name)
{
    relmc_target *target = open_logistic();

    (void)check_arrival(target, name, 0, mode, 1e-3);
    (void)check_arrival(target, name, 20, mode, 0.1);
    relmc_target_destroy(target);
}

static void test_optimiser__finds_a_quadratic_minimum(void **state)
{
    (void)state;
    for_each(check_quadratic);
}

static void test_optimiser__finds_the_mode_of_a_regression(void **state)
{
    (void)state;
    for_each(check_logistic);
}

/* ---- bits ------------------------------------------------------------------- */

static void same_bits(const struct diary *a, const struct diary *b,
                      const char *name, const char *what)
{
    assert_int_equal(a->n, b->n);
    if (memcmp(a->x, b->x, CHAINS * a->n * (DIM + 2) * sizeof(double))) {
        fail_msg("%s: %s make a difference", name, what);
    }
}

static void check_lanes(const char *name)
{
    relmc_target *target = open_logistic();
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    struct diary one, eight;
    char spec[SPEC_BYTES];

    o.sampler = spec_of(spec, name, "schedule=cosine");
    o.draws = 50;
    o.batch_rows = 30;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        o.batch_is_shared = is_shared;
        o.lanes = 1;
        optimise(&one, target, &o);
        o.lanes = 8;
        optimise(&eight, target, &o);
        same_bits(&one, &eight, name, "lanes");
        free(eight.x);
        o.lanes = 5;
        o.threads = 2;
        optimise(&eight, target, &o);
        same_bits(&one, &eight, name, "lanes and threads");
        free(eight.x);
        o.isa = "baseline";
        optimise(&eight, target, &o);
        same_bits(&one, &eight, name, "code paths");
        o.isa = NULL;
        free(one.x);
        free(eight.x);
        o.threads = 1;
    }
    relmc_target_destroy(target);
}

static void test_optimiser__does_not_depend_on_lanes(void **state)
{
    (void)state;
    for_each(check_lanes);
}

/* A transition of 5 steps is 5 transitions. */
static void check_steps(const char *name)
{
    relmc_target *target = open_logistic();
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    struct diary single, five;
    char spec[SPEC_BYTES];

    o.batch_rows = 30;
    o.sampler = spec_of(spec, name, "schedule=cosine");
    o.draws = 50;
    optimise(&single, target, &o);
    o.sampler = spec_of(spec, name, "schedule=cosine,steps=5");
    o.draws = 10;
    optimise(&five, target, &o);
    for (size_t k = 0; k < CHAINS; k++) {
        for (size_t t = 0; t < five.n; t++) {
            const double *a = single.x + (k * single.n + 5 * t + 4) * (DIM + 2);
            const double *b = five.x + (k * five.n + t) * (DIM + 2);

            if (memcmp(a, b, (DIM + 1) * sizeof *a)) {
                fail_msg("%s: draw %zu of chain %zu differs", name, t, k);
            }
        }
    }
    free(single.x);
    free(five.x);
    relmc_target_destroy(target);
}

static void test_optimiser__counts_steps_not_transitions(void **state)
{
    (void)state;
    for_each(check_steps);
}

/* ---- faults ----------------------------------------------------------------- */

static void check_fault(const char *name, enum fault fault)
{
    struct bowl bowl = {.fault = fault};
    relmc_target *target = open_bowl(&bowl);
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    struct diary diary;
    char spec[SPEC_BYTES];

    o.sampler = spec_of(spec, name, "schedule=cosine");
    o.draws = 4000;
    o.lanes = CHAINS;
    optimise(&diary, target, &o);
    assert_true(bowl.n_faults > 1000);
    /* the search for a start may meet the first faults */
    if (diary.n_divergent < bowl.n_faults - 3 ||
        diary.n_divergent > bowl.n_faults) {
        fail_msg("%s: %d faults, %lld counted", name, bowl.n_faults,
                 (long long)atomic_load(&diary.n_divergent));
    }
    if (diary.n_moved) {
        fail_msg("%s: %lld of them were not taken back", name,
                 (long long)diary.n_moved);
    }
    check_end(&diary, name, centre, 1e-3);
    free(diary.x);
    relmc_target_destroy(target);
}

static void survive(const char *name)
{
    check_fault(name, NAN_GRADIENT);
    check_fault(name, NO_DENSITY);
}

static void test_optimiser__survives_what_is_no_number(void **state)
{
    (void)state;
    for_each(survive);
}

/* Steps far too large: they are counted, and no draw is infinite. */
static void explode(const char *name)
{
    relmc_target *target = NULL;
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    struct diary diary;
    char spec[SPEC_BYTES];

    assert_int_equal(relmc_target_open(&target, "rosenbrock:dim=3", NULL, NULL),
                     RELMC_OK);
    (void)snprintf(spec, sizeof spec, "%s:lr=1e9", name);
    o.sampler = spec;
    o.draws = 300;
    optimise(&diary, target, &o); /* `note` looks at every draw */
    free(diary.x);
    relmc_target_destroy(target);
}

static void test_optimiser__never_leaves_the_numbers(void **state)
{
    (void)state;
    for_each(explode);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_optimiser__finds_a_quadratic_minimum),
        cmocka_unit_test(test_optimiser__finds_the_mode_of_a_regression),
        cmocka_unit_test(test_optimiser__does_not_depend_on_lanes),
        cmocka_unit_test(test_optimiser__counts_steps_not_transitions),
        cmocka_unit_test(test_optimiser__survives_what_is_no_number),
        cmocka_unit_test(test_optimiser__never_leaves_the_numbers),
    };

    return cmocka_run_group_tests_name("optimiser", tests, make_logistic, NULL);
}
