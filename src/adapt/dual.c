/*
 * dual.c - step size by dual averaging of the acceptance probability.
 *
 *   [dual-averaging]  s_t = (1 - w) s_{t-1} + w (delta - a_t), w = 1/(t + t0)
 *                     log eps_t = mu - sqrt(t)/gamma s_t
 *                     log eps-bar_t = t^-kappa log eps_t + (1 - t^-kappa) ...
 *
 * Nesterov (2009) as used by Hoffman and Gelman (2014, section 3.2); mu is
 * log(10 eps_0), and eps-bar is what remains after warm-up.  Every lane adapts
 * on its own.
 */
#include "../base/base.h"

#define MAX_LOG_EPS 27.0 /* eps between 2e-12 and 5e11 */

struct dual {
    double delta, gamma, t0, kappa;
    int64_t warmup;
    double *mu, *s, *log_eps_bar; /* one per lane */
    relmc_state trial;
    double *h0, *h1;
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, int64_t warmup,
                         relmc_error *err)
{
    struct dual *d = self;
    const relmc_shape *shape = &sys->shape;

    d->warmup = warmup;
    d->trial = rmc_state_new(arena, shape);
    d->mu = rmc_per_lane_new(arena, shape);
    d->s = rmc_per_lane_new(arena, shape);
    d->log_eps_bar = rmc_per_lane_new(arena, shape);
    d->h0 = rmc_per_lane_new(arena, shape);
    d->h1 = rmc_per_lane_new(arena, shape);
    return relmc_arena_check(arena, err);
}

/* One integrator step from z with new momenta: h0 and h1 before and after. */
static relmc_status try_step(struct dual *d, relmc_system *sys,
                             const relmc_state *z)
{
    const relmc_shape *s = &sys->shape;
    const relmc_kinetic *kin = &sys->kinetic;
    const size_t bytes = rmc_cells(s) * sizeof(double);

    memcpy(d->trial.x, z->x, bytes);
    memcpy(d->trial.g, z->g, bytes);
    kin->ops->refresh(kin->self, s, sys->streams[RELMC_FOR_STEP], d->trial.p);
    kin->ops->energy(kin->self, s, d->trial.p, d->h0);
    const relmc_status status =
        sys->integrator->step(sys->integrator, sys, &d->trial, sys->eps);
    if (status) {
        return status;
    }
    kin->ops->energy(kin->self, s, d->trial.p, d->h1);
    for (size_t k = 0; k < s->lanes; k++) {
        d->h0[k] -= z->lp[k];
        d->h1[k] -= d->trial.lp[k];
    }
    return RELMC_OK;
}

/* One more doubling or halving of eps in every lane that has not crossed the
 * limit yet; how many go on.  d->s is the direction of the search, 0 when it is
 * over. */
static size_t change_steps(struct dual *d, relmc_system *sys, int is_first)
{
    const double limit = rmc_log(0.8);
    size_t n_open = 0;

    for (size_t k = 0; k < sys->shape.lanes; k++) {
        const int is_good = d->h0[k] - d->h1[k] > limit; /* not for NaN */
        const double way = is_good ? 1.0 : -1.0;

        d->s[k] = is_first ? way : d->s[k];
        if (d->s[k] == way && sys->eps[k] < 1e7 && sys->eps[k] > 1e-12) {
            sys->eps[k] *= is_good ? 2.0 : 0.5;
            n_open++;
        } else {
            d->s[k] = 0.0;
        }
    }
    return n_open;
}

/*
 * [first-step]  Double or halve eps until the acceptance probability of a single
 * step crosses 0.8, in every lane on its own.  The bounds end the search on
 * targets that are flat or nowhere smooth.
 */
static relmc_status start(void *self, relmc_system *sys, const relmc_state *z)
{
    enum { MAX_TRIES = 60 };
    struct dual *d = self;
    const size_t n = sys->shape.lanes;
    size_t n_open = d->warmup > 0 ? n : 0;

    memset(sys->busy, 1, n);
    for (int try = 0; try < MAX_TRIES && n_open; try++) {
        const relmc_status status = try_step(d, sys, z);

        if (status) {
            return status;
        }
        n_open = change_steps(d, sys, try == 0);
    }
    memset(sys->busy, 0, n);
    for (size_t k = 0; k < n; k++) {
        d->mu[k] = rmc_log(10.0 * sys->eps[k]);
        d->s[k] = 0.0;
        d->log_eps_bar[k] = 0.0;
    }
    return RELMC_OK;
}

static void observe(void *self, relmc_system *sys, const relmc_state *z,
                    const relmc_transition *out, size_t k, int64_t iteration)
{
    struct dual *d = self;
    const double t = (double)iteration + 1.0;
    const double w = 1.0 / (t + d->t0);

    (void)z;
    d->s[k] = (1.0 - w) * d->s[k] + w * (d->delta - out->accept_prob[k]);
    double log_eps = d->mu[k] - sqrt(t) / d->gamma * d->s[k];
    const double forget = rmc_exp(-d->kappa * rmc_log(t));

    /* a target without scale drives eps out of all bounds */
    log_eps = log_eps < MAX_LOG_EPS ? log_eps : MAX_LOG_EPS;
    log_eps = log_eps > -MAX_LOG_EPS ? log_eps : -MAX_LOG_EPS;
    d->log_eps_bar[k] = forget * log_eps + (1.0 - forget) * d->log_eps_bar[k];
    sys->eps[k] =
        rmc_exp(iteration + 1 < d->warmup ? log_eps : d->log_eps_bar[k]);
}

static const relmc_param params[] = {
    {"delta", "wanted mean acceptance probability", 0.01, 0.999, 0.8,
     offsetof(struct dual, delta), RELMC_REAL},
    {"gamma", "how strongly log eps is pulled to its centre", 1e-6, 1e6, 0.05,
     offsetof(struct dual, gamma), RELMC_REAL},
    {"t0", "iterations by which the start is damped", 0, 1e9, 10,
     offsetof(struct dual, t0), RELMC_REAL},
    {"kappa", "how fast early iterations are forgotten", 0.5, 1, 0.75,
     offsetof(struct dual, kappa), RELMC_REAL},
    {0},
};

const relmc_adapt_ops rmc_adapt_dual = {
    .info = {"adapt", "dual", "step size by dual averaging", params},
    .state_size = sizeof(struct dual),
    .init = init,
    .start = start,
    .observe = observe,
};
