/*
 * dataset_csv.c - the reader of CSV reads every dialect, codes text and classes, and refuses bad
 * files with the line of the fault.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- CSV -------------------------------------------------------------------- */

static void csv_plain(void **state)
{
    struct dataset set;

    (void)state;
    assert_int_equal(read_csv(&set, "a,b,y\n1,2.5,-1\n3,-4e2,0.5\n", NULL), 0);
    assert_int_equal(set.n_rows, 2);
    assert_int_equal(set.n_columns, 2);
    assert_int_equal(set.n_classes, 0);
    check_row(&set, 0, 1, 2.5, -1);
    check_row(&set, 1, 3, -400, 0.5);
    assert_string_equal(set.names[1], "b");
    assert_string_equal(set.response, "y");
    assert_string_equal(set.format, "CSV");
    dataset_clear(&set);
    /* no header, no newline at the end */
    assert_int_equal(read_csv(&set, "1,2,3\n4,5,6", NULL), 0);
    assert_int_equal(set.n_rows, 2);
    assert_null(set.names);
    check_row(&set, 1, 4, 5, 6);
    dataset_clear(&set);
}

static void csv_dialects(void **state)
{
    static const char *const texts[] = {
        "a;b;y\n1;2;3\n4;5;6\n",
        "a\tb\ty\n1\t2\t3\n4\t5\t6\n",
        "a,b,y\r\n1,2,3\r\n4,5,6\r\n",
        "a,b,y\r1,2,3\r4,5,6\r",
        "\357\273\277a,b,y\n1,2,3\n4,5,6\n",
        "\n\na,b,y\n\n1,2,3\n   \n4,5,6\n\n",
        "\"a\",\"b\",\"y\"\n\"1\",\"2\",\"3\"\n\"4\",\"5\",\"6\"\n",
        " a , b,y \n 1,2 , 3\n4, \"5\" ,6\n",
    };

    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct dataset set;

        assert_int_equal(read_csv(&set, texts[k], NULL), 0);
        assert_int_equal(set.n_rows, 2);
        assert_string_equal(set.names[0], "a");
        assert_string_equal(set.names[1], "b");
        check_row(&set, 0, 1, 2, 3);
        check_row(&set, 1, 4, 5, 6);
        dataset_clear(&set);
    }
}

static void csv_quotes(void **state)
{
    struct dataset set;

    (void)state;
    assert_int_equal(read_csv(&set,
                              "\"the, first\",\"say \"\"b\"\"\",y\n"
                              "1,2,\"two\nlines\"\n3,4,x\n",
                              NULL),
                     0);
    assert_string_equal(set.names[0], "the, first");
    assert_string_equal(set.names[1], "say \"b\"");
    assert_int_equal(set.n_classes, 2);
    assert_string_equal(set.classes[0], "two\nlines");
    check_row(&set, 1, 3, 4, 1);
    dataset_clear(&set);
}

static void csv_header(void **state)
{
    const struct dataset_options yes = {.header = DATASET_HEADER_YES},
                                 no = {.header = DATASET_HEADER_NO};
    struct dataset set;

    (void)state;
    assert_int_equal(read_csv(&set, "1,2,3\n4,5,6\n", &yes), 0);
    assert_int_equal(set.n_rows, 1);
    assert_string_equal(set.names[1], "2");
    dataset_clear(&set);
    assert_int_equal(read_csv(&set, "a,b,no\nc,d,yes\n", &no), 0);
    assert_int_equal(set.n_rows, 2);
    assert_int_equal(set.n_columns, 4);
    assert_string_equal(set.names[0], "column 1=a");
    dataset_clear(&set);
}

