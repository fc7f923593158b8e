/* compare_model.c - draws against the density of the built-in model that their
 * files name: histogram error and Stein discrepancies. */
#define _POSIX_C_SOURCE 200809L

#include "relmc_diag.h"
#include "relmc_format.h"
#include "report/compare.h"

#ifdef RELMC_HAS_GRAPH_STEIN
#include "relmc_extra.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* With more draws than this, not all pairs are computed. */
enum { ALL_PAIRS = 20000 };
/* Above this dimension the bound from landmarks is too weak. */
enum { LANDMARK_DIM = 3 };

/* ---- the model and its coordinates --------------------------------------- */

static void give_up(struct fit *fit, char *why)
{
    relmc_target_destroy(fit->target);
    free(fit->coordinate);
    fit->target = NULL;
    fit->coordinate = NULL;
    fit->why_not = why;
}

/* The column of a name, or CHAIN_SKIP; it is likely to be `guess`. */
static size_t column_of(const struct draws *draws, const char *name,
                        size_t guess)
{
    const size_t n = draws->files[0].n_columns;

    for (size_t j = 0; j < n; j++) {
        const size_t column = (guess + j) % n;

        if (!strcmp(draws_name(draws, column), name)) {
            return column;
        }
    }
    return CHAIN_SKIP;
}

void compare_model_open(struct fit *fit, struct draws *draws,
                        const bool *is_chosen)
{
    const char *spec = draws_setting(draws, RELMC_KEY_SPEC);
    const size_t n_columns = draws->files[0].n_columns;
    relmc_error err = {0};

    *fit = (struct fit){.ksd = CLI_NAN, .ksd_error = CLI_NAN};
    if (!spec) {
        fit->why_not = cli_text("its files name no built-in model");
        return;
    }
    if (relmc_target_open(&fit->target, spec, NULL, &err)) {
        fit->why_not = cli_text("%s is no built-in model", spec);
        return;
    }
    fit->dim = relmc_target_dim(fit->target);
    fit->coordinate = cli_alloc(n_columns, sizeof *fit->coordinate);
    for (size_t j = 0; j < n_columns; j++) {
        fit->coordinate[j] = CHAIN_SKIP;
    }
    for (size_t i = 0, column = 0; i < fit->dim; i++) {
        char name[CLI_NAME];

        relmc_target_coordinate_name(fit->target, i, name, sizeof name);
        column = column_of(draws, name, column + 1);
        if (column == CHAIN_SKIP) {
            give_up(fit, cli_text("its files have no column %s", name));
            return;
        }
        fit->coordinate[column] = i;
        if (!is_chosen[column]) {
            draws_add(draws, column);
        }
    }
}

/* As many draws of every chain as fit. */
static size_t rows_that_fit(const struct fit *fit, const struct fit_plan *plan,
                            const relmc_series *series)
{
    const double all = (double)(series->n_chains * series->n_draws);
    const double rows = plan->memory / ((double)fit->dim * sizeof(double));

    return reference_share(rows < all ? (size_t)rows : (size_t)all, series);
}

void compare_model_take(struct fit *fit, const struct fit_plan *plan,
                        size_t column, const relmc_series *series)
{
    if (!fit->target || fit->coordinate[column] == CHAIN_SKIP) {
        return;
    }
    const size_t n_each = rows_that_fit(fit, plan, series);
    double *one = cli_alloc(series->n_chains * n_each, sizeof *one);

    if (!fit->x) {
        fit->n = series->n_chains * n_each;
        fit->n_all = series->n_chains * series->n_draws;
        fit->x = cli_alloc(fit->n * fit->dim, sizeof *fit->x);
    }
    reference_thin(one, n_each, series);
    for (size_t t = 0; t < fit->n; t++) {
        fit->x[t * fit->dim + fit->coordinate[column]] = one[t];
    }
    free(one);
}

void compare_model_clear(struct fit *fit)
{
    relmc_target_destroy(fit->target);
    free(fit->why_not);
    free(fit->coordinate);
    free(fit->x);
}

/* ---- one way for all runs ------------------------------------------------ */

/* The linear programmes grow quickly with the dimension. */
static size_t usual_graph(size_t dim)
{
    return dim == 1 ? 20000 : dim == 2 ? 1000 : dim == 3 ? 500 : 200;
}

void compare_model_count(struct fit_plan *plan, const struct fit *fit)
{
    if (fit->target) {
        const bool is_least = plan->least == 0 || fit->n < plan->least;

        plan->most = fit->n > plan->most ? fit->n : plan->most;
        plan->least = is_least ? fit->n : plan->least;
        plan->dim = fit->dim > plan->dim ? fit->dim : plan->dim;
    }
}

void compare_model_settle(struct fit_plan *plan)
{
    const size_t wanted =
        plan->n_graph ? plan->n_graph : usual_graph(plan->dim);

    plan->kind = !plan->wants_ksd            ? KSD_NONE
                 : plan->most <= ALL_PAIRS   ? KSD_ALL
                 : plan->dim <= LANDMARK_DIM ? KSD_BOUND
                                             : KSD_BLOCKS;
    plan->n_graph_each = wanted < plan->least ? wanted : plan->least;
}

/* ---- Stein --------------------------------------------------------------- */

static uint32_t n_threads(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > 64 ? 64 : (uint32_t)n;
}

