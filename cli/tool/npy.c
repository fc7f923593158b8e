/*
 * npy.c - arrays of numbers in files of NumPy's format, version 1.0: a magic
 * word, the length of the header in two bytes, the header, which is the text of a
 * Python dictionary, and the numbers.
 */
#define _POSIX_C_SOURCE 200809L

#include "tool/npy.h"

#include "tool/atomic_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX = 10, ALIGNMENT = 64, MOST_HEADER = 4096 };

static const char magic[] = "\x93NUMPY\x01";

/* Numbers in files have their lowest byte first. */
static bool is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char low;

    memcpy(&low, &one, 1);
    return low == 1;
}

int npy_write(const char *path, const char *who, size_t n_rows,
              size_t n_columns, const double *values)
{
    struct atomic_file out;
    int code = atomic_file_open(&out, who, path);

    if (code) {
        return code;
    }
    char *text = cli_text(
        "{'descr': '%cf8', 'fortran_order': False, 'shape': (%zu, %zu), }",
        is_little_endian() ? '<' : '>', n_rows, n_columns);
    const size_t used = PREFIX + strlen(text) + 1;
    const size_t pad = (ALIGNMENT - used % ALIGNMENT) % ALIGNMENT;
    const size_t length = strlen(text) + pad + 1;

    (void)fwrite(magic, 1, sizeof magic - 1, out.file);
    (void)fputc(0, out.file);
    (void)fputc((int)(length & 255), out.file);
    (void)fputc((int)(length >> 8), out.file);
    (void)fprintf(out.file, "%s%*s\n", text, (int)pad, "");
    (void)fwrite(values, sizeof(double), n_rows * n_columns, out.file);
    free(text);
    return atomic_file_close(&out);
}

/* ---- reading ------------------------------------------------------------- */

struct header {
    char kind; /* 4 or 8: bytes of a number */
    size_t shape[2];
    int n_shape;
};

/* The text behind a key of the dictionary, or NULL. */
static const char *find_key(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    const char *colon = at ? strchr(at, ':') : NULL;

    return colon ? colon + 1 + strspn(colon + 1, " ") : NULL;
}

static bool read_shape(struct header *h, const char *at)
{
    if (!at || *at++ != '(') {
        return false;
    }
    while (*at && *at != ')') {
        char *end = NULL;
        const unsigned long long n = strtoull(at, &end, 10);

        if (end == at || h->n_shape == 2 || n == 0 || n > SIZE_MAX / 16) {
            return false;
        }
        h->shape[h->n_shape++] = (size_t)n;
        at = end + strspn(end, ", ");
    }
    return h->n_shape > 0;
}

static bool read_header(struct header *h, const char *text)
{
    const char *type = find_key(text, "'descr'");
    const char *order = find_key(text, "'fortran_order'");
    const char little = is_little_endian() ? '<' : '>';

    *h = (struct header){0};
    if (!type || type[0] != '\'' || type[1] != little || type[2] != 'f' ||
        !strchr("48", type[3]) || !order || strncmp(order, "False", 5) != 0) {
        return false;
    }
    h->kind = type[3];
    return read_shape(h, find_key(text, "'shape'"));
}

static char *read_text(FILE *file)
{
    unsigned char prefix[PREFIX];

    if (fread(prefix, 1, PREFIX, file) != PREFIX ||
        memcmp(prefix, magic, sizeof magic - 1) != 0) {
        return NULL;
    }
    const size_t length = prefix[8] + 256u * prefix[9];
    char *text = cli_alloc(length + 1, 1);
    if (length > MOST_HEADER || fread(text, 1, length, file) != length) {
        free(text);
        return NULL;
    }
    return text;
}

static bool read_values(struct npy *out, FILE *file, char kind)
{
    const size_t n = out->n_rows * out->n_columns;

    out->values = calloc(n, sizeof *out->values);
    if (!out->values) {
        return false;
    }
    if (kind == '8') {
        return fread(out->values, sizeof *out->values, n, file) == n;
    }
    for (size_t i = 0; i < n; i++) {
        float value;

        if (fread(&value, sizeof value, 1, file) != 1) {
            return false;
        }
        out->values[i] = (double)value;
    }
    return true;
}

int npy_read(struct npy *out, const char *path, const char *who)
{
    FILE *file = fopen(path, "rb");
    struct header h;

    *out = (struct npy){0};
    if (!file) {
        return cli_fail(CLI_IO, who, "cannot read %s: %s", path,
                        strerror(errno));
    }
    char *text = read_text(file);
    bool is_fine = text && read_header(&h, text);
    if (is_fine &&
        (h.n_shape == 1 || h.shape[0] <= SIZE_MAX / 16 / h.shape[1])) {
        out->n_rows = h.n_shape == 2 ? h.shape[0] : 1;
        out->n_columns = h.shape[h.n_shape - 1];
        is_fine = read_values(out, file, h.kind) && fgetc(file) == EOF;
    } else {
        is_fine = false;
    }
    free(text);
    (void)fclose(file);
    if (!is_fine) {
        free(out->values);
        *out = (struct npy){0};
        return cli_fail(CLI_MODEL, who,
                        "%s: not a whole npy file of float64 or float32 "
                        "numbers in one or two dimensions and C order",
                        path);
    }
    return CLI_OK;
}
