/* csv.c - one Stan CSV file per chain, as CmdStan's readers need it
 * (docs/formats.md).  Arguments: BASE or BASE,digits=N; the files are
 * BASE_1.csv, BASE_2.csv, ...
 */
#include "base/sync_folder.h"
#include "base/temporary_file.h"
#include "sink/chain_files.h"
#include "sink/stan_format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct file {
    struct rmc_chain_file base;
    struct rmc_stan_text text;
    long body;     /* where the header ends */
    long end;      /* where the draws end; -1 before */
    int64_t draws; /* made so far, thinned-out ones included */
};

struct csv {
    size_t dim, n_coordinates;
    int64_t wanted; /* draws */
    int digits;
    struct rmc_chain_files files;
};

static relmc_status cannot(const struct file *f, const char *verb,
                           relmc_error *err)
{
    return rmc_chain_file_cannot(&f->base, verb, err);
}

/* "BASE,digits=N": the base is copied, the digits are taken off its end. */
static relmc_status read_args(struct csv *c, relmc_arena *arena,
                              const char *args, const char **base,
                              relmc_error *err)
{
    static const char key[] = ",digits=";
    char *copy = rmc_arena_copy_text(arena, args);

    c->digits = 8;
    if (!copy) {
        return rmc_fail(err, RELMC_ENOMEM, "out of memory");
    }
    char *at = NULL;
    for (char *s = copy; (s = strstr(s, key)); s++) {
        at = s; /* the last one: a base may have commas */
    }
    if (at) {
        double digits;
        const char *text = at + strlen(key);

        if (!rmc_parse_number(text, strlen(text), &digits) ||
            !(digits >= 1 && digits <= 17) || digits != floor(digits)) {
            return rmc_fail(err, RELMC_EINVAL,
                            "csv: digits must be an integer in [1, 17], not %s",
                            text);
        }
        c->digits = (int)digits;
        *at = '\0';
    }
    if (!*copy) {
        return rmc_fail(err, RELMC_EINVAL,
                        "csv: needs the base of the file names: csv:BASE");
    }
    *base = copy;
    return RELMC_OK;
}

static relmc_status write_header(const struct csv *c, struct file *f,
                                 uint32_t chain, const relmc_header *h,
                                 relmc_error *err)
{
    f->text = (struct rmc_stan_text){
        .stream = f->base.stream, .path = f->base.path, .digits = c->digits};
    rmc_stan_head(&f->text, chain, h);
    f->body = ftell(f->base.stream);
    f->end = -1;
    if (fflush(
            f->base
                .stream)) { /* a full disk shows before the sampling starts */
        return cannot(f, "write", err);
    }
    return RELMC_OK;
}

/* Overwrites a value of the header that has changed, and pads it with blanks.
 * In a stream that cannot seek, a pipe, the old value stays. */
static void overwrite(const struct file *f, long place, int width,
                      const char *value)
{
    if (place >= 0 && !ferror(f->base.stream) &&
        !fseek(f->base.stream, place, SEEK_SET)) {
        (void)fprintf(f->base.stream, "%-*s", width, value);
    }
}

/* Readers rely on num_samples, metric and others: they are corrected at the
 * end. */
static void correct(const struct csv *c, const struct file *f)
{
    char wanted[32], made[32];
    const int width =
        snprintf(wanted, sizeof wanted, "%lld", (long long)c->wanted);

    (void)snprintf(made, sizeof made, "%lld", (long long)f->draws);
    if (f->draws != c->wanted) {
        overwrite(f, f->text.num_samples, width, made);
    }
    for (size_t i = 0; i < RMC_N_FOUND; i++) {
        const struct rmc_stan_found *found = &f->text.found[i];

        overwrite(f, found->place, found->width, found->text);
    }
}

static relmc_status close_sink(void *self, relmc_error *err)
{
    const struct csv *c = self;

    for (size_t i = 0; i < c->files.n; i++) {
        correct(c, rmc_chain_files_at(&c->files, i));
    }
    return rmc_chain_files_close(&c->files, err);
}

/* ---- a run that goes on ---------------------------------------------------- */

/* The length of the header in the file: up to the end of the first line that is
 * no comment; -1 if there is none. */
