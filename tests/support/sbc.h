/*
 * sbc.h - simulation-based calibration of a sampler on a model of the test: parameters
 * from the prior, data from the parameters, draws from the posterior.  Include it after
 * cmocka.h.
 *
 * The parameters that made the data are themselves a draw from the posterior,
 * so their rank among SBC_DRAWS other draws is uniform (Talts et al. 2018);
 * and so is that of any function of parameters and data.  Ranks are taken of
 * every parameter, of the joint log density, without which a sampler that
 * ignores the data would pass (Modrak et al. 2023), and of a quantity that the
 * model chooses.  The p-value is that of relmc_ecdf_test.
 *
 * Unlike invariance.h it tests whole runs, from any start through adaptation to thinned
 * draws, and needs no exact draws of the posterior.  It is less sensitive: it takes
 * hundreds of replications to find a standard deviation that is wrong by a tenth, first in
 * the log density.  Dependent draws make ranks too extreme: raise `thin` until the
 * correlation in the report is small.
 */
#ifndef RMC_TESTS_SBC_H
#define RMC_TESTS_SBC_H

#include "relmc_diag.h"
#include "relmc_ext.h"
#include "support/callback.h"
#include "support/kept.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SBC_DRAWS = 63, /* of every posterior: ranks 0 .. 63 */
    SBC_POINTS = 16,
    SBC_MAX_DIM = 16,
    SBC_MAX_STATS = SBC_MAX_DIM + 2,
    SBC_MAX_DATA = 64
};

/* ---- models and cells ------------------------------------------------------ */

typedef struct sbc_model {
    const char *name;
    size_t dim, n_data;
    void (*prior)(relmc_stream *, double *x);
    void (*data)(relmc_stream *, const double *x, double *data);
    callback_point *lp; /* prior times likelihood; ctx is the data */
    double (*quantity)(const double *x, const double *data);
} sbc_model;

/* Zero means the default: that of relmc_options, or the number in the comment. */
typedef struct sbc_cell {
    const sbc_model *model;
    const char *sampler, *kinetic, *integrator, *adapt;
    double step_size;
    int64_t warmup;  /* 200 */
    uint32_t chains; /* 1; or 3, 7, 9 that share the draws */
    uint32_t thin;   /* 5: keep one of so many draws */
    size_t n;        /* replications; 200 */
    uint64_t seed;
    callback_point *sampled; /* for controls: a density other than lp */
} sbc_cell;

typedef struct sbc_report {
    double p[SBC_MAX_STATS];
    double least;                      /* of these */
    double correlation[SBC_MAX_STATS]; /* of successive kept draws */
    double most;                       /* of these */
} sbc_report;

static inline size_t sbc_n_stats(const sbc_model *m)
{
    return m->dim + 2;
}

static inline void sbc_stats(const sbc_model *m, const double *x, double *data,
                             double *out)
{
    double grad[SBC_MAX_DIM];

    for (size_t i = 0; i < m->dim; i++) {
        out[i] = x[i];
    }
    assert_int_equal(m->lp(m->dim, x, grad, &out[m->dim], data), RELMC_OK);
    out[m->dim + 1] = m->quantity(x, data);
}

/* ---- one replication ------------------------------------------------------- */

/* Draws of the posterior, SBC_DRAWS x dim. */
static inline void sbc_sample(const sbc_cell *c, double *data, uint32_t number,
                              double *out)
{
    const sbc_model *m = c->model;
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *target = NULL;
    relmc_run *run = NULL;
    relmc_error err = {0};
    size_t n = 0;

    o.sampler = c->sampler;
    o.kinetic = c->kinetic;
    o.integrator = c->integrator;
    o.adapt = c->adapt ? c->adapt : "dual";
    o.step_size = c->step_size;
    o.thin = c->thin ? c->thin : 5;
    o.warmup = c->warmup ? c->warmup : 200;
    o.chains = c->chains ? c->chains : 1;
    o.draws = SBC_DRAWS / o.chains * (int64_t)o.thin;
    o.first_chain = number * o.chains; /* other random numbers */
    o.seed = c->seed + 1;
    if (target_of_point(&target, m->dim, c->sampled ? c->sampled : m->lp, data,
                        &err) ||
        relmc_run_create(&run, target, &o, &err) ||
        relmc_run_advance(run, INT64_MAX, &err)) {
        fail_msg("%s", err.message);
    }
    for (uint32_t k = 0; k < o.chains; k++) {
        const double *x = kept_outputs(run, k, &n);

        assert_int_equal(n * o.chains, SBC_DRAWS);
        memcpy(out + k * n * m->dim, x, n * m->dim * sizeof *out);
    }
    relmc_run_destroy(run);
    relmc_target_destroy(target);
}

