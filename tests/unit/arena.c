/*
 * arena.c - the arena gives zeroed, aligned memory and releases all of it, and any of its
 * requests may fail, also while a run is created.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

/* ---- an allocator that counts, records and fails on demand --------------- */

enum { MAX_BLOCKS = 4096, ENOUGH = 1 << 30 };

struct ledger {
    struct {
        void *block;
        size_t bytes;
    } held[MAX_BLOCKS];
    size_t n_held, n_acquired, bytes;
    size_t fail_at;       /* the number of the request that fails; 0: none */
    size_t n_asked, last; /* requests so far, bytes of the last one */
};

static void *acquire(void *ctx, size_t bytes)
{
    struct ledger *l = ctx;

    l->n_asked++;
    l->last = bytes;
    if (l->n_asked == l->fail_at || l->n_held == MAX_BLOCKS || bytes > ENOUGH) {
        return NULL;
    }
    void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (block) {
        memset(block, 0xa5, bytes);
        l->held[l->n_held].block = block;
        l->held[l->n_held++].bytes = bytes;
        l->n_acquired++;
        l->bytes += bytes;
    }
    return block;
}

static void release(void *ctx, void *block, size_t bytes)
{
    struct ledger *l = ctx;
    size_t i = 0;

    while (i < l->n_held && l->held[i].block != block) {
        i++;
    }
    assert_true(i < l->n_held); /* acquired and not released before */
    assert_int_equal(l->held[i].bytes, bytes);
    l->held[i] = l->held[--l->n_held];
    l->bytes -= bytes;
    free(block);
}

static struct ledger ledger;
static const struct rmc_memory counting = {acquire, release, &ledger};

static void open_ledger(size_t fail_at)
{
    memset(&ledger, 0, sizeof ledger);
    ledger.fail_at = fail_at;
}

/* ---- the arena ---------------------------------------------------------- */

static const struct rmc_memory memories[] = {
    {NULL, NULL, NULL},
    {acquire, release, &ledger},
};

static void check_block(const unsigned char *block, size_t bytes)
{
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % 64, 0);
    for (size_t j = 0; j < bytes; j++) {
        assert_int_equal(block[j], 0);
    }
}

static void test_arena__is_zeroed_and_aligned(void **state)
{
    (void)state;
    for (size_t a = 0; a < 2; a++) {
        relmc_arena arena = {.memory = memories[a]};

        open_ledger(0);
        for (size_t bytes = 0; bytes < 300; bytes++) {
            unsigned char *block = relmc_arena_get(&arena, bytes);

            check_block(block, bytes);
            memset(block, 0xff, bytes); /* later blocks must be zero */
        }
        check_block(relmc_arena_get(&arena, 1000000), 1000000);
        assert_int_equal(relmc_arena_check(&arena, NULL), RELMC_OK);
        rmc_arena_release(&arena);
        assert_int_equal(ledger.n_held, 0);
        assert_int_equal(ledger.bytes, 0);
    }
}

static void test_arena__blocks_do_not_overlap(void **state)
{
    enum { N = 100 };
    relmc_arena arena = {0};
    unsigned char *blocks[N];

    (void)state;
    for (size_t i = 0; i < N; i++) {
        blocks[i] = relmc_arena_get(&arena, i + 1);
        memset(blocks[i], (int)i + 1, i + 1);
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j <= i; j++) {
            assert_int_equal(blocks[i][j], i + 1);
        }
    }
    rmc_arena_release(&arena);
}

static void test_arena__survives_failure_of_every_allocation(void **state)
{
    enum { N = 20 };

    (void)state;
    for (size_t n = 1; n <= N + 1; n++) {
        relmc_arena arena = {.memory = counting};
        relmc_error err = {0};

        open_ledger(n);
        for (size_t i = 1; i <= N; i++) {
            void *block = relmc_arena_get(&arena, 100 * i);
            assert_int_equal(block != NULL, i < n); /* none after a failure */
        }
        assert_int_equal(relmc_arena_check(&arena, &err),
                         n <= N ? RELMC_ENOMEM : RELMC_OK);
        assert_string_equal(err.message, n <= N ? "out of memory" : "");
        assert_int_equal(ledger.n_asked, n <= N ? n : N);
        assert_int_equal(ledger.n_held, n <= N ? n - 1 : N);
        rmc_arena_release(&arena);
        assert_int_equal(ledger.n_held, 0);
        rmc_arena_release(&arena); /* a second release does nothing */
    }
}

