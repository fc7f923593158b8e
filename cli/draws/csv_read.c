/* csv_read.c - reads the draws of one chain from a CSV file as CmdStan and
 * relmc write it, block by block: only the columns asked for are kept. */
#define _POSIX_C_SOURCE 200809L

#include "draws/csv_read.h"

#include "tool/parse_number.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BLOCK = 1 << 18, MAX_LINE = 1 << 29, MAX_SETTINGS = 1000 };

/* A line without its end. */
struct line {
    char *text;
    size_t n;
    bool is_whole; /* a newline followed */
    bool is_end;   /* there is none any more */
};

/* ---- errors -------------------------------------------------------------- */

int stan_csv_fail(const struct stan_csv *csv, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(csv->message, CSV_MESSAGE, format, args);
    va_end(args);
    for (char *s = csv->message; *s; s++) { /* one line, whatever is in it */
        if ((unsigned char)*s < ' ' || *s == 0x7f) {
            *s = '?';
        }
    }
    return code;
}

static int no_memory(const struct stan_csv *csv)
{
    return stan_csv_fail(
        csv, CLI_NUMERIC,
        "%s: the draws do not fit into memory: choose variables (-i), "
        "or read less at a time (--memory)",
        csv->path);
}

static int cannot_read(const struct stan_csv *csv)
{
    return stan_csv_fail(csv, CLI_IO, "cannot read %s: %s", csv->path,
                         strerror(errno ? errno : EIO));
}

/* ---- lines --------------------------------------------------------------- */

/* Text has no zero bytes; where is the first? */
static int check_bytes(const struct stan_csv *csv, size_t from)
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
    return stan_csv_fail(csv, CLI_MODEL,
                         "%s:%zu: a zero byte: this is no CSV file", csv->path,
                         line);
}

/* More bytes behind those not used yet, which move to the front. */
static int refill(struct stan_csv *csv)
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
            return stan_csv_fail(
                csv, CLI_MODEL,
                "%s:%zu: a line of more than %zu bytes: this is no "
                "CSV file",
                csv->path, csv->line + 1, kept);
        }
        csv->block = grown;
        csv->room = room;
    }
    errno = 0;
    const size_t got =
        fread(csv->block + kept, 1, csv->room - kept, csv->stream);
    if (got == 0 && ferror(csv->stream)) {
        return cannot_read(csv);
    }
    csv->is_at_end = got == 0;
    csv->end += got;
    csv->consumed += got;
    if (csv->tick) {
        csv->tick(csv->tick_ctx, csv->consumed);
    }
    return check_bytes(csv, kept);
}

static int next_line(struct stan_csv *csv, struct line *line)
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

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void trim(const char **from, size_t *n)
{
    while (*n > 0 && is_blank(**from)) {
        ++*from;
        --*n;
    }
    while (*n > 0 && is_blank((*from)[*n - 1])) {
        --*n;
    }
}

static bool is_empty(const struct line *line)
{
    const char *text = line->text;
    size_t n = line->n;

    trim(&text, &n);
    return n == 0;
}

static char *copy(const char *text, size_t n)
{
    char *made = cli_alloc(n + 1, 1);

    memcpy(made, text, n);
    return made;
}

/* ---- the configuration block --------------------------------------------- */

/* rstan has words of its own; yours. */
static char *key_of(const char *text, size_t n)
{
    static const char *const words[][2] = {
        {"warmup", "num_warmup"}, {"max_treedepth", "max_depth"},
        {"adapt_delta", "delta"}, {"adapt_engaged", "engaged"},
        {"sampler_t", "engine"},  {"chain_id", "id"}};
    char *key = copy(text, n);

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strcmp(key, words[i][0])) {
            free(key);
            return cli_text("%s", words[i][1]);
        }
    }
    return key;
}

/* sampler_t = NUTS(diag_e), HMC(unit_e): engine nuts, static; yours. */
static char *value_of(const char *key, const char *text, size_t n)
{
    char *value = copy(text, n);

    if (!strcmp(key, "engine")) {
        value[strcspn(value, "(")] = '\0';
        for (char *s = value; *s; s++) {
            *s = (char)(*s >= 'A' && *s <= 'Z' ? *s - 'A' + 'a' : *s);
        }
        if (!strcmp(value, "hmc")) {
            free(value);
            value = cli_text("static");
        }
    }
    return value;
}

