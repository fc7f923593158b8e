/*
 * float_state.c - states of single precision.
 */
#include "sampler/float_state.h"

float *RMC_ISA(rmc_floats_new)(relmc_arena *arena, const relmc_shape *s)
{
    return (float *)relmc_arena_get(arena, rmc_cells(s) * sizeof(float));
}

relmc_status RMC_ISA(rmc_float_state_init)(struct rmc_float_state *f,
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
        f->x = RMC_ISA(rmc_floats_new)(arena, s);
        f->p = RMC_ISA(rmc_floats_new)(arena, s);
        f->g = RMC_ISA(rmc_floats_new)(arena, s);
        f->first = RMC_ISA(rmc_floats_new)(arena, s);
    }
    return relmc_arena_check(arena, err);
}

static void to_floats(size_t n, const double *restrict from, float *restrict to)
{
    for (size_t j = 0; j < n; j++) {
        to[j] = (float)from[j];
    }
}

static void to_doubles(size_t n, const float *restrict from,
                       double *restrict to)
{
    for (size_t j = 0; j < n; j++) {
        to[j] = (double)from[j];
    }
}

int RMC_ISA(rmc_float_state_load)(struct rmc_float_state *f,
                                  const relmc_shape *s, const relmc_state *z)
{
    const size_t n = rmc_cells(s);

    if (!f->has_begun) {
        to_floats(n, z->p, f->p);
        to_floats(n, z->g, f->first);
        f->has_begun = 1;
    }
    if (f->is_loaded) {
        return 0;
    }
    to_floats(n, z->x, f->x);
    f->is_loaded = 1;
    return 1;
}

void RMC_ISA(rmc_swap_floats)(float **a, float **b)
{
    float *c = *a;

    *a = *b;
    *b = c;
}

void RMC_ISA(rmc_float_state_store)(struct rmc_float_state *f,
                                    const relmc_shape *s, const relmc_state *z)
{
    to_doubles(rmc_cells(s), f->x, z->x);
    RMC_ISA(rmc_swap_floats)(&f->g, &f->first);
}

void RMC_ISA(rmc_float_state_return)(const struct rmc_float_state *f,
                                     const relmc_shape *s, const relmc_state *z,
                                     size_t k)
{
    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        f->x[j] = (float)z->x[j];
        f->g[j] = f->first[j];
        f->p[j] = 0.0F;
    }
}

int RMC_ISA(rmc_any_float_not_finite)(size_t n, const float *x)
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

int RMC_ISA(rmc_float_state_is_wild)(const struct rmc_float_state *f,
                                     const relmc_shape *s)
{
    const size_t n = rmc_cells(s);

    return RMC_ISA(rmc_any_float_not_finite)(n, f->x) ||
           RMC_ISA(rmc_any_float_not_finite)(n, f->g);
}

int RMC_ISA(rmc_float_state_lane_is_wild)(const struct rmc_float_state *f,
                                          const relmc_shape *s, size_t k)
{
    int is_wild = 0;

    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        is_wild |= RMC_ISA(rmc_any_float_not_finite)(1, &f->x[j]) |
                   RMC_ISA(rmc_any_float_not_finite)(1, &f->g[j]);
    }
    return is_wild;
}

double RMC_ISA(rmc_float_state_stride)(const struct rmc_float_state *f,
                                       const relmc_shape *s, size_t k)
{
    int32_t most = 0; /* as in descent.c */
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

void RMC_ISA(rmc_floats_archive)(relmc_archive *archive, const relmc_shape *s,
                                 size_t k, float *block, double *room)
{
    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        room[j] = (double)block[j];
    }
    relmc_archive_lane(archive, s, k, room);
    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        block[j] = (float)room[j];
    }
}

void RMC_ISA(rmc_float_state_archive)(struct rmc_float_state *f,
                                      const relmc_system *sys, size_t k,
                                      relmc_archive *archive)
{
    if (!f->is_on) {
        return;
    }
    f->has_begun = (int)relmc_archive_count(archive, (uint64_t)f->has_begun, 1);
    RMC_ISA(rmc_floats_archive)(archive, &sys->shape, k, f->p, sys->scratch.v);
    RMC_ISA(rmc_floats_archive)
    (archive, &sys->shape, k, f->first, sys->scratch.v);
    f->is_loaded &= !relmc_archive_is_reading(archive);
}
