/* result.c - rows of named values, printed as a table, as JSON or as CSV. */
#include "report/result.h"

#include "draws/column.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value {
    enum { V_NONE, V_REAL, V_COUNT, V_FLAG, V_TEXT, V_JSON } kind;
    union {
        double real;
        int64_t count;
        bool flag;
        char *text;
        json_t *json;
    } is;
};

/* ---- filling ------------------------------------------------------------- */

/* The list, with room for one more. */
static void *grown(void *list, size_t n, size_t *room, size_t bytes)
{
    if (n < *room) {
        return list;
    }
    *room = 2 * *room + 16;
    char *larger = cli_alloc(*room, bytes);
    if (n) {
        memcpy(larger, list, n * bytes);
    }
    free(list);
    return larger;
}

void result_field(struct result *r, struct field field)
{
    r->fields =
        grown(r->fields, r->n_fields, &r->fields_room, sizeof *r->fields);
    r->fields[r->n_fields++] = field;
}

void result_fields(struct result *r, const struct field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        result_field(r, fields[i]);
    }
}

static char *text_of(const char *format, va_list args)
    __attribute__((format(printf, 1, 0)));

static char *text_of(const char *format, va_list args)
{
    va_list again;

    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = cli_alloc((size_t)n + 1, 1);
    (void)vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

const char *result_keep(struct result *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    r->texts = grown(r->texts, r->n_texts, &r->texts_room, sizeof *r->texts);
    r->texts[r->n_texts] = text_of(format, args);
    va_end(args);
    return r->texts[r->n_texts++];
}

void result_clear(struct result *r)
{
    for (size_t i = 0; i < r->n_values; i++) {
        if (r->values[i].kind == V_TEXT) {
            free(r->values[i].is.text);
        } else if (r->values[i].kind == V_JSON) {
            json_decref(r->values[i].is.json);
        }
    }
    for (size_t i = 0; i < r->n_texts; i++) {
        free(r->texts[i]);
    }
    free(r->values);
    free(r->texts);
    free(r->fields);
    *r = (struct result){0};
}

static void add(struct result *r, struct value value)
{
    r->values =
        grown(r->values, r->n_values, &r->values_room, sizeof *r->values);
    r->values[r->n_values++] = value;
}

void result_real(struct result *r, double value)
{
    add(r, (struct value){.kind = V_REAL, .is.real = value});
}

void result_count(struct result *r, int64_t value)
{
    add(r, (struct value){.kind = V_COUNT, .is.count = value});
}

void result_flag(struct result *r, bool value)
{
    add(r, (struct value){.kind = V_FLAG, .is.flag = value});
}

void result_text(struct result *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(r, (struct value){.kind = V_TEXT, .is.text = text_of(format, args)});
    va_end(args);
}

void result_name(struct result *r, const char *name)
{
    add(r, (struct value){.kind = V_TEXT, .is.text = column_pretty(name)});
}

void result_json(struct result *r, json_t *value)
{
    add(r, (struct value){.kind = value ? V_JSON : V_NONE, .is.json = value});
}

void result_none(struct result *r)
{
    add(r, (struct value){.kind = V_NONE});
}

size_t result_n_rows(const struct result *r)
{
    return r->n_fields ? r->n_values / r->n_fields : 0;
}

static const struct value *value_at(const struct result *r, size_t row,
                                    size_t field)
{
    return &r->values[row * r->n_fields + field];
}

const char *result_text_at(const struct result *r, size_t row, size_t field)
{
    return value_at(r, row, field)->is.text;
}

/* ---- the table ----------------------------------------------------------- */

enum { CELL = 400, GAP = 2 }; /* a number has at most 310 digits */

/* Plain notation for numbers of ordinary size, all with as many figures. */
static void show_figures(char out[CELL], double value, int figures)
{
    const int most = figures > 7 ? figures : 7;

    (void)snprintf(out, CELL, "%.*e", figures - 1, value);
    const char *e = strchr(out, 'e');
    const int exponent = e ? (int)strtol(e + 1, NULL, 10) : 0;
    if (isinf(value)) {
        (void)snprintf(out, CELL, "%s", value < 0.0 ? "-inf" : "inf");
    } else if (value == 0.0) {
        (void)snprintf(out, CELL, "0");
    } else if (exponent >= -4 && exponent <= most) {
        (void)snprintf(out, CELL, "%.*f",
                       figures - 1 > exponent ? figures - 1 - exponent : 0,
                       value);
    }
}

static const char *show_real(char out[CELL], const struct field *f,
                             double value)
{
    const int ratio_digits = value < 10.0 ? 2 : value < 1000.0 ? 1 : 0;
    const int percent_digits = value > 0.0 && value < 0.1 ? 2 : 1;

    if (isnan(value)) {
        return f->undefined ? f->undefined : "-";
    }
    switch (f->form) {
    case FORM_GENERAL:
        (void)snprintf(out, CELL, "%.*g", f->digits, value);
        break;
    case FORM_FIXED:
        (void)snprintf(out, CELL, "%.*f", f->digits, value);
        break;
    case FORM_SCIENCE:
        (void)snprintf(out, CELL, "%.*e", f->digits, value);
        break;
    case FORM_FIGURES:
        show_figures(out, value, f->digits);
        break;
    case FORM_RATIO:
        (void)snprintf(out, CELL, "%.*f", ratio_digits, value);
        break;
    case FORM_PERCENT:
        (void)snprintf(out, CELL, "%.*f %%", percent_digits, value);
        break;
    case FORM_SHARE:
        (void)snprintf(out, CELL, "%.2f %%", 100.0 * value);
        break;
    case FORM_NOTE:
        break;
    }
    return out;
}

/* Instead of the number of a row. */
static const size_t HEADS = SIZE_MAX;

/* The cell of the table, in `out` if it is a number. */
static const char *show(char out[CELL], const struct result *r, size_t row,
                        size_t field)
{
    const struct field *f = &r->fields[field];

    if (row == HEADS) {
        return f->head;
    }
    const struct value *v = value_at(r, row, field);
    if (v->kind == V_REAL) {
        return show_real(out, f, v->is.real);
    }
    if (v->kind == V_COUNT) {
        (void)snprintf(out, CELL, "%" PRId64, v->is.count);
        return out;
    }
    return v->kind == V_TEXT ? v->is.text : "";
}

/* The widths of the columns, gaps included. */
static int *find_widths(const struct result *r, const size_t *rows, size_t n)
{
    int *widths = cli_alloc(r->n_fields, sizeof *widths);
    char cell[CELL];
    int gap = r->lead;

    for (size_t j = 0; j < r->n_fields; j++) {
        widths[j] = abs(r->fields[j].width);
        for (size_t i = 0; i <= n && r->fields[j].head; i++) {
            const char *shown = show(cell, r, i < n ? rows[i] : HEADS, j);
            const int width = (int)strlen(shown) + gap;

            widths[j] = width > widths[j] ? width : widths[j];
        }
        gap = r->fields[j].head ? GAP : gap;
    }
    return widths;
}

/* What is aligned to the left at the end of a row is not filled up. */
static void print_row(const struct result *r, const int *widths, size_t row)
{
    size_t last = 0;
    char cell[CELL];
    int gap = r->lead;

    for (size_t j = 0; j < r->n_fields; j++) {
        last = r->fields[j].head ? j : last;
    }
    for (size_t j = 0; j <= last; j++) {
        if (!r->fields[j].head) {
            continue;
        }
        const char *shown = show(cell, r, row, j);
        if (r->fields[j].form == FORM_NOTE) {
            (void)fputs(shown, stdout);
        } else if (r->fields[j].width > 0) {
            (void)printf("%*s", widths[j], shown);
        } else {
            (void)printf("%*s%-*s", gap, "", j < last ? widths[j] - gap : 0,
                         shown);
        }
        gap = GAP;
    }
    (void)putchar('\n');
}

void result_print_rows(const struct result *r, const size_t *rows, size_t n)
{
    int *widths = find_widths(r, rows, n);
    bool has_heads = false;

    for (size_t j = 0; j < r->n_fields; j++) {
        has_heads |= r->fields[j].head && *r->fields[j].head;
    }
    if (has_heads) {
        print_row(r, widths, HEADS);
    }
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && i == r->gap_at) {
            (void)putchar('\n');
        }
        print_row(r, widths, rows[i]);
    }
    free(widths);
}

