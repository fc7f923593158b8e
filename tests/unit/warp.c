/*
 * warp.c - a warp and its inverse cancel, a density in warped coordinates has the right
 * volume and gradient, and lanes do not know of each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/lanes_inline.h"
#include "cpu.h"
#include "relmc.h"
#include "support/check.h"
#include "transform/warp.h"

#include <math.h>
#include <string.h>

static relmc_stream stream(uint32_t chain)
{
    return (relmc_stream){.seed = 20261117, .chain = chain, .purpose = 78};
}

/* ---- small matrices --------------------------------------------------------- */

enum { MAX_DIM = 7, MAX_LAYERS = 3, MAX_LD = 16 };

/* Gauss-Jordan: a becomes its inverse; log |det a|. */
static double invert(size_t n, double *a)
{
    double b[MAX_DIM * MAX_DIM] = {0}, log_det = 0.0;

    for (size_t i = 0; i < n; i++) {
        b[i * n + i] = 1.0;
    }
    for (size_t c = 0; c < n; c++) {
        size_t best = c;

        for (size_t i = c; i < n; i++) {
            best = fabs(a[i * n + c]) > fabs(a[best * n + c]) ? i : best;
        }
        const double pivot = a[best * n + c];
        log_det += log(fabs(pivot));
        for (size_t j = 0; j < n; j++) {
            const double p = a[best * n + j], q = b[best * n + j];

            a[best * n + j] = a[c * n + j];
            b[best * n + j] = b[c * n + j];
            a[c * n + j] = p / pivot;
            b[c * n + j] = q / pivot;
        }
        for (size_t i = 0; i < n; i++) {
            const double times = i == c ? 0.0 : a[i * n + c];

            for (size_t j = 0; j < n; j++) {
                a[i * n + j] -= times * a[c * n + j];
                b[i * n + j] -= times * b[c * n + j];
            }
        }
    }
    memcpy(a, b, n * n * sizeof *a);
    return log_det;
}

/* ---- random warps -------------------------------------------------------------- */

enum { AXES = 1, DIRECTIONS = 2, BEND = 4, FLAT = 8, LIFT = 16 };

static const int kinds[] = {BEND,
                            AXES,
                            AXES | FLAT,
                            AXES | BEND,
                            AXES | FLAT | LIFT,
                            DIRECTIONS,
                            DIRECTIONS | FLAT,
                            DIRECTIONS | FLAT | LIFT,
                            DIRECTIONS | BEND | FLAT | LIFT};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

struct layers {
    relmc_warp warp;
    relmc_layer layer[MAX_LAYERS];
    double number[MAX_LAYERS][6 * MAX_DIM + 2 * MAX_DIM * MAX_DIM];
    double room[6 * MAX_LD];
};

/* As many v and w as the rank, zero at the hub. */
static void draw_directions(relmc_layer *l, size_t dim, relmc_stream *r)
{
    const size_t k = dim - 1;
    double v[MAX_DIM * MAX_DIM], inverse[MAX_DIM * MAX_DIM];

    for (size_t i = 0; i < k * k; i++) {
        v[i] = 0.4 * relmc_normal(r) + (i % (k + 1) == 0 ? 1.5 : 0.0);
    }
    memcpy(inverse, v, sizeof v);
    (void)invert(k, inverse);
    for (size_t n = 0; n < l->rank; n++) {
        for (size_t i = 0; i < dim; i++) {
            const size_t j = i - (i > l->hub);

            l->out[n * dim + i] = i == l->hub ? 0.0 : v[n * k + j];
            l->in[n * dim + i] = i == l->hub ? 0.0 : inverse[j * k + n];
        }
    }
}

/* Weak enough that three layers keep their digits; rates of both signs. */
static void draw_layer(relmc_layer *l, size_t dim, size_t hub, int kind,
                       relmc_stream *r)
{
    l->hub = hub;
    l->middle = 0.5 * relmc_normal(r);
    l->width = 1.0 + relmc_uniform(r);
    for (size_t j = 0; j < 3 * dim; j++) {
        const int is_straight = j % dim == hub || j % dim == (hub + 2) % dim;

        l->bend[j] = kind & BEND && !is_straight ? 0.5 * relmc_normal(r) : 0.0;
    }
    l->is_axial = (kind & AXES) != 0;
    l->rank = kind & AXES ? dim
              : kind & DIRECTIONS
                  ? 1 + (size_t)((double)(dim - 1) * relmc_uniform(r))
                  : 0;
    for (size_t i = 0; i < l->rank; i++) {
        l->rate[i] = l->is_axial && i == hub ? 0.0 : 0.4 * relmc_normal(r);
        l->flat[i] = kind & FLAT ? relmc_uniform(r) : 0.0;
        l->lift[i] = kind & LIFT ? 0.4 * relmc_normal(r) : 0.0;
    }
    if (kind & DIRECTIONS) {
        draw_directions(l, dim, r);
    }
}

