/* dataset.c - data are read from CSV, IDX, npy and gzip files, split and scaled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/check.h"
#include "support/messages.h"

#include "data/catalogue.h"
#include "data/dataset_prepare.h"

#include <unistd.h>

#ifdef RELMC_HAS_ZLIB
#include <zlib.h>
#endif

/* ---- files from memory ------------------------------------------------------ */

struct blob {
    unsigned char bytes[32768];
    size_t n;
};

static void open_blob(struct input_stream *bytes, const void *data, size_t n,
                      const char *name, int *code)
{
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    rewind(file);
    *code = input_stream_open_file(bytes, file, name, "relmc");
}

static int read_two(struct dataset *out, const struct blob *x,
                    const struct blob *y, const struct dataset_options *options)
{
    static const struct dataset_options none;
    struct input_stream from = {0}, labels = {0};
    int code = 0;

    catch_begin();
    *out = (struct dataset){0};
    open_blob(&from, x->bytes, x->n, "x.dat", &code);
    if (!code && y) {
        open_blob(&labels, y->bytes, y->n, "y.dat", &code);
    }
    if (!code) {
        code = dataset_read_bytes(out, &from, y ? &labels : NULL,
                                  options ? options : &none);
    }
    input_stream_close(&from);
    input_stream_close(&labels);
    assert_int_equal(catch_end(), code ? 1 : 0);
    if (code) {
        assert_null(out->x);
        assert_null(out->y);
    }
    return code;
}

static void put(struct blob *b, const void *data, size_t n)
{
    assert_true(b->n + n <= sizeof b->bytes);
    memcpy(b->bytes + b->n, data, n);
    b->n += n;
}

static int read_csv(struct dataset *out, const char *text,
                    const struct dataset_options *options)
{
    struct blob b = {.n = 0};

    put(&b, text, strlen(text));
    return read_two(out, &b, NULL, options);
}

/* Must fail with this code and message. */
static void fails(int code, const char *text,
                  const struct dataset_options *options, const char *message)
{
    struct dataset set;
    const int got = read_csv(&set, text, options);

    if (got != code || !strstr(caught_text, message)) {
        print_error("%s\ncode %d, wanted %d: %s\nsaid: %s\n", text, got, code,
                    message, caught_text);
        fail();
    }
}

static void check_row(const struct dataset *set, size_t i, double a, double b,
                      double y)
{
    assert_true(dataset_at(set, i, 0) == a);
    assert_true(dataset_at(set, i, 1) == b);
    assert_true(set->y[i] == y);
}

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

/* ---- IDX -------------------------------------------------------------------- */

static void put_word(struct blob *b, uint32_t word)
{
    const unsigned char bytes[4] = {
        (unsigned char)(word >> 24), (unsigned char)(word >> 16),
        (unsigned char)(word >> 8), (unsigned char)word};

    put(b, bytes, sizeof bytes);
}

/* A value in so many bytes, the most significant first or last. */
static void put_bits(struct blob *b, uint64_t bits, int width, bool is_big)
{
    for (int i = 0; i < width; i++) {
        const int shift = 8 * (is_big ? width - 1 - i : i);
        const unsigned char byte = (unsigned char)(bits >> shift);

        put(b, &byte, 1);
    }
}

static void put_value(struct blob *b, char kind, int width, double value,
                      bool is_big)
{
    const float single = (float)value;
    uint64_t bits = kind == 'f' ? 0 : (uint64_t)(int64_t)value;
    uint32_t half;

    if (kind == 'f' && width == 8) {
        memcpy(&bits, &value, sizeof bits);
    } else if (kind == 'f') {
        memcpy(&half, &single, sizeof half);
        bits = half;
    }
    put_bits(b, bits, width, is_big);
}

static struct blob idx_labels(uint32_t n)
{
    struct blob y = {.n = 0};

    put_word(&y, 0x00000801);
    put_word(&y, n);
    for (uint32_t i = 0; i < n; i++) {
        put_bits(&y, i % 3, 1, true);
    }
    return y;
}

/* n images of 2 x 2, pixel k has the value 10 k - 5 (10 k if unsigned). */
static struct blob idx_images(uint32_t n, int code, char kind, int width)
{
    struct blob x = {.n = 0};

