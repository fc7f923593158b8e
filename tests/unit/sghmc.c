/*
 * sghmc.c - single steps of the samplers without an accept step and of RSGD: they equal
 * plain loops and known limits, follow schedules, use minibatches and refuse invalid
 * options.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc_ext.h"
#include "sampler/schedule_inline.h"
#include "support/callback.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 3, MAX_DRAWS = 400 };

/* ---- a target with a smooth gradient that is not linear --------------------- */

static double slope_at(size_t i, double x)
{
    return -(1.0 + (double)i) * x - 0.3 * x * x * x;
}

static int well(size_t dim, const double *x, double *grad, double *lp,
                void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= 0.5 * (1.0 + (double)i) * x[i] * x[i] +
               0.075 * x[i] * x[i] * x[i] * x[i];
        grad[i] = slope_at(i, x[i]);
    }
    return RELMC_OK;
}

/* ---- the path of one chain ------------------------------------------------------ */

struct path {
    double x[MAX_DRAWS][DIM];
    double lp[MAX_DRAWS], energy[MAX_DRAWS], speed[MAX_DRAWS];
    int64_t n, n_divergent;
};

static relmc_status keep(void *ctx, const relmc_draw *d)
{
    struct path *p = ctx;

    assert_true(p->n < MAX_DRAWS);
    memcpy(p->x[p->n], d->outputs, sizeof p->x[0]);
    p->lp[p->n] = d->stats[RELMC_STAT_LP];
    p->energy[p->n] = d->stats[RELMC_STAT_ENERGY];
    p->speed[p->n] = d->stats[RELMC_STAT_SPEED];
    p->n_divergent += (int)d->stats[RELMC_STAT_DIVERGENT];
    assert_true(d->stats[RELMC_STAT_ACCEPT_PROB] == 1.0);
    assert_int_equal((int)d->stats[RELMC_STAT_N_STEPS],
                     (int)d->stats[RELMC_STAT_N_GRAD]);
    p->n++;
    return RELMC_OK;
}

static const double start[DIM] = {1.2, -0.7, 0.4};

static void run_on(struct path *out, const relmc_target *t, const char *sampler,
                   const char *kinetic, double step, int64_t draws,
                   const relmc_options *more)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_run *run = NULL;
    relmc_error err = {0};

    if (more) {
        o = *more;
    }
    *out = (struct path){0};
    o.sampler = sampler;
    o.kinetic = kinetic;
    o.step_size = step;
    o.draws = draws;
    o.warmup = RELMC_ZERO;
    o.chains = 1;
    o.seed = 5;
    o.init = start;
    if (relmc_run_create(&run, t, &o, &err) ||
        relmc_run_observe(run, keep, out, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s: %s", sampler, err.message);
    }
    relmc_run_destroy(run);
}

static void run(struct path *out, const char *sampler, const char *kinetic,
                double step, int64_t draws)
{
    relmc_target *t = NULL;

    assert_int_equal(target_of_point(&t, DIM, well, NULL, NULL), RELMC_OK);
    run_on(out, t, sampler, kinetic, step, draws, NULL);
    relmc_target_destroy(t);
}

static void same(const struct path *a, const struct path *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->x, b->x, (size_t)a->n * sizeof a->x[0]);
    assert_memory_equal(a->lp, b->lp, (size_t)a->n * sizeof a->lp[0]);
    assert_memory_equal(a->energy, b->energy,
                        (size_t)a->n * sizeof a->energy[0]);
    assert_memory_equal(a->speed, b->speed, (size_t)a->n * sizeof a->speed[0]);
}

/* ---- without heat --------------------------------------------------------------- */

