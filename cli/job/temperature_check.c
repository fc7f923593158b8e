/* temperature_check.c - the temperature of draws, from the exact gradients at
 * some of them. */
#include "job/temperature_check.h"
#include "relmc_diag.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST = 12 }; /* of a chain: what its effective size needs */

static void find_mean(double *mean, const struct record *record, size_t n)
{
    const size_t dim = record->dim;

    for (size_t k = 0; k < record->n_chains; k++) {
        const double *x = record_last(record, k, n);

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

/* `each` of the last n draws of every chain, a row each. */
static void take_points(double *to, const struct record *record, size_t n,
                        size_t each)
{
    const size_t dim = record->dim;

    for (size_t k = 0; k < record->n_chains; k++) {
        const double *x = record_last(record, k, n);

        for (size_t j = 0; j < each; j++, to += dim) {
            memcpy(to, x + j * n / each * dim, dim * sizeof *to);
        }
    }
}

struct heat temperature_check(const relmc_target *target,
                              const struct record *record, size_t n,
                              size_t n_points, double temperature)
{
    const size_t dim = record->dim, n_chains = record->n_chains;
    const size_t each = n_points / n_chains < n ? n_points / n_chains : n;
    struct heat heat = {CLI_NAN, CLI_NAN};
    relmc_temperature_report report = RELMC_INIT(relmc_temperature_report);

    if (each < FEWEST || dim != relmc_target_dim(target)) {
        return heat;
    }
    double *mean = cli_alloc(dim, sizeof *mean);
    double *x = cli_alloc(n_chains * each * dim, sizeof *x);

    find_mean(mean, record, n);
    take_points(x, record, n, each);
    if (!relmc_temperature(&report, target, n_chains * each, n_chains, x, mean,
                           NULL)) {
        heat.ratio = report.temperature / temperature;
        heat.error = report.standard_error / temperature;
    }
    free(mean);
    free(x);
    return heat;
}
