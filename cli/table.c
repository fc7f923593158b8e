/* table.c - text in aligned columns, and numbers fit to stand in them. */
#include "table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- any table ----------------------------------------------------------- */

void table_init(struct table *table, size_t n_columns)
{
    *table = (struct table){.n_columns = n_columns};
}

void table_clear(struct table *table)
{
    for (size_t i = 0; i < table->n_cells; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    *table = (struct table){0};
}

void table_add(struct table *table, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (table->n_cells == table->room) {
        const size_t room = 2 * table->room + 64;
        char **cells = cli_alloc(room, sizeof *cells);

        if (table->n_cells) {
            memcpy(cells, table->cells, table->n_cells * sizeof *cells);
        }
        free(table->cells);
        table->cells = cells;
        table->room = room;
    }
    table->cells[table->n_cells++] = cli_text("%s", text);
}

enum { GAP = 2 };

/* The width of column j, gap included. */
static int width_of(const struct table *table, size_t j, int least)
{
    int width = abs(least);

    for (size_t i = j; i < table->n_cells; i += table->n_columns) {
        const int n = (int)strlen(table->cells[i]) + (j ? GAP : 1);

        width = n > width ? n : width;
    }
    return width;
}

void table_print(const struct table *table, const int *widths)
{
    int *full = cli_alloc(table->n_columns, sizeof *full);

    for (size_t j = 0; j < table->n_columns; j++) {
        full[j] = width_of(table, j, widths[j]);
    }
    for (size_t i = 0; i < table->n_cells; i++) {
        const size_t j = i % table->n_columns;
        const bool is_last = j + 1 == table->n_columns;

        if (widths[j] < 0) {
            const int gap = j ? GAP : 1;

            (void)printf("%*s%-*s", gap, "", is_last ? 0 : full[j] - gap,
                         table->cells[i]);
        } else {
            (void)printf("%*s", full[j], table->cells[i]);
        }
        if (is_last) {
            (void)putchar('\n');
        }
    }
    free(full);
}

/* ---- numbers ------------------------------------------------------------- */

const char *table_grouped(char out[32], int64_t value)
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

/* Add a number rounded to `digits` figures of `scale`, the spread it is to be
 * judged by: 0.0312 with a spread of 10 is 0.03. */
static void add_number(struct table *table, double value, double scale,
                       int digits)
{
    const bool has_scale = scale > 0.0 && isfinite(scale);
    const int decimals =
        has_scale ? digits - 1 - (int)floor(log10(scale)) : digits;

    if (isnan(value)) {
        table_add(table, "-");
    } else if (!has_scale) {
        table_add(table, "%.*g", digits, value);
    } else if (decimals > 8 || fabs(value) >= 1e8) {
        table_add(table, "%.*e", digits - 1, value);
    } else {
        table_add(table, "%.*f", decimals > 0 ? decimals : 0, value);
    }
}

static void add_count(struct table *table, double value)
{
    if (isnan(value)) {
        table_add(table, "-");
    } else {
        table_add(table, "%.0f", value);
    }
}

static void add_ratio(struct table *table, double value)
{
    if (isnan(value)) {
        table_add(table, "-");
    } else {
        table_add(table, value < 1000.0 ? "%.3f" : "%.3g", value);
    }
}

/* ---- the summary --------------------------------------------------------- */

static void add_row(struct table *table, size_t i, const relmc_summary *s)
{
    table_add(table, "x[%zu]", i + 1);
    add_number(table, s->mean, s->sd, 4);
    add_number(table, s->sd, s->sd, 4);
    add_number(table, s->q5, s->sd, 3);
    add_number(table, s->q95, s->sd, 3);
    add_count(table, s->ess_bulk);
    add_count(table, s->ess_tail);
    add_ratio(table, s->rhat);
}

void table_print_summary(const relmc_summary *rows, size_t n, size_t limit)
{
    static const char *const heads[] = {"",    "mean",     "sd",       "5%",
                                        "95%", "ESS bulk", "ESS tail", "R-hat"};
    static const int widths[] = {-5, 9, 8, 7, 7, 11, 10, 7};
    const size_t shown = n < limit ? n : limit;
    struct table table;

    table_init(&table, sizeof heads / sizeof *heads);
    for (size_t j = 0; j < table.n_columns; j++) {
        table_add(&table, "%s", heads[j]);
    }
    for (size_t i = 0; i < shown; i++) {
        add_row(&table, i, &rows[i]);
    }
    table_print(&table, widths);
    table_clear(&table);
    if (shown < n) {
        (void)printf(" ... and %zu more (--json prints them all)\n", n - shown);
    }
}
