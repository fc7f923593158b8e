/*
 * lanes_inline.h - blocks of `dim x ld` numbers: a[i*ld + k] is coordinate i of lane
 * k.  Code for a subset of the lanes gathers it into a compact block.
 *
 * Inline: short loops inside every tick, vectorised for each code path.
 */
#ifndef RMC_LANES_INLINE_H
#define RMC_LANES_INLINE_H

#include "base/vmath_inline.h"
#include "relmc_ext.h"

#include <string.h>

/* Put before a loop whose iterations touch different numbers, where compilers cannot
 * prove it. */
#if defined(__clang__)
#define RMC_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define RMC_INDEPENDENT _Pragma("GCC ivdep")
#else
#define RMC_INDEPENDENT
#endif

/* Is any of n numbers infinite or NaN?  Adding one to an exponent of all ones
 * carries into the sign bit: integers only, so that the loop vectorises on every
 * instruction set. */
static inline int rmc_any_not_finite(size_t n, const double *x)
{
    const uint64_t exponent = 0x7ff0000000000000u, one = 0x0010000000000000u;
    uint64_t any = 0;

    for (size_t k = 0; k < n; k++) {
        any |= (rmc_to_bits(x[k]) & exponent) + one;
    }
    return any >> 63 != 0;
}

/* All cells of a block, padding included. */
static inline size_t rmc_cells(const relmc_shape *s)
{
    return s->dim * s->ld;
}

/* The ld of so many lanes: rows start on cache lines; one lane has no padding. */
static inline size_t rmc_leading(size_t lanes)
{
    return lanes == 1 ? 1 : (lanes + 7) / 8 * 8;
}

static inline double *rmc_lanes_new(relmc_arena *arena, const relmc_shape *s)
{
    return (double *)relmc_arena_get(arena, rmc_cells(s) * sizeof(double));
}

static inline double *rmc_per_lane_new(relmc_arena *arena, const relmc_shape *s)
{
    return (double *)relmc_arena_get(arena, s->ld * sizeof(double));
}

static inline relmc_state rmc_state_new(relmc_arena *arena,
                                        const relmc_shape *s)
{
    relmc_state z = {rmc_lanes_new(arena, s), rmc_lanes_new(arena, s),
                     rmc_lanes_new(arena, s), rmc_per_lane_new(arena, s)};
    return z;
}

/* A set of lanes, in ascending order. */
typedef struct rmc_lane_list {
    uint32_t *lane;
    size_t n;
} rmc_lane_list;

/* The compact shape of a set of lanes; of all lanes it is the shape itself, so that
 * nothing is copied. */
static inline relmc_shape rmc_compact(const relmc_shape *s,
                                      const rmc_lane_list *set)
{
    relmc_shape c = *s;

    if (set->n != s->lanes) {
        c.lanes = set->n;
        c.ld = rmc_leading(set->n);
    }
    return c;
}

/* The lanes of the set as a compact block: `a` itself if the set has all lanes,
 * otherwise a copy in `room`. */
static inline double *rmc_gather(const relmc_shape *s, const rmc_lane_list *set,
                                 double *a, double *room)
{
    if (set->n == s->lanes) {
        return a;
    }
    const size_t ld = rmc_leading(set->n);
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t j = 0; j < set->n; j++) {
            room[i * ld + j] = a[i * s->ld + set->lane[j]];
        }
        for (size_t j = set->n; j < ld; j++) {
            room[i * ld + j] = 0.0;
        }
    }
    return room;
}

/* Copies a compact block back to `a`, unless it is `a`. */
static inline void rmc_scatter(const relmc_shape *s, const rmc_lane_list *set,
                               const double *compact, double *a)
{
    if (compact == a) {
        return;
    }
    const size_t ld = rmc_leading(set->n);
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t j = 0; j < set->n; j++) {
            a[i * s->ld + set->lane[j]] = compact[i * ld + j];
        }
    }
}

/* to <- from, in the lanes of the set. */
static inline void rmc_copy_lanes(const relmc_shape *s,
                                  const rmc_lane_list *set, const double *from,
                                  double *to)
{
    if (set->n == s->lanes) {
        memcpy(to, from, rmc_cells(s) * sizeof *to);
        return;
    }
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t j = 0; j < set->n; j++) {
            to[i * s->ld + set->lane[j]] = from[i * s->ld + set->lane[j]];
        }
    }
}

