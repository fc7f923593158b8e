/*
 * kinetic.c - what every kinetic energy must do.  Each law is tried on every
 * registered one with its default parameters, on the specs below, and on every
 * code path.  An argument restricts the tests to those whose names match.
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

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SUBJECTS = 48, MAX_DIM = 12, SPEC_BYTES = 200 };
enum { LANES = 64, N_BLOCKS = 2500, CELLS = MAX_DIM * LANES };

/* Away from m = c = 1, where mistakes hide; every parameter at least once. */
static const struct {
    const char *spec;
    size_t dim;
} extra[] = {
    {"newtonian:m=2.5", 3},
    {"newtonian:m=0.04", 1},
    {"relativistic:m=2.5,c=0.7", 3},
    {"relativistic:m=0.3,c=4", 5},
    {"relativistic:m=0.04,c=1.5", 2},
    {"relativistic:m=2,c=0.3", 1},
    {"relativistic:m=2,c=50", 10},
    {"relativistic:c=2.5,cruise=0.6", 4},
    {"separable:m=2.5,c=0.7", 3},
    {"separable:m=0.3,c=4", 5},
    {"separable:m=0.04,c=1.5", 2},
    {"separable:m=[0.3,2,5],c=[2,0.5,1.5]", 3},
    {"separable:m=[0.3,2,5],c=3", 3},
    {"separable:m=4,c=[0.2,1,30]", 3},
    {"separable:c=[1,2.5,0.3],cruise=0.6", 3},
    {"separable:m=[1,2,3,4,5,6,7,8,9,10,11,12],c=[2,1,2,1,2,1,2,1,2,0.5,1,0.2]",
     12}, /* more energies m c^2 than there are tables */
};

/* What draws of p say. */
struct evidence {
    stats_sums virial[MAX_DIM];  /* p_i v_i */
    stats_sums crossed[MAX_DIM]; /* p_i v_j, j the next coordinate */
    stats_sums squares;          /* |v|^2 - lap K */
    stats_sums speed;
    stats_sums fourth[MAX_DIM]; /* p_i^4 */
};

struct subject {
    char spec[SPEC_BYTES];
    size_t dim;
    relmc_arena arena;
    relmc_kinetic kinetic[RMC_N_ISA];
    double c[MAX_DIM];      /* the speed limits, infinite where there is none */
    double rms[MAX_DIM];    /* typical size of p_i */
    struct evidence *fresh; /* made when first asked for */
};

static struct subject subjects[MAX_SUBJECTS];
static size_t n_subjects;

/* ---- subjects ------------------------------------------------------------ */

/* [natural-c] of the separable energy, 1 without cruise. */
static double usual_c(const relmc_kinetic *kin)
{
    const double two_over_pi = 0.63661977236758134308;

    for (const relmc_param *p = kin->ops->info.params; p && p->name; p++) {
        double cruise;

        memcpy(&cruise, (const unsigned char *)kin->self + p->offset,
               sizeof cruise);
        if (strcmp(p->name, "cruise") == 0 && cruise == cruise) {
            return sqrt(two_over_pi) / cruise;
        }
    }
    return 1.0;
}

/* c_i as given, from the parameter table. */
static double light_speed(const relmc_kinetic *kin, size_t i)
{
    for (const relmc_param *p = kin->ops->info.params; p && p->name; p++) {
        const unsigned char *at = (const unsigned char *)kin->self + p->offset;
        relmc_vector vector;
        double real;

        if (strcmp(p->name, "c") != 0) {
            continue;
        }
        if (p->kind == RELMC_VECTOR) {
            memcpy(&vector, at, sizeof vector);
            return vector.n ? vector.values[vector.n == 1 ? 0 : i]
                            : usual_c(kin);
        }
        memcpy(&real, at, sizeof real);
        return real;
    }
    return HUGE_VAL;
}

static void refresh(const relmc_kinetic *kin, const relmc_shape *s,
                    relmc_stream *streams, double *p)
{
    kin->ops->refresh(kin->self, s, streams, p);
}

static void open_subject(const char *spec, size_t dim)
{
    struct subject *t = &subjects[n_subjects];
    const relmc_shape s = {dim, LANES, LANES};
    double p[CELLS];

    assert_true(n_subjects++ < MAX_SUBJECTS && dim <= MAX_DIM);
    (void)snprintf(t->spec, sizeof t->spec, "%s", spec);
    t->dim = dim;
    for (int isa = 0; isa <= rmc_isa_best(); isa++) {
        t->kinetic[isa] = test_kinetic_open(&t->arena, spec, dim, isa);
    }
    refresh(t->kinetic, &s,
            test_streams_new(&t->arena, LANES, 7, 0, RELMC_FOR_MOMENTUM), p);
    for (size_t i = 0; i < dim; i++) {
        t->c[i] = light_speed(t->kinetic, i);
        for (size_t k = 0; k < LANES; k++) {
            t->rms[i] += p[i * LANES + k] * p[i * LANES + k];
        }
        t->rms[i] = sqrt(t->rms[i] / LANES);
    }
}

static int open_subjects(void **state)
{
    static const size_t dims[] = {1, 2, 7};
    const relmc_info *info;

    (void)state;
    for (size_t i = 0; (info = rmc_component_info("kinetic", i)); i++) {
        for (size_t j = 0; j < sizeof dims / sizeof *dims; j++) {
            open_subject(info->name, dims[j]);
        }
    }
    for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) {
        open_subject(extra[i].spec, extra[i].dim);
    }
    return 0;
}

static int close_subjects(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_subjects; i++) {
        free(subjects[i].fresh);
        rmc_arena_release(&subjects[i].arena);
    }
    return 0;
}

#define FOR_SUBJECTS(t) \
    for (struct subject *t = subjects; t < subjects + n_subjects; t++)

/* Number of complaints; a test ends with demand_none. */
static size_t n_wrong;

