/*
 * reference.c - compares estimates with values that are known, exactly or from
 * reference draws.
 *
 *   [zscore]  z = (estimate - known) / sqrt(mcse^2 + error^2)
 */
#include "base/base.h"
#include "base/sized_struct.h"
#include "relmc_diag.h"

#include <math.h>

static const double unknown = (double)NAN;

/* Estimates of the quantiles at the known levels, in memory of the arena. */
static relmc_status quantiles_of(relmc_quantile **out, relmc_arena *arena,
                                 const relmc_series *series,
                                 const relmc_known *known, relmc_error *err)
{
    const size_t n = known->n_quantiles;

    *out = relmc_arena_get(arena, (n + 1) * sizeof **out);
    if (n && !(known->level && known->quantile)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "known: %zu quantiles need level and quantile", n);
    }
    const relmc_status status = relmc_arena_check(arena, err);

    return status || n == 0
               ? status
               : relmc_quantiles(*out, series, n, known->level, err);
}

relmc_status relmc_known_from(relmc_known *known, const relmc_series *reference,
                              relmc_error *err)
{
    relmc_arena arena = {0};
    relmc_quantile *q = NULL;
    relmc_summary summary = RELMC_INIT(relmc_summary);
    relmc_status status = relmc_summarise(&summary, reference, err);

    if (!status &&
        !(status = quantiles_of(&q, &arena, reference, known, err))) {
        known->mean = summary.mean;
        known->sd = summary.sd;
        known->mean_error = summary.mcse_mean;
        known->sd_error = summary.mcse_sd;
        for (size_t i = 0; i < known->n_quantiles; i++) {
            known->quantile[i] = q[i].value;
            if (known->quantile_error) {
                known->quantile_error[i] = q[i].mcse;
            }
        }
    }
    rmc_arena_release(&arena);
    return status;
}

/* [zscore]  NaN if nothing is known.  In *worst an undefined score, of a chain
 * that never moved, counts as infinite. */
static double zscore(double estimate, double mcse, double known, double error,
                     double *worst)
{
    if (known != known) {
        return unknown;
    }
    const double se = sqrt(mcse * mcse + error * error);
    /* quantiles of draws with few distinct values may have mcse 0 */
    const double z =
        se == 0.0 && estimate == known ? 0.0 : (estimate - known) / se;

    *worst = fmax(*worst, z == z ? fabs(z) : HUGE_VAL);
    return z;
}

relmc_status relmc_zscore(relmc_zscores *out, double *quantile,
                          const relmc_series *series, const relmc_known *known,
                          relmc_error *err)
{
    relmc_arena arena = {0};
    relmc_quantile *q = NULL;
    relmc_summary s = RELMC_INIT(relmc_summary);
    relmc_status status = relmc_summarise(&s, series, err);

    if (!status && !(status = quantiles_of(&q, &arena, series, known, err))) {
        relmc_zscores found = {0};
        double worst = 0.0;

        found.mean =
            zscore(s.mean, s.mcse_mean, known->mean, known->mean_error, &worst);
        found.sd = zscore(s.sd, s.mcse_sd, known->sd, known->sd_error, &worst);
        for (size_t i = 0; i < known->n_quantiles; i++) {
            const double error =
                known->quantile_error ? known->quantile_error[i] : 0.0;
            const double z = zscore(q[i].value, q[i].mcse, known->quantile[i],
                                    error, &worst);

            if (quantile) {
                quantile[i] = z;
            }
        }
        found.worst = worst;
        status =
            rmc_sized_fill(out, &found, sizeof found, "relmc_zscores", err);
    }
    rmc_arena_release(&arena);
    return status;
}