/* Gradients of the log density at n draws, evenly spread; both yours. */
static int score(double **x, double **scores, const struct fit *fit, size_t n,
                 relmc_error *err)
{
    const size_t dim = fit->dim;

    *x = cli_alloc(n * dim, sizeof **x);
    *scores = cli_alloc(n * dim, sizeof **scores);
    for (size_t i = 0; i < n; i++) {
        const size_t t = (size_t)((double)i * (double)fit->n / (double)n);
        double lp;

        memcpy(*x + i * dim, fit->x + t * dim, dim * sizeof(double));
        const relmc_status status = relmc_target_eval(
            fit->target, 1, *x + i * dim, &lp, *scores + i * dim, err);
        if (status) {
            return status;
        }
    }
    return 0;
}

/* The exact standard deviations, on a diagonal: one scale for all runs of a
 * model.  Where there is none, 1. */
static double *scale_of(const struct fit *fit)
{
    const size_t dim = fit->dim;
    double *mean = cli_alloc(2 * dim, sizeof *mean);
    double *scale = cli_alloc(dim * dim, sizeof *scale);
    const bool is_known =
        !relmc_target_moments(fit->target, mean, mean + dim, NULL);

    for (size_t i = 0; i < dim; i++) {
        const double variance = mean[dim + i];

        scale[i * dim + i] = is_known && variance > 0.0 && isfinite(variance)
                                 ? sqrt(variance)
                                 : 1.0;
    }
    free(mean);
    return scale;
}

static relmc_status kernel(struct fit *fit, const relmc_stein_sample *sample,
                           relmc_error *err)
{
    double *scale = scale_of(fit);
    const relmc_ksd_options options = {
        .size = sizeof options, .cholesky = scale, .threads = n_threads()};
    relmc_status status;

    if (fit->kind == KSD_ALL) {
        relmc_ksd_report report = {.size = sizeof report, .ksd = CLI_NAN};

        status = relmc_ksd(&report, sample, &options, err);
        fit->ksd = report.ksd;
    } else if (fit->kind == KSD_BOUND) {
        relmc_ksd_bound bound = {.size = sizeof bound, .ksd = CLI_NAN};

        status = relmc_ksd_nystrom(&bound, sample, &options, err);
        fit->ksd = bound.ksd;
    } else {
        relmc_ksd_estimate estimate = {sizeof estimate, CLI_NAN, CLI_NAN, 0};

        status = relmc_ksd_blocks(&estimate, sample, &options, err);
        fit->ksd = estimate.u;
        fit->ksd_error = estimate.standard_error;
    }
    free(scale);
    return status;
}

static relmc_status graph(struct fit *fit, const relmc_stein_sample *sample,
                          relmc_error *err)
{
    const relmc_graph_stein_options options = {.size = sizeof options,
                                               .threads = n_threads()};

    if (fit->dim == 1) {
        return relmc_graph_stein_line(&fit->graph, sample, &options, err);
    }
#ifdef RELMC_HAS_GRAPH_STEIN
    return relmc_graph_stein(&fit->graph, sample, &options, err);
#else
    return RELMC_EUNSUPP; /* was refused before */
#endif
}

static bool can_graph(const struct fit *fit)
{
#ifdef RELMC_HAS_GRAPH_STEIN
    (void)fit;
    return true;
#else
    return fit->dim == 1;
#endif
}

static int compute_kernel(struct fit *fit, relmc_error *err)
{
    double *x = NULL;
    double *scores = NULL;
    int status = score(&x, &scores, fit, fit->n, err);
    const relmc_stein_sample sample = {fit->n, fit->dim, x, scores, NULL};

    if (!status) {
        status = (int)kernel(fit, &sample, err);
    }
    free(x);
    free(scores);
    return status;
}

static int compute_graph(struct fit *fit, size_t n, relmc_error *err)
{
    double *x = NULL;
    double *scores = NULL;
    int status = score(&x, &scores, fit, n, err);
    const relmc_stein_sample sample = {n, fit->dim, x, scores, NULL};

    if (!status) {
        fit->graph = (relmc_graph_stein_report){
            .size = sizeof fit->graph, .lower = CLI_NAN, .upper = CLI_NAN};
        fit->n_graph = n;
        status = (int)graph(fit, &sample, err);
    }
    free(x);
    free(scores);
    return status;
}

int compare_model_compute(struct fit *fit, const struct fit_plan *plan,
                          const char *who, const char *label,
                          const struct voice *voice)
{
    relmc_error err = {0};

    if (!fit->target) {
        return CLI_OK;
    }
    /* stays empty for models without bins */
    fit->mae.size = sizeof fit->mae;
    (void)relmc_mae(&fit->mae, fit->target, fit->n, fit->x, NULL);
    fit->kind = plan->kind;
    if (fit->kind && compute_kernel(fit, &err)) {
        fit->ksd = fit->ksd_error = CLI_NAN;
        cli_warn(voice, "%s: no KSD: %s", label, err.message);
    }
    if (!plan->wants_graph) {
        return CLI_OK;
    }
    if (!can_graph(fit)) {
        return cli_fail(CLI_USAGE, who,
                        "--stein graph: %s has %zu coordinates; more than one "
                        "need librelmc-extra with CHOLMOD, which this tool "
                        "was not built with",
                        label, fit->dim);
    }
    if (compute_graph(fit, plan->n_graph_each, &err)) {
        cli_warn(voice, "%s: graph Stein: %s", label, err.message);
    }
    return CLI_OK;
}
