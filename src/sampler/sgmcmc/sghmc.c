/*
 * sghmc.c - Langevin dynamics with any kinetic energy, for noisy gradients g~:
 * the stochastic-gradient samplers of the paper, with a thermostat or without,
 * and, at temperature 0, its optimiser.  One step function serves all of them.
 *
 *   [SGHMC]   p += eps g~ - eps D v + N(0, eps (2 D T - eps B^)); x += eps v(p)
 *   [BAOAB]   half a kick, half a drift, the heat bath by [O-step], half a
 *             drift, half a kick: one gradient per step, order 2
 *   [OBABO]   half of the bath, [leapfrog], half of the bath
 *   [linear-friction]  p <- a p + ..., a = exp(-gamma eps), in place of -D v
 *   [SGNHT]   a friction zeta v on top, with mu d zeta' = |v|^2 - T lap K
 *   [SGD-rel] T = 0: p <- a p + s g~; x += alpha v(p)
 *
 * A step is a kick of p by `kick` S' g~, a drift of x by `drift` S v and a bath;
 * it keeps exp(-U/T - K/(T kick/drift)) up to its own error, so that is the law
 * of the momenta, and U + K drift/kick is the energy.  All three lengths are eps,
 * unless the speed of light has a schedule of its own, or the step is given by a
 * learning rate.
 *
 * Every transition takes the same number of ticks, so the lanes of an ensemble
 * stay in step and have one clock.  A lane that runs away goes back to where its
 * transition began, with a new momentum.
 *
 * On a target of single precision [SGD-rel], and [SGHMC], [BAOAB] and [OBABO] with
 * the separable energy, are done in single precision, in one pass over memory:
 * single.h.
 */
#include "sampler/float_state.h"
#include "sampler/momentum.h"
#include "sampler/schedule.h"
#include "sampler/sgmcmc/unadjusted.h"

enum { EULER, BAOAB, OBABO };
enum { LINEAR, BOUNDED };
enum { SCALAR, EACH };
enum { SUM, MEAN };

struct sghmc {
    /* parameters; NaN: not given */
    double friction, law, scheme, temperature, steps;
    double noise, variance; /* estimate B^? or it is known */
    double inertia, thermostat;
    double lr, momentum, max_step, decay, scale;
    double limit; /* of eps c: 0, or a schedule plus 1 */
    double max_error;
    struct rmc_schedule schedule;
    int has_thermostat;
    double per_row; /* 1/N with mean gradients */
    double t;       /* steps made */
    /* of the step at hand */
    double kick, drift, time, T, factor;
    struct rmc_momentum momentum_room;
    struct rmc_path path;
    double *zeta;            /* dim x ld, or ld: [SGNHT], from its mean D */
    double *mu;              /* the same */
    double *variances;       /* dim x ld: [noise-variance] */
    double *before, *change; /* dim x ld: the last S' g~, less the one before */
    double *room, *room2;    /* dim x ld */
    /* one per lane */
    double *push;   /* share of a kick */
    double *n_seen; /* gradients, by [noise-variance] */
    double *lap, *energy, *total, *speed;
    unsigned char *is_warm; /* it has a momentum */
    unsigned char *is_open; /* and half a kick is due */
    struct rmc_float_state floats;
    double *kinetic; /* one per lane, in single precision: K(p) now */
};

/* ---- parameters ----------------------------------------------------------- */

static int is_given(double x)
{
    return x == x;
}

static double or_else(double x, double fallback)
{
    return is_given(x) ? x : fallback;
}

static relmc_status check(const struct sghmc *h, const relmc_system *sys,
                          relmc_error *err)
{
    const int is_hot = h->temperature > 0.0;

    if (is_given(h->lr) && is_given(h->friction)) {
        return rmc_fail(err, RELMC_EINVAL,
                        "give friction, or lr and momentum, not both");
    }
    if (!is_given(h->lr) && (is_given(h->momentum) || is_given(h->max_step))) {
        return rmc_fail(err, RELMC_EINVAL,
                        "momentum and max_step go with lr: give it, too");
    }
    if (is_given(h->max_step) && !sys->move.kinetic.ops->has_limit) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "max_step needs a kinetic energy with a speed limit, "
                        "not %s",
                        sys->move.kinetic.ops->info.name);
    }
    if (h->limit != 0.0 && !sys->move.kinetic.ops->has_limit) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "limit needs a kinetic energy with a speed limit, not "
                        "%s",
                        sys->move.kinetic.ops->info.name);
    }
    if (is_hot && (h->decay > 0.0 || h->scale == MEAN)) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "decay and scale=mean are for temperature 0: they "
                        "change what is sampled");
    }
    if (!is_hot &&
        (h->noise != 0.0 || h->variance > 0.0 || h->has_thermostat)) {
        return rmc_fail(err, RELMC_EUNSUPP,
                        "at temperature 0 there is no noise to make up for, "
                        "and no thermostat");
    }
    if (h->noise != 0.0 && h->variance > 0.0) {
        return rmc_fail(err, RELMC_EINVAL,
                        "give variance or noise=estimate, not both");
    }
    return RELMC_OK;
}

