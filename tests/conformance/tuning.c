/*
 * tuning.c - a run that starts from the tuning of another run uses all of it, for every
 * sampler with every adaptation and any number of chains; other tunings are refused in
 * one line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/archive.h"
#include "component/registry.h"
#include "relmc.h"
#include "relmc_format.h"
#include "support/metric.h"
#include "support/small_run.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const adaptations[] = {"none", "dual", "stan", "auto",
                                          "auto:metric=0"};

enum { N_ADAPTATIONS = sizeof adaptations / sizeof *adaptations };

/* ---- a tuning, and a run that starts from it ----------------------------------- */

struct tuning {
    unsigned char *at;
    size_t bytes;
};

static struct tuning take(relmc_run *run)
{
    struct tuning t = {0};
    size_t again = 0;

    assert_int_equal(relmc_run_tuning(run, NULL, 0, &t.bytes, NULL), RELMC_OK);
    t.at = malloc(t.bytes);
    assert_non_null(t.at);
    assert_int_equal(relmc_run_tuning(run, t.at, t.bytes, &again, NULL),
                     RELMC_OK);
    assert_int_equal(again, t.bytes);
    return t;
}

static struct tuning tuning_of(const relmc_target *target,
                               const relmc_options *o)
{
    relmc_run *run = run_of(target, o);

    advance(run, INT64_MAX);
    const struct tuning t = take(run);
    relmc_run_destroy(run);
    return t;
}

/* Sets draws, chains and seed only; the rest comes from the tuning. */
static relmc_options options_from(const struct tuning *t)
{
    relmc_options o = RELMC_INIT(relmc_options);

    o.chains = CHAINS;
    o.draws = DRAWS;
    o.seed = 8;
    o.tuning = t->at;
    o.tuning_bytes = t->bytes;
    return o;
}

/* Before its first draw a run has the tuning it was given, byte for byte. */
static void check_starts_there(const relmc_target *target,
                               const struct tuning *t)
{
    const relmc_options o = options_from(t);
    relmc_run *run = run_of(target, &o);
    struct tuning again = take(run);

    assert_int_equal(again.bytes, t->bytes);
    assert_memory_equal(again.at, t->at, t->bytes);
    free(again.at);
    relmc_run_destroy(run);
}

static void check_same_tuning(const relmc_run *a, const relmc_run *b,
                              size_t dim)
{
    static double x[MAX_DIM * MAX_DIM], y[MAX_DIM * MAX_DIM];

    for (uint32_t c = 0; c < CHAINS; c++) {
        relmc_progress p = RELMC_INIT(relmc_progress), q = p;

        assert_int_equal(relmc_run_progress(a, c, &p, NULL), RELMC_OK);
        assert_int_equal(relmc_run_progress(b, c, &q, NULL), RELMC_OK);
        assert_true(p.step_size == q.step_size);
        assert_string_equal(p.sampler, q.sampler);
        assert_string_equal(p.kinetic, q.kinetic);
        assert_string_equal(metric_kind(a, c, NULL, x),
                            metric_kind(b, c, NULL, y));
        assert_memory_equal(x, y, dim * dim * sizeof *x);
    }
}

/* The draws depend on neither lanes nor threads, and the tuning stays as it is. */
static void check_goes_on(const relmc_target *target, const relmc_run *from,
                          const struct tuning *t, size_t dim)
{
    relmc_options o = options_from(t);
    relmc_run *reference = NULL;

    for (size_t w = 0; w < N_WAYS; w++) {
        o.lanes = ways[w].lanes;
        o.threads = ways[w].threads;
        relmc_run *run = run_of(target, &o);

        advance(run, INT64_MAX);
        check_same_tuning(from, run, dim);
        if (reference) {
            for (uint32_t c = 0; c < CHAINS; c++) {
                check_same_draws(reference, c, run, c, dim);
            }
            relmc_run_destroy(run);
        } else {
            reference = run;
        }
    }
    assert_memory_not_equal(draws_of(from, 0), draws_of(reference, 0),
                            DRAWS * dim * sizeof(double));
    relmc_run_destroy(reference);
}

