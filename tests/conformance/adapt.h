/*
 * adapt.h - runs that adapt, and checks that lanes, threads and pieces do not change
 * their draws.  Include it after cmocka.h.
 */
#ifndef TESTS_CONFORMANCE_ADAPT_H
#define TESTS_CONFORMANCE_ADAPT_H

#include "relmc.h"
#include "support/callback.h"
#include "support/check.h"
#include "support/kept.h"
#include "support/metric.h"
#include "support/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 5, WARMUP = 130, DRAWS = 12, MAX_DIM = 200 };

static inline relmc_options options_of(const char *sampler, const char *adapt)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;

    o.sampler = sampler;
    o.adapt = adapt;
    o.kinetic = "relativistic:cruise=0.7";
    o.chains = CHAINS;
    o.warmup = WARMUP;
    o.draws = DRAWS;
    o.seed = 31;
    o.step_size = 0.1;
    return o;
}

static inline void finish(relmc_run *run)
{
    advance(run, INT64_MAX);
}

/* ---- lanes, threads, pieces ------------------------------------------------ */

static inline void check_same(const relmc_run *a, const relmc_run *b,
                              size_t dim, const char *what)
{
    for (size_t k = 0; k < CHAINS; k++) {
        size_t n_a, n_b;
        const double *x = kept_outputs(a, k, &n_a);
        const double *y = kept_outputs(b, k, &n_b);

        assert_int_equal(n_a, n_b);
        if (memcmp(x, y, n_a * dim * sizeof *x) != 0) {
            fail_msg("%s: chain %zu differs", what, k + 1);
        }
    }
}

/* The tuning of a run with one lane and one thread contains `report`; other lanes and
 * threads give the same tuning and draws. */
static inline void check_ways(const relmc_target *target, relmc_options o,
                              const char *report)
{
    static const struct {
        uint32_t lanes, threads;
    } ways[] = {{5, 1}, {2, 1}, {1, 2}, {3, 2}, {1, 4}};
    const size_t dim = relmc_target_dim(target);
    char what[128];

    o.lanes = 1;
    relmc_run *reference = run_of(target, &o);
    finish(reference);
    if (!strstr(relmc_run_tuning_json(reference), report)) {
        fail_msg("%s is not in %s", report, relmc_run_tuning_json(reference));
    }
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        o.lanes = ways[w].lanes;
        o.threads = ways[w].threads;
        relmc_run *run = run_of(target, &o);
        finish(run);
        (void)snprintf(what, sizeof what, "%s, %s, %u lanes, %u threads",
                       o.adapt, o.sampler, o.lanes, o.threads);
        check_same(reference, run, dim, what);
        assert_string_equal(relmc_run_tuning_json(reference),
                            relmc_run_tuning_json(run));
        relmc_run_destroy(run);
    }
    relmc_run_destroy(reference);
}

static inline void check_pieces(const relmc_target *target, const char *adapt)
{
    const relmc_options o = options_of("auto", adapt);
    relmc_run *whole = run_of(target, &o), *pieces = run_of(target, &o);

    finish(whole);
    for (int64_t done = 0; done < WARMUP + DRAWS; done += 7) {
        relmc_error err = {0};
        assert_int_equal(relmc_run_advance(pieces, 7, &err), RELMC_OK);
    }
    check_same(whole, pieces, relmc_target_dim(target), adapt);
    relmc_run_destroy(whole);
    relmc_run_destroy(pieces);
}

#endif
