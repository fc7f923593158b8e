/* record.h - the results of a run for its summary: draws in memory, or
 * sums only. */
#ifndef RELMC_CLI_RECORD_H
#define RELMC_CLI_RECORD_H

#include "tool/cli.h"

/* The sampler's statistics that are kept, named as in files. */
enum { N_STATS = 7, STAT_LP = 0 };
extern const char *const record_stats[N_STATS];

/* Of one chain, after warm-up. */
struct chain_record {
    size_t n;      /* draws */
    double *stats; /* n x N_STATS; NULL: they are not kept */
    /* of the energies: last value, mean, squared deviations, squared
     * differences */
    double last, mean, squares, jumps;
};

struct record {
    const relmc_run *run;
    size_t dim, n_chains; /* dim: values of a draw */
    uint32_t first_chain;
    bool has_draws; /* the run keeps the draws */
    struct chain_record *chains;
};

/* `room` is the number of draws of a chain whose statistics are kept, or 0.
 * False if there is no memory. */
bool record_init(struct record *record, const relmc_options *options,
                 size_t dim, size_t room);
void record_clear(struct record *record);

/* The observer; ctx is the record. */
relmc_status record_draw(void *ctx, const relmc_draw *draw);

/* Draws of the shortest chain. */
size_t record_least(const struct record *record);
/* The last n draws of chain k, a row each. */
const double *record_last(const struct record *record, size_t k, size_t n);
/* The last n draws of every chain, chain by chain, of a coordinate or of a
 * statistic. */
void record_gather(double *to, const struct record *record, size_t n, size_t i);
void record_gather_stat(double *to, const struct record *record, size_t n,
                        size_t j);
/* E-BFMI from the sums. */
double record_ebfmi(const struct chain_record *chain);

#endif
