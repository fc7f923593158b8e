/*
 * santa.c - annealed thermostats: a sampler that cools down to an optimiser.
 *
 *   [Santa]  V <- s V + (1 - s) gbar^2, gbar on the [mean-scale];
 *            G <- 1 / sqrt(lambda + sqrt V);  kick = eta G g
 *     exploring, at inverse temperature b = A t^gamma:
 *            kick += sqrt(2 eta^(3/2) G' / b) z, G' the previous G;
 *     euler: a <- a + (u^2 - eta/b);  u <- (1 - a) u + kick;  x <- x + G u
 *     ssa:   half a step of a;  u <- e^(-a/2) (e^(-a/2) u + kick);  the other
 *            half;  x <- x + G u
 *     refining: no noise, constant a.
 *   [Santa-SGD]  refining from the start, with u = 0.
 *
 * Chen, Carlson, Gan, Li and Carin (2016).  ssa is their symmetric splitting;
 * it keeps the points where gradients are taken, which are half a drift away.
 */
#include "sampler/optimizer/descent.h"

enum { EULER, SSA };

struct santa {
    struct rmc_descent descent;
    double sigma, lambda, friction, scheme;
    double explore, beta, gamma, curvature;
    double *second; /* V */
    double *gain;   /* G */
    double *alpha;  /* a, the friction of each coordinate */
    double *noise;  /* z */
};

/* What exploring adds to a step. */
struct heat {
    double mean;      /* of u^2: eta/b */
    double variance;  /* of the noise, over G': 2 eta^(3/2)/b */
    double curvature; /* factor of the term for the change of G, or 0 */
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct santa *a = self;
    const relmc_shape *s = &sys->shape;

    a->second = rmc_lanes_new(arena, s);
    a->gain = rmc_lanes_new(arena, s);
    a->alpha = rmc_lanes_new(arena, s);
    if (a->explore > 0.0) {
        a->noise = rmc_lanes_new(arena, s);
    }
    a->descent.floats.wanted = RMC_PRECISION_DOUBLE;
    for (size_t j = 0; a->alpha && j < rmc_cells(s); j++) {
        a->alpha[j] = a->friction;
    }
    return RMC_ISA(rmc_descent_init)(&a->descent, arena, sys, err);
}

/* V and G of one cell, from its gradient. */
static inline double precondition(const struct santa *a, double mean, double *V)
{
    *V = rmc_fma(a->sigma, *V, (1.0 - a->sigma) * (mean * mean));
    return 1.0 / sqrt(a->lambda + sqrt(*V));
}

static void refine(const struct santa *a, const struct rmc_descent_step *step,
                   double per_row, const relmc_state *z, double *restrict y)
{
    const double *restrict x = z->x, *restrict g = z->g;
    const double *restrict alpha = a->alpha;
    double *restrict u = z->p, *restrict V = a->second;
    const double eta = step->rate * step->slope;
    const int is_euler = a->scheme == EULER;

    for (size_t j = 0; j < step->n; j++) {
        const double G = precondition(a, per_row * g[j], &V[j]);
        const double half = rmc_exp(-0.5 * alpha[j]), kick = eta * G * g[j];

        u[j] = is_euler ? rmc_fma(1.0 - alpha[j], u[j], kick)
                        : half * rmc_fma(half, u[j], kick);
        y[j] = rmc_fma(step->keep, x[j], G * u[j]);
    }
}

/* The paper's term for the change of G.  It divides by u, so it is off by
 * default. */
static inline double follow(const struct heat *heat, double before, double G,
                            double u)
{
    return heat->curvature > 0.0 && u != 0.0
               ? heat->curvature * (1.0 - before / G) / u
               : 0.0;
}

static void explore(const struct santa *a, const struct rmc_descent_step *step,
                    double per_row, const struct heat *heat,
                    const relmc_state *z, double *restrict y)
{
    const double *restrict x = z->x, *restrict g = z->g;
    const double *restrict noise = a->noise;
    double *restrict u = z->p, *restrict V = a->second;
    double *restrict gain = a->gain, *restrict alpha = a->alpha;
    const double eta = step->rate * step->slope;
    const int is_euler = a->scheme == EULER, is_first = step->t == 1.0;

    for (size_t j = 0; j < step->n; j++) {
        const double G = precondition(a, per_row * g[j], &V[j]);
        const double before = is_first ? G : gain[j];
        const double warmth = u[j] * u[j] - heat->mean;
        const double kick = eta * G * g[j] +
                            sqrt(heat->variance * before) * noise[j] +
                            follow(heat, before, G, u[j]);

        alpha[j] += is_euler ? warmth : 0.5 * warmth;
        const double half = rmc_exp(-0.5 * alpha[j]);
        u[j] = is_euler ? rmc_fma(1.0 - alpha[j], u[j], kick)
                        : half * rmc_fma(half, u[j], kick);
        alpha[j] += is_euler ? 0.0 : 0.5 * (u[j] * u[j] - heat->mean);
        gain[j] = G;
        y[j] = rmc_fma(step->keep, x[j], G * u[j]);
    }
}

