/*
 * metric.c - estimates of warm-up: eigenvalues, the three kinds of metric, the stretch that
 * a metric leaves, and the score of an engine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adapt/engine_score.h"
#include "base/linalg.h"
#include "support/check.h"
#include "transform/metric.h"

#include <stdlib.h>

static relmc_stream stream(uint32_t chain)
{
    return (relmc_stream){.seed = 20261116, .chain = chain, .purpose = 77};
}

/* ---- eigenvalues ----------------------------------------------------------- */

enum { MAX_DIM = 40 };

/* Q diag(w) Q' is the matrix, and Q is orthogonal; the upper triangle is not read. */
static void check_eigen(size_t dim, const double *lower, double tolerance)
{
    double q[MAX_DIM * MAX_DIM], w[MAX_DIM], work[2 * MAX_DIM];

    for (size_t i = 0; i < dim * dim; i++) {
        q[i] = i % dim <= i / dim ? lower[i] : (double)NAN;
    }
    assert_true(rmc_eigen(dim, q, w, work));
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j <= i; j++) {
            double back = 0.0, dot = 0.0;

            for (size_t k = 0; k < dim; k++) {
                back += q[i * dim + k] * w[k] * q[j * dim + k];
                dot += q[k * dim + i] * q[k * dim + j];
            }
            check_near(back, lower[i * dim + j], tolerance);
            check_near(dot, i == j ? 1.0 : 0.0, 1e-13);
        }
    }
}

static void test_metric__eigenvalues_of_random_matrices(void **state)
{
    relmc_stream s = stream(0);
    double a[MAX_DIM * MAX_DIM];

    (void)state;
    for (size_t dim = 1; dim <= MAX_DIM; dim++) {
        for (size_t i = 0; i < dim * dim; i++) {
            a[i] = relmc_normal(&s);
        }
        check_eigen(dim, a, 1e-12);
    }
}

static void test_metric__eigenvalues_of_special_matrices(void **state)
{
    enum { DIM = 30 };
    double ones[DIM * DIM], graded[DIM * DIM] = {0}, zero[DIM * DIM] = {0};

    (void)state;
    for (size_t i = 0; i < DIM * DIM; i++) {
        ones[i] = 1.0;
    }
    for (size_t i = 0; i < DIM; i++) {
        graded[i * DIM + i] = pow(10.0, -(double)i);
    }
    check_eigen(DIM, ones, 1e-12);
    check_eigen(DIM, graded, 1e-14);
    check_eigen(DIM, zero, 0.0);
}

static void test_metric__a_matrix_with_nan_has_none(void **state)
{
    double a[9] = {1, 0, 0, (double)NAN, 1, 0, 0, 0, 1}, w[3], work[6];

    (void)state;
    assert_false(rmc_eigen(3, a, w, work));
}

/* ---- the scale ------------------------------------------------------------- */

/* Draws of a Gaussian x = L z and gradients -(L L')^-1 x. */
struct sample {
    size_t dim, n_chains, n;
    double *x[8], *g[8];
};

static void solve_upper(size_t d, const double *L, const double *b, double *y)
{
    for (size_t i = d; i-- > 0;) {
        y[i] = b[i];
        for (size_t j = i + 1; j < d; j++) {
            y[i] -= L[j * d + i] * y[j];
        }
        y[i] /= L[i * d + i];
    }
}

static void draw_sample(struct sample *s, const double *L)
{
    const size_t d = s->dim;
    double *z = malloc(d * sizeof *z), *y = malloc(d * sizeof *y);

    assert_non_null(z);
    assert_non_null(y);
    for (size_t c = 0; c < s->n_chains; c++) {
        relmc_stream r = stream((uint32_t)c + 1);

        s->x[c] = malloc(s->n * d * sizeof(double));
        s->g[c] = malloc(s->n * d * sizeof(double));
        assert_non_null(s->x[c]);
        assert_non_null(s->g[c]);
        for (size_t t = 0; t < s->n; t++) {
            double *x = s->x[c] + t * d, *g = s->g[c] + t * d;

            for (size_t i = 0; i < d; i++) {
                z[i] = relmc_normal(&r);
            }
            for (size_t i = 0; i < d; i++) {
                x[i] = 3.0; /* a mean */
                for (size_t j = 0; j <= i; j++) {
                    x[i] += L[i * d + j] * z[j];
                }
            }
            solve_upper(d, L, z, y); /* L'^-1 z */
            for (size_t i = 0; i < d; i++) {
                g[i] = -y[i];
            }
        }
    }
    free(z);
    free(y);
}

