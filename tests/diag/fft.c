/*
 * fft.c - both code paths of the Fourier transform give the same bits.  RELMC_ISA does
 * not choose between them, so this file includes the source and calls both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diag/convergence/fft.c" /* in place of the one in the library */

#include "normal.h"

enum { LARGEST = 1 << 15 };

static void fill(complexes z, size_t n, uint64_t seed)
{
    uint64_t state = seed;

    for (size_t t = 0; t < n; t++) {
        z.re[t] = next_normal(&state);
        z.im[t] = 1e3 * next_normal(&state);
    }
}

static void same_bits(complexes a, complexes b, size_t n)
{
    assert_memory_equal(a.re, b.re, n * sizeof *a.re);
    assert_memory_equal(a.im, b.im, n * sizeof *a.im);
}

/* NAME uses the widest vectors of the processor, NAME_any those this file is compiled
 * for. */
static void test_fft__wide_vectors_change_no_bit(void **state)
{
    (void)state;
#if defined(__x86_64__) && defined(__GNUC__)
    if (!__builtin_cpu_supports("avx2")) {
        skip();
    }
#endif
    for (size_t size = 4; size <= LARGEST; size *= 2) {
        plan p = {0};
        double *room = plan_create(&p, size);

        assert_non_null(room);
        fill(p.now.even, size, size);
        fill(p.next.even, size, size);
        turn_any(&p, p.now.even, p.now.odd);
        turn(&p, p.next.even, p.next.odd);
        same_bits(p.now.odd, p.next.odd, size);
        forward_any(&p, p.now.even);
        forward(&p, p.next.even);
        same_bits(p.now.even, p.next.even, size);
        accumulate_any(size, p.sum.even, p.now.even, p.now.odd, -1.0);
        accumulate(size, p.sum.odd, p.now.even, p.now.odd, -1.0);
        same_bits(p.sum.even, p.sum.odd, size);
        inverse_any(&p, p.now.even);
        inverse(&p, p.next.even);
        same_bits(p.now.even, p.next.even, size);
        free(room);
    }
}

static void forward_plain(const plan *p, complexes z)
{
    forward_any(p, z);
}

/* The transform and its inverse cancel, in either order. */
static void check_inverse(void (*there)(const plan *, complexes))
{
    for (size_t size = 4; size <= LARGEST; size *= 2) {
        plan p = {0};
        double *room = plan_create(&p, size);

        assert_non_null(room);
        fill(p.now.even, size, 7);
        fill(p.next.even, size, 7);
        there(&p, p.now.even);
        inverse(&p, p.now.even);
        for (size_t t = 0; t < size; t++) {
            const double n = (double)size;

            assert_true(fabs(p.now.even.re[t] / n - p.next.even.re[t]) < 1e-11);
            assert_true(fabs(p.now.even.im[t] / n - p.next.even.im[t]) < 1e-11);
        }
        free(room);
    }
}

static void test_fft__inverse_undoes_it(void **state)
{
    (void)state;
    check_inverse(forward_plain);
    check_inverse(forward);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fft__wide_vectors_change_no_bit),
        cmocka_unit_test(test_fft__inverse_undoes_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
