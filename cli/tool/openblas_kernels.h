/* openblas_kernels.h - the kernels of the BLAS at hand. */
#ifndef RELMC_CLI_BLAS_H
#define RELMC_CLI_BLAS_H

/* Which they are, in a word. */
const char *blas_kernels(void);

/* If they are too old for this processor: the tool begins again, with better
 * ones.  To be called before anything else. */
void blas_choose_kernels(char **argv);

#endif
