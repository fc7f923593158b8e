/*
 * dataset.h - files that are written in memory and read as data, or refused with a message.
 * Include it after cmocka.h.
 */
#ifndef TESTS_UNIT_DATASET_H
#define TESTS_UNIT_DATASET_H

#include "support/messages.h"

#include "data/dataset.h"

#include <stdio.h>
#include <string.h>

/* ---- files from memory ------------------------------------------------------ */

struct blob {
    unsigned char bytes[32768];
    size_t n;
};

static inline void open_blob(struct input_stream *bytes, const void *data,
                             size_t n, const char *name, int *code)
{
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    rewind(file);
    *code = input_stream_open_file(bytes, file, name, "relmc");
}

static inline int read_two(struct dataset *out, const struct blob *x,
                           const struct blob *y,
                           const struct dataset_options *options)
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

static inline void put(struct blob *b, const void *data, size_t n)
{
    assert_true(b->n + n <= sizeof b->bytes);
    memcpy(b->bytes + b->n, data, n);
    b->n += n;
}

static inline int read_csv(struct dataset *out, const char *text,
                           const struct dataset_options *options)
{
    struct blob b = {.n = 0};

    put(&b, text, strlen(text));
    return read_two(out, &b, NULL, options);
}

/* Must fail with this code and message. */
static inline void fails(int code, const char *text,
                         const struct dataset_options *options,
                         const char *message)
{
    struct dataset set;
    const int got = read_csv(&set, text, options);

    if (got != code || !strstr(caught_text, message)) {
        print_error("%s\ncode %d, wanted %d: %s\nsaid: %s\n", text, got, code,
                    message, caught_text);
        fail();
    }
}

static inline void check_row(const struct dataset *set, size_t i, double a,
                             double b, double y)
{
    assert_true(dataset_at(set, i, 0) == a);
    assert_true(dataset_at(set, i, 1) == b);
    assert_true(set->y[i] == y);
}

#endif
