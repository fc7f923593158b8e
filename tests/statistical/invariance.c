/*
 * invariance.c - every transition leaves the target invariant at any step size:
 * support/invariance.h on a grid of samplers, models, kinetic energies, integrators and
 * metrics.  Controls show that it finds wrong targets.
 *
 *   invariance        a part of the grid
 *   invariance full   a third of it, with more chains
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/callback.h"
#include "support/invariance.h"

#include <string.h>

/* ---- the grid -------------------------------------------------------------- */

/* A line per sampler.  Few steps make a wrong end of the trajectory show.  Samplers that
 * keep something from one transition to the next make several. */
static const struct {
    const char *spec;
    int64_t n_transitions;
    double accept;
} samplers[] = {
    {"hmc:steps=4", 1, 0.67},
    {"nuts", 1, 0.67},
    {"walnuts", 1, 0.67},
    {"ghmc:steps=4,record=1,time=10", 5, 0.67},
    {"ghmc:steps=4,record=1,time=10,drift=0.3", 5, 0.67}, /* u wraps round */
    {"ghmc:steps=4,record=1,time=10,slice=0", 5, 0.67},
    {"walnuts:levels=4", 1, 0.5}, /* of the steps are not halved */
};

static const char *const models[] = {
    "gaussian:dim=1",
    "gaussian:dim=2,rho=0.8",
    "gaussian:dim=10,rho=0.5,sd=[1,2,3,1,2,3,1,2,3,1]",
    "quartic:dim=1",
    "banana",
    "gmm1",
    "gmm2",
    "gmm3",
    "student:dim=2,nu=3",
    "student:dim=2,nu=5,joint=1",
    "quartic:dim=3",
    "funnel:dim=3",
    "schools:centred=0",
};

static const char *const kinetics[] = {
    "newtonian:m=1.7", "relativistic:m=0.8,c=1.5", "separable:m=1.3,c=2"};
static const char *const integrators[] = {"leapfrog", "mclachlan"};

enum scale { UNIT, DIAGONAL, DENSE, N_SCALES };

enum {
    N_SAMPLERS = sizeof samplers / sizeof *samplers,
    N_MODELS = sizeof models / sizeof *models,
    N_KINETICS = sizeof kinetics / sizeof *kinetics,
    N_INTEGRATORS = sizeof integrators / sizeof *integrators,
    N_CELLS = N_SAMPLERS * N_KINETICS * N_INTEGRATORS * N_SCALES /* a model */
};

static size_t n_chains = 12000;
static size_t every = 23; /* test one cell in so many */

/* Inverse metrics that do not fit the target. */
static void set_scale(invariance_cell *c, enum scale scale, double *room)
{
    const size_t dim = c->model->dim;

    for (size_t i = 0; i < dim; i++) {
        if (scale == DIAGONAL) {
            room[i] = 0.5 + 0.4 * (double)(i % 4);
        }
        for (size_t j = 0; scale == DENSE && j < dim; j++) {
            const double far = i > j ? (double)(i - j) : (double)(j - i);

            room[i * dim + j] = pow(-0.5, far) * (i == j ? 1.5 : 1.0);
        }
    }
    c->inv_metric = scale == DIAGONAL ? room : NULL;
    c->inv_metric_dense = scale == DENSE ? room : NULL;
}

/* Cell number j of a model, from 0. */
static void check_numbered(const invariance_model *m, size_t j)
{
    double room[INVARIANCE_MAX_DIM * INVARIANCE_MAX_DIM];
    invariance_cell c = {.model = m, .seed = 1000 + 2 * j};

    set_scale(&c, (enum scale)(j % N_SCALES), room);
    j /= N_SCALES;
    c.integrator = integrators[j % N_INTEGRATORS];
    j /= N_INTEGRATORS;
    c.kinetic = kinetics[j % N_KINETICS];
    j /= N_KINETICS;
    c.sampler = samplers[j].spec;
    c.n_transitions = samplers[j].n_transitions;
    c.accept = samplers[j].accept;
    invariance_check(&c);
}

static void test_invariance__of(void **state)
{
    const char *const *spec = *state;
    invariance_model m;

    invariance_model_open(&m, *spec, n_chains);
    for (size_t j = (size_t)(spec - models) % every; j < N_CELLS; j += every) {
        check_numbered(&m, j);
    }
    invariance_model_close(&m);
}

/* A wrong sign of the kept momentum matters most when half of the proposals are
 * rejected. */
static void test_invariance__when_half_is_rejected(void **unused)
{
    static const char *const specs[] = {"gaussian:dim=1", "quartic:dim=1"};
    const char *const turning = "ghmc:steps=4,record=1,time=20,slice=0";

    (void)unused;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        invariance_model m;

        invariance_model_open(&m, specs[i], 3 * n_chains);
        for (size_t k = 0; k < N_KINETICS; k++) {
            const invariance_cell c = {.model = &m,
                                       .sampler = turning,
                                       .n_transitions = 5,
                                       .kinetic = kinetics[k],
                                       .accept = 0.5,
                                       .seed = 77 + 2 * k};

            invariance_check(&c);
        }
        invariance_model_close(&m);
    }
}