    put_word(&x, (uint32_t)code << 8 | 3);
    put_word(&x, n);
    put_word(&x, 2);
    put_word(&x, 2);
    for (uint32_t k = 0; k < 4 * n; k++) {
        put_value(&x, kind, width, 10.0 * k - (kind == 'u' ? 0 : 5), true);
    }
    return x;
}

static void idx_types(void **state)
{
    static const struct {
        int code;
        char kind;
        int width;
        bool is_single;
    } types[] = {{0x08, 'u', 1, true}, {0x09, 'i', 1, true},
                 {0x0b, 'i', 2, true}, {0x0c, 'i', 4, false},
                 {0x0d, 'f', 4, true}, {0x0e, 'f', 8, false}};

    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const struct blob x =
            idx_images(3, types[t].code, types[t].kind, types[t].width);
        const struct blob y = idx_labels(3);
        struct dataset set;

        assert_int_equal(read_two(&set, &x, &y, NULL), 0);
        assert_int_equal(set.n_rows, 3);
        assert_int_equal(set.n_columns, 4);
        assert_int_equal(set.n_classes, 3);
        assert_true((set.x_float != NULL) == types[t].is_single);
        for (size_t k = 0; k < 12; k++) {
            const double wanted =
                10.0 * (double)k - (types[t].kind == 'u' ? 0 : 5);

            assert_true(dataset_at(&set, k / 4, k % 4) == wanted);
        }
        assert_true(set.y[2] == 2);
        dataset_clear(&set);
    }
}

static void array_fails(const struct blob *x, const struct blob *y,
                        const struct dataset_options *options,
                        const char *message)
{
    struct dataset set;
    const int got = read_two(&set, x, y, options);

    if (got != CLI_MODEL || !strstr(caught_text, message)) {
        print_error("code %d, wanted: %s\nsaid: %s\n", got, message,
                    caught_text);
        fail();
    }
}

static void idx_bad(void **state)
{
    const struct blob x = idx_images(3, 8, 'u', 1), y = idx_labels(3);
    struct blob b;

    (void)state;
    for (size_t n = 4; n < x.n; n++) { /* cut after n bytes */
        b = x;
        b.n = n;
        array_fails(&b, &y, NULL, "truncated");
    }
    for (size_t n = 8; n < y.n; n++) {
        b = y;
        b.n = n;
        array_fails(&x, &b, NULL, "y.dat ends after");
    }
    b = x;
    put(&b, "!", 1);
    array_fails(&b, &y, NULL, "x.dat goes on after the 28 bytes");
    b = x;
    b.bytes[2] = 7;
    array_fails(&b, &y, NULL, "wrong magic number: starts with 00 00 07 03");
    b.bytes[2] = 8;
    b.bytes[3] = 0;
    array_fails(&b, &y, NULL, "number of dimensions");
    b = x;
    b.bytes[7] = 0;
    array_fails(&b, &y, NULL, "there is nothing in it");
    b = y;
    b.bytes[0] = 'x';
    array_fails(&x, &b, NULL, "y.dat: wrong magic number");
    array_fails(&y, &x, NULL, "one dimension only");
    array_fails(&x, &x, NULL, "no file of labels");
    b = idx_labels(4);
    array_fails(&x, &b, NULL, "y.dat has 4 labels, but there are 3");
    const struct dataset_options two = {.n_classes = 2};
    array_fails(&x, &y, &two,
                "y.dat: the label 2 of observation 3 is out of range");
    /* more rows than any memory holds */
    b = x;
    memset(b.bytes + 4, 0xff, 12);
    array_fails(&b, &y, NULL,
                "x.dat: 4294967295 x 18446744065119617024 "
                "numbers need");
    const struct dataset_options little = {.memory = 47};
    array_fails(&x, &y, &little, "3 x 4 numbers need 4.8e-08 GB");
}

/* ---- npy -------------------------------------------------------------------- */

static struct blob npy_head(int version, const char *descr, const char *order,
                            const char *shape)
{
    struct blob b = {.n = 0};
    char header[200];
    const int n =
        snprintf(header, sizeof header,
                 "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }   \n",
                 descr, order, shape);

    put(&b, "\x93NUMPY", 6);
    put_bits(&b, (uint64_t)version, 1, false);
    put_bits(&b, 0, 1, false);
    put_bits(&b, (uint64_t)n, version == 1 ? 2 : 4, false);
    put(&b, header, (size_t)n);
    return b;
}