/* Defaults that depend on the temperature: an optimiser has no use for a second
 * order, nor for steps that are not looked at. */
static void settle(struct sghmc *h, const relmc_system *sys)
{
    const int is_hot = h->temperature > 0.0;
    const int has_rate = is_given(h->lr);
    const double n_rows = (double)(sys->target.n_data ? sys->target.n_data : 1);
    const double usual_scale = has_rate && !is_hot ? MEAN : SUM;

    h->scheme = or_else(h->scheme, is_hot ? BAOAB : EULER);
    h->steps = or_else(h->steps, is_hot ? 10.0 : 1.0);
    h->friction = or_else(h->friction, 1.0);
    h->momentum = or_else(h->momentum, 0.9);
    h->max_step = or_else(h->max_step, h->lr);
    h->scale = or_else(h->scale, usual_scale);
    h->per_row = h->scale == MEAN ? 1.0 / n_rows : 1.0;
}

/* mu = 1/m by default: the curvature of K at rest. */
static void open_thermostat(struct sghmc *h, const relmc_system *sys)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape *s = &sys->shape;
    const size_t n = h->thermostat == EACH ? rmc_cells(s) : s->ld;

    memset(h->room, 0, rmc_cells(s) * sizeof *h->room);
    if (h->thermostat == EACH) {
        kin->ops->curvature(kin->self, s, h->room, h->mu);
    } else {
        kin->ops->laplacian(kin->self, s, h->room, h->mu);
    }
    for (size_t j = 0; j < n; j++) {
        if (is_given(h->inertia)) {
            h->mu[j] =
                h->inertia * (h->thermostat == EACH ? 1.0 : (double)s->dim);
        }
    }
}

/* Is it [SGD-rel], or with heat a scheme without estimates and thermostats, and
 * all of it there in single precision? */
static int can_be_float(const struct sghmc *h, const relmc_system *sys)
{
    const relmc_scale *scale = &sys->frame.scale;
    const relmc_kinetic_ops *kin = sys->move.kinetic.ops;
    const int has_extras =
        h->has_thermostat || h->noise != 0.0 || h->variance > 0.0;

    if (scale->diag || scale->chol) {
        return 0;
    }
    if (h->temperature == 0.0) {
        return h->scheme == EULER && kin->push_float;
    }
    return kin->heat_float && !has_extras &&
           (h->law == LINEAR || h->scheme == EULER);
}

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct sghmc *h = self;
    const relmc_shape *s = &sys->shape;
    relmc_status status = check(h, sys, err);

    if (status) {
        return status;
    }
    settle(h, sys);
    if ((status = RMC_ISA(rmc_float_state_init)(&h->floats, arena, sys,
                                                can_be_float(h, sys), err))) {
        return status;
    }
    h->kinetic = rmc_per_lane_new(arena, s);
    h->momentum_room = RMC_ISA(rmc_momentum_new)(arena, s);
    h->path = RMC_ISA(rmc_path_new)(arena, s);
    RMC_ISA(rmc_path_limit)(&h->path, sys, h->max_error, h->temperature);
    h->room = rmc_lanes_new(arena, s);
    h->room2 = rmc_lanes_new(arena, s);
    if (h->has_thermostat) {
        h->zeta = rmc_lanes_new(arena, s);
        h->mu = rmc_lanes_new(arena, s);
    }
    if (h->noise != 0.0 || h->variance > 0.0) {
        h->variances = rmc_lanes_new(arena, s);
        h->before = rmc_lanes_new(arena, s);
        h->change = rmc_lanes_new(arena, s);
    }
    h->push = rmc_per_lane_new(arena, s);
    h->n_seen = rmc_per_lane_new(arena, s);
    h->lap = rmc_per_lane_new(arena, s);
    h->energy = rmc_per_lane_new(arena, s);
    h->total = rmc_per_lane_new(arena, s);
    h->speed = rmc_per_lane_new(arena, s);
    h->is_warm = relmc_arena_get(arena, s->ld);
    h->is_open = relmc_arena_get(arena, s->ld);
    if ((status = relmc_arena_check(arena, err))) {
        return status;
    }
    if (h->has_thermostat) {
        open_thermostat(h, sys);
    }
    for (size_t j = 0; h->variances && j < rmc_cells(s); j++) {
        h->variances[j] = h->variance;
    }
    return RELMC_OK;
}

static relmc_status init_nht(void *self, relmc_arena *arena,
                             const relmc_system *sys, relmc_error *err)
{
    struct sghmc *h = self;

    h->has_thermostat = 1;
    h->lr = h->momentum = h->max_step = h->scale = (double)NAN;
    h->floats.wanted = RMC_PRECISION_DOUBLE;
    return init(self, arena, sys, err);
}

