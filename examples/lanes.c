/* lanes.c - logistic regression of many chains at once: each row of the data
 * is read once for all lanes.
 *   cc lanes.c $(pkg-config --cflags --libs relmc) -lm && ./a.out */
#include <math.h>
#include <relmc.h>
#include <stdio.h>

enum { ROWS = 10, DIM = 2, CHAINS = 16 };

static const double hours[ROWS] = {.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5};
static const double passed[ROWS] = {0, 0, 0, 1, 0, 1, 0, 1, 1, 1};

/* logit P(passed) = b_0 + b_1 (hours - 3), b ~ N(0, 2^2).  x[i*ld + k] is
 * coordinate i of lane k: the inner loop runs over lanes. */
static int posterior(void *n_calls, size_t lanes, size_t ld, const double *x,
                     double *lp, double *grad, relmc_error *err)
{
    (void)err;
    ++*(long *)n_calls;
    for (size_t k = 0; k < lanes; k++) {
        lp[k] = -0.125 * (x[k] * x[k] + x[ld + k] * x[ld + k]);
        grad[k] = -0.25 * x[k];
        grad[ld + k] = -0.25 * x[ld + k];
    }
    for (size_t n = 0; n < ROWS; n++) {
        const double t = hours[n] - 3.0, y = passed[n];
        for (size_t k = 0; k < lanes; k++) {
            const double f = x[k] + t * x[ld + k];
            const double e = y - 1.0 / (1.0 + exp(-f));
            lp[k] += y * f - fmax(f, 0.0) - log1p(exp(-fabs(f)));
            grad[k] += e;
            grad[ld + k] += t * e;
        }
    }
    return RELMC_OK;
}

int main(void)
{
    relmc_error err = {0};
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_density density = RELMC_INIT(relmc_density);
    relmc_options opts = RELMC_INIT(relmc_options);
    long n_calls = 0;
    relmc_status status;

    density.dim = DIM;
    density.ctx = &n_calls;
    density.lanes = posterior;
    opts.chains = CHAINS;
    opts.threads = 1; /* the counter is not atomic */
    if ((status = relmc_target_create(&target, &density, &err)) ||
        (status = relmc_run_create(&run, target, &opts, &err)) ||
        (status = relmc_run_advance(run, INT64_MAX, &err))) {
        fprintf(stderr, "lanes: %s\n", err.message);
    } else {
        printf("%d chains of 2000 iterations: %ld calls\n", CHAINS, n_calls);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    return status != RELMC_OK;
}
