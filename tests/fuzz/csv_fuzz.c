/*
 * csv_fuzz.c - reads any bytes as a CSV file of draws.
 *
 * With libFuzzer (cmake -DRELMC_FUZZ=ON, see tests/CMakeLists.txt) this is its
 * harness.  Without, it is a test: files of CmdStan and of relmc, cut, joined and mutated
 * a fixed number of times.
 *
 * What must hold: no crash; an error has an exit code and one printable line that names
 * the file; a file that can be read has names and draws; reading every other column
 * gives the same numbers.
 */
#include "draws/chain_ops.h"
#include "draws/column.h"

#define FUZZER "csv_fuzz"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static int open_bytes(struct chain_file *chain, const uint8_t *data,
                      size_t size, char message[CHAIN_MESSAGE])
{
    /* fmemopen takes no const pointer, also for reading */
    union {
        const uint8_t *from;
        void *to;
    } bytes = {.from = data};
    FILE *stream = fmemopen(bytes.to, size, "r");

    demand(stream != NULL, "fmemopen");
    chain_init(chain, &chain_csv, "fuzz.csv", message);
    return csv_open_stream(chain, stream);
}

/* All columns, or every other one. */
static int read_columns(struct chain_file *chain, size_t step,
                        char message[CHAIN_MESSAGE])
{
    size_t *slots = cli_alloc(chain->n_columns, sizeof *slots);
    size_t n = 0;

    for (size_t j = 0; j < chain->n_columns; j++) {
        slots[j] = j % step == 0 ? n++ : CHAIN_SKIP;
    }
    const int code = chain_read(chain, slots, n, message);
    free(slots);
    return code;
}

static void check_header(const struct chain_file *chain)
{
    demand(chain->n_columns > 0 && chain->header_line > 0, "no header");
    for (size_t j = 0; j < chain->n_columns; j++) {
        char *pretty = column_pretty(chain->names[j]);

        demand(*chain->names[j] && *pretty, "no name");
        free(pretty);
    }
}

static void check_halves(const struct chain_file *all, const uint8_t *data,
                         size_t size)
{
    struct chain_file half;
    char message[CHAIN_MESSAGE] = "";

    demand(!open_bytes(&half, data, size, message), "opened once only");
    demand(!read_columns(&half, 2, message), "read once only");
    demand(half.n_rows == all->n_rows &&
               half.n_warmup_rows == all->n_warmup_rows,
           "number of rows");
    for (size_t t = 0; t < all->n_rows; t++) {
        for (size_t j = 0; j < half.n_slots; j++) {
            demand(is_same(half.values[t * half.n_slots + j],
                           all->values[t * all->n_slots + 2 * j]),
                   "half of the columns has other numbers");
        }
    }
    chain_clear(&half);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct chain_file chain;
    char message[CHAIN_MESSAGE] = "";

    if (size == 0) { /* not every fmemopen takes it */
        return 0;
    }
    int code = open_bytes(&chain, data, size, message);
    if (!code) {
        check_header(&chain);
        code = read_columns(&chain, 1, message);
    }
    if (code) {
        check_message(code, message, "fuzz.csv");
    } else {
        demand(chain.n_rows > 0 && chain.n_slots == chain.n_columns,
               "no draws");
        check_halves(&chain, data, size);
    }
    chain_clear(&chain);
    return 0;
}

/* ---- the fixed run ------------------------------------------------------------- */

#ifndef RELMC_LIBFUZZER

#include "fixed.h"

enum { N_RUNS = 20000 };

static const char *const seeds[] = {
    "# model = eight_model\n# method = sample (Default)\n#   sample\n"
    "#     num_samples = 3\n#     num_warmup = 2\n#     save_warmup = 1\n"
    "#     thin = 1 (Default)\n",
    "#     save_warmup = true\n#     thin = 2\n#     num_warmup = 1e9\n",
    "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,"
    "energy__,x.1,x.2,b.2.3,t:1.2\n",
    "-1.5,0.93,0.5,3,7,0,2.6,1e-3,8.25,-.5,+1E5\n",
    "-7,1,0.5,2,3,1,9.75,NaN,-inf,Inf,nan\n",
    "# Adaptation terminated\n# Step size = 0.5\n"
    "# Diagonal elements of inverse mass matrix:\n# 1.1, 0.9\n",
    "# \n#  Elapsed Time: 0.011 seconds (Warm-up)\n"
    "#                0.022 seconds (Sampling)\n",
    "x\n1\n2\n",
    "a,b\r\n1 , 2\r\n",
    "123456789012345678901234567890,1e-320\n",
    "\n# =\n#=x\n#\n",
};
enum { N_SEEDS = sizeof seeds / sizeof *seeds };

/* The first seeds in order are a file; some are left out or repeated. */
static size_t make_file(uint64_t *state, char *text)
{
    size_t n = 0;

    for (size_t i = 0; i < N_SEEDS; i++) {
        const size_t kept =
            i < 7 ? fixed_below(state, 8) > 0 : fixed_below(state, 8) == 0;

        for (size_t j = kept ? 1 + fixed_below(state, 2) * (i == 3) : 0; j > 0;
             j--) {
            n = fixed_join(text, n, seeds[i], strlen(seeds[i]));
        }
    }
    return n;
}

int main(void)
{
    static const char alphabet[] = "0123456789.,:=#-+eExXinfaN \t\"\r\n_\0\xff";
    static const struct fixed fixed = {.seed = 3,
                                       .n_runs = N_RUNS,
                                       .make = make_file,
                                       .alphabet = alphabet,
                                       .n_letters = sizeof alphabet - 1};

    fixed_run(&fixed, LLVMFuzzerTestOneInput);
    (void)printf("%d files\n", (int)N_RUNS);
    return 0;
}

#endif
