/* tempered.h - the state of tempered.c; a header so that its test can begin
 * with exact replicas. */
#ifndef RMC_SAMPLER_TEMPERED_H
#define RMC_SAMPLER_TEMPERED_H

#include "sampler/mcmc/proposal_inline.h"

enum { RMC_MAX_REPLICAS = 64 };

/* Replica r of lane k is lane k n + r of `inner`; arrays of replicas have this
 * order. */
struct rmc_tempered {
    double replicas, min_beta, steps, jitter, rounds, max_error;
    size_t n;           /* replicas of a lane */
    relmc_system inner; /* lanes n lanes; its model is b lp */
    relmc_system plain; /* the same lanes; its model is the target, lp */
    relmc_state z;      /* points of the trajectories, lp and g times b */
    relmc_state home;   /* where the trajectories began: x, g and lp; no p */
    double *lp, *g;     /* at z, without b */
    double *diag;       /* S of the replicas: that of their lane */
    double *room;       /* scratch of a low-rank scale */
    double *step;       /* 0 at rest */
    double *accept;     /* probability, of the last trajectory */
    double *beta, *log_beta, *log_stretch;
    double *refused, *tries; /* swaps with the next replica since the ladder
                                was built */
    struct rmc_proposal proposal;
    struct rmc_momentum momentum;
    /* one per lane */
    unsigned char *has_replicas, *is_frozen, *is_odd;
    int32_t *to_go, *rounds_to_go;
    double *kinetic;        /* energy of replica 0 */
    double *age;            /* transitions in warm-up ... */
    double *since, *window; /* ... since the ladder was built, and until it is
                               built again */
    /* scratch for sets of lanes: of the system, and of `inner` */
    uint32_t *lanes, *set, *part;
    double *speed, *uniform;
};

#endif
