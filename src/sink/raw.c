/* raw.c - one file of plain numbers per chain, for runs with large output:
 * BASE_1.rmc, BASE_2.rmc, ...  A head of 64 bytes has the positions of the
 * parts; then come the text of a CSV file up to its names, and rows of
 * little-endian doubles (docs/formats.md).  Argument: BASE.
 */
#include "relmc_format.h"
#include "sink/chain_files.h"
#include "sink/stan_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WIDTH = 20, /* of num_samples: the text has one length for any number */
    ALL_BUFFERS = 1 << 23, /* bytes; the chains share it */
    LEAST_BUFFER = 1 << 16,
    MOST_BUFFER = 1 << 20
};

struct file {
    struct rmc_chain_file base;
    double *buffer;    /* whole rows that are not written yet */
    size_t used, room; /* numbers in it */
    struct rmc_stan_text text;
    const char *front; /* the text in front */
    uint64_t text_bytes;
    uint64_t body;       /* where rows may begin */
    uint64_t warmup;     /* rows of warm-up */
    uint64_t adaptation; /* bytes of what adaptation found, behind them */
    uint64_t draws_at;   /* where the draws begin; 0 while there are none */
    uint64_t rows;       /* draws written */
    int64_t draws;       /* draws made, thinned-out ones included */
    int has_ended;
};

struct raw {
    size_t dim, n_coordinates, row_bytes;
    struct rmc_chain_files files;
};

static relmc_status cannot(const struct file *f, const char *verb,
                           relmc_error *err)
{
    return rmc_chain_file_cannot(&f->base, verb, err);
}

static int is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first;
}

static void put_count(unsigned char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (unsigned char)(value >> (8 * i));
    }
}

/* Numbers of a machine with another order of bytes. */
static void turn_bytes(double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char bytes[sizeof *values];
        uint64_t bits;

        memcpy(&bits, &values[i], sizeof bits);
        put_count(bytes, bits, sizeof bytes);
        memcpy(&values[i], bytes, sizeof bytes);
    }
}

/* Writes the buffered rows, before any other use of the stream. */
static void flush(struct file *f)
{
    (void)fwrite(f->buffer, sizeof *f->buffer, f->used, f->base.stream);
    f->used = 0;
}

static uint64_t round_up(uint64_t n)
{
    return (n + 7) / 8 * 8;
}

static void pad(const struct file *f, uint64_t bytes)
{
    static const char zeros[8] = {0};

    (void)fwrite(zeros, 1, round_up(bytes) - bytes, f->base.stream);
}

/* Where the last row ends, of warm-up or of the draws. */
static uint64_t end_of_rows(const struct raw *r, const struct file *f)
{
    return f->draws_at ? f->draws_at + f->rows * r->row_bytes
                       : f->body + f->warmup * r->row_bytes;
}

/* ---- the head ---------------------------------------------------------------- */

static void fill_head(unsigned char head[RELMC_RAW_HEAD], const struct raw *r,
                      const struct file *f)
{
    memcpy(head, RELMC_RAW_MAGIC, RELMC_RAW_AT_VERSION);
    put_count(head + RELMC_RAW_AT_VERSION, RELMC_RAW_VERSION, 4);
    put_count(head + RELMC_RAW_AT_COLUMNS, r->row_bytes / sizeof(double), 4);
    put_count(head + RELMC_RAW_AT_BODY, f->body, 8);
    put_count(head + RELMC_RAW_AT_WARMUP,
              f->draws_at || f->has_ended ? f->warmup : 0, 8);
    put_count(head + RELMC_RAW_AT_DRAWS, f->draws_at, 8);
    put_count(head + RELMC_RAW_AT_ROWS, f->has_ended ? f->rows : UINT64_MAX, 8);
    put_count(head + RELMC_RAW_AT_TEXT, f->text_bytes, 8);
    put_count(head + RELMC_RAW_AT_ADAPTATION, f->adaptation, 8);
}

