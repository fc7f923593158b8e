/* csv_read.c - reads a chain from a CSV file as CmdStan and relmc write it, block by
 * block; only the columns asked for are kept. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_ops.h"
#include "relmc_format.h"

#include "tool/parse_number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BLOCK = 1 << 18, MAX_LINE = 1 << 29 };

/* The place in the file. */
struct csv {
    struct chain_file *chain;
    FILE *stream;
    bool is_seekable;
    uint64_t consumed;
    char *block; /* bytes begin ... end are not used yet */
    size_t begin, end, room;
    size_t line; /* number of the last line */
    bool is_at_end;
    size_t row_room; /* of values */
    bool has_adapted;
};

/* A line without its end. */
struct line {
    char *text;
    size_t n;
    bool is_whole; /* a newline followed */
    bool is_end;   /* there is none any more */
};

/* ---- lines --------------------------------------------------------------- */

/* Text has no zero bytes; where is the first? */
static int check_bytes(const struct csv *csv, size_t from)
{
    const char *start = csv->block + csv->begin;
    const char *zero = memchr(csv->block + from, '\0', csv->end - from);
    size_t line = csv->line + 1;

    if (!zero) {
        return CLI_OK;
    }
    for (const char *s = start; s < zero; s++) {
        line += *s == '\n';
    }
    return chain_fail(csv->chain, CLI_MODEL,
                      "%s:%zu: a zero byte: this is no CSV file",
                      csv->chain->path, line);
}

/* More bytes behind those not used yet, which move to the front. */
static int refill(struct csv *csv)
{
    const size_t kept = csv->end - csv->begin;

    if (kept > 0 && csv->begin > 0) {
        memmove(csv->block, csv->block + csv->begin, kept);
    }
    csv->begin = 0;
    csv->end = kept;
    if (csv->room - kept < BLOCK) {
        const size_t room = 2 * kept + BLOCK;
        char *grown = kept < MAX_LINE ? realloc(csv->block, room) : NULL;

        if (!grown) {
            return chain_fail(
                csv->chain, CLI_MODEL,
                "%s:%zu: a line of more than %zu bytes: this is no "
                "CSV file",
                csv->chain->path, csv->line + 1, kept);
        }
        csv->block = grown;
        csv->room = room;
    }
    errno = 0;
    const size_t got =
        fread(csv->block + kept, 1, csv->room - kept, csv->stream);
    if (got == 0 && ferror(csv->stream)) {
        return chain_fail_read(csv->chain);
    }
    csv->is_at_end = got == 0;
    csv->end += got;
    csv->consumed += got;
    if (csv->chain->tick) {
        csv->chain->tick(csv->chain->tick_ctx, csv->consumed);
    }
    return check_bytes(csv, kept);
}

static int next_line(struct csv *csv, struct line *line)
{
    size_t seen = 0;
    const char *newline = NULL;

    while (!newline) {
        const size_t n = csv->end - csv->begin;

        if (n > seen) {
            newline = memchr(csv->block + csv->begin + seen, '\n', n - seen);
        }
        if (newline || csv->is_at_end) {
            break;
        }
        seen = n;
        const int code = refill(csv);
        if (code) {
            return code;
        }
    }
    *line = (struct line){.is_whole = newline != NULL};
    if (csv->block) {
        line->text = csv->block + csv->begin;
        line->n =
            newline ? (size_t)(newline - line->text) : csv->end - csv->begin;
    }
    line->is_end = !newline && line->n == 0;
    csv->begin += line->n + (newline ? 1 : 0);
    csv->line += !line->is_end;
    if (line->text && line->n > 0 && line->text[line->n - 1] == '\r') {
        line->n--;
    }
    return CLI_OK;
}

static bool is_empty(const struct line *line)
{
    const char *text = line->text;
    size_t n = line->n;

    chain_trim(&text, &n);
    return n == 0;
}

