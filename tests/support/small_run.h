/* small_run.h - short runs on small targets, and metrics for their chains. */
#ifndef SUPPORT_SMALL_RUN_H
#define SUPPORT_SMALL_RUN_H

#include "relmc.h"
#include "support/kept.h"
#include "support/run.h"

#include <string.h>

enum { DIM = 3, CHAINS = 5, WARMUP = 130, DRAWS = 12, MAX_DIM = 20 };

static const char *const samplers[] = {"auto", "nuts", "ghmc", "hmc:steps=5"};
static const struct {
    uint32_t lanes, threads;
} ways[] = {{1, 1}, {5, 1}, {2, 2}};

enum {
    N_SAMPLERS = sizeof samplers / sizeof *samplers,
    N_WAYS = sizeof ways / sizeof *ways
};

static inline relmc_options options_of(const char *sampler, const char *adapt)
{
    relmc_options o = RELMC_INIT(relmc_options);

    o.sampler = sampler;
    o.adapt = adapt;
    o.chains = CHAINS;
    o.warmup = WARMUP;
    o.draws = DRAWS;
    o.seed = 7;
    return o;
}

/* Draws of a chain; the run owns them. */
static inline const double *draws_of(const relmc_run *run, uint32_t chain)
{
    size_t n = 0;
    const double *x = kept_outputs(run, chain, &n);

    assert_int_equal(n, DRAWS);
    return x;
}

static inline void check_same_draws(const relmc_run *a, uint32_t chain_a,
                                    const relmc_run *b, uint32_t chain_b,
                                    size_t dim)
{
    assert_memory_equal(draws_of(a, chain_a), draws_of(b, chain_b),
                        DRAWS * dim * sizeof(double));
}

/* A different positive definite metric for every chain. */
static inline void fill_metrics(double *diagonal, double *dense)
{
    for (size_t c = 0; c < CHAINS; c++) {
        for (size_t i = 0; i < DIM; i++) {
            const double here = 1.0 + (double)(c * DIM + i);

            diagonal[c * DIM + i] = here;
            for (size_t j = 0; j < DIM; j++) {
                dense[(c * DIM + i) * DIM + j] =
                    i == j ? here : 0.1 * (double)(c + 1) / (double)(i + j);
            }
        }
    }
}

/* The message is one line that contains `says`. */
static inline void check_refused(const relmc_target *target,
                                 const relmc_options *o, relmc_status status,
                                 const char *says)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    assert_int_equal(relmc_run_create(&run, target, o, &err), status);
    assert_null(run);
    if (!strstr(err.message, says)) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, says);
    }
    assert_null(strchr(err.message, '\n'));
}

#endif
