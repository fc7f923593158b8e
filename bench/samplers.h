/* samplers.h - what the parts of bench-samplers say to each other. */
#ifndef BENCH_SAMPLERS_H
#define BENCH_SAMPLERS_H

#include "bench.h"
#include "relmc.h"

struct target {
    const char *name, *model;
    int is_hard; /* seeds disagree by factors */
    /* Draws per chain of a run that gives the quantiles, where the model has no
     * exact draws. */
    int64_t reference;
};

/* How to sample; NULL: the library's default. */
struct config {
    const char *name;
    const char *sampler, *kinetic, *adapt, *integrator;
    int64_t warmup;
};

struct effort {
    int64_t draws;    /* per chain; 0: until the gradients are spent */
    double gradients; /* per chain, after warm-up */
    uint32_t chains, threads;
};

enum { N_LEVELS = 3, MAX_TEXT = 128 };

/* An opened target, and where its quantiles are. */
struct truth {
    relmc_target *model;
    double *quantile; /* dim x N_LEVELS; NULL: not known */
};

enum state { NOT_RUN, RAN, FAILED };

/* What one run gave.  Counts are of all chains together. */
struct result {
    enum state state;
    char message[MAX_TEXT]; /* of a failure */
    char engine[MAX_TEXT];  /* at work after warm-up, and its kinetic energy */
    double warmup_gradients, gradients;
    double hidden; /* gradients that the run's own report leaves out */
    double draws;
    double ess;          /* the least of all x_i and |x_i - median| */
    double quantile_ess; /* independent draws with this error; NaN: not known */
    double bias;         /* worst |P - p| / sqrt(p (1 - p)); NaN: not known */
    double rhat;         /* the largest */
    double divergent, steps;
};

extern const double levels[N_LEVELS];

/* samplers_truth.c; `cache` is a folder for quantiles that take long, or NULL:
 * then they stay unknown. */
relmc_status truth_find(struct truth *out, const struct target *target,
                        const char *cache, relmc_error *err);
void truth_forget(struct truth *truth);

static inline double *new_doubles(size_t n)
{
    double *out = malloc((n ? n : 1) * sizeof *out);

    bench_need(!out, "no memory");
    return out;
}

/* samplers_measure.c */
void measure(struct result *out, const struct truth *truth,
             const struct config *config, const struct effort *effort,
             uint64_t seed);

/* The runs that were made: that of target t, configuration c and seed s is at
 * (t n_configs + c) n_seeds + s.  Configuration 0 is the rival. */
struct comparison {
    size_t n_targets, n_configs, n_seeds;
    const struct target *const *targets;
    const struct config *configs;
    const uint64_t *seeds;
    struct effort effort;
    struct result *results;
};

struct job {
    size_t target, config, seed; /* which of them */
};

static inline struct result *result_of(const struct comparison *all,
                                       struct job job)
{
    return &all->results[(job.target * all->n_configs + job.config) *
                             all->n_seeds +
                         job.seed];
}

/* samplers_csv.c */
void csv_header(FILE *out);
void csv_row(FILE *out, const struct comparison *all, struct job job);
size_t csv_reuse(const char *path, const struct comparison *all);

/* samplers_table.c */
void print_tables(const struct comparison *all);

#endif