/* "#     num_warmup = 1000 (Default)"; the first one of a name counts. */
static void take_setting(struct stan_csv *csv, const struct line *line)
{
    static const char mark[] = "(Default)";
    const char *equals = memchr(line->text, '=', line->n);
    const char *key = line->text + 1;

    if (!equals || csv->n_settings == MAX_SETTINGS) {
        return;
    }
    const char *value = equals + 1;
    size_t n_key = (size_t)(equals - key);
    size_t n_value = line->n - (size_t)(value - line->text);
    trim(&key, &n_key);
    trim(&value, &n_value);
    if (n_value >= sizeof mark - 1 &&
        !memcmp(value + n_value - (sizeof mark - 1), mark, sizeof mark - 1)) {
        n_value -= sizeof mark - 1;
        trim(&value, &n_value);
    }
    if (!csv->settings) {
        csv->settings = cli_alloc(MAX_SETTINGS, sizeof *csv->settings);
    }
    struct csv_setting *setting = &csv->settings[csv->n_settings++];
    setting->key = key_of(key, n_key);
    setting->value = value_of(setting->key, value, n_value);
}

const char *stan_csv_setting(const struct stan_csv *csv, const char *key)
{
    for (size_t i = 0; i < csv->n_settings; i++) {
        if (!strcmp(csv->settings[i].key, key)) {
            return csv->settings[i].value;
        }
    }
    return NULL;
}

/* true and false count as 1 and 0, as newer versions of CmdStan write them. */
double stan_csv_number(const struct stan_csv *csv, const char *key)
{
    const char *text = stan_csv_setting(csv, key);
    double value = CLI_NAN;

    if (text && (!strcmp(text, "true") || !strcmp(text, "false"))) {
        return *text == 't';
    }
    return text && number_parse(text, text + strlen(text), &value) ? value
                                                                   : CLI_NAN;
}

/* ---- the header ---------------------------------------------------------- */

bool stan_csv_is_sampler(const char *name)
{
    const size_t n = strlen(name);

    return n > 2 && name[n - 1] == '_' && name[n - 2] == '_';
}

