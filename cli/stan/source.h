/* source.h - reads a Stan program with its includes, and the origin of each
 * line. */
#ifndef RELMC_CLI_STAN_SOURCE_H
#define RELMC_CLI_STAN_SOURCE_H

#include "tool/cli.h"

struct stan_line {
    size_t file;   /* of stan_source.files */
    size_t number; /* from 1 */
};

struct stan_source {
    char *text;
    char **files; /* the program first */
    size_t n_files;
    struct stan_line *lines; /* of the text */
    size_t n_lines, room;
};

/* #include lines are replaced by the files they name, which are looked for
 * beside the file that has the line, then beside the program.  0, or the exit
 * code after a message. */
int stan_source_read(struct stan_source *source, const char *path);
void stan_source_clear(struct stan_source *source);

/* Where line `number` (from 1) of the text is from; past the end: the last. */
struct stan_line stan_source_at(const struct stan_source *source,
                                size_t number);

/* The line of a text, without its end; *bytes is its length. */
const char *stan_source_line(const char *text, size_t number, size_t *bytes);

/* A whole file as a string; NULL with errno. */
char *stan_source_read_file(const char *path);

#endif
