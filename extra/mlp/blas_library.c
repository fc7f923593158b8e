/*
 * blas_library.c - sets BLAS to one thread, and finds which kernels it uses.
 *
 * relmc runs chains in parallel.  If each of its threads called a BLAS with threads
 * of its own, there would be more threads than cores, and they would wait for each
 * other: OpenBLAS was measured to be 60 times slower.  CBLAS cannot set the number of
 * threads; these functions are of OpenBLAS and BLIS.  They are weak symbols, as
 * other libraries lack them.
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
