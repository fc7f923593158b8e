/*
 * data_posterior.c - posteriors of models on data have the known moments, and made-up
 * data make the same draws when they are given.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "conformance/data_model.h"
#include "relmc.h"
#include "support/check.h"
#include "support/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- posteriors known from elsewhere --------------------------------------- */

struct known {
    char spec[128];
    relmc_data data;
    double *x, *y, mean[3], sd[3];
    size_t dim;
};

static int read_known(FILE *file, struct known *k)
{
    relmc_data *d = &k->data;

    *d = (relmc_data){.size = sizeof *d};
    if (fscanf(file, "%127s %zu %zu %zu %zu", k->spec, &d->n_rows,
               &d->n_columns, &d->n_classes, &k->dim) != 5) {
        return 0;
    }
    d->x = k->x = get(d->n_rows * d->n_columns, sizeof(double));
    d->y = k->y = get(d->n_rows, sizeof(double));
    for (size_t r = 0; r < d->n_rows; r++) {
        assert_int_equal(fscanf(file, "%lf", &k->y[r]), 1);
        for (size_t i = 0; i < d->n_columns; i++) {
            assert_int_equal(fscanf(file, "%lf", &k->x[r * d->n_columns + i]),
                             1);
        }
    }
    assert_true(k->dim <= 3);
    for (size_t i = 0; i < k->dim; i++) {
        assert_int_equal(fscanf(file, "%lf %lf", &k->mean[i], &k->sd[i]), 2);
    }
    return 1;
}

/* Moments of both coordinates by the trapezoidal rule, which is right to
 * rounding here. */
static void integrate(const struct known *k, const relmc_target *t)
{
    enum { N = 401 };
    double sum = 0.0, first[2] = {0}, second[2] = {0}, grad[2], top;

    assert_int_equal(k->dim, 2);
    assert_int_equal(relmc_target_eval(t, 1, k->mean, &top, grad, NULL),
                     RELMC_OK);
    for (size_t j = 0; j < N * N; j++) {
        const double u[2] = {(double)(j / N) * 0.125 - 25.0,
                             (double)(j % N) * 0.125 - 25.0};
        const double x[2] = {k->mean[0] + u[0] * k->sd[0],
                             k->mean[1] + u[1] * k->sd[1]};
        double lp;

        assert_int_equal(relmc_target_eval(t, 1, x, &lp, grad, NULL), RELMC_OK);
        const double w = exp(lp - top);
        sum += w;
        for (size_t i = 0; i < 2; i++) {
            first[i] += w * u[i];
            second[i] += w * u[i] * u[i];
        }
    }
    for (size_t i = 0; i < 2; i++) {
        const double mean = first[i] / sum;

        check_near(mean, 0.0, 1e-8);
        check_near(second[i] / sum - mean * mean, 1.0, 1e-8);
    }
}

struct means {
    double sum[16][3], square[16][3];
};

static relmc_status add_draw(void *ctx, const relmc_draw *d)
{
    struct means *m = ctx;

    for (size_t i = 0; i < 2; i++) {
        m->sum[d->chain][i] += d->outputs[i];
        m->square[d->chain][i] += d->outputs[i] * d->outputs[i];
    }
    return RELMC_OK;
}

