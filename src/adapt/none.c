/* none.c - no adaptation: the step size stays as given. */
#include "base/base.h"

static relmc_status start(void *self, relmc_system *sys, relmc_state *z)
{
    (void)self, (void)sys, (void)z;
    return RELMC_OK;
}

static void observe(void *self, relmc_system *sys, const relmc_state *z,
                    const relmc_transition *t, size_t lane, int64_t iteration)
{
    (void)self, (void)sys, (void)z, (void)t, (void)lane, (void)iteration;
}

const relmc_adapt_ops RMC_ISA(rmc_adapt_none) = {
    .info = {"adapt", "none", "keep the step size", NULL},
    .start = start,
    .observe = observe,
};
