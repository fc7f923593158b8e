/* sample.h - the parts of `relmc sample`. */
#ifndef RELMC_CLI_SAMPLE_H
#define RELMC_CLI_SAMPLE_H

#include "data/data_options.h"
#include "draws/chain_file.h"
#include "job/init_points.h"
#include "job/job.h"
#include "job/stop_rules.h"
#include "report/checks.h"
#include "report/summary_table.h"
#include "tool/options.h"

/* ---- sample_plan.c: what the options mean to the library ----------------- */

struct sample_plan {
    relmc_options options;
    /* specs, with the values of shorthand options */
    char *sampler, *kinetic, *adapt;
    double *init;   /* chains x dim, or NULL */
    double *center; /* point of the control variates, or NULL */
    struct metric metric;
    char *base; /* of the files; NULL: none are written */
    enum chain_format format;
    /* base of the files of draws; not `base` if one file is made from them */
    char *rows;
    bool is_plain;    /* --no-summary */
    bool keeps_draws; /* the draws fit into memory */
    /* size of the running estimates in their place; 0: no room for these */
    size_t points;
    struct stop_rules rules;
    bool is_adaptive;
    double target_accept;  /* NaN if nothing adapts to one */
    double speed_of_light; /* NaN if there is none, or one per coordinate */
};

/* What the library keeps in memory: the draws, or estimates. */
void sample_plan_keep(struct sample_plan *plan);
/* Also sets options that others override. */
int sample_plan_make(struct sample_plan *plan, struct opt_set *set,
                     const relmc_target *target, const struct voice *voice);
void sample_plan_clear(struct sample_plan *plan);
/* The suffix of the files that a run writes while it goes on. */
const char *sample_plan_suffix(const struct sample_plan *plan);

/* ---- sample_method.c: the part of it that is about the method ------------ */

/* Resolves options that exclude each other: the stronger source wins; equally
 * strong ones are an error. 0, or the exit code after a message. */
int sample_method_settle(struct opt_set *set);
/* Sampler, kinetic energy, integrator and adaptation. */
int sample_method_plan(struct sample_plan *plan, struct opt_set *set,
                       const struct voice *voice);

/* ---- sample.c: the kind of job ------------------------------------------- */

extern const struct job_kind job_sample;

struct sample {
    struct sample_plan plan;
    struct record record;
    size_t suspect;        /* the parameter that is checked first */
    size_t n_before;       /* chains of an earlier run with these files */
    char *config, *tuning; /* files written, or NULL */
    char *whole;           /* the one file of all draws, or NULL */
    bool has_rows;         /* the files it was made of are still there */
};

/* ---- sample_files.c: the files of a run ---------------------------------- */

/* Before the files are opened: makes sure that no other process writes them and
 * that nothing is lost, and counts those of an earlier run. 0, or the exit code
 * after a message. */
int sample_files_claim(struct job *job);
/* Writes BASE_config.json. */
int sample_files_write_config(struct job *job);
/* After the files are opened: removes those of an earlier run that were not
 * replaced, so that the two are not read as one run. */
void sample_files_tidy(const struct job *job);
/* Makes the one file of all draws, if that is wanted and the run is not to go
 * on. */
int sample_files_conclude(struct job *job, bool has_draws);
void sample_files_say(const struct job *job);

/* ---- sample_report.c: what came out -------------------------------------- */

struct sample_report {
    const relmc_target *target;
    size_t n_outputs, n_chains;
    size_t n_each;           /* draws of the shortest chain: those summarised */
    int64_t n_kept;          /* draws of all chains together */
    int64_t n_done, n_total; /* iterations of all chains together */
    int64_t n_grad, n_sampled, n_divergent, n_clamped;
    double accept_prob, speed; /* means over chains, NaN if nothing was drawn */
    double seconds, seconds_warmup;
    double *step_sizes; /* one per chain */
    enum ending ending;
    bool is_running;           /* running estimates only */
    double rank_error;         /* of their quantiles */
    struct summary_table rows; /* none without draws */
    struct checks checks;
};

/* False if there is no memory for it. */
bool sample_report_take(struct sample_report *out, const struct record *record,
                        const struct sample_plan *plan,
                        const relmc_target *target, double seconds,
                        enum ending ending);
void sample_report_clear(struct sample_report *out);
/* One line on stderr, then the table on stdout. */
void sample_report_print(const struct sample_report *out,
                         const struct sample_plan *plan,
                         const struct voice *voice);
/* All of it on stdout. */
void sample_report_print_json(const struct sample_report *out,
                              const struct sample_plan *plan,
                              const char *model);
/* The checks that failed, with advice, and how many there were. */
void sample_report_say_checks(const struct sample_report *out,
                              const struct voice *voice);

#endif