/* ---- the header ---------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int check_duplicates(const struct csv *csv)
{
    char **sorted = cli_alloc(csv->chain->n_columns, sizeof *sorted);
    const char *twin = NULL;

    memcpy(sorted, csv->chain->names, csv->chain->n_columns * sizeof *sorted);
    qsort(sorted, csv->chain->n_columns, sizeof *sorted, compare_names);
    for (size_t j = 1; j < csv->chain->n_columns && !twin; j++) {
        twin = strcmp(sorted[j - 1], sorted[j]) ? NULL : sorted[j];
    }
    free(sorted);
    return twin ? chain_fail(csv->chain, CLI_MODEL,
                             "%s:%zu: the header names column \"%.80s\" twice",
                             csv->chain->path, csv->line, twin)
                : CLI_OK;
}

static bool is_name(const char *name)
{
    double value;

    for (const char *s = name; *s; s++) {
        if ((unsigned char)*s < ' ' || *s == 0x7f) {
            return false;
        }
    }
    return *name && !parse_number(name, name + strlen(name), &value);
}

static int check_names(const struct csv *csv)
{
    for (size_t j = 0; j < csv->chain->n_columns; j++) {
        if (!is_name(csv->chain->names[j])) {
            return chain_fail(
                csv->chain, CLI_MODEL,
                "%s:%zu: not a header: column %zu is \"%.40s\" where "
                "a name such as lp__ or x.1 should be",
                csv->chain->path, csv->line, j + 1, csv->chain->names[j]);
        }
    }
    return check_duplicates(csv);
}

/* Cuts the line into names, without blanks and quotes around them. */
static int take_header(struct csv *csv, const struct line *line)
{
    if (!line->is_whole) {
        return chain_fail(csv->chain, CLI_MODEL,
                          "%s:%zu: the header is cut off, no draws follow",
                          csv->chain->path, csv->line);
    }
    csv->chain->header_line = csv->line;
    csv->chain->name_text = cli_text("%.*s", (int)line->n, line->text);
    csv->chain->n_columns = 1;
    for (size_t i = 0; i < line->n; i++) {
        csv->chain->n_columns += line->text[i] == ',';
    }
    csv->chain->names =
        cli_alloc(csv->chain->n_columns, sizeof *csv->chain->names);
    char *s = csv->chain->name_text;
    for (size_t j = 0; j < csv->chain->n_columns; j++) {
        char *next = s + strcspn(s, ",");
        const char *name = s;
        size_t n = (size_t)(next - s);

        chain_trim(&name, &n);
        if (n > 1 && name[0] == '"' && name[n - 1] == '"') {
            name++;
            n -= 2;
        }
        csv->chain->names[j] = s + (name - s);
        s = next + 1;
        csv->chain->names[j][n] = '\0';
    }
    return check_names(csv);
}

static int check_method(const struct csv *csv)
{
    static const char *const others[] = {"optimize", "variational",
                                         "diagnose", "pathfinder",
                                         "laplace",  "log_prob"};
    const char *method = chain_setting(csv->chain, RELMC_KEY_METHOD);

    for (size_t i = 0; method && i < sizeof others / sizeof *others; i++) {
        if (!strcmp(method, others[i])) {
            return chain_fail(
                csv->chain, CLI_MODEL,
                "%s: made by method = %s: these are no draws of a "
                "sampler",
                csv->chain->path, method);
        }
    }
    return CLI_OK;
}

static int read_head(struct csv *csv)
{
    struct line line;
    int code;

    while (!(code = next_line(csv, &line)) && !line.is_end) {
        if (csv->line == 1 && line.n > 1 && !memcmp(line.text, "\x1f\x8b", 2)) {
            return chain_fail(csv->chain, CLI_MODEL,
                              "%s:1: compressed: unpack it with gunzip first",
                              csv->chain->path);
        }
        if (csv->line == 1 && line.n > 0 &&
            (*line.text == '{' || *line.text == '[')) {
            return chain_fail(csv->chain, CLI_MODEL,
                              "%s: JSON, and no file of draws",
                              csv->chain->path);
        }
        if (line.n > 0 && *line.text == '#') {
            chain_take_setting(csv->chain, line.text, line.n);
        } else if (!is_empty(&line)) {
            code = take_header(csv, &line);
            csv->chain->head_bytes = csv->consumed - (csv->end - csv->begin);
            return code ? code : check_method(csv);
        }
    }
    if (code) {
        return code;
    }
    return csv->line
               ? chain_fail(csv->chain, CLI_MODEL,
                            "%s:%zu: the file ends without a header and draws",
                            csv->chain->path, csv->line)
               : chain_fail(csv->chain, CLI_MODEL, "%s:1: the file is empty",
                            csv->chain->path);
}

