/* text_table.c - text in aligned columns, and numbers fit to stand in them. */
#include "tool/text_table.h"

#include <inttypes.h>
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
        const int n = (int)strlen(table->cells[i]) + (j ? GAP : table->lead);

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
    for (size_t i = 0; i < table->n_cells; i += table->n_columns) {
        for (size_t j = 0; j < table->n_columns; j++) {
            const char *cell = table->cells[i + j];
            const bool is_last = j + 1 == table->n_columns;
            const int gap = j ? GAP : table->lead;

            if (widths[j] > 0) {
                (void)printf("%*s", full[j], cell);
            } else {
                (void)printf("%*s%-*s", gap, "", is_last ? 0 : full[j] - gap,
                             cell);
            }
        }
        (void)putchar('\n');
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

/* ---- names --------------------------------------------------------------- */

const char *table_coordinate(char out[CLI_NAME], const relmc_target *target,
                             size_t i)
{
    relmc_target_coordinate_name(target, i, out, CLI_NAME - 1);
    char *dot = strchr(out, '.');
    if (dot) {
        *dot = '[';
        while ((dot = strchr(dot, '.'))) {
            *dot = ',';
        }
        memcpy(out + strlen(out), "]", 2);
    }
    return out;
}
