/* prediction_score.h - scores of predictions, of one point or averaged over
 * many. */
#ifndef RELMC_CLI_SCORE_H
#define RELMC_CLI_SCORE_H

#include "tool/cli.h"

/* NaN: undefined for this kind of response. */
struct score {
    double error; /* share of rows in another class than the likeliest */
    double rmse;  /* of the means */
    double nll;   /* mean of -log p(y), in nats */
    double ece;   /* calibration error, 15 bins */
};

/* Predictions for the rows of some data, as relmc_target_predict makes them. */
struct prediction_score {
    const relmc_data *data; /* borrowed */
    size_t width;           /* numbers per row: classes, or mean and sd */
    size_t n;               /* points so far */
    double *out;            /* of the last one */
    double *sum; /* of the probabilities; of means, and of second moments */
    double *log_density; /* log of the sum of p(y) over the points */
    struct score each;   /* sums over the points */
};

void prediction_score_open(struct prediction_score *f, const relmc_data *data);
void prediction_score_clear(struct prediction_score *f);
/* One more point. */
relmc_status prediction_score_add(struct prediction_score *f,
                                  const relmc_target *target, const double *x,
                                  relmc_error *err);
/* Of the last point; of the average over all; and the mean over the points. */
struct score prediction_score_last(const struct prediction_score *f);
struct score prediction_score_average(const struct prediction_score *f);
struct score prediction_score_mean(const struct prediction_score *f);
/* The averaged prediction of row r: probabilities, or mean and sd. */
void prediction_score_row(const struct prediction_score *f, size_t r,
                          double *out);

#endif
