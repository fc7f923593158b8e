/*
 * tempered.c - parallel tempering, for targets with separate modes: every lane
 * has a ladder of replicas; hot ones cross between modes, the cold one gives
 * the draws.
 *
 *   [tempering]  replica r moves by [HMC] at H_r = -b_r lp + K, with
 *                1 = b_0 > b_1 > ... > b_{n-1} = min_beta
 *   [swap]       neighbours exchange their points with probability
 *                min(1, exp((b_r - b_{r+1}) (lp_{r+1} - lp_r))); even pairs
 *                after one move of all replicas, odd pairs after the next
 *   [ladder]     warm-up sets b_1, ..., b_{n-2} so that the swaps of all pairs
 *                are refused equally often
 *
 * A tick moves all replicas of a lane one integrator step; their trajectories
 * have the same number of steps.  Replicas are the lanes of an inner system
 * whose model wraps the target.  All have the same kinetic energy; hotter
 * replicas make longer steps.
 *
 * Syed, Bouchard-Cote, Deligiannidis and Doucet (2022).
 */
#include "sampler/mcmc/tempered.h"

/* ---- memory -------------------------------------------------------------- */

static void open_lanes(struct rmc_tempered *t, relmc_arena *arena,
                       const relmc_shape *s)
{
    t->has_replicas = relmc_arena_get(arena, s->ld);
    t->is_frozen = relmc_arena_get(arena, s->ld);
    t->is_odd = relmc_arena_get(arena, s->ld);
    t->to_go = relmc_arena_get(arena, s->ld * sizeof *t->to_go);
    t->rounds_to_go = relmc_arena_get(arena, s->ld * sizeof *t->rounds_to_go);
    t->kinetic = rmc_per_lane_new(arena, s);
    t->age = rmc_per_lane_new(arena, s);
    t->since = rmc_per_lane_new(arena, s);
    t->window = rmc_per_lane_new(arena, s);
    t->lanes = relmc_arena_get(arena, s->ld * sizeof *t->lanes);
}

static void open_replicas(struct rmc_tempered *t, relmc_arena *arena,
                          const relmc_shape *s)
{
    t->z = rmc_state_new(arena, s);
    t->home = (relmc_state){.x = rmc_lanes_new(arena, s),
                            .g = rmc_lanes_new(arena, s),
                            .lp = rmc_per_lane_new(arena, s)};
    t->lp = rmc_per_lane_new(arena, s);
    t->g = rmc_lanes_new(arena, s);
    t->diag = rmc_lanes_new(arena, s);
    t->room = rmc_lanes_new(arena, s); /* the rank is at most dim */
    t->step = rmc_per_lane_new(arena, s);
    t->accept = rmc_per_lane_new(arena, s);
    t->beta = rmc_per_lane_new(arena, s);
    t->log_beta = rmc_per_lane_new(arena, s);
    t->log_stretch = rmc_per_lane_new(arena, s);
    t->refused = rmc_per_lane_new(arena, s);
    t->tries = rmc_per_lane_new(arena, s);
    t->proposal = rmc_proposal_new(arena, s);
    t->momentum = rmc_momentum_new(arena, s);
    t->set = relmc_arena_get(arena, s->ld * sizeof *t->set);
    t->part = relmc_arena_get(arena, s->ld * sizeof *t->part);
    t->speed = rmc_per_lane_new(arena, s);
    t->uniform = rmc_per_lane_new(arena, s);
}

/* [tempering] The model of the inner system: b lp and its gradient. */
static int temper(const void *self, const relmc_shape *s, const double *x,
                  double *lp, double *grad, relmc_error *err)
{
    const size_t ld = s->ld;
    struct rmc_tempered *t = rmc_mutable(self);
    const double *restrict beta = t->beta, *restrict plain = t->g;
    const relmc_status status = relmc_eval(&t->plain, x, t->lp, t->g);

    if (status) {
        *err = t->plain.error;
        return status;
    }
    for (size_t j = 0; j < s->lanes; j++) {
        lp[j] = beta[j] * t->lp[j];
    }
    for (size_t i = 0; i < s->dim * ld; i += ld) {
        for (size_t j = 0; j < ld; j++) {
            grad[i + j] = beta[j] * plain[i + j];
        }
    }
    return RELMC_OK;
}

static const relmc_model_ops tempered_model = {
    .info = {"model", "tempered", "b lp", NULL},
    .lanes = temper,
};