/* Rewrites the head and returns to the end. */
static relmc_status renew_head(const struct raw *r, const struct file *f,
                               relmc_error *err)
{
    unsigned char head[RELMC_RAW_HEAD];
    const off_t end = ftello(f->base.stream);

    fill_head(head, r, f);
    errno = 0;
    if (end < 0 || fseeko(f->base.stream, 0, SEEK_SET) ||
        fwrite(head, 1, RELMC_RAW_HEAD, f->base.stream) != RELMC_RAW_HEAD ||
        fseeko(f->base.stream, end, SEEK_SET)) {
        return cannot(f, "write", err);
    }
    return RELMC_OK;
}

/* Writes everything before the rows. */
static relmc_status write_front(const struct raw *r, const struct file *f,
                                relmc_error *err)
{
    unsigned char head[RELMC_RAW_HEAD];

    fill_head(head, r, f);
    (void)fwrite(head, 1, RELMC_RAW_HEAD, f->base.stream);
    (void)fwrite(f->front, 1, f->text_bytes, f->base.stream);
    pad(f, f->text_bytes);
    errno = 0; /* a full disk shows before the sampling starts */
    return fflush(f->base.stream) ? cannot(f, "write", err) : RELMC_OK;
}

static relmc_status make_front(struct file *f, relmc_arena *arena,
                               uint32_t chain, const relmc_header *h,
                               relmc_error *err)
{
    char *text = NULL;
    size_t bytes = 0;

    f->text = (struct rmc_stan_text){.stream = open_memstream(&text, &bytes),
                                     .path = f->base.path,
                                     .digits = 17,
                                     .width = WIDTH};
    if (f->text.stream) {
        rmc_stan_head(&f->text, chain, h);
    }
    if (f->text.stream && !fclose(f->text.stream)) {
        f->front = rmc_arena_copy_text(arena, text);
    }
    free(text);
    f->text_bytes = bytes;
    f->body = RELMC_RAW_HEAD + round_up(bytes);
    return f->front ? RELMC_OK : rmc_fail(err, RELMC_ENOMEM, "out of memory");
}

/* ---- opening and closing ----------------------------------------------------- */

/* Readers rely on num_samples, metric and others: they are corrected at the
 * end. */
static relmc_status correct(const struct raw *r, struct file *f,
                            relmc_error *err)
{
    flush(f);
    const off_t end = ftello(f->base.stream);
    const relmc_status status = renew_head(r, f, err);

    if (status || end < 0) {
        return status;
    }
    errno = 0;
    if (fseeko(f->base.stream, RELMC_RAW_HEAD + f->text.num_samples,
               SEEK_SET) ||
        fprintf(f->base.stream, "%-*lld", WIDTH, (long long)f->draws) < 0) {
        return cannot(f, "write", err);
    }
    for (size_t i = 0; i < RMC_N_FOUND; i++) {
        const struct rmc_stan_found *found = &f->text.found[i];

        if (fseeko(f->base.stream, RELMC_RAW_HEAD + found->place, SEEK_SET) ||
            fprintf(f->base.stream, "%-*s", found->width, found->text) < 0) {
            return cannot(f, "write", err);
        }
    }
    return fseeko(f->base.stream, end, SEEK_SET) ? cannot(f, "write", err)
                                                 : RELMC_OK;
}

static relmc_status close_sink(void *self, relmc_error *err)
{
    struct raw *r = self;
    relmc_status status = RELMC_OK;

    for (size_t i = 0; i < r->files.n; i++) {
        const relmc_status here =
            correct(r, rmc_chain_files_at(&r->files, i), status ? NULL : err);

        status = status ? status : here;
    }
    const relmc_status closed =
        rmc_chain_files_close(&r->files, status ? NULL : err);
    return status ? status : closed;
}

/* Opens the file of a resumed run: it must be a .rmc file whose text has the
 * same length. */