void result_print_first(const struct result *r, size_t most)
{
    const size_t n = result_n_rows(r) < most ? result_n_rows(r) : most;
    size_t *rows = cli_alloc(n, sizeof *rows);

    for (size_t i = 0; i < n; i++) {
        rows[i] = i;
    }
    result_print_rows(r, rows, n);
    free(rows);
}

void result_print(const struct result *r)
{
    result_print_first(r, SIZE_MAX);
}

void result_print_pairs(const struct result *r)
{
    char cell[CELL];

    for (size_t j = 0; j < r->n_fields; j++) {
        if (r->fields[j].head) {
            (void)printf("%-10s %s\n", r->fields[j].head, show(cell, r, 0, j));
        }
    }
}

const char *result_grouped_digits(char out[32], int64_t value)
{
    char digits[32];
    const int n = snprintf(digits, sizeof digits, "%" PRId64, value);
    size_t used = 0;

    for (int i = 0; i < n; i++) {
        if (i > 0 && n > 4 && (n - i) % 3 == 0 && digits[i - 1] != '-') {
            out[used++] = ' ';
        }
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *json_of(const struct value *v)
{
    switch (v->kind) {
    case V_REAL:
        return config_real(v->is.real);
    case V_COUNT:
        return json_integer(v->is.count);
    case V_FLAG:
        return json_boolean(v->is.flag);
    case V_TEXT:
        return json_string(v->is.text);
    case V_JSON:
        return json_incref(v->is.json);
    case V_NONE:
        break;
    }
    return json_null();
}

/* Objects on the way to a key are made. */
static void set_at(json_t *object, const char *key, json_t *value)
{
    char name[CELL];
    size_t n;

    while (key[n = strcspn(key, "/")]) {
        (void)snprintf(name, sizeof name, "%.*s", (int)n, key);
        if (!json_object_get(object, name)) {
            (void)json_object_set_new(object, name, json_object());
        }
        object = json_object_get(object, name);
        key += n + 1;
    }
    (void)json_object_set_new(object, key, value);
}

json_t *result_row(const struct result *r, size_t row)
{
    json_t *object = json_object();

    for (size_t j = 0; j < r->n_fields; j++) {
        const struct value *v = value_at(r, row, j);

        if (r->fields[j].key && v->kind != V_NONE) {
            set_at(object, r->fields[j].key, json_of(v));
        }
    }
    return object;
}

json_t *result_rows(const struct result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < result_n_rows(r); i++) {
        (void)json_array_append_new(list, result_row(r, i));
    }
    return list;
}

json_t *result_column(const struct result *r, size_t field)
{
    json_t *list = json_array();

    for (size_t i = 0; i < result_n_rows(r); i++) {
        (void)json_array_append_new(list, json_of(value_at(r, i, field)));
    }
    return list;
}

void result_print_json(json_t *value)
{
    char *text = config_print(value);

    (void)printf("%s\n", text);
    (void)fflush(stdout);
    free(text);
    json_decref(value);
}

/* ---- CSV ----------------------------------------------------------------- */

static void put_text(FILE *file, const char *text)
{
    (void)fputc('"', file);
    for (; *text; text++) {
        (void)fputs(*text == '"' ? "\"" : "", file);
        (void)fputc(*text, file);
    }
    (void)fputc('"', file);
}

static void put_value(FILE *file, const struct value *v)
{
    if (v->kind == V_TEXT) {
        put_text(file, v->is.text);
    } else if (v->kind == V_COUNT) {
        (void)fprintf(file, "%" PRId64, v->is.count);
    } else if (v->kind != V_REAL || isnan(v->is.real)) {
        (void)fputs("NaN", file);
    } else {
        (void)fprintf(file, "%.10g", v->is.real);
    }
}

static void put_row(FILE *file, const struct result *r, size_t row)
{
    const char *comma = "";

    for (size_t j = 0; j < r->n_fields; j++) {
        if (!r->fields[j].csv) {
            continue;
        }
        (void)fputs(comma, file);
        if (row == HEADS) {
            (void)fputs(r->fields[j].csv, file);
        } else {
            put_value(file, value_at(r, row, j));
        }
        comma = ",";
    }
    (void)fputc('\n', file);
}

int result_write_csv(const struct result *results, size_t n, const char *path,
                     const char *who, const struct voice *voice)
{
    FILE *file = fopen(path, "w");

    if (!file) {
        return cli_fail(CLI_IO, who, "cannot write %s: %s", path,
                        strerror(errno));
    }
    put_row(file, &results[0], HEADS);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < result_n_rows(&results[k]); i++) {
            put_row(file, &results[k], i);
        }
    }
    const bool has_failed = ferror(file);
    if (fclose(file) || has_failed) {
        return cli_fail(CLI_IO, who, "cannot write %s: %s", path,
                        strerror(errno ? errno : EIO));
    }
    cli_say(voice, "wrote %s", path);
    return CLI_OK;
}
