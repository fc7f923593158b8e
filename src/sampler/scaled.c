/*
 * scaled.c - gradient steps divided by the size of the gradients so far.
 *
 *   [RMSprop]  V <- b V + (1 - b) g^2;  x <- x + eta g / (sqrt V + e)
 *   [Adagrad]  V <- V + g^2;            x <- x + eta g / (sqrt V + e)
 *
 * Tieleman and Hinton (2012); Duchi, Hazan and Singer (2011).  One loop: the
 * second is the first with other factors.
 */
#include "descent.h"

struct scaled {
    struct rmc_descent descent;
    double beta, epsilon;
    double *second; /* V */
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct scaled *s = self;

    s->second = rmc_lanes_new(arena, &sys->shape);
    return rmc_descent_init(&s->descent, arena, sys, err);
}

/* V <- kept V + share g^2 */
static void move(const struct scaled *s, const struct rmc_descent_step *step,
                 double kept, double share, const relmc_state *z,
                 double *restrict y)
{
    const double *restrict x = z->x, *restrict g = z->g;
    double *restrict V = s->second;

    for (size_t j = 0; j < step->n; j++) {
        const double slope = step->slope * g[j];

        V[j] = rmc_fma(kept, V[j], share * (slope * slope));
        y[j] = rmc_fma(step->keep, x[j],
                       step->rate * slope / (sqrt(V[j]) + s->epsilon));
    }
}

static relmc_status tick_rmsprop(void *self, relmc_system *sys, relmc_state *z,
                                 relmc_transition *out)
{
    struct scaled *s = self;
    const struct rmc_descent_step step =
        rmc_descent_begin(&s->descent, sys, out);

    move(s, &step, s->beta, 1.0 - s->beta, z, s->descent.x);
    return rmc_descent_finish(&s->descent, sys, z, out);
}

static relmc_status tick_adagrad(void *self, relmc_system *sys, relmc_state *z,
                                 relmc_transition *out)
{
    struct scaled *s = self;
    const struct rmc_descent_step step =
        rmc_descent_begin(&s->descent, sys, out);

    move(s, &step, 1.0, 1.0, z, s->descent.x);
    return rmc_descent_finish(&s->descent, sys, z, out);
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *a)
{
    struct scaled *s = self;

    rmc_descent_archive(&s->descent, sys, k, a);
    relmc_archive_lane(a, &sys->shape, k, s->second);
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
    {0},
};

static const relmc_param params_adagrad[] = {
    RMC_DESCENT_PARAMS(struct scaled, 0.01, 0),
    EPSILON,
    {0},
};

const relmc_sampler_ops rmc_sampler_rmsprop = {
    .info = {"sampler", "rmsprop",
             "optimiser: steps over the recent size of gradients",
             params_rmsprop},
    .state_size = sizeof(struct scaled),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick_rmsprop,
    .archive = archive,
};

const relmc_sampler_ops rmc_sampler_adagrad = {
    .info = {"sampler", "adagrad",
             "optimiser: steps over the size of all gradients so far",
             params_adagrad},
    .state_size = sizeof(struct scaled),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick_adagrad,
    .archive = archive,
};