static long find_body(FILE *stream)
{
    int c = getc(stream), is_comment = c == '#';

    while (c != EOF) {
        if (c == '\n') {
            if (!is_comment) {
                return ftell(stream);
            }
            c = getc(stream);
            is_comment = c == '#';
        } else {
            c = getc(stream);
        }
    }
    return -1;
}

static int copy_rest(FILE *from, FILE *to)
{
    char block[65536];
    size_t n;

    while ((n = fread(block, 1, sizeof block, from)) > 0) {
        if (fwrite(block, 1, n, to) != n) {
            return 0;
        }
    }
    return !ferror(from);
}

/* The header gets longer if num_samples does, so the rows move: a copy of the
 * file is written and synchronised to the disk before it replaces the file. */
static relmc_status move_body(struct file *f, FILE *old, const char *header,
                              relmc_arena *arena, relmc_error *err)
{
    const size_t bytes = strlen(f->base.path) + RMC_TEMPORARY_TAIL;
    char *path = relmc_arena_get(arena, bytes);

    if (!path) {
        return relmc_arena_check(arena, err);
    }
    f->base.stream = rmc_temporary_open(f->base.path, "w+x", path, bytes);
    if (!f->base.stream) {
        return cannot(f, "write", err);
    }
    if (fwrite(header, 1, (size_t)f->body, f->base.stream) != (size_t)f->body ||
        !copy_rest(old, f->base.stream) || fflush(f->base.stream) ||
        fsync(fileno(f->base.stream)) || rename(path, f->base.path)) {
        const relmc_status status = cannot(f, "write", err);

        (void)fclose(f->base.stream);
        (void)remove(path);
        f->base.stream = NULL;
        return status;
    }
    rmc_sync_folder(path);
    return RELMC_OK;
}

/* Writes the header of a run that was never interrupted. */
static relmc_status renew_header(struct file *f, FILE *old, const char *header,
                                 relmc_arena *arena, relmc_error *err)
{
    const long body = find_body(old);

    if (body < 0) {
        return rmc_fail(err, RELMC_EIO,
                        "%s is not the file that the run has written: it has "
                        "no header",
                        f->base.path);
    }
    if (body != f->body) {
        return move_body(f, old, header, arena, err);
    }
    if (fseek(old, 0, SEEK_SET) ||
        fwrite(header, 1, (size_t)body, old) != (size_t)body || fflush(old)) {
        return cannot(f, "write", err);
    }
    f->base.stream = old;
    return RELMC_OK;
}

static relmc_status reopen_file(struct csv *c, struct file *f,
                                relmc_arena *arena, uint32_t chain,
                                const relmc_header *h, relmc_error *err)
{
    char *header = NULL;
    size_t bytes = 0;
    FILE *old = fopen(f->base.path, "r+");

    if (!old) {
        return cannot(f, "open", err);
    }
    f->base.stream = open_memstream(&header, &bytes);
    relmc_status status = f->base.stream
                              ? write_header(c, f, chain, h, err)
                              : rmc_fail(err, RELMC_ENOMEM, "out of memory");
    if (f->base.stream && fclose(f->base.stream) && !status) {
        status = rmc_fail(err, RELMC_ENOMEM, "out of memory");
    }
    f->base.stream = NULL;
    if (!status) {
        status = renew_header(f, old, header, arena, err);
    }
    if (f->base.stream != old) {
        (void)fclose(old);
    }
    free(header);
    f->text.stream = f->base.stream;
    return status;
}

static relmc_status open_file(void *self, void *file, relmc_arena *arena,
                              uint32_t chain, const relmc_header *h,
                              relmc_error *err)
{
    struct file *f = file;

    if (h->is_resumed) {
        return reopen_file(self, f, arena, chain, h, err);
    }
    f->base.stream = fopen(f->base.path, "w");
    return f->base.stream ? write_header(self, f, chain, h, err)
                          : cannot(f, "create", err);
}

