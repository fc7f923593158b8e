/*
 * stan_overhead.c - what sampling costs beside the gradients of a Stan model:
 * time per gradient in a run with default settings, outputs and draws in memory
 * included, over the time of the same gradients in a plain loop.
 *
 *   bench-stan-overhead LIBRARY [DATA]       a model of your own
 *
 * Without arguments: a mock with gradients of some 1, 5, 25 and 100 microseconds.
 * Goal: at most 15 % where a gradient takes 5 microseconds or more.
 */
#include "bench.h"

#include "relmc.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#ifndef BENCH_MOCK
#define BENCH_MOCK ""
#endif

enum { ROUNDS = 5, CHAINS = 4, WARMUP = 500, DRAWS = 1000, MAX_POINTS = 4000 };

typedef int gradient_fn(const void *model, bool propto, bool jacobian,
                        const double *x, double *lp, double *grad, char **msg);

/* The same library without us in between. */
struct plain {
    void *model;
    gradient_fn *gradient;
};

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);

    bench_need(!found, name);
    return found;
}

static struct plain open_plain(const char *path, const char *data)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *(*construct)(const char *, unsigned, char **);
    struct plain plain = {0};
    char *msg = NULL;

    bench_need(!library, "cannot load the library");
    void *found = symbol(library, "bs_model_construct");
    memcpy(&construct, &found, sizeof found);
    found = symbol(library, "bs_log_density_gradient");
    memcpy(&plain.gradient, &found, sizeof found);
    plain.model = construct(data, 1, &msg);
    bench_need(!plain.model, msg ? msg : "no model");
    return plain;
}

/* ---- points of the typical set --------------------------------------------- */

struct points {
    size_t dim, n;
    double *x; /* MAX_POINTS x dim */
};

static relmc_status keep(void *ctx, const relmc_draw *draw)
{
    struct points *p = ctx;

    if (p->n < MAX_POINTS) {
        memcpy(p->x + p->n++ * p->dim, draw->coordinates,
               p->dim * sizeof *p->x);
    }
    return RELMC_OK;
}

/* ---- the two ways ----------------------------------------------------------- */

/* Seconds per gradient of a run. */
static double time_run(const relmc_target *target, const char *sampler,
                       uint64_t seed, struct points *points)
{
    const relmc_options o = {.size = sizeof o,
                             .sampler = sampler,
                             .adapt = strcmp(sampler, "auto") ? "stan" : "auto",
                             .seed = seed,
                             .chains = CHAINS,
                             .warmup = WARMUP,
                             .draws = DRAWS,
                             .keep = RELMC_ZERO,
                             .threads = 1};
    relmc_run *run = NULL;
    relmc_error err = {0};
    double n = 0.0;
    const double start = bench_seconds();

    bench_need(relmc_run_create(&run, target, &o, &err) ||
                   relmc_run_observe(run, keep, points, &err) ||
                   relmc_run_advance(run, INT64_MAX, &err),
               err.message);
    const double took = bench_seconds() - start;
    for (size_t k = 0; k < CHAINS; k++) {
        relmc_progress r = {.size = sizeof r};

        (void)relmc_run_progress(run, (uint32_t)k, &r, NULL);
        n += (double)r.n_grad;
    }
    relmc_run_destroy(run);
    return took / n;
}

static double time_loop(const struct plain *plain, const struct points *points,
                        double *grad)
{
    const size_t n = 5 * points->n;
    double lp = 0.0;
    char *msg = NULL;
    const double start = bench_seconds();

    for (size_t t = 0; t < n; t++) {
        (void)plain->gradient(plain->model, true, true,
                              points->x + t % points->n * points->dim, &lp,
                              grad, &msg);
        BENCH_KEEP(lp);
    }
    return (bench_seconds() - start) / (double)n;
}

/* They take turns; the least of each counts. */
static void measure(const char *path, const char *data, const char *sampler)
{
    const struct plain plain = open_plain(path, data);
    relmc_target *target = NULL;
    relmc_error err = {0};
    double run = HUGE_VAL, loop = HUGE_VAL;

    bench_need(relmc_target_open_stan(&target, path, data, 1, NULL, NULL, &err),
               err.message);
    const size_t dim = relmc_target_dim(target);
    struct points points = {.dim = dim,
                            .x = malloc(MAX_POINTS * dim * sizeof(double))};
    double *grad = malloc(dim * sizeof *grad);
    bench_need(!points.x || !grad, "out of memory");
    for (uint64_t round = 0; round < ROUNDS; round++) {
        run = fmin(run, time_run(target, sampler, round + 1, &points));
        loop = fmin(loop, time_loop(&plain, &points, grad));
    }
    (void)printf("%-6s %4zu %12.3f %12.3f %10.1f %%\n", sampler, dim,
                 1e6 * loop, 1e6 * run, 100.0 * (run / loop - 1.0));
    free(points.x);
    free(grad);
    relmc_target_destroy(target);
}

int main(int argc, char **argv)
{
    static const char *const mocks[] = {
        "{\"m\": 0, \"work\": 125}", "{\"m\": 0, \"work\": 640}",
        "{\"m\": 0, \"work\": 3200}", "{\"m\": 0, \"work\": 12800}"};
    static const char *const samplers[] = {"nuts", "auto"};

    bench_usage(argc, argv, "bench-stan-overhead [LIBRARY [DATA]]");
    (void)printf("%-6s %4s %12s %12s %12s\n", "", "dim", "us/gradient",
                 "us in a run", "overhead");
    for (size_t s = 0; s < 2; s++) {
        if (argc > 1) {
            measure(argv[1], argc > 2 ? argv[2] : NULL, samplers[s]);
            continue;
        }
        for (size_t i = 0; i < sizeof mocks / sizeof *mocks; i++) {
            measure(BENCH_MOCK, mocks[i], samplers[s]);
        }
    }
    return 0;
}
