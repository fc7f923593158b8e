/* compare.h - the parts of `relmc compare`. */
#ifndef RELMC_CLI_COMPARE_H
#define RELMC_CLI_COMPARE_H

#include "draws/draws.h"
#include "relmc_diag.h"
#include "report/reference.h"
#include "tool/config.h"

/* ---- compare_model.c: draws against the density of a built-in model ------ */

/* How the kernel Stein discrepancy is computed: in the same way for all runs,
 * as the numbers of different ways do not compare. */
enum ksd_kind {
    KSD_NONE,
    KSD_ALL,    /* of all pairs */
    KSD_BOUND,  /* a lower bound, from landmarks */
    KSD_BLOCKS, /* its square, unbiased, from blocks of draws */
    N_KSD_KINDS
};

struct fit {
    relmc_target *target; /* NULL: not a built-in model */
    char *why_not;        /* the reason then */
    size_t dim;
    size_t *coordinate; /* per column of the file, or CHAIN_SKIP */
    size_t n, n_all;    /* draws kept, of how many */
    double *x;          /* n x dim, chain after chain */

    relmc_mae_report mae; /* no bins: not known for this model */
    enum ksd_kind kind;
    double ksd, ksd_error; /* NaN: undefined */
    size_t n_graph;        /* draws in the graph; 0: not asked for */
    relmc_graph_stein_report graph;
};

struct fit_plan {
    bool wants_ksd, wants_graph;
    size_t n_graph;      /* draws at most; 0: as the dimension allows */
    double memory;       /* bytes for the draws of a run */
    size_t most, least;  /* draws of a run, so far */
    size_t dim;          /* the largest so far */
    enum ksd_kind kind;  /* from compare_model_settle */
    size_t n_graph_each; /* from compare_model_settle */
};

/* Opens the model that the files name, and adds its coordinates to the columns
 * that are read. */
void compare_model_open(struct fit *fit, struct draws *draws,
                        const bool *is_chosen);
void compare_model_take(struct fit *fit, const struct fit_plan *plan,
                        size_t column, const relmc_series *series);
/* Call compare_model_count for each run, then compare_model_settle finds one way for all. */
void compare_model_count(struct fit_plan *plan, const struct fit *fit);
void compare_model_settle(struct fit_plan *plan);
/* 0, or the exit code after a message. */
int compare_model_compute(struct fit *fit, const struct fit_plan *plan,
                          const char *who, const char *label,
                          const struct voice *voice);
void compare_model_clear(struct fit *fit);

/* ---- compare_reference.c: draws against a reference ---------------------- */

struct z_row {
    size_t known; /* row of the reference */
    double mean, sd;
    double z_mean, z_sd; /* NaN: nothing is known */
    double *quantile, *z_quantile;
    double worst;      /* largest |z| */
    size_t worst_what; /* 0 mean, 1 sd, then quantiles */
};

struct verdict {
    struct z_row *rows;
    size_t n_rows;
    size_t worst; /* of the rows */
    bool has_failed;
    char *missing, *extra; /* in the files only, in the reference only */
    size_t n_missing, n_extra;

    /* draws that are kept for the tests of two samples */
    size_t n_chains, n_each, n_full; /* n_each of n_full draws per chain */
    double *draws;      /* column after column: n_chains x n_each */
    double least_share; /* ESS over draws, the worst of all parameters */
    struct two {
        bool is_done;
        char *why_not;
        size_t n_x, n_y, block;
        relmc_two_sample_report joint;
        double ks_p, ad_p;   /* smallest of all parameters */
        size_t ks_at, ad_at; /* which row has it */
    } two;
};

/* Before the draws are read: which columns have a counterpart; 0, or the exit
 * code after a message. */
int compare_reference_open(struct verdict *verdict, const struct reference *ref,
                           const struct draws *draws, const bool *is_wanted,
                           const char *label);
void compare_reference_take(struct verdict *verdict,
                            const struct reference *ref, const char *name,
                            const relmc_series *series);
void compare_reference_conclude(struct verdict *verdict,
                                const struct reference *ref, double max_z);
void compare_reference_clear(struct verdict *verdict);
/* "mean", "sd", "5% quantile" */
const char *compare_reference_what(char out[32], const struct reference *ref,
                                   size_t i);

/* ---- compare_groups.c, compare_print.c ----------------------------------- */

/* What is compared; NaN: undefined. */
enum {
    M_ESS,
    M_ESS_GRAD,
    M_ESS_SECOND,
    M_DIVERGENT,
    M_MAE,
    M_MAE_FLOOR,
    M_TV,
    M_TV_FLOOR,
    M_KSD,
    M_GRAPH,
    N_MEASURES
};

/* The files of one run, and its results. */
struct group {
    char *base;  /* runs/nuts for runs/nuts_1.csv */
    char *label; /* in the table */
    const char **paths;
    size_t n_paths;

    char *model;
    size_t n_draws;
    double ess_bulk, ess_tail; /* smallest of all parameters; NaN: none */
    double n_steps, n_divergent;
    double n_stages; /* gradients per step */
    double seconds;
    double measures[N_MEASURES];
    size_t n_best;
    struct fit fit;
    struct verdict verdict;
};

struct comparison {
    struct group *groups;
    size_t n_groups;
    size_t n_contests; /* measures in which runs differ */
    struct fit_plan plan;
    struct reference *ref; /* NULL: none */
    double max_z;
};

/* Makes the groups of the files and labels on the command line; 0, or the exit
 * code after a message. */
int compare_group_files(struct comparison *all, const struct opt_set *set);
/* Larger is better: 1; smaller: -1; no contest: 0. */
int compare_sense(int measure);
void compare_print_table(const struct comparison *c);
void compare_print_json(const struct comparison *c);
int compare_write_csv(const struct comparison *c, const char *path,
                      const char *who, const struct voice *voice);

#endif
