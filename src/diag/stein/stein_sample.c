/* stein_sample.c - checks draws, scores and weights before they are used. */
#include "diag/stein/stein_sample.h"
#include "relmc_diag.h"

#include <stdlib.h>

static relmc_status check_finite(const char *who, const char *what,
                                 const double *a, size_t n, size_t dim,
                                 relmc_error *err)
{
    for (size_t i = 0; i < n * dim; i++) {
        if (!rmc_is_finite(a[i])) {
            return rmc_fail(err, RELMC_EINVAL,
                            "%s: %s %zu of draw %zu is not finite", who, what,
                            i % dim, i / dim);
        }
    }
    return RELMC_OK;
}

relmc_status rmc_stein_check(const char *who, const relmc_stein_sample *sample,
                             relmc_error *err)
{
    if (!sample || !sample->x || !sample->score) {
        return rmc_fail(err, RELMC_EINVAL, "%s: x and score must not be NULL",
                        who);
    }
    if (sample->n == 0 || sample->dim == 0) {
        return rmc_fail(err, RELMC_EINVAL, "%s: n and dim must be at least 1",
                        who);
    }
    if (sample->n > SIZE_MAX / sizeof(double) / sample->dim) {
        return rmc_fail(err, RELMC_EINVAL, "%s: n x dim is too large", who);
    }
    relmc_status status =
        check_finite(who, "coordinate", sample->x, sample->n, sample->dim, err);
    if (!status) {
        status = check_finite(who, "score", sample->score, sample->n,
                              sample->dim, err);
    }
    if (!status && sample->weight) {
        status = check_finite(who, "weight", sample->weight, sample->n, 1, err);
    }
    return status;
}

relmc_status rmc_stein_weights(const char *who,
                               const relmc_stein_sample *sample, double *out,
                               relmc_error *err)
{
    const double n = (double)sample->n;
    double sum = 0.0;

    for (size_t i = 0; i < sample->n; i++) {
        out[i] = sample->weight ? sample->weight[i] : 1.0 / n;
        sum += out[i];
    }
    if (!sample->weight) {
        return RELMC_OK;
    }
    if (!(sum > 0.0) || !rmc_is_finite(sum)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "%s: the sum of the weights must be positive, not %g",
                        who, sum);
    }
    for (size_t i = 0; i < sample->n; i++) {
        out[i] /= sum;
    }
    return RELMC_OK;
}

void *rmc_stein_alloc(size_t n, size_t m, size_t size)
{
    if (m && n > SIZE_MAX / m / size) {
        return NULL;
    }
    return calloc(n > 0 && m > 0 ? n * m : 1, size);
}
