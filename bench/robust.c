/*
 * robust.c - how carefully a step size must be chosen: nuts with fixed steps on
 * a geometric grid, and the ratio of the largest to the smallest one that gets
 * at least half the effective draws per gradient of the best.
 *
 * Chains start with exact draws and have the exact variances as their metric
 * where these are finite: no adaptation has a part in this.  Worse steps in
 * between are not held against a kinetic energy.
 */
#include "bench.h"

#include "relmc.h"
#include "relmc_diag.h"

#include <math.h>
#include <string.h>

enum {
    N_STEPS = 21,
    N_SEEDS = 3,
    CHAINS = 4,
    GRADIENTS = 20000,   /* per chain */
    FEWEST = 100,        /* diagnostics of fewer draws mean nothing */
    ROOM = GRADIENTS + 2 /* draws per chain: a draw is a gradient at least, and
                            the last block may be one too long */
};
#define FACTOR 1.26 /* to the 20th is 100 */
#define ENOUGH 0.5  /* of the best */

/* A target whose grid of step sizes starts at `first`. */
struct target {
    const char *model;
    double first;
};

struct problem {
    relmc_target *model;
    size_t dim;
    double *inv_metric; /* NULL: the identity */
    double *x;          /* CHAINS x ROOM x dim */
    double *column;     /* CHAINS x ROOM */
};

static double *new_doubles(size_t n)
{
    double *out = malloc(n * sizeof *out);

    bench_need(!out, "no memory");
    return out;
}

static double *new_variances(const relmc_target *model, size_t dim)
{
    double *mean = new_doubles(dim), *variance = new_doubles(dim);
    int is_known = !relmc_target_moments(model, mean, variance, NULL);

    for (size_t i = 0; i < dim && is_known; i++) {
        is_known = isfinite(variance[i]);
    }
    free(mean);
    if (!is_known) {
        free(variance);
    }
    return is_known ? variance : NULL;
}

static struct problem new_problem(const char *model)
{
    struct problem p = {0};
    relmc_error err = {0};

    bench_need(relmc_target_open(&p.model, model, NULL, &err), err.message);
    p.dim = relmc_target_dim(p.model);
    p.inv_metric = new_variances(p.model, p.dim);
    p.x = new_doubles(CHAINS * (size_t)ROOM * p.dim);
    p.column = new_doubles(CHAINS * (size_t)ROOM);
    return p;
}

static void free_problem(struct problem *p)
{
    relmc_target_destroy(p->model);
    free(p->inv_metric);
    free(p->x);
    free(p->column);
}

/* ---- a run ------------------------------------------------------------------ */

static relmc_status record(void *ctx, const relmc_draw *draw)
{
    const struct problem *p = ctx;
    const size_t row = draw->chain * (size_t)ROOM + (size_t)draw->index;

    memcpy(p->x + row * p->dim, draw->outputs, p->dim * sizeof *p->x);
    return RELMC_OK;
}

static double n_gradients(const relmc_run *run)
{
    double sum = 0.0;

    for (uint32_t c = 0; c < CHAINS; c++) {
        relmc_progress report = {.size = sizeof report};

        (void)relmc_run_progress(run, c, &report, NULL);
        sum += (double)report.n_grad;
    }
    return sum;
}

/* Blocks of draws until the gradients are spent; returns draws per chain. */
static size_t spend(relmc_run *run)
{
    const double budget = (double)CHAINS * GRADIENTS;
    int64_t n = 0, block = FEWEST;
    relmc_error err = {0};

    while (block > 0) {
        bench_need(relmc_run_advance(run, block, &err), err.message);
        n += block;
        const double left = (budget / n_gradients(run) - 1.0) * (double)n;
        block = left > 0.0 ? 1 + (int64_t)left : 0;
    }
    return (size_t)n;
}

/* Chains that do not move have no effective size; they are worth one draw. */
static double ess_of(const double *column, size_t n, double *median)
{
    const relmc_series series = {column, CHAINS, n, 1, n};
    relmc_summary summary = RELMC_INIT(relmc_summary);

    (void)relmc_summarise(&summary, &series, NULL);
    *median = summary.median;
    return summary.ess_bulk > 1.0 ? summary.ess_bulk : 1.0;
}

/* The least of all x_i and |x_i - median|, as in samplers_measure.c; no more
 * than that it is less than `floor`, if it is. */
static double least_ess(const struct problem *p, size_t n, double floor)
{
    double least = HUGE_VAL, median, unused;

    for (size_t i = 0; i < p->dim && least >= floor; i++) {
        for (size_t c = 0; c < CHAINS; c++) {
            for (size_t t = 0; t < n; t++) {
                p->column[c * n + t] = p->x[(c * ROOM + t) * p->dim + i];
            }
        }
        least = fmin(least, ess_of(p->column, n, &median));
        for (size_t t = 0; t < CHAINS * n; t++) {
            p->column[t] = fabs(p->column[t] - median);
        }
        least = fmin(least, ess_of(p->column, n, &unused));
    }
    return least;
}

