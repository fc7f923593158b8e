/* learning_curve.c - the losses and errors of `relmc optimize` over its
 * steps. */
#define _POSIX_C_SOURCE 200809L

#include "job/optimize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The training error is computed from at most this many rows. */
enum { MOST_TRAIN_ROWS = 10000 };

/* ---- the observer -------------------------------------------------------- */

relmc_status learning_curve_watch(void *ctx, const relmc_draw *draw)
{
    struct learning_curve *c = ctx;
    const size_t k = draw->chain;
    struct standing *place = &c->places[k];

    c->sum_lp[k] += draw->stats[RELMC_STAT_LP];
    c->n_lp[k]++;
    place->stride = draw->stats[RELMC_STAT_SPEED];
    place->n_divergent += (int)draw->stats[RELMC_STAT_DIVERGENT];
    memcpy(c->x + k * c->dim, draw->coordinates, c->dim * sizeof *c->x);
    return RELMC_OK;
}

/* ---- opening ------------------------------------------------------------- */

/* Does the model predict? */
static bool can_predict(const relmc_target *target, const relmc_data *data,
                        size_t dim)
{
    relmc_data one = *data;
    double *x = cli_alloc(dim, sizeof *x);
    double *out = cli_alloc(data->n_classes + 2, sizeof *out);

    one.n_rows = 1;
    const relmc_status status =
        relmc_target_predict(target, x, &one, out, NULL);
    free(x);
    free(out);
    return status == RELMC_OK;
}

static int open_file(struct atomic_file *file, const char *base,
                     const char *who)
{
    char *path = cli_text("%s_curve.csv", base);
    const int code = atomic_file_open(file, who, path);

    free(path);
    return code;
}

/* The rows of the file are kept in memory, because a checkpoint needs them. The
 * file is opened here once, so that a place that cannot be written shows now
 * and not at the end. */
static int open_rows(struct learning_curve *c, const struct optimize_plan *plan,
                     const char *who)
{
    struct atomic_file file;
    int code = CLI_OK;

    if (!plan->base) {
        return CLI_OK;
    }
    if ((code = open_file(&file, plan->base, who))) {
        return code;
    }
    atomic_file_drop(&file);
    c->rows = open_memstream(&c->text, &c->bytes);
    return c->rows ? CLI_OK : cli_fail(CLI_NUMERIC, who, "out of memory");
}

int learning_curve_write(struct learning_curve *curve, const char *base,
                         const char *who)
{
    struct atomic_file file;
    const int code = open_file(&file, base, who);

    if (code) {
        return code;
    }
    (void)fprintf(file.file,
                  "epoch,steps,train_loss,train_error,test_loss,test_error,"
                  "stride,divergent,seconds,chain\n");
    if (fflush(curve->rows) || ferror(curve->rows)) {
        atomic_file_drop(&file);
        return cli_fail(CLI_NUMERIC, who, "out of memory");
    }
    (void)fwrite(curve->text, 1, curve->bytes, file.file);
    return atomic_file_close(&file);
}

int learning_curve_open(struct learning_curve *curve,
                        const struct data_split *data,
                        const relmc_target *target,
                        const struct optimize_plan *plan, const char *who)
{
    const size_t n = plan->options.chains;
    const size_t n_data = relmc_target_n_data(target);
    const size_t dim = relmc_target_dim(target);

    *curve = (struct learning_curve){
        .target = target,
        .dim = dim,
        .n_chains = n,
        .per_row = n_data ? 1.0 / (double)n_data : 1.0,
        .x = cli_alloc(n * dim, sizeof(double)),
        .best = cli_alloc(n * dim, sizeof(double)),
        .sum_lp = cli_alloc(n, sizeof(double)),
        .n_lp = cli_alloc(n, sizeof(int64_t)),
        .places = cli_alloc(n, sizeof(struct standing)),
        .best_loss = HUGE_VAL,
        .best_error = CLI_NAN,
        .best_epoch = CLI_NAN,
        .start = cli_clock(),
    };
    if (data->has_data && can_predict(target, &data->for_training, dim)) {
        curve->some = data->for_training;
        if (curve->some.n_rows > MOST_TRAIN_ROWS) {
            curve->some.n_rows = MOST_TRAIN_ROWS;
        }
        curve->has_train = true;
        prediction_score_open(&curve->train, &curve->some);
        curve->has_test = data->has_test;
    }
    if (curve->has_test) {
        prediction_score_open(&curve->test, &data->for_testing);
    }
    return open_rows(curve, plan, who);
}

