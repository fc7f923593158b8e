/*
 * mlp.c - neural networks: the gradient is that of lp; precisions, blocks, minibatches
 * and lanes agree; predictions agree with lp; bad input is refused; a network learns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mlp/mlp.h"
#include "relmc_diag.h"
#include "relmc_extra.h"
#include "run/run.h"
#include "support/check.h"
#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- made-up data ----------------------------------------------------------- */

enum { ROWS = 23, COLUMNS = 3, MAX_DIM = 256, MAX_CLASSES = 3 };

static double inputs[ROWS * COLUMNS], numbers[ROWS], classes[ROWS];
static float inputs_single[ROWS * COLUMNS];
static const double pairs[ROWS] = {0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0,
                                   1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0};

static int make_data(void **state)
{
    relmc_stream stream = {.seed = 11};

    (void)state;
    for (size_t j = 0; j < (size_t)ROWS * COLUMNS; j++) {
        inputs_single[j] = (float)relmc_normal(&stream);
        inputs[j] = (double)inputs_single[j];
    }
    for (size_t r = 0; r < ROWS; r++) {
        numbers[r] = relmc_normal(&stream);
        classes[r] = floor(MAX_CLASSES * relmc_uniform(&stream));
    }
    return 0;
}

/* n_classes: 0, 2 or 3 */
static relmc_data data_of(size_t n_classes, int is_single)
{
    const relmc_data data = {sizeof data,
                             ROWS,
                             COLUMNS,
                             is_single ? NULL : inputs,
                             is_single ? inputs_single : NULL,
                             n_classes == 0   ? numbers
                             : n_classes == 2 ? pairs
                                              : classes,
                             n_classes};

    return data;
}

static relmc_target *open_on(const char *spec, const relmc_data *data)
{
    relmc_target *t = NULL;
    relmc_error err = {0};

    if (relmc_target_open_ops(&t, relmc_extra_model(0), spec, data, &err)) {
        fail_msg("%s: %s", spec, err.message);
    }
    assert_in_range(relmc_target_dim(t), 1, MAX_DIM);
    return t;
}

static relmc_target *open_spec(const char *spec, size_t n_classes)
{
    const relmc_data data = data_of(n_classes, 0);

    return open_on(spec, &data);
}

/* A random point, biases included. */
static void some_point(const relmc_target *t, uint64_t seed, double *x)
{
    relmc_stream stream = {.seed = seed};

    for (size_t i = 0; i < relmc_target_dim(t); i++) {
        x[i] = relmc_normal(&stream);
    }
}

/* on_rows of one lane, with garbage in the scratch. */
static double on_rows(const relmc_target *t, const double *x,
                      const uint32_t *row, size_t n, double scale, double *grad)
{
    const relmc_shape one = {t->dim, 1, 1};
    const relmc_rows rows = {row, n, scale, aligned_alloc(64, t->scratch)};
    double lp = 0.0;

    assert_non_null(rows.scratch);
    memset(rows.scratch, 0xff, t->scratch);
    assert_int_equal(
        rmc_model_mlp.rows(t->self, &one, x, &rows, &lp, grad, NULL), RELMC_OK);
    free(rows.scratch);
    return lp;
}

static double prior_of(const relmc_target *t, const double *x)
{
    double grad[MAX_DIM];

    return on_rows(t, x, NULL, 0, 1.0, grad);
}

static const struct kind {
    const char *output;
    size_t n_classes;
} kinds[] = {
    {"normal", 0}, {"binary", 2}, {"softmax", 2}, {"softmax", 3}, {"auto", 3}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };
static const char *const activations[] = {"relu", "tanh", "sigmoid"};
static const char *const hiddens[] = {"4", "[5,3]", "[3,1,4,2]"};

static void for_each_network(void (*check)(const char *spec, size_t n_classes))
{
    for (size_t i = 0; i < N_KINDS; i++) {
        for (size_t a = 0; a < 3; a++) {
            for (size_t h = 0; h < 3; h++) {
                char spec[120];

                (void)snprintf(spec, sizeof spec,
                               "mlp:hidden=%s,activation=%s,output=%s,"
                               "sd=1.5,bias_sd=0.7,noise=0.6",
                               hiddens[h], activations[a], kinds[i].output);
                check(spec, kinds[i].n_classes);
            }
        }
    }
}

/* ---- gradients ---------------------------------------------------------------- */

