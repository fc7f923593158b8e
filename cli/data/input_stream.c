/* input_stream.c - the bytes of a file in order, unpacked if gzip has packed it. */
#define _POSIX_C_SOURCE 200809L

#include "data/input_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef RELMC_HAS_ZLIB
#include <zlib.h>
#endif

static int cannot_read(const struct input_stream *b)
{
    return cli_fail(CLI_IO, b->who, "cannot read %s: %s", b->path,
                    strerror(errno ? errno : EIO));
}

static int read_file(struct input_stream *b, void *to, size_t n, size_t *got)
{
    errno = 0;
    *got = fread(to, 1, n, b->file);
    return *got == 0 && ferror(b->file) ? cannot_read(b) : CLI_OK;
}

/* ---- gzip ---------------------------------------------------------------- */

#ifdef RELMC_HAS_ZLIB

struct input_stream_gzip {
    z_stream z;
    unsigned char packed[INPUT_STREAM_ROOM];
    uint64_t n_read; /* packed bytes taken from the file */
    bool is_between; /* a member has ended; another may follow */
};

const char *input_stream_zlib(void)
{
    return "zlib " ZLIB_VERSION;
}

/* What is at hand turns out to be packed. */
static int gzip_open(struct input_stream *b)
{
    struct input_stream_gzip *g = b->gzip = cli_alloc(1, sizeof *b->gzip);

    memcpy(g->packed, b->block, b->end);
    g->n_read = b->end;
    g->z.next_in = g->packed;
    g->z.avail_in = (uInt)b->end;
    b->end = 0;
    if (inflateInit2(&b->gzip->z, 15 + 16) != Z_OK) {
        return cli_fail(CLI_NUMERIC, b->who, "out of memory for %s", b->path);
    }
    return CLI_OK;
}

static void gzip_close(struct input_stream *b)
{
    if (b->gzip) {
        (void)inflateEnd(&b->gzip->z);
        free(b->gzip);
    }
}

static int gzip_damaged(const struct input_stream *b, const char *why)
{
    return cli_fail(CLI_MODEL, b->who,
                    "%s: the gzip data are damaged near byte %llu: %s", b->path,
                    (unsigned long long)(b->gzip->n_read - b->gzip->z.avail_in),
                    why);
}

/* More packed bytes, if there are none; fine at the end between members. */
static int gzip_feed(struct input_stream *b, bool *is_over)
{
    struct input_stream_gzip *g = b->gzip;
    size_t got = 0;

    *is_over = false;
    if (g->z.avail_in > 0) {
        return CLI_OK;
    }
    const int code = read_file(b, g->packed, sizeof g->packed, &got);
    if (code) {
        return code;
    }
    g->z.next_in = g->packed;
    g->z.avail_in = (uInt)got;
    g->n_read += got;
    *is_over = got == 0;
    if (got == 0 && !g->is_between) {
        return cli_fail(CLI_MODEL, b->who,
                        "%s: the gzip data end at byte %llu, in the middle: "
                        "the file is truncated",
                        b->path, (unsigned long long)g->n_read);
    }
    return CLI_OK;
}

static int gzip_step(struct input_stream *b)
{
    struct input_stream_gzip *g = b->gzip;

    if (g->is_between) { /* gzip files may be joined */
        if (g->z.next_in[0] != 0x1f) {
            return gzip_damaged(b, "something else follows");
        }
        (void)inflateReset(&g->z);
        g->is_between = false;
    }
    const int state = inflate(&g->z, Z_NO_FLUSH);
    if (state == Z_STREAM_END) {
        g->is_between = true;
    } else if (state != Z_OK && state != Z_BUF_ERROR) {
        return gzip_damaged(b, g->z.msg ? g->z.msg : "cannot be unpacked");
    }
    return CLI_OK;
}

static int gzip_read(struct input_stream *b, unsigned char *to, size_t n,
                     size_t *got)
{
    struct input_stream_gzip *g = b->gzip;
    bool is_over = false;

    g->z.next_out = to;
    g->z.avail_out = (uInt)n;
    while (g->z.avail_out == n) {
        int code = gzip_feed(b, &is_over);

        if (!code && !is_over) {
            code = gzip_step(b);
        }
        if (code) {
            return code;
        }
        if (is_over) {
            break;
        }
    }
    *got = n - g->z.avail_out;
    return CLI_OK;
}

