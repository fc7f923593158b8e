/* text.c - growing text, JSON strings, numbers printed and read, edit distances. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "support/check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- rmc_text ----------------------------------------------------------- */

static void test_text__measures_first_and_writes_then(void **state)
{
    rmc_text measure = {0};
    char out[12];
    rmc_text text = {out, sizeof out, 0};

    (void)state;
    rmc_text_add(&measure, "%s-%d", "abc", 42);
    rmc_text_add(&measure, "%c", '!');
    assert_int_equal(measure.bytes, 7);
    rmc_text_add(&text, "%s-%d", "abc", 42);
    rmc_text_add(&text, "%c", '!');
    assert_string_equal(out, "abc-42!");
    assert_int_equal(text.bytes, 7);
}

/* For any room, nothing is written beyond it, and the full length is counted. */
static void test_text__never_leaves_its_room(void **state)
{
    (void)state;
    for (size_t room = 1; room < 16; room++) {
        char out[32];
        rmc_text text = {out, room, 0};

        memset(out, '#', sizeof out);
        rmc_text_add(&text, "%s", "12345");
        rmc_text_add(&text, "%s", "67890");
        rmc_text_add(&text, "%s", "abc");
        assert_int_equal(text.bytes, 13);
        assert_memory_equal(out, "1234567890abc",
                            room - 1 < 13 ? room - 1 : 13);
        assert_int_equal(out[room - 1 < 13 ? room - 1 : 13], '\0');
        for (size_t i = room; i < sizeof out; i++) {
            assert_int_equal(out[i], '#');
        }
    }
}

static void check_json(const char *value, const char *expected)
{
    char out[100];
    rmc_text text = {out, sizeof out, 0};

    rmc_text_add_json(&text, value);
    assert_string_equal(out, expected);
    assert_int_equal(text.bytes, strlen(expected));
}

static void test_json__escapes_what_it_must(void **state)
{
    (void)state;
    check_json("", "\"\"");
    check_json("plain", "\"plain\"");
    check_json("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    check_json("a\nb\tc\r", "\"a\\u000ab\\u0009c\\u000d\"");
    check_json("\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\"");
    check_json("\xc3\xa9%s%n", "\"\xc3\xa9%s%n\"");
}

/* ---- numbers ------------------------------------------------------------ */

static void check_format(double value, int digits, const char *expected)
{
    char out[32];

    assert_int_equal(rmc_format_number(out, value, digits), strlen(expected));
    assert_string_equal(out, expected);
}

static void test_format__writes_numbers_as_stan_does(void **state)
{
    (void)state;
    check_format(0.5, 6, "0.5");
    check_format(-0.0, 6, "-0");
    check_format(1e100, 6, "1e+100");
    check_format(1.0 / 3, 8, "0.33333333");
    check_format((double)NAN, 6, "NaN");
    check_format(-(double)NAN, 6, "NaN");
    check_format(HUGE_VAL, 6, "inf");
    check_format(-HUGE_VAL, 6, "-inf");
    check_format(-DBL_MAX, 17, "-1.7976931348623157e+308");
    check_format(5e-324, 17, "4.9406564584124654e-324");
}

static void test_format__is_the_inverse_of_parse(void **state)
{
    relmc_stream s = {60, 0, 0, 0};

    (void)state;
    for (int i = 0; i < 100000; i++) {
        const double x = rmc_from_bits(relmc_bits(&s));
        char out[32];
        double back = 0.0;

        assert_true(
            rmc_parse_number(out, rmc_format_number(out, x, 17), &back));
        assert_true(isnan(x) ? isnan(back)
                             : rmc_to_bits(x) == rmc_to_bits(back));
        rmc_format_exactly(out, x);
        assert_true(rmc_parse_number(out, strlen(out), &back));
        assert_true(isnan(x) ? isnan(back)
                             : rmc_to_bits(x) == rmc_to_bits(back));
    }
}

