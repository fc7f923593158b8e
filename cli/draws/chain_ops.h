/* chain_ops.h - what a file format provides: a row of the table in chain_file.c.  Only
 * readers and writers in this folder include it. */
#ifndef RELMC_CLI_CHAIN_OPS_H
#define RELMC_CLI_CHAIN_OPS_H

#include "draws/chain_file.h"

#include <stdio.h>

enum { CHAIN_MAGIC = 8 }; /* first bytes, by which formats differ */

struct chain_ops {
    const char *suffix; /* of a file's name */
    const char *magic;  /* its first CHAIN_MAGIC bytes; NULL: any */
    /* NULL: a file holds one chain */
    int (*count)(const char *path, size_t *n, char message[CHAIN_MESSAGE]);
    /* Of an empty chain whose path, ops and message are set. */
    int (*open)(struct chain_file *chain, size_t k);
    int (*read)(struct chain_file *chain, const size_t *slots, size_t n_slots);
    int (*visit)(struct chain_file *chain, const struct chain_visitor *visitor);
    /* Frees chain->own, which may be NULL. */
    void (*clear)(struct chain_file *chain);
    /* One of the two, or none if relmc only reads the format.  A file for each chain:
     * `digits` are those of text, 0 if the chain's file decides ... */
    int (*write)(FILE *file, struct chain_file *chain, int digits,
                 char message[CHAIN_MESSAGE]);
    /* ... or one file for all chains. */
    int (*write_all)(const char *path, struct chain_file *chains, size_t n,
                     char message[CHAIN_MESSAGE]);
};

extern const struct chain_ops chain_csv, chain_raw, chain_netcdf;

/* csv_write.c, raw_write.c, netcdf_write.c */
int csv_write(FILE *file, struct chain_file *chain, int digits,
              char message[CHAIN_MESSAGE]);
int raw_write(FILE *file, struct chain_file *chain, int digits,
              char message[CHAIN_MESSAGE]);
int netcdf_write(const char *path, struct chain_file *chains, size_t n,
                 char message[CHAIN_MESSAGE]);

/* A row of the table in chain_file.c. */
const struct chain_ops *chain_ops_of(enum chain_format format);

/* ---- chain_reader.c ------------------------------------------------------ */

/* An empty chain. */
void chain_init(struct chain_file *chain, const struct chain_ops *ops,
                const char *path, char message[CHAIN_MESSAGE]);
/* Reads by visiting, for a format that knows its number of rows when opened. */
int chain_read_known(struct chain_file *chain, const size_t *slots,
                     size_t n_slots);
/* Frees the draws; what `open` found stays. */
void chain_forget(struct chain_file *chain);

/* An error, its message in one printable line; returns the code. */
int chain_fail(const struct chain_file *chain, int code, const char *format,
               ...) __attribute__((format(printf, 3, 4)));
int chain_fail_read(const struct chain_file *chain);
int chain_fail_memory(const struct chain_file *chain);

/* ---- chain_text.c: lines with # ------------------------------------------ */

/* "#     num_warmup = 1000 (Default)"; the first one of a name counts. */
void chain_take_setting(struct chain_file *chain, const char *text, size_t n);
/* A line among the draws: takes the step size and the times from it. */
void chain_note(struct chain_file *chain, const char *text, size_t n);
/* Does the line end the warm-up? */
bool chain_ends_warmup(const char *text, size_t n);
/* The numbers of n chains: those in their files, or else from 1. */
void chain_numbers(long long *numbers, const struct chain_file *chains,
                   size_t n);
/* How many rows of warm-up the configuration promises. */
size_t chain_warmup_rows(const struct chain_file *chain);
/* Removes the blanks at both ends. */
void chain_trim(const char **from, size_t *n);

/* ---- the formats on a stream --------------------------------------------- */

/* Takes configuration and names from a text. */
int csv_read_head(struct chain_file *chain, char *text, size_t n);
/* The stream belongs to the chain then, and is read once. */
int csv_open_stream(struct chain_file *chain, FILE *stream);

int raw_open_stream(struct chain_file *chain, FILE *stream);
int raw_visit_stream(struct chain_file *chain, FILE *stream,
                     const struct chain_visitor *visitor);

#endif
