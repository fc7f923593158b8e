/* raw_read.c - reads a chain from the plain numbers that the sink "raw" writes; the
 * layout is in docs/formats.md. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_file.h"
#include "relmc_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_TEXT = 1 << 29, BLOCK = 1 << 18 };

bool raw_is_it(const char start[CHAIN_MAGIC])
{
    return !memcmp(start, RELMC_RAW_MAGIC, CHAIN_MAGIC);
}

static uint64_t get_count(const unsigned char *from, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++) {
        value |= (uint64_t)from[i] << (8 * i);
    }
    return value;
}

static bool is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first;
}

/* Numbers as they stand in the file, to those of this machine. */
static void take_doubles(double *to, const unsigned char *from, size_t n)
{
    if (is_little_endian()) {
        memcpy(to, from, n * sizeof *to);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = get_count(from + 8 * i, 8);

        memcpy(&to[i], &bits, sizeof *to);
    }
}

static int cannot_read(const struct stan_csv *csv)
{
    return stan_csv_fail(csv, CLI_IO, "cannot read %s: %s", csv->path,
                         strerror(errno ? errno : EIO));
}

static int damaged(const struct stan_csv *csv, const char *what)
{
    return stan_csv_fail(csv, CLI_MODEL, "%s: damaged, or no file of relmc: %s",
                         csv->path, what);
}

static uint64_t row_bytes(const struct stan_csv *csv)
{
    return (uint64_t)csv->n_columns * sizeof(double);
}

/* ---- what is where ------------------------------------------------------------ */

/* `bytes` of the file from `at` on; yours, or NULL. */
static char *read_part(FILE *stream, uint64_t at, size_t bytes)
{
    char *part = malloc(bytes + 1);

    errno = 0;
    if (part && (fseeko(stream, (off_t)at, SEEK_SET) ||
                 fread(part, 1, bytes, stream) != bytes)) {
        free(part);
        part = NULL;
    }
    if (part) {
        part[bytes] = '\0';
    }
    return part;
}

/* Calls for every line of the text, until one returns something. */
static int each_line(const char *text, size_t bytes, void *ctx,
                     int (*fn)(void *ctx, const char *line, size_t n))
{
    int code = CLI_OK;

    for (size_t i = 0; i < bytes && !code;) {
        const char *newline = memchr(text + i, '\n', bytes - i);
        const size_t n = newline ? (size_t)(newline - text) - i : bytes - i;

        if (n > 0 && text[i] == '#') {
            code = fn(ctx, text + i, n);
        }
        i += n + 1;
    }
    return code;
}

static int take_note(void *ctx, const char *line, size_t n)
{
    stan_csv_note(ctx, line, n);
    return CLI_OK;
}

static int on_lines(struct stan_csv *csv, FILE *stream, uint64_t at,
                    uint64_t bytes, void *ctx,
                    int (*fn)(void *ctx, const char *line, size_t n))
{
    char *text = read_part(stream, at, (size_t)bytes);

    if (!text) {
        return cannot_read(csv);
    }
    const int code = each_line(text, (size_t)bytes, ctx, fn);
    free(text);
    return code;
}

static uint64_t adaptation_at(const struct stan_csv *csv)
{
    return csv->raw.body + csv->raw.warmup_rows * row_bytes(csv);
}

static uint64_t ending_at(const struct stan_csv *csv)
{
    return csv->raw.draws_at + csv->raw.rows * row_bytes(csv);
}

/* A run that is still in warm-up has rows of warm-up only, and behind them there
 * may be the beginning of what adaptation found. */
static void count_warmup(struct stan_csv *csv, bool has_ended)
{
    struct raw_layout *raw = &csv->raw;
    const uint64_t there = (raw->end - raw->body) / row_bytes(csv);
    const uint64_t promised =
        has_ended ? raw->warmup_rows : stan_csv_warmup_rows(csv);

    raw->warmup_rows = there < promised ? there : promised;
    raw->adaptation = 0;
    raw->draws_at = raw->body + raw->warmup_rows * row_bytes(csv);
    raw->rows = 0;
    raw->end = raw->draws_at;
}

