/* chain_file.h - the draws of one chain in a file, whatever its format: the door that
 * all commands on draws go through. */
#ifndef RELMC_CLI_CHAIN_H
#define RELMC_CLI_CHAIN_H

#include "draws/csv_read.h"

enum chain_format { CHAIN_CSV, CHAIN_RAW, CHAIN_NC, CHAIN_NONE };

/* By the end of a name: .csv, .rmc, .nc; CHAIN_NONE for any other. */
enum chain_format chain_format_of(const char *path);
/* ".csv" */
const char *chain_suffix(enum chain_format format);

/* Is there a file of draws, ours or CmdStan's?  A table in CSV is none. */
bool chain_is_it(const char *path);

/* How many chains a file has: one, unless it is NetCDF. */
int chain_count(const char *path, size_t *n, char message[CSV_MESSAGE]);
/* The k-th of them; as stan_csv_open. */
int chain_open(struct stan_csv *csv, const char *path, size_t k,
               char message[CSV_MESSAGE]);
/* As stan_csv_read. */
int chain_read(struct stan_csv *csv, const size_t *slots, size_t n_slots,
               char message[CSV_MESSAGE]);
/* n_rows, n_warmup_rows, step size and times, without the draws. */
int chain_measure(struct stan_csv *csv, char message[CSV_MESSAGE]);
/* As stan_csv_visit. */
int chain_visit(struct stan_csv *csv, const struct chain_visitor *visitor,
                char message[CSV_MESSAGE]);
/* The configuration as it stands in a CSV file, lines with #, and the line of
 * names; yours, or NULL and a message. */
char *chain_head(struct stan_csv *csv, char message[CSV_MESSAGE]);
void chain_clear(struct stan_csv *csv);

/* ---- raw.c ------------------------------------------------------------------ */

enum { CHAIN_MAGIC = 8 }; /* first bytes that tell one format from another */
bool raw_is_it(const char start[CHAIN_MAGIC]);
int raw_open(struct stan_csv *csv, const char *path, char message[CSV_MESSAGE]);
int raw_open_stream(struct stan_csv *csv, FILE *stream, const char *path,
                    char message[CSV_MESSAGE]);
int raw_visit(struct stan_csv *csv, FILE *stream,
              const struct chain_visitor *visitor);

/* ---- netcdf_read.c, or netcdf_none.c ----------------------------------------- */

/* The version of the library, or "no". */
const char *cdf_library(void);
bool cdf_is_it(const char start[CHAIN_MAGIC]);
int cdf_count(const char *path, size_t *n, char message[CSV_MESSAGE]);
int cdf_open(struct stan_csv *csv, const char *path, size_t k,
             char message[CSV_MESSAGE]);
int cdf_visit(struct stan_csv *csv, const struct chain_visitor *visitor);
void cdf_clear(struct stan_csv *csv);

#endif
