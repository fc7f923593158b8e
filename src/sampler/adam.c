/*
 * adam.c - steps scaled by running moments of the gradient.
 *
 *   [Adam]   m <- b1 m + (1 - b1) g;  V <- b2 V + (1 - b2) g^2
 *            x <- x + eta (m / (1 - b1^t)) / (sqrt(V / (1 - b2^t)) + e)
 *   [AdamW]  the same with [decay]
 *
 * Kingma and Ba (2015), Loshchilov and Hutter (2019).
 */
#include "descent.h"

struct adam {
    struct rmc_descent descent;
    double beta1, beta2, epsilon;
    double power1, power2; /* b1^t, b2^t */
    double *second;        /* V */
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct adam *a = self;

    a->second = rmc_lanes_new(arena, &sys->shape);
    a->power1 = a->power2 = 1.0;
    return rmc_descent_init(&a->descent, arena, sys, err);
}

static void move(const struct adam *a, const struct rmc_descent_step *step,
                 const relmc_state *z, double *restrict y)
{
    const double *restrict x = z->x, *restrict g = z->g;
    double *restrict m = z->p, *restrict V = a->second;
    const double b1 = a->beta1, b2 = a->beta2;
    const double eta = step->rate / (1.0 - a->power1);
    const double correct = 1.0 / (1.0 - a->power2);

    for (size_t j = 0; j < step->n; j++) {
        const double slope = step->slope * g[j];

        m[j] = rmc_fma(b1, m[j], (1.0 - b1) * slope);
        V[j] = rmc_fma(b2, V[j], (1.0 - b2) * (slope * slope));
        const double size = sqrt(correct * V[j]) + a->epsilon;
        y[j] = rmc_fma(step->keep, x[j], eta * m[j] / size);
    }
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct adam *a = self;
    const struct rmc_descent_step step =
        rmc_descent_begin(&a->descent, sys, out);

    a->power1 *= a->beta1;
    a->power2 *= a->beta2;
    move(a, &step, z, a->descent.x);
    return rmc_descent_finish(&a->descent, sys, z, out);
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *archive)
{
    struct adam *a = self;

    rmc_descent_archive(&a->descent, sys, k, archive);
    relmc_archive_reals(archive, &a->power1, 1);
    relmc_archive_reals(archive, &a->power2, 1);
    relmc_archive_lane(archive, &sys->shape, k, a->second);
}

/* clang-format off */
#define PARAMS(usual_decay)                                                   \
    RMC_DESCENT_PARAMS(struct adam, 1e-3, usual_decay),                       \
    {"beta1", "what is kept of the first moment in a step, b1", 0,            \
     RMC_BELOW_ONE, 0.9, offsetof(struct adam, beta1), RELMC_REAL, NULL},     \
    {"beta2", "and of the second, b2", 0, RMC_BELOW_ONE, 0.999,               \
     offsetof(struct adam, beta2), RELMC_REAL, NULL},                         \
    {"epsilon", "added to the size of a gradient, e", 0, 1, 1e-8,             \
     offsetof(struct adam, epsilon), RELMC_REAL, NULL}
/* clang-format on */

static const relmc_param params[] = {PARAMS(0), {0}};
static const relmc_param params_w[] = {PARAMS(1e-5), {0}};

const relmc_sampler_ops rmc_sampler_adam = {
    .info = {"sampler", "adam", "optimiser: adaptive moments", params},
    .state_size = sizeof(struct adam),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick,
    .archive = archive,
};

const relmc_sampler_ops rmc_sampler_adamw = {
    .info = {"sampler", "adamw", "optimiser: adam with decoupled weight decay",
             params_w},
    .state_size = sizeof(struct adam),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick,
    .archive = archive,
};
