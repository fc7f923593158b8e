/* toolchain.h - finds the programs and files that turn Stan programs into
 * libraries. */
#ifndef RELMC_CLI_STAN_TOOLCHAIN_H
#define RELMC_CLI_STAN_TOOLCHAIN_H

#include "stan/build.h"

enum { STAN_KIT_WORDS = 64 };

struct stan_kit {
    char *cache;   /* folder */
    char *share;   /* folder with shim.cpp, stan.hpp, json.hpp, stanc.R */
    char *stanc;   /* program, or NULL: */
    char *rscript; /* runs stanc.R */
    char *cxx;     /* path */
    bool is_clang; /* can precompile headers in a way that helps */
    bool is_old;   /* stanc 2.21 */
    char *names;   /* versions of all, for fingerprints and messages */
    char *flags[STAN_KIT_WORDS]; /* of the compiler, then NULL */
    char *libraries[STAN_KIT_WORDS];
};

/* 0, or the exit code after a message. */
int stan_toolchain_find(struct stan_kit *kit, const struct stan_tools *tools);
void stan_toolchain_clear(struct stan_kit *kit);

/* The folder of the cache, made if it is not there.  NULL after a message. */
char *stan_toolchain_cache_folder(const char *given);

#endif
