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
struct forecast {
    const relmc_data *data; /* borrowed */
    size_t width;           /* numbers per row: classes, or mean and sd */
    size_t n;               /* points so far */
    double *out;            /* of the last one */
    double *sum; /* of the probabilities; of means, and of second moments */
    double *log_density; /* log of the sum of p(y) over the points */
    struct score each;   /* sums over the points */
};

void forecast_open(struct forecast *f, const relmc_data *data);
void forecast_clear(struct forecast *f);
/* One more point. */
relmc_status forecast_add(struct forecast *f, const relmc_target *target,
                          const double *x, relmc_error *err);
/* Of the last point; of the average over all; and the mean over the points. */
struct score forecast_last(const struct forecast *f);
struct score forecast_average(const struct forecast *f);
struct score forecast_mean(const struct forecast *f);
/* The averaged prediction of row r: probabilities, or mean and sd. */
void forecast_row(const struct forecast *f, size_t r, double *out);

#endif
