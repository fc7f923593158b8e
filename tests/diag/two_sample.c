/*
 * two_sample.c - comparisons of two samples: reference values, false alarms and power.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "compare_golden.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- golden values --------------------------------------------------------- */

/* Reads a table of three columns; returns the number of rows. */
static size_t read_rows(const char *name, double *out, size_t room)
{
    FILE *file = open_golden(name);
    char row[256];
    size_t n = 0;

    while (fgets(row, sizeof row, file)) {
        char *at = row;

        assert_true(n < room);
        for (size_t k = 0; k < 3; k++) {
            out[3 * n + k] = strtod(at, &at);
            at += *at == ',';
        }
        n++;
    }
    (void)fclose(file);
    return n;
}

/* The k-th number of "key": NUMBER or "key": [NUMBER, ...] */
static double golden(const char *key, size_t k)
{
    const char *at = after_key(golden_text(), key);

    for (size_t i = 0; i < k; i++) {
        at = strchr(at, ',') + 1;
    }
    return strtod(at + strspn(at, " \n["), NULL);
}

typedef struct golden_data {
    double x[600], y[450], direction[48];
    relmc_two_samples samples;
    relmc_two_sample_options o;
} golden_data;

static golden_data *read_golden(void)
{
    static golden_data d;

    assert_int_equal(read_rows("two_sample_x.csv", d.x, 200), 200);
    assert_int_equal(read_rows("two_sample_y.csv", d.y, 150), 150);
    assert_int_equal(read_rows("two_sample_dirs.csv", d.direction, 16), 16);
    d.samples = (relmc_two_samples){3, 200, 150, d.x, d.y};
    d.o = (relmc_two_sample_options){.size = sizeof d.o,
                                     .permutations = RELMC_ZERO,
                                     .n_directions = 16,
                                     .directions = d.direction};
    return &d;
}

static relmc_two_sample_report run(relmc_coordinate_test *coordinates,
                                   const relmc_two_samples *samples,
                                   const relmc_two_sample_options *o)
{
    relmc_two_sample_report out = RELMC_INIT(relmc_two_sample_report);

    assert_int_equal(relmc_two_sample(&out, coordinates, samples, o, NULL),
                     RELMC_OK);
    return out;
}

static void test_two_sample__equals_reference_values(void **state)
{
    golden_data *d = read_golden();
    double w1[16];

    (void)state;
    d->o.w1 = w1;
    const relmc_two_sample_report r = run(NULL, &d->samples, &d->o);

    check_close(r.energy, golden("energy_distance2_V", 0), 1e-12);
    check_close(r.energy_u, golden("energy_distance2_U", 0), 1e-11);
    check_close(r.energy * 200 * 150 / 350, golden("energy_test_stat_T", 0),
                1e-12);
    check_close(r.mmd, golden("mmd2_imq_c1_V", 0), 1e-12);
    check_close(r.mmd_u, golden("mmd2_imq_c1_U", 0), 1e-10);
    check_close(r.sliced_w1, golden("sliced_W1_mean16", 0), 1e-12);
    check_close(r.sliced_w1_max, golden("sliced_W1_max16", 0), 1e-12);
    check_close(r.sliced_energy, golden("sliced_energy2_mean16", 0), 1e-12);
    for (size_t l = 0; l < 16; l++) {
        check_close(w1[l], golden("sliced_W1_each", l), 1e-12);
    }
    assert_int_equal(r.n_permutations, 0);
    assert_true(isnan(r.energy_p) && isnan(r.mmd_p) && isnan(r.sliced_w1_p));
}

