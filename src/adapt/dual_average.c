/* dual_average.c - the step size alone, by dual averaging. */
#include "adapt/far_start.h"
#include "adapt/step_size_inline.h"

struct dual {
    struct rmc_dual steps;
    int64_t warmup;
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, int64_t warmup,
                         relmc_error *err)
{
    struct dual *d = self;

    d->warmup = warmup;
    rmc_dual_open(&d->steps, arena, &sys->shape);
    return relmc_arena_check(arena, err);
}

static relmc_status start(void *self, relmc_system *sys, relmc_state *z)
{
    struct dual *d = self;

    relmc_status status =
        d->warmup > 0 ? rmc_approach(&d->steps, sys, z) : RELMC_OK;

    if (d->warmup > 0 && !status) {
        status = rmc_dual_search(&d->steps, sys, z);
    }
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        rmc_dual_begin(&d->steps, k, rmc_log(10.0 * sys->move.eps[k]));
    }
    return status;
}

static void observe(void *self, relmc_system *sys, const relmc_state *z,
                    const relmc_transition *out, size_t k, int64_t iteration)
{
    struct dual *d = self;

    (void)z;
    sys->move.eps[k] = rmc_dual_next(&d->steps, k, out->accept_prob[k]);
    if (iteration + 1 == d->warmup) {
        sys->move.eps[k] = rmc_exp(d->steps.log_eps_bar[k]);
    }
}

static void archive(void *self, relmc_system *sys, size_t k, relmc_archive *a)
{
    (void)sys;
    rmc_dual_archive(&((struct dual *)self)->steps, k, a);
}

static const relmc_param params[] = {
    RMC_DUAL_PARAMS(struct dual, steps),
    {0},
};

const relmc_adapt_ops RMC_ISA(rmc_adapt_dual) = {
    .info = {"adapt", "dual", "step size by dual averaging", params},
    .state_size = sizeof(struct dual),
    .init = init,
    .start = start,
    .observe = observe,
    .archive = archive,
};