static void test_sgd__is_sghmc_without_heat(void **unused)
{
    static const char *const more[] = {"steps=3",
                                       "law=bounded",
                                       "law=bounded,scheme=baoab",
                                       "scheme=obabo,friction=2",
                                       "lr=0.05,momentum=0.8,max_step=0.02",
                                       "lr=0.05,schedule=cosine,decay=0.01"};
    static const char *const kinetics[] = {"separable", "newtonian:m=2",
                                           "relativistic:c=0.5"};
    static struct path a, b;

    (void)unused;
    for (size_t i = 0; i < 18; i++) {
        const char *kinetic = kinetics[i % 3];
        char one[128], other[128];

        if (strstr(more[i / 3], "max_step") && i % 3 == 1) {
            continue;
        }
        (void)snprintf(one, sizeof one, "sgd:%s", more[i / 3]);
        (void)snprintf(other, sizeof other, "sghmc:temperature=0,%s",
                       more[i / 3]);
        run(&a, one, kinetic, 0.1, 100);
        run(&b, other, kinetic, 0.1, 100);
        same(&a, &b);
        assert_true(a.x[99][0] != a.x[50][0]);
    }
    run(&a, "sgd", "separable", 0.1, 100);
    run(&b, "sghmc:temperature=0", "separable", 0.1, 100);
    same(&a, &b);
}

/* [SGD-rel] by its formulas for q and x. */
static void reference(double *x, int64_t n, double lr, double keep_share,
                      double max_step, int is_bounded)
{
    double q[DIM] = {0};

    for (int64_t t = 0; t < n; t++) {
        for (size_t i = 0; i < DIM; i++) {
            const double push = lr / max_step * slope_at(i, x[i]);

            q[i] = is_bounded
                       ? q[i] + push -
                             (1.0 - keep_share) * q[i] / sqrt(1.0 + q[i] * q[i])
                       : keep_share * q[i] + push;
            x[i] += max_step * q[i] / sqrt(1.0 + q[i] * q[i]);
        }
    }
}

static void test_sgd__equals_its_formulas(void **unused)
{
    static struct path p;
    double x[DIM];

    (void)unused;
    run(&p, "sgd:lr=0.05,momentum=0.8,max_step=0.02", "separable", 1.0, 100);
    memcpy(x, start, sizeof x);
    reference(x, 100, 0.05, 0.8, 0.02, 0);
    for (size_t i = 0; i < DIM; i++) {
        check_near(p.x[99][i], x[i], 1e-12);
    }
    run(&p, "sgd:lr=0.05,momentum=0.8,max_step=0.02,law=bounded", "separable",
        1.0, 100);
    memcpy(x, start, sizeof x);
    reference(x, 100, 0.05, 0.8, 0.02, 1);
    for (size_t i = 0; i < DIM; i++) {
        check_near(p.x[99][i], x[i], 1e-12);
    }
}

/* (eps, m, c, D) and (lr, max step, momentum) are equivalent. */
static void test_sgd__has_two_sets_of_parameters(void **unused)
{
    static struct path a, b;
    const double eps = 0.1, m = 0.5, c = 0.3, D = 1.5;
    char spec[160], kinetic[80];

    (void)unused;
    (void)snprintf(kinetic, sizeof kinetic, "separable:m=%g,c=%g", m, c);
    run(&a, "sgd:law=bounded,friction=1.5", kinetic, eps, 100);
    (void)snprintf(spec, sizeof spec,
                   "sgd:law=bounded,lr=%.17g,max_step=%.17g,momentum=%.17g",
                   eps * eps / m, eps * c, 1.0 - eps * D / m);
    run(&b, spec, "separable", 1.0, 100);
    for (size_t i = 0; i < DIM; i++) {
        check_near(a.x[99][i], b.x[99][i], 1e-12);
    }
}

static void test_sgd__steps_are_bounded(void **unused)
{
    static struct path p;
    double longest = 0.0;

    (void)unused;
    run(&p, "sgd:lr=5,momentum=0.9,max_step=0.01", "separable", 1.0, 100);
    for (int64_t t = 1; t < p.n; t++) {
        for (size_t i = 0; i < DIM; i++) {
            longest = fmax(longest, fabs(p.x[t][i] - p.x[t - 1][i]));
        }
    }
    assert_true(longest <= 0.01 * (1.0 + 1e-12));
    assert_true(longest > 0.009);
}

