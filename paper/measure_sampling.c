/* measure_sampling.c - a cell that is sampled: chains from the target, and how good they
 * are. */
#include "reproduce.h"

#include "job/model.h"

#include "relmc_diag.h"
#include "relmc_ext.h"

#ifdef RELMC_HAS_GRAPH_STEIN
#include "relmc_extra.h"
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A value and its standard error over the chains stand side by side. */
enum {
    S_CHAINS,
    S_DRAWS,
    S_FAILED, /* share of chains that ran away or never moved */
    S_GRADIENTS,
    S_ACCEPT,
    S_ACCEPT_SE,
    S_SPEED,
    S_SPEED_SE,
    S_CRUISE, /* [cruise] what the speed should be; of "beta" */
    S_DIVERGENT,
    S_ESS,
    S_ESS_SE,
    S_MAE,
    S_MAE_SE,
    S_MAE_FLOOR,
    S_LOG_GSD,
    S_LOG_GSD_SE,
    S_LOG_KSD,
    S_LOG_KSD_SE,
    S_VAR_RATIO, /* variance in a chain, over the true one */
    S_VAR_RATIO_SE,
    S_BIAS, /* of the worst coordinate's mean, in true standard deviations */
    S_BIAS_SE,
    S_FAILED_SE,
    S_N
};

static const char *const columns[] = {
    [S_CHAINS] = "chains",
    [S_DRAWS] = "draws",
    [S_FAILED] = "failed",
    [S_GRADIENTS] = "gradients",
    [S_ACCEPT] = "accept",
    [S_ACCEPT_SE] = "accept_se",
    [S_SPEED] = "speed",
    [S_SPEED_SE] = "speed_se",
    [S_CRUISE] = "cruise",
    [S_DIVERGENT] = "divergent",
    [S_ESS] = "ess",
    [S_ESS_SE] = "ess_se",
    [S_MAE] = "mae",
    [S_MAE_SE] = "mae_se",
    [S_MAE_FLOOR] = "mae_floor",
    [S_LOG_GSD] = "log_gsd",
    [S_LOG_GSD_SE] = "log_gsd_se",
    [S_LOG_KSD] = "log_ksd",
    [S_LOG_KSD_SE] = "log_ksd_se",
    [S_VAR_RATIO] = "var_ratio",
    [S_VAR_RATIO_SE] = "var_ratio_se",
    [S_BIAS] = "bias",
    [S_BIAS_SE] = "bias_se",
    [S_FAILED_SE] = "failed_se",
    [S_N] = NULL,
};

/* What there is to say of a chain beside where its draws are. */
struct tally {
    relmc_progress report;
    bool ran_away; /* once, at least */
};

struct trial {
    const struct experiment *experiment;
    const struct cell *cell;
    relmc_target *target;
    size_t dim, n_chains, n_draws;
    double *x;                 /* n_chains x n_draws x dim */
    struct tally *tally;       /* of every chain */
    const struct truth *truth; /* NULL: not asked for */
};

/* ---- the run --------------------------------------------------------------- */

static relmc_status keep(void *ctx, const relmc_draw *draw)
{
    struct trial *t = ctx;
    struct tally *tally = &t->tally[draw->chain];
    double *x =
        t->x + (draw->chain * t->n_draws + (size_t)draw->index) * t->dim;

    for (size_t i = 0; i < t->dim; i++) {
        x[i] = draw->coordinates[i];
        tally->ran_away |= !isfinite(x[i]);
    }
    /* undone without a Metropolis test */
    tally->ran_away |= (int)draw->stats[RELMC_STAT_DIVERGENT] &&
                       draw->stats[RELMC_STAT_ACCEPT_PROB] == 1.0;
    return RELMC_OK;
}

static relmc_status run_chains(struct trial *t, const relmc_options *options,
                               relmc_error *err)
{
    relmc_run *run = NULL;
    relmc_status status = relmc_run_create(&run, t->target, options, err);

    if (!status) {
        status = relmc_run_observe(run, keep, t, err);
    }
    if (!status) {
        status = relmc_run_advance(run, INT64_MAX, err);
    }
    for (size_t k = 0; k < t->n_chains && !status; k++) {
        t->tally[k].report.size = sizeof t->tally[k].report;
        status = relmc_run_progress(run, (uint32_t)k, &t->tally[k].report, err);
    }
    relmc_run_destroy(run);
    return status;
}

/* Near the target: independent normal coordinates with its means and standard
 * deviations. */
static void start_near(const struct trial *t, uint64_t seed, double *starts)
{
    relmc_stream stream = {.seed = seed, .purpose = RELMC_FOR_INIT};

    for (size_t i = 0; i < t->n_chains * t->dim; i++) {
        starts[i] = t->truth->mean[i % t->dim] +
                    t->truth->sd[i % t->dim] * relmc_normal(&stream);
    }
}