static relmc_status reopen_file(struct file *f, relmc_error *err)
{
    unsigned char found[RELMC_RAW_HEAD], body[8];

    f->base.stream = fopen(f->base.path, "r+");
    if (!f->base.stream) {
        return cannot(f, "open", err);
    }
    put_count(body, f->body, 8);
    if (fread(found, 1, RELMC_RAW_HEAD, f->base.stream) != RELMC_RAW_HEAD ||
        memcmp(found, RELMC_RAW_MAGIC, 8) != 0 ||
        memcmp(found + RELMC_RAW_AT_BODY, body, sizeof body) != 0 ||
        fseeko(f->base.stream, 0, SEEK_SET)) {
        (void)fclose(f->base.stream);
        f->base.stream = NULL;
        return rmc_fail(err, RELMC_EIO,
                        "%s is not the file that the run has written: its "
                        "head is another",
                        f->base.path);
    }
    return RELMC_OK;
}

static relmc_status create_file(const struct raw *r, struct file *f,
                                relmc_error *err)
{
    f->base.stream = fopen(f->base.path, "w");
    if (!f->base.stream) {
        return cannot(f, "create", err);
    }
    return write_front(r, f, err);
}

/* System calls are slow: few chains get large buffers. */
static size_t buffer_bytes(const struct raw *r, size_t chains)
{
    const size_t share = ALL_BUFFERS / chains;
    const size_t bytes = share < LEAST_BUFFER  ? LEAST_BUFFER
                         : share > MOST_BUFFER ? MOST_BUFFER
                                               : share;

    return bytes > r->row_bytes ? bytes : r->row_bytes;
}

static relmc_status open_file(void *self, void *file, relmc_arena *arena,
                              uint32_t chain, const relmc_header *h,
                              relmc_error *err)
{
    const struct raw *r = self;
    struct file *f = file;

    f->room = buffer_bytes(r, h->chains) / sizeof(double);
    f->buffer = relmc_arena_get(arena, f->room * sizeof(double));
    if (!f->buffer) {
        return relmc_arena_check(arena, err);
    }
    relmc_status status = make_front(f, arena, chain, h, err);
    if (!status) {
        status = h->is_resumed ? reopen_file(f, err) : create_file(r, f, err);
    }
    f->text.stream = f->base.stream;
    return status;
}

static relmc_status open(void *self, relmc_arena *arena, const char *args,
                         const relmc_header *header, relmc_error *err)
{
    struct raw *r = self;

    if (!*args) {
        return rmc_fail(err, RELMC_EINVAL,
                        "raw: needs the base of the file names: raw:BASE");
    }
    r->dim = header->dim;
    r->row_bytes = (RELMC_CSV_STATS + header->dim) * sizeof(double);
    r->n_coordinates = header->n_coordinates;
    r->files.size = sizeof(struct file);
    return rmc_chain_files_open(&r->files, arena, header, args, ".rmc",
                                open_file, r, err);
}

/* ---- draws and milestones ----------------------------------------------------- */

/* The text is written before the head counts it. */
static relmc_status warmed_up(void *self, const relmc_milestone *m,
                              relmc_error *err)
{
    struct raw *r = self;
    struct file *f = rmc_chain_files_of(&r->files, m->chain);
    const uint64_t from = end_of_rows(r, f);
    char *text = NULL;
    size_t bytes = 0;

    flush(f);
    f->text.stream = open_memstream(&text, &bytes);
    if (f->text.stream) {
        rmc_stan_adaptation(&f->text, m, r->n_coordinates);
    }
    if (!f->text.stream || fclose(f->text.stream)) {
        free(text);
        return rmc_fail(err, RELMC_ENOMEM, "out of memory");
    }
    f->text.stream = f->base.stream;
    (void)fwrite(text, 1, bytes, f->base.stream);
    free(text);
    pad(f, bytes);
    f->adaptation = bytes;
    f->draws_at = from + round_up(bytes);
    return renew_head(r, f, err);
}

