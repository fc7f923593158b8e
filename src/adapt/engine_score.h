/*
 * engine_score.h - how well engines mix, from short pilot runs on the same target, and
 * whether a fixed step size will do.
 */
#ifndef RMC_ADAPT_SCORE_H
#define RMC_ADAPT_SCORE_H

#include "base/base.h"

/* Consecutive draws of several chains: n x dim each, a draw per row. */
struct rmc_pilot {
    size_t n_chains, n;
    const double *const *x;
    double n_grad; /* that all of them cost */
};

/* [pilot-score]  score[e]: effective draws per gradient of the worst coordinate
 * in pilot e, of its rank and of the distance of the rank from the middle.  The
 * ranks are those among the draws of all pilots, and they should vary as much as
 * in the pilots together: an engine that stays where it is cannot look good.
 * work has room for 2 numbers per draw. */
void rmc_score(double *score, size_t dim, const struct rmc_pilot *pilots,
               size_t n_pilots, double *work);

/* How the acceptance of transitions in a pilot goes with other things. */
struct rmc_verdict {
    /* [sticky]  with that of the transition before: about 0 if steps fail
     * anywhere, near 1 if there are places where they do, so that no step size
     * is right everywhere */
    double sticky;
    /* [neck]  with the log density: near -1 if these places are where it is
     * high, so that chains must get in and out */
    double neck;
};

/* From n transitions of every chain, about one mean. */
struct rmc_verdict rmc_judge(size_t n_chains, size_t n,
                             const double *const *accept,
                             const double *const *lp);

#endif
