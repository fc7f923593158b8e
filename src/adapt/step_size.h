/*
 * step_size.h - the step size of every lane, for every adaptation: [first-step], then
 * [dual-averaging].
 */
#ifndef RMC_ADAPT_STEP_SIZE_H
#define RMC_ADAPT_STEP_SIZE_H

#include "base/base.h"

struct rmc_dual {
    double delta, gamma, t0, kappa;
    double *t; /* iterations since the start, one per lane as all of these */
    double *mu, *s, *log_eps_bar;
    relmc_state trial;
    double *h0, *h1;
};

/* The parameters of a component whose state holds a struct rmc_dual. */
/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member */
#define RMC_DUAL_PARAMS(type, member)                                         \
    {"delta", "wanted mean acceptance probability", 0.01, 0.999, 0.8,         \
     offsetof(type, member.delta), RELMC_REAL},                               \
    {"gamma", "how strongly log eps is pulled to its centre", 1e-6, 1e6,      \
     0.05, offsetof(type, member.gamma), RELMC_REAL},                         \
    {"t0", "iterations by which the start is damped", 0, 1e9, 10,             \
     offsetof(type, member.t0), RELMC_REAL},                                  \
    {"kappa", "how fast early iterations are forgotten", 0.5, 1, 0.75,        \
     offsetof(type, member.kappa), RELMC_REAL}
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

void rmc_dual_open(struct rmc_dual *d, relmc_arena *arena,
                   const relmc_shape *s);

/*
 * [first-step]  Double or halve eps until the acceptance probability of a single
 * step crosses 0.8, in every lane on its own.  The bounds end the search on
 * targets that are flat or nowhere smooth.
 */
relmc_status rmc_dual_search(struct rmc_dual *d, relmc_system *sys,
                             const relmc_state *z);

/* The averages of lane k start anew; log eps is drawn to mu. */
void rmc_dual_begin(struct rmc_dual *d, size_t k, double mu);

/* What lane k keeps from one transition to the next. */
void rmc_dual_archive(struct rmc_dual *d, size_t k, relmc_archive *a);

#endif
