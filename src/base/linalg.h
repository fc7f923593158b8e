/* linalg.h - Cholesky factors and eigenvectors of dense matrices, stored by rows. */
#ifndef RMC_LINALG_H
#define RMC_LINALG_H

#include <stddef.h>

/* Lower Cholesky factor of a symmetric dim x dim matrix, row-major; 0, or the
 * 1-based row that shows it is not positive definite.  `out` may be `a`. */
size_t rmc_cholesky(size_t dim, const double *a, double *out);
/* out <- a', square. */
void rmc_transpose(size_t dim, const double *a, double *out);
/* Symmetric a = Q diag(w) Q': a becomes Q, its columns the eigenvectors, in no
 * order.  Only the lower triangle is read; work has room for 2 dim numbers.  0
 * if the iteration does not converge, as with NaN. */
int rmc_eigen(size_t dim, double *a, double *w, double *work);

#endif