static void npy_types(void **state)
{
    static const struct {
        const char *descr;
        char kind;
        int width;
    } types[] = {{"<f4", 'f', 4}, {"<f8", 'f', 8}, {"<i4", 'i', 4},
                 {"<i8", 'i', 8}, {"|u1", 'u', 1}, {"|b1", 'u', 1},
                 {">f8", 'f', 8}, {"<i2", 'i', 2}, {"|i1", 'i', 1},
                 {">u4", 'u', 4}};

    (void)state;
    for (size_t t = 0; t < 2 * (sizeof types / sizeof *types); t++) {
        const size_t k = t / 2;
        const bool is_big = types[k].descr[0] == '>';
        struct blob b =
            npy_head(1 + (int)(t % 2), types[k].descr, "False", "(2, 3)");
        struct dataset set;

        for (int i = 0; i < 6; i++) {
            put_value(&b, types[k].kind, types[k].width,
                      types[k].kind == 'u' ? i : 2 - i, is_big);
        }
        assert_int_equal(read_two(&set, &b, NULL, NULL), 0);
        assert_int_equal(set.n_rows, 2);
        assert_int_equal(set.n_columns, 2);
        assert_int_equal(set.n_classes, 0);
        if (types[k].kind == 'u') {
            check_row(&set, 0, 0, 1, 2);
            check_row(&set, 1, 3, 4, 5);
        } else {
            check_row(&set, 0, 2, 1, 0);
            check_row(&set, 1, -1, -2, -3);
        }
        dataset_clear(&set);
    }
}

static void npy_fortran(void **state)
{
    struct blob b = npy_head(1, "<f8", "True", "(2, 3)");
    struct blob y = npy_head(1, "<f8", "False", "(2,)");
    struct dataset set;

    (void)state;
    for (int k = 0; k < 6; k++) { /* stored by columns */
        put_value(&b, 'f', 8, k, false);
    }
    assert_int_equal(read_two(&set, &b, NULL, NULL), 0);
    check_row(&set, 0, 0, 2, 4);
    check_row(&set, 1, 1, 3, 5);
    dataset_clear(&set);
    /* a[i][j][k] = 100 i + 10 j + k */
    b = npy_head(1, "<i4", "True", "(2, 3, 2)");
    for (int k = 0; k < 2; k++) {
        for (int j = 0; j < 3; j++) {
            for (int i = 0; i < 2; i++) {
                put_value(&b, 'i', 4, 100 * i + 10 * j + k, false);
            }
        }
    }
    put_value(&y, 'f', 8, 0.25, false);
    put_value(&y, 'f', 8, -7, false);
    assert_int_equal(read_two(&set, &b, &y, NULL), 0);
    assert_int_equal(set.n_columns, 6);
    assert_int_equal(set.n_classes, 0);
    for (size_t k = 0; k < 12; k++) {
        const size_t i = k / 6, j = k % 6 / 2;

        assert_true(dataset_at(&set, i, k % 6) ==
                    (double)(100 * i + 10 * j + k % 2));
    }
    assert_true(set.y[1] == -7);
    dataset_clear(&set);
}

static void npy_bad(void **state)
{
    struct blob b = npy_head(1, "<f8", "False", "(1, 2)");

    (void)state;
    put_value(&b, 'f', 8, 1, false);
    for (size_t n = 6; n < b.n; n++) {
        struct blob cut = b;

        cut.n = n;
        array_fails(&cut, NULL, NULL, "truncated");
    }
    array_fails(&b, NULL, NULL, "truncated");
    put_value(&b, 'f', 8, (double)NAN, false);
    char message[80];
    (void)snprintf(message, sizeof message,
                   "observation 1, value 2 (byte %zu) is not a finite",
                   b.n - 8);
    array_fails(&b, NULL, NULL, message);
    static const char *const heads[][4] = {
        {"<f2", "False", "(1, 2)", "type of element"},
        {"<U8", "False", "(1, 2)", "type of element"},
        {"<f8", "Maybe", "(1, 2)", "no valid header"},
        {"<f8", "False", "(1, -2)", "no valid header"},
        {"<f8", "False", "()", "no valid header"},
        {"<f8", "False", "(1, 99999999999999999999)", "no valid header"},
        {"<f8", "False", "(3,)", "one dimension only"},
        {"<f8", "False", "(0, 3)", "nothing in it"},
        {"<f8", "False", "(1000000, 9000000000)", "7.2e+07 GB of memory"},
    };
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
        b = npy_head(1, heads[k][0], heads[k][1], heads[k][2]);
        array_fails(&b, NULL, NULL, heads[k][3]);
    }
    b = npy_head(1, "<f8", "False", "(2, 1)");
    put_value(&b, 'f', 8, 1, false);
    put_value(&b, 'f', 8, 1, false);
    array_fails(&b, NULL, NULL, "one column only");
    b.bytes[6] = 9;
    array_fails(&b, NULL, NULL, "version");
}

