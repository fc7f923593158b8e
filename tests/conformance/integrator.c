/*
 * integrator.c - every integrator is reversible, preserves volume, has its order and
 * solves Hamilton's equations, with all kinds of kinetic energy, target and metric.  An
 * argument restricts the tests to those whose names match.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "relmc.h"
#include "support/check.h"
#include "support/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIM = 3, MAX_LANES = 16, MAX_CELLS = MAX_DIM * MAX_LANES };

/* The dense factor S is not symmetric, so that S in place of S' shows. */
static const double diag2[] = {0.5, 1.7};
static const double chol2[] = {1.3, 0, -0.9, 0.6};
static const double diag3[] = {0.5, 1.7, 1.2};
static const double chol3[] = {1.2, 0, 0, 0.5, 0.8, 0, -0.4, 0.7, 1.4};

static const struct {
    const char *model;
    const double *diag, *chol;
} targets[] = {
    {"gaussian:dim=3,rho=0.6,sd=[1,2,0.7],mean=[1,0,-1]", NULL, NULL},
    {"gaussian:dim=3,rho=0.6,sd=[1,2,0.7],mean=[1,0,-1]", diag3, NULL},
    {"gaussian:dim=3,rho=0.6,sd=[1,2,0.7],mean=[1,0,-1]", NULL, chol3},
    {"banana:sd=2,bend=0.3,shift=1", NULL, NULL},
    {"banana:sd=2,bend=0.3,shift=1", diag2, NULL},
    {"banana:sd=2,bend=0.3,shift=1", NULL, chol2},
};
enum { N_TARGETS = sizeof targets / sizeof *targets };

/* Every registered kinetic energy, those of relmc with m and c that are not 1. */
static const char *kinetics[16];
static size_t n_kinetics;

static int collect_kinetics(void **state)
{
    static const char *const ours[] = {
        "newtonian:m=2", "relativistic:m=0.7,c=2", "separable:m=0.7,c=2"};
    const relmc_info *info;

    (void)state;
    for (size_t i = 0; (info = rmc_component_info("kinetic", i)); i++) {
        assert_true(n_kinetics < sizeof kinetics / sizeof *kinetics);
        kinetics[n_kinetics] = info->name;
        for (size_t j = 0; j < sizeof ours / sizeof *ours; j++) {
            if (strncmp(ours[j], info->name, strlen(info->name)) == 0) {
                kinetics[n_kinetics] = ours[j];
            }
        }
        n_kinetics++;
    }
    return 0;
}

static const relmc_integrator_ops *method_at(size_t i)
{
    return (const relmc_integrator_ops *)(const void *)rmc_component_info(
        "integrator", i);
}

/* ---- complaints ----------------------------------------------------------- */

static size_t n_wrong;