/* As many draws as are there; those that are missing are told of. */
static void count_draws(struct stan_csv *csv, uint64_t promised)
{
    struct raw_layout *raw = &csv->raw;
    const uint64_t there = (raw->end - raw->draws_at) / row_bytes(csv);

    raw->rows = there < promised ? there : promised;
    if (promised != UINT64_MAX && there < promised) {
        csv->remark =
            cli_text("%s is cut off: of %llu draws %llu are there", csv->path,
                     (unsigned long long)promised, (unsigned long long)there);
    } else if (promised == UINT64_MAX &&
               (raw->end - raw->draws_at) % row_bytes(csv) != 0) {
        csv->remark = cli_text("%s ends in the middle of a draw: the %llu "
                               "before it are used",
                               csv->path, (unsigned long long)there);
    }
    if (promised == UINT64_MAX || there < promised) {
        raw->end = ending_at(csv); /* no times follow */
    }
}

static int settle(struct stan_csv *csv, uint64_t promised)
{
    struct raw_layout *raw = &csv->raw;
    const uint64_t room = raw->end - raw->body;

    if (raw->draws_at == 0) {
        count_warmup(csv, promised != UINT64_MAX);
    } else if (raw->warmup_rows > room / row_bytes(csv) ||
               raw->adaptation > room || raw->draws_at > raw->end ||
               raw->draws_at !=
                   adaptation_at(csv) + (raw->adaptation + 7) / 8 * 8) {
        return damaged(csv, "its head and its length do not agree");
    } else {
        count_draws(csv, promised);
    }
    if (raw->rows > SIZE_MAX / 2 || raw->end - ending_at(csv) > MAX_TEXT) {
        return damaged(csv, "there is much behind the draws");
    }
    return CLI_OK;
}

static int take_notes(struct stan_csv *csv, FILE *stream)
{
    const struct raw_layout *raw = &csv->raw;
    const uint64_t first = raw->adaptation < 4096 ? raw->adaptation : 4096;
    int code;

    stan_csv_forget(csv);
    code = on_lines(csv, stream, adaptation_at(csv), first, csv, take_note);
    if (!code) {
        code = on_lines(csv, stream, ending_at(csv), raw->end - ending_at(csv),
                        csv, take_note);
    }
    csv->n_rows = (size_t)raw->rows;
    csv->n_warmup_rows = (size_t)raw->warmup_rows;
    return code;
}

/* ---- opening ------------------------------------------------------------------ */

/* The text is what a CSV file begins with. */
static int read_text(struct stan_csv *csv, FILE *stream, const char *path,
                     char message[CSV_MESSAGE])
{
    const struct raw_layout raw = csv->raw;
    char *text = read_part(stream, RELMC_RAW_HEAD, (size_t)raw.text);
    FILE *lines = text ? fmemopen(text, (size_t)raw.text, "r") : NULL;
    int code;

    if (!lines) {
        code = cannot_read(csv);
    } else {
        free(csv->path);
        code = stan_csv_open_stream(csv, lines, path, message);
        stan_csv_close(csv);
        csv->raw = raw;
    }
    free(text);
    return code;
}

