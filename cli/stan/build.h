/* build.h - compiles a Stan program to a library with the BridgeStan ABI. */
#ifndef RELMC_CLI_STAN_BUILD_H
#define RELMC_CLI_STAN_BUILD_H

#include "tool/cli.h"

/* What to build with. NULL means the variable RELMC_STANC, RELMC_STAN_HEADERS,
 * RELMC_CXX or RELMC_CACHE if it is set, else what a search finds. */
struct stan_tools {
    const char *stanc;   /* program; else stanc 2.21 inside R's rstan */
    const char *headers; /* of Stan; else those of R's StanHeaders */
    const char *cxx;     /* compiler; else clang++, else g++ */
    const char *cache;   /* directory; else $XDG_CACHE_HOME/relmc */
    bool is_forced;      /* compile even what the cache has */
};

/* The library of the program `model` (a path), from the cache or compiled into
 * it.  0, or the exit code after a message; *library is to be freed. */
int stan_build(char **library, const char *model,
               const struct stan_tools *tools, const struct voice *voice);

/* Removes all that was compiled. */
int stan_build_clean(const struct stan_tools *tools, const struct voice *voice);

#endif
