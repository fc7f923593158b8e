/* observer.c - stop as soon as the mean of x_1 is accurate enough.
 *   cc observer.c $(pkg-config --cflags --libs relmc) -lm && ./a.out */
#include <math.h>
#include <relmc.h>
#include <stdio.h>

enum { BATCH = 100 };

/* Means of batches of draws, summed up as they come. */
struct watch {
    double batch, sum, sum2, n;
};

static relmc_status look(void *ctx, const relmc_draw *draw)
{
    struct watch *w = ctx;

    w->batch += draw->outputs[0] / BATCH;
    if ((draw->index + 1) % BATCH) {
        return RELMC_OK;
    }
    w->sum += w->batch;
    w->sum2 += w->batch * w->batch;
    w->batch = 0.0;
    w->n += 1.0;
    const double mean = w->sum / w->n, variance = w->sum2 / w->n - mean * mean;
    const int is_enough = w->n >= 20.0 && sqrt(variance / w->n) < 0.1;
    return is_enough ? RELMC_STOPPED : RELMC_OK;
}

int main(void)
{
    relmc_error err = {0};
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_options opts = RELMC_INIT(relmc_options);
    struct watch w = {0};
    relmc_status status;

    opts.chains = 1;
    opts.draws = 1000000; /* far more than it needs */
    opts.seed = 3;
    if ((status = relmc_target_open(&target, "gmm1", NULL, &err)) ||
        (status = relmc_run_create(&run, target, &opts, &err)) ||
        (status = relmc_run_observe(run, look, &w, &err)) ||
        (status = relmc_run_advance(run, INT64_MAX, &err)) != RELMC_STOPPED) {
        fprintf(stderr, "observer: %s\n",
                status ? err.message : "not even a million draws were enough");
    } else {
        printf("E[x] = %.2f after %.0f draws (exact: 0)\n", w.sum / w.n,
               w.n * BATCH);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    return status != RELMC_STOPPED;
}