/* There may be more chains than files may be open. */
static void close_file(struct csv *csv)
{
    if (csv->stream) {
        (void)fclose(csv->stream);
    }
    free(csv->block);
    csv->stream = NULL;
    csv->block = NULL;
    csv->begin = csv->end = csv->room = 0;
}

int csv_read_head(struct chain_file *chain, char *text, size_t n)
{
    struct csv csv = {.chain = chain, .stream = fmemopen(text, n, "r")};

    if (!csv.stream) {
        return chain_fail(chain, CLI_NUMERIC, "%s: out of memory", chain->path);
    }
    const int code = read_head(&csv);
    close_file(&csv);
    return code;
}

int csv_open_stream(struct chain_file *chain, FILE *stream)
{
    struct csv *csv = cli_alloc(1, sizeof *csv);

    *csv = (struct csv){.chain = chain, .stream = stream};
    chain->own = csv;
    return read_head(csv);
}

static int open_csv(struct chain_file *chain, size_t k)
{
    FILE *stream = fopen(chain->path, "r");
    struct stat status;

    (void)k; /* one chain in a file */
    if (!stream) {
        return chain_fail_read(chain);
    }
    const bool is_regular =
        !fstat(fileno(stream), &status) && S_ISREG(status.st_mode);
    const int code = csv_open_stream(chain, stream);
    if (is_regular) {
        struct csv *csv = chain->own;

        csv->is_seekable = true;
        chain->bytes = status.st_size > 0 ? (uint64_t)status.st_size : 0;
        close_file(csv);
    }
    return code;
}

static void clear_csv(struct chain_file *chain)
{
    if (chain->own) {
        close_file(chain->own);
    }
    free(chain->own);
    chain->own = NULL;
}

/* ---- the draws ----------------------------------------------------------- */

/* Rows before the end of warm-up are not draws. */
static void take_comment(struct csv *csv, const struct line *line)
{
    if (!csv->has_adapted && chain_ends_warmup(line->text, line->n)) {
        csv->has_adapted = true;
        csv->chain->n_warmup_rows += csv->chain->n_rows;
        csv->chain->n_rows = 0;
    } else {
        chain_note(csv->chain, line->text, line->n);
    }
}

static int grow(struct csv *csv)
{
    const size_t rows = 2 * csv->row_room + 64;

    if (csv->chain->n_slots == 0) {
        csv->row_room = SIZE_MAX;
        return CLI_OK;
    }
    if (rows > SIZE_MAX / sizeof(double) / csv->chain->n_slots) {
        return chain_fail_memory(csv->chain);
    }
    double *grown = realloc(csv->chain->values, rows * csv->chain->n_slots *
                                                    sizeof *csv->chain->values);
    if (!grown) {
        return chain_fail_memory(csv->chain);
    }
    csv->chain->values = grown;
    csv->row_room = rows;
    return CLI_OK;
}

static int bad_cell(const struct csv *csv, size_t j, const char *text, size_t n)
{
    if (j == 0 && n == strlen(csv->chain->names[0]) &&
        !memcmp(text, csv->chain->names[0], n)) {
        return chain_fail(
            csv->chain, CLI_MODEL,
            "%s:%zu: a second header: give every chain a file of its "
            "own",
            csv->chain->path, csv->line);
    }
    return chain_fail(csv->chain, CLI_MODEL,
                      "%s:%zu: %.60s is \"%.*s\", not a number",
                      csv->chain->path, csv->line, csv->chain->names[j],
                      n < 40 ? (int)n : 40, text);
}

static int bad_width(const struct csv *csv, const struct line *line)
{
    size_t n = 1;

    for (size_t i = 0; i < line->n; i++) {
        n += line->text[i] == ',';
    }
    return chain_fail(csv->chain, CLI_MODEL,
                      "%s:%zu: %zu value%s where the header has %zu column%s",
                      csv->chain->path, csv->line, n, n == 1 ? "" : "s",
                      csv->chain->n_columns,
                      csv->chain->n_columns == 1 ? "" : "s");
}

