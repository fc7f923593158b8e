/* binomial.h - probabilities of binomial and Poisson counts, nearly exact for
 * counts of any size. */
#ifndef RMC_BINOMIAL_H
#define RMC_BINOMIAL_H

/* P(X = k), X ~ Poisson(m), m > 0 */
double rmc_poisson(double k, double m);
/* P(X = k), X ~ Binomial(n, p), 0 <= k <= n, 0 <= p <= 1 */
double rmc_binomial(double k, double n, double p);

#endif
