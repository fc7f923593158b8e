/*
 * auto.c - several engines behind one sampler; adaptation says which one is at
 * work, and does not change its mind after warm-up.
 */
#include "base/base.h"

#include <stdio.h>

extern const relmc_sampler_ops RMC_ISA(rmc_sampler_nuts),
    RMC_ISA(rmc_sampler_ghmc), RMC_ISA(rmc_sampler_walnuts);

static const relmc_sampler_ops *const engines[RELMC_N_ENGINES] = {
    [RELMC_ENGINE_NUTS] = &RMC_ISA(rmc_sampler_nuts),
    [RELMC_ENGINE_GHMC] = &RMC_ISA(rmc_sampler_ghmc),
    [RELMC_ENGINE_WALNUTS] = &RMC_ISA(rmc_sampler_walnuts),
};

/* [few-levels]  In the neck of a funnel a trajectory of [WALNUTS] costs 2^j steps
 * and goes no further: with the default of ten halvings the few draws from there
 * take the gradients of all others. */
static const struct {
    const char *spec;
    int has_trees;
} kinds[RELMC_N_ENGINES] = {
    [RELMC_ENGINE_NUTS] = {"nuts:", 1},
    [RELMC_ENGINE_GHMC] = {"ghmc", 0},
    [RELMC_ENGINE_WALNUTS] = {"walnuts:levels=6,", 1},
};

struct automatic {
    double max_depth;
    void *state[RELMC_N_ENGINES];
};

static relmc_status init_engine(struct automatic *a, size_t i,
                                relmc_arena *arena, const relmc_system *sys,
                                relmc_error *err)
{
    char spec[64], depth[32] = "";

    if (kinds[i].has_trees) {
        (void)snprintf(depth, sizeof depth, "max_depth=%.0f", a->max_depth);
    }
    (void)snprintf(spec, sizeof spec, "%s%s", kinds[i].spec, depth);
    a->state[i] = relmc_arena_get(arena, engines[i]->state_size);
    relmc_status status = relmc_arena_check(arena, err);
    if (!status) {
        status =
            rmc_spec_parse(spec, &engines[i]->info, a->state[i], arena, err);
    }
    return status ? status : engines[i]->init(a->state[i], arena, sys, err);
}

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct automatic *a = self;
    relmc_status status = RELMC_OK;

    for (size_t i = 0; i < RELMC_N_ENGINES && !status; i++) {
        status = init_engine(a, i, arena, sys, err);
    }
    return status;
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct automatic *a = self;

    return engines[sys->move.engine]->tick(a->state[sys->move.engine], sys, z,
                                           out);
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

static const relmc_param params[] = {
    {"max_depth", "of the trees of nuts and walnuts", 1, 24 /* as theirs */, 10,
     offsetof(struct automatic, max_depth), RELMC_INTEGER},
    {0},
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_auto) = {
    .info = {"sampler", "auto",
             "nuts, ghmc or walnuts, as adaptation finds best", params},
    .state_size = sizeof(struct automatic),
    .flags = RELMC_NEEDS_EXACT | RELMC_HAS_ENGINES,
    .init = init,
    .tick = tick,
    .archive = archive,
};
