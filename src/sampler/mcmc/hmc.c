/*
 * hmc.c - Hamiltonian Monte Carlo with any kinetic energy.
 *
 *   [HMC]  p ~ exp(-K);  (x', p') = L integrator steps from (x, p);
 *   [MH]   accept with probability min(1, exp(H(x,p) - H(x',p'))).
 *
 * Newtonian and relativistic HMC are this same code.  Every lane is on its own
 * trajectory: one tick moves all of them one integrator step, then those that
 * have arrived are accepted or not, and start anew in the next tick.
 */
#include "sampler/mcmc/proposal_inline.h"

struct hmc {
    double steps, time, jitter, max_error;
    struct rmc_proposal proposal;
    struct rmc_momentum momentum;
    double *step;      /* one per lane; 0 at rest */
    uint64_t now;      /* ticks so far */
    uint64_t next_due; /* no lane arrives before that tick */
    uint64_t *due;     /* the tick after which each does */
    int32_t *planned;  /* L */
    size_t n_busy;
    /* scratch for a set of lanes, compact */
    uint32_t *lanes, *rejected;
    double *speed, *uniform;
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct hmc *h = self;
    const relmc_shape *s = &sys->shape;

    h->proposal = rmc_proposal_new(arena, s);
    h->momentum = rmc_momentum_new(arena, s);
    h->step = rmc_per_lane_new(arena, s);
    h->due = relmc_arena_get(arena, s->ld * sizeof *h->due);
    h->planned = relmc_arena_get(arena, s->ld * sizeof *h->planned);
    h->speed = rmc_per_lane_new(arena, s);
    h->uniform = rmc_per_lane_new(arena, s);
    h->lanes = relmc_arena_get(arena, s->ld * sizeof(uint32_t));
    h->rejected = relmc_arena_get(arena, s->ld * sizeof(uint32_t));
    return relmc_arena_check(arena, err);
}

/* L of lane k: given, or what the integration time asks for; with jitter J
 * uniform in (1 - J, 1 + J) times that. */
static int32_t plan_length(const struct hmc *h, relmc_system *sys, size_t k)
{
    double length = h->steps;

    if (h->time > 0.0) {
        length = h->time / sys->move.eps[k];
    }
    if (h->jitter > 0.0) {
        const double u =
            rmc_draw_uniform(&sys->lanes.streams[RELMC_FOR_LENGTH][k]);
        length *= rmc_fma(h->jitter, 2.0 * u - 1.0, 1.0);
    }
    length = floor(length + 0.5);
    return length < 1.0 ? 1 : length > 1e6 ? 1000000 : (int32_t)length;
}

/* ---- the bookkeeping of n lanes; lane = NULL: of all, which vectorises ----- */

/* They set out; the least L of them. */
static inline __attribute__((always_inline)) int32_t
depart(const struct hmc *h, const relmc_system *sys, size_t n,
       const uint32_t *lane)
{
    const uint64_t now = h->now;
    const int32_t *restrict planned = h->planned;
    const double *restrict eps = sys->move.eps;
    uint64_t *restrict due = h->due;
    double *restrict step = h->step;
    unsigned char *restrict busy = sys->lanes.busy;
    int32_t shortest = INT32_MAX;

    for (size_t j = 0; j < n; j++) {
        const size_t k = lane ? lane[j] : j;

        due[k] = now + (uint64_t)planned[k];
        shortest = planned[k] < shortest ? planned[k] : shortest;
        step[k] = eps[k];
    }
    for (size_t j = 0; j < n; j++) {
        busy[lane ? lane[j] : j] = 1;
    }
    return shortest;
}

/* They have arrived, and are at rest. */
static inline __attribute__((always_inline)) void
settle(const struct hmc *h, const relmc_system *sys, relmc_transition *out,
       size_t n, const uint32_t *lane)
{
    const int32_t stages = (int32_t)(sys->move.integrator->n_coef - 1) / 2;
    const double max_error = h->max_error;
    const uint64_t now = h->now;
    const double *restrict h0 = h->proposal.h0;
    const double *restrict energy = h->proposal.energy;
    const double *restrict ratio = h->proposal.ratio;
    const double *restrict uniform = h->uniform;
    const int32_t *restrict planned = h->planned;
    const uint64_t *restrict due = h->due;
    double *restrict accept_prob = out->accept_prob, *restrict H = out->energy;
    int32_t *restrict divergent = out->divergent;
    int32_t *restrict n_steps = out->n_steps, *restrict n_grad = out->n_grad;
    double *restrict step = h->step;
    unsigned char *restrict busy = sys->lanes.busy, *restrict done = out->done;

    for (size_t j = 0; j < n; j++) {
        const size_t k = lane ? lane[j] : j;
        const double here = h0[k], there = energy[j], r = ratio[j];

        accept_prob[k] = r < 1.0 ? r : 1.0;
        H[k] = uniform[j] < r ? there : here;
        step[k] = 0.0;
    }
    for (size_t j = 0; j < n; j++) {
        const size_t k = lane ? lane[j] : j;

        divergent[k] =
            !rmc_is_finite(energy[j]) | (energy[j] - h0[k] > max_error);
        n_steps[k] = planned[k] - (int32_t)(due[k] - now);
        n_grad[k] = n_steps[k] * stages;
    }
    for (size_t j = 0; j < n; j++) {
        const size_t k = lane ? lane[j] : j;

        done[k] = 1;
        busy[k] = 0;
    }
}

