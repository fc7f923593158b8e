/*
 * descent.c - begins and ends a step of an optimiser.
 */
#include "sampler/optimizer/descent.h"

relmc_status RMC_ISA(rmc_descent_init)(struct rmc_descent *d,
                                       relmc_arena *arena,
                                       const relmc_system *sys,
                                       relmc_error *err)
{
    const relmc_shape *s = &sys->shape;

    d->x = rmc_lanes_new(arena, s);
    d->g = rmc_lanes_new(arena, s);
    d->lp = rmc_per_lane_new(arena, s);
    d->failed = (unsigned char *)relmc_arena_get(arena, s->ld);
    const relmc_status status =
        RMC_ISA(rmc_float_state_init)(&d->floats, arena, sys, 1, err);
    if (!status && d->floats.is_on) {
        d->floats.before = RMC_ISA(rmc_floats_new)(arena, s);
    }
    return status ? status : relmc_arena_check(arena, err);
}

relmc_status RMC_ISA(rmc_descent_init_second)(struct rmc_descent *d,
                                              relmc_arena *arena,
                                              const relmc_system *sys,
                                              double **second, relmc_error *err)
{
    if (d->floats.is_on) {
        d->second = RMC_ISA(rmc_floats_new)(arena, &sys->shape);
    } else {
        *second = rmc_lanes_new(arena, &sys->shape);
    }
    return relmc_arena_check(arena, err);
}

double RMC_ISA(rmc_descent_rows)(const struct rmc_descent *d,
                                 const relmc_system *sys)
{
    return d->scale == RMC_SCALE_MEAN && sys->target.n_data
               ? (double)sys->target.n_data
               : 1.0;
}

struct rmc_descent_step RMC_ISA(rmc_descent_begin)(struct rmc_descent *d,
                                                   const relmc_system *sys,
                                                   relmc_transition *out)
{
    const double n = (double)sys->run.transitions * d->steps;
    const double part = rmc_schedule_at(&d->schedule, (double)d->t, n);

    out->n_done = 0;
    memset(sys->lanes.busy, 1, sys->shape.lanes);
    d->t++;
    return (struct rmc_descent_step){
        .n = rmc_cells(&sys->shape),
        .rate = d->rate * *sys->move.eps * part,
        .slope = 1.0 / RMC_ISA(rmc_descent_rows)(d, sys),
        .keep = 1.0 - d->decay * part,
        .t = (double)d->t,
    };
}

/* The largest change of a coordinate of lane k.  Absolute values of doubles are
 * in the order of their bits; NaN is above all. */
static double descent_stride(const relmc_shape *s, const double *a,
                             const double *b, size_t k)
{
    int64_t most = 0;

    for (size_t i = k; i < rmc_cells(s); i += s->ld) {
        const int64_t bits = (int64_t)rmc_to_bits(fabs(a[i] - b[i]));
        most = bits > most ? bits : most;
    }
    return rmc_from_bits((uint64_t)most);
}

/* Marks lanes whose new point or gradient is not finite, and counts them. */
static size_t descent_find_failed(struct rmc_descent *d, const relmc_shape *s)
{
    size_t n = 0;

    memset(d->failed, 0, s->lanes);
    if (!rmc_any_not_finite(s->lanes, d->lp) &&
        !rmc_any_not_finite(rmc_cells(s), d->g)) {
        return 0;
    }
    for (size_t k = 0; k < s->lanes; k++) {
        int is_finite = rmc_is_finite(d->lp[k]);

        for (size_t i = k; i < rmc_cells(s); i += s->ld) {
            is_finite &= rmc_is_finite(d->g[i]) && rmc_is_finite(d->x[i]);
        }
        d->failed[k] = !is_finite;
        n += !is_finite;
    }
    return n;
}

/* Puts failed lanes back to the point before the step, with momentum 0. */
static void descent_undo(struct rmc_descent *d, const relmc_shape *s,
                         relmc_state *z)
{
    for (size_t k = 0; k < s->lanes; k++) {
        if (!d->failed[k]) {
            continue;
        }
        d->lp[k] = z->lp[k];
        for (size_t i = k; i < rmc_cells(s); i += s->ld) {
            d->x[i] = z->x[i];
            d->g[i] = z->g[i];
            z->p[i] = 0.0;
        }
    }
}

static void swap(double **a, double **b)
{
    double *c = *a;

    *a = *b;
    *b = c;
}

/* The transition is complete.  Its last step went from d->x to z->x, or from
 * floats.before to floats.x. */
