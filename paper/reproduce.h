/*
 * reproduce.h - the figures of the paper, made again.
 *
 * An experiment is a file experiments/NAME.json: panels x methods x the values
 * of its axes are its cells.  A cell is measured alone, by one thread, and gives
 * rows of a sheet, which is written as CSV, drawn by experiments/NAME.gp, and
 * judged by the claims of its figure.
 */
#ifndef RELMC_CLI_REPRODUCE_H
#define RELMC_CLI_REPRODUCE_H

#include "tool/cli.h"

#include <jansson.h>
#include <stdio.h>

/* ---- experiment.c: what there is to do ------------------------------------------- */

enum { EXPERIMENT_AXES = 4 };

struct cell {
    const json_t *panel, *method;
    size_t n_axes;
    const char *axis[EXPERIMENT_AXES];
    double at[EXPERIMENT_AXES];
    char *key; /* "banana RHMC eps=0.1": what makes it this cell */
};

struct experiment {
    const char *who;   /* for messages */
    const char *name;  /* "fig3" */
    const char *scale; /* "quick" or "paper" */
    uint64_t seed;
    json_t *file;
    const char *axis[EXPERIMENT_AXES]; /* of all cells */
    size_t n_axes;
    size_t n_cells;
    struct cell *cells;
    void *shared; /* what the measure keeps for all cells */
};

/* These return 0, or the exit code after a message. */
int experiment_open(struct experiment *e, const char *path);
void experiment_clear(struct experiment *e);

/* A setting: the method's, or else the panel's, or else that of the file.  One
 * that is an object with a member for the scale is that member.  NULL: none. */
json_t *experiment_setting(const struct experiment *e, const struct cell *cell,
                           const char *name);
double experiment_number(const struct experiment *e, const struct cell *cell,
                         const char *name, double fallback);
/* Yours; {eps} and the like are replaced by the values of the cell; NULL: none. */
char *experiment_text(const struct experiment *e, const struct cell *cell,
                      const char *name);
/* Is `word` in the list `name`? */
bool experiment_lists(const struct experiment *e, const struct cell *cell,
                      const char *name, const char *word);
/* "banana", "RHMC" */
const char *experiment_name(const json_t *panel_or_method);
/* A random seed of its own for every cell. */
uint64_t experiment_seed(const struct experiment *e, const struct cell *cell);

/* ---- sheet.c: what was measured -------------------------------------------- */

struct sheet {
    const struct experiment *experiment;
    const char *const *columns; /* ends with NULL */
    size_t n_columns;
    struct cell_rows {
        size_t n;
        double *values; /* n x n_columns; NULL: not measured yet */
    } * cells;          /* one for each of the experiment */
};

void sheet_init(struct sheet *sheet, const struct experiment *e,
                const char *const *columns);
void sheet_clear(struct sheet *sheet);

/* CSV: panel, method, axes, columns.  The first line is a comment with the
 * experiment, scale and seed, so that rows of others are not taken for ours. */
void sheet_write_head(const struct sheet *sheet, FILE *file);
void sheet_write_cell(const struct sheet *sheet, size_t cell, FILE *file);
/* The cells that a file of an earlier run holds; how many. */
size_t sheet_read(struct sheet *sheet, const char *path);

/* Values of a column against an axis, of cells in their order.  Yours:
 * free x.  NULL for panel: of all panels. */
struct line {
    size_t n;
    double *x, *y, *se; /* se is 0 if the sheet has no column NAME_se */
    double *other;      /* the second axis, if there is one */
};
struct line sheet_line(const struct sheet *sheet, const char *panel,
                       const char *method, const char *axis,
                       const char *column);

/* ---- measuring ------------------------------------------------------------- */

struct measure {
    const char *kind;           /* "sampling" */
    const char *const *columns; /* ends with NULL */
    /* Adds the rows of a cell; 0, or the exit code after a message.  Several
     * threads call it at once. */
    int (*run)(struct cell_rows *rows, const struct experiment *e,
               const struct cell *cell);
    /* Optional, both or none.  Fills e->shared before the first cell; what it
     * returns is as of `run`, or LEFT_OUT after a line that says what the figure
     * needs and how to get it.  `close` is called in any case. */
    int (*open)(struct experiment *e);
    void (*close)(struct experiment *e);
};

enum { LEFT_OUT = -1 };

extern const struct measure measure_sampling, measure_training;

/* ---- truth.c: what a model's coordinates are like --------------------------- */

struct truth {
    size_t dim;
    double *mean, *sd;
};

/* Borrowed; NULL after a message. */
const struct truth *truth_of(const char *spec, const relmc_target *target,
                             const char *who);

/* Room for n more rows, all NaN. */
double *cell_rows_add(struct cell_rows *rows, size_t n, size_t n_columns);

/* Mean and its standard error over n values. */
struct mean_se {
    double mean, se;
};
struct mean_se mean_of(const double *values, size_t n);

/* ---- work.c: the cells, by all cores --------------------------------------- */

struct work_setup {
    const struct measure *measure;
    size_t n_threads;
    const char *path; /* of the CSV file */
    struct voice voice;
};

/* Measures what is missing in the sheet and writes the file.  Cells that are
 * finished when it is stopped are kept in PATH.part. */
int work_run(struct sheet *sheet, const struct work_setup *setup);

/* ---- claims.c: what the paper concludes ------------------------------------ */

/* `measure` is larger the more the claim holds.  It is reproduced when the value
 * less two standard errors reaches `holds`, not reproduced when the value plus
 * two does not exceed `fails`, and partly in between. */
struct claim {
    const char *id;
    const char *says;     /* the paper's conclusion, in our words */
    const char *quantity; /* what `measure` measures */
    double (*measure)(const struct sheet *sheet, const struct claim *claim);
    double holds, fails;
    /* The rows that `measure` uses; NULL where it needs none of the three. */
    const char *panel, *method, *rival;
};

enum verdict { VERDICT_REPRODUCED, VERDICT_PARTLY, VERDICT_NOT, VERDICT_NONE };

struct finding {
    const struct claim *claim;
    double value, se;
    enum verdict verdict;
};

const char *verdict_name(enum verdict verdict);
/* The standard error is that of `measure` on sheets whose values vary by theirs
 * (NAME_se). */
struct finding claim_judge(const struct claim *claim,
                           const struct sheet *sheet);
json_t *finding_json(const struct finding *finding);

/* ---- figures --------------------------------------------------------------- */

struct figure {
    const char *name; /* of experiments/NAME.json and NAME.gp */
    const struct measure *measure;
    const struct claim *claims; /* end with a NULL id */
    bool is_extra; /* made only if it is named, not with all the others */
};

extern const struct claim fig1_claims[], fig2_claims[], fig3_claims[],
    fig4_claims[], fig5_claims[], fig6_claims[];

/* The i-th figure, or NULL past the end. */
const struct figure *figure_at(size_t i);

/* ---- command.c: the command line -------------------------------------------- */

extern const struct command paper_reproduce;

/* ---- gnuplot.c ------------------------------------------------------- */

/* DIR/NAME.svg and .pdf from DIR/NAME.csv; without gnuplot it says so, once. */
int draw_figure(const char *script, const char *folder, const char *name,
                const struct voice *voice);

#endif
