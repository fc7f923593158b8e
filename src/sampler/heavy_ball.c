/*
 * heavy_ball.c - gradient steps that keep their momentum.
 *
 *   [SGD-momentum]  u <- mu u + eta g;  x <- x + u
 *   [Nesterov]      the same with the gradient at x + mu u, where the momentum
 *                   would lead.  The state is that point, y = x + mu u:
 *                   u <- mu u + eta g(y);  y <- y + mu u + eta g(y)
 *
 * Polyak (1964); Nesterov (1983), as Sutskever et al. (2013) write it.
 */
#include "descent.h"

struct heavy_ball {
    struct rmc_descent descent;
    double momentum;
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    return rmc_descent_init(&((struct heavy_ball *)self)->descent, arena, sys,
                            err);
}

static void step_momentum(const struct rmc_descent_step *step, double mu,
                          const relmc_state *z, double *restrict y)
{
    const double *restrict x = z->x, *restrict g = z->g;
    double *restrict u = z->p;
    const double eta = step->rate * step->slope;

    for (size_t j = 0; j < step->n; j++) {
        u[j] = rmc_fma(mu, u[j], eta * g[j]);
        y[j] = rmc_fma(step->keep, x[j], u[j]);
    }
}

static void step_nesterov(const struct rmc_descent_step *step, double mu,
                          const relmc_state *z, double *restrict y)
{
    const double *restrict x = z->x, *restrict g = z->g;
    double *restrict u = z->p;
    const double eta = step->rate * step->slope;

    for (size_t j = 0; j < step->n; j++) {
        const double kick = eta * g[j];

        u[j] = rmc_fma(mu, u[j], kick);
        y[j] = rmc_fma(step->keep, x[j], rmc_fma(mu, u[j], kick));
    }
}

static relmc_status tick_momentum(void *self, relmc_system *sys, relmc_state *z,
                                  relmc_transition *out)
{
    struct heavy_ball *b = self;
    const struct rmc_descent_step step =
        rmc_descent_begin(&b->descent, sys, out);

    step_momentum(&step, b->momentum, z, b->descent.x);
    return rmc_descent_finish(&b->descent, sys, z, out);
}

static relmc_status tick_nesterov(void *self, relmc_system *sys, relmc_state *z,
                                  relmc_transition *out)
{
    struct heavy_ball *b = self;
    const struct rmc_descent_step step =
        rmc_descent_begin(&b->descent, sys, out);

    step_nesterov(&step, b->momentum, z, b->descent.x);
    return rmc_descent_finish(&b->descent, sys, z, out);
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *a)
{
    rmc_descent_archive(&((struct heavy_ball *)self)->descent, sys, k, a);
}

static const relmc_param params[] = {
    RMC_DESCENT_PARAMS(struct heavy_ball, 0.1, 0),
    {"momentum", "what is kept of it in a step, mu; 0: plain gradient steps", 0,
     RMC_BELOW_ONE, 0.9, offsetof(struct heavy_ball, momentum), RELMC_REAL},
    {0},
};

const relmc_sampler_ops rmc_sampler_momentum = {
    .info = {"sampler", "momentum", "optimiser: gradient steps with momentum",
             params},
    .state_size = sizeof(struct heavy_ball),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick_momentum,
    .archive = archive,
};

const relmc_sampler_ops rmc_sampler_nesterov = {
    .info = {"sampler", "nesterov",
             "optimiser: momentum, gradients where it would lead", params},
    .state_size = sizeof(struct heavy_ball),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick_nesterov,
    .archive = archive,
};
