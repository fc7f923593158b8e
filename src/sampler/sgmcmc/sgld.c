/*
 * sgld.c - stochastic-gradient Langevin dynamics without momentum.
 *
 *   [SGLD]       x += eps M g~ + N(0, 2 eps T M),  M = S S' the inverse metric
 *   [pSGLD]      V <- b V + (1 - b) gbar^2, G = 1/(lambda + sqrt V),
 *                x += eps G g~ + N(0, 2 eps T G), in units of S.  The law
 *                is right for a G that does not depend on x, so V learns
 *                during warm-up only
 *   [SGLD-Adam]  the same with V/(1 - b^t) in place of V
 *
 * gbar is the gradient on the scale of the mean over the rows, or of the sum.
 */
#include "sampler/momentum_inline.h"
#include "sampler/schedule_inline.h"
#include "sampler/sgmcmc/unadjusted_inline.h"

enum { PLAIN, RMS, ADAM };
enum { MEAN, SUM };
enum { IN_WARMUP, ALWAYS };

struct sgld {
    double steps, temperature, lambda, beta, scale, learn, max_error;
    struct rmc_schedule schedule;
    int kind;
    double per_row; /* 1/N or 1 */
    double t;       /* steps made */
    double fading;  /* b^t, t the steps that V has learnt from */
    struct rmc_path path;
    struct rmc_momentum room;
    double *normal, *V; /* dim x ld */
    double *energy;     /* one per lane */
};

static relmc_status open_kind(struct sgld *h, relmc_arena *arena,
                              const relmc_system *sys, int kind,
                              relmc_error *err)
{
    const relmc_shape *s = &sys->shape;

    h->kind = kind;
    h->per_row = h->scale == MEAN && sys->target.n_data
                     ? 1.0 / (double)sys->target.n_data
                     : 1.0;
    h->fading = 1.0;
    h->path = rmc_path_new(arena, s);
    rmc_path_limit(&h->path, sys, h->max_error, h->temperature);
    h->room = rmc_momentum_new(arena, s);
    h->normal = rmc_lanes_new(arena, s);
    h->V = rmc_lanes_new(arena, s);
    h->energy = rmc_per_lane_new(arena, s);
    return relmc_arena_check(arena, err);
}

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    return open_kind(self, arena, sys, PLAIN, err);
}

static relmc_status init_rms(void *self, relmc_arena *arena,
                             const relmc_system *sys, relmc_error *err)
{
    return open_kind(self, arena, sys, RMS, err);
}

static relmc_status init_adam(void *self, relmc_arena *arena,
                              const relmc_system *sys, relmc_error *err)
{
    return open_kind(self, arena, sys, ADAM, err);
}

static void draw_normals(const struct sgld *h, const relmc_system *sys,
                         const rmc_lane_list *busy)
{
    const relmc_shape c = rmc_compact(&sys->shape, busy);
    double *normal = busy->n == sys->shape.lanes ? h->normal : h->room.work;
    relmc_stream *streams =
        rmc_streams_take(&h->room, sys, RELMC_FOR_NOISE, busy);

    rmc_fill_normal(&c, streams, normal);
    rmc_streams_put(streams, sys, RELMC_FOR_NOISE, busy);
    rmc_scatter(&sys->shape, busy, normal, h->normal);
}

/* Does V change?  Without warm-up there is no other time to learn.  Lanes are in
 * step, so that one speaks for all. */
static int is_learning(const struct sgld *h, const relmc_system *sys)
{
    return h->kind != PLAIN && (h->learn == ALWAYS || sys->run.warmup == 0 ||
                                sys->lanes.warming[0]);
}

/* [pSGLD] [SGLD-Adam] V of the whitened gradients in p.  One that is not a number
 * leaves V as it is. */
static void learn(struct sgld *h, const relmc_shape *s, const double *p)
{
    h->fading *= h->beta;
    for (size_t j = 0; j < rmc_cells(s); j++) {
        const double slope = p[j] * h->per_row, square = slope * slope;

        if (h->path.on[j % s->ld] != 0.0 && rmc_is_finite(square)) {
            h->V[j] = rmc_fma(h->beta, h->V[j], (1.0 - h->beta) * square);
        }
    }
}

static double precondition(const struct sgld *h, size_t j)
{
    const double debias = h->kind == ADAM ? 1.0 / (1.0 - h->fading) : 1.0;

    return 1.0 / (h->lambda + sqrt(h->V[j] * debias));
}

/* x += S (eps G S' g~ + N(0, 2 eps T G)): p is what is in brackets, and becomes a
 * drift with unit mass. */
