/* record.c - the results of a run for its summary: draws in memory, or
 * sums only. */
#include "job/record.h"
#include "relmc_diag.h"
#include "relmc_format.h"

#include <stdlib.h>

const char *const record_stats[N_STATS] = {
    RELMC_COLUMN_LP,         RELMC_COLUMN_ACCEPT_PROB, RELMC_COLUMN_STEP_SIZE,
    RELMC_COLUMN_TREE_DEPTH, RELMC_COLUMN_DIVERGENT,   RELMC_COLUMN_ENERGY,
    RELMC_COLUMN_SPEED,
};

/* The same as numbers of the library. */
static const int numbers[N_STATS] = {
    RELMC_STAT_LP,         RELMC_STAT_ACCEPT_PROB, RELMC_STAT_STEP_SIZE,
    RELMC_STAT_TREE_DEPTH, RELMC_STAT_DIVERGENT,   RELMC_STAT_ENERGY,
    RELMC_STAT_SPEED,
};

bool record_init(struct record *record, const relmc_options *options,
                 size_t dim, size_t room)
{
    *record = (struct record){
        .dim = dim,
        .n_chains = options->chains,
        .first_chain = options->first_chain,
        .has_draws = room > 0,
        .chains = cli_alloc(options->chains, sizeof *record->chains),
    };
    for (size_t k = 0; room && k < record->n_chains; k++) {
        record->chains[k].stats = malloc(room * N_STATS * sizeof(double));
        if (!record->chains[k].stats) {
            return false;
        }
    }
    return true;
}

void record_clear(struct record *record)
{
    for (size_t k = 0; k < record->n_chains; k++) {
        free(record->chains[k].stats);
    }
    free(record->chains);
}

static void add_energy(struct chain_record *c, double energy)
{
    const double jump = c->n ? energy - c->last : 0.0;
    const double off = energy - c->mean;

    c->jumps += jump * jump;
    c->mean += off / (double)(c->n + 1);
    c->squares += off * (energy - c->mean);
    c->last = energy;
}

/* Calls for one chain come in order, so each has one writer. */
relmc_status record_draw(void *ctx, const relmc_draw *draw)
{
    const struct record *record = ctx;
    struct chain_record *c = &record->chains[draw->chain - record->first_chain];

    if (draw->index < 0) {
        return RELMC_OK;
    }
    if (c->stats) {
        double *row = c->stats + c->n * N_STATS;

        for (size_t j = 0; j < N_STATS; j++) {
            row[j] = draw->stats[numbers[j]];
        }
    } else {
        add_energy(c, draw->stats[RELMC_STAT_ENERGY]);
    }
    c->n++;
    return RELMC_OK;
}

size_t record_least(const struct record *record)
{
    size_t least = record->chains[0].n;

    for (size_t k = 1; k < record->n_chains; k++) {
        const size_t n = record->chains[k].n;

        least = n < least ? n : least;
    }
    return least;
}

const double *record_last(const struct record *record, size_t k, size_t n)
{
    relmc_draws draws = RELMC_INIT(relmc_draws);

    (void)relmc_run_draws(record->run, (uint32_t)k, &draws, NULL);
    return draws.outputs + (draws.n - n) * record->dim;
}

void record_gather(double *to, const struct record *record, size_t n, size_t i)
{
    for (size_t k = 0; k < record->n_chains; k++) {
        const double *last = record_last(record, k, n);

        for (size_t t = 0; t < n; t++) {
            to[k * n + t] = last[t * record->dim + i];
        }
    }
}

void record_gather_stat(double *to, const struct record *record, size_t n,
                        size_t j)
{
    for (size_t k = 0; k < record->n_chains; k++) {
        const struct chain_record *c = &record->chains[k];
        const double *last = c->stats + (c->n - n) * N_STATS;

        for (size_t t = 0; t < n; t++) {
            to[k * n + t] = last[t * N_STATS + j];
        }
    }
}

/* [ebfmi] as relmc_ebfmi has it */
double record_ebfmi(const struct chain_record *chain)
{
    return chain->n > 1 && chain->squares > 0.0 ? chain->jumps / chain->squares
                                                : CLI_NAN;
}
