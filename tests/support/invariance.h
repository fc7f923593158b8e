/*
 * invariance.h - tests that a transition leaves its target invariant, for any sampler,
 * kinetic energy, integrator and model with exact draws.  Include it after cmocka.h.
 *
 * Chains start at exact independent draws and make one transition, or a few.  The end of
 * each is ranked among further exact draws, used for this chain only: in every coordinate,
 * in the log density and in the product of the first two coordinates.  If the target is
 * invariant, the ranks of different chains are independent and uniform at any step size,
 * and the p-value of relmc_ecdf_test is exact.
 *
 * Unless the cell sets a step size, one is chosen that rejects a third of the proposals:
 * there, mistakes show best.
 *
 *     invariance_model model;
 *     invariance_model_open(&model, "banana", 20000);
 *     const invariance_cell cell = {.model = &model, .sampler = "nuts"};
 *     invariance_check(&cell);
 *     invariance_model_close(&model);
 */
#ifndef RMC_TESTS_INVARIANCE_H
#define RMC_TESTS_INVARIANCE_H

#include "relmc.h"
#include "relmc_diag.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    INVARIANCE_DRAWS = 15, /* exact draws per chain, for the ranks */
    INVARIANCE_MAX_DIM = 16,
    INVARIANCE_MAX_STATS = INVARIANCE_MAX_DIM + 2,
    INVARIANCE_PILOT = 500 /* chains of the search for the step size */
};

/* ---- models ---------------------------------------------------------------- */

typedef struct invariance_model {
    const char *spec;
    relmc_target *target;
    size_t dim, n_stats;
    size_t n;      /* the largest number of chains */
    double *exact; /* n_stats x n x INVARIANCE_DRAWS */
} invariance_model;

/* The statistics of a point, `stride` apart. */
static inline void invariance_stats(const invariance_model *m, const double *x,
                                    double *out, size_t stride)
{
    double grad[INVARIANCE_MAX_DIM];

    for (size_t i = 0; i < m->dim; i++) {
        out[i * stride] = x[i];
    }
    assert_int_equal(
        relmc_target_eval(m->target, 1, x, &out[m->dim * stride], grad, NULL),
        RELMC_OK);
    if (m->dim > 1) {
        out[(m->dim + 1) * stride] = x[0] * x[1];
    }
}

static inline void invariance_stat_name(const invariance_model *m, size_t j,
                                        char *out, size_t bytes)
{
    if (j < m->dim) {
        relmc_target_coordinate_name(m->target, j, out, bytes);
    } else {
        (void)snprintf(out, bytes, j == m->dim ? "log density" : "product");
    }
}

/* With exact draws for up to n chains. */
static inline void invariance_model_open(invariance_model *m, const char *spec,
                                         size_t n)
{
    enum { SEED = 4711 };
    const size_t n_exact = n * INVARIANCE_DRAWS;
    relmc_error err = {0};

    *m = (invariance_model){.spec = spec, .n = n};
    if (relmc_target_open(&m->target, spec, NULL, &err)) {
        fail_msg("%s", err.message);
    }
    m->dim = relmc_target_dim(m->target);
    m->n_stats = m->dim + 1 + (m->dim > 1);
    assert_true(m->dim <= INVARIANCE_MAX_DIM);
    double *x = malloc(n_exact * m->dim * sizeof *x);
    m->exact = malloc(n_exact * m->n_stats * sizeof *m->exact);
    assert_true(x && m->exact);
    if (relmc_target_sample(m->target, SEED, n_exact, x, &err)) {
        fail_msg("%s", err.message);
    }
    for (size_t t = 0; t < n_exact; t++) {
        invariance_stats(m, x + t * m->dim, m->exact + t, n_exact);
    }
    free(x);
}

static inline void invariance_model_close(invariance_model *m)
{
    relmc_target_destroy(m->target);
    free(m->exact);
}

/* ---- cells ----------------------------------------------------------------- */

/* Zero means the default: that of relmc_options, or the number in the comment. */
typedef struct invariance_cell {
    const invariance_model *model;
    const char *sampler, *kinetic, *integrator;
    int64_t
        n_transitions; /* 1; more if the sampler keeps something, such as momentum,
                              from one transition to the next */
    double step_size; /* the one with the mean acceptance ... */
    double accept;    /* ... 0.67 */
    size_t n;         /* chains: all that the model has draws for */
    uint64_t seed;
    const double *inv_metric, *inv_metric_dense;
    const relmc_target
        *sampled; /* for controls: a target other than the model */
} invariance_cell;

typedef struct invariance_report {
    double step_size, accepted;
    /* of relmc_ecdf_test; above 1e-3 possibly a lower bound, which is cheap */
    double p[INVARIANCE_MAX_STATS];
    double least; /* of these */
} invariance_report;

/* The last points of n chains. */
typedef struct invariance_ends {
    size_t dim;
    int64_t last; /* index of the draw that counts */
    double *x;    /* n x dim, or NULL */
} invariance_ends;

static inline relmc_status invariance_look(void *ctx, const relmc_draw *d)
{
    const invariance_ends *ends = ctx;

    for (size_t i = 0; d->index == ends->last && i < ends->dim; i++) {
        ends->x[d->chain * ends->dim + i] = d->outputs[i];
    }
    return RELMC_OK;
}

static inline void invariance_options(relmc_options *o,
                                      const invariance_cell *c)
{
    *o = (relmc_options)RELMC_INIT(relmc_options);
    o->sampler = c->sampler;
    o->kinetic = c->kinetic;
    o->integrator = c->integrator;
    o->adapt = "none";
    o->seed = c->seed + 1;
    o->warmup = RELMC_ZERO;
    o->draws = c->n_transitions ? c->n_transitions : 1;
    o->lanes = 64;
    o->inv_metric = c->inv_metric;
    o->inv_metric_dense = c->inv_metric_dense;
}

