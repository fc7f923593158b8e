/* run_metric.c - the inverse metric S S' of a chain. */
#include "run/run.h"

/* The diagonal of S S'. */
void rmc_run_inv_metric(const relmc_system *sys, size_t k, double *out)
{
    const relmc_scale *scale = &sys->frame.scale;
    const size_t dim = sys->shape.dim;

    for (size_t i = 0; i < dim; i++) {
        double sum = scale->chol ? 0.0 : 1.0;

        for (size_t j = 0; scale->chol && j <= i; j++) {
            sum += scale->chol[i * dim + j] * scale->chol[i * dim + j];
        }
        for (size_t r = 0; r < scale->rank; r++) {
            const double u = scale->low_rank[r * dim + i];
            sum += (scale->factor[r] * scale->factor[r] - 1.0) * u * u;
        }
        if (scale->diag) {
            const double sd = scale->diag[i * sys->shape.ld + k];
            sum *= sd * sd;
        }
        out[i] = sum;
    }
}

/* Element (i, j), j <= i. */
static double element(const relmc_system *sys, size_t k, size_t i, size_t j)
{
    const relmc_scale *scale = &sys->frame.scale;
    const size_t dim = sys->shape.dim, ld = sys->shape.ld;
    double sum = !scale->chol && i == j ? 1.0 : 0.0;

    for (size_t r = 0; scale->chol && r <= j; r++) {
        sum += scale->chol[i * dim + r] * scale->chol[j * dim + r];
    }
    for (size_t r = 0; r < scale->rank; r++) {
        const double *u = scale->low_rank + r * dim, f = scale->factor[r];
        sum += (f * f - 1.0) * u[i] * u[j];
    }
    return scale->diag ? sum * scale->diag[i * ld + k] * scale->diag[j * ld + k]
                       : sum;
}

relmc_status relmc_run_metric(const relmc_run *run, uint32_t chain,
                              const char **kind, double *diagonal,
                              double *dense, relmc_error *err)
{
    const size_t lanes = run->opts.lanes, dim = run->target->dim;

    if (chain >= run->opts.chains) {
        return rmc_fail(err, RELMC_EINVAL, "run: no chain %u, there are %u",
                        chain, run->opts.chains);
    }
    const relmc_system *sys = &run->ensembles[chain / lanes].sys;
    const relmc_scale *scale = &sys->frame.scale;
    if (diagonal) {
        rmc_run_inv_metric(sys, chain % lanes, diagonal);
    }
    for (size_t i = 0; dense && i < dim; i++) {
        for (size_t j = 0; j <= i; j++) {
            dense[i * dim + j] = dense[j * dim + i] =
                element(sys, chain % lanes, i, j);
        }
    }
    if (kind) {
        *kind = scale->chol   ? "dense"
                : scale->rank ? "low rank"
                : scale->diag ? "diagonal"
                              : "unit";
    }
    return RELMC_OK;
}
