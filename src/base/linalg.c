/* linalg.c - the little dense linear algebra that mass matrices need. */
#include "base.h"

size_t rmc_cholesky(size_t dim, const double *a, double *out)
{
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * dim + j];

            for (size_t l = 0; l < j; l++) {
                sum = rmc_fma(-out[i * dim + l], out[j * dim + l], sum);
            }
            if (j < i) {
                out[i * dim + j] = sum / out[j * dim + j];
            } else if (sum > 0.0 && rmc_is_finite(sum)) {
                out[i * dim + i] = sqrt(sum);
            } else {
                return i + 1;
            }
        }
        for (size_t j = i + 1; j < dim; j++) {
            out[i * dim + j] = 0.0;
        }
    }
    return 0;
}
