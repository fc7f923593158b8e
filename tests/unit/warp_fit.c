/*
 * warp_fit.c - the fit of a warp to draws finds the hubs of targets that have some, and nothing
 * in targets or draws that have none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "support/check.h"
#include "transform/warp.h"
#include "transform/warp_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the fit to draws -------------------------------------------------------------- */

enum { CHAINS = 4, DRAWS = 110, FIT_LAYERS = 12, FIT_ROWS = 1000 };

struct sample {
    size_t dim, n; /* n draws of every chain */
    double *x[CHAINS], *g[CHAINS];
    relmc_arena arena;
    struct rmc_warp_fit fit;
};

static void open_sample(struct sample *s, const char *model, uint64_t seed)
{
    relmc_target *target = NULL;
    relmc_error err = {0};

    if (relmc_target_open(&target, model, NULL, &err)) {
        fail_msg("%s", err.message);
    }
    *s = (struct sample){.dim = relmc_target_dim(target), .n = DRAWS};
    for (size_t c = 0; c < CHAINS; c++) {
        s->x[c] = malloc(DRAWS * s->dim * sizeof(double));
        s->g[c] = malloc(DRAWS * s->dim * sizeof(double));
        assert_non_null(s->x[c]);
        assert_non_null(s->g[c]);
        assert_int_equal(relmc_target_sample(target, CHAINS * seed + c, DRAWS,
                                             s->x[c], &err),
                         RELMC_OK);
        for (size_t t = 0; t < DRAWS; t++) {
            double lp;

            assert_int_equal(relmc_target_eval(target, 1, s->x[c] + t * s->dim,
                                               &lp, s->g[c] + t * s->dim, &err),
                             RELMC_OK);
        }
    }
    rmc_warp_fit_open(&s->fit, &s->arena, s->dim, FIT_LAYERS, FIT_ROWS);
    assert_int_equal(relmc_arena_check(&s->arena, &err), RELMC_OK);
    relmc_target_destroy(target);
}

static void close_sample(struct sample *s)
{
    for (size_t c = 0; c < CHAINS; c++) {
        free(s->x[c]);
        free(s->g[c]);
    }
    rmc_arena_release(&s->arena);
}

static struct rmc_window window_of(const struct sample *s)
{
    return (struct rmc_window){s->dim, CHAINS, s->n,
                               (const double *const *)s->x,
                               (const double *const *)s->g};
}

static size_t fit(struct sample *s)
{
    const struct rmc_window w = window_of(s);

    assert_true(rmc_warp_fit_can(&s->fit, &w));
    return rmc_warp_fit(&s->fit, &w);
}

/* The number of layers of this kind with this hub. */
static size_t count_hub(const struct sample *s, size_t hub, int is_stretch)
{
    size_t n = 0;

    for (size_t i = 0; i < s->fit.n_layers; i++) {
        const relmc_layer *l = &s->fit.layers[i];
        n += l->hub == hub && (l->rank > 0) == is_stretch;
    }
    return n;
}

static void test_fit__finds_the_hub(void **state)
{
    static const struct {
        const char *model;
        size_t hub;
        int is_stretch;
    } cells[] = {{"banana", 0, 0},
                 {"rosenbrock", 0, 0},
                 {"funnel", 0, 1},
                 {"funnel:dim=3", 0, 1},
                 {"schools", 1, 1}};

    (void)state;
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct sample s;

            open_sample(&s, cells[c].model, seed);
            if (fit(&s) != 1 ||
                !count_hub(&s, cells[c].hub, cells[c].is_stretch)) {
                fail_msg("%s, seed %d: %zu layers, the first with hub %zu",
                         cells[c].model, (int)seed, s.fit.n_layers,
                         s.fit.layers[0].hub);
            }
            close_sample(&s);
        }
    }
}

/* Bends of bends: the fit straightens their root last. */
static void test_fit__finds_bends_on_bends(void **state)
{
    static const size_t hubs[] = {0, 1, 3, 5};

    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sample s;

        open_sample(&s, "rosenbrock:dim=7,block=2", seed);
        assert_int_equal(fit(&s), 4);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(count_hub(&s, hubs[i], 0), 1);
        }
        assert_int_equal(s.fit.layers[3].hub, 0);
        close_sample(&s);
    }
}

