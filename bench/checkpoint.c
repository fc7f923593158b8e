/*
 * checkpoint.c - what a checkpoint costs: CPU and elapsed time of
 * relmc_run_save, with draws in memory and without, and the share of a run that
 * writes one every 10 seconds: computed, and of one that takes a minute, or as many
 * seconds as the argument says.
 */
#include "bench.h"

#include "relmc.h"

#include <sys/stat.h>

static const char path[] = "bench-checkpoint.tmp";

static double elapsed(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The medians would need more files than a disk likes: the least of some. */
static void measure(const char *model, int keep, int64_t draws)
{
    enum { N_SAVES = 7 };
    relmc_options o = RELMC_INIT(relmc_options);
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};
    double cpu = 1e300, wall = 1e300;
    struct stat file = {0};

    o.sampler = "hmc:steps=1";
    o.adapt = "none";
    o.step_size = 0.01;
    o.warmup = RELMC_ZERO;
    o.draws = draws;
    o.keep = keep;
    o.keep_points = 64;
    o.seed = 1;
    bench_need(relmc_target_open(&target, model, NULL, &err), err.message);
    bench_need(relmc_run_create(&run, target, &o, &err), err.message);
    bench_need(relmc_run_advance(run, INT64_MAX, &err), err.message);
    for (int i = 0; i < N_SAVES; i++) {
        const double from_cpu = bench_seconds(), from = elapsed();

        bench_need(relmc_run_save(run, path, NULL, 0, &err), err.message);
        const double here_cpu = bench_seconds() - from_cpu;
        const double here = elapsed() - from;
        cpu = here_cpu < cpu ? here_cpu : cpu;
        wall = here < wall ? here : wall;
    }
    bench_need(stat(path, &file), "no file");
    (void)printf("%-18s %-16s %9.3f MB %9.2f ms %9.2f ms %8.3f %%\n", model,
                 keep == RELMC_KEEP_RUNNING ? "running" : "rows",
                 1e-6 * (double)file.st_size, 1e3 * cpu, 1e3 * wall,
                 100.0 * wall / 10.0);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

/* A run that writes its draws, and a checkpoint every 10 seconds: both take turns in
 * one run, so that the ratio does not depend on how busy the machine is. */
static void measure_run(const char *model, double seconds)
{
    enum { PIECE = 1000 };
    relmc_options o = RELMC_INIT(relmc_options);
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};
    double saving = 0.0, saving_cpu = 0.0, last = 0.0;
    int n = 0;

    o.sampler = "hmc:steps=1";
    o.adapt = "none";
    o.step_size = 0.01;
    o.warmup = RELMC_ZERO;
    o.draws = INT64_C(1) << 40;
    o.thin = 100;
    o.threads = 1;
    o.keep = RELMC_KEEP_RUNNING;
    o.keep_points = 64;
    o.seed = 1;
    bench_need(relmc_target_open(&target, model, NULL, &err), err.message);
    bench_need(relmc_run_create(&run, target, &o, &err), err.message);
    bench_need(relmc_run_write(run, "raw:bench-checkpoint", &err), err.message);
    const double start = elapsed(), start_cpu = bench_seconds();
    last = start;
    while (elapsed() - start < seconds) {
        bench_need(relmc_run_advance(run, PIECE, &err) < 0, err.message);
        if (elapsed() - last >= 10.0) {
            const double from = elapsed(), from_cpu = bench_seconds();

            bench_need(relmc_run_save(run, path, NULL, 0, &err), err.message);
            last = elapsed();
            saving += last - from;
            saving_cpu += bench_seconds() - from_cpu;
            n++;
        }
    }
    const double all = elapsed() - start, all_cpu = bench_seconds() - start_cpu;
    (void)printf(
        "\n%s, raw and running, %.0f s: %d checkpoints took %.3f %% of "
        "the time, %.3f %% of the CPU time\n",
        model, all, n, 100.0 * saving / all, 100.0 * saving_cpu / all_cpu);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    for (int k = 1; k <= 4; k++) {
        char file[64];

        (void)snprintf(file, sizeof file, "bench-checkpoint_%d.rmc", k);
        (void)remove(file);
    }
}

int main(int argc, char **argv)
{
    bench_usage(argc, argv, "bench-checkpoint [seconds]");
    (void)printf("%-18s %-16s %12s %12s %12s %10s\n", "4 chains", "keep",
                 "file", "CPU", "elapsed", "of 10 s");
    measure("gaussian:dim=2", RELMC_KEEP_RUNNING, 1000);
    measure("gaussian:dim=100", RELMC_KEEP_RUNNING, 1000);
    measure("gaussian:dim=100", RELMC_KEEP_OUTPUTS, 1000);
    measure("gaussian:dim=100", RELMC_KEEP_OUTPUTS, 20000);
    measure_run("gaussian:dim=100", argc > 1 ? strtod(argv[1], NULL) : 60.0);
    (void)remove(path);
    (void)remove("bench-checkpoint.tmp.1");
    return 0;
}
