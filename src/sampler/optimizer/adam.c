/*
 * adam.c - steps scaled by running moments of the gradient.
 *
 *   [Adam]   m <- b1 m + (1 - b1) g;  V <- b2 V + (1 - b2) g^2
 *            x <- x + eta (m / (1 - b1^t)) / (sqrt(V / (1 - b2^t)) + e)
 *   [AdamW]  the same with [decay]
 *
 * Kingma and Ba (2015), Loshchilov and Hutter (2019).
 */
#include "sampler/optimizer/descent_inline.h"

struct adam {
    struct rmc_descent descent;
    double beta1, beta2, epsilon;
    double power1, power2; /* b1^t, b2^t */
    double *second;        /* V; in single precision, descent.second */
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct adam *a = self;
    const relmc_status status =
        RMC_ISA(rmc_descent_init)(&a->descent, arena, sys, err);

    a->power1 = a->power2 = 1.0;
    return status ? status
                  : RMC_ISA(rmc_descent_init_second)(&a->descent, arena, sys,
                                                     &a->second, err);
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct adam *a = self;
    struct rmc_descent *d = &a->descent;
    const struct rmc_float_state *f = &d->floats;
    const struct rmc_descent_step step =
        RMC_ISA(rmc_descent_begin)(d, sys, out);

    a->power1 *= a->beta1;
    a->power2 *= a->beta2;
    const struct rmc_scaling scaling = {
        .beta1 = a->beta1,
        .beta2 = a->beta2,
        .epsilon = a->epsilon,
        .rate = step.rate / (1.0 - a->power1),
        .slope = step.slope,
        .keep = step.keep,
        .correct = 1.0 / (1.0 - a->power2),
    };
    if (f->is_on) {
        float *y = RMC_ISA(rmc_descent_begin_float)(d, &sys->shape, z);
        const float *g = RMC_ISA(rmc_descent_slope_float)(d);

        rmc_loop_adam_float(step.n, &scaling, f->x, g, f->p, d->second, y);
        return RMC_ISA(rmc_descent_finish_float)(d, sys, z, y, out);
    }
    rmc_loop_adam_double(step.n, &scaling, z->x, z->g, z->p, a->second, d->x);
    return RMC_ISA(rmc_descent_finish)(d, sys, z, out);
}

static int is_float(const void *self)
{
    return ((const struct adam *)self)->descent.floats.is_on;
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *archive)
{
    struct adam *a = self;

    RMC_ISA(rmc_descent_archive)(&a->descent, sys, k, archive);
    relmc_archive_reals(archive, &a->power1, 1);
    relmc_archive_reals(archive, &a->power2, 1);
    RMC_ISA(rmc_descent_archive_second)
    (&a->descent, sys, k, a->second, archive);
}

/* clang-format off */
#define PARAMS(usual_decay)                                                   \
    RMC_DESCENT_PARAMS(struct adam, 1e-3, usual_decay),                       \
    {"beta1", "what is kept of the first moment in a step, b1", 0,            \
     RMC_BELOW_ONE, 0.9, offsetof(struct adam, beta1), RELMC_REAL, NULL},     \
    {"beta2", "and of the second, b2", 0, RMC_BELOW_ONE, 0.999,               \
     offsetof(struct adam, beta2), RELMC_REAL, NULL},                         \
    {"epsilon", "added to the size of a gradient, e", 0, 1, 1e-8,             \
     offsetof(struct adam, epsilon), RELMC_REAL, NULL},                       \
    RMC_PRECISION_PARAM(struct adam, descent.floats)
/* clang-format on */

static const relmc_param params[] = {PARAMS(0), {0}};
static const relmc_param params_w[] = {PARAMS(1e-5), {0}};

const relmc_sampler_ops RMC_ISA(rmc_sampler_adam) = {
    .info = {"sampler", "adam", "optimiser: adaptive moments", params},
    .state_size = sizeof(struct adam),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick,
    .archive = archive,
    .is_float = is_float,
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_adamw) = {
    .info = {"sampler", "adamw", "optimiser: adam with decoupled weight decay",
             params_w},
    .state_size = sizeof(struct adam),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick,
    .archive = archive,
    .is_float = is_float,
};
