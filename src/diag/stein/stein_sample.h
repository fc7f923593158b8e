/* stein_sample.h - the input of the Stein discrepancies: draws, scores,
 * weights. */
#ifndef RMC_DIAG_STEIN_SAMPLE_H
#define RMC_DIAG_STEIN_SAMPLE_H

#include "base/base.h"
#include "relmc_diag.h"

/* Sizes, pointers, finite numbers; `who` begins the message. */
relmc_status rmc_stein_check(const char *who, const relmc_stein_sample *sample,
                             relmc_error *err);

/* n weights that sum to 1. */
relmc_status rmc_stein_weights(const char *who,
                               const relmc_stein_sample *sample, double *out,
                               relmc_error *err);

/* n * size zero bytes from the C library, or NULL. */
void *rmc_stein_alloc(size_t n, size_t m, size_t size);

#endif
