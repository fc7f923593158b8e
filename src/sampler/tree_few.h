/*
 * tree_few.h - the levels of tree.h for many lanes of few coordinates: a bunch of
 * lanes at once.  They are at different places of their trees; what does not
 * concern one of them leaves it as it is.
 *
 * The spans of a level are side by side, five rows of dim numbers per lane: `dim`
 * is a constant wherever these functions are called, so that there are no loops.
 */
#ifndef RMC_SAMPLER_TREE_FEW_H
#define RMC_SAMPLER_TREE_FEW_H

#include "span.h"

enum { RMC_RHO, RMC_P_FIRST, RMC_V_FIRST, RMC_P_LAST, RMC_V_LAST };

#ifdef __AVX512F__
enum { RMC_BUNCH = 8 };
#else
enum { RMC_BUNCH = 4 };
#endif

/* Numbers of these lanes, and where they are found. */
#define RMC_VECTOR vector_size(8 * RMC_BUNCH)
typedef double rmc_bunch __attribute__((RMC_VECTOR));
typedef uint64_t rmc_counts __attribute__((RMC_VECTOR));
typedef double rmc_bunch_at __attribute__((RMC_VECTOR, aligned(8), may_alias));
typedef uint64_t rmc_counts_at
    __attribute__((RMC_VECTOR, aligned(8), may_alias));

#define RMC_NUMBERS(at) (*(const rmc_bunch_at *)(at))
#define RMC_COUNTS(at)  (*(rmc_counts_at *)(at))

/* Row `row` of level a, coordinate i; and where that is. */
#define RMC_ROW(a, row, i)    RMC_NUMBERS(RMC_ROW_AT(a, row, i))
#define RMC_ROW_AT(a, row, i) ((a) + RMC_BUNCH * ((row)*dim + (i)))

/* Some of the lanes: a bit for each with AVX-512, else all bits of a number.
 *   RMC_SET(m)              the same in numbers of all bits
 *   RMC_IS_SET(n)           the way back
 *   RMC_ANY(m)              are there any?
 *   RMC_IS_ODD(n), RMC_IS_ZERO(n), RMC_IS_POSITIVE(x)
 *   RMC_COUNT(n, m)         n, and 1 more where m
 *   RMC_PUT_WHERE(m, at, x) x to where m
 *   RMC_MIN(x, y)           the lesser of two numbers, y if there is none */
#ifdef __AVX512F__
typedef unsigned rmc_where;
#define RMC_SET(m)    ((rmc_counts)_mm512_movm_epi64((__mmask8)(m)))
#define RMC_IS_SET(n) ((rmc_where)_mm512_movepi64_mask((__m512i)(n)))
#define RMC_ANY(m)    (m)
#define RMC_IS_ODD(n) \
    ((rmc_where)_mm512_test_epi64_mask((__m512i)(n), _mm512_set1_epi64(1)))
#define RMC_IS_ZERO(n) \
    ((rmc_where)_mm512_testn_epi64_mask((__m512i)(n), (__m512i)(n)))
#define RMC_IS_POSITIVE(x) \
    ((rmc_where)_mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_GT_OQ))
#define RMC_COUNT(n, m)                                             \
    ((rmc_counts)_mm512_mask_add_epi64((__m512i)(n), (__mmask8)(m), \
                                       (__m512i)(n), _mm512_set1_epi64(1)))
#define RMC_PUT_WHERE(m, at, x) \
    _mm512_storeu_pd(           \
        at, _mm512_mask_blend_pd((__mmask8)(m), RMC_NUMBERS(at), (x)))
#define RMC_MIN(x, y) ((rmc_bunch)_mm512_min_pd(x, y))
#else
typedef rmc_counts rmc_where;
#define RMC_SET(m)         (m)
#define RMC_IS_SET(n)      (n)
#define RMC_IS_ODD(n)      (-((n)&1))
#define RMC_IS_ZERO(n)     ((rmc_where)((n) == 0))
#define RMC_IS_POSITIVE(x) ((rmc_where)((x) > 0.0))
#define RMC_COUNT(n, m)    ((n) - (m))
#ifdef __AVX2__
#define RMC_ANY(m) _mm256_movemask_pd((__m256d)(m))
#define RMC_PUT_WHERE(m, at, x) \
    _mm256_storeu_pd(at, _mm256_blendv_pd(RMC_NUMBERS(at), (x), (__m256d)(m)))
#define RMC_MIN(x, y) ((rmc_bunch)_mm256_min_pd(x, y))
#else
#define RMC_ANY(m) (((m)[0] | (m)[1] | (m)[2] | (m)[3]) != 0)
#define RMC_PUT_WHERE(m, at, x)                \
    (*(rmc_bunch_at *)(at) =                   \
         (rmc_bunch)(((rmc_counts)(x) & (m)) | \
                     ((rmc_counts)RMC_NUMBERS(at) & ~(m))))
#define RMC_MIN(x, y)                                          \
    ((rmc_bunch)(((rmc_counts)(x) & (rmc_counts)((x) < (y))) | \
                 ((rmc_counts)(y) & ~(rmc_counts)((x) < (y)))))
#endif
#endif