static relmc_status draw(void *self, const relmc_draw *d, relmc_error *err)
{
    struct raw *r = self;
    struct file *f = rmc_chain_files_of(&r->files, d->chain);
    const size_t n = RELMC_CSV_STATS + r->dim;
    relmc_status status = RELMC_OK;

    if (f->used + n > f->room) {
        flush(f);
        status = rmc_chain_file_check(&f->base, err);
    }
    double *row = f->buffer + f->used;
    memcpy(row, d->stats, RELMC_CSV_STATS * sizeof *row);
    memcpy(row + RELMC_CSV_STATS, d->outputs, r->dim * sizeof *row);
    if (!is_little_endian()) {
        turn_bytes(row, n);
    }
    f->used += n;
    f->rows += d->index >= 0;
    f->warmup += d->index < 0;
    return status;
}

static relmc_status ended(void *self, const relmc_milestone *m,
                          relmc_error *err)
{
    const struct raw *r = self;
    struct file *f = rmc_chain_files_of(&r->files, m->chain);

    flush(f);
    f->draws = m->draws;
    f->has_ended = 1;
    rmc_stan_times(&f->text, m);
    return rmc_chain_file_check(&f->base, err);
}

/* ---- a run that goes on -------------------------------------------------------- */

/* The rows are on the disk before the checkpoint counts them. */
static relmc_status keep_place(struct file *f, relmc_error *err)
{
    flush(f);
    errno = 0;
    if (ferror(f->base.stream) || fflush(f->base.stream) ||
        fsync(fileno(f->base.stream))) {
        return cannot(f, "write", err);
    }
    return RELMC_OK;
}

/* Cuts off rows that are newer than the checkpoint; the head is that of a run
 * that was never interrupted. */
static relmc_status go_to_place(const struct raw *r, const struct file *f,
                                relmc_error *err)
{
    const uint64_t place = end_of_rows(r, f);

    errno = 0;
    if (fseeko(f->base.stream, 0, SEEK_END)) {
        return cannot(f, "read", err);
    }
    const off_t size = ftello(f->base.stream);
    if (size < 0 || (uint64_t)size < place) {
        return rmc_fail(
            err, RELMC_EIO, "%s is too short: of %llu bytes %lld are there",
            f->base.path, (unsigned long long)place, (long long)size);
    }
    if (ftruncate(fileno(f->base.stream), (off_t)place) ||
        fseeko(f->base.stream, 0, SEEK_SET)) {
        return cannot(f, "write", err);
    }
    const relmc_status status = write_front(r, f, err);
    return !status && fseeko(f->base.stream, (off_t)place, SEEK_SET)
               ? cannot(f, "write", err)
               : status;
}

static relmc_status archive_file(void *self, void *file, relmc_archive *a,
                                 relmc_error *err)
{
    const struct raw *r = self;
    struct file *f = file;
    /* no file is longer, and forged numbers do not overflow */
    const uint64_t most = (UINT64_C(1) << 60) / r->row_bytes;
    const int is_reading = relmc_archive_is_reading(a);
    relmc_status status = is_reading ? RELMC_OK : keep_place(f, err);

    f->warmup = relmc_archive_count(a, f->warmup, most);
    f->rows = relmc_archive_count(a, f->rows, most);
    f->adaptation = relmc_archive_count(a, f->adaptation, most);
    const uint64_t has_draws = relmc_archive_count(a, f->draws_at != 0, 1);
    rmc_stan_archive(&f->text, a);
    if (is_reading && !relmc_archive_has_failed(a)) {
        f->draws_at = has_draws ? f->body + f->warmup * r->row_bytes +
                                      round_up(f->adaptation)
                                : 0;
        status = go_to_place(r, f, err);
    }
    return status;
}

static relmc_status archive(void *self, relmc_archive *a, relmc_error *err)
{
    struct raw *r = self;

    return rmc_chain_files_archive(&r->files, a, archive_file, r, err);
}

const relmc_sink_ops RMC_ISA(rmc_sink_raw) = {
    .info = {"sink", "raw", "plain numbers, one file per chain: raw:BASE",
             NULL},
    .state_size = sizeof(struct raw),
    .open = open,
    .warmed_up = warmed_up,
    .draw = draw,
    .ended = ended,
    .close = close_sink,
    .archive = archive,
};
