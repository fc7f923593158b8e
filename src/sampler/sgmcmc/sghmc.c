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
 * This is the plain reference, in double precision.  sghmc_float.c has a fast path
 * for targets of single precision, sghmc_thermostat.c what sgnht and estimates of
 * gradient noise add.
 */
#include "sampler/sgmcmc/sghmc.h"

enum { SUM, MEAN };

/* ---- parameters ----------------------------------------------------------- */

static int is_given(double x)
{
    return x == x;
}

static double or_else(double x, double fallback)
{
    return is_given(x) ? x : fallback;
}

static relmc_status check(const struct rmc_sghmc *h, const relmc_system *sys,
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
static void settle(struct rmc_sghmc *h, const relmc_system *sys)
{
    const int is_hot = h->temperature > 0.0;
    const int has_rate = is_given(h->lr);
    const double n_rows = (double)(sys->target.n_data ? sys->target.n_data : 1);
    const double usual_scale = has_rate && !is_hot ? MEAN : SUM;

    h->scheme = or_else(h->scheme, is_hot ? RMC_BAOAB : RMC_EULER);
    h->steps = or_else(h->steps, is_hot ? 10.0 : 1.0);
    h->friction = or_else(h->friction, 1.0);
    h->momentum = or_else(h->momentum, 0.9);
    h->max_step = or_else(h->max_step, h->lr);
    h->scale = or_else(h->scale, usual_scale);
    h->per_row = h->scale == MEAN ? 1.0 / n_rows : 1.0;
}

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct rmc_sghmc *h = self;
    const relmc_shape *s = &sys->shape;
    relmc_status status = check(h, sys, err);

    if (status) {
        return status;
    }
    settle(h, sys);
    if ((status = RMC_ISA(rmc_float_state_init)(
             &h->floats, arena, sys, RMC_ISA(rmc_sghmc_can_be_float)(h, sys),
             err))) {
        return status;
    }
    h->kinetic = rmc_per_lane_new(arena, s);
    h->momentum_room = rmc_momentum_new(arena, s);
    h->path = rmc_path_new(arena, s);
    rmc_path_limit(&h->path, sys, h->max_error, h->temperature);
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
        RMC_ISA(rmc_sghmc_open_thermostat)(h, sys);
    }
    for (size_t j = 0; h->variances && j < rmc_cells(s); j++) {
        h->variances[j] = h->variance;
    }
    return RELMC_OK;
}

static relmc_status init_nht(void *self, relmc_arena *arena,
                             const relmc_system *sys, relmc_error *err)
{
    struct rmc_sghmc *h = self;

    h->has_thermostat = 1;
    h->lr = h->momentum = h->max_step = h->scale = (double)NAN;
    h->floats.wanted = RMC_PRECISION_DOUBLE;
    return init(self, arena, sys, err);
}

/* ---- the lengths of a step ------------------------------------------------ */

/* [SGD-rel] (lr, max step, momentum) or eps; [schedule] of the step, and of the
 * largest step, eps c, which follows it or stays where it is. */