/* ---- the lengths of a step ------------------------------------------------ */

/* [SGD-rel] (lr, max step, momentum) or eps; [schedule] of the step, and of the
 * largest step, eps c, which follows it or stays where it is. */
static void set_lengths(struct sghmc *h, const relmc_system *sys)
{
    const double n = (double)sys->run.transitions * h->steps;
    const double f = RMC_ISA(rmc_schedule_at)(&h->schedule, h->t, n);
    struct rmc_schedule limit = h->schedule;

    limit.kind = h->limit > 0.0 ? h->limit - 1.0 : h->schedule.kind;
    const double g = RMC_ISA(rmc_schedule_at)(&limit, h->t, n);

    h->factor = f;
    if (is_given(h->lr)) {
        h->drift = h->max_step * g;
        h->kick = h->lr / h->max_step * (f / g);
        h->time = 1.0;
    } else {
        h->time =
            sys->move.eps[0] * f; /* there is no adaptation: all the same */
        h->drift = sys->move.eps[0] * g;
        h->kick = h->time * (f / g);
    }
    h->kick *= h->per_row;
    h->T = h->temperature > 0.0 ? h->temperature * h->kick / h->drift : 0.0;
}

/* ---- the heat bath -------------------------------------------------------- */

/* [O-step] for some lanes; without a bath, momenta from [refresh]. */
static void touch(const struct sghmc *h, const relmc_system *sys, double *p,
                  const rmc_lane_list *set, int purpose, const relmc_bath *bath)
{
    const struct rmc_momentum *m = &h->momentum_room;
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape c = rmc_compact(&sys->shape, set);
    double *q = rmc_gather(&sys->shape, set, p, m->p);
    relmc_stream *streams = RMC_ISA(rmc_streams_take)(m, sys, purpose, set);

    if (bath) {
        kin->ops->partial(kin->self, &c, streams, bath, q, m->work);
    } else {
        kin->ops->refresh(kin->self, &c, streams, q);
    }
    RMC_ISA(rmc_streams_put)(streams, sys, purpose, set);
    rmc_scatter(&sys->shape, set, q, p);
}

static double keep_of(const struct sghmc *h, double f)
{
    if (is_given(h->lr)) {
        return f == 1.0 ? h->momentum : sqrt(h->momentum);
    }
    return rmc_exp(-h->friction * h->time * f);
}

static double rate_of(const struct sghmc *h)
{
    return is_given(h->lr) ? 1.0 - h->momentum : h->friction * h->time;
}

/* y <- a y in the lanes that are under way. */
static void shrink(const relmc_shape *s, const double *on, double a, double *y)
{
    if (s->ld == 1) {
        for (size_t j = 0; j < s->dim; j++) {
            y[j] *= a;
        }
        return;
    }
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t k = 0; k < s->ld; k++) {
            y[i * s->ld + k] *= on[k] != 0.0 ? a : 1.0;
        }
    }
}

/* The bath for a share f of the step.  Without heat linear friction needs no
 * random numbers. */
static void bathe(const struct sghmc *h, const relmc_system *sys, double *p,
                  const rmc_lane_list *set, double f)
{
    const relmc_shape *s = &sys->shape;
    const int is_bounded = h->law == BOUNDED;
    const double a = is_bounded ? 0.0 : keep_of(h, f);
    const relmc_bath bath = {.keep = a,
                             .rate = is_bounded ? rate_of(h) * f : 0.0,
                             .temperature = h->T};

    if (is_bounded || (h->T > 0.0 && a < 1.0)) {
        if (!is_bounded || bath.rate > 0.0) {
            touch(h, sys, p, set, RELMC_FOR_NOISE, &bath);
        }
        return;
    }
    if (a < 1.0) {
        shrink(s, h->path.on, a, p);
    }
}

/* p ~ exp(-K/T); at another temperature than 1 by a few exchanges with W, which
 * is good enough for a start; 0 without heat. */
static void warm_up(const struct sghmc *h, const relmc_system *sys, double *p,
                    const rmc_lane_list *set)
{
    enum { N_EXCHANGES = 8 };
    const relmc_shape *s = &sys->shape;
    const relmc_bath bath = {.temperature = h->T};

    for (size_t j = 0; j < set->n && h->T == 0.0; j++) {
        for (size_t i = 0; i < s->dim; i++) {
            p[i * s->ld + set->lane[j]] = 0.0;
        }
    }
    if (h->T > 0.0) {
        touch(h, sys, p, set, RELMC_FOR_MOMENTUM, NULL);
    }
    for (int n = 0; n < N_EXCHANGES && h->T > 0.0 && h->T != 1.0; n++) {
        touch(h, sys, p, set, RELMC_FOR_MOMENTUM, &bath);
    }
    for (size_t j = 0; j < set->n; j++) {
        h->is_warm[set->lane[j]] = h->is_open[set->lane[j]] = 1;
        for (size_t i = 0; h->has_thermostat && i < s->dim; i++) {
            h->zeta[i * s->ld + set->lane[j]] = 0.0;
        }
    }
}

