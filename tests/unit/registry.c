/* registry.c - components are found by role, name and code path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "component/cpu.h"
#include "component/registry.h"

#include <stdio.h>
#include <string.h>

static const char *const roles[] = {"kinetic", "integrator", "sampler",
                                    "adapt",   "model",      "sink"};

enum { N_ROLES = sizeof roles / sizeof *roles };

/* ---- what there is ------------------------------------------------------ */

static void test_info__lists_every_role(void **state)
{
    (void)state;
    for (int r = 0; r < N_ROLES; r++) {
        const relmc_info *info;
        size_t n = 0;

        for (; (info = relmc_info_at(roles[r], n)); n++) {
            assert_string_equal(info->role, roles[r]);
            assert_true(strlen(info->name) > 0 && strlen(info->name) < 40);
            assert_true(strlen(info->doc) > 0);
            assert_null(strpbrk(info->name, ":,= \""));
        }
        assert_true(n > 0);
        assert_null(relmc_info_at(roles[r], n + 1));
        assert_null(relmc_info_at(roles[r], SIZE_MAX));
    }
    assert_null(relmc_info_at("nonsense", 0));
    assert_null(relmc_info_at("", 0));
}

/* Tables that the parser, the help and the bindings can rely on. */
static void test_info__has_sound_parameter_tables(void **state)
{
    const relmc_info *info;

    (void)state;
    for (int r = 0; r < N_ROLES; r++) {
        for (size_t i = 0; (info = relmc_info_at(roles[r], i)); i++) {
            for (const relmc_param *p = info->params; p && p->name; p++) {
                assert_null(strpbrk(p->name, ":,=[] "));
                assert_true(strlen(p->doc) > 0);
                assert_true(p->min <= p->max);
                if (p->fallback == p->fallback) {
                    assert_true(p->fallback >= p->min);
                    assert_true(p->fallback <= p->max);
                }
                assert_int_equal(p->offset % sizeof(double), 0);
                for (const relmc_param *q = info->params; q != p; q++) {
                    assert_string_not_equal(p->name, q->name);
                    assert_true(p->offset != q->offset);
                }
            }
        }
    }
}

static void test_find__finds_every_component_on_every_code_path(void **state)
{
    const relmc_info *info;
    char spec[100];

    (void)state;
    for (int r = 0; r < N_ROLES; r++) {
        for (size_t i = 0; (info = relmc_info_at(roles[r], i)); i++) {
            for (int isa = 0; isa <= rmc_isa_best(); isa++) {
                const relmc_info *found = NULL;

                (void)snprintf(spec, sizeof spec, "%s:any=thing", info->name);
                assert_int_equal(
                    rmc_component_find(&found, roles[r], info->name, isa, NULL),
                    RELMC_OK);
                assert_string_equal(found->name, info->name);
                assert_string_equal(found->role, info->role);
                assert_true(isa != RMC_BASELINE || found == info);
                assert_true(isa == RMC_BASELINE || found != info);
                assert_int_equal(
                    rmc_component_find(&info, roles[r], spec, isa, NULL),
                    RELMC_OK);
                assert_ptr_equal(info, found);
                info = relmc_info_at(roles[r], i);
            }
        }
    }
}

/* Engines are samplers, and a flag says which sampler has them. */
static void test_sampler__has_engines_that_are_samplers(void **state)
{
    const relmc_info *info, *engine;
    int n = 0;

    (void)state;
    for (size_t i = 0; (info = relmc_info_at("sampler", i)); i++) {
        const relmc_sampler_ops *ops =
            (const relmc_sampler_ops *)(const void *)info;
        const char *const *names = ops->engines;

        assert_int_equal((ops->flags & RELMC_HAS_ENGINES) != 0, names != NULL);
        for (; names && *names; names++, n++) {
            assert_int_equal(rmc_component_find(&engine, "sampler", *names,
                                                RMC_BASELINE, NULL),
                             RELMC_OK);
            assert_string_equal(engine->name, *names);
        }
    }
    assert_int_equal(n, 3);
}

/* ---- what there is not -------------------------------------------------- */

static void refuse(const char *role, const char *spec, const char *words)
{
    const relmc_info *untouched = NULL;
    relmc_error err = {0};

    assert_int_equal(
        rmc_component_find(&untouched, role, spec, RMC_BASELINE, &err),
        RELMC_EUNKNOWN);
    assert_null(untouched);
    if (!strstr(err.message, words)) {
        fail_msg("'%s': %s\n... should say: %s", spec, err.message, words);
    }
    assert_int_equal(
        rmc_component_find(&untouched, role, spec, RMC_BASELINE, NULL),
        RELMC_EUNKNOWN);
}

static void test_find__suggests_the_nearest_name(void **state)
{
    (void)state;
    refuse("kinetic", "relativstic",
           "no kinetic \"relativstic\" (did you mean \"relativistic\"?)");
    refuse("kinetic", "seperable:c=2", "did you mean \"separable\"?");
    refuse("sampler", "hcm", "did you mean \"hmc\"?");
    refuse("integrator", "leap-frog", "did you mean \"leapfrog\"?");
    refuse("kinetic", "Newtonian", "did you mean \"newtonian\"?");
}