static void begin(struct hmc *h, relmc_system *sys, relmc_state *z,
                  relmc_transition *out, const rmc_lane_list *set)
{
    const relmc_shape c = rmc_compact(&sys->shape, set);
    const relmc_shape line = {1, sys->shape.lanes, sys->shape.ld};
    const relmc_kinetic *kin = &sys->move.kinetic;
    double *speed = set->n == sys->shape.lanes ? out->speed : h->speed;

    (void)rmc_momentum_draw(&h->momentum, sys, z->p, set, 0.0);
    const double *p =
        rmc_proposal_begin(&h->proposal, &h->momentum, sys, z, set);
    kin->ops->speed(kin->self, &c, p, speed);
    rmc_scatter(&line, set, speed, out->speed);
    const int is_fixed = h->time <= 0.0 && h->jitter <= 0.0;
    const int32_t steps = (int32_t)h->steps;

    for (size_t j = 0; j < set->n; j++) {
        const uint32_t k = set->lane[j];

        h->planned[k] = is_fixed ? steps : plan_length(h, sys, k);
    }
    const int32_t shortest = set->n == sys->shape.lanes
                                 ? depart(h, sys, set->n, NULL)
                                 : depart(h, sys, set->n, set->lane);
    const uint64_t due = h->now + (uint64_t)shortest;

    h->next_due = due < h->next_due ? due : h->next_due;
    h->n_busy += set->n;
}

/* The lanes that have arrived are accepted or go back. */
static void finish(struct hmc *h, relmc_system *sys, relmc_state *z,
                   relmc_transition *out, const rmc_lane_list *set)
{
    rmc_lane_list rejected = {h->rejected, 0};

    rmc_proposal_weigh(&h->proposal, &h->momentum, sys, z, set);
    rmc_uniform_lanes(&h->momentum, sys, RELMC_FOR_ACCEPT, set, h->uniform);
    if (set->n == sys->shape.lanes) {
        settle(h, sys, out, set->n, NULL);
    } else {
        settle(h, sys, out, set->n, set->lane);
    }
    for (size_t j = 0; j < set->n; j++) {
        rejected.lane[rejected.n] = set->lane[j];
        rejected.n += h->uniform[j] < h->proposal.ratio[j] ? 0 : 1;
    }
    h->n_busy -= set->n;
    out->n_done = set->n;
    if (rejected.n) {
        rmc_proposal_undo(&h->proposal, sys, z, &rejected);
    }
}

/* Lanes that have arrived, or came to a point without density: that ends a
 * trajectory, because it would be on the way back, too, so that rejecting is
 * reversible.  Where densities are left out on the way, it goes on. */
static rmc_lane_list find_arrived(struct hmc *h, const relmc_system *sys,
                                  const double *lp)
{
    rmc_lane_list set = {h->lanes, 0};
    const int ends_early = !sys->target.ops->omits_lp;
    const uint64_t now = h->now;
    uint64_t next_due = UINT64_MAX;

    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (!sys->lanes.busy[k]) {
            continue;
        }
        const uint64_t due = h->due[k];

        if (due <= now || (ends_early && !rmc_is_finite(lp[k]))) {
            set.lane[set.n++] = (uint32_t)k;
        } else {
            next_due = due < next_due ? due : next_due;
        }
    }
    h->next_due = next_due;
    return set;
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct hmc *h = self;
    const size_t lanes = sys->shape.lanes;

    out->n_done = 0;
    if (h->n_busy < lanes) {
        rmc_lane_list idle = {h->lanes, 0};

        rmc_find_idle(sys, &idle);
        if (idle.n) {
            begin(h, sys, z, out, &idle);
        }
    }
    h->now++;
    const int has_arrivals = h->now >= h->next_due;
    const int needs_lp = has_arrivals || !sys->target.ops->omits_lp;
    relmc_state without = {z->x, z->p, z->g, NULL};
    const relmc_status status = sys->move.integrator->step(
        sys->move.integrator, sys, needs_lp ? z : &without, h->step);
    if (status || !needs_lp) {
        return status;
    }
    if (has_arrivals || rmc_any_not_finite(lanes, z->lp)) {
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
    {"max_error", "energy error called divergent", 1, 1e12, 20,
     offsetof(struct hmc, max_error), RELMC_REAL},
    {0},
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_hmc) = {
    .info = {"sampler", "hmc", "Hamiltonian Monte Carlo, static trajectories",
             params},
    .state_size = sizeof(struct hmc),
    .flags = RELMC_NEEDS_EXACT,
    .init = init,
    .tick = tick,
};
