/*
 * float_state.h - states of optimisers, and of sghmc, in single precision, for
 * targets whose gradients have no more: a step then moves less than half of the
 * memory.
 *
 * x, p and g are float, from the first step on.  Where a transition ends z->x and
 * z->lp say the same in double: that is what draws show and checkpoints keep, and
 * where a lane that fails goes back to.  z->p and z->g are not used any more; p
 * and g are in the part of the checkpoint that is the sampler's.
 */
#ifndef RMC_SAMPLER_SINGLE_H
#define RMC_SAMPLER_SINGLE_H

#include "base/base.h"

enum { RMC_PRECISION_AUTO, RMC_PRECISION_SINGLE, RMC_PRECISION_DOUBLE };

struct rmc_single {
    double wanted; /* parameter: one of these */
    int is_on;
    int has_begun; /* p and `first` are what counts, not z->p and z->g */
    int is_loaded; /* x is z->x */
    float *x, *p, *g;
    float *first;  /* g where the transition began */
    float *before; /* x of the step before, if somebody wants to know */
};

/* clang-format off */
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member */
#define RMC_PRECISION_PARAM(type, member)                                     \
    {"precision", "of positions, momenta and gradients; auto: single if the " \
     "gradients of the model are", 0, 2, RMC_PRECISION_AUTO,                  \
     offsetof(type, member.wanted), RELMC_CHOICE, "auto|single|double"}
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

static inline float *rmc_floats_new(relmc_arena *arena, const relmc_shape *s)
{
    return (float *)relmc_arena_get(arena, rmc_cells(s) * sizeof(float));
}

/* Makes the choice; `can` says whether the optimiser can do without doubles. */
static inline relmc_status rmc_single_init(struct rmc_single *f,
                                           relmc_arena *arena,
                                           const relmc_system *sys, int can,
                                           relmc_error *err)
{
    const relmc_shape *s = &sys->shape;

    if (f->wanted == RMC_PRECISION_SINGLE && !sys->target.is_float) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "precision=single needs gradients of single precision, "
                        "such as those of mlp without shards and control "
                        "variates");
    }
    if (f->wanted == RMC_PRECISION_SINGLE && !can) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "precision=single is for the Euler scheme at "
                        "temperature 0, with the unit metric and a separable "
                        "or Newtonian kinetic energy; with heat, for the "
                        "separable one, without noise=estimate, variance and "
                        "bounded friction other than scheme=euler");
    }
    f->is_on = f->wanted != RMC_PRECISION_DOUBLE && sys->target.is_float && can;
    if (f->is_on) {
        f->x = rmc_floats_new(arena, s);
        f->p = rmc_floats_new(arena, s);
        f->g = rmc_floats_new(arena, s);
        f->first = rmc_floats_new(arena, s);
    }
    return relmc_arena_check(arena, err);
}

static inline void rmc_to_floats(size_t n, const double *restrict from,
                                 float *restrict to)
{
    for (size_t j = 0; j < n; j++) {
        to[j] = (float)from[j];
    }
}

static inline void rmc_to_doubles(size_t n, const float *restrict from,
                                  double *restrict to)
{
    for (size_t j = 0; j < n; j++) {
        to[j] = (double)from[j];
    }
}

/* At the start of a transition; 1 if there is something new. */
static inline int rmc_single_load(struct rmc_single *f, const relmc_shape *s,
                                  const relmc_state *z)
{
    const size_t n = rmc_cells(s);

    if (!f->has_begun) {
        rmc_to_floats(n, z->p, f->p);
        rmc_to_floats(n, z->g, f->first);
        f->has_begun = 1;
    }
    if (f->is_loaded) {
        return 0;
    }
    rmc_to_floats(n, z->x, f->x);
    f->is_loaded = 1;
    return 1;
}

static inline void rmc_swap_floats(float **a, float **b)
{
    float *c = *a;

    *a = *b;
    *b = c;
}

/* At its end. */
static inline void rmc_single_store(struct rmc_single *f, const relmc_shape *s,
                                    const relmc_state *z)
{
    rmc_to_doubles(rmc_cells(s), f->x, z->x);
    rmc_swap_floats(&f->g, &f->first);
}

/* Lane k is where its transition began, at rest. */
static inline void rmc_single_return(const struct rmc_single *f,
                                     const relmc_shape *s, const relmc_state *z,
                                     size_t k)
{
    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        f->x[j] = (float)z->x[j];
        f->g[j] = f->first[j];
        f->p[j] = 0.0F;
    }
}

static inline int rmc_any_not_finite_single(size_t n, const float *x)
{
    const uint32_t exponent = 0x7f800000U, one = 0x00800000U;
    uint32_t any = 0;

    for (size_t k = 0; k < n; k++) {
        uint32_t bits;

        memcpy(&bits, &x[k], sizeof bits);
        any |= (bits & exponent) + one;
    }
    return any >> 31 != 0;
}

/* Is any number of the state infinite or NaN?  If one of p is, one of x is in the
 * next step, or the energy is too large or NaN. */
static inline int rmc_single_is_wild(const struct rmc_single *f,
                                     const relmc_shape *s)
{
    const size_t n = rmc_cells(s);

    return rmc_any_not_finite_single(n, f->x) ||
           rmc_any_not_finite_single(n, f->g);
}

/* ... of lane k? */
static inline int rmc_single_lane_is_wild(const struct rmc_single *f,
                                          const relmc_shape *s, size_t k)
{
    int is_wild = 0;

    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        is_wild |= rmc_any_not_finite_single(1, &f->x[j]) |
                   rmc_any_not_finite_single(1, &f->g[j]);
    }
    return is_wild;
}

/* The largest change of a coordinate of lane k in the last step. */
static inline double rmc_single_stride(const struct rmc_single *f,
                                       const relmc_shape *s, size_t k)
{
    int32_t most = 0; /* as rmc_descent_stride */
    float stride;

    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        const float change = f->x[j] - f->before[j];
        int32_t bits;

        memcpy(&bits, &change, sizeof bits);
        bits &= 0x7fffffff;
        most = bits > most ? bits : most;
    }
    memcpy(&stride, &most, sizeof stride);
    return (double)stride;
}

/* For a checkpoint, numbers of lane k: kept as doubles; `room` is for these. */
static inline void rmc_floats_archive(relmc_archive *archive,
                                      const relmc_shape *s, size_t k,
                                      float *block, double *room)
{
    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        room[j] = (double)block[j];
    }
    relmc_archive_lane(archive, s, k, room);
    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        block[j] = (float)room[j];
    }
}

static inline void rmc_single_archive(struct rmc_single *f,
                                      const relmc_system *sys, size_t k,
                                      relmc_archive *archive)
{
    if (!f->is_on) {
        return;
    }
    f->has_begun = (int)relmc_archive_count(archive, (uint64_t)f->has_begun, 1);
    rmc_floats_archive(archive, &sys->shape, k, f->p, sys->scratch.v);
    rmc_floats_archive(archive, &sys->shape, k, f->first, sys->scratch.v);
    f->is_loaded &= !relmc_archive_is_reading(archive);
}

#endif