/* [U-turn] Two points, a and one with p and v; rho becomes their sum.  Lanes that
 * turn leave the mask. */
RMC_INLINE void rmc_bunch_pair(size_t dim, const double *a, const rmc_bunch *p,
                               const rmc_bunch *v, rmc_bunch *rho,
                               rmc_where *joins)
{
    rmc_bunch d0 = {0}, d1 = {0};

    for (size_t i = 0; i < dim; i++) {
        rho[i] = RMC_ROW(a, RMC_P_FIRST, i) + p[i];
        const rmc_bunch at_first = rho[i] * RMC_ROW(a, RMC_V_FIRST, i);
        const rmc_bunch at_last = rho[i] * v[i];
        d0 = i ? d0 + at_first : at_first;
        d1 = i ? d1 + at_last : at_last;
    }
    *joins &= RMC_IS_POSITIVE(d0) & RMC_IS_POSITIVE(d1);
}

/* [U-turn] Two spans, a and one that begins as `from` does and ends with v. */
RMC_INLINE void rmc_bunch_join(size_t dim, const double *a, const double *from,
                               const rmc_bunch *v, rmc_bunch *rho,
                               rmc_where *joins)
{
    rmc_bunch d[6];

    for (size_t i = 0; i < dim; i++) {
        const rmc_bunch r0 = RMC_ROW(a, RMC_RHO, i), r = r0 + rho[i];
        const rmc_bunch seam0 = r0 + RMC_ROW(from, RMC_P_FIRST, i);
        const rmc_bunch seam1 = RMC_ROW(a, RMC_P_LAST, i) + rho[i];
        const rmc_bunch v_first = RMC_ROW(a, RMC_V_FIRST, i);
        const rmc_bunch part[6] = {r * v_first,
                                   r * v[i],
                                   seam0 * v_first,
                                   seam0 * RMC_ROW(from, RMC_V_FIRST, i),
                                   seam1 * RMC_ROW(a, RMC_V_LAST, i),
                                   seam1 * v[i]};

        rho[i] = r;
        for (size_t c = 0; c < 6; c++) {
            d[c] = i ? d[c] + part[c] : part[c];
        }
    }
    for (size_t c = 1; c < 6; c++) {
        d[0] = RMC_MIN(d[c], d[0]);
    }
    *joins &= RMC_IS_POSITIVE(d[0]);
}

/* A point waits as a, the first of two. */
RMC_INLINE void rmc_bunch_wait_as_point(size_t dim, double *a,
                                        const rmc_bunch *p, const rmc_bunch *v,
                                        const rmc_where *where)
{
    for (size_t i = 0; i < dim; i++) {
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_P_FIRST, i), p[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_V_FIRST, i), v[i]);
    }
}

/* The span from the first end of `from` to p and v waits as a. */
RMC_INLINE void rmc_bunch_wait(size_t dim, double *a, const double *from,
                               const rmc_bunch *p, const rmc_bunch *v,
                               const rmc_bunch *rho, const rmc_where *where)
{
    for (size_t i = 0; i < dim; i++) {
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_RHO, i), rho[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_P_FIRST, i),
                      RMC_ROW(from, RMC_P_FIRST, i));
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_V_FIRST, i),
                      RMC_ROW(from, RMC_V_FIRST, i));
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_P_LAST, i), p[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_V_LAST, i), v[i]);
    }
}

/* New points of a bunch of lanes. */
struct rmc_bunch_leaves {
    rmc_counts n; /* points before them */
    rmc_where has_point, has_leaf;
    rmc_bunch p[RMC_WAYS - 1], v[RMC_WAYS - 1];
};

/* Enter them into the levels from a on: with how many levels each was joined
 * without a turn, and in which lanes none turned.  What n says of the levels to
 * come decides how long this goes on, for that is known early. */
RMC_INLINE void rmc_bunch_enter(size_t dim, double *a,
                                const struct rmc_bunch_leaves *b,
                                rmc_counts *n_joined, rmc_where *goes_on)
{
    rmc_counts n = b->n, count = {0};
    rmc_where ones = b->has_point & RMC_IS_ODD(n);
    rmc_where joins = b->has_leaf & ones, waits = b->has_leaf & ~ones;
    rmc_where have_waited = waits;
    rmc_bunch rho[RMC_WAYS - 1];

    rmc_bunch_wait_as_point(dim, a, b->p, b->v, &waits);
    if (RMC_ANY(ones)) {
        rmc_bunch_pair(dim, a, b->p, b->v, rho, &joins);
    }
    while (RMC_ANY(ones)) {
        const double *from = a;

        a = RMC_ROW_AT(a, RMC_ROWS, 0);
        count = RMC_COUNT(count, joins);
        n >>= 1;
        ones &= RMC_IS_ODD(n);
        waits = joins & ~ones;
        have_waited |= waits;
        rmc_bunch_wait(dim, a, from, b->p, b->v, rho, &waits);
        joins &= ones;
        if (RMC_ANY(ones)) {
            rmc_bunch_join(dim, a, from, b->v, rho, &joins);
        }
    }
    *n_joined = count;
    *goes_on = have_waited;
}

#endif
