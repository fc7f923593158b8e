/* lanes.c - every subset of a few lanes can be gathered, copied and scattered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "support/check.h"

#include <string.h>

enum { MAX_LANES = 10, MAX_LD = 16, MAX_DIM = 4, GUARD = 8 };
enum { CELLS = MAX_DIM * MAX_LD, ROOM = CELLS + GUARD };

static const double canary = -777.0;

static double whole[ROOM], room[ROOM], other[ROOM], before[ROOM];

/* Every cell has its own value; padding holds a canary. */
static void fill(const relmc_shape *s, double *block, double offset)
{
    for (size_t j = 0; j < ROOM; j++) {
        block[j] = canary;
    }
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t k = 0; k < s->lanes; k++) {
            block[i * s->ld + k] = offset + 100.0 * (double)i + (double)k;
        }
    }
}

static rmc_lane_list subset(unsigned mask, uint32_t lanes[MAX_LANES])
{
    rmc_lane_list set = {lanes, 0};

    for (uint32_t k = 0; k < MAX_LANES; k++) {
        if (mask >> k & 1) {
            lanes[set.n++] = k;
        }
    }
    return set;
}

static void check_gather(const relmc_shape *s, const rmc_lane_list *set)
{
    const relmc_shape c = rmc_compact(s, set);

    fill(s, whole, 0.0);
    fill(s, before, 0.0);
    fill(&(relmc_shape){0, 0, 0}, room, 0.0);
    double *compact = rmc_gather(s, set, whole, room);
    if (set->n == s->lanes) {
        assert_ptr_equal(compact, whole);
        assert_memory_equal(&c, s, sizeof c);
    } else {
        assert_ptr_equal(compact, room);
        assert_true(c.dim == s->dim && c.lanes == set->n);
        assert_true(c.ld >= c.lanes && c.ld == rmc_leading(c.lanes));
        for (size_t i = 0; i < s->dim; i++) {
            for (size_t j = 0; j < c.ld; j++) {
                const double expected =
                    j < set->n ? 100.0 * (double)i + set->lane[j] : 0.0;
                assert_true(compact[i * c.ld + j] == expected);
            }
        }
        for (size_t j = c.dim * c.ld; j < ROOM; j++) {
            assert_true(room[j] ==
                        canary); /* nothing written beyond the shape */
        }
    }
    assert_memory_equal(whole, before, sizeof whole);
}

/* Scattering a changed compact block changes the lanes of the set only. */
static void check_scatter(const relmc_shape *s, const rmc_lane_list *set)
{
    const relmc_shape c = rmc_compact(s, set);

    fill(s, whole, 0.0);
    fill(s, before, 0.0);
    double *compact = rmc_gather(s, set, whole, room);
    for (size_t i = 0; i < c.dim; i++) {
        for (size_t j = 0; j < c.lanes; j++) {
            compact[i * c.ld + j] += 5000.0;
        }
    }
    rmc_scatter(s, set, compact, whole);
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t j = 0; j < set->n; j++) {
            before[i * s->ld + set->lane[j]] += 5000.0;
        }
    }
    assert_memory_equal(whole, before, sizeof whole);
}

static void check_copy(const relmc_shape *s, const rmc_lane_list *set)
{
    fill(s, whole, 0.0);
    fill(s, before, 0.0);
    fill(s, other, 9000.0);
    rmc_copy_lanes(s, set, other, whole);
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t j = 0; j < set->n; j++) {
            before[i * s->ld + set->lane[j]] += 9000.0;
        }
    }
    assert_memory_equal(whole, before, sizeof whole);
}

static void test_lanes__every_subset_goes_out_and_comes_home(void **state)
{
    (void)state;
    for (size_t lanes = 1; lanes <= MAX_LANES; lanes++) {
        for (size_t dim = 1; dim <= MAX_DIM; dim++) {
            const relmc_shape s = {dim, lanes, rmc_leading(lanes)};

            for (unsigned mask = 0; mask < 1u << lanes; mask++) {
                uint32_t list[MAX_LANES];
                const rmc_lane_list set = subset(mask, list);

                check_gather(&s, &set);
                check_scatter(&s, &set);
                check_copy(&s, &set);
            }
        }
    }
}

static void test_leading__starts_rows_on_cache_lines(void **state)
{
    (void)state;
    assert_int_equal(rmc_leading(1), 1);
    for (size_t lanes = 2; lanes <= 100; lanes++) {
        const size_t ld = rmc_leading(lanes);
        assert_true(ld >= lanes && ld < lanes + 8 && ld % 8 == 0);
    }
}

static void test_state__is_zeroed_and_of_the_right_size(void **state)
{
    const relmc_shape s = {3, 5, 8};
    relmc_arena arena = {0};
    const relmc_state z = rmc_state_new(&arena, &s);
    double *const blocks[] = {z.x, z.p, z.g};

    (void)state;
    assert_int_equal(relmc_arena_check(&arena, NULL), RELMC_OK);
    for (size_t b = 0; b < 3; b++) {
        for (size_t j = 0; j < rmc_cells(&s); j++) {
            assert_true(blocks[b][j] == 0.0);
            blocks[b][j] = (double)(b + 1);
        }
    }
    for (size_t k = 0; k < s.ld; k++) {
        assert_true(z.lp[k] == 0.0);
    }
    assert_true(z.x[0] == 1.0 && z.p[0] == 2.0 && z.g[0] == 3.0);
    rmc_arena_release(&arena);
}

/* The sums are right, with the same bits for any number of lanes and any padding. */
static void test_norms2__are_those_of_single_lanes(void **state)
{
    enum { LD = 19, DIM = 13 };
    double a[DIM * LD], row[DIM], out[LD];

    (void)state;
    for (size_t ld = 1; ld <= LD; ld++) {
        for (size_t dim = 1; dim <= DIM; dim++) {
            const relmc_shape s = {dim, ld, ld};

            for (size_t j = 0; j < dim * ld; j++) {
                a[j] = 1.0 / (double)(3 + j * j % 101);
            }
            rmc_norms2(&s, a, out);
            for (size_t k = 0; k < ld; k++) {
                double sum = 0.0;

                for (size_t i = 0; i < dim; i++) {
                    row[i] = a[i * ld + k];
                    sum += row[i] * row[i];
                }
                assert_true(out[k] == rmc_norm2(dim, row));
                assert_true(fabs(out[k] - sum) < 1e-14);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes__every_subset_goes_out_and_comes_home),
        cmocka_unit_test(test_leading__starts_rows_on_cache_lines),
        cmocka_unit_test(test_state__is_zeroed_and_of_the_right_size),
        cmocka_unit_test(test_norms2__are_those_of_single_lanes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
