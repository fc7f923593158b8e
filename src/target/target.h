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

/* ---- evaluate.c ----------------------------------------------------------- */

/* Who is to be evaluated, and on which rows. */
struct rmc_subject {
    const relmc_model_ops *ops;
    const void *self;
    void *chain;
    size_t dim;
    relmc_rows rows;
    const uint32_t *all; /* every row, for callbacks that want to be told */
};

/* lp and gradient at one point: 0, RELMC_REJECT or a negative status of the target's;
 * the error is filled by those that have a text. */
int rmc_eval_point(const struct rmc_subject *of, const double *x, double *lp,
                   double *g, relmc_error *err);

/* ---- target.c ------------------------------------------------------------- */

/* A caller's struct, checked and in the size of today. */
relmc_status rmc_data_read(relmc_data *out, const relmc_data *data,
                           relmc_error *err);

/* ---- minibatch.c -------------------------------------------------------------- */

struct rmc_batch_plan {
    size_t n_rows;
    int kind; /* RELMC_BATCH_..., not AUTO */
    int is_shared;
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
