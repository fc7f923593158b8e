/*
 * stan_windows.c - Stan's warm-up, every chain on its own: dual averaging of the step
 * size, variances of the draws in windows of doubling length.
 *
 *   [stan-windows]  75 iterations without, windows of 25, 50, 100, ..., the last
 *                   one stretched, 50 iterations for the step size alone.
 *
 * The windows end for all chains at once, so that the step size is searched anew
 * in all lanes together.  After Stan's reference manual (HMC algorithm
 * parameters); the fair rival of everything else here.  [approach] is ours: it
 * starts where Stan's chains would be stuck, or take long.
 */
#include "adapt/far_start.h"
#include "adapt/step_size_inline.h"

struct stan {
    struct rmc_dual steps;
    double init_buffer, term_buffer, base_window;
    int64_t warmup;
    int64_t from, to;   /* iterations whose draws count */
    int64_t window_end; /* of the present window, exclusive; 0: none left */
    int64_t width;
    double *mean, *m2; /* dim x ld */
    double *diag;      /* dim x ld, becomes sys->scale.diag */
    double *n;         /* draws in the window, one per lane */
};

/* The end of the window that begins at `from`: the last one takes what would be
 * too short for another of double width. */
static int64_t end_of_window(const struct stan *a, int64_t from, int64_t width)
{
    const int64_t end = from + width;

    return end + 2 * width > a->to ? a->to : end;
}

static void plan(struct stan *a, int64_t warmup)
{
    int64_t init = (int64_t)a->init_buffer, term = (int64_t)a->term_buffer;
    int64_t base = (int64_t)a->base_window;

    if (init + base + term > warmup) {
        init = (int64_t)(0.15 * (double)warmup);
        term = (int64_t)(0.1 * (double)warmup);
        base = warmup - init - term;
    }
    a->warmup = warmup;
    a->from = init;
    a->to = warmup - term;
    a->width = base;
    a->window_end = warmup < 20 ? 0 : init + base;
}

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, int64_t warmup,
                         relmc_error *err)
{
    struct stan *a = self;
    const relmc_shape *s = &sys->shape;

    if (sys->frame.scale.chol && warmup > 0) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "stan: adapts a diagonal metric, not a dense one");
    }
    plan(a, warmup);
    if (sys->frame.scale.diag) { /* a metric that was given stays */
        a->window_end = 0;
    }
    rmc_dual_open(&a->steps, arena, s);
    a->mean = rmc_lanes_new(arena, s);
    a->m2 = rmc_lanes_new(arena, s);
    a->diag = rmc_lanes_new(arena, s);
    a->n = rmc_per_lane_new(arena, s);
    return relmc_arena_check(arena, err);
}

/* After a window eps is drawn to ten times what the search found, but in the
 * beginning to ten times the first guess: Stan sets that before it searches. */
static relmc_status start(void *self, relmc_system *sys, relmc_state *z)
{
    struct stan *a = self;
    const size_t lanes = sys->shape.lanes;
    const int is_first = sys->frame.epoch == 0;
    relmc_status status = RELMC_OK;

    for (size_t k = 0; is_first && k < lanes; k++) {
        a->steps.mu[k] = rmc_log(10.0 * sys->move.eps[k]);
    }
    if (is_first && a->warmup > 0) {
        status = rmc_approach(&a->steps, sys, z);
    }
    if (a->warmup > 0 && !status) {
        status = rmc_dual_search(&a->steps, sys, z);
    }
    for (size_t k = 0; k < lanes; k++) {
        rmc_dual_begin(&a->steps, k,
                       is_first ? a->steps.mu[k]
                                : rmc_log(10.0 * sys->move.eps[k]));
    }
    return status;
}

/* Welford's running mean and sum of squares. */
static void count_draw(struct stan *a, const relmc_shape *s, const double *x,
                       size_t k)
{
    const double n = ++a->n[k];

    for (size_t i = 0; i < s->dim; i++) {
        const size_t j = i * s->ld + k;
        const double e = x[j] - a->mean[j];

        a->mean[j] += e / n;
        a->m2[j] += e * (x[j] - a->mean[j]);
    }
}

