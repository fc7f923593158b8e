/*
 * schedule.c - [schedule] of step sizes along a run.
 */
#include "sampler/schedule.h"

/* (1 + cos(pi u)) / 2 for u in [0, 1]: 1 at 0, 0 at 1. */
static double half_wave(double u)
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

double RMC_ISA(rmc_schedule_at)(const struct rmc_schedule *s, double t,
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
    return rmc_fma(1.0 - s->floor, half_wave(u), s->floor);
}

void RMC_ISA(rmc_steps_archive)(relmc_archive *archive, size_t k, double *t)
{
    const double here = *t;

    relmc_archive_reals(archive, t, 1);
    if (k > 0 && *t != here) {
        relmc_archive_fail(archive, "its chains are at different steps: give "
                                    "them one lane each, or as many lanes as "
                                    "before");
    }
}

void RMC_ISA(rmc_length_archive)(relmc_archive *archive,
                                 const relmc_system *sys, int is_fixed)
{
    const uint64_t here = is_fixed ? (uint64_t)sys->run.transitions : 0;

    if (relmc_archive_count(archive, here, UINT64_MAX) != here) {
        relmc_archive_fail(archive, "its steps change along the whole run, "
                                    "which cannot have another length now");
    }
}

int RMC_ISA(rmc_schedule_is_fixed)(const struct rmc_schedule *s)
{
    return s->kind >= RMC_SCHEDULE_COSINE;
}
