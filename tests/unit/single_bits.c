/*
 * single_bits.c - optimisers and sghmc in single precision give the same bits for any lanes,
 * threads, code path and length of a transition and after a resume; they survive faults and
 * count them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/single.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- bits ------------------------------------------------------------------------ */

static void same(const struct diary *a, const struct diary *b,
                 const struct method *m, const char *what)
{
    if (memcmp(a->value, b->value, CHAINS * a->n * FIELDS * sizeof(double))) {
        fail_msg("%s: %s make a difference", m->sampler, what);
    }
}

static void test_path__does_not_depend_on_lanes(void **state)
{
    relmc_target *target = open_target();

    (void)state;
    for (size_t m = 0; m < N_METHODS; m++) {
        relmc_options o = options_of(methods[m].sampler, methods[m].kinetic);
        struct diary one, other;

        o.draws = 12;
        go(&one, target, &o);
        o.lanes = 5;
        go(&other, target, &o);
        same(&one, &other, &methods[m], "lanes");
        free(other.value);
        o.lanes = 2;
        o.threads = 2;
        o.isa = "baseline";
        go(&other, target, &o);
        same(&one, &other, &methods[m], "lanes, threads and code paths");
        free(other.value);
        free(one.value);
    }
    relmc_target_destroy(target);
}

static void test_transitions__of_many_steps_are_many_of_one(void **state)
{
    relmc_target *target = open_target();

    (void)state;
    for (size_t m = 0; m < N_METHODS - 1; m++) {
        relmc_options o = options_of(NULL, methods[m].kinetic);
        struct diary one, five;
        char spec[SPEC];

        o.sampler = with(spec, methods[m].sampler, "steps=1,schedule=cosine");
        go(&one, target, &o);
        o.sampler = with(spec, methods[m].sampler, "steps=5,schedule=cosine");
        o.draws = 12;
        go(&five, target, &o);
        for (size_t k = 0; k < CHAINS; k++) {
            for (size_t t = 0; t < five.n; t++) {
                assert_memory_equal(entry(&five, k, t),
                                    entry(&one, k, 5 * t + 4),
                                    (DIM + 1) * sizeof(double));
            }
        }
        free(one.value);
        free(five.value);
    }
    relmc_target_destroy(target);
}

/* As in double precision. */
static void test_sghmc__without_heat_is_sgd(void **state)
{
    relmc_target *target = open_target();
    struct diary a, b;
    relmc_options o =
        options_of("sgd:lr=0.05,momentum=0.9,max_step=0.01", "separable");

    (void)state;
    go(&a, target, &o);
    o.sampler = "sghmc:temperature=0,lr=0.05,momentum=0.9,max_step=0.01";
    go(&b, target, &o);
    same(&a, &b, &methods[6], "names");
    free(a.value);
    free(b.value);
    relmc_target_destroy(target);
}

static void test_checkpoints__go_on_bit_for_bit(void **state)
{
    static const char file[] = "single-test.ckpt";
    relmc_target *target = open_target();
    relmc_error err = {0};

    (void)state;
    for (size_t m = 0; m < N_METHODS; m++) {
        relmc_options o = options_of(NULL, methods[m].kinetic);
        struct diary all, parts;
        char spec[SPEC];

        o.sampler = with(spec, methods[m].sampler, "steps=3,schedule=cosine");
        o.draws = 20;
        go(&all, target, &o);
        open_diary(&parts, 20);
        relmc_run *run = open_run(target, &o, &parts, NULL);
        assert_int_equal(relmc_run_advance(run, 8, &err), RELMC_OK);
        assert_int_equal(relmc_run_save(run, file, NULL, 0, &err), RELMC_OK);
        relmc_run_destroy(run);
        o.lanes = 5;
        run = open_run(target, &o, &parts, file);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, &err), RELMC_OK);
        relmc_run_destroy(run);
        same(&all, &parts, &methods[m], "interruptions");
        free(all.value);
        free(parts.value);
    }
    (void)unlink(file);
    (void)unlink("single-test.ckpt.1");
    relmc_target_destroy(target);
}

/* ---- faults ------------------------------------------------------------------------ */

/* A step to zero density fails; a gradient that is NaN fails the next step, or the end of
 * the transition.  In transitions of one step a failure repeats the draw before. */
static void test_faults__are_survived_and_counted(void **state)
{
    relmc_target *target = open_target();

    (void)state;
    for (size_t m = 0; m < N_METHODS; m++) {
        for (int f = NAN_GRADIENT; f <= NO_DENSITY; f++) {
            for (int n = 1; n <= 5; n += 4) {
                relmc_options o = options_of(NULL, methods[m].kinetic);
                struct diary d;
                char spec[SPEC];

                (void)snprintf(spec, sizeof spec, "%s,steps=%d",
                               methods[m].sampler, n);
                o.sampler = spec;
                o.chains = 1;
                fault = (enum fault)f;
                n_calls = n_faults = 0;
                go(&d, target, &o);
                assert_int_equal(n_faults, 60 * n / 7);
                assert_true(d.n_divergent > 0);
                if (n == 1) {
                    assert_int_equal(d.n_divergent, n_faults);
                }
                for (size_t t = 1; t < d.n && n == 1; t++) {
                    const double *v = entry(&d, 0, t);

                    assert_int_equal(
                        v[DIM + 3] != 0.0,
                        !memcmp(v, v - FIELDS, DIM * sizeof(double)));
                }
                free(d.value);
            }
        }
    }
    fault = NONE;
    relmc_target_destroy(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path__does_not_depend_on_lanes),
        cmocka_unit_test(test_transitions__of_many_steps_are_many_of_one),
        cmocka_unit_test(test_sghmc__without_heat_is_sgd),
        cmocka_unit_test(test_checkpoints__go_on_bit_for_bit),
        cmocka_unit_test(test_faults__are_survived_and_counted),
    };

    return cmocka_run_group_tests_name("single_bits", tests, make_each, NULL);
}
