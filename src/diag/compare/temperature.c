/*
 * temperature.c - estimates the temperature of draws made without a Metropolis
 * step.
 *
 *   [virial]  E (x - a) . grad U = d T  for draws of exp(-U / T) and any
 *             constant a
 *
 * Steps that are too long, and the noise of minibatches, make draws too hot.
 * They do so in all chains alike, so neither R-hat nor ESS shows it.
 */
#include "base/base.h"
#include "base/sized_struct.h"
#include "relmc_diag.h"

#include <stdlib.h>

static relmc_status check(const relmc_target *target, size_t n, size_t n_chains,
                          const double *x, relmc_error *err)
{
    if (!target || !x) {
        return rmc_fail(err, RELMC_EINVAL,
                        "temperature: target and x must not be NULL");
    }
    if (n == 0 || n_chains == 0 || n % n_chains) {
        return rmc_fail(err, RELMC_EINVAL,
                        "temperature: n must be a multiple of n_chains, not "
                        "%zu with %zu chains",
                        n, n_chains);
    }
    return RELMC_OK;
}

static void find_mean(size_t n, size_t dim, const double *x, double *mean)
{
    for (size_t t = 0; t < n; t++) {
        for (size_t i = 0; i < dim; i++) {
            mean[i] += x[t * dim + i] / (double)n;
        }
    }
}

/* [virial] of every draw: (x - a) . grad U / d */
static relmc_status find_heat(const relmc_target *target, size_t n,
                              const double *x, const double *a, double *grad,
                              double *out, relmc_error *err)
{
    const size_t dim = relmc_target_dim(target);

    for (size_t t = 0; t < n; t++, x += dim) {
        double lp, sum = 0.0;
        const relmc_status status =
            relmc_target_eval(target, 1, x, &lp, grad, err);

        if (status == RELMC_REJECT) {
            return rmc_fail(err, RELMC_EINVAL,
                            "temperature: the target has no density at draw "
                            "%zu",
                            t);
        }
        if (status) {
            return status;
        }
        for (size_t i = 0; i < dim; i++) {
            sum -= (x[i] - a[i]) * grad[i];
        }
        out[t] = sum / (double)dim;
    }
    return RELMC_OK;
}

relmc_status relmc_temperature(relmc_temperature_report *out,
                               const relmc_target *target, size_t n,
                               size_t n_chains, const double *x,
                               const double *center, relmc_error *err)
{
    relmc_status status = check(target, n, n_chains, x, err);

    if (status) {
        return status;
    }
    const size_t dim = relmc_target_dim(target), each = n / n_chains;
    double *mean = calloc(dim, sizeof *mean), *grad = calloc(dim, sizeof *grad);
    double *heat = calloc(n, sizeof *heat);
    const relmc_series series = {heat, n_chains, each, 1, each};
    relmc_summary s = RELMC_INIT(relmc_summary);

    if (!mean || !grad || !heat) {
        status = rmc_fail(err, RELMC_ENOMEM, "temperature: out of memory");
    } else {
        find_mean(n, dim, x, mean);
        status =
            find_heat(target, n, x, center ? center : mean, grad, heat, err);
    }
    if (!status && !(status = relmc_summarise(&s, &series, err))) {
        const relmc_temperature_report found = {.temperature = s.mean,
                                                .standard_error = s.mcse_mean};

        status = rmc_sized_fill(out, &found, sizeof found,
                                "relmc_temperature_report", err);
    }
    free(mean);
    free(grad);
    free(heat);
    return status;
}
