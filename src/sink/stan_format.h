/* stan_format.h - the text in files of draws, as CmdStan's readers need it:
 * configuration, column names, results of adaptation, times (docs/formats.md).
 */
#ifndef RMC_STAN_TEXT_H
#define RMC_STAN_TEXT_H

#include "base/base.h"
#include "relmc_format.h"

#include <stdio.h>

enum { RMC_LONGEST_FOUND = 15 };

/* What adaptation may change. */
enum { RMC_FOUND_METRIC, RMC_FOUND_ENGINE, RMC_FOUND_KINETIC, RMC_N_FOUND };

struct rmc_stan_found {
    long place; /* in the configuration, -1 if unknown ... */
    int width;  /* ... with blanks after it */
    char text[RMC_LONGEST_FOUND + 1];
};

struct rmc_stan_text {
    FILE *stream;
    const char *path; /* the text has the file's own name */
    int digits;
    int width; /* of num_samples: blanks follow it; 0: none */
    /* where values are that may be corrected later; -1 if unknown */
    long num_samples;
    struct rmc_stan_found found[RMC_N_FOUND];
};

/* Writes the configuration and the line of names. */
void rmc_stan_head(struct rmc_stan_text *t, uint32_t chain,
                   const relmc_header *h);
void rmc_stan_adaptation(struct rmc_stan_text *t, const relmc_milestone *m,
                         size_t n_coordinates);
/* Reads or writes the positions, for a checkpoint. */
void rmc_stan_archive(struct rmc_stan_text *t, relmc_archive *a);
void rmc_stan_times(const struct rmc_stan_text *t, const relmc_milestone *m);
void rmc_stan_numbers(const struct rmc_stan_text *t, const char *lead,
                      const char *separator, const double *values, size_t n);

#endif
