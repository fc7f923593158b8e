/* text_table.h - text in aligned columns, and numbers fit to stand in them. */
#ifndef RELMC_CLI_TABLE_H
#define RELMC_CLI_TABLE_H

#include "tool/cli.h"

struct table {
    int lead; /* blanks in front of a row */
    size_t n_columns, n_cells, room;
    char **cells; /* row by row */
};

void table_init(struct table *table, size_t n_columns);
void table_add(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* On stdout.  Widths are the least ones, gap included, negative for a column
 * that is aligned to the left; columns grow with what they hold. */
void table_print(const struct table *table, const int *widths);
void table_clear(struct table *table);

/* The name of a coordinate as people write it: x[1], b[2,3]. */
const char *table_coordinate(char out[CLI_NAME], const relmc_target *target,
                             size_t i);

/* 52310 as "52 310" */
const char *table_grouped(char out[32], int64_t value);

#endif
