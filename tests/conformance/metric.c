/*
 * metric.c - a chain with a metric of its own makes the draws of a run of that chain
 * alone, and relmc_run_metric gives metrics of any kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "relmc.h"
#include "support/metric.h"
#include "support/small_run.h"

#include <math.h>

/* Chain c of `all` equals a run of that chain with its metric. */
static void check_alone(const relmc_target *target, const relmc_options *o,
                        const relmc_run *all, uint32_t c)
{
    const size_t square = (size_t)DIM * DIM;
    relmc_options alone = *o;
    double found[DIM * DIM];

    alone.chains = 1;
    alone.lanes = alone.threads = 1;
    alone.first_chain = c;
    alone.metric_per_chain = 0;
    if (o->inv_metric) {
        alone.inv_metric = o->inv_metric + (size_t)c * DIM;
    } else {
        alone.inv_metric_dense = o->inv_metric_dense + c * square;
    }
    relmc_run *run = run_of(target, &alone);
    advance(run, INT64_MAX);
    check_same_draws(all, c, run, 0, DIM);
    assert_string_equal(metric_kind(all, c, NULL, found),
                        o->inv_metric ? "diagonal" : "dense");
    for (size_t i = 0; i < DIM * DIM; i++) {
        const double given = !o->inv_metric  ? alone.inv_metric_dense[i]
                             : i % (DIM + 1) ? 0.0
                                             : alone.inv_metric[i / DIM];
        assert_true(fabs(found[i] - given) < 1e-12);
    }
    relmc_run_destroy(run);
}

static void test_metric__may_be_another_one_for_each_chain(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    double diagonal[CHAINS * DIM], dense[CHAINS * DIM * DIM];

    (void)state;
    fill_metrics(diagonal, dense);
    for (size_t i = 0; i < 2 * N_SAMPLERS * N_WAYS; i++) {
        relmc_options o = options_of(samplers[i / 2 % N_SAMPLERS],
                                     i % 4 < 2 ? "none" : "dual");

        o.step_size = 0.3;
        o.metric_per_chain = 1;
        o.inv_metric = i % 2 ? diagonal : NULL;
        o.inv_metric_dense = i % 2 ? NULL : dense;
        o.lanes = ways[i / 2 / N_SAMPLERS].lanes;
        o.threads = ways[i / 2 / N_SAMPLERS].threads;
        relmc_run *run = run_of(target, &o);
        advance(run, INT64_MAX);
        for (uint32_t c = 0; c < CHAINS; c++) {
            check_alone(target, &o, run, c);
        }
        relmc_run_destroy(run);
    }
    relmc_target_destroy(target);
}

static void test_metric__of_a_chain_is_checked(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("nuts", "none");
    double diagonal[CHAINS * DIM], dense[CHAINS * DIM * DIM];

    (void)state;
    fill_metrics(diagonal, dense);
    o.metric_per_chain = 1;
    o.inv_metric = diagonal;
    diagonal[CHAINS * DIM - 1] = 0.0;
    check_refused(target, &o, RELMC_EINVAL, "element 15");
    diagonal[CHAINS * DIM - 1] = 1.0;
    o.adapt = "auto";
    check_refused(target, &o, RELMC_EUNSUPP, "use adapt stan");
    o.adapt = "none";
    o.inv_metric = NULL;
    o.inv_metric_dense = dense;
    dense[CHAINS * DIM * DIM - 1] = -1.0;
    check_refused(target, &o, RELMC_EINVAL, "row 15");
    relmc_target_destroy(target);
}

static void test_metric__is_shown_whole(void **state)
{
    static double diagonal[MAX_DIM], dense[MAX_DIM * MAX_DIM];
    relmc_target *target = target_of("gaussian:dim=20,rho=0.95");
    relmc_options o = options_of("auto", "auto:metric=1");
    size_t n_outside = 0;

    (void)state;
    o.warmup = 500;
    o.draws = 1;
    relmc_run *run = run_of(target, &o);
    advance(run, INT64_MAX);
    (void)metric_kind(run, 0, diagonal, dense);
    for (size_t i = 0; i < MAX_DIM; i++) {
        assert_true(fabs(dense[i * MAX_DIM + i] - diagonal[i]) <
                    1e-12 * diagonal[i]);
        for (size_t j = 0; j < i; j++) {
            n_outside += dense[i * MAX_DIM + j] != 0.0;
            assert_true(dense[i * MAX_DIM + j] == dense[j * MAX_DIM + i]);
        }
    }
    assert_int_equal(n_outside > 0,
                     strcmp(metric_kind(run, 0, NULL, NULL), "low rank") == 0);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metric__may_be_another_one_for_each_chain),
        cmocka_unit_test(test_metric__of_a_chain_is_checked),
        cmocka_unit_test(test_metric__is_shown_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