/* Starts are exact draws where there are such, or near the target if it is
 * known, so that what is seen is the chain in equilibrium; "start": "random"
 * asks for the library's own. */
static double *find_starts(const struct trial *t, uint64_t seed)
{
    char *how = experiment_text(t->experiment, t->cell, "start");
    const bool is_random = how && !strcmp(how, "random");
    double *starts = cli_alloc(t->n_chains * t->dim, sizeof *starts);

    free(how);
    if (is_random) {
        free(starts);
        return NULL;
    }
    if (relmc_target_sample(t->target, seed ^ 1, t->n_chains, starts, NULL)) {
        if (!t->truth) {
            free(starts);
            return NULL;
        }
        start_near(t, seed ^ 1, starts);
    }
    return starts;
}

static int sample(struct trial *t)
{
    const uint64_t seed = experiment_seed(t->experiment, t->cell);
    const double warmup =
        experiment_number(t->experiment, t->cell, "warmup", 0);
    char *sampler = experiment_text(t->experiment, t->cell, "sampler");
    char *kinetic = experiment_text(t->experiment, t->cell, "kinetic");
    char *integrator = experiment_text(t->experiment, t->cell, "integrator");
    char *step = experiment_text(t->experiment, t->cell, "step_size");
    char *rows = experiment_text(t->experiment, t->cell, "batch_rows");
    double *starts = find_starts(t, seed);
    relmc_error err;
    relmc_options options = {
        .size = sizeof options,
        .sampler = sampler,
        .kinetic = kinetic,
        .integrator = integrator,
        .adapt = "none",
        .seed = seed,
        .draws = (int64_t)t->n_draws,
        .warmup = warmup > 0 ? (int64_t)warmup : RELMC_ZERO,
        .chains = (uint32_t)t->n_chains,
        .lanes = (uint32_t)(t->n_chains < 100 ? t->n_chains : 100),
        .thin = (uint32_t)experiment_number(t->experiment, t->cell, "thin", 1),
        .step_size = step ? strtod(step, NULL) : 0.0,
        .init = starts,
        .keep = RELMC_ZERO,
        .threads = 1,
        .batch_rows =
            (uint32_t)experiment_number(t->experiment, t->cell, "batch", 0),
    };

    options.batch = options.batch_rows ? data_options_rows_kind(rows) : 0;
    const relmc_status status = run_chains(t, &options, &err);

    free(sampler);
    free(kinetic);
    free(integrator);
    free(step);
    free(rows);
    free(starts);
    return status ? cli_fail(cli_code(status), t->experiment->who, "%s: %s",
                             t->cell->key, err.message)
                  : CLI_OK;
}

/* ---- how good the draws are ------------------------------------------------ */

/* The mean over the coordinates; a chain that never moves is worth one draw. */
static double ess_of(const struct trial *t, size_t k)
{
    double sum = 0.0;

    for (size_t i = 0; i < t->dim; i++) {
        const relmc_series series = {
            .draws = t->x + k * t->n_draws * t->dim + i,
            .n_chains = 1,
            .n_draws = t->n_draws,
            .stride = t->dim,
            .chain_stride = 1,
        };
        double ess = CLI_NAN;

        (void)relmc_ess_mean(&ess, &series, NULL);
        sum += isnan(ess) ? 1.0 : ess;
    }
    return sum / (double)t->dim;
}

/* At most so many draws of a chain, evenly spread, with their scores; free
 * *out. */
static relmc_stein_sample stein_sample(const struct trial *t, size_t k,
                                       size_t most, double **out)
{
    const size_t dim = t->dim, n = most < t->n_draws ? most : t->n_draws;
    double *room = cli_alloc(2 * n * dim, sizeof *room);
    relmc_stein_sample s = {n, dim, room, room + n * dim, NULL};

    *out = room;
    for (size_t i = 0; i < n; i++) {
        const size_t at = (i + 1) * t->n_draws / n - 1;
        double lp;

        memcpy(room + i * dim, t->x + (k * t->n_draws + at) * dim,
               dim * sizeof *room);
        (void)relmc_target_eval(t->target, 1, room + i * dim, &lp,
                                room + (n + i) * dim, NULL);
    }
    return s;
}

static double log_gsd(const relmc_stein_sample *s)
{
    relmc_graph_stein_report report = {.size = sizeof report, .lower = CLI_NAN};
    relmc_status status = RELMC_EUNKNOWN;

    if (s->dim == 1) {
        status = relmc_graph_stein_line(&report, s, NULL, NULL);
    }
#ifdef RELMC_HAS_GRAPH_STEIN
    if (s->dim > 1) {
        status = relmc_graph_stein(&report, s, NULL, NULL);
    }
#endif
    return status == RELMC_OK || status == RELMC_EUNSUPP
               ? log(0.5 * (report.lower + report.upper))
               : CLI_NAN;
}