/* ---- gzip ------------------------------------------------------------------- */

#ifdef RELMC_HAS_ZLIB

static struct blob pack(const struct blob *in)
{
    struct blob out = {.n = 0};
    union {
        const unsigned char *from;
        unsigned char *to;
    } bytes = {.from = in->bytes}; /* zlib only reads it */
    z_stream z = {.next_in = bytes.to,
                  .avail_in = (uInt)in->n,
                  .next_out = out.bytes,
                  .avail_out = sizeof out.bytes};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.n = z.total_out;
    (void)deflateEnd(&z);
    return out;
}

static void gzip_files(void **state)
{
    struct blob csv = {.n = 0}, more = {.n = 0};
    struct dataset set;

    (void)state;
    put(&csv, "a,b,y\n1,2,3\n", 12);
    put(&more, "4,5,6\n", 6);
    struct blob z = pack(&csv);
    const struct blob second = pack(&more);
    put(&z, second.bytes, second.n); /* two members */
    assert_int_equal(read_two(&set, &z, NULL, NULL), 0);
    check_row(&set, 1, 4, 5, 6);
    dataset_clear(&set);

    const struct blob x = idx_images(3, 8, 'u', 1), y = idx_labels(3);
    const struct blob zx = pack(&x);
    assert_int_equal(read_two(&set, &zx, &y, NULL), 0);
    assert_true(set.x_float[11] == 110.0F);
    dataset_clear(&set);
    for (size_t n = 2; n < zx.n; n++) { /* cut after n bytes */
        struct blob cut = zx;

        cut.n = n;
        array_fails(&cut, &y, NULL, "truncated");
    }
    for (size_t i = zx.n - 8; i < zx.n; i++) { /* checksum and length */
        struct blob bad = zx;

        bad.bytes[i] ^= 4;
        array_fails(&bad, &y, NULL, "x.dat: the gzip data are damaged near");
    }
    z = zx;
    put(&z, "junk", 4);
    array_fails(&z, &y, NULL, "something else follows");
}

#else

static void gzip_files(void **state)
{
    (void)state;
    fails(CLI_MODEL, "\x1f\x8b...", NULL, "built without zlib");
}

#endif

/* ---- preparation ------------------------------------------------------------ */

/* n rows of i and i^2, in classes whose sizes are as 1 : 2 : 3 ... */
static struct dataset make_data(size_t n, size_t n_classes, bool is_single)
{
    struct dataset set = {.n_rows = n, .n_columns = 2, .n_classes = n_classes};
    size_t k = 0, left = 0;

    set.y = cli_alloc(n, sizeof *set.y);
    if (is_single) {
        set.x_float = cli_alloc(2 * n, sizeof *set.x_float);
    } else {
        set.x = cli_alloc(2 * n, sizeof *set.x);
    }
    for (size_t i = 0; i < n; i++) {
        const double x = (double)i;

        if (!is_single) {
            set.x[2 * i] = x;
            set.x[2 * i + 1] = x * x;
        } else {
            set.x_float[2 * i] = (float)x;
            set.x_float[2 * i + 1] = (float)(x * x);
        }
        if (n_classes > 0) {
            if (left == 0) {
                k = (k + 1) % n_classes;
                left = k + 1;
            }
            left--;
            set.y[i] = (double)k;
        }
    }
    return set;
}

