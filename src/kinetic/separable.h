/*
 * separable.h - what separable.c, the plain reference, and separable_float.c, the
 * fast path in single precision, share.
 */
#ifndef RMC_KINETIC_SEPARABLE_H
#define RMC_KINETIC_SEPARABLE_H

#include "base/base.h"

enum { RMC_MAX_TABLES = 8 };

struct rmc_separable {
    relmc_vector m, c;
    double cruise;
    double *mass, *mass2; /* dim: m_j, m_j^2 */
    double *inv_c, *inv_c2;
    double *beta;         /* m_j c_j^2 */
    double *root_mass;    /* sqrt(m_j): momentum is that times [hyperbolic] */
    const double **table; /* dim: quantile table of beta_j, NULL if none */
    size_t n_tables;
    int is_uniform; /* m and c are the same for all coordinates */
    double *tables[RMC_MAX_TABLES];
    double table_beta[RMC_MAX_TABLES];
};

/* The slots push_float, weigh_float and heat_float. */
void RMC_ISA(rmc_separable_push_float)(const void *self, const relmc_shape *s,
                                       const relmc_push *by, const float *g,
                                       float *p, float *x);
void RMC_ISA(rmc_separable_weigh_float)(const void *self, const relmc_shape *s,
                                        const float *p, double *energy,
                                        double *speed);
void RMC_ISA(rmc_separable_heat_float)(const void *self, size_t dim, size_t ld,
                                       relmc_stream *stream,
                                       const relmc_heat *by, const float *g,
                                       float *p, float *x);

#endif
