/*
 * hmc.c - Hamiltonian Monte Carlo with any kinetic energy.
 *
 *   [HMC]  p ~ exp(-K);  (x', p') = L integrator steps from (x, p);
 *   [MH]   accept with probability min(1, exp(H(x,p) - H(x',p'))).
 *   [GHMC] with persist = a > 0 the momentum is refreshed only in part, and
 *          changes its sign when the proposal is rejected.
 *
 * Newtonian and relativistic HMC are this same code.  Every lane is on its own
 * trajectory: one tick moves all of them one integrator step, then those that
 * have arrived are accepted or not, and start anew in the next tick.
 */
#include "../base/base.h"

struct hmc {
    double steps, time, jitter, persist, max_error;
    relmc_state start; /* where the trajectories began */
    double *h0;        /* H there, one per lane */
    double *step;      /* one per lane; 0 at rest */
    uint64_t now;      /* ticks so far */
    uint64_t next_due; /* the first tick after which a lane arrives */
    uint64_t *due;     /* the tick after which each does */
    int32_t *planned;  /* L */
    size_t n_busy;
    unsigned char *has_momentum;
    /* scratch for a set of lanes, compact */
    uint32_t *lanes, *rejected;
    relmc_stream *streams;
    double *p, *work; /* dim x ld, 2 dim x ld */
    double *energy, *accept, *uniform, *lp, *h0_there; /* one per lane */
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct hmc *h = self;
    const relmc_shape *s = &sys->shape;

    h->start = rmc_state_new(arena, s);
    h->p = rmc_lanes_new(arena, s);
    h->work = relmc_arena_get(arena, 2 * rmc_cells(s) * sizeof(double));
    h->h0 = rmc_per_lane_new(arena, s);
    h->step = rmc_per_lane_new(arena, s);
    h->due = relmc_arena_get(arena, s->ld * sizeof *h->due);
    h->planned = relmc_arena_get(arena, s->ld * sizeof *h->planned);
    h->energy = rmc_per_lane_new(arena, s);
    h->accept = rmc_per_lane_new(arena, s);
    h->uniform = rmc_per_lane_new(arena, s);
    h->lp = rmc_per_lane_new(arena, s);
    h->h0_there = rmc_per_lane_new(arena, s);
    h->has_momentum = relmc_arena_get(arena, s->ld);
    h->lanes = relmc_arena_get(arena, s->ld * sizeof(uint32_t));
    h->rejected = relmc_arena_get(arena, s->ld * sizeof(uint32_t));
    h->streams = relmc_arena_get(arena, s->ld * sizeof(relmc_stream));
    return relmc_arena_check(arena, err);
}

/* The streams of a set of lanes, compact; put_back returns them. */
static relmc_stream *take_streams(struct hmc *h, const relmc_system *sys,
                                  int purpose, const rmc_lane_list *set)
{
    if (set->n == sys->shape.lanes) {
        return sys->streams[purpose];
    }
    for (size_t j = 0; j < set->n; j++) {
        h->streams[j] = sys->streams[purpose][set->lane[j]];
    }
    return h->streams;
}

static void put_back(const relmc_stream *from, const relmc_system *sys,
                     int purpose, const rmc_lane_list *set)
{
    if (from == sys->streams[purpose]) {
        return;
    }
    for (size_t j = 0; j < set->n; j++) {
        sys->streams[purpose][set->lane[j]] = from[j];
    }
}

/* A new momentum for these lanes, all of it or in part. */
static void draw_momentum(struct hmc *h, relmc_system *sys, double *p,
                          const rmc_lane_list *set, int is_partial)
{
    const relmc_kinetic *kin = &sys->kinetic;
    const relmc_shape c = rmc_compact(&sys->shape, set);
    double *q = rmc_gather(&sys->shape, set, p, h->p);
    relmc_stream *streams = take_streams(h, sys, RELMC_FOR_MOMENTUM, set);

    if (is_partial) {
        kin->ops->partial(kin->self, &c, streams, h->persist, q, h->work);
    } else {
        kin->ops->refresh(kin->self, &c, streams, q);
    }
    put_back(streams, sys, RELMC_FOR_MOMENTUM, set);
    rmc_scatter(&sys->shape, set, q, p);
}

