/* special.h - closed forms of the relativistic momentum law. */
#ifndef RMC_SPECIAL_H
#define RMC_SPECIAL_H

/* K_nu(x) / K_mu(x), modified Bessel functions of the second kind, nu, mu and
 * x positive. */
double rmc_bessel_k_ratio(double nu, double mu, double x);
/* Gamma(z + 1/2) / Gamma(z), z >= 1/2 */
double rmc_gamma_half_step(double z);

#endif
