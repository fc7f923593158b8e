/* chain_file.c - one chain in a file of any format: the table of formats, and calls of
 * their functions. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_ops.h"
#include "relmc_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct chain_ops *const formats[CHAIN_NONE] = {
    [CHAIN_CSV] = &chain_csv,
    [CHAIN_RAW] = &chain_raw,
    [CHAIN_NC] = &chain_netcdf,
};

/* ---- formats -------------------------------------------------------------------- */

const char *chain_suffix(enum chain_format format)
{
    return format < CHAIN_NONE ? formats[format]->suffix : "";
}

const struct chain_ops *chain_ops_of(enum chain_format format)
{
    return formats[format];
}

enum chain_format chain_format_of(const char *path)
{
    const size_t n = strlen(path);

    for (enum chain_format f = CHAIN_CSV; f < CHAIN_NONE; f++) {
        const size_t m = strlen(formats[f]->suffix);
        const bool can_write = formats[f]->write || formats[f]->write_all;

        if (can_write && n > m && !strcmp(path + n - m, formats[f]->suffix)) {
            return f;
        }
    }
    return CHAIN_NONE;
}

/* The format, by the first bytes.  CSV stands for all other files, and for those that
 * cannot be read twice. */
static const struct chain_ops *look(const char *path)
{
    char start[CHAIN_MAGIC] = {0};
    struct stat status;
    const struct chain_ops *ops = &chain_csv;

    if (stat(path, &status) || !S_ISREG(status.st_mode)) {
        return ops;
    }
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        return ops;
    }
    const bool is_long = fread(start, 1, sizeof start, stream) == sizeof start;
    for (size_t f = 0; is_long && f < CHAIN_NONE; f++) {
        const char *magic = formats[f]->magic;

        if (magic && !memcmp(start, magic, sizeof start)) {
            ops = formats[f];
        }
    }
    (void)fclose(stream);
    return ops;
}

int chain_count(const char *path, size_t *n, char message[CHAIN_MESSAGE])
{
    const struct chain_ops *ops = look(path);

    *n = 1;
    return ops->count ? ops->count(path, n, message) : CLI_OK;
}

void chain_init(struct chain_file *chain, const struct chain_ops *ops,
                const char *path, char message[CHAIN_MESSAGE])
{
    *chain = (struct chain_file){
        .path = cli_text("%s", path), .ops = ops, .message = message};
}

int chain_open(struct chain_file *chain, const char *path, size_t k,
               char message[CHAIN_MESSAGE])
{
    chain_init(chain, look(path), path, message);
    return chain->ops->open(chain, k);
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
    const bool is_it = chain.ops != &chain_csv ||
                       (!code && (chain.n_settings > 0 ||
                                  !strcmp(chain.names[0], RELMC_COLUMN_LP)));
    chain_clear(&chain);
    return is_it;
}

void chain_clear(struct chain_file *chain)
{
    if (chain->ops) {
        chain->ops->clear(chain);
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
    return chain->ops->visit(chain, visitor);
}

int chain_read(struct chain_file *chain, const size_t *slots, size_t n_slots,
               char message[CHAIN_MESSAGE])
{
    chain->message = message;
    return chain->ops->read(chain, slots, n_slots);
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
