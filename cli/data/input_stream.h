/* input_stream.h - the bytes of a file in order, unpacked if gzip has packed it. */
#ifndef RELMC_CLI_INPUT_STREAM_H
#define RELMC_CLI_INPUT_STREAM_H

#include "tool/cli.h"

#include <stdio.h>

struct input_stream_gzip;

struct input_stream {
    const char *path; /* borrowed, as messages call it */
    const char *who;
    FILE *file;
    unsigned char *block; /* those at hand: begin ... end */
    size_t begin, end;
    uint64_t offset;                /* unpacked bytes in front of `begin` */
    bool is_at_end;                 /* nothing follows what is at hand */
    struct input_stream_gzip *gzip; /* NULL: not packed */
};

enum { INPUT_STREAM_ROOM = 1 << 18 };

/* All of these return 0, or the exit code after a message. */
int input_stream_open(struct input_stream *bytes, const char *path,
                      const char *who);
/* The same for a file that is open; it is closed with the bytes. */
int input_stream_open_file(struct input_stream *bytes, FILE *file,
                           const char *path, const char *who);
void input_stream_close(struct input_stream *bytes);

/* At least n bytes at hand, n <= INPUT_STREAM_ROOM, or all that are left. */
int input_stream_peek(struct input_stream *bytes, size_t n);
/* The next n bytes; `got` is smaller at the end of the file only. */
int input_stream_read(struct input_stream *bytes, void *to, size_t n,
                      size_t *got);
/* "with zlib 1.2.13" or "without zlib" */
const char *input_stream_zlib(void);

static inline size_t input_stream_at_hand(const struct input_stream *bytes)
{
    return bytes->end - bytes->begin;
}

static inline void input_stream_skip(struct input_stream *bytes, size_t n)
{
    bytes->begin += n;
    bytes->offset += n;
}

/* Text from a file as it can be shown: short, printable, with its end; of at
 * most n characters. */
enum { INPUT_STREAM_SHOWN = 40 };
const char *input_stream_shown(char out[INPUT_STREAM_SHOWN], const char *text,
                               size_t n);

#endif
