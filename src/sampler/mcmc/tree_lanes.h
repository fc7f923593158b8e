/*
 * tree_lanes.h - the levels of tree.h for many lanes of few coordinates: a bunch of
 * lanes at once.  They are at different places of their trees; what does not
 * concern one of them leaves it as it is.
 *
 * The spans of a level are side by side, five rows of dim numbers per lane: `dim`
 * is a constant wherever these functions are called, so that there are no loops.
 */
#ifndef RMC_SAMPLER_TREE_FEW_H
#define RMC_SAMPLER_TREE_FEW_H

#include "sampler/mcmc/uturn.h"

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

#ifdef __AVX512F__
#define RMC_LANES ((rmc_counts){0, 1, 2, 3, 4, 5, 6, 7})
#else
#define RMC_LANES ((rmc_counts){0, 1, 2, 3})
#endif

/* Row `row` of level a, coordinate i; and where that is. */
#define RMC_ROW(a, row, i)    RMC_NUMBERS(RMC_ROW_AT(a, row, i))
#define RMC_ROW_AT(a, row, i) ((a) + RMC_BUNCH * ((row)*dim + (i)))

/* Some of the lanes: a bit for each with AVX-512, else all bits of a number.
 *   RMC_SET(m)              the same in numbers of all bits
 *   RMC_IS_SET(n)           the way back
 *   RMC_ANY(m)              are there any?
 *   RMC_IS_ODD(n), RMC_IS_ZERO(n), RMC_IS_POSITIVE(x), RMC_IS_LESS(x, y)
 *   RMC_COUNT(n, m)         n, and 1 more where m
 *   RMC_PICK(m, x, y)       x where m, else y
 *   RMC_PUT_WHERE(m, at, x), RMC_SWAP_WHERE(m, at, with)
 *   RMC_MIN(x, y)           the lesser of two numbers, y if there is none
 *   RMC_LOOK_UP(a, n)       a[n[0]], a[n[1]], ... */
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
#define RMC_IS_LESS(x, y) ((rmc_where)_mm512_cmp_pd_mask(x, y, _CMP_LT_OQ))
#define RMC_PICK(m, x, y) \
    ((rmc_bunch)_mm512_mask_blend_pd((__mmask8)(m), (y), (x)))
#define RMC_COUNT(n, m)                                             \
    ((rmc_counts)_mm512_mask_add_epi64((__m512i)(n), (__mmask8)(m), \
                                       (__m512i)(n), _mm512_set1_epi64(1)))
#define RMC_MIN(x, y)     ((rmc_bunch)_mm512_min_pd(x, y))
#define RMC_LOOK_UP(a, n) ((rmc_bunch)_mm512_i64gather_pd((__m512i)(n), (a), 8))
#else
typedef rmc_counts rmc_where;
#define RMC_SET(m)         (m)
#define RMC_IS_SET(n)      (n)
#define RMC_IS_ODD(n)      (-((n)&1))
#define RMC_IS_ZERO(n)     ((rmc_where)((n) == 0))
#define RMC_IS_POSITIVE(x) ((rmc_where)((x) > 0.0))
#define RMC_IS_LESS(x, y)  ((rmc_where)((x) < (y)))
#define RMC_COUNT(n, m)    ((n) - (m))
#define RMC_LOOK_UP(a, n) \
    ((rmc_bunch){(a)[(n)[0]], (a)[(n)[1]], (a)[(n)[2]], (a)[(n)[3]]})
#ifdef __AVX2__
#define RMC_ANY(m)        _mm256_movemask_pd((__m256d)(m))
#define RMC_PICK(m, x, y) ((rmc_bunch)_mm256_blendv_pd((y), (x), (__m256d)(m)))
#define RMC_MIN(x, y)     ((rmc_bunch)_mm256_min_pd(x, y))
#else
#define RMC_ANY(m) (((m)[0] | (m)[1] | (m)[2] | (m)[3]) != 0)
#define RMC_PICK(m, x, y) \
    ((rmc_bunch)(((rmc_counts)(x) & (m)) | ((rmc_counts)(y) & ~(m))))
#define RMC_MIN(x, y)                                          \
    ((rmc_bunch)(((rmc_counts)(x) & (rmc_counts)((x) < (y))) | \
                 ((rmc_counts)(y) & ~(rmc_counts)((x) < (y)))))
#endif
#endif
#define RMC_PUT(at, x)          (*(rmc_bunch_at *)(at) = (x))
#define RMC_PUT_WHERE(m, at, x) RMC_PUT(at, RMC_PICK(m, x, RMC_NUMBERS(at)))
#define RMC_SWAP_WHERE(m, at, with)                \
    do {                                           \
        const rmc_bunch rmc_was = RMC_NUMBERS(at); \
                                                   \
        RMC_PUT_WHERE(m, at, RMC_NUMBERS(with));   \
        RMC_PUT_WHERE(m, with, rmc_was);           \
    } while (0)

/* Points of a bunch of lanes. */
struct rmc_bunch_points {
    rmc_bunch p[RMC_WAYS - 1], v[RMC_WAYS - 1];
};

/* New ones. */
struct rmc_bunch_leaves {
    rmc_counts n; /* leaves of their halves before them */
    rmc_where has_point, has_leaf;
    rmc_where goes_on; /* nothing has turned so far */
    struct rmc_bunch_points at;
    rmc_bunch rho[RMC_WAYS - 1]; /* of the spans that end with them */
};

