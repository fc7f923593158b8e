/*
 * momentum.c - refreshed momenta have the exact distribution functions, over the whole
 * range of dimensions and energies m c^2, with masses other than 1.  Without arguments
 * 1e5 draws per case; with "full" 1e6, and more cases.  A last argument restricts the
 * tests to those whose names match.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "relmc.h"
#include "support/check.h"
#include "support/stats.h"
#include "support/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 64, MAX_DRAWS = 1000000, SPEC_BYTES = 1024 };

/* With random seeds a case would fail by chance once in a million times; seeds are
 * fixed. */
static const double least_p = 1e-6;
static const double most_z = 5.0;

static const double betas[] = {1e-8, 1e-4, 1e-2, 0.3, 1, 10, 1e4, 1e8, 1e12};
enum { N_BETAS = sizeof betas / sizeof *betas };

static size_t n_draws = 100000; /* per case */
static int is_full;
static double u[MAX_DRAWS];

/* ---- cases ---------------------------------------------------------------- */

/* Draws of one kinetic energy, a block of LANES at a time. */
struct source {
    char spec[SPEC_BYTES];
    relmc_arena arena;
    relmc_kinetic kinetic;
    relmc_shape shape;
    relmc_stream *streams;
    double *p, *work;
};

static size_t n_wrong;

static void open_source(struct source *t, size_t dim, const char *spec)
{
    static uint64_t seed = 1000;
    const size_t lanes = dim < 10000 ? LANES : 8;

    if (t->spec != spec) {
        (void)snprintf(t->spec, sizeof t->spec, "%s", spec);
    }
    t->arena = (relmc_arena){0};
    t->shape = (relmc_shape){dim, lanes, lanes};
    t->kinetic = test_kinetic_open(&t->arena, t->spec, dim, rmc_isa_best());
    t->streams =
        test_streams_new(&t->arena, lanes, seed++, 0, RELMC_FOR_MOMENTUM);
    t->p = rmc_lanes_new(&t->arena, &t->shape);
    t->work = relmc_arena_get(
        &t->arena, (2 * rmc_cells(&t->shape) + t->shape.ld) * sizeof(double));
    assert_int_equal(relmc_arena_check(&t->arena, NULL), RELMC_OK);
}

/* The joint energy with this m c^2. */
static void open_joint(struct source *t, size_t dim, double m, double beta)
{
    (void)snprintf(t->spec, sizeof t->spec, "relativistic:m=%.17g,c=%.17g", m,
                   sqrt(beta / m));
    open_source(t, dim, t->spec);
}

static void close_source(struct source *t)
{
    rmc_arena_release(&t->arena);
}

static void refresh(struct source *t)
{
    t->kinetic.ops->refresh(t->kinetic.self, &t->shape, t->streams, t->p);
}

static void partial(struct source *t, double a)
{
    const relmc_bath bath = {.keep = a, .temperature = 1.0};

    t->kinetic.ops->partial(t->kinetic.self, &t->shape, t->streams, &bath, t->p,
                            t->work);
}

static double radius(const struct source *t, size_t k)
{
    double sum = 0.0;

    for (size_t i = 0; i < t->shape.dim; i++) {
        const double p = t->p[i * t->shape.ld + k];
        sum += p * p;
    }
    return sqrt(sum);
}

static void demand_p(const struct source *t, double p, const char *what)
{
    if (!(p > least_p) && n_wrong++ < 10) {
        print_error("%s, dim %zu: %s, p-value %.2g\n", t->spec, t->shape.dim,
                    what, p);
    }
}

static void demand_z(const struct source *t, const stats_sums *sums,
                     double truth, const char *what)
{
    const double z = stats_z(sums, truth);

    if (!(z < most_z) && n_wrong++ < 10) {
        print_error("%s, dim %zu: %s is %.8g, should be %.8g, %.1f standard "
                    "errors\n",
                    t->spec, t->shape.dim, what, sums->mean, truth, z);
    }
}