static void open_systems(struct rmc_tempered *t, relmc_arena *arena,
                         const relmc_system *sys)
{
    relmc_system *in = &t->inner;
    const size_t lanes = sys->shape.lanes * t->n;

    in->shape = (relmc_shape){sys->shape.dim, lanes, rmc_leading(lanes)};
    in->target.ops = &tempered_model;
    in->target.self = t;
    in->move.kinetic = sys->move.kinetic;
    in->move.integrator = sys->move.integrator;
    in->lanes.busy = relmc_arena_get(arena, in->shape.ld);
    in->scratch.v = rmc_lanes_new(arena, &in->shape);
    in->scratch.row =
        relmc_arena_get(arena, 2 * in->shape.dim * sizeof(double));
    in->scratch.lp = rmc_per_lane_new(arena, &in->shape);
    in->lanes.streams[RELMC_FOR_MOMENTUM] =
        relmc_arena_get(arena, in->shape.ld * sizeof(relmc_stream));
    in->lanes.streams[RELMC_FOR_ACCEPT] =
        relmc_arena_get(arena, in->shape.ld * sizeof(relmc_stream));
    t->plain = *in;
    t->plain.target.ops = sys->target.ops;
    t->plain.target.self = sys->target.self;
    t->plain.target.n_data = sys->target.n_data;
    if (sys->target.chain) { /* replicas share the memory of a chain */
        void **chains = relmc_arena_get(arena, lanes * sizeof *chains);

        for (size_t j = 0; chains && j < lanes; j++) {
            chains[j] = sys->target.chain[j / t->n];
        }
        t->plain.target.chain = chains;
    }
    t->plain.target.scratch = sys->target.scratch;
}

/* [replica-streams] Streams of replica r have r + 1 in the upper half of
 * `purpose`. */
static relmc_stream stream_of(const relmc_system *sys, uint32_t purpose,
                              size_t k, size_t r)
{
    relmc_stream stream = sys->lanes.streams[purpose][k];

    stream.word = 0;
    stream.purpose = purpose | (uint32_t)(r + 1) << 16;
    return stream;
}

/* The first ladder is geometric. */
static void fill_replicas(struct rmc_tempered *t, const relmc_system *sys,
                          size_t k)
{
    enum { FIRST_WINDOW = 16 };
    const double coldness = rmc_log(t->min_beta);

    for (size_t r = 0; r < t->n; r++) {
        const size_t j = k * t->n + r;

        t->log_beta[j] = coldness * (double)r / (double)(t->n - 1);
        t->beta[j] = rmc_exp(t->log_beta[j]);
        t->inner.lanes.streams[RELMC_FOR_MOMENTUM][j] =
            stream_of(sys, RELMC_FOR_MOMENTUM, k, r);
        t->inner.lanes.streams[RELMC_FOR_ACCEPT][j] =
            stream_of(sys, RELMC_FOR_ACCEPT, k, r);
    }
    t->beta[k * t->n] = 1.0;
    t->window[k] = FIRST_WINDOW;
}

static relmc_status init(void *self, relmc_arena *arena,
                         const relmc_system *sys, relmc_error *err)
{
    struct rmc_tempered *t = self;

    t->n = (size_t)t->replicas;
    open_systems(t, arena, sys);
    open_lanes(t, arena, &sys->shape);
    open_replicas(t, arena, &t->inner.shape);
    const relmc_status status = relmc_arena_check(arena, err);
    for (size_t k = 0; !status && k < sys->shape.lanes; k++) {
        fill_replicas(t, sys, k);
    }
    return status;
}

/* ---- warm-up ------------------------------------------------------------- */

/* [ladder] The rates of refused swaps are summed along the ladder, and the sum
 * is interpolated linearly in log b; the new rungs divide it into equal parts.
 * The 0.01 keeps rungs apart where nothing is refused. */
