/*
 * leapfrog.c - what a leapfrog step costs, per chain: the library at 1, 8 and 64
 * lanes, a scalar loop written by hand for one target, and what the machine's
 * divider allows.
 *
 * "slope" is the marginal cost of one more step, from trajectories of 10 and 30
 * steps; "rest" is all else of a transition: refreshment, energies, acceptance.
 */
#include "bench.h"

#include "kinetic/separable_momentum_inline.h"
#include "relmc.h"

#include <math.h>

enum { SHORT = 10, LONG = 30, WINDOW = 40 };

struct cost {
    double slope, rest;
};

static struct cost cost_of(double at_short, double at_long)
{
    struct cost c;

    c.slope = (at_long - at_short) / (LONG - SHORT);
    c.rest = at_short - SHORT * c.slope;
    return c;
}

/* ---- the library ---------------------------------------------------------- */

static void advance(void *run)
{
    relmc_error err = {0};

    bench_need(relmc_run_advance(run, WINDOW, &err), err.message);
}

static double library(const char *model, const char *kinetic, double eps,
                      uint32_t lanes, int steps)
{
    relmc_error err = {0};
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_options o = RELMC_INIT(relmc_options);
    char sampler[64];

    (void)snprintf(sampler, sizeof sampler, "hmc:steps=%d,jitter=0", steps);
    o.sampler = sampler;
    o.kinetic = kinetic;
    o.isa = bench_isa();
    o.adapt = "none";
    o.step_size = eps;
    o.draws = INT64_C(1) << 40;
    o.warmup = RELMC_ZERO;
    o.chains = o.lanes = lanes;
    o.keep = RELMC_ZERO;
    o.threads = 1;
    bench_need(relmc_target_open(&target, model, NULL, &err), err.message);
    bench_need(relmc_run_create(&run, target, &o, &err), err.message);
    const double ns = bench_least(advance, run, 0.3);
    relmc_run_destroy(run);
    relmc_target_destroy(target);
    return ns / WINDOW / lanes;
}

/* ---- by hand -------------------------------------------------------------- */

/* What a careful programmer writes for one target: no function pointers, a small
 * generator, the same quantile table for the momenta, the kicks merged. */
struct hand {
    int dim, steps;
    double eps, x[100], g[100], lp;
    uint64_t rng[4];
    double table[RMC_TABLE_SIZE];
};

static uint64_t next_bits(uint64_t s[4])
{
    const uint64_t sum = s[0] + s[3], t = s[1] << 17;
    const uint64_t out = (sum << 23 | sum >> 41) + s[0];

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3] << 45 | s[3] >> 19;
    return out;
}

static inline double banana(int dim, const double *x, double *g)
{
    const double r = x[1] + 0.1 * x[0] * x[0] - 10.0;

    (void)dim;
    g[0] = -0.01 * x[0] - 0.2 * x[0] * r;
    g[1] = -r;
    return -0.5 * (0.01 * x[0] * x[0] + r * r);
}

static inline double gmm1(int dim, const double *x, double *g)
{
    double term[3], top = -1e300, sum = 0.0, slope = 0.0;

    (void)dim;
    for (int j = 0; j < 3; j++) {
        const double z = x[0] - 5.0 * (j - 1);
        term[j] = -0.5 * z * z;
        top = term[j] > top ? term[j] : top;
    }
    for (int j = 0; j < 3; j++) {
        const double e = exp(term[j] - top);
        sum += e;
        slope -= e * (x[0] - 5.0 * (j - 1));
    }
    g[0] = slope / sum;
    return top + log(sum);
}

static inline double gaussian(int dim, const double *x, double *g)
{
    double sum = 0.0;

    for (int j = 0; j < dim; j++) {
        g[j] = -x[j];
        sum += x[j] * x[j];
    }
    return -0.5 * sum;
}

static inline double energy(int dim, const double *p)
{
    double sum = 0.0;

    for (int j = 0; j < dim; j++) {
        sum += p[j] * p[j] / (1.0 + sqrt(1.0 + p[j] * p[j]));
    }
    return sum;
}

