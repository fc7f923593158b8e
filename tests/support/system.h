/*
 * system.h - makes a relmc_system from specs, as run_create.c does, for tests of single
 * integrators and samplers.  Include it after cmocka.h.
 */
#ifndef RMC_TESTS_SYSTEM_H
#define RMC_TESTS_SYSTEM_H

#include "base/linalg.h"
#include "base/spec.h"
#include "component/registry.h"
#include "target/target.h"

#include <string.h>

/* Zero means the default. */
typedef struct test_parts {
    const char *model;      /* "gaussian" */
    const char *kinetic;    /* "newtonian" */
    const char *integrator; /* "leapfrog" */
    size_t lanes;           /* 1 */
    double eps;             /* 0.1 */
    uint64_t seed;
    uint32_t first_chain;
    int isa;            /* RMC_BASELINE */
    const double *diag; /* dim: a diagonal S */
    const double *chol; /* dim x dim: a dense S, lower triangle */
} test_parts;

typedef struct test_system {
    relmc_arena arena;
    relmc_target *target;
    relmc_system sys; /* all lanes are busy; clear that for a sampler */
    relmc_state z;    /* zeros */
} test_system;

/* The kinetic energy of a spec on one code path, or an error. */
static inline relmc_status test_kinetic_try(relmc_kinetic *out,
                                            relmc_arena *arena,
                                            const char *spec, size_t dim,
                                            int isa, relmc_error *err)
{
    const relmc_info *info = NULL;
    relmc_status status = rmc_component_find(&info, "kinetic", spec, isa, err);

    if (status) {
        return status;
    }
    const relmc_kinetic_ops *ops =
        (const relmc_kinetic_ops *)(const void *)info;
    void *self = relmc_arena_get(arena, ops->state_size);
    *out = (relmc_kinetic){ops, self};
    if ((status = relmc_arena_check(arena, err)) ||
        (status = rmc_spec_parse(spec, info, self, arena, err))) {
        return status;
    }
    return ops->init ? ops->init(self, arena, dim, err) : RELMC_OK;
}

static inline relmc_kinetic
test_kinetic_open(relmc_arena *arena, const char *spec, size_t dim, int isa)
{
    relmc_error err = {0};
    relmc_kinetic kinetic = {0};

    if (test_kinetic_try(&kinetic, arena, spec, dim, isa, &err)) {
        fail_msg("%s: %s", spec, err.message);
    }
    return kinetic;
}

/* One stream per lane, chains first, first + 1, ... */
static inline relmc_stream *test_streams_new(relmc_arena *arena, size_t lanes,
                                             uint64_t seed, uint32_t first,
                                             uint32_t purpose)
{
    relmc_stream *streams =
        relmc_arena_get(arena, rmc_leading(lanes) * sizeof *streams);

    assert_non_null(streams);
    for (size_t k = 0; k < lanes; k++) {
        streams[k] = (relmc_stream){
            .seed = seed, .chain = first + (uint32_t)k, .purpose = purpose};
    }
    return streams;
}

static inline void test_system_open(test_system *t, const test_parts *parts)
{
    const char *model = parts->model ? parts->model : "gaussian";
    const char *kinetic = parts->kinetic ? parts->kinetic : "newtonian";
    const char *method = parts->integrator ? parts->integrator : "leapfrog";
    const size_t lanes = parts->lanes ? parts->lanes : 1;
    relmc_arena *arena = &t->arena;
    relmc_system *sys = &t->sys;
    relmc_shape *s = &sys->shape;
    const relmc_info *info = NULL;
    relmc_error err = {0};

    memset(t, 0, sizeof *t);
    if (relmc_target_open(&t->target, model, NULL, &err) ||
        rmc_component_find(&info, "integrator", method, parts->isa, &err)) {
        fail_msg("%s", err.message);
    }
    *s = (relmc_shape){t->target->dim, lanes, rmc_leading(lanes)};
    sys->target.ops = t->target->ops[parts->isa];
    sys->target.self = t->target->self;
    sys->target.n_data = t->target->n_data;
    sys->move.kinetic = test_kinetic_open(arena, kinetic, s->dim, parts->isa);
    sys->move.integrator = (const relmc_integrator_ops *)(const void *)info;
    if (parts->chol) {
        double *transposed =
            relmc_arena_get(arena, s->dim * s->dim * sizeof *transposed);

        sys->frame.scale.chol =
            rmc_arena_copy(arena, parts->chol, s->dim * s->dim);
        sys->frame.scale.chol_t = transposed;
        assert_int_equal(relmc_arena_check(arena, NULL), RELMC_OK);
        rmc_transpose(s->dim, parts->chol, transposed);
    }
    sys->move.eps = rmc_per_lane_new(arena, s);
    sys->lanes.rest = relmc_arena_get(arena, s->ld);
    sys->lanes.warming = relmc_arena_get(arena, s->ld);
    sys->lanes.busy = relmc_arena_get(arena, s->ld);
    sys->scratch.v = rmc_lanes_new(arena, s);
    sys->scratch.row = relmc_arena_get(arena, 2 * s->dim * sizeof(double));
    sys->scratch.lp = rmc_per_lane_new(arena, s);
    t->z = rmc_state_new(arena, s);
    double *diag = parts->diag ? rmc_lanes_new(arena, s) : NULL;
    assert_int_equal(relmc_arena_check(arena, NULL), RELMC_OK);
    for (size_t j = 0; diag && j < rmc_cells(s); j++) {
        diag[j] = parts->diag[j / s->ld];
    }
    sys->frame.scale.diag = diag;
    for (uint32_t purpose = 0; purpose < RELMC_N_PURPOSES; purpose++) {
        sys->lanes.streams[purpose] = test_streams_new(
            arena, lanes, parts->seed, parts->first_chain, purpose);
    }
    memset(sys->lanes.busy, 1, lanes);
    for (size_t k = 0; k < lanes; k++) {
        sys->move.eps[k] = parts->eps > 0.0 ? parts->eps : 0.1;
    }
}

static inline void test_system_close(test_system *t)
{
    relmc_target_destroy(t->target);
    rmc_arena_release(&t->arena);
}

/* Positions from the target's own draws, momenta from [refresh], and the
 * gradient there: what an integrator expects. */
static inline void test_system_start(test_system *t)
{
    relmc_system *sys = &t->sys;
    const relmc_shape *s = &sys->shape;

    for (size_t k = 0; k < s->lanes; k++) {
        sys->target.ops->draw(sys->target.self,
                              &sys->lanes.streams[RELMC_FOR_MODEL][k],
                              sys->scratch.row);
        for (size_t i = 0; i < s->dim; i++) {
            t->z.x[i * s->ld + k] = sys->scratch.row[i];
        }
    }
    sys->move.kinetic.ops->refresh(sys->move.kinetic.self, s,
                                   sys->lanes.streams[RELMC_FOR_MOMENTUM],
                                   t->z.p);
    assert_int_equal(relmc_eval(sys, t->z.x, t->z.lp, t->z.g), RELMC_OK);
}

/* H = K - lp of every lane. */
static inline void test_system_energy(const test_system *t, double *energy)
{
    const relmc_system *sys = &t->sys;

    sys->move.kinetic.ops->energy(sys->move.kinetic.self, &sys->shape, t->z.p,
                                  energy);
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        energy[k] -= t->z.lp[k];
    }
}

#endif
