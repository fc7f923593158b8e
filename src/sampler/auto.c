/*
 * auto.c - several engines behind one sampler; adaptation says which one is at
 * work and how many of its transitions make a draw, and does not change its mind
 * after warm-up.
 */
#include "../base/base.h"

extern const relmc_sampler_ops rmc_sampler_nuts, rmc_sampler_ghmc,
    rmc_sampler_walnuts;

static const relmc_sampler_ops *const engines[RELMC_N_ENGINES] = {
    [RELMC_ENGINE_NUTS] = &rmc_sampler_nuts,
    [RELMC_ENGINE_GHMC] = &rmc_sampler_ghmc,
    [RELMC_ENGINE_WALNUTS] = &rmc_sampler_walnuts,
};

/* [few-levels]  In the neck of a funnel a trajectory of [WALNUTS] costs 2^j steps
 * and goes no further: with the default of ten halvings the few draws from there
 * take the gradients of all others. */
static const char *const specs[RELMC_N_ENGINES] = {
    [RELMC_ENGINE_NUTS] = "nuts",
    [RELMC_ENGINE_GHMC] = "ghmc",
    [RELMC_ENGINE_WALNUTS] = "walnuts:levels=6",
};

struct automatic {
    void *state[RELMC_N_ENGINES];
    /* of the draw at hand, one per lane */
    int32_t *n_made, *n_steps, *n_grad, *depth, *divergent;
    double *accept;
    unsigned char *rest; /* what the run said, while lanes go on */
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct automatic *a = self;
    const size_t ld = sys->shape.ld;
    relmc_status status = RELMC_OK;

    a->n_made = relmc_arena_get(arena, ld * sizeof(int32_t));
    a->n_steps = relmc_arena_get(arena, ld * sizeof(int32_t));
    a->n_grad = relmc_arena_get(arena, ld * sizeof(int32_t));
    a->depth = relmc_arena_get(arena, ld * sizeof(int32_t));
    a->divergent = relmc_arena_get(arena, ld * sizeof(int32_t));
    a->accept = rmc_per_lane_new(arena, &sys->shape);
    a->rest = relmc_arena_get(arena, ld);
    for (size_t i = 0; i < RELMC_N_ENGINES && !status; i++) {
        const relmc_info *info = &engines[i]->info;

        a->state[i] = relmc_arena_get(arena, engines[i]->state_size);
        if (!(status = relmc_arena_check(arena, err)) &&
            !(status =
                  rmc_spec_parse(specs[i], info, a->state[i], arena, err))) {
            status = engines[i]->init(a->state[i], arena, sys, err);
        }
    }
    return status;
}

/* A transition of lane k: what it says joins what the others of the draw said. */
static void add(struct automatic *a, const relmc_transition *out, size_t k)
{
    const int is_first = a->n_made[k] == 0;

    a->n_made[k]++;
    a->n_steps[k] = out->n_steps[k] + (is_first ? 0 : a->n_steps[k]);
    a->n_grad[k] = out->n_grad[k] + (is_first ? 0 : a->n_grad[k]);
    a->accept[k] = out->accept_prob[k] + (is_first ? 0.0 : a->accept[k]);
    a->divergent[k] = out->divergent[k] || (!is_first && a->divergent[k]);
    a->depth[k] =
        is_first || out->depth[k] > a->depth[k] ? out->depth[k] : a->depth[k];
}

static void tell(struct automatic *a, relmc_transition *out, size_t k)
{
    out->n_steps[k] = a->n_steps[k];
    out->n_grad[k] = a->n_grad[k];
    out->accept_prob[k] = a->accept[k] / a->n_made[k];
    out->divergent[k] = a->divergent[k];
    out->depth[k] = a->depth[k];
    a->n_made[k] = 0;
}

/* Several transitions make a draw: a lane that has made some of them goes on,
 * and counts as busy, even if the run wants it to rest afterwards. */
static relmc_status tick_repeated(struct automatic *a, relmc_system *sys,
                                  relmc_state *z, relmc_transition *out)
{
    const size_t lanes = sys->shape.lanes;
    unsigned char *const wish = sys->rest;

    memcpy(a->rest, sys->rest, lanes);
    for (size_t k = 0; k < lanes; k++) {
        if (a->n_made[k] && sys->busy[k] == 2) { /* between two of them */
            sys->busy[k] = a->rest[k] = 0;
        }
    }
    sys->rest = a->rest;
    const relmc_status status =
        engines[sys->engine]->tick(a->state[sys->engine], sys, z, out);
    sys->rest = wish;
    for (size_t k = 0; k < lanes && !status; k++) {
        if (!out->done[k]) {
            continue;
        }
        add(a, out, k);
        if (a->n_made[k] < sys->repeat) {
            out->done[k] = 0;
            out->n_done--;
            sys->busy[k] = 2;
        } else {
            tell(a, out, k);
        }
    }
    return status;
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct automatic *a = self;

    return sys->repeat > 1
               ? tick_repeated(a, sys, z, out)
               : engines[sys->engine]->tick(a->state[sys->engine], sys, z, out);
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *a)
{
    const struct automatic *automatic = self;

    for (size_t i = 0; i < RELMC_N_ENGINES; i++) {
        if (engines[i]->archive) {
            engines[i]->archive(automatic->state[i], sys, k, a);
        }
    }
}

const relmc_sampler_ops rmc_sampler_auto = {
    .info = {"sampler", "auto",
             "nuts, ghmc or walnuts, as adaptation finds best", NULL},
    .state_size = sizeof(struct automatic),
    .flags = RELMC_NEEDS_EXACT | RELMC_HAS_ENGINES,
    .init = init,
    .tick = tick,
    .archive = archive,
};