static void test_tuning__has_all_that_sampling_needs(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3,ratio=100");

    (void)state;
    for (size_t i = 0; i < (size_t)N_SAMPLERS * N_ADAPTATIONS; i++) {
        relmc_options o =
            options_of(samplers[i % N_SAMPLERS], adaptations[i / N_SAMPLERS]);

        o.step_size = 0.3;
        relmc_run *run = run_of(target, &o);
        advance(run, INT64_MAX);
        struct tuning t = take(run);
        check_starts_there(target, &t);
        check_goes_on(target, run, &t, DIM);
        free(t.at);
        relmc_run_destroy(run);
    }
    relmc_target_destroy(target);
}

/* The tuning of a sampler without an accept step is a step size and points. */
static void test_tuning__serves_every_sampler(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    const relmc_info *sampler;
    size_t n = 0;

    (void)state;
    for (; (sampler = rmc_component_info("sampler", n)); n++) {
        relmc_options o = options_of(sampler->name, NULL);

        o.step_size = 0.01;
        relmc_run *run = run_of(target, &o);
        advance(run, INT64_MAX);
        struct tuning t = take(run);
        check_starts_there(target, &t);
        check_goes_on(target, run, &t, DIM);
        free(t.at);
        relmc_run_destroy(run);
    }
    assert_true(n > 10);
    relmc_target_destroy(target);
}

/* Low-rank metrics, and dense ones of each chain. */
static void test_tuning__has_every_kind_of_metric(void **state)
{
    relmc_target *wide = target_of("gaussian:dim=20,rho=0.95");
    relmc_target *small = target_of("gaussian:dim=3");
    relmc_options o = options_of("auto", "auto:metric=1");
    double diagonal[CHAINS * DIM], dense[CHAINS * DIM * DIM];

    (void)state;
    o.warmup = 300;
    relmc_run *run = run_of(wide, &o);
    advance(run, INT64_MAX);
    assert_string_equal(metric_kind(run, 0, NULL, NULL), "low rank");
    struct tuning t = take(run);
    check_starts_there(wide, &t);
    check_goes_on(wide, run, &t, MAX_DIM);
    free(t.at);
    relmc_run_destroy(run);

    fill_metrics(diagonal, dense);
    o = options_of("nuts", "dual");
    o.metric_per_chain = 1;
    o.inv_metric_dense = dense;
    run = run_of(small, &o);
    advance(run, INT64_MAX);
    t = take(run);
    check_starts_there(small, &t);
    check_goes_on(small, run, &t, DIM);
    free(t.at);
    relmc_run_destroy(run);
    relmc_target_destroy(small);
    relmc_target_destroy(wide);
}

/* Warm-up may choose another kinetic energy than that of the options. */
static void test_tuning__has_the_kinetic_energy_in_use(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3,ratio=100");
    relmc_options o =
        options_of("auto", "auto:margin=1,time=0.01,sticky=1,neck=-1");
    size_t n_newtonian = 0;

    (void)state;
    o.kinetic = "relativistic:cruise=0.5";
    o.warmup = 200;
    for (o.seed = 1; o.seed <= 10; o.seed++) {
        relmc_run *run = run_of(target, &o);
        relmc_progress p = RELMC_INIT(relmc_progress);

        advance(run, INT64_MAX);
        assert_int_equal(relmc_run_progress(run, 0, &p, NULL), RELMC_OK);
        n_newtonian += !strcmp(p.kinetic, "newtonian");
        struct tuning t = take(run);
        check_starts_there(target, &t);
        check_goes_on(target, run, &t, relmc_target_dim(target));
        free(t.at);
        relmc_run_destroy(run);
    }
    assert_true(n_newtonian > 0 && n_newtonian < 10);
    relmc_target_destroy(target);
}

/* The points are in coordinates of the target, even if the run is warped. */
static void test_tuning__has_points_of_the_target(void **state)
{
    relmc_target *target = target_of("banana");
    relmc_options o = options_of("auto", "auto");

    (void)state;
    o.warmup = 500;
    relmc_run *first = run_of(target, &o);
    advance(first, INT64_MAX);
    assert_non_null(strstr(relmc_run_tuning_json(first), "bend"));
    struct tuning t = take(first);
    o = options_from(&t);
    o.step_size = 1e-12;
    relmc_run *run = run_of(target, &o);
    advance(run, INT64_MAX);
    for (uint32_t c = 0; c < CHAINS; c++) {
        const double *last = draws_of(first, c) + (size_t)(DRAWS - 1) * 2;

        for (size_t i = 0; i < 2; i++) {
            assert_true(fabs(draws_of(run, c)[i] - last[i]) < 1e-6);
        }
    }
    free(t.at);
    relmc_run_destroy(run);
    relmc_run_destroy(first);
    relmc_target_destroy(target);
}

