/* series_inline.h - loops over all draws, inlined because a call for each draw
 * would be slow. */
#ifndef RMC_SERIES_INLINE_H
#define RMC_SERIES_INLINE_H

#include "diag/convergence/series.h"

/* ---- wide vectors -------------------------------------------------------- */

/* Defines void name(args), which calls the always inlined name_any(args) with
 * AVX2 where the processor has it.  The bits are the same: nothing is
 * contracted. */
#if defined(__x86_64__) && defined(__GNUC__)
#define RMC_WIDE(name, types, args)                               \
    __attribute__((target("avx2"))) static void name##_wide types \
    {                                                             \
        name##_any args;                                          \
    }                                                             \
    static void name types                                        \
    {                                                             \
        if (__builtin_cpu_supports("avx2")) {                     \
            name##_wide args;                                     \
        } else {                                                  \
            name##_any args;                                      \
        }                                                         \
    }
#else
#define RMC_WIDE(name, types, args) \
    static void name types          \
    {                               \
        name##_any args;            \
    }
#endif

/* ---- labels of draws ----------------------------------------------------- */

static inline size_t rmc_half_of(const rmc_order *o, uint64_t label)
{
    return (size_t)((label & ((1ULL << o->place) - 1)) >> o->bits);
}

/* Index of a label's draw in x. */
static inline size_t rmc_index_of(const rmc_order *o, uint64_t label)
{
    return rmc_half_of(o, label) * o->n_half +
           (size_t)(label & ((1ULL << o->bits) - 1));
}

#endif