static void csv_response(void **state)
{
    static const char text[] = "a,b,y\n1,2,3\n4,5,6\n";
    struct dataset_options options = {.response = "a"};
    struct dataset set;

    (void)state;
    assert_int_equal(read_csv(&set, text, &options), 0);
    assert_string_equal(set.names[0], "b");
    check_row(&set, 1, 5, 6, 4);
    dataset_clear(&set);
    options.response = "2";
    assert_int_equal(read_csv(&set, text, &options), 0);
    assert_string_equal(set.response, "b");
    check_row(&set, 1, 4, 6, 5);
    dataset_clear(&set);
    options.response = "0";
    fails(CLI_USAGE, text, &options, "x.dat has no column \"0\"");
    options.response = "4";
    fails(CLI_USAGE, text, &options, "it has 3");
    options.response = "yy";
    fails(CLI_USAGE, text, &options, "did you mean \"y\"?");
}

static void csv_text(void **state)
{
    static const char text[] = "n,colour,y\n1,red,pos\n2,blue,neg\n3,red,neg\n";
    struct dataset set, test;

    (void)state;
    assert_int_equal(read_csv(&set, text, NULL), 0);
    assert_int_equal(set.n_columns, 3);
    assert_string_equal(set.names[0], "n");
    assert_string_equal(set.names[1], "colour=blue");
    assert_string_equal(set.names[2], "colour=red");
    static const double wanted[] = {1, 0, 1, 2, 1, 0, 3, 0, 1};
    assert_memory_equal(set.x, wanted, sizeof wanted);
    assert_int_equal(set.n_classes, 2);
    assert_string_equal(set.classes[0], "neg");
    assert_true(set.y[0] == 1 && set.y[1] == 0 && set.y[2] == 0);
    /* test data are coded like training data, even if categories are missing */
    const struct dataset_options like = {.like = &set};
    assert_int_equal(read_csv(&test, "n,colour,y\n7,red,pos\n", &like), 0);
    assert_int_equal(test.n_columns, 3);
    assert_int_equal(test.n_classes, 2);
    assert_true(test.x[1] == 0 && test.x[2] == 1 && test.y[0] == 1);
    assert_string_equal(test.names[1], "colour=blue");
    dataset_clear(&test);
    fails(CLI_MODEL, "n,colour,y\n7,green,pos\n", &like,
          "column colour: \"green\" does not occur in the training data");
    fails(CLI_MODEL, "n,colour,y\n7,red,maybe\n", &like,
          "column y: \"maybe\" does not occur");
    fails(CLI_MODEL, "m,colour,y\n7,red,pos\n", &like,
          "column 1 is \"m\", in the training data it is \"n\"");
    fails(CLI_MODEL, "n,colour,y\n7,red,0\n", &like, "does not occur");
    fails(CLI_MODEL, "n,y\n7,pos\n", &like, "the training data have 3");
    dataset_clear(&set);
}

static void csv_classes(void **state)
{
    struct dataset_options options = {.task = DATASET_TASK_CLASSES};
    struct dataset set, test;

    (void)state;
    assert_int_equal(read_csv(&set, "a,y\n1,2\n1,0\n", &options), 0);
    assert_int_equal(set.n_classes, 3);
    assert_null(set.classes);
    dataset_clear(&set);
    /* classes are numbered in numerical order */
    assert_int_equal(read_csv(&set, "a,y\n1,1\n1,-1\n2,1\n", &options), 0);
    assert_int_equal(set.n_classes, 2);
    assert_string_equal(set.classes[0], "-1");
    assert_true(set.y[0] == 1 && set.y[1] == 0 && set.y[2] == 1);
    const struct dataset_options like = {.like = &set};
    assert_int_equal(read_csv(&test, "a,y\n5,1\n", &like), 0);
    assert_true(test.y[0] == 1);
    dataset_clear(&test);
    fails(CLI_MODEL, "a,y\n5,1\n6,0\n", &like,
          "x.dat:3: the label 0 does not occur in the training data");
    dataset_clear(&set);
    fails(CLI_MODEL, "a,y\n1,0\n1,0.5\n", &options,
          "x.dat:3: the label 0.5 is no class");
    options.n_classes = 2;
    fails(CLI_MODEL, "a,y\n1,0\n\n1,2\n", &options,
          "x.dat:4: the label 2 is out of range: classes are 0 ... 1");
    fails(CLI_MODEL, "a,y\n1,-1\n", &options, "x.dat:2: the label -1");
    options = (struct dataset_options){.task = DATASET_TASK_NUMBER};
    fails(CLI_MODEL, "a,y\n1,yes\n", &options,
          "x.dat:2: column y: \"yes\" is not a number");
}

