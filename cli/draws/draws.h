/* draws.h - the chains of one run: files that belong together, read in as many
 * pieces as the memory requires. */
#ifndef RELMC_CLI_DRAWS_H
#define RELMC_CLI_DRAWS_H

#include "draws/chain_file.h"
#include "relmc_diag.h"
#include "tool/options.h"
#include "tool/progress_line.h"

struct draws {
    const char *who; /* "relmc summary" */
    struct chain_file *files;
    size_t n_files;
    size_t **places; /* per file: where column j of the first one is; NULL:
                       * at the same place */
    size_t *chosen;  /* columns of the first file: sampler's, then others */
    size_t n_chosen;
    double memory; /* bytes that may be used for draws at a time */
    size_t n_each; /* draws used of each chain: those of the shortest */
    const struct voice *voice;
    struct progress_line gauge;
    double share_from, share_to; /* of the gauge, for this piece of work */
};

/* Options that every command on files has. */
#define DRAWS_OPT_INCLUDE                                              \
    {                                                                  \
        .name = "include", .also = {"include-param"}, .letter = 'i',   \
        .kind = OPT_TEXT, .value = "VAR", .is_list = true,             \
        .doc = "only this variable: x stands for x[1], x[2], ...; may" \
               " be repeated"                                          \
    }
#define DRAWS_OPT_MEMORY                                              \
    {                                                                 \
        .name = "memory", .kind = OPT_REAL, .value = "MB", .min = 0,  \
        .max = 1e12,                                                  \
        .doc = "hold at most this much of the draws at a time, and "  \
               "read the files again for the rest (default: half of " \
               "the memory)"                                          \
    }

/* Opens the files and sees that they are chains of one model; 0, or the exit
 * code after a message. */
int draws_open(struct draws *draws, const char *const *paths, size_t n,
               const struct opt_set *set, const struct voice *voice);
void draws_clear(struct draws *draws);

/* The variables named, or all; `memory` is the option of that name. */
int draws_choose(struct draws *draws, const struct opt_value *include,
                 const struct opt_value *memory);
/* One more column, unless it is chosen already. */
void draws_add(struct draws *draws, size_t column);

/* Called once for every chosen column; the draws of a chain lie one after
 * another. */
typedef void (*draws_fn)(void *ctx, size_t column, const relmc_series *series);
int draws_visit(struct draws *draws, draws_fn fn, void *ctx);

const char *draws_name(const struct draws *draws, size_t column);
bool draws_is_sampler(const struct draws *draws, size_t column);

/* From the configuration of the first file. */
const char *draws_setting(const struct draws *draws, const char *key);
double draws_number(const struct draws *draws, const char *key);
/* "banana": without the _model that CmdStan adds; yours. */
char *draws_model(const struct draws *draws);
/* "relativistic HMC (separable)", "NUTS"; yours. */
char *draws_method(const struct draws *draws);
/* Sampling time of the chain that took longest; NaN if a file does not have it. */
double draws_seconds(const struct draws *draws);
/* Are all draws equal? */
bool draws_are_constant(const relmc_series *series);

#endif