void learning_curve_clear(struct learning_curve *curve)
{
    prediction_score_clear(&curve->train);
    prediction_score_clear(&curve->test);
    if (curve->rows) {
        (void)fclose(curve->rows);
    }
    free(curve->text);
    free(curve->x);
    free(curve->best);
    free(curve->sum_lp);
    free(curve->n_lp);
    free(curve->places);
}

/* ---- checkpoints --------------------------------------------------------- */

/* Arrays that change, with a place for every chain, and their bytes. */
struct moving {
    void *at;
    size_t bytes;
};

enum { N_MOVING = 5 };

static void list_moving(const struct learning_curve *c,
                        struct moving out[N_MOVING])
{
    const size_t n = c->n_chains;
    const struct moving all[N_MOVING] = {
        {c->x, n * c->dim * sizeof *c->x},
        {c->best, n * c->dim * sizeof *c->best},
        {c->sum_lp, n * sizeof *c->sum_lp},
        {c->n_lp, n * sizeof *c->n_lp},
        {c->places, n * sizeof *c->places},
    };

    memcpy(out, all, sizeof all);
}

/* ... and numbers; the last is the time so far. */
enum { N_NUMBERS = 4 };

size_t learning_curve_keep(const void *state, char *to)
{
    const struct learning_curve *c = state;
    const double numbers[N_NUMBERS] = {c->best_loss, c->best_error,
                                       c->best_epoch, cli_clock() - c->start};
    struct moving moving[N_MOVING];

    list_moving(c, moving);
    if (c->rows) {
        (void)fflush(c->rows);
    }
    const uint64_t counts[] = {(uint64_t)c->n_worse, c->bytes};
    size_t bytes = sizeof counts + sizeof numbers + c->bytes;

    to = checkpoint_put(to, counts, sizeof counts);
    to = checkpoint_put(to, numbers, sizeof numbers);
    to = checkpoint_put(to, c->text, c->bytes);
    for (size_t i = 0; i < N_MOVING; i++) {
        to = checkpoint_put(to, moving[i].at, moving[i].bytes);
        bytes += moving[i].bytes;
    }
    return bytes;
}

bool learning_curve_restore(struct learning_curve *curve,
                            const struct resumed *from)
{
    struct checkpoint_reader r = checkpoint_state(from);
    double numbers[N_NUMBERS];
    struct moving moving[N_MOVING];
    uint64_t counts[2];

    if (!checkpoint_take(&r, counts, sizeof counts) ||
        !checkpoint_take(&r, numbers, sizeof numbers) || counts[1] > r.left) {
        return false;
    }
    if (curve->rows) {
        (void)fwrite(r.at, 1, (size_t)counts[1], curve->rows);
    }
    r.at += counts[1];
    r.left -= (size_t)counts[1];
    curve->n_worse = (int)counts[0];
    curve->best_loss = numbers[0];
    curve->best_error = numbers[1];
    curve->best_epoch = numbers[2];
    curve->start -= numbers[3];
    list_moving(curve, moving);
    for (size_t i = 0; i < N_MOVING; i++) {
        if (!checkpoint_take(&r, moving[i].at, moving[i].bytes)) {
            return false;
        }
    }
    return r.left == 0;
}

/* ---- reports ------------------------------------------------------------- */

static double error_of(const struct score *s)
{
    return isnan(s->error) ? s->rmse : s->error;
}

static relmc_status look(struct learning_curve *c, size_t k, relmc_error *err)
{
    struct standing *place = &c->places[k];
    const double *x = c->x + k * c->dim;
    relmc_status status = RELMC_OK;

    place->loss = -c->sum_lp[k] / (double)c->n_lp[k] * c->per_row;
    place->train_error = place->test_loss = place->test_error = CLI_NAN;
    c->sum_lp[k] = 0.0;
    c->n_lp[k] = 0;
    if (c->has_train &&
        !(status = prediction_score_add(&c->train, c->target, x, err))) {
        const struct score s = prediction_score_last(&c->train);
        place->train_error = error_of(&s);
    }
    if (c->has_test && !status &&
        !(status = prediction_score_add(&c->test, c->target, x, err))) {
        const struct score s = prediction_score_last(&c->test);
        place->test_loss = s.nll;
        place->test_error = error_of(&s);
    }
    return status;
}

