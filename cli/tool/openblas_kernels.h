/* openblas_kernels.h - which kernels OpenBLAS uses. */
#ifndef RELMC_CLI_OPENBLAS_KERNELS_H
#define RELMC_CLI_OPENBLAS_KERNELS_H

/* Their name. */
const char *blas_kernels(void);

/* Starts the program again with better kernels, if those in use are too old for
 * this processor. Call it first. */
void blas_choose_kernels(char **argv);

#endif
