/*
 * auto_tuner.h - the state of `adapt auto`, and what its files do: auto_plan.c plans
 * the phases of warm-up, auto_chains.c looks at the draws of all chains,
 * auto_windows.c finds the scale and the coordinates, auto_choose.c the step size
 * and the engine, auto_report.c says what was found.  auto.c calls them.
 */
#ifndef RMC_ADAPT_AUTO_TUNER_H
#define RMC_ADAPT_AUTO_TUNER_H

#include "adapt/step_size.h"
#include "adapt/stuck_chains.h"
#include "transform/metric.h"
#include "transform/warp_fit.h"

enum {
    RMC_MAX_PHASES = 16,
    RMC_MAX_CANDIDATES = 4,
    RMC_MAX_LAYERS = 32,
    RMC_REPORT_BYTES = 4096 /* RMC_MAX_LAYERS of them among the rest */
};

enum rmc_task {
    RMC_WINDOW, /* find the metric and the warp */
    RMC_STEP,   /* find the step size */
    RMC_PILOT   /* measure an engine with that step size */
};

/* A part of warm-up: what is done in it, and what was found at its end. */
struct rmc_phase {
    enum rmc_task task;
    int64_t from, end; /* draws from `from` on are used; it ends before `end` */
    size_t row, n;     /* where they are kept, and how many */
    int is_wanted; /* the kinetic energy of the options, or the Newtonian one */
    int engine;
    int32_t max_depth; /* of trees; 0: no limit */
    int may_warp;      /* the warp may change at its end */
    double eps, score;
    const char *why; /* why it was chosen */
};

struct rmc_tuner {
    struct rmc_dual steps;
    double metric_kind, max_dense, time, margin;
    double sticky, neck, shorten, max_layers;
    int keeps_scale; /* the metric was given */
    int has_engines;
    struct rmc_phase phases[RMC_MAX_PHASES];
    size_t n_phases, now;
    /* Draws of the present window, or of all that comes after the windows: rows
     * of dim numbers, `room` of them for every lane. */
    size_t room;
    int64_t stride; /* one of so many draws is kept */
    double *x, *g, *lp, *accept;
    size_t *used;    /* filled rows, one per lane */
    double *n_grad;  /* gradients that score a phase: RMC_MAX_PHASES per lane */
    double *diag;    /* dim x ld */
    double *along;   /* room of a low-rank scale */
    relmc_warp warp; /* own scratch, layers of the first ensemble */
    /* Only the first ensemble has the rest. */
    struct rmc_warp_fit fit;
    struct rmc_metric metric;
    enum rmc_metric_kind kind, wanted; /* of `metric`: now, and at most */
    double **rows_x, **rows_g;         /* RMC_MAX_CANDIDATES x chains, chains */
    double *level, *work;
    struct rmc_view *view;   /* one per chain */
    unsigned char *is_stuck; /* one per chain */
    unsigned char
        *is_late;      /* one per chain: stuck in the last window or later */
    size_t n_restarts; /* all of them */
    char report[RMC_REPORT_BYTES];
};

/* NOLINTBEGIN(bugprone-macro-parentheses): they are declared here */
/* Every lane k of every ensemble e, in the order of the chains. */
#define RMC_FOR_CHAINS(m, e, k, chain)             \
    for (size_t e = 0, chain = 0; e < (m)->n; e++) \
        for (size_t k = 0; k < (m)->sys[e]->shape.lanes; k++, chain++)
/* NOLINTEND(bugprone-macro-parentheses) */

/* The phase at hand; NULL after warm-up. */
static inline const struct rmc_phase *rmc_tuner_phase(const struct rmc_tuner *a)
{
    return a->now < a->n_phases ? &a->phases[a->now] : NULL;
}

/* Where the draws of a phase begin, lane k. */
static inline size_t rmc_tuner_row(const struct rmc_tuner *a,
                                   const struct rmc_phase *p, size_t k)
{
    return k * a->room + p->row;
}

/* The first row that scores an engine: those before belong to the search for the step
 * size. */
static inline size_t rmc_tuner_first_fair(const struct rmc_phase *p)
{
    return p->task == RMC_PILOT ? 0 : p->n / 2;
}

/* ---- auto_plan.c --------------------------------------------------------- */

/* Plans the phases and the rows of their draws. */
void rmc_tuner_plan(struct rmc_tuner *a, const relmc_system *sys,
                    int64_t warmup);

/* ---- auto_chains.c ------------------------------------------------------- */

/* [stuck]  Marks the stuck chains in a->is_stuck; how many. */
size_t rmc_tuner_find_stuck(struct rmc_tuner *a, const relmc_sync *m,
                            const struct rmc_phase *p);

/* Collects the rows of a phase from its t-th draw on, of the chains that are not
 * stuck; how many chains.  g may be NULL. */
size_t rmc_tuner_collect(const struct rmc_tuner *a, const relmc_sync *m,
                         const struct rmc_phase *p, size_t t, double **x,
                         double **g);

/* [stuck]  Moves each stuck chain to a draw of another one in this phase. */
void rmc_tuner_restart(struct rmc_tuner *a, const relmc_sync *m,
                       const struct rmc_phase *p, size_t n_good);

/* ---- auto_windows.c ------------------------------------------------------ */

/* Gives the metric to all ensembles. */
void rmc_tuner_set_scale(struct rmc_tuner *a, const relmc_sync *m);

/* Gives the warp to all ensembles. */
void rmc_tuner_set_warp(const struct rmc_tuner *a, const relmc_sync *m);

/* Finds the metric, and perhaps the warp, from the draws of a window. */
relmc_status rmc_tuner_end_window(struct rmc_tuner *a, const relmc_sync *m,
                                  const struct rmc_phase *p, relmc_error *err);

/* ---- auto_choose.c ------------------------------------------------------- */

/* Sets the step size of all chains, and how long a momentum lasts. */
void rmc_tuner_end_step(struct rmc_tuner *a, const relmc_sync *m,
                        struct rmc_phase *p);

/* Where the sampler has an engine of that name in its list; -1 if it has none. */
int rmc_tuner_engine(const relmc_system *sys, const char *name);

/* At the end of warm-up: chooses engine, kinetic energy and step size. */
void rmc_tuner_decide(struct rmc_tuner *a, const relmc_sync *m);

/* ---- auto_report.c ------------------------------------------------------- */

/* Writes JSON to a->report; the phases from `first` on have scores. */
void rmc_tuner_report(struct rmc_tuner *a, const relmc_system *sys,
                      size_t first, const struct rmc_phase *best);

#endif