/* Runs n chains from exact draws; returns the mean acceptance probability. */
static inline double invariance_transport(const invariance_cell *c, size_t n,
                                          double step_size, double *ends)
{
    const invariance_model *m = c->model;
    invariance_ends look = {.dim = m->dim, .x = ends};
    double *init = malloc(n * m->dim * sizeof *init), sum = 0.0;
    relmc_run *run = NULL;
    relmc_error err = {0};
    relmc_options o;

    assert_non_null(init);
    assert_int_equal(relmc_target_sample(m->target, c->seed, n, init, NULL),
                     RELMC_OK);
    invariance_options(&o, c);
    o.chains = (uint32_t)n;
    o.step_size = step_size;
    o.init = init;
    look.last = o.draws - 1;
    if (relmc_run_create(&run, c->sampled ? c->sampled : m->target, &o, &err) ||
        (ends && relmc_run_observe(run, invariance_look, &look, &err)) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s", err.message);
    }
    for (size_t k = 0; k < n; k++) {
        relmc_progress r = {.size = sizeof r};

        assert_int_equal(relmc_run_progress(run, (uint32_t)k, &r, NULL),
                         RELMC_OK);
        sum += r.accept_prob;
    }
    relmc_run_destroy(run);
    free(init);
    return sum / (double)n;
}

/* The step size with the mean acceptance probability `accept`. */
static inline double invariance_step_size(const invariance_cell *c)
{
    const double wanted = c->accept > 0.0 ? c->accept : 0.67;
    double low = 0.03, high = 30.0; /* trees of smaller steps take long */

    for (int i = 0; i < 7; i++) {
        const double middle = sqrt(low * high);

        if (invariance_transport(c, INVARIANCE_PILOT, middle, NULL) > wanted) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The p-value of the most extreme point alone, a lower bound of that for all points. */
static inline double invariance_lower_bound(const size_t *count, size_t n)
{
    const double cells = INVARIANCE_DRAWS + 1;
    double sum = 0.0, worst = 0.0;

    for (size_t r = 0; r < INVARIANCE_DRAWS; r++) {
        const double p = (double)(r + 1) / cells;

        sum += (double)count[r];
        worst = fmax(worst, fabs(sum - (double)n * p) /
                                sqrt((double)n * p * (1.0 - p)));
    }
    return 0.5 * erfc(worst / sqrt(2.0));
}

/* The p-value of uniform ranks of the j-th statistic. */
static inline double invariance_p(const invariance_model *m, size_t j, size_t n,
                                  const double *stat)
{
    const double *exact = m->exact + j * m->n * INVARIANCE_DRAWS;
    size_t count[INVARIANCE_DRAWS + 1] = {0};
    double *u = malloc(n * sizeof *u), p;

    assert_non_null(u);
    for (size_t k = 0; k < n; k++) {
        size_t rank = 0;

        for (size_t l = 0; l < INVARIANCE_DRAWS; l++) {
            rank += exact[k * INVARIANCE_DRAWS + l] < stat[k];
        }
        count[rank]++;
        u[k] = (double)(rank + 1) / (INVARIANCE_DRAWS + 1);
    }
    p = invariance_lower_bound(count, n);
    if (!(p > 1e-3)) {
        assert_int_equal(relmc_ecdf_test(&p, n, u, INVARIANCE_DRAWS + 1, NULL),
                         RELMC_OK);
    }
    free(u);
    return p;
}

static inline void invariance_run(invariance_report *out,
                                  const invariance_cell *c)
{
    const invariance_model *m = c->model;
    const size_t n = c->n ? c->n : m->n;
    double *x = malloc(n * m->dim * sizeof *x);
    double *stat = malloc(n * m->n_stats * sizeof *stat);

    assert_true(n <= m->n && x && stat);
    *out = (invariance_report){.step_size = c->step_size, .least = 1.0};
    if (!(out->step_size > 0.0)) {
        out->step_size = invariance_step_size(c);
    }
    out->accepted = invariance_transport(c, n, out->step_size, x);
    for (size_t k = 0; k < n; k++) {
        invariance_stats(m, x + k * m->dim, stat + k, n);
    }
    for (size_t j = 0; j < m->n_stats; j++) {
        out->p[j] = invariance_p(m, j, n, stat + j * n);
        out->least = fmin(out->least, out->p[j]);
    }
    free(x);
    free(stat);
}

static inline void invariance_print(const invariance_cell *c,
                                    const invariance_report *r)
{
    print_error("%s %s %s %s %s, step %.3g, accepted %.3f:", c->model->spec,
                c->sampler ? c->sampler : "", c->kinetic ? c->kinetic : "",
                c->integrator ? c->integrator : "",
                c->inv_metric         ? "diagonal"
                : c->inv_metric_dense ? "dense"
                                      : "",
                r->step_size, r->accepted);
    for (size_t j = 0; j < c->model->n_stats; j++) {
        char name[32];

        invariance_stat_name(c->model, j, name, sizeof name);
        print_error(" %s p = %.3g;", name, r->p[j]);
    }
    print_error("\n");
}

/* Fails if a p-value is below 1e-6. */
static inline void invariance_check(const invariance_cell *c)
{
    invariance_report r;

    invariance_run(&r, c);
    if (!(r.least > 1e-6) || !(r.accepted > 0.3 && r.accepted < 0.95)) {
        invariance_print(c, &r);
        fail();
    }
}

#endif
