/* chain_reader.c - what the readers of all formats share. */
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
