/*
 * dataset_prepare.c - data are split and scaled, get an intercept, and published data have the
 * numbers that are known of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/check.h"
#include "unit/dataset.h"

#include "data/catalogue.h"
#include "data/dataset_prepare.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- preparation ------------------------------------------------------------ */

/* n rows of i and i^2, in classes whose sizes are as 1 : 2 : 3 ... */
static struct dataset make_data(size_t n, size_t n_classes, bool is_single)
{
    struct dataset set = {.n_rows = n, .n_columns = 2, .n_classes = n_classes};
    size_t k = 0, left = 0;

    set.y = cli_alloc(n, sizeof *set.y);
    if (is_single) {
        set.x_float = cli_alloc(2 * n, sizeof *set.x_float);
    } else {
        set.x = cli_alloc(2 * n, sizeof *set.x);
    }
    for (size_t i = 0; i < n; i++) {
        const double x = (double)i;

        if (!is_single) {
            set.x[2 * i] = x;
            set.x[2 * i + 1] = x * x;
        } else {
            set.x_float[2 * i] = (float)x;
            set.x_float[2 * i + 1] = (float)(x * x);
        }
        if (n_classes > 0) {
            if (left == 0) {
                k = (k + 1) % n_classes;
                left = k + 1;
            }
            left--;
            set.y[i] = (double)k;
        }
    }
    return set;
}

static void split_sizes(void **state)
{
    static const double shares[] = {1, 216, 999, 0.25, 0.001};
    static const size_t wanted[] = {1, 216, 999, 250, 1};

    (void)state;
    for (size_t t = 0; t < 10; t++) {
        struct dataset train = make_data(1000, t % 2 ? 3 : 0, t % 4 < 2), test;
        bool seen[1000] = {false};

        assert_int_equal(
            dataset_split(&train, &test, shares[t / 2], 7, "relmc"), 0);
        assert_int_equal(test.n_rows, wanted[t / 2]);
        assert_int_equal(train.n_rows, 1000 - wanted[t / 2]);
        for (int part = 0; part < 2;
             part++) { /* disjoint, complete, in order */
            const struct dataset *set = part ? &test : &train;
            double last = -1.0;

            for (size_t i = 0; i < set->n_rows; i++) {
                const double x = dataset_at(set, i, 0);

                assert_true(x > last && x < 1000 && !seen[(size_t)x]);
                assert_true(dataset_at(set, i, 1) == x * x);
                seen[(size_t)x] = true;
                last = x;
            }
        }
        dataset_clear(&train);
        dataset_clear(&test);
    }
    static const double bad[] = {0, 0.0001, 10, 11, 1.5, -1, (double)NAN};
    for (size_t t = 0; t < sizeof bad / sizeof *bad; t++) {
        struct dataset train = make_data(10, 0, false), test;

        assert_int_equal(dataset_split(&train, &test, bad[t], 7, "relmc"),
                         CLI_USAGE);
        assert_int_equal(train.n_rows, 10);
        dataset_clear(&train);
    }
}

static void split_strata(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct dataset train = make_data(601, 3, false), test;
        size_t all[3] = {0}, got[3] = {0};

        for (size_t i = 0; i < train.n_rows; i++) {
            all[(size_t)train.y[i]]++;
        }
        assert_int_equal(dataset_split(&train, &test, 0.3, seed, "relmc"), 0);
        assert_int_equal(test.n_rows, 180);
        for (size_t i = 0; i < test.n_rows; i++) {
            got[(size_t)test.y[i]]++;
        }
        for (size_t k = 0; k < 3; k++) {
            check_near((double)got[k], 180.0 / 601.0 * (double)all[k], 1.0);
        }
        dataset_clear(&train);
        dataset_clear(&test);
    }
}

static size_t shared_rows(uint64_t seed_a, uint64_t seed_b)
{
    struct dataset a = make_data(1000, 2, false), b = make_data(1000, 2, false);
    struct dataset test_a, test_b;
    size_t n = 0;

    assert_int_equal(dataset_split(&a, &test_a, 500, seed_a, "relmc"), 0);
    assert_int_equal(dataset_split(&b, &test_b, 500, seed_b, "relmc"), 0);
    for (size_t i = 0; i < 500; i++) {
        for (size_t j = 0; j < 500; j++) {
            n += test_a.x[2 * i] == test_b.x[2 * j];
        }
    }
    dataset_clear(&a);
    dataset_clear(&b);
    dataset_clear(&test_a);
    dataset_clear(&test_b);
    return n;
}

