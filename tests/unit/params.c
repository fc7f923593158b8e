/*
 * params.c - specs such as "thing:real=2,v=[1,2]": values read, error messages, and that
 * printing and reading are inverse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/spec.h"
#include "support/check.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct thing {
    double real, count, unset;
    relmc_vector v;
};

static const relmc_param params[] = {
    {"real", "a real number", -DBL_MAX, DBL_MAX, 0.25,
     offsetof(struct thing, real), RELMC_REAL},
    {"count", "an integer", 1, 1e15, 7, offsetof(struct thing, count),
     RELMC_INTEGER},
    {"unset", "unset unless given", 0, 1, (double)NAN,
     offsetof(struct thing, unset), RELMC_REAL},
    {"v", "a vector", -1e300, 1e300, (double)NAN, offsetof(struct thing, v),
     RELMC_VECTOR},
    {0},
};

static const relmc_info info = {"role", "thing", "for tests", params};
static const relmc_info plain = {"role", "plain", "no parameters", NULL};

/* The values of a valid spec; the vector is in the arena. */
static struct thing read_ok(const char *spec, relmc_arena *arena)
{
    struct thing t = {0};
    relmc_error err = {0};

    if (rmc_spec_parse(spec, &info, &t, arena, &err)) {
        fail_msg("'%s': %s", spec, err.message);
    }
    return t;
}

static struct thing read_scalars(const char *spec)
{
    relmc_arena arena = {0};
    const struct thing t = read_ok(spec, &arena);

    rmc_arena_release(&arena);
    return t;
}

static void refuse(const char *spec, relmc_status status, const char *words)
{
    relmc_arena arena = {0};
    struct thing t = {0};
    relmc_error err = {0};
    const relmc_status got = rmc_spec_parse(spec, &info, &t, &arena, &err);

    if (got != status || err.status != status || !strstr(err.message, words)) {
        fail_msg("'%s' gave %d: %s\n... expected %d: %s", spec, (int)got,
                 err.message, (int)status, words);
    }
    assert_int_equal(rmc_spec_parse(spec, &info, &t, &arena, NULL), status);
    rmc_arena_release(&arena);
}

/* ---- reading ------------------------------------------------------------ */

static void test_parse__gives_fallbacks(void **state)
{
    static const char *const specs[] = {"thing", "thing:", ""};

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const struct thing t = read_scalars(specs[i]);

        assert_true(t.real == 0.25 && t.count == 7.0 && isnan(t.unset));
        assert_null(t.v.values);
    }
}

static void test_parse__reads_numbers(void **state)
{
    (void)state;
    assert_true(read_scalars("thing:real=2").real == 2.0);
    assert_true(read_scalars("thing:real=-2.5e-3").real == -2.5e-3);
    assert_true(read_scalars("thing:real=+.5").real == 0.5);
    assert_true(read_scalars("thing:real=1e308").real == 1e308);
    assert_true(read_scalars("thing:real=5e-324").real == 5e-324);
    assert_true(read_scalars("thing:real=1e-400").real == 0.0);
    assert_true(read_scalars("thing:real=0x1.8p1").real == 3.0);
    assert_true(signbit(read_scalars("thing:real=-0").real));
    assert_true(read_scalars("thing:count=12").count == 12.0);
    assert_true(read_scalars("thing:count=1e3").count == 1000.0);
    assert_true(read_scalars("thing:count=999999999999999").count == 1e15 - 1);
    assert_true(read_scalars("thing:unset=1,count=2").unset == 1.0);
    assert_true(read_scalars("thing:unset=1,count=2").count == 2.0);
}

static void check_vector(const char *spec, size_t n, const double *values)
{
    relmc_arena arena = {0};
    const struct thing t = read_ok(spec, &arena);

    assert_int_equal(t.v.n, n);
    assert_memory_equal(t.v.values, values, n * sizeof *values);
    rmc_arena_release(&arena);
}

