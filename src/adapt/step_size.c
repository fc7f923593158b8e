/*
 * step_size.c - the step size of every lane: a first guess, then dual averaging of the
 * acceptance probability, whose step from one transition to the next stands in
 * step_size_inline.h.
 *
 *   [dual-averaging]  s_t = (1 - w) s_{t-1} + w (delta - a_t), w = 1/(t + t0)
 *                     log eps_t = mu - sqrt(t)/gamma s_t
 *                     log eps-bar_t = t^-kappa log eps_t + (1 - t^-kappa) ...
 *
 * Nesterov (2009) as used by Hoffman and Gelman (2014, section 3.2); mu is
 * log(10 eps_0), and eps-bar is what remains after warm-up.
 */
#include "adapt/step_size.h"

void rmc_dual_open(struct rmc_dual *d, relmc_arena *arena, const relmc_shape *s)
{
    d->trial = rmc_state_new(arena, s);
    d->t = rmc_per_lane_new(arena, s);
    d->mu = rmc_per_lane_new(arena, s);
    d->s = rmc_per_lane_new(arena, s);
    d->log_eps_bar = rmc_per_lane_new(arena, s);
    d->h0 = rmc_per_lane_new(arena, s);
    d->h1 = rmc_per_lane_new(arena, s);
}

/* One integrator step from z with new momenta: h0 and h1 before and after. */
static relmc_status try_step(struct rmc_dual *d, relmc_system *sys,
                             const relmc_state *z)
{
    const relmc_shape *s = &sys->shape;
    const relmc_kinetic *kin = &sys->move.kinetic;
    const size_t bytes = rmc_cells(s) * sizeof(double);
    relmc_stream *streams = sys->lanes.streams[RELMC_FOR_STEP];

    memcpy(d->trial.x, z->x, bytes);
    memcpy(d->trial.g, z->g, bytes);
    for (size_t k = 0; k < s->lanes; k++) {
        d->h1[k] = (double)streams[k].word;
    }
    kin->ops->refresh(kin->self, s, streams, d->trial.p);
    for (size_t k = 0; k < s->lanes; k++) { /* a search that is over is over */
        if (d->s[k] == 0.0) {
            streams[k].word = (uint64_t)d->h1[k];
        }
    }
    kin->ops->energy(kin->self, s, d->trial.p, d->h0);
    const relmc_status status = sys->move.integrator->step(
        sys->move.integrator, sys, &d->trial, sys->move.eps);
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
static size_t change_steps(struct rmc_dual *d, relmc_system *sys, int is_first)
{
    const double limit = rmc_log(0.8);
    size_t n_open = 0;

    for (size_t k = 0; k < sys->shape.lanes; k++) {
        const int is_good = d->h0[k] - d->h1[k] > limit; /* not for NaN */
        const double way = is_good ? 1.0 : -1.0;

        d->s[k] = is_first ? way : d->s[k];
        if (d->s[k] == way && sys->move.eps[k] < 1e7 &&
            sys->move.eps[k] > 1e-150) {
            sys->move.eps[k] *= is_good ? 2.0 : 0.5;
            n_open++;
        } else {
            d->s[k] = 0.0;
        }
    }
    return n_open;
}

relmc_status rmc_dual_search(struct rmc_dual *d, relmc_system *sys,
                             const relmc_state *z)
{
    enum { MAX_TRIES = 600 };
    const size_t n = sys->shape.lanes;
    relmc_status status = RELMC_OK;
    size_t n_open = n;

    memset(sys->lanes.busy, 1, n);
    for (size_t k = 0; k < n; k++) {
        d->s[k] = 1.0;
    }
    for (int try = 0; try < MAX_TRIES && n_open && !status; try++) {
        status = try_step(d, sys, z);
        n_open = change_steps(d, sys, try == 0);
    }
    memset(sys->lanes.busy, 0, n);
    return status;
}

void rmc_dual_begin(struct rmc_dual *d, size_t k, double mu)
{
    d->mu[k] = mu;
    d->t[k] = d->s[k] = d->log_eps_bar[k] = 0.0;
}

void rmc_dual_archive(struct rmc_dual *d, size_t k, relmc_archive *a)
{
    relmc_archive_reals(a, &d->t[k], 1);
    relmc_archive_reals(a, &d->mu[k], 1);
    relmc_archive_reals(a, &d->s[k], 1);
    relmc_archive_reals(a, &d->log_eps_bar[k], 1);
}