static void test_format_exactly__is_short(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {-2.5, "-2.5"},
                 {1e22, "1e+22"},
                 {1.0 / 3, "0.3333333333333333"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {HUGE_VAL, "inf"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[32];

        rmc_format_exactly(out, cases[i].value);
        assert_string_equal(out, cases[i].text);
    }
}

static void test_parse__wants_all_characters_and_no_more(void **state)
{
    double x = 0.0;
    char digits[70];

    (void)state;
    assert_true(rmc_parse_number("12345", 3, &x));
    assert_true(x == 123.0); /* reads no more than n characters */
    assert_true(rmc_parse_number("1e5,", 3, &x));
    assert_true(x == 1e5);
    assert_false(rmc_parse_number("", 0, &x));
    assert_false(rmc_parse_number("1", 0, &x));
    assert_false(rmc_parse_number(" 1", 2, &x));
    assert_false(rmc_parse_number("1 ", 2, &x));
    assert_false(rmc_parse_number("1,5", 3, &x));
    assert_false(rmc_parse_number("1\0", 2, &x));
    assert_false(rmc_parse_number("one", 3, &x));
    memset(digits, '1', sizeof digits);
    assert_true(rmc_parse_number(digits, 63, &x));
    assert_false(rmc_parse_number(digits, 64, &x)); /* longer than any number */
}

/* ---- edit distance ------------------------------------------------------ */

/* The definition, without a table. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    if (n == 0 || m == 0) {
        return n + m;
    }
    size_t best = distance(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
    const size_t without_a = distance(a, n - 1, b, m) + 1;
    const size_t without_b = distance(a, n, b, m - 1) + 1;

    best = without_a < best ? without_a : best;
    best = without_b < best ? without_b : best;
    if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1]) {
        const size_t swapped = distance(a, n - 2, b, m - 2) + 1;
        best = swapped < best ? swapped : best;
    }
    return best;
}

static void test_edit_distance__is_its_definition(void **state)
{
    relmc_stream s = {61, 0, 0, 0};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        char a[8] = {0}, b[8] = {0};
        const size_t n = relmc_bits(&s) % 7, m = relmc_bits(&s) % 7;

        for (size_t j = 0; j < n; j++) {
            a[j] = (char)('a' + relmc_bits(&s) % 3);
        }
        for (size_t j = 0; j < m; j++) {
            b[j] = (char)('a' + relmc_bits(&s) % 3);
        }
        assert_int_equal(rmc_edit_distance(a, b), distance(a, n, b, m));
        assert_int_equal(rmc_edit_distance(b, a), distance(a, n, b, m));
    }
}

static void test_edit_distance__of_some_words(void **state)
{
    char word[100];

    (void)state;
    assert_int_equal(rmc_edit_distance("", ""), 0);
    assert_int_equal(rmc_edit_distance("hmc", "hmc"), 0);
    assert_int_equal(rmc_edit_distance("hmc", "hcm"), 1);
    assert_int_equal(rmc_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(rmc_edit_distance("", "abc"), 3);
    memset(word, 'a', sizeof word);
    word[63] = '\0';
    assert_int_equal(rmc_edit_distance(word, "a"), 62);
    assert_int_equal(rmc_edit_distance(word, word), 0);
    word[63] = 'a';
    word[64] = '\0';
    assert_true(rmc_edit_distance(word, "a") == SIZE_MAX);
    assert_true(rmc_edit_distance("a", word) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text__measures_first_and_writes_then),
        cmocka_unit_test(test_text__never_leaves_its_room),
        cmocka_unit_test(test_json__escapes_what_it_must),
        cmocka_unit_test(test_format__writes_numbers_as_stan_does),
        cmocka_unit_test(test_format__is_the_inverse_of_parse),
        cmocka_unit_test(test_format_exactly__is_short),
        cmocka_unit_test(test_parse__wants_all_characters_and_no_more),
        cmocka_unit_test(test_edit_distance__is_its_definition),
        cmocka_unit_test(test_edit_distance__of_some_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
