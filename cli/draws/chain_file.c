/* chain_file.c - one chain in a file of any format: finds the format and calls its
 * reader. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_reader.h"
#include "relmc_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct chain_reader *const readers[CHAIN_NONE] = {
    [CHAIN_CSV] = &chain_csv,
    [CHAIN_RAW] = &chain_raw,
    [CHAIN_NC] = &chain_netcdf,
};

/* ---- formats -------------------------------------------------------------------- */

const char *chain_suffix(enum chain_format format)
{
    return format < CHAIN_NONE ? readers[format]->suffix : "";
}

enum chain_format chain_format_of(const char *path)
{
    const size_t n = strlen(path);

    for (enum chain_format f = CHAIN_CSV; f < CHAIN_NONE; f++) {
        const size_t m = strlen(readers[f]->suffix);

        if (n > m && !strcmp(path + n - m, readers[f]->suffix)) {
            return f;
        }
    }
    return CHAIN_NONE;
}

/* The reader, by the first bytes.  That of CSV takes all other files, and those that
 * cannot be read twice. */
static const struct chain_reader *look(const char *path)
{
    char start[CHAIN_MAGIC] = {0};
    struct stat status;
    const struct chain_reader *reader = &chain_csv;

    if (stat(path, &status) || !S_ISREG(status.st_mode)) {
        return reader;
    }
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        return reader;
    }
    const bool is_long = fread(start, 1, sizeof start, stream) == sizeof start;
    for (size_t f = 0; is_long && f < CHAIN_NONE; f++) {
        const char *magic = readers[f]->magic;

        if (magic && !memcmp(start, magic, sizeof start)) {
            reader = readers[f];
        }
    }
    (void)fclose(stream);
    return reader;
}

int chain_count(const char *path, size_t *n, char message[CHAIN_MESSAGE])
{
    const struct chain_reader *reader = look(path);

    *n = 1;
    return reader->count ? reader->count(path, n, message) : CLI_OK;
}

void chain_init(struct chain_file *chain, const struct chain_reader *reader,
                const char *path, char message[CHAIN_MESSAGE])
{
    *chain = (struct chain_file){
        .path = cli_text("%s", path), .reader = reader, .message = message};
}

int chain_open(struct chain_file *chain, const char *path, size_t k,
               char message[CHAIN_MESSAGE])
{
    chain_init(chain, look(path), path, message);
    return chain->reader->open(chain, k);
}

bool chain_is_it(const char *path)
{
    char message[CHAIN_MESSAGE];
    struct chain_file chain;
    struct stat status;

    if (stat(path, &status) || !S_ISREG(status.st_mode)) {
        return false;
    }
    const int code = chain_open(&chain, path, 0, message);
    const bool is_it = chain.reader != &chain_csv ||
                       (!code && (chain.n_settings > 0 ||
                                  !strcmp(chain.names[0], RELMC_COLUMN_LP)));
    chain_clear(&chain);
    return is_it;
}

void chain_clear(struct chain_file *chain)
{
    if (chain->reader) {
        chain->reader->clear(chain);
    }
    for (size_t i = 0; i < chain->n_settings; i++) {
        free(chain->settings[i].key);
        free(chain->settings[i].value);
    }
    free(chain->settings);
    free(chain->names);
    free(chain->name_text);
    free(chain->values);
    free(chain->remark);
    free(chain->head);
    free(chain->path);
    *chain = (struct chain_file){0};
}

/* ---- draws ------------------------------------------------------------------------ */

int chain_visit(struct chain_file *chain, const struct chain_visitor *visitor,
                char message[CHAIN_MESSAGE])
{
    chain->message = message;
    return chain->reader->visit(chain, visitor);
}

int chain_read(struct chain_file *chain, const size_t *slots, size_t n_slots,
               char message[CHAIN_MESSAGE])
{
    chain->message = message;
    return chain->reader->read(chain, slots, n_slots);
}

int chain_measure(struct chain_file *chain, char message[CHAIN_MESSAGE])
{
    size_t *slots = cli_alloc(chain->n_columns, sizeof *slots);

    for (size_t j = 0; j < chain->n_columns; j++) {
        slots[j] = CHAIN_SKIP;
    }
    const int code = chain_read(chain, slots, 0, message);
    free(slots);
    return code;
}

char *chain_head(struct chain_file *chain, char message[CHAIN_MESSAGE])
{
    const size_t bytes = (size_t)chain->head_bytes;
    FILE *stream = NULL;
    char *text = NULL;

    chain->message = message;
    if (chain->head) {
        return cli_text("%s", chain->head);
    }
    errno = 0;
    stream = fopen(chain->path, "rb");
    if (stream && !fseeko(stream, (off_t)chain->head_at, SEEK_SET)) {
        text = cli_alloc(bytes + 1, 1);
        if (fread(text, 1, bytes, stream) != bytes) {
            free(text);
            text = NULL;
        }
    }
    if (!text) {
        (void)chain_fail_read(chain);
    }
    if (stream) {
        (void)fclose(stream);
    }
    return text;
}
