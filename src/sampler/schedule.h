/*
 * schedule.h - step sizes that change along a run, for samplers and optimisers
 * without a Metropolis step.
 *
 *   [schedule]  eps_t = eps f(t), f(0) = 1, t = 0 .. n-1 the steps of a chain:
 *               constant    f = 1
 *               polynomial  f = (1 + t/b)^-g: a (b + t)^-g with a = eps b^g
 *               cosine      f = w + (1 - w) (1 + cos(pi t/n)) / 2
 *               cyclical    the same, started anew at the beginning of each of
 *                           `cycles` equal parts of the run
 *
 * A factor is plain arithmetic of (t, n), so it is the same on every machine
 * and for any number of lanes.
 */
#ifndef RMC_SAMPLER_SCHEDULE_H
#define RMC_SAMPLER_SCHEDULE_H

#include "base/base.h"

enum {
    RMC_SCHEDULE_CONSTANT,
    RMC_SCHEDULE_POLYNOMIAL,
    RMC_SCHEDULE_COSINE,
    RMC_SCHEDULE_CYCLICAL
};

#define RMC_SCHEDULES "constant|polynomial|cosine|cyclical"

/* All of them parameters: doubles. */
struct rmc_schedule {
    double kind;          /* one of the above */
    double offset, power; /* b, g */
    double floor;         /* w */
    double cycles;
};

/* The lines of a parameter table for a `struct rmc_schedule` that is `member`
 * of `type`. */
/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member */
#define RMC_SCHEDULE_PARAMS(type, member)                                     \
    {"schedule", "how the step size changes along the run", 0, 3,             \
     RMC_SCHEDULE_CONSTANT, offsetof(type, member.kind), RELMC_CHOICE,        \
     RMC_SCHEDULES},                                                          \
    {"offset", "of the polynomial schedule, b, in steps", 1e-6, 1e12, 1,      \
     offsetof(type, member.offset), RELMC_REAL, NULL},                        \
    {"power", "of the polynomial schedule, g", 0, 10, 0.33,                   \
     offsetof(type, member.power), RELMC_REAL, NULL},                         \
    {"floor", "least share of the step size, w, of the cosines", 0, 1, 0,     \
     offsetof(type, member.floor), RELMC_REAL, NULL},                         \
    {"cycles", "parts of the run, of the cyclical schedule", 1, 1e9, 4,       \
     offsetof(type, member.cycles), RELMC_INTEGER, NULL}
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

/* f(t) of step t of n. */
double RMC_ISA(rmc_schedule_at)(const struct rmc_schedule *s, double t,
                                double n);

/* ---- checkpoints, of lane k ------------------------------------------------ */

/* The steps made so far: one number for all lanes, which are in step. */
void RMC_ISA(rmc_steps_archive)(relmc_archive *archive, size_t k, double *t);

/* What spans the whole run must have known its length from the start. */
void RMC_ISA(rmc_length_archive)(relmc_archive *archive,
                                 const relmc_system *sys, int is_fixed);

int RMC_ISA(rmc_schedule_is_fixed)(const struct rmc_schedule *s);

#endif
