/* dataset_csv.c - a data set from a table of numbers and text, a line per observation:
 * columns of text become a column of zeros and ones for each word. */
#define _POSIX_C_SOURCE 200809L

#include "data/csv_records.h"
#include "data/dataset.h"
#include "tool/parse_number.h"

#include <stdlib.h>
#include <string.h>

struct column {
    char *name;        /* NULL: there is no header */
    size_t first_line; /* with a value in it; 0: none yet */
    bool is_text;
    struct levels levels; /* of text; values are their numbers */
};

struct csv_table {
    struct csv_records records; /* the one at hand */
    const struct dataset_options *options;
    struct column *columns;
    size_t n_columns;
    size_t response;
    double *values; /* n_rows x n_columns */
    size_t *lines;
    size_t n_rows, rows_room;
};

static int no_memory(const struct csv_table *c)
{
    return cli_fail(CLI_NUMERIC, c->records.from->who, "%s: out of memory",
                    c->records.from->path);
}

static bool is_number(const char *text)
{
    double value;

    return parse_number(text, text + strlen(text), &value);
}

static bool is_header(const struct csv_table *c)
{
    bool has_number = false;

    for (size_t j = 0; j < c->records.n_fields; j++) {
        has_number |= is_number(csv_records_field(&c->records, j));
    }
    return c->options->header == DATASET_HEADER_YES ||
           (c->options->header == DATASET_HEADER_AUTO && !has_number);
}

/* The columns, from the first record; `is_data` if it is no header. */
static int start_table(struct csv_table *c, bool *is_data)
{
    int code = csv_records_next(&c->records);

    *is_data = false;
    if (code) {
        return code;
    }
    if (c->records.is_end) {
        return cli_fail(CLI_MODEL, c->records.from->who, "%s is empty",
                        c->records.from->path);
    }
    if (c->records.n_fields < 2) {
        return csv_records_bad_line(
            &c->records, c->records.line,
            "one column only: a table has covariates and a "
            "response, with commas, semicolons or tabs between");
    }
    *is_data = !is_header(c);
    c->n_columns = c->records.n_fields;
    c->columns = cli_alloc(c->n_columns, sizeof *c->columns);
    char **names = *is_data ? NULL : cli_alloc(c->n_columns, sizeof *names);
    for (size_t j = 0; names && j < c->n_columns; j++) {
        c->columns[j].name = names[j] =
            *csv_records_field(&c->records, j)
                ? cli_text("%s", csv_records_field(&c->records, j))
                : cli_text("column %zu", j + 1);
    }
    code = dataset_find_response(&c->response, names, c->n_columns,
                                 c->records.from, c->options->response);
    free((void *)names);
    return code;
}

/* ---- values -------------------------------------------------------------- */

static const char *column_name(char out[INPUT_STREAM_SHOWN],
                               const struct csv_table *c, size_t j)
{
    const char *name = c->columns[j].name;

    if (name) {
        return input_stream_shown(out, name, strlen(name));
    }
    (void)snprintf(out, INPUT_STREAM_SHOWN, "%zu", j + 1);
    return out;
}

static int bad_value(const struct csv_table *c, size_t j, const char *why)
{
    char name[INPUT_STREAM_SHOWN], shown[INPUT_STREAM_SHOWN];
    const char *text = csv_records_field(&c->records, j);

    return cli_fail(CLI_MODEL, c->records.from->who,
                    "%s:%zu: column %s: \"%s\" %s", c->records.from->path,
                    c->records.line, column_name(name, c, j),
                    input_stream_shown(shown, text, strlen(text)), why);
}

static int take_text(struct csv_table *c, size_t j, double *out)
{
    struct column *column = &c->columns[j];
    char why[120];

    if (!column->is_text) {
        (void)snprintf(why, sizeof why,
                       "is not a number, but line %zu has one there",
                       column->first_line);
        return bad_value(c, j, why);
    }
    const ptrdiff_t id =
        dataset_levels_add(&column->levels, csv_records_field(&c->records, j));
    if (id == LEVELS_FULL) {
        return bad_value(c, j,
                         "is one of more than 1000 different texts: a name or "
                         "a remark cannot be used as it is");
    }
    *out = (double)id;
    return CLI_OK;
}

