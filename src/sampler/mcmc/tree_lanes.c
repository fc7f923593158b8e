/*
 * tree_lanes.c - the trees of tree.h for lanes of few coordinates, a bunch of
 * lanes at once: the fast path.
 *
 * Lanes are at different places of their trees; what does not concern one of them
 * leaves it as it is.  The spans of a level are side by side, five rows of dim
 * numbers per lane: `dim` is a constant wherever these functions are called, so
 * that there are no loops.
 */
#include "sampler/mcmc/tree.h"

#include "sampler/mcmc/tree_inline.h"

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
struct points {
    rmc_bunch p[RMC_WAYS - 1], v[RMC_WAYS - 1];
};

/* New ones. */
struct leaves {
    rmc_counts n; /* leaves of their halves before them */
    rmc_where has_point, has_leaf;
    rmc_where goes_on; /* nothing has turned so far */
    struct points at;
    rmc_bunch rho[RMC_WAYS - 1]; /* of the spans that end with them */
};

/* The first points of the spans that wait as a. */
RMC_INLINE struct points bunch_firsts(size_t dim, const double *a)
{
    struct points first;

    for (size_t i = 0; i < dim; i++) {
        first.p[i] = RMC_ROW(a, RMC_P_FIRST, i);
        first.v[i] = RMC_ROW(a, RMC_V_FIRST, i);
    }
    return first;
}

/* [U-turn] These points and the leaves, in the lanes `where`. */
RMC_INLINE void bunch_pair(size_t dim, const struct points *first,
                           struct leaves *b, const rmc_where *where)
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
RMC_INLINE void bunch_join(size_t dim, const double *a,
                           const struct points *after, struct leaves *b,
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
RMC_INLINE void bunch_wait_as_points(size_t dim, double *a,
                                     const struct leaves *b,
                                     const rmc_where *where)
{
    for (size_t i = 0; i < dim; i++) {
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_P_FIRST, i), b->at.p[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(a, RMC_V_FIRST, i), b->at.v[i]);
    }
}

/* Spans from these points to the leaves wait as a. */
RMC_INLINE void bunch_wait(size_t dim, double *a, const struct points *first,
                           const struct leaves *b, const rmc_where *where)
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
RMC_INLINE void bunch_enter(size_t dim, double *a, struct leaves *b)
{
    rmc_counts n = b->n;
    rmc_where ones = b->has_point & RMC_IS_ODD(n);
    rmc_where waits = b->has_point & ~ones;
    struct points first = bunch_firsts(dim, a);

    b->goes_on = b->has_leaf;
    bunch_wait_as_points(dim, a, b, &waits);
    for (size_t i = 0; i < dim; i++) {
        b->rho[i] = b->at.p[i];
    }
    if (RMC_ANY(ones)) {
        bunch_pair(dim, &first, b, &ones);
    }
    while (RMC_ANY(ones)) {
        const struct points after = first;

        a = RMC_ROW_AT(a, RMC_ROWS, 0);
        first = bunch_firsts(dim, a);
        n >>= 1;
        waits = ones;
        ones &= RMC_IS_ODD(n);
        waits &= ~ones;
        bunch_wait(dim, a, &after, b, &waits);
        if (RMC_ANY(ones)) {
            bunch_join(dim, a, &after, b, &ones);
        }
    }
}

/* ---- random numbers ------------------------------------------------------- */

void RMC_ISA(rmc_draw_choices)(const struct rmc_trees *t,
                               const relmc_system *sys, size_t k)
{
    const relmc_shape line = {RMC_CHOICES, 1, 1};

    rmc_fill_uniform(&line, &sys->lanes.streams[RELMC_FOR_ACCEPT][k],
                     t->choice + k * RMC_CHOICES);
    t->n_choices[k] = 0;
}

void RMC_ISA(rmc_draw_ways)(const struct rmc_trees *t, const relmc_system *sys,
                            size_t k)
{
    const relmc_shape line = {RMC_DIRECTIONS, 1, 1};

    rmc_fill_uniform(&line, &sys->lanes.streams[RELMC_FOR_LENGTH][k],
                     t->way + k * RMC_DIRECTIONS);
}

