/*
 * sghmc_float.c - the fast path of sghmc and sgd, in single precision: where the
 * gradients of the target have no more, random numbers, bath, kick and drift are
 * one pass over memory (heat_float and push_float of the kinetic energy).
 *
 *   [SGD-rel] in any case; [SGHMC], [BAOAB] and [OBABO] with the separable energy,
 *   without thermostat and estimates.  The formulas are those of sghmc.c.
 */
#include "sampler/sgmcmc/sghmc.h"

int RMC_ISA(rmc_sghmc_can_be_float)(const struct rmc_sghmc *h,
                                    const relmc_system *sys)
{
    const relmc_scale *scale = &sys->frame.scale;
    const relmc_kinetic_ops *kin = sys->move.kinetic.ops;
    const int has_extras =
        h->has_thermostat || h->noise != 0.0 || h->variance > 0.0;

    if (scale->diag || scale->chol) {
        return 0;
    }
    if (h->temperature == 0.0) {
        return h->scheme == RMC_EULER && kin->push_float;
    }
    return kin->heat_float && !has_extras &&
           (h->law == RMC_LINEAR || h->scheme == RMC_EULER);
}

static void step_float(const struct rmc_sghmc *h, const relmc_system *sys,
                       const float *g)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const int is_bounded = h->law == RMC_BOUNDED;
    const relmc_push by = {
        .keep = is_bounded ? 1.0F : (float)RMC_ISA(rmc_sghmc_keep)(h, 1.0),
        .rate = is_bounded ? (float)RMC_ISA(rmc_sghmc_rate)(h) : 0.0F,
        .kick = (float)h->kick,
        .shrink = (float)(1.0 - h->decay * h->factor),
        .drift = (float)h->drift,
    };

    kin->ops->push_float(kin->self, &sys->shape, &by, g, h->floats.p,
                         h->floats.x);
}

/* With heat: one lane after another, all of them under way. */
static void heat_lane(const struct rmc_sghmc *h, const relmc_system *sys,
                      size_t k, const relmc_heat *by, const float *g)
{
    const relmc_kinetic *kin = &sys->move.kinetic;

    kin->ops->heat_float(kin->self, sys->shape.dim, sys->shape.ld,
                         &sys->lanes.streams[RELMC_FOR_NOISE][k], by, g + k,
                         h->floats.p + k, h->floats.x + k);
}

/* Up to the gradient. */
static void heat_float(struct rmc_sghmc *h, const relmc_system *sys,
                       const float *g)
{
    const float kick = (float)h->kick, drift = (float)h->drift;
    const int is_obabo = h->scheme == RMC_OBABO,
              is_bounded = h->law == RMC_BOUNDED;
    relmc_heat by = {.bath = {.temperature = h->T}, .is_explicit = is_bounded};

    if (is_bounded) {
        by.bath.rate = RMC_ISA(rmc_sghmc_rate)(h);
    } else {
        by.bath.keep = RMC_ISA(rmc_sghmc_keep)(h, is_obabo ? 0.5 : 1.0);
    }
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (h->scheme == RMC_BAOAB) { /* inner half kicks are one */
            by.kick[0] = h->is_open[k] ? 0.5F * kick : kick;
            by.drift[0] = by.drift[1] = 0.5F * drift;
        } else {
            by.kick[1] = is_obabo ? 0.5F * kick : kick;
            by.drift[1] = drift;
        }
        h->is_open[k] = 0;
        heat_lane(h, sys, k, &by, g);
    }
}

/* From the gradient on. */
static void cool_float(struct rmc_sghmc *h, const relmc_system *sys, int is_end)
{
    const relmc_shape *s = &sys->shape;
    const float half = 0.5F * (float)h->kick;
    const relmc_heat by = {
        .bath = {.keep = RMC_ISA(rmc_sghmc_keep)(h, 0.5), .temperature = h->T},
        .kick = {half, 0.0F}};

    for (size_t k = 0; k < s->lanes && h->scheme == RMC_OBABO; k++) {
        heat_lane(h, sys, k, &by, h->floats.g);
    }
    if (h->scheme != RMC_BAOAB || !is_end) {
        return;
    }
    for (size_t j = 0; j < rmc_cells(s); j++) {
        h->floats.p[j] = __builtin_fmaf(half, h->floats.g[j], h->floats.p[j]);
    }
    memset(h->is_open, 1, s->lanes);
}

static void weigh_float(struct rmc_sghmc *h, const relmc_system *sys)
{
    const relmc_kinetic *kin = &sys->move.kinetic;

    kin->ops->weigh_float(kin->self, &sys->shape, h->floats.p, h->kinetic,
                          h->speed);
}

