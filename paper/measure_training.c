/*
 * measure_training.c - a cell that trains a network, or samples its weights: how good it
 * is along the way.
 *
 * A row is what all seeds have come to after so many epochs (passes through the
 * training rows), in the mean.  All methods have the same starts, splits of the
 * data and order of the minibatches: seeds are paired.
 */
#include "measure_training.h"

#include "report/prediction_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A value and its standard error over the seeds stand side by side. */
enum {
    T_SEEDS,
    T_STEPS, /* gradients of a seed so far */
    T_EPOCH, /* NaN: a row of the histogram */
    T_ERROR,
    T_ERROR_SE,
    T_LOSS, /* mean of -lp/N since the row before */
    T_LOSS_SE,
    T_NLL,
    T_NLL_SE,
    T_RMS, /* of the weights, biases included */
    T_RMS_SE,
    T_LARGEST, /* weight, by its absolute value */
    T_LARGEST_SE,
    T_DIVERGENT, /* steps taken back, all seeds */
    T_ACCEPT,
    T_WEIGHT, /* middle of a bin of the histogram */
    T_SHARE,  /* of the weights whose absolute value is in it */
    T_SHARE_SE,
    T_N
};

static const char *const columns[] = {
    [T_SEEDS] = "seeds",
    [T_STEPS] = "steps",
    [T_EPOCH] = "epoch",
    [T_ERROR] = "test_error",
    [T_ERROR_SE] = "test_error_se",
    [T_LOSS] = "train_loss",
    [T_LOSS_SE] = "train_loss_se",
    [T_NLL] = "nll",
    [T_NLL_SE] = "nll_se",
    [T_RMS] = "rms",
    [T_RMS_SE] = "rms_se",
    [T_LARGEST] = "largest",
    [T_LARGEST_SE] = "largest_se",
    [T_DIVERGENT] = "divergent",
    [T_ACCEPT] = "accept",
    [T_WEIGHT] = "weight",
    [T_SHARE] = "share",
    [T_SHARE_SE] = "share_se",
    [T_N] = NULL,
};

/* Bins of log10 |w|; what is smaller or larger is in the first and the last. */
enum { N_BINS = 40 };
static const double first_edge = -5.0, bin_width = 0.25;

/* What one seed has come to at a row. */
struct place {
    double steps, error, loss, nll, rms, largest, divergent, accept;
};

struct trial {
    const struct experiment *experiment;
    const struct cell *cell;
    size_t n_seeds, n_rows;
    bool has_first;        /* the first row is after the first transition */
    int64_t steps;         /* gradients of a transition */
    int64_t between;       /* transitions between rows */
    double per_transition; /* epochs */
    struct place *places;  /* n_seeds x n_rows */
    double *histograms;    /* n_seeds x N_BINS: after the first transition */
    /* of the seed at work */
    size_t seed, dim;
    double *x; /* where it is */
    double sum_lp, n_lp, n_divergent, sum_accept, n_draws;
};

static double number(const struct trial *t, const char *name, double fallback)
{
    return experiment_number(t->experiment, t->cell, name, fallback);
}

/* ---- looking at a seed ----------------------------------------------------- */

static relmc_status watch(void *ctx, const relmc_draw *draw)
{
    struct trial *t = ctx;

    t->sum_lp += draw->stats[RELMC_STAT_LP];
    t->n_lp++;
    t->n_divergent += (int)draw->stats[RELMC_STAT_DIVERGENT];
    t->sum_accept += draw->stats[RELMC_STAT_ACCEPT_PROB];
    t->n_draws++;
    memcpy(t->x, draw->outputs, t->dim * sizeof *t->x);
    return RELMC_OK;
}

static void count_weights(const struct trial *t)
{
    double *shares = t->histograms + t->seed * N_BINS;

    for (size_t i = 0; i < t->dim; i++) {
        const double at = (log10(fabs(t->x[i])) - first_edge) / bin_width;
        const double bin = fmin(fmax(floor(at), 0.0), N_BINS - 1.0);

        shares[(size_t)bin] += 1.0 / (double)t->dim;
    }
}