static void demand_none(void)
{
    const size_t n = n_wrong;

    n_wrong = 0;
    if (n > 0) {
        fail_msg("%zu complaints", n);
    }
}

/* n rounded down to whole blocks. */
static size_t whole(size_t n)
{
    return n / LANES * LANES;
}

/* ---- the tools themselves ------------------------------------------------- */

/* 10 % of uniform samples have a p-value below 0.1, and all of slightly bent samples. */
static void test_stats__fit_tests_have_size_and_power(void **state)
{
    enum { N_SAMPLES = 400, N = 2000 };
    relmc_stream stream = {.seed = 5};

    (void)state;
    for (int is_bent = 0; is_bent <= 1; is_bent++) {
        int n_ks = 0, n_ad = 0;

        for (int sample = 0; sample < N_SAMPLES; sample++) {
            for (size_t i = 0; i < N; i++) {
                u[i] = pow(relmc_uniform(&stream), is_bent ? 1.2 : 1.0);
            }
            stats_sort(u, N);
            for (size_t i = 1; i < N; i++) {
                assert_true(u[i - 1] <= u[i]);
            }
            n_ks += stats_ks_p(u, N) < (is_bent ? 1e-3 : 0.1);
            n_ad += stats_ad_p(u, N) < (is_bent ? 1e-3 : 0.1);
        }
        /* 40 +- 6; the approximate formula of Anderson-Darling gives 46 */
        assert_in_range(n_ks, is_bent ? 396 : 16, is_bent ? 400 : 64);
        assert_in_range(n_ad, is_bent ? 396 : 16, is_bent ? 400 : 70);
    }
    u[0] = (double)NAN;
    assert_true(stats_uniform_p(u, N) == 0.0);
}

/* Percentage points from the literature. */
static void test_stats__probabilities_are_right(void **state)
{
    static stats_momentum law;

    (void)state;
    /* equal steps, shifted: D sqrt(n) = 1.63 is the 1 % point */
    for (size_t i = 0; i < 10000; i++) {
        u[i] = fmin(1.0, ((double)i + 0.5) / 10000 + 0.0162760);
    }
    check_near(stats_ks_p(u, 10000), 0.0094, 0.0006);
    check_close(stats_normal_p(1.959963984540054), 0.05, 1e-12);
    check_close(sqrt(3.0) * erfc(sqrt(6.0)), 0.0009, 0.05);

    /* d = 2 is elementary: K is Gamma(1) with probability beta / (1 + beta),
     * else Gamma(2) */
    stats_momentum_open(&law, 2, 2.5, sqrt(0.3 / 2.5));
    const double k = 1.7, e = k / 0.3; /* P(K <= k), K = beta e */
    const double exact = 1.0 - exp(-k) * (1.0 + k / 1.3);
    check_close(stats_momentum_cdf(&law, 2.5 * law.c * sqrt(e * (2.0 + e))),
                exact, 1e-8);
    /* d = 3, beta -> infinity: Maxwell, E p^2 = 3 m */
    stats_momentum_open(&law, 3, 2.5, 1e6);
    check_close(stats_momentum_moment(&law, 2.0), 7.5, 1e-9);
    /* d = 3, beta -> 0: Gamma(3), E |p| = 3 / c */
    stats_momentum_open(&law, 3, 2.5, 1e-6);
    check_close(stats_momentum_moment(&law, 1.0), 3e6, 1e-9);
}

/* ---- joint energy: radius ------------------------------------------------- */

static double radius_p(struct source *t, const stats_momentum *law, size_t n)
{
    for (size_t at = 0; at < n; at += LANES) {
        refresh(t);
        for (size_t k = 0; k < LANES; k++) {
            u[at + k] = stats_momentum_cdf(law, radius(t, k));
        }
    }
    return stats_uniform_p(u, n);
}

