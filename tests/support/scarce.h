/*
 * scarce.h - counts requests for memory to the C library and makes chosen ones fail.  For
 * test programs that are linked with --wrap for the five functions below (a list in
 * tests/CMakeLists.txt); sanitizers still see these calls.  Include it after cmocka.h, in
 * one file of the program.
 */
#ifndef RMC_TESTS_SCARCE_H
#define RMC_TESTS_SCARCE_H

#include "relmc.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_long n_requests; /* so far */
static atomic_long n_held;     /* blocks */
static long fails_at = -1;   /* this request fails, counted from 0; -1: none */
static int fails_ever_after; /* all requests after it fail, too */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __wrap_free(void *block);

static int is_refused(void)
{
    const long n = n_requests++;

    return fails_at >= 0 && (fails_ever_after ? n >= fails_at : n == fails_at);
}

static void *counted(void *block)
{
    n_held += block != NULL;
    return block;
}

void *__wrap_malloc(size_t bytes)
{
    return is_refused() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return is_refused() ? NULL : counted(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *block, size_t bytes)
{
    if (is_refused()) {
        return NULL;
    }
    void *moved = __real_realloc(block, bytes);
    n_held += moved && !block;
    return moved;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return is_refused() ? NULL
                        : counted(__real_aligned_alloc(alignment, bytes));
}

void __wrap_free(void *block)
{
    n_held -= block != NULL;
    __real_free(block);
}

/* ---- every request fails once --------------------------------------------- */

/* Takes memory and gives it back. */
typedef relmc_status (*deed)(relmc_error *err);

/* The status must be ENOMEM if one request fails, and if all later ones fail, too. */
static void fail_each(deed doing, const char *name)
{
    long n_needed = 0;

    for (fails_ever_after = 0; fails_ever_after < 2; fails_ever_after++) {
        const long held = n_held;

        for (long n = 0;; n++) {
            relmc_error err = {0};

            n_requests = 0;
            fails_at = n;
            const relmc_status status = doing(&err);
            fails_at = -1;
            n_needed = n_requests;
            if (n_held != held) {
                print_error("%s: request %ld: %ld blocks leak\n", name, n,
                            (long)n_held - held);
                fail();
            }
            if (n_needed <= n) { /* no request failed */
                assert_int_equal(status, RELMC_OK);
                break;
            }
            if (status != RELMC_ENOMEM || err.status != RELMC_ENOMEM ||
                !*err.message) {
                print_error("%s: request %ld: %s '%s'\n", name, n,
                            relmc_status_name(status), err.message);
                fail();
            }
        }
    }
    assert_true(n_needed > 0);
}

#endif