/* A sampler finds them; the spread of 16 chains is the error of their mean. */
static void sample(const struct known *k, const relmc_target *t)
{
    enum { CHAINS = 16, DRAWS = 1000 };
    static struct means m;
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_run *run = NULL;

    memset(&m, 0, sizeof m);
    o.sampler = "nuts";
    o.chains = CHAINS;
    o.draws = DRAWS;
    o.seed = 34;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_observe(run, add_draw, &m, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    relmc_run_destroy(run);
    for (size_t i = 0; i < k->dim; i++) {
        const double truth[2] = {k->mean[i],
                                 k->sd[i] * k->sd[i] + k->mean[i] * k->mean[i]};

        for (int power = 0; power < 2; power++) {
            double s = 0.0, s2 = 0.0;

            for (size_t c = 0; c < CHAINS; c++) {
                const double q = (power ? m.square[c][i] : m.sum[c][i]) / DRAWS;
                s += q / CHAINS;
                s2 += q * q / CHAINS;
            }
            check_zscore(s, truth[power], sqrt((s2 - s * s) / (CHAINS - 1)),
                         5.0);
        }
    }
}

static void test_data__posteriors_are_the_known_ones(void **state)
{
    FILE *file = fopen(RELMC_GOLDEN_DIR "/regression/moments.txt", "r");
    struct known k;
    size_t n = 0;

    (void)state;
    assert_non_null(file);
    for (; read_known(file, &k); n++) {
        relmc_target *t = target_on(k.spec, &k.data);

        integrate(&k, t);
        sample(&k, t);
        relmc_target_destroy(t);
        free(k.x);
        free(k.y);
    }
    assert_int_equal(n, 3);
    assert_int_equal(fclose(file), 0);
}

/* ---- made-up data equal given data ----------------------------------------- */

enum { MADE_N = 100, MADE_DIM = 3, MADE_DRAWS = 50, MADE_CHAINS = 3 };

static relmc_status keep(void *ctx, const relmc_draw *d)
{
    double *draws = ctx;
    double *to =
        draws + (d->chain * MADE_DRAWS + (size_t)d->index) * (MADE_DIM + 1);

    memcpy(to, d->outputs, MADE_DIM * sizeof *to);
    to[MADE_DIM] = d->stats[RELMC_STAT_LP];
    return RELMC_OK;
}

static void draw_all(const relmc_target *t, const char *sampler, double *draws)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_run *run = NULL;

    o.sampler = sampler;
    o.chains = MADE_CHAINS;
    o.warmup = 50;
    o.draws = MADE_DRAWS;
    o.seed = 35;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_observe(run, keep, draws, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    relmc_run_destroy(run);
}

/* As src/model/regression/logistic.c makes them, from the same stream. */
static void make_up(double *x, double *y)
{
    static const double unit[MADE_DIM] = {1, 1.0 / 3, 1};
    relmc_stream stream = {
        .seed = 1, .chain = UINT32_MAX, .purpose = RELMC_FOR_MODEL};
    double truth[MADE_DIM];

    for (size_t i = 0; i < MADE_DIM; i++) {
        truth[i] = relmc_normal(&stream) / unit[i];
    }
    for (size_t r = 0; r < MADE_N; r++) {
        const double common = relmc_normal(&stream);
        double z = 0.0;

        for (size_t i = 0; i < MADE_DIM; i++) {
            const double own = relmc_normal(&stream);

            x[r * MADE_DIM + i] =
                i ? unit[i] * (0.6 * common + 0.8 * own) : 1.0;
            z += x[r * MADE_DIM + i] * truth[i];
        }
        y[r] = relmc_uniform(&stream) < 1.0 / (1.0 + rmc_exp(-z));
    }
}

static void test_data__made_up_data_when_given_make_the_same_draws(void **state)
{
    static const char *const samplers[] = {"hmc", "nuts", "tempered"};
    enum { ALL = MADE_CHAINS * MADE_DRAWS * (MADE_DIM + 1) };
    static double x[MADE_N * MADE_DIM], y[MADE_N], a[ALL], b[ALL];
    const relmc_data data = {sizeof data, MADE_N, MADE_DIM, x, NULL, y, 2};
    relmc_target *made = NULL;

    (void)state;
    make_up(x, y);
    assert_int_equal(relmc_target_open(&made, "logistic:n=100", NULL, NULL),
                     RELMC_OK);
    relmc_target *given = target_on("logistic", &data);
    for (size_t j = 0; j < sizeof samplers / sizeof *samplers; j++) {
        draw_all(made, samplers[j], a);
        draw_all(given, samplers[j], b);
        assert_true(a[0] != a[MADE_DIM + 1]);
        same_bits(a, b, ALL);
    }
    relmc_target_destroy(made);
    relmc_target_destroy(given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data__posteriors_are_the_known_ones),
        cmocka_unit_test(
            test_data__made_up_data_when_given_make_the_same_draws),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