static void free_sample(struct sample *s)
{
    for (size_t c = 0; c < s->n_chains; c++) {
        free(s->x[c]);
        free(s->g[c]);
    }
}

static struct rmc_window window_of(const struct sample *s)
{
    return (struct rmc_window){s->dim, s->n_chains, s->n,
                               (const double *const *)s->x,
                               (const double *const *)s->g};
}

/* A lower factor with standard deviations over five orders of magnitude. */
static void make_factor(size_t d, double *L)
{
    relmc_stream r = stream(100);

    for (size_t i = 0; i < d; i++) {
        const double scale = pow(10.0, 5.0 * (double)i / (double)d - 2.0);

        for (size_t j = 0; j < d; j++) {
            L[i * d + j] = j > i    ? 0.0
                           : j == i ? scale
                                    : 0.7 * scale * relmc_normal(&r);
        }
    }
}

/* The largest relative error of an inverse metric, in units of the true one. */
static double worst_error(size_t d, const double *chol, const double *L)
{
    double worst = 0.0;

    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            double a = 0.0, b = 0.0, ii = 0.0, jj = 0.0;

            for (size_t k = 0; k < d; k++) {
                a += chol[i * d + k] * chol[j * d + k];
                b += L[i * d + k] * L[j * d + k];
                ii += L[i * d + k] * L[i * d + k];
                jj += L[j * d + k] * L[j * d + k];
            }
            worst = fmax(worst, fabs(a - b) / sqrt(ii * jj));
        }
    }
    return worst;
}

/* [fisher] is exact for a Gaussian, up to the shrinkage towards the diagonal. */
static void test_metric__dense_metric_of_a_gaussian(void **state)
{
    enum { DIM = 12 };
    double L[DIM * DIM];
    struct sample s = {DIM, 4, 250, {0}, {0}};
    relmc_arena arena = {0};
    struct rmc_metric m = rmc_metric_new(&arena, DIM, 4, 250, RMC_DENSE);

    (void)state;
    make_factor(DIM, L);
    draw_sample(&s, L);
    const struct rmc_window w = window_of(&s);
    assert_int_equal(rmc_metric_estimate(&m, &w, RMC_DENSE), RMC_DENSE);
    const double fisher = worst_error(DIM, m.chol, L);
    for (size_t i = 0; i < DIM; i++) {
        for (size_t j = 0; j < DIM; j++) {
            assert_true(m.chol_t[j * DIM + i] == m.chol[i * DIM + j]);
        }
    }
    print_message("worst error: %.3g\n", fisher);
    assert_true(fisher < 0.06);
    free_sample(&s);
    rmc_arena_release(&arena);
}

static void test_metric__too_few_draws_give_a_diagonal(void **state)
{
    enum { DIM = 12 };
    double L[DIM * DIM];
    struct sample s = {DIM, 2, 11, {0}, {0}};
    relmc_arena arena = {0};
    struct rmc_metric m = rmc_metric_new(&arena, DIM, 2, 11, RMC_DENSE);

    (void)state;
    make_factor(DIM, L);
    draw_sample(&s, L);
    const struct rmc_window w = window_of(&s);
    assert_int_equal(rmc_metric_estimate(&m, &w, RMC_DENSE), RMC_DIAGONAL);
    free_sample(&s);
    rmc_arena_release(&arena);
}

/* Independent coordinates: [fisher] finds their standard deviations; a coordinate
 * that does not move keeps its scale. */
static void test_metric__diagonal_metric(void **state)
{
    enum { DIM = 5 };
    static const double sd[DIM] = {1e-3, 0.1, 1, 50, 1e4};
    double L[DIM * DIM] = {0};
    struct sample s = {DIM, 4, 400, {0}, {0}};

    (void)state;
    for (size_t i = 0; i < DIM; i++) {
        L[i * DIM + i] = sd[i];
    }
    draw_sample(&s, L);
    for (size_t c = 0; c < 4; c++) {
        for (size_t t = 0; t < 400; t++) {
            s.x[c][t * DIM + 2] = 7.0;
        }
    }
    relmc_arena arena = {0};
    struct rmc_metric m = rmc_metric_new(&arena, DIM, 4, 400, RMC_DIAGONAL);
    const struct rmc_window w = window_of(&s);

    assert_int_equal(rmc_metric_estimate(&m, &w, RMC_DIAGONAL), RMC_DIAGONAL);
    for (size_t i = 0; i < DIM; i++) {
        check_close(m.sd[i], i == 2 ? 1.0 : sd[i], 1e-9);
    }
    rmc_arena_release(&arena);
    free_sample(&s);
}

