/*
 * tree_few.h - leaves for trees of fewer than RMC_WAYS coordinates, of one lane
 * or of four at once: tree.h includes this for both.  Four lanes are at different
 * places of their trees; what does not concern one of them leaves it as it is.
 *
 * `dim` is a constant wherever these functions are called, so that there are no
 * loops.  The spans of a level are side by side, the levels one after the other:
 * ROW says where.
 *
 * Given, as macros:
 *   NAME                 the functions of this width
 *   WIDTH, NUMBER, MASK  how many lanes, their numbers, bits set in some of them
 *   CONDITION            another kind of mask, if that is better
 *   GET, GET_MASK, PUT, PUT_MASK   those in memory
 *   PUT_WHERE, PUT_IF    where a mask or a condition holds; PUT_IF has no branch,
 *                        for conditions that nobody can foresee
 *   FOR_EACH             a NUMBER of what a macro is in the lanes 0, 1, ...
 *   KEEP, UP_TO_1        what is in a mask; the lesser of a number and 1
 *   IF_LESS, IF_SAME     masks; IS_LESS a condition
 *   ONLY_MORE            leaves those in a mask whose number is above 0
 *   WHICH                a bit for each lane of a mask
 *   SURE, MAY_GO_ON      of one lane it is known where masks are set: it takes
 *                        the branch, or not; four lanes take it always
 */
#define ROW(a, row, i) ((a) + ((row)*dim + (i)) * WIDTH)
#define CHOICE(j)      rmc_choice_at(t, k + (j), t->n[k + (j)] - 1)

/* [U-turn] Two points, a and one with p and v; rho becomes their sum.  Lanes that
 * turn leave the mask. */
RMC_INLINE void NAME(pair)(size_t dim, const double *a, const NUMBER *p,
                           const NUMBER *v, NUMBER *rho, MASK *joins)
{
    NUMBER d0 = {0}, d1 = {0};

    for (size_t i = 0; i < dim; i++) {
        rho[i] = GET(ROW(a, RMC_P_FIRST, i)) + p[i];
        d0 += rho[i] * GET(ROW(a, RMC_V_FIRST, i));
        d1 += rho[i] * v[i];
    }
    ONLY_MORE(*joins, d0);
    ONLY_MORE(*joins, d1);
}

/* [U-turn] Two spans, a and one that begins as `from` does and ends with v. */
RMC_INLINE void NAME(join)(size_t dim, const double *a, const double *from,
                           const NUMBER *v, NUMBER *rho, MASK *joins)
{
    NUMBER d0 = {0}, d1 = {0}, d2 = {0}, d3 = {0}, d4 = {0}, d5 = {0};

    for (size_t i = 0; i < dim; i++) {
        const NUMBER r0 = GET(ROW(a, RMC_RHO, i)), r = r0 + rho[i];
        const NUMBER seam0 = r0 + GET(ROW(from, RMC_P_FIRST, i));
        const NUMBER seam1 = GET(ROW(a, RMC_P_LAST, i)) + rho[i];
        const NUMBER v_first = GET(ROW(a, RMC_V_FIRST, i));

        rho[i] = r;
        d0 += r * v_first;
        d1 += r * v[i];
        d2 += seam0 * v_first;
        d3 += seam0 * GET(ROW(from, RMC_V_FIRST, i));
        d4 += seam1 * GET(ROW(a, RMC_V_LAST, i));
        d5 += seam1 * v[i];
    }
    ONLY_MORE(*joins, d0);
    ONLY_MORE(*joins, d1);
    ONLY_MORE(*joins, d2); /* across the seam */
    ONLY_MORE(*joins, d3);
    ONLY_MORE(*joins, d4);
    ONLY_MORE(*joins, d5);
}

/* A point waits as a, the first of two. */
RMC_INLINE void NAME(wait_as_point)(size_t dim, double *a, const NUMBER *p,
                                    const NUMBER *v, const MASK *where)
{
    for (size_t i = 0; i < dim; i++) {
        PUT_WHERE(*where, ROW(a, RMC_P_FIRST, i), p[i]);
        PUT_WHERE(*where, ROW(a, RMC_V_FIRST, i), v[i]);
    }
}

/* The span from the first end of `from` to p and v waits as a. */
RMC_INLINE void NAME(wait)(size_t dim, double *a, const double *from,
                           const NUMBER *p, const NUMBER *v, const NUMBER *rho,
                           const MASK *where)
{
    for (size_t i = 0; i < dim; i++) {
        PUT_WHERE(*where, ROW(a, RMC_RHO, i), rho[i]);
        PUT_WHERE(*where, ROW(a, RMC_P_FIRST, i),
                  GET(ROW(from, RMC_P_FIRST, i)));
        PUT_WHERE(*where, ROW(a, RMC_V_FIRST, i),
                  GET(ROW(from, RMC_V_FIRST, i)));
        PUT_WHERE(*where, ROW(a, RMC_P_LAST, i), p[i]);
        PUT_WHERE(*where, ROW(a, RMC_V_LAST, i), v[i]);
    }
}

/* Enter the leaves of the lanes from k on into their counters.  What n says of
 * the levels to come decides how long this goes on, for that is known early:
 * four lanes go on even if all of them turn. */
