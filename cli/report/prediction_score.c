/* prediction_score.c - scores of predictions, of one point or averaged over
 * many. */
#include "report/prediction_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_BINS = 15 };

void prediction_score_open(struct prediction_score *f, const relmc_data *data)
{
    const size_t width = data->n_classes ? data->n_classes : 2;

    *f = (struct prediction_score){
        .data = data,
        .width = width,
        .out = cli_alloc(data->n_rows * width, sizeof(double)),
        .sum = cli_alloc(data->n_rows * width, sizeof(double)),
        .log_density = cli_alloc(data->n_rows, sizeof(double)),
    };
}

void prediction_score_clear(struct prediction_score *f)
{
    free(f->out);
    free(f->sum);
    free(f->log_density);
    *f = (struct prediction_score){0};
}

/* log(e^a + e^b) */
static double log_add(double a, double b)
{
    const double most = a > b ? a : b;

    return isinf(most) ? most : most + log1p(exp((a > b ? b : a) - most));
}

/* log p(y) of row r by the last point. */
static double log_density(const struct prediction_score *f, size_t r)
{
    const double *out = f->out + r * f->width, y = f->data->y[r];

    if (f->data->n_classes) {
        return log(out[(size_t)y]);
    }
    const double z = (y - out[0]) / out[1];
    return -0.5 * z * z - log(out[1]) - 0.91893853320467274178;
}

/* ---- scores -------------------------------------------------------------- */

/* Rows whose likeliest class has about the same probability. */
struct bin {
    double n, n_right, sum;
};

static size_t likeliest(const double *p, size_t n)
{
    size_t best = 0;

    for (size_t k = 1; k < n; k++) {
        best = p[k] > p[best] ? k : best;
    }
    return best;
}

static double calibration_error(const struct bin *bins, double n)
{
    double sum = 0.0;

    for (size_t b = 0; b < N_BINS; b++) {
        sum += fabs(bins[b].n_right - bins[b].sum) / n;
    }
    return sum;
}

/* Predictions `p`, and the sum of log p(y). */
static struct score score(const struct prediction_score *f, const double *p,
                          double scale, double log_likelihood)
{
    const double n = (double)f->data->n_rows;
    struct score s = {CLI_NAN, CLI_NAN, -log_likelihood / n, CLI_NAN};
    struct bin bins[N_BINS] = {{0}};
    double n_wrong = 0.0, squares = 0.0;

    for (size_t r = 0; r < f->data->n_rows; r++) {
        const double *row = p + r * f->width, y = f->data->y[r];

        if (!f->data->n_classes) {
            squares += (scale * row[0] - y) * (scale * row[0] - y);
            continue;
        }
        const size_t best = likeliest(row, f->width);
        const double sure = scale * row[best];
        const double place = ceil(sure * N_BINS) - 1.0;
        struct bin *bin = &bins[place < 0.0          ? 0
                                : place > N_BINS - 1 ? N_BINS - 1
                                                     : (size_t)place];

        n_wrong += best != (size_t)y;
        bin->n += 1.0;
        bin->n_right += best == (size_t)y;
        bin->sum += sure;
    }
    if (f->data->n_classes) {
        s.error = n_wrong / n;
        s.ece = calibration_error(bins, n);
    } else {
        s.rmse = sqrt(squares / n);
    }
    return s;
}

struct score prediction_score_last(const struct prediction_score *f)
{
    double sum = 0.0;

    for (size_t r = 0; r < f->data->n_rows; r++) {
        sum += log_density(f, r);
    }
    return score(f, f->out, 1.0, sum);
}

struct score prediction_score_average(const struct prediction_score *f)
{
    double sum = 0.0;

    for (size_t r = 0; r < f->data->n_rows; r++) {
        sum += f->log_density[r] - log((double)f->n);
    }
    return score(f, f->sum, 1.0 / (double)f->n, sum);
}

struct score prediction_score_mean(const struct prediction_score *f)
{
    const double n = (double)f->n;

    return (struct score){f->each.error / n, f->each.rmse / n, f->each.nll / n,
                          f->each.ece / n};
}

/* ---- adding -------------------------------------------------------------- */

relmc_status prediction_score_add(struct prediction_score *f,
                                  const relmc_target *target, const double *x,
                                  relmc_error *err)
{
    const relmc_status status =
        relmc_target_predict(target, x, f->data, f->out, err);

    if (status) {
        return status;
    }
    for (size_t r = 0; r < f->data->n_rows; r++) {
        const double here = log_density(f, r);
        const double *out = f->out + r * f->width;
        double *sum = f->sum + r * f->width;

        f->log_density[r] = f->n ? log_add(f->log_density[r], here) : here;
        if (f->data->n_classes) {
            for (size_t k = 0; k < f->width; k++) {
                sum[k] += out[k];
            }
        } else {
            sum[0] += out[0];
            sum[1] += out[0] * out[0] + out[1] * out[1];
        }
    }
    f->n++;
    const struct score last = prediction_score_last(f);
    f->each.error += last.error;
    f->each.rmse += last.rmse;
    f->each.nll += last.nll;
    f->each.ece += last.ece;
    return RELMC_OK;
}

void prediction_score_row(const struct prediction_score *f, size_t r,
                          double *out)
{
    const double *sum = f->sum + r * f->width, n = (double)f->n;

    for (size_t k = 0; k < f->width; k++) {
        out[k] = sum[k] / n;
    }
    if (!f->data->n_classes) {
        const double variance = out[1] - out[0] * out[0];

        out[1] = variance > 0.0 ? sqrt(variance) : 0.0;
    }
}