/* [low-rank] Two directions of 300 are 10 times as long and 8 times as short. */
static void test_metric__low_rank_metric_finds_the_odd_directions(void **state)
{
    enum { DIM = 300 };
    static const double length[2] = {10.0, 0.125};
    double *L = calloc(DIM * DIM, sizeof *L);
    struct sample s = {DIM, 4, 100, {0}, {0}};
    relmc_arena arena = {0};
    struct rmc_metric m = rmc_metric_new(&arena, DIM, 4, 100, RMC_LOW_RANK);

    (void)state;
    assert_non_null(L);
    for (size_t i = 0; i < DIM; i++) {
        L[i * DIM + i] = 1.0;
    }
    draw_sample(&s, L);
    /* x <- x + (f - 1) u u'x along u = (1, ..., 1)/sqrt(150) in either half, which
     * hardly changes single coordinates */
    for (size_t c = 0; c < 4; c++) {
        for (size_t t = 0; t < 100; t++) {
            for (size_t half = 0; half < 2; half++) {
                double *x = s.x[c] + t * DIM + half * 150;
                double *g = s.g[c] + t * DIM + half * 150;
                double along_x = 0.0, along_g = 0.0;

                for (size_t i = 0; i < 150; i++) {
                    along_x += (x[i] - 3.0) / 150.0;
                    along_g += g[i] / 150.0;
                }
                for (size_t i = 0; i < 150; i++) {
                    x[i] += (length[half] - 1.0) * along_x;
                    g[i] += (1.0 / length[half] - 1.0) * along_g;
                }
            }
        }
    }
    const struct rmc_window w = window_of(&s);
    assert_int_equal(rmc_metric_estimate(&m, &w, RMC_LOW_RANK), RMC_LOW_RANK);
    assert_int_equal(m.rank, 2);
    for (size_t r = 0; r < 2; r++) {
        const size_t half = m.factor[r] > 1.0 ? 0u : 1u;
        double inside = 0.0;

        for (size_t i = 0; i < 150; i++) {
            inside += m.low_rank[r * DIM + half * 150 + i] / sqrt(150.0);
        }
        check_near(fabs(inside), 1.0, 0.02);
        /* the factor is relative to the diagonal metric */
        check_close(m.factor[r] * m.sd[half * 150], length[half], 0.15);
    }
    free_sample(&s);
    free(L);
    rmc_arena_release(&arena);
}

/* In units of standard deviations a Gaussian with correlation rho has the eigenvalues
 * 1 + rho and 1 - rho.  The squared units of the diagonal [fisher] metric are
 * sqrt(1 - rho^2) times those.  In units of the dense metric all eigenvalues are 1. */
static void test_metric__stretch_of_a_gaussian(void **state)
{
    enum { N = 2000 };
    const double rho = 0.95;
    const double L[4] = {2.0, 0.0, 30.0 * rho, 30.0 * sqrt(1.0 - rho * rho)};
    const enum rmc_metric_kind kinds[] = {RMC_DIAGONAL, RMC_DENSE};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct sample s = {2, 4, N, {0}, {0}};
        relmc_arena arena = {0};
        struct rmc_metric m = rmc_metric_new(&arena, 2, 4, N, RMC_DENSE);

        draw_sample(&s, L);
        const struct rmc_window w = window_of(&s);
        (void)rmc_metric_estimate(&m, &w, kinds[k]);
        check_close(rmc_metric_stretch(&m, s.x, 4, N, kinds[k]),
                    kinds[k] == RMC_DENSE ? 1.0
                                          : sqrt((1.0 + rho) / (1.0 - rho)),
                    0.07);
        free_sample(&s);
        rmc_arena_release(&arena);
    }
}

/* ---- the score ------------------------------------------------------------- */

enum { SCORE_CHAINS = 4, SCORE_N = 2000, SCORE_DIM = 2 };

/* n draws of an AR(1) chain; coordinate 0 is faster. */
static void draw_ar1(double phi, size_t n, size_t dim, relmc_stream *r,
                     double *x)
{
    double y[10];

    for (size_t i = 0; i < dim; i++) {
        y[i] = relmc_normal(r);
    }
    for (size_t t = 0; t < n; t++) {
        for (size_t i = 0; i < dim; i++) {
            const double a = i ? phi : 0.5 * phi;

            y[i] = a * y[i] + sqrt(1.0 - a * a) * relmc_normal(r);
            x[t * dim + i] = y[i];
        }
    }
}

