/* memory.c - a named model, draws kept in memory, a summary of each coordinate.
 *   cc memory.c $(pkg-config --cflags --libs relmc) && ./a.out */
#include <relmc.h>
#include <relmc_diag.h>
#include <stdio.h>

enum { DIM = 3, CHAINS = 4 };

static relmc_status print_summary(const relmc_run *run, const double *mean,
                                  const double *variance, relmc_error *err)
{
    relmc_draws first = RELMC_INIT(relmc_draws);
    relmc_draws second = RELMC_INIT(relmc_draws);
    relmc_status status;

    if ((status = relmc_run_draws(run, 0, &first, err)) ||
        (status = relmc_run_draws(run, 1, &second, err))) {
        return status;
    }
    const size_t next = (size_t)(second.outputs - first.outputs);
    printf("      mean  exact    var  exact  ESS bulk  R-hat\n");
    for (size_t i = 0; i < DIM && !status; i++) {
        /* a chain's draws are n x DIM, the chains at equal distances */
        const relmc_series series = {first.outputs + i, CHAINS, first.n, DIM,
                                     next};
        relmc_summary s = RELMC_INIT(relmc_summary);

        status = relmc_summarise(&s, &series, err);
        if (!status) {
            printf("x%zu  %6.3f %6.3f %6.3f %6.3f  %8.0f  %.3f\n", i, s.mean,
                   mean[i], s.sd * s.sd, variance[i], s.ess_bulk, s.rhat);
        }
    }
    return status;
}

int main(void)
{
    relmc_error err = {0};
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_options opts = RELMC_INIT(relmc_options);
    double mean[DIM], variance[DIM];
    relmc_status status;

    opts.kinetic = "relativistic:cruise=0.5";
    opts.seed = 7;
    opts.chains = CHAINS;
    if ((status = relmc_target_open(&target, "gaussian:dim=3,rho=0.9", NULL,
                                    &err)) ||
        (status = relmc_target_moments(target, mean, variance, &err)) ||
        (status = relmc_run_create(&run, target, &opts, &err)) ||
        (status = relmc_run_advance(run, INT64_MAX, &err)) ||
        (status = print_summary(run, mean, variance, &err))) {
        fprintf(stderr, "memory: %s\n", err.message);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    return status != RELMC_OK;
}
