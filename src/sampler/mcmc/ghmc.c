/*
 * ghmc.c - generalised HMC: short trajectories between which the momentum is
 * refreshed only in part, so that it carries on through many of them.
 *
 *   [GHMC]  a unit: p <- [partial-refresh] of p with a = exp(-L eps w / T); L
 *           integrator steps; accept the end, or stay and reverse p.
 *   [slice] what accepts is u in (-1, 1), which is kept, too: u drifts by a
 *           little and wraps; accept if |u| < r = exp(H0 - H), and then u <- u/r.
 *           Rejections come in clusters, so the momentum reverses less often.
 *   [pace]  w = sqrt(E lap K / d), the root mean square of a velocity.  A
 *           momentum then carries over a distance of about T in units of S,
 *           whatever the mass and the speed of light are.
 *
 * Horowitz (1991), Neal (2020).  A transition, one draw, is several units.  An
 * adaptation that changes the scale or K (sys->epoch) makes lanes start with a
 * new momentum.
 */
#include "sampler/mcmc/proposal_inline.h"

#define USUAL_TIME 2.0 /* T, if neither the user nor the adaptation knows */

/* What a default may ask for: the adaptation may make eps very small. */
enum { MAX_LENGTH = 200, MAX_STEPS = 1000 };

struct ghmc {
    double time, steps, record, slice, drift, max_error;
    struct rmc_proposal proposal;
    struct rmc_momentum momentum;
    double pace;         /* w ... */
    uint32_t pace_epoch; /* ... of this epoch's K */
    /* one per lane */
    double *step;     /* 0 at rest */
    double *keep;     /* a */
    double *u;        /* of [slice] */
    uint32_t *epoch;  /* of p and u, plus 1; 0 if they are to be drawn */
    int32_t *length;  /* L */
    int32_t *units;   /* of this transition ... */
    int32_t *n_units; /* ... and those completed */
    int32_t *n_to_go; /* steps of this unit */
    /* scratch for a set of lanes */
    uint32_t *lanes, *todo, *part;
    double *speed, *uniform;
};

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct ghmc *g = self;
    const relmc_shape *s = &sys->shape;
    const size_t bytes = s->ld * sizeof(uint32_t);

    g->proposal = rmc_proposal_new(arena, s);
    g->momentum = rmc_momentum_new(arena, s);
    g->step = rmc_per_lane_new(arena, s);
    g->keep = rmc_per_lane_new(arena, s);
    g->u = rmc_per_lane_new(arena, s);
    g->epoch = relmc_arena_get(arena, bytes);
    g->length = relmc_arena_get(arena, bytes);
    g->units = relmc_arena_get(arena, bytes);
    g->n_units = relmc_arena_get(arena, bytes);
    g->n_to_go = relmc_arena_get(arena, bytes);
    g->lanes = relmc_arena_get(arena, bytes);
    g->todo = relmc_arena_get(arena, bytes);
    g->part = relmc_arena_get(arena, bytes);
    g->speed = rmc_per_lane_new(arena, s);
    g->uniform = rmc_per_lane_new(arena, s);
    return relmc_arena_check(arena, err);
}

/* ---- how long ------------------------------------------------------------- */

/* [pace] from momenta of a stream of its own: a property of K, the same for
 * every chain and any number of lanes. */
static double measure_pace(const struct rmc_momentum *m,
                           const relmc_system *sys)
{
    enum { N_VALUES = 4096, MIN_DRAWS = 8 };
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape one = {sys->shape.dim, 1, 1};
    const size_t wanted = N_VALUES / one.dim;
    const size_t n = wanted > MIN_DRAWS ? wanted : MIN_DRAWS;
    relmc_stream stream = {.purpose = RELMC_FOR_LENGTH};
    double sum = 0.0, lap;

    for (size_t t = 0; t < n; t++) {
        kin->ops->refresh(kin->self, &one, &stream, m->p);
        kin->ops->laplacian(kin->self, &one, m->p, &lap);
        sum += lap;
    }
    return sqrt(sum / ((double)n * (double)one.dim));
}

static int32_t whole(double x, int32_t least, int32_t most)
{
    x = floor(x + 0.5);
    return !(x > least) ? least : x > most ? most : (int32_t)x;
}

