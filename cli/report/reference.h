/* reference.h - known values of the parameters of a model: exact moments,
 * summaries, or reference draws. */
#ifndef RELMC_CLI_REFERENCE_H
#define RELMC_CLI_REFERENCE_H

#include "draws/draws.h"
#include "relmc_diag.h"

/* Draws of each side in the tests of two samples. */
enum { REF_DRAWS = 500 };

struct ref_row {
    char *name; /* as people write it: theta[1] */
    relmc_known known;
};

struct reference {
    const char *source; /* what messages call it */
    struct ref_row *rows;
    size_t n_rows;
    size_t *by_name; /* rows in the order of their names */
    size_t n_levels; /* of the quantiles, the same for all */
    double *levels;
    double n_effective; /* summaries come from so many independent draws; NaN:
                         * the errors are known, or there are none */
    /* For tests of two samples; n_chains = 0: there are no draws. */
    size_t n_chains, n_each, n_full; /* n_each of n_full draws per chain */
    double *draws;                   /* row after row: n_chains x n_each */
    double least_share;              /* ESS over draws, the worst of all rows */
};

/* From files: draws as CSV, a file for each chain, or JSON; 0, or the exit code
 * after a message. */
int reference_read(struct reference *ref, const struct opt_value *paths,
                   const struct opt_set *set, const struct voice *voice);
/* From the model itself. */
int reference_exact(struct reference *ref, const relmc_target *target,
                    const char *who);
void reference_clear(struct reference *ref);

/* The row of that name, or n_rows. */
size_t reference_find(const struct reference *ref, const char *name);

/* theta[1] for theta.1, "theta[1]" and "theta[ 1 ]"; yours. */
char *reference_name(const char *name);
/* n_each draws of every chain, evenly spread: chain after chain. */
void reference_thin(double *out, size_t n_each, const relmc_series *series);
/* The same number for every chain, all together at most `limit`. */
size_t reference_share(size_t limit, const relmc_series *series);

#endif