#else

struct input_stream_gzip {
    char none;
};

const char *input_stream_zlib(void)
{
    return "not built in: no gzip files";
}

static int gzip_open(struct input_stream *b)
{
    return cli_fail(CLI_MODEL, b->who,
                    "%s is packed by gzip, and this relmc was built without "
                    "zlib; unpack it first: gunzip -k %s",
                    b->path, b->path);
}

static void gzip_close(struct input_stream *b)
{
    free(b->gzip);
}

static int gzip_read(struct input_stream *b, unsigned char *to, size_t n,
                     size_t *got)
{
    (void)to;
    (void)n;
    *got = 0;
    return gzip_open(b);
}

#endif

/* ---- files --------------------------------------------------------------- */

static int fill(struct input_stream *b)
{
    const size_t kept = input_stream_at_hand(b);
    size_t got = 0;

    if (kept > 0 && b->begin > 0) {
        memmove(b->block, b->block + b->begin, kept);
    }
    b->begin = 0;
    b->end = kept;
    const int code =
        b->gzip ? gzip_read(b, b->block + kept, INPUT_STREAM_ROOM - kept, &got)
                : read_file(b, b->block + kept, INPUT_STREAM_ROOM - kept, &got);
    b->end += got;
    b->is_at_end = got == 0;
    return code;
}

int input_stream_peek(struct input_stream *b, size_t n)
{
    int code = CLI_OK;

    while (!code && input_stream_at_hand(b) < n && !b->is_at_end) {
        code = fill(b);
    }
    return code;
}

int input_stream_read(struct input_stream *b, void *to, size_t n, size_t *got)
{
    unsigned char *at = to;
    int code = CLI_OK;

    *got = 0;
    while (*got < n && !(code = input_stream_peek(b, 1)) &&
           input_stream_at_hand(b) > 0) {
        const size_t left = n - *got;
        const size_t m =
            left < input_stream_at_hand(b) ? left : input_stream_at_hand(b);

        memcpy(at + *got, b->block + b->begin, m);
        input_stream_skip(b, m);
        *got += m;
    }
    return code;
}

int input_stream_open_file(struct input_stream *b, FILE *file, const char *path,
                           const char *who)
{
    *b = (struct input_stream){.path = path, .who = who, .file = file};
    b->block = cli_alloc(INPUT_STREAM_ROOM, 1);
    const int code = input_stream_peek(b, 2);
    if (code) {
        return code;
    }
    if (b->end < 2 || b->block[0] != 0x1f || b->block[1] != 0x8b) {
        return CLI_OK;
    }
    b->is_at_end = false;
    return gzip_open(b);
}

int input_stream_open(struct input_stream *b, const char *path, const char *who)
{
    struct stat about;
    FILE *file = fopen(path, "rb");

    *b = (struct input_stream){.path = path, .who = who};
    if (!file) {
        return cannot_read(b);
    }
    if (!fstat(fileno(file), &about) && S_ISDIR(about.st_mode)) {
        (void)fclose(file);
        return cli_fail(CLI_IO, who, "cannot read %s: it is a folder", path);
    }
    return input_stream_open_file(b, file, path, who);
}

void input_stream_close(struct input_stream *b)
{
    if (b->file) {
        (void)fclose(b->file);
    }
    gzip_close(b);
    free(b->block);
    *b = (struct input_stream){0};
}

const char *input_stream_shown(char out[INPUT_STREAM_SHOWN], const char *text,
                               size_t n)
{
    static const char dots[] = "...";
    const size_t most = INPUT_STREAM_SHOWN - sizeof dots;
    const size_t m = n < most ? n : most;

    for (size_t i = 0; i < m; i++) {
        const unsigned char c = (unsigned char)text[i];

        out[i] = (char)(c < ' ' || c == 0x7f ? '?' : c);
    }
    memcpy(out + m, n > most ? dots : "", n > most ? sizeof dots : 1);
    return out;
}
