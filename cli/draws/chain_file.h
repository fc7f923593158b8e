/* chain_file.h - one chain in a file of any format.  Every command that takes draws
 * reads them through these functions. */
#ifndef RELMC_CLI_CHAIN_FILE_H
#define RELMC_CLI_CHAIN_FILE_H

#include "tool/cli.h"

/* Places in the table of formats, chain_file.c. */
enum chain_format { CHAIN_CSV, CHAIN_RAW, CHAIN_NC, CHAIN_NONE };

enum { CHAIN_MESSAGE = 512 };

/* Leaves a column out. */
#define CHAIN_SKIP SIZE_MAX

struct chain_setting {
    char *key, *value;
};

/* Called for a chain in the order of a CSV file: for rows, those of warm-up first, and
 * for the lines with # among and behind them, which come without their newline. */
struct chain_visitor {
    int (*row)(void *ctx, const double *row);              /* all columns */
    int (*comment)(void *ctx, const char *text, size_t n); /* NULL: none */
    bool skips_warmup;
    const bool *is_wanted; /* columns whose values count; NULL: all */
    void *ctx;
};

struct chain_file {
    char *path;
    uint64_t bytes; /* of the file; 0 if it is a pipe */

    /* The configuration and the names. */
    struct chain_setting *settings;
    size_t n_settings;
    size_t n_columns;
    char **names;       /* as in the file: x.1 */
    char *name_text;    /* all names */
    size_t header_line; /* its number, from 1 */
    char *head; /* both, as a CSV file has them; NULL: in the file, at: */
    uint64_t head_at, head_bytes;

    /* What the last reading found; warm-up is never among the draws. */
    size_t n_rows;
    size_t n_warmup_rows;
    size_t n_slots;
    double *values;                                     /* n_rows x n_slots */
    double step_size, seconds_warmup, seconds_sampling; /* NaN: undefined */

    char *remark; /* a warning about the file; NULL: none */

    const struct chain_ops *ops; /* of its format */
    void *own;                   /* what they keep */

    /* Called now and then with the bytes read so far; may be NULL. */
    void (*tick)(void *ctx, uint64_t bytes);
    void *tick_ctx;

    char *message; /* of the caller: CHAIN_MESSAGE bytes */
};

/* The format that is written to a file of that name: by .csv, .rmc, .nc at its end;
 * CHAIN_NONE for any other. */
enum chain_format chain_format_of(const char *path);
/* ".csv" */
const char *chain_suffix(enum chain_format format);

/* Does the file hold draws, ours or CmdStan's?  Other tables in CSV do not count. */
bool chain_is_it(const char *path);

/* These return 0, or a code and a message with file and line: CLI_MODEL for a file that
 * is wrong, CLI_IO for one that cannot be read, CLI_NUMERIC without memory. */

/* How many chains a file has: one, unless it is NetCDF. */
int chain_count(const char *path, size_t *n, char message[CHAIN_MESSAGE]);
/* Opens the k-th of them: reads the configuration and the names. */
int chain_open(struct chain_file *chain, const char *path, size_t k,
               char message[CHAIN_MESSAGE]);
/* Reads the draws: column j goes to slot slots[j] of its row, in all n_slots,
 * or is left out if that is CHAIN_SKIP.  May be repeated, unless it is a pipe. */
int chain_read(struct chain_file *chain, const size_t *slots, size_t n_slots,
               char message[CHAIN_MESSAGE]);
/* n_rows, n_warmup_rows, step size and times, without the draws. */
int chain_measure(struct chain_file *chain, char message[CHAIN_MESSAGE]);
/* Calls the visitor for all rows and comments.  Pipes are refused. */
int chain_visit(struct chain_file *chain, const struct chain_visitor *visitor,
                char message[CHAIN_MESSAGE]);
/* The configuration as it stands in a CSV file, lines with #, and the line of
 * names; yours, or NULL and a message. */
char *chain_head(struct chain_file *chain, char message[CHAIN_MESSAGE]);
void chain_clear(struct chain_file *chain);

/* A value of the configuration; NULL, or NaN, if there is none of that key. */
const char *chain_setting(const struct chain_file *chain, const char *key);
double chain_number(const struct chain_file *chain, const char *key);

/* The version of the NetCDF library, or "no". */
const char *netcdf_library(void);

#endif