static void test_parse__reads_vectors(void **state)
{
    const double values[] = {1.0, 2.0, 3.0}, other[] = {-1.5, 1e300};

    (void)state;
    check_vector("thing:v=[1,2,3]", 3, values);
    check_vector("thing:v=[1]", 1, values);
    check_vector("thing:v=1", 1, values);
    check_vector("thing:v=[-1.5,1e300]", 2, other);
    check_vector("thing:real=3,v=[1,2,3],count=4", 3, values);
    assert_true(read_scalars("thing:v=[1,2,3],count=4").count == 4.0);
}

/* One of the two would be ignored. */
static void test_parse__refuses_a_key_given_twice(void **state)
{
    (void)state;
    refuse("thing:real=1,real=2", RELMC_EINVAL, "thing: real is given twice");
    refuse("thing:real=1,real=1,", RELMC_EINVAL, "thing: real is given twice");
    refuse("thing:count=5,real=1,count=6", RELMC_EINVAL,
           "thing: count is given twice");
    refuse("thing:v=[1,2,3],v=[4,5]", RELMC_EINVAL, "thing: v is given twice");
    refuse("thing:real=x,real=2", RELMC_EINVAL, "not a number");
}

static void test_parse__allows_a_last_comma(void **state)
{
    (void)state;
    assert_true(read_scalars("thing:real=2,").real == 2.0);
    refuse("thing:real=2,,", RELMC_EINVAL, "should be parameter=value");
}

/* ---- refusing ----------------------------------------------------------- */

static void test_parse__refuses_what_is_no_pair(void **state)
{
    (void)state;
    refuse("thing:real", RELMC_EINVAL,
           "thing: 'real' should be parameter=value");
    refuse("thing:real=1,,count=2", RELMC_EINVAL, "parameter=value");
    refuse("thing:,", RELMC_EINVAL, "parameter=value");
    refuse("thing:=3", RELMC_EUNKNOWN, "no parameter ''");
    refuse("thing:real=1 count=2", RELMC_EINVAL, "not a number");
    refuse("thing:real=1;count=2", RELMC_EINVAL, "not a number");
}

static void test_parse__names_the_parameters_there_are(void **state)
{
    relmc_error err;

    (void)state;
    refuse("thing:speed=3", RELMC_EUNKNOWN,
           "thing has no parameter 'speed' (it has: real, count, unset, v)");
    refuse("thing:rea=3", RELMC_EUNKNOWN, "'rea'");
    refuse("thing:reall=3", RELMC_EUNKNOWN, "'reall'");
    refuse("thing: real=3", RELMC_EUNKNOWN, "' real'");
    refuse("thing:Real=3", RELMC_EUNKNOWN, "'Real'");
    assert_int_equal(rmc_spec_parse("plain:x=1", &plain, NULL, NULL, &err),
                     RELMC_EUNKNOWN);
    assert_non_null(strstr(err.message, "plain takes no parameters"));
    assert_int_equal(rmc_spec_parse("plain", &plain, NULL, NULL, &err),
                     RELMC_OK);
}

static void test_parse__refuses_what_is_no_number(void **state)
{
    static const char *const words[] = {
        "",    "x",   "1x",  "1 ",    " 1",  "1..2", "--1", "1e",  "0x",
        "[1]", "[]",  "1,2", "e5",    "+",   ".",    "\t1", "1=2", "1]",
        "[1",  "1:2", "1\n", "inf x", "1e+", "_1",   "1_0", "1f",  "\"1\""};
    char spec[64];

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        (void)snprintf(spec, sizeof spec, "thing:real=%s", words[i]);
        refuse(spec, RELMC_EINVAL,
               strchr(words[i], ',') ? "parameter=value" : "not a number");
    }
    refuse("thing:real=1x", RELMC_EINVAL, "thing: real=1x is not a number");
}

