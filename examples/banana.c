/* banana.c - sample the paper's banana with your own density.
 *   cc banana.c $(pkg-config --cflags --libs relmc) && ./a.out */
#include <relmc.h>
#include <stdio.h>

static int banana(void *ctx, const double *x, double *lp, double *grad,
                  relmc_error *err)
{
    const double r = x[1] + 0.1 * x[0] * x[0] - 10.0;

    (void)ctx, (void)err;
    *lp = -0.5 * (0.01 * x[0] * x[0] + r * r);
    grad[0] = -0.01 * x[0] - 0.2 * x[0] * r;
    grad[1] = -r;
    return RELMC_OK;
}

/* One sum per chain: chains may run on several threads. */
static relmc_status add_up(void *ctx, const relmc_draw *draw)
{
    ((double *)ctx)[draw->chain] += draw->outputs[1];
    return RELMC_OK;
}

int main(void)
{
    relmc_error err = {0};
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_density density = RELMC_INIT(relmc_density);
    relmc_options opts = RELMC_INIT(relmc_options);
    double sum[4] = {0};

    density.dim = 2;
    density.point = banana;
    opts.sampler = "hmc:steps=80";
    opts.kinetic = "separable:c=3";
    opts.adapt = "dual:delta=0.98"; /* the ridge is narrow */
    opts.draws = 5000;
    opts.seed = 1;

    relmc_status status = relmc_target_create(&target, &density, &err);
    if (!status) {
        status = relmc_run_create(&run, target, &opts, &err);
    }
    if (!status) {
        status = relmc_run_observe(run, add_up, sum, &err);
    }
    if (!status) {
        status = relmc_run_advance(run, INT64_MAX, &err);
    }
    if (status) {
        fprintf(stderr, "banana: %s\n", err.message);
    } else {
        printf("E[x2] = %.2f (exact: 0)\n",
               (sum[0] + sum[1] + sum[2] + sum[3]) / (4 * 5000));
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    return status != RELMC_OK;
}