static void set_lengths(struct rmc_sghmc *h, const relmc_system *sys)
{
    const double n = (double)sys->run.transitions * h->steps;
    const double f = rmc_schedule_at(&h->schedule, h->t, n);
    struct rmc_schedule limit = h->schedule;

    limit.kind = h->limit > 0.0 ? h->limit - 1.0 : h->schedule.kind;
    const double g = rmc_schedule_at(&limit, h->t, n);

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
static void touch(const struct rmc_sghmc *h, const relmc_system *sys, double *p,
                  const rmc_lane_list *set, int purpose, const relmc_bath *bath)
{
    const struct rmc_momentum *m = &h->momentum_room;
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape c = rmc_compact(&sys->shape, set);
    double *q = rmc_gather(&sys->shape, set, p, m->p);
    relmc_stream *streams = rmc_streams_take(m, sys, purpose, set);

    if (bath) {
        kin->ops->partial(kin->self, &c, streams, bath, q, m->work);
    } else {
        kin->ops->refresh(kin->self, &c, streams, q);
    }
    rmc_streams_put(streams, sys, purpose, set);
    rmc_scatter(&sys->shape, set, q, p);
}

double RMC_ISA(rmc_sghmc_keep)(const struct rmc_sghmc *h, double f)
{
    if (is_given(h->lr)) {
        return f == 1.0 ? h->momentum : sqrt(h->momentum);
    }
    return rmc_exp(-h->friction * h->time * f);
}

double RMC_ISA(rmc_sghmc_rate)(const struct rmc_sghmc *h)
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
static void bathe(const struct rmc_sghmc *h, const relmc_system *sys, double *p,
                  const rmc_lane_list *set, double f)
{
    const relmc_shape *s = &sys->shape;
    const int is_bounded = h->law == RMC_BOUNDED;
    const double a = is_bounded ? 0.0 : RMC_ISA(rmc_sghmc_keep)(h, f);
    const relmc_bath bath = {.keep = a,
                             .rate = is_bounded ? RMC_ISA(rmc_sghmc_rate)(h) * f
                                                : 0.0,
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

void RMC_ISA(rmc_sghmc_warm_up)(const struct rmc_sghmc *h,
                                const relmc_system *sys, double *p,
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

/* ---- one step ------------------------------------------------------------- */

/* Most chains have neither thermostat nor estimate: no calls then. */
static inline void move_thermostat(struct rmc_sghmc *h, const relmc_system *sys,
                                   const double *p, double f)
{
    if (h->has_thermostat) {
        RMC_ISA(rmc_sghmc_move_thermostat)(h, sys, p, f);
    }
}

static inline void rub(struct rmc_sghmc *h, const relmc_system *sys, double *p,
                       double f)
{
    if (h->has_thermostat || h->variances) {
        RMC_ISA(rmc_sghmc_rub)(h, sys, p, f);
    }
}

static void kick(const struct rmc_sghmc *h, const relmc_system *sys,
                 relmc_state *z, const double *share, double f)
{
    sys->move.integrator->kick(sys, z, share, f * h->kick);
}

/* [SGHMC] One cell of lane k: friction and noise of the paper, explicitly.  B^
 * must leave some of the noise to us, or D goes up until it does: 1 is returned
 * then. */
static int push_cell(const struct rmc_sghmc *h, double *p, size_t at, size_t k)
{
    const double theirs =
        h->variances ? h->kick * h->kick * h->variances[at] : 0.0;
    double rate = RMC_ISA(rmc_sghmc_rate)(h);
    double ours = 2.0 * rate * h->T - theirs;
    int is_clamped = 0;

    if (ours < 0.0) {
        rate = theirs / (2.0 * h->T);
        ours = 0.0;
        is_clamped = 1;
    }
    if (h->has_thermostat) {
        rate +=
            h->time * h->zeta[h->thermostat == RMC_THERMOSTAT_EACH ? at : k];
    }
    p[at] = rmc_fma(-rate, h->room[at], p[at]);
    if (h->T > 0.0) {
        p[at] = rmc_fma(sqrt(ours), h->room2[at], p[at]);
    }
    return is_clamped;
}

static void push_explicitly(struct rmc_sghmc *h, const relmc_system *sys,
                            double *p, const rmc_lane_list *set,
                            relmc_transition *out)
{
    const struct rmc_momentum *m = &h->momentum_room;
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape *s = &sys->shape;
    const relmc_shape c = rmc_compact(s, set);
    double *normal = set->n == s->lanes ? h->room2 : m->work;

    kin->ops->velocity(kin->self, s, p, h->room);
    if (h->T > 0.0) {
        relmc_stream *streams = rmc_streams_take(m, sys, RELMC_FOR_NOISE, set);

        rmc_fill_normal(&c, streams, normal);
        rmc_streams_put(streams, sys, RELMC_FOR_NOISE, set);
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
static void first_part(struct rmc_sghmc *h, relmc_system *sys, relmc_state *z,
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
    if (h->scheme == RMC_BAOAB) { /* inner half kicks are one */
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
    if (h->scheme == RMC_OBABO) {
        move_thermostat(h, sys, z->p, 0.5);
        rub(h, sys, z->p, 0.5);
        bathe(h, sys, z->p, set, 0.5);
        kick(h, sys, z, h->path.on, 0.5);
    } else if (h->law == RMC_BOUNDED) {
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
static void last_part(struct rmc_sghmc *h, relmc_system *sys, relmc_state *z,
                      const rmc_lane_list *set)
{
    if (h->noise != 0.0) {
        RMC_ISA(rmc_sghmc_watch_noise)(h, sys, z);
    }
    if (h->scheme == RMC_EULER) {
        move_thermostat(h, sys, z->p, 1.0);
    } else if (h->scheme == RMC_OBABO) {
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

/* H = U + K drift/kick of all lanes; with the thermostat, in `total`. */
static void weigh(struct rmc_sghmc *h, const relmc_system *sys,
                  const relmc_state *z)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const double w = h->drift / h->kick;

    kin->ops->energy(kin->self, &sys->shape, z->p, h->energy);
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        h->energy[k] = (w == 1.0 ? h->energy[k] : w * h->energy[k]) - z->lp[k];
        h->total[k] =
            h->energy[k] + w * RMC_ISA(rmc_sghmc_stored)(h, &sys->shape, k);
    }
}

static void begin(struct rmc_sghmc *h, relmc_system *sys, relmc_state *z,
                  relmc_transition *out, const rmc_lane_list *set)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    rmc_lane_list cold = {h->path.bad, 0};

    for (size_t j = 0; j < set->n; j++) {
        cold.lane[cold.n] = set->lane[j];
        cold.n += !h->is_warm[set->lane[j]];
    }
    if (cold.n) {
        RMC_ISA(rmc_sghmc_warm_up)(h, sys, z->p, &cold);
    }
    kin->ops->speed(kin->self, &sys->shape, z->p, h->speed);
    for (size_t j = 0; j < set->n; j++) {
        out->speed[set->lane[j]] = h->speed[set->lane[j]];
    }
    weigh(h, sys, z);
    rmc_path_begin(&h->path, sys, z, out, set, h->total, h->steps);
}

static void bring_back(struct rmc_sghmc *h, relmc_system *sys, relmc_state *z,
                       relmc_transition *out, const rmc_lane_list *busy)
{
    const int has_ends = rmc_path_has_ends(&h->path, busy);

    if (has_ends) {
        weigh(h, sys, z);
    }
    const rmc_lane_list bad =
        rmc_path_return(&h->path, sys, z, out, busy, h->total, has_ends);
    if (bad.n) {
        RMC_ISA(rmc_sghmc_warm_up)(h, sys, z->p, &bad);
    }
    for (size_t j = 0; j < bad.n; j++) {
        RMC_ISA(rmc_sghmc_forget_noise)(h, &sys->shape, bad.lane[j]);
    }
    if (bad.n && has_ends) {
        weigh(h, sys, z);
    }
}

/* ---- one tick -------------------------------------------------------------- */

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct rmc_sghmc *h = self;
    rmc_lane_list idle = {h->path.lanes, 0};

    out->n_done = 0;
    set_lengths(h, sys);
    if (h->floats.is_on) {
        return RMC_ISA(rmc_sghmc_tick_float)(h, sys, z, out);
    }
    rmc_find_idle(sys, &idle);
    if (idle.n) {
        begin(h, sys, z, out, &idle);
    }
    const rmc_lane_list busy = rmc_path_busy(&h->path, sys);
    first_part(h, sys, z, out, &busy);
    relmc_advance(sys);
    const relmc_status status = relmc_eval(sys, z->x, z->lp, z->g);
    if (status) {
        return status;
    }
    last_part(h, sys, z, &busy);
    h->t += 1.0;
    bring_back(h, sys, z, out, &busy);
    rmc_path_finish(&h->path, sys, out, &busy, h->energy, h->steps);
    return RELMC_OK;
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *a)
{
    struct rmc_sghmc *h = self;
    double *const blocks[] = {h->zeta, h->variances, h->before, h->change};
    struct rmc_schedule limit = h->schedule;

    limit.kind = h->limit > 0.0 ? h->limit - 1.0 : limit.kind;
    rmc_length_archive(a, sys,
                       rmc_schedule_is_fixed(&h->schedule) ||
                           rmc_schedule_is_fixed(&limit));
    rmc_steps_archive(a, k, &h->t);
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
    return ((const struct rmc_sghmc *)self)->floats.is_on;
}

/* What makes up for noise takes it for white. */
static int has_estimate(const void *self)
{
    const struct rmc_sghmc *h = self;

    return h->noise != 0.0 || h->variance > 0.0;
}

static int always(const void *self)
{
    (void)self;
    return 1;
}

/* ---- three of them -------------------------------------------------------- */

#define AT(member) offsetof(struct rmc_sghmc, member)

/* clang-format off */
#define STEPS                                                                 \
    {"steps", "steps of a transition; default 10, or 1 at temperature 0", 1,  \
     1e6, (double)NAN, AT(steps), RELMC_INTEGER, NULL},                       \
    {"scheme", "default baoab, or euler at temperature 0", 0, 2,              \
     (double)NAN, AT(scheme), RELMC_CHOICE, "euler|baoab|obabo"}
#define FRICTION                                                              \
    {"friction", "rate of linear friction, gamma, or bounded friction, D; "   \
     "default 1", 0, 1e12, (double)NAN, AT(friction), RELMC_REAL, NULL},      \
    {"law", "linear: -gamma p; bounded: -D v, as in the paper", 0, 1, RMC_LINEAR, \
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
    RMC_SCHEDULE_PARAMS(struct rmc_sghmc, schedule),                              \
    {0}
/* clang-format on */

#define PRECISION RMC_PRECISION_PARAM(struct rmc_sghmc, floats)

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
    {"thermostat", "one for all coordinates, or one for each", 0, 1,
     RMC_ONE_THERMOSTAT, AT(thermostat), RELMC_CHOICE, "scalar|each"},
    REST,
};

static const relmc_param sgd_params[] = {STEPS, FRICTION, RATES, PRECISION,
                                         REST};

const relmc_sampler_ops RMC_ISA(rmc_sampler_sghmc) = {
    .info = {"sampler", "sghmc",
             "stochastic gradients: Langevin dynamics, any kinetic energy",
             sghmc_params},
    .state_size = sizeof(struct rmc_sghmc),
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
    .state_size = sizeof(struct rmc_sghmc),
    .flags = RELMC_UNADJUSTED,
    .init = init_nht,
    .tick = tick,
    .archive = archive,
    .wants_white_noise = always,
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_sgd) = {
    .info = {"sampler", "sgd",
             "optimiser: sghmc without heat, any kinetic energy", sgd_params},
    .state_size = sizeof(struct rmc_sghmc),
    .flags = RELMC_UNADJUSTED | RELMC_OPTIMISES,
    .init = init,
    .tick = tick,
    .archive = archive,
    .is_float = is_float,
};
