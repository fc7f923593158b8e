/*
 * sinks.c - what it costs to write a value: Stan CSV against plain numbers, as a
 * ratio within one run.  The time of the same run without a sink is taken off.
 */
#include "bench.h"

#include "relmc.h"

enum { N_STATS = 8, N_RUNS = 32 };

static double run_once(const char *model, const char *sink, int64_t draws)
{
    relmc_options o = RELMC_INIT(relmc_options);
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};

    o.sampler = "hmc:steps=1";
    o.adapt = "none";
    o.step_size = 0.01;
    o.chains = 1;
    o.threads = 1;
    o.warmup = RELMC_ZERO;
    o.draws = draws;
    o.keep = RELMC_ZERO;
    o.seed = 1;
    bench_need(relmc_target_open(&target, model, NULL, &err), err.message);
    bench_need(relmc_run_create(&run, target, &o, &err), err.message);
    if (sink) {
        bench_need(relmc_run_write(run, sink, &err), err.message);
    }
    const double start = bench_seconds();
    bench_need(relmc_run_advance(run, INT64_MAX, &err), err.message);
    bench_need(relmc_run_finish(run, &err), err.message);
    const double took = bench_seconds() - start;
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    return took;
}

/* The least of some runs, in nanoseconds for every value: none, raw, CSV, in
 * turn, so that all see the same machine.  Slow runs need no repetition. */
static void measure(const char *model, double dim, int64_t draws)
{
    static const struct {
        const char *sink;
        int every;
    } sinks[] = {{NULL, 1}, {"raw:bench-sink", 1}, {"csv:bench-sink", 8}};
    double least[3] = {1e300, 1e300, 1e300};
    const double n = (dim + N_STATS) * (double)draws;

    for (int i = 0; i < N_RUNS; i++) {
        for (int s = 0; s < 3; s++) {
            if (i % sinks[s].every == 0) {
                const double took =
                    1e9 * run_once(model, sinks[s].sink, draws) / n;
                least[s] = took < least[s] ? took : least[s];
            }
        }
    }
    const double raw = least[1] - least[0], csv = least[2] - least[0];
    (void)printf("%-18s %9.1f ns %9.2f ns %9.2f ns %8.0f\n", model, least[0],
                 csv, raw, csv / raw);
}

int main(void)
{
    (void)printf("%-18s %12s %12s %12s %8s\n", "of one value", "sampling",
                 "csv", "raw", "csv/raw");
    measure("gaussian:dim=2", 2, 100000);
    measure("gaussian:dim=100", 100, 10000);
    measure("gaussian:dim=1000", 1000, 1000);
    (void)remove("bench-sink_1.csv");
    (void)remove("bench-sink_1.rmc");
    return 0;
}