static void split_sizes(void **state)
{
    static const double shares[] = {1, 216, 999, 0.25, 0.001};
    static const size_t wanted[] = {1, 216, 999, 250, 1};

    (void)state;
    for (size_t t = 0; t < 10; t++) {
        struct dataset train = make_data(1000, t % 2 ? 3 : 0, t % 4 < 2), test;
        bool seen[1000] = {false};

        assert_int_equal(
            dataset_split(&train, &test, shares[t / 2], 7, "relmc"), 0);
        assert_int_equal(test.n_rows, wanted[t / 2]);
        assert_int_equal(train.n_rows, 1000 - wanted[t / 2]);
        for (int part = 0; part < 2;
             part++) { /* disjoint, complete, in order */
            const struct dataset *set = part ? &test : &train;
            double last = -1.0;

            for (size_t i = 0; i < set->n_rows; i++) {
                const double x = dataset_at(set, i, 0);

                assert_true(x > last && x < 1000 && !seen[(size_t)x]);
                assert_true(dataset_at(set, i, 1) == x * x);
                seen[(size_t)x] = true;
                last = x;
            }
        }
        dataset_clear(&train);
        dataset_clear(&test);
    }
    static const double bad[] = {0, 0.0001, 10, 11, 1.5, -1, (double)NAN};
    for (size_t t = 0; t < sizeof bad / sizeof *bad; t++) {
        struct dataset train = make_data(10, 0, false), test;

        assert_int_equal(dataset_split(&train, &test, bad[t], 7, "relmc"),
                         CLI_USAGE);
        assert_int_equal(train.n_rows, 10);
        dataset_clear(&train);
    }
}

static void split_strata(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct dataset train = make_data(601, 3, false), test;
        size_t all[3] = {0}, got[3] = {0};

        for (size_t i = 0; i < train.n_rows; i++) {
            all[(size_t)train.y[i]]++;
        }
        assert_int_equal(dataset_split(&train, &test, 0.3, seed, "relmc"), 0);
        assert_int_equal(test.n_rows, 180);
        for (size_t i = 0; i < test.n_rows; i++) {
            got[(size_t)test.y[i]]++;
        }
        for (size_t k = 0; k < 3; k++) {
            check_near((double)got[k], 180.0 / 601.0 * (double)all[k], 1.0);
        }
        dataset_clear(&train);
        dataset_clear(&test);
    }
}

static size_t shared_rows(uint64_t seed_a, uint64_t seed_b)
{
    struct dataset a = make_data(1000, 2, false), b = make_data(1000, 2, false);
    struct dataset test_a, test_b;
    size_t n = 0;

    assert_int_equal(dataset_split(&a, &test_a, 500, seed_a, "relmc"), 0);
    assert_int_equal(dataset_split(&b, &test_b, 500, seed_b, "relmc"), 0);
    for (size_t i = 0; i < 500; i++) {
        for (size_t j = 0; j < 500; j++) {
            n += test_a.x[2 * i] == test_b.x[2 * j];
        }
    }
    dataset_clear(&a);
    dataset_clear(&b);
    dataset_clear(&test_a);
    dataset_clear(&test_b);
    return n;
}

static void split_seeds(void **state)
{
    (void)state;
    assert_int_equal(shared_rows(3, 3), 500);
    /* hypergeometric: 250 +- 7.9 */
    check_near((double)shared_rows(3, 4), 250, 40);
    check_near((double)shared_rows(0, 1ull << 40), 250, 40);
    /* published results depend on splits: they must not change */
    struct dataset train = make_data(10, 0, false), test;
    assert_int_equal(dataset_split(&train, &test, 3, 1, "relmc"), 0);
    assert_true(test.x[0] == 2 && test.x[2] == 7 && test.x[4] == 9);
    dataset_clear(&train);
    dataset_clear(&test);
}

/* Every row is as likely to be chosen as any other. */
static void split_uniform(void **state)
{
    enum { N = 10, TIMES = 4000 };
    double counts[N] = {0};

    (void)state;
    for (uint64_t seed = 0; seed < TIMES; seed++) {
        struct dataset train = make_data(N, 0, false), test;

        assert_int_equal(dataset_split(&train, &test, 3, seed, "relmc"), 0);
        for (size_t i = 0; i < 3; i++) {
            counts[(size_t)test.x[2 * i]]++;
        }
        dataset_clear(&train);
        dataset_clear(&test);
    }
    for (int i = 0; i < N; i++) {
        check_zscore(counts[i], 0.3 * TIMES, sqrt(0.21 * TIMES), 4.0);
    }
}

