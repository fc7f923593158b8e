/* targets.h - a built-in model that all tests share, and a flat density.  Include it after
 * cmocka.h. */
#ifndef TESTS_PROPERTY_TARGETS_H
#define TESTS_PROPERTY_TARGETS_H

#include "relmc.h"

#include <string.h>

static relmc_target *banana;

static inline int open_banana(void **unused)
{
    (void)unused;
    return relmc_target_open(&banana, "banana", NULL, NULL);
}

static inline int close_banana(void **unused)
{
    (void)unused;
    relmc_target_destroy(banana);
    return 0;
}

static inline int flat(size_t dim, const double *x, double *grad, double *lp,
                       void *ctx)
{
    (void)x, (void)ctx;
    memset(grad, 0, dim * sizeof *grad);
    *lp = 0.0;
    return RELMC_OK;
}

#endif