static void check_gradient(const char *spec, size_t n_classes)
{
    char text[160];

    (void)snprintf(text, sizeof text, "%s,precision=double", spec);
    relmc_target *t = open_spec(text, n_classes);
    for (uint64_t seed = 1; seed <= 2; seed++) {
        double x[MAX_DIM];
        relmc_gradient_report report = RELMC_INIT(relmc_gradient_report);

        some_point(t, seed, x);
        assert_int_equal(relmc_gradient_check(&report, t, x, NULL), RELMC_OK);
        if (!report.is_ok || !(report.max_error < 1e-7)) {
            fail_msg("%s: coordinate %zu is %.12g, should be %.12g", text,
                     report.worst, report.analytic, report.numeric);
        }
    }
    relmc_target_destroy(t);
}

static void test_gradients(void **state)
{
    (void)state;
    for_each_network(check_gradient);
}

/* ---- precisions --------------------------------------------------------------- */

static void check_precisions(const char *spec, size_t n_classes)
{
    char text[160];
    double x[MAX_DIM], one[MAX_DIM], two[MAX_DIM], largest = 0.0;

    (void)snprintf(text, sizeof text, "%s,precision=double", spec);
    relmc_target *d = open_spec(text, n_classes);
    relmc_target *s = open_spec(spec, n_classes);
    some_point(d, 3, x);
    const double lp_s = on_rows(s, x, NULL, ROWS, 1.0, one);
    const double lp_d = on_rows(d, x, NULL, ROWS, 1.0, two);
    check_close(lp_s, lp_d, 1e-5);
    assert_true(lp_s != lp_d); /* the precisions do differ */
    for (size_t i = 0; i < d->dim; i++) {
        largest = fmax(largest, fabs(two[i]));
    }
    for (size_t i = 0; i < d->dim; i++) {
        check_near(one[i], two[i], 1e-5 * largest);
    }
    relmc_target_destroy(d);
    relmc_target_destroy(s);
}

static void test_precisions_agree(void **state)
{
    (void)state;
    for_each_network(check_precisions);
}

/* A point and gradient in single precision give the same, if the point fits. */
static void check_single(const char *spec, size_t n_classes)
{
    static const uint32_t row[] = {3, 1, 20, 7, 7, 2};
    relmc_target *t = open_spec(spec, n_classes);
    const relmc_rows rows = {row, 6, 2.5, aligned_alloc(64, t->scratch)};
    double x[MAX_DIM], grad[MAX_DIM], lp = 0.0;
    float at[MAX_DIM], slope[MAX_DIM];

    assert_non_null(rows.scratch);
    some_point(t, 8, x);
    for (size_t i = 0; i < t->dim; i++) {
        at[i] = (float)x[i];
        x[i] = (double)at[i];
    }
    assert_int_equal(
        rmc_model_mlp.rows_float(t->self, at, &rows, &lp, slope, NULL),
        RELMC_OK);
    assert_true(lp == on_rows(t, x, row, 6, 2.5, grad));
    for (size_t i = 0; i < t->dim; i++) {
        assert_true((double)slope[i] == grad[i]);
    }
    at[0] = NAN; /* a rectified unit would turn it into 0 */
    (void)rmc_model_mlp.rows_float(t->self, at, &rows, &lp, slope, NULL);
    assert_true(lp == -HUGE_VAL);
    free(rows.scratch);
    relmc_target_destroy(t);
}

static void test_single_is_the_same(void **state)
{
    relmc_target *t = open_spec("mlp:hidden=4", 3);
    relmc_target *u = open_spec("mlp:hidden=4,precision=double", 3);

    (void)state;
    for_each_network(check_single);
    assert_true(t->is_float);
    assert_false(u->is_float);
    relmc_target_destroy(t);
    relmc_target_destroy(u);
}

/* The precision of inputs and that of the arithmetic may differ. */
static void test_inputs_of_both_precisions(void **state)
{
    static const char *const specs[] = {"mlp:hidden=4",
                                        "mlp:hidden=4,precision=double"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const relmc_data a = data_of(3, 0), b = data_of(3, 1);
        relmc_target *t = open_on(specs[i], &a), *u = open_on(specs[i], &b);
        double x[MAX_DIM], g[2][MAX_DIM], p[2][ROWS * MAX_CLASSES];

        some_point(t, 4, x);
        const double lp = on_rows(t, x, NULL, ROWS, 1.0, g[0]);
        assert_true(lp == on_rows(u, x, NULL, ROWS, 1.0, g[1]));
        assert_memory_equal(g[0], g[1], t->dim * sizeof(double));
        assert_int_equal(relmc_target_predict(t, x, &a, p[0], NULL), RELMC_OK);
        assert_int_equal(relmc_target_predict(t, x, &b, p[1], NULL), RELMC_OK);
        assert_memory_equal(p[0], p[1], sizeof p[0]);
        relmc_target_destroy(t);
        relmc_target_destroy(u);
    }
}