static void test_momentum__joint_radius(void **state)
{
    static const size_t dims[] = {1, 2, 3, 5, 10};
    static stats_momentum law;

    (void)state;
    for (size_t n = 0; n < N_BETAS * sizeof dims / sizeof *dims; n++) {
        const size_t dim = dims[n / N_BETAS];
        const double m = n % 2 ? 2.5 : 0.07, beta = betas[n % N_BETAS];
        struct source t;

        open_joint(&t, dim, m, beta);
        stats_momentum_open(&law, dim, m, sqrt(beta / m));
        demand_p(&t, radius_p(&t, &law, whole(n_draws)), "law of |p|");
        close_source(&t);
    }
    demand_none();
}

/* Mean and variance of the radius, and its law. */
static void test_momentum__joint_radius_in_many_dimensions(void **state)
{
    static const struct {
        size_t dim, draws, full; /* fewer draws, where one is expensive */
        double beta;
    } cases[] = {
        {199, 20000, 100000, 1e-4}, {199, 20000, 100000, 300},
        {200, 20000, 100000, 1},    {200, 20000, 100000, 1e6},
        {10000, 512, 10000, 1},     {10000, 512, 10000, 1e5},
        {1000000, 0, 192, 1},       {1000000, 64, 192, 1e6},
    };
    static stats_momentum law;

    (void)state;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        const size_t draws = whole(is_full ? cases[n].full : cases[n].draws);
        const double m = 2.5, beta = cases[n].beta;
        stats_sums mean = {0}, variance = {0};
        struct source t;

        if (!draws) {
            continue;
        }
        open_joint(&t, cases[n].dim, m, beta);
        stats_momentum_open(&law, cases[n].dim, m, sqrt(beta / m));
        const double first = stats_momentum_moment(&law, 1.0);
        const double spread = stats_momentum_moment(&law, 2.0) - first * first;

        for (size_t at = 0; at < draws; at += t.shape.lanes) {
            refresh(&t);
            for (size_t k = 0; k < t.shape.lanes; k++) {
                const double r = radius(&t, k);

                stats_add(&mean, r / first);
                stats_add(&variance, (r - first) * (r - first) / spread);
                u[at + k] = stats_momentum_cdf(&law, r);
            }
        }
        demand_z(&t, &mean, 1.0, "E |p| over what it should be");
        demand_z(&t, &variance, 1.0, "var |p| over what it should be");
        demand_p(&t, stats_uniform_p(u, draws), "law of |p|");
        close_source(&t);
    }
    demand_none();
}

/* ---- joint energy: direction ---------------------------------------------- */

/* w = sin phi is a coordinate of a uniform direction: phi has density
 * cos(phi)^(d-2). */
static double log_angle(const void *ctx, double phi)
{
    const double d = *(const double *)ctx;

    return d == 2.0 ? 0.0 : (d - 2.0) * log(fmax(cos(phi), 1e-300));
}

static void test_momentum__joint_direction_is_uniform(void **state)
{
    static const size_t dims[] = {2, 3, 5, 10, 200};
    static const double angle_betas[] = {1e-4, 1, 1e4};
    static stats_law law;
    const double quarter = 1.57079632679489661923;

    (void)state;
    for (size_t n = 0; n < 3 * sizeof dims / sizeof *dims; n++) {
        const size_t dim = dims[n / 3];
        const size_t draws = whole(dim < 100 ? n_draws : n_draws / 10);
        const double d = (double)dim;
        struct source t;

        open_joint(&t, dim, 2.5, angle_betas[n % 3]);
        stats_law_open(&law, log_angle, &d, -quarter, quarter);
        /* the first axis, the last axis, the diagonal */
        for (size_t axis = 0; axis < 3; axis++) {
            for (size_t at = 0; at < draws; at += LANES) {
                refresh(&t);
                for (size_t k = 0; k < LANES; k++) {
                    double w = t.p[axis == 1 ? (dim - 1) * LANES + k : k];

                    for (size_t i = 1; i < dim && axis == 2; i++) {
                        w += t.p[i * LANES + k];
                    }
                    w /= radius(&t, k) * (axis == 2 ? sqrt(d) : 1.0);
                    u[at + k] =
                        stats_law_cdf(&law, asin(fmax(-1.0, fmin(1.0, w))));
                }
            }
            demand_p(&t, stats_uniform_p(u, draws),
                     axis == 2 ? "direction along the diagonal"
                               : "direction along an axis");
        }
        close_source(&t);
    }
    demand_none();
}