/* Additional chains get medians of step sizes and variances and means of dense metrics,
 * and reuse the starting points in turn. */
static void test_tuning__serves_any_number_of_chains(void **state)
{
    static const uint32_t numbers[] = {1, 3, 12};
    relmc_target *target = target_of("gaussian:dim=3,ratio=100");
    relmc_options o = options_of("nuts", "stan");
    double eps[CHAINS], variance[CHAINS][DIM], last[CHAINS][DIM];

    (void)state;
    relmc_run *run = run_of(target, &o);
    advance(run, INT64_MAX);
    for (uint32_t c = 0; c < CHAINS; c++) {
        relmc_progress p = RELMC_INIT(relmc_progress);

        assert_int_equal(relmc_run_progress(run, c, &p, NULL), RELMC_OK);
        (void)metric_kind(run, c, variance[c], NULL);
        memcpy(last[c], draws_of(run, c) + (DRAWS - 1) * DIM, sizeof last[c]);
        eps[c] = p.step_size;
    }
    struct tuning t = take(run);
    relmc_run_destroy(run);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        o = options_from(&t);
        o.chains = numbers[i];
        o.step_size = 1e-12; /* keeps the chains at their start */
        run = run_of(target, &o);
        advance(run, INT64_MAX);
        for (uint32_t c = 0; c < o.chains; c++) {
            double here[DIM];

            (void)metric_kind(run, c, here, NULL);
            for (size_t j = 0; j < DIM; j++) {
                size_t below = 0, above = 0;

                for (size_t k = 0; k < CHAINS; k++) {
                    below += variance[k][j] < here[j] * (1.0 - 1e-12);
                    above += variance[k][j] > here[j] * (1.0 + 1e-12);
                }
                assert_true(below == CHAINS / 2 && above == CHAINS / 2);
                assert_true(fabs(draws_of(run, c)[j] - last[c % CHAINS][j]) <
                            1e-6);
            }
        }
        relmc_run_destroy(run);
        o.step_size = 0.0;
        run = run_of(target, &o);
        advance(run, INT64_MAX);
        relmc_progress p = RELMC_INIT(relmc_progress);
        size_t below = 0, above = 0;
        assert_int_equal(relmc_run_progress(run, 0, &p, NULL), RELMC_OK);
        for (size_t k = 0; k < CHAINS; k++) {
            below += eps[k] < p.step_size;
            above += eps[k] > p.step_size;
        }
        assert_true(below <= CHAINS / 2 && above <= CHAINS / 2);
        relmc_run_destroy(run);
    }
    free(t.at);
    relmc_target_destroy(target);
}

static void test_tuning__pools_dense_metrics(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("nuts", "dual");
    double diagonal[CHAINS * DIM], dense[CHAINS * DIM * DIM];
    double found[DIM * DIM];

    (void)state;
    fill_metrics(diagonal, dense);
    o.metric_per_chain = 1;
    o.inv_metric_dense = dense;
    struct tuning t = tuning_of(target, &o);
    o = options_from(&t);
    o.chains = 2;
    relmc_run *run = run_of(target, &o);
    assert_string_equal(metric_kind(run, 1, NULL, found), "dense");
    for (size_t i = 0; i < DIM * DIM; i++) {
        double mean = 0.0;

        for (size_t c = 0; c < CHAINS; c++) {
            mean += dense[c * DIM * DIM + i] / CHAINS;
        }
        assert_true(fabs(found[i] - mean) < 1e-12);
    }
    relmc_run_destroy(run);
    free(t.at);
    relmc_target_destroy(target);
}

/* init and init_radius take precedence over the points of the tuning. */
static void test_tuning__leaves_starts_to_the_caller(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("nuts", "dual");
    const double init[CHAINS * DIM] = {[0] = 0.125, [CHAINS * DIM - 1] = 0.25};

    (void)state;
    struct tuning t = tuning_of(target, &o);
    for (int is_box = 0; is_box < 2; is_box++) {
        o = options_from(&t);
        o.step_size = 1e-12;
        o.init = is_box ? NULL : init;
        o.init_radius = is_box ? RELMC_ZERO : 0.0;
        relmc_run *run = run_of(target, &o);
        advance(run, INT64_MAX);
        for (size_t i = 0; i < (size_t)CHAINS * DIM; i++) {
            const double here = draws_of(run, (uint32_t)(i / DIM))[i % DIM];

            assert_true(fabs(here - (is_box ? 0.0 : init[i])) < 1e-9);
        }
        relmc_run_destroy(run);
    }
    free(t.at);
    relmc_target_destroy(target);
}

