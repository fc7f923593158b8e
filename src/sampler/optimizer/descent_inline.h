/*
 * descent_inline.h - the loops of optimisers, in both precisions.  Inlined because
 * each optimiser needs one of them.
 */
#ifndef RMC_SAMPLER_DESCENT_INLINE_H
#define RMC_SAMPLER_DESCENT_INLINE_H

#include "sampler/optimizer/descent.h"

/* Factors of a step of [Adam], [RMSprop] and [Adagrad]. */
struct rmc_scaling {
    double beta1, beta2, epsilon;
    double rate, slope, keep; /* of the step */
    double correct;
};

#define real            double
#define LOOP(name)      rmc_loop_##name##_double
#define fma_of(a, b, c) rmc_fma(a, b, c)
#define sqrt_of(a)      sqrt(a)
#include "sampler/optimizer/descent_loops_inline.h"
#undef real
#undef LOOP
#undef fma_of
#undef sqrt_of

#define real            float
#define LOOP(name)      rmc_loop_##name##_float
#define fma_of(a, b, c) __builtin_fmaf(a, b, c)
#define sqrt_of(a)      sqrtf(a)
#include "sampler/optimizer/descent_loops_inline.h"
#undef real
#undef LOOP
#undef fma_of
#undef sqrt_of

#endif