/* E p_i p_j = E |p|^2 / d if i = j, else 0; for d = 1, both signs. */
static void test_momentum__joint_covariance_is_isotropic(void **state)
{
    static const size_t dims[] = {1, 2, 3, 5, 10};
    static const double some[] = {1e-2, 1, 100};
    static stats_momentum law;

    (void)state;
    for (size_t n = 0; n < 3 * sizeof dims / sizeof *dims; n++) {
        const size_t dim = dims[n / 3];
        const double m = 2.5, beta = some[n % 3];
        stats_sums mean[10] = {0}, cov[10][10] = {0}, square[10][10] = {0};
        struct source t;

        open_joint(&t, dim, m, beta);
        stats_momentum_open(&law, dim, m, sqrt(beta / m));
        const double var = stats_momentum_moment(&law, 2.0) / (double)dim;
        /* E p_i^2 p_j^2 = E |p|^4 / (d (d + 2)) */
        const double both = stats_momentum_moment(&law, 4.0) / (var * var) /
                            (double)(dim * (dim + 2));

        for (size_t at = 0; at < whole(n_draws); at += LANES) {
            refresh(&t);
            for (size_t j = 0; j < dim * dim * LANES; j++) {
                const size_t a = j / LANES / dim, b = j / LANES % dim;
                const double p = t.p[a * LANES + j % LANES] / sqrt(var);
                const double q = t.p[b * LANES + j % LANES] / sqrt(var);

                if (a < b) {
                    stats_add(&cov[a][b], p * q);
                    stats_add(&square[a][b], p * p * q * q);
                } else if (a == b) {
                    stats_add(&mean[a], p);
                    stats_add(&cov[a][a], p * p);
                }
            }
        }
        for (size_t a = 0; a < dim; a++) {
            demand_z(&t, &mean[a], 0.0, "E p_i");
            demand_z(&t, &cov[a][a], 1.0, "E p_i^2 over what it should be");
            for (size_t b = a + 1; b < dim; b++) {
                demand_z(&t, &cov[a][b], 0.0, "correlation of p_i and p_j");
                demand_z(&t, &square[a][b], both, "E p_i^2 p_j^2");
            }
        }
        close_source(&t);
    }
    demand_none();
}

/* ---- separable energy ----------------------------------------------------- */

enum { MAX_DIM = 20 };

struct coordinates {
    size_t dim;
    double m[MAX_DIM], c[MAX_DIM];
};

static void open_separable(struct source *t, const struct coordinates *x)
{
    rmc_text text = {t->spec, sizeof t->spec, 0};

    for (int is_c = 0; is_c <= 1; is_c++) {
        rmc_text_add(&text, is_c ? ",c=[" : "separable:m=[");
        for (size_t i = 0; i < x->dim; i++) {
            rmc_text_add(&text, "%s%.17g", i ? "," : "",
                         is_c ? x->c[i] : x->m[i]);
        }
        rmc_text_add(&text, "]");
    }
    assert_true(text.bytes < sizeof t->spec);
    open_source(t, x->dim, t->spec);
}

/* The law of every coordinate, after some partial refreshes, and independence:
 * correlations of p and of p^2 between neighbours, lanes and calls. */
