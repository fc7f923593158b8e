/*
 * openblas_kernels.c - OpenBLAS with kernels that suit the processor.
 *
 * Its builds have kernels for many processors, and it asks the one at hand for
 * its name.  A name that it does not know gets the oldest of them: version
 * 0.3.21 makes 34 GFLOP/s with those for "Prescott", of 2004, on a Xeon of 2023,
 * where those for "SkylakeX" make 155.  OPENBLAS_CORETYPE chooses others, but
 * looks there only while it is loaded, so the program has to be started again.
 */
#include "tool/openblas_kernels.h"
#include "relmc_diag.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef RELMC_HAS_EXTRA
#include "relmc_extra.h"
#endif

const char *openblas_kernels_name(void)
{
    const char *name = NULL;

#ifdef RELMC_HAS_EXTRA
    name = relmc_extra_blas_kernels();
#endif
    return name ? name : "unknown";
}

/* What to ask for: NULL if there is no need to. */
static const char *better_kernels(const char *name)
{
#if defined(__x86_64__) && defined(__GNUC__)
    static const char *const with_avx2[] = {"Haswell",    "Excavator",
                                            "Zen",        "SkylakeX",
                                            "Cooperlake", "SapphireRapids"};

    for (size_t i = 0; i < sizeof with_avx2 / sizeof *with_avx2; i++) {
        if (!strcmp(name, with_avx2[i])) {
            return NULL;
        }
    }
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl")) {
        return "SkylakeX";
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return "Haswell";
    }
#endif
    (void)name;
    return NULL;
}

void openblas_kernels_choose(char **argv)
{
    const char *variable = "OPENBLAS_CORETYPE", *name = openblas_kernels_name();
    const char *better = strcmp(name, "unknown") ? better_kernels(name) : NULL;

    if (!better || getenv(variable)) {
        return; /* the user knows better, or we have been here before */
    }
    if (!setenv(variable, better, 1)) {
        (void)execv("/proc/self/exe", argv); /* otherwise slowly, as we are */
    }
}