/* [GHMC] A lane's first momentum is drawn afresh, the later ones in part. */
static void refresh_in_part(struct hmc *h, relmc_system *sys, double *p,
                            const rmc_lane_list *set)
{
    for (int wanted = 0; wanted <= 1; wanted++) {
        rmc_lane_list part = {h->rejected, 0};

        for (size_t j = 0; j < set->n; j++) {
            const uint32_t k = set->lane[j];
            if (h->has_momentum[k] == wanted) {
                part.lane[part.n++] = k;
            }
        }
        if (part.n) {
            draw_momentum(h, sys, p, &part, wanted);
        }
    }
    for (size_t j = 0; j < set->n; j++) {
        h->has_momentum[set->lane[j]] = 1;
    }
}

/* L of lane k: given, or what the integration time asks for; with jitter J
 * uniform in (1 - J, 1 + J) times that. */
static int32_t plan_length(const struct hmc *h, relmc_system *sys, size_t k)
{
    double length = h->steps;

    if (h->time > 0.0) {
        length = h->time / sys->eps[k];
    }
    if (h->jitter > 0.0) {
        const double u = rmc_draw_uniform(&sys->streams[RELMC_FOR_LENGTH][k]);
        length *= rmc_fma(h->jitter, 2.0 * u - 1.0, 1.0);
    }
    length = floor(length + 0.5);
    return length < 1.0 ? 1 : length > 1e6 ? 1000000 : (int32_t)length;
}

static void begin(struct hmc *h, relmc_system *sys, relmc_state *z,
                  relmc_transition *out, const rmc_lane_list *set)
{
    const relmc_shape *s = &sys->shape, c = rmc_compact(s, set);
    const relmc_kinetic *kin = &sys->kinetic;

    if (h->persist > 0.0) {
        refresh_in_part(h, sys, z->p, set);
    } else {
        draw_momentum(h, sys, z->p, set, 0);
    }
    rmc_copy_lanes(s, set, z->p, h->start.p);
    rmc_copy_lanes(s, set, z->x, h->start.x);
    rmc_copy_lanes(s, set, z->g, h->start.g);

    const double *p = rmc_gather(s, set, z->p, h->p);
    kin->ops->energy(kin->self, &c, p, h->energy);
    kin->ops->speed(kin->self, &c, p, h->uniform);
    for (size_t j = 0; j < set->n; j++) {
        const size_t k = set->lane[j];

        out->speed[k] = h->uniform[j];
        h->start.lp[k] = z->lp[k];
        h->h0[k] = h->energy[j] - z->lp[k];
        h->planned[k] = plan_length(h, sys, k);
        h->due[k] = h->now + (uint64_t)h->planned[k];
        h->step[k] = sys->eps[k];
        sys->busy[k] = 1;
    }
    h->n_busy += set->n;
}

/* Where the proposal was rejected: back to the start, momentum reversed.  Also
 * without persist: a NaN in the momentum of a lane at rest would spread. */
static void go_back(struct hmc *h, const relmc_system *sys, relmc_state *z,
                    const rmc_lane_list *set)
{
    const relmc_shape *s = &sys->shape;

    rmc_copy_lanes(s, set, h->start.x, z->x);
    rmc_copy_lanes(s, set, h->start.g, z->g);
    for (size_t j = 0; j < set->n; j++) {
        z->lp[set->lane[j]] = h->start.lp[set->lane[j]];
    }
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t j = 0; j < set->n; j++) {
            const size_t at = i * s->ld + set->lane[j];
            z->p[at] = -h->start.p[at];
        }
    }
}

/* [MH] Where these lanes are now: h->energy becomes H, h->accept the probability
 * to stay there, 0 where there is no density.  Compact; vectorised. */
static void weigh(struct hmc *h, const relmc_system *sys, const relmc_state *z,
                  const rmc_lane_list *set)
{
    const relmc_shape *s = &sys->shape, line = {1, s->lanes, s->ld};
    const relmc_shape c = rmc_compact(s, set);
    const relmc_kinetic *kin = &sys->kinetic;
    const double *restrict lp = rmc_gather(&line, set, z->lp, h->lp);
    const double *restrict h0 = rmc_gather(&line, set, h->h0, h->h0_there);
    double *restrict h1 = h->energy, *restrict accept = h->accept;

    kin->ops->energy(kin->self, &c, rmc_gather(s, set, z->p, h->p), h1);
    for (size_t j = 0; j < c.ld; j++) {
        const double H = h1[j] - lp[j], error = H - h0[j];
        double a = rmc_exp(-error); /* NaN for NaN */

        a = a > 1.0 ? 1.0 : a;
        a = lp[j] - lp[j] == 0.0 ? a : 0.0;
        accept[j] = a >= 0.0 ? a : 0.0;
        h1[j] = H;
    }
}