static int parse_row(const struct csv *csv, const struct line *line,
                     const size_t *slots, double *row)
{
    const size_t n_columns = csv->chain->n_columns;
    const char *s = line->text;
    const char *end = s + line->n;

    for (size_t j = 0;; j++) {
        const char *cell = s;

        while (s < end && *s != ',') {
            s++;
        }
        if (slots[j] != CHAIN_SKIP) {
            size_t n = (size_t)(s - cell);

            chain_trim(&cell, &n);
            if (!parse_number(cell, cell + n, &row[slots[j]])) {
                return bad_cell(csv, j, cell, n);
            }
        }
        if ((s == end) != (j + 1 == n_columns)) {
            return bad_width(csv, line);
        }
        if (s == end) {
            return CLI_OK;
        }
        s++;
    }
}

static int take_row(struct csv *csv, const struct line *line,
                    const size_t *slots, size_t n_warmup)
{
    struct chain_file *chain = csv->chain;
    int code;

    if (!line->is_whole) {
        return chain_fail(
            chain, CLI_MODEL,
            "%s:%zu: the last line is cut off, was the run stopped? "
            "Remove that line to use the rest",
            chain->path, csv->line);
    }
    if (chain->n_rows == csv->row_room && (code = grow(csv))) {
        return code;
    }
    double *row =
        chain->values ? chain->values + chain->n_rows * chain->n_slots : NULL;
    if ((code = parse_row(csv, line, slots, row))) {
        return code;
    }
    if (!csv->has_adapted && chain->n_warmup_rows < n_warmup) {
        chain->n_warmup_rows++;
    } else {
        chain->n_rows++;
    }
    return CLI_OK;
}

static int rewind_body(struct csv *csv)
{
    if (!csv->stream && !csv->is_seekable) {
        return chain_fail(csv->chain, CLI_IO,
                          "cannot read %s twice: it is no regular file; choose "
                          "variables (-i)",
                          csv->chain->path);
    }
    if (!csv->stream) {
        csv->stream = fopen(csv->chain->path, "r");
        if (!csv->stream ||
            fseeko(csv->stream, (off_t)csv->chain->head_bytes, SEEK_SET)) {
            return chain_fail_read(csv->chain);
        }
        csv->consumed = csv->chain->head_bytes;
        csv->is_at_end = false;
    }
    csv->line = csv->chain->header_line;
    return CLI_OK;
}

static int read_csv(struct chain_file *chain, const size_t *slots,
                    size_t n_slots)
{
    const size_t n_warmup = chain_warmup_rows(chain);
    struct csv *csv = chain->own;
    struct line line = {0};

    chain_forget(chain);
    chain->n_slots = n_slots;
    csv->row_room = 0;
    csv->has_adapted = false;
    int code = rewind_body(csv);
    while (!code && !(code = next_line(csv, &line)) && !line.is_end) {
        if (line.n > 0 && *line.text == '#') {
            take_comment(csv, &line);
        } else if (!is_empty(&line)) {
            code = take_row(csv, &line, slots, n_warmup);
        }
    }
    close_file(csv);
    if (!code && chain->n_rows == 0) {
        return chain_fail(chain, CLI_MODEL, "%s:%zu: no draws%s", chain->path,
                          csv->line,
                          chain->n_warmup_rows ? ", only warm-up" : "");
    }
    return code;
}

/* Calls the visitor for one line. */
static int show_line(struct csv *csv, const struct line *line,
                     const struct chain_visitor *v, const size_t *slots,
                     double *row)
{
    if (line->n > 0 && *line->text == '#') {
        return v->comment ? v->comment(v->ctx, line->text, line->n) : CLI_OK;
    }
    if (is_empty(line)) {
        return CLI_OK;
    }
    const int code = parse_row(csv, line, slots, row);
    return code ? code : v->row(v->ctx, row);
}

static int visit_csv(struct chain_file *chain,
                     const struct chain_visitor *visitor)
{
    struct csv *csv = chain->own;
    size_t *slots = cli_alloc(chain->n_columns, sizeof *slots);
    double *row = cli_alloc(chain->n_columns, sizeof *row);
    struct line line = {0};

    for (size_t j = 0; j < chain->n_columns; j++) {
        slots[j] = j;
    }
    int code = rewind_body(csv);
    while (!code && !(code = next_line(csv, &line)) && !line.is_end) {
        code = show_line(csv, &line, visitor, slots, row);
    }
    close_file(csv);
    free(slots);
    free(row);
    return code;
}

const struct chain_ops chain_csv = {
    .suffix = ".csv",
    .open = open_csv,
    .read = read_csv,
    .visit = visit_csv,
    .clear = clear_csv,
    .write = csv_write,
};