/* An undefined number is an empty field. */
static void write_number(FILE *file, double number)
{
    if (isnan(number)) {
        (void)fputc(',', file);
    } else {
        (void)fprintf(file, "%.9g,", number);
    }
}

static void write_row(struct learning_curve *c, size_t k, int64_t steps,
                      double epoch, double seconds)
{
    const struct standing *p = &c->places[k];
    FILE *file = c->rows;

    write_number(file, epoch);
    (void)fprintf(file, "%lld,", (long long)steps);
    write_number(file, p->loss);
    write_number(file, p->train_error);
    write_number(file, p->test_loss);
    write_number(file, p->test_error);
    write_number(file, p->stride);
    (void)fprintf(file, "%lld,%.3f,%zu\n", (long long)p->n_divergent, seconds,
                  k + 1);
}

struct standing learning_curve_mean(const struct learning_curve *c)
{
    const double n = (double)c->n_chains;
    struct standing mean = {0};

    for (size_t k = 0; k < c->n_chains; k++) {
        const struct standing *p = &c->places[k];

        mean.loss += p->loss / n;
        mean.train_error += p->train_error / n;
        mean.test_loss += p->test_loss / n;
        mean.test_error += p->test_error / n;
        mean.stride += p->stride / n;
        mean.n_divergent += p->n_divergent;
    }
    return mean;
}

/* "3.41 %", or "0.5123" for numbers, or "-". */
static const char *show_error(char out[32], const struct learning_curve *c,
                              double error)
{
    if (isnan(error)) {
        (void)snprintf(out, 32, "-");
    } else if (c->some.n_classes) {
        (void)snprintf(out, 32, "%.2f %%", 100.0 * error);
    } else {
        (void)snprintf(out, 32, "%.5g", error);
    }
    return out;
}

void learning_curve_print_heads(const struct learning_curve *curve,
                                bool has_epochs)
{
    if (curve->has_train) {
        const char *what = curve->some.n_classes ? "error" : "rmse";

        (void)printf("%8s %12s   train %-5s    test %-5s %12s %10s\n", "epoch",
                     "train loss", what, what, "step", "time");
    } else {
        (void)printf("%8s %12s %12s %10s\n", has_epochs ? "epoch" : "step",
                     "loss", "stride", "time");
    }
    (void)fflush(stdout);
}

static void print_row(const struct learning_curve *c, double epoch,
                      double seconds)
{
    const struct standing p = learning_curve_mean(c);
    char train[32], test[32];

    if (c->has_train) {
        (void)printf("%8g %12.5g %13s %13s %12.2e %8.1f s\n", epoch, p.loss,
                     show_error(train, c, p.train_error),
                     show_error(test, c, p.test_error), p.stride, seconds);
    } else {
        (void)printf("%8g %12.6g %12.2e %8.1f s\n", epoch, p.loss, p.stride,
                     seconds);
    }
    (void)fflush(stdout);
}

static void remember_best(struct learning_curve *c, double epoch)
{
    const struct standing mean = learning_curve_mean(c);

    c->n_worse++;
    if (c->has_test && mean.test_loss < c->best_loss) {
        c->n_worse = 0;
        c->best_loss = mean.test_loss;
        c->best_error = mean.test_error;
        c->best_epoch = epoch;
        memcpy(c->best, c->x, c->n_chains * c->dim * sizeof *c->x);
    }
}

relmc_status learning_curve_report(struct learning_curve *curve, int64_t steps,
                                   double epoch, bool is_printed,
                                   relmc_error *err)
{
    const double seconds = cli_clock() - curve->start;
    relmc_status status = RELMC_OK;

    for (size_t k = 0; k < curve->n_chains && !status; k++) {
        status = look(curve, k, err);
    }
    if (status) {
        return status;
    }
    for (size_t k = 0; k < curve->n_chains && curve->rows; k++) {
        write_row(curve, k, steps, epoch, seconds);
    }
    remember_best(curve, epoch);
    if (is_printed) {
        print_row(curve, epoch, seconds);
    }
    return RELMC_OK;
}
