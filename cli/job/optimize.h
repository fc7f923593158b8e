/* optimize.h - the parts of `relmc optimize`. */
#ifndef RELMC_CLI_OPTIMIZE_H
#define RELMC_CLI_OPTIMIZE_H

#include "data/data_options.h"
#include "job/job.h"
#include "report/prediction_score.h"
#include "tool/atomic_file.h"

extern const struct job_kind job_optimize;

/* ---- optimize_plan.c: what the options mean to the library ----------------- */

struct optimize_plan {
    relmc_options options;
    char *optimizer;   /* its spec, with the steps of a transition in it */
    char *base;        /* of the files; NULL: none */
    double *init;      /* chains x dim, or NULL */
    int64_t per_epoch; /* steps */
    int64_t steps;     /* of a transition */
    int64_t every;     /* transitions between two reports */
    bool has_epochs;   /* there are data: else an epoch is a step */
};

/* The seed is settled. */
int optimize_plan_make(struct optimize_plan *out, const struct opt_set *set,
                       const relmc_target *target);
void optimize_plan_clear(struct optimize_plan *plan);

/* ---- learning_curve.c: how far it has come ------------------------------------------ */

/* One chain at the time of a report; NaN: not known. */
struct standing {
    double loss; /* mean of -lp, over the rows if there are data */
    double train_error, test_loss, test_error;
    double stride; /* `speed` of the last step */
    int64_t n_divergent;
};

struct curve {
    const relmc_target *target;
    size_t dim, n_chains;
    double per_row;              /* 1/N */
    struct forecast train, test; /* of no data, if there are none */
    relmc_data some;             /* the training rows that are looked at */
    bool has_train, has_test;
    /* filled in by the observer, a place for every chain */
    double *x;      /* n_chains x dim: at the last report */
    double *sum_lp; /* since then */
    int64_t *n_lp;
    struct standing *places;
    double *best; /* x of the report with the least test loss */
    double best_loss, best_error, best_epoch;
    int64_t every; /* draws between reports */
    int n_worse;   /* reports since the best */
    double start;  /* of the clock */
    FILE *rows;    /* of the file that is written at the end; NULL: none */
    char *text;    /* ... and what they are */
    size_t bytes;
};

int curve_open(struct curve *curve, const struct on_data *data,
               const relmc_target *target, const struct optimize_plan *plan,
               const char *who);
void curve_clear(struct curve *curve);
/* For a checkpoint: all that moves (the curve is `state`), and the way back, false
 * if it does not fit. */
size_t curve_keep(const void *state, char *to);
bool curve_restore(struct curve *curve, const struct resumed *from);
/* The file, complete: 0, or the exit code after a message. */
int curve_write(struct curve *curve, const char *base, const char *who);
/* An observer. */
relmc_status curve_watch(void *ctx, const relmc_draw *draw);
/* All chains have made `steps` steps: where they are now.  Prints a row. */
relmc_status curve_report(struct curve *curve, int64_t steps, double epoch,
                          bool is_printed, relmc_error *err);
void curve_print_heads(const struct curve *curve, bool has_epochs);
/* Mean over the chains. */
struct standing curve_mean(const struct curve *curve);

#endif