/* ---- thermostat and gradient noise ---------------------------------------- */

/* [SGNHT] mu d zeta' = |v|^2 - T lap K for a share f of the step, or the same
 * for every coordinate. */
static void move_thermostat(struct sghmc *h, const relmc_system *sys,
                            const double *p, double f)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape *s = &sys->shape;
    const double w = f * h->time;

    if (!h->has_thermostat) {
        return;
    }
    kin->ops->velocity(kin->self, s, p, h->room);
    if (h->thermostat == EACH) {
        kin->ops->curvature(kin->self, s, p, h->room2);
        for (size_t j = 0; j < rmc_cells(s); j++) {
            const double v = h->room[j];

            h->zeta[j] += w * h->path.on[j % s->ld] / h->mu[j] *
                          rmc_fma(v, v, -h->T * h->room2[j]);
        }
        return;
    }
    kin->ops->laplacian(kin->self, s, p, h->lap);
    for (size_t k = 0; k < s->ld; k++) {
        double sum = -h->T * h->lap[k];

        for (size_t i = 0; i < s->dim; i++) {
            const double v = h->room[i * s->ld + k];
            sum = rmc_fma(v, v, sum);
        }
        h->zeta[k] += w * h->path.on[k] / h->mu[k] * sum;
    }
}

/* What rubs on cell j besides the bath, for a whole step: zeta, and [noise-friction]
 * for the gradient noise of variance B^, which is as good as a bath. */
static inline double extra_friction(const struct sghmc *h, size_t j, size_t k)
{
    double sum = 0.0;

    if (h->has_thermostat) {
        sum = h->time * h->zeta[h->thermostat == EACH ? j : k];
    }
    if (h->variances) {
        sum += h->kick * h->kick * h->variances[j] / (2.0 * h->T);
    }
    return sum * h->path.on[k];
}

/* dp/dt = -z v for a share f of the step: p exp(-f z v/p) with the v/p of the
 * middle. */
static void rub(struct sghmc *h, const relmc_system *sys, double *p, double f)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape *s = &sys->shape;
    const size_t n = rmc_cells(s);

    if (!h->has_thermostat && !h->variances) {
        return;
    }
    kin->ops->velocity(kin->self, s, p, h->room);
    for (size_t j = 0; j < n; j++) {
        const double w = p[j] != 0.0 ? h->room[j] / p[j] : 0.0;

        h->room2[j] =
            p[j] * rmc_exp(-0.5 * f * extra_friction(h, j, j % s->ld) * w);
    }
    kin->ops->velocity(kin->self, s, h->room2, h->room);
    for (size_t j = 0; j < n; j++) {
        const double w = h->room2[j] != 0.0 ? h->room[j] / h->room2[j] : 0.0;

        p[j] *= rmc_exp(-f * extra_friction(h, j, j % s->ld) * w);
    }
}

/* [noise-variance] B^ from the second differences of successive gradients. */
static void watch_noise(struct sghmc *h, const relmc_system *sys,
                        const relmc_state *z)
{
    enum { MEMORY = 1000 };
    const relmc_shape *s = &sys->shape;
    const size_t n = rmc_cells(s);
    relmc_state whitened = {.g = z->g, .p = h->room};

    if (h->noise == 0.0) {
        return;
    }
    memset(h->room, 0, n * sizeof *h->room);
    sys->move.integrator->kick(sys, &whitened, h->path.on, 1.0);
    for (size_t j = 0; j < n; j++) {
        const double n_seconds = h->n_seen[j % s->ld] - 1.0;
        const double w = n_seconds < 1.0
                             ? 0.0
                             : 1.0 / (n_seconds < MEMORY ? n_seconds : MEMORY);
        const double change = h->room[j] - h->before[j];
        const double second = change - h->change[j];
        const double square = second * second / 6.0;

        if (w > 0.0 && rmc_is_finite(square)) {
            h->variances[j] =
                rmc_fma(w, square - h->variances[j], h->variances[j]);
        }
        h->before[j] = h->room[j];
        h->change[j] = change;
    }
    for (size_t k = 0; k < s->lanes; k++) {
        h->n_seen[k] += h->path.on[k];
    }
}

/* What a lane saw on the way out is no noise: begin anew. */
static void forget_noise(struct sghmc *h, const relmc_shape *s, size_t k)
{
    for (size_t j = k; h->noise != 0.0 && j < rmc_cells(s); j += s->ld) {
        h->variances[j] = 0.0;
    }
    h->n_seen[k] = 0.0;
}

/* ---- one step ------------------------------------------------------------- */

