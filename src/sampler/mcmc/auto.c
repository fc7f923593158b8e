/*
 * auto.c - several engines behind one sampler: adaptation chooses one of them in
 * warm-up, by name.
 */
#include "base/spec.h"

#include <stdio.h>

extern const relmc_sampler_ops RMC_ISA(rmc_sampler_nuts),
    RMC_ISA(rmc_sampler_ghmc), RMC_ISA(rmc_sampler_walnuts);

enum { N_ENGINES = 3 };

/* [few-levels]  In the neck of a funnel a trajectory of [WALNUTS] costs 2^j steps
 * and goes no further: with the default of ten halvings the few draws from there
 * take the gradients of all others. */
static const struct engine {
    const relmc_sampler_ops *ops;
    const char *spec;
    int has_trees;
} engines[N_ENGINES] = {
    {&RMC_ISA(rmc_sampler_nuts), "nuts:", 1},
    {&RMC_ISA(rmc_sampler_ghmc), "ghmc", 0},
    {&RMC_ISA(rmc_sampler_walnuts), "walnuts:levels=6,", 1},
};

/* Their names, in the same order. */
static const char *const names[N_ENGINES + 1] = {"nuts", "ghmc", "walnuts",
                                                 NULL};

struct automatic {
    double max_depth;
    void *state[N_ENGINES];
};

static relmc_status init_engine(struct automatic *a, size_t i,
                                relmc_arena *arena, const relmc_system *sys,
                                relmc_error *err)
{
    const struct engine *e = &engines[i];
    char spec[64], depth[32] = "";

    if (e->has_trees) {
        (void)snprintf(depth, sizeof depth, "max_depth=%.0f", a->max_depth);
    }
    (void)snprintf(spec, sizeof spec, "%s%s", e->spec, depth);
    a->state[i] = relmc_arena_get(arena, e->ops->state_size);
    relmc_status status = relmc_arena_check(arena, err);
    if (!status) {
        status = rmc_spec_parse(spec, &e->ops->info, a->state[i], arena, err);
    }
    return status ? status : e->ops->init(a->state[i], arena, sys, err);
}

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct automatic *a = self;
    relmc_status status = RELMC_OK;

    for (size_t i = 0; i < N_ENGINES && !status; i++) {
        status = init_engine(a, i, arena, sys, err);
    }
    return status;
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    const struct automatic *a = self;
    const int i = sys->move.engine;

    return engines[i].ops->tick(a->state[i], sys, z, out);
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *a)
{
    const struct automatic *automatic = self;

    for (size_t i = 0; i < N_ENGINES; i++) {
        if (engines[i].ops->archive) {
            engines[i].ops->archive(automatic->state[i], sys, k, a);
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
    .engines = names,
    .init = init,
    .tick = tick,
    .archive = archive,
};