/* ---- the trees of the lanes from k on ------------------------------------- */

/* The point waits in the highest level. */
void RMC_ISA(rmc_begin_few)(const struct rmc_trees *t, const relmc_shape *s,
                            size_t k, const double *p, const double *v,
                            size_t ld)
{
    const size_t row = s->dim * RMC_BUNCH;
    double *a = rmc_few_at(t, s->dim, k, t->n_levels - 1, 0);

    for (size_t i = 0; i < s->dim; i++, a += RMC_BUNCH) {
        const double at = p[i * s->ld + k];

        a[RMC_RHO * row] = a[RMC_P_FIRST * row] = a[RMC_P_LAST * row] = at;
        a[RMC_V_FIRST * row] = a[RMC_V_LAST * row] = v[i * ld];
    }
}

/* Uniform numbers for choices. */
RMC_INLINE void bunch_choices(const struct rmc_trees *t,
                              const relmc_system *sys, size_t k, rmc_bunch *u)
{
    const rmc_counts used = RMC_COUNTS(t->n_choices + k);
    const rmc_where are_used = RMC_IS_ZERO(used - RMC_CHOICES);

    for (size_t j = k; RMC_ANY(are_used) && j < k + RMC_BUNCH; j++) {
        if (t->n_choices[j] == RMC_CHOICES) {
            RMC_ISA(rmc_draw_choices)(t, sys, j);
        }
    }
    const rmc_counts at = RMC_COUNTS(t->n_choices + k);
    *u = RMC_LOOK_UP(t->choice + k * RMC_CHOICES, RMC_LANES * RMC_CHOICES + at);
}

/* Choose among their leaves: rmc_choose. */
RMC_INLINE void choose_bunch(const struct rmc_trees *t, size_t dim, size_t k,
                             const relmc_system *sys, const relmc_state *z,
                             const struct leaves *b)
{
    const struct rmc_leaves *leaves = &t->leaves;
    const size_t ld = sys->shape.ld;
    const rmc_bunch zero = {0};
    rmc_bunch patience = zero;

    bunch_choices(t, sys, k, &patience);
    const rmc_bunch weight =
        RMC_PICK(b->has_leaf, RMC_NUMBERS(leaves->weight + k), zero);
    const rmc_bunch sum = RMC_NUMBERS(t->weight_half + k) + weight;
    const rmc_bunch chosen = RMC_NUMBERS(t->weight_chosen + k);
    const rmc_where is_chosen = RMC_IS_LESS(chosen, patience * sum);

    RMC_PUT(t->accept + k,
            RMC_NUMBERS(t->accept + k) + RMC_MIN(weight, zero + 1.0));
    RMC_PUT(t->weight_half + k, sum);
    RMC_PUT_WHERE(is_chosen, t->weight_chosen + k, sum);
    RMC_PUT_WHERE(is_chosen, t->trial_lp + k, RMC_NUMBERS(z->lp + k));
    RMC_PUT_WHERE(is_chosen, t->trial_h + k, RMC_NUMBERS(leaves->h + k));
    for (size_t i = k; i < k + dim * ld; i += ld) {
        RMC_PUT_WHERE(is_chosen, t->trial_x + i, RMC_NUMBERS(z->x + i));
        RMC_PUT_WHERE(is_chosen, t->trial_g + i, RMC_NUMBERS(z->g + i));
    }
    RMC_COUNTS(t->n_choices + k) =
        RMC_COUNT(RMC_COUNTS(t->n_choices + k), is_chosen);
}

/* Enter their leaves. */
RMC_INLINE void enter_bunch(const struct rmc_trees *t, size_t dim, size_t ld,
                            size_t k, const double *p, const double *v,
                            struct leaves *b)
{
    const rmc_counts n = RMC_COUNTS(t->n + k), one = (rmc_counts){0} + 1;

