/* stein_interval.h - the graph Stein discrepancy of a sample, and its interval.
 * Include it after cmocka.h. */
#ifndef RMC_TESTS_STEIN_INTERVAL_H
#define RMC_TESTS_STEIN_INTERVAL_H

#include "relmc_diag.h"
#include "stein_files.h"
#include "support/check.h"

static inline relmc_graph_stein_options options_of(double c1, double c2,
                                                   double c3)
{
    return (relmc_graph_stein_options){.size =
                                           sizeof(relmc_graph_stein_options),
                                       .c1 = c1,
                                       .c2 = c2,
                                       .c3 = c3,
                                       .tolerance = 1e-8};
}

typedef relmc_status (*stein_solver)(relmc_graph_stein_report *,
                                     const relmc_stein_sample *,
                                     const relmc_graph_stein_options *,
                                     relmc_error *);

static inline relmc_graph_stein_report
stein_solve(stein_solver solver, const stein_data *d,
            const relmc_graph_stein_options *o)
{
    const relmc_stein_sample sample = stein_sample_of(d);
    relmc_graph_stein_report out = RELMC_INIT(relmc_graph_stein_report);
    relmc_error err;

    if (solver(&out, &sample, o, &err)) {
        fail_msg("%s", err.message);
    }
    assert_true(out.lower <= out.upper);
    return out;
}

/* The interval holds the value and is short. */
static inline void check_interval(const relmc_graph_stein_report *r,
                                  double value)
{
    check_close(r->lower, value, 1e-7);
    check_close(r->upper, value, 1e-7);
    assert_true(r->lower <= value + 1e-11 && value - 1e-11 <= r->upper);
}

#endif