/* The first value of a column decides whether it is of text or numbers. */
static int take_value(struct csv_table *c, size_t j, double *out)
{
    struct column *column = &c->columns[j];
    const char *text = csv_records_field(&c->records, j);
    char why[120];

    if (!*text || !strcmp(text, "NA")) {
        return bad_value(c, j,
                         "is a missing value; leave out or fill in the "
                         "line");
    }
    const bool is_text = !is_number(text);
    if (column->first_line == 0) {
        column->first_line = c->records.line;
        column->is_text = is_text;
        if (is_text && j == c->response &&
            c->options->task == DATASET_TASK_NUMBER) {
            return bad_value(c, j, "is not a number");
        }
    }
    if (is_text) {
        return take_text(c, j, out);
    }
    if (column->is_text) {
        (void)snprintf(why, sizeof why,
                       "is a number, but line %zu has text there",
                       column->first_line);
        return bad_value(c, j, why);
    }
    (void)parse_number(text, text + strlen(text), out);
    return isfinite(*out) ? CLI_OK : bad_value(c, j, "is not a finite number");
}

/* Room for another row. */
static int grow(struct csv_table *c)
{
    char what[80];

    if (c->n_rows < c->rows_room) {
        return CLI_OK;
    }
    const size_t room =
        c->rows_room + c->rows_room / 2 + (c->n_columns < 4096 ? 64 : 1);
    const double row = (double)(c->n_columns * sizeof *c->values);
    const double size = (double)room * (row + sizeof *c->lines);

    (void)snprintf(what, sizeof what, "the %zu columns up to line %zu",
                   c->n_columns, c->records.line);
    const int code =
        dataset_check_room(c->records.from, size, c->options->memory, what);
    if (code) {
        return code;
    }
    double *values = realloc(c->values, room * c->n_columns * sizeof *values);
    c->values = values ? values : c->values;
    size_t *lines = realloc(c->lines, room * sizeof *lines);
    c->lines = lines ? lines : c->lines;
    c->rows_room = room;
    return values && lines ? CLI_OK : no_memory(c);
}

static int take_record(struct csv_table *c)
{
    if (c->records.n_fields != c->n_columns) {
        char why[80];

        (void)snprintf(why, sizeof why,
                       "%zu fields, but the first line has %zu",
                       c->records.n_fields, c->n_columns);
        return csv_records_bad_line(&c->records, c->records.line, why);
    }
    int code = grow(c);
    for (size_t j = 0; j < c->n_columns && !code; j++) {
        code = take_value(c, j, &c->values[c->n_rows * c->n_columns + j]);
    }
    if (!code) {
        c->lines[c->n_rows++] = c->records.line;
    }
    return code;
}

static int read_table(struct csv_table *c)
{
    bool is_data = false;
    int code = csv_records_begin(&c->records);

    if (!code) {
        code = start_table(c, &is_data);
    }
    if (!code && is_data) {
        code = take_record(c);
    }
    while (!code && !c->records.is_end) {
        code = csv_records_next(&c->records);
        if (!code && !c->records.is_end) {
            code = take_record(c);
        }
    }
    if (!code && c->n_rows == 0) {
        code = cli_fail(CLI_MODEL, c->records.from->who,
                        "%s: a header and no data", c->records.from->path);
    }
    return code;
}

/* ---- the data set -------------------------------------------------------- */

/* How a column of the file appears in the data set. */
struct coding {
    size_t first; /* of its columns there */
    size_t n;     /* so many; 0 for the response */
    size_t *rank; /* of a level among them; NULL: a number */
};

static int unknown_level(const struct csv_table *c, size_t j, const char *text)
{
    char name[INPUT_STREAM_SHOWN], shown[INPUT_STREAM_SHOWN];

    return cli_fail(CLI_MODEL, c->records.from->who,
                    "%s: column %s: \"%s\" does not occur in the training "
                    "data",
                    c->records.from->path, column_name(name, c, j),
                    input_stream_shown(shown, text, strlen(text)));
}

/* "colour" for "colour", "column 2" without names; yours. */
static char *base_name(const struct csv_table *c, size_t j)
{
    return c->columns[j].name ? cli_text("%s", c->columns[j].name)
                              : cli_text("column %zu", j + 1);
}