/* The lanes that have arrived are accepted or go back. */
static void finish(struct hmc *h, relmc_system *sys, relmc_state *z,
                   relmc_transition *out, const rmc_lane_list *set)
{
    const relmc_shape c = rmc_compact(&sys->shape, set);
    const relmc_shape line = {1, c.lanes, c.ld};
    const int32_t stages = (int32_t)(sys->integrator->n_coef - 1) / 2;
    rmc_lane_list rejected = {h->rejected, 0};

    weigh(h, sys, z, set);
    relmc_stream *streams = take_streams(h, sys, RELMC_FOR_ACCEPT, set);
    rmc_fill_uniform(&line, streams, h->uniform);
    put_back(streams, sys, RELMC_FOR_ACCEPT, set);

    for (size_t j = 0; j < set->n; j++) {
        const uint32_t k = set->lane[j];
        const int is_accepted = h->uniform[j] < h->accept[j];
        const int32_t taken = h->planned[k] - (int32_t)(h->due[k] - h->now);

        out->done[k] = 1;
        out->accept_prob[k] = h->accept[j];
        out->divergent[k] = !rmc_is_finite(h->energy[j]) ||
                            h->energy[j] - h->h0[k] > h->max_error;
        out->energy[k] = is_accepted ? h->energy[j] : h->h0[k];
        out->n_steps[k] = taken;
        out->n_grad[k] = taken * stages;
        rejected.lane[rejected.n] = k;
        rejected.n += !is_accepted;
        h->step[k] = 0.0;
        sys->busy[k] = 0;
    }
    h->n_busy -= set->n;
    out->n_done = set->n;
    if (rejected.n) {
        go_back(h, sys, z, &rejected);
    }
}

/* Lanes that may start a transition. */
static rmc_lane_list find_idle(struct hmc *h, const relmc_system *sys)
{
    rmc_lane_list set = {h->lanes, 0};

    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (!(sys->busy[k] | sys->rest[k])) {
            set.lane[set.n++] = (uint32_t)k;
        }
    }
    return set;
}

/* Lanes that have arrived, or came to a point without density: that ends a
 * trajectory, because the way back would meet it, too, so that rejecting is
 * reversible. */
static rmc_lane_list find_arrived(struct hmc *h, const relmc_system *sys,
                                  const double *lp)
{
    rmc_lane_list set = {h->lanes, 0};

    h->next_due = UINT64_MAX;
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (!sys->busy[k]) {
            continue;
        }
        if (h->due[k] <= h->now || !rmc_is_finite(lp[k])) {
            set.lane[set.n++] = (uint32_t)k;
        } else {
            h->next_due = h->due[k] < h->next_due ? h->due[k] : h->next_due;
        }
    }
    return set;
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct hmc *h = self;
    const size_t lanes = sys->shape.lanes;

    out->n_done = 0;
    if (h->n_busy < lanes) {
        const rmc_lane_list idle = find_idle(h, sys);

        if (idle.n) {
            begin(h, sys, z, out, &idle);
            h->next_due = 0; /* look at all of them again */
        }
    }
    const relmc_status status =
        sys->integrator->step(sys->integrator, sys, z, h->step);
    if (status) {
        return status;
    }
    h->now++;
    if (h->now >= h->next_due || rmc_any_not_finite(lanes, z->lp)) {
        const rmc_lane_list arrived = find_arrived(h, sys, z->lp);

        if (arrived.n) {
            finish(h, sys, z, out, &arrived);
        }
    }
    return RELMC_OK;
}

static const relmc_param params[] = {
    {"steps", "integrator steps L", 1, 1e6, 32, offsetof(struct hmc, steps),
     RELMC_INTEGER},
    {"time", "integration time eps L, in place of steps; 0: not used", 0, 1e12,
     0, offsetof(struct hmc, time), RELMC_REAL},
    {"jitter", "L is varied at random by this fraction", 0, 1, 0.5,
     offsetof(struct hmc, jitter), RELMC_REAL},
    {"persist", "momentum kept between transitions, a in [0, 1)", 0, 0.999999,
     0, offsetof(struct hmc, persist), RELMC_REAL},
    {"max_error", "energy error called divergent", 1, 1e12, 20,
     offsetof(struct hmc, max_error), RELMC_REAL},
    {0},
};

const relmc_sampler_ops rmc_sampler_hmc = {
    .info = {"sampler", "hmc", "Hamiltonian Monte Carlo, static trajectories",
             params},
    .state_size = sizeof(struct hmc),
    .flags = RELMC_NEEDS_EXACT,
    .init = init,
    .tick = tick,
};
