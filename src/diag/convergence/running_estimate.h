/* running_estimate.h - estimates from running statistics of several chains. */
#ifndef RMC_DIAG_RUNNING_H
#define RMC_DIAG_RUNNING_H

#include "base/base.h"
#include "base/running_moments.h"
#include "relmc_diag.h"

/* One quantity: that of chain k is first[k * stride]. */
typedef struct rmc_running_set {
    const rmc_running *first;
    size_t stride, n_chains;
} rmc_running_set;

/* n quantiles at level[0..n).  All are NaN if a draw is. */
relmc_status rmc_running_estimate(relmc_online *out, double *quantile,
                                  const rmc_running_set *set, size_t n,
                                  const double *level, relmc_error *err);

#endif