static void test_find__lists_the_names_if_none_is_near(void **state)
{
    char word[500];

    (void)state;
    refuse("kinetic", "zzz", "(there is: newtonian, relativistic, separable");
    refuse("kinetic", "", "no kinetic \"\" (there is: ");
    refuse("kinetic", ":c=2", "no kinetic \"\"");
    refuse("sampler", "leapfrog", "no sampler"); /* a name of another role */
    refuse("nonsense", "hmc", "no nonsense \"hmc\"");
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    refuse("kinetic", word, "no kinetic \"aaaa");
    /* a prefix of a name is not the name, nor is more than it */
    refuse("sampler", "hm", "did you mean \"hmc\"?");
    refuse("sampler", "hmcc", "did you mean \"hmc\"?");
}

static void test_nearest__knows_its_limits(void **state)
{
    (void)state;
    assert_string_equal(relmc_info_nearest("sampler", "hmc"), "hmc");
    assert_string_equal(relmc_info_nearest("model", "bananna"), "banana");
    /* two edits are a slip, three another word */
    assert_string_equal(relmc_info_nearest("model", "banaxy"), "banana");
    assert_null(relmc_info_nearest("model", "banxyz"));
    assert_null(relmc_info_nearest("sampler", ""));
    assert_null(relmc_info_nearest("kinetic", "gravity"));
    assert_null(relmc_info_nearest("nonsense", "hmc"));
    assert_null(relmc_info_nearest("sink", "x"));
}

/* ---- code paths --------------------------------------------------------- */

static const char *const isa_names[RMC_N_ISA] = {"baseline", "avx2", "avx512"};

static void test_isa__is_found_by_name(void **state)
{
    relmc_error err = {0};
    int isa = -1;

    (void)state;
    assert_int_equal(rmc_isa_find(&isa, NULL, &err), RELMC_OK);
    assert_int_equal(isa, rmc_isa_best());
    assert_int_equal(rmc_isa_find(&isa, "baseline", &err), RELMC_OK);
    assert_int_equal(isa, RMC_BASELINE);
    assert_int_equal(rmc_isa_find(&isa, rmc_isa_name(rmc_isa_best()), &err),
                     RELMC_OK);
    assert_int_equal(isa, rmc_isa_best());
    for (int i = 0; i < RMC_N_ISA; i++) {
        const relmc_status wanted =
            i <= rmc_isa_best() ? RELMC_OK : RELMC_EUNKNOWN;

        assert_int_equal(rmc_isa_find(&isa, isa_names[i], &err), wanted);
        assert_true(wanted || isa == i);
    }
    assert_string_equal(rmc_isa_name(rmc_isa_best()),
                        isa_names[rmc_isa_best()]);
}

/* What the processor has is used if the compiler could make it. */
static void test_isa__is_the_best_of_this_machine(void **state)
{
    const int has[] = {1, rmc_cpu_has_avx2(), rmc_cpu_has_avx512()};

    (void)state;
    assert_true(has[rmc_isa_best()]);
#ifdef RMC_HAS_AVX512
    assert_true(rmc_isa_best() == RMC_AVX512 || !has[RMC_AVX512]);
#endif
}

static void test_isa__refuses_what_is_not_here(void **state)
{
    static const char *const names[] = {"neon", "", "AVX2", "avx1024", "avx"};
    relmc_target *target = NULL;
    relmc_options options = RELMC_INIT(relmc_options);
    relmc_run *run = NULL;

    (void)state;
    assert_int_equal(relmc_target_open(&target, "banana", NULL, NULL),
                     RELMC_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        relmc_error err = {0};
        int isa = -1;

        assert_int_equal(rmc_isa_find(&isa, names[i], &err), RELMC_EUNKNOWN);
        assert_non_null(strstr(err.message, "is not on this machine"));
        assert_non_null(strstr(err.message, rmc_isa_name(rmc_isa_best())));
        options.isa = names[i];
        assert_int_equal(relmc_run_create(&run, target, &options, &err),
                         RELMC_EUNKNOWN);
        assert_null(run);
    }
    relmc_target_destroy(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info__lists_every_role),
        cmocka_unit_test(test_info__has_sound_parameter_tables),
        cmocka_unit_test(test_find__finds_every_component_on_every_code_path),
        cmocka_unit_test(test_sampler__has_engines_that_are_samplers),
        cmocka_unit_test(test_find__suggests_the_nearest_name),
        cmocka_unit_test(test_find__lists_the_names_if_none_is_near),
        cmocka_unit_test(test_nearest__knows_its_limits),
        cmocka_unit_test(test_isa__is_found_by_name),
        cmocka_unit_test(test_isa__is_the_best_of_this_machine),
        cmocka_unit_test(test_isa__refuses_what_is_not_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