/* The levels that the training set has of a column are called name=level. */
static int code_like(struct coding *coding, const struct csv_table *c, size_t j)
{
    const struct dataset *like = c->options->like;
    const struct levels *levels = &c->columns[j].levels;
    char *base = base_name(c, j);
    const size_t m = strlen(base);
    size_t *seen = cli_alloc(levels->n, sizeof *seen);
    int code = CLI_OK;

    for (size_t k = 0; like->names && k < like->n_columns; k++) {
        const char *name = like->names[k];

        if (strncmp(name, base, m) != 0 || name[m] != '=') {
            continue;
        }
        for (size_t i = 0; i < levels->n; i++) {
            if (!strcmp(name + m + 1, levels->texts[i])) {
                coding->rank[i] = coding->n;
                seen[i] = 1;
            }
        }
        coding->n++;
    }
    for (size_t i = 0; i < levels->n && !code; i++) {
        code = seen[i] ? CLI_OK : unknown_level(c, j, levels->texts[i]);
    }
    free(seen);
    free(base);
    return code;
}

static int code_column(struct coding *coding, const struct csv_table *c,
                       size_t j)
{
    const struct column *column = &c->columns[j];
    const struct levels *levels = &column->levels;

    if (j == c->response) {
        return CLI_OK;
    }
    if (!column->is_text) {
        coding->n = 1;
        return CLI_OK;
    }
    coding->rank = cli_alloc(levels->n, sizeof *coding->rank);
    if (c->options->like) {
        return code_like(coding, c, j);
    }
    coding->n = levels->n;
    for (size_t k = 0; k < levels->n; k++) {
        coding->rank[levels->sorted[k]] = k;
    }
    return CLI_OK;
}

static void fill_rows(const struct dataset *set, const struct csv_table *c,
                      const struct coding *codings)
{
    for (size_t i = 0; i < c->n_rows; i++) {
        const double *row = c->values + i * c->n_columns;
        double *to = set->x + i * set->n_columns;

        for (size_t j = 0; j < c->n_columns; j++) {
            const struct coding *coding = &codings[j];

            if (coding->rank) {
                memset(to + coding->first, 0, coding->n * sizeof *to);
                to[coding->first + coding->rank[(size_t)row[j]]] = 1.0;
            } else if (coding->n == 1) {
                to[coding->first] = row[j]; /* never ahead of row[j] */
            }
        }
    }
}

static void name_columns(struct dataset *set, const struct csv_table *c,
                         const struct coding *codings)
{
    const struct dataset *like = c->options->like;

    set->names = cli_alloc(set->n_columns, sizeof *set->names);
    for (size_t j = 0; j < c->n_columns; j++) {
        const struct levels *levels = &c->columns[j].levels;
        const struct coding *coding = &codings[j];
        char *base = base_name(c, j);

        for (size_t k = 0; k < coding->n && !coding->rank; k++) {
            set->names[coding->first + k] = cli_text("%s", base);
        }
        for (size_t i = 0; i < levels->n && coding->rank; i++) {
            char **name = &set->names[coding->first + coding->rank[i]];

            *name = cli_text("%s=%s", base, levels->texts[i]);
        }
        free(base);
    }
    for (size_t k = 0; k < set->n_columns; k++) { /* levels not met here */
        if (!set->names[k]) {
            set->names[k] = cli_text(
                "%s", like && k < like->n_columns ? like->names[k] : "");
        }
    }
}

/* Covariates: text becomes a column for each level, 0 or 1. */
static int make_columns(struct dataset *set, struct csv_table *c,
                        struct coding *codings)
{
    bool has_text = false;
    int code = CLI_OK;

