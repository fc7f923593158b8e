/* sampling.c - a cell that is sampled: chains from the target, and how good they
 * are. */
#include "reproduce.h"

#include "model.h"

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
    S_FAILED, /* share of chains whose draws are not finite */
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
    [S_N] = NULL,
};

struct trial {
    const struct experiment *experiment;
    const struct cell *cell;
    relmc_target *target;
    size_t dim, n_chains, n_draws;
    double *x;        /* n_chains x n_draws x dim */
    double *accept;   /* sums over the draws of a chain ... */
    double *speed;    /* ... */
    double *n_grad;   /* ... */
    double *n_broken; /* draws that diverged */
    bool *is_finite;  /* all draws of the chain are */
};

/* ---- the run --------------------------------------------------------------- */

static relmc_status keep(void *ctx, const relmc_draw *draw)
{
    struct trial *t = ctx;
    const size_t k = draw->chain;
    double *x = t->x + (k * t->n_draws + (size_t)draw->index) * t->dim;

    for (size_t i = 0; i < t->dim; i++) {
        x[i] = draw->coordinates[i];
        t->is_finite[k] = t->is_finite[k] && isfinite(x[i]);
    }
    t->accept[k] += draw->accept_prob;
    t->speed[k] += draw->speed;
    t->n_grad[k] += draw->n_grad;
    t->n_broken[k] += draw->divergent;
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
        status = relmc_run_all(run, err);
    }
    relmc_run_destroy(run);
    return status;
}

/* Starts are exact draws where there are such, so that what is seen is the chain
 * in equilibrium; "start": "random" asks for the library's own. */
