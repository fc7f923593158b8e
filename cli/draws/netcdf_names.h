/* netcdf_names.h - columns of draws as variables of a NetCDF file in ArviZ's
 * schema, and back: b.2.3 is an element of b. */
#ifndef RELMC_CLI_NETCDF_NAMES_H
#define RELMC_CLI_NETCDF_NAMES_H

#include "tool/cli.h"

/* Names of ArviZ's schema that reader and writer share ... */
#define CDF_CHAIN         "chain"
#define CDF_DRAW          "draw"
#define CDF_METRIC        "inv_metric"
#define CDF_SAMPLING_TIME "sampling_time"
/* ... and attributes of our own, which hold what a CSV file has besides. */
#define CDF_HEAD             "relmc_head"
#define CDF_STEP_SIZE        "relmc_step_size"
#define CDF_SECONDS_WARMUP   "relmc_seconds_warmup"
#define CDF_SECONDS_SAMPLING "relmc_seconds_sampling"

enum { CDF_WARMUP, CDF_DRAWS, CDF_N_PHASES };
/* Groups of each phase: of the parameters, and of the sampler's columns. */
extern const char *const cdf_groups[CDF_N_PHASES][2];

enum { CDF_MAX_RANK = 16 };

enum cdf_kind {
    CDF_REAL,
    CDF_WHOLE,  /* a whole number */
    CDF_FLAG,   /* 0 or 1 */
    CDF_REACHED /* is the column at its limit, or above? */
};

struct netcdf_var {
    char *name;
    bool is_sampler;
    enum cdf_kind kind;
    double limit;
    size_t rank; /* besides chain and draw */
    size_t shape[CDF_MAX_RANK];
    size_t n; /* elements: the product */
    /* The column of each element, the last index fastest.  Stan's columns have
     * the first one fastest. */
    size_t *columns;
};

struct netcdf_vars {
    struct netcdf_var *list;
    size_t n;
};

/* The variables of these columns: those of the sampler with ArviZ's names, then
 * the others, folded where all elements are there.  Names that are taken get a
 * _ at their end. */
void netcdf_fold(struct netcdf_vars *vars, char *const *names,
                 size_t n_columns);
/* Beside treedepth__: has it reached its limit? */
void netcdf_add_limit(struct netcdf_vars *vars, char *const *names,
                      size_t n_columns, double limit);
void netcdf_vars_clear(struct netcdf_vars *vars);

/* lp__ for lp, of sample_stats; NULL for what is no column; yours. */
char *netcdf_stat_column(const char *name);
/* The columns of a variable of that rank and shape, from `first` on, as Stan
 * orders them: fills `columns` of var, which is yours. */
void netcdf_unfold(struct netcdf_var *var, size_t first);
/* The name of element i, the last index fastest: b.2.3; yours. */
char *netcdf_column(const struct netcdf_var *var, size_t i);

#endif
