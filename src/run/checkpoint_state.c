/*
 * checkpoint_state.c - the state of the chains in a checkpoint; the same
 * functions write and read it.  Each chain is stored by itself, so that a
 * resumed run may have other lanes and threads.
 */
#include "run/checkpoint.h"

#include <string.h>

/* ---- state that changes --------------------------------------------------- */

static int64_t visit_signed(relmc_archive *a, int64_t n)
{
    return (int64_t)relmc_archive_count(a, (uint64_t)n, INT64_MAX);
}

static double visit_real(relmc_archive *a, double x)
{
    relmc_archive_reals(a, &x, 1);
    return x;
}

/* Hashes of the array options: a resumed run must have the same arrays. */
static void visit_given(const relmc_run *run, relmc_archive *a)
{
    const relmc_options *o = &run->opts;
    const size_t line = run->target->dim * sizeof(double);
    const size_t n = o->metric_per_chain ? o->chains : 1;
    const struct {
        const void *values;
        size_t bytes;
        const char *why;
    } given[] = {
        {o->inv_metric, n * line, "the inverse metric was another one"},
        {o->inv_metric_dense, n * line * run->target->dim,
         "the inverse metric was another one"},
        {o->center, line, "the centre of the control variates was another one"},
        {o->tuning, o->tuning_bytes, "the tuning was another one"},
    };

    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct rmc_hash hash = {0};

        if (given[i].values) {
            rmc_hash_add(&hash, given[i].values, given[i].bytes);
        }
        const uint64_t here = rmc_hash_end(&hash);

        if (relmc_archive_count(a, here, UINT64_MAX) != here) {
            relmc_archive_fail(a, given[i].why);
        }
    }
}

/* What adaptation has chosen for all ensembles. */
static void visit_tuning(relmc_run *run, relmc_archive *a)
{
    const relmc_system *first = &run->ensembles[0].sys;
    const uint64_t is_newtonian = relmc_archive_count(
        a, first->move.kinetic.self == first->move.newtonian.self, 1);
    const uint64_t engine = relmc_archive_count(
        a, (uint64_t)first->move.engine, rmc_run_last_engine(run->sampler));
    const double time = visit_real(a, first->move.time);
    const uint64_t depth =
        relmc_archive_count(a, (uint64_t)first->move.max_depth, INT32_MAX);
    const uint64_t epoch =
        relmc_archive_count(a, first->frame.epoch, UINT32_MAX);

    for (size_t n = 0; n < run->n_ensembles; n++) {
        relmc_system *sys = &run->ensembles[n].sys;

        sys->move.kinetic =
            is_newtonian ? sys->move.newtonian : sys->move.wanted;
        sys->move.engine = (int)engine;
        sys->move.time = time;
        sys->move.max_depth = (int32_t)depth;
        sys->frame.epoch = (uint32_t)epoch;
    }
}

void rmc_archive_common(relmc_run *run, relmc_archive *a)
{
    const relmc_sync m = rmc_sync_of(run);
    const struct rmc_ensemble *first = &run->ensembles[0];

    visit_given(run, a);
    run->position = visit_signed(a, run->position);
    const int has_started =
        (int)relmc_archive_count(a, (uint64_t)first->has_started, 1);
    const int has_synced =
        (int)relmc_archive_count(a, (uint64_t)first->has_synced, 1);
    for (size_t n = 0; n < run->n_ensembles; n++) {
        run->ensembles[n].has_started = has_started;
        run->ensembles[n].has_synced = has_synced;
    }
    visit_tuning(run, a);
    if (run->adapt->archive_common) {
        run->adapt->archive_common(&m, a);
    }
    rmc_run_show_method(run);
}

/* The counters of lane k, and the seconds of its ensemble. */
void rmc_archive_counters(struct rmc_ensemble *e, size_t k, relmc_archive *a)
{
    struct rmc_chain *c = &e->chains[k];

    RMC_SET(c->done, visit_signed(a, RMC_GET(c->done)));
    RMC_SET(c->n_grad, visit_signed(a, RMC_GET(c->n_grad)));
    RMC_SET(c->n_grad_sampling, visit_signed(a, RMC_GET(c->n_grad_sampling)));
    RMC_SET(c->n_divergent, visit_signed(a, RMC_GET(c->n_divergent)));
    RMC_SET(c->n_clamped, visit_signed(a, RMC_GET(c->n_clamped)));
    RMC_SET(c->sum_accept, visit_real(a, RMC_GET(c->sum_accept)));
    RMC_SET(c->sum_speed, visit_real(a, RMC_GET(c->sum_speed)));
    RMC_SET(c->step_size, visit_real(a, RMC_GET(c->step_size)));
    RMC_SET(c->seconds_warmup, visit_real(a, RMC_GET(c->seconds_warmup)));
    const double seconds = visit_real(a, e->seconds);
    e->seconds = k == 0 ? seconds : e->seconds;
    e->sys.lanes.warming[k] = RMC_GET(c->done) < e->run->opts.warmup;
}

/* The output of the last transition: a sampler need not set every field
 * anew. */
static void visit_transition(relmc_transition *t, size_t k, relmc_archive *a)
{
    int32_t *const counts[] = {t->n_steps, t->n_grad, t->depth, t->divergent,
                               t->n_clamped};

    t->accept_prob[k] = visit_real(a, t->accept_prob[k]);
    t->energy[k] = visit_real(a, t->energy[k]);
    t->speed[k] = visit_real(a, t->speed[k]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        relmc_archive_bytes(a, &counts[i][k], sizeof *counts[i]);
    }
}