static void check_coordinates(const struct coordinates *x, size_t draws,
                              size_t n_partial, double a)
{
    static double all[MAX_DIM][MAX_DRAWS];
    static stats_momentum law;
    const double middle = sqrt(12.0); /* (u - 1/2) sqrt(12) has variance 1 */
    struct source t;

    open_separable(&t, x);
    for (size_t at = 0; at < draws; at += LANES) {
        refresh(&t);
        for (size_t n = 0; n < n_partial; n++) {
            partial(&t, a);
        }
        for (size_t i = 0; i < x->dim; i++) {
            memcpy(all[i] + at, t.p + i * LANES, LANES * sizeof(double));
        }
    }
    for (size_t i = 0; i < x->dim; i++) {
        stats_momentum_open(&law, 1, x->m[i], x->c[i]);
        for (size_t j = 0; j < draws; j++) {
            all[i][j] = stats_momentum_cdf_signed(&law, all[i][j]);
        }
    }
    for (size_t i = 0; i < x->dim; i++) {
        stats_sums p[3] = {0}, p2[3] = {0};

        for (size_t j = LANES; j < draws; j++) {
            /* next coordinate, next lane, last call */
            const double here = middle * (all[i][j] - 0.5);
            const double there[3] = {
                middle * (all[(i + 1) % x->dim][j] - 0.5),
                middle * (all[i][j - 1] - 0.5),
                middle * (all[i][j - LANES] - 0.5),
            };

            for (size_t q = x->dim == 1; q < 3; q++) {
                stats_add(&p[q], here * there[q]);
                stats_add(&p2[q],
                          (here * here - 1.0) * (there[q] * there[q] - 1.0));
            }
        }
        for (size_t q = x->dim == 1; q < 3; q++) {
            demand_z(&t, &p[q], 0.0, "correlation of p");
            demand_z(&t, &p2[q], 0.0, "correlation of p^2");
        }
    }
    for (size_t i = 0; i < x->dim; i++) {
        char what[64];

        (void)snprintf(what, sizeof what, "law of p_%zu (beta %g)", i,
                       x->m[i] * x->c[i] * x->c[i]);
        demand_p(&t, stats_uniform_p(all[i], draws), what);
    }
    close_source(&t);
}

/* One energy for all coordinates: the fast path. */
static void test_momentum__separable_one_table(void **state)
{
    (void)state;
    for (size_t n = 0; n < N_BETAS; n++) {
        const double m = n % 2 ? 2.5 : 0.07, c = sqrt(betas[n] / m);
        const struct coordinates x = {2, {m, m}, {c, c}};

        check_coordinates(&x, whole(n_draws), 0, 0.0);
    }
    demand_none();
}

/* Every coordinate has its own mass and speed limit; few energies. */
static void test_momentum__separable_few_tables(void **state)
{
    struct coordinates x = {7, {0}, {0}};

    (void)state;
    for (size_t i = 0; i < x.dim; i++) { /* 0.3, 10, 1e-4, 0.3, ... */
        static const double three[] = {0.3, 10, 1e-4};

        x.m[i] = 0.2 * pow(3.0, (double)i);
        x.c[i] = sqrt(three[i % 3] / x.m[i]);
    }
    check_coordinates(&x, whole(n_draws), 0, 0.0);
    demand_none();
}

/* More energies than tables: the first eight use up the tables, the others are drawn by
 * rejection. */
static void test_momentum__separable_by_rejection(void **state)
{
    struct coordinates x = {8 + N_BETAS, {0}, {0}};

    (void)state;
    for (size_t i = 0; i < x.dim; i++) {
        x.m[i] = 0.2 + 0.3 * (double)i;
        x.c[i] = i < 8 ? 1.0 : sqrt(betas[i - 8] / x.m[i]);
    }
    check_coordinates(&x, whole(n_draws), 0, 0.0);
    demand_none();
}

/* ---- partial refreshment --------------------------------------------------- */