/* L, a, and the number of units of lane k's next transition. */
static void plan(struct ghmc *g, const relmc_system *sys, size_t k)
{
    const int32_t stages = (int32_t)(sys->move.integrator->n_coef - 1) / 2;
    const double T = g->time > 0.0          ? g->time
                     : sys->move.time > 0.0 ? sys->move.time
                                            : USUAL_TIME;
    const double steps = T / (sys->move.eps[k] * g->pace); /* that T takes */
    const int32_t L =
        g->steps > 0.0 ? (int32_t)g->steps : whole(steps / 10.0, 1, MAX_LENGTH);
    int32_t units = (int32_t)g->record;

    if (units == 0) {
        const int32_t most = L < MAX_STEPS ? MAX_STEPS / L : 1;

        units = whole(0.5 * steps / L, 1, most);
        units = units * L * stages < 2 ? 2 : units;
    }
    const double a = rmc_exp(-(double)L / steps);
    g->keep[k] = a < 0.999999 ? a : 0.999999;
    g->length[k] = L;
    g->units[k] = units;
}

/* ---- a transition begins -------------------------------------------------- */

static void begin(struct ghmc *g, relmc_system *sys, relmc_transition *out)
{
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (sys->lanes.busy[k] | sys->lanes.rest[k]) {
            continue;
        }
        if (g->pace == 0.0 || g->pace_epoch != sys->frame.epoch) {
            g->pace = measure_pace(&g->momentum, sys);
            g->pace_epoch = sys->frame.epoch;
        }
        plan(g, sys, k);
        if (g->epoch[k] != sys->frame.epoch + 1) {
            g->epoch[k] = 0;
        }
        g->n_units[k] = g->n_to_go[k] = 0;
        out->accept_prob[k] = 0.0;
        out->n_steps[k] = out->divergent[k] = out->depth[k] = 0;
        sys->lanes.busy[k] = 1;
    }
}

/* ---- a unit --------------------------------------------------------------- */

/* Busy lanes that are between two units. */
static rmc_lane_list find_waiting(struct ghmc *g, const relmc_system *sys)
{
    rmc_lane_list set = {g->lanes, 0};

    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (sys->lanes.busy[k] && g->n_to_go[k] == 0) {
            set.lane[set.n++] = (uint32_t)k;
        }
    }
    return set;
}

/* [GHMC] Lanes with the same a are refreshed together: all of them, if their
 * step sizes are the same.  A lane without a momentum gets a new one. */
static void refresh(struct ghmc *g, const relmc_system *sys, double *p,
                    const rmc_lane_list *set)
{
    rmc_lane_list todo = {g->todo, set->n};

    memcpy(todo.lane, set->lane, set->n * sizeof *todo.lane);
    while (todo.n) {
        const double a = g->epoch[*todo.lane] ? g->keep[*todo.lane] : 0.0;
        rmc_lane_list part = {g->part, 0}, others = {todo.lane, 0};

        for (size_t j = 0; j < todo.n; j++) {
            const uint32_t k = todo.lane[j];

            if ((g->epoch[k] ? g->keep[k] : 0.0) == a) {
                part.lane[part.n++] = k;
            } else {
                others.lane[others.n++] = k;
            }
        }
        rmc_momentum_draw(&g->momentum, sys, p, &part, a);
        todo = others;
    }
}

static void begin_unit(struct ghmc *g, relmc_system *sys, relmc_state *z,
                       relmc_transition *out, const rmc_lane_list *set)
{
    const relmc_shape c = rmc_compact(&sys->shape, set);
    const relmc_kinetic *kin = &sys->move.kinetic;
    int has_first = 0;

    refresh(g, sys, z->p, set);
    const double *p =
        rmc_proposal_begin(&g->proposal, &g->momentum, sys, z, set);
    for (size_t j = 0; j < set->n; j++) {
        const size_t k = set->lane[j];

        g->step[k] = sys->move.eps[k];
        g->n_to_go[k] = g->length[k];
        has_first |= g->n_units[k] == 0;
    }
    if (has_first) {
        kin->ops->speed(kin->self, &c, p, g->speed);
    }
    for (size_t j = 0; has_first && j < set->n; j++) {
        if (g->n_units[set->lane[j]] == 0) {
            out->speed[set->lane[j]] = g->speed[j];
        }
    }
}

/* Count the step; the lanes whose unit is over.  A point without density ends
 * it, as in hmc.c. */
static rmc_lane_list find_arrived(struct ghmc *g, const relmc_system *sys,
                                  const double *lp, relmc_transition *out)
{
    rmc_lane_list set = {g->lanes, 0};

    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (!sys->lanes.busy[k]) {
            continue;
        }
        out->n_steps[k]++;
        g->n_to_go[k] = rmc_is_finite(lp[k]) ? g->n_to_go[k] - 1 : 0;
        if (g->n_to_go[k] == 0) {
            set.lane[set.n++] = (uint32_t)k;
        }
    }
    return set;
}