/* c -> infinity: SGD with momentum; m -> 0: the sign of the momentum. */
static void test_sgd__has_the_known_limits(void **unused)
{
    static struct path p;
    double x[DIM], u[DIM] = {0};

    (void)unused;
    run(&p, "sgd:lr=0.05,momentum=0.8,max_step=1e7", "separable", 1.0, 50);
    memcpy(x, start, sizeof x);
    for (int t = 0; t < 50; t++) {
        for (size_t i = 0; i < DIM; i++) {
            u[i] = 0.8 * u[i] + slope_at(i, x[i]);
            x[i] += 0.05 * u[i];
        }
    }
    for (size_t i = 0; i < DIM; i++) {
        check_near(p.x[49][i], x[i], 1e-10);
    }
    run(&p, "sgd:lr=0.05,momentum=0.8", "newtonian", 1.0, 50);
    for (size_t i = 0; i < DIM; i++) {
        check_near(p.x[49][i], x[i], 1e-13);
    }
    run(&p, "sgd:lr=1e9,momentum=0.8,max_step=0.01", "separable", 1.0, 10);
    for (size_t i = 0; i < DIM; i++) {
        check_near(p.x[9][i], start[i] - copysign(0.1, start[i]), 1e-9);
    }
}

static void test_sgd__decays_weights_on_its_own(void **unused)
{
    static struct path p;
    double x[DIM], u[DIM] = {0};

    (void)unused;
    run(&p, "sgd:lr=0.05,momentum=0.8,decay=0.02", "newtonian", 1.0, 50);
    memcpy(x, start, sizeof x);
    for (int t = 0; t < 50; t++) {
        for (size_t i = 0; i < DIM; i++) {
            u[i] = 0.8 * u[i] + slope_at(i, x[i]);
            x[i] = (1.0 - 0.02) * x[i] + 0.05 * u[i];
        }
    }
    for (size_t i = 0; i < DIM; i++) {
        check_near(p.x[49][i], x[i], 1e-13);
    }
}

/* ---- schedules -------------------------------------------------------------------- */

static void test_schedule__has_the_written_factors(void **unused)
{
    struct rmc_schedule s = {
        .offset = 7.0, .power = 0.55, .floor = 0.1, .cycles = 3.0};
    const double pi = acos(-1.0), n = 90.0;

    (void)unused;
    for (int t = 0; t < 90; t++) {
        s.kind = RMC_SCHEDULE_CONSTANT;
        assert_true(rmc_schedule_at(&s, t, n) == 1.0);
        s.kind = RMC_SCHEDULE_POLYNOMIAL;
        check_close(rmc_schedule_at(&s, t, n),
                    pow(7.0, 0.55) * pow(7.0 + t, -0.55), 1e-14);
        s.kind = RMC_SCHEDULE_COSINE;
        check_close(rmc_schedule_at(&s, t, n),
                    0.1 + 0.9 * 0.5 * (1.0 + cos(pi * t / n)), 1e-13);
        s.kind = RMC_SCHEDULE_CYCLICAL;
        check_close(rmc_schedule_at(&s, t, n),
                    0.1 + 0.9 * 0.5 * (1.0 + cos(pi * (t % 30) / 30.0)), 1e-13);
    }
}

/* The factor falls from 1 almost to the floor over the whole run; max_step follows it or
 * has a schedule of its own. */
static void test_schedule__is_that_of_the_whole_run(void **unused)
{
    static struct path p;
    const double pi = acos(-1.0);
    double x[DIM], q[DIM];

    (void)unused;
    for (int is_own = 0; is_own < 2; is_own++) {
        run(&p,
            is_own ? "sgd:lr=0.05,max_step=0.03,steps=2,schedule=cosine,"
                     "limit=constant"
                   : "sgd:lr=0.05,max_step=0.03,steps=2,schedule=cosine",
            "separable", 1.0, 40);
        memcpy(x, start, sizeof x);
        memset(q, 0, sizeof q);
        for (int t = 0; t < 80; t++) {
            const double f = 0.5 * (1.0 + cos(pi * t / 80.0));
            const double lr = 0.05 * f, a = 0.03 * (is_own ? 1.0 : f);

            for (size_t i = 0; i < DIM; i++) {
                q[i] = 0.9 * q[i] + lr / a * slope_at(i, x[i]);
                x[i] += a * q[i] / sqrt(1.0 + q[i] * q[i]);
            }
        }
        for (size_t i = 0; i < DIM; i++) {
            check_near(p.x[39][i], x[i], 1e-12);
        }
    }
}

/* ---- with heat ---------------------------------------------------------------------- */

