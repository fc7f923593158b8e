/*
 * open_mock.h - opens a variant of the Stan model of mock.c.  Include it after cmocka.h.
 */
#ifndef TESTS_STAN_OPEN_MOCK_H
#define TESTS_STAN_OPEN_MOCK_H

#include "relmc.h"

#define MOCK(name) RELMC_MOCK_DIR "/" name ".so"

enum { DIM = 6, N_OUTPUTS = 9 };
enum { MU, SIGMA, B11, B21, B12, B22, TAU, U, K };

static inline relmc_target *open_mock(const char *path, const char *data)
{
    relmc_error err = {0};
    relmc_target *t = NULL;

    if (relmc_target_open_stan(&t, path, data, 1, NULL, NULL, &err)) {
        fail_msg("%s: %s", path, err.message);
    }
    return t;
}

#endif