/* With saturated outputs lp is right or -inf. */
static void test_extremes(void **state)
{
    static const double zero[2] = {0.0, 0.0}, x0[2] = {1.0, 1.0};
    static const char *const specs[] = {"mlp:hidden=1,sd=inf",
                                        "mlp:hidden=1,sd=inf,output=softmax",
                                        "mlp:hidden=1,sd=inf,precision=double"};
    const relmc_data data = {sizeof data, 2, 1, x0, NULL, zero, 2};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        relmc_target *t = open_on(specs[i], &data);
        double x[MAX_DIM] = {1.0, 0.0}, g[MAX_DIM];

        x[2] = i == 1 ? -100.0 : 200.0; /* log odds of -200 for class 0 */
        x[3] = i == 1 ? 100.0 : 0.0;
        check_close(on_rows(t, x, NULL, 2, 1.0, g), -400.0, 1e-6);
        check_close(g[2], i == 1 ? 2.0 : -2.0, 1e-6);
        x[2] = -x[2];
        x[3] = -x[3];
        check_near(on_rows(t, x, NULL, 2, 1.0, g), 0.0, 1e-40);
        x[0] = x[2] = 1e300;
        x[3] = -1e300;
        assert_true(on_rows(t, x, NULL, 2, 1.0, g) == -HUGE_VAL);
        relmc_target_destroy(t);
    }
}

/* ---- rows ----------------------------------------------------------------------- */

/* Terms of parts of the rows add up to those of all rows, in any order. */
static void check_rows(const char *spec, size_t n_classes)
{
    uint32_t order[ROWS];
    char text[160];
    double x[MAX_DIM], all[MAX_DIM], sum[MAX_DIM], part[MAX_DIM];

    (void)snprintf(text, sizeof text, "%s,precision=double,block=5", spec);
    relmc_target *t = open_spec(text, n_classes);
    some_point(t, 5, x);
    for (uint32_t r = 0; r < ROWS; r++) {
        order[r] = (7 * r + 3) % ROWS;
    }
    const double prior = on_rows(t, x, NULL, 0, 1.0, part);
    const double lp = on_rows(t, x, NULL, ROWS, 1.0, all);
    double total = prior;
    memcpy(sum, part, sizeof sum);
    for (size_t at = 0, n; at < ROWS; at += n) {
        double slope[MAX_DIM];

        n = at == 0 ? 11 : at + 2 < ROWS ? 2 : ROWS - at;
        total += on_rows(t, x, order + at, n, 1.0, slope) - prior;
        for (size_t i = 0; i < t->dim; i++) {
            sum[i] += slope[i] - part[i];
        }
    }
    check_close(total, lp, 1e-12);
    for (size_t i = 0; i < t->dim; i++) {
        check_near(sum[i], all[i], 1e-11 * (1.0 + fabs(all[i])));
    }
    relmc_target_destroy(t);
}

static void test_minibatches_add_up(void **state)
{
    (void)state;
    for_each_network(check_rows);
}

static void test_scale_and_repeated_rows(void **state)
{
    const uint32_t row[] = {4, 4, 4};
    relmc_target *t = open_spec("mlp:hidden=4,precision=double", 3);
    double x[MAX_DIM], one[MAX_DIM], three[MAX_DIM], scaled[MAX_DIM];

    (void)state;
    some_point(t, 6, x);
    const double prior = prior_of(t, x);
    const double a = on_rows(t, x, row, 1, 1.0, one) - prior;
    const double b = on_rows(t, x, row, 3, 1.0, three) - prior;
    const double c = on_rows(t, x, row, 1, 3.0, scaled) - prior;
    assert_true(a < -1e-3);
    check_close(b, 3.0 * a, 1e-12);
    check_close(c, 3.0 * a, 1e-12);
    for (size_t i = 0; i < t->dim; i++) {
        check_near(three[i], scaled[i], 1e-12);
    }
    relmc_target_destroy(t);
}