static void wrong(const struct subject *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void wrong(const struct subject *t, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n_wrong++ < 10) {
        print_error("%s, dim %zu: %s\n", t->spec, t->dim, text);
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

/* |z| < 5 is passed by chance all but once in 2 million times. */
static void demand_mean(const struct subject *t, const stats_sums *sums,
                        double truth, const char *what, size_t i)
{
    const double z = stats_z(sums, truth);

    if (!(z < 5.0)) {
        wrong(t, "%s[%zu] is %.8g, should be %.8g: %.1f standard errors", what,
              i, sums->mean, truth, z);
    }
}

/* Momenta of all sizes: LANES of them, the typical one times 1e-8 ... 1e8. */
static void sizes_of_momenta(const struct subject *t, uint64_t seed, double *p)
{
    const relmc_shape s = {t->dim, LANES, LANES};
    relmc_stream streams[LANES];

    for (size_t k = 0; k < LANES; k++) {
        streams[k] = (relmc_stream){.seed = seed, .chain = (uint32_t)k};
    }
    refresh(t->kinetic, &s, streams, p);
    for (size_t k = 0; k < LANES; k++) {
        const double size = k % 2 ? 1.0 : pow(10.0, (double)k / 4.0 - 8.0);

        for (size_t i = 0; i < t->dim; i++) {
            p[i * LANES + k] *= size;
        }
    }
}

/* ---- derivatives --------------------------------------------------------- */

/* K, or v_i, as a function of p_i alone. */
struct probe {
    const struct subject *t;
    double *p; /* one lane */
    size_t i;
    int of_velocity;
};

static double probe_at(const struct probe *f, double offset)
{
    const relmc_kinetic *kin = f->t->kinetic;
    const relmc_shape s = {f->t->dim, 1, 1};
    const double kept = f->p[f->i];
    double out[MAX_DIM];

    f->p[f->i] = kept + offset;
    if (f->of_velocity) {
        kin->ops->velocity(kin->self, &s, f->p, out);
    } else {
        kin->ops->energy(kin->self, &s, f->p, out);
    }
    f->p[f->i] = kept;
    return out[f->of_velocity ? f->i : 0];
}

/* Central differences of order 8, with the step at which they agree best with
 * those of the next smaller step. */
static double slope(const struct probe *f)
{
    static const double weight[4] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
    double best = (double)NAN, least = HUGE_VAL, last = (double)NAN;

    for (int n = 1; n <= 12; n++) {
        const double h = ldexp(f->t->rms[f->i], -n);
        double sum = 0.0;

        for (int q = 1; q <= 4; q++) {
            sum += weight[q - 1] * (probe_at(f, q * h) - probe_at(f, -q * h));
        }
        sum /= h;
        if (fabs(sum - last) < least) {
            least = fabs(sum - last);
            best = sum;
        }
        last = sum;
    }
    return best;
}

enum { N_POINTS = 20 };

/* A typical momentum: lane 2n + 1 of sizes_of_momenta. */
static void take_point(const struct subject *t, const double *block, size_t n,
                       double *p)
{
    for (size_t i = 0; i < t->dim; i++) {
        p[i] = block[i * LANES + 2 * n + 1];
    }
}

static void test_kinetic__velocity_is_gradient_of_energy(void **state)
{
    (void)state;
    FOR_SUBJECTS(t)
    {
        const relmc_shape s = {t->dim, 1, 1};
        double block[CELLS], p[MAX_DIM], v[MAX_DIM];

        sizes_of_momenta(t, 11, block);
        for (size_t n = 0; n < N_POINTS; n++) {
            take_point(t, block, n, p);
            t->kinetic->ops->velocity(t->kinetic->self, &s, p, v);
            for (size_t i = 0; i < t->dim; i++) {
                const struct probe f = {t, p, i, 0};
                const double expected = slope(&f);

                /* 1 / rms is the size of a typical v */
                if (!(fabs(v[i] - expected) <=
                      1e-9 * (fabs(v[i]) + 1.0 / t->rms[i]))) {
                    wrong(t, "dK/dp_%zu is %.12g, velocity says %.12g", i,
                          expected, v[i]);
                }
            }
        }
    }
    demand_none();
}

static void test_kinetic__laplacian_is_divergence_of_velocity(void **state)
{
    (void)state;
    FOR_SUBJECTS(t)
    {
        const relmc_shape s = {t->dim, 1, 1};
        double block[CELLS], p[MAX_DIM], each[MAX_DIM], lap;

        sizes_of_momenta(t, 12, block);
        for (size_t n = 0; n < N_POINTS; n++) {
            double sum = 0.0, scale = 0.0;

            take_point(t, block, n, p);
            t->kinetic->ops->laplacian(t->kinetic->self, &s, p, &lap);
            t->kinetic->ops->curvature(t->kinetic->self, &s, p, each);
            for (size_t i = 0; i < t->dim; i++) {
                const struct probe f = {t, p, i, 1};
                const double bend = slope(&f);

                sum += bend;
                scale += 1.0 / (t->rms[i] * t->rms[i]);
                if (!(fabs(each[i] - bend) <= 1e-8 * (fabs(bend) + scale))) {
                    wrong(t, "dv_%zu/dp is %.12g, curvature says %.12g", i,
                          bend, each[i]);
                }
            }
            if (!(fabs(lap - sum) <= 1e-8 * (fabs(lap) + scale))) {
                wrong(t, "div v is %.12g, laplacian says %.12g", sum, lap);
            }
        }
    }
    demand_none();
}

/* ---- symmetry, bounds, limits -------------------------------------------- */

static void test_kinetic__is_even_and_velocity_odd_bitwise(void **state)
{
    (void)state;
    FOR_SUBJECTS(t)
    {
        const relmc_shape s = {t->dim, LANES, LANES};
        double p[2][CELLS], v[2][CELLS], out[3][2][LANES];

        sizes_of_momenta(t, 13, p[0]);
        for (size_t j = 0; j < t->dim * LANES; j++) {
            p[1][j] = -p[0][j];
        }
        for (int isa = 0; isa <= rmc_isa_best(); isa++) {
            const relmc_kinetic *kin = &t->kinetic[isa];

            for (size_t n = 0; n < 2; n++) {
                kin->ops->velocity(kin->self, &s, p[n], v[n]);
                kin->ops->energy(kin->self, &s, p[n], out[0][n]);
                kin->ops->laplacian(kin->self, &s, p[n], out[1][n]);
                kin->ops->speed(kin->self, &s, p[n], out[2][n]);
            }
            for (size_t j = 0; j < t->dim * LANES; j++) {
                if (v[0][j] != -v[1][j]) {
                    wrong(t, "v(-p) is not -v(p): %a, %a", v[0][j], v[1][j]);
                }
            }
            for (size_t n = 0; n < 3; n++) {
                if (memcmp(out[n][0], out[n][1], sizeof out[n][0]) != 0) {
                    wrong(t, "K, lap K or speed is not even");
                }
            }
        }
    }
    demand_none();
}

static void test_kinetic__speed_stays_below_light(void **state)
{
    (void)state;
    FOR_SUBJECTS(t)
    {
        const relmc_shape s = {t->dim, LANES, LANES};
        const double limit = 1.0 + 1e-15;
        double p[CELLS], v[CELLS], speed[LANES];

        sizes_of_momenta(t, 14, p);
        for (size_t i = 0; i < t->dim; i++) {
            p[i * LANES] = t->c[i] < HUGE_VAL ? 1e150 : 1.0;
        }
        t->kinetic->ops->velocity(t->kinetic->self, &s, p, v);
        t->kinetic->ops->speed(t->kinetic->self, &s, p, speed);
        for (size_t k = 0; k < LANES; k++) {
            double joint = 0.0, mean = 0.0;

            for (size_t i = 0; i < t->dim; i++) {
                const double c = t->c[i] < HUGE_VAL ? t->c[i] : 1.0;
                const double w = v[i * LANES + k] / c;

                joint += w * w;
                mean += fabs(w) / (double)t->dim;
                if (!(fabs(v[i * LANES + k]) <= t->c[i] * limit)) {
                    wrong(t, "|v_%zu| = %.17g is faster than light", i,
                          fabs(v[i * LANES + k]));
                }
            }
            if (t->c[0] < HUGE_VAL && !(speed[k] <= limit)) {
                wrong(t, "speed %.17g is above 1", speed[k]);
            }
            /* |v|/c, or the mean of |v_i|/c_i: as relmc_ext.h says */
            if (!(fabs(speed[k] - sqrt(joint)) <= 1e-14 * speed[k]) &&
                !(fabs(speed[k] - mean) <= 1e-14 * speed[k])) {
                wrong(t, "speed is %.17g, the velocity gives %.17g or %.17g",
                      speed[k], sqrt(joint), mean);
            }
        }
    }
    demand_none();
}

/* m c^2 (sqrt(...) - 1) has no digits left at c = 1e8. */
static void test_kinetic__without_speed_limit_is_newtonian(void **state)
{
    enum { DIM = 3 };
    static const char *const light[] = {"1e7", "1e8", "1e9", "1e12"};
    const relmc_shape s = {DIM, LANES, LANES};
    relmc_arena arena = {0};
    const relmc_kinetic newton =
        test_kinetic_open(&arena, "newtonian:m=2.5", DIM, 0);
    relmc_stream *streams = test_streams_new(&arena, LANES, 15, 0, 0);
    struct subject t = {.dim = DIM};
    double p[CELLS], v[2][CELLS], e[2][LANES], lap[2][LANES];

    (void)state;
    refresh(&newton, &s, streams, p);
    newton.ops->velocity(newton.self, &s, p, v[0]);
    newton.ops->energy(newton.self, &s, p, e[0]);
    newton.ops->laplacian(newton.self, &s, p, lap[0]);
    for (size_t n = 0; n < 2 * sizeof light / sizeof *light; n++) {
        (void)snprintf(t.spec, sizeof t.spec, "%s:m=2.5,c=%s",
                       n % 2 ? "relativistic" : "separable", light[n / 2]);
        const relmc_kinetic kin = test_kinetic_open(&arena, t.spec, DIM, 0);

        kin.ops->velocity(kin.self, &s, p, v[1]);
        kin.ops->energy(kin.self, &s, p, e[1]);
        kin.ops->laplacian(kin.self, &s, p, lap[1]);
        for (size_t k = 0; k + 1 < LANES; k++) {
            const double a = e[0][k] - e[0][k + 1], b = e[1][k] - e[1][k + 1];

            if (!(fabs(a - b) <= 1e-12 * (e[0][k] + e[0][k + 1]))) {
                wrong(&t, "energy differs by %.17g, newtonian by %.17g", b, a);
            }
            if (!(fabs(lap[0][k] - lap[1][k]) <= 1e-12 * lap[0][k])) {
                wrong(&t, "laplacian %.17g, newtonian %.17g", lap[1][k],
                      lap[0][k]);
            }
        }
        for (size_t j = 0; j < DIM * LANES; j++) {
            if (!(fabs(v[0][j] - v[1][j]) <= 1e-12 * fabs(v[0][j]))) {
                wrong(&t, "velocity %.17g, newtonian %.17g", v[1][j], v[0][j]);
            }
        }
    }
    rmc_arena_release(&arena);
    demand_none();
}

/* The corners of the parameter space, beta from 1e-36 to 1e36. */
static void test_kinetic__extreme_parameters_give_numbers(void **state)
{
    enum { DIM = 3 };
    static const char *const names[] = {"relativistic", "separable"};
    static const char *const values[] = {"1e-12", "1e-4", "1", "1e4", "1e12"};
    enum { N = sizeof values / sizeof *values };
    const relmc_shape s = {DIM, LANES, LANES};
    struct subject t = {.dim = DIM};

    (void)state;
    for (size_t n = 0; n < 2 * N * N; n++) {
        relmc_arena arena = {0};
        double p[CELLS], v[CELLS], work[3 * CELLS], e[LANES], lap[LANES],
            speed[LANES];

        (void)snprintf(t.spec, sizeof t.spec, "%s:m=%s,c=%s", names[n / N / N],
                       values[n / N % N], values[n % N]);
        const relmc_kinetic kin =
            test_kinetic_open(&arena, t.spec, DIM, rmc_isa_best());
        relmc_stream *streams = test_streams_new(&arena, LANES, 16, 0, 0);

        for (int is_partial = 0; is_partial <= 1; is_partial++) {
            if (is_partial) {
                kin.ops->partial(kin.self, &s, streams,
                                 &(relmc_bath){.keep = 0.5, .temperature = 1.0},
                                 p, work);
            } else {
                refresh(&kin, &s, streams, p);
            }
            kin.ops->velocity(kin.self, &s, p, v);
            kin.ops->energy(kin.self, &s, p, e);
            kin.ops->laplacian(kin.self, &s, p, lap);
            kin.ops->speed(kin.self, &s, p, speed);
            for (size_t k = 0; k < LANES; k++) {
                const double q = p[k], w = v[k];

                /* K of three coordinates is never far from 1 */
                if (!(isfinite(q) && q != 0.0 && isfinite(w) && w != 0.0 &&
                      e[k] > 1e-6 && e[k] < 50.0 && isfinite(lap[k]) &&
                      lap[k] > 0.0 && speed[k] >= 0.0 && speed[k] <= 1.0)) {
                    wrong(&t, "p %g, v %g, K %g, lap %g, speed %g", q, w, e[k],
                          lap[k], speed[k]);
                }
            }
        }
        const double cruise = kin.ops->cruise(kin.self, DIM);
        if (!(cruise > 0.0 && cruise <= 1.0 + 1e-14)) {
            wrong(&t, "cruising speed %.17g", cruise);
        }
        rmc_arena_release(&arena);
    }
    demand_none();
}

/* ---- single precision ------------------------------------------------------ */

/* p <- keep p - rate v(p) + kick g and x <- shrink x + drift v, by the functions
 * for doubles. */
static void push(const relmc_kinetic *kin, const relmc_shape *s,
                 const relmc_push *by, const float *g, double *p, double *x)
{
    double v[MAX_DIM];

    kin->ops->velocity(kin->self, s, p, v);
    for (size_t i = 0; i < s->dim; i++) {
        p[i] = (double)by->keep * p[i] - (double)by->rate * v[i] +
               (double)by->kick * (double)g[i];
    }
    kin->ops->velocity(kin->self, s, p, v);
    for (size_t i = 0; i < s->dim; i++) {
        x[i] = (double)by->shrink * x[i] + (double)by->drift * v[i];
    }
}

/* One size of momenta; they may cancel against g, so errors are measured by the
 * largest term. */
static void check_single(const struct subject *t, const relmc_kinetic *kin,
                         double size, const relmc_push *by)
{
    const relmc_shape one = {t->dim, 1, 1};
    double p[MAX_DIM], x[MAX_DIM], energy, speed, want_energy, want_speed;
    float ps[MAX_DIM], xs[MAX_DIM], g[MAX_DIM];

    for (size_t i = 0; i < t->dim; i++) {
        ps[i] = (float)((i % 2 ? -size : size) * t->rms[i] *
                        (1.0 + 0.1 * (double)i));
        g[i] = 0.5F * ps[i];
        xs[i] = 0.1F * (float)i;
        p[i] = (double)ps[i];
        x[i] = (double)xs[i];
    }
    push(kin, &one, by, g, p, x);
    kin->ops->push_float(kin->self, &one, by, g, ps, xs);
    for (size_t i = 0; i < t->dim; i++) {
        const double top = fabs(p[i]) + fabs((double)g[i]) * 2.0 + 1e-30;

        if (!(fabs((double)ps[i] - p[i]) <= 1e-6 * top) ||
            !(fabs((double)xs[i] - x[i]) <= 1e-6 * (fabs(x[i]) + 1.0))) {
            wrong(t,
                  "single precision at %g: p is %.9g, not %.9g, x is %.9g, "
                  "not %.9g",
                  size, (double)ps[i], p[i], (double)xs[i], x[i]);
        }
        p[i] = (double)ps[i];
    }
    kin->ops->energy(kin->self, &one, p, &want_energy);
    kin->ops->speed(kin->self, &one, p, &want_speed);
    kin->ops->weigh_float(kin->self, &one, ps, &energy, &speed);
    if (!(fabs(energy - want_energy) <= 1e-6 * want_energy) ||
        !(fabs(speed - want_speed) <= 1e-6 * want_speed)) {
        wrong(t,
              "single precision at %g: energy %.9g, not %.9g, speed %.9g, "
              "not %.9g",
              size, energy, want_energy, speed, want_speed);
    }
}

static void test_kinetic__single_precision_is_the_same(void **state)
{
    static const relmc_push by[] = {{0.9F, 0.0F, 0.3F, 0.99F, 0.01F},
                                    {1.0F, 0.05F, 0.3F, 1.0F, 0.01F}};
    size_t n_seen = 0;

    (void)state;
    for (size_t n = 0; n < n_subjects; n++) {
        const struct subject *t = &subjects[n];
        const relmc_kinetic *kin = &t->kinetic[rmc_isa_best()];

        if (!kin->ops->push_float) {
            continue;
        }
        n_seen++;
        for (double size = 1e-10; size < 1e12; size *= 7.3) {
            check_single(t, kin, size, &by[0]);
            check_single(t, kin, size, &by[1]);
        }
    }
    assert_true(n_seen > 8);
    demand_none();
}

/* ---- the same bits for any number of lanes and on every code path --------- */

/* All that the functions say of LANES chains, taken `lanes` at a time. */
struct picture {
    double p[CELLS], q[CELLS], v[CELLS];
    double energy[LANES], laplacian[LANES], speed[LANES];
    relmc_stream streams[LANES];
};

static void draw_picture(const struct subject *t, int isa, size_t lanes,
                         struct picture *out)
{
    const relmc_kinetic *kin = &t->kinetic[isa];

    for (size_t first = 0; first < LANES; first += lanes) {
        const size_t n = LANES - first < lanes ? LANES - first : lanes;
        const relmc_shape s = {t->dim, n, rmc_leading(n)};
        double block[CELLS] = {0}, v[CELLS], work[3 * CELLS] = {0};
        double per_lane[3][LANES];

        for (size_t k = 0; k < n; k++) { /* odd places: skipped words, too */
            out->streams[first + k] = (relmc_stream){
                .seed = 17,
                .chain = (uint32_t)(first + k),
                .word = (first + k) % 5,
                .purpose = RELMC_FOR_MOMENTUM,
            };
        }
        for (int is_partial = 0; is_partial <= 1; is_partial++) {
            double *to = is_partial ? out->q : out->p;

            if (is_partial) {
                kin->ops->partial(
                    kin->self, &s, out->streams + first,
                    &(relmc_bath){.keep = 0.7, .temperature = 1.0}, block,
                    work);
            } else {
                refresh(kin, &s, out->streams + first, block);
            }
            for (size_t i = 0; i < t->dim; i++) {
                for (size_t k = 0; k < n; k++) {
                    to[i * LANES + first + k] = block[i * s.ld + k];
                }
            }
        }
        kin->ops->velocity(kin->self, &s, block, v);
        kin->ops->energy(kin->self, &s, block, per_lane[0]);
        kin->ops->laplacian(kin->self, &s, block, per_lane[1]);
        kin->ops->speed(kin->self, &s, block, per_lane[2]);
        for (size_t i = 0; i < t->dim; i++) {
            for (size_t k = 0; k < n; k++) {
                out->v[i * LANES + first + k] = v[i * s.ld + k];
            }
        }
        memcpy(out->energy + first, per_lane[0], n * sizeof(double));
        memcpy(out->laplacian + first, per_lane[1], n * sizeof(double));
        memcpy(out->speed + first, per_lane[2], n * sizeof(double));
    }
}

static void compare_pictures(const struct subject *t, const char *what,
                             const struct picture *a, const struct picture *b)
{
    const size_t bytes = t->dim * LANES * sizeof(double);
    const struct {
        const char *name;
        const void *a, *b;
        size_t bytes;
    } parts[] = {
        {"refresh", a->p, b->p, bytes},
        {"partial", a->q, b->q, bytes},
        {"velocity", a->v, b->v, bytes},
        {"energy", a->energy, b->energy, sizeof a->energy},
        {"laplacian", a->laplacian, b->laplacian, sizeof a->laplacian},
        {"speed", a->speed, b->speed, sizeof a->speed},
        {"streams", a->streams, b->streams, sizeof a->streams},
    };

    for (size_t j = 0; j < sizeof parts / sizeof *parts; j++) {
        if (memcmp(parts[j].a, parts[j].b, parts[j].bytes) != 0) {
            wrong(t, "%s depends on %s", parts[j].name, what);
        }
    }
}

static void test_kinetic__lanes_and_code_paths_give_same_bits(void **state)
{
    static const size_t lanes[] = {3, 8, LANES};
    static struct picture one, other;

    (void)state;
    FOR_SUBJECTS(t)
    {
        memset(&one, 0, sizeof one);
        memset(&other, 0, sizeof other);
        draw_picture(t, RMC_BASELINE, 1, &one);
        for (int isa = 0; isa <= rmc_isa_best(); isa++) {
            draw_picture(t, isa, 1, &other);
            compare_pictures(t, "the code path", &one, &other);
            for (size_t j = 0; j < sizeof lanes / sizeof *lanes; j++) {
                draw_picture(t, isa, lanes[j], &other);
                compare_pictures(t, "the number of lanes", &one, &other);
            }
        }
    }
    demand_none();
}

/* No two chains and no two calls give the same momentum. */
static void test_kinetic__chains_and_calls_differ(void **state)
{
    (void)state;
    FOR_SUBJECTS(t)
    {
        const relmc_shape s = {t->dim, LANES, LANES};

        for (int isa = 0; isa <= rmc_isa_best(); isa++) {
            relmc_stream *streams =
                test_streams_new(&t->arena, LANES, 18, 0, 0);
            double p[2][CELLS], sizes[2 * LANES];

            refresh(&t->kinetic[isa], &s, streams, p[0]);
            refresh(&t->kinetic[isa], &s, streams, p[1]);
            for (size_t i = 0; i < t->dim; i++) {
                for (size_t k = 0; k < 2 * LANES; k++) {
                    sizes[k] = fabs(p[k / LANES][i * LANES + k % LANES]);
                }
                stats_sort(sizes, 2 * LANES);
                for (size_t k = 1; k < 2 * LANES; k++) {
                    if (sizes[k] == sizes[k - 1]) {
                        wrong(t, "|p_%zu| = %.17g twice", i, sizes[k]);
                    }
                }
            }
        }
    }
    demand_none();
}

/* ---- the momentum law ---------------------------------------------------- */

static void add_evidence(const struct subject *t, const relmc_kinetic *kin,
                         const double *p, struct evidence *out)
{
    const relmc_shape s = {t->dim, LANES, LANES};
    double v[CELLS], lap[LANES], speed[LANES];

    kin->ops->velocity(kin->self, &s, p, v);
    kin->ops->laplacian(kin->self, &s, p, lap);
    kin->ops->speed(kin->self, &s, p, speed);
    for (size_t k = 0; k < LANES; k++) {
        double v2 = 0.0;

        for (size_t i = 0; i < t->dim; i++) {
            const size_t next = (i + 1) % t->dim;
            const double q = p[i * LANES + k];

            v2 += v[i * LANES + k] * v[i * LANES + k];
            stats_add(&out->virial[i], q * v[i * LANES + k]);
            stats_add(&out->crossed[i], q * v[next * LANES + k]);
            stats_add(&out->fourth[i], q * q * q * q);
        }
        stats_add(&out->squares, v2 - lap[k]);
        stats_add(&out->speed, speed[k]);
    }
}

static const struct evidence *fresh_evidence(struct subject *t)
{
    const relmc_kinetic *kin = &t->kinetic[rmc_isa_best()];
    const relmc_shape s = {t->dim, LANES, LANES};
    double p[CELLS];

    if (!t->fresh) {
        relmc_stream *streams = test_streams_new(&t->arena, LANES, 21, 0, 0);

        t->fresh = calloc(1, sizeof *t->fresh);
        assert_non_null(t->fresh);
        for (size_t n = 0; n < N_BLOCKS; n++) {
            refresh(kin, &s, streams, p);
            add_evidence(t, kin, p, t->fresh);
        }
    }
    return t->fresh;
}

/* Virial: E p_i v_j = 1 if i = j, else 0, by integration by parts; and
 * [equipartition] E |v|^2 = E lap K. */
static void check_evidence(const struct subject *t, const struct evidence *e)
{
    for (size_t i = 0; i < t->dim; i++) {
        demand_mean(t, &e->virial[i], 1.0, "E p_i v_i", i);
        if (t->dim > 1) {
            demand_mean(t, &e->crossed[i], 0.0, "E p_i v_j", i);
        }
    }
    demand_mean(t, &e->squares, 0.0, "E |v|^2 - lap K", 0);
}

static void test_kinetic__refresh_obeys_equipartition(void **state)
{
    (void)state;
    FOR_SUBJECTS(t)
    {
        check_evidence(t, fresh_evidence(t));
    }
    demand_none();
}

static void test_kinetic__mean_speed_is_cruise(void **state)
{
    (void)state;
    FOR_SUBJECTS(t)
    {
        const double cruise = t->kinetic->ops->cruise(t->kinetic->self, t->dim);

        demand_mean(t, &fresh_evidence(t)->speed, cruise, "E speed", 0);
        if (strstr(t->spec, "cruise=0.6") && !(fabs(cruise - 0.6) < 1e-12)) {
            wrong(t, "cruises at %.17g", cruise);
        }
    }
    demand_none();
}

/* From an exact start, three partial refreshes: still exact, and p' correlated
 * with p by a: E p p' = a E p^2. */
static void test_kinetic__partial_leaves_law_invariant(void **state)
{
    static const double a[] = {0.0, 0.5, 0.9};
    enum { N = sizeof a / sizeof *a };

    (void)state;
    FOR_SUBJECTS(t)
    {
        const relmc_kinetic *kin = &t->kinetic[rmc_isa_best()];
        const relmc_shape s = {t->dim, LANES, LANES};
        relmc_stream *streams = test_streams_new(&t->arena, LANES, 22, 0, 0);
        struct evidence e = {0};
        stats_sums memory[N] = {0};
        double p[CELLS], old[CELLS], work[3 * CELLS];

        for (size_t n = 0; n < N_BLOCKS; n++) {
            refresh(kin, &s, streams, p);
            for (size_t j = 0; j < N; j++) {
                memcpy(old, p, sizeof old);
                kin->ops->partial(
                    kin->self, &s, streams,
                    &(relmc_bath){.keep = a[j], .temperature = 1.0}, p, work);
                for (size_t k = 0; k < LANES; k++) {
                    stats_add(&memory[j], (p[k] - a[j] * old[k]) * old[k]);
                }
            }
            add_evidence(t, kin, p, &e);
        }
        check_evidence(t, &e);
        for (size_t j = 0; j < N; j++) {
            demand_mean(t, &memory[j], 0.0, "E (p' - a p) p", j);
        }
        for (size_t i = 0; i < t->dim; i++) {
            const stats_sums *f = &fresh_evidence(t)->fourth[i];
            const double error =
                hypot(stats_error(f), stats_error(&e.fourth[i]));

            if (!(fabs(f->mean - e.fourth[i].mean) < 5.0 * error)) {
                wrong(t, "E p_%zu^4 is %g when partial, %g when fresh", i,
                      e.fourth[i].mean, f->mean);
            }
        }
    }
    demand_none();
}

/* ---- [O-step] at any temperature -------------------------------------------- */

/* exp(-K/T) is the law of the energy with mass m T and speed of light c/T. */
static void open_heated(relmc_kinetic *out, relmc_arena *arena,
                        const char *name, size_t dim, double m, double c,
                        double T)
{
    char spec[SPEC_BYTES];

    if (strcmp(name, "newtonian") == 0) {
        (void)snprintf(spec, sizeof spec, "newtonian:m=%.17g", m * T);
    } else {
        (void)snprintf(spec, sizeof spec, "%s:m=%.17g,c=%.17g", name, m * T,
                       c / T);
    }
    *out = test_kinetic_open(arena, spec, dim, rmc_isa_best());
}

/* A bath, or a step with heat in single precision that is nothing else. */
static void bathe(const relmc_kinetic *kin, const relmc_shape *s,
                  relmc_stream *streams, const relmc_bath *bath, int is_single,
                  double *p)
{
    const relmc_heat heat = {.bath = *bath};
    double work[3 * CELLS];
    float g[CELLS] = {0}, q[CELLS], x[CELLS] = {0};

    if (!is_single) {
        kin->ops->partial(kin->self, s, streams, bath, p, work);
        return;
    }
    for (size_t j = 0; j < rmc_cells(s); j++) {
        q[j] = (float)p[j];
    }
    for (size_t k = 0; k < s->lanes; k++) {
        kin->ops->heat_float(kin->self, s->dim, s->ld, &streams[k], &heat,
                             g + k, q + k, x + k);
    }
    for (size_t j = 0; j < rmc_cells(s); j++) {
        p[j] = q[j];
    }
}

/* From exact draws at temperature T, two baths: the fourth moments, the virial
 * E p_i v_i = T and [equipartition] E v_i^2 = T E d2K/dp_i2 stay, and the bath
 * does something. */
static void check_bath(const char *name, size_t dim, const relmc_bath *bath,
                       int is_single)
{
    const double m = 0.7, c = 1.3, T = bath->temperature;
    const relmc_shape s = {dim, LANES, LANES};
    relmc_arena arena = {0};
    relmc_kinetic kin, heated;
    relmc_stream *streams = test_streams_new(&arena, LANES, 31, 0, 0);
    stats_sums change = {0}, virial = {0}, equal = {0};
    double p[CELLS], v[CELLS], bend[CELLS], moved = 0.0;

    open_heated(&kin, &arena, name, dim, m, c, 1.0);
    open_heated(&heated, &arena, name, dim, m, c, T);
    is_single = is_single && kin.ops->heat_float;
    for (size_t n = 0; n < N_BLOCKS; n++) {
        double fourth = 0.0;

        heated.ops->refresh(heated.self, &s, streams, p);
        for (size_t j = 0; j < dim * LANES; j++) {
            fourth -= p[j] * p[j] * p[j] * p[j];
            moved -= fabs(p[j]);
        }
        bathe(&kin, &s, streams, bath, is_single, p);
        bathe(&kin, &s, streams, bath, is_single, p);
        kin.ops->velocity(kin.self, &s, p, v);
        kin.ops->curvature(kin.self, &s, p, bend);
        for (size_t j = 0; j < dim * LANES; j++) {
            fourth += p[j] * p[j] * p[j] * p[j];
            moved += fabs(p[j]);
            stats_add(&virial, p[j] * v[j]);
            stats_add(&equal, v[j] * v[j] - T * bend[j]);
        }
        stats_add(&change, fourth);
    }
    if (stats_z(&change, 0.0) > 4.5 || stats_z(&virial, T) > 4.5 ||
        stats_z(&equal, 0.0) > 4.5 || moved == 0.0) {
        fail_msg("%s, dim %zu, T = %g, keep = %g, rate = %g, %s: z of p^4 %g, "
                 "p.v %g, v^2 %g",
                 name, dim, T, bath->keep, bath->rate,
                 is_single ? "single" : "double", stats_z(&change, 0.0),
                 stats_z(&virial, T), stats_z(&equal, 0.0));
    }
    rmc_arena_release(&arena);
}

static const char *const names[] = {"newtonian", "relativistic", "separable"};

static void test_kinetic__bath_leaves_any_temperature_invariant(void **state)
{
    static const double temperatures[] = {0.5, 1.0, 2.0};
    static const size_t dims[] = {1, 3};

    (void)state;
    for (size_t n = 0; n < 3 * 3 * 2; n++) {
        const double T = temperatures[n / 3 % 3];
        const relmc_bath linear = {.keep = 0.6, .temperature = T};
        const relmc_bath bounded = {.rate = 0.8, .temperature = T};

        check_bath(names[n % 3], dims[n / 9], &linear, 0);
        check_bath(names[n % 3], dims[n / 9], &linear, 1);
        check_bath(names[n % 3], dims[n / 9], &bounded, 0);
    }
}

/* Without heat friction is all there is: p <- a p, or dp/dt = -D p/M(p) for a
 * short time; and a little D-friction moves p by -D h v on average. */
static void test_kinetic__bath_has_the_known_limits(void **state)
{
    enum { N = 2000 };

    (void)state;
    for (size_t n = 0; n < 3; n++) {
        const relmc_shape s = {1, LANES, LANES};
        const relmc_bath cold = {.keep = 0.6}, rough = {.rate = 0.01};
        const relmc_bath warm = {.rate = 0.002, .temperature = 1.0};
        relmc_arena arena = {0};
        relmc_kinetic kin;
        relmc_stream *streams = test_streams_new(&arena, LANES, 32, 0, 0);
        stats_sums drift = {0}, spread = {0};
        double p[LANES], v[LANES], work[3 * LANES];

        open_heated(&kin, &arena, names[n], 1, 0.7, 1.3, 1.0);
        for (size_t k = 0; k < LANES; k++) {
            p[k] = 2.5;
        }
        kin.ops->velocity(kin.self, &s, p, v);
        kin.ops->partial(kin.self, &s, streams, &cold, p, work);
        check_close(p[7], 1.5, 1e-14);
        p[7] = 2.5;
        kin.ops->partial(kin.self, &s, streams, &rough, p, work);
        check_close(p[7], 2.5 * exp(-0.01 * v[7] / 2.5), 1e-12);
        for (size_t j = 0; j < N; j++) {
            for (size_t k = 0; k < LANES; k++) {
                p[k] = 2.5;
            }
            kin.ops->partial(kin.self, &s, streams, &warm, p, work);
            for (size_t k = 0; k < LANES; k++) {
                stats_add(&drift, (p[k] - 2.5) / 0.002 + v[7]);
                stats_add(&spread, (p[k] - 2.5) * (p[k] - 2.5) / 0.002);
            }
        }
        assert_true(stats_z(&drift, 0.0) < 4.5);
        check_near(spread.mean, 2.0, 0.06); /* 2 D T, and O(h) */
        rmc_arena_release(&arena);
    }
}

/* E p_i^4 over a long orbit of partial refreshes, with exact values. */
static void check_orbit(const char *spec, size_t dim, const double *exact)
{
    enum { WIDTH = 256, N_STEPS = 4000 };
    const relmc_shape s = {dim, WIDTH, WIDTH};
    relmc_arena arena = {0};
    const relmc_kinetic kin =
        test_kinetic_open(&arena, spec, dim, rmc_isa_best());
    relmc_stream *streams = test_streams_new(&arena, WIDTH, 23, 0, 0);
    double *p = rmc_lanes_new(&arena, &s);
    double *sum = rmc_lanes_new(&arena, &s);
    double *work =
        relmc_arena_get(&arena, (2 * rmc_cells(&s) + s.ld) * sizeof *work);
    struct subject t = {.dim = dim};

    (void)snprintf(t.spec, sizeof t.spec, "%s", spec);
    refresh(&kin, &s, streams, p);
    for (size_t n = 0; n < N_STEPS; n++) {
        kin.ops->partial(kin.self, &s, streams,
                         &(relmc_bath){.keep = 0.9, .temperature = 1.0}, p,
                         work);
        for (size_t j = 0; j < rmc_cells(&s); j++) {
            sum[j] += p[j] * p[j] * p[j] * p[j] / N_STEPS;
        }
    }
    for (size_t i = 0; i < dim; i++) { /* lanes are independent, steps not */
        stats_sums lanes = {0};

        for (size_t k = 0; k < WIDTH; k++) {
            stats_add(&lanes, sum[i * WIDTH + k]);
        }
        demand_mean(&t, &lanes, exact[i], "E p^4", i);
    }
    rmc_arena_release(&arena);
}

/* An autoregression with independent draws of exp(-K) gives
 * 25.5 in place of 35.4 in the first case. */
static void test_kinetic__partial_keeps_fourth_moment(void **state)
{
    static const double m[] = {0.3, 2, 5, 1, 0.7}, c[] = {2, 0.5, 1.5, 1, 3};
    static stats_momentum law;
    double exact[5];

    (void)state;
    stats_momentum_open(&law, 1, 1.0, 1.0);
    exact[0] = stats_momentum_moment(&law, 4.0);
    check_near(exact[0], 35.4, 0.1);
    check_orbit("separable", 1, exact);
    check_orbit("relativistic", 1, exact);

    for (size_t i = 0; i < 5; i++) {
        stats_momentum_open(&law, 1, m[i], c[i]);
        exact[i] = stats_momentum_moment(&law, 4.0);
    }
    check_orbit("separable:m=[0.3,2,5,1,0.7],c=[2,0.5,1.5,1,3]", 5, exact);

    /* of a uniform direction: E u_i^4 = 3 / (d (d + 2)) */
    stats_momentum_open(&law, 5, 2.5, 0.7);
    for (size_t i = 0; i < 5; i++) {
        exact[i] = stats_momentum_moment(&law, 4.0) * 3.0 / 35.0;
    }
    check_orbit("relativistic:m=2.5,c=0.7", 5, exact);
    demand_none();
}

/* ---- errors -------------------------------------------------------------- */

static void test_kinetic__refuses_nonsense_in_one_line(void **state)
{
    static const struct {
        const char *spec;
        relmc_status status;
        const char *words; /* the message says so */
    } cases[] = {
        {"separable:c=-1", RELMC_EINVAL, "separable: c must be in"},
        {"separable:c=0", RELMC_EINVAL, "separable: c must be in"},
        {"separable:m=nan", RELMC_EINVAL, "separable: m"},
        {"separable:c=[1,-2,3]", RELMC_EINVAL, "separable: c must be in"},
        {"separable:m=[1,2]", RELMC_EINVAL,
         "separable: m has 2 values for 3 coordinates"},
        {"separable:c=[1,2,3,4]", RELMC_EINVAL,
         "separable: c has 4 values for 3 coordinates"},
        {"separable:m=1,cruise=0.6", RELMC_EINVAL,
         "separable: give m or cruise, not both"},
        {"separable:cruise=1", RELMC_EINVAL, "separable: cruise must be in"},
        {"separable:speed=1", RELMC_EUNKNOWN,
         "separable has no parameter 'speed'"},
        {"relativistic:m=2,cruise=0.6", RELMC_EINVAL,
         "relativistic: give m or cruise, not both"},
        {"relativistic:c=-1", RELMC_EINVAL, "relativistic: c must be in"},
        {"relativistic:c=fast", RELMC_EINVAL,
         "relativistic: c=fast is not a number"},
        {"relativistic:c", RELMC_EINVAL,
         "relativistic: 'c' should be parameter=value"},
        {"newtonian:m=0", RELMC_EINVAL, "newtonian: m must be in"},
        {"newtonian:c=1", RELMC_EUNKNOWN, "newtonian has no parameter 'c'"},
        {"newton", RELMC_EUNKNOWN, "no kinetic \"newton\""},
        {"seperable", RELMC_EUNKNOWN, "did you mean \"separable\"?"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        relmc_arena arena = {0};
        relmc_kinetic kin;
        relmc_error err = {0};
        const relmc_status status =
            test_kinetic_try(&kin, &arena, cases[i].spec, 3, 0, &err);

        rmc_arena_release(&arena);
        if (status != cases[i].status || err.status != status ||
            !strstr(err.message, cases[i].words) || strchr(err.message, '\n') ||
            isupper((unsigned char)*err.message)) {
            fail_msg("%s: status %d, message: %s", cases[i].spec, (int)status,
                     err.message);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinetic__velocity_is_gradient_of_energy),
        cmocka_unit_test(test_kinetic__laplacian_is_divergence_of_velocity),
        cmocka_unit_test(test_kinetic__is_even_and_velocity_odd_bitwise),
        cmocka_unit_test(test_kinetic__speed_stays_below_light),
        cmocka_unit_test(test_kinetic__without_speed_limit_is_newtonian),
        cmocka_unit_test(test_kinetic__extreme_parameters_give_numbers),
        cmocka_unit_test(test_kinetic__single_precision_is_the_same),
        cmocka_unit_test(test_kinetic__lanes_and_code_paths_give_same_bits),
        cmocka_unit_test(test_kinetic__chains_and_calls_differ),
        cmocka_unit_test(test_kinetic__refresh_obeys_equipartition),
        cmocka_unit_test(test_kinetic__mean_speed_is_cruise),
        cmocka_unit_test(test_kinetic__partial_leaves_law_invariant),
        cmocka_unit_test(test_kinetic__partial_keeps_fourth_moment),
        cmocka_unit_test(test_kinetic__bath_leaves_any_temperature_invariant),
        cmocka_unit_test(test_kinetic__bath_has_the_known_limits),
        cmocka_unit_test(test_kinetic__refuses_nonsense_in_one_line),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, open_subjects, close_subjects);
}
