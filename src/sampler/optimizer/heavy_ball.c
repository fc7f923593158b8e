/*
 * heavy_ball.c - gradient steps with momentum.
 *
 *   [SGD-momentum]  u <- mu u + eta g;  x <- x + u
 *   [Nesterov]      the same with the gradient at x + mu u, where the momentum
 *                   would lead.  The state is that point, y = x + mu u:
 *                   u <- mu u + eta g(y);  y <- y + mu u + eta g(y)
 *
 * Polyak (1964); Nesterov (1983), as Sutskever et al. (2013) write it.
 */
#include "sampler/optimizer/descent_inline.h"

struct heavy_ball {
    struct rmc_descent descent;
    double momentum;
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    return RMC_ISA(rmc_descent_init)(&((struct heavy_ball *)self)->descent,
                                     arena, sys, err);
}

typedef void loop_double(size_t n, double mu, double eta, double keep,
                         const double *x, const double *g, double *u,
                         double *y);
typedef void loop_float(size_t n, float mu, float eta, float keep,
                        const float *x, const float *g, float *u, float *y);

static inline relmc_status tick(struct heavy_ball *b, relmc_system *sys,
                                relmc_state *z, relmc_transition *out,
                                loop_double *in_double, loop_float *in_float)
{
    struct rmc_descent *d = &b->descent;
    const struct rmc_float_state *f = &d->floats;
    const struct rmc_descent_step step =
        RMC_ISA(rmc_descent_begin)(d, sys, out);
    const double eta = step.rate * step.slope;

    if (f->is_on) {
        float *y = RMC_ISA(rmc_descent_begin_float)(d, &sys->shape, z);
        const float *g = RMC_ISA(rmc_descent_slope_float)(d);

        in_float(step.n, (float)b->momentum, (float)eta, (float)step.keep, f->x,
                 g, f->p, y);
        return RMC_ISA(rmc_descent_finish_float)(d, sys, z, y, out);
    }
    in_double(step.n, b->momentum, eta, step.keep, z->x, z->g, z->p, d->x);
    return RMC_ISA(rmc_descent_finish)(d, sys, z, out);
}

static relmc_status tick_momentum(void *self, relmc_system *sys, relmc_state *z,
                                  relmc_transition *out)
{
    return tick(self, sys, z, out, rmc_loop_momentum_double,
                rmc_loop_momentum_float);
}

static relmc_status tick_nesterov(void *self, relmc_system *sys, relmc_state *z,
                                  relmc_transition *out)
{
    return tick(self, sys, z, out, rmc_loop_nesterov_double,
                rmc_loop_nesterov_float);
}

static int is_float(const void *self)
{
    return ((const struct heavy_ball *)self)->descent.floats.is_on;
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *a)
{
    RMC_ISA(rmc_descent_archive)
    (&((struct heavy_ball *)self)->descent, sys, k, a);
}

static const relmc_param params[] = {
    RMC_DESCENT_PARAMS(struct heavy_ball, 0.1, 0),
    {"momentum", "what is kept of it in a step, mu; 0: plain gradient steps", 0,
     RMC_BELOW_ONE, 0.9, offsetof(struct heavy_ball, momentum), RELMC_REAL},
    RMC_PRECISION_PARAM(struct heavy_ball, descent.floats),
    {0},
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_momentum) = {
    .info = {"sampler", "momentum", "optimiser: gradient steps with momentum",
             params},
    .state_size = sizeof(struct heavy_ball),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick_momentum,
    .archive = archive,
    .is_float = is_float,
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_nesterov) = {
    .info = {"sampler", "nesterov",
             "optimiser: momentum, gradients where it would lead", params},
    .state_size = sizeof(struct heavy_ball),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick_nesterov,
    .archive = archive,
    .is_float = is_float,
};
