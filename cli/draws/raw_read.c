/* raw_read.c - reads a chain from the plain numbers that the sink "raw" writes; the
 * layout is in relmc_format.h. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_ops.h"
#include "relmc_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What stands where in the file. */
struct raw_layout {
    uint64_t body, warmup_rows, adaptation, draws_at, rows, end;
    uint64_t text; /* bytes of the configuration and the names */
};

enum { MAX_TEXT = 1 << 29, BLOCK = 1 << 18 };

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

static int damaged(const struct chain_file *chain, const char *what)
{
    return chain_fail(chain, CLI_MODEL, "%s: damaged, or no file of relmc: %s",
                      chain->path, what);
}

static uint64_t row_bytes(const struct chain_file *chain)
{
    return (uint64_t)chain->n_columns * sizeof(double);
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
    chain_note(ctx, line, n);
    return CLI_OK;
}

static int on_lines(struct chain_file *chain, FILE *stream, uint64_t at,
                    uint64_t bytes, void *ctx,
                    int (*fn)(void *ctx, const char *line, size_t n))
{
    char *text = read_part(stream, at, (size_t)bytes);

    if (!text) {
        return chain_fail_read(chain);
    }
    const int code = each_line(text, (size_t)bytes, ctx, fn);
    free(text);
    return code;
}

static uint64_t adaptation_at(const struct chain_file *chain)
{
    const struct raw_layout *raw = chain->own;

    return raw->body + raw->warmup_rows * row_bytes(chain);
}

static uint64_t ending_at(const struct chain_file *chain)
{
    const struct raw_layout *raw = chain->own;

    return raw->draws_at + raw->rows * row_bytes(chain);
}

/* A run that is still in warm-up has rows of warm-up only, and behind them there
 * may be the beginning of what adaptation found. */
static void count_warmup(struct chain_file *chain, bool has_ended)
{
    struct raw_layout *raw = chain->own;
    const uint64_t there = (raw->end - raw->body) / row_bytes(chain);
    const uint64_t promised =
        has_ended ? raw->warmup_rows : chain_warmup_rows(chain);

    raw->warmup_rows = there < promised ? there : promised;
    raw->adaptation = 0;
    raw->draws_at = raw->body + raw->warmup_rows * row_bytes(chain);
    raw->rows = 0;
    raw->end = raw->draws_at;
}

/* As many draws as are there; a remark counts those that are missing. */
static void count_draws(struct chain_file *chain, uint64_t promised)
{
    struct raw_layout *raw = chain->own;
    const uint64_t there = (raw->end - raw->draws_at) / row_bytes(chain);

    raw->rows = there < promised ? there : promised;
    if (promised != UINT64_MAX && there < promised) {
        chain->remark =
            cli_text("%s is cut off: of %llu draws %llu are there", chain->path,
                     (unsigned long long)promised, (unsigned long long)there);
    } else if (promised == UINT64_MAX &&
               (raw->end - raw->draws_at) % row_bytes(chain) != 0) {
        chain->remark = cli_text("%s ends in the middle of a draw: the %llu "
                                 "before it are used",
                                 chain->path, (unsigned long long)there);
    }
    if (promised == UINT64_MAX || there < promised) {
        raw->end = ending_at(chain); /* no times follow */
    }
}

static int settle(struct chain_file *chain, uint64_t promised)
{
    struct raw_layout *raw = chain->own;
    const uint64_t room = raw->end - raw->body;

    if (raw->draws_at == 0) {
        count_warmup(chain, promised != UINT64_MAX);
    } else if (raw->warmup_rows > room / row_bytes(chain) ||
               raw->adaptation > room || raw->draws_at > raw->end ||
               raw->draws_at !=
                   adaptation_at(chain) + (raw->adaptation + 7) / 8 * 8) {
        return damaged(chain, "its head and its length do not agree");
    } else {
        count_draws(chain, promised);
    }
    if (raw->rows > SIZE_MAX / 2 || raw->end - ending_at(chain) > MAX_TEXT) {
        return damaged(chain, "too much text follows the draws");
    }
    return CLI_OK;
}

static int take_notes(struct chain_file *chain, FILE *stream)
{
    const struct raw_layout *raw = chain->own;
    const uint64_t first = raw->adaptation < 4096 ? raw->adaptation : 4096;
    int code;

    chain_forget(chain);
    code =
        on_lines(chain, stream, adaptation_at(chain), first, chain, take_note);
    if (!code) {
        code = on_lines(chain, stream, ending_at(chain),
                        raw->end - ending_at(chain), chain, take_note);
    }
    chain->n_rows = (size_t)raw->rows;
    chain->n_warmup_rows = (size_t)raw->warmup_rows;
    return code;
}

/* ---- opening ------------------------------------------------------------------ */

/* The text is what a CSV file begins with. */
static int read_text(struct chain_file *chain, FILE *stream)
{
    const struct raw_layout *raw = chain->own;
    char *text = read_part(stream, RELMC_RAW_HEAD, (size_t)raw->text);
    const int code = text ? csv_read_head(chain, text, (size_t)raw->text)
                          : chain_fail_read(chain);

    chain->head_at = RELMC_RAW_HEAD;
    chain->head_bytes = raw->text;
    free(text);
    return code;
}

