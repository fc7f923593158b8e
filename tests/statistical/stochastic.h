/*
 * stochastic.h - the errors of samplers without a Metropolis step in wells of one dimension.
 * Include it after cmocka.h.
 */
#ifndef TESTS_STATISTICAL_STOCHASTIC_H
#define TESTS_STATISTICAL_STOCHASTIC_H

#include "relmc_ext.h"
#include "support/callback.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHAINS = 64 };

static int64_t n_draws = 1500;
static int is_full;

/* ---- targets: U = x^2/2 and U = x^4/4 in one dimension --------------------- */

enum well { HARMONIC, QUARTIC, N_WELLS };

static const char *const well_names[N_WELLS] = {"x^2/2", "x^4/4"};

struct target {
    enum well well;
    double noise; /* sd of the noise of the gradient */
    double skew;  /* factor of the noise of a second coordinate */
    relmc_stream stream;
};

static inline double potential(enum well well, double x)
{
    return well == HARMONIC ? 0.5 * x * x : 0.25 * x * x * x * x;
}

static inline double slope(enum well well, double x)
{
    return well == HARMONIC ? x : x * x * x;
}

/* One sequence of normal numbers for all lanes. */
static inline double normal(struct target *t)
{
    return relmc_normal(&t->stream);
}

static inline int evaluate(size_t dim, size_t lanes, size_t ld, const double *x,
                           double *grad, double *lp, void *ctx)
{
    struct target *t = ctx;

    for (size_t k = 0; k < lanes; k++) {
        lp[k] = 0.0;
    }
    for (size_t i = 0; i < dim; i++) {
        for (size_t k = 0; k < lanes; k++) {
            lp[k] -= potential(t->well, x[i * ld + k]);
            grad[i * ld + k] = -slope(t->well, x[i * ld + k]);
            if (t->noise > 0.0) {
                grad[i * ld + k] += t->noise * (i ? t->skew : 1.0) * normal(t);
            }
        }
    }
    return RELMC_OK;
}

/* ---- exact answers --------------------------------------------------------- */

/* m = c = 1: K and v^2 are functions of each other. */
static inline double kinetic(int is_newtonian, double p)
{
    return is_newtonian ? 0.5 * p * p : sqrt(1.0 + p * p) - 1.0;
}

static inline double square_speed(int is_newtonian, double K)
{
    return is_newtonian ? 2.0 * K : 1.0 - 1.0 / ((K + 1.0) * (K + 1.0));
}

struct moments {
    double u, v2; /* E[U], E[v^2] */
};

static inline struct moments exact(enum well well, int is_newtonian, double T)
{
    enum { N = 200000 };
    const double range = 60.0 * (T > 1.0 ? T : 1.0);
    double sum_x = 0.0, sum_u = 0.0, sum_p = 0.0, sum_v2 = 0.0;

    for (int i = 0; i < N; i++) {
        const double y = range * ((i + 0.5) / N);
        const double U = potential(well, y), K = kinetic(is_newtonian, y);

        sum_x += exp(-U / T);
        sum_u += U * exp(-U / T);
        sum_p += exp(-K / T);
        sum_v2 += square_speed(is_newtonian, K) * exp(-K / T);
    }
    return (struct moments){sum_u / sum_x, sum_v2 / sum_p};
}

/* ---- estimates ------------------------------------------------------------- */

struct cell {
    const char *sampler, *kinetic;
    enum well well;
    double step, temperature, noise, skew;
    size_t dim; /* 0: 1 */
};

struct tally {
    double u[CHAINS], v2[CHAINS], first[CHAINS], second[CHAINS];
    int64_t n[CHAINS], n_divergent, n_not_finite;
    int is_newtonian;
    size_t dim;
};

static inline relmc_status add(void *ctx, const relmc_draw *d)
{
    struct tally *t = ctx;

    t->n[d->chain]++;
    t->u[d->chain] -= d->stats[RELMC_STAT_LP];
    t->v2[d->chain] += square_speed(
        t->is_newtonian, d->stats[RELMC_STAT_ENERGY] + d->stats[RELMC_STAT_LP]);
    t->first[d->chain] += d->outputs[0] * d->outputs[0];
    t->second[d->chain] += t->dim > 1 ? d->outputs[1] * d->outputs[1] : 0.0;
    t->n_divergent += (int)d->stats[RELMC_STAT_DIVERGENT];
    for (size_t i = 0; i < t->dim; i++) {
        t->n_not_finite += !isfinite(d->outputs[i]);
    }
    t->n_not_finite += !isfinite(d->stats[RELMC_STAT_LP]) ||
                       !isfinite(d->stats[RELMC_STAT_ENERGY]);
    return RELMC_OK;
}

