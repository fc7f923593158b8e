/*
 * samplers_truth.c - where the quantiles of a target are: from exact draws, or
 * from a long run that is made once and kept in a file.
 */
#include "samplers.h"

#include <string.h>

const double levels[N_LEVELS] = {0.05, 0.5, 0.95};

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of n draws x, a draw per row. */
static double *new_quantiles(const double *x, size_t n, size_t dim)
{
    double *out = new_doubles(dim * N_LEVELS), *column = new_doubles(n);

    for (size_t i = 0; i < dim; i++) {
        for (size_t t = 0; t < n; t++) {
            column[t] = x[t * dim + i];
        }
        qsort(column, n, sizeof *column, ascending);
        for (size_t j = 0; j < N_LEVELS; j++) {
            out[i * N_LEVELS + j] = column[(size_t)(levels[j] * (double)n)];
        }
    }
    free(column);
    return out;
}

/* ---- exact draws ------------------------------------------------------------ */

/* So many that their error is small, and fit in memory. */
static size_t n_exact(size_t dim)
{
    const size_t n = 20000000 / dim;

    return n < 100000 ? n : 100000;
}

static double *from_exact_draws(const relmc_target *model)
{
    const size_t dim = relmc_target_dim(model), n = n_exact(dim);
    double *x = new_doubles(n * dim), *out = NULL;

    if (!relmc_target_sample(model, 1, n, x, NULL)) {
        out = new_quantiles(x, n, dim);
    }
    free(x);
    return out;
}

/* ---- a long run ------------------------------------------------------------- */

enum { CHAINS = 4, KEPT = 10000 };

/* All chains, one after the other. */
static double *new_rows(const relmc_run *run, size_t dim)
{
    double *x = new_doubles((size_t)CHAINS * KEPT * dim);

    for (uint32_t c = 0; c < CHAINS; c++) {
        relmc_draws draws = RELMC_INIT(relmc_draws);

        (void)relmc_run_draws(run, c, &draws, NULL);
        memcpy(x + (size_t)c * KEPT * dim, draws.outputs,
               KEPT * dim * sizeof *x);
    }
    return x;
}

static double *from_long_run(const relmc_target *model, int64_t draws)
{
    const relmc_options options = {
        .size = sizeof options,
        .sampler = "nuts",
        .kinetic = "newtonian",
        .adapt = "stan:delta=0.9",
        .seed = 271828,
        .warmup = 2000,
        .draws = draws,
        .thin = (uint32_t)(draws / KEPT),
        .chains = CHAINS,
    };
    const size_t dim = relmc_target_dim(model);
    relmc_error err = {0};
    relmc_run *run = NULL;

    bench_need(relmc_run_create(&run, model, &options, &err) ||
                   relmc_run_advance(run, INT64_MAX, &err),
               err.message);
    double *x = new_rows(run, dim);
    double *out = new_quantiles(x, CHAINS * (size_t)KEPT, dim);
    free(x);
    relmc_run_destroy(run);
    return out;
}

/* ---- its file --------------------------------------------------------------- */

static double *read_quantiles(const char *path, size_t n)
{
    FILE *in = fopen(path, "rb");
    double *out = in ? new_doubles(n) : NULL;

    if (in && fread(out, sizeof *out, n, in) != n) {
        free(out);
        out = NULL;
    }
    if (in) {
        (void)fclose(in);
    }
    return out;
}

static void write_quantiles(const char *path, const double *quantile, size_t n)
{
    FILE *out = fopen(path, "wb");

    bench_need(!out || fwrite(quantile, sizeof *quantile, n, out) != n ||
                   fclose(out),
               "cannot write to the folder of --cache");
}

static double *from_cache(const relmc_target *model,
                          const struct target *target, const char *cache)
{
    const size_t n = relmc_target_dim(model) * N_LEVELS;
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/%s.quantiles", cache, target->name);
    double *out = read_quantiles(path, n);
    if (!out) {
        (void)fprintf(stderr, "%s: a long run for %s\n", target->name, path);
        out = from_long_run(model, target->reference);
        write_quantiles(path, out, n);
    }
    return out;
}

relmc_status truth_find(struct truth *out, const struct target *target,
                        const char *cache, relmc_error *err)
{
    *out = (struct truth){0};
    const relmc_status status =
        relmc_target_open(&out->model, target->model, NULL, err);

    if (status) {
        return status;
    }
    out->quantile = target->reference == 0 ? from_exact_draws(out->model)
                    : cache ? from_cache(out->model, target, cache)
                            : NULL;
    return RELMC_OK;
}

void truth_forget(struct truth *truth)
{
    relmc_target_destroy(truth->model);
    free(truth->quantile);
    *truth = (struct truth){0};
}
