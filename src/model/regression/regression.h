/*
 * regression.h - what regressions share: their parameters, and their data, given or
 * made up.
 */
#ifndef RMC_REGRESSION_H
#define RMC_REGRESSION_H

#include "base/base.h"

typedef struct rmc_design {
    const double *x;      /* n x width, borrowed ... */
    const float *x_float; /* ... or this one */
    size_t n, width;
} rmc_design;

/* A model begins with one of these, so that `self` points to it.  Coordinates
 * are the intercept, if there is one, then the coefficients. */
typedef struct rmc_regression {
    double dim, n, sd, effect, seed, intercept, intercept_sd; /* parameters */
    rmc_design design;
    const double *y; /* the response: design.n numbers, borrowed */
    int has_intercept;
    size_t size;                     /* coordinates: width + has_intercept */
    double weight, intercept_weight; /* 1 / sd^2 of their priors */
} rmc_regression;

/* ---- parameters ----------------------------------------------------------- */

#define RMC_PARAM(member, help, low, high, standard, what)                  \
    {                                                                       \
        .name = #member, .doc = (help), .min = (low), .max = (high),        \
        .fallback = (standard), .offset = offsetof(rmc_regression, member), \
        .kind = (what)                                                      \
    }

/* `each`, "" or " per class", is what has coefficients of its own. */
#define RMC_PARAMS_OF_SIZE(rows, each)                        \
    RMC_PARAM(dim,                                            \
              "coefficients" each                             \
              " of made-up data, the first is the intercept", \
              1, 1e4, 3, RELMC_INTEGER),                      \
        RMC_PARAM(n, "rows of made-up data", 1, 1e6, rows, RELMC_INTEGER)

#define RMC_PARAM_SD                                                      \
    RMC_PARAM(sd, "standard deviation of the normal prior", 1e-3, 1e6, 5, \
              RELMC_REAL)

#define RMC_PARAMS_OF_TRUTH(each)                                             \
    RMC_PARAM(effect, "size of the coefficients that made the data", 0, 100,  \
              1, RELMC_REAL),                                                 \
        RMC_PARAM(seed, "of made-up data", 0, 1e15, 1, RELMC_INTEGER),        \
        RMC_PARAM(intercept, "1: given data get an intercept" each, 0, 1, 0,  \
                  RELMC_INTEGER),                                             \
        RMC_PARAM(intercept_sd, "standard deviation of its prior", 1e-3, 1e6, \
                  5, RELMC_REAL)

/* ---- regression.c --------------------------------------------------------- */

rmc_design rmc_design_of(const relmc_data *data);
void rmc_regression_bind(rmc_regression *g, const relmc_data *data);
/* Rows to predict; y is not looked at. */
relmc_status rmc_regression_match(const rmc_regression *g, const char *name,
                                  const relmc_data *data, relmc_error *err);
/* relmc_model_ops.coordinate_name */
size_t rmc_regression_name(const void *self, size_t i, char *out, size_t room);

/* The response of a row with covariates a. */
typedef double rmc_respond(const rmc_regression *g, relmc_stream *stream,
                           const double *a, const double *truth);

double rmc_made_up_dot(size_t n, const double *a, const double *truth);
/* `sets` of coefficients, one after the other in `truth`, make the data. */
relmc_status rmc_make_up(rmc_regression *g, const char *name, size_t sets,
                         rmc_respond *respond, relmc_arena *arena,
                         relmc_error *err);

#endif