/* [SGLD-Adam] equals a plain loop with the same random numbers. */
static void test_sgld_adam__equals_its_formulas(void **unused)
{
    static struct path p;
    const double eps = 0.01, lambda = 0.1, b = 0.9;
    relmc_stream stream = {.seed = 5, .purpose = RELMC_FOR_NOISE};
    double x[DIM], V[DIM] = {0}, normal[DIM + 1];

    (void)unused;
    run(&p, "sgld_adam:steps=1,lambda=0.1,beta=0.9", "newtonian", eps, 60);
    memcpy(x, start, sizeof x);
    for (int t = 1; t <= 60; t++) {
        const relmc_shape shape = {DIM, 1, 1};

        rmc_fill_normal(&shape, &stream, normal);
        for (size_t i = 0; i < DIM; i++) {
            const double g = slope_at(i, x[i]);

            V[i] = b * V[i] + (1.0 - b) * g * g;
            const double G = 1.0 / (lambda + sqrt(V[i] / (1.0 - pow(b, t))));
            x[i] += eps * G * g + sqrt(2.0 * eps * G) * normal[i];
        }
        for (size_t i = 0; i < DIM; i++) {
            check_near(p.x[t - 1][i], x[i], 1e-12);
        }
    }
}

/* A zero gradient, as of an unused unit of a network, gives G = 1/lambda, not infinity. */
static int flat(size_t dim, const double *x, double *grad, double *lp,
                void *ctx)
{
    (void)x, (void)ctx;
    memset(grad, 0, dim * sizeof *grad);
    *lp = 0.0;
    return RELMC_OK;
}

static void test_psgld__survives_zero_gradients(void **unused)
{
    static struct path p;
    relmc_target *t = NULL;

    (void)unused;
    assert_int_equal(target_of_point(&t, DIM, flat, NULL, NULL), RELMC_OK);
    run_on(&p, t, "psgld:lambda=0.5", "newtonian", 1e-3, 100, NULL);
    assert_int_equal(p.n_divergent, 0);
    for (int64_t n = 0; n < p.n; n++) {
        for (size_t i = 0; i < DIM; i++) {
            assert_true(fabs(p.x[n][i]) < 100.0);
        }
    }
    relmc_target_destroy(t);
}

/* [BAOAB] with the kick, the drift and the bath of the engine, in that order. */
static void test_sghmc__energy_is_that_of_the_draw(void **unused)
{
    static struct path p;

    (void)unused;
    run(&p, "sghmc:steps=1,friction=0", "newtonian", 0.05, 200);
    for (int64_t t = 1; t < p.n; t++) { /* without a bath leapfrog keeps H */
        check_near(p.energy[t], p.energy[0], 5e-3);
        assert_true(p.energy[t] + p.lp[t] >= 0.0);
    }
    assert_true(fabs(p.lp[10] - p.lp[0]) > 0.01);
    run(&p, "sgld", "newtonian", 0.05, 50);
    assert_true(p.energy[49] == -p.lp[49]);
}

/* A transition of n steps equals n transitions of one. */
static void test_sghmc__transitions_join(void **unused)
{
    static const char *const specs[] = {
        "sghmc:scheme=euler,law=bounded", "sghmc:scheme=euler,law=linear",
        "sghmc:scheme=obabo,law=bounded", "sghmc:scheme=baoab,law=linear",
        "sgnht:scheme=baoab,law=bounded", "sgnht:scheme=euler,law=bounded"};
    static struct path one, many;

    (void)unused;
    for (size_t i = 0; i < 6; i++) {
        char spec[80];

        (void)snprintf(spec, sizeof spec, "%s,steps=1", specs[i]);
        run(&one, spec, "separable", 0.1, 60);
        (void)snprintf(spec, sizeof spec, "%s,steps=6", specs[i]);
        run(&many, spec, "separable", 0.1, 10);
        for (size_t k = 0; k < DIM; k++) { /* half kicks round differently */
            check_near(one.x[59][k], many.x[9][k], 1e-9);
        }
        check_near(one.energy[59], many.energy[9], 1e-9);
    }
}

/* ---- a lane that diverges ---------------------------------------------------------- */

static int steep(size_t dim, const double *x, double *grad, double *lp,
                 void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= 0.25 * x[i] * x[i] * x[i] * x[i];
        grad[i] = -x[i] * x[i] * x[i];
    }
    return RELMC_OK;
}