/* The size of blocks bounds the scratch and changes results by rounding only. */
static void test_blocks(void **state)
{
    relmc_target *t = open_spec("mlp:hidden=4", 3);
    relmc_target *u = open_spec("mlp:hidden=4,block=1", 3);
    double x[MAX_DIM], g[MAX_DIM], h[MAX_DIM];

    (void)state;
    some_point(t, 7, x);
    assert_true(u->scratch < t->scratch);
    check_close(on_rows(t, x, NULL, ROWS, 1.0, g),
                on_rows(u, x, NULL, ROWS, 1.0, h), 1e-6);
    for (size_t i = 0; i < t->dim; i++) {
        check_near(g[i], h[i], 1e-4);
    }
    relmc_target_destroy(t);
    relmc_target_destroy(u);
}

/* ---- lanes ---------------------------------------------------------------------- */

/* The last draws of all chains. */
static relmc_status keep_draw(void *ctx, const relmc_draw *draw)
{
    double *to = (double *)ctx + (size_t)draw->chain * MAX_DIM;

    memcpy(to, draw->outputs, 31 * sizeof *to);
    return RELMC_OK;
}

static void test_same_draws(void **state)
{
    enum { CHAINS = 6 };
    static const uint32_t lanes[] = {0, 1, 4, 6, 2},
                          threads[] = {1, 1, 1, 1, 2};
    static double draws[5][CHAINS * MAX_DIM];
    relmc_target *t = open_spec("mlp:hidden=4", 3);

    (void)state;
    assert_int_equal(relmc_target_dim(t), 31);
    for (size_t i = 0; i < 5; i++) {
        const relmc_options options = {.size = sizeof options,
                                       .sampler = "hmc:steps=3",
                                       .adapt = "none",
                                       .step_size = 0.05,
                                       .draws = 5,
                                       .warmup = RELMC_ZERO,
                                       .chains = CHAINS,
                                       .lanes = lanes[i],
                                       .threads = threads[i]};
        relmc_run *run = NULL;

        assert_int_equal(relmc_run_create(&run, t, &options, NULL), RELMC_OK);
        assert_int_equal(relmc_run_observe(run, keep_draw, draws[i], NULL),
                         RELMC_OK);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        assert_memory_equal(draws[i], draws[0], sizeof draws[0]);
        assert_int_equal(run->opts.lanes, lanes[i] ? lanes[i] : 1);
        relmc_run_destroy(run);
    }
    assert_true(draws[0][0] != draws[0][MAX_DIM]);
    relmc_target_destroy(t);
}

/* ---- predictions and prior -------------------------------------------------------- */

/* The log likelihood, computed from predictions. */
static double predicted(const relmc_target *t, const double *x,
                        const relmc_data *data)
{
    double p[ROWS * MAX_CLASSES], total = 0.0;
    const size_t columns = data->n_classes ? data->n_classes : 2;

    assert_int_equal(relmc_target_predict(t, x, data, p, NULL), RELMC_OK);
    for (size_t r = 0; r < data->n_rows; r++) {
        const double *row = p + r * columns;
        double sum = 0.0;

        if (!data->n_classes) {
            const double z = (data->y[r] - row[0]) / row[1];

            check_close(row[1], 0.6, 1e-15);
            total -= 0.5 * z * z;
            continue;
        }
        for (size_t k = 0; k < columns; k++) {
            assert_true(row[k] >= 0.0 && row[k] <= 1.0);
            sum += row[k];
        }
        check_close(sum, 1.0, 1e-14);
        total += log(row[(size_t)data->y[r]]);
    }
    return total;
}

static void check_predictions(const char *spec, size_t n_classes)
{
    for (int is_double = 0; is_double < 2; is_double++) {
        const relmc_data data = data_of(n_classes, 0);
        char text[160];
        double x[MAX_DIM], grad[MAX_DIM];

        (void)snprintf(text, sizeof text, "%s,block=4,precision=%s", spec,
                       is_double ? "double" : "single");
        relmc_target *t = open_on(text, &data);
        some_point(t, 8, x);
        const double lp = on_rows(t, x, NULL, ROWS, 1.0, grad);
        check_close(predicted(t, x, &data), lp - prior_of(t, x),
                    is_double ? 1e-12 : 1e-5);
        relmc_target_destroy(t);
    }
}

static void test_predictions_match_lp(void **state)
{
    (void)state;
    for_each_network(check_predictions);
}

