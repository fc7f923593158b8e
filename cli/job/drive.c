/* drive.c - advances a run until its job ends it. */
#include "job/drive.h"

/* Chains are advanced in blocks of about this time, so that a run that is
 * stopped has about as many draws of each. */
static const double BLOCK = 0.25; /* seconds */

static int64_t next_block(int64_t block, double took)
{
    static const int64_t most = INT64_C(1) << 53;

    return took < 0.5 * BLOCK && block < most ? 2 * block
           : took > 2.0 * BLOCK && block > 1  ? block / 2
                                              : block;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Writes a checkpoint if it is time, then advances by a block, but not beyond
 * `end`. */
static relmc_status advance(struct job *job, int64_t *done, int64_t end,
                            int64_t *block, relmc_error *err)
{
    const int64_t n = least(*block, end - *done);
    relmc_status status = checkpoint_tend(&job->checkpoint, err);

    if (!status) {
        const double before = cli_clock();

        status = relmc_run_advance(job->run, n, err);
        *block = next_block(*block, cli_clock() - before);
    }
    *done += n;
    return status;
}

relmc_status drive_run(struct job *job, relmc_error *err)
{
    const struct job_kind *kind = job->kind;
    const int64_t total = job->checkpoint.total;
    const int64_t first = relmc_run_position(job->run);
    const double start = cli_clock();
    int64_t done = first, block = 1;
    int64_t look = kind->next_look(job, done);
    relmc_status status = RELMC_OK;

    job->ending = ENDED_IN_FULL;
    while (!status) {
        if (done >= look || done >= total) {
            status = kind->look(job, err);
            look = kind->next_look(job, done + 1);
        }
        if (status || job->ending == ENDED_BY_RULE || done >= total) {
            break;
        }
        if (done > first && cli_clock() - start >= job->time_limit) {
            job->ending = ENDED_BY_TIME;
            break;
        }
        status = advance(job, &done, least(look, total), &block, err);
    }
    return status;
}
