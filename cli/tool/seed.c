/* seed.c - a random seed, if none is given. */
#define _POSIX_C_SOURCE 200809L

#include "tool/seed.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* 32 bits: easy to type, and all that other programs' files hold. */
static uint64_t random_seed(void)
{
    uint32_t seed = (uint32_t)time(NULL) * 2654435761u ^ (uint32_t)getpid();
    FILE *file = fopen("/dev/urandom", "rb");

    if (file) {
        uint32_t fresh = 0;

        if (fread(&fresh, sizeof fresh, 1, file) == 1) {
            seed = fresh;
        }
        (void)fclose(file);
    }
    return seed;
}

int seed_settle(struct opt_set *set)
{
    if (opt_get(set, "seed")->text) {
        return CLI_OK;
    }
    char *text = cli_text("%llu", (unsigned long long)random_seed());
    const int code =
        opt_assign(set, opt_place(set, "seed"), text, OPT_DEFAULT, "--seed");

    free(text);
    return code;
}