static void test_momentum__separable_partial_stays_exact(void **state)
{
    static const double a[] = {0.0, 0.5, 0.9};
    struct coordinates x = {N_BETAS, {0}, {0}};

    (void)state;
    for (size_t i = 0; i < N_BETAS; i++) {
        x.m[i] = 0.2 + 0.3 * (double)i;
        x.c[i] = sqrt(betas[i] / x.m[i]);
    }
    for (size_t n = 0; n < sizeof a / sizeof *a; n++) {
        check_coordinates(&x, whole(n_draws), 2, a[n]);
    }
    demand_none();
}

static void test_momentum__joint_partial_stays_exact(void **state)
{
    static const size_t dims[] = {1, 3, 10};
    static const double a[] = {0.0, 0.5, 0.9};
    static stats_momentum law;

    (void)state;
    for (size_t n = 0; n < N_BETAS * sizeof dims / sizeof *dims; n++) {
        const size_t dim = dims[n / N_BETAS];
        const double m = n % 2 ? 2.5 : 0.07, beta = betas[n % N_BETAS];
        const size_t draws = whole(n_draws);
        struct source t;

        open_joint(&t, dim, m, beta);
        stats_momentum_open(&law, dim, m, sqrt(beta / m));
        for (size_t at = 0; at < draws; at += LANES) {
            refresh(&t);
            partial(&t, a[n % 3]);
            partial(&t, a[n % 3]);
            for (size_t k = 0; k < LANES; k++) {
                u[at + k] = stats_momentum_cdf(&law, radius(&t, k));
            }
        }
        demand_p(&t, stats_uniform_p(u, draws), "law of |p| after partials");
        close_source(&t);
    }
    demand_none();
}

/* The pair (p, p') is exchangeable: [partial-refresh] is reversible. */
static void test_momentum__partial_is_reversible(void **state)
{
    static const char *const specs[] = {
        "separable:m=2.5,c=0.3", "relativistic:m=2.5,c=0.3",
        "separable:m=0.3,c=2", "relativistic:m=0.3,c=2", "newtonian:m=2.5"};

    (void)state;
    for (size_t n = 0; n < sizeof specs / sizeof *specs; n++) {
        stats_sums skew = {0};
        struct source t;

        open_source(&t, 3, specs[n]);
        for (size_t at = 0; at < whole(n_draws); at += LANES) {
            double e[2][LANES];

            refresh(&t);
            t.kinetic.ops->energy(t.kinetic.self, &t.shape, t.p, e[0]);
            partial(&t, 0.6);
            t.kinetic.ops->energy(t.kinetic.self, &t.shape, t.p, e[1]);
            for (size_t k = 0; k < LANES; k++) {
                const double f = exp(-e[0][k]), g = exp(-e[1][k]);

                stats_add(&skew, f * f * g - f * g * g);
            }
        }
        demand_z(&t, &skew, 0.0, "E f(p)^2 f(p') - f(p) f(p')^2");
        close_source(&t);
    }
    demand_none();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stats__fit_tests_have_size_and_power),
        cmocka_unit_test(test_stats__probabilities_are_right),
        cmocka_unit_test(test_momentum__joint_radius),
        cmocka_unit_test(test_momentum__joint_radius_in_many_dimensions),
        cmocka_unit_test(test_momentum__joint_direction_is_uniform),
        cmocka_unit_test(test_momentum__joint_covariance_is_isotropic),
        cmocka_unit_test(test_momentum__separable_one_table),
        cmocka_unit_test(test_momentum__separable_few_tables),
        cmocka_unit_test(test_momentum__separable_by_rejection),
        cmocka_unit_test(test_momentum__separable_partial_stays_exact),
        cmocka_unit_test(test_momentum__joint_partial_stays_exact),
        cmocka_unit_test(test_momentum__partial_is_reversible),
    };

    is_full = argc > 1 && !strcmp(argv[1], "full");
    n_draws = is_full ? MAX_DRAWS : 100000;
    if (argc > 1 + is_full) {
        cmocka_set_test_filter(argv[1 + is_full]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