static void test_prior(void **state)
{
    relmc_target *t = open_spec("mlp:hidden=[2,2],sd=2,bias_sd=0.5", 2);
    double x[MAX_DIM], grad[MAX_DIM], weights = 0.0, biases = 0.0;

    (void)state;
    some_point(t, 9, x);
    (void)on_rows(t, x, NULL, 0, 1.0, grad);
    for (size_t i = 0; i < t->dim; i++) {
        char name[32];

        relmc_target_coordinate_name(t, i, name, sizeof name);
        if (name[0] == 'w') {
            weights += x[i] * x[i];
            check_close(grad[i], -x[i] / 4.0, 1e-7);
        } else {
            biases += x[i] * x[i];
            check_close(grad[i], -x[i] / 0.25, 1e-7);
        }
    }
    check_close(prior_of(t, x), -weights / 8.0 - biases / 0.5, 1e-14);
    relmc_target_destroy(t);
    t = open_spec("mlp:hidden=[2,2],sd=inf", 2); /* of biases, too */
    assert_true(prior_of(t, x) == 0.0);
    relmc_target_destroy(t);
}

/* ---- starts and names --------------------------------------------------------------- */

static void check_start(const char *spec, double per_input, double limit)
{
    enum { INPUTS = 400, HIDDEN = 300 };
    static double zeros[INPUTS];
    static const double y[1] = {0.0};
    const relmc_data data = {sizeof data, 1, INPUTS, zeros, NULL, y, 0};
    const size_t sizes[] = {(size_t)INPUTS * HIDDEN, HIDDEN, HIDDEN, 1};
    relmc_stream stream = {.seed = 10, .purpose = RELMC_FOR_MODEL};
    relmc_target *t = NULL;
    size_t at = 0;

    assert_int_equal(
        relmc_target_open_ops(&t, relmc_extra_model(0), spec, &data, NULL),
        RELMC_OK);
    double *x = calloc(t->dim, sizeof *x);
    assert_non_null(x);
    rmc_model_mlp.start(t->self, &stream, x);
    for (size_t part = 0; part < 4; part++) {
        const size_t n = sizes[part], is_bias = part % 2;
        const double sd = sqrt(per_input / (part ? HIDDEN : INPUTS));
        double sum = 0.0, squares = 0.0, largest = 0.0;

        for (size_t i = at; i < at + n; i++) {
            sum += x[i] / sd;
            squares += x[i] * x[i] / (sd * sd);
            largest = fmax(largest, fabs(x[i]) / sd);
        }
        at += n;
        if (is_bias) {
            assert_true(largest == 0.0);
            continue;
        }
        check_zscore(sum / (double)n, 0.0, sqrt(1.0 / (double)n), 5.0);
        check_zscore(squares / (double)n, 1.0, sqrt(2.0 / (double)n), 5.0);
        assert_true(largest <= limit);
    }
    assert_int_equal(at, t->dim);
    free(x);
    relmc_target_destroy(t);
}

static void test_starts(void **state)
{
    (void)state;
    check_start("mlp:hidden=300", 1.0, sqrt(3.0));
    check_start("mlp:hidden=300,start=he", 2.0, 6.0);
}

static void test_names(void **state)
{
    static const char *const names[] = {
        "w.1.1.1", "w.1.1.2", "w.1.2.1", "w.1.2.2", "w.1.3.1", "w.1.3.2",
        "b.1.1",   "b.1.2",   "w.2.1.1", "w.2.2.1", "b.2.1"};
    relmc_target *t = open_spec("mlp:hidden=2", 0);

    (void)state;
    assert_int_equal(t->dim, sizeof names / sizeof *names);
    assert_int_equal(relmc_target_n_data(t), ROWS);
    for (size_t i = 0; i < t->dim; i++) {
        char name[32];

        relmc_target_coordinate_name(t, i, name, sizeof name);
        assert_string_equal(name, names[i]);
    }
    relmc_target_destroy(t);
    assert_null(relmc_extra_model(1));
    assert_string_equal(relmc_extra_model(0)->info.name, "mlp");
}

/* ---- what is refused ------------------------------------------------------------------ */

static void refuse(const char *spec, const relmc_data *data, const char *word)
{
    relmc_target *t = NULL;
    relmc_error err = {0};

    assert_int_equal(
        relmc_target_open_ops(&t, relmc_extra_model(0), spec, data, &err),
        RELMC_EINVAL);
    assert_null(t);
    if (!strstr(err.message, word)) {
        fail_msg("%s: '%s' does not say '%s'", spec, err.message, word);
    }
}