/* [Santa] The first step also draws the momentum. */
static void explore_step(struct santa *a, const struct rmc_descent_step *step,
                         double per_row, relmc_system *sys, relmc_state *z)
{
    relmc_stream *streams = sys->lanes.streams[RELMC_FOR_NOISE];
    const double b = a->beta * rmc_exp(a->gamma * rmc_log(step->t)) *
                     RMC_ISA(rmc_descent_rows)(&a->descent, sys);
    const double eta = step->rate;
    const struct heat heat = {
        .mean = eta / b,
        .variance = 2.0 * eta * sqrt(eta) / b,
        .curvature = a->curvature * eta / b,
    };

    if (step->t == 1.0) {
        rmc_fill_normal(&sys->shape, streams, z->p);
        for (size_t j = 0; j < step->n; j++) {
            z->p[j] *= sqrt(heat.mean);
        }
    }
    rmc_fill_normal(&sys->shape, streams, a->noise);
    explore(a, step, per_row, &heat, z, a->descent.x);
}

/* Lanes that failed get the initial friction again. */
static void restart(const struct santa *a, const relmc_shape *s)
{
    for (size_t k = 0; k < s->lanes; k++) {
        for (size_t i = k; a->descent.failed[k] && i < rmc_cells(s);
             i += s->ld) {
            a->alpha[i] = a->friction;
        }
    }
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct santa *a = self;
    const struct rmc_descent_step step =
        RMC_ISA(rmc_descent_begin)(&a->descent, sys, out);
    const double per_row =
        sys->target.n_data ? 1.0 / (double)sys->target.n_data : 1.0;
    const double total = (double)sys->run.transitions * a->descent.steps;

    if (step.t <= a->explore * total) {
        explore_step(a, &step, per_row, sys, z);
    } else {
        refine(a, &step, per_row, z, a->descent.x);
    }
    const relmc_status status =
        RMC_ISA(rmc_descent_finish)(&a->descent, sys, z, out);
    if (!status) {
        restart(a, &sys->shape);
    }
    return status;
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *archive)
{
    struct santa *a = self;

    RMC_ISA(rmc_descent_archive)(&a->descent, sys, k, archive);
    rmc_length_archive(archive, sys, a->explore > 0.0);
    relmc_archive_lane(archive, &sys->shape, k, a->second);
    relmc_archive_lane(archive, &sys->shape, k, a->gain);
    relmc_archive_lane(archive, &sys->shape, k, a->alpha);
}

/* clang-format off */
#define PARAMS                                                                \
    RMC_DESCENT_PARAMS(struct santa, 1e-3, 0),                                \
    {"sigma", "what is kept of the mean square in a step, s", 0,              \
     RMC_BELOW_ONE, 0.999, offsetof(struct santa, sigma), RELMC_REAL, NULL},  \
    {"lambda", "added to the size of a gradient", 1e-16, 1e6, 0.01,           \
     offsetof(struct santa, lambda), RELMC_REAL, NULL},                       \
    {"friction", "a at the start: the momentum kept is 1 - a", 0, 1, 0.1,     \
     offsetof(struct santa, friction), RELMC_REAL, NULL},                     \
    {"scheme", "how a step is split", 0, 1, EULER,                            \
     offsetof(struct santa, scheme), RELMC_CHOICE, "euler|ssa"}
/* clang-format on */

static const relmc_param params[] = {
    PARAMS,
    {"explore", "share of the steps that have noise", 0, 1, 0.5,
     offsetof(struct santa, explore), RELMC_REAL},
    {"beta", "inverse temperature of the first step, A", 1e-12, 1e12, 1,
     offsetof(struct santa, beta), RELMC_REAL},
    {"gamma", "b = A t^gamma", 0, 10, 0.5, offsetof(struct santa, gamma),
     RELMC_REAL},
    {"curvature", "the term that follows the preconditioner, over u", 0, 1, 0,
     offsetof(struct santa, curvature), RELMC_CHOICE, "no|yes"},
    {0},
};

static const relmc_param params_sgd[] = {PARAMS, {0}};

const relmc_sampler_ops RMC_ISA(rmc_sampler_santa) = {
    .info = {"sampler", "santa", "optimiser: annealed thermostats", params},
    .state_size = sizeof(struct santa),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick,
    .archive = archive,
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_santa_sgd) = {
    .info = {"sampler", "santa_sgd", "optimiser: santa without noise",
             params_sgd},
    .state_size = sizeof(struct santa),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick,
    .archive = archive,
};