int raw_open_stream(struct stan_csv *csv, FILE *stream, const char *path,
                    char message[CSV_MESSAGE])
{
    unsigned char head[RELMC_RAW_HEAD];
    int code;

    *csv = (struct stan_csv){.path = cli_text("%s", path), .message = message};
    errno = 0;
    if (fread(head, 1, sizeof head, stream) != sizeof head ||
        memcmp(head, RELMC_RAW_MAGIC, CHAIN_MAGIC) != 0) {
        return damaged(csv, "its first bytes are not there");
    }
    const uint64_t version = get_count(head + RELMC_RAW_AT_VERSION, 4);
    if (version != RELMC_RAW_VERSION) {
        return stan_csv_fail(csv, CLI_MODEL,
                             "%s: version %llu of the format; this relmc "
                             "reads version %d",
                             path, (unsigned long long)version,
                             (int)RELMC_RAW_VERSION);
    }
    if (fseeko(stream, 0, SEEK_END)) {
        return cannot_read(csv);
    }
    csv->raw = (struct raw_layout){
        .body = get_count(head + RELMC_RAW_AT_BODY, 8),
        .warmup_rows = get_count(head + RELMC_RAW_AT_WARMUP, 8),
        .draws_at = get_count(head + RELMC_RAW_AT_DRAWS, 8),
        .text = get_count(head + RELMC_RAW_AT_TEXT, 8),
        .adaptation = get_count(head + RELMC_RAW_AT_ADAPTATION, 8),
        .end = (uint64_t)ftello(stream),
    };
    if (csv->raw.text == 0 || csv->raw.text > MAX_TEXT ||
        csv->raw.body > csv->raw.end ||
        csv->raw.body < RELMC_RAW_HEAD + csv->raw.text) {
        return damaged(csv, "its head and its length do not agree");
    }
    if ((code = read_text(csv, stream, path, message))) {
        return code;
    }
    if (csv->n_columns != get_count(head + RELMC_RAW_AT_COLUMNS, 4)) {
        return damaged(csv, "its head and its names do not agree");
    }
    code = settle(csv, get_count(head + RELMC_RAW_AT_ROWS, 8));
    return code ? code : take_notes(csv, stream);
}

int raw_open(struct stan_csv *csv, const char *path, char message[CSV_MESSAGE])
{
    FILE *stream = fopen(path, "rb");

    if (!stream) {
        *csv =
            (struct stan_csv){.path = cli_text("%s", path), .message = message};
        return cannot_read(csv);
    }
    const int code = raw_open_stream(csv, stream, path, message);
    csv->bytes = csv->raw.end;
    (void)fclose(stream);
    return code;
}

/* ---- rows --------------------------------------------------------------------- */

static int show_rows(struct stan_csv *csv, FILE *stream, uint64_t at,
                     uint64_t n_rows, const struct chain_visitor *v)
{
    const uint64_t bytes = row_bytes(csv);
    const size_t at_a_time = bytes < BLOCK ? (size_t)(BLOCK / bytes) : 1;
    unsigned char *block = cli_alloc(at_a_time, (size_t)bytes);
    double *row = cli_alloc(csv->n_columns, sizeof *row);
    int code = fseeko(stream, (off_t)at, SEEK_SET) ? cannot_read(csv) : CLI_OK;

    for (uint64_t t = 0; t < n_rows && !code;) {
        const size_t n =
            n_rows - t < at_a_time ? (size_t)(n_rows - t) : at_a_time;

        errno = 0;
        if (fread(block, (size_t)bytes, n, stream) != n) {
            code = cannot_read(csv);
        }
        for (size_t i = 0; i < n && !code; i++) {
            take_doubles(row, block + i * bytes, csv->n_columns);
            code = v->row(v->ctx, row);
        }
        t += n;
        if (csv->tick) {
            csv->tick(csv->tick_ctx, at + t * bytes);
        }
    }
    free(row);
    free(block);
    return code;
}

int raw_visit(struct stan_csv *csv, FILE *stream,
              const struct chain_visitor *visitor)
{
    const struct raw_layout *raw = &csv->raw;
    int code = CLI_OK;

    if (!visitor->skips_warmup) {
        code = show_rows(csv, stream, raw->body, raw->warmup_rows, visitor);
    }
    if (!code && visitor->comment) {
        code = on_lines(csv, stream, adaptation_at(csv), raw->adaptation,
                        visitor->ctx, visitor->comment);
    }
    if (!code) {
        code = show_rows(csv, stream, raw->draws_at, raw->rows, visitor);
    }
    if (!code && visitor->comment) {
        code = on_lines(csv, stream, ending_at(csv), raw->end - ending_at(csv),
                        visitor->ctx, visitor->comment);
    }
    return code;
}
