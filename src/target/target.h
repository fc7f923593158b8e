/* target.h - what a target is made of, for those who turn it into a system. */
#ifndef RMC_TARGET_H
#define RMC_TARGET_H

#include "component/registry.h"

#include <stdatomic.h>

/* Something that may happen often: the first text is kept. */
struct rmc_complaints {
    _Atomic int64_t n;
    atomic_int state; /* of `first`: none, being written, there */
    relmc_error first;
};

struct relmc_target {
    relmc_arena arena;
    const relmc_model_ops *ops[RMC_N_ISA]; /* evaluators for every code path */
    const void *self;                      /* their state */
    size_t dim, n_data;
    size_t scratch;            /* bytes, of rows and predict */
    int is_float;              /* relmc_size; shards are double */
    size_t n_outputs;          /* dim if they are the coordinates */
    const char *name;          /* the spec of a model, the id of a density */
    struct rmc_shards *shards; /* NULL: it has none */
    /* points rejected, outputs that failed; NULL: they are not counted */
    struct rmc_complaints *rejected, *failed;
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
};

/* lp and gradient at one point: 0, RELMC_REJECT or a negative status of the target's;
 * the error is filled by those that have a text. */
int rmc_eval_point(const struct rmc_subject *of, const double *x, double *lp,
                   double *g, relmc_error *err);

/* ---- complaints.c --------------------------------------------------------- */

/* n more; the text may be empty. */
void rmc_complain(struct rmc_complaints *about, int64_t n, const char *text);
/* How many; 0 for NULL. */
int64_t rmc_complaints(struct rmc_complaints *about, const char **first);

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

#endif
