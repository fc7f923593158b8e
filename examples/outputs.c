/* outputs.c - a density whose draws show named and generated values: mu and
 * sigma of a normal law, not mu and log sigma, and a prediction of the next y.
 *   cc outputs.c $(pkg-config --cflags --libs relmc) -lm && ./a.out */
#include <math.h>
#include <relmc_diag.h>
#include <stdio.h>

enum { N = 8, N_OUTPUTS = 3 };

static const double y[N] = {4.1, 5.3, 3.8, 6.0, 4.9, 5.5, 4.4, 5.2};

/* y_n ~ N(mu, sigma^2) with x = (mu, log sigma), flat in both. */
static int posterior(void *ctx, const double *x, double *lp, double *grad,
                     relmc_error *err)
{
    const double precision = exp(-2.0 * x[1]);

    (void)ctx, (void)err;
    *lp = -N * x[1], grad[0] = 0.0, grad[1] = -N;
    for (int n = 0; n < N; n++) {
        const double r = y[n] - x[0];

        *lp -= 0.5 * r * r * precision;
        grad[0] += r * precision;
        grad[1] += r * r * precision;
    }
    return RELMC_OK;
}

/* random(from) depends on seed, chain and draw only: runs can be repeated. */
static int show(void *ctx, const double *x, double (*random)(void *from),
                void *from, double *out, relmc_error *err)
{
    const double radius = sqrt(-2.0 * log(random(from)));

    (void)ctx, (void)err;
    out[0] = x[0];
    out[1] = exp(x[1]);
    out[2] = out[0] + out[1] * radius * cos(6.283185307179586 * random(from));
    return RELMC_OK;
}

static const char *name(void *ctx, size_t i)
{
    static const char *const names[N_OUTPUTS] = {"mu", "sigma", "y_next"};

    (void)ctx;
    return names[i];
}

int main(void)
{
    relmc_error err = {0};
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_density density = RELMC_INIT(relmc_density);
    relmc_options opts = RELMC_INIT(relmc_options);
    relmc_online now = RELMC_INIT(relmc_online);
    relmc_status status;

    density.dim = 2;
    density.point = posterior;
    density.n_outputs = N_OUTPUTS;
    density.outputs = show;
    density.output_name = name;
    opts.seed = 1;
    opts.keep = RELMC_KEEP_RUNNING;
    if (!(status = relmc_target_create(&target, &density, &err)) &&
        !(status = relmc_run_create(&run, target, &opts, &err))) {
        status = relmc_run_advance(run, INT64_MAX, &err);
    }
    for (size_t i = 0; i < N_OUTPUTS && !status; i++) {
        status = relmc_run_online(&now, NULL, run, i, 0, NULL, &err);
        printf("%-6s  mean %5.2f  sd %5.2f  R-hat %.3f\n", name(NULL, i),
               now.mean, now.sd, now.rhat);
    }
    if (status) {
        fprintf(stderr, "outputs: %s\n", err.message);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    return status != RELMC_OK;
}