static void test_parse__refuses_what_is_out_of_range(void **state)
{
    (void)state;
    refuse("thing:count=0", RELMC_EINVAL,
           "thing: count must be in [1, 1e+15], not 0");
    refuse("thing:count=-3", RELMC_EINVAL, "[1, 1e+15]");
    refuse("thing:count=1e16", RELMC_EINVAL, "[1, 1e+15]");
    refuse("thing:unset=1.0000001", RELMC_EINVAL, "[0, 1]");
    refuse("thing:unset=-1e-300", RELMC_EINVAL, "[0, 1]");
    refuse("thing:unset=nan", RELMC_EINVAL, "[0, 1], not nan");
    refuse("thing:real=inf", RELMC_EINVAL, "not inf");
    refuse("thing:real=-inf", RELMC_EINVAL, "not -inf");
    refuse("thing:real=1e999", RELMC_EINVAL, "not 1e999");
    refuse("thing:v=[1,1e301]", RELMC_EINVAL, "not 1e301");
    refuse("thing:count=1.5", RELMC_EINVAL,
           "thing: count must be an integer, not 1.5");
    assert_true(read_scalars("thing:count=1").count == 1.0);
    assert_true(read_scalars("thing:count=1e15").count == 1e15);
    assert_true(read_scalars("thing:unset=0").unset == 0.0);
}

static void test_parse__refuses_bad_vectors(void **state)
{
    (void)state;
    refuse("thing:v=", RELMC_EINVAL, "thing: v= is not a number");
    refuse("thing:v=[]", RELMC_EINVAL, "not a number");
    refuse("thing:v=[1,]", RELMC_EINVAL, "not a number");
    refuse("thing:v=[,1]", RELMC_EINVAL, "not a number");
    refuse("thing:v=[1,,2]", RELMC_EINVAL, "not a number");
    refuse("thing:v=[1,x]", RELMC_EINVAL, "v=x is not a number");
    refuse("thing:v=[1 2]", RELMC_EINVAL, "v=1 2 is not a number");
    refuse("thing:v=[[1,2]]", RELMC_EINVAL, "not a number");
    refuse("thing:v=[1,2", RELMC_EINVAL, "not a number");
    refuse("thing:v=[1,2]3", RELMC_EINVAL, "not a number");
    refuse("thing:v=[1,2],[3]", RELMC_EINVAL, "parameter=value");
    refuse("thing:v=1,2", RELMC_EINVAL, "'2' should be parameter=value");
}

/* The message is one complete line, for texts of any length. */
static void test_parse__survives_long_text(void **state)
{
    enum { LONG = 5000 };
    static char spec[LONG + 32];
    static const char *const heads[] = {"thing:", "thing:real=", "thing:v=[",
                                        "thing:unset=0."};

    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        for (const char *c = "1=,[x"; *c; c++) {
            relmc_arena arena = {0};
            struct thing t = {0};
            relmc_error err = {0};
            const size_t n = strlen(heads[i]);

            memcpy(spec, heads[i], n);
            memset(spec + n, *c, LONG);
            spec[n + LONG] = '\0';
            assert_true(rmc_spec_parse(spec, &info, &t, &arena, &err) < 0);
            assert_non_null(memchr(err.message, '\0', sizeof err.message));
            assert_true(strlen(err.message) > 10);
            rmc_arena_release(&arena);
        }
    }
}

static void *no_memory(void *ctx, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    return NULL;
}

static void test_parse__reports_missing_memory(void **state)
{
    relmc_arena arena = {.memory = {no_memory, NULL, NULL}};
    struct thing t = {0};
    relmc_error err;

    (void)state;
    assert_int_equal(rmc_spec_parse("thing:v=[1,2]", &info, &t, &arena, &err),
                     RELMC_ENOMEM);
    assert_string_equal(err.message, "out of memory");
    rmc_arena_release(&arena);
}

/* ---- printing ----------------------------------------------------------- */

static void test_print__spells_out_everything_but_the_unset(void **state)
{
    char out[200];
    rmc_text text = {out, sizeof out, 0};
    relmc_arena arena = {0};
    struct thing t = read_ok("thing", &arena);

    (void)state;
    rmc_spec_print(&text, &info, &t);
    assert_string_equal(out, "thing:real=0.25,count=7");
    text.bytes = 0;
    t = read_ok("thing:v=[1,2],unset=0.5,real=0.1", &arena);
    rmc_spec_print(&text, &info, &t);
    assert_string_equal(out, "thing:real=0.1,count=7,unset=0.5,v=[1,2]");
    text.bytes = 0;
    rmc_spec_print(&text, &plain, NULL);
    assert_string_equal(out, "plain");
    rmc_arena_release(&arena);
}