    b->n = n - (one << RMC_COUNTS(t->depth + k));
    b->has_point = RMC_IS_SET(RMC_COUNTS(t->has_point + k));
    b->has_leaf = RMC_IS_SET(RMC_COUNTS(t->has_leaf + k));
    for (size_t i = 0; i < dim; i++) {
        b->at.p[i] = RMC_NUMBERS(p + i * ld + k);
        b->at.v[i] = RMC_NUMBERS(v + i * ld + k);
    }
    const rmc_where is_first = b->has_point & RMC_IS_ZERO(b->n);
    bunch_wait_as_points(dim, rmc_few_at(t, dim, k, t->n_levels, 0), b,
                         &is_first);
    bunch_enter(dim, rmc_few_at(t, dim, k, 0, 0), b);
    RMC_COUNTS(t->n + k) = RMC_COUNT(n, b->has_leaf);
}

/* rmc_tree_close_half where it is complete; where the trajectory turns, it does
 * not go on. */
RMC_INLINE void close_bunch(const struct rmc_trees *t, size_t dim, size_t ld,
                            size_t k, struct leaves *b, const rmc_where *where)
{
    const rmc_bunch weight = RMC_NUMBERS(t->weight + k);
    const rmc_bunch half = RMC_NUMBERS(t->weight_half + k);
    const rmc_where taken =
        *where & RMC_IS_LESS(RMC_NUMBERS(t->luck + k) * weight, half);

    for (size_t i = k; i < k + dim * ld; i += ld) {
        RMC_PUT_WHERE(taken, t->next_x + i, RMC_NUMBERS(t->trial_x + i));
        RMC_PUT_WHERE(taken, t->next_g + i, RMC_NUMBERS(t->trial_g + i));
    }
    RMC_PUT_WHERE(taken, t->next_lp + k, RMC_NUMBERS(t->trial_lp + k));
    RMC_PUT_WHERE(taken, t->next_h + k, RMC_NUMBERS(t->trial_h + k));
    RMC_PUT_WHERE(*where, t->weight + k, weight + half);
    RMC_COUNTS(t->depth + k) = RMC_COUNT(RMC_COUNTS(t->depth + k), *where);
    const struct points first =
        bunch_firsts(dim, rmc_few_at(t, dim, k, t->n_levels, 0));
    bunch_join(dim, rmc_few_at(t, dim, k, t->n_levels - 1, 0), &first, b,
               where);
}

/* Uniform numbers for the halves to come. */
RMC_INLINE void next_ways(const struct rmc_trees *t, const relmc_system *sys,
                          size_t k, const rmc_where *where, rmc_bunch *u)
{
    const rmc_counts at = RMC_COUNTS(t->depth + k) % RMC_DIRECTIONS;
    const rmc_where is_first = *where & RMC_IS_ZERO(at);

    for (size_t j = 0; RMC_ANY(is_first) && j < RMC_BUNCH; j++) {
        if (RMC_SET(is_first)[j]) {
            RMC_ISA(rmc_draw_ways)(t, sys, k + j);
        }
    }
    *u = RMC_LOOK_UP(t->way + k * RMC_DIRECTIONS,
                     RMC_LANES * RMC_DIRECTIONS + at);
}

