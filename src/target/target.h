/* target.h - what a target is made of, for those who turn it into a system. */
#ifndef RMC_TARGET_H
#define RMC_TARGET_H

#include "component/registry.h"

struct relmc_target {
    relmc_arena arena;
    /* Evaluators for every code path; a user's callbacks are the same on all */
    const relmc_model_ops *ops[RMC_N_ISA];
    relmc_model_ops callbacks;
    const void *self; /* ctx of the evaluators */
    size_t dim, n_data;
    size_t scratch;            /* bytes, of on_rows and predict */
    int is_one_by_one;         /* relmc_size */
    int is_single;             /* relmc_size; shards are double */
    size_t n_outputs;          /* dim if they are the coordinates */
    uint32_t *rows;            /* 0, 1, ..., n_data - 1 */
    const char *name;          /* the spec of a model, "callback" otherwise */
    struct rmc_shards *shards; /* NULL: it has none */
    /* of a Stan model only */
    struct rmc_stan *stan;
    const char *library, *data;
};

/* ---- batch.c -------------------------------------------------------------- */

struct rmc_batch_plan {
    size_t n_rows;
    uint32_t flags;
    uint64_t seed;
    const double *center; /* NULL: none */
};

/* Minibatches for a system that is complete but for them. */
relmc_status rmc_batch_open(relmc_system *sys, relmc_arena *arena,
                            const struct rmc_batch_plan *plan,
                            relmc_error *err);
/* The rows lane k looks at now. */
relmc_rows rmc_batch_rows(const relmc_system *sys, size_t k);

/* ctx of an evaluator: the interface cannot be const for users' sake. */
static inline void *rmc_ctx(const void *self)
{
    union {
        const void *in;
        void *out;
    } u = {self};
    return u.out;
}

#endif
