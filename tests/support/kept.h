/* kept.h - the outputs that a run keeps; new and resumed runs in one call. */
#ifndef RMC_TESTS_KEPT_H
#define RMC_TESTS_KEPT_H

#include "relmc.h"

/* The *n rows of chain k; NULL if they are not kept. */
static inline const double *kept_outputs(const relmc_run *run, size_t k,
                                         size_t *n)
{
    relmc_draws draws = RELMC_INIT(relmc_draws);

    *n = 0;
    if (!relmc_run_draws(run, (uint32_t)k, &draws, NULL)) {
        *n = draws.n;
    }
    return draws.outputs;
}

/* A new run, or the run that was saved in `file`. */
static inline relmc_status open_or_resume(relmc_run **run,
                                          const relmc_target *target,
                                          const relmc_options *o,
                                          const char *file, relmc_error *err)
{
    return file ? relmc_run_resume(run, target, file, o, err)
                : relmc_run_create(run, target, o, err);
}

/* options.clock for tests that compare files: these contain times. */
static inline double no_clock(void)
{
    return 0.0;
}

#endif