static void test_runaway__ends_where_it_began(void **unused)
{
    static struct path p;
    relmc_target *t = NULL;

    (void)unused;
    assert_int_equal(target_of_point(&t, DIM, steep, NULL, NULL), RELMC_OK);
    run_on(&p, t, "sghmc:steps=10", "newtonian", 5.0, 50, NULL);
    assert_int_equal(p.n_divergent, 50);
    for (int64_t n = 0; n < p.n; n++) {
        assert_memory_equal(p.x[n], start, sizeof start);
        assert_true(isfinite(p.energy[n]) && isfinite(p.lp[n]));
    }
    assert_true(p.energy[3] != p.energy[4]); /* the momentum is drawn anew */
    relmc_target_destroy(t);
}

/* ---- minibatches ------------------------------------------------------------------- */

enum { N_ROWS = 20 };

/* The term of row r has its mode at r. */
static int rows_pull(size_t dim, const double *x, const uint32_t *rows,
                     size_t n_rows, double scale, double *grad, double *lp,
                     void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    memset(grad, 0, dim * sizeof *grad);
    for (size_t r = 0; r < n_rows; r++) {
        for (size_t i = 0; i < dim; i++) {
            const double away = x[i] - (double)rows[r];

            *lp -= 0.5 * scale * away * away;
            grad[i] -= scale * away;
        }
    }
    return RELMC_OK;
}

/* RSGD divides gradients by the number of rows, so that lr does not depend on it. */
static void test_sgd__takes_the_mean_over_the_rows(void **unused)
{
    static struct path p;
    relmc_target *t = NULL;
    double x = start[0], u = 0.0;

    (void)unused;
    assert_int_equal(target_of_rows(&t, DIM, N_ROWS, rows_pull, NULL, NULL),
                     RELMC_OK);
    run_on(&p, t, "sgd:lr=0.1,momentum=0.5", "newtonian", 1.0, 30, NULL);
    for (int n = 0; n < 30; n++) {
        u = 0.5 * u + (9.5 - x);
        x += 0.1 * u;
    }
    check_close(p.x[29][0], x, 1e-12);
    run_on(&p, t, "sgd:lr=0.005,momentum=0.5,scale=sum", "newtonian", 1.0, 30,
           NULL);
    check_close(p.x[29][0], x, 1e-12);
    /* minibatches give the same on average */
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    o.batch_rows = 5;
    run_on(&p, t, "sgd:lr=0.01,momentum=0.5,schedule=cosine,steps=100",
           "newtonian", 1.0, 300, &o);
    check_near(p.x[299][0], 9.5, 0.2);
    relmc_target_destroy(t);
}

/* Draws do not depend on lanes and threads, with batches per chain or shared by all
 * chains. */
static relmc_status add_up(void *ctx, const relmc_draw *d)
{
    double *sums = ctx;

    sums[d->chain] +=
        (1.0 + (double)d->index) * d->outputs[0] + d->stats[RELMC_STAT_LP];
    return RELMC_OK;
}

static void test_batches__do_not_depend_on_lanes(void **unused)
{
    static const uint32_t lanes[] = {1, 8, 3, 8}, threads[] = {1, 1, 4, 2};
    static const char *const specs[] = {"sghmc:noise=estimate", "sgnht",
                                        "sgd:lr=0.1,max_step=1", "psgld"};
    static const int kinds[4] = {RELMC_BATCH_AUTO, RELMC_BATCH_REPLACE,
                                 RELMC_BATCH_FRESH, RELMC_BATCH_EPOCHS};
    relmc_target *t = NULL;

    (void)unused;
    assert_int_equal(target_of_rows(&t, DIM, N_ROWS, rows_pull, NULL, NULL),
                     RELMC_OK);
    for (size_t i = 0; i < 32; i++) {
        double sums[4][8] = {{0}};

        for (size_t n = 0; n < 4; n++) {
            relmc_options o = RELMC_INIT(relmc_options);
            o.threads = 1;
            relmc_run *run = NULL;

            o.sampler = specs[i / 8];
            o.step_size = 0.01;
            o.chains = 8;
            o.draws = o.warmup = 25;
            o.batch_rows = 6;
            o.batch = kinds[i % 4];
            o.batch_is_shared = i % 8 >= 4;
            o.lanes = lanes[n];
            o.threads = threads[n];
            assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
            assert_int_equal(relmc_run_observe(run, add_up, sums[n], NULL),
                             RELMC_OK);
            assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
            relmc_run_destroy(run);
            assert_memory_equal(sums[0], sums[n], sizeof sums[0]);
        }
        assert_true(sums[0][0] != sums[0][1]);
    }
    relmc_target_destroy(t);
}