static void test_coordinates__equal_reference_values(void **state)
{
    golden_data *d = read_golden();
    relmc_coordinate_test c[3];

    (void)state;
    (void)run(c, &d->samples, &d->o);
    for (int k = 0; k < 3; k++) {
        char name[32];

        (void)snprintf(name, sizeof name, "ks2_stat_%d", k + 1);
        check_close(c[k].ks, golden(name, 0), 1e-13);
        (void)snprintf(name, sizeof name, "ks2_pexact_%d", k + 1);
        check_close(c[k].ks_p_exact, golden(name, 0), 1e-11);
        (void)snprintf(name, sizeof name, "ad2_normalized_%d", k + 1);
        check_close(c[k].ad, golden(name, 0), 1e-11);
        (void)snprintf(name, sizeof name, "cvm2_stat_%d", k + 1);
        check_close(c[k].cvm, golden(name, 0), 1e-11);
        assert_true(isnan(c[k].ks_p) && isnan(c[k].ad_p) && isnan(c[k].cvm_p));
    }
}

/* Scaling all draws by a and c2 by a^2 scales the energy distance by a and the
 * kernel by 1 / a. */
static void test_mmd__scales_with_c2(void **state)
{
    golden_data *d = read_golden();
    const relmc_two_sample_report r = run(NULL, &d->samples, &d->o);

    (void)state;
    for (size_t i = 0; i < 600; i++) {
        d->x[i] *= 3.0;
        d->y[i < 450 ? i : 0] *= i < 450 ? 3.0 : 1.0;
    }
    d->o.c2 = 9.0;
    const relmc_two_sample_report s = run(NULL, &d->samples, &d->o);

    check_close(s.mmd, r.mmd / 3.0, 1e-11);
    check_close(s.energy, 3.0 * r.energy, 1e-11);
}

/* ---- p-values -------------------------------------------------------------- */

typedef struct pair {
    double *x, *y;
    relmc_two_samples samples;
} pair;

/* Normal draws; y has another mean and sd in the first coordinate. */
static pair new_pair(size_t dim, size_t n_x, size_t n_y, double shift,
                     double sd, uint32_t number)
{
    relmc_stream stream = {11, 0, number, RELMC_FOR_MODEL};
    pair p = {calloc(n_x * dim, sizeof(double)),
              calloc(n_y * dim, sizeof(double)),
              {0}};

    assert_non_null(p.x);
    assert_non_null(p.y);
    for (size_t i = 0; i < n_x * dim; i++) {
        p.x[i] = relmc_normal(&stream);
    }
    for (size_t i = 0; i < n_y * dim; i++) {
        p.y[i] = relmc_normal(&stream);
        if (i % dim == 0) {
            p.y[i] = shift + sd * p.y[i];
        }
    }
    p.samples = (relmc_two_samples){dim, n_x, n_y, p.x, p.y};
    return p;
}

static void free_pair(pair *p)
{
    free(p->x);
    free(p->y);
}

enum { N_P = 6, BATCH = 300 };

static void p_values(const relmc_two_samples *samples,
                     const relmc_two_sample_options *o, double p[N_P])
{
    relmc_coordinate_test c[4];
    const relmc_two_sample_report r = run(c, samples, o);
    const double all[N_P] = {r.energy_p, r.mmd_p,   r.sliced_w1_p,
                             c[0].ks_p,  c[0].ad_p, c[0].cvm_p};

    memcpy(p, all, sizeof all);
}

/* P(p <= a) = a for multiples a of 1/40 (a little less with ties): of 300
 * pairs 10 % have p <= 0.1. */
static void test_p_values__are_right_under_the_hypothesis(void **state)
{
    const relmc_two_sample_options o = {
        .size = sizeof o, .permutations = 39, .seed = 3, .n_directions = 4};
    int n_small[N_P] = {0}, n_large[N_P] = {0};

    (void)state;
    for (uint32_t i = 0; i < BATCH; i++) {
        pair d = new_pair(2, 30, 20, 0.0, 1.0, i);
        relmc_two_sample_options own = o;
        double p[N_P];

        own.seed += i;
        p_values(&d.samples, &own, p);
        for (size_t k = 0; k < N_P; k++) {
            n_small[k] += p[k] <= 0.1 + 1e-9;
            n_large[k] += p[k] > 0.7 + 1e-9;
        }
        free_pair(&d);
    }
    for (size_t k = 0; k < N_P; k++) {
        const double is_ks = k == 3; /* ties make this one conservative */

        check_zscore(n_small[k], BATCH * 0.1 - 8.0 * is_ks, sqrt(BATCH * 0.09),
                     4.0);
        check_zscore(n_large[k], BATCH * 0.3 + 12.0 * is_ks, sqrt(BATCH * 0.21),
                     4.0);
    }
}

