/* csv_read.h - reads the draws of one chain from a CSV file as CmdStan and
 * relmc write it, block by block: only the columns asked for are kept. */
#ifndef RELMC_CLI_STAN_CSV_H
#define RELMC_CLI_STAN_CSV_H

#include "tool/cli.h"

#include <stdio.h>

enum { CSV_MESSAGE = 512 };

/* A column that is not wanted. */
#define CSV_SKIP SIZE_MAX

struct csv_setting {
    char *key, *value;
};

/* Where a raw file has what: raw.c. */
struct raw_layout {
    uint64_t body, warmup_rows, adaptation, draws_at, rows, end;
    uint64_t text; /* bytes of the configuration and the names */
};

/* Who sees a chain in the order of a CSV file: rows, those of warm-up first, and
 * the lines with # among them and behind, without their newline. */
struct chain_visitor {
    int (*row)(void *ctx, const double *row);              /* all columns */
    int (*comment)(void *ctx, const char *text, size_t n); /* NULL: none */
    bool skips_warmup;
    const bool *is_wanted; /* columns whose values count; NULL: all */
    void *ctx;
};

struct stan_csv {
    char *path;
    uint64_t bytes; /* of the file; 0 if it is a pipe */

    /* What stands in front of the draws. */
    struct csv_setting *settings;
    size_t n_settings;
    size_t n_columns;
    char **names;       /* as in the file: x.1 */
    size_t header_line; /* its number, from 1 */

    /* What the last reading found; warm-up is never among the draws. */
    size_t n_rows;
    size_t n_warmup_rows;
    size_t n_slots;
    double *values;                                     /* n_rows x n_slots */
    double step_size, seconds_warmup, seconds_sampling; /* NaN: not told */

    char *remark; /* what should be said of the file; NULL: nothing */

    /* Of the other formats. */
    int format; /* chain.h; 0: CSV */
    struct raw_layout raw;
    char *head; /* what a CSV file would begin with; NULL: as the file */
    struct cdf_chain *cdf; /* netcdf_read.c */

    /* Called now and then with the bytes read so far; may be NULL. */
    void (*tick)(void *ctx, uint64_t bytes);
    void *tick_ctx;

    /* The place in the file. */
    FILE *stream;
    bool is_seekable;
    long long body; /* where the rows start */
    uint64_t consumed;
    char *block; /* bytes begin ... end are not used yet */
    size_t begin, end, room;
    size_t line; /* number of the last line */
    bool is_at_end;
    char *name_text; /* all names */
    size_t row_room; /* of values */
    bool has_adapted;
    char *message; /* of the caller */
};

/* Reads up to the header.  0, or CLI_MODEL for what is no such file, CLI_IO,
 * or CLI_NUMERIC without memory, and a message that names file and line. */
int stan_csv_open(struct stan_csv *csv, const char *path,
                  char message[CSV_MESSAGE]);
/* The same from a stream, which is yours until then. */
int stan_csv_open_stream(struct stan_csv *csv, FILE *stream, const char *path,
                         char message[CSV_MESSAGE]);

/* Reads the draws: column j goes to slot slots[j] of its row, in all n_slots,
 * or is left out if that is CSV_SKIP.  May be repeated, unless it is a pipe. */
int stan_csv_read(struct stan_csv *csv, const size_t *slots, size_t n_slots,
                  char message[CSV_MESSAGE]);
/* Gives back the draws, but not what open found. */
void stan_csv_forget(struct stan_csv *csv);
void stan_csv_clear(struct stan_csv *csv);

/* Shows all rows and comments, one after another; no pipe. */
int stan_csv_visit(struct stan_csv *csv, const struct chain_visitor *visitor,
                   char message[CSV_MESSAGE]);

/* For readers of other formats: an error, its message in one printable line; a
 * line with #, of which the step size and the times are taken; the end of what
 * was opened as a stream. */
int stan_csv_fail(const struct stan_csv *csv, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void stan_csv_note(struct stan_csv *csv, const char *text, size_t n);
void stan_csv_close(struct stan_csv *csv);
/* How many rows of warm-up the configuration promises. */
size_t stan_csv_warmup_rows(const struct stan_csv *csv);

/* A value of the configuration block; NULL, or NaN, if it does not tell. */
const char *stan_csv_setting(const struct stan_csv *csv, const char *key);
double stan_csv_number(const struct stan_csv *csv, const char *key);

/* x[1], b[2,3], t.1[2] for the columns x.1, b.2.3, t:1.2; yours. */
char *stan_csv_pretty(const char *name);
/* A statistic of the sampler, not a parameter: lp__. */
bool stan_csv_is_sampler(const char *name);

#endif