#define BY_HAND(target)                                                  \
    static void target##_by_hand(void *ctx)                              \
    {                                                                    \
        struct hand *h = ctx;                                            \
        const int d = h->dim;                                            \
        const double eps = h->eps;                                       \
        for (int n = 0; n < WINDOW; n++) {                               \
            double x[100], g[100], p[100], lp = 0.0;                     \
            for (int j = 0; j < d; j++) {                                \
                p[j] = rmc_hyperbolic_draw(h->table, next_bits(h->rng)); \
            }                                                            \
            const double h0 = energy(d, p) - h->lp;                      \
            for (int j = 0; j < d; j++) {                                \
                x[j] = h->x[j];                                          \
                p[j] += 0.5 * eps * h->g[j];                             \
            }                                                            \
            for (int l = 0; l < h->steps; l++) {                         \
                for (int j = 0; j < d; j++) {                            \
                    x[j] += eps * p[j] / sqrt(1.0 + p[j] * p[j]);        \
                }                                                        \
                lp = target(d, x, g);                                    \
                const double w = l + 1 < h->steps ? eps : 0.5 * eps;     \
                for (int j = 0; j < d; j++) {                            \
                    p[j] += w * g[j];                                    \
                }                                                        \
            }                                                            \
            const double h1 = energy(d, p) - lp;                         \
            if (rmc_unit(next_bits(h->rng)) < exp(h0 - h1)) {            \
                for (int j = 0; j < d; j++) {                            \
                    h->x[j] = x[j];                                      \
                    h->g[j] = g[j];                                      \
                }                                                        \
                h->lp = lp;                                              \
            }                                                            \
        }                                                                \
    }

BY_HAND(banana)
BY_HAND(gmm1)
BY_HAND(gaussian)

static struct cost hand(void (*fn)(void *), int dim, double eps)
{
    static struct hand h __attribute__((aligned(64)));
    double ns[2];

    RMC_ISA(rmc_hyperbolic_tabulate)(1.0, h.table);
    for (int n = 0; n < 2; n++) {
        h.dim = dim;
        h.eps = eps;
        h.steps = n ? LONG : SHORT;
        h.lp = -1e9;
        h.rng[0] = 1, h.rng[1] = 2, h.rng[2] = 3, h.rng[3] = 4;
        for (int j = 0; j < dim; j++) {
            h.x[j] = 0.1;
            h.g[j] = 0.0;
        }
        ns[n] = bench_least(fn, &h, 0.3) / WINDOW;
    }
    return cost_of(ns[0], ns[1]);
}

/* ---- the machine ---------------------------------------------------------- */

enum { CELLS = 1024 };
static double limit_in[CELLS] __attribute__((aligned(64)));
static double limit_out[CELLS] __attribute__((aligned(64)));

/* Nothing but the square root and the division of a relativistic drift. */
static void divider(void *ctx)
{
    (void)ctx;
    for (int j = 0; j < CELLS; j++) {
        limit_out[j] = limit_in[j] / sqrt(limit_in[j]);
    }
    BENCH_KEEP(limit_out);
}

static double divider_limit(void)
{
    for (int j = 0; j < CELLS; j++) {
        limit_in[j] = 1.0 + j;
    }
    return bench_least(divider, NULL, 0.1) / CELLS;
}

/* ---- the table ------------------------------------------------------------ */

int main(void)
{
    static const struct {
        const char *name, *model;
        void (*by_hand)(void *);
        int dim;
        double eps;
    } jobs[] = {
        {"banana d=2", "banana", banana_by_hand, 2, 0.1},
        {"gmm1 d=1", "gmm1", gmm1_by_hand, 1, 0.1},
        {"gaussian d=100", "gaussian:dim=100", gaussian_by_hand, 100, 0.1},
    };
    static const uint32_t lanes[] = {1, 8, 16, 64};
    const double limit = divider_limit();

    (void)printf("code path %s; sqrt and division %.2f ns per coordinate\n",
                 bench_isa(), limit);
    (void)printf("separable kinetic energy; ns per leapfrog step and chain "
                 "(slope), ns per transition and chain (L = %d)\n\n",
                 SHORT);
    (void)printf("%-16s %-8s %8s %8s %10s %9s %9s\n", "target", "lanes",
                 "slope", "rest", "transition", "x 1 lane", "x divider");
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        const struct cost by_hand =
            hand(jobs[j].by_hand, jobs[j].dim, jobs[j].eps);
        const double own = by_hand.rest + SHORT * by_hand.slope;
        double one = 0.0;

        (void)printf("%-16s %-8s %8.2f %8.1f %10.1f\n", jobs[j].name, "by hand",
                     by_hand.slope, by_hand.rest, own);
        for (size_t w = 0; w < sizeof lanes / sizeof *lanes; w++) {
            const double at_short = library(jobs[j].model, "separable",
                                            jobs[j].eps, lanes[w], SHORT);
            const struct cost c =
                cost_of(at_short, library(jobs[j].model, "separable",
                                          jobs[j].eps, lanes[w], LONG));

            one = w ? one : at_short;
            (void)printf("%-16s %-8u %8.2f %8.1f %10.1f %9.2f %9.2f", "",
                         lanes[w], c.slope, c.rest, at_short, one / at_short,
                         c.slope / (limit * jobs[j].dim));
            (void)printf(w ? "\n" : "   (%.2f x by hand)\n", at_short / own);
        }
    }
    return 0;
}