static void build_ladder(struct rmc_tempered *t, size_t k)
{
    const size_t first = k * t->n, last = t->n - 1;
    double *log_beta = t->log_beta + first;
    double barrier[RMC_MAX_REPLICAS], old[RMC_MAX_REPLICAS];
    size_t s = 0;

    barrier[0] = 0.0;
    old[0] = log_beta[0];
    for (size_t r = 0; r < last; r++) {
        const size_t j = first + r;
        const double tries = t->tries[j] > 0.0 ? t->tries[j] : 1.0;

        barrier[r + 1] = barrier[r] + t->refused[j] / tries + 0.01;
        old[r + 1] = log_beta[r + 1];
        t->refused[j] = t->tries[j] = 0.0;
    }
    for (size_t r = 1; r < last; r++) {
        const double wanted = barrier[last] * (double)r / (double)last;

        while (s + 1 < last && barrier[s + 1] < wanted) {
            s++;
        }
        const double part =
            (wanted - barrier[s]) / (barrier[s + 1] - barrier[s]);
        log_beta[r] = rmc_fma(part, old[s + 1] - old[s], old[s]);
        t->beta[first + r] = rmc_exp(log_beta[r]);
    }
    t->since[k] = 0.0;
}

/* [stretch] Hot replicas that accept too much get longer steps, the others
 * shorter ones. */
static void adapt_steps(struct rmc_tempered *t, size_t k)
{
    const double wanted = 0.8, limit = 20.0;
    const double gain = rmc_exp(-0.6 * rmc_log(t->age[k]));

    for (size_t j = k * t->n + 1; j < (k + 1) * t->n; j++) {
        const double s =
            rmc_fma(gain, t->accept[j] - wanted, t->log_stretch[j]);

        t->log_stretch[j] = s > limit ? limit : s < -limit ? -limit : s;
    }
}

static void adapt(struct rmc_tempered *t, size_t k)
{
    t->age[k]++;
    adapt_steps(t, k);
    if (++t->since[k] >= t->window[k]) {
        build_ladder(t, k);
        t->window[k] *= 2.0;
    }
}

/* Ends adaptation.  The ladder is built once more if the transitions since the
 * last time are about as many as that ladder was built from. */
static void freeze(struct rmc_tempered *t, size_t k)
{
    if (t->since[k] >= 0.25 * t->window[k]) {
        build_ladder(t, k);
    }
    t->is_frozen[k] = 1;
}

/* ---- a move of all replicas ---------------------------------------------- */

static void copy_point(const relmc_shape *from_shape, const relmc_state *from,
                       size_t a, const relmc_shape *to_shape, relmc_state *to,
                       size_t b)
{
    for (size_t i = 0; i < to_shape->dim; i++) {
        to->x[i * to_shape->ld + b] = from->x[i * from_shape->ld + a];
        to->g[i * to_shape->ld + b] = from->g[i * from_shape->ld + a];
    }
    to->lp[b] = from->lp[a];
}

/* A lane begins a transition.  Replica 0 takes the lane's point, which
 * adaptation may have moved; the first time all replicas do. */
static void begin(struct rmc_tempered *t, relmc_system *sys,
                  const relmc_state *z, relmc_transition *out, size_t k)
{
    const size_t n = t->has_replicas[k] ? 1 : t->n;

    for (size_t r = 0; r < n; r++) {
        copy_point(&sys->shape, z, k, &t->inner.shape, &t->home, k * t->n + r);
    }
    if (!sys->lanes.warming[k] && !t->is_frozen[k]) {
        freeze(t, k);
    }
    t->has_replicas[k] = 1;
    t->rounds_to_go[k] = (int32_t)t->rounds;
    t->to_go[k] = 0;
    out->accept_prob[k] = 0.0;
    out->n_steps[k] = out->divergent[k] = out->depth[k] = 0;
    sys->lanes.busy[k] = 1;
}

/* Lanes whose replicas are to begin a trajectory. */
static rmc_lane_list find_waiting(struct rmc_tempered *t, relmc_system *sys,
                                  const relmc_state *z, relmc_transition *out)
{
    rmc_lane_list set = {t->lanes, 0};

    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (!(sys->lanes.busy[k] | sys->lanes.rest[k])) {
            begin(t, sys, z, out, k);
        }
        if (sys->lanes.busy[k] && t->to_go[k] == 0) {
            set.lane[set.n++] = (uint32_t)k;
        }
    }
    return set;
}

/* L of lane k: with jitter J the steps times a number in (1 - J, 1 + J). */
static int32_t plan_length(const struct rmc_tempered *t, relmc_system *sys,
                           size_t k)
{
    double length = t->steps;

    if (t->jitter > 0.0) {
        const double u =
            rmc_draw_uniform(&sys->lanes.streams[RELMC_FOR_LENGTH][k]);
        length *= rmc_fma(t->jitter, 2.0 * u - 1.0, 1.0);
    }
    length = floor(length + 0.5);
    return length < 1.0 ? 1 : (int32_t)length;
}

