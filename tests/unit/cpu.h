/*
 * cpu.h - may this test run here?  Some tests are compiled a second time for
 * AVX2 (tests/CMakeLists.txt); they are skipped where it is missing.
 */
#ifndef RMC_TESTS_CPU_H
#define RMC_TESTS_CPU_H

enum { CPU_SKIPPED = 77 };

static inline int cpu_is_enough(void)
{
#ifdef __AVX2__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
#else
    return 1;
#endif
}

#endif