/* [warp-stretch] x_j = exp(v / 2) z_j is fitted to the last digits. */
static void test_fit__is_exact_for_a_funnel(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sample s;

        open_sample(&s, "funnel", seed);
        assert_int_equal(fit(&s), 1);
        const relmc_layer *l = s.fit.layers;
        const size_t dim = s.dim;
        assert_int_equal(l->rank, l->is_axial ? dim : dim - 1);
        for (size_t i = 0; i < l->rank; i++) {
            const int is_hub = l->is_axial && i == l->hub;

            check_near(l->rate[i], is_hub ? 0.0 : 0.5 * l->width, 1e-6);
            assert_true(l->flat[i] == 0.0 && l->lift[i] == 0.0);
        }
        for (size_t i = 0; i < 3 * dim; i++) {
            check_near(l->bend[i], 0.0, 1e-6);
        }
        close_sample(&s);
    }
}

/* [warp-bend] x_2 = shift - bend x_1^2 + z is fitted to the last digits, too. */
static void test_fit__straightens_a_banana(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sample s;

        open_sample(&s, "banana:bend=0.07", seed);
        assert_int_equal(fit(&s), 1);
        const relmc_layer *l = s.fit.layers;
        const double w = l->width;
        check_close(l->bend[5], -0.07 * w * w, 1e-6);
        check_close(l->bend[3], -0.14 * l->middle * w, 1e-6);
        assert_true(l->bend[0] == 0.0 && l->bend[2] == 0.0 &&
                    l->bend[4] == 0.0);
        close_sample(&s);
    }
}

/* No layer is fitted that would improve a target little or not at all. */
static void test_fit__leaves_alone_what_is_straight(void **state)
{
    static const char *const models[] = {
        "gaussian:dim=10,rho=0.5", "gaussian:dim=2",      "gaussian:dim=30",
        "quartic:dim=10",          "student:dim=10,nu=2", "student:dim=5,nu=1",
        "mixture:dim=2",           "schools:centred=0",   "funnel:sd=0.5",
        "banana:bend=0.01"};

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct sample s;

            open_sample(&s, models[m], seed);
            if (fit(&s)) {
                fail_msg("%s, seed %d: %zu layers, the first with hub %zu",
                         models[m], (int)seed, s.fit.n_layers,
                         s.fit.layers[0].hub);
            }
            close_sample(&s);
        }
    }
}

/* Transforms draws to the warped coordinates of a fit. */
static void bring(struct sample *s, const struct rmc_warp_fit *f)
{
    const relmc_shape one = {s->dim, 1, 1};
    const relmc_warp warp = {
        .n = f->n_layers, .layers = f->layers, .room = f->room};

    for (size_t c = 0; c < CHAINS; c++) {
        for (size_t t = 0; t < DRAWS; t++) {
            RMC_ISA(rmc_warp_undo)
            (&warp, &one, s->x[c] + t * s->dim, s->g[c] + t * s->dim, NULL);
        }
    }
}

/* Does a fit to draws of one model hold for new draws of another? */
static int holds(const char *model, const char *other, uint64_t seed)
{
    struct sample a, b;

    open_sample(&a, model, seed);
    open_sample(&b, other, seed + 100);
    const size_t n = fit(&a);
    bring(&b, &a.fit);
    const struct rmc_window w = window_of(&b);
    const int is_right = rmc_warp_fit_check(&a.fit, &w) != RMC_FIT_AGAIN;
    assert_int_equal(a.fit.n_layers, n);
    close_sample(&a);
    close_sample(&b);
    return is_right;
}

/* Layers are kept if they fit new draws. */
static void test_fit__holds_for_new_draws(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        assert_true(holds("funnel", "funnel", seed));
        assert_true(holds("banana", "banana", seed));
        assert_true(holds("rosenbrock:dim=7,block=2",
                          "rosenbrock:dim=7,block=2", seed));
        assert_false(holds("funnel", "gaussian:dim=10", seed));
        assert_false(holds("funnel", "schools", seed));
        /* layers of the right kind that are not worth keeping */
        assert_false(holds("funnel", "funnel:sd=0.3", seed));
        assert_false(holds("banana", "banana:bend=-0.1", seed));
        assert_false(
            holds("gaussian:dim=10", "gaussian:dim=10", seed)); /* none */
    }
}

/* Deep in the neck of schools only their common mean varies, so a direction that shrinks
 * should contain none of it.  Returns the largest share. */
static double see_of_mean(const relmc_layer *l, size_t dim)
{
    double worst = 0.0;

    for (size_t r = 0; r < l->rank; r++) {
        double sum = 0.0, size = 0.0;

        for (size_t i = 0; i < dim; i++) {
            sum += l->in[r * dim + i];
            size += fabs(l->in[r * dim + i]);
        }
        if (l->rate[r] > 0.3 && fabs(sum) / size > worst) {
            worst = fabs(sum) / size;
        }
    }
    return worst;
}

