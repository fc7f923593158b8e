/*
 * kinetic.c - velocity, Laplacian, bounds, limits and errors of every kinetic energy,
 * on every code path.  An argument restricts the tests to those whose names match.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conformance/kinetic.h"

#include <ctype.h>

/* LANES momenta: odd lanes typical, even lanes scaled by 1e-8 ... 1e8. */
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

/* K, or v_i, as a function of p_i. */
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

/* Central differences of order 8, at the step that changes them least from the step
 * before. */
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
            /* |v|/c, or the mean of |v_i|/c_i: relmc_ext.h allows both */
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

                /* three coordinates: K is of the order of 1 */
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

/* p <- keep p - rate v(p) + kick g and x <- shrink x + drift v in double precision. */
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

/* p may cancel against g, so errors are relative to the larger of the two. */
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

/* The results of all functions for LANES chains. */
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

        for (size_t k = 0; k < n; k++) { /* streams that begin inside a block */
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
        cmocka_unit_test(test_kinetic__refuses_nonsense_in_one_line),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, open_subjects, close_subjects);
}
