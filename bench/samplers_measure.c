/*
 * samplers_measure.c - one run of one sampler on one target, and how good its
 * draws are for what they cost.
 *
 * The target is wrapped in one that counts: whatever asks for a gradient pays,
 * be it a transition, the search of a starting point or of a step size, or a
 * trial that no report mentions.
 */
#include "relmc_diag.h"
#include "samplers.h"

#include "run/run.h"

#include <math.h>
#include <string.h>

/* ---- draws ----------------------------------------------------------------- */

/* Draws of one chain, every stride-th of them: where the room ends, every other
 * one goes, and the stride doubles. */
struct track {
    double *x; /* room x dim */
    size_t n, room, dim;
    int64_t stride;
    double n_steps, n_divergent;
};

static void thin(struct track *k)
{
    for (size_t t = 1; 2 * t < k->n; t++) {
        memcpy(k->x + t * k->dim, k->x + 2 * t * k->dim, k->dim * sizeof *k->x);
    }
    k->n = (k->n + 1) / 2;
    k->stride *= 2;
}

static relmc_status record(void *ctx, const relmc_draw *draw)
{
    struct track *k = (struct track *)ctx + draw->chain;

    k->n_steps += (int)draw->stats[RELMC_STAT_N_STEPS];
    k->n_divergent += (int)draw->stats[RELMC_STAT_DIVERGENT];
    if (k->n == k->room) {
        thin(k);
    }
    if (draw->index % k->stride == 0) {
        memcpy(k->x + k->n++ * k->dim, draw->outputs, k->dim * sizeof *k->x);
    }
    return RELMC_OK;
}

static struct track *new_tracks(size_t chains, size_t dim)
{
    const size_t fits = 5000000 / dim & ~(size_t)1;
    const size_t room = fits < 65536 ? fits : 65536;
    struct track *tracks = calloc(chains, sizeof *tracks);

    bench_need(!tracks, "no memory");
    for (size_t c = 0; c < chains; c++) {
        tracks[c] = (struct track){.x = new_doubles(room * dim),
                                   .room = room,
                                   .dim = dim,
                                   .stride = 1};
    }
    return tracks;
}

static void free_tracks(struct track *tracks, size_t chains)
{
    for (size_t c = 0; c < chains; c++) {
        free(tracks[c].x);
    }
    free(tracks);
}

/* ---- effective draws ------------------------------------------------------- */

/* The draws of coordinate i, a chain after the other. */
static void gather(double *out, const struct track *tracks, size_t chains,
                   size_t i)
{
    for (size_t c = 0; c < chains; c++) {
        const size_t n = tracks[c].n, dim = tracks[c].dim;

        for (size_t t = 0; t < n; t++) {
            out[c * n + t] = tracks[c].x[t * dim + i];
        }
    }
}

/* Chains that do not move have no effective size; they are worth one draw. */
static double at_least_one(double ess)
{
    return ess > 1.0 ? ess : 1.0;
}

static void judge_mixing(struct result *out, double *x, size_t chains, size_t n)
{
    const relmc_series series = {x, chains, n, 1, n};
    relmc_summary plain = RELMC_INIT(relmc_summary);
    relmc_summary folded = RELMC_INIT(relmc_summary);

    (void)relmc_summarise(&plain, &series, NULL);
    for (size_t t = 0; t < chains * n; t++) {
        x[t] = fabs(x[t] - plain.median);
    }
    (void)relmc_summarise(&folded, &series, NULL);
    out->ess = fmin(out->ess, at_least_one(plain.ess_bulk));
    out->ess = fmin(out->ess, at_least_one(folded.ess_bulk));
    out->rhat = fmax(out->rhat, isnan(plain.rhat) ? HUGE_VAL : plain.rhat);
}

/* The share of the draws below q. */
static double below(const double *x, size_t n, double q)
{
    size_t count = 0;

    for (size_t t = 0; t < n; t++) {
        count += x[t] < q;
    }
    return (double)count / (double)n;
}

/* Mean over levels and chains of (P(x < q) - p)^2 / (p (1 - p)): one over n for
 * n independent draws per chain.  *bias: the worst of all chains together. */
static double quantile_error(double *bias, const double *quantile,
                             const double *x, size_t chains, size_t n)
{
    double sum = 0.0;

    for (size_t j = 0; j < N_LEVELS; j++) {
        const double p = levels[j], sd = sqrt(p * (1.0 - p));
        double pooled = 0.0;

        for (size_t c = 0; c < chains; c++) {
            const double z = (below(x + c * n, n, quantile[j]) - p) / sd;

            sum += z * z;
            pooled += z / (double)chains;
        }
        *bias = fmax(*bias, fabs(pooled));
    }
    return sum / (double)(N_LEVELS * chains);
}

