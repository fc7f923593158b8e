/*
 * tuning.h - what warm-up found, taken from a run (tuning.c) and given to another
 * one (tuning_read.c).
 */
#ifndef RMC_TUNING_H
#define RMC_TUNING_H

#include "base/archive.h"
#include "run/run.h"

struct rmc_tuning {
    size_t dim;
    size_t n_chains;                            /* of the run that made it */
    const char *sampler, *kinetic, *integrator; /* specs, with every default */
    int is_newtonian;                           /* the kinetic energy in use */
    int engine;
    double time;
    double *x; /* n_chains x dim: where the chains were, in coordinates of the
                  target */
    /* A value for each chain, or one for all of them; or none. */
    size_t n_eps, n_diag, n_chol;
    double *eps;    /* n_eps */
    double *diag;   /* n_diag x dim */
    double *chol;   /* n_chol x dim x dim */
    double *chol_t; /* not archived */
    size_t rank;
    double *low_rank, *factor;
    size_t n_layers;
    relmc_layer *layers;
};

extern const struct rmc_head rmc_tuning_head;

/* tuning.c: one function writes and reads.  Arrays that are read are memory of
 * the arena; the dimension is read before, by itself. */
void rmc_tuning_archive(struct rmc_tuning *t, relmc_arena *arena,
                        relmc_archive *a);

#endif
