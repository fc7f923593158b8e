/* metric.h - the inverse metric of a chain; an error fails the test. */
#ifndef SUPPORT_METRIC_H
#define SUPPORT_METRIC_H

#include "relmc.h"

static inline const char *metric_kind(const relmc_run *run, uint32_t chain,
                                      double *diagonal, double *dense)
{
    const char *kind = NULL;

    assert_int_equal(relmc_run_metric(run, chain, &kind, diagonal, dense, NULL),
                     RELMC_OK);
    return kind;
}

#endif
