/*
 * cpu.h - skips tests that are compiled for AVX2 or AVX-512 (tests/CMakeLists.txt) on
 * processors without it.
 */
#ifndef RMC_TESTS_CPU_H
#define RMC_TESTS_CPU_H

#include "component/cpu.h"

enum { CPU_SKIPPED = 77 };

static inline int cpu_is_enough(void)
{
#if defined(__AVX512F__)
    return rmc_cpu_has_avx512();
#elif defined(__AVX2__)
    return rmc_cpu_has_avx2();
#else
    return 1;
#endif
}

#endif