static void step(struct sgld *h, const relmc_system *sys, relmc_state *z,
                 double eps)
{
    const relmc_shape *s = &sys->shape;
    relmc_system plain = *sys;

    plain.move.kinetic = sys->move.newtonian;
    memset(z->p, 0, rmc_cells(s) * sizeof *z->p);
    sys->move.integrator->kick(sys, z, h->path.on, 1.0);
    if (is_learning(h, sys)) {
        learn(h, s, z->p);
    }
    for (size_t j = 0; j < rmc_cells(s); j++) {
        const double G = h->kind == PLAIN ? 1.0 : precondition(h, j);
        const double noise = sqrt(2.0 * eps * h->temperature * G);

        z->p[j] = rmc_fma(noise, h->normal[j], eps * G * z->p[j]);
    }
    sys->move.integrator->drift(&plain, z, h->path.on, 1.0);
}

static void weigh(const struct sgld *h, const relmc_system *sys,
                  const relmc_state *z)
{
    for (size_t k = 0; k < sys->shape.lanes; k++) {
        h->energy[k] = -z->lp[k];
    }
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct sgld *h = self;
    rmc_lane_list idle = {h->path.lanes, 0};
    const double n = (double)sys->run.transitions * h->steps;
    const double eps =
        sys->move.eps[0] * rmc_schedule_at(&h->schedule, h->t, n);

    out->n_done = 0;
    rmc_find_idle(sys, &idle);
    weigh(h, sys, z);
    if (idle.n) {
        rmc_path_begin(&h->path, sys, z, out, &idle, h->energy, h->steps);
    }
    const rmc_lane_list busy = rmc_path_busy(&h->path, sys);
    draw_normals(h, sys, &busy);
    step(h, sys, z, eps);
    relmc_advance(sys);
    const relmc_status status = relmc_eval(sys, z->x, z->lp, z->g);
    if (status) {
        return status;
    }
    h->t += 1.0;
    weigh(h, sys, z);
    if (rmc_path_return(&h->path, sys, z, out, &busy, h->energy,
                        rmc_path_has_ends(&h->path, &busy))
            .n) {
        weigh(h, sys, z);
    }
    rmc_path_finish(&h->path, sys, out, &busy, h->energy, h->steps);
    return RELMC_OK;
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *a)
{
    struct sgld *h = self;

    rmc_length_archive(a, sys, rmc_schedule_is_fixed(&h->schedule));
    rmc_steps_archive(a, k, &h->t);
    relmc_archive_reals(a, &h->fading, 1);
    relmc_archive_lane(a, &sys->shape, k, h->V);
}

#define AT(member) offsetof(struct sgld, member)

/* clang-format off */
#define COMMON                                                                \
    {"steps", "steps of a transition", 1, 1e6, 10, AT(steps), RELMC_INTEGER,  \
     NULL},                                                                   \
    {"temperature", "T of exp(-U/T)", 0, 1e12, 1, AT(temperature),            \
     RELMC_REAL, NULL},                                                       \
    {"max_error", "energy gain of a transition called divergent, for each "   \
     "coordinate, in units of T", 1, 1e12, 1000, AT(max_error), RELMC_REAL,   \
     NULL},                                                                   \
    RMC_SCHEDULE_PARAMS(struct sgld, schedule)
#define METRIC                                                                \
    {"lambda", "what is added to the root of V", 1e-300, 1e12, 1e-5,          \
     AT(lambda), RELMC_REAL, NULL},                                           \
    {"beta", "how long V remembers, b", 0, 0.999999999, 0.99, AT(beta),       \
     RELMC_REAL, NULL},                                                       \
    {"scale", "of the gradients in V: mean or sum over the rows", 0, 1, MEAN, \
     AT(scale), RELMC_CHOICE, "mean|sum"},                                    \
    {"learn", "when V changes: in warm-up, if there is one, or always, which "\
     "biases the draws", 0, 1, IN_WARMUP, AT(learn), RELMC_CHOICE,            \
     "warmup|always"}
/* clang-format on */

static const relmc_param plain_params[] = {COMMON, {0}};
static const relmc_param scaled_params[] = {METRIC, COMMON, {0}};

const relmc_sampler_ops RMC_ISA(rmc_sampler_sgld) = {
    .info = {"sampler", "sgld", "stochastic-gradient Langevin dynamics",
             plain_params},
    .state_size = sizeof(struct sgld),
    .flags = RELMC_UNADJUSTED | RELMC_NO_MOMENTUM,
    .init = init,
    .tick = tick,
    .archive = archive,
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_psgld) = {
    .info = {"sampler", "psgld", "sgld, scaled by the size of the gradients",
             scaled_params},
    .state_size = sizeof(struct sgld),
    .flags = RELMC_UNADJUSTED | RELMC_NO_MOMENTUM,
    .init = init_rms,
    .tick = tick,
    .archive = archive,
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_sgld_adam) = {
    .info = {"sampler", "sgld_adam", "psgld that starts without bias",
             scaled_params},
    .state_size = sizeof(struct sgld),
    .flags = RELMC_UNADJUSTED | RELMC_NO_MOMENTUM,
    .init = init_adam,
    .tick = tick,
    .archive = archive,
};