static double *find_starts(const struct trial *t, uint64_t seed)
{
    char *how = experiment_text(t->experiment, t->cell, "start");
    double *starts = cli_alloc(t->n_chains * t->dim, sizeof *starts);
    const bool is_random = how && !strcmp(how, "random");

    free(how);
    if (is_random || relmc_target_draw(t->target, seed ^ 1, t->n_chains, starts,
                                       NULL) != RELMC_OK) {
        free(starts);
        return NULL;
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
        .warmup = warmup > 0 ? (int64_t)warmup : RELMC_NONE,
        .chains = (uint32_t)t->n_chains,
        .lanes = (uint32_t)(t->n_chains < 100 ? t->n_chains : 100),
        .thin = (uint32_t)experiment_number(t->experiment, t->cell, "thin", 1),
        .step_size = step ? strtod(step, NULL) : 0.0,
        .init = starts,
        .batch =
            (uint32_t)experiment_number(t->experiment, t->cell, "batch", 0),
    };
    const relmc_status status = run_chains(t, &options, &err);

    free(sampler);
    free(kinetic);
    free(integrator);
    free(step);
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

/* `n` draws of a chain, evenly spread, with their scores; free *out. */
static relmc_stein_sample stein_sample(const struct trial *t, size_t k,
                                       size_t n, double **out)
{
    const size_t dim = t->dim;
    double *room = cli_alloc(2 * n * dim, sizeof *room);
    relmc_stein_sample s = {n, dim, room, room + n * dim, NULL};

    *out = room;
    for (size_t i = 0; i < n; i++) {
        const size_t at = (i + 1) * t->n_draws / n - 1;
        double lp;

        memcpy(room + i * dim, t->x + (k * t->n_draws + at) * dim,
               dim * sizeof *room);
        (void)relmc_target_eval(t->target, room + i * dim, &lp,
                                room + (n + i) * dim, NULL);
    }
    return s;
}

static double log_gsd(const relmc_stein_sample *s)
{
    relmc_graph_stein_report report = {.lower = CLI_NAN};
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

static double log_ksd(const relmc_stein_sample *s)
{
    relmc_ksd_report report = {.ksd = CLI_NAN};

    (void)relmc_ksd(&report, s, NULL, NULL);
    return log(report.ksd);
}

static double mae_of(const struct trial *t, size_t k, double *floor)
{
    relmc_mae_report report = {.mae = CLI_NAN, .mae_floor = CLI_NAN};

    (void)relmc_mae(&report, t->target, t->n_draws,
                    t->x + k * t->n_draws * t->dim, NULL);
    *floor = report.mae_floor;
    return report.mae;
}

/* The mean over the chains; NaN if one of them has none. */
static void put(double *row, size_t column, const double *values, size_t n)
{
    const struct mean_se found = mean_of(values, n);

    row[column] = found.mean;
    row[column + 1] = found.se;
}

static bool wants(const struct trial *t, const char *what)
{
    return experiment_lists(t->experiment, t->cell, "measure", what);
}

static void put_stein(double *row, const struct trial *t)
{
    const size_t points =
        (size_t)experiment_number(t->experiment, t->cell, "stein_points", 1000);
    const size_t most =
        (size_t)experiment_number(t->experiment, t->cell, "stein_chains", 20);
    const size_t n = t->n_chains < most ? t->n_chains : most;
    double *gsd = cli_alloc(2 * n, sizeof *gsd), *ksd = gsd + n;

    for (size_t k = 0; k < n; k++) {
        gsd[k] = ksd[k] = CLI_NAN;
        if (t->is_finite[k]) {
            double *room;
            const relmc_stein_sample s = stein_sample(
                t, k, points < t->n_draws ? points : t->n_draws, &room);

            gsd[k] = wants(t, "gsd") ? log_gsd(&s) : CLI_NAN;
            ksd[k] = wants(t, "ksd") ? log_ksd(&s) : CLI_NAN;
            free(room);
        }
    }
    put(row, S_LOG_GSD, gsd, n);
    put(row, S_LOG_KSD, ksd, n);
    free(gsd);
}

static double cruise_of(const struct trial *t)
{
    char *beta = experiment_text(t->experiment, t->cell, "beta");
    const double speed =
        beta ? relmc_cruise_speed(1, strtod(beta, NULL)) : CLI_NAN;

    free(beta);
    return speed;
}

static void put_all(double *row, const struct trial *t)
{
    const size_t n = t->n_chains;
    const double draws = (double)t->n_draws;
    double *v = cli_alloc(4 * n, sizeof *v);
    size_t n_failed = 0;

    for (size_t k = 0; k < n; k++) {
        n_failed += !t->is_finite[k];
        v[k] = t->accept[k] / draws;
        v[n + k] = t->speed[k] / draws;
        v[2 * n + k] = t->n_grad[k] / draws;
        v[3 * n + k] = t->n_broken[k] / draws;
    }
    row[S_CHAINS] = (double)n;
    row[S_DRAWS] = draws;
    row[S_FAILED] = (double)n_failed / (double)n;
    put(row, S_ACCEPT, v, n);
    put(row, S_SPEED, v + n, n);
    row[S_CRUISE] = cruise_of(t);
    row[S_GRADIENTS] = mean_of(v + 2 * n, n).mean;
    row[S_DIVERGENT] = mean_of(v + 3 * n, n).mean;
    for (size_t k = 0; wants(t, "ess") && k < n; k++) {
        v[k] = t->is_finite[k] ? ess_of(t, k) : CLI_NAN;
    }
    if (wants(t, "ess")) {
        put(row, S_ESS, v, n);
    }
    for (size_t k = 0; wants(t, "mae") && k < n; k++) {
        v[k] = mae_of(t, k, &row[S_MAE_FLOOR]);
    }
    if (wants(t, "mae")) {
        put(row, S_MAE, v, n);
    }
    free(v);
    if (wants(t, "gsd") || wants(t, "ksd")) {
        put_stein(row, t);
    }
}

/* ---- the cell -------------------------------------------------------------- */

static int measure_with(struct cell_rows *rows, struct trial *t)
{
    const size_t n = t->n_chains;

    t->dim = relmc_target_dim(t->target);
    t->x = cli_alloc(n * t->n_draws * t->dim, sizeof *t->x);
    t->accept = cli_alloc(4 * n, sizeof *t->accept);
    t->speed = t->accept + n;
    t->n_grad = t->accept + 2 * n;
    t->n_broken = t->accept + 3 * n;
    t->is_finite = cli_alloc(n, sizeof *t->is_finite);
    memset(t->is_finite, true, n * sizeof *t->is_finite);
    const int code = sample(t);

    if (!code) {
        put_all(cell_rows_add(rows, 1, S_N), t);
    }
    free(t->x);
    free(t->accept);
    free(t->is_finite);
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

    free(model);
    if (!code) {
        code = measure_with(rows, &t);
    }
    relmc_target_destroy(t.target);
    return code;
}

const struct measure measure_sampling = {"sampling", columns, run_cell};