static void kick(const struct sghmc *h, const relmc_system *sys, relmc_state *z,
                 const double *share, double f)
{
    sys->move.integrator->kick(sys, z, share, f * h->kick);
}

/* [SGHMC] One cell of lane k: friction and noise of the paper, explicitly.  B^
 * must leave some of the noise to us, or D goes up until it does: 1 is returned
 * then. */
static int push_cell(const struct sghmc *h, double *p, size_t at, size_t k)
{
    const double theirs =
        h->variances ? h->kick * h->kick * h->variances[at] : 0.0;
    double rate = rate_of(h);
    double ours = 2.0 * rate * h->T - theirs;
    int is_clamped = 0;

    if (ours < 0.0) {
        rate = theirs / (2.0 * h->T);
        ours = 0.0;
        is_clamped = 1;
    }
    if (h->has_thermostat) {
        rate += h->time * h->zeta[h->thermostat == EACH ? at : k];
    }
    p[at] = rmc_fma(-rate, h->room[at], p[at]);
    if (h->T > 0.0) {
        p[at] = rmc_fma(sqrt(ours), h->room2[at], p[at]);
    }
    return is_clamped;
}

static void push_explicitly(struct sghmc *h, const relmc_system *sys, double *p,
                            const rmc_lane_list *set, relmc_transition *out)
{
    const struct rmc_momentum *m = &h->momentum_room;
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape *s = &sys->shape;
    const relmc_shape c = rmc_compact(s, set);
    double *normal = set->n == s->lanes ? h->room2 : m->work;

    kin->ops->velocity(kin->self, s, p, h->room);
    if (h->T > 0.0) {
        relmc_stream *streams =
            RMC_ISA(rmc_streams_take)(m, sys, RELMC_FOR_NOISE, set);

        rmc_fill_normal(&c, streams, normal);
        RMC_ISA(rmc_streams_put)(streams, sys, RELMC_FOR_NOISE, set);
        rmc_scatter(s, set, normal, h->room2);
    }
    for (size_t j = 0; j < set->n; j++) {
        const size_t k = set->lane[j];
        int is_clamped = 0;

        for (size_t at = k; at < rmc_cells(s); at += s->ld) {
            is_clamped |= push_cell(h, p, at, k);
        }
        out->n_clamped[k] += is_clamped;
    }
}

/* Up to the gradient. */
static void first_part(struct sghmc *h, relmc_system *sys, relmc_state *z,
                       relmc_transition *out, const rmc_lane_list *set)
{
    const relmc_integrator_ops *parts = sys->move.integrator;

    for (size_t k = 0; k < sys->shape.ld; k++) {
        h->push[k] = h->is_open[k] ? 0.5 * h->path.on[k] : h->path.on[k];
        h->is_open[k] = h->is_open[k] && h->path.on[k] == 0.0;
    }
    if (h->decay > 0.0) {
        shrink(&sys->shape, h->path.on, 1.0 - h->decay * h->factor, z->x);
    }
    if (h->scheme == BAOAB) { /* inner half kicks are one */
        kick(h, sys, z, h->push, 1.0);
        parts->drift(sys, z, h->path.on, 0.5 * h->drift);
        move_thermostat(h, sys, z->p, 0.5);
        rub(h, sys, z->p, 0.5);
        bathe(h, sys, z->p, set, 1.0);
        rub(h, sys, z->p, 0.5);
        move_thermostat(h, sys, z->p, 0.5);
        parts->drift(sys, z, h->path.on, 0.5 * h->drift);
        return;
    }
    if (h->scheme == OBABO) {
        move_thermostat(h, sys, z->p, 0.5);
        rub(h, sys, z->p, 0.5);
        bathe(h, sys, z->p, set, 0.5);
        kick(h, sys, z, h->path.on, 0.5);
    } else if (h->law == BOUNDED) {
        push_explicitly(h, sys, z->p, set, out);
        kick(h, sys, z, h->path.on, 1.0);
    } else {
        rub(h, sys, z->p, 1.0);
        bathe(h, sys, z->p, set, 1.0);
        kick(h, sys, z, h->path.on, 1.0);
    }
    parts->drift(sys, z, h->path.on, h->drift);
}

/* From the gradient on. */
static void last_part(struct sghmc *h, relmc_system *sys, relmc_state *z,
                      const rmc_lane_list *set)
{
    watch_noise(h, sys, z);
    if (h->scheme == EULER) {
        move_thermostat(h, sys, z->p, 1.0);
    } else if (h->scheme == OBABO) {
        kick(h, sys, z, h->path.on, 0.5);
        bathe(h, sys, z->p, set, 0.5);
        rub(h, sys, z->p, 0.5);
        move_thermostat(h, sys, z->p, 0.5);
    } else {
        for (size_t k = 0; k < sys->shape.lanes; k++) {
            const int is_last = h->path.on[k] != 0.0 && h->path.n_to_go[k] == 1;

            h->push[k] = is_last ? 0.5 : 0.0;
            h->is_open[k] |= (unsigned char)is_last;
        }
        kick(h, sys, z, h->push, 1.0);
    }
}