/* The first bytes, into the layout. */
static int read_layout(struct chain_file *chain, FILE *stream,
                       const unsigned char head[RELMC_RAW_HEAD])
{
    const uint64_t version = get_count(head + RELMC_RAW_AT_VERSION, 4);
    struct raw_layout *raw = chain->own;

    if (version != RELMC_RAW_VERSION) {
        return chain_fail(chain, CLI_MODEL,
                          "%s: version %llu of the format; this relmc "
                          "reads version %d",
                          chain->path, (unsigned long long)version,
                          (int)RELMC_RAW_VERSION);
    }
    if (fseeko(stream, 0, SEEK_END)) {
        return chain_fail_read(chain);
    }
    *raw = (struct raw_layout){
        .body = get_count(head + RELMC_RAW_AT_BODY, 8),
        .warmup_rows = get_count(head + RELMC_RAW_AT_WARMUP, 8),
        .draws_at = get_count(head + RELMC_RAW_AT_DRAWS, 8),
        .text = get_count(head + RELMC_RAW_AT_TEXT, 8),
        .adaptation = get_count(head + RELMC_RAW_AT_ADAPTATION, 8),
        .end = (uint64_t)ftello(stream),
    };
    return raw->text == 0 || raw->text > MAX_TEXT || raw->body > raw->end ||
                   raw->body < RELMC_RAW_HEAD + raw->text
               ? damaged(chain, "its head and its length do not agree")
               : CLI_OK;
}

int raw_open_stream(struct chain_file *chain, FILE *stream)
{
    unsigned char head[RELMC_RAW_HEAD];
    int code;

    chain->own = cli_alloc(1, sizeof(struct raw_layout));
    errno = 0;
    if (fread(head, 1, sizeof head, stream) != sizeof head ||
        memcmp(head, RELMC_RAW_MAGIC, CHAIN_MAGIC) != 0) {
        return damaged(chain, "its first bytes are not there");
    }
    if ((code = read_layout(chain, stream, head)) ||
        (code = read_text(chain, stream))) {
        return code;
    }
    if (chain->n_columns != get_count(head + RELMC_RAW_AT_COLUMNS, 4)) {
        return damaged(chain, "its head and its names do not agree");
    }
    code = settle(chain, get_count(head + RELMC_RAW_AT_ROWS, 8));
    return code ? code : take_notes(chain, stream);
}

static int open_raw(struct chain_file *chain, size_t k)
{
    FILE *stream = fopen(chain->path, "rb");

    (void)k; /* one chain in a file */
    if (!stream) {
        return chain_fail_read(chain);
    }
    const int code = raw_open_stream(chain, stream);
    chain->bytes = ((struct raw_layout *)chain->own)->end;
    (void)fclose(stream);
    return code;
}

static void clear_raw(struct chain_file *chain)
{
    free(chain->own);
    chain->own = NULL;
}

/* ---- rows --------------------------------------------------------------------- */

static int show_rows(struct chain_file *chain, FILE *stream, uint64_t at,
                     uint64_t n_rows, const struct chain_visitor *v)
{
    const uint64_t bytes = row_bytes(chain);
    const size_t at_a_time = bytes < BLOCK ? (size_t)(BLOCK / bytes) : 1;
    unsigned char *block = cli_alloc(at_a_time, (size_t)bytes);
    double *row = cli_alloc(chain->n_columns, sizeof *row);
    int code =
        fseeko(stream, (off_t)at, SEEK_SET) ? chain_fail_read(chain) : CLI_OK;

    for (uint64_t t = 0; t < n_rows && !code;) {
        const size_t n =
            n_rows - t < at_a_time ? (size_t)(n_rows - t) : at_a_time;

        errno = 0;
        if (fread(block, (size_t)bytes, n, stream) != n) {
            code = chain_fail_read(chain);
        }
        for (size_t i = 0; i < n && !code; i++) {
            take_doubles(row, block + i * bytes, chain->n_columns);
            code = v->row(v->ctx, row);
        }
        t += n;
        if (chain->tick) {
            chain->tick(chain->tick_ctx, at + t * bytes);
        }
    }
    free(row);
    free(block);
    return code;
}

int raw_visit_stream(struct chain_file *chain, FILE *stream,
                     const struct chain_visitor *visitor)
{
    const struct raw_layout *raw = chain->own;
    int code = CLI_OK;

    if (!visitor->skips_warmup) {
        code = show_rows(chain, stream, raw->body, raw->warmup_rows, visitor);
    }
    if (!code && visitor->comment) {
        code = on_lines(chain, stream, adaptation_at(chain), raw->adaptation,
                        visitor->ctx, visitor->comment);
    }
    if (!code) {
        code = show_rows(chain, stream, raw->draws_at, raw->rows, visitor);
    }
    if (!code && visitor->comment) {
        code = on_lines(chain, stream, ending_at(chain),
                        raw->end - ending_at(chain), visitor->ctx,
                        visitor->comment);
    }
    return code;
}

static int visit_raw(struct chain_file *chain,
                     const struct chain_visitor *visitor)
{
    FILE *stream = fopen(chain->path, "rb");

    if (!stream) {
        return chain_fail_read(chain);
    }
    const int code = raw_visit_stream(chain, stream, visitor);
    (void)fclose(stream);
    return code;
}

const struct chain_ops chain_raw = {
    .suffix = ".rmc",
    .magic = RELMC_RAW_MAGIC,
    .open = open_raw,
    .read = chain_read_known,
    .visit = visit_raw,
    .clear = clear_raw,
    .write = raw_write,
};