static void wrong(const test_parts *at, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void wrong(const test_parts *at, const char *format, ...)
{
    const char *scale = at->chol ? "dense" : at->diag ? "diagonal" : "unit";
    char text[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n_wrong++ < 10) {
        print_error("%s, %s, %s, %s metric: %s\n", at->integrator, at->kinetic,
                    at->model, scale, text);
    }
}

/* Runs a check on all combinations; fails if any of them complained. */
static void for_all(void (*check)(const test_parts *))
{
    const relmc_integrator_ops *method;

    n_wrong = 0;
    for (size_t i = 0; (method = method_at(i)); i++) {
        for (size_t n = 0; n < n_kinetics * N_TARGETS; n++) {
            const size_t t = n % N_TARGETS;
            const test_parts parts = {.model = targets[t].model,
                                      .diag = targets[t].diag,
                                      .chol = targets[t].chol,
                                      .kinetic = kinetics[n / N_TARGETS],
                                      .integrator = method->info.name,
                                      .seed = 31 + t};
            check(&parts);
        }
    }
    if (n_wrong > 0) {
        fail_msg("%zu complaints", n_wrong);
    }
}

/* ---- moving ---------------------------------------------------------------- */

/* n steps of length h in every lane. */
static void go(test_system *t, size_t n, double h)
{
    double step[MAX_LANES] = {0};

    for (size_t k = 0; k < t->sys.shape.lanes; k++) {
        step[k] = h;
    }
    while (n-- > 0) {
        assert_int_equal(t->sys.move.integrator->step(t->sys.move.integrator,
                                                      &t->sys, &t->z, step),
                         RELMC_OK);
    }
}

static void flip(test_system *t)
{
    for (size_t j = 0; j < rmc_cells(&t->sys.shape); j++) {
        t->z.p[j] = -t->z.p[j];
    }
}

/* Points in phase space, of all lanes. */
struct point {
    double x[MAX_CELLS], p[MAX_CELLS];
};

static struct point point_of(const test_system *t)
{
    const size_t bytes = rmc_cells(&t->sys.shape) * sizeof(double);
    struct point at = {{0}, {0}};

    assert_true(bytes <= sizeof at.x);
    memcpy(at.x, t->z.x, bytes);
    memcpy(at.p, t->z.p, bytes);
    return at;
}

static void go_to(test_system *t, const struct point *at)
{
    const size_t bytes = rmc_cells(&t->sys.shape) * sizeof(double);

    memcpy(t->z.x, at->x, bytes);
    memcpy(t->z.p, at->p, bytes);
    assert_int_equal(relmc_eval(&t->sys, t->z.x, t->z.lp, t->z.g), RELMC_OK);
}

/* Root of the sum of squares over all lanes. */
static double distance(const test_system *t, const struct point *a,
                       const struct point *b)
{
    const relmc_shape *s = &t->sys.shape;
    double sum = 0.0;

    for (size_t i = 0; i < s->dim; i++) {
        for (size_t k = 0; k < s->lanes; k++) {
            const double x = a->x[i * s->ld + k] - b->x[i * s->ld + k];
            const double p = a->p[i * s->ld + k] - b->p[i * s->ld + k];
            sum += x * x + p * p;
        }
    }
    return sqrt(sum);
}

static test_system open_at(const test_parts *parts, size_t lanes, int isa)
{
    test_parts with = *parts;
    test_system t;

    with.lanes = lanes;
    with.isa = isa;
    test_system_open(&t, &with);
    test_system_start(&t);
    return t;
}

/* ---- the table ------------------------------------------------------------- */

static void test_integrator__fractions_are_palindromic_and_add_up(void **state)
{
    const relmc_integrator_ops *m;

    (void)state;
    for (size_t i = 0; (m = method_at(i)); i++) {
        double sum[2] = {0.0, 0.0};

        assert_true(m->n_coef >= 3 && m->n_coef % 2 == 1 && m->order >= 1);
        for (size_t n = 0; n < m->n_coef; n++) {
            assert_true(m->coef[n] == m->coef[m->n_coef - 1 - n]);
            sum[n % 2] += m->coef[n];
        }
        check_near(sum[0], 1.0, 4e-16);
        check_near(sum[1], 1.0, 4e-16);
    }
}

/* ---- time ------------------------------------------------------------------ */

/* Steps, with p reversed, lead back; so do steps of -h. */
static void check_reversible(const test_parts *parts)
{
    test_system t = open_at(parts, 4, RMC_BASELINE);
    const struct point start = point_of(&t);
    struct point end;

    go(&t, 25, 0.1);
    end = point_of(&t);
    if (!(distance(&t, &start, &end) > 0.5)) {
        wrong(parts, "it hardly moves");
    }
    flip(&t);
    go(&t, 25, 0.1);
    flip(&t);
    end = point_of(&t);
    if (!(distance(&t, &start, &end) <= 1e-12)) {
        wrong(parts, "comes back %g beside its start",
              distance(&t, &start, &end));
    }
    go_to(&t, &start);
    go(&t, 25, 0.1);
    go(&t, 25, -0.1);
    end = point_of(&t);
    if (!(distance(&t, &start, &end) <= 1e-12)) {
        wrong(parts, "step -h undoes step h only to %g",
              distance(&t, &start, &end));
    }
    test_system_close(&t);
}

static void test_integrator__is_reversible(void **state)
{
    (void)state;
    for_all(check_reversible);
}

/* out = S v (or S' v) for one lane. */
static void scaled(const test_parts *parts, size_t dim, int is_transposed,
                   const double *v, double *out)
{
    for (size_t i = 0; i < dim; i++) {
        out[i] = parts->diag ? parts->diag[i] * v[i] : v[i];
        if (parts->chol) {
            out[i] = 0.0;
            for (size_t j = 0; j < dim; j++) {
                out[i] += v[j] * (is_transposed ? parts->chol[j * dim + i]
                                                : parts->chol[i * dim + j]);
            }
        }
    }
}

/* Hamilton's equations: dx/dt = S v(p), dp/dt = S' grad lp. */
static void check_equations(const test_parts *parts)
{
    const double h = 1e-4;
    test_system t = open_at(parts, 1, RMC_BASELINE);
    const size_t dim = t.sys.shape.dim;
    const relmc_kinetic *kin = &t.sys.move.kinetic;
    const struct point start = point_of(&t);
    double v[MAX_DIM], dx[MAX_DIM], dp[MAX_DIM];
    struct point side[2];

    kin->ops->velocity(kin->self, &t.sys.shape, start.p, v);
    scaled(parts, dim, 0, v, dx);
    scaled(parts, dim, 1, t.z.g, dp);
    for (size_t n = 0; n < 2; n++) {
        go_to(&t, &start);
        go(&t, 1, n ? h : -h);
        side[n] = point_of(&t);
    }
    for (size_t i = 0; i < dim; i++) {
        const double x = (side[1].x[i] - side[0].x[i]) / (2.0 * h);
        const double p = (side[1].p[i] - side[0].p[i]) / (2.0 * h);

        if (!(fabs(x - dx[i]) <= 1e-6 * (1.0 + fabs(dx[i])))) {
            wrong(parts, "dx_%zu/dt is %.9g, S v is %.9g", i, x, dx[i]);
        }
        if (!(fabs(p - dp[i]) <= 1e-6 * (1.0 + fabs(dp[i])))) {
            wrong(parts, "dp_%zu/dt is %.9g, S' g is %.9g", i, p, dp[i]);
        }
    }
    test_system_close(&t);
}

static void test_integrator__follows_hamiltons_equations(void **state)
{
    (void)state;
    for_all(check_equations);
}

/* Largest energy error over a unit of time, and the end point. */
static double orbit(test_system *t, const struct point *start, size_t n_steps,
                    struct point *end)
{
    double first[MAX_LANES], now[MAX_LANES], worst = 0.0;

    go_to(t, start);
    test_system_energy(t, first);
    for (size_t n = 0; n < n_steps; n++) {
        go(t, 1, 1.0 / (double)n_steps);
        test_system_energy(t, now);
        for (size_t k = 0; k < t->sys.shape.lanes; k++) {
            worst = fmax(worst, fabs(now[k] - first[k]));
        }
    }
    *end = point_of(t);
    return worst;
}

/* Halving the step divides both errors by 2^order. */
static void check_order(const test_parts *parts)
{
    enum { STEPS = 64, FINE = 32 };
    test_parts fine = *parts;
    fine.integrator = "yoshida";
    test_system t = open_at(parts, 4, RMC_BASELINE);
    test_system reference = open_at(&fine, 4, RMC_BASELINE);
    const struct point start = point_of(&t);
    const double order = t.sys.move.integrator->order;
    double energy[2], error[2];
    struct point end, exact;

    (void)orbit(&reference, &start, STEPS * FINE, &exact);
    for (size_t n = 0; n < 2; n++) {
        energy[n] = orbit(&t, &start, STEPS * (n + 1), &end);
        error[n] = distance(&t, &end, &exact);
    }
    const double slope_energy = log2(energy[0] / energy[1]);
    const double slope_error = log2(error[0] / error[1]);
    if (!(fabs(slope_energy - order) < 0.2)) {
        wrong(parts, "energy error of order %.3f: %g, %g", slope_energy,
              energy[0], energy[1]);
    }
    if (!(fabs(slope_error - order) < 0.2)) {
        wrong(parts, "global error of order %.3f: %g, %g", slope_error,
              error[0], error[1]);
    }
    test_system_close(&t);
    test_system_close(&reference);
}

static void test_integrator__order_is_as_declared(void **state)
{
    (void)state;
    for_all(check_order);
}

/* ---- volume, energy -------------------------------------------------------- */

static double determinant(size_t n, double a[][2 * MAX_DIM])
{
    double det = 1.0;

    for (size_t j = 0; j < n; j++) {
        size_t pivot = j;

        for (size_t i = j + 1; i < n; i++) {
            pivot = fabs(a[i][j]) > fabs(a[pivot][j]) ? i : pivot;
        }
        det *= pivot == j ? a[pivot][j] : -a[pivot][j];
        for (size_t q = j; q < n; q++) {
            const double kept = a[j][q];
            a[j][q] = a[pivot][q];
            a[pivot][q] = kept;
        }
        for (size_t i = j + 1; i < n; i++) {
            const double f = a[i][j] / a[j][j];
            for (size_t q = j; q < n; q++) {
                a[i][q] -= f * a[j][q];
            }
        }
    }
    return det;
}

/* The determinant of the map (x, p) -> three steps, by central differences of
 * order 4. */
static void check_volume(const test_parts *parts)
{
    static const double weight[4] = {1.0 / 12, -2.0 / 3, 2.0 / 3, -1.0 / 12};
    static const double offset[4] = {-2e-3, -1e-3, 1e-3, 2e-3};
    test_system t = open_at(parts, 1, RMC_BASELINE);
    const size_t dim = t.sys.shape.dim;
    const struct point start = point_of(&t);
    double jacobian[2 * MAX_DIM][2 * MAX_DIM] = {{0}};

    for (size_t j = 0; j < 2 * dim; j++) {
        for (size_t q = 0; q < 4; q++) {
            struct point at = start;

            *(j < dim ? &at.x[j] : &at.p[j - dim]) += offset[q];
            go_to(&t, &at);
            go(&t, 3, 0.2);
            at = point_of(&t);
            for (size_t i = 0; i < 2 * dim; i++) {
                jacobian[i][j] +=
                    weight[q] * (i < dim ? at.x[i] : at.p[i - dim]) / 1e-3;
            }
        }
    }
    const double det = determinant(2 * dim, jacobian);
    if (!(fabs(det - 1.0) <= 1e-6)) {
        wrong(parts, "volume is multiplied by %.9g", det);
    }
    test_system_close(&t);
}

static void test_integrator__preserves_volume(void **state)
{
    (void)state;
    for_all(check_volume);
}

/* The energy does not drift in 1e5 steps: errors of the second half are like those of
 * the first.  A drift would double the largest error and shift the mean. */
static void check_long_orbit(const test_parts *parts)
{
    enum { N_STEPS = 100000 };
    test_system t = open_at(parts, 1, RMC_BASELINE);
    double first, now, most[2] = {0, 0}, mean[2] = {0, 0};

    test_system_energy(&t, &first);
    for (size_t n = 0; n < N_STEPS; n++) {
        const size_t half = 2 * n / N_STEPS;

        go(&t, 1, 0.1);
        test_system_energy(&t, &now);
        most[half] = fmax(most[half], fabs(now - first));
        mean[half] += (now - first) / (N_STEPS / 2);
    }
    if (!(most[1] <= 2.0 * most[0] && most[0] < 1.0)) {
        wrong(parts, "energy error up to %g, then up to %g", most[0], most[1]);
    }
    if (!(fabs(mean[1] - mean[0]) <= 0.5 * most[0])) {
        wrong(parts, "mean energy error %g, then %g, at most %g", mean[0],
              mean[1], most[0]);
    }
    test_system_close(&t);
}

static void test_integrator__energy_error_is_bounded(void **state)
{
    (void)state;
    for_all(check_long_orbit);
}

/* ---- lanes ----------------------------------------------------------------- */

enum { N_LANE_STEPS = 20 };

static void make_steps(test_system *t, const double *step)
{
    for (size_t n = 0; n < N_LANE_STEPS; n++) {
        (void)t->sys.move.integrator->step(t->sys.move.integrator, &t->sys,
                                           &t->z, step);
    }
}

/* Lane k of `all` ends as if it were alone.  `start`: where the lanes began. */
static void compare_lane(const test_parts *parts, const test_system *all,
                         const struct point *start, size_t k,
                         const test_system *one, double step)
{
    const relmc_shape *s = &all->sys.shape;
    int is_same = one->z.lp[0] == all->z.lp[k];

    for (size_t i = 0; i < s->dim; i++) {
        const size_t j = i * s->ld + k;

        is_same &= one->z.x[i] == all->z.x[j] && one->z.p[i] == all->z.p[j] &&
                   one->z.g[i] == all->z.g[j];
        if (step == 0.0 &&
            (all->z.x[j] != start->x[j] || all->z.p[j] != start->p[j])) {
            wrong(parts, "a lane with step 0 moves");
        }
    }
    if (!is_same) {
        wrong(parts, "lane %zu is not what it is alone", k);
    }
}

/* Sixteen lanes with different step sizes, also 0 and negative ones: each moves as if
 * it were alone, bit for bit, on every code path. */
static void check_lanes(const test_parts *parts)
{
    test_system all[RMC_N_ISA];
    struct point start[RMC_N_ISA];
    const int best = rmc_isa_best();
    double step[MAX_LANES];

    for (size_t k = 0; k < MAX_LANES; k++) {
        step[k] = k == 5 ? 0.0 : (k % 3 ? 0.01 : -0.02) * (double)(k + 1);
    }
    for (int isa = 0; isa <= best; isa++) {
        all[isa] = open_at(parts, MAX_LANES, isa);
        start[isa] = point_of(&all[isa]);
        make_steps(&all[isa], step);
    }
    for (size_t k = 0; k < MAX_LANES; k++) {
        test_parts single = *parts;
        single.first_chain = (uint32_t)k;
        test_system one = open_at(&single, 1, RMC_BASELINE);

        make_steps(&one, step + k);
        for (int isa = 0; isa <= best; isa++) {
            compare_lane(parts, &all[isa], &start[isa], k, &one, step[k]);
        }
        test_system_close(&one);
    }
    for (int isa = 0; isa <= best; isa++) {
        test_system_close(&all[isa]);
    }
}

static void test_integrator__lanes_are_independent_bitwise(void **state)
{
    (void)state;
    for_all(check_lanes);
}

/* z->g and z->lp belong to z->x after a step. */
static void check_gradient(const test_parts *parts)
{
    test_system t = open_at(parts, 4, RMC_BASELINE);
    const relmc_shape *s = &t.sys.shape;
    double lp[MAX_LANES], g[MAX_CELLS];

    go(&t, 7, 0.1);
    assert_int_equal(relmc_eval(&t.sys, t.z.x, lp, g), RELMC_OK);
    for (size_t k = 0; k < s->lanes; k++) {
        int is_same = lp[k] == t.z.lp[k];

        for (size_t i = 0; i < s->dim; i++) {
            is_same &= g[i * s->ld + k] == t.z.g[i * s->ld + k];
        }
        if (!is_same) {
            wrong(parts, "lp or gradient of lane %zu are not those at x", k);
        }
    }
    test_system_close(&t);
}

static void test_integrator__leaves_gradient_of_the_end(void **state)
{
    (void)state;
    for_all(check_gradient);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integrator__fractions_are_palindromic_and_add_up),
        cmocka_unit_test(test_integrator__is_reversible),
        cmocka_unit_test(test_integrator__follows_hamiltons_equations),
        cmocka_unit_test(test_integrator__order_is_as_declared),
        cmocka_unit_test(test_integrator__preserves_volume),
        cmocka_unit_test(test_integrator__energy_error_is_bounded),
        cmocka_unit_test(test_integrator__lanes_are_independent_bitwise),
        cmocka_unit_test(test_integrator__leaves_gradient_of_the_end),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, collect_kinetics, NULL);
}
