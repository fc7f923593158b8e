/* csv_records.c - the records of a CSV file, cut into fields: quotes, separators and line
 * ends of any kind. */
#define _POSIX_C_SOURCE 200809L

#include "data/csv_records.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RECORD = 1 << 28, END = -1 };

int csv_records_bad_line(const struct csv_records *c, size_t line,
                         const char *why)
{
    return cli_fail(CLI_MODEL, c->from->who, "%s:%zu: %s", c->from->path, line,
                    why);
}

void csv_records_clear(struct csv_records *c)
{
    free(c->text);
    free(c->starts);
}

/* The next byte, which stays; END after the last. */
static int peek_byte(struct csv_records *c, int *byte)
{
    const int code = input_stream_at_hand(c->from) > 0
                         ? CLI_OK
                         : input_stream_peek(c->from, 1);

    *byte = !code && input_stream_at_hand(c->from) > 0
                ? c->from->block[c->from->begin]
                : END;
    return code;
}

static int put(struct csv_records *c, const unsigned char *bytes, size_t n)
{
    if (c->room - c->n < n + 1) {
        const size_t room = 2 * (c->n + n) + 256;
        char *grown = c->n + n < MAX_RECORD ? realloc(c->text, room) : NULL;

        if (!grown) {
            return csv_records_bad_line(c, c->line,
                                        "a line of more than 256 MB: this is "
                                        "no table");
        }
        c->text = grown;
        c->room = room;
    }
    if (n > 0) {
        memcpy(c->text + c->n, bytes, n);
    }
    c->n += n;
    c->text[c->n] = '\0';
    return CLI_OK;
}

static int start_field(struct csv_records *c)
{
    if (c->n_fields == c->fields_room) {
        const size_t room = 2 * c->fields_room + 64;
        size_t *grown = realloc(c->starts, room * sizeof *grown);

        if (!grown) {
            return cli_fail(CLI_NUMERIC, c->from->who, "%s: out of memory",
                            c->from->path);
        }
        c->starts = grown;
        c->fields_room = room;
    }
    c->starts[c->n_fields++] = c->n;
    return put(c, NULL, 0);
}

static bool is_blank(const struct csv_records *c, int byte)
{
    return byte == ' ' || (byte == '\t' && c->separator != '\t');
}

static int skip_blanks(struct csv_records *c, int *byte)
{
    int code = peek_byte(c, byte);

    while (!code && is_blank(c, *byte)) {
        input_stream_skip(c->from, 1);
        code = peek_byte(c, byte);
    }
    return code;
}

/* Up to a separator, a line end, or the end of what is at hand. */
static int take_run(struct csv_records *c)
{
    const unsigned char *start = c->from->block + c->from->begin;
    const size_t most = input_stream_at_hand(c->from);
    size_t n = 0;

    while (n < most && start[n] != c->separator && start[n] != '\n' &&
           start[n] != '\r' && start[n] != '\0') {
        n++;
    }
    if (n < most && start[n] == '\0') {
        return csv_records_bad_line(c, c->next_line,
                                    "a zero byte: this is no table of "
                                    "text (UTF-16? save it as UTF-8)");
    }
    const int code = put(c, start, n);
    input_stream_skip(c->from, n);
    return code;
}

static int read_plain(struct csv_records *c)
{
    int byte = END;
    int code = CLI_OK;

    do {
        if ((code = take_run(c))) {
            return code;
        }
        code = peek_byte(c, &byte);
    } while (!code && byte != END && byte != c->separator && byte != '\n' &&
             byte != '\r');
    while (c->n > c->starts[c->n_fields - 1] &&
           is_blank(c, c->text[c->n - 1])) {
        c->text[--c->n] = '\0';
    }
    return code;
}

/* The opening quote is gone; "" stands for one. */
static int read_quoted(struct csv_records *c)
{
    const size_t line = c->next_line;
    int byte = END;
    int code;

    while (!(code = peek_byte(c, &byte))) {
        if (byte == END || byte == 0) {
            return csv_records_bad_line(
                c, line,
                byte == 0 ? "a zero byte: this is no table of "
                            "text"
                          : "a quote that is opened here is "
                            "never closed");
        }
        input_stream_skip(c->from, 1);
        if (byte == '"') {
            if ((code = peek_byte(c, &byte)) || byte != '"') {
                break;
            }
            input_stream_skip(c->from, 1);
        }
        c->next_line += byte == '\n';
        const unsigned char one = (unsigned char)byte;
        if ((code = put(c, &one, 1))) {
            break;
        }
    }
    return code ? code : skip_blanks(c, &byte);
}

/* A field and the byte that ends it: separator, newline or END. */
static int read_field(struct csv_records *c, int *end)
{
    int code = start_field(c);

    if (code || (code = skip_blanks(c, end))) {
        return code;
    }
    if (*end == '"') {
        input_stream_skip(c->from, 1);
        code = read_quoted(c);
    } else {
        code = read_plain(c);
    }
    if (code || (code = peek_byte(c, end))) {
        return code;
    }
    if (*end != END && *end != c->separator && *end != '\n' && *end != '\r') {
        return csv_records_bad_line(c, c->next_line,
                                    "text behind a closing quote");
    }
    c->n++; /* the zero belongs to the field */
    input_stream_skip(c->from, *end != END);
    return CLI_OK;
}

/* One record; a carriage return ends it, too, with or without newline. */
static int read_line(struct csv_records *c)
{
    int end = c->separator;
    int code = CLI_OK;

    c->n = c->n_fields = 0;
    c->line = c->next_line;
    while (!code && end == c->separator) {
        code = read_field(c, &end);
    }
    if (!code && end == '\r') {
        int byte = END;

        code = peek_byte(c, &byte);
        input_stream_skip(c->from, byte == '\n');
    }
    c->next_line++;
    c->is_end = end == END && c->n_fields == 1 && c->n == 1;
    return code;
}

const char *csv_records_field(const struct csv_records *c, size_t j)
{
    return c->text + c->starts[j];
}

int csv_records_next(struct csv_records *c)
{
    int code;

    do {
        code = read_line(c);
    } while (!code && !c->is_end && c->n_fields == 1 && c->n == 1);
    return code;
}

/* ---- the start of the file ----------------------------------------------- */

/* Skips the byte-order mark of UTF-8.  The separator is what the first line has most
 * of. */
int csv_records_begin(struct csv_records *c)
{
    static const char candidates[] = ",;\t";
    size_t counts[3] = {0};
    bool is_quoted = false;
    const int code = input_stream_peek(c->from, INPUT_STREAM_ROOM);

    c->next_line = 1;
    if (code) {
        return code;
    }
    if (input_stream_at_hand(c->from) >= 3 &&
        !memcmp(c->from->block + c->from->begin, "\xef\xbb\xbf", 3)) {
        input_stream_skip(c->from, 3);
    }
    const unsigned char *start = c->from->block + c->from->begin;
    size_t n = input_stream_at_hand(c->from);
    while (n > 0 && (*start == '\n' || *start == '\r')) {
        start++;
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        const char *found =
            start[i] ? strchr(candidates, (char)start[i]) : NULL;

        is_quoted ^= start[i] == '"';
        if (!is_quoted && (start[i] == '\n' || start[i] == '\r')) {
            break;
        }
        counts[found ? found - candidates : 0] += found && !is_quoted;
    }
    c->separator = ',';
    for (size_t k = 1, best = 0; k < 3; k++) {
        if (counts[k] > counts[best]) {
            best = k;
            c->separator = (unsigned char)candidates[k];
        }
    }
    return CLI_OK;
}