/* Such a warm-up keeps metric and warp and adapts the step sizes. */
static void test_tuning__can_be_the_start_of_a_warmup(void **state)
{
    static const char *const more[] = {"dual", "stan", "auto"};
    relmc_target *target = target_of("banana");
    relmc_options o = options_of("auto", "auto");
    double before[4], after[4];

    (void)state;
    o.warmup = 500;
    struct tuning t = tuning_of(target, &o);
    for (size_t i = 0; i < 3; i++) {
        const int is_stan = !strcmp(more[i], "stan");

        o = options_from(&t);
        o.adapt = more[i];
        o.warmup = 100;
        if (is_stan) { /* adapts a diagonal metric only */
            check_refused(target, &o, RELMC_EUNSUPP, "stan");
            continue;
        }
        relmc_run *run = run_of(target, &o);
        relmc_progress p = RELMC_INIT(relmc_progress), q = p;
        assert_int_equal(relmc_run_progress(run, 0, &p, NULL), RELMC_OK);
        (void)metric_kind(run, 0, NULL, before);
        advance(run, INT64_MAX);
        (void)metric_kind(run, 0, NULL, after);
        assert_int_equal(relmc_run_progress(run, 0, &q, NULL), RELMC_OK);
        assert_memory_equal(before, after, sizeof before);
        assert_true(p.step_size != q.step_size);
        assert_true(strcmp(more[i], "auto") != 0 ||
                    strstr(relmc_run_tuning_json(run),
                           "\"warp\": [{\"hub\": 0, \"does\": \"bend\"}]"));
        relmc_run_destroy(run);
    }
    free(t.at);
    relmc_target_destroy(target);
}

/* ---- checkpoints ---------------------------------------------------------------- */

/* A checkpoint is resumed with the tuning it started from, and no other. */
static void test_tuning__survives_a_checkpoint(void **state)
{
    static const char path[] = "tuning-checkpoint";
    relmc_target *target = target_of("banana");
    relmc_options o = options_of("auto", "auto");

    (void)state;
    o.warmup = 500;
    struct tuning t = tuning_of(target, &o);
    o.seed = 9;
    struct tuning other = tuning_of(target, &o);
    o = options_from(&t);
    relmc_run *whole = run_of(target, &o), *cut = NULL, *rest = NULL;
    relmc_error err = {0};
    advance(whole, INT64_MAX);
    assert_int_equal(relmc_run_create(&cut, target, &o, &err), RELMC_OK);
    advance(cut, DRAWS / 2);
    assert_int_equal(relmc_run_save(cut, path, NULL, 0, &err), RELMC_OK);
    advance(cut, INT64_MAX);
    assert_int_equal(relmc_run_resume(&rest, target, path, NULL, &err),
                     RELMC_OK);
    advance(rest, INT64_MAX);
    struct tuning a = take(cut), b = take(rest);
    assert_int_equal(a.bytes, b.bytes);
    assert_memory_equal(a.at, b.at, a.bytes);
    relmc_run_destroy(rest);
    relmc_run_destroy(cut);
    free(b.at);

    o.tuning = other.at;
    o.tuning_bytes = other.bytes;
    assert_int_equal(relmc_run_resume(&rest, target, path, &o, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "the tuning was another one"));
    relmc_run_destroy(whole);
    (void)unlink(path);
    free(a.at);
    free(other.at);
    free(t.at);
    relmc_target_destroy(target);
}

/* ---- refusals ------------------------------------------------------------------- */

