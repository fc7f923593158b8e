/* result.h - the result of a command: rows of named values, printed as a table,
 * as JSON or as CSV. */
#ifndef RELMC_CLI_RESULT_H
#define RELMC_CLI_RESULT_H

#include "tool/config.h"

/* How the table shows a number.  JSON has all its digits, CSV ten. */
enum form {
    FORM_GENERAL, /* %g with so many digits */
    FORM_FIXED,   /* %f */
    FORM_SCIENCE, /* %e */
    FORM_FIGURES, /* so many digits, zeros at the end too, no exponent for
                   * numbers of ordinary size */
    FORM_RATIO,   /* two decimals below 10, one below 1000, none above */
    FORM_PERCENT, /* "12.5 %" */
    FORM_SHARE,   /* of 1, in percent: "12.50 %" */
    FORM_NOTE     /* a text at the end of a row, its gap included */
};

struct field {
    const char *key;  /* in JSON; "mean/z": z of the object mean; NULL: none */
    const char *head; /* of the column in the table; NULL: no column */
    const char *csv;  /* of the column in CSV; NULL: no column */
    int width;        /* least, gap included; negative: aligned to the left */
    enum form form;
    int digits;
    const char *undefined; /* NaN in the table; NULL: "-" */
};

struct value;

/* All zero: an empty one. */
struct result {
    struct field *fields;
    size_t n_fields, fields_room;
    struct value *values; /* row by row */
    size_t n_values, values_room;
    char **texts; /* of fields that are made at run time */
    size_t n_texts, texts_room;
    int lead;      /* blanks in front of a row of the table */
    size_t gap_at; /* the row with an empty line above it; 0: none */
};

void result_field(struct result *result, struct field field);
void result_fields(struct result *result, const struct field *fields, size_t n);
/* A text for a field; the result keeps it. */
const char *result_keep(struct result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void result_clear(struct result *result);

/* Values of a row, in the order of the fields. */
void result_real(struct result *result, double value);
void result_count(struct result *result, int64_t value);
void result_flag(struct result *result, bool value);
void result_text(struct result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The name x.1 as people write it: x[1]. */
void result_name(struct result *result, const char *name);
/* Takes the value over; it is in JSON alone, and not there if it is NULL. */
void result_json(struct result *result, json_t *value);
/* JSON leaves it out. */
void result_none(struct result *result);

size_t result_n_rows(const struct result *result);
/* A value that is text. */
const char *result_text_at(const struct result *result, size_t row,
                           size_t field);

/* On stdout, below the heads if there are any. */
void result_print(const struct result *result);
void result_print_first(const struct result *result, size_t most);
/* Some of the rows. */
void result_print_rows(const struct result *result, const size_t *rows,
                       size_t n);
/* The first row, a line for each value with its head in front. */
void result_print_pairs(const struct result *result);
/* A row as an object, the rows as a list, one field of all rows as a list. */
json_t *result_row(const struct result *result, size_t row);
json_t *result_rows(const struct result *result);
json_t *result_column(const struct result *result, size_t field);
/* The rows of n results with the same fields; 0, or the exit code after a
 * message. */
int result_write_csv(const struct result *results, size_t n, const char *path,
                     const char *who, const struct voice *voice);

/* 52310 as "52 310" */
const char *result_grouped_digits(char out[32], int64_t value);

/* JSON on stdout; takes the value over. */
void result_print_json(json_t *value);

#endif