static void csv_bad(void **state)
{
    static const struct {
        const char *text, *message;
    } all[] = {
        {"", "x.dat is empty"},
        {"\n \n", "x.dat is empty"},
        {"a,b\n", "x.dat: a header and no data"},
        {"a\n1\n2\n", "x.dat:1: one column only"},
        {"a,b\n1,2\n\n3\n", "x.dat:4: 1 fields, but the first line has 2"},
        {"a,b\n1,2\n3,4,5\n", "x.dat:3: 3 fields, but the first line has 2"},
        {"a,b\n1,2\nx y,4\n", "x.dat:3: column a: \"x y\" is not a number, but "
                              "line 2 has one"},
        {"a,b\nx,2\n1,4\n", "x.dat:3: column a: \"1\" is a number, but line 2 "
                            "has text"},
        {"1,2\n3,4x\n", "x.dat:2: column 2: \"4x\" is not a number"},
        {"a,b\n1,2\n,4\n", "x.dat:3: column a: \"\" is a missing value"},
        {"a,b\n1,2\n3,NA\n", "x.dat:3: column b: \"NA\" is a missing value"},
        {"a,b\n1,2\n3,nan\n", "x.dat:3: column b: \"nan\" is not a finite"},
        {"a,b\n-Inf,2\n", "x.dat:2: column a: \"-Inf\" is not a finite"},
        {"a,b\n1e999,2\n", "x.dat:2: column a: \"1e999\" is not a finite"},
        {"a,b\n1,\"2\n3,4\n", "x.dat:2: a quote that is opened here"},
        {"a,b\n1,\"2\"3\n", "x.dat:2: text behind a closing quote"},
        {"a,b\n1,2\n\t\a\n", "x.dat:3: 1 fields"},
        {"a,y\n1,\"two\nlines\"\n2\n", "x.dat:4: 1 fields"},
        {"PK\3\4...", "is a zip archive"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        fails(CLI_MODEL, all[k].text, NULL, all[k].message);
    }
    struct blob zero = {.n = 0};
    struct dataset set;
    put(&zero, "a,b\n1,2\n3,\0", 11);
    assert_int_equal(read_two(&set, &zero, NULL, NULL), CLI_MODEL);
    assert_non_null(strstr(caught_text, "x.dat:3: a zero byte"));
}

static void csv_limits(void **state)
{
    enum { ROWS = 1200 };
    const struct dataset_options options = {.memory = 1e4};
    char *text = cli_alloc(ROWS + 1, 16);
    size_t n = 0;

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        n += (size_t)sprintf(text + n, "%d,%d,%d\n", i, i, i);
    }
    fails(CLI_MODEL, text, &options, "GB are free");
    assert_non_null(strstr(caught_text, "3 columns up to line"));
    n = 0;
    for (int i = 0; i < 1001; i++) {
        n += (size_t)sprintf(text + n, "t%d,1\n", i);
    }
    fails(CLI_MODEL, text, NULL,
          "x.dat:1001: column 1: \"t1000\" is one of more than 1000");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_plain),    cmocka_unit_test(csv_dialects),
        cmocka_unit_test(csv_quotes),   cmocka_unit_test(csv_header),
        cmocka_unit_test(csv_response), cmocka_unit_test(csv_text),
        cmocka_unit_test(csv_classes),  cmocka_unit_test(csv_bad),
        cmocka_unit_test(csv_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