/* Copies scale and kinetic energy of the lanes: adaptation may have changed
 * them. */
static void follow(struct rmc_tempered *t, const relmc_system *sys,
                   const rmc_lane_list *set)
{
    relmc_system *in = &t->inner;

    in->move.kinetic = sys->move.kinetic;
    in->frame.scale = sys->frame.scale;
    in->frame.scale.room = t->room;
    if (!sys->frame.scale.diag) {
        return;
    }
    in->frame.scale.diag = t->diag;
    for (size_t i = 0; i < in->shape.dim; i++) {
        for (size_t l = 0; l < set->n; l++) {
            const size_t k = set->lane[l];

            for (size_t j = k * t->n; j < (k + 1) * t->n; j++) {
                t->diag[i * in->shape.ld + j] =
                    sys->frame.scale.diag[i * sys->shape.ld + k];
            }
        }
    }
}

/* Replica j begins a trajectory at t->home. */
static void leave(struct rmc_tempered *t, size_t j, double eps)
{
    const size_t ld = t->inner.shape.ld;
    const double b = t->beta[j];

    copy_point(&t->inner.shape, &t->home, j, &t->inner.shape, &t->z, j);
    for (size_t i = 0; i < t->inner.shape.dim; i++) {
        t->z.g[i * ld + j] *= b;
    }
    t->z.lp[j] *= b;
    t->step[j] = j % t->n ? eps * rmc_exp(t->log_stretch[j]) / sqrt(b) : eps;
    t->inner.lanes.busy[j] = 1;
}

static void begin_round(struct rmc_tempered *t, relmc_system *sys,
                        relmc_transition *out, const rmc_lane_list *lanes)
{
    relmc_system *in = &t->inner;
    const relmc_kinetic *kin = &sys->move.kinetic;
    rmc_lane_list set = {t->set, 0};

    follow(t, sys, lanes);
    for (size_t l = 0; l < lanes->n; l++) {
        const size_t k = lanes->lane[l];

        t->to_go[k] = plan_length(t, sys, k);
        for (size_t j = k * t->n; j < (k + 1) * t->n; j++) {
            leave(t, j, sys->move.eps[k]);
            set.lane[set.n++] = (uint32_t)j;
        }
    }
    (void)rmc_momentum_draw(&t->momentum, in, t->z.p, &set, 0.0);
    const double *p =
        rmc_proposal_begin(&t->proposal, &t->momentum, in, &t->z, &set);
    const relmc_shape c = rmc_compact(&in->shape, &set);
    kin->ops->speed(kin->self, &c, p, t->speed);
    for (size_t l = 0; l < lanes->n; l++) {
        const size_t k = lanes->lane[l];

        out->speed[k] = t->speed[l * t->n];
        t->kinetic[k] = t->proposal.h0[k * t->n] + t->home.lp[k * t->n];
    }
}

/* These trajectories are rejected.  All values at their ends are overwritten,
 * because a NaN would spread. */
static void go_back(struct rmc_tempered *t, const rmc_lane_list *set)
{
    const relmc_shape *s = &t->inner.shape;

    if (set->n == 0) {
        return;
    }
    rmc_proposal_undo(&t->proposal, &t->inner, &t->z, set);
    rmc_copy_lanes(s, set, t->home.g, t->g);
    for (size_t l = 0; l < set->n; l++) {
        t->lp[set->lane[l]] = t->home.lp[set->lane[l]];
    }
}

/* Counts the step that was made.  A point without density ends the trajectory
 * of a replica, as it would on the way back. */
static void count_steps(struct rmc_tempered *t, relmc_transition *out)
{
    rmc_lane_list lost = {t->part, 0};

    for (size_t j = 0; j < t->inner.shape.lanes; j++) {
        if (!t->inner.lanes.busy[j]) {
            continue;
        }
        const size_t k = j / t->n;

        out->n_steps[k]++;
        if (!rmc_is_finite(t->z.lp[j])) {
            out->divergent[k] |= j == k * t->n;
            t->inner.lanes.busy[j] = 0;
            t->step[j] = t->accept[j] = 0.0;
            lost.lane[lost.n++] = (uint32_t)j;
        }
    }
    go_back(t, &lost);
}