/* A single layer of every kind, then three of any kinds with different hubs. */
static void draw_layers(struct layers *w, size_t dim, size_t which)
{
    relmc_stream r = stream((uint32_t)(100 * dim + which));
    const size_t one = which % (N_KINDS + 2);

    w->warp = (relmc_warp){.n = one < N_KINDS ? 1 : MAX_LAYERS,
                           .layers = w->layer,
                           .room = w->room};
    for (size_t n = 0; n < w->warp.n; n++) {
        double *a = w->number[n];
        const size_t any = (size_t)(N_KINDS * relmc_uniform(&r));

        w->layer[n] = (relmc_layer){.bend = a,
                                    .rate = a + 3 * dim,
                                    .flat = a + 4 * dim,
                                    .lift = a + 5 * dim,
                                    .out = a + 6 * dim,
                                    .in = a + 6 * dim + dim * dim};
        draw_layer(&w->layer[n], dim, (which + 2 * n) % dim,
                   kinds[one < N_KINDS ? one : any], &r);
    }
}

enum { N_WARPS = 10 * (N_KINDS + 2) };

static void fill_normal(double *x, size_t n, uint32_t which)
{
    relmc_stream r = stream(90000 + which);

    for (size_t i = 0; i < n; i++) {
        x[i] = relmc_normal(&r);
    }
}

/* ---- a warp and its inverse ---------------------------------------------------- */

static void check_all_close(const double *a, const double *b, size_t n)
{
    double largest = 0.0;

    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(b[i]));
    }
    for (size_t i = 0; i < n; i++) {
        check_near(a[i], b[i], 1e-9 * largest);
    }
}

static void test_warp__undoes_what_it_has_applied(void **state)
{
    (void)state;
    for (size_t dim = 2; dim <= MAX_DIM; dim++) {
        for (size_t which = 0; which < N_WARPS; which++) {
            const relmc_shape one = {dim, 1, 1};
            struct layers w;
            double at[2 * MAX_DIM + 1], z[2 * MAX_DIM + 1]; /* x, g, lp */

            draw_layers(&w, dim, which);
            for (int is_back = 0; is_back < 2; is_back++) {
                fill_normal(at, 2 * dim + 1, (uint32_t)which);
                memcpy(z, at, sizeof z);
                if (is_back) {
                    RMC_ISA(rmc_warp_undo)
                    (&w.warp, &one, z, z + dim, z + 2 * dim);
                    RMC_ISA(rmc_warp_apply)
                    (&w.warp, &one, z, z + dim, z + 2 * dim);
                } else {
                    RMC_ISA(rmc_warp_apply)
                    (&w.warp, &one, z, z + dim, z + 2 * dim);
                    RMC_ISA(rmc_warp_undo)
                    (&w.warp, &one, z, z + dim, z + 2 * dim);
                }
                check_all_close(z, at, dim);
                check_all_close(z + dim, at + dim, dim);
                check_near(z[2 * dim], at[2 * dim], 1e-9);
            }
        }
    }
}

/* A layer moves all coordinates but its hub; gradient and lp may be NULL. */
static void test_warp__leaves_the_hub_alone(void **state)
{
    (void)state;
    for (size_t dim = 2; dim <= MAX_DIM; dim++) {
        for (size_t which = 0; which < N_WARPS; which++) {
            const relmc_shape one = {dim, 1, 1};
            struct layers w;
            double y[MAX_DIM], x[MAX_DIM], z[2 * MAX_DIM + 1];

            draw_layers(&w, dim, which);
            fill_normal(y, dim, (uint32_t)which);
            memcpy(x, y, sizeof x);
            memset(z, 0, sizeof z);
            memcpy(z, y, dim * sizeof *z);
            RMC_ISA(rmc_warp_apply)(&w.warp, &one, x, NULL, NULL);
            RMC_ISA(rmc_warp_apply)(&w.warp, &one, z, z + dim, z + 2 * dim);
            assert_memory_equal(x, z, dim * sizeof *x);
            assert_memory_not_equal(x, y, dim * sizeof *x);
            if (w.warp.n == 1) {
                assert_true(x[w.layer[0].hub] == y[w.layer[0].hub]);
            }
            RMC_ISA(rmc_warp_undo)(&w.warp, &one, x, NULL, NULL);
            RMC_ISA(rmc_warp_undo)(&w.warp, &one, z, z + dim, NULL);
            assert_memory_equal(x, z, dim * sizeof *x);
        }
    }
}

