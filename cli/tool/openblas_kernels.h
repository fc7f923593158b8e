/* openblas_kernels.h - which kernels OpenBLAS uses. */
#ifndef RELMC_CLI_OPENBLAS_KERNELS_H
#define RELMC_CLI_OPENBLAS_KERNELS_H

/* Their name. */
const char *openblas_kernels_name(void);

/* Starts the program again with better kernels, if those in use are too old for
 * this processor. Call it first. */
void openblas_kernels_choose(char **argv);

#endif
