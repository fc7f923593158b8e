/* chain_file.c - the table of formats of draws: finds that of a file. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_ops.h"
#include "relmc_format.h"

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