static void test_tuning__is_known_after_warmup(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    const relmc_options o = options_of("auto", "auto");
    relmc_run *run = run_of(target, &o);
    unsigned char first[8];
    relmc_error err = {0};
    size_t bytes = 3;

    (void)state;
    advance(run, WARMUP - 1);
    assert_int_equal(relmc_run_tuning(run, NULL, 0, &bytes, &err),
                     RELMC_EUNSUPP);
    assert_int_equal(bytes, 3);
    assert_non_null(strstr(err.message, "after warm-up"));
    advance(run, 1);
    assert_int_equal(relmc_run_tuning(run, first, sizeof first, &bytes, &err),
                     RELMC_OK);
    assert_true(bytes > sizeof first);
    assert_memory_equal(first, RELMC_TUNING_MAGIC, sizeof first);
    assert_int_equal(relmc_run_finish(run, NULL), RELMC_OK);
    assert_int_equal(relmc_run_tuning(run, NULL, 0, &bytes, &err), RELMC_OK);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

static void test_tuning__refuses_damage(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("nuts", "dual");

    (void)state;
    struct tuning t = tuning_of(target, &o);
    o = options_from(&t);
    for (size_t i = 0; i < t.bytes; i++) {
        t.at[i] ^= 64;
        check_refused(target, &o, RELMC_EINVAL, "tuning: it");
        t.at[i] ^= 64;
    }
    for (size_t n = 0; n < t.bytes; n += 7) {
        o.tuning_bytes = n;
        check_refused(target, &o, RELMC_EINVAL, "tuning: it");
    }
    free(t.at);
    relmc_target_destroy(target);
}

/* Another version number, with a checksum that fits. */
static void test_tuning__refuses_another_version(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("nuts", "dual");
    struct rmc_hash hash = {0};

    (void)state;
    struct tuning t = tuning_of(target, &o);
    t.at[RELMC_CHECKPOINT_AT_VERSION]++;
    rmc_hash_add(&hash, t.at + RELMC_CHECKPOINT_HEAD,
                 t.bytes - RELMC_CHECKPOINT_HEAD);
    rmc_hash_add(&hash, t.at, RELMC_CHECKPOINT_AT_HASH);
    const uint64_t value = rmc_hash_end(&hash);
    memcpy(t.at + RELMC_CHECKPOINT_AT_HASH, &value, sizeof value);
    o = options_from(&t);
    check_refused(target, &o, RELMC_EINVAL, "format 2");
    free(t.at);
    relmc_target_destroy(target);
}

static void test_tuning__refuses_what_is_not_for_it(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_target *wide = target_of("gaussian:dim=4");
    relmc_options o = options_of("hmc:steps=5", "dual");
    const double variances[DIM] = {1.0, 1.0, 1.0};

    (void)state;
    struct tuning t = tuning_of(target, &o);
    o = options_from(&t);
    check_refused(wide, &o, RELMC_EINVAL, "3 coordinates; this one has 4");
    o.sampler = "nuts";
    check_refused(target, &o, RELMC_EINVAL, "sampler hmc:steps=5");
    o.sampler =
        "hmc:steps=7"; /* other parameters of the same sampler are allowed */
    o.kinetic = "newtonian";
    check_refused(target, &o, RELMC_EINVAL, "not newtonian");
    o.kinetic = NULL;
    o.integrator = "mclachlan";
    check_refused(target, &o, RELMC_EINVAL, "integrator leapfrog");
    o.integrator = "leapfrog";
    relmc_run_destroy(run_of(target, &o));
    o.inv_metric = variances;
    check_refused(target, &o, RELMC_EINVAL, "not both");
    free(t.at);
    relmc_target_destroy(wide);
    relmc_target_destroy(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tuning__has_all_that_sampling_needs),
        cmocka_unit_test(test_tuning__serves_every_sampler),
        cmocka_unit_test(test_tuning__has_every_kind_of_metric),
        cmocka_unit_test(test_tuning__has_the_kinetic_energy_in_use),
        cmocka_unit_test(test_tuning__has_points_of_the_target),
        cmocka_unit_test(test_tuning__serves_any_number_of_chains),
        cmocka_unit_test(test_tuning__pools_dense_metrics),
        cmocka_unit_test(test_tuning__leaves_starts_to_the_caller),
        cmocka_unit_test(test_tuning__can_be_the_start_of_a_warmup),
        cmocka_unit_test(test_tuning__survives_a_checkpoint),
        cmocka_unit_test(test_tuning__is_known_after_warmup),
        cmocka_unit_test(test_tuning__refuses_damage),
        cmocka_unit_test(test_tuning__refuses_another_version),
        cmocka_unit_test(test_tuning__refuses_what_is_not_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
