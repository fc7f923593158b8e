/*
 * far_start.c - the way from a start where the density is so low that rounding
 * errors hide differences of energy.
 *
 *   [approach]  x <- x + t g / max |g_i|, if that raises lp; t is doubled after a
 *               step that does, and becomes a quarter of itself after one that
 *               does not.
 *
 * Rounding errors of H are 2^-53 |lp|: where they are not small beside 1, chance
 * accepts and refuses, and no step size can be learned.  An explosive recursion, a
 * high power or an exponential in a model are enough, at one start in two.
 */
#include "adapt/far_start.h"

/* Do rounding errors hide an energy of 1? */
static int is_blind(double lp)
{
    return fabs(lp) > 1e14;
}

/* max |g_i| of lane k, or something that is not finite. */
static double steepest_slope(const relmc_shape *s, size_t k, const double *g)
{
    double most = 0.0;

    for (size_t i = 0; i < s->dim; i++) {
        const double size = fabs(g[i * s->ld + k]);

        most = size <= most ? most : size; /* NaN stays */
    }
    return most;
}

/* Lane k of the trial: a step of z, or z itself if the lane has arrived. */
static void try_step(struct rmc_dual *d, relmc_system *sys,
                     const relmc_state *z, size_t k)
{
    const relmc_shape *s = &sys->shape;
    const double steepest = steepest_slope(s, k, z->g);

    sys->lanes.busy[k] = is_blind(z->lp[k]) && steepest > 0.0;
    for (size_t i = 0; i < s->dim; i++) {
        const size_t j = i * s->ld + k;
        const double way = sys->lanes.busy[k] ? z->g[j] / steepest : 0.0;

        d->trial.x[j] = z->x[j] + d->s[k] * way;
    }
}

/* Lane k goes where the trial went, if that is better. */
static void judge_step(struct rmc_dual *d, const relmc_system *sys,
                       relmc_state *z, size_t k)
{
    const relmc_shape *s = &sys->shape;
    const int is_better = d->trial.lp[k] > z->lp[k] &&
                          rmc_is_finite(steepest_slope(s, k, d->trial.g));

    d->s[k] *= is_better ? 2.0 : 0.25;
    for (size_t i = 0; is_better && i < s->dim; i++) {
        const size_t j = i * s->ld + k;

        z->x[j] = d->trial.x[j];
        z->g[j] = d->trial.g[j];
    }
    z->lp[k] = is_better ? d->trial.lp[k] : z->lp[k];
}

relmc_status rmc_approach(struct rmc_dual *d, relmc_system *sys, relmc_state *z)
{
    enum { MAX_TRIES = 200 };
    const size_t n = sys->shape.lanes;
    relmc_status status = RELMC_OK;
    size_t n_busy = n;

    for (size_t k = 0; k < n; k++) {
        d->s[k] = 1.0;
    }
    for (int try = 0; try < MAX_TRIES && n_busy && !status; try++) {
        n_busy = 0;
        for (size_t k = 0; k < n; k++) {
            try_step(d, sys, z, k);
            n_busy += sys->lanes.busy[k];
        }
        if (n_busy) {
            status = relmc_eval(sys, d->trial.x, d->trial.lp, d->trial.g);
        }
        for (size_t k = 0; k < n && !status; k++) {
            if (sys->lanes.busy[k]) {
                judge_step(d, sys, z, k);
            }
        }
    }
    memset(sys->lanes.busy, 0, n);
    return status;
}