/* rmc_tree_grow where the trajectory doubles, and rmc_tree_turn. */
RMC_INLINE void grow_bunch(const struct rmc_trees *t, size_t dim, size_t k,
                           const relmc_system *sys, relmc_state *z,
                           const struct leaves *b, const rmc_where *where,
                           double *step)
{
    const size_t ld = sys->shape.ld;
    const rmc_bunch eps = RMC_NUMBERS(sys->move.eps + k), zero = {0};
    rmc_bunch u = zero;

    next_ways(t, sys, k, where, &u);
    const rmc_where forwards = RMC_IS_LESS(u, zero + 0.5);
    const rmc_where turns =
        *where & (forwards ^ RMC_IS_POSITIVE(RMC_NUMBERS(step + k)));
    double *whole = rmc_few_at(t, dim, k, t->n_levels - 1, 0);

    RMC_PUT_WHERE(*where, t->luck + k,
                  2.0 * u - RMC_PICK(forwards, zero, zero + 1.0));
    RMC_PUT_WHERE(*where, t->weight_half + k, zero);
    RMC_PUT_WHERE(*where, t->weight_chosen + k, zero);
    RMC_PUT_WHERE(*where, step + k, RMC_PICK(forwards, eps, -eps));
    for (size_t i = 0; i < dim; i++) {
        const rmc_bunch p = RMC_ROW(whole, RMC_P_FIRST, i);
        const rmc_bunch v = RMC_ROW(whole, RMC_V_FIRST, i);
        const size_t at = i * ld + k;

        RMC_PUT_WHERE(*where, RMC_ROW_AT(whole, RMC_RHO, i), b->rho[i]);
        RMC_PUT_WHERE(*where, RMC_ROW_AT(whole, RMC_P_LAST, i),
                      RMC_PICK(turns, p, b->at.p[i]));
        RMC_PUT_WHERE(*where, RMC_ROW_AT(whole, RMC_V_LAST, i),
                      RMC_PICK(turns, v, b->at.v[i]));
        RMC_PUT_WHERE(turns, RMC_ROW_AT(whole, RMC_P_FIRST, i), b->at.p[i]);
        RMC_PUT_WHERE(turns, RMC_ROW_AT(whole, RMC_V_FIRST, i), b->at.v[i]);
        RMC_PUT_WHERE(turns, z->p + at, p);
        RMC_SWAP_WHERE(turns, z->x + at, t->far_x + at);
        RMC_SWAP_WHERE(turns, z->g + at, t->far_g + at);
    }
}

/* Leaves for these lanes, and what follows from them. */
RMC_INLINE void add_bunch(const struct rmc_trees *t, size_t dim, size_t k,
                          const relmc_system *sys, relmc_state *z, double *step,
                          rmc_lane_list *ends)
{
    const size_t ld = sys->shape.ld;
    const rmc_counts n = RMC_COUNTS(t->n + k);
    struct leaves b;

    enter_bunch(t, dim, ld, k, z->p, t->leaves.v, &b);
    choose_bunch(t, dim, k, sys, z, &b); /* waits for the weights */
    const rmc_where is_last = b.has_point & RMC_IS_ZERO(n & (n + 1));
    if (RMC_ANY(is_last)) { /* known early */
        const rmc_where is_complete = is_last & b.goes_on;

        close_bunch(t, dim, ld, k, &b, &is_complete);
        const rmc_where may_grow = RMC_IS_SET(
            (rmc_counts)(RMC_COUNTS(t->depth + k) < rmc_tree_limit(t, sys)));
        const rmc_where grows = is_complete & b.goes_on & may_grow;
        b.goes_on &= ~is_complete | grows;
        grow_bunch(t, dim, k, sys, z, &b, &grows, step);
    }
    RMC_COUNTS(t->goes_on + k) = RMC_SET(b.goes_on);
    const rmc_where is_end = b.has_point & ~b.goes_on;
    if (RMC_ANY(is_end)) {
        rmc_list_ends(t, k, RMC_BUNCH, ends);
    }
}

#define ADD_ALL(dim)                                           \
    for (size_t k = 0; k < sys->shape.lanes; k += RMC_BUNCH) { \
        add_bunch(t, dim, k, sys, z, step, ends);              \
    }

void RMC_ISA(rmc_add_lanes_at_once)(const struct rmc_trees *t,
                                    const relmc_system *sys, relmc_state *z,
                                    double *step, rmc_lane_list *ends)
{
    ends->n = 0;
    switch (sys->shape.dim) { /* a constant, for the compiler */
    case 1:
        ADD_ALL(1)
        break;
    case 2:
        ADD_ALL(2)
        break;
    default:
        ADD_ALL(3)
    }
}