/* ---- a transition --------------------------------------------------------- */

/* The share of the thermostat in the energy of lane k, mu d zeta^2 / 2. */
static double stored(const struct sghmc *h, const relmc_shape *s, size_t k)
{
    const size_t n = !h->has_thermostat      ? 0
                     : h->thermostat == EACH ? rmc_cells(s)
                                             : s->ld;
    double sum = 0.0;

    for (size_t j = k; j < n; j += s->ld) {
        sum += 0.5 * h->mu[j] * h->zeta[j] * h->zeta[j];
    }
    return sum;
}

/* H = U + K drift/kick of all lanes; with the thermostat, in `total`. */
static void weigh(struct sghmc *h, const relmc_system *sys,
                  const relmc_state *z)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const double w = h->drift / h->kick;

    kin->ops->energy(kin->self, &sys->shape, z->p, h->energy);
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        h->energy[k] = (w == 1.0 ? h->energy[k] : w * h->energy[k]) - z->lp[k];
        h->total[k] = h->energy[k] + w * stored(h, &sys->shape, k);
    }
}

static void begin(struct sghmc *h, relmc_system *sys, relmc_state *z,
                  relmc_transition *out, const rmc_lane_list *set)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    rmc_lane_list cold = {h->path.bad, 0};

    for (size_t j = 0; j < set->n; j++) {
        cold.lane[cold.n] = set->lane[j];
        cold.n += !h->is_warm[set->lane[j]];
    }
    if (cold.n) {
        warm_up(h, sys, z->p, &cold);
    }
    kin->ops->speed(kin->self, &sys->shape, z->p, h->speed);
    for (size_t j = 0; j < set->n; j++) {
        out->speed[set->lane[j]] = h->speed[set->lane[j]];
    }
    weigh(h, sys, z);
    RMC_ISA(rmc_path_begin)(&h->path, sys, z, out, set, h->total, h->steps);
}

static void bring_back(struct sghmc *h, relmc_system *sys, relmc_state *z,
                       relmc_transition *out, const rmc_lane_list *busy)
{
    const int has_ends = RMC_ISA(rmc_path_has_ends)(&h->path, busy);

    if (has_ends) {
        weigh(h, sys, z);
    }
    const rmc_lane_list bad = RMC_ISA(rmc_path_return)(
        &h->path, sys, z, out, busy, h->total, has_ends);
    if (bad.n) {
        warm_up(h, sys, z->p, &bad);
    }
    for (size_t j = 0; j < bad.n; j++) {
        forget_noise(h, &sys->shape, bad.lane[j]);
    }
    if (bad.n && has_ends) {
        weigh(h, sys, z);
    }
}

/* ---- the same in single precision ------------------------------------------ */

static void step_float(const struct sghmc *h, const relmc_system *sys,
                       const float *g)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const int is_bounded = h->law == BOUNDED;
    const relmc_push by = {
        .keep = is_bounded ? 1.0F : (float)keep_of(h, 1.0),
        .rate = is_bounded ? (float)rate_of(h) : 0.0F,
        .kick = (float)h->kick,
        .shrink = (float)(1.0 - h->decay * h->factor),
        .drift = (float)h->drift,
    };

    kin->ops->push_float(kin->self, &sys->shape, &by, g, h->floats.p,
                         h->floats.x);
}

/* With heat: one lane after another, all of them under way. */
static void heat_lane(const struct sghmc *h, const relmc_system *sys, size_t k,
                      const relmc_heat *by, const float *g)
{
    const relmc_kinetic *kin = &sys->move.kinetic;

    kin->ops->heat_float(kin->self, sys->shape.dim, sys->shape.ld,
                         &sys->lanes.streams[RELMC_FOR_NOISE][k], by, g + k,
                         h->floats.p + k, h->floats.x + k);
}

