/*
 * schedule_inline.h - step sizes that change along a run, for samplers and optimisers
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
 *
 * Inlined because a step of a small target takes tens of nanoseconds, and these
 * functions are called several times in it.
 */
#ifndef RMC_SAMPLER_SCHEDULE_INLINE_H
#define RMC_SAMPLER_SCHEDULE_INLINE_H

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

/* (1 + cos(pi u)) / 2 for u in [0, 1]: 1 at 0, 0 at 1. */
static inline double rmc_half_wave(double u)
{
    const double half_pi = 1.57079632679489661923;
    const int is_late = u > 0.5;
    const double a = half_pi * (is_late ? 1.0 - u : u); /* at most pi/4 */
    const double b = -a * a;
    double term = a, sine = a;

    for (int n = 2; n <= 18; n += 2) {
        term *= b / (double)(n * (n + 1));
        sine += term;
    }
    return is_late ? sine * sine : 1.0 - sine * sine;
}

/* f(t) of step t of n. */
static inline double rmc_schedule_at(const struct rmc_schedule *s, double t,
                                     double n)
{
    double u = n > 0.0 && t < n ? t / n : t > 0.0 ? 1.0 : 0.0;

    switch ((int)s->kind) {
    case RMC_SCHEDULE_POLYNOMIAL:
        return rmc_exp(-s->power * rmc_log1p(t / s->offset));
    case RMC_SCHEDULE_CYCLICAL:
        u *= s->cycles;
        u -= floor(u);
        break;
    case RMC_SCHEDULE_COSINE:
        break;
    default:
        return 1.0;
    }
    return rmc_fma(1.0 - s->floor, rmc_half_wave(u), s->floor);
}

/* ---- checkpoints, of lane k ------------------------------------------------ */

/* The steps made so far: one number for all lanes, which are in step. */
static inline void rmc_steps_archive(relmc_archive *archive, size_t k,
                                     double *t)
{
    const double here = *t;

    relmc_archive_reals(archive, t, 1);
    if (k > 0 && *t != here) {
        relmc_archive_fail(archive, "its chains are at different steps: give "
                                    "them one lane each, or as many lanes as "
                                    "before");
    }
}

/* What spans the whole run must have known its length from the start. */
static inline void rmc_length_archive(relmc_archive *archive,
                                      const relmc_system *sys, int is_fixed)
{
    const uint64_t here = is_fixed ? (uint64_t)sys->run.transitions : 0;

    if (relmc_archive_count(archive, here, UINT64_MAX) != here) {
        relmc_archive_fail(archive, "its steps change along the whole run, "
                                    "which cannot have another length now");
    }
}

static inline int rmc_schedule_is_fixed(const struct rmc_schedule *s)
{
    return s->kind >= RMC_SCHEDULE_COSINE;
}

#endif
