/*
 * dataset_array.c - readers of IDX, npy and gzip files read every type of number and refuse
 * files that are cut or damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/dataset.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#ifdef RELMC_HAS_ZLIB
#include <zlib.h>
#endif

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idx_types), cmocka_unit_test(idx_bad),
        cmocka_unit_test(npy_types), cmocka_unit_test(npy_fortran),
        cmocka_unit_test(npy_bad),   cmocka_unit_test(gzip_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