static void split_seeds(void **state)
{
    (void)state;
    assert_int_equal(shared_rows(3, 3), 500);
    /* hypergeometric: 250 +- 7.9 */
    check_near((double)shared_rows(3, 4), 250, 40);
    check_near((double)shared_rows(0, 1ull << 40), 250, 40);
    /* published results depend on splits: they must not change */
    struct dataset train = make_data(10, 0, false), test;
    assert_int_equal(dataset_split(&train, &test, 3, 1, "relmc"), 0);
    assert_true(test.x[0] == 2 && test.x[2] == 7 && test.x[4] == 9);
    dataset_clear(&train);
    dataset_clear(&test);
}

/* Every row is as likely to be chosen as any other. */
static void split_uniform(void **state)
{
    enum { N = 10, TIMES = 4000 };
    double counts[N] = {0};

    (void)state;
    for (uint64_t seed = 0; seed < TIMES; seed++) {
        struct dataset train = make_data(N, 0, false), test;

        assert_int_equal(dataset_split(&train, &test, 3, seed, "relmc"), 0);
        for (size_t i = 0; i < 3; i++) {
            counts[(size_t)test.x[2 * i]]++;
        }
        dataset_clear(&train);
        dataset_clear(&test);
    }
    for (int i = 0; i < N; i++) {
        check_zscore(counts[i], 0.3 * TIMES, sqrt(0.21 * TIMES), 4.0);
    }
}

static void scale_sd(void **state)
{
    struct dataset train = make_data(50, 0, false), test;
    struct dataset_scaling scaling;

    (void)state;
    assert_int_equal(dataset_split(&train, &test, 20, 1, "relmc"), 0);
    const double raw = test.x[1];
    assert_int_equal(dataset_scaling_learn(&scaling, &train, DATASET_SCALE_SD,
                                           "relmc", "x.dat"),
                     0);
    dataset_scaling_apply(&scaling, &train);
    dataset_scaling_apply(&scaling, &test);
    for (size_t j = 0; j < 2; j++) {
        double sum = 0.0, squares = 0.0;

        for (size_t i = 0; i < 30; i++) {
            sum += train.x[2 * i + j];
            squares += train.x[2 * i + j] * train.x[2 * i + j];
        }
        check_near(sum, 0.0, 1e-12);
        check_close(squares / 29.0, 1.0, 1e-13);
    }
    check_close(test.x[1] * scaling.scale[1] + scaling.shift[1], raw, 1e-13);
    dataset_scaling_clear(&scaling);
    dataset_clear(&train);
    dataset_clear(&test);
}

static void scale_constant(void **state)
{
    struct dataset_scaling scaling;
    struct dataset set;
    int code;

    (void)state;
    /* rounding makes the mean of these differ from 0.1 */
    assert_int_equal(
        read_csv(&set, "a,level,y\n1,0.1,0\n2,0.1,0\n3,0.1,1\n", NULL), 0);
    catch_begin();
    code = dataset_scaling_learn(&scaling, &set, DATASET_SCALE_SD, "relmc",
                                 "x.dat");
    (void)catch_end();
    assert_int_equal(code, CLI_MODEL);
    assert_non_null(strstr(caught_text, "x.dat: level is 0.1 in all 3"));
    catch_begin();
    code = dataset_scaling_learn(&scaling, &set, DATASET_SCALE_MAX, "relmc",
                                 "x.dat");
    (void)catch_end();
    assert_int_equal(code, 0);
    dataset_scaling_apply(&scaling, &set);
    assert_true(set.x[1] == 1.0 && set.x[4] == 1.0);
    dataset_scaling_clear(&scaling);
    set.x[1] = set.x[3] = set.x[5] = 0.0;
    catch_begin();
    code = dataset_scaling_learn(&scaling, &set, DATASET_SCALE_MAX, "relmc",
                                 "x.dat");
    (void)catch_end();
    assert_int_equal(code, CLI_MODEL);
    dataset_clear(&set);
}

