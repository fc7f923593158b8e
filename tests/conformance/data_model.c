/*
 * data_model.c - every model on data gives the same density for all data and the sum of
 * batches, for any number of lanes and either precision of the covariates, and its
 * predictions agree with the density.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/data_model.h"
#include "relmc_diag.h"
#include "support/check.h"
#include "support/run.h"
#include "target/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Row counts near blocks of 8, tiles of 32 and the 512 rows of a product; column counts
 * near the four sums of a dot product, and 1 to 9: 1 to 8 have kernels of their own. */
static const struct subject {
    const char *spec;
    size_t n, columns, classes;
} subjects[] = {
    {"logistic", 203, 13, 2},
    {"logistic:sd=0.5", 1, 1, 2},
    {"logistic:intercept=1,sd=2,intercept_sd=10", 1100, 4, 2},
    {"logistic:intercept=1", 7, 3, 2},
    {"logistic", 64, 40, 2},
    {"logistic", 17, 2, 2},
    {"logistic:intercept=1", 40, 5, 2},
    {"logistic", 31, 6, 2},
    {"logistic", 16, 7, 2},
    {"logistic", 33, 8, 2},
    {"logistic", 35, 9, 2},
    {"softmax", 203, 5, 3},
    {"softmax:intercept=1,sd=2,intercept_sd=10", 61, 6, 10},
    {"softmax:sd=0.5", 9, 1, 2},
    {"softmax", 33, 4, 17},
    {"linear", 203, 13, 0},
    {"linear:intercept=1,sd=2,intercept_sd=10,log_sigma_sd=1", 1100, 4, 0},
    {"linear:sd=0.5", 1, 1, 0},
    {"linear:intercept=1", 43, 7, 0},
};

enum {
    N_SUBJECTS = sizeof subjects / sizeof *subjects,
    MAX_DIM = 128,
    MAX_LANES = 100
};

/* A subject with its data, in both precisions. */
struct fixture {
    const struct subject *subject;
    relmc_data data, single;
    relmc_target *target, *of_single;
    void *scratch;
    size_t dim;
    double *points; /* MAX_LANES x dim */
    uint32_t *order;
};

static void fill(struct fixture *f)
{
    const struct subject *s = f->subject;
    const size_t cells = s->n * s->columns;
    double *x = get(cells, sizeof *x), *y = get(s->n, sizeof *y);
    float *x_float = get(cells, sizeof *x_float);
    relmc_stream stream = {.seed = 31};

    for (size_t j = 0; j < cells; j++) {
        x_float[j] = (float)relmc_normal(&stream);
        x[j] = (double)x_float[j];
    }
    for (size_t r = 0; r < s->n; r++) {
        y[r] = s->classes ? floor((double)s->classes * relmc_uniform(&stream))
                          : 2.0 * relmc_normal(&stream);
    }
    f->data =
        (relmc_data){sizeof f->data, s->n, s->columns, x, NULL, y, s->classes};
    f->single = (relmc_data){sizeof f->data, s->n, s->columns, NULL,
                             x_float,        y,    s->classes};
}