    for (size_t j = 0; j < c->n_columns && !code; j++) {
        codings[j].first = set->n_columns;
        code = code_column(&codings[j], c, j);
        set->n_columns += codings[j].n;
        has_text |= codings[j].rank != NULL;
    }
    if (code) {
        return code;
    }
    if (has_text) {
        const double size = (double)set->n_rows * (double)set->n_columns *
                            (double)sizeof *set->x;

        if ((code =
                 dataset_check_room(c->records.from, size, c->options->memory,
                                    "the columns that stand for text"))) {
            return code;
        }
        set->x = calloc(set->n_rows * set->n_columns, sizeof *set->x);
    } else {
        set->x = c->values;
    }
    if (!set->x) {
        return no_memory(c);
    }
    fill_rows(set, c, codings);
    if (!has_text) {
        double *less =
            realloc(set->x, set->n_rows * set->n_columns * sizeof *set->x);

        set->x = less ? less : set->x;
        c->values = NULL;
    }
    if (has_text || c->columns[0].name) {
        name_columns(set, c, codings);
    }
    return CLI_OK;
}

/* The number that a text has among the labels of the training set. */
static int classes_like(struct dataset *set, const struct csv_table *c,
                        size_t *rank)
{
    const struct dataset *like = c->options->like;
    const struct levels *levels = &c->columns[c->response].levels;

    for (size_t i = 0; i < levels->n; i++) {
        size_t k = 0;

        while (k < like->n_classes &&
               (!like->classes ||
                strcmp(like->classes[k], levels->texts[i]) != 0)) {
            k++;
        }
        if (k == like->n_classes) {
            return unknown_level(c, c->response, levels->texts[i]);
        }
        rank[i] = k;
    }
    set->n_classes = like->n_classes;
    set->classes = cli_alloc(set->n_classes, sizeof *set->classes);
    for (size_t k = 0; k < set->n_classes; k++) {
        set->classes[k] = like->classes ? cli_text("%s", like->classes[k])
                                        : cli_text("%zu", k);
    }
    return CLI_OK;
}

static int text_classes(struct dataset *set, const struct csv_table *c)
{
    const struct levels *levels = &c->columns[c->response].levels;
    size_t *rank = cli_alloc(levels->n, sizeof *rank);
    int code = CLI_OK;

    if (c->options->like) {
        code = classes_like(set, c, rank);
    } else {
        set->n_classes = levels->n;
        set->classes = cli_alloc(levels->n, sizeof *set->classes);
        for (size_t k = 0; k < levels->n; k++) {
            rank[levels->sorted[k]] = k;
            set->classes[k] = cli_text("%s", levels->texts[levels->sorted[k]]);
        }
    }
    for (size_t i = 0; i < set->n_rows && !code; i++) {
        set->y[i] = (double)rank[(size_t)set->y[i]];
    }
    free(rank);
    return code;
}

static int make_response(struct dataset *set, const struct csv_table *c)
{
    const struct column *column = &c->columns[c->response];
    const struct dataset_place place = {.from = c->records.from,
                                        .lines = c->lines};
    const struct dataset *like = c->options->like;

    set->y = cli_alloc(set->n_rows, sizeof *set->y);
    for (size_t i = 0; i < set->n_rows; i++) {
        set->y[i] = c->values[i * c->n_columns + c->response];
    }
    set->response = column->name ? cli_text("%s", column->name) : NULL;
    if (column->is_text) {
        return text_classes(set, c);
    }
    return c->options->task == DATASET_TASK_CLASSES ||
                   (like && like->n_classes > 0)
               ? dataset_classify(set, &place, c->options)
               : CLI_OK;
}

static void clear(struct csv_table *c)
{
    for (size_t j = 0; c->columns && j < c->n_columns; j++) {
        free(c->columns[j].name);
        dataset_levels_clear(&c->columns[j].levels);
    }
    free(c->columns);
    free(c->values);
    free(c->lines);
    csv_records_clear(&c->records);
}

int dataset_read_csv(struct dataset *out, struct input_stream *from,
                     const struct dataset_options *options)
{
    struct csv_table c = {.records = {.from = from}, .options = options};
    int code = read_table(&c);

    if (!code) {
        out->format = "CSV";
        out->n_rows = c.n_rows;
        code = make_response(out, &c);
    }
    if (!code) {
        struct coding *codings = cli_alloc(c.n_columns, sizeof *codings);

        code = make_columns(out, &c, codings);
        for (size_t j = 0; j < c.n_columns; j++) {
            free(codings[j].rank);
        }
        free(codings);
    }
    clear(&c);
    return code;
}
