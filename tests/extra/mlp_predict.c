/*
 * mlp_predict.c - predictions of a neural network agree with lp, its prior, starts and names
 * are right, bad input is refused, and a network learns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extra/mlp_networks.h"
#include "support/check.h"

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
        cmocka_unit_test(test_predictions_match_lp),
        cmocka_unit_test(test_prior),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_two_moons),
    };

    return cmocka_run_group_tests(tests, make_data, NULL);
}
