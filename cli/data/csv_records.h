/* csv_records.h - the records of a CSV file, one after another. */
#ifndef RELMC_CLI_CSV_RECORDS_H
#define RELMC_CLI_CSV_RECORDS_H

#include "data/input_stream.h"

struct csv_records {
    struct input_stream
        *from;        /* the caller sets it; all else is zero at first */
    int separator;    /* a character */
    size_t line;      /* where the record at hand starts */
    size_t next_line; /* where the next one does */
    bool is_end;      /* there is no record any more */
    /* the record: fields with a zero behind each */
    char *text;
    size_t n, room;
    size_t *starts;
    size_t n_fields, fields_room;
};

/* These return 0, or the exit code after a message. */

/* Looks at the first line for the separator. */
int csv_records_begin(struct csv_records *c);
/* The next record that is not blank. */
int csv_records_next(struct csv_records *c);
void csv_records_clear(struct csv_records *c);

/* Field j < n_fields, borrowed until the next record. */
const char *csv_records_field(const struct csv_records *c, size_t j);
/* Says what is wrong with a line; returns the exit code. */
int csv_records_bad_line(const struct csv_records *c, size_t line,
                         const char *why);

#endif