static void descent_report(struct rmc_descent *d, relmc_system *sys,
                           const relmc_state *z, relmc_transition *out)
{
    const relmc_shape *s = &sys->shape;

    for (size_t k = 0; k < s->lanes; k++) {
        out->done[k] = 1;
        out->accept_prob[k] = 1.0;
        out->energy[k] = -z->lp[k];
        out->speed[k] = d->floats.is_on
                            ? RMC_ISA(rmc_float_state_stride)(&d->floats, s, k)
                            : descent_stride(s, z->x, d->x, k);
        out->n_steps[k] = out->n_grad[k] = d->n_steps;
    }
    out->n_done = s->lanes;
    memset(sys->lanes.busy, 0, s->lanes);
    d->n_steps = 0;
}

relmc_status RMC_ISA(rmc_descent_finish)(struct rmc_descent *d,
                                         relmc_system *sys, relmc_state *z,
                                         relmc_transition *out)
{
    const relmc_shape *s = &sys->shape;

    relmc_advance(sys);
    const relmc_status status = relmc_eval(sys, d->x, d->lp, d->g);
    if (status) {
        return status;
    }
    const size_t n_failed = descent_find_failed(d, s);
    if (n_failed) {
        descent_undo(d, s, z);
    }
    for (size_t k = 0; k < s->lanes; k++) {
        out->divergent[k] = d->failed[k] + (d->n_steps ? out->divergent[k] : 0);
    }
    swap(&z->x, &d->x);
    swap(&z->g, &d->g);
    swap(&z->lp, &d->lp);
    if (++d->n_steps == (int32_t)d->steps) {
        descent_report(d, sys, z, out);
    }
    return RELMC_OK;
}

const float *RMC_ISA(rmc_descent_slope_float)(const struct rmc_descent *d)
{
    return d->n_steps ? d->floats.g : d->floats.first;
}

float *RMC_ISA(rmc_descent_begin_float)(struct rmc_descent *d,
                                        const relmc_shape *s,
                                        const relmc_state *z)
{
    (void)RMC_ISA(rmc_float_state_load)(&d->floats, s, z);
    return d->n_steps + 1 == (int32_t)d->steps ? d->floats.before : d->floats.x;
}

static void descent_find_failed_float(struct rmc_descent *d,
                                      const relmc_shape *s,
                                      const relmc_state *z, int is_last)
{
    const int is_wild =
        is_last && RMC_ISA(rmc_float_state_is_wild)(&d->floats, s);

    for (size_t k = 0; k < s->lanes; k++) {
        d->failed[k] = !rmc_is_finite(d->lp[k]) ||
                       (is_wild && RMC_ISA(rmc_float_state_lane_is_wild)(
                                       &d->floats, s, k));
        if (d->failed[k]) {
            RMC_ISA(rmc_float_state_return)(&d->floats, s, z, k);
            for (size_t j = k; d->second && j < rmc_cells(s); j += s->ld) {
                d->second[j] =
                    RMC_ISA(rmc_any_float_not_finite)(1, &d->second[j])
                        ? 0.0F
                        : d->second[j];
            }
            d->lp[k] = z->lp[k];
        }
    }
}

relmc_status RMC_ISA(rmc_descent_finish_float)(struct rmc_descent *d,
                                               relmc_system *sys,
                                               relmc_state *z, float *y,
                                               relmc_transition *out)
{
    const relmc_shape *s = &sys->shape;
    const int is_last = y != d->floats.x;

    relmc_advance(sys);
    const relmc_status status = relmc_eval_float(sys, y, d->lp, d->floats.g);
    if (status) {
        return status;
    }
    if (is_last) {
        RMC_ISA(rmc_swap_floats)(&d->floats.x, &d->floats.before);
    }
    descent_find_failed_float(d, s, z, is_last);
    for (size_t k = 0; k < s->lanes; k++) {
        out->divergent[k] = d->failed[k] + (d->n_steps ? out->divergent[k] : 0);
    }
    d->n_steps++;
    if (is_last) {
        RMC_ISA(rmc_float_state_store)(&d->floats, s, z);
        swap(&z->lp, &d->lp);
        descent_report(d, sys, z, out);
    }
    return RELMC_OK;
}

void RMC_ISA(rmc_descent_archive)(struct rmc_descent *d,
                                  const relmc_system *sys, size_t k,
                                  relmc_archive *archive)
{
    double t = (double)d->t;

    rmc_length_archive(archive, sys, rmc_schedule_is_fixed(&d->schedule));
    rmc_steps_archive(archive, k, &t);
    d->t = t >= 0.0 && t < 9e15 ? (int64_t)t : 0;
    RMC_ISA(rmc_float_state_archive)(&d->floats, sys, k, archive);
}

void RMC_ISA(rmc_descent_archive_second)(struct rmc_descent *d,
                                         const relmc_system *sys, size_t k,
                                         double *second, relmc_archive *archive)
{
    if (d->floats.is_on) {
        RMC_ISA(rmc_floats_archive)
        (archive, &sys->shape, k, d->second, sys->scratch.v);
    } else {
        relmc_archive_lane(archive, &sys->shape, k, second);
    }
}
