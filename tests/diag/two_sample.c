/*
 * two_sample.c - comparisons of two samples, of draws with known moments and of ranks
 * with the uniform distribution: reference values, false alarms and power.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double unknown = (double)NAN;

/* ---- golden values --------------------------------------------------------- */

static FILE *open_golden(const char *name)
{
    char path[1024];

    (void)snprintf(path, sizeof path, "%s/compare/%s", RELMC_GOLDEN_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

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

/* The text after "key": */
static const char *after_key(const char *text, const char *key)
{
    char quoted[64];

    (void)snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(text, quoted);
    assert_non_null(at);
    return at + strlen(quoted);
}

static const char *golden_text(void)
{
    static char text[8192];

    if (!*text) {
        FILE *file = open_golden("two_sample_and_bands.json");
        const size_t n = fread(text, 1, sizeof text - 1, file);

        text[n] = '\0';
        (void)fclose(file);
    }
    return text;
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

/* "key": {..., "member": NUMBER, ...} */
static double golden_member(const char *key, const char *member)
{
    return strtod(after_key(after_key(golden_text(), key), member), NULL);
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

/* ---- known values ---------------------------------------------------------- */

enum { CHAINS = 4, DRAWS = 1000 };

/* Autoregressive chains with the given moments and correlation 0.7. */
static relmc_series new_chains(double *x, double mean, double sd, uint32_t seed)
{
    relmc_stream stream = {seed, 0, 0, RELMC_FOR_MODEL};
    double z = relmc_normal(&stream);

    for (size_t t = 0; t < (size_t)CHAINS * DRAWS; t++) {
        z = 0.7 * z + sqrt(1.0 - 0.49) * relmc_normal(&stream);
        x[t] = mean + sd * z;
    }
    return (relmc_series){x, CHAINS, DRAWS, 1, DRAWS};
}

static void test_zscore__is_standard_for_right_chains(void **state)
{
    static double x[CHAINS * DRAWS];
    static const double level[] = {0.05, 0.5, 0.9};
    double quantile[] = {-1.6448536269514722, 0.0, 1.2815515655446004};
    const relmc_known known = {0.0, 1.0, 0.0, 0.0, 3, level, quantile, NULL};
    double square[5] = {0.0};

    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        const relmc_series s = new_chains(x, 0.0, 1.0, i);
        relmc_zscores z = RELMC_INIT(relmc_zscores);
        double q[3], worst = 0.0;

        assert_int_equal(relmc_zscore(&z, q, &s, &known, NULL), RELMC_OK);
        const double all[5] = {z.mean, z.sd, q[0], q[1], q[2]};
        for (size_t k = 0; k < 5; k++) {
            square[k] += all[k] * all[k] / 200.0;
            worst = fmax(worst, fabs(all[k]));
        }
        check_close(z.worst, worst, 1e-15);
    }
    for (size_t k = 0; k < 5; k++) { /* mean 1, standard error 0.1 */
        check_near(square[k], 1.0, 0.4);
    }
}

static void test_zscore__sees_wrong_chains(void **state)
{
    static double x[CHAINS * DRAWS];
    const relmc_known known = {.mean = 0.0, .sd = 1.0};
    relmc_zscores z = RELMC_INIT(relmc_zscores);
    relmc_series s = new_chains(x, 0.3, 1.0, 1);

    (void)state;
    assert_int_equal(relmc_zscore(&z, NULL, &s, &known, NULL), RELMC_OK);
    assert_true(z.mean > 5.0 && z.worst >= z.mean);
    s = new_chains(x, 0.0, 0.8, 1);
    assert_int_equal(relmc_zscore(&z, NULL, &s, &known, NULL), RELMC_OK);
    assert_true(z.sd < -5.0 && z.worst >= -z.sd);
    for (size_t t = 0; t < (size_t)CHAINS * DRAWS; t++) {
        x[t] = 0.5; /* constant: the mean has no standard error */
    }
    assert_int_equal(relmc_zscore(&z, NULL, &s, &known, NULL), RELMC_OK);
    assert_true(isinf(z.worst));
}

/* Computed from the summary; NaN if the truth is not given. */
static void test_zscore__is_its_formula(void **state)
{
    static double x[CHAINS * DRAWS];
    const relmc_series s = new_chains(x, 1.0, 2.0, 9);
    const relmc_known known = {.mean = 0.5, .sd = unknown, .mean_error = 0.25};
    relmc_summary summary = RELMC_INIT(relmc_summary);
    relmc_zscores z = RELMC_INIT(relmc_zscores);

    (void)state;
    assert_int_equal(relmc_summarise(&summary, &s, NULL), RELMC_OK);
    assert_int_equal(relmc_zscore(&z, NULL, &s, &known, NULL), RELMC_OK);
    check_close(z.mean, (summary.mean - 0.5) / hypot(summary.mcse_mean, 0.25),
                1e-14);
    assert_true(isnan(z.sd));
    check_close(z.worst, fabs(z.mean), 1e-15);
}

/* Draws with two values: quantiles have no error and are left out. */
static void test_zscore__of_few_values(void **state)
{
    static double x[CHAINS * DRAWS];
    static const double level[] = {0.25};
    const relmc_series s = new_chains(x, 0.0, 1.0, 4);
    double quantile[] = {0.0}, q;
    const relmc_known known = {.mean = unknown,
                               .sd = unknown,
                               .n_quantiles = 1,
                               .level = level,
                               .quantile = quantile};
    relmc_zscores z = RELMC_INIT(relmc_zscores);

    (void)state;
    for (size_t t = 0; t < (size_t)CHAINS * DRAWS; t++) {
        x[t] = x[t] > 0.0;
    }
    assert_int_equal(relmc_zscore(&z, &q, &s, &known, NULL), RELMC_OK);
    check_near(q, 0.0, 0.0);
    check_near(z.worst, 0.0, 0.0);
    quantile[0] = 0.5;
    assert_int_equal(relmc_zscore(&z, &q, &s, &known, NULL), RELMC_OK);
    assert_true(isinf(z.worst));
}

static void test_known__comes_from_reference_draws(void **state)
{
    static double x[CHAINS * DRAWS], y[CHAINS * DRAWS];
    static const double level[] = {0.1, 0.9};
    const relmc_series s = new_chains(x, 3.0, 2.0, 21);
    const relmc_series reference = new_chains(y, 3.0, 2.0, 22);
    double quantile[2], error[2], q[2];
    relmc_known known = {.n_quantiles = 2,
                         .level = level,
                         .quantile = quantile,
                         .quantile_error = error};
    relmc_summary summary = RELMC_INIT(relmc_summary);
    relmc_quantile expected[2];
    relmc_zscores z = RELMC_INIT(relmc_zscores);

    (void)state;
    assert_int_equal(relmc_known_from(&known, &reference, NULL), RELMC_OK);
    assert_int_equal(relmc_summarise(&summary, &reference, NULL), RELMC_OK);
    assert_int_equal(relmc_quantiles(expected, &reference, 2, level, NULL),
                     RELMC_OK);
    check_close(known.mean, summary.mean, 0.0);
    check_close(known.mean_error, summary.mcse_mean, 0.0);
    check_close(known.sd, summary.sd, 0.0);
    check_close(known.sd_error, summary.mcse_sd, 0.0);
    for (size_t i = 0; i < 2; i++) {
        check_close(quantile[i], expected[i].value, 0.0);
        check_close(error[i], expected[i].mcse, 0.0);
    }
    assert_int_equal(relmc_zscore(&z, q, &s, &known, NULL), RELMC_OK);
    assert_true(z.worst < 4.0);
    check_near(q[0], 0.0, 4.0);
    known.level = NULL;
    assert_int_equal(relmc_zscore(&z, q, &s, &known, NULL), RELMC_EINVAL);
}

/* ---- uniform numbers ------------------------------------------------------- */

/* gamma jumps where the upper and the lower bound move, both at once.  In the golden file
 * rounding may move one of them first; its coverage is then a little lower. */
static void test_band__equals_reference_values(void **state)
{
    static const struct {
        size_t n, n_points;
        double alpha, slack; /* of the coverage */
        const char *name;
    } cases[] = {{50, 50, 0.05, 0.0, "N50_K50_alpha0.05"},
                 {50, 50, 0.001, 2e-5, "N50_K50_alpha0.001"},
                 {100, 100, 0.05, 0.0, "N100_K100_alpha0.05"},
                 {100, 100, 0.001, 0.0, "N100_K100_alpha0.001"},
                 {250, 100, 0.05, 6e-4, "N250_K100_alpha0.05"},
                 {250, 100, 0.001, 0.0, "N250_K100_alpha0.001"},
                 {1000, 100, 0.05, 4e-5, "N1000_K100_alpha0.05"},
                 {1000, 100, 0.001, 2e-6, "N1000_K100_alpha0.001"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* "name": { "gamma_lo": G, "coverage_at_gamma": C } */
        const double gamma = golden_member(cases[i].name, "gamma_lo");
        const double coverage =
            golden_member(cases[i].name, "coverage_at_gamma");
        relmc_ecdf_band b = RELMC_INIT(relmc_ecdf_band);

        assert_int_equal(relmc_ecdf_band_find(&b, NULL, NULL, cases[i].n,
                                              cases[i].n_points, cases[i].alpha,
                                              NULL),
                         RELMC_OK);
        check_close(b.gamma, gamma, 1e-10);
        check_near(b.coverage, coverage + 0.5 * cases[i].slack,
                   0.5 * cases[i].slack + 1e-12);
        assert_true(b.coverage >= 1.0 - cases[i].alpha);
    }
}

/* Bounds and p-values equal counts over all 5^4 ways to put 4 numbers in 5 equal
 * cells. */
static void test_band__covers_what_it_says(void **state)
{
    enum { N = 4, POINTS = 5, WAYS = 625 };
    static const double alpha[] = {0.001, 0.02, 0.05, 0.2, 0.5};
    double p[WAYS];

    (void)state;
    for (size_t a = 0; a < sizeof alpha / sizeof *alpha; a++) {
        size_t lower[POINTS], upper[POINTS], n_inside = 0, n_rejected = 0;
        relmc_ecdf_band band = RELMC_INIT(relmc_ecdf_band);

        assert_int_equal(relmc_ecdf_band_find(&band, lower, upper, N, POINTS,
                                              alpha[a], NULL),
                         RELMC_OK);
        for (size_t way = 0; way < WAYS; way++) {
            double u[N];
            size_t cell[N], is_inside = 1;

            for (size_t i = 0, w = way; i < N; i++, w /= POINTS) {
                cell[i] = w % POINTS;
                u[i] = (double)(cell[i] + 1) / POINTS;
            }
            for (size_t k = 0; k < POINTS; k++) {
                size_t count = 0;

                for (size_t i = 0; i < N; i++) {
                    count += cell[i] <= k;
                }
                is_inside &= lower[k] <= count && count <= upper[k];
            }
            n_inside += is_inside;
            assert_int_equal(relmc_ecdf_test(&p[way], N, u, POINTS, NULL),
                             RELMC_OK);
            n_rejected += p[way] <= alpha[a];
            /* outside the band is p <= alpha */
            assert_int_equal(is_inside, p[way] > alpha[a]);
        }
        check_close(band.coverage, (double)n_inside / WAYS, 1e-12);
        assert_true((double)n_rejected <= alpha[a] * WAYS);
    }
    for (size_t way = 0; way < WAYS;
         way++) { /* [ecdf-band] P(p <= own) = own */
        size_t n_smaller = 0;

        for (size_t other = 0; other < WAYS; other++) {
            n_smaller += p[other] <= p[way] + 1e-9;
        }
        check_near(p[way], (double)n_smaller / WAYS, 1e-12);
    }
}

/* In floating point 100 x 0.07 > 7, yet 0.07 must count as the point 7 / 100. */
static void test_band__counts_ranks_exactly(void **state)
{
    double p[4];

    (void)state;
    for (size_t i = 1; i < 100; i++) {
        const double at = (double)i / 100.0, above = nextafter(at, 1.0);
        const double pairs[2][2] = {{at, at - 1e-9}, {above, at + 1e-9}};

        for (size_t k = 0; k < 4; k++) {
            const double u = pairs[k / 2][k % 2], all[4] = {u, u, u, u};

            assert_int_equal(relmc_ecdf_test(&p[k], 4, all, 100, NULL),
                             RELMC_OK);
        }
        check_close(p[0], p[1], 0.0);
        check_close(p[2], p[3], 0.0);
    }
}

/* A small simulation-based calibration: ranks of the truth among L draws of a posterior
 * that is right, too narrow, or shifted. */
static double calibrate(double shift, double sd)
{
    enum { SIMULATIONS = 400, L = 99 };
    relmc_stream stream = {17, 0, 0, RELMC_FOR_MODEL};
    static double u[SIMULATIONS];
    double p;

    for (size_t i = 0; i < SIMULATIONS; i++) {
        const double truth = relmc_normal(&stream);
        size_t rank = 0;

        for (size_t l = 0; l < L; l++) {
            rank += shift + sd * relmc_normal(&stream) < truth;
        }
        u[i] = (double)(rank + 1) / (L + 1);
    }
    assert_int_equal(relmc_ecdf_test(&p, SIMULATIONS, u, L + 1, NULL),
                     RELMC_OK);
    return p;
}

static void test_band__separates_calibrated_from_not(void **state)
{
    (void)state;
    assert_true(calibrate(0.0, 1.0) > 0.01);
    assert_true(calibrate(0.3, 1.0) < 1e-4);
    assert_true(calibrate(0.0, 0.7) < 1e-4);
}

static void test_band__refuses_with_a_clear_line(void **state)
{
    static const double u[] = {0.5, 1.5};
    relmc_ecdf_band b = RELMC_INIT(relmc_ecdf_band);
    relmc_error err;
    double p;

    (void)state;
    assert_int_equal(relmc_ecdf_band_find(&b, NULL, NULL, 10, 10, 0.0, &err),
                     RELMC_EINVAL);
    assert_int_equal(relmc_ecdf_band_find(&b, NULL, NULL, 0, 10, 0.1, &err),
                     RELMC_EINVAL);
    assert_int_equal(
        relmc_ecdf_band_find(&b, NULL, NULL, SIZE_MAX, SIZE_MAX, 0.1, &err),
        RELMC_EINVAL);
    assert_int_equal(relmc_ecdf_test(&p, 2, u, 10, &err), RELMC_EINVAL);
    assert_string_equal(err.message,
                        "ecdf: u must be in [0, 1], number 1 is 1.5");
    assert_int_equal(relmc_ecdf_test(&p, 1, u, 1, &err), RELMC_EINVAL);
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
        cmocka_unit_test(test_zscore__is_standard_for_right_chains),
        cmocka_unit_test(test_zscore__sees_wrong_chains),
        cmocka_unit_test(test_zscore__is_its_formula),
        cmocka_unit_test(test_zscore__of_few_values),
        cmocka_unit_test(test_known__comes_from_reference_draws),
        cmocka_unit_test(test_band__equals_reference_values),
        cmocka_unit_test(test_band__covers_what_it_says),
        cmocka_unit_test(test_band__counts_ranks_exactly),
        cmocka_unit_test(test_band__separates_calibrated_from_not),
        cmocka_unit_test(test_band__refuses_with_a_clear_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