/* Replaces draws from the neck, as if the chains had not been there. */
static void leave_neck(struct sample *s, size_t hub, double limit)
{
    const size_t bytes = s->dim * sizeof(double);

    for (size_t c = 0; c < CHAINS; c++) {
        size_t good = 0;

        for (size_t t = 0; t < DRAWS; t++) {
            double *x = s->x[c] + t * s->dim;

            if (x[hub] >= limit) {
                good = t;
            } else if (s->x[c][good * s->dim + hub] >= limit) {
                memcpy(x, s->x[c] + good * s->dim, bytes);
                memcpy(s->g[c] + t * s->dim, s->g[c] + good * s->dim, bytes);
            }
        }
    }
}

/* A right layer is fitted again to new draws.  The new one replaces it if J is less, and
 * fits better deep in the neck. */
static void test_fit__becomes_better_with_new_draws(void **state)
{
    enum { SEEDS = 12 };
    double gain = 0.0;
    int n_better = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sample a, b;

        open_sample(&a, "schools", seed);
        open_sample(&b, "schools", seed + 100);
        leave_neck(&a, 1, 0.0);
        leave_neck(&b, 1, -2.0); /* deeper */
        (void)fit(&a);
        bring(&b, &a.fit);
        const struct rmc_window w = window_of(&b);
        if (rmc_warp_fit_check(&a.fit, &w) == RMC_FIT_TAKE_TRIAL) {
            gain += log(see_of_mean(&a.fit.layers[0], a.dim) /
                        see_of_mean(&a.fit.trial, a.dim));
            n_better++;
        }
        close_sample(&a);
        close_sample(&b);
    }
    print_message("%d of %d, by a factor of %.3g\n", n_better, SEEDS,
                  exp(gain / n_better));
    assert_true(n_better >= SEEDS / 2);
    assert_true(gain > n_better * log(1.5));
}

/* ---- limits ------------------------------------------------------------------------ */

/* Too many draws are thinned, and the number of layers is limited. */
static void test_fit__keeps_to_its_room(void **state)
{
    enum { ROWS = 200, LAYERS = 2 };
    struct sample s;

    (void)state;
    open_sample(&s, "rosenbrock:dim=7,block=2", 1);
    rmc_warp_fit_open(&s.fit, &s.arena, s.dim, LAYERS, ROWS);
    assert_int_equal(relmc_arena_check(&s.arena, NULL), RELMC_OK);
    assert_int_equal(fit(&s), LAYERS);
    assert_true(s.fit.n > ROWS / 2 && s.fit.n <= ROWS);
    close_sample(&s);
}

static void test_fit__wants_enough_draws(void **state)
{
    static const struct {
        const char *model;
        size_t n; /* draws per chain: the fewest that are accepted */
    } cells[] = {{"banana", 30}, {"gaussian:dim=40", 40}};

    (void)state;
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
        struct sample s;

        open_sample(&s, cells[c].model, 1);
        for (s.n = 1; s.n <= DRAWS; s.n++) {
            const struct rmc_window w = window_of(&s);

            assert_int_equal(rmc_warp_fit_can(&s.fit, &w), s.n >= cells[c].n);
        }
        close_sample(&s);
    }
}

static void test_fit__wants_two_coordinates_and_a_layer(void **state)
{
    struct sample s;

    (void)state;
    open_sample(&s, "gaussian:dim=1", 1);
    const struct rmc_window line = window_of(&s);
    assert_false(rmc_warp_fit_can(&s.fit, &line));
    close_sample(&s);
    open_sample(&s, "banana", 1);
    const struct rmc_window w = window_of(&s);
    s.fit.max_layers = 0;
    assert_false(rmc_warp_fit_can(&s.fit, &w));
    close_sample(&s);
}

/* With the fewest draws that are accepted the fit does no harm. */
static void test_fit__can_do_with_few_draws(void **state)
{
    static const char *const models[] = {"banana", "rosenbrock:dim=7,block=2",
                                         "funnel", "schools", "funnel:dim=40"};

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct sample s;

        open_sample(&s, models[m], 1);
        s.n = s.dim > 30 ? s.dim : 30;
        const size_t n = fit(&s);
        for (size_t i = 0; i < n; i++) {
            const relmc_layer *l = &s.fit.layers[i];

            assert_true(l->hub < s.dim && l->width > 0.0);
            assert_false(rmc_any_not_finite(3 * s.dim, l->bend));
            assert_false(rmc_any_not_finite(l->rank, l->rate));
            assert_false(rmc_any_not_finite(l->rank, l->flat));
            assert_false(rmc_any_not_finite(l->rank, l->lift));
        }
        close_sample(&s);
    }
}