static rmc_lane_list find_arrived(struct rmc_tempered *t,
                                  const relmc_system *sys)
{
    rmc_lane_list set = {t->lanes, 0};

    for (size_t k = 0; k < sys->shape.lanes; k++) {
        if (!sys->lanes.busy[k]) {
            continue;
        }
        t->to_go[k]--;
        if (!memchr(t->inner.lanes.busy + k * t->n, 1, t->n)) {
            t->to_go[k] = 0; /* all trajectories ended early */
        }
        if (t->to_go[k] == 0) {
            set.lane[set.n++] = (uint32_t)k;
        }
    }
    return set;
}

/* ---- accept, swap -------------------------------------------------------- */

/* [MH] for the l-th of a set, replica j. */
static int accept(struct rmc_tempered *t, relmc_transition *out, size_t l,
                  size_t j)
{
    const double H0 = t->proposal.h0[j], H = t->proposal.energy[l];
    const double ratio = t->proposal.ratio[l];
    const int is_accepted = t->uniform[l] < ratio;
    const size_t k = j / t->n;

    t->accept[j] = ratio < 1.0 ? ratio : 1.0;
    t->step[j] = 0.0;
    t->inner.lanes.busy[j] = 0;
    if (j == k * t->n) {
        out->divergent[k] |= !rmc_is_finite(H) || H - H0 > t->max_error;
        t->kinetic[k] = is_accepted ? H + t->lp[j] : t->kinetic[k];
    }
    return is_accepted;
}

/* Accepts or rejects the trajectories of these lanes that did not end early. */
static void come_home(struct rmc_tempered *t, relmc_transition *out,
                      const rmc_lane_list *lanes)
{
    const relmc_shape *s = &t->inner.shape;
    const relmc_state end = {.x = t->z.x, .g = t->g, .lp = t->lp};
    rmc_lane_list set = {t->set, 0}, rejected = {t->part, 0};

    for (size_t l = 0; l < lanes->n; l++) {
        const size_t first = lanes->lane[l] * t->n;

        for (size_t j = first; j < first + t->n; j++) {
            set.lane[set.n] = (uint32_t)j;
            set.n += t->inner.lanes.busy[j];
        }
    }
    if (set.n == 0) {
        return;
    }
    rmc_proposal_weigh(&t->proposal, &t->momentum, &t->inner, &t->z, &set);
    rmc_uniform_lanes(&t->momentum, &t->inner, RELMC_FOR_ACCEPT, &set,
                      t->uniform);
    for (size_t l = 0; l < set.n; l++) {
        const uint32_t j = set.lane[l];

        if (accept(t, out, l, j)) {
            copy_point(s, &end, j, s, &t->home, j);
        } else {
            rejected.lane[rejected.n++] = j;
        }
    }
    go_back(t, &rejected);
}

static void exchange(double *a, double *b)
{
    const double kept = *a;

    *a = *b;
    *b = kept;
}

static void swap_points(struct rmc_tempered *t, size_t a, size_t b)
{
    const relmc_shape *s = &t->inner.shape;

    for (size_t i = 0; i < rmc_cells(s); i += s->ld) {
        exchange(&t->home.x[i + a], &t->home.x[i + b]);
        exchange(&t->home.g[i + a], &t->home.g[i + b]);
    }
    exchange(&t->home.lp[a], &t->home.lp[b]);
}

/* [swap] Even pairs or odd pairs of lane k. */
static void swap_pairs(struct rmc_tempered *t, relmc_system *sys, size_t k)
{
    for (size_t r = t->is_odd[k]; r + 1 < t->n; r += 2) {
        const size_t a = k * t->n + r, b = a + 1;
        const double gap = t->beta[a] - t->beta[b];
        const double ratio = rmc_exp(gap * (t->home.lp[b] - t->home.lp[a]));
        const double u =
            rmc_draw_uniform(&sys->lanes.streams[RELMC_FOR_ACCEPT][k]);

        t->refused[a] += ratio < 1.0 ? 1.0 - ratio : 0.0;
        t->tries[a]++;
        if (u < ratio) {
            swap_points(t, a, b);
        }
    }
    t->is_odd[k] ^= 1;
}

static void finish(struct rmc_tempered *t, relmc_system *sys, relmc_state *z,
                   relmc_transition *out, size_t k)
{
    const int32_t stages = (int32_t)(sys->move.integrator->n_coef - 1) / 2;
    const size_t first = k * t->n;

    copy_point(&t->inner.shape, &t->home, first, &sys->shape, z, k);
    out->done[k] = 1;
    out->n_done++;
    out->energy[k] = t->kinetic[k] - z->lp[k];
    out->n_grad[k] = out->n_steps[k] * stages;
    sys->lanes.busy[k] = 0;
}