/* x = D y keeps its digits along axes for D as small as in deep necks and as large as far
 * out. */
static void test_warp__keeps_digits_at_extreme_scales(void **state)
{
    static const double at[] = {-100.0, -40.0, -10.0, 10.0, 40.0, 100.0};

    (void)state;
    for (size_t j = 0; j < sizeof at / sizeof *at; j++) {
        const relmc_shape one = {2, 1, 1};
        double bend[6] = {0}, rate[] = {0.0, 0.5}, none[2] = {0}, room[6];
        const relmc_layer layer = {.width = 1.0,
                                   .bend = bend,
                                   .rank = 2,
                                   .is_axial = 1,
                                   .rate = rate,
                                   .flat = none,
                                   .lift = none};
        const relmc_warp warp = {.n = 1, .layers = &layer, .room = room};
        double x[] = {at[j], 0.7}, g[] = {0.2, 1.3}, lp = 0.3;

        RMC_ISA(rmc_warp_apply)(&warp, &one, x, g, &lp);
        check_close(x[1], 0.7 * exp(0.5 * at[j]), 1e-12);
        check_close(g[1], 1.3 * exp(-0.5 * at[j]), 1e-12);
        check_close(lp, 0.3 - 0.5 * at[j], 1e-12);
        RMC_ISA(rmc_warp_undo)(&warp, &one, x, g, &lp);
        check_close(x[1], 0.7, 1e-12);
        check_close(g[1], 1.3, 1e-12);
        check_close(g[0], 0.2, 1e-12);
    }
}

/* ---- densities ------------------------------------------------------------------ */

/* x = T(y) */
static void map(const struct layers *w, size_t dim, const double *y, double *x)
{
    const relmc_shape one = {dim, 1, 1};

    memcpy(x, y, dim * sizeof *x);
    RMC_ISA(rmc_warp_apply)(&w->warp, &one, x, NULL, NULL);
}

/* log |det| of the Jacobian, by differences. */
static double log_det_at(const struct layers *w, size_t dim, const double *y)
{
    const double h = 1e-5;
    double jacobian[MAX_DIM * MAX_DIM];

    for (size_t j = 0; j < dim; j++) {
        double to[MAX_DIM], up[MAX_DIM], down[MAX_DIM];

        memcpy(to, y, dim * sizeof *to);
        to[j] = y[j] + h;
        map(w, dim, to, up);
        to[j] = y[j] - h;
        map(w, dim, to, down);
        for (size_t i = 0; i < dim; i++) {
            jacobian[i * dim + j] = (up[i] - down[i]) / (2.0 * h);
        }
    }
    return invert(dim, jacobian);
}

static void test_warp__adds_the_logarithm_of_the_volume(void **state)
{
    double most = 0.0;

    (void)state;
    for (size_t dim = 2; dim <= 5; dim++) {
        for (size_t which = 0; which < N_WARPS; which++) {
            const relmc_shape one = {dim, 1, 1};
            struct layers w;
            double y[MAX_DIM], x[MAX_DIM], lp = 0.0;

            draw_layers(&w, dim, which);
            fill_normal(y, dim, (uint32_t)which);
            map(&w, dim, y, x);
            RMC_ISA(rmc_warp_undo)(&w.warp, &one, x, NULL, &lp);
            check_near(lp, log_det_at(&w, dim, y), 1e-6);
            most = fmax(most, fabs(lp));
        }
    }
    assert_true(most > 1.0); /* determinants differ from 1 */
}

/* A correlated normal density with an asymmetric quartic term. */
static double density(size_t dim, const double *x, double *g)
{
    double lp = 0.0;

    memset(g, 0, dim * sizeof *g);
    for (size_t i = 0; i < dim; i++) {
        const double e = x[i] - (i ? 0.7 * x[i - 1] : 0.3);
        const double cubic = x[i] * x[i] * x[i];

        lp -= 0.5 * e * e + 0.02 * x[i] * cubic + 0.01 * cubic;
        g[i] -= e + 0.08 * cubic + 0.03 * x[i] * x[i];
        if (i) {
            g[i - 1] += 0.7 * e;
        }
    }
    return lp;
}