/* Replaces one number, or all of a coordinate. */
static void spoil(double *const *y, size_t dim, size_t i, double by,
                  int is_whole)
{
    for (size_t c = 0; c < (is_whole ? CHAINS : 1); c++) {
        for (size_t t = is_whole ? 0 : 17; t < (is_whole ? DRAWS : 18); t++) {
            y[c][t * dim + i] = by;
        }
    }
}

static const char *const warped[] = {"banana", "rosenbrock:dim=7,block=2",
                                     "funnel", "schools"};

enum { N_WARPED = sizeof warped / sizeof *warped };

static void test_fit__finds_nothing_in_rubbish(void **state)
{
    static const double odd[] = {(double)NAN, (double)INFINITY,
                                 -(double)INFINITY};

    (void)state;
    for (size_t m = 0; m < N_WARPED; m++) {
        for (size_t j = 0; j < 8 * sizeof odd / sizeof *odd; j++) {
            struct sample s;

            open_sample(&s, warped[m], 1);
            spoil(j & 1 ? s.g : s.x, s.dim, j & 2 ? s.dim - 1 : 0, odd[j / 8],
                  (j & 4) != 0);
            if (fit(&s)) {
                fail_msg("%s: %zu layers in draws with %g", warped[m],
                         s.fit.n_layers, odd[j / 8]);
            }
            close_sample(&s);
        }
    }
}

/* A coordinate that stands still has no scale. */
static void test_fit__finds_nothing_if_one_stands_still(void **state)
{
    (void)state;
    for (size_t m = 0; m < N_WARPED; m++) {
        for (size_t j = 0; j < 4; j++) {
            struct sample s;

            open_sample(&s, warped[m], 1);
            const size_t i = j & 1 ? s.dim - 1 : 0;
            spoil(s.x, s.dim, i, j & 2 ? 3.5 : 0.0, 1);
            spoil(s.g, s.dim, i, 0.0, 1);
            assert_int_equal(fit(&s), 0);
            close_sample(&s);
        }
    }
}

/* A uniform coordinate has no gradient and cannot be a hub. */
static void test_fit__finds_nothing_along_flat_coordinates(void **state)
{
    static const char *const models[] = {
        "gaussian:dim=10,rho=0.5", "quartic:dim=10", "student:dim=5,nu=3",
        "student:dim=10,nu=1", "gaussian:dim=2"};

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        for (uint64_t seed = 1; seed <= 10; seed++) {
            relmc_stream r = {.seed = 20261117,
                              .chain = (uint32_t)(5000 + seed),
                              .purpose = 78};
            struct sample s;

            open_sample(&s, models[m], seed);
            const size_t i = seed % 2 ? s.dim - 1 : 0;
            spoil(s.g, s.dim, i, 0.0, 1);
            for (size_t j = 0; j < CHAINS * DRAWS; j++) {
                s.x[j / DRAWS][j % DRAWS * s.dim + i] = relmc_uniform(&r);
            }
            if (fit(&s)) {
                fail_msg("%s, seed %d: %zu layers, the first with hub %zu",
                         models[m], (int)seed, s.fit.n_layers,
                         s.fit.layers[0].hub);
            }
            close_sample(&s);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit__finds_the_hub),
        cmocka_unit_test(test_fit__finds_bends_on_bends),
        cmocka_unit_test(test_fit__is_exact_for_a_funnel),
        cmocka_unit_test(test_fit__straightens_a_banana),
        cmocka_unit_test(test_fit__leaves_alone_what_is_straight),
        cmocka_unit_test(test_fit__holds_for_new_draws),
        cmocka_unit_test(test_fit__becomes_better_with_new_draws),
        cmocka_unit_test(test_fit__keeps_to_its_room),
        cmocka_unit_test(test_fit__wants_enough_draws),
        cmocka_unit_test(test_fit__wants_two_coordinates_and_a_layer),
        cmocka_unit_test(test_fit__can_do_with_few_draws),
        cmocka_unit_test(test_fit__finds_nothing_in_rubbish),
        cmocka_unit_test(test_fit__finds_nothing_if_one_stands_still),
        cmocka_unit_test(test_fit__finds_nothing_along_flat_coordinates),
    };

    if (!cpu_is_enough()) {
        return CPU_SKIPPED;
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