static relmc_status open(void *self, relmc_arena *arena, const char *args,
                         const relmc_header *header, relmc_error *err)
{
    struct csv *c = self;
    const char *base = "";
    const relmc_status status = read_args(c, arena, args, &base, err);

    if (status) {
        return status;
    }
    c->dim = header->dim;
    c->n_coordinates = header->n_coordinates;
    c->wanted = header->draws;
    c->files.size = sizeof(struct file);
    return rmc_chain_files_open(&c->files, arena, header, base, ".csv",
                                open_file, c, err);
}

static relmc_status warmed_up(void *self, const relmc_milestone *m,
                              relmc_error *err)
{
    struct csv *c = self;
    struct file *f = rmc_chain_files_of(&c->files, m->chain);

    rmc_stan_adaptation(&f->text, m, c->n_coordinates);
    return rmc_chain_file_check(&f->base, err);
}

static relmc_status draw(void *self, const relmc_draw *d, relmc_error *err)
{
    struct csv *c = self;
    const struct file *f = rmc_chain_files_of(&c->files, d->chain);

    rmc_stan_numbers(&f->text, "", ",", d->stats, RELMC_CSV_STATS);
    rmc_stan_numbers(&f->text, ",", ",", d->outputs, c->dim);
    (void)fputc('\n', f->base.stream);
    return rmc_chain_file_check(&f->base, err);
}

static relmc_status ended(void *self, const relmc_milestone *m,
                          relmc_error *err)
{
    const struct csv *c = self;
    struct file *f = rmc_chain_files_of(&c->files, m->chain);

    f->draws = m->draws;
    f->end = ftell(f->base.stream);
    rmc_stan_times(&f->text, m);
    return rmc_chain_file_check(&f->base, err);
}

/* The rows are on the disk before the checkpoint counts them. */
static relmc_status keep_place(const struct file *f, uint64_t *bytes,
                               relmc_error *err)
{
    const long at = f->end >= 0 ? f->end : ftell(f->base.stream);

    errno = 0;
    if (ferror(f->base.stream) || fflush(f->base.stream) || f->body < 0 ||
        at < f->body || fsync(fileno(f->base.stream))) {
        return cannot(f, "write", err);
    }
    *bytes = (uint64_t)(at - f->body);
    return RELMC_OK;
}

/* Cuts off rows that are newer than the checkpoint. */
static relmc_status go_to_place(const struct file *f, uint64_t bytes,
                                relmc_error *err)
{
    errno = 0;
    if (fseek(f->base.stream, 0, SEEK_END)) {
        return cannot(f, "read", err);
    }
    const long size = ftell(f->base.stream);
    if (size < f->body || (uint64_t)(size - f->body) < bytes) {
        return rmc_fail(err, RELMC_EIO,
                        "%s is too short: of %llu bytes of draws %lld are "
                        "there",
                        f->base.path, (unsigned long long)bytes,
                        (long long)(size - f->body));
    }
    const long place = f->body + (long)bytes;
    if (fflush(f->base.stream) || ftruncate(fileno(f->base.stream), place) ||
        fseek(f->base.stream, place, SEEK_SET)) {
        return cannot(f, "write", err);
    }
    return RELMC_OK;
}

static relmc_status archive_file(void *self, void *file, relmc_archive *a,
                                 relmc_error *err)
{
    struct file *f = file;
    const int is_reading = relmc_archive_is_reading(a);
    uint64_t bytes = 0;
    relmc_status status = is_reading ? RELMC_OK : keep_place(f, &bytes, err);

    (void)self;
    bytes = relmc_archive_count(a, bytes, INT64_MAX);
    rmc_stan_archive(&f->text, a);
    if (is_reading && !relmc_archive_has_failed(a)) {
        status = go_to_place(f, bytes, err);
    }
    return status;
}

static relmc_status archive(void *self, relmc_archive *a, relmc_error *err)
{
    struct csv *c = self;

    return rmc_chain_files_archive(&c->files, a, archive_file, c, err);
}

const relmc_sink_ops RMC_ISA(rmc_sink_csv) = {
    .info = {"sink", "csv", "Stan CSV, one file per chain: csv:BASE", NULL},
    .state_size = sizeof(struct csv),
    .open = open,
    .warmed_up = warmed_up,
    .draw = draw,
    .ended = ended,
    .close = close_sink,
    .archive = archive,
};
