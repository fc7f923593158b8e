/*
 * separable_momentum.h - draws from the momentum law of one relativistic coordinate.
 *
 *   [hyperbolic]  density of y = p / sqrt(m):  exp(-y^2 / (1 + sqrt(1 + y^2/a))),
 *                 a = m c^2;  normal for a -> inf, Laplace for a -> 0
 *
 * The law has one parameter, so its quantile function is tabulated once: one
 * uniform in, one draw out, no branches.  Where too many tables would be needed,
 * because every coordinate has its own a, rejection serves instead.
 */
#ifndef RMC_KINETIC_SEPARABLE_MOMENTUM_H
#define RMC_KINETIC_SEPARABLE_MOMENTUM_H

#include "base/base.h"

/*
 * The table.  By symmetry u is in (0, 1/2).  With w = u below 1/4 and 1/2 - u
 * above, the exponent and the first 4 bits of the mantissa of w pick an
 * interval, and the rest of the mantissa is the argument of a polynomial of
 * degree 7: intervals shrink geometrically towards the tail and towards the
 * centre, which keeps them clear of the branch points y = +-i sqrt(a) for every
 * a.  8 coefficients fill one cache line.  Tail probabilities are right to 1e-13
 * relative, for a from 1e-12 to 1e18 (tests/unit/hyperbolic.c).
 */
enum {
    RMC_TABLE_BITS = 4,
    RMC_TABLE_OCTAVES = 52, /* w from 2^-54 to 2^-2 */
    RMC_TABLE_SIDE = RMC_TABLE_OCTAVES << RMC_TABLE_BITS,
    RMC_TABLE_SIZE = 2 * 8 * RMC_TABLE_SIDE /* numbers: tail, then centre */
};

/* RMC_TABLE_SIZE numbers, for a. */
void RMC_ISA(rmc_hyperbolic_tabulate)(double a, double *table);

/* n draws of y in place of n times 64 random bits. */
void RMC_ISA(rmc_hyperbolic_transform)(const double *table, size_t n,
                                       double *y);

/*
 * The same law by rejection, for any a.  e = K/a has density (1 + e) /
 * sqrt(e (2 + e)) exp(-a e); under the hat (1/sqrt(2 e) + 1) exp(-a e), a
 * mixture of Gamma(1/2) and an exponential, it is accepted with at least 0.72.
 */
double RMC_ISA(rmc_hyperbolic_reject)(relmc_stream *s, double a);

#endif
