/* blas_library.h - threads and kernels of the BLAS in use. */
#ifndef RMC_EXTRA_BLAS_H
#define RMC_EXTRA_BLAS_H

/* From now on BLAS starts no threads, in the whole process. */
void rmc_blas_use_one_thread(void);

/* The processor that its kernels were made for; NULL if unknown. */
const char *rmc_blas_kernels(void);

#endif
