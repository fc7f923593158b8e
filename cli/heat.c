/*
 * heat.c - the temperature of draws, from the exact gradients at some of them.
 *
 *   [virial]  E (x - a) . grad U = d T  for draws of exp(-U / T), any constant a
 *
 * Steps that are too long, and the noise of minibatches, make draws too hot, and
 * neither R-hat nor ESS would tell.
 */
#include "heat.h"

#include <math.h>
#include <stdlib.h>

enum { FEWEST = 12 }; /* of a chain: what its effective size needs */

/* The last n draws of chain k, a row each. */
static const double *last_draws(const struct record *record, size_t k, size_t n)
{
    size_t n_rows = 0;
    const double *rows = relmc_run_draws(record->run, k, &n_rows);

    return rows + (n_rows - n) * record->dim;
}

static void find_mean(double *mean, const struct record *record, size_t n)
{
    const size_t dim = record->dim;

    for (size_t k = 0; k < record->n_chains; k++) {
        const double *x = last_draws(record, k, n);

        for (size_t t = 0; t < n; t++) {
            for (size_t i = 0; i < dim; i++) {
                mean[i] += x[t * dim + i];
            }
        }
    }
    for (size_t i = 0; i < dim; i++) {
        mean[i] /= (double)(n * record->n_chains);
    }
}

/* [virial] (x - mean) . grad U over d; NaN where there is no gradient. */
static double virial_at(const relmc_target *target, size_t dim, const double *x,
                        const double *mean, double *grad)
{
    double lp = 0.0, sum = 0.0;

    if (relmc_target_eval(target, x, &lp, grad, NULL)) {
        return CLI_NAN;
    }
    for (size_t i = 0; i < dim; i++) {
        sum -= (x[i] - mean[i]) * grad[i];
    }
    return sum / (double)dim;
}

struct heat heat_measure(const relmc_target *target,
                         const struct record *record, size_t n, size_t n_points,
                         double temperature)
{
    const size_t dim = record->dim, n_chains = record->n_chains;
    const size_t each = n_points / n_chains < n ? n_points / n_chains : n;
    struct heat heat = {CLI_NAN, CLI_NAN};
    relmc_summary s;

    if (each < FEWEST || dim != relmc_target_dim(target)) {
        return heat;
    }
    double *mean = cli_alloc(dim, sizeof *mean);
    double *grad = cli_alloc(dim, sizeof *grad);
    double *virial = cli_alloc(n_chains * each, sizeof *virial);

    find_mean(mean, record, n);
    for (size_t k = 0; k < n_chains; k++) {
        const double *x = last_draws(record, k, n);

        for (size_t j = 0; j < each; j++) {
            virial[k * each + j] =
                virial_at(target, dim, x + j * n / each * dim, mean, grad);
        }
    }
    const relmc_series series = {virial, n_chains, each, 1, each};
    if (!relmc_summarise(&s, &series, NULL)) {
        heat.ratio = s.mean / temperature;
        heat.error = s.mcse_mean / temperature;
    }
    free(mean);
    free(grad);
    free(virial);
    return heat;
}
