/* warm_start.c - warm up once, sample often: what the warm-up of one run found
 * starts another, with more chains and no warm-up of its own.
 *   cc warm_start.c $(pkg-config --cflags --libs relmc) && ./a.out */
#include <relmc_diag.h>
#include <stdio.h>
#include <stdlib.h>

/* The tuning of a run without draws, for the caller to free; NULL if it failed,
 * and err says why. */
static void *warm_up(const relmc_target *target, size_t *bytes,
                     relmc_error *err)
{
    relmc_run *run = NULL;
    relmc_options opts = RELMC_INIT(relmc_options);
    void *tuning = NULL;

    opts.draws = RELMC_ZERO;
    opts.seed = 1;
    if (!relmc_run_create(&run, target, &opts, err) &&
        !relmc_run_advance(run, INT64_MAX, err) &&
        !relmc_run_tuning(run, NULL, 0, bytes, err) &&
        (tuning = malloc(*bytes))) {
        relmc_run_tuning(run, tuning, *bytes, bytes, err);
    }
    relmc_run_destroy(run);
    return tuning;
}

int main(void)
{
    relmc_error err = {0};
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_options opts = RELMC_INIT(relmc_options);
    relmc_online x0 = RELMC_INIT(relmc_online);
    relmc_status status = relmc_target_open(&target, "funnel", NULL, &err);
    void *tuning = status ? NULL : warm_up(target, &opts.tuning_bytes, &err);

    opts.tuning = tuning; /* without one the run would warm up itself */
    opts.chains = 16;
    opts.draws = 250;
    opts.seed = 2; /* another seed, other draws */
    opts.keep = RELMC_KEEP_RUNNING;
    if (!tuning || (status = relmc_run_create(&run, target, &opts, &err)) ||
        (status = relmc_run_advance(run, INT64_MAX, &err)) ||
        (status = relmc_run_online(&x0, NULL, run, 0, 0, NULL, &err))) {
        fprintf(stderr, "warm_start: %s\n", err.message);
    } else {
        printf("E[x0] = %.2f +- %.2f (exact: 0), no second warm-up\n", x0.mean,
               x0.mcse_mean);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    free(tuning);
    return !tuning || status;
}