/* All lanes start together; what is known of p comes from the last end. */
static void begin_float(struct rmc_sghmc *h, relmc_system *sys,
                        const relmc_state *z, relmc_transition *out)
{
    const relmc_shape *s = &sys->shape;
    rmc_lane_list cold = {h->path.bad, 0};

    for (size_t k = 0; k < s->lanes; k++) {
        cold.lane[cold.n] = (uint32_t)k;
        cold.n += !h->is_warm[k];
    }
    if (cold.n) {
        RMC_ISA(rmc_sghmc_warm_up)(h, sys, z->p, &cold);
    }
    if (RMC_ISA(rmc_float_state_load)(&h->floats, s, z)) {
        weigh_float(h, sys);
    }
    for (size_t k = 0; k < s->lanes; k++) {
        out->speed[k] = h->speed[k];
        out->divergent[k] = out->n_clamped[k] = 0;
        h->path.h0[k] = h->drift / h->kick * h->kinetic[k] - z->lp[k];
        h->path.on[k] = 1.0;
        h->path.n_to_go[k] = (int32_t)h->steps;
        sys->lanes.busy[k] = 1;
    }
}

/* Lane k back where its transition began, with a new momentum. */
static void return_float(struct rmc_sghmc *h, const relmc_system *sys,
                         const relmc_state *z, size_t k)
{
    const relmc_shape *s = &sys->shape;
    uint32_t lane = (uint32_t)k;
    const rmc_lane_list one = {&lane, 1};

    RMC_ISA(rmc_float_state_return)(&h->floats, s, z, k);
    RMC_ISA(rmc_sghmc_warm_up)(h, sys, z->p, &one);
    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        h->floats.p[j] = (float)z->p[j];
    }
}

/* [runaway] as for doubles; h->total has lp. */
static void bring_back_float(struct rmc_sghmc *h, relmc_system *sys,
                             const relmc_state *z, relmc_transition *out,
                             int is_end)
{
    const relmc_shape *s = &sys->shape;
    const int is_wild =
        is_end && RMC_ISA(rmc_float_state_is_wild)(&h->floats, s);
    int has_bad = 0;

    for (size_t k = 0; k < s->lanes; k++) {
        const double gain =
            h->drift / h->kick * h->kinetic[k] - h->total[k] - h->path.h0[k];
        const int is_bad = !rmc_is_finite(h->total[k]) ||
                           (is_end && !(gain < h->path.max_gain)) ||
                           (is_wild && RMC_ISA(rmc_float_state_lane_is_wild)(
                                           &h->floats, s, k));

        if (is_bad) {
            return_float(h, sys, z, k);
            h->total[k] = z->lp[k];
            out->divergent[k] = 1;
            has_bad = 1;
        }
    }
    if (has_bad && is_end) {
        weigh_float(h, sys);
    }
}

static void end_float(struct rmc_sghmc *h, const relmc_system *sys,
                      relmc_state *z)
{
    RMC_ISA(rmc_float_state_store)(&h->floats, &sys->shape, z);
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        z->lp[k] = h->total[k];
        h->energy[k] = h->drift / h->kick * h->kinetic[k] - z->lp[k];
    }
}

relmc_status RMC_ISA(rmc_sghmc_tick_float)(struct rmc_sghmc *h,
                                           relmc_system *sys, relmc_state *z,
                                           relmc_transition *out)
{
    const int is_start = !sys->lanes.busy[0];

    if (is_start) {
        begin_float(h, sys, z, out);
    }
    const int is_end = h->path.n_to_go[0] == 1;
    const float *g = is_start ? h->floats.first : h->floats.g;
    if (h->T > 0.0) {
        heat_float(h, sys, g);
    } else {
        step_float(h, sys, g);
    }
    relmc_advance(sys);
    const relmc_status status =
        relmc_eval_float(sys, h->floats.x, h->total, h->floats.g);
    if (status) {
        return status;
    }
    if (h->T > 0.0) {
        cool_float(h, sys, is_end);
    }
    h->t += 1.0;
    if (is_end) {
        weigh_float(h, sys);
    }
    bring_back_float(h, sys, z, out, is_end);
    if (is_end) {
        end_float(h, sys, z);
    }
    const rmc_lane_list busy = rmc_path_busy(&h->path, sys);
    rmc_path_finish(&h->path, sys, out, &busy, h->energy, h->steps);
    return RELMC_OK;
}