struct estimate {
    double mean, error;
};

static inline struct estimate over_chains(const double *sum, const int64_t *n)
{
    double mean = 0.0, square = 0.0;

    for (size_t k = 0; k < CHAINS; k++) {
        mean += sum[k] / (double)n[k] / CHAINS;
    }
    for (size_t k = 0; k < CHAINS; k++) {
        square += pow(sum[k] / (double)n[k] - mean, 2);
    }
    return (struct estimate){mean, sqrt(square / (CHAINS - 1) / CHAINS)};
}

struct law {
    struct estimate u, v2;         /* relative errors */
    struct estimate first, second; /* E[x_1^2], E[x_2^2] */
    int64_t n_divergent, n_not_finite, n_clamped;
};

static inline struct law measure(const struct cell *c, int64_t draws)
{
    static struct tally tally;
    const size_t dim = c->dim ? c->dim : 1;
    const double T = c->temperature > 0.0 ? c->temperature : 1.0;
    struct target target = {.well = c->well,
                            .noise = c->noise,
                            .skew = c->skew,
                            .stream = {.seed = 9, .purpose = 77}};
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *t = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};

    tally = (struct tally){.is_newtonian = !strncmp(c->kinetic, "newtonian", 9),
                           .dim = dim};
    o.sampler = c->sampler;
    o.kinetic = c->kinetic;
    o.step_size = c->step;
    o.chains = o.lanes = CHAINS;
    o.warmup = 100 + (int64_t)(20.0 / c->step);
    o.draws = draws;
    o.seed = 4711;
    if (target_of_lanes(&t, dim, evaluate, &target, &err) ||
        relmc_run_create(&run, t, &o, &err) ||
        relmc_run_observe(run, add, &tally, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s: %s", c->sampler, err.message);
    }
    const struct moments truth = exact(c->well, tally.is_newtonian, T);
    struct law law = {.u = over_chains(tally.u, tally.n),
                      .v2 = over_chains(tally.v2, tally.n),
                      .first = over_chains(tally.first, tally.n),
                      .second = over_chains(tally.second, tally.n),
                      .n_divergent = tally.n_divergent,
                      .n_not_finite = tally.n_not_finite};

    for (size_t k = 0; k < CHAINS; k++) {
        relmc_progress r = {.size = sizeof r};

        assert_int_equal(relmc_run_progress(run, (uint32_t)k, &r, NULL),
                         RELMC_OK);
        law.n_clamped += r.n_clamped;
    }
    law.u.mean = law.u.mean / ((double)dim * truth.u) - 1.0;
    law.u.error /= (double)dim * truth.u;
    law.v2.mean = law.v2.mean / truth.v2 - 1.0;
    law.v2.error /= truth.v2;
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    return law;
}

static inline void print_law(const struct cell *c, const struct law *l)
{
    print_error("%s, %s, %s, h = %g: E[U] %+.2f (%.2f) %%, E[v^2] %+.2f (%.2f) "
                "%%, %lld divergent\n",
                well_names[c->well], c->kinetic, c->sampler, c->step,
                100.0 * l->u.mean, 100.0 * l->u.error, 100.0 * l->v2.mean,
                100.0 * l->v2.error, (long long)l->n_divergent);
}

/* An estimate is `wanted` up to `slack` and its standard error. */
static inline void is_about(const struct cell *c, const struct law *l,
                            struct estimate e, double wanted, double slack)
{
    if (!(fabs(e.mean - wanted) <= slack + 4.5 * e.error) ||
        !(e.error < 0.02)) {
        print_law(c, l);
        fail_msg("%g (%g) is not %g", e.mean, e.error, wanted);
    }
}

/* `full`, or a pattern of names of tests. */
static inline void read_arguments(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "full")) {
        n_draws *= 4;
        is_full = 1;
    } else if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
}

#endif