static double any_finite(relmc_stream *s)
{
    for (;;) {
        const double x = rmc_from_bits(relmc_bits(s));

        if (fabs(x) <= 1e300) {
            return x;
        }
    }
}

static void check_round_trip(const struct thing *t)
{
    static char spec[1000];
    rmc_text text = {spec, sizeof spec, 0};
    relmc_arena arena = {0};

    rmc_spec_print(&text, &info, t);
    assert_true(text.bytes < sizeof spec);
    const struct thing back = read_ok(spec, &arena);
    assert_memory_equal(&back.real, &t->real, sizeof t->real);
    assert_memory_equal(&back.count, &t->count, sizeof t->count);
    assert_true(back.unset == t->unset || isnan(t->unset));
    assert_int_equal(isnan(back.unset), isnan(t->unset));
    assert_int_equal(back.v.n, t->v.n);
    assert_memory_equal(back.v.values, t->v.values,
                        t->v.n * sizeof *t->v.values);
    rmc_arena_release(&arena);
}

static void check_round_trips(void)
{
    relmc_stream s = {50, 0, 0, 0};
    double values[9];

    for (int n = 0; n < 20000; n++) {
        struct thing t = {any_finite(&s),
                          1.0 + floor(1e15 * relmc_uniform(&s)),
                          n % 3 ? relmc_uniform(&s) : (double)NAN,
                          {values, 1 + (size_t)n % 9}};

        for (size_t i = 0; i < 9; i++) {
            values[i] = any_finite(&s);
        }
        check_round_trip(&t);
    }
}

static void test_print__is_the_inverse_of_parse(void **state)
{
    (void)state;
    check_round_trips();
}

/* ---- locales ------------------------------------------------------------ */

static void test_locale__changes_nothing(void **state)
{
    static const char *const names[] = {
        "de_DE.UTF-8", "de_DE.utf8",  "de_DE",      "fr_FR.UTF-8",
        "fr_FR.utf8",  "nl_NL.UTF-8", "es_ES.UTF-8"};
    const char *found = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
        if (setlocale(LC_ALL, names[i]) &&
            *localeconv()->decimal_point == ',') {
            found = names[i];
        }
    }
    if (!found) {
        print_message("no locale with a decimal comma: not tested\n");
        (void)setlocale(LC_ALL, "C");
        skip();
    }
    const double values[] = {1.5, 2.5};
    char digits[32];
    double x = 0.0;
    (void)snprintf(digits, sizeof digits, "%.1f", 0.5);
    assert_string_equal(digits, "0,5"); /* the locale has a decimal comma */
    assert_true(read_scalars("thing:real=1.5,count=3").real == 1.5);
    assert_true(read_scalars("thing:real=1.5,count=3").count == 3.0);
    check_vector("thing:v=[1.5,2.5]", 2, values);
    refuse("thing:v=[1.5.5]", RELMC_EINVAL, "not a number");
    check_round_trips();
    (void)rmc_format_number(digits, -0.5, 17);
    assert_string_equal(digits, "-0.5");
    assert_true(rmc_parse_number("1.25e2", 6, &x) && x == 125.0);
    assert_false(rmc_parse_number("1,25", 4, &x));
    (void)setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse__gives_fallbacks),
        cmocka_unit_test(test_parse__reads_numbers),
        cmocka_unit_test(test_parse__reads_vectors),
        cmocka_unit_test(test_parse__refuses_a_key_given_twice),
        cmocka_unit_test(test_parse__allows_a_last_comma),
        cmocka_unit_test(test_parse__refuses_what_is_no_pair),
        cmocka_unit_test(test_parse__names_the_parameters_there_are),
        cmocka_unit_test(test_parse__refuses_what_is_no_number),
        cmocka_unit_test(test_parse__refuses_what_is_out_of_range),
        cmocka_unit_test(test_parse__refuses_bad_vectors),
        cmocka_unit_test(test_parse__survives_long_text),
        cmocka_unit_test(test_parse__reports_missing_memory),
        cmocka_unit_test(test_print__spells_out_everything_but_the_unset),
        cmocka_unit_test(test_print__is_the_inverse_of_parse),
        cmocka_unit_test(test_locale__changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