/* [slice] The next u, from the one before and a uniform number in (-1, 1): with
 * plain Metropolis steps, and where there is none before, that number. */
static double move_slice(const struct ghmc *g, size_t k, double random)
{
    if (g->slice == 0.0 || g->epoch[k] == 0) {
        return random;
    }
    const double u = g->u[k] + g->drift * rmc_fma(0.2, random, 1.0);
    return u < 1.0 ? u : u - 2.0;
}

static void finish(struct ghmc *g, relmc_system *sys, relmc_transition *out,
                   size_t k)
{
    const int32_t stages = (int32_t)(sys->move.integrator->n_coef - 1) / 2;

    out->done[k] = 1;
    out->n_done++;
    out->accept_prob[k] /= (double)g->units[k];
    out->n_grad[k] = out->n_steps[k] * stages;
    g->step[k] = 0.0;
    sys->lanes.busy[k] = 0;
}

static void end_unit(struct ghmc *g, relmc_system *sys, relmc_state *z,
                     relmc_transition *out, const rmc_lane_list *set)
{
    rmc_lane_list rejected = {g->part, 0};

    rmc_proposal_weigh(&g->proposal, &g->momentum, sys, z, set);
    rmc_uniform_lanes(&g->momentum, sys, RELMC_FOR_ACCEPT, set, g->uniform);
    for (size_t j = 0; j < set->n; j++) {
        const uint32_t k = set->lane[j];
        const double H0 = g->proposal.h0[k], H = g->proposal.energy[j];
        const double r = g->proposal.ratio[j];
        const double u = move_slice(g, k, 2.0 * g->uniform[j] - 1.0);
        const int is_accepted = fabs(u) < r;

        g->u[k] = is_accepted ? u / r : u;
        g->epoch[k] = sys->frame.epoch + 1;
        out->accept_prob[k] += r < 1.0 ? r : 1.0;
        out->divergent[k] |= !rmc_is_finite(H) || H - H0 > g->max_error;
        out->energy[k] = is_accepted ? H : H0;
        rejected.lane[rejected.n] = k;
        rejected.n += !is_accepted;
        if (++g->n_units[k] == g->units[k]) {
            finish(g, sys, out, k);
        }
    }
    if (rejected.n) {
        rmc_proposal_undo(&g->proposal, sys, z, &rejected);
    }
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct ghmc *g = self;

    out->n_done = 0;
    begin(g, sys, out);
    const rmc_lane_list waiting = find_waiting(g, sys);
    if (waiting.n) {
        begin_unit(g, sys, z, out, &waiting);
    }
    const relmc_status status =
        sys->move.integrator->step(sys->move.integrator, sys, z, g->step);
    if (status) {
        return status;
    }
    const rmc_lane_list arrived = find_arrived(g, sys, z->lp, out);
    if (arrived.n) {
        end_unit(g, sys, z, out, &arrived);
    }
    return RELMC_OK;
}

/* The momentum is the run's. */
static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *a)
{
    struct ghmc *g = self;

    (void)sys;
    relmc_archive_reals(a, &g->u[k], 1);
    g->epoch[k] = (uint32_t)relmc_archive_count(a, g->epoch[k], UINT32_MAX);
}

static const relmc_param params[] = {
    {"time",
     "how far a momentum carries, T; 0: what the adaptation found, or 2", 0,
     1e12, 0, offsetof(struct ghmc, time), RELMC_REAL},
    {"steps", "integrator steps L of a unit; 0: a tenth of T", 0, 1e4, 0,
     offsetof(struct ghmc, steps), RELMC_INTEGER},
    {"record", "units between draws; 0: half of T", 0, 1e5, 0,
     offsetof(struct ghmc, record), RELMC_INTEGER},
    {"slice", "1: the number that accepts is kept, 0: it is drawn anew", 0, 1,
     1, offsetof(struct ghmc, slice), RELMC_INTEGER},
    {"drift", "how far that number moves in a unit", 1e-6, 1, 0.03,
     offsetof(struct ghmc, drift), RELMC_REAL},
    {"max_error", "energy error called divergent", 1, 1e12, 20,
     offsetof(struct ghmc, max_error), RELMC_REAL},
    {0},
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_ghmc) = {
    .info = {"sampler", "ghmc",
             "generalised HMC: the momentum is refreshed in part", params},
    .state_size = sizeof(struct ghmc),
    .flags = RELMC_NEEDS_EXACT,
    .init = init,
    .tick = tick,
    .archive = archive,
};
