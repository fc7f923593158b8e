/* sheet.c - what was measured: rows of numbers for every cell, and CSV files. */
#define _POSIX_C_SOURCE 200809L

#include "reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------ */

double *cell_rows_add(struct cell_rows *rows, size_t n, size_t n_columns)
{
    const size_t old = rows->n * n_columns, more = n * n_columns;
    double *values = realloc(rows->values, (old + more + 1) * sizeof *values);

    if (!values) {
        abort();
    }
    for (size_t i = 0; i < more; i++) {
        values[old + i] = CLI_NAN;
    }
    rows->values = values;
    rows->n += n;
    return values + old;
}

struct mean_se mean_of(const double *values, size_t n)
{
    double mean = 0.0, squares = 0.0;

    for (size_t i = 0; i < n; i++) {
        mean += values[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    return (struct mean_se){
        .mean = n ? mean : CLI_NAN,
        .se = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : CLI_NAN,
    };
}

/* ---- the sheet ------------------------------------------------------------- */

void sheet_init(struct sheet *sheet, const struct experiment *e,
                const char *const *columns)
{
    size_t n = 0;

    while (columns[n]) {
        n++;
    }
    *sheet = (struct sheet){
        .experiment = e,
        .columns = columns,
        .n_columns = n,
        .cells = cli_alloc(e->n_cells, sizeof(struct cell_rows)),
    };
}

void sheet_clear(struct sheet *sheet)
{
    for (size_t i = 0; sheet->cells && i < sheet->experiment->n_cells; i++) {
        free(sheet->cells[i].values);
    }
    free(sheet->cells);
    *sheet = (struct sheet){0};
}

static ptrdiff_t find_column(const struct sheet *sheet, const char *name)
{
    for (size_t i = 0; i < sheet->n_columns; i++) {
        if (!strcmp(sheet->columns[i], name)) {
            return (ptrdiff_t)i;
        }
    }
    return -1;
}

/* The place of a column; it must exist. */
static size_t column_of(const struct sheet *sheet, const char *name)
{
    const ptrdiff_t found = find_column(sheet, name);

    if (found < 0) {
        (void)cli_fail(0, "relmc reproduce", "no column %s", name);
        abort();
    }
    return (size_t)found;
}

/* ---- files ----------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t add_text(uint64_t h, const char *text)
{
    for (; *text; text++) {
        h = (h ^ (unsigned char)*text) * 0x100000001b3U;
    }
    return h;
}

/* What the rows depend on. */
static char *identity(const struct sheet *sheet)
{
    const struct experiment *e = sheet->experiment;
    json_t *settings = json_copy(e->file);
    uint64_t h = 0xcbf29ce484222325U;

    (void)json_object_del(settings, "title"); /* these are for people */
    (void)json_object_del(settings, "note");
    (void)json_object_del(settings, "seconds");
    char *text = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS);

    json_decref(settings);
    h = add_text(h, text ? text : "");
    for (size_t i = 0; i < sheet->n_columns; i++) {
        h = add_text(h, sheet->columns[i]);
    }
    free(text);
    return cli_text("# %s, scale %s, seed %llu, experiment %016llx\n", e->name,
                    e->scale, (unsigned long long)e->seed,
                    (unsigned long long)h);
}

void sheet_write_head(const struct sheet *sheet, FILE *file)
{
    char *first = identity(sheet);

    (void)fprintf(file, "%spanel,method", first);
    for (size_t i = 0; i < sheet->experiment->n_axes; i++) {
        (void)fprintf(file, ",%s", sheet->experiment->axis[i]);
    }
    for (size_t i = 0; i < sheet->n_columns; i++) {
        (void)fprintf(file, ",%s", sheet->columns[i]);
    }
    (void)fputc('\n', file);
    free(first);
}

static double axis_of(const struct cell *cell, const char *name)
{
    for (size_t i = 0; i < cell->n_axes; i++) {
        if (!strcmp(cell->axis[i], name)) {
            return cell->at[i];
        }
    }
    return CLI_NAN;
}

static void write_start(const struct sheet *sheet, size_t cell, FILE *file)
{
    const struct experiment *e = sheet->experiment;
    const struct cell *c = &e->cells[cell];

    (void)fprintf(file, "%s,%s", experiment_name(c->panel),
                  experiment_name(c->method));
    for (size_t i = 0; i < e->n_axes; i++) {
        (void)fprintf(file, ",%.9g", axis_of(c, e->axis[i]));
    }
}

void sheet_write_cell(const struct sheet *sheet, size_t cell, FILE *file)
{
    const struct cell_rows *rows = &sheet->cells[cell];
    const struct cell *here = &sheet->experiment->cells[cell];

    /* one blank line lets gnuplot see the rows of a surface, two the panels */
    if (cell > 0 && here->panel != here[-1].panel) {
        (void)fputs("\n\n", file);
    } else if (cell > 0 && here->n_axes > 1 && here->at[0] != here[-1].at[0]) {
        (void)fputc('\n', file);
    }
    for (size_t r = 0; r < rows->n; r++) {
        write_start(sheet, cell, file);
        for (size_t i = 0; i < sheet->n_columns; i++) {
            (void)fprintf(file, ",%.9g",
                          rows->values[r * sheet->n_columns + i]);
        }
        (void)fputc('\n', file);
    }
}

/* The cell a line of a file is of; what follows its names and axes. */
static const char *match(const struct sheet *sheet, const char *row,
                         size_t *cell)
{
    for (size_t i = 0; i < sheet->experiment->n_cells; i++) {
        const size_t guess = (*cell + i) % sheet->experiment->n_cells;
        char *start = NULL;
        size_t bytes = 0;
        FILE *memory = open_memstream(&start, &bytes);

        if (!memory) {
            return NULL;
        }
        write_start(sheet, guess, memory);
        (void)fclose(memory);
        const bool is_it = !strncmp(row, start, bytes) && row[bytes] == ',';

        free(start);
        if (is_it) {
            *cell = guess;
            return row + bytes;
        }
    }
    return NULL;
}

static void read_row(struct sheet *sheet, size_t cell, const char *row)
{
    double *values = cell_rows_add(&sheet->cells[cell], 1, sheet->n_columns);

    for (size_t i = 0; i < sheet->n_columns && *row == ','; i++) {
        char *end;

        values[i] = strtod(row + 1, &end);
        row = end;
    }
}

size_t sheet_read(struct sheet *sheet, const char *path)
{
    FILE *file = fopen(path, "r");
    char *row = NULL, *first = identity(sheet);
    size_t room = 0, cell = 0, n = 0;
    ssize_t length;

    if (file && getline(&row, &room, file) > 0 && !strcmp(row, first)) {
        while ((length = getline(&row, &room, file)) > 0 &&
               row[length - 1] == '\n') {
            const char *rest = match(sheet, row, &cell);

            if (rest) {
                n += sheet->cells[cell].n == 0;
                read_row(sheet, cell, rest);
            }
        }
    }
    if (file) {
        (void)fclose(file);
    }
    free(row);
    free(first);
    return n;
}

/* ---- lines ----------------------------------------------------------------- */

/* The axis of a cell that is not this one; NaN if it has no other. */
static double other_axis(const struct cell *cell, const char *axis)
{
    double other = CLI_NAN;

    for (size_t i = 0; i < cell->n_axes; i++) {
        if (strcmp(cell->axis[i], axis) != 0) {
            other = cell->at[i];
        }
    }
    return other;
}

static bool is_of(const struct cell *cell, const char *panel,
                  const char *method)
{
    return (!panel || !strcmp(experiment_name(cell->panel), panel)) &&
           !strcmp(experiment_name(cell->method), method);
}

struct line sheet_line(const struct sheet *sheet, const char *panel,
                       const char *method, const char *axis, const char *column)
{
    const struct experiment *e = sheet->experiment;
    const size_t at = column_of(sheet, column);
    char *with_se = cli_text("%s_se", column);
    const ptrdiff_t se = find_column(sheet, with_se);
    const ptrdiff_t of_axis = find_column(sheet, axis);
    size_t total = 0;

    free(with_se);
    for (size_t i = 0; i < e->n_cells; i++) {
        total += sheet->cells[i].n;
    }
    double *room = cli_alloc(4 * total + 1, sizeof *room);
    struct line line = {0, room, room + total, room + 2 * total,
                        room + 3 * total};

    for (size_t i = 0; i < e->n_cells; i++) {
        const struct cell *cell = &e->cells[i];
        const size_t n = is_of(cell, panel, method) ? sheet->cells[i].n : 0;

        for (size_t r = 0; r < n; r++, line.n++) {
            const double *values =
                sheet->cells[i].values + r * sheet->n_columns;

            line.x[line.n] =
                of_axis < 0 ? axis_of(cell, axis) : values[of_axis];
            line.y[line.n] = values[at];
            line.se[line.n] = se < 0 || isnan(values[se]) ? 0.0 : values[se];
            line.other[line.n] = other_axis(cell, axis);
        }
    }
    return line;
}