static void test_arena__refuses_absurd_sizes(void **state)
{
    static const size_t absurd[] = {
        SIZE_MAX,       SIZE_MAX - 1,   SIZE_MAX - 63,  SIZE_MAX - 64,
        SIZE_MAX - 127, SIZE_MAX - 128, SIZE_MAX - 129, SIZE_MAX / 2};

    (void)state;
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        relmc_arena arena = {.memory = counting};

        open_ledger(0);
        assert_null(relmc_arena_get(&arena, absurd[i]));
        /* no request, or one of at least this size */
        assert_true(ledger.n_asked == 0 || ledger.last >= absurd[i]);
        assert_int_equal(relmc_arena_check(&arena, NULL), RELMC_ENOMEM);
        rmc_arena_release(&arena);
    }
}

static void test_arena__copies(void **state)
{
    const double values[] = {1.0, -2.0, 3.0};
    relmc_arena arena = {0};

    (void)state;
    assert_string_equal(rmc_arena_copy_text(&arena, "a text"), "a text");
    assert_string_equal(rmc_arena_copy_text(&arena, ""), "");
    assert_memory_equal(rmc_arena_copy(&arena, values, 3), values,
                        sizeof values);
    assert_null(rmc_arena_copy(&arena, NULL, 3));
    assert_int_equal(relmc_arena_check(&arena, NULL), RELMC_OK);
    rmc_arena_release(&arena);
}

/* A copy larger than any memory makes relmc_arena_check fail. */
static void test_arena__reports_a_copy_that_is_too_long(void **state)
{
    const double value = 1.0;
    relmc_arena arena = {0};

    (void)state;
    assert_null(rmc_arena_copy(&arena, &value, SIZE_MAX / 8 + 1));
    assert_int_equal(relmc_arena_check(&arena, NULL), RELMC_ENOMEM);
    rmc_arena_release(&arena);
}

/* ---- a run -------------------------------------------------------------- */

static relmc_status make_run(const relmc_target *target, const char *kinetic)
{
    const double metric[] = {1.0, 0.5, 0.5, 2.0};
    relmc_options options = RELMC_INIT(relmc_options);
    relmc_run *run = NULL;
    relmc_error err = {0};

    options.kinetic = kinetic;
    options.chains = 3;
    options.lanes = 2;
    options.warmup = options.draws = 20;
    options.inv_metric_dense = metric;
    options.acquire = acquire;
    options.release = release;
    options.memory_ctx = &ledger;
    relmc_status status = relmc_run_create(&run, target, &options, &err);
    if (status) {
        assert_null(run);
        return status;
    }
    {
        const size_t n_asked = ledger.n_asked;

        status = relmc_run_advance(run, INT64_MAX, &err);
        assert_int_equal(ledger.n_asked,
                         n_asked); /* no request while sampling */
    }
    relmc_run_destroy(run);
    return status;
}

static void test_run__survives_failure_of_every_allocation(void **state)
{
    static const char *const kinetics[] = {"newtonian", "relativistic",
                                           "separable", "separable:c=[1,2]"};

    (void)state;
    for (size_t i = 0; i < sizeof kinetics / sizeof *kinetics; i++) {
        relmc_target *target = NULL;
        relmc_status status = RELMC_ENOMEM;
        size_t n = 1;

        assert_int_equal(
            relmc_target_open(&target, "gaussian:dim=2", NULL, NULL), RELMC_OK);
        for (; status == RELMC_ENOMEM; n++) {
            open_ledger(n);
            status = make_run(target, kinetics[i]);
            assert_int_equal(ledger.n_held, 0);
            assert_int_equal(ledger.bytes, 0);
        }
        assert_int_equal(status, RELMC_OK);
        assert_true(n > 10); /* requests did fail */
        relmc_target_destroy(target);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena__is_zeroed_and_aligned),
        cmocka_unit_test(test_arena__blocks_do_not_overlap),
        cmocka_unit_test(test_arena__survives_failure_of_every_allocation),
        cmocka_unit_test(test_arena__refuses_absurd_sizes),
        cmocka_unit_test(test_arena__copies),
        cmocka_unit_test(test_arena__reports_a_copy_that_is_too_long),
        cmocka_unit_test(test_run__survives_failure_of_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
