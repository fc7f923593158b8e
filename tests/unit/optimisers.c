/*
 * optimisers.c - every optimiser takes the path of an independent program
 * (golden/optimisers/make.py); with noise, santa takes that of a plain loop here with the
 * same random numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc_ext.h"
#include "support/callback.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIM = 4, N_STEPS = 100, N_ROWS = 12, LINE = 512 };

#define TOLERANCE 1e-12

/* ---- the two problems ------------------------------------------------------ */

static struct {
    double a[4][4], b[4], x0[4];
} quadratic;

static struct {
    double x[N_ROWS][3], y[N_ROWS], x0[3];
} logistic;

/* Reads n numbers. */
static void read_numbers(char *line, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        char *end = NULL;

        out[i] = strtod(line, &end);
        assert_true(end != line);
        line = end + (*end == ',');
    }
}

static FILE *open_golden(const char *name)
{
    char path[LINE];

    (void)snprintf(path, sizeof path, "%s/optimisers/%s", RELMC_GOLDEN_DIR,
                   name);
    FILE *file = fopen(path, "r");
    if (!file) {
        fail_msg("cannot open %s", path);
    }
    return file;
}

/* Reads the next line that is not a comment; returns 0 at the end. */
static int next_line(FILE *file, char *line)
{
    do {
        if (!fgets(line, LINE, file)) {
            return 0;
        }
    } while (line[0] == '#');
    line[strcspn(line, "\n")] = '\0';
    return 1;
}

static int read_problems(void **state)
{
    char line[LINE];
    double row[4];
    FILE *file = open_golden("quadratic.csv");

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        assert_true(next_line(file, line));
        read_numbers(line, 4,
                     i < 4    ? quadratic.a[i]
                     : i == 4 ? quadratic.b
                              : quadratic.x0);
    }
    (void)fclose(file);
    file = open_golden("logistic.csv");
    for (size_t i = 0; i <= N_ROWS; i++) {
        assert_true(next_line(file, line));
        read_numbers(line, 4, row);
        memcpy(i < N_ROWS ? logistic.x[i] : logistic.x0, row,
               3 * sizeof(double));
        if (i < N_ROWS) {
            logistic.y[i] = row[3];
        }
    }
    (void)fclose(file);
    return 0;
}

static int quadratic_lp(size_t dim, const double *x, double *grad, double *lp,
                        void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        grad[i] = 0.0;
        for (size_t j = 0; j < dim; j++) {
            grad[i] -= quadratic.a[i][j] * (x[j] - quadratic.b[j]);
        }
        *lp += 0.5 * grad[i] * (x[i] - quadratic.b[i]);
    }
    return RELMC_OK;
}

static int logistic_lp(size_t dim, const double *x, const uint32_t *rows,
                       size_t n_rows, double scale, double *grad, double *lp,
                       void *ctx)
{
    (void)ctx;
    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        grad[i] = -x[i] / 4.0;
        *lp -= x[i] * x[i] / 8.0;
    }
    for (size_t j = 0; j < n_rows; j++) {
        const double *row = logistic.x[rows[j]];
        double sum = 0.0;

        for (size_t i = 0; i < dim; i++) {
            sum += row[i] * x[i];
        }
        const double p = 1.0 / (1.0 + exp(-sum)), y = logistic.y[rows[j]];
        *lp += scale * log(y > 0.5 ? p : 1.0 - p);
        for (size_t i = 0; i < dim; i++) {
            grad[i] += scale * (y - p) * row[i];
        }
    }
    return RELMC_OK;
}

static relmc_target *open_problem(const char *name, const double **start)
{
    const int is_quadratic = !strcmp(name, "quadratic");
    relmc_target *target = NULL;

    assert_true(is_quadratic || !strcmp(name, "logistic"));
    *start = is_quadratic ? quadratic.x0 : logistic.x0;
    assert_int_equal(
        is_quadratic
            ? target_of_point(&target, 4, quadratic_lp, NULL, NULL)
            : target_of_rows(&target, 3, N_ROWS, logistic_lp, NULL, NULL),
        RELMC_OK);
    return target;
}

