/* blas_library.h - the BLAS at hand. */
#ifndef RMC_EXTRA_BLAS_H
#define RMC_EXTRA_BLAS_H

/* From now on it starts no threads, in the whole process. */
void rmc_blas_use_one_thread(void);

/* The processor its kernels were made for; NULL if it does not tell. */
const char *rmc_blas_kernels(void);

#endif