static void test_refused(void **state)
{
    const relmc_data two = data_of(2, 0), three = data_of(3, 0),
                     none = data_of(0, 0);
    relmc_data bad = three, wide = none;

    (void)state;
    refuse("mlp:hidden=0", &two, "hidden must be in [1, 1e+06]");
    refuse("mlp:hidden=[3,0]", &two, "hidden must be in");
    refuse("mlp:hidden=2.5", &two, "hidden must be integers, not 2.5");
    refuse("mlp:hidden=[1e6,1e6]", &two, "more than 2^32 parameters");
    refuse("mlp:activation=step", &two, "relu|tanh|sigmoid");
    refuse("mlp:output=binary", &three, "2 classes, not with 3");
    refuse("mlp:output=binary", &none, "2 classes, not with 0");
    refuse("mlp:output=softmax", &none, "at least 2 classes");
    refuse("mlp:output=normal", &two, "no classes");
    refuse("mlp:block=0", &two, "block");
    refuse("mlp", NULL, "needs data");
    bad.n_classes = 1;
    bad.y = (const double[ROWS]){0};
    refuse("mlp", &bad, "at least 2 classes");
    bad.n_classes = 2;
    bad.y = classes; /* has 2 */
    refuse("mlp", &bad, "the response of row");

    relmc_target *t = open_spec("mlp:hidden=2", 0);
    double x[MAX_DIM] = {0}, out[2 * ROWS];
    relmc_error err;
    wide.n_columns = 2;
    assert_int_equal(relmc_target_predict(t, x, &wide, out, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "rows of 3 columns, not of 2"));
    relmc_target_destroy(t);
}

/* ---- it learns -------------------------------------------------------------------------- */

enum { MOONS = 400, BATCH = 50 };

static void make_moons(double *x, double *y)
{
    relmc_stream stream = {.seed = 12};
    const double pi = 3.14159265358979323846;

    for (size_t r = 0; r < MOONS; r++) {
        const double angle = pi * relmc_uniform(&stream);
        const int is_low = r % 2;

        x[2 * r] = (is_low ? 1.0 - cos(angle) : cos(angle)) +
                   0.15 * relmc_normal(&stream);
        x[2 * r + 1] = (is_low ? 0.5 - sin(angle) : sin(angle)) +
                       0.15 * relmc_normal(&stream);
        y[r] = is_low;
    }
}

/* Every second pair is for training. */
static double learn(const char *spec)
{
    static double x[2 * MOONS], y[MOONS], p[2 * MOONS];
    const size_t half = MOONS / 2;

    make_moons(x, y);
    const relmc_data train = {sizeof train, half, 2, x, NULL, y, 2};
    const relmc_data test = {sizeof test, half,     2, x + 2 * half,
                             NULL,        y + half, 2};
    relmc_target *t = open_on(spec, &train);
    relmc_stream stream = {.seed = 13};
    double w[MAX_DIM], g[MAX_DIM], q[MAX_DIM] = {0};
    size_t right = 0;

    rmc_model_mlp.start(t->self, &stream, w);
    for (int step = 0; step < 2000; step++) {
        uint32_t rows[BATCH];

        for (size_t j = 0; j < BATCH; j++) {
            rows[j] = (uint32_t)(relmc_bits(&stream) % half);
        }
        (void)on_rows(t, w, rows, BATCH, (double)half / BATCH, g);
        for (size_t i = 0; i < t->dim; i++) {
            q[i] = 0.9 * q[i] + 0.05 / (double)half * g[i];
            w[i] += q[i];
        }
    }
    assert_int_equal(relmc_target_predict(t, w, &test, p, NULL), RELMC_OK);
    for (size_t r = 0; r < half; r++) {
        right += (p[2 * r + 1] > 0.5) == (test.y[r] > 0.5);
    }
    relmc_target_destroy(t);
    return (double)right / (double)half;
}

static void test_two_moons(void **state)
{
    (void)state;
    assert_true(learn("mlp:hidden=[16,8],sd=10") > 0.95);
    assert_true(learn("mlp:hidden=20,activation=tanh,output=softmax,sd=10") >
                0.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_precisions_agree),
        cmocka_unit_test(test_single_is_the_same),
        cmocka_unit_test(test_inputs_of_both_precisions),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_minibatches_add_up),
        cmocka_unit_test(test_scale_and_repeated_rows),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_same_draws),
        cmocka_unit_test(test_predictions_match_lp),
        cmocka_unit_test(test_prior),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_two_moons),
    };

    return cmocka_run_group_tests(tests, make_data, NULL);
}
