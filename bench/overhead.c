/*
 * overhead.c - what the tree of `nuts` costs: ns per integrator step and chain
 * beside static `hmc`, which takes the same steps and remembers nothing, and
 * what 16 lanes gain where every lane builds a tree of its own.
 *
 * Goals: a step of nuts costs at most 2 of hmc; on small targets 16 lanes make
 * at least 4 times the steps of one.
 */
#include "bench.h"

#include "relmc.h"

#include <math.h>

enum {
    SETTLE = 200, /* transitions from the starting point to the typical set */
    PILOT_CHAINS = 16,
    PILOT_DRAWS = 300,
    FEWEST = 5 /* windows */
};
#define BUDGET 0.3 /* seconds for each cell */

struct job {
    const char *model, *kinetic;
    double eps; /* such that trees have a depth of 3 to 5 */
    /* Transitions: not few, for lanes that are done wait for the last one; not
     * many, or windows take too long. */
    int window;
};

static relmc_options options_of(const struct job *job, const char *sampler,
                                uint32_t lanes)
{
    return (relmc_options){
        .size = sizeof(relmc_options),
        .isa = bench_isa(),
        .sampler = sampler,
        .kinetic = job->kinetic,
        .adapt = "none",
        .seed = 1,
        .draws = INT64_C(1) << 40,
        .warmup = RELMC_ZERO,
        .chains = lanes,
        .lanes = lanes,
        .step_size = job->eps,
        .keep = RELMC_ZERO,
        .threads = 1,
    };
}

/* ---- how long the trees are ------------------------------------------------- */

struct trees {
    double n, depth, steps; /* sums */
};

static relmc_status count(void *ctx, const relmc_draw *draw)
{
    struct trees *trees = ctx;

    if (draw->index >= SETTLE) {
        trees->n++;
        trees->depth += (int)draw->stats[RELMC_STAT_TREE_DEPTH];
        trees->steps += (int)draw->stats[RELMC_STAT_N_STEPS];
    }
    return RELMC_OK;
}

/* A run of its own: the timed ones have no observer. */
static struct trees look_at_trees(const relmc_target *target,
                                  const struct job *job)
{
    const relmc_options o = options_of(job, "nuts", PILOT_CHAINS);
    struct trees trees = {0};
    relmc_run *run = NULL;
    relmc_error err = {0};

    bench_need(relmc_run_create(&run, target, &o, &err) ||
                   relmc_run_observe(run, count, &trees, &err) ||
                   relmc_run_advance(run, SETTLE + PILOT_DRAWS, &err),
               err.message);
    relmc_run_destroy(run);
    trees.depth /= trees.n;
    trees.steps /= trees.n;
    return trees;
}

/* ---- what a step costs ------------------------------------------------------ */

struct engine {
    relmc_run *run;
    uint32_t lanes;
    double least; /* ns per step and chain */
};

static struct engine new_engine(const relmc_target *target,
                                const struct job *job, const char *sampler,
                                uint32_t lanes)
{
    const relmc_options o = options_of(job, sampler, lanes);
    struct engine e = {NULL, lanes, HUGE_VAL};
    relmc_error err = {0};

    bench_need(relmc_run_create(&e.run, target, &o, &err) ||
                   relmc_run_advance(e.run, SETTLE, &err),
               err.message);
    return e;
}

/* A leapfrog step is a gradient. */
static double n_steps(const struct engine *e)
{
    double sum = 0.0;

    for (uint32_t k = 0; k < e->lanes; k++) {
        relmc_progress report = {.size = sizeof report};

        (void)relmc_run_progress(e->run, (uint32_t)k, &report, NULL);
        sum += (double)report.n_grad;
    }
    return sum;
}

/* One window; returns its seconds.  Trees differ, so that windows compare by
 * the step. */
static double time_window(struct engine *e, int window)
{
    relmc_error err = {0};
    const double before = n_steps(e), start = bench_seconds();

    bench_need(relmc_run_advance(e->run, window, &err), err.message);
    const double took = bench_seconds() - start;
    e->least = fmin(e->least, 1e9 * took / (n_steps(e) - before));
    return took;
}

struct cost {
    double hmc, nuts;
};

/* The two take turns: whatever else the machine does disturbs both. */
static struct cost compare(const relmc_target *target, const struct job *job,
                           double steps, uint32_t lanes)
{
    char sampler[64];
    double spent = 0.0;

    (void)snprintf(sampler, sizeof sampler, "hmc:steps=%.0f,jitter=0", steps);
    struct engine hmc = new_engine(target, job, sampler, lanes);
    struct engine nuts = new_engine(target, job, "nuts", lanes);
    for (int n = 0; n < FEWEST || spent < 2.0 * BUDGET; n++) {
        spent += time_window(&hmc, job->window);
        spent += time_window(&nuts, job->window);
    }
    relmc_run_destroy(hmc.run);
    relmc_run_destroy(nuts.run);
    return (struct cost){hmc.least, nuts.least};
}

/* ---- the table -------------------------------------------------------------- */

static void print_job(const struct job *job)
{
    static const uint32_t lanes[] = {1, 16};
    relmc_error err = {0};
    relmc_target *target = NULL;
    double one = 0.0;

    bench_need(relmc_target_open(&target, job->model, NULL, &err), err.message);
    const struct trees trees = look_at_trees(target, job);
    for (size_t w = 0; w < sizeof lanes / sizeof *lanes; w++) {
        const struct cost c = compare(target, job, trees.steps, lanes[w]);

        one = w ? one : c.nuts;
        (void)printf(
            "%-20s %-24s %5g %6.2f %6.1f %5u %8.1f %8.1f %7.2f %9.2f\n",
            job->model, job->kinetic, job->eps, trees.depth, trees.steps,
            lanes[w], c.hmc, c.nuts, c.nuts / c.hmc, one / c.nuts);
        (void)fflush(stdout);
    }
    relmc_target_destroy(target);
}

int main(void)
{
    static const struct job jobs[] = {
        {"gaussian:dim=100", "newtonian", 0.2, 200},
        {"gaussian:dim=100", "relativistic:cruise=0.79", 0.2, 200},
        {"banana", "newtonian", 0.3, 1000},
        {"banana", "relativistic:cruise=0.79", 0.3, 1000},
        {"gmm1", "newtonian", 0.15, 1000},
        {"gmm1", "relativistic:cruise=0.79", 0.15, 1000},
        {"logistic:n=500,dim=3", "newtonian", 0.03, 100},
        {"logistic:n=500,dim=3", "relativistic:cruise=0.79", 0.03, 100},
    };

    (void)printf(
        "code path %s; ns per step and chain, hmc with the mean number "
        "of steps of nuts\n"
        "goals: ratio at most 2; on small targets 16 lanes at least 4 x 1 "
        "lane\n\n",
        bench_isa());
    (void)printf("%-20s %-24s %5s %6s %6s %5s %8s %8s %7s %9s\n", "target",
                 "kinetic energy", "eps", "depth", "steps", "lanes", "hmc",
                 "nuts", "ratio", "x 1 lane");
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        print_job(&jobs[j]);
    }
    return 0;
}