/* n (1 - phi)/(1 + phi) effective draws of the slow coordinate.  (Ranks have a
 * slightly smaller autocorrelation.) */
static void test_metric__score_of_autoregressions(void **state)
{
    static const double phi[2] = {0.5, 0.9};
    double *x[2][SCORE_CHAINS], score[2];
    double *work = malloc(4 * SCORE_CHAINS * SCORE_N * sizeof *work);
    struct rmc_pilot pilots[2];

    (void)state;
    assert_non_null(work);
    for (size_t e = 0; e < 2; e++) {
        for (size_t c = 0; c < SCORE_CHAINS; c++) {
            relmc_stream r = stream(200 + 10 * (uint32_t)e + (uint32_t)c);

            x[e][c] = malloc(SCORE_N * SCORE_DIM * sizeof(double));
            assert_non_null(x[e][c]);
            draw_ar1(phi[e], SCORE_N, SCORE_DIM, &r, x[e][c]);
        }
        pilots[e] = (struct rmc_pilot){SCORE_CHAINS, SCORE_N,
                                       (const double *const *)x[e],
                                       7.0 * SCORE_CHAINS * SCORE_N};
    }
    rmc_score(score, SCORE_DIM, pilots, 2, work);
    for (size_t e = 0; e < 2; e++) {
        check_close(score[e], (1.0 - phi[e]) / (1.0 + phi[e]) / 7.0, 0.15);
    }
    /* chains that hardly move mix badly, even if each explores its place well */
    for (size_t c = 0; c < SCORE_CHAINS; c++) {
        for (size_t j = 0; j < SCORE_N * SCORE_DIM; j++) {
            x[0][c][j] *= 0.01;
        }
    }
    rmc_score(score, SCORE_DIM, pilots, 2, work);
    assert_true(score[0] < 0.5 * score[1]);
    for (size_t e = 0; e < 2; e++) {
        for (size_t c = 0; c < SCORE_CHAINS; c++) {
            free(x[e][c]);
        }
    }
    free(work);
}

/* In pilots as short as those of auto, 40 and 80 draws a chain, an engine that is three
 * times better scores that much better in the mean, within a factor of two. */
static void test_metric__score_of_short_pilots(void **state)
{
    enum { DIM = 10, TRIES = 40, MAX_N = 80 };
    static const size_t n[2] = {40, MAX_N};
    static const double phi[2] = {0.5, 0.0};
    double x[2][SCORE_CHAINS][MAX_N * DIM], score[2], mean = 0.0;
    double work[4 * SCORE_CHAINS * MAX_N];

    (void)state;
    for (uint32_t try = 0; try < TRIES; try++) {
        const double *rows[2][SCORE_CHAINS];
        struct rmc_pilot pilots[2];

        for (size_t e = 0; e < 2; e++) {
            for (size_t c = 0; c < SCORE_CHAINS; c++) {
                relmc_stream r = stream(300 + 8 * try + (uint32_t)(4 * e + c));

                draw_ar1(phi[e], n[e], DIM, &r, x[e][c]);
                rows[e][c] = x[e][c];
            }
            pilots[e] = (struct rmc_pilot){SCORE_CHAINS, n[e], rows[e],
                                           (double)(SCORE_CHAINS * n[e])};
        }
        rmc_score(score, DIM, pilots, 2, work);
        mean += log(score[1] / score[0]) / TRIES;
    }
    assert_true(mean > log(1.5) && mean < log(6.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metric__eigenvalues_of_random_matrices),
        cmocka_unit_test(test_metric__eigenvalues_of_special_matrices),
        cmocka_unit_test(test_metric__a_matrix_with_nan_has_none),
        cmocka_unit_test(test_metric__dense_metric_of_a_gaussian),
        cmocka_unit_test(test_metric__too_few_draws_give_a_diagonal),
        cmocka_unit_test(test_metric__diagonal_metric),
        cmocka_unit_test(test_metric__low_rank_metric_finds_the_odd_directions),
        cmocka_unit_test(test_metric__stretch_of_a_gaussian),
        cmocka_unit_test(test_metric__score_of_autoregressions),
        cmocka_unit_test(test_metric__score_of_short_pilots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
