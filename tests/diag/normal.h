/* normal.h - normal numbers that do not come from the streams of the library. */
#ifndef TESTS_DIAG_NORMAL_H
#define TESTS_DIAG_NORMAL_H

#include "base/base.h"

#include <stdint.h>

/* Knuth's MMIX generator; its top bits are good enough here. */
static inline double next_normal(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return rmc_normal_quantile(((double)(*state >> 12) + 0.5) * 0x1p-52);
}

#endif
