/* optimize.h - the parts of `relmc optimize`. */
#ifndef RELMC_CLI_OPTIMIZE_H
#define RELMC_CLI_OPTIMIZE_H

#include "data/data_options.h"
#include "job/job.h"
#include "report/prediction_score.h"
#include "tool/atomic_file.h"

extern const struct job_kind job_optimize;

/* ---- optimize_plan.c: what the options mean to the library --------------- */

struct optimize_plan {
    relmc_options options;
    char *optimizer;   /* its spec, with the steps of an iteration */
    char *base;        /* of the files; NULL: none */
    double *init;      /* chains x dim, or NULL */
    int64_t per_epoch; /* steps */
    int64_t steps;     /* steps of an iteration */
    int64_t every;     /* iterations between two reports */
    bool has_epochs;   /* there are data; without them an epoch is a step */
};

/* The seed must be set. */
int optimize_plan_make(struct optimize_plan *out, const struct opt_set *set,
                       const relmc_target *target);
void optimize_plan_clear(struct optimize_plan *plan);

/* ---- learning_curve.c: how far it has come ------------------------------- */

/* One chain at a report; NaN: undefined. */
struct standing {
    double loss; /* mean of -lp, over the rows if there are data */
    double train_error, test_loss, test_error;
    double stride; /* `speed` of the last step */
    int64_t n_divergent;
};

struct learning_curve {
    const relmc_target *target;
    size_t dim, n_chains;
    double per_row;                      /* 1/N */
    struct prediction_score train, test; /* empty if there are no data */
    relmc_data some;                     /* the training rows that are used */
    bool has_train, has_test;
    /* written by the observer, one place per chain */
    double *x;      /* n_chains x dim: at the last report */
    double *sum_lp; /* since then */
    int64_t *n_lp;
    struct standing *places;
    double *best; /* x of the report with the least test loss */
    double best_loss, best_error, best_epoch;
    int64_t every; /* draws between reports */
    int n_worse;   /* reports since the best */
    double start;  /* of the clock */
    FILE *rows; /* rows of the file, which is written at the end; NULL: none */
    char *text; /* ... and their text */
    size_t bytes;
};

int learning_curve_open(struct learning_curve *curve,
                        const struct data_split *data,
                        const relmc_target *target,
                        const struct optimize_plan *plan, const char *who);
void learning_curve_clear(struct learning_curve *curve);
/* Writes all that changes for a checkpoint (`state` is the curve), and restores
 * it; false if it does not fit. */
size_t learning_curve_keep(const void *state, char *to);
bool learning_curve_restore(struct learning_curve *curve,
                            const struct resumed *from);
/* Writes the file. 0, or the exit code after a message. */
int learning_curve_write(struct learning_curve *curve, const char *base,
                         const char *who);
/* The observer of the run. */
relmc_status learning_curve_watch(void *ctx, const relmc_draw *draw);
/* Makes a report: all chains have made `steps` steps. Prints a row. */
relmc_status learning_curve_report(struct learning_curve *curve, int64_t steps,
                                   double epoch, bool is_printed,
                                   relmc_error *err);
void learning_curve_print_heads(const struct learning_curve *curve,
                                bool has_epochs);
/* Mean over the chains. */
struct standing learning_curve_mean(const struct learning_curve *curve);

#endif