char *stan_csv_pretty(const char *name)
{
    const size_t n = strlen(name);
    char *out = cli_alloc(2 * n + 2, 1);
    size_t used = 0;
    bool is_open = false;

    for (size_t i = 0; i <= n; i++) {
        const char c = name[i];

        if ((c == ':' || !c) && is_open) {
            out[used++] = ']';
            is_open = false;
        }
        if (c == '.' && i > 0) {
            out[used++] = is_open ? ',' : '[';
            is_open = true;
        } else {
            out[used++] = (char)(c == ':' ? '.' : c);
        }
    }
    return out;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int check_duplicates(const struct stan_csv *csv)
{
    char **sorted = cli_alloc(csv->n_columns, sizeof *sorted);
    const char *twin = NULL;

    memcpy(sorted, csv->names, csv->n_columns * sizeof *sorted);
    qsort(sorted, csv->n_columns, sizeof *sorted, compare_names);
    for (size_t j = 1; j < csv->n_columns && !twin; j++) {
        twin = strcmp(sorted[j - 1], sorted[j]) ? NULL : sorted[j];
    }
    free(sorted);
    return twin ? stan_csv_fail(
                      csv, CLI_MODEL,
                      "%s:%zu: the header names column \"%.80s\" twice",
                      csv->path, csv->line, twin)
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
    return *name && !number_parse(name, name + strlen(name), &value);
}

static int check_names(const struct stan_csv *csv)
{
    for (size_t j = 0; j < csv->n_columns; j++) {
        if (!is_name(csv->names[j])) {
            return stan_csv_fail(
                csv, CLI_MODEL,
                "%s:%zu: not a header: column %zu is \"%.40s\" where "
                "a name such as lp__ or x.1 should be",
                csv->path, csv->line, j + 1, csv->names[j]);
        }
    }
    return check_duplicates(csv);
}

/* Cuts the line into names, blanks and quotes around them off. */
static int take_header(struct stan_csv *csv, const struct line *line)
{
    if (!line->is_whole) {
        return stan_csv_fail(csv, CLI_MODEL,
                             "%s:%zu: the header is cut off, no draws follow",
                             csv->path, csv->line);
    }
    csv->header_line = csv->line;
    csv->name_text = copy(line->text, line->n);
    csv->n_columns = 1;
    for (size_t i = 0; i < line->n; i++) {
        csv->n_columns += line->text[i] == ',';
    }
    csv->names = cli_alloc(csv->n_columns, sizeof *csv->names);
    char *s = csv->name_text;
    for (size_t j = 0; j < csv->n_columns; j++) {
        char *next = s + strcspn(s, ",");
        const char *name = s;
        size_t n = (size_t)(next - s);

        trim(&name, &n);
        if (n > 1 && name[0] == '"' && name[n - 1] == '"') {
            name++;
            n -= 2;
        }
        csv->names[j] = s + (name - s);
        s = next + 1;
        csv->names[j][n] = '\0';
    }
    return check_names(csv);
}

static int check_method(const struct stan_csv *csv)
{
    static const char *const others[] = {"optimize", "variational",
                                         "diagnose", "pathfinder",
                                         "laplace",  "log_prob"};
    const char *method = stan_csv_setting(csv, "method");

    for (size_t i = 0; method && i < sizeof others / sizeof *others; i++) {
        if (!strcmp(method, others[i])) {
            return stan_csv_fail(
                csv, CLI_MODEL,
                "%s: made by method = %s: these are no draws of a "
                "sampler",
                csv->path, method);
        }
    }
    return CLI_OK;
}

static int read_head(struct stan_csv *csv)
{
    struct line line;
    int code;

    while (!(code = next_line(csv, &line)) && !line.is_end) {
        if (csv->line == 1 && line.n > 1 && !memcmp(line.text, "\x1f\x8b", 2)) {
            return stan_csv_fail(
                csv, CLI_MODEL, "%s:1: compressed: unpack it with gunzip first",
                csv->path);
        }
        if (csv->line == 1 && line.n > 0 &&
            (*line.text == '{' || *line.text == '[')) {
            return stan_csv_fail(csv, CLI_MODEL,
                                 "%s: JSON, and no file of draws", csv->path);
        }
        if (line.n > 0 && *line.text == '#') {
            take_setting(csv, &line);
        } else if (!is_empty(&line)) {
            code = take_header(csv, &line);
            csv->body = (long long)(csv->consumed - (csv->end - csv->begin));
            return code ? code : check_method(csv);
        }
    }
    if (code) {
        return code;
    }
    return csv->line ? stan_csv_fail(
                           csv, CLI_MODEL,
                           "%s:%zu: the file ends without a header and draws",
                           csv->path, csv->line)
                     : stan_csv_fail(csv, CLI_MODEL, "%s:1: the file is empty",
                                     csv->path);
}

void stan_csv_close(struct stan_csv *csv)
{
    if (csv->stream) {
        (void)fclose(csv->stream);
    }
    free(csv->block);
    csv->stream = NULL;
    csv->block = NULL;
    csv->begin = csv->end = csv->room = 0;
}

int stan_csv_open_stream(struct stan_csv *csv, FILE *stream, const char *path,
                         char message[CSV_MESSAGE])
{
    *csv = (struct stan_csv){.path = cli_text("%s", path), .stream = stream};
    csv->message = message;
    return read_head(csv);
}

int stan_csv_open(struct stan_csv *csv, const char *path,
                  char message[CSV_MESSAGE])
{
    FILE *stream = fopen(path, "r");
    struct stat status;

    if (!stream) {
        *csv =
            (struct stan_csv){.path = cli_text("%s", path), .message = message};
        return cannot_read(csv);
    }
    const bool is_regular =
        !fstat(fileno(stream), &status) && S_ISREG(status.st_mode);
    const int code = stan_csv_open_stream(csv, stream, path, message);
    if (is_regular) { /* there may be more chains than files may be open */
        csv->is_seekable = true;
        csv->bytes = status.st_size > 0 ? (uint64_t)status.st_size : 0;
        stan_csv_close(csv);
    }
    return code;
}

/* ---- the draws ----------------------------------------------------------- */

/* "# Step size = 0.7": a number behind the text; NaN if there is none. */
static double number_behind(const struct line *line, const char *text)
{
    char comment[200];
    char *at;
    char *end = NULL;

    if (line->n >= sizeof comment) {
        return CLI_NAN;
    }
    memcpy(comment, line->text, line->n);
    comment[line->n] = '\0';
    at = strstr(comment, text);
    if (!at) {
        return CLI_NAN;
    }
    const double value = strtod(at + strlen(text), &end);
    return end == at + strlen(text) ? CLI_NAN : value;
}

static bool holds(const struct line *line, const char *text)
{
    const size_t n = strlen(text);

    for (size_t i = 0; i + n <= line->n; i++) {
        if (!memcmp(line->text + i, text, n)) {
            return true;
        }
    }
    return false;
}

/* Adaptation ends the warm-up: what came before it are no draws. */
static void take_comment(struct stan_csv *csv, const struct line *line)
{
    if (line->n > 150) { /* a metric */
        return;
    }
    if (holds(line, "Adaptation terminated") && !csv->has_adapted) {
        csv->has_adapted = true;
        csv->n_warmup_rows += csv->n_rows;
        csv->n_rows = 0;
    } else if (holds(line, "Step size =")) {
        csv->step_size = number_behind(line, "Step size =");
    } else if (holds(line, "seconds (Warm-up)")) {
        csv->seconds_warmup = number_behind(line, "Elapsed Time:");
    } else if (holds(line, "seconds (Sampling)")) {
        csv->seconds_sampling = number_behind(line, "#");
    }
}

void stan_csv_note(struct stan_csv *csv, const char *text, size_t n)
{
    char *whole = copy(text, n);
    const struct line line = {.text = whole, .n = n};

    take_comment(csv, &line);
    free(whole);
}

static int grow(struct stan_csv *csv)
{
    const size_t rows = 2 * csv->row_room + 64;

    if (csv->n_slots == 0) {
        csv->row_room = SIZE_MAX;
        return CLI_OK;
    }
    if (rows > SIZE_MAX / sizeof(double) / csv->n_slots) {
        return no_memory(csv);
    }
    double *grown =
        realloc(csv->values, rows * csv->n_slots * sizeof *csv->values);
    if (!grown) {
        return no_memory(csv);
    }
    csv->values = grown;
    csv->row_room = rows;
    return CLI_OK;
}

static int bad_cell(const struct stan_csv *csv, size_t j, const char *text,
                    size_t n)
{
    if (j == 0 && n == strlen(csv->names[0]) &&
        !memcmp(text, csv->names[0], n)) {
        return stan_csv_fail(
            csv, CLI_MODEL,
            "%s:%zu: a second header: give every chain a file of its "
            "own",
            csv->path, csv->line);
    }
    return stan_csv_fail(csv, CLI_MODEL,
                         "%s:%zu: %.60s is \"%.*s\", not a number", csv->path,
                         csv->line, csv->names[j], n < 40 ? (int)n : 40, text);
}

static int bad_width(const struct stan_csv *csv, const struct line *line)
{
    size_t n = 1;

    for (size_t i = 0; i < line->n; i++) {
        n += line->text[i] == ',';
    }
    return stan_csv_fail(
        csv, CLI_MODEL, "%s:%zu: %zu value%s where the header has %zu column%s",
        csv->path, csv->line, n, n == 1 ? "" : "s", csv->n_columns,
        csv->n_columns == 1 ? "" : "s");
}

static int parse_row(const struct stan_csv *csv, const struct line *line,
                     const size_t *slots, double *row)
{
    const char *s = line->text;
    const char *end = s + line->n;

    for (size_t j = 0;; j++) {
        const char *cell = s;

        while (s < end && *s != ',') {
            s++;
        }
        if (slots[j] != CSV_SKIP) {
            size_t n = (size_t)(s - cell);

            trim(&cell, &n);
            if (!number_parse(cell, cell + n, &row[slots[j]])) {
                return bad_cell(csv, j, cell, n);
            }
        }
        if ((s == end) != (j + 1 == csv->n_columns)) {
            return bad_width(csv, line);
        }
        if (s == end) {
            return CLI_OK;
        }
        s++;
    }
}

static int take_row(struct stan_csv *csv, const struct line *line,
                    const size_t *slots, size_t n_warmup)
{
    int code;

    if (!line->is_whole) {
        return stan_csv_fail(
            csv, CLI_MODEL,
            "%s:%zu: the last line is cut off, was the run stopped? "
            "Remove that line to use the rest",
            csv->path, csv->line);
    }
    if (csv->n_rows == csv->row_room && (code = grow(csv))) {
        return code;
    }
    double *row = csv->values ? csv->values + csv->n_rows * csv->n_slots : NULL;
    if ((code = parse_row(csv, line, slots, row))) {
        return code;
    }
    if (!csv->has_adapted && csv->n_warmup_rows < n_warmup) {
        csv->n_warmup_rows++;
    } else {
        csv->n_rows++;
    }
    return CLI_OK;
}

/* How many rows of warm-up the configuration promises. */
size_t stan_csv_warmup_rows(const struct stan_csv *csv)
{
    const double n = stan_csv_number(csv, "num_warmup");
    const double thin = stan_csv_number(csv, "thin");
    const bool is_saved = stan_csv_number(csv, "save_warmup") > 0.0;

    if (!is_saved || !(n > 0.0 && n < 1e15)) {
        return 0;
    }
    return (size_t)ceil(thin > 1.0 ? n / thin : n);
}

static int rewind_body(struct stan_csv *csv)
{
    if (!csv->stream && !csv->is_seekable) {
        return stan_csv_fail(
            csv, CLI_IO,
            "cannot read %s twice: it is no regular file; choose "
            "variables (-i)",
            csv->path);
    }
    if (!csv->stream) {
        csv->stream = fopen(csv->path, "r");
        if (!csv->stream || fseeko(csv->stream, (off_t)csv->body, SEEK_SET)) {
            return cannot_read(csv);
        }
        csv->consumed = (uint64_t)csv->body;
        csv->is_at_end = false;
    }
    csv->line = csv->header_line;
    return CLI_OK;
}

int stan_csv_read(struct stan_csv *csv, const size_t *slots, size_t n_slots,
                  char message[CSV_MESSAGE])
{
    const size_t n_warmup = stan_csv_warmup_rows(csv);
    struct line line = {0};

    csv->message = message;
    stan_csv_forget(csv);
    csv->n_slots = n_slots;
    int code = rewind_body(csv);
    while (!code && !(code = next_line(csv, &line)) && !line.is_end) {
        if (line.n > 0 && *line.text == '#') {
            take_comment(csv, &line);
        } else if (!is_empty(&line)) {
            code = take_row(csv, &line, slots, n_warmup);
        }
    }
    stan_csv_close(csv);
    if (!code && csv->n_rows == 0) {
        return stan_csv_fail(csv, CLI_MODEL, "%s:%zu: no draws%s", csv->path,
                             csv->line,
                             csv->n_warmup_rows ? ", only warm-up" : "");
    }
    return code;
}

/* One line of the rows, to the one who sees them. */
static int show_line(struct stan_csv *csv, const struct line *line,
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

int stan_csv_visit(struct stan_csv *csv, const struct chain_visitor *visitor,
                   char message[CSV_MESSAGE])
{
    size_t *slots = cli_alloc(csv->n_columns, sizeof *slots);
    double *row = cli_alloc(csv->n_columns, sizeof *row);
    struct line line = {0};

    for (size_t j = 0; j < csv->n_columns; j++) {
        slots[j] = j;
    }
    csv->message = message;
    int code = rewind_body(csv);
    while (!code && !(code = next_line(csv, &line)) && !line.is_end) {
        code = show_line(csv, &line, visitor, slots, row);
    }
    stan_csv_close(csv);
    free(slots);
    free(row);
    return code;
}

void stan_csv_forget(struct stan_csv *csv)
{
    free(csv->values);
    csv->values = NULL;
    csv->n_rows = csv->n_warmup_rows = csv->n_slots = csv->row_room = 0;
    csv->has_adapted = false;
    csv->step_size = csv->seconds_warmup = csv->seconds_sampling = CLI_NAN;
}

void stan_csv_clear(struct stan_csv *csv)
{
    stan_csv_close(csv);
    for (size_t i = 0; i < csv->n_settings; i++) {
        free(csv->settings[i].key);
        free(csv->settings[i].value);
    }
    free(csv->settings);
    free(csv->names);
    free(csv->name_text);
    free(csv->values);
    free(csv->remark);
    free(csv->head);
    free(csv->path);
    *csv = (struct stan_csv){0};
}
