/*
 * loader.c - Stan models by the BridgeStan ABI: refusals, data, names, densities, outputs
 * and messages.  The libraries are variants of mock.c.
 */
#define _DEFAULT_SOURCE

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "relmc_diag.h"
#include "stan/open_mock.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- refusals ----------------------------------------------------------------- */

static void refuses(const char *path, const char *data, relmc_status wanted,
                    const char *text)
{
    relmc_error err = {0};
    relmc_target *t = NULL;
    const relmc_status status =
        relmc_target_open_stan(&t, path, data, 1, NULL, NULL, &err);

    if (status != wanted || t || !strstr(err.message, text) ||
        strchr(err.message, '\n')) {
        fail_msg("%s: status %d, \"%s\"", path, status, err.message);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    refuses(MOCK("version"), "{\"m\": 0}", RELMC_EABI,
            "speaks version 3.7.0 of the BridgeStan ABI; version 2 is needed");
    refuses(MOCK("first"), "{\"m\": 0}", RELMC_EABI,
            "no symbol bs_major_version, so it speaks version 1");
    refuses(MOCK("missing"), "{\"m\": 0}", RELMC_EABI,
            "no symbol bs_param_constrain, which every library");
    refuses(MOCK("liar"), "{\"m\": 0}", RELMC_EABI,
            "bs_param_num and bs_param_names contradict each other");
    refuses(MOCK("empty"), "{\"m\": 0}", RELMC_EUNSUPP, "no parameters");
    refuses("/nonexistent/x.so", NULL, RELMC_EIO, "cannot load the library");
    refuses("nonexistent.so", NULL, RELMC_EIO, "./nonexistent.so");
}

static void bad_data_are_refused(void **state)
{
    (void)state;
    refuses(MOCK("plain"), NULL, RELMC_EINVAL,
            "it needs data: variable does not exist; variable name=m");
    refuses(MOCK("plain"), "{\"m\": 0", RELMC_EINVAL,
            "it refuses the data: Error in JSON parsing at offset 3: Missing");
    refuses(MOCK("plain"), "{\"m\": \"one\"}", RELMC_EINVAL, "mismatch");
    refuses(MOCK("plain"), "/nonexistent/data.json", RELMC_EIO,
            "cannot read the data /nonexistent/data.json: No such file");
    refuses(MOCK("plain"), RELMC_MOCK_DIR, RELMC_EIO, "cannot read the data");
}

static void data_come_from_text_or_file(void **state)
{
    char path[] = "/tmp/relmc-data-XXXXXX";
    const int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    double x[DIM] = {0}, grad[DIM], lp;

    (void)state;
    assert_non_null(file);
    (void)fprintf(file, "%200000s{\"m\": 3}\n", ""); /* more than one block */
    assert_int_equal(fclose(file), 0);
    relmc_target *t = open_mock(MOCK("plain"), path);
    assert_int_equal(relmc_target_eval(t, 1, x, &lp, grad, NULL), RELMC_OK);
    assert_true(lp == -4.5);
    relmc_target_destroy(t);
    t = open_mock(MOCK("plain"), " {\"m\": 2}");
    assert_int_equal(relmc_target_eval(t, 1, x, &lp, grad, NULL), RELMC_OK);
    assert_true(lp == -2.0);
    relmc_target_destroy(t);
    (void)unlink(path);
}

/* ---- names, density, outputs ----------------------------------------------------- */

static void names_are_stans(void **state)
{
    static const char *const names[] = {
        "mu", "sigma", "b.1.1", "b.2.1", "b.1.2", "b.2.2", "tau", "u", "k"};
    relmc_target *t = open_mock(MOCK("plain"), "{\"m\": 1}");
    char name[32];

    (void)state;
    assert_int_equal(relmc_target_dim(t), DIM);
    assert_int_equal(relmc_target_n_outputs(t), N_OUTPUTS);
    assert_string_equal(relmc_target_name(t), "mock");
    for (size_t i = 0; i < N_OUTPUTS; i++) {
        relmc_target_output_name(t, i, name, sizeof name);
        assert_string_equal(name, names[i]);
        if (i < DIM) {
            relmc_target_coordinate_name(t, i, name, sizeof name);
            assert_string_equal(name, names[i]);
        }
    }
    relmc_target_destroy(t);
}

/* Without the optional symbols there are no generated quantities, and relmc makes the
 * names. */
static void optional_symbols_may_be_missing(void **state)
{
    relmc_target *t = open_mock(MOCK("minimal"), "{\"m\": 1}");
    const double x[DIM] = {0};
    double out[N_OUTPUTS];
    relmc_error err = {0};
    char name[32];

    (void)state;
    assert_string_equal(relmc_target_name(t), "minimal");
    assert_int_equal(relmc_target_n_outputs(t), 7);
    relmc_target_coordinate_name(t, 1, name, sizeof name);
    assert_string_equal(name, "x.2");
    relmc_target_output_name(t, 6, name, sizeof name);
    assert_string_equal(name, "tau");
    assert_int_equal(relmc_target_outputs(t, 1, 0, 0, 1, x, out, NULL),
                     RELMC_OK);
    assert_int_equal(relmc_target_unconstrain(t, "{}", out, &err),
                     RELMC_EUNSUPP);
    relmc_target_destroy(t);
}

/* The mock adds 100 without propto, and -x[1] without jacobian. */
static void density_drops_constants_and_has_jacobians(void **state)
{
    relmc_target *t = open_mock(MOCK("threads"), "{\"m\": 1}");
    const double x[DIM] = {3.0, 2.0, 0.0, 0.0, 0.0, 1.0};
    double grad[DIM], lp;

    (void)state;
    assert_int_equal(relmc_target_eval(t, 1, x, &lp, grad, NULL), RELMC_OK);
    assert_true(lp == -4.5);
    assert_true(grad[0] == -2.0 && grad[1] == -2.0 && grad[5] == -1.0);
    relmc_target_destroy(t);
}

static void outputs_are_constrained_values(void **state)
{
    relmc_target *t = open_mock(MOCK("threads"), "{\"m\": 1}");
    const double x[DIM] = {3.0, log(2.0), 11.0, 21.0, 12.0, 22.0};
    double out[N_OUTPUTS], again[N_OUTPUTS], other[N_OUTPUTS];

    (void)state;
    assert_int_equal(relmc_target_outputs(t, 1, 0, 0, 1, x, out, NULL),
                     RELMC_OK);
    assert_int_equal(relmc_target_outputs(t, 1, 0, 0, 1, x, again, NULL),
                     RELMC_OK);
    assert_int_equal(relmc_target_outputs(t, 2, 0, 0, 1, x, other, NULL),
                     RELMC_OK);
    assert_true(fabs(out[SIGMA] - 2.0) < 1e-15);
    assert_true(fabs(out[TAU] - 4.0) < 1e-14);
    assert_true(out[B21] == 21.0 && out[B12] == 12.0);
    assert_memory_equal(out, again, sizeof out);
    assert_true(out[U] > 0.0 && out[U] < 1.0 && out[U] != other[U]);
    relmc_target_destroy(t);
    /* other models show their coordinates */
    assert_int_equal(relmc_target_open(&t, "gaussian:dim=2", NULL, NULL),
                     RELMC_OK);
    assert_int_equal(relmc_target_n_outputs(t), 2);
    assert_int_equal(relmc_target_outputs(t, 1, 0, 0, 1, x, out, NULL),
                     RELMC_OK);
    assert_memory_equal(out, x, 2 * sizeof *x);
    assert_int_equal(relmc_target_rejections(t, NULL), 0);
    assert_int_equal(relmc_target_unconstrain(t, "{}", out, NULL),
                     RELMC_EUNSUPP);
    relmc_target_destroy(t);
}

static void *ask_outputs(void *target)
{
    const double x[DIM] = {0};
    double out[N_OUTPUTS];

    return relmc_target_outputs(target, 1, 0, 0, 1, x, out, NULL) ? NULL
                                                                  : target;
}

static void *ask_point(void *target)
{
    double x[DIM];

    return relmc_target_unconstrain(
               target, "{\"sigma\": 2, \"mu\": 5, \"b\": [[1, 2], [3, 4]]}", x,
               NULL)
               ? NULL
               : target;
}

/* The mock crashes if it is not. */
static void first_call_of_a_thread_is_a_gradient(void **state)
{
    void *(*const calls[])(void *) = {ask_outputs, ask_point};
    relmc_target *t = open_mock(MOCK("threads"), "{\"m\": 1}");

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        pthread_t thread;
        void *back = NULL;

        assert_int_equal(pthread_create(&thread, NULL, calls[i], t), 0);
        assert_int_equal(pthread_join(thread, &back), 0);
        assert_ptr_equal(back, t);
    }
    assert_int_equal(relmc_target_rejections(t, NULL), 0);
    relmc_target_destroy(t);
}