static void scale_sd(void **state)
{
    struct dataset train = make_data(50, 0, false), test;
    struct dataset_scaling scaling;

    (void)state;
    assert_int_equal(dataset_split(&train, &test, 20, 1, "relmc"), 0);
    const double raw = test.x[1];
    assert_int_equal(dataset_scaling_learn(&scaling, &train, DATASET_SCALE_SD,
                                           "relmc", "x.dat"),
                     0);
    dataset_scaling_apply(&scaling, &train);
    dataset_scaling_apply(&scaling, &test);
    for (size_t j = 0; j < 2; j++) {
        double sum = 0.0, squares = 0.0;

        for (size_t i = 0; i < 30; i++) {
            sum += train.x[2 * i + j];
            squares += train.x[2 * i + j] * train.x[2 * i + j];
        }
        check_near(sum, 0.0, 1e-12);
        check_close(squares / 29.0, 1.0, 1e-13);
    }
    check_close(test.x[1] * scaling.scale[1] + scaling.shift[1], raw, 1e-13);
    dataset_scaling_clear(&scaling);
    dataset_clear(&train);
    dataset_clear(&test);
}

static void scale_constant(void **state)
{
    struct dataset_scaling scaling;
    struct dataset set;
    int code;

    (void)state;
    /* rounding makes the mean of these differ from 0.1 */
    assert_int_equal(
        read_csv(&set, "a,level,y\n1,0.1,0\n2,0.1,0\n3,0.1,1\n", NULL), 0);
    catch_begin();
    code = dataset_scaling_learn(&scaling, &set, DATASET_SCALE_SD, "relmc",
                                 "x.dat");
    (void)catch_end();
    assert_int_equal(code, CLI_MODEL);
    assert_non_null(strstr(caught_text, "x.dat: level is 0.1 in all 3"));
    catch_begin();
    code = dataset_scaling_learn(&scaling, &set, DATASET_SCALE_MAX, "relmc",
                                 "x.dat");
    (void)catch_end();
    assert_int_equal(code, 0);
    dataset_scaling_apply(&scaling, &set);
    assert_true(set.x[1] == 1.0 && set.x[4] == 1.0);
    dataset_scaling_clear(&scaling);
    set.x[1] = set.x[3] = set.x[5] = 0.0;
    catch_begin();
    code = dataset_scaling_learn(&scaling, &set, DATASET_SCALE_MAX, "relmc",
                                 "x.dat");
    (void)catch_end();
    assert_int_equal(code, CLI_MODEL);
    dataset_clear(&set);
}

static void scale_others(void **state)
{
    struct dataset_scaling scaling;
    struct dataset set = make_data(11, 0, true);

    (void)state;
    set.x_float[1] = -200.0F; /* the largest absolute value */
    assert_int_equal(dataset_scaling_learn(&scaling, &set, DATASET_SCALE_MAX,
                                           "relmc", "x.dat"),
                     0);
    dataset_scaling_apply(&scaling, &set);
    assert_true(set.x_float[1] == -1.0F && set.x_float[20] == 1.0F);
    assert_true(set.x_float[21] == 0.5F);
    dataset_scaling_clear(&scaling);
    dataset_clear(&set);
    set = make_data(11, 0, true);
    assert_int_equal(dataset_scaling_learn(&scaling, &set, DATASET_SCALE_BYTE,
                                           "relmc", "x.dat"),
                     0);
    dataset_scaling_apply(&scaling, &set);
    assert_true(set.x_float[21] == 100.0F / 255.0F);
    dataset_scaling_clear(&scaling);
    dataset_clear(&set);
    assert_int_equal(dataset_scale_named("none"), DATASET_SCALE_NONE);
    assert_int_equal(dataset_scale_named("sd"), DATASET_SCALE_SD);
    assert_int_equal(dataset_scale_named("max"), DATASET_SCALE_MAX);
    assert_int_equal(dataset_scale_named("byte"), DATASET_SCALE_BYTE);
}

