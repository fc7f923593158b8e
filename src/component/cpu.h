/* cpu.h - instruction sets that the processor has and the system enables, for
 * files that choose between code paths.
 */
#ifndef RMC_CPU_H
#define RMC_CPU_H

#ifdef __x86_64__

static inline int rmc_cpu_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
}

/* x86-64-v4: what came with servers in 2017. */
static inline int rmc_cpu_has_avx512(void)
{
    return rmc_cpu_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd");
}

#else

static inline int rmc_cpu_has_avx2(void)
{
    return 0;
}

static inline int rmc_cpu_has_avx512(void)
{
    return 0;
}

#endif

#endif
