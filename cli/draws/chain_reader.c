/* chain_reader.c - reads one chain by the functions of its format, and what these share. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_ops.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors -------------------------------------------------------------- */

int chain_fail(const struct chain_file *chain, int code, const char *format,
               ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(chain->message, CHAIN_MESSAGE, format, args);
    va_end(args);
    for (char *s = chain->message; *s; s++) { /* one line, whatever is in it */
        if ((unsigned char)*s < ' ' || *s == 0x7f) {
            *s = '?';
        }
    }
    return code;
}

int chain_fail_read(const struct chain_file *chain)
{
    return chain_fail(chain, CLI_IO, "cannot read %s: %s", chain->path,
                      strerror(errno ? errno : EIO));
}

int chain_fail_memory(const struct chain_file *chain)
{
    return chain_fail(
        chain, CLI_NUMERIC,
        "%s: the draws do not fit into memory: choose variables (-i), "
        "or read less at a time (--memory)",
        chain->path);
}

/* ---- draws --------------------------------------------------------------- */

void chain_forget(struct chain_file *chain)
{
    free(chain->values);
    chain->values = NULL;
    chain->n_rows = chain->n_warmup_rows = chain->n_slots = 0;
    chain->step_size = chain->seconds_warmup = chain->seconds_sampling =
        CLI_NAN;
}

struct picker {
    struct chain_file *chain;
    const size_t *slots;
    size_t n; /* rows so far */
};

static int pick(void *ctx, const double *row)
{
    struct picker *p = ctx;
    double *to = p->chain->values + p->n++ * p->chain->n_slots;

    for (size_t j = 0; j < p->chain->n_columns; j++) {
        if (p->slots[j] != CHAIN_SKIP) {
            to[p->slots[j]] = row[j];
        }
    }
    return CLI_OK;
}

static int read_rows(struct chain_file *chain, const size_t *slots)
{
    bool *is_wanted = cli_alloc(chain->n_columns, sizeof *is_wanted);
    struct picker picker = {.chain = chain, .slots = slots};
    const struct chain_visitor visitor = {.row = pick,
                                          .skips_warmup = true,
                                          .is_wanted = is_wanted,
                                          .ctx = &picker};

    for (size_t j = 0; j < chain->n_columns; j++) {
        is_wanted[j] = slots[j] != CHAIN_SKIP;
    }
    const int code = chain->ops->visit(chain, &visitor);
    free(is_wanted);
    return code;
}

int chain_read_known(struct chain_file *chain, const size_t *slots,
                     size_t n_slots)
{
    if (chain->n_rows == 0) {
        return chain_fail(chain, CLI_MODEL, "%s: no draws%s", chain->path,
                          chain->n_warmup_rows ? ", only warm-up" : "");
    }
    if (n_slots == 0) {
        return CLI_OK;
    }
    free(chain->values);
    chain->n_slots = n_slots;
    chain->values =
        n_slots > SIZE_MAX / sizeof(double) / chain->n_rows
            ? NULL
            : malloc(chain->n_rows * n_slots * sizeof *chain->values);
    return chain->values ? read_rows(chain, slots) : chain_fail_memory(chain);
}

/* ---- one chain, of any format ----------------------------------------------------- */

void chain_init(struct chain_file *chain, const struct chain_ops *ops,
                const char *path, char message[CHAIN_MESSAGE])
{
    *chain = (struct chain_file){.path = cli_text("%s", path), .ops = ops};
    chain->message = message;
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