/* ---- what is refused ---------------------------------------------------------------- */

static void refuse(const char *sampler, const char *kinetic, const char *adapt,
                   const char *says)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *t = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};

    o.sampler = sampler;
    o.kinetic = kinetic;
    o.adapt = adapt;
    assert_int_equal(target_of_point(&t, DIM, well, NULL, NULL), RELMC_OK);
    assert_true(relmc_run_create(&run, t, &o, &err) < 0);
    if (!strstr(err.message, says)) {
        fail_msg("%s: %s", sampler, err.message);
    }
    relmc_target_destroy(t);
}

static void test_options__that_contradict_are_refused(void **unused)
{
    (void)unused;
    refuse("sgd:lr=0.1,friction=1", NULL, NULL, "not both");
    refuse("sgd:momentum=0.9", NULL, NULL, "go with lr");
    refuse("sgd:max_step=0.9", NULL, NULL, "go with lr");
    refuse("sgd:lr=1,max_step=0.9", "newtonian", NULL, "speed limit");
    refuse("sghmc:limit=cosine", "newtonian", NULL, "speed limit");
    refuse("sghmc:decay=0.1", NULL, NULL, "temperature 0");
    refuse("sghmc:scale=mean", NULL, NULL, "temperature 0");
    refuse("sghmc:temperature=0,noise=estimate", NULL, NULL, "temperature 0");
    refuse("sgnht:temperature=0", NULL, NULL, "no thermostat");
    refuse("sghmc:noise=estimate,variance=1", NULL, NULL, "not both");
    refuse("sghmc:scheme=leapfrog", NULL, NULL, "euler|baoab|obabo");
    refuse("sghmc", NULL, "dual", "adapt none");
    refuse("sgd:temperature=1", NULL, NULL, "no parameter");
}

static void test_rows__come_in_one_way(void **unused)
{
    static const int wrong[] = {-1, RELMC_BATCH_REPLACE + 1, INT32_MAX};
    relmc_target *t = NULL;

    (void)unused;
    assert_int_equal(target_of_rows(&t, DIM, N_ROWS, rows_pull, NULL, NULL),
                     RELMC_OK);
    for (size_t i = 0; i < 3; i++) {
        relmc_options o = RELMC_INIT(relmc_options);
        o.threads = 1;
        relmc_run *run = NULL;
        relmc_error err = {0};

        o.sampler = "sghmc";
        o.batch_rows = 4;
        o.batch = wrong[i];
        assert_int_equal(relmc_run_create(&run, t, &o, &err), RELMC_EINVAL);
        assert_non_null(
            strstr(err.message, "RELMC_BATCH_AUTO, EPOCHS, FRESH or REPLACE"));
    }
    relmc_target_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd__is_sghmc_without_heat),
        cmocka_unit_test(test_sgd__equals_its_formulas),
        cmocka_unit_test(test_sgd__has_two_sets_of_parameters),
        cmocka_unit_test(test_sgd__steps_are_bounded),
        cmocka_unit_test(test_sgd__has_the_known_limits),
        cmocka_unit_test(test_sgd__decays_weights_on_its_own),
        cmocka_unit_test(test_schedule__has_the_written_factors),
        cmocka_unit_test(test_schedule__is_that_of_the_whole_run),
        cmocka_unit_test(test_sgld_adam__equals_its_formulas),
        cmocka_unit_test(test_psgld__survives_zero_gradients),
        cmocka_unit_test(test_sghmc__energy_is_that_of_the_draw),
        cmocka_unit_test(test_sghmc__transitions_join),
        cmocka_unit_test(test_runaway__ends_where_it_began),
        cmocka_unit_test(test_sgd__takes_the_mean_over_the_rows),
        cmocka_unit_test(test_batches__do_not_depend_on_lanes),
        cmocka_unit_test(test_options__that_contradict_are_refused),
        cmocka_unit_test(test_rows__come_in_one_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
