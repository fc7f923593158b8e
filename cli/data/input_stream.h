/* input_stream.h - the bytes of a file in order, unpacked if gzip has packed it. */
#ifndef RELMC_CLI_INPUT_STREAM_H
#define RELMC_CLI_INPUT_STREAM_H

#include "tool/cli.h"

#include <stdio.h>

struct bytes_gzip;

struct bytes {
    const char *path; /* borrowed, as messages call it */
    const char *who;
    FILE *file;
    unsigned char *block; /* those at hand: begin ... end */
    size_t begin, end;
    uint64_t offset;         /* unpacked bytes in front of `begin` */
    bool is_at_end;          /* nothing follows what is at hand */
    struct bytes_gzip *gzip; /* NULL: not packed */
};

enum { BYTES_ROOM = 1 << 18 };

/* All of these return 0, or the exit code after a message. */
int bytes_open(struct bytes *bytes, const char *path, const char *who);
/* The same for a file that is open; it is closed with the bytes. */
int bytes_open_stream(struct bytes *bytes, FILE *file, const char *path,
                      const char *who);
void bytes_close(struct bytes *bytes);

/* At least n bytes at hand, n <= BYTES_ROOM, or all that are left. */
int bytes_peek(struct bytes *bytes, size_t n);
/* The next n bytes; `got` is smaller at the end of the file only. */
int bytes_read(struct bytes *bytes, void *to, size_t n, size_t *got);
/* "with zlib 1.2.13" or "without zlib" */
const char *bytes_zlib(void);

static inline size_t bytes_at_hand(const struct bytes *bytes)
{
    return bytes->end - bytes->begin;
}

static inline void bytes_skip(struct bytes *bytes, size_t n)
{
    bytes->begin += n;
    bytes->offset += n;
}

/* Text from a file as it can be shown: short, printable, with its end; of at
 * most n characters. */
enum { BYTES_SHOWN = 40 };
const char *bytes_shown(char out[BYTES_SHOWN], const char *text, size_t n);

#endif