static relmc_status look(struct trial *t, struct place *place,
                         struct prediction_score *test,
                         const relmc_target *target, relmc_error *err)
{
    const relmc_status status = prediction_score_add(test, target, t->x, err);
    double squares = 0.0, largest = 0.0;

    if (status) {
        return status;
    }
    const struct score score = prediction_score_last(test);

    for (size_t i = 0; i < t->dim; i++) {
        squares += t->x[i] * t->x[i];
        largest = fmax(largest, fabs(t->x[i]));
    }
    *place = (struct place){
        .steps = t->n_draws * (double)t->steps,
        .error = score.error,
        .loss = -t->sum_lp / t->n_lp / (double)relmc_target_n_data(target),
        .nll = score.nll,
        .rms = sqrt(squares / (double)t->dim),
        .largest = largest,
        .divergent = t->n_divergent,
        .accept = t->sum_accept / t->n_draws,
    };
    t->sum_lp = t->n_lp = 0.0;
    return RELMC_OK;
}

/* ---- a seed ---------------------------------------------------------------- */

static relmc_status go_on(struct trial *t, relmc_run *run,
                          struct prediction_score *test,
                          const relmc_target *target, relmc_error *err)
{
    relmc_status status = relmc_run_observe(run, watch, t, err);
    int64_t made = 0;

    for (size_t r = 0; r < t->n_rows && !status; r++) {
        const int64_t end = t->has_first && r == 0
                                ? 1
                                : (int64_t)(r + !t->has_first) * t->between;

        status = relmc_run_advance(run, end - made, err);
        made = end;
        if (!status) {
            status =
                look(t, &t->places[t->seed * t->n_rows + r], test, target, err);
        }
        if (!status && r == 0 && t->histograms) {
            count_weights(t);
        }
    }
    return status;
}

static relmc_status run_seed(struct trial *t, const relmc_target *target,
                             struct prediction_score *test, relmc_error *err)
{
    const struct experiment *e = t->experiment;
    char *sampler = experiment_text(e, t->cell, "sampler");
    char *kinetic = experiment_text(e, t->cell, "kinetic");
    char *step = experiment_text(e, t->cell, "step_size");
    const size_t rows = t->n_rows - t->has_first;
    const relmc_options options = {
        .size = sizeof options,
        .sampler = sampler,
        .kinetic = kinetic,
        .adapt = "none",
        .seed = e->seed,
        .draws = (int64_t)rows * t->between,
        .warmup = RELMC_ZERO,
        .chains = 1,
        .keep = RELMC_ZERO,
        .first_chain = (uint32_t)t->seed,
        .step_size = step ? strtod(step, NULL) : 0.0,
        .batch_rows = (uint32_t)number(t, "batch", 0),
    };
    relmc_run *run = NULL;
    relmc_status status = relmc_run_create(&run, target, &options, err);

    t->dim = relmc_target_dim(target);
    t->x = cli_alloc(t->dim, sizeof *t->x);
    t->sum_lp = t->n_lp = t->n_divergent = t->sum_accept = t->n_draws = 0.0;
    if (!status) {
        status = go_on(t, run, test, target, err);
    }
    relmc_run_destroy(run);
    free(t->x);
    free(sampler);
    free(kinetic);
    free(step);
    return status;
}

static int train(struct trial *t, const struct data_split *data)
{
    const struct experiment *e = t->experiment;
    char *model = experiment_text(e, t->cell, "model");
    relmc_target *target = NULL;
    struct prediction_score test;
    relmc_error err = {0};
    int code = data_options_open(&target, model, data, e->who);

    free(model);
    if (code) {
        return code;
    }
    prediction_score_open(&test, &data->for_testing);
    const relmc_status status = run_seed(t, target, &test, &err);

    prediction_score_clear(&test);
    relmc_target_destroy(target);
    return status ? cli_fail(cli_code(status), e->who, "%s: %s", t->cell->key,
                             err.message)
                  : CLI_OK;
}

/* ---- rows ------------------------------------------------------------------ */

/* The mean over the seeds of a number at an offset in their places. */
static struct mean_se over_seeds(const struct trial *t, size_t row,
                                 size_t offset)
{
    double *v = cli_alloc(t->n_seeds, sizeof *v);

    for (size_t k = 0; k < t->n_seeds; k++) {
        const char *place = (const char *)&t->places[k * t->n_rows + row];

        memcpy(&v[k], place + offset, sizeof *v);
    }
    const struct mean_se found = mean_of(v, t->n_seeds);

    free(v);
    return found;
}

static void put(double *row, size_t column, struct mean_se value)
{
    row[column] = value.mean;
    row[column + 1] = value.se;
}

