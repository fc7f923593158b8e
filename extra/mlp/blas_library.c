/*
 * blas_library.c - one thread for BLAS, and which kernels it uses.
 *
 * Chains are what we run in parallel.  A BLAS with threads of its own in each
 * of ours has more of them than there are cores, and they wait for each other:
 * OpenBLAS was seen to become 60 times slower.  How many it may use is a setting
 * of the process, which CBLAS has no function for; these are the libraries'
 * own.  They are weak: an implementation without them has no threads, or is not
 * known here.
 */
#include "mlp/blas_library.h"

#include <stddef.h>

int openblas_get_num_threads(void) __attribute__((weak));
void openblas_set_num_threads(int n) __attribute__((weak));
char *openblas_get_corename(void) __attribute__((weak));
void bli_thread_set_num_threads(long n) __attribute__((weak));

void rmc_blas_use_one_thread(void)
{
    if (openblas_get_num_threads && openblas_set_num_threads &&
        openblas_get_num_threads() != 1) {
        openblas_set_num_threads(1);
    }
    if (bli_thread_set_num_threads) {
        bli_thread_set_num_threads(1);
    }
}

const char *rmc_blas_kernels(void)
{
    return openblas_get_corename ? openblas_get_corename() : NULL;
}