/* A wrong mean and a wrong standard deviation. */
static void test_p_values__see_differences(void **state)
{
    const relmc_two_sample_options o = {.size = sizeof o, .permutations = 199};
    double p[N_P];

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        pair d = new_pair(2, 200, 300, kind ? 0.0 : 0.5, kind ? 2.0 : 1.0, 7);

        p_values(&d.samples, &o, p);
        for (size_t k = 0; k < N_P; k++) {
            check_close(p[k], 1.0 / 200.0, 1e-12);
        }
        free_pair(&d);
    }
}

/* The permutation p-value estimates the exact p-value of Kolmogorov and Smirnov. */
static void test_ks__permutations_agree_with_the_exact_law(void **state)
{
    const relmc_two_sample_options o = {
        .size = sizeof o, .permutations = 3999, .n_directions = 1};

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        pair d = new_pair(1, 23, 31, 0.3, 1.0, 100 + i);
        relmc_coordinate_test c;

        (void)run(&c, &d.samples, &o);
        const double p = c.ks_p_exact;
        check_zscore(c.ks_p, p, sqrt(p * (1.0 - p) / 4000.0) + 1e-4, 4.0);
        free_pair(&d);
    }
}

/* By hand: x = 1, 2 below y = 3, 4, 5: D = 1, and of the 10 labellings 2 are as
 * far apart. */
static void test_ks__by_hand(void **state)
{
    static const double x[] = {2, 1}, y[] = {5, 3, 4};
    const relmc_two_samples s = {1, 2, 3, x, y};
    relmc_coordinate_test c;
    const relmc_two_sample_report r = run(&c, &s, NULL);

    (void)state;
    check_close(c.ks, 1.0, 1e-15);
    check_close(c.ks_p_exact, 0.2, 1e-14);
    check_zscore(c.ks_p, 0.2, sqrt(0.2 * 0.8 / 1000.0), 4.0);
    check_close(r.sliced_w1, 2.5, 1e-14); /* 4 - 1.5 */
}

/* By hand: x = 1, 1 and y = 1, 2.  Midranks 2, 2 and 2, 4 give U = 12; A^2 is
 * 3/4 (1 + 1/3), just its mean. */
static void test_ties__by_hand(void **state)
{
    static const double x[] = {1, 1}, y[] = {2, 1};
    const relmc_two_samples s = {1, 2, 2, x, y};
    relmc_coordinate_test c;

    (void)state;
    (void)run(&c, &s, NULL);
    check_close(c.ks, 0.5, 1e-15);
    check_close(c.cvm, 12.0 / 16.0 - 15.0 / 24.0, 1e-14);
    check_near(c.ad, 0.0, 1e-14);
}

static void test_permutations__repeat_and_depend_on_the_seed(void **state)
{
    pair d = new_pair(2, 40, 40, 0.1, 1.0, 1);
    relmc_two_sample_options o = {.size = sizeof o, .seed = 5};
    double a[N_P], b[N_P], c[N_P];

    (void)state;
    p_values(&d.samples, &o, a);
    p_values(&d.samples, &o, b);
    o.seed = 6;
    p_values(&d.samples, &o, c);
    assert_memory_equal(a, b, sizeof a);
    assert_true(a[0] != c[0]); /* the energy distance does not project */
    free_pair(&d);
}

/* Draws in runs of 10 equal values: permutations of single draws find differences that
 * are not there, permutations of blocks do not. */
