/* banana.c - sample the paper's banana with your own density.
 *   cc banana.c $(pkg-config --cflags --libs relmc) && ./a.out */
#include <relmc_diag.h>
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

int main(void)
{
    relmc_error err = {0};
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_density density = RELMC_INIT(relmc_density);
    relmc_options opts = RELMC_INIT(relmc_options);
    relmc_online x2 = RELMC_INIT(relmc_online);

    density.dim = 2;
    density.point = banana;
    opts.sampler = "hmc:steps=80";
    opts.kinetic = "separable:c=3";
    opts.adapt = "dual:delta=0.98"; /* the ridge is narrow */
    opts.draws = 5000;
    opts.seed = 1;
    opts.keep = RELMC_KEEP_RUNNING;

    relmc_status status = relmc_target_create(&target, &density, &err);
    if (!status) {
        status = relmc_run_create(&run, target, &opts, &err);
    }
    if (!status) {
        status = relmc_run_advance(run, INT64_MAX, &err);
    }
    if (!status) {
        status = relmc_run_online(&x2, NULL, run, 1, 0, NULL, &err);
    }
    if (status) {
        fprintf(stderr, "banana: %s\n", err.message);
    } else {
        printf("E[x2] = %.2f +- %.2f (exact: 0)\n", x2.mean, x2.mcse_mean);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    return status != RELMC_OK;
}
