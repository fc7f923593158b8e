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

        for (; (info = rmc_component_info(roles[r], n)); n++) {
            assert_string_equal(info->role, roles[r]);
            assert_true(strlen(info->name) > 0 && strlen(info->name) < 40);
            assert_true(strlen(info->doc) > 0);
            assert_null(strpbrk(info->name, ":,= \""));
        }
        assert_true(n > 0);
        assert_null(rmc_component_info(roles[r], n + 1));
        assert_null(rmc_component_info(roles[r], SIZE_MAX));
    }
    assert_null(rmc_component_info("nonsense", 0));
    assert_null(rmc_component_info("", 0));
}

/* The parser, the help and bindings rely on these. */
static void test_info__has_sound_parameter_tables(void **state)
{
    const relmc_info *info;

    (void)state;
    for (int r = 0; r < N_ROLES; r++) {
        for (size_t i = 0; (info = rmc_component_info(roles[r], i)); i++) {
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
        for (size_t i = 0; (info = rmc_component_info(roles[r], i)); i++) {
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
                info = rmc_component_info(roles[r], i);
            }
        }
    }
}

/* Engines are samplers; a flag marks the sampler that has them. */
static void test_sampler__has_engines_that_are_samplers(void **state)
{
    const relmc_info *info, *engine;
    int n = 0;

    (void)state;
    for (size_t i = 0; (info = rmc_component_info("sampler", i)); i++) {
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

/* ---- unknown names ------------------------------------------------------- */

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
    /* neither a prefix of a name nor a longer text is the name */
    refuse("sampler", "hm", "did you mean \"hmc\"?");
    refuse("sampler", "hmcc", "did you mean \"hmc\"?");
}

static void test_find__knows_how_near_is_near(void **state)
{
    (void)state;
    refuse("model", "bananna", "did you mean \"banana\"?");
    /* names are suggested up to two edits away */
    refuse("model", "banaxy", "did you mean \"banana\"?");
    refuse("model", "banxyz", "(there is: ");
    refuse("sampler", "", "(there is: ");
    refuse("kinetic", "gravity", "(there is: ");
    refuse("nonsense", "hmc", "(there is: ");
    refuse("sink", "x", "(there is: ");
}

/* ---- the public functions ------------------------------------------------- */

static void check_parameter(const char *role, const char *name, size_t i,
                            const relmc_param *p)
{
    static const char *const kinds[] = {"real", "integer", "vector", "choice"};
    relmc_parameter got = RELMC_INIT(relmc_parameter);
    relmc_error err = {0};

    if (relmc_component_param(role, name, i, &got, &err)) {
        fail_msg("%s %s: %s", role, name, err.message);
    }
    assert_int_equal(got.size, sizeof got);
    assert_ptr_equal(got.name, p->name);
    assert_ptr_equal(got.doc, p->doc);
    assert_string_equal(got.kind, kinds[p->kind]);
    assert_memory_equal(&got.min, &p->min, sizeof got.min);
    assert_memory_equal(&got.max, &p->max, sizeof got.max);
    assert_memory_equal(&got.fallback, &p->fallback, sizeof got.fallback);
    assert_ptr_equal(got.choices, p->choices);
    assert_int_equal(!got.choices, p->kind != RELMC_CHOICE);
}

/* Every component and parameter by number, and RELMC_EUNKNOWN past the end. */
static void test_component__lists_all(void **state)
{
    (void)state;
    for (int r = 0; r < N_ROLES; r++) {
        relmc_component got = RELMC_INIT(relmc_component);
        relmc_component named = RELMC_INIT(relmc_component);
        relmc_parameter param = RELMC_INIT(relmc_parameter);
        const relmc_info *info;
        size_t i = 0;

        for (; (info = rmc_component_info(roles[r], i)); i++) {
            size_t n = 0;

            assert_int_equal(relmc_component_at(roles[r], i, &got, NULL),
                             RELMC_OK);
            assert_ptr_equal(got.name, info->name);
            assert_ptr_equal(got.doc, info->doc);
            assert_int_equal(
                relmc_component_find(roles[r], info->name, &named, NULL),
                RELMC_OK);
            assert_memory_equal(&got, &named, sizeof got);
            for (; info->params && info->params[n].name; n++) {
                check_parameter(roles[r], info->name, n, &info->params[n]);
            }
            assert_int_equal(got.n_params, n);
            assert_int_equal(
                relmc_component_param(roles[r], info->name, n, &param, NULL),
                RELMC_EUNKNOWN);
            assert_int_equal(relmc_component_param(roles[r], info->name,
                                                   SIZE_MAX, &param, NULL),
                             RELMC_EUNKNOWN);
        }
        named = got;
        assert_int_equal(relmc_component_at(roles[r], i, &got, NULL),
                         RELMC_EUNKNOWN);
        assert_int_equal(relmc_component_at(roles[r], SIZE_MAX, &got, NULL),
                         RELMC_EUNKNOWN);
        assert_memory_equal(&got, &named, sizeof got);
    }
}

static void test_component__has_flags_and_gradients(void **state)
{
    static const struct {
        const char *role, *spec;
        unsigned flags;
        size_t n_gradients;
    } cases[] = {
        {"sampler", "hmc", RELMC_NEEDS_EXACT, 0},
        {"sampler", "auto", RELMC_NEEDS_EXACT | RELMC_HAS_ENGINES, 0},
        {"sampler", "sghmc:lr=0.1", RELMC_UNADJUSTED, 0},
        {"sampler", "sgld", RELMC_UNADJUSTED | RELMC_NO_MOMENTUM, 0},
        {"sampler", "sgld-adam", RELMC_UNADJUSTED | RELMC_NO_MOMENTUM, 0},
        {"sampler", "adam",
         RELMC_UNADJUSTED | RELMC_OPTIMISES | RELMC_NO_MOMENTUM, 0},
        {"model", "logistic:sd=5", RELMC_TAKES_DATA, 0},
        {"model", "banana", 0, 0},
        {"integrator", "leapfrog", 0, 1},
        {"integrator", "mclachlan", 0, 2},
        {"integrator", "yoshida", 0, 3},
        {"kinetic", "separable", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        relmc_component got = RELMC_INIT(relmc_component);

        assert_int_equal(
            relmc_component_find(cases[i].role, cases[i].spec, &got, NULL),
            RELMC_OK);
        if (got.flags != cases[i].flags ||
            got.n_gradients != cases[i].n_gradients) {
            fail_msg("%s: flags %u, gradients %zu", cases[i].spec, got.flags,
                     got.n_gradients);
        }
    }
}

static void test_component__refuses_unknown_names(void **state)
{
    relmc_component component = RELMC_INIT(relmc_component);
    relmc_parameter param = RELMC_INIT(relmc_parameter);
    relmc_error err = {0};

    (void)state;
    assert_int_equal(relmc_component_at("nonsense", 0, &component, &err),
                     RELMC_EUNKNOWN);
    assert_string_equal(err.message, "no nonsense number 0");
    assert_int_equal(relmc_component_find("sampler", "hcm", &component, &err),
                     RELMC_EUNKNOWN);
    assert_non_null(strstr(err.message, "did you mean \"hmc\"?"));
    assert_int_equal(relmc_component_param("sampler", "hcm", 0, &param, &err),
                     RELMC_EUNKNOWN);
    assert_non_null(strstr(err.message, "did you mean \"hmc\"?"));
    assert_int_equal(relmc_component_param("sampler", "hmc", 99, &param, &err),
                     RELMC_EUNKNOWN);
    assert_non_null(strstr(err.message, "hmc has no parameter number 99"));
    assert_null(component.name);
    assert_null(param.name);
}

/* A program with an older header gets the fields it knows; with a newer header, fields that
 * this library does not know are unchanged. */
static void test_component__fills_structs_of_any_age(void **state)
{
    struct {
        relmc_component known;
        size_t later;
    } newer = {.known.size = sizeof newer, .later = 7};
    relmc_component older = {.size = offsetof(relmc_component, flags),
                             .flags = 99};
    relmc_parameter old = {.size = offsetof(relmc_parameter, min), .min = 99.0};
    relmc_component none = {0};
    relmc_parameter no = {.size = 1u << 20};
    relmc_error err = {0};

    (void)state;
    assert_int_equal(relmc_component_at("sampler", 0, &newer.known, &err), 0);
    assert_string_equal(newer.known.name, "auto");
    assert_true(newer.known.size == sizeof newer && newer.later == 7);
    assert_int_equal(relmc_component_at("sampler", 0, &older, &err), 0);
    assert_string_equal(older.name, "auto");
    assert_true(older.size == offsetof(relmc_component, flags));
    assert_int_equal(older.flags, 99);
    assert_int_equal(relmc_component_param("sampler", "hmc", 0, &old, &err), 0);
    assert_string_equal(old.name, "steps");
    assert_true(old.min == 99.0);
    assert_int_equal(relmc_component_at("sampler", 0, &none, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "sizeof(relmc_component)"));
    assert_null(none.name);
    assert_int_equal(relmc_component_param("sampler", "hmc", 0, &no, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "sizeof(relmc_parameter)"));
    assert_null(no.name);
}

/* ---- specs ---------------------------------------------------------------- */

static void check_spec(const char *role, const char *spec, const char *wanted)
{
    char out[200];
    size_t length = 0;
    relmc_error err = {0};

    if (relmc_spec_check(role, spec, out, sizeof out, &length, &err)) {
        fail_msg("%s: %s", spec, err.message);
    }
    assert_string_equal(out, wanted);
    assert_int_equal(length, strlen(wanted));
}

static void test_spec__spells_out_defaults(void **state)
{
    (void)state;
    check_spec("integrator", "leapfrog", "leapfrog");
    check_spec("sampler", "hmc:jitter=0.250",
               "hmc:steps=32,time=0,jitter=0.25,max_error=20");
    check_spec("kinetic", "separable:c=[1,2,3.0]", "separable:c=[1,2,3]");
    check_spec("sink", "csv:some/where,else=1", "csv:some/where,else=1");
    check_spec("sink", "raw", "raw");
}

/* The spec of the defaults gives the same spec again. */
static void test_spec__is_idempotent(void **state)
{
    relmc_component c = RELMC_INIT(relmc_component);
    char once[1000], twice[1000];
    size_t n_once, n_twice;

    (void)state;
    for (int r = 0; r < N_ROLES; r++) {
        for (size_t i = 0; !relmc_component_at(roles[r], i, &c, NULL); i++) {
            assert_int_equal(relmc_spec_check(roles[r], c.name, once,
                                              sizeof once, &n_once, NULL),
                             RELMC_OK);
            assert_true(n_once < sizeof once);
            assert_int_equal(relmc_spec_check(roles[r], once, twice,
                                              sizeof twice, &n_twice, NULL),
                             RELMC_OK);
            assert_string_equal(once, twice);
            assert_int_equal(strncmp(once, c.name, strlen(c.name)), 0);
        }
    }
}

static void test_spec__is_cut_off_where_room_ends(void **state)
{
    const char *whole = "hmc:steps=32,time=0,jitter=0.5,max_error=20";
    char out[64];
    size_t length = 0;

    (void)state;
    for (size_t room = 1; room < sizeof out; room++) {
        memset(out, '#', sizeof out);
        assert_int_equal(
            relmc_spec_check("sampler", "hmc", out, room, &length, NULL),
            RELMC_OK);
        assert_int_equal(length, strlen(whole));
        assert_int_equal(strlen(out), length < room ? length : room - 1);
        assert_int_equal(strncmp(out, whole, strlen(out)), 0);
        assert_int_equal(out[room], '#');
    }
    length = 0;
    assert_int_equal(relmc_spec_check("sampler", "hmc", NULL, 0, &length, NULL),
                     RELMC_OK);
    assert_int_equal(length, strlen(whole));
    assert_int_equal(relmc_spec_check("sampler", "hmc", NULL, 0, NULL, NULL),
                     RELMC_OK);
}

static void test_spec__is_refused_and_out_stays(void **state)
{
    static const struct {
        const char *role, *spec;
        relmc_status status;
        const char *words;
    } cases[] = {
        {"sampler", "hcm", RELMC_EUNKNOWN, "did you mean \"hmc\"?"},
        {"nonsense", "hmc", RELMC_EUNKNOWN, "no nonsense \"hmc\""},
        {"sampler", "hmc:stepz=1", RELMC_EUNKNOWN,
         "it has: steps, time, jitter"},
        {"sampler", "hmc:steps=0", RELMC_EINVAL, "steps must be in [1,"},
        {"sampler", "hmc:steps=1.5", RELMC_EINVAL, "must be an integer"},
        {"sampler", "hmc:steps=1,steps=2", RELMC_EINVAL, "given twice"},
        {"sampler", "hmc:steps", RELMC_EINVAL, "parameter=value"},
        {"integrator", "leapfrog:x=1", RELMC_EUNKNOWN, "takes no parameters"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[20] = "as it was";
        size_t length = 99;
        relmc_error err = {0};

        assert_int_equal(relmc_spec_check(cases[i].role, cases[i].spec, out,
                                          sizeof out, &length, &err),
                         cases[i].status);
        if (!strstr(err.message, cases[i].words)) {
            fail_msg("%s: %s", cases[i].spec, err.message);
        }
        assert_string_equal(out, "as it was");
        assert_int_equal(length, 99);
    }
}

static void test_spec__gives_the_text_of_a_value(void **state)
{
    static const struct {
        const char *spec, *key, *value;
    } cases[] = {
        {"hmc:steps=20,jitter=0.5", "steps", "20"},
        {"hmc:steps=20,jitter=0.5", "jitter", "0.5"},
        {"x:c=[1,m=2],m=3", "m", "3"}, /* not the one in brackets */
        {"x:c=[1,2],m=3", "c", "[1,2]"},
        {"x:m=", "m", ""},
        {"x:mm=1", "m", NULL},
        {"x:m", "m", NULL},
        {"m=1", "m", NULL},
        {"x:", "m", NULL},
        {"", "m", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 99;
        const char *got = relmc_spec_get(cases[i].spec, cases[i].key, &n);

        assert_int_equal(!got, !cases[i].value);
        if (!got) {
            assert_int_equal(n, 99);
        } else if (n != strlen(cases[i].value) ||
                   memcmp(got, cases[i].value, n) != 0) {
            fail_msg("%s of %s: %.*s", cases[i].key, cases[i].spec, (int)n,
                     got);
        }
    }
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

/* The best code path that the processor has and that was compiled. */
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
        cmocka_unit_test(test_find__knows_how_near_is_near),
        cmocka_unit_test(test_component__lists_all),
        cmocka_unit_test(test_component__has_flags_and_gradients),
        cmocka_unit_test(test_component__refuses_unknown_names),
        cmocka_unit_test(test_component__fills_structs_of_any_age),
        cmocka_unit_test(test_spec__spells_out_defaults),
        cmocka_unit_test(test_spec__is_idempotent),
        cmocka_unit_test(test_spec__is_cut_off_where_room_ends),
        cmocka_unit_test(test_spec__is_refused_and_out_stays),
        cmocka_unit_test(test_spec__gives_the_text_of_a_value),
        cmocka_unit_test(test_isa__is_found_by_name),
        cmocka_unit_test(test_isa__is_the_best_of_this_machine),
        cmocka_unit_test(test_isa__refuses_what_is_not_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