/* ---- running one ------------------------------------------------------------ */

struct path {
    size_t dim;
    double x[N_STEPS][MAX_DIM], speed[N_STEPS];
};

static relmc_status keep(void *ctx, const relmc_draw *draw)
{
    struct path *path = ctx;

    memcpy(path->x[draw->index], draw->outputs, path->dim * sizeof(double));
    path->speed[draw->index] = draw->stats[RELMC_STAT_SPEED];
    return (int)draw->stats[RELMC_STAT_DIVERGENT] ? RELMC_ETARGET : RELMC_OK;
}

struct plan {
    const char *problem, *sampler, *kinetic;
    double step_size;
    uint64_t seed;
};

static void follow(struct path *path, const struct plan *plan)
{
    const double *start = NULL;
    relmc_target *target = open_problem(plan->problem, &start);
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_run *run = NULL;
    relmc_error err = {0};

    path->dim = relmc_target_dim(target);
    o.sampler = plan->sampler;
    o.kinetic = plan->kinetic;
    o.step_size = plan->step_size;
    o.seed = plan->seed;
    o.draws = N_STEPS;
    o.warmup = RELMC_ZERO;
    o.chains = 1;
    o.init = start;
    if (relmc_run_create(&run, target, &o, &err) ||
        relmc_run_observe(run, keep, path, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s: %s", plan->sampler, err.message);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

/* Cases of make.py, RSGD with both sets of parameters: at eps = 1 those of the paper are
 * m = 1/lr, c = max_step and D = (1 - momentum) / lr. */
static const struct {
    const char *problem, *name, *sampler, *kinetic;
} relativistic[] = {
    {"quadratic", "RSGD-bounded", "sgd:friction=100,law=bounded",
     "separable:m=500,c=0.05"},
    {"quadratic", "RSGD-bounded",
     "sgd:lr=0.002,momentum=0.8,max_step=0.05,law=bounded", "separable"},
    {"quadratic", "RSGD-linear", "sgd:lr=0.002,momentum=0.8,max_step=0.05",
     "separable"},
    {"logistic", "RSGD-bounded", "sgd:friction=0.2,law=bounded,scale=mean",
     "separable:m=2,c=0.1"},
    {"logistic", "RSGD-bounded",
     "sgd:lr=0.5,momentum=0.9,max_step=0.1,law=bounded", "separable"},
    {"logistic", "RSGD-linear-decay",
     "sgd:lr=0.5,momentum=0.9,max_step=0.1,decay=0.002,schedule=cosine",
     "separable"},
};

enum { N_RELATIVISTIC = sizeof relativistic / sizeof *relativistic };

/* ---- against make.py -------------------------------------------------------- */

static void compare(const struct path *path, const char *title, int t,
                    const double *want)
{
    for (size_t i = 0; i < path->dim; i++) {
        const double got = path->x[t - 1][i];

        if (!(fabs(got - want[i]) <= TOLERANCE * fmax(1.0, fabs(want[i])))) {
            fail_msg("%s: step %d, coordinate %zu: %.17g, should be %.17g",
                     title, t, i, got, want[i]);
        }
    }
}

/* Compares with the points of a case, whose name has just been read. */
static void compare_case(FILE *file, const char *title, const struct plan *plan)
{
    const long here = ftell(file);
    struct path path = {0};
    char line[LINE];
    double row[5];

    follow(&path, plan);
    while (next_line(file, line) && !strchr(line, ';')) {
        read_numbers(line, 5, row);
        compare(&path, title, (int)row[0], row + 1);
    }
    assert_int_equal(fseek(file, here, SEEK_SET), 0);
}

static void test_paths__are_those_of_the_formulas(void **state)
{
    char line[LINE];
    int n_cases = 0, n_relativistic = 0;
    FILE *file = open_golden("paths.csv");

    (void)state;
    while (next_line(file, line)) {
        char *spec = strstr(line, "; ");

        if (!spec) {
            continue;
        }
        *spec = '\0';
        spec += 2;
        if (strncmp(spec, "RSGD", 4) != 0) {
            compare_case(file, spec, &(struct plan){line, spec, NULL, 0.0, 0});
            n_cases++;
        }
        for (size_t i = 0; i < N_RELATIVISTIC; i++) {
            if (!strcmp(relativistic[i].problem, line) &&
                !strcmp(relativistic[i].name, spec)) {
                compare_case(file, relativistic[i].sampler,
                             &(struct plan){line, relativistic[i].sampler,
                                            relativistic[i].kinetic, 0.0, 0});
                n_relativistic++;
            }
        }
    }
    (void)fclose(file);
    assert_int_equal(n_cases, 17);
    assert_int_equal(n_relativistic, N_RELATIVISTIC);
}

/* ---- RSGD: its bound and its limits ----------------------------------------- */

static void test_sgd__never_steps_farther_than_it_may(void **state)
{
    static const char *const laws[] = {"linear", "bounded"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const double *x0 = quadratic.x0, most = 0.03;
        struct path path = {0};
        char spec[LINE];
        double longest = 0.0;

        (void)snprintf(spec, sizeof spec,
                       "sgd:lr=1,momentum=0.9,max_step=%g,law=%s", most,
                       laws[i]);
        follow(&path, &(struct plan){"quadratic", spec, "separable", 0.0, 0});
        for (size_t t = 0; t < N_STEPS; t++) {
            const double *before = t ? path.x[t - 1] : x0;

            for (size_t k = 0; k < path.dim; k++) {
                const double step = fabs(path.x[t][k] - before[k]);

                longest = fmax(longest, step);
                assert_true(step <= most * (1.0 + 1e-12));
            }
        }
        assert_true(longest > 0.9 * most); /* the bound has an effect */
    }
}

/* Largest difference between two paths. */
static double distance(const struct path *a, const struct path *b)
{
    double most = 0.0;

    for (size_t t = 0; t < N_STEPS; t++) {
        for (size_t k = 0; k < a->dim; k++) {
            most = fmax(most, fabs(a->x[t][k] - b->x[t][k]));
        }
    }
    return most;
}

/* Without a speed limit RSGD is the heavy ball. */
static void test_sgd__is_momentum_at_low_speed(void **state)
{
    struct path fast = {0}, plain = {0}, newtonian = {0};

    (void)state;
    follow(&fast,
           &(struct plan){"quadratic", "sgd:lr=0.002,momentum=0.8,max_step=1e9",
                          "separable", 0.0, 0});
    follow(&newtonian, &(struct plan){"quadratic", "sgd:lr=0.002,momentum=0.8",
                                      "newtonian", 0.0, 0});
    follow(&plain, &(struct plan){"quadratic", "momentum:lr=0.002,momentum=0.8",
                                  NULL, 0.0, 0});
    check_near(distance(&fast, &plain), 0.0, 1e-12);
    check_near(distance(&newtonian, &plain), 0.0, 1e-12);
}

/* Without mass RSGD uses the sign of the momentum only. */
static void test_sgd__is_sign_momentum_at_high_speed(void **state)
{
    const double most = 0.01, keep = 0.9;
    double x[4], p[4] = {0}, grad[4], lp;
    struct path path = {0};

    (void)state;
    memcpy(x, quadratic.x0, sizeof x);
    follow(&path,
           &(struct plan){"quadratic", "sgd:lr=1e12,momentum=0.9,max_step=0.01",
                          "separable", 0.0, 0});
    for (size_t t = 0; t < 40; t++) {
        (void)quadratic_lp(4, x, grad, &lp, NULL);
        for (size_t k = 0; k < 4; k++) {
            p[k] = keep * p[k] + grad[k];
            x[k] += most * ((p[k] > 0.0) - (p[k] < 0.0));
            check_near(path.x[t][k], x[k], 1e-10);
        }
    }
}

/* ---- santa with noise ------------------------------------------------------- */

struct santa {
    int is_ssa, has_curvature;
    double rate, sigma, lambda, friction, beta, gamma;
};

/* Algorithms 1 and 2 of the paper for the first half of the run, one coordinate after
 * another. */
static void santa_path(const struct santa *s, uint64_t seed, double *x)
{
    relmc_stream stream = {.seed = seed, .purpose = RELMC_FOR_NOISE};
    double V[4] = {0}, u[4], a[4], gain[4] = {0}, grad[4], z[4], lp;

    for (size_t i = 0; i < 4; i++) {
        x[i] = quadratic.x0[i];
        u[i] = sqrt(s->rate / s->beta) * relmc_normal(&stream);
        a[i] = s->friction;
    }
    for (int t = 1; t <= N_STEPS; t++) {
        const double b = s->beta * pow(t, s->gamma);
        const int is_hot = t <= N_STEPS / 2;

        (void)quadratic_lp(4, x, grad, &lp, NULL);
        for (size_t i = 0; is_hot && i < 4; i++) {
            z[i] = relmc_normal(&stream);
        }
        for (size_t i = 0; i < 4; i++) {
            const double old = u[i], half = s->is_ssa ? 0.5 : 1.0;

            V[i] = s->sigma * V[i] + (1 - s->sigma) * grad[i] * grad[i];
            const double G = pow(s->lambda + sqrt(V[i]), -0.5);
            double kick = s->rate * G * grad[i];
            if (is_hot) {
                const double before = t == 1 ? G : gain[i];

                a[i] += half * (old * old - s->rate / b);
                kick += sqrt(2 * pow(s->rate, 1.5) * before / b) * z[i];
                kick += s->has_curvature ? s->rate / b * (1 - before / G) / old
                                         : 0.0;
            }
            u[i] = s->is_ssa ? exp(-a[i] / 2) * (exp(-a[i] / 2) * old + kick)
                             : (1 - a[i]) * old + kick;
            if (is_hot && s->is_ssa) {
                a[i] += half * (u[i] * u[i] - s->rate / b);
            }
            gain[i] = G;
            x[i] += G * u[i];
        }
    }
}

static void test_santa__explores_and_refines(void **state)
{
    static const struct santa cases[] = {
        {0, 0, 1e-3, 0.99, 0.01, 0.1, 1.0, 0.5},
        {1, 0, 1e-3, 0.99, 0.01, 0.1, 1.0, 0.5},
        {0, 0, 3e-3, 0.9, 0.1, 0.3, 50.0, 1.0},
        {1, 1, 1e-3, 0.999, 0.01, 0.2, 1e4, 0.2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct santa *s = &cases[i];
        struct path path = {0};
        double want[4];
        char spec[LINE];

        (void)snprintf(spec, sizeof spec,
                       "santa:lr=%g,sigma=%g,lambda=%g,friction=%g,beta=%g,"
                       "gamma=%g,scheme=%s,curvature=%s,explore=0.5",
                       s->rate, s->sigma, s->lambda, s->friction, s->beta,
                       s->gamma, s->is_ssa ? "ssa" : "euler",
                       s->has_curvature ? "yes" : "no");
        santa_path(s, 7 + i, want);
        follow(&path, &(struct plan){"quadratic", spec, NULL, 0.0, 7 + i});
        for (size_t k = 0; k < 4; k++) {
            if (fabs(path.x[N_STEPS - 1][k] - want[k]) >
                1e-11 * fmax(1.0, fabs(want[k]))) {
                fail_msg("%s: coordinate %zu is %.17g, should be %.17g", spec,
                         k, path.x[N_STEPS - 1][k], want[k]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths__are_those_of_the_formulas),
        cmocka_unit_test(test_sgd__never_steps_farther_than_it_may),
        cmocka_unit_test(test_sgd__is_momentum_at_low_speed),
        cmocka_unit_test(test_sgd__is_sign_momentum_at_high_speed),
        cmocka_unit_test(test_santa__explores_and_refines),
    };

    return cmocka_run_group_tests_name("optimisers", tests, read_problems,
                                       NULL);
}
