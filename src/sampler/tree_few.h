/*
 * tree_few.h - the levels of tree.h for many lanes of few coordinates: four lanes
 * at once.  They are at different places of their trees; what does not concern
 * one of them leaves it as it is.
 *
 * The spans of a level are side by side, five rows of dim quads: `dim` is a
 * constant wherever these functions are called, so that there are no loops.
 */
#ifndef RMC_SAMPLER_TREE_FEW_H
#define RMC_SAMPLER_TREE_FEW_H

#include "span.h"

enum { RMC_RHO, RMC_P_FIRST, RMC_V_FIRST, RMC_P_LAST, RMC_V_LAST };

/* Numbers and masks of four lanes, and where they are found. */
typedef double rmc_quad __attribute__((vector_size(32)));
typedef uint64_t rmc_mask __attribute__((vector_size(32)));
typedef double rmc_quad_at
    __attribute__((vector_size(32), aligned(8), may_alias));
typedef uint64_t rmc_mask_at
    __attribute__((vector_size(32), aligned(8), may_alias));

#define RMC_QUAD(at) (*(const rmc_quad_at *)(at))
#define RMC_MASK(at) (*(rmc_mask_at *)(at))

/* Row `row` of level a, coordinate i; and where that is. */
#define RMC_ROW(a, row, i)    RMC_QUAD(RMC_ROW_AT(a, row, i))
#define RMC_ROW_AT(a, row, i) ((a) + 4 * ((row)*dim + (i)))

/* x to where the mask is set; a bit for each lane of a mask; the lesser of two
 * numbers, y if there is none. */
#ifdef __AVX2__
#define RMC_PUT_WHERE(m, at, x) \
    _mm256_storeu_pd(at, _mm256_blendv_pd(RMC_QUAD(at), (x), (__m256d)(m)))
#define RMC_WHICH(m)  ((unsigned)_mm256_movemask_pd((__m256d)(m)))
#define RMC_MIN(x, y) ((rmc_quad)_mm256_min_pd(x, y))
#else
#define RMC_PUT_WHERE(m, at, x) \
    (*(rmc_quad_at *)(at) =     \
         (rmc_quad)(((rmc_mask)(x) & (m)) | ((rmc_mask)RMC_QUAD(at) & ~(m))))
#define RMC_WHICH(m)                                   \
    ((unsigned)((m)[0] & 1) | (unsigned)((m)[1] & 2) | \
     (unsigned)((m)[2] & 4) | (unsigned)((m)[3] & 8))
#define RMC_MIN(x, y)                                     \
    ((rmc_quad)(((rmc_mask)(x) & (rmc_mask)((x) < (y))) | \
                ((rmc_mask)(y) & ~(rmc_mask)((x) < (y)))))
#endif

/* [U-turn] Two points, a and one with p and v; rho becomes their sum.  Lanes that
 * turn leave the mask. */
RMC_INLINE void rmc_quad_pair(size_t dim, const double *a, const rmc_quad *p,
                              const rmc_quad *v, rmc_quad *rho, rmc_mask *joins)
{
    rmc_quad d0 = {0}, d1 = {0};

    for (size_t i = 0; i < dim; i++) {
        rho[i] = RMC_ROW(a, RMC_P_FIRST, i) + p[i];
        const rmc_quad at_first = rho[i] * RMC_ROW(a, RMC_V_FIRST, i);
        const rmc_quad at_last = rho[i] * v[i];
        d0 = i ? d0 + at_first : at_first;
        d1 = i ? d1 + at_last : at_last;
    }
    *joins &= (rmc_mask)(d0 > 0.0) & (rmc_mask)(d1 > 0.0);
}

/* [U-turn] Two spans, a and one that begins as `from` does and ends with v. */
RMC_INLINE void rmc_quad_join(size_t dim, const double *a, const double *from,
                              const rmc_quad *v, rmc_quad *rho, rmc_mask *joins)
{
    rmc_quad d[6];

    for (size_t i = 0; i < dim; i++) {
        const rmc_quad r0 = RMC_ROW(a, RMC_RHO, i), r = r0 + rho[i];
        const rmc_quad seam0 = r0 + RMC_ROW(from, RMC_P_FIRST, i);
        const rmc_quad seam1 = RMC_ROW(a, RMC_P_LAST, i) + rho[i];
        const rmc_quad v_first = RMC_ROW(a, RMC_V_FIRST, i);
        const rmc_quad part[6] = {r * v_first,
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
    *joins &= (rmc_mask)(d[0] > 0.0);
}

/* A point waits as a, the first of two. */
RMC_INLINE void rmc_quad_wait_as_point(size_t dim, double *a, const rmc_quad *p,
                                       const rmc_quad *v, const rmc_mask *where)
{
    for (size_t i = 0; i < dim; i++) {
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_P_FIRST, i), p[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_V_FIRST, i), v[i]);
    }
}

/* The span from the first end of `from` to p and v waits as a. */
RMC_INLINE void rmc_quad_wait(size_t dim, double *a, const double *from,
                              const rmc_quad *p, const rmc_quad *v,
                              const rmc_quad *rho, const rmc_mask *where)
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

/* New points of four lanes. */
struct rmc_quad_leaves {
    rmc_mask n; /* points before them */
    rmc_mask has_point, has_leaf;
    rmc_quad p[RMC_WAYS - 1], v[RMC_WAYS - 1];
};

/* Enter them into the levels from a on: with how many levels each was joined
 * without a turn, and in which lanes none turned.  What n says of the levels to
 * come decides how long this goes on, for that is known early. */
RMC_INLINE void rmc_quad_enter(size_t dim, double *a,
                               const struct rmc_quad_leaves *b,
                               rmc_mask *n_joined, rmc_mask *goes_on)
{
    rmc_mask n = b->n, ones = b->has_point & -(n & 1);
    rmc_mask joins = b->has_leaf & ones, waits = b->has_leaf & ~ones;
    rmc_mask have_waited = waits, count = {0};
    rmc_quad rho[RMC_WAYS - 1];

    rmc_quad_wait_as_point(dim, a, b->p, b->v, &waits);
    if (RMC_WHICH(ones)) {
        rmc_quad_pair(dim, a, b->p, b->v, rho, &joins);
    }
    while (RMC_WHICH(ones)) {
        const double *from = a;

        a = RMC_ROW_AT(a, RMC_ROWS, 0);
        count -= joins;
        n >>= 1;
        ones &= -(n & 1);
        waits = joins & ~ones;
        have_waited |= waits;
        rmc_quad_wait(dim, a, from, b->p, b->v, rho, &waits);
        joins &= ones;
        if (RMC_WHICH(ones)) {
            rmc_quad_join(dim, a, from, b->v, rho, &joins);
        }
    }
    *n_joined = count;
    *goes_on = have_waited;
}

#endif
