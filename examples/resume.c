/* resume.c - a long run in short jobs: a job that runs out of time saves the
 * run, the next one goes on.  The draws are those of one uninterrupted run.
 *   cc resume.c $(pkg-config --cflags --libs relmc) && ./a.out */
#include <relmc_diag.h>
#include <stdio.h>

static const char path[] = "resume-example.checkpoint";

/* Called about every heartbeat_seconds in the thread that advances the run. */
static int time_is_up(void *ctx, relmc_run *run)
{
    relmc_progress now = RELMC_INIT(relmc_progress);

    (void)ctx;
    relmc_run_progress(run, 0, &now, NULL);
    printf("chain 0: %lld of %lld\n", (long long)now.done,
           (long long)now.total);
    return 1;
}

/* RELMC_STOPPED if there is more to do. */
static relmc_status job(const relmc_target *target, int is_first,
                        relmc_error *err)
{
    relmc_run *run = NULL;
    relmc_options opts = RELMC_INIT(relmc_options);
    relmc_online x0 = RELMC_INIT(relmc_online);
    relmc_status status, saved = RELMC_OK;

    opts.draws = 20000;
    opts.seed = 5;
    opts.keep = RELMC_KEEP_RUNNING; /* estimates, not rows */
    opts.heartbeat = time_is_up;
    status = is_first ? relmc_run_create(&run, target, &opts, err)
                      : relmc_run_resume(&run, target, path, &opts, err);
    if (!status) {
        status = relmc_run_advance(run, INT64_MAX, err);
    }
    if (status == RELMC_STOPPED) {
        saved = relmc_run_save(run, path, NULL, 0, err);
    } else if (!status &&
               !(status = relmc_run_online(&x0, NULL, run, 0, 0, NULL, err))) {
        printf("E[x0] = %.3f +- %.3f (exact: 0)\n", x0.mean, x0.mcse_mean);
    }
    relmc_run_destroy(run);
    return saved ? saved : status;
}

int main(void)
{
    relmc_error err = {0};
    relmc_target *target = NULL;
    relmc_status status =
        relmc_target_open(&target, "gaussian:dim=20,rho=0.5", NULL, &err);

    if (!status) {
        status = job(target, 1, &err);
    }
    while (status == RELMC_STOPPED) {
        status = job(target, 0, &err);
    }
    if (status) {
        fprintf(stderr, "resume: %s\n", err.message);
    }
    relmc_target_destroy(target);
    return status != RELMC_OK;
}