/* With the truth known, in units of the true standard deviations. */
static double log_ksd(const relmc_stein_sample *s, const struct truth *truth)
{
    relmc_ksd_report report = {.size = sizeof report, .ksd = CLI_NAN};
    relmc_ksd_options options = {.size = sizeof options};
    double *scale = cli_alloc(s->dim * s->dim, sizeof *scale);

    for (size_t i = 0; truth && i < s->dim; i++) {
        scale[i * s->dim + i] = truth->sd[i];
    }
    options.cholesky = truth ? scale : NULL;
    (void)relmc_ksd(&report, s, &options, NULL);
    free(scale);
    return log(report.ksd);
}

static double mae_of(const struct trial *t, size_t k, double *floor)
{
    relmc_mae_report report = {
        .size = sizeof report, .mae = CLI_NAN, .mae_floor = CLI_NAN};

    (void)relmc_mae(&report, t->target, t->n_draws,
                    t->x + k * t->n_draws * t->dim, NULL);
    *floor = report.mae_floor;
    return report.mae;
}

/* The mean over the chains that have a value; NaN if fewer than half do.  The
 * values are left in another order. */
static void put(double *row, size_t column, double *values, size_t n)
{
    size_t n_good = 0;

    for (size_t k = 0; k < n; k++) {
        if (isfinite(values[k])) {
            values[n_good++] = values[k];
        }
    }
    const struct mean_se found = mean_of(values, n_good);

    row[column] = 2 * n_good >= n ? found.mean : CLI_NAN;
    row[column + 1] = 2 * n_good >= n ? found.se : CLI_NAN;
}

static bool wants(const struct trial *t, const char *what)
{
    return experiment_lists(t->experiment, t->cell, "measure", what);
}

static size_t number(const struct trial *t, const char *name, size_t fallback)
{
    return (size_t)experiment_number(t->experiment, t->cell, name,
                                     (double)fallback);
}

/* The graph Stein discrepancy is dear, and may get by with fewer draws. */
static void put_stein(double *row, const struct trial *t)
{
    const size_t points = number(t, "stein_points", 1000);
    const size_t graph_points = number(t, "graph_points", points);
    const size_t most = number(t, "stein_chains", 20);
    const size_t n = t->n_chains < most ? t->n_chains : most;
    double *gsd = cli_alloc(2 * n, sizeof *gsd), *ksd = gsd + n;

    for (size_t k = 0; k < n; k++) {
        double *room;

        gsd[k] = ksd[k] = CLI_NAN;
        if (!t->tally[k].ran_away && wants(t, "gsd")) {
            const relmc_stein_sample s =
                stein_sample(t, k, graph_points, &room);

            gsd[k] = log_gsd(&s);
            free(room);
        }
        if (!t->tally[k].ran_away && wants(t, "ksd")) {
            const relmc_stein_sample s = stein_sample(t, k, points, &room);

            ksd[k] = log_ksd(&s, t->truth);
            free(room);
        }
    }
    put(row, S_LOG_GSD, gsd, n);
    put(row, S_LOG_KSD, ksd, n);
    free(gsd);
}

/* ---- against the truth ----------------------------------------------------- */

static void moments_of(const struct trial *t, size_t k, size_t i, double *mean,
                       double *variance)
{
    const double *x = t->x + k * t->n_draws * t->dim + i;
    const double n = (double)t->n_draws;
    double sum = 0.0, squares = 0.0;

    for (size_t j = 0; j < t->n_draws; j++) {
        sum += x[j * t->dim] / n;
    }
    for (size_t j = 0; j < t->n_draws; j++) {
        squares += (x[j * t->dim] - sum) * (x[j * t->dim] - sum);
    }
    *mean = sum;
    *variance = squares / (n - 1.0);
}

static void put_moments(double *row, const struct trial *t)
{
    const size_t n = t->n_chains;
    double *off = cli_alloc(2 * n, sizeof *off), *ratio = off + n;
    double found[S_N];

    for (size_t i = 0; i < t->dim; i++) {
        for (size_t k = 0; k < n; k++) {
            double mean, variance;
            const double sd = t->truth->sd[i];

            moments_of(t, k, i, &mean, &variance);
            const bool is_sound = !t->tally[k].ran_away;

            off[k] = is_sound ? (mean - t->truth->mean[i]) / sd : CLI_NAN;
            ratio[k] +=
                is_sound ? variance / (sd * sd) / (double)t->dim : CLI_NAN;
        }
        put(found, S_BIAS, off, n);
        if (i == 0 || fabs(found[S_BIAS]) > row[S_BIAS]) {
            row[S_BIAS] = fabs(found[S_BIAS]);
            row[S_BIAS_SE] = found[S_BIAS_SE];
        }
    }
    put(row, S_VAR_RATIO, ratio, n);
    free(off);
}