/* All lanes of an ensemble share a minibatch, so chains that were saved at
 * different minibatches cannot be in one ensemble. */
static void visit_batch(relmc_system *sys, size_t k, relmc_archive *a)
{
    relmc_batch *b = &sys->batch;
    const size_t owner = b->is_shared ? 0 : k;
    const uint64_t word = b->shared.word;

    if (!b->n_rows) {
        return;
    }
    b->shared.word = relmc_archive_count(a, word, UINT64_MAX);
    if (relmc_archive_is_reading(a) && b->is_shared && k > 0 &&
        b->shared.word != word) {
        relmc_archive_fail(a, "its chains are at different minibatches: give "
                              "them one lane each, or as many as before");
    }
    const uint64_t most = b->has_replacement ? 0 : sys->target.n_data;
    b->at[owner] = (size_t)relmc_archive_count(a, b->at[owner], most);
    uint32_t *order = b->order + owner * b->stride;
    relmc_archive_bytes(a, order, b->stride * sizeof *order);
    for (size_t i = 0; relmc_archive_is_reading(a) && i < b->stride; i++) {
        if (order[i] >= sys->target.n_data) {
            relmc_archive_fail(a, "a row of data in it does not exist");
            order[i] = 0;
        }
    }
}

void rmc_archive_chain(struct rmc_ensemble *e, size_t k, relmc_archive *a)
{
    const relmc_run *run = e->run;
    const relmc_shape *s = &e->sys.shape;

    rmc_archive_counters(e, k, a);
    relmc_archive_lane(a, s, k, e->z.x);
    relmc_archive_lane(a, s, k, e->z.p);
    relmc_archive_lane(a, s, k, e->z.g);
    e->z.lp[k] = visit_real(a, e->z.lp[k]);
    e->sys.move.eps[k] = visit_real(a, e->sys.move.eps[k]);
    for (size_t i = 0; i < RELMC_N_PURPOSES; i++) {
        uint64_t *word = &e->sys.lanes.streams[i][k].word;
        *word = relmc_archive_count(a, *word, UINT64_MAX);
    }
    visit_transition(&e->out, k, a);
    visit_batch(&e->sys, k, a);
    if (e->sys.target.ops->chain_archive) {
        e->sys.target.ops->chain_archive(e->sys.target.self,
                                         e->sys.target.chain[k], a);
    }
    if (run->sampler->archive) {
        run->sampler->archive(e->sampler, &e->sys, k, a);
    }
    if (run->adapt->archive) {
        run->adapt->archive(e->adapt, &e->sys, k, a);
    }
}

void rmc_archive_chains(relmc_run *run, relmc_archive *a)
{
    for (size_t n = 0; n < run->n_ensembles; n++) {
        struct rmc_ensemble *e = &run->ensembles[n];

        for (size_t k = 0; k < e->sys.shape.lanes; k++) {
            rmc_archive_chain(e, k, a);
        }
    }
}

/* ---- the same target? ------------------------------------------------ */

int rmc_has_exact_states(const relmc_run *run)
{
    return (run->sampler->flags & RELMC_NEEDS_EXACT) != 0;
}

static size_t n_differing(size_t n, const double *a, const double *b)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        found += a[i] != b[i] && !(a[i] != a[i] && b[i] != b[i]);
    }
    return found;
}

static relmc_status other_target(size_t chain, relmc_error *err)
{
    return rmc_fail(err, RELMC_EINVAL,
                    "checkpoint: at chain %zu the log density or its gradient "
                    "differs from the one saved: the model or its data have "
                    "changed",
                    chain + 1);
}

/* Evaluates the target at the state of every chain, and compares. */
relmc_status rmc_check_states(relmc_run *run, double *lp, relmc_error *err)
{
    for (size_t n = 0; n < run->n_ensembles; n++) {
        struct rmc_ensemble *e = &run->ensembles[n];
        const relmc_shape *s = &e->sys.shape;

        memset(e->sys.lanes.busy, 1, s->lanes);
        const relmc_status status =
            relmc_eval(&e->sys, e->z.x, lp, e->sys.scratch.v);
        memset(e->sys.lanes.busy, 0, s->lanes);
        if (status) {
            return rmc_fail(err, status, "%s", e->sys.error.message);
        }
        for (size_t k = 0; k < s->lanes; k++) {
            size_t bad = n_differing(1, &lp[k], &e->z.lp[k]);

            for (size_t i = k; i < s->dim * s->ld; i += s->ld) {
                bad += n_differing(1, &e->sys.scratch.v[i], &e->z.g[i]);
            }
            if (bad) {
                return other_target(run->opts.first_chain + e->first + k, err);
            }
        }
    }
    return RELMC_OK;
}

/* For states with minibatch gradients: evaluates all the data where the first
 * chain is, and compares. `work` has room for 2 dim + 2 numbers. */
relmc_status rmc_archive_witness(relmc_run *run, relmc_archive *a, double *work,
                                 relmc_error *err)
{
    const struct rmc_ensemble *e = &run->ensembles[0];
    const size_t dim = run->target->dim;
    double *then = work + dim + 1;
    relmc_status status;

    for (size_t i = 0; i < dim; i++) {
        e->row[i] = e->z.x[i * e->sys.shape.ld];
    }
    status = relmc_target_eval(run->target, 1, e->row, work + dim, work, err);
    if (status < 0) {
        return status;
    }
    memcpy(then, work, (dim + 1) * sizeof *then);
    relmc_archive_reals(a, then, dim + 1);
    return !a->why && n_differing(dim + 1, work, then)
               ? other_target(run->opts.first_chain, err)
               : RELMC_OK;
}