static void values_become_a_point(void **state)
{
    relmc_target *t = open_mock(MOCK("threads"), "{\"m\": 1}");
    relmc_error err = {0};
    double x[DIM];

    (void)state;
    assert_int_equal(
        relmc_target_unconstrain(
            t, "{\"sigma\": 2, \"mu\": 5, \"b\": [[11, 12], [21, 22]]}", x,
            &err),
        RELMC_OK);
    assert_true(x[MU] == 5.0 && x[SIGMA] == log(2.0));
    assert_true(x[B21] == 21.0 && x[B12] == 12.0);
    assert_int_equal(
        relmc_target_unconstrain(
            t, "{\"sigma\": -2, \"mu\": 5, \"b\": [[11, 12], [21, 22]]}", x,
            &err),
        RELMC_EINVAL);
    assert_non_null(strstr(err.message, "lb_free"));
    assert_int_equal(relmc_target_unconstrain(t, "{\"mu\": 5}", x, &err),
                     RELMC_EINVAL);
    relmc_target_destroy(t);
}

static void printer(void *n_printed, const char *text, size_t bytes)
{
    assert_int_equal(bytes, 21);
    assert_memory_equal(text, "hello from the model\n", 21);
    ++*(int *)n_printed;
}

static void prints_go_where_they_are_sent(void **state)
{
    const double x[2 * DIM] = {0};
    double grad[2 * DIM], lp[2];
    int n_printed[2] = {0};
    relmc_target *t[2] = {NULL, NULL};

    (void)state;
    for (int i = 0; i < 2; i++) { /* two contexts of one library */
        assert_int_equal(relmc_target_open_stan(&t[i], MOCK("threads"),
                                                "{\"m\": 1, \"print\": 1}", 1,
                                                printer, &n_printed[i], NULL),
                         RELMC_OK);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(relmc_target_eval(t[i], 1 + i, x, lp, grad, NULL),
                         RELMC_OK);
    }
    assert_int_equal(n_printed[0], 1);
    assert_int_equal(n_printed[1], 2);
    relmc_target_destroy(t[0]);
    relmc_target_destroy(t[1]);
    assert_int_equal(relmc_target_open_stan(&t[0], MOCK("minimal"),
                                            "{\"m\": 1}", 1, printer, NULL,
                                            NULL),
                     RELMC_OK); /* the library cannot redirect messages */
    relmc_target_destroy(t[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(bad_data_are_refused),
        cmocka_unit_test(data_come_from_text_or_file),
        cmocka_unit_test(names_are_stans),
        cmocka_unit_test(optional_symbols_may_be_missing),
        cmocka_unit_test(density_drops_constants_and_has_jacobians),
        cmocka_unit_test(outputs_are_constrained_values),
        cmocka_unit_test(first_call_of_a_thread_is_a_gradient),
        cmocka_unit_test(values_become_a_point),
        cmocka_unit_test(prints_go_where_they_are_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