#define OVER_SEEDS(member) over_seeds(t, r, offsetof(struct place, member))

static void put_row(double *row, const struct trial *t, size_t r)
{
    const double n = (double)t->n_seeds;

    row[T_SEEDS] = n;
    row[T_STEPS] = OVER_SEEDS(steps).mean;
    row[T_EPOCH] = row[T_STEPS] / (double)t->steps * t->per_transition;
    put(row, T_ERROR, OVER_SEEDS(error));
    put(row, T_LOSS, OVER_SEEDS(loss));
    put(row, T_NLL, OVER_SEEDS(nll));
    put(row, T_RMS, OVER_SEEDS(rms));
    put(row, T_LARGEST, OVER_SEEDS(largest));
    row[T_DIVERGENT] = n * OVER_SEEDS(divergent).mean;
    row[T_ACCEPT] = OVER_SEEDS(accept).mean;
}

static void put_bin(double *row, const struct trial *t, size_t bin)
{
    double *v = cli_alloc(t->n_seeds, sizeof *v);

    for (size_t k = 0; k < t->n_seeds; k++) {
        v[k] = t->histograms[k * N_BINS + bin];
    }
    row[T_SEEDS] = (double)t->n_seeds;
    row[T_WEIGHT] = pow(10.0, first_edge + bin_width * ((double)bin + 0.5));
    put(row, T_SHARE, mean_of(v, t->n_seeds));
    free(v);
}

static void put_all(struct cell_rows *rows, const struct trial *t)
{
    double *values = cell_rows_add(rows, t->n_rows, T_N);

    for (size_t r = 0; r < t->n_rows; r++) {
        put_row(values + r * T_N, t, r);
    }
    values = t->histograms ? cell_rows_add(rows, N_BINS, T_N) : NULL;
    for (size_t b = 0; values && b < N_BINS; b++) {
        put_bin(values + b * T_N, t, b);
    }
}

/* ---- the cell -------------------------------------------------------------- */

/* "epochs", a row after "every" of them; a transition makes "steps" gradients,
 * each of "batch" rows, or of all of them. */
static int plan(struct trial *t, const struct data_split *data)
{
    const double n = (double)data->for_training.n_rows;
    const double batch = number(t, "batch", 0), steps = number(t, "steps", 1);
    const double per_epoch = floor(n / batch) / steps;
    const double every = number(t, "every", 1);
    const double between =
        batch > 0 ? every * per_epoch : fmax(every / steps, 1.0);

    if (!(between >= 1.0) || between != floor(between) ||
        !data->for_testing.n_rows) {
        return cli_fail(CLI_IO, t->experiment->who,
                        "%s: %g rows in batches of %g, %g steps at a time, do "
                        "not make whole epochs",
                        t->cell->key, n, batch, steps);
    }
    t->steps = (int64_t)steps;
    t->between = (int64_t)between;
    t->per_transition = batch > 0 ? 1.0 / per_epoch : steps;
    const double rows =
        number(t, "epochs", 1) / (between * t->per_transition) + 1e-9;
    const bool has_weights =
        experiment_lists(t->experiment, t->cell, "measure", "weights");

    t->has_first = has_weights && t->between > 1;
    t->n_rows = (size_t)rows + t->has_first;
    t->places = cli_alloc(t->n_seeds * t->n_rows, sizeof *t->places);
    t->histograms =
        has_weights ? cli_alloc(t->n_seeds * N_BINS, sizeof(double)) : NULL;
    return CLI_OK;
}

static int run_cell(struct cell_rows *rows, const struct experiment *e,
                    const struct cell *cell)
{
    struct trial t = {.experiment = e, .cell = cell};
    struct data_split data;

    t.n_seeds = (size_t)training_seeds(e, cell);
    training_data_of(&data, e, cell, 0);
    int code = plan(&t, &data);

    for (t.seed = 0; t.seed < t.n_seeds && !code; t.seed++) {
        training_data_of(&data, e, cell, t.seed);
        code = train(&t, &data);
    }
    if (!code) {
        put_all(rows, &t);
    }
    free(t.places);
    free(t.histograms);
    return code;
}

const struct measure measure_training = {
    .kind = "training",
    .columns = columns,
    .run = run_cell,
    .open = training_data_open,
    .close = training_data_close,
};