/* ---- sums over coordinates ------------------------------------------------ */

/* A sum has a fixed order: RMC_WAYS partial sums, which vectorise and do not wait
 * for each other; terms that are left over go to the first. */
enum { RMC_WAYS = 4 };

/* Put before a loop over RMC_WAYS: else gcc unrolls it and vectorises the loop around
 * it, with more permutations than additions. */
#if defined(__GNUC__) && !defined(__clang__)
#define RMC_KEEP_WAYS _Pragma("GCC unroll 1")
/* Put before a loop that copies a lane into a row: gcc does not unroll it, and counting
 * costs as much as copying. */
#define RMC_UNROLL_COPY _Pragma("GCC unroll 4")
#else
#define RMC_KEEP_WAYS
#define RMC_UNROLL_COPY
#endif

static inline double rmc_add_up(const double part[RMC_WAYS])
{
    return (part[0] + part[1]) + (part[2] + part[3]);
}

/* |a|^2 of one lane, n numbers in a row. */
static inline double rmc_norm2(size_t n, const double *a)
{
    double part[RMC_WAYS] = {0};
    size_t i = 0;

    for (; i + RMC_WAYS <= n; i += RMC_WAYS) {
        RMC_KEEP_WAYS
        for (size_t j = 0; j < RMC_WAYS; j++) {
            part[j] = rmc_fma(a[i + j], a[i + j], part[j]);
        }
    }
    for (; i < n; i++) {
        part[0] = rmc_fma(a[i], a[i], part[0]);
    }
    return rmc_add_up(part);
}

/* So many lanes have their partial sums in registers. */
enum { RMC_FEW_LANES = 8 };

static inline void rmc_norms2_of_few(const relmc_shape *s, size_t lanes,
                                     const double *restrict a,
                                     double *restrict out)
{
    const size_t n = s->dim / RMC_WAYS * RMC_WAYS;
    double part[RMC_WAYS][RMC_FEW_LANES] = {{0}};

    for (size_t i = 0; i < s->dim; i++) {
        double *sum = part[i < n ? i % RMC_WAYS : 0];

        for (size_t k = 0; k < lanes; k++) {
            const double q = a[i * s->ld + k];
            sum[k] = rmc_fma(q, q, sum[k]);
        }
    }
    for (size_t k = 0; k < lanes; k++) {
        out[k] = (part[0][k] + part[1][k]) + (part[2][k] + part[3][k]);
    }
}

/* For fewer than RMC_WAYS coordinates: all go to the first sum. */
static inline void rmc_norms2_of_rows(size_t dim, size_t ld,
                                      const double *restrict a,
                                      double *restrict out)
{
    for (size_t k = 0; k < ld; k++) {
        double sum = a[k] * a[k];

        for (size_t i = 1; i < dim; i++) {
            sum = rmc_fma(a[i * ld + k], a[i * ld + k], sum);
        }
        out[k] = sum;
    }
}

/* Not inline, so that compilers inline rmc_norms2 for a single lane. */
static __attribute__((noinline, unused)) void
rmc_norms2_of_lanes(const relmc_shape *s, const double *restrict a,
                    double *restrict out)
{
    size_t k = 0;

    if (s->dim < RMC_WAYS) { /* gives the compiler a constant */
        s->dim == 1   ? rmc_norms2_of_rows(1, s->ld, a, out)
        : s->dim == 2 ? rmc_norms2_of_rows(2, s->ld, a, out)
                      : rmc_norms2_of_rows(3, s->ld, a, out);
        return;
    }
    for (; k + RMC_FEW_LANES <= s->ld; k += RMC_FEW_LANES) {
        rmc_norms2_of_few(s, RMC_FEW_LANES, a + k, out + k);
    }
    if (k < s->ld) {
        rmc_norms2_of_few(s, s->ld - k, a + k, out + k);
    }
}

/* out[k] = |a_k|^2 in all lanes, padding included; the bits are those of rmc_norm2. */
static inline void rmc_norms2(const relmc_shape *s, const double *restrict a,
                              double *restrict out)
{
    if (s->ld == 1) {
        out[0] = rmc_norm2(s->dim, a);
    } else {
        rmc_norms2_of_lanes(s, a, out);
    }
}

#endif
