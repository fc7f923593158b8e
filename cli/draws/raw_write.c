/* raw_write.c - a chain as a file of plain numbers, as the sink "raw" writes it. */
#define _POSIX_C_SOURCE 200809L

#include "draws/chain_ops.h"
#include "relmc_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    FILE *file;
    const struct chain_file *chain;
    uint64_t text, body, adaptation, draws_at,
        row;        /* places, as in relmc_format.h */
    char *comments; /* since the last draw */
    size_t bytes;
    FILE *to_comments;
};

static void put_count(unsigned char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (unsigned char)(value >> (8 * i));
    }
}

static void put_head(const struct writer *w)
{
    const struct {
        size_t at;
        uint64_t value;
    } counts[] = {
        {RELMC_RAW_AT_BODY, w->body},
        {RELMC_RAW_AT_WARMUP, w->chain->n_warmup_rows},
        {RELMC_RAW_AT_DRAWS, w->draws_at},
        {RELMC_RAW_AT_ROWS, w->chain->n_rows},
        {RELMC_RAW_AT_TEXT, w->text},
        {RELMC_RAW_AT_ADAPTATION, w->adaptation},
    };
    unsigned char head[RELMC_RAW_HEAD];

    memcpy(head, RELMC_RAW_MAGIC, RELMC_RAW_AT_VERSION);
    put_count(head + RELMC_RAW_AT_VERSION, RELMC_RAW_VERSION, 4);
    put_count(head + RELMC_RAW_AT_COLUMNS, w->chain->n_columns, 4);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        put_count(head + counts[i].at, counts[i].value, 8);
    }
    (void)fwrite(head, 1, sizeof head, w->file);
}

static uint64_t pad(const struct writer *w, uint64_t bytes)
{
    static const char zeros[8] = {0};
    const uint64_t whole = (bytes + 7) / 8 * 8;

    (void)fwrite(zeros, 1, whole - bytes, w->file);
    return whole;
}

static int put_comment(void *ctx, const char *text, size_t n)
{
    const struct writer *w = ctx;

    if (!w->to_comments) {
        return chain_fail(w->chain, CLI_NUMERIC, "%s: out of memory",
                          w->chain->path);
    }
    (void)fwrite(text, 1, n, w->to_comments);
    (void)fputc('\n', w->to_comments);
    return CLI_OK;
}

/* What came so far, which is then forgotten; how much that was. */
static size_t put_comments(struct writer *w)
{
    size_t n = 0;

    if (w->to_comments && !fclose(w->to_comments)) {
        n = w->bytes;
        (void)fwrite(w->comments, 1, n, w->file);
    }
    free(w->comments);
    w->comments = NULL;
    w->to_comments = NULL;
    return n;
}

/* What adaptation found stands between warm-up and draws. */
static void begin_draws(struct writer *w)
{
    w->adaptation = put_comments(w);
    w->to_comments = open_memstream(&w->comments, &w->bytes);
    w->draws_at = w->body + w->chain->n_warmup_rows * w->chain->n_columns * 8 +
                  pad(w, w->adaptation);
}

static int put_row(void *ctx, const double *row)
{
    struct writer *w = ctx;

    if (w->row++ == w->chain->n_warmup_rows) {
        begin_draws(w);
    }
    for (size_t j = 0; j < w->chain->n_columns; j++) {
        unsigned char bytes[8];
        uint64_t bits;

        memcpy(&bits, &row[j], sizeof bits);
        put_count(bytes, bits, sizeof bytes);
        (void)fwrite(bytes, 1, sizeof bytes, w->file);
    }
    return CLI_OK; /* a full disk shows when the file is closed */
}

int raw_write(FILE *file, struct chain_file *chain, int digits,
              char message[CHAIN_MESSAGE])
{
    struct writer w = {.file = file, .chain = chain};
    const struct chain_visitor visitor = {
        .row = put_row, .comment = put_comment, .ctx = &w};
    char *head = chain_head(chain, message);

    (void)digits; /* all bits are kept */
    if (!head) {
        return CLI_IO;
    }
    w.to_comments = open_memstream(&w.comments, &w.bytes);
    w.text = strlen(head);
    put_head(&w);
    (void)fwrite(head, 1, w.text, file);
    w.body = RELMC_RAW_HEAD + pad(&w, w.text);
    free(head);
    int code = chain_visit(chain, &visitor, message);
    (void)put_comments(&w);
    if (!code && fseeko(file, 0, SEEK_SET)) {
        code =
            chain_fail(chain, CLI_IO, "%s: %s", chain->path, strerror(errno));
    }
    put_head(&w);
    return code;
}
