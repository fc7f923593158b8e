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

/* "-0.00" is zero. */
static const char *without_sign_of_zero(const char *text)
{
    return *text == '-' && !text[strspn(text, "-0.")] ? text + 1 : text;
}

/* Add a number rounded to `digits` figures of `scale`, the spread it is to be
 * judged by: 0.0312 with a spread of 10 is 0.03. */
static void add_number(struct table *table, double value, double scale,
                       int digits)
{
    const bool has_scale = scale > 0.0 && isfinite(scale);
    const int decimals =
        has_scale ? digits - 1 - (int)floor(log10(scale)) : digits;
    char text[40];

    if (isnan(value)) {
        (void)snprintf(text, sizeof text, "-");
    } else if (!has_scale) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
    } else if (decimals > 8 || scale >= 1e8 || fabs(value) >= 1e8) {
        (void)snprintf(text, sizeof text, "%.*e", digits - 1, value);
    } else {
        (void)snprintf(text, sizeof text, "%.*f", decimals > 0 ? decimals : 0,
                       value);
    }
    table_add(table, "%s", isnan(value) ? text : without_sign_of_zero(text));
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

const char *table_coordinate(char out[64], const relmc_target *target, size_t i)
{
    relmc_target_coordinate(target, i, out, 63);
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

static void add_row(struct table *table, const char *name,
                    const relmc_summary *s, double scale)
{
    table_add(table, "%s", name);
    add_number(table, s->mean, scale, 4);
    add_number(table, s->sd, scale, 4);
    add_number(table, s->q5, scale, 3);
    add_number(table, s->q95, scale, 3);
    add_count(table, s->ess_bulk);
    add_count(table, s->ess_tail);
    add_ratio(table, s->rhat);
}

/* The largest spread, if one number of decimals will do for all rows; NaN if
 * every row needs its own. */
static double common_scale(const relmc_summary *rows, size_t n)
{
    double least = HUGE_VAL, most = 0.0;

    for (size_t i = 0; i < n; i++) {
        least = fmin(least, rows[i].sd);
        most = fmax(most, rows[i].sd);
    }
    return most <= 30.0 * least ? most : CLI_NAN;
}

void table_print_summary(const relmc_summary *rows, const relmc_target *target,
                         size_t limit)
{
    static const char *const heads[] = {"",    "mean",     "sd",       "5%",
                                        "95%", "ESS bulk", "ESS tail", "R-hat"};
    static const int widths[] = {-5, 9, 8, 7, 7, 11, 10, 7};
    const size_t n = relmc_target_dim(target);
    const size_t shown = n < limit ? n : limit;
    const double common = common_scale(rows, shown);
    struct table table;

    table_init(&table, sizeof heads / sizeof *heads);
    table.lead = 1;
    for (size_t j = 0; j < table.n_columns; j++) {
        table_add(&table, "%s", heads[j]);
    }
    for (size_t i = 0; i < shown; i++) {
        char name[64];

        add_row(&table, table_coordinate(name, target, i), &rows[i],
                isnan(common) ? rows[i].sd : common);
    }
    table_print(&table, widths);
    table_clear(&table);
    if (shown < n) {
        (void)printf(" ... and %zu more (--json prints them all)\n", n - shown);
    }
}