RMC_INLINE void NAME(enter)(const struct rmc_trees *t, size_t dim, size_t ld,
                            size_t k, const double *p_at, const double *v_at)
{
    MASK n = GET_MASK(t->n + k),
         ones = SURE(GET_MASK(t->has_point + k)) & -(n & 1);
    const MASK has_leaf = SURE(GET_MASK(t->has_leaf + k));
    const MASK is_complete = IF_SAME(n & (n + 1), 0);
    double *a = t->few + k * t->n_levels * RMC_ROWS * dim, *from;
    MASK joins = has_leaf & ones, waits = has_leaf & ~ones;
    MASK has_waited = waits, n_joined = {0};
    NUMBER p[RMC_WAYS - 1], v[RMC_WAYS - 1], rho[RMC_WAYS - 1];

    PUT_MASK(t->n + k, n - has_leaf);
    for (size_t i = 0; i < dim; i++) {
        p[i] = GET(p_at + i * ld);
        v[i] = GET(v_at + i * ld);
    }
    if (MAY_GO_ON(waits)) {
        NAME(wait_as_point)(dim, a, p, v, &waits);
    }
    if (WHICH(ones)) {
        NAME(pair)(dim, a, p, v, rho, &joins);
    }
    while (WHICH(ones) && MAY_GO_ON(joins)) {
        n >>= 1;
        ones &= -(n & 1);
        n_joined -= joins;
        waits = joins & ~ones;
        joins &= ones;
        has_waited |= waits;
        from = a;
        a = ROW(a, RMC_ROWS, 0);
        if (MAY_GO_ON(waits)) {
            NAME(wait)(dim, a, from, p, v, rho, &waits);
        }
        if (WHICH(ones)) {
            NAME(join)(dim, a, from, v, rho, &joins);
        }
    }
    PUT_MASK(t->n_joined + k, n_joined);
    PUT_MASK(t->goes_on + k, has_waited & ~is_complete);
}

/* [NUTS] Within its half a point is chosen with its weight: a new leaf replaces
 * the trial with the probability that it has among those so far. */
RMC_INLINE void NAME(choose)(const struct rmc_trees *t, size_t dim, size_t ld,
                             size_t k, const relmc_state *z,
                             const struct rmc_leaves *leaves)
{
    const MASK has_leaf = SURE(GET_MASK(t->has_leaf + k));
    const NUMBER weight = KEEP(has_leaf, GET(leaves->weight + k));
    const NUMBER sum = GET(t->weight_half + k) + weight;
    const NUMBER u = FOR_EACH(CHOICE);
    const CONDITION is_chosen = IS_LESS(u * sum, weight);

    PUT(t->weight_half + k, sum);
    PUT(t->accept + k, GET(t->accept + k) + UP_TO_1(weight));
    PUT_IF(is_chosen, t->trial_lp + k, GET(z->lp + k));
    PUT_IF(is_chosen, t->trial_h + k, GET(leaves->h + k));
    for (size_t i = 0; i < dim; i++) {
        const size_t at = i * ld + k;

        PUT_IF(is_chosen, t->trial_x + at, GET(z->x + at));
        PUT_IF(is_chosen, t->trial_g + at, GET(z->g + at));
    }
}

RMC_INLINE void NAME(add)(const struct rmc_trees *t, size_t dim,
                          const relmc_system *sys, size_t k,
                          const relmc_state *z, const struct rmc_leaves *leaves)
{
    const size_t ld = WIDTH == 1 ? 1 : sys->shape.ld;
    const MASK begins = IF_SAME(GET_MASK(t->n + k) % RMC_CHOICES, 1) &
                        GET_MASK(t->has_point + k);

    for (unsigned m = WHICH(begins); m; m &= m - 1) {
        rmc_draw_choices(t, sys, k + (size_t)__builtin_ctz(m));
    }
    if (WIDTH == 1 && !*t->has_leaf) {
        *t->goes_on = 0;
        return;
    }
    NAME(enter)(t, dim, ld, k, z->p + k, leaves->v + k);
    NAME(choose)(t, dim, ld, k, z, leaves); /* it waits for the weights */
}

/* All lanes; those that are to be settled are listed. */
RMC_INLINE void NAME(add_all)(const struct rmc_trees *t, size_t dim,
                              const relmc_system *sys, const relmc_state *z,
                              const struct rmc_leaves *leaves,
                              rmc_lane_list *ends)
{
    const size_t lanes = WIDTH == 1 ? 1 : sys->shape.lanes;

    for (size_t k = 0; k < lanes; k += WIDTH) {
        const MASK has_point = GET_MASK(t->has_point + k);

        if (WHICH(has_point)) {
            NAME(add)(t, dim, sys, k, z, leaves);
            const MASK are_ends = has_point & ~GET_MASK(t->goes_on + k);
            const unsigned m = WHICH(are_ends);
            for (unsigned j = 0; j < WIDTH; j++) { /* without branches */
                ends->lane[ends->n] = (uint32_t)k + j;
                ends->n += m >> j & 1;
            }
        }
    }
}

/* The same for any number of coordinates that is small enough. */
static void NAME(add_few)(const struct rmc_trees *t, const relmc_system *sys,
                          const relmc_state *z, const struct rmc_leaves *leaves,
                          rmc_lane_list *ends)
{
    switch (sys->shape.dim) {
    case 1:
        NAME(add_all)(t, 1, sys, z, leaves, ends);
        break;
    case 2:
        NAME(add_all)(t, 2, sys, z, leaves, ends);
        break;
    default:
        NAME(add_all)(t, 3, sys, z, leaves, ends);
    }
}

#undef ROW
#undef CHOICE
#undef NAME
#undef WIDTH
#undef NUMBER
#undef MASK
#undef GET
#undef GET_MASK
#undef PUT
#undef PUT_MASK
#undef PUT_WHERE
#undef PUT_IF
#undef MAY_GO_ON
#undef SURE
#undef ONLY_MORE
#undef CONDITION
#undef IS_LESS
#undef FOR_EACH
#undef KEEP
#undef UP_TO_1
#undef WHICH
#undef IF_LESS
#undef IF_SAME
