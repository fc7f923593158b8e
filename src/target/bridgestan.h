/* bridgestan.h - a Stan model behind the BridgeStan ABI, for the files that call it. */
#ifndef RMC_STAN_H
#define RMC_STAN_H

#include "target/target.h"

#include <pthread.h>
#include <stdbool.h>

enum { RMC_SAID = sizeof(((relmc_error *)0)->message) };

/* The functions of version 2 that are used.  They return 0, or -1 and a message
 * to be freed by free_error_msg. */
struct rmc_bridge {
    void *(*model_construct)(const char *data, unsigned seed, char **msg);
    void (*model_destruct)(void *model);
    void (*free_error_msg)(char *msg);
    int (*param_num)(const void *model, bool has_tp, bool has_gq);
    int (*param_unc_num)(const void *model);
    const char *(*param_names)(const void *model, bool has_tp, bool has_gq);
    int (*param_constrain)(const void *model, bool has_tp, bool has_gq,
                           const double *x, double *out, void *rng, char **msg);
    int (*log_density_gradient)(const void *model, bool propto, bool jacobian,
                                const double *x, double *lp, double *grad,
                                char **msg);
    /* these may be missing */
    const char *(*name)(const void *model);
    const char *(*model_info)(const void *model);
    const char *(*param_unc_names)(const void *model);
    int (*param_unconstrain_json)(const void *model, const char *json,
                                  double *x, char **msg);
    void *(*rng_construct)(unsigned seed, char **msg);
    void (*rng_destruct)(void *rng);
    int (*set_print_callback)(void (*print)(const char *, size_t), char **msg);
};

struct rmc_stan {
    struct rmc_bridge call;
    void *model;
    size_t dim;
    size_t n_params, n_transformed; /* outputs up to the end of each ... */
    size_t n_outputs;               /* ... and of the generated quantities */
    bool has_generated;
    bool is_threaded;
    const char **names;     /* of the outputs */
    const char **unc_names; /* of the coordinates; NULL: unknown */
    void (*print)(void *ctx, const char *text, size_t bytes);
    void *print_ctx;
    pthread_mutex_t lock; /* one caller at a time, if not threaded */
    bool has_lock, has_greeted;
    pthread_key_t greeted; /* set in threads that have made a gradient call */
    struct rmc_complaints rejected, failed;
};

/* What one chain keeps. */
struct rmc_stan_chain {
    const struct rmc_stan *stan;
    relmc_chain about;
    uint64_t n_drawn;               /* outputs made so far */
    double *scratch;                /* dim */
    struct rmc_stan_worker *worker; /* who makes the calls; NULL: we do */
};

/* ---- bridgestan_load.c ------------------------------------------------------
 * Of a target whose `stan` is empty but for print: all of it, and the rest of the
 * target. */
relmc_status rmc_stan_load(relmc_target *t, relmc_arena *arena,
                           const char *path, const char *data, uint64_t seed,
                           relmc_error *err);

/* ---- bridgestan.c -----------------------------------------------------------
 * One line, without blanks at its ends, of a message, which is freed. */
void rmc_stan_take_message(const struct rmc_stan *stan, char *msg,
                           char said[RMC_SAID]);
/* Before the model is made. */
void rmc_stan_redirect_print(const struct rmc_stan *stan);
/* Plain calls: RELMC_OK, or RELMC_REJECT and why. */
int rmc_stan_density(const struct rmc_stan *stan, const double *x, double *lp,
                     double *grad, char said[RMC_SAID]);
/* Those of the chain's draw number n, from 0.  Outputs that fail are NaN: then
 * RELMC_REJECT, too; a negative status if there are no random numbers. */
int rmc_stan_outputs(const struct rmc_stan *stan, const relmc_chain *about,
                     uint64_t n, const double *x, double *out,
                     char said[RMC_SAID]);

/* ---- bridgestan_worker.c: the same calls in a process of their own -------- */
relmc_status rmc_stan_worker_start(struct rmc_stan_chain *chain,
                                   relmc_arena *arena, const relmc_chain *about,
                                   relmc_error *err);
void rmc_stan_worker_stop(struct rmc_stan_worker *worker);
/* A negative status: the worker is gone, the error says how. */
int rmc_stan_worker_density(struct rmc_stan_chain *chain, const double *x,
                            double *lp, double *grad, char said[RMC_SAID],
                            relmc_error *err);
int rmc_stan_worker_outputs(struct rmc_stan_chain *chain, const double *x,
                            double *out, char said[RMC_SAID], relmc_error *err);

#endif