static void end_round(struct rmc_tempered *t, relmc_system *sys, relmc_state *z,
                      relmc_transition *out, const rmc_lane_list *lanes)
{
    come_home(t, out, lanes);
    for (size_t l = 0; l < lanes->n; l++) {
        const size_t k = lanes->lane[l];

        out->accept_prob[k] += t->accept[k * t->n] / t->rounds;
        swap_pairs(t, sys, k);
        if (--t->rounds_to_go[k] > 0) {
            continue;
        }
        if (sys->lanes.warming[k]) {
            adapt(t, k);
        }
        finish(t, sys, z, out, k);
    }
}

static relmc_status tick(void *self, relmc_system *sys, relmc_state *z,
                         relmc_transition *out)
{
    struct rmc_tempered *t = self;

    out->n_done = 0;
    const rmc_lane_list waiting = find_waiting(t, sys, z, out);
    if (waiting.n) {
        begin_round(t, sys, out, &waiting);
    }
    const relmc_status status = sys->move.integrator->step(
        sys->move.integrator, &t->inner, &t->z, t->step);
    if (status) {
        sys->error = t->plain.error;
        return status;
    }
    count_steps(t, out);
    const rmc_lane_list arrived = find_arrived(t, sys);
    if (arrived.n) {
        end_round(t, sys, z, out, &arrived);
    }
    return RELMC_OK;
}

/* ---- checkpoints --------------------------------------------------------- */

static void archive_replica(struct rmc_tempered *t, size_t j, relmc_archive *a)
{
    static const int purposes[] = {RELMC_FOR_MOMENTUM, RELMC_FOR_ACCEPT};
    double *const values[] = {t->home.lp,     t->beta,    t->log_beta,
                              t->log_stretch, t->refused, t->tries};

    relmc_archive_lane(a, &t->inner.shape, j, t->home.x);
    relmc_archive_lane(a, &t->inner.shape, j, t->home.g);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        relmc_archive_reals(a, &values[i][j], 1);
    }
    for (size_t i = 0; i < sizeof purposes / sizeof *purposes; i++) {
        uint64_t *word = &t->inner.lanes.streams[purposes[i]][j].word;

        *word = relmc_archive_count(a, *word, UINT64_MAX);
    }
}

static void archive(void *self, const relmc_system *sys, size_t k,
                    relmc_archive *a)
{
    struct rmc_tempered *t = self;
    unsigned char *const flags[] = {t->has_replicas, t->is_frozen, t->is_odd};

    (void)sys;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        flags[i][k] = (unsigned char)relmc_archive_count(a, flags[i][k], 1);
    }
    relmc_archive_reals(a, &t->age[k], 1);
    relmc_archive_reals(a, &t->since[k], 1);
    relmc_archive_reals(a, &t->window[k], 1);
    for (size_t j = k * t->n; j < (k + 1) * t->n; j++) {
        archive_replica(t, j, a);
    }
}

static const relmc_param params[] = {
    {"replicas", "temperatures of the ladder", 2, RMC_MAX_REPLICAS, 8,
     offsetof(struct rmc_tempered, replicas), RELMC_INTEGER},
    {"min_beta",
     "least inverse temperature; the density to this power must be "
     "integrable",
     1e-9, 0.999, 0.01, offsetof(struct rmc_tempered, min_beta), RELMC_REAL},
    {"steps", "integrator steps of a replica before a swap", 1, 1e4, 8,
     offsetof(struct rmc_tempered, steps), RELMC_INTEGER},
    {"jitter", "they are varied at random by this fraction", 0, 1, 0.5,
     offsetof(struct rmc_tempered, jitter), RELMC_REAL},
    {"rounds", "moves and swaps between draws", 1, 100, 1,
     offsetof(struct rmc_tempered, rounds), RELMC_INTEGER},
    {"max_error", "energy error called divergent", 1, 1e12, 20,
     offsetof(struct rmc_tempered, max_error), RELMC_REAL},
    {0},
};

const relmc_sampler_ops RMC_ISA(rmc_sampler_tempered) = {
    .info = {"sampler", "tempered",
             "parallel tempering: hot replicas cross between modes", params},
    .state_size = sizeof(struct rmc_tempered),
    .flags = RELMC_NEEDS_EXACT,
    .init = init,
    .tick = tick,
    .archive = archive,
};