static int setup(void **state)
{
    struct fixture *f = get(1, sizeof *f);
    relmc_stream stream = {.seed = 32};

    f->subject = *state;
    fill(f);
    f->target = target_on(f->subject->spec, &f->data);
    f->of_single = target_on(f->subject->spec, &f->single);
    f->dim = relmc_target_dim(f->target);
    assert_true(f->dim <= MAX_DIM);
    f->scratch = get(1, f->target->scratch);
    f->points = get(MAX_LANES * f->dim, sizeof(double));
    for (size_t j = 0; j < MAX_LANES * f->dim; j++) {
        f->points[j] = relmc_normal(&stream);
    }
    f->order = get(f->subject->n, sizeof *f->order);
    for (size_t r = 0; r < f->subject->n; r++) {
        f->order[r] = (uint32_t)r;
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    relmc_target_destroy(f->target);
    relmc_target_destroy(f->of_single);
    free(rmc_mutable(f->data.x));
    free(rmc_mutable(f->single.x_float));
    free(rmc_mutable(f->data.y));
    free(f->scratch);
    free(f->points);
    free(f->order);
    free(f);
    return 0;
}

static relmc_rows all_rows(const struct fixture *f)
{
    return (relmc_rows){NULL, f->subject->n, 1.0, f->scratch};
}

static double eval_one(const struct fixture *f, const relmc_target *t, int isa,
                       const relmc_rows *rows, const double *x, double *grad)
{
    const relmc_shape one = {f->dim, 1, 1};
    double lp = (double)NAN;

    assert_int_equal(t->ops[isa]->rows(t->self, &one, x, rows, &lp, grad, NULL),
                     RELMC_OK);
    return lp;
}

/* ---- the laws -------------------------------------------------------------- */

static void test_data__gradient_is_that_of_the_density(void **state)
{
    const struct fixture *f = *state;

    assert_int_equal(relmc_target_n_data(f->target), f->subject->n);
    for (size_t t = 0; t < 8; t++) {
        relmc_gradient_report report = RELMC_INIT(relmc_gradient_report);

        assert_int_equal(relmc_gradient_check(&report, f->target,
                                              f->points + t * f->dim, NULL),
                         RELMC_OK);
        if (!report.is_ok) {
            fail_msg("d lp / dx.%zu is %.17g, said %.17g", report.worst + 1,
                     report.numeric, report.analytic);
        }
    }
}

static void compare_lanes(const struct fixture *f, const relmc_target *t,
                          int isa, const relmc_rows *rows, size_t n)
{
    const size_t ld = rmc_leading(n);
    const relmc_shape shape = {f->dim, n, ld};
    double *x = get(f->dim * ld, sizeof *x), *lp = get(ld, sizeof *lp);
    double *grad = get(f->dim * ld, sizeof *grad);

    for (size_t j = 0; j < f->dim * n; j++) {
        x[j / n * ld + j % n] = f->points[j % n * f->dim + j / n];
    }
    assert_int_equal(
        t->ops[isa]->rows(t->self, &shape, x, rows, lp, grad, NULL), RELMC_OK);
    for (size_t k = 0; k < n; k++) {
        double one[MAX_DIM], lane[MAX_DIM];
        const double one_lp =
            eval_one(f, t, 0, rows, f->points + k * f->dim, one);

        for (size_t i = 0; i < f->dim; i++) {
            lane[i] = grad[i * ld + k];
        }
        same_bits(&one_lp, &lp[k], 1);
        same_bits(one, lane, f->dim);
    }
    free(x);
    free(lp);
    free(grad);
}

static void test_data__lanes_and_code_paths_give_the_same_bits(void **state)
{
    static const size_t lanes[] = {1, 3, 8, 13, 16, 64, 100};
    const struct fixture *f = *state;
    const size_t n = f->subject->n;
    const relmc_rows all = all_rows(f);
    const relmc_rows some = {f->order + n / 2, (n + 1) / 2, 2.5, f->scratch};

    for (size_t j = 0; j < sizeof lanes / sizeof *lanes; j++) {
        for (int isa = 0; isa <= rmc_isa_best(); isa++) {
            compare_lanes(f, f->target, isa, &all, lanes[j]);
            compare_lanes(f, f->of_single, isa, &some, lanes[j]);
        }
    }
}

static void test_data__a_batch_of_all_rows_is_all_the_data(void **state)
{
    const struct fixture *f = *state;
    const relmc_rows all = all_rows(f);
    const relmc_rows batch = {f->order, f->subject->n, 1.0, f->scratch};

    for (int isa = 0; isa <= rmc_isa_best(); isa++) {
        double a[MAX_DIM], b[MAX_DIM];
        const double lp_a = eval_one(f, f->target, isa, &all, f->points, a);
        const double lp_b = eval_one(f, f->target, isa, &batch, f->points, b);

        same_bits(&lp_a, &lp_b, 1);
        same_bits(a, b, f->dim);
    }
}

/* Batches of shuffled rows add up to the density of all rows, with the prior counted
 * once. */
static void test_data__batches_add_up(void **state)
{
    enum { SIZE = 11 };
    const struct fixture *f = *state;
    const size_t n = f->subject->n;
    const relmc_rows all = all_rows(f), none = {f->order, 0, 3.0, f->scratch};
    double prior[MAX_DIM], full[MAX_DIM], sum[MAX_DIM], part[MAX_DIM];
    relmc_stream stream = {.seed = 33};

    for (size_t r = n; r > 1; r--) {
        const size_t j = (size_t)(relmc_uniform(&stream) * (double)r);
        const uint32_t row = f->order[j];

        f->order[j] = f->order[r - 1];
        f->order[r - 1] = row;
    }
    const double lp_full = eval_one(f, f->target, 0, &all, f->points, full);
    const double lp_prior = eval_one(f, f->target, 0, &none, f->points, prior);
    double lp_sum = lp_prior;
    memcpy(sum, prior, sizeof sum);
    for (size_t first = 0; first < n; first += SIZE) {
        const size_t left = n - first;
        const relmc_rows batch = {f->order + first, left < SIZE ? left : SIZE,
                                  0.25, f->scratch};

        lp_sum += 4.0 * (eval_one(f, f->target, 0, &batch, f->points, part) -
                         lp_prior);
        for (size_t i = 0; i < f->dim; i++) {
            sum[i] += 4.0 * (part[i] - prior[i]);
        }
    }
    check_close(lp_sum, lp_full, 1e-12);
    for (size_t i = 0; i < f->dim; i++) {
        check_near(sum[i], full[i], 1e-11 * (double)n);
    }
}

static void test_data__single_precision_says_the_same(void **state)
{
    const struct fixture *f = *state;
    const relmc_rows all = all_rows(f);
    double a[MAX_DIM], b[MAX_DIM];
    const double lp_a = eval_one(f, f->target, 0, &all, f->points, a);
    const double lp_b = eval_one(f, f->of_single, 0, &all, f->points, b);

    same_bits(&lp_a, &lp_b, 1);
    same_bits(a, b, f->dim);
}

static double log_likelihood(const struct fixture *f, const double *p)
{
    const struct subject *s = f->subject;
    double sum = 0.0;

    for (size_t r = 0; r < s->n; r++) {
        const double y = f->data.y[r];

        if (s->classes) {
            sum += log(p[r * s->classes + (size_t)y]);
        } else {
            const double z = (y - p[2 * r]) / p[2 * r + 1];

            sum -= 0.5 * (z * z + log(2.0 * 3.14159265358979323846)) +
                   log(p[2 * r + 1]);
        }
    }
    return sum;
}

static void test_data__predictions_agree_with_the_density(void **state)
{
    const struct fixture *f = *state;
    const struct subject *s = f->subject;
    const size_t per_row = s->classes ? s->classes : 2;
    const relmc_rows all = all_rows(f), none = {f->order, 0, 1.0, f->scratch};
    double *p = get(s->n * per_row, sizeof *p), grad[MAX_DIM];
    double *q = get(s->n * per_row, sizeof *q);

    for (size_t t = 0; t < 3; t++) {
        const double *x = f->points + t * f->dim;

        assert_int_equal(relmc_target_predict(f->target, x, &f->data, p, NULL),
                         RELMC_OK);
        check_close(log_likelihood(f, p),
                    eval_one(f, f->target, 0, &all, x, grad) -
                        eval_one(f, f->target, 0, &none, x, grad),
                    1e-11);
        assert_int_equal(
            relmc_target_predict(f->of_single, x, &f->single, q, NULL),
            RELMC_OK);
        same_bits(p, q, s->n * per_row);
        for (size_t r = 0; s->classes && r < s->n; r++) {
            double total = 0.0;

            for (size_t c = 0; c < s->classes; c++) {
                total += p[r * s->classes + c];
            }
            check_near(total, 1.0, 1e-14);
        }
    }
    free(p);
    free(q);
}

static void test_data__predictions_need_the_same_columns(void **state)
{
    const struct fixture *f = *state;
    relmc_data other = f->data;
    relmc_error err = {0};
    double out[2];

    other.n_columns++;
    assert_int_equal(
        relmc_target_predict(f->target, f->points, &other, out, &err),
        RELMC_EINVAL);
    assert_non_null(strstr(err.message, "covariates, the rows to predict"));
}

static void test_data__names_differ(void **state)
{
    const struct fixture *f = *state;
    char a[64], b[64];

    for (size_t i = 0; i < f->dim; i++) {
        relmc_target_coordinate_name(f->target, i, a, sizeof a);
        for (size_t j = 0; j < i; j++) {
            relmc_target_coordinate_name(f->target, j, b, sizeof b);
            assert_string_not_equal(a, b);
        }
    }
}

/* ---- names, refusals ------------------------------------------------------- */

static void test_data__coordinates_have_names(void **state)
{
    static const double x[4] = {1, 2, 3, 4}, y[2] = {0, 1};
    static const struct {
        const char *spec;
        size_t classes, n;
        const char *names[8];
    } named[] = {
        {"logistic", 2, 2, {"beta.1", "beta.2"}},
        {"logistic:intercept=1", 2, 3, {"intercept", "beta.1", "beta.2"}},
        {"linear:intercept=1",
         0,
         4,
         {"intercept", "beta.1", "beta.2", "log_sigma"}},
        {"softmax", 2, 4, {"beta.1.1", "beta.1.2", "beta.2.1", "beta.2.2"}},
        {"softmax:intercept=1",
         2,
         6,
         {"intercept.1", "beta.1.1", "beta.1.2", "intercept.2", "beta.2.1",
          "beta.2.2"}},
    };

    (void)state;
    for (size_t j = 0; j < sizeof named / sizeof *named; j++) {
        const relmc_data data = {sizeof data,     2, 2, x, NULL, y,
                                 named[j].classes};
        relmc_target *t = target_on(named[j].spec, &data);
        char name[32];

        assert_int_equal(relmc_target_dim(t), named[j].n);
        for (size_t i = 0; i < named[j].n; i++) {
            relmc_target_coordinate_name(t, i, name, sizeof name);
            assert_string_equal(name, named[j].names[i]);
        }
        relmc_target_destroy(t);
    }
}

static void test_data__bad_data_are_refused_in_one_line(void **state)
{
    static const double x[4] = {1, 2, 3, 4}, y[2] = {0, 1};
    static const struct {
        const char *spec;
        size_t rows, classes;
        const char *message;
    } bad[] = {
        {"logistic", 2, 3,
         "logistic: the response must have 2 classes, not 3; softmax takes "
         "more"},
        {"logistic", 2, 0,
         "logistic: the response must have 2 classes, not 0 (a number)"},
        {"softmax", 2, 0,
         "softmax: the response must have 2 classes or more, not 0 (a number)"},
        {"softmax", 1, 1,
         "softmax: the response must have 2 classes or more, not 1"},
        {"linear", 2, 2,
         "linear: the response must be a number (n_classes 0), not one of 2 "
         "classes"},
        {"linear", 0, 0,
         "data: rows and columns must be in [1, 2^32), not 0 and 2"},
        {"banana", 2, 2, "banana takes no data"},
    };

    (void)state;
    for (size_t j = 0; j < sizeof bad / sizeof *bad; j++) {
        const relmc_data data = {sizeof data, bad[j].rows,   2, x, NULL,
                                 y,           bad[j].classes};
        relmc_target *t = NULL;
        relmc_error err = {0};

        assert_int_equal(relmc_target_open(&t, bad[j].spec, &data, &err),
                         RELMC_EINVAL);
        assert_null(t);
        assert_string_equal(err.message, bad[j].message);
    }
}

static void test_data__made_up_data_have_an_intercept(void **state)
{
    relmc_target *t = NULL;
    relmc_error err = {0};

    (void)state;
    assert_int_equal(relmc_target_open(&t, "linear:intercept=1", NULL, &err),
                     RELMC_EINVAL);
    assert_string_equal(err.message,
                        "linear: intercept must be 0 without data of your own: "
                        "those made up have one");
}

/* ---- every law for every subject ------------------------------------------- */

#define LAW(test)   \
    {               \
#test, test \
    }

static const struct law {
    const char *name;
    CMUnitTestFunction run;
} laws[] = {
    LAW(test_data__gradient_is_that_of_the_density),
    LAW(test_data__lanes_and_code_paths_give_the_same_bits),
    LAW(test_data__a_batch_of_all_rows_is_all_the_data),
    LAW(test_data__batches_add_up),
    LAW(test_data__single_precision_says_the_same),
    LAW(test_data__predictions_agree_with_the_density),
    LAW(test_data__predictions_need_the_same_columns),
    LAW(test_data__names_differ),
};

static const struct CMUnitTest others[] = {
    cmocka_unit_test(test_data__coordinates_have_names),
    cmocka_unit_test(test_data__bad_data_are_refused_in_one_line),
    cmocka_unit_test(test_data__made_up_data_have_an_intercept),
};

int main(void)
{
    enum {
        N_LAWS = sizeof laws / sizeof *laws,
        N_OTHERS = sizeof others / sizeof *others
    };
    static struct CMUnitTest tests[N_LAWS * N_SUBJECTS + N_OTHERS];
    static char names[N_LAWS * N_SUBJECTS][192];
    size_t n = 0;

    for (size_t l = 0; l < N_LAWS; l++) {
        for (size_t j = 0; j < N_SUBJECTS; j++, n++) {
            (void)snprintf(names[n], sizeof names[n], "%.60s (%.60s, %zu rows)",
                           laws[l].name, subjects[j].spec, subjects[j].n);
            tests[n] =
                (struct CMUnitTest){.name = names[n],
                                    .test_func = laws[l].run,
                                    .setup_func = setup,
                                    .teardown_func = teardown,
                                    .initial_state = rmc_mutable(&subjects[j])};
        }
    }
    memcpy(tests + n, others, sizeof others);
    return _cmocka_run_group_tests("data_model", tests, n + N_OTHERS, NULL,
                                   NULL);
}