/* Effective draws per gradient; if less than `floor`, nothing more is said. */
static double efficiency(struct problem *p, const char *kinetic, double eps,
                         uint64_t seed, double floor)
{
    double *start = new_doubles(CHAINS * p->dim);
    const relmc_options o = {
        .size = sizeof o,
        .sampler = "nuts",
        .kinetic = kinetic,
        .adapt = "none",
        .seed = seed,
        .draws = ROOM,
        .warmup = RELMC_ZERO,
        .chains = CHAINS,
        .step_size = eps,
        .init = start,
        .keep = RELMC_ZERO,
        .threads = 1,
        .inv_metric = p->inv_metric,
    };
    relmc_run *run = NULL;
    relmc_error err = {0};

    bench_need(relmc_target_sample(p->model, seed, CHAINS, start, &err) ||
                   relmc_run_create(&run, p->model, &o, &err) ||
                   relmc_run_observe(run, record, p, &err),
               err.message);
    const size_t n = spend(run);
    const double gradients = n_gradients(run);
    relmc_run_destroy(run);
    free(start);
    return least_ess(p, n, floor * gradients) / gradients;
}

/* ---- a grid of steps -------------------------------------------------------- */

struct window {
    double best, at;  /* effective draws per gradient, and the step for them */
    double low, high; /* the first and the last step that is good enough */
    int is_cut;       /* by the end of the grid */
};

static struct window scan(struct problem *p, const char *kinetic, double first,
                          uint64_t seed)
{
    struct window w = {0};
    double eps[N_STEPS], rate[N_STEPS];
    int low = N_STEPS, high = 0;

    for (int i = 0; i < N_STEPS; i++) {
        eps[i] = first * pow(FACTOR, i);
        rate[i] = efficiency(p, kinetic, eps[i], seed, ENOUGH * w.best);
        if (rate[i] > w.best) {
            w.best = rate[i];
            w.at = eps[i];
        }
    }
    for (int i = 0; i < N_STEPS; i++) {
        if (rate[i] >= ENOUGH * w.best) {
            low = i < low ? i : low;
            high = i;
        }
    }
    w.low = eps[low];
    w.high = eps[high];
    w.is_cut = low == 0 || high == N_STEPS - 1;
    return w;
}

/* Geometric means over the seeds. */
static void print_row(struct problem *p, const struct target *target,
                      const char *kinetic)
{
    double best = 0.0, at = 0.0, low = 0.0, high = 0.0;
    double narrow = HUGE_VAL, wide = 0.0;
    int is_cut = 0;

    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        const struct window w = scan(p, kinetic, target->first, seed);

        best += log(w.best) / N_SEEDS;
        at += log(w.at) / N_SEEDS;
        low += log(w.low) / N_SEEDS;
        high += log(w.high) / N_SEEDS;
        narrow = fmin(narrow, w.high / w.low);
        wide = fmax(wide, w.high / w.low);
        is_cut |= w.is_cut;
    }
    (void)printf("%-20s %-24s %6.2f%s %5.1f to %4.1f %8.3g to %5.3g %8.3g "
                 "%8.3g\n",
                 target->model, kinetic, exp(high - low), is_cut ? "+" : " ",
                 narrow, wide, exp(low), exp(high), exp(at), 1e3 * exp(best));
    (void)fflush(stdout);
}

int main(void)
{
    static const struct target targets[] = {
        {"gaussian:dim=10", 0.05},
        {"quartic:dim=10", 0.05},
        {"gmm1", 0.05},
        {"gmm3", 0.05},
        {"student:dim=10,nu=2", 0.05},
        {"banana", 0.01},
    };
    static const char *const kinetics[] = {
        "newtonian", "relativistic:cruise=0.79", "separable:cruise=0.79"};

    (void)printf("nuts, %d chains of %d gradients, %d seeds; steps that get %g "
                 "of the best ESS per gradient\n"
                 "ratio: largest to smallest; +: the grid ends there\n\n",
                 CHAINS, GRADIENTS, N_SEEDS, ENOUGH);
    (void)printf("%-20s %-24s %6s  %12s %17s %8s %8s\n", "target",
                 "kinetic energy", "ratio", "of the seeds", "steps", "best",
                 "ESS/1000");
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        struct problem p = new_problem(targets[t].model);

        for (size_t k = 0; k < sizeof kinetics / sizeof *kinetics; k++) {
            print_row(&p, &targets[t], kinetics[k]);
        }
        free_problem(&p);
    }
    return 0;
}
