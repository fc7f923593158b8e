/* convert.h - writes chains from files in another format. */
#ifndef RELMC_CLI_CONVERT_H
#define RELMC_CLI_CONVERT_H

#include "draws/chain_file.h"
#include "tool/options.h"

/* Where chains go. */
struct conversion {
    enum chain_format to;
    int digits; /* of CSV; 0: as the file says, or as many as are needed */
    bool may_replace; /* files that are there */
    const char *who;
    const struct opt_set *set; /* files it names stay; NULL: there are none */
    const char *writer;        /* the option of it that said where to */
    const struct voice
        *voice; /* says what was written; NULL: nothing is said */
};

/* All chains into one file, or one file each: BASE_1.csv ...  Files appear when they
 * are complete.  0, or the exit code after a message.  `base` has
 * no suffix. */
int convert_chains(const struct conversion *how, const char *base,
                   struct chain_file *chains, size_t n);

#endif