static void judge(struct result *out, struct track *tracks, size_t chains,
                  const struct truth *truth)
{
    const size_t n = tracks[0].n, dim = tracks[0].dim;
    double *x = new_doubles(chains * n);
    double error = 0.0;

    out->ess = HUGE_VAL;
    out->rhat = out->bias = 0.0;
    for (size_t i = 0; i < dim; i++) {
        gather(x, tracks, chains, i);
        if (truth->quantile) {
            error += quantile_error(&out->bias, truth->quantile + i * N_LEVELS,
                                    x, chains, n);
        }
        judge_mixing(out, x, chains, n); /* folds x */
    }
    if (truth->quantile) {
        out->quantile_ess = (double)(chains * dim) / error;
    } else {
        out->quantile_ess = out->bias = (double)NAN;
    }
    for (size_t c = 0; c < chains; c++) {
        out->steps += tracks[c].n_steps;
        out->divergent += tracks[c].n_divergent;
    }
    free(x);
}

/* ---- a run ----------------------------------------------------------------- */

struct counter {
    const relmc_target *model;
    _Atomic int64_t n;
};

static int count(void *ctx, const double *x, double *lp, double *grad,
                 relmc_error *err)
{
    struct counter *counter = ctx;

    atomic_fetch_add_explicit(&counter->n, 1, memory_order_relaxed);
    return relmc_target_eval(counter->model, 1, x, lp, grad, err);
}

/* Blocks of draws until the gradients are spent. */
static relmc_status spend(relmc_run *run, const struct counter *counter,
                          const struct effort *effort, struct result *out,
                          relmc_error *err)
{
    enum { FEWEST = 100 }; /* diagnostics of fewer draws mean nothing */
    const double begin = (double)counter->n;
    const double budget = effort->gradients * effort->chains;
    int64_t block = effort->draws ? effort->draws : FEWEST;
    relmc_status status = RELMC_OK;

    while (block > 0 && !(status = relmc_run_advance(run, block, err))) {
        out->draws += (double)block * effort->chains;
        out->gradients = (double)counter->n - begin;
        const double left = (budget / fmax(out->gradients, 1.0) - 1.0) *
                            out->draws / effort->chains;
        block =
            effort->draws || out->gradients >= budget ? 0 : 1 + (int64_t)left;
    }
    return status;
}

static double reported(const relmc_run *run, uint32_t chains)
{
    double sum = 0.0;

    for (uint32_t c = 0; c < chains; c++) {
        relmc_progress report = {.size = sizeof report};

        (void)relmc_run_progress(run, c, &report, NULL);
        sum += (double)report.n_grad;
    }
    return sum;
}

/* Adaptation may have chosen; all chains do the same. */
static void name_engine(char out[MAX_TEXT], const relmc_run *run)
{
    const relmc_system *sys = &run->ensembles[0].sys;

    (void)snprintf(out, MAX_TEXT, "%s/%s%s",
                   sys->move.engines ? sys->move.engines[sys->move.engine]
                                     : run->sampler->info.name,
                   sys->move.kinetic.ops->info.name,
                   sys->frame.scale.chol ? "/dense" : "");
}

static relmc_status sample(relmc_run *run, const struct counter *counter,
                           const struct config *config,
                           const struct effort *effort, struct result *out,
                           relmc_error *err)
{
    relmc_status status = relmc_run_advance(run, config->warmup, err);

    out->warmup_gradients = (double)counter->n;
    if (status || (status = spend(run, counter, effort, out, err))) {
        return status;
    }
    out->hidden = (double)counter->n - reported(run, effort->chains);
    name_engine(out->engine, run);
    return RELMC_OK;
}

static relmc_options options_of(const struct config *config,
                                const struct effort *effort, uint64_t seed)
{
    return (relmc_options){
        .size = sizeof(relmc_options),
        .sampler = config->sampler,
        .kinetic = config->kinetic,
        .integrator = config->integrator,
        .adapt = config->adapt,
        .seed = seed,
        .draws = INT64_C(1) << 40,
        .warmup = config->warmup ? config->warmup : RELMC_ZERO,
        .chains = effort->chains,
        .threads = effort->threads,
        .keep = RELMC_ZERO,
    };
}

void measure(struct result *out, const struct truth *truth,
             const struct config *config, const struct effort *effort,
             uint64_t seed)
{
    const size_t dim = relmc_target_dim(truth->model);
    const relmc_options options = options_of(config, effort, seed);
    struct counter counter = {.model = truth->model};
    struct track *tracks = new_tracks(effort->chains, dim);
    relmc_density density = RELMC_INIT(relmc_density);
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};

    density.dim = dim;
    density.ctx = &counter;
    density.point = count;
    *out = (struct result){.state = FAILED};
    if (relmc_target_create(&target, &density, &err) ||
        relmc_run_create(&run, target, &options, &err) ||
        relmc_run_observe(run, record, tracks, &err) ||
        sample(run, &counter, config, effort, out, &err)) {
        (void)snprintf(out->message, MAX_TEXT, "%.*s", MAX_TEXT - 1,
                       err.message);
    } else {
        judge(out, tracks, effort->chains, truth);
        out->state = RAN;
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    free_tracks(tracks, effort->chains);
}
