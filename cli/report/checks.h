/* checks.h - convergence checks: statistics of the draws, pass or fail, and
 * advice. */
#ifndef RELMC_CLI_CHECKS_H
#define RELMC_CLI_CHECKS_H

#include "relmc_diag.h"
#include "tool/cli.h"

#include <jansson.h>

/* The worst value so far and whose it is. */
struct worst {
    double value;
    char *name; /* NULL: there is none */
};

/* All divergent transitions ended beyond this limit of one parameter. */
struct place {
    char *name; /* NULL: nothing is known */
    double limit;
    bool is_above;
    double share; /* of all draws, beyond it */
};

struct verdict {
    const char *check;
    bool is_ok;
    char *text, *advice;
};

enum { MAX_VERDICTS = 12 };

struct checks {
    /* The settings, which the caller fills in; NaN and NULL: unknown. */
    size_t n_chains, n_each, dim;
    const char *kinetic;   /* the spec asked for; `energy` is the one in use */
    char *engine, *energy; /* names of the sampler and the kinetic energy that
                              made the draws, yours to make */
    double target_accept;  /* if anything was adapted to one */
    bool may_exceed_it; /* the target was set for nuts; the engine may differ */
    double warmup, thin;
    bool is_unadjusted; /* no Metropolis step ... */
    bool is_path;       /* ... and no sample, either: an optimiser */
    size_t
        n_clamped; /* steps whose gradients were noisier than friction damps */
    double heat, heat_error; /* temperature of the draws over that asked for */
    double max_depth;        /* NaN: trajectories have fixed lengths */
    char *(*chain_name)(const void *ctx, size_t k); /* yours to free */
    const void *ctx;

    /* From the draws: by checks_take, or filled in. */
    size_t n_draws;       /* of all chains */
    size_t n_transitions; /* that could diverge: the draws, or more */
    bool has_divergent, has_depth;
    size_t n_divergent;
    size_t n_deep;                 /* at the limit of tree depth */
    double *ebfmi;                 /* one per chain; NULL: unknown */
    double *steps;                 /* mean step size of each chain, or NULL */
    double accept, speed;          /* means; NaN: unknown */
    struct worst rhat, bulk, tail; /* of parameters that vary */
    size_t n_constant, n_parameters;
    bool has_failed; /* out of memory */

    bool *is_divergent; /* one per draw, chain by chain */
    struct place place;

    struct verdict verdicts[MAX_VERDICTS];
    size_t n_verdicts, n_bad;
};

void checks_init(struct checks *checks);
void checks_clear(struct checks *checks);

/* A column of the draws, its name as in files: x.1.  The sampler's columns come
 * first.  `known` is its summary, or NULL. */
void checks_take(struct checks *checks, const char *name,
                 const relmc_series *series, const relmc_summary *known);
/* A parameter of which only these are known; no tail: NaN. */
void checks_take_estimates(struct checks *checks, const char *name, double rhat,
                           double ess);

/* Judges all that is known. */
void checks_judge(struct checks *checks);
/* One more verdict. */
void checks_add(struct checks *checks, const char *check, bool is_ok,
                const char *text, const char *advice);
json_t *checks_json(const struct checks *checks);

#endif