/* The density of y and its gradient. */
static double density_of_y(const struct layers *w, size_t dim, const double *y,
                           double *g)
{
    const relmc_shape one = {dim, 1, 1};
    double x[MAX_DIM];

    map(w, dim, y, x);
    double lp = density(dim, x, g);
    RMC_ISA(rmc_warp_undo)(&w->warp, &one, x, g, &lp);
    return lp;
}

/* The gradient by differences of fourth order. */
static double slope_of_y(const struct layers *w, size_t dim, const double *y,
                         size_t j)
{
    static const double weight[] = {1.0, -8.0, 8.0, -1.0};
    static const double at[] = {-2.0, -1.0, 1.0, 2.0};
    const double h = 1e-3;
    double sum = 0.0;

    for (size_t i = 0; i < 4; i++) {
        double to[MAX_DIM], unused[MAX_DIM];

        memcpy(to, y, dim * sizeof *to);
        to[j] += h * at[i];
        sum += weight[i] * density_of_y(w, dim, to, unused);
    }
    return sum / (12.0 * h);
}

static void test_warp__gradients_are_those_of_the_new_density(void **state)
{
    (void)state;
    for (size_t dim = 2; dim <= MAX_DIM; dim++) {
        for (size_t which = 0; which < N_WARPS; which++) {
            struct layers w;
            double y[MAX_DIM], g[MAX_DIM], norm = 1.0;

            draw_layers(&w, dim, which);
            fill_normal(y, dim, (uint32_t)which);
            (void)density_of_y(&w, dim, y, g);
            for (size_t j = 0; j < dim; j++) {
                norm = fmax(norm, fabs(g[j]));
            }
            for (size_t j = 0; j < dim; j++) {
                check_near(g[j], slope_of_y(&w, dim, y, j), 1e-6 * norm);
            }
        }
    }
}

/* ---- lanes ---------------------------------------------------------------------- */

typedef void (*way)(const relmc_warp *, const relmc_shape *, double *, double *,
                    double *);

static void check_lanes(const struct layers *w, const relmc_shape *s, way go,
                        uint32_t which)
{
    const relmc_shape one = {s->dim, 1, 1};
    double x[MAX_DIM * MAX_LD] = {0}, g[MAX_DIM * MAX_LD] = {0};
    double lp[MAX_LD] = {0}, z[MAX_LD][2 * MAX_DIM + 1];

    for (size_t k = 0; k < s->lanes; k++) {
        fill_normal(z[k], 2 * s->dim + 1, which * MAX_LD + (uint32_t)k);
        for (size_t i = 0; i < s->dim; i++) {
            x[i * s->ld + k] = z[k][i];
            g[i * s->ld + k] = z[k][s->dim + i];
        }
        lp[k] = z[k][2 * s->dim];
        go(&w->warp, &one, z[k], z[k] + s->dim, z[k] + 2 * s->dim);
    }
    go(&w->warp, s, x, g, lp);
    for (size_t k = 0; k < s->lanes; k++) {
        for (size_t i = 0; i < s->dim; i++) {
            assert_true(x[i * s->ld + k] == z[k][i]);
            assert_true(g[i * s->ld + k] == z[k][s->dim + i]);
        }
        assert_true(lp[k] == z[k][2 * s->dim]);
    }
}

static void test_warp__lanes_do_not_know_of_each_other(void **state)
{
    static const size_t lanes[] = {2, 3, 8, 13, MAX_LD};

    (void)state;
    for (size_t dim = 2; dim <= MAX_DIM; dim++) {
        for (size_t which = 0; which < N_WARPS; which++) {
            for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) {
                const relmc_shape s = {dim, lanes[i], rmc_leading(lanes[i])};
                struct layers w;

                draw_layers(&w, dim, which);
                check_lanes(&w, &s, RMC_ISA(rmc_warp_apply), (uint32_t)which);
                check_lanes(&w, &s, RMC_ISA(rmc_warp_undo), (uint32_t)which);
            }
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warp__undoes_what_it_has_applied),
        cmocka_unit_test(test_warp__leaves_the_hub_alone),
        cmocka_unit_test(test_warp__keeps_digits_at_extreme_scales),
        cmocka_unit_test(test_warp__adds_the_logarithm_of_the_volume),
        cmocka_unit_test(test_warp__gradients_are_those_of_the_new_density),
        cmocka_unit_test(test_warp__lanes_do_not_know_of_each_other),
    };

    if (!cpu_is_enough()) {
        return CPU_SKIPPED;
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
