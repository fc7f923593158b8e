/*
 * run.h - opens targets and runs; an error fails the test with its message.  Include it
 * after cmocka.h.
 */
#ifndef SUPPORT_RUN_H
#define SUPPORT_RUN_H

#include "relmc.h"
#include "support/kept.h"

static inline void check_ok(relmc_status status, const relmc_error *err)
{
    if (status) {
        fail_msg("%s", err->message);
    }
}

static inline relmc_target *target_on(const char *model, const relmc_data *data)
{
    relmc_target *target = NULL;
    relmc_error err = {0};

    check_ok(relmc_target_open(&target, model, data, &err), &err);
    return target;
}

static inline relmc_target *target_of(const char *model)
{
    return target_on(model, NULL);
}

static inline relmc_run *run_of(const relmc_target *target,
                                const relmc_options *o)
{
    relmc_run *run = NULL;
    relmc_error err = {0};

    check_ok(relmc_run_create(&run, target, o, &err), &err);
    return run;
}

static inline void advance(relmc_run *run, int64_t n)
{
    relmc_error err = {0};

    check_ok(relmc_run_advance(run, n, &err), &err);
}

/* One thread; warm-up is kept, and files contain no times. */
static inline relmc_options repeatable_options(const char *sampler,
                                               const char *adapt,
                                               uint32_t chains, int64_t warmup,
                                               int64_t draws)
{
    relmc_options o = RELMC_INIT(relmc_options);

    o.threads = 1;
    o.sampler = sampler;
    o.adapt = adapt;
    o.chains = chains;
    o.warmup = warmup;
    o.draws = draws;
    o.seed = 5;
    o.step_size = 0.1;
    o.clock = no_clock;
    o.keep = RELMC_KEEP_OUTPUTS | RELMC_KEEP_WARMUP;
    return o;
}

#endif