static void scale_others(void **state)
{
    struct dataset_scaling scaling;
    struct dataset set = make_data(11, 0, true);

    (void)state;
    set.x_float[1] = -200.0F; /* the largest absolute value */
    assert_int_equal(dataset_scaling_learn(&scaling, &set, DATASET_SCALE_MAX,
                                           "relmc", "x.dat"),
                     0);
    dataset_scaling_apply(&scaling, &set);
    assert_true(set.x_float[1] == -1.0F && set.x_float[20] == 1.0F);
    assert_true(set.x_float[21] == 0.5F);
    dataset_scaling_clear(&scaling);
    dataset_clear(&set);
    set = make_data(11, 0, true);
    assert_int_equal(dataset_scaling_learn(&scaling, &set, DATASET_SCALE_BYTE,
                                           "relmc", "x.dat"),
                     0);
    dataset_scaling_apply(&scaling, &set);
    assert_true(set.x_float[21] == 100.0F / 255.0F);
    dataset_scaling_clear(&scaling);
    dataset_clear(&set);
    assert_int_equal(dataset_scale_named("none"), DATASET_SCALE_NONE);
    assert_int_equal(dataset_scale_named("sd"), DATASET_SCALE_SD);
    assert_int_equal(dataset_scale_named("max"), DATASET_SCALE_MAX);
    assert_int_equal(dataset_scale_named("byte"), DATASET_SCALE_BYTE);
}

static void columns(void **state)
{
    (void)state;
    for (int is_single = 0; is_single < 2; is_single++) {
        struct dataset set = make_data(5, 3, is_single);

        assert_int_equal(dataset_add_intercept(&set, "relmc"), 0);
        assert_int_equal(set.n_columns, 3);
        for (size_t i = 0; i < 5; i++) {
            assert_true(dataset_at(&set, i, 0) == 1.0 &&
                        dataset_at(&set, i, 1) == (double)i &&
                        dataset_at(&set, i, 2) == (double)(i * i));
        }
        dataset_clear(&set);
    }
    struct dataset named;
    assert_int_equal(read_csv(&named, "a,b,y\n1,2,3\n", NULL), 0);
    assert_int_equal(dataset_add_intercept(&named, "relmc"), 0);
    assert_string_equal(named.names[0], "intercept");
    assert_string_equal(named.names[2], "b");
    dataset_clear(&named);
}

/* ---- published data --------------------------------------------------------- */

static void need_shared(const char *name)
{
    char *path = cli_text("%s/%s", RELMC_SHARED_DATA, name);
    const bool is_there = access(path, R_OK) == 0;

    free(path);
    if (!is_there) {
        skip();
    }
    assert_int_equal(setenv("RELMC_DATA", RELMC_SHARED_DATA, 1), 0);
}

static void pima(void **state)
{
    struct dataset train, test;
    size_t n_ill = 0;

    (void)state;
    need_shared("pima.csv");
    assert_int_equal(dataset_read(&train, "relmc", "pima", NULL), 0);
    assert_int_equal(train.n_rows, 768);
    assert_int_equal(train.n_columns, 8);
    assert_int_equal(train.n_classes, 2);
    assert_int_equal(dataset_split(&train, &test, 216, 1, "relmc"), 0);
    assert_int_equal(train.n_rows, 552);
    for (size_t i = 0; i < test.n_rows; i++) {
        n_ill += test.y[i] == 1.0;
    }
    assert_int_equal(n_ill, 75); /* 216 x 268 / 768 = 75.4 */
    dataset_clear(&train);
    dataset_clear(&test);
}

static void mnist(void **state)
{
    /* the published numbers of each digit */
    static const size_t counts[] = {5923, 6742, 5958, 6131, 5842,
                                    5421, 5918, 6265, 5851, 5949};
    struct dataset train, test;
    size_t got[10] = {0};
    double sum = 0.0;

    (void)state;
    need_shared("mnist/train-images-idx3-ubyte.gz");
#ifndef RELMC_HAS_ZLIB
    skip();
#endif
    assert_int_equal(dataset_read(&train, "relmc", "mnist", NULL), 0);
    const struct dataset_options like = {.like = &train};
    assert_int_equal(dataset_read(&test, "relmc", "mnist-test", &like), 0);
    assert_int_equal(train.n_rows, 60000);
    assert_int_equal(test.n_rows, 10000);
    assert_int_equal(train.n_columns, 784);
    assert_int_equal(test.n_classes, 10);
    for (size_t i = 0; i < 60000; i++) {
        got[(size_t)train.y[i]]++;
    }
    assert_memory_equal(got, counts, sizeof counts);
    for (size_t k = 0; k < (size_t)60000 * 784; k++) {
        sum += (double)train.x_float[k];
    }
    check_near(sum / 60000 / 784 / 255, 0.1307, 5e-5);
    dataset_clear(&train);
    dataset_clear(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_sizes),  cmocka_unit_test(split_strata),
        cmocka_unit_test(split_seeds),  cmocka_unit_test(split_uniform),
        cmocka_unit_test(scale_sd),     cmocka_unit_test(scale_constant),
        cmocka_unit_test(scale_others), cmocka_unit_test(columns),
        cmocka_unit_test(pima),         cmocka_unit_test(mnist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