static void test_blocks__keep_what_belongs_together(void **state)
{
    int n_draws = 0, n_blocks = 0;

    (void)state;
    for (uint32_t i = 0; i < 40; i++) {
        pair d = new_pair(1, 200, 200, 0.0, 1.0, 200 + i);
        relmc_two_sample_options o = {
            .size = sizeof o, .permutations = 19, .n_directions = 1};
        double p[N_P];

        for (size_t k = 0; k < 200; k++) {
            d.x[k] = d.x[k / 10 * 10];
            d.y[k] = d.y[k / 10 * 10];
        }
        p_values(&d.samples, &o, p);
        n_draws += p[0] < 0.075;
        o.block = 10;
        p_values(&d.samples, &o, p);
        n_blocks += p[0] < 0.075;
        free_pair(&d);
    }
    assert_true(n_draws > 20);  /* of 40, all of them wrong */
    assert_true(n_blocks <= 8); /* 2 expected */
}

/* Constant draws are all ties and give no NaN. */
static void test_two_sample__of_constant_draws(void **state)
{
    static const double x[] = {1, 1, 1}, y[] = {1, 1};
    const relmc_two_samples s = {1, 3, 2, x, y};
    relmc_coordinate_test c;
    const relmc_two_sample_report r = run(&c, &s, NULL);

    (void)state;
    check_near(r.energy, 0.0, 0.0);
    check_near(c.ks, 0.0, 0.0);
    check_near(c.ks_p, 1.0, 0.0);
    check_near(c.ks_p_exact, 1.0, 0.0);
    check_near(c.ad_p, 1.0, 0.0);
    check_near(r.energy_p, 1.0, 0.0);
    assert_true(isfinite(c.ad) && isfinite(c.cvm));
}

static void test_two_sample__refuses_with_a_clear_line(void **state)
{
    static const double x[] = {0, 1, 2, 3}, bad[] = {0, 1, 2, (double)NAN};
    relmc_two_samples s = {1, 4, 4, x, bad};
    relmc_two_sample_options o = {.size = sizeof o, .block = 3};
    relmc_two_sample_report r = RELMC_INIT(relmc_two_sample_report);
    relmc_error err;

    (void)state;
    assert_int_equal(relmc_two_sample(&r, NULL, &s, NULL, &err), RELMC_EINVAL);
    assert_string_equal(err.message, "two samples: draw 3 of y is not finite");
    s.y = x;
    assert_int_equal(relmc_two_sample(&r, NULL, &s, &o, &err), RELMC_EINVAL);
    o.block = 0;
    o.c2 = -1.0;
    assert_int_equal(relmc_two_sample(&r, NULL, &s, &o, &err), RELMC_EINVAL);
    o.c2 = 0.0;
    o.permutations = -2;
    assert_int_equal(relmc_two_sample(&r, NULL, &s, &o, &err), RELMC_EINVAL);
    s.n_x = 1;
    assert_int_equal(relmc_two_sample(&r, NULL, &s, NULL, &err), RELMC_EINVAL);
    s.dim = 0;
    assert_int_equal(relmc_two_sample(&r, NULL, &s, NULL, &err), RELMC_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sample__equals_reference_values),
        cmocka_unit_test(test_coordinates__equal_reference_values),
        cmocka_unit_test(test_mmd__scales_with_c2),
        cmocka_unit_test(test_p_values__are_right_under_the_hypothesis),
        cmocka_unit_test(test_p_values__see_differences),
        cmocka_unit_test(test_ks__permutations_agree_with_the_exact_law),
        cmocka_unit_test(test_ks__by_hand),
        cmocka_unit_test(test_ties__by_hand),
        cmocka_unit_test(test_permutations__repeat_and_depend_on_the_seed),
        cmocka_unit_test(test_blocks__keep_what_belongs_together),
        cmocka_unit_test(test_two_sample__of_constant_draws),
        cmocka_unit_test(test_two_sample__refuses_with_a_clear_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