static double cruise_of(const struct trial *t)
{
    char *beta = experiment_text(t->experiment, t->cell, "beta");
    const double speed =
        beta ? relmc_cruise_speed(1, strtod(beta, NULL)) : CLI_NAN;

    free(beta);
    return speed;
}

/* ---- all of it ------------------------------------------------------------- */

static bool has_moved(const struct trial *t, size_t k)
{
    const double *x = t->x + k * t->n_draws * t->dim;
    const size_t n = t->n_draws * t->dim;

    for (size_t i = t->dim; i < n; i++) {
        if (x[i] != x[i % t->dim]) {
            return true;
        }
    }
    return false;
}

/* Failures and acceptance, from what the run reported of its chains. */
static void put_counts(double *row, const struct trial *t, double *room)
{
    const size_t n = t->n_chains;
    const double draws = (double)t->n_draws;
    double n_failed = 0.0;

    for (size_t k = 0; k < n; k++) {
        const relmc_progress *r = &t->tally[k].report;
        const double n_sampled = (double)(r->done - r->warmup);

        n_failed += t->tally[k].ran_away || !has_moved(t, k);
        room[k] = r->accept_prob;
        room[n + k] = r->speed;
        room[2 * n + k] = (double)r->n_grad_sampling / n_sampled;
        room[3 * n + k] = (double)r->n_divergent / n_sampled;
    }
    const double share = n_failed / (double)n;

    row[S_CHAINS] = (double)n;
    row[S_DRAWS] = draws;
    row[S_FAILED] = share;
    row[S_FAILED_SE] = sqrt(share * (1.0 - share) / (double)n);
    row[S_GRADIENTS] = mean_of(room + 2 * n, n).mean;
    row[S_DIVERGENT] = mean_of(room + 3 * n, n).mean;
    put(row, S_ACCEPT, room, n);
    put(row, S_SPEED, room + n, n);
    row[S_CRUISE] = cruise_of(t);
}

static void put_all(double *row, const struct trial *t)
{
    const size_t n = t->n_chains;
    double *room = cli_alloc(4 * n, sizeof *room);

    put_counts(row, t, room);
    if (wants(t, "ess")) {
        for (size_t k = 0; k < n; k++) {
            room[k] = t->tally[k].ran_away ? CLI_NAN : ess_of(t, k);
        }
        put(row, S_ESS, room, n);
    }
    if (wants(t, "mae")) {
        for (size_t k = 0; k < n; k++) {
            room[k] = mae_of(t, k, &row[S_MAE_FLOOR]);
        }
        put(row, S_MAE, room, n);
    }
    free(room);
    if (wants(t, "gsd") || wants(t, "ksd")) {
        put_stein(row, t);
    }
    if (t->truth) {
        put_moments(row, t);
    }
}

/* ---- the cell -------------------------------------------------------------- */

static int measure_with(struct cell_rows *rows, struct trial *t)
{
    const size_t n = t->n_chains;

    t->dim = relmc_target_dim(t->target);
    t->x = cli_alloc(n * t->n_draws * t->dim, sizeof *t->x);
    t->tally = cli_alloc(n, sizeof *t->tally);
    const int code = sample(t);

    if (!code) {
        put_all(cell_rows_add(rows, 1, S_N), t);
    }
    free(t->x);
    free(t->tally);
    return code;
}

static int run_cell(struct cell_rows *rows, const struct experiment *e,
                    const struct cell *cell)
{
    struct trial t = {
        .experiment = e,
        .cell = cell,
        .n_chains = (size_t)experiment_number(e, cell, "chains", 20),
        .n_draws = (size_t)experiment_number(e, cell, "draws", 1000),
    };
    char *model = experiment_text(e, cell, "model");
    int code = model ? model_open_plain(&t.target, model, e->who)
                     : cli_fail(CLI_IO, e->who, "%s: no model", cell->key);

    if (!code && wants(&t, "moments")) {
        t.truth = truth_of(model, t.target, e->who);
        code = t.truth ? CLI_OK : CLI_MODEL;
    }
    free(model);
    if (!code) {
        code = measure_with(rows, &t);
    }
    relmc_target_destroy(t.target);
    return code;
}

const struct measure measure_sampling = {"sampling", columns, run_cell};