/* Variances, shrunk to 1e-3 as Stan does. */
static void set_metric(struct stan *a, const relmc_shape *s, size_t k)
{
    const double n = a->n[k];

    for (size_t i = 0; i < s->dim; i++) {
        const size_t j = i * s->ld + k;
        const double variance = a->m2[j] / (n - 1.0);

        a->diag[j] = sqrt(n / (n + 5.0) * variance + 1e-3 * 5.0 / (n + 5.0));
        a->mean[j] = a->m2[j] = 0.0;
    }
    a->n[k] = 0.0;
}

static void observe(void *self, relmc_system *sys, const relmc_state *z,
                    const relmc_transition *out, size_t k, int64_t iteration)
{
    struct stan *a = self;

    sys->move.eps[k] = rmc_dual_next(&a->steps, k, out->accept_prob[k]);
    if (iteration + 1 == a->warmup) {
        sys->move.eps[k] = rmc_exp(a->steps.log_eps_bar[k]);
    }
    if (iteration >= a->from && iteration < a->window_end) {
        count_draw(a, &sys->shape, z->x, k);
    }
}

static int64_t next_sync(const void *self, int64_t iteration)
{
    const struct stan *a = self;

    return a->window_end > iteration ? a->window_end : 0;
}

static relmc_status sync_chains(const relmc_sync *m, relmc_error *err)
{
    (void)err;
    for (size_t e = 0; e < m->n; e++) {
        struct stan *a = m->self[e];
        relmc_system *sys = m->sys[e];

        for (size_t k = 0; k < sys->shape.lanes; k++) {
            set_metric(a, &sys->shape, k);
        }
        sys->frame.scale.diag = a->diag;
        sys->frame.epoch++;
        a->width *= 2;
        a->window_end = a->window_end < a->to
                            ? end_of_window(a, a->window_end, a->width)
                            : 0;
    }
    return RELMC_OK;
}

static void archive(void *self, relmc_system *sys, size_t k, relmc_archive *ar)
{
    struct stan *a = self;

    rmc_dual_archive(&a->steps, k, ar);
    relmc_archive_reals(ar, &a->n[k], 1);
    relmc_archive_lane(ar, &sys->shape, k, a->mean);
    relmc_archive_lane(ar, &sys->shape, k, a->m2);
    relmc_archive_lane(ar, &sys->shape, k, a->diag);
}

static void archive_common(const relmc_sync *m, relmc_archive *ar)
{
    const struct stan *first = m->self[0];
    const uint64_t end = relmc_archive_count(ar, (uint64_t)first->window_end,
                                             (uint64_t)first->warmup);
    const uint64_t width =
        relmc_archive_count(ar, (uint64_t)first->width, INT64_MAX / 4);
    const uint64_t has_scale =
        relmc_archive_count(ar, m->sys[0]->frame.scale.diag == first->diag, 1);

    for (size_t e = 0; e < m->n; e++) {
        struct stan *a = m->self[e];

        a->window_end = (int64_t)end;
        a->width = (int64_t)width;
        if (has_scale) {
            m->sys[e]->frame.scale.diag = a->diag;
        }
    }
}

static const relmc_param params[] = {
    RMC_DUAL_PARAMS(struct stan, steps),
    {"init_buffer", "iterations before the first window", 0, 1e9, 75,
     offsetof(struct stan, init_buffer), RELMC_INTEGER},
    {"window", "length of the first window", 1, 1e9, 25,
     offsetof(struct stan, base_window), RELMC_INTEGER},
    {"term_buffer", "iterations after the last window", 0, 1e9, 50,
     offsetof(struct stan, term_buffer), RELMC_INTEGER},
    {0},
};

const relmc_adapt_ops RMC_ISA(rmc_adapt_stan) = {
    .info = {"adapt", "stan", "step size and variances of each chain, as Stan",
             params},
    .state_size = sizeof(struct stan),
    .init = init,
    .start = start,
    .observe = observe,
    .next_sync = next_sync,
    .sync = sync_chains,
    .archive = archive,
    .archive_common = archive_common,
};