/* Up to the gradient. */
static void heat_float(struct sghmc *h, const relmc_system *sys, const float *g)
{
    const float kick = (float)h->kick, drift = (float)h->drift;
    const int is_obabo = h->scheme == OBABO, is_bounded = h->law == BOUNDED;
    relmc_heat by = {.bath = {.temperature = h->T}, .is_explicit = is_bounded};

    if (is_bounded) {
        by.bath.rate = rate_of(h);
    } else {
        by.bath.keep = keep_of(h, is_obabo ? 0.5 : 1.0);
    }
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (h->scheme == BAOAB) { /* inner half kicks are one */
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
static void cool_float(struct sghmc *h, const relmc_system *sys, int is_end)
{
    const relmc_shape *s = &sys->shape;
    const float half = 0.5F * (float)h->kick;
    const relmc_heat by = {
        .bath = {.keep = keep_of(h, 0.5), .temperature = h->T},
        .kick = {half, 0.0F}};

    for (size_t k = 0; k < s->lanes && h->scheme == OBABO; k++) {
        heat_lane(h, sys, k, &by, h->floats.g);
    }
    if (h->scheme != BAOAB || !is_end) {
        return;
    }
    for (size_t j = 0; j < rmc_cells(s); j++) {
        h->floats.p[j] = __builtin_fmaf(half, h->floats.g[j], h->floats.p[j]);
    }
    memset(h->is_open, 1, s->lanes);
}

static void weigh_float(struct sghmc *h, const relmc_system *sys)
{
    const relmc_kinetic *kin = &sys->move.kinetic;

    kin->ops->weigh_float(kin->self, &sys->shape, h->floats.p, h->kinetic,
                          h->speed);
}

/* All lanes start together; what is known of p comes from the last end. */
static void begin_float(struct sghmc *h, relmc_system *sys,
                        const relmc_state *z, relmc_transition *out)
{
    const relmc_shape *s = &sys->shape;
    rmc_lane_list cold = {h->path.bad, 0};

    for (size_t k = 0; k < s->lanes; k++) {
        cold.lane[cold.n] = (uint32_t)k;
        cold.n += !h->is_warm[k];
    }
    if (cold.n) {
        warm_up(h, sys, z->p, &cold);
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
static void return_float(struct sghmc *h, const relmc_system *sys,
                         const relmc_state *z, size_t k)
{
    const relmc_shape *s = &sys->shape;
    uint32_t lane = (uint32_t)k;
    const rmc_lane_list one = {&lane, 1};

    RMC_ISA(rmc_float_state_return)(&h->floats, s, z, k);
    warm_up(h, sys, z->p, &one);
    for (size_t j = k; j < rmc_cells(s); j += s->ld) {
        h->floats.p[j] = (float)z->p[j];
    }
}

/* [runaway] as for doubles; h->total has lp. */
static void bring_back_float(struct sghmc *h, relmc_system *sys,
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

static void end_float(struct sghmc *h, const relmc_system *sys, relmc_state *z)
{
    RMC_ISA(rmc_float_state_store)(&h->floats, &sys->shape, z);
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        z->lp[k] = h->total[k];
        h->energy[k] = h->drift / h->kick * h->kinetic[k] - z->lp[k];
    }
}

static relmc_status tick_float(struct sghmc *h, relmc_system *sys,
                               relmc_state *z, relmc_transition *out)
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
    const rmc_lane_list busy = RMC_ISA(rmc_path_busy)(&h->path, sys);
    RMC_ISA(rmc_path_finish)(&h->path, sys, out, &busy, h->energy, h->steps);
    return RELMC_OK;
}

/* ---- one tick -------------------------------------------------------------- */

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct sghmc *h = self;
    rmc_lane_list idle = {h->path.lanes, 0};

    out->n_done = 0;
    set_lengths(h, sys);
    if (h->floats.is_on) {
        return tick_float(h, sys, z, out);
    }
    RMC_ISA(rmc_find_idle)(sys, &idle);
    if (idle.n) {
        begin(h, sys, z, out, &idle);
    }
    const rmc_lane_list busy = RMC_ISA(rmc_path_busy)(&h->path, sys);
    first_part(h, sys, z, out, &busy);
    relmc_advance(sys);
    const relmc_status status = relmc_eval(sys, z->x, z->lp, z->g);
    if (status) {
        return status;
    }
    last_part(h, sys, z, &busy);
    h->t += 1.0;
    bring_back(h, sys, z, out, &busy);
    RMC_ISA(rmc_path_finish)(&h->path, sys, out, &busy, h->energy, h->steps);
    return RELMC_OK;
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *a)
{
    struct sghmc *h = self;
    double *const blocks[] = {h->zeta, h->variances, h->before, h->change};
    struct rmc_schedule limit = h->schedule;

    limit.kind = h->limit > 0.0 ? h->limit - 1.0 : limit.kind;
    RMC_ISA(rmc_length_archive)
    (a, sys,
     RMC_ISA(rmc_schedule_is_fixed)(&h->schedule) ||
         RMC_ISA(rmc_schedule_is_fixed)(&limit));
    RMC_ISA(rmc_steps_archive)(a, k, &h->t);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (blocks[i]) {
            relmc_archive_lane(a, &sys->shape, k, blocks[i]);
        }
    }
    relmc_archive_reals(a, &h->n_seen[k], 1);
    h->is_warm[k] = (unsigned char)relmc_archive_count(a, h->is_warm[k], 1);
    h->is_open[k] = (unsigned char)relmc_archive_count(a, h->is_open[k], 1);
    RMC_ISA(rmc_float_state_archive)(&h->floats, sys, k, a);
}

static int is_float(const void *self)
{
    return ((const struct sghmc *)self)->floats.is_on;
}

/* What makes up for noise takes it for white. */
static int has_estimate(const void *self)
{
    const struct sghmc *h = self;

    return h->noise != 0.0 || h->variance > 0.0;
}

static int always(const void *self)
{
    (void)self;
    return 1;
}

/* ---- three of them -------------------------------------------------------- */

#define AT(member) offsetof(struct sghmc, member)

/* clang-format off */
#define STEPS                                                                 \
    {"steps", "steps of a transition; default 10, or 1 at temperature 0", 1,  \
     1e6, (double)NAN, AT(steps), RELMC_INTEGER, NULL},                       \
    {"scheme", "default baoab, or euler at temperature 0", 0, 2,              \
     (double)NAN, AT(scheme), RELMC_CHOICE, "euler|baoab|obabo"}
#define FRICTION                                                              \
    {"friction", "rate of linear friction, gamma, or bounded friction, D; "   \
     "default 1", 0, 1e12, (double)NAN, AT(friction), RELMC_REAL, NULL},      \
    {"law", "linear: -gamma p; bounded: -D v, as in the paper", 0, 1, LINEAR, \
     AT(law), RELMC_CHOICE, "linear|bounded"}
#define HEAT                                                                  \
    {"temperature", "T of exp(-U/T)", 0, 1e12, 1, AT(temperature),            \
     RELMC_REAL, NULL}
#define RATES                                                                 \
    {"lr", "learning rate eta, in place of step size and friction", 1e-300,   \
     1e12, (double)NAN, AT(lr), RELMC_REAL, NULL},                            \
    {"momentum", "share a that is kept, with lr; default 0.9", 0, 0.999999,   \
     (double)NAN, AT(momentum), RELMC_REAL, NULL},                            \
    {"max_step", "largest step alpha of a coordinate, with lr; default lr",   \
     1e-300, 1e12, (double)NAN, AT(max_step), RELMC_REAL, NULL},              \
    {"scale", "gradients of the sum or the mean over the rows; default mean " \
     "with lr at temperature 0, or else sum", 0, 1, (double)NAN, AT(scale),   \
     RELMC_CHOICE, "sum|mean"},                                               \
    {"decay", "share of x taken off at every step, at temperature 0", 0, 1,   \
     0, AT(decay), RELMC_REAL, NULL}
#define REST                                                                  \
    {"limit", "schedule of the largest step, eps c", 0, 4, 0, AT(limit),      \
     RELMC_CHOICE, "follows|" RMC_SCHEDULES},                                 \
    {"max_error", "energy gain of a transition called divergent, for each "   \
     "coordinate, in units of T", 1, 1e12, 1000, AT(max_error), RELMC_REAL,   \
     NULL},                                                                   \
    RMC_SCHEDULE_PARAMS(struct sghmc, schedule),                              \
    {0}
/* clang-format on */

#define PRECISION RMC_PRECISION_PARAM(struct sghmc, floats)

static const relmc_param sghmc_params[] = {
    STEPS,
    FRICTION,
    HEAT,
    {"noise", "estimate: B^ of the gradient noise, to make up for it", 0, 1, 0,
     AT(noise), RELMC_CHOICE, "none|estimate"},
    {"variance", "B^ of every coordinate, if it is known", 0, 1e300, 0,
     AT(variance), RELMC_REAL, NULL},
    RATES,
    PRECISION,
    REST,
};

static const relmc_param sgnht_params[] = {
    STEPS,
    FRICTION,
    HEAT,
    {"inertia", "mu; default 1/m", 1e-12, 1e12, (double)NAN, AT(inertia),
     RELMC_REAL, NULL},
    {"thermostat", "one for all coordinates, or one for each", 0, 1, SCALAR,
     AT(thermostat), RELMC_CHOICE, "scalar|each"},
    REST,
};

static const relmc_param sgd_params[] = {STEPS, FRICTION, RATES, PRECISION,
                                         REST};

const relmc_sampler_ops RMC_ISA(rmc_sampler_sghmc) = {
    .info = {"sampler", "sghmc",
             "stochastic gradients: Langevin dynamics, any kinetic energy",
             sghmc_params},
    .state_size = sizeof(struct sghmc),
    .flags = RELMC_UNADJUSTED,
    .init = init,
    .tick = tick,
    .archive = archive,
    .is_float = is_float,
    .wants_white_noise = has_estimate,
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_sgnht) = {
    .info = {"sampler", "sgnht", "stochastic gradients with a thermostat",
             sgnht_params},
    .state_size = sizeof(struct sghmc),
    .flags = RELMC_UNADJUSTED,
    .init = init_nht,
    .tick = tick,
    .archive = archive,
    .wants_white_noise = always,
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_sgd) = {
    .info = {"sampler", "sgd",
             "optimiser: sghmc without heat, any kinetic energy", sgd_params},
    .state_size = sizeof(struct sghmc),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES,
    .init = init,
    .tick = tick,
    .archive = archive,
    .is_float = is_float,
};