/* ---- controls: wrong targets are found ------------------------------------- */

enum { N_CONTROL = 8000 };

/* A target that differs from its model on purpose. */
struct broken {
    const relmc_target *model;
    double lp_factor;
};

static int evaluate_broken(size_t dim, const double *x, double *grad,
                           double *lp, void *ctx)
{
    const struct broken *b = ctx;
    const relmc_status status =
        relmc_target_eval(b->model, 1, x, lp, grad, NULL);

    (void)dim;
    *lp *= b->lp_factor;
    return status;
}

/* Every sampler draws from `sampled` but starts from draws of the model.  p-values must
 * be tiny for the statistics in `shows`, a set of bits, and not for those in `hides`. */
static void check_instead(const invariance_model *m,
                          const relmc_target *sampled, unsigned shows,
                          unsigned hides, int64_t n_transitions)
{
    for (size_t s = 0; s < N_SAMPLERS; s++) {
        invariance_cell c = {.model = m,
                             .sampler = samplers[s].spec,
                             .kinetic = kinetics[1],
                             .n_transitions = n_transitions,
                             .sampled = sampled,
                             .seed = 31};
        invariance_report r;

        if (n_transitions == 0) {
            c.n_transitions = samplers[s].n_transitions;
        }
        invariance_run(&r, &c);
        for (size_t j = 0; j < m->n_stats; j++) {
            if ((shows >> j & 1 && r.p[j] > 1e-9) ||
                (hides >> j & 1 && r.p[j] < 1e-4)) {
                invariance_print(&c, &r);
                fail_msg("statistic %zu", j);
            }
        }
    }
}

static void check_factor(const invariance_model *m, double factor,
                         unsigned shows, unsigned hides)
{
    struct broken broken = {m->target, factor};
    relmc_target *sampled = NULL;

    assert_int_equal(
        target_of_point(&sampled, m->dim, evaluate_broken, &broken, NULL),
        RELMC_OK);
    check_instead(m, sampled, shows, hides, 0);
    relmc_target_destroy(sampled);
}

static void check_model(const invariance_model *m, const char *instead,
                        unsigned shows, unsigned hides, int64_t n_transitions)
{
    relmc_target *sampled = NULL;

    assert_int_equal(relmc_target_open(&sampled, instead, NULL, NULL),
                     RELMC_OK);
    check_instead(m, sampled, shows, hides, n_transitions);
    relmc_target_destroy(sampled);
}

/* of two dimensions */
enum { X1 = 1, X2 = 2, LP = 4, PRODUCT = 8, ALL = 15 };

/* The effect of a wrong factor of the kinetic energy in the Metropolis step. */
static void test_control__density_scaled_gradient_right(void **unused)
{
    invariance_model m;

    (void)unused;
    invariance_model_open(&m, "gaussian:rho=0.8", N_CONTROL);
    check_factor(&m, 1.0, 0, ALL);
    check_factor(&m, 0.7, LP, 0);
    invariance_model_close(&m);
}

static void test_control__wrong_scale(void **unused)
{
    invariance_model m;

    (void)unused;
    invariance_model_open(&m, "gaussian", N_CONTROL);
    check_model(&m, "gaussian", 0, ALL, 0);
    check_model(&m, "gaussian:sd=1.1", LP, 0, 5);
    invariance_model_close(&m);
}

/* Every coordinate has the right distribution, but their joint one is wrong: only the
 * energy shows it. */
static void test_control__seen_by_the_energy_alone(void **unused)
{
    invariance_model m;

    (void)unused;
    invariance_model_open(&m, "gaussian:rho=0.5", N_CONTROL);
    check_model(&m, "gaussian:rho=-0.5", LP | PRODUCT, X1 | X2, 30);
    invariance_model_close(&m);
}

/* ---- all of them ----------------------------------------------------------- */

static const struct CMUnitTest others[] = {
    cmocka_unit_test(test_invariance__when_half_is_rejected),
    cmocka_unit_test(test_control__density_scaled_gradient_right),
    cmocka_unit_test(test_control__wrong_scale),
    cmocka_unit_test(test_control__seen_by_the_energy_alone),
};

int main(int argc, char **argv)
{
    enum { N_OTHERS = sizeof others / sizeof *others };
    static struct CMUnitTest tests[N_MODELS + N_OTHERS];
    static char names[N_MODELS][96];

    if (argc > 1 && !strcmp(argv[1], "full")) {
        n_chains = 40000;
        every = 3;
    }
    for (size_t i = 0; i < N_MODELS; i++) {
        (void)snprintf(names[i], sizeof names[i], "test_invariance__of %s",
                       models[i]);
        tests[i] =
            (struct CMUnitTest){.name = names[i],
                                .test_func = test_invariance__of,
                                .initial_state = (void *)(uintptr_t)&models[i]};
    }
    memcpy(tests + N_MODELS, others, sizeof others);
    return _cmocka_run_group_tests("invariance", tests, N_MODELS + N_OTHERS,
                                   NULL, NULL);
}