static void columns(void **state)
{
    (void)state;
    for (int is_single = 0; is_single < 2; is_single++) {
        struct dataset set = make_data(5, 3, is_single);

        assert_int_equal(dataset_add_intercept(&set, "relmc"), 0);
        assert_int_equal(set.n_columns, 3);
        for (size_t i = 0; i < 5; i++) {
            assert_true(dataset_at(&set, i, 0) == 1.0 &&
                        dataset_at(&set, i, 1) == (double)i &&
                        dataset_at(&set, i, 2) == (double)(i * i));
        }
        dataset_clear(&set);
    }
    struct dataset named;
    assert_int_equal(read_csv(&named, "a,b,y\n1,2,3\n", NULL), 0);
    assert_int_equal(dataset_add_intercept(&named, "relmc"), 0);
    assert_string_equal(named.names[0], "intercept");
    assert_string_equal(named.names[2], "b");
    dataset_clear(&named);
}

/* ---- published data --------------------------------------------------------- */

static void need_shared(const char *name)
{
    char *path = cli_text("%s/%s", RELMC_SHARED_DATA, name);
    const bool is_there = access(path, R_OK) == 0;

    free(path);
    if (!is_there) {
        skip();
    }
    assert_int_equal(setenv("RELMC_DATA", RELMC_SHARED_DATA, 1), 0);
}

static void pima(void **state)
{
    struct dataset train, test;
    size_t n_ill = 0;

    (void)state;
    need_shared("pima.csv");
    assert_int_equal(dataset_read(&train, "relmc", "pima", NULL), 0);
    assert_int_equal(train.n_rows, 768);
    assert_int_equal(train.n_columns, 8);
    assert_int_equal(train.n_classes, 2);
    assert_int_equal(dataset_split(&train, &test, 216, 1, "relmc"), 0);
    assert_int_equal(train.n_rows, 552);
    for (size_t i = 0; i < test.n_rows; i++) {
        n_ill += test.y[i] == 1.0;
    }
    assert_int_equal(n_ill, 75); /* 216 x 268 / 768 = 75.4 */
    dataset_clear(&train);
    dataset_clear(&test);
}

static void mnist(void **state)
{
    /* the published numbers of each digit */
    static const size_t counts[] = {5923, 6742, 5958, 6131, 5842,
                                    5421, 5918, 6265, 5851, 5949};
    struct dataset train, test;
    size_t got[10] = {0};
    double sum = 0.0;

    (void)state;
    need_shared("mnist/train-images-idx3-ubyte.gz");
#ifndef RELMC_HAS_ZLIB
    skip();
#endif
    assert_int_equal(dataset_read(&train, "relmc", "mnist", NULL), 0);
    const struct dataset_options like = {.like = &train};
    assert_int_equal(dataset_read(&test, "relmc", "mnist-test", &like), 0);
    assert_int_equal(train.n_rows, 60000);
    assert_int_equal(test.n_rows, 10000);
    assert_int_equal(train.n_columns, 784);
    assert_int_equal(test.n_classes, 10);
    for (size_t i = 0; i < 60000; i++) {
        got[(size_t)train.y[i]]++;
    }
    assert_memory_equal(got, counts, sizeof counts);
    for (size_t k = 0; k < (size_t)60000 * 784; k++) {
        sum += (double)train.x_float[k];
    }
    check_near(sum / 60000 / 784 / 255, 0.1307, 5e-5);
    dataset_clear(&train);
    dataset_clear(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_plain),      cmocka_unit_test(csv_dialects),
        cmocka_unit_test(csv_quotes),     cmocka_unit_test(csv_header),
        cmocka_unit_test(csv_response),   cmocka_unit_test(csv_text),
        cmocka_unit_test(csv_classes),    cmocka_unit_test(csv_bad),
        cmocka_unit_test(csv_limits),     cmocka_unit_test(idx_types),
        cmocka_unit_test(idx_bad),        cmocka_unit_test(npy_types),
        cmocka_unit_test(npy_fortran),    cmocka_unit_test(npy_bad),
        cmocka_unit_test(gzip_files),     cmocka_unit_test(split_sizes),
        cmocka_unit_test(split_strata),   cmocka_unit_test(split_seeds),
        cmocka_unit_test(split_uniform),  cmocka_unit_test(scale_sd),
        cmocka_unit_test(scale_constant), cmocka_unit_test(scale_others),
        cmocka_unit_test(columns),        cmocka_unit_test(pima),
        cmocka_unit_test(mnist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
