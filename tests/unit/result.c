/* result.c - rows of named values as a table, JSON and CSV. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char shown[4096]; /* the printed text */
static FILE *real;

static void begin(void)
{
    memset(shown, 0, sizeof shown);
    real = stdout;
    stdout = fmemopen(shown, sizeof shown - 1, "w");
    assert_non_null(stdout);
}

static void end(void)
{
    (void)fclose(stdout);
    stdout = real;
}

static void check_table(const struct result *result, const char *wanted)
{
    begin();
    result_print(result);
    end();
    assert_string_equal(shown, wanted);
}

static void check_json(json_t *value, const char *wanted)
{
    char *text = json_dumps(value, JSON_COMPACT);

    assert_string_equal(text, wanted);
    free(text);
    json_decref(value);
}

static void fill(struct result *result)
{
    static const struct field fields[] = {
        {.key = "name", .head = "", .csv = "run", .width = -6},
        {.key = "mean/value",
         .head = "mean",
         .csv = "mean",
         .width = 8,
         .digits = 3},
        {.key = "mean/error", .csv = "error"},
        {.key = "n", .head = "n", .width = 4},
        {.key = "fine"},
        {.head = "", .form = FORM_NOTE},
    };

    *result = (struct result){0};
    result_fields(result, fields, sizeof fields / sizeof *fields);
    result_name(result, "b.2.3");
    result_real(result, 1.0 / 3.0);
    result_real(result, 0.25);
    result_count(result, 7);
    result_flag(result, true);
    result_text(result, "  <- %s", "best");
    result_text(result, "a \"q\"");
    result_real(result, (double)NAN);
    result_none(result);
    result_count(result, 1234567);
    result_json(result, json_null());
    result_none(result);
}

static void test_result__one_filling_three_outputs(void **state)
{
    char path[] = "/tmp/relmc-result-XXXXXX";
    const struct voice quiet = {.is_quiet = true};
    struct result result;
    const int fd = mkstemp(path);

    (void)state;
    fill(&result);
    assert_int_equal(result_n_rows(&result), 2);
    check_table(&result, "          mean        n\n"
                         "b[2,3]   0.333        7  <- best\n"
                         "a \"q\"        -  1234567\n");
    check_json(result_rows(&result),
               "[{\"name\":\"b[2,3]\",\"mean\":{\"value\":0.33333333333333331,"
               "\"error\":0.25},\"n\":7,\"fine\":true},"
               "{\"name\":\"a \\\"q\\\"\",\"mean\":{\"value\":null},"
               "\"n\":1234567,\"fine\":null}]");
    check_json(result_column(&result, 3), "[7,1234567]");
    assert_true(fd >= 0);
    assert_int_equal(result_write_csv(&result, 1, path, "relmc", &quiet), 0);
    memset(shown, 0, sizeof shown);
    assert_true(read(fd, shown, sizeof shown - 1) > 0);
    assert_string_equal(shown, "run,mean,error\n"
                               "\"b[2,3]\",0.3333333333,0.25\n"
                               "\"a \"\"q\"\"\",NaN,NaN\n");
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path), 0);
    result_clear(&result);
}

static void test_result__some_rows_and_a_gap(void **state)
{
    static const size_t rows[] = {1, 0};
    struct result result;

    (void)state;
    fill(&result);
    result.gap_at = 1;
    result.lead = 2;
    begin();
    result_print_rows(&result, rows, 2);
    end();
    assert_string_equal(shown, "            mean        n\n"
                               "  a \"q\"        -  1234567\n"
                               "\n"
                               "  b[2,3]   0.333        7  <- best\n");
    begin();
    result_print_first(&result, 1);
    end();
    assert_non_null(strstr(shown, "b[2,3]"));
    assert_null(strstr(shown, "1234567"));
    result_clear(&result);
}

static void check_form(enum form form, int digits, double value,
                       const char *wanted)
{
    struct result result = {0};
    char line[64];

    result_field(
        &result,
        (struct field){.head = "", .width = 1, .form = form, .digits = digits});
    result_real(&result, value);
    (void)snprintf(line, sizeof line, "%s\n", wanted);
    check_table(&result, line);
    result_clear(&result);
}

static void test_result__forms_of_numbers(void **state)
{
    (void)state;
    check_form(FORM_GENERAL, 3, 12345.0, "1.23e+04");
    check_form(FORM_FIXED, 0, 1234.4, "1234");
    check_form(FORM_SCIENCE, 1, 0.000123, "1.2e-04");
    check_form(FORM_FIGURES, 3, 1.0, "1.00");
    check_form(FORM_FIGURES, 3, 1234567.0, "1234567");
    check_form(FORM_FIGURES, 3, 0.0001234, "0.000123");
    check_form(FORM_FIGURES, 3, 0.00001234, "1.23e-05");
    check_form(FORM_FIGURES, 3, 123456789.0, "1.23e+08");
    check_form(FORM_FIGURES, 3, 0.0, "0");
    check_form(FORM_FIGURES, 3, -HUGE_VAL, "-inf");
    check_form(FORM_RATIO, 0, 9.994, "9.99");
    check_form(FORM_RATIO, 0, 99.94, "99.9");
    check_form(FORM_RATIO, 0, 1234.4, "1234");
    check_form(FORM_PERCENT, 0, 0.0, "0.0 %");
    check_form(FORM_PERCENT, 0, 0.05, "0.05 %");
    check_form(FORM_SHARE, 0, 0.125, "12.50 %");
    check_form(FORM_SHARE, 0, (double)NAN, "-");
}

static void test_result__fields_made_at_run_time(void **state)
{
    struct result result = {.lead = 0};

    (void)state;
    for (int i = 0; i < 40; i++) {
        result_field(&result,
                     (struct field){.key = result_keep(&result, "q%d", i)});
    }
    for (int i = 0; i < 40; i++) {
        result_count(&result, i);
    }
    json_t *row = result_row(&result, 0);
    assert_int_equal(json_object_size(row), 40);
    assert_int_equal(json_integer_value(json_object_get(row, "q39")), 39);
    json_decref(row);
    result_clear(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result__one_filling_three_outputs),
        cmocka_unit_test(test_result__some_rows_and_a_gap),
        cmocka_unit_test(test_result__forms_of_numbers),
        cmocka_unit_test(test_result__fields_made_at_run_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
