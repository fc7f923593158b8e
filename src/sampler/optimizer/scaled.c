/*
 * scaled.c - gradient steps divided by the size of the gradients so far.
 *
 *   [RMSprop]  V <- b V + (1 - b) g^2;  x <- x + eta g / (sqrt V + e)
 *   [Adagrad]  V <- V + g^2;            x <- x + eta g / (sqrt V + e)
 *
 * Tieleman and Hinton (2012); Duchi, Hazan and Singer (2011).  One loop serves
 * both, with different factors.
 */
#include "sampler/optimizer/descent_inline.h"

struct scaled {
    struct rmc_descent descent;
    double beta, epsilon;
    double *second; /* V; in single precision, descent.second */
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct scaled *s = self;
    const relmc_status status =
        RMC_ISA(rmc_descent_init)(&s->descent, arena, sys, err);

    return status ? status
                  : RMC_ISA(rmc_descent_init_second)(&s->descent, arena, sys,
                                                     &s->second, err);
}

/* V <- kept V + share g^2 */
static relmc_status tick(struct scaled *s, double kept, double share,
                         relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct rmc_descent *d = &s->descent;
    const struct rmc_float_state *f = &d->floats;
    const struct rmc_descent_step step =
        RMC_ISA(rmc_descent_begin)(d, sys, out);
    const struct rmc_scaling scaling = {
        .beta2 = kept,
        .epsilon = s->epsilon,
        .rate = step.rate,
        .slope = step.slope,
        .keep = step.keep,
    };

    if (f->is_on) {
        float *y = RMC_ISA(rmc_descent_begin_float)(d, &sys->shape, z);
        const float *g = RMC_ISA(rmc_descent_slope_float)(d);

        rmc_loop_scaled_float(step.n, &scaling, share, f->x, g, d->second, y);
        return RMC_ISA(rmc_descent_finish_float)(d, sys, z, y, out);
    }
    rmc_loop_scaled_double(step.n, &scaling, share, z->x, z->g, s->second,
                           d->x);
    return RMC_ISA(rmc_descent_finish)(d, sys, z, out);
}

static relmc_status tick_rmsprop(void *self, relmc_system *sys, relmc_state *z,
                                 relmc_transition *out)
{
    struct scaled *s = self;

    return tick(s, s->beta, 1.0 - s->beta, sys, z, out);
}

static relmc_status tick_adagrad(void *self, relmc_system *sys, relmc_state *z,
                                 relmc_transition *out)
{
    return tick(self, 1.0, 1.0, sys, z, out);
}

static int is_float(const void *self)
{
    return ((const struct scaled *)self)->descent.floats.is_on;
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *a)
{
    struct scaled *s = self;

    RMC_ISA(rmc_descent_archive)(&s->descent, sys, k, a);
    RMC_ISA(rmc_descent_archive_second)(&s->descent, sys, k, s->second, a);
}

#define EPSILON                                                      \
    {                                                                \
        "epsilon", "added to the size of a gradient, e", 0, 1, 1e-8, \
            offsetof(struct scaled, epsilon), RELMC_REAL             \
    }

static const relmc_param params_rmsprop[] = {
    RMC_DESCENT_PARAMS(struct scaled, 1e-3, 0),
    {"beta", "what is kept of the mean square in a step, b", 0, RMC_BELOW_ONE,
     0.9, offsetof(struct scaled, beta), RELMC_REAL},
    EPSILON,
    RMC_PRECISION_PARAM(struct scaled, descent.floats),
    {0},
};

static const relmc_param params_adagrad[] = {
    RMC_DESCENT_PARAMS(struct scaled, 0.01, 0),
    EPSILON,
    RMC_PRECISION_PARAM(struct scaled, descent.floats),
    {0},
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_rmsprop) = {
    .info = {"sampler", "rmsprop",
             "optimiser: steps over the recent size of gradients",
             params_rmsprop},
    .state_size = sizeof(struct scaled),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick_rmsprop,
    .archive = archive,
    .is_float = is_float,
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_adagrad) = {
    .info = {"sampler", "adagrad",
             "optimiser: steps over the size of all gradients so far",
             params_adagrad},
    .state_size = sizeof(struct scaled),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick_adagrad,
    .archive = archive,
    .is_float = is_float,
};
