/*
 * step_size_inline.h - [dual-averaging] after a transition.
 *
 * Inlined because step_size.c is compiled once, for every machine: there each fma of
 * rmc_exp and rmc_log is a call, which made the warm-up of a small target a tenth
 * slower.
 */
#ifndef RMC_ADAPT_STEP_SIZE_INLINE_H
#define RMC_ADAPT_STEP_SIZE_INLINE_H

#include "adapt/step_size.h"
#include "base/vmath_inline.h"

/* A target without scale drives eps out of all bounds: 1e-152 and 5e11. */
#define RMC_MIN_LOG_EPS (-350.0)
#define RMC_MAX_LOG_EPS 27.0

/* The next eps of lane k. */
static inline double rmc_dual_next(struct rmc_dual *d, size_t k, double accept)
{
    const double t = ++d->t[k], w = 1.0 / (t + d->t0);

    d->s[k] = (1.0 - w) * d->s[k] + w * (d->delta - accept);
    double log_eps = d->mu[k] - sqrt(t) / d->gamma * d->s[k];
    const double forget = rmc_exp(-d->kappa * rmc_log(t));

    log_eps = log_eps < RMC_MAX_LOG_EPS ? log_eps : RMC_MAX_LOG_EPS;
    log_eps = log_eps > RMC_MIN_LOG_EPS ? log_eps : RMC_MIN_LOG_EPS;
    d->log_eps_bar[k] = forget * log_eps + (1.0 - forget) * d->log_eps_bar[k];
    return rmc_exp(log_eps);
}

#endif