/* The first points of the spans that wait as a. */
RMC_INLINE struct rmc_bunch_points rmc_bunch_firsts(size_t dim, const double *a)
{
    struct rmc_bunch_points first;

    for (size_t i = 0; i < dim; i++) {
        first.p[i] = RMC_ROW(a, RMC_P_FIRST, i);
        first.v[i] = RMC_ROW(a, RMC_V_FIRST, i);
    }
    return first;
}

/* [U-turn] These points and the leaves, in the lanes `where`. */
RMC_INLINE void rmc_bunch_pair(size_t dim, const struct rmc_bunch_points *first,
                               struct rmc_bunch_leaves *b,
                               const rmc_where *where)
{
    rmc_bunch d0 = {0}, d1 = {0};

    for (size_t i = 0; i < dim; i++) {
        const rmc_bunch r = first->p[i] + b->at.p[i];
        const rmc_bunch at_first = r * first->v[i], at_last = r * b->at.v[i];

        d0 = i ? d0 + at_first : at_first;
        d1 = i ? d1 + at_last : at_last;
        b->rho[i] = RMC_PICK(*where, r, b->rho[i]);
    }
    b->goes_on &= ~*where | (RMC_IS_POSITIVE(d0) & RMC_IS_POSITIVE(d1));
}

/* [U-turn] The spans that wait as a, and those that begin with `after` and end
 * with the leaves. */
RMC_INLINE void rmc_bunch_join(size_t dim, const double *a,
                               const struct rmc_bunch_points *after,
                               struct rmc_bunch_leaves *b,
                               const rmc_where *where)
{
    rmc_bunch d[6];

    for (size_t i = 0; i < dim; i++) {
        const rmc_bunch r0 = RMC_ROW(a, RMC_RHO, i), r = r0 + b->rho[i];
        const rmc_bunch seam0 = r0 + after->p[i];
        const rmc_bunch seam1 = RMC_ROW(a, RMC_P_LAST, i) + b->rho[i];
        const rmc_bunch v_first = RMC_ROW(a, RMC_V_FIRST, i);
        const rmc_bunch part[6] = {r * v_first,
                                   r * b->at.v[i],
                                   seam0 * v_first,
                                   seam0 * after->v[i],
                                   seam1 * RMC_ROW(a, RMC_V_LAST, i),
                                   seam1 * b->at.v[i]};

        for (size_t c = 0; c < 6; c++) {
            d[c] = i ? d[c] + part[c] : part[c];
        }
        b->rho[i] = RMC_PICK(*where, r, b->rho[i]);
    }
    for (size_t c = 1; c < 6; c++) {
        d[0] = RMC_MIN(d[c], d[0]);
    }
    b->goes_on &= ~*where | RMC_IS_POSITIVE(d[0]);
}

/* Leaves wait as a, the first of their spans. */
RMC_INLINE void rmc_bunch_wait_as_points(size_t dim, double *a,
                                         const struct rmc_bunch_leaves *b,
                                         const rmc_where *where)
{
    for (size_t i = 0; i < dim; i++) {
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_P_FIRST, i), b->at.p[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_V_FIRST, i), b->at.v[i]);
    }
}

/* Spans from these points to the leaves wait as a. */
RMC_INLINE void rmc_bunch_wait(size_t dim, double *a,
                               const struct rmc_bunch_points *first,
                               const struct rmc_bunch_leaves *b,
                               const rmc_where *where)
{
    for (size_t i = 0; i < dim; i++) {
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_RHO, i), b->rho[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_P_FIRST, i), first->p[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_V_FIRST, i), first->v[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_P_LAST, i), b->at.p[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_V_LAST, i), b->at.v[i]);
    }
}

/* Enter leaves into the levels of their halves, from a on.  What n says of the
 * levels to come decides who waits where and how long this goes on, for that is
 * known early: a tree that turned is not looked at again, so spans may wait for
 * it, too.  First points are those of before, which the lanes that join have
 * kept; so a level need not wait for the one below. */
RMC_INLINE void rmc_bunch_enter(size_t dim, double *a,
                                struct rmc_bunch_leaves *b)
{
    rmc_counts n = b->n;
    rmc_where ones = b->has_point & RMC_IS_ODD(n);
    rmc_where waits = b->has_point & ~ones;
    struct rmc_bunch_points first = rmc_bunch_firsts(dim, a);

    b->goes_on = b->has_leaf;
    rmc_bunch_wait_as_points(dim, a, b, &waits);
    for (size_t i = 0; i < dim; i++) {
        b->rho[i] = b->at.p[i];
    }
    if (RMC_ANY(ones)) {
        rmc_bunch_pair(dim, &first, b, &ones);
    }
    while (RMC_ANY(ones)) {
        const struct rmc_bunch_points after = first;

        a = RMC_ROW_AT(a, RMC_ROWS, 0);
        first = rmc_bunch_firsts(dim, a);
        n >>= 1;
        waits = ones;
        ones &= RMC_IS_ODD(n);
        waits &= ~ones;
        rmc_bunch_wait(dim, a, &after, b, &waits);
        if (RMC_ANY(ones)) {
            rmc_bunch_join(dim, a, &after, b, &ones);
        }
    }
}

#endif
