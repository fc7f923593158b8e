/*
 * raw_fuzz.c - reads any bytes as a file of plain numbers.
 *
 * With libFuzzer (cmake -DRELMC_FUZZ=ON, see tests/CMakeLists.txt) this is its
 * harness.  Without, it is a test: good files, cut, lengthened and mutated a fixed
 * number of times.
 *
 * What must hold: no crash; an error has an exit code and one printable line that names
 * the file; a file that can be read has as many rows as its head says, all within the
 * file, and the same draws with and without warm-up.
 */
#include "draws/chain_ops.h"

#define FUZZER "raw_fuzz"
#include "relmc_format.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The rows read: their number, and a checksum of the last ones. */
struct seen {
    const struct chain_file *chain;
    size_t n_rows, n_lines, n_skipped;
    uint64_t sum;
};

static int see_row(void *ctx, const double *row)
{
    struct seen *s = ctx;

    if (s->n_rows++ >= s->n_skipped) {
        for (size_t j = 0; j < s->chain->n_columns; j++) {
            uint64_t bits;

            memcpy(&bits, &row[j], sizeof bits);
            s->sum = s->sum * 0x9e3779b97f4a7c15u + bits;
        }
    }
    return CLI_OK;
}

static int see_line(void *ctx, const char *text, size_t n)
{
    struct seen *s = ctx;

    demand(n > 0 && *text == '#', "a line that is no comment");
    s->n_lines++;
    return CLI_OK;
}

static void check_rows(struct chain_file *chain, FILE *stream, size_t size)
{
    struct seen all = {.chain = chain, .n_skipped = chain->n_warmup_rows};
    struct seen draws = {.chain = chain};
    const struct chain_visitor of_all = {
        .row = see_row, .comment = see_line, .ctx = &all};
    const struct chain_visitor of_draws = {
        .row = see_row, .skips_warmup = true, .ctx = &draws};

    demand(!raw_visit_stream(chain, stream, &of_all), "opened, but not read");
    demand(!raw_visit_stream(chain, stream, &of_draws),
           "opened, but not read twice");
    demand(all.n_rows == chain->n_rows + chain->n_warmup_rows, "rows");
    demand(draws.n_rows == chain->n_rows && draws.sum == all.sum, "draws");
    demand(all.n_rows * chain->n_columns <= size / sizeof(double),
           "more rows than there are bytes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* fmemopen takes no const pointer, also for reading */
    union {
        const uint8_t *from;
        void *to;
    } bytes = {.from = data};
    struct chain_file chain;
    char message[CHAIN_MESSAGE] = "";

    if (size == 0) { /* not every fmemopen takes it */
        return 0;
    }
    FILE *stream = fmemopen(bytes.to, size, "rb");
    demand(stream != NULL, "fmemopen");
    chain_init(&chain, &chain_raw, "fuzz.rmc", message);
    const int code = raw_open_stream(&chain, stream);
    if (code) {
        check_message(code, message, "fuzz.rmc");
    } else {
        demand(chain.n_columns > 0, "no names");
        check_rows(&chain, stream, size);
    }
    (void)fclose(stream);
    chain_clear(&chain);
    return 0;
}

/* ---- the fixed run ------------------------------------------------------------- */

#ifndef RELMC_LIBFUZZER

enum { N_RUNS = 20000, ROOM = 2048 };

static const char text[] = "# model = eight_model\n# num_warmup = 4\n"
                           "# save_warmup = 1\n# thin = 1\nlp__,x.1,x.2\n";
static const char adaptation[] = "# Adaptation terminated\n# Step size = 0.5\n";
static const char times[] = "# \n#  Elapsed Time: 0.25 seconds (Warm-up)\n"
                            "#                0.5 seconds (Sampling)\n";

/* splitmix64 of Steele, Lea and Flood (2014) */
static size_t below(uint64_t *state, size_t n)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((z ^ (z >> 31)) % n);
}

static void put(unsigned char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (unsigned char)(value >> (8 * i));
    }
}

static size_t add(unsigned char *file, size_t at, const char *what, size_t n)
{
    memcpy(file + at, what, n);
    memset(file + at + n, 0, 7);
    return at + (n + 7) / 8 * 8;
}

static size_t add_rows(unsigned char *file, size_t at, size_t n)
{
    for (size_t i = 0; i < 3 * n; i++) {
        const double value = (double)i - 0.25;

        memcpy(file + at + 8 * i, &value, sizeof value);
    }
    return at + 24 * n;
}

/* A valid file, of a run that has ended, is sampling, or is in warm-up. */
static size_t make_file(uint64_t *state, unsigned char *file)
{
    const size_t kind = below(state, 4), warmup = kind == 1 ? 0 : 4;
    const size_t rows = below(state, 12);

    memcpy(file, RELMC_RAW_MAGIC, CHAIN_MAGIC);
    put(file + RELMC_RAW_AT_VERSION, 1, 4);
    put(file + RELMC_RAW_AT_COLUMNS, 3, 4);
    const size_t body = add(file, RELMC_RAW_HEAD, text, sizeof text - 1);
    put(file + RELMC_RAW_AT_BODY, body, 8);
    put(file + RELMC_RAW_AT_TEXT, sizeof text - 1, 8);
    put(file + RELMC_RAW_AT_WARMUP, warmup, 8);
    put(file + RELMC_RAW_AT_ROWS, kind == 2 || kind == 3 ? UINT64_MAX : rows,
        8);
    size_t at = add_rows(file, body, warmup);
    put(file + RELMC_RAW_AT_ADAPTATION, kind == 3 ? 0 : sizeof adaptation - 1,
        8);
    put(file + RELMC_RAW_AT_DRAWS, 0, 8);
    if (kind == 3) {
        return at;
    }
    at = add(file, at, adaptation, sizeof adaptation - 1);
    put(file + RELMC_RAW_AT_DRAWS, at, 8);
    at = add_rows(file, at, rows);
    return kind == 2 ? at : add(file, at, times, sizeof times - 1);
}

static size_t mutate(uint64_t *state, unsigned char *file, size_t n)
{
    for (size_t j = below(state, 4); j > 0 && n > 1; j--) {
        const size_t at = below(state, n);

        switch (below(state, 6)) {
        case 0: /* cut */
            n = at + 1;
            break;
        case 1: /* a byte of the head */
            file[below(state, n < RELMC_RAW_HEAD ? n : RELMC_RAW_HEAD)] ^=
                (unsigned char)(1u << below(state, 8));
            break;
        case 2: /* a count in the head, changed a little or a lot */
            if (n >= RELMC_RAW_HEAD) {
                put(file + RELMC_RAW_AT_BODY + 8 * below(state, 6),
                    below(state, 2) ? below(state, n + 64)
                                    : UINT64_MAX - below(state, 64),
                    8);
            }
            break;
        case 3: /* lengthen */
            n += below(state, ROOM - n);
            break;
        default:
            file[at] = (unsigned char)below(state, 256);
        }
    }
    return n;
}

int main(void)
{
    static unsigned char file[ROOM + 8];
    uint64_t state = 5;

    for (int i = 0; i < N_RUNS; i++) {
        memset(file, 0, sizeof file);
        const size_t good = make_file(&state, file);
        const size_t n = mutate(&state, file, good);

        (void)LLVMFuzzerTestOneInput(file, n);
    }
    (void)printf("%d files\n", (int)N_RUNS);
    return 0;
}

#endif
