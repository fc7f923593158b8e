/* data_model.h - memory and numbers of tests of models on data.  Include it after cmocka.h. */
#ifndef TESTS_CONFORMANCE_DATA_MODEL_H
#define TESTS_CONFORMANCE_DATA_MODEL_H

#include <stdlib.h>
#include <string.h>

static inline void *get(size_t n, size_t bytes)
{
    void *p = aligned_alloc(64, (n * bytes + 127) / 64 * 64);

    assert_non_null(p);
    memset(p, 0, n * bytes);
    return p;
}

static inline void same_bits(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (memcmp(&a[i], &b[i], sizeof *a) != 0) {
            fail_msg("number %zu: %.17g is not %.17g", i, a[i], b[i]);
        }
    }
}

#endif