/* Correlation of neighbours in stat[0], stat[stride], ... */
static inline double sbc_correlation(const double *stat, size_t stride)
{
    double mean = 0.0, variance = 0.0, product = 0.0;

    for (size_t t = 0; t < SBC_DRAWS; t++) {
        mean += stat[t * stride] / SBC_DRAWS;
    }
    for (size_t t = 0; t < SBC_DRAWS; t++) {
        const double off = stat[t * stride] - mean;

        variance += off * off;
        product += t ? off * (stat[(t - 1) * stride] - mean) : 0.0;
    }
    return variance > 0.0 ? product / variance : 1.0;
}

/* u[j*n + number]: the rank of the truth in statistic j, as relmc_ecdf_test
 * wants it. */
static inline void sbc_replicate(sbc_report *out, const sbc_cell *c, size_t n,
                                 uint32_t number, double *u)
{
    const sbc_model *m = c->model;
    const size_t n_stats = sbc_n_stats(m);
    relmc_stream stream = {
        .seed = c->seed, .chain = number, .purpose = RELMC_FOR_MODEL};
    double truth[SBC_MAX_DIM], data[SBC_MAX_DATA], at_truth[SBC_MAX_STATS];
    double x[SBC_DRAWS * SBC_MAX_DIM], stat[SBC_DRAWS * SBC_MAX_STATS];

    assert_true(m->dim <= SBC_MAX_DIM && m->n_data <= SBC_MAX_DATA);
    m->prior(&stream, truth);
    m->data(&stream, truth, data);
    sbc_stats(m, truth, data, at_truth);
    sbc_sample(c, data, number, x);
    for (size_t t = 0; t < SBC_DRAWS; t++) {
        sbc_stats(m, x + t * m->dim, data, stat + t * n_stats);
    }
    for (size_t j = 0; j < n_stats; j++) {
        size_t rank = 0;

        for (size_t t = 0; t < SBC_DRAWS; t++) {
            rank += stat[t * n_stats + j] < at_truth[j];
        }
        u[j * n + number] = (double)(rank + 1) / (SBC_DRAWS + 1);
        out->correlation[j] += sbc_correlation(stat + j, n_stats) / (double)n;
    }
}

/* ---- all of them ----------------------------------------------------------- */

static inline void sbc_run(sbc_report *out, const sbc_cell *c)
{
    const size_t n = c->n ? c->n : 200, n_stats = sbc_n_stats(c->model);
    double *u = malloc(n * n_stats * sizeof *u);

    assert_non_null(u);
    *out = (sbc_report){.least = 1.0};
    for (size_t number = 0; number < n; number++) {
        sbc_replicate(out, c, n, (uint32_t)number, u);
    }
    for (size_t j = 0; j < n_stats; j++) {
        assert_int_equal(
            relmc_ecdf_test(&out->p[j], n, u + j * n, SBC_POINTS, NULL),
            RELMC_OK);
        out->least = fmin(out->least, out->p[j]);
        out->most = fmax(out->most, out->correlation[j]);
    }
    free(u);
}

static inline void sbc_print(const sbc_cell *c, const sbc_report *r)
{
    const sbc_model *m = c->model;

    print_error("%s %s %s:", m->name, c->sampler ? c->sampler : "",
                c->kinetic ? c->kinetic : "");
    for (size_t j = 0; j < sbc_n_stats(m); j++) {
        if (j < m->dim) {
            print_error(" x.%zu", j + 1);
        } else {
            print_error(j == m->dim ? " log density" : " quantity");
        }
        print_error(" p = %.3g (correlation %.2f);", r->p[j],
                    r->correlation[j]);
    }
    print_error("\n");
}

/* Fails if a p-value is below 1e-5 or successive draws are too correlated. */
static inline void sbc_check(const sbc_cell *c)
{
    sbc_report r;

    sbc_run(&r, c);
    if (!(r.least > 1e-5) || !(r.most < 0.2)) {
        sbc_print(c, &r);
        fail();
    }
}

#endif
