/*
 * nuts.c - trees without recursion equal those of the recursive definition: the same
 * U-turns on any trajectory, the same steps and depth for the same random numbers, the
 * right probabilities of points.  Trajectories last about half a period and end on every
 * target; walnuts reaches the neck of a funnel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/spec.h"
#include "cpu.h"
#include "relmc.h"
#include "relmc_diag.h"
#include "sampler/mcmc/tree_rows_inline.h"
#include "support/callback.h"
#include "support/check.h"
#include "support/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIM = 6, MAX_DEPTH = 6, N_SIDE = 1 << MAX_DEPTH };

struct point {
    double x[MAX_DIM], p[MAX_DIM], g[MAX_DIM], v[MAX_DIM], lp, h;
};

/* ---- [U-turn] by its definition -------------------------------------------- */

static double dot(size_t dim, const double *a, const double *b)
{
    double sum = 0.0;

    for (size_t i = 0; i < dim; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Points first .. last: rho . v > 0 with rho their sum, v at two of them. */
static int goes_on(size_t dim, const struct point *points, int first, int last,
                   int at, int also_at)
{
    double rho[MAX_DIM] = {0};

    for (int j = first; j <= last; j++) {
        for (size_t i = 0; i < dim; i++) {
            rho[i] += points[j].p[i];
        }
    }
    return dot(dim, rho, points[at].v) > 0.0 &&
           dot(dim, rho, points[also_at].v) > 0.0;
}

/* The span of all points, and the spans of either half with the next point of the
 * other. */
static int span_goes_on(size_t dim, const struct point *points, int first,
                        int last)
{
    const int left = first + (last - first) / 2, right = left + 1;

    return goes_on(dim, points, first, last, first, last) &&
           goes_on(dim, points, first, right, first, right) &&
           goes_on(dim, points, left, last, left, last);
}

/* Is there no U-turn in any subtree of these n points?  n is a power of two. */
static int tree_goes_on(size_t dim, const struct point *points, int first,
                        int n)
{
    return n == 1 || (tree_goes_on(dim, points, first, n / 2) &&
                      tree_goes_on(dim, points, first + n / 2, n / 2) &&
                      span_goes_on(dim, points, first, first + n - 1));
}

/* ---- the same U-turns on any trajectory ----------------------------------- */

/* A momentum that rotates with a random rate and noise: from straight to erratic. */
static void make_trajectory(size_t dim, struct point *points, int n,
                            relmc_stream *stream)
{
    const double pace = exp(-5.0 * relmc_uniform(stream));
    const double noise = exp(-6.0 * relmc_uniform(stream));
    double a[MAX_DIM], b[MAX_DIM];

    for (size_t i = 0; i < dim; i++) {
        a[i] = relmc_normal(stream);
        b[i] = relmc_normal(stream);
    }
    for (int j = 0; j < n; j++) {
        struct point *q = &points[j];

        for (size_t i = 0; i < dim; i++) {
            q->p[i] = cos(pace * j) * a[i] + sin(pace * j) * b[i] +
                      noise * relmc_normal(stream);
        }
        const double mass = sqrt(1.0 + dot(dim, q->p, q->p) / 4.0);
        for (size_t i = 0; i < dim; i++) {
            q->v[i] = q->p[i] / mass;
        }
    }
}

enum { N_LANES = 6, LAG = 3 }; /* lane k begins LAG k leaves later */

/* Trees of several lanes, and the input of a leaf. */
struct grove {
    relmc_arena arena;
    relmc_system sys;
    relmc_stream streams[8];
    relmc_state z;
    struct rmc_trees trees;
    uint32_t ended[8];
};

static void grove_open(struct grove *g, const relmc_shape *s)
{
    *g = (struct grove){.sys.shape = *s};
    g->sys.lanes.streams[RELMC_FOR_ACCEPT] = g->streams;
    g->z = rmc_state_new(&g->arena, s);
    g->trees = rmc_trees_new(&g->arena, s, MAX_DEPTH + 1);
    assert_int_equal(relmc_arena_check(&g->arena, NULL), RELMC_OK);
}

static void put_leaf(struct grove *g, size_t k, const struct point *q)
{
    const relmc_shape *s = &g->sys.shape;

    for (size_t i = 0; i < s->dim; i++) {
        g->z.p[i * s->ld + k] = q->p[i];
        g->trees.leaves.v[i * s->ld + k] = q->v[i];
    }
    g->trees.has_point[k] = g->trees.has_leaf[k] = ~UINT64_C(0);
}

/* n_entered[k]: the leaf, from 1, at which lane k finds a U-turn, or 2^depth + 1.  The leaf
 * counters start with a higher bit set, so that no subtree is joined to a tree. */
static void enter_leaves(struct grove *g, int depth,
                         struct point points[][N_SIDE], int *n_entered)
{
    const size_t lanes = g->sys.shape.lanes;
    const int all = 1 << depth;
    struct rmc_trees *t = &g->trees;

    for (size_t k = 0; k < lanes; k++) {
        t->n[k] = UINT64_C(2) << depth;
        t->depth[k] = (uint64_t)depth + 1;
        n_entered[k] = 0;
    }
    for (int tick = 0; tick < all + LAG * N_LANES; tick++) {
        rmc_lane_list ends = {g->ended, 0};
        size_t n_turned = 0;

        for (size_t k = 0; k < lanes; k++) {
            const int j = tick - LAG * (int)k;

            t->has_point[k] = t->has_leaf[k] = 0;
            if (j >= 0 && j < all && n_entered[k] == j) {
                put_leaf(g, k, &points[k][j]);
            }
        }
        rmc_trees_add(t, &g->sys, &g->z, NULL, &ends);
        for (size_t k = 0; k < lanes; k++) {
            if (t->has_leaf[k] && t->goes_on[k]) {
                n_entered[k]++;
            } else if (t->has_leaf[k]) { /* a U-turn: no leaf matches this */
                assert_int_equal(ends.lane[n_turned++], k);
                n_entered[k] = -n_entered[k] - 1;
            }
        }
        assert_int_equal(ends.n, n_turned);
    }
    for (size_t k = 0; k < lanes; k++) {
        n_entered[k] = n_entered[k] < 0 ? -n_entered[k] : all + 1;
    }
}

/* The same by the definition. */
static int leaves_expected(size_t dim, int depth, const struct point *points)
{
    for (int j = 1; j <= 1 << depth; j++) {
        for (int n = 2; j % n == 0; n *= 2) {
            if (!tree_goes_on(dim, points, j - n, n)) {
                return j;
            }
        }
    }
    return (1 << depth) + 1;
}

/* The sum of momenta of a half that is complete. */
static void check_sum(const struct grove *g, size_t k, int depth,
                      const struct point *points)
{
    const relmc_shape *s = &g->sys.shape;
    const struct rmc_trees *t = &g->trees;
    const int are_few = rmc_trees_are_few(s);
    const size_t level = (size_t)depth, stride = are_few ? RMC_BUNCH : 1;
    const double *rho = are_few ? rmc_few_at(t, s->dim, k, level, RMC_RHO)
                                : rmc_rho_at(&t->tree[k], s->dim, level);

    for (size_t i = 0; i < s->dim; i++) {
        double sum = 0.0;

        for (int j = 0; j < 1 << depth; j++) {
            sum += points[j].p[i];
        }
        check_near(rho[i * stride], sum, 1e-12 * N_SIDE);
    }
}

/* One lane, or several that are at different leaves. */
static void check_turns(const relmc_shape *s, int n_trials)
{
    static struct point points[N_LANES][N_SIDE];
    static struct grove g;
    relmc_stream stream = {.seed = 17 + s->dim + s->lanes};
    int n_turned = 0, n_complete = 0, n_entered[N_LANES];

    grove_open(&g, s);
    for (int trial = 0; trial < n_trials; trial++) {
        for (size_t k = 0; k < s->lanes; k++) {
            make_trajectory(s->dim, points[k], N_SIDE, &stream);
        }
        for (int depth = 0; depth <= MAX_DEPTH; depth++) {
            enter_leaves(&g, depth, points, n_entered);
            for (size_t k = 0; k < s->lanes; k++) {
                const int n = leaves_expected(s->dim, depth, points[k]);

                assert_int_equal(n_entered[k], n);
                n_turned += depth > 2 && n <= 1 << depth;
                n_complete += depth > 2 && n > 1 << depth;
                if (depth > 0 && n > 1 << depth) {
                    check_sum(&g, k, depth, points[k]);
                }
            }
        }
    }
    rmc_arena_release(&g.arena);
    assert_true(n_turned > 150 && n_complete > 150);
}

static void test_tree__turns_where_the_recursion_does(void **unused)
{
    (void)unused;
    for (size_t dim = 1; dim <= MAX_DIM; dim++) {
        check_turns(&(relmc_shape){dim, 1, 1}, 3000);
        check_turns(&(relmc_shape){dim, N_LANES, 8},
                    dim < RMC_WAYS ? 3000 : 500);
    }
}

/* ---- the same tree for the same random numbers ----------------------------- */

/* A system and a recursive sampler for it. */
struct reference {
    test_system t;
    struct point points[2 * N_SIDE + 1];
    double chance[2 * N_SIDE + 1]; /* probability of each point */
    int low, high;                 /* the trajectory; starts at N_SIDE */
    int end_low, end_high;         /* including the subtree being built */
    int32_t n_steps, depth;
    double max_error;
    double tolerance; /* of [WALNUTS]; 0 for plain steps */
    int levels;       /* the most halvings of [WALNUTS] */
    int is_divergent;
};

static void integrate(struct reference *r, const struct point *from,
                      double step, struct point *q)
{
    relmc_system *sys = &r->t.sys;
    relmc_state *z = &r->t.z;
    const size_t dim = sys->shape.dim, bytes = dim * sizeof(double);

    memcpy(z->x, from->x, bytes);
    memcpy(z->p, from->p, bytes);
    memcpy(z->g, from->g, bytes);
    assert_int_equal(
        sys->move.integrator->step(sys->move.integrator, sys, z, &step),
        RELMC_OK);
    memcpy(q->x, z->x, bytes);
    memcpy(q->p, z->p, bytes);
    memcpy(q->g, z->g, bytes);
    q->lp = z->lp[0];
    test_system_energy(&r->t, &q->h);
    sys->move.kinetic.ops->velocity(sys->move.kinetic.self, &sys->shape, q->p,
                                    q->v);
    r->n_steps++;
}

/* Makes 2^level steps of total length h: does the energy stay within the tolerance? */
static int try_level(struct reference *r, const struct point *from, double h,
                     int level, struct point *q)
{
    double low = from->h, high = from->h;

    *q = *from;
    for (int n = 0; n < 1 << level; n++) {
        const struct point before = *q;

        integrate(r, &before, ldexp(h, -level), q);
        low = fmin(low, q->h);
        high = fmax(high, q->h);
        if (!isfinite(q->h) || high - low > r->tolerance) {
            return 0;
        }
    }
    return 1;
}

/* [WALNUTS] The least level that is accurate enough has to be the same backwards. */
static int make_macro_step(struct reference *r, const struct point *from,
                           double h, struct point *q)
{
    struct point unused;
    int level = 0;

    while (!try_level(r, from, h, level, q)) {
        if (level++ == r->levels) {
            r->is_divergent = 1;
            return 0;
        }
    }
    for (int lower = 0; lower < level; lower++) {
        if (try_level(r, q, -h, lower, &unused)) {
            return 0;
        }
    }
    return 1;
}

/* Makes the point after j. */
static int make_step(struct reference *r, int j, int way)
{
    struct point *q = &r->points[j + way];
    const double step = way * r->t.sys.move.eps[0];

    if (r->tolerance > 0.0) {
        if (!make_macro_step(r, &r->points[j], step, q)) {
            return 0;
        }
    } else {
        integrate(r, &r->points[j], step, q);
    }
    r->is_divergent = !(q->h - r->points[N_SIDE].h <= r->max_error);
    return !r->is_divergent;
}

/* Adds 2^depth points on one side; returns 0 if a subtree of them has a U-turn. */
static int build(struct reference *r, int way, int depth)
{
    if (depth == 0) {
        const int end = way > 0 ? r->end_high++ : r->end_low--;

        return make_step(r, end, way);
    }
    if (!build(r, way, depth - 1) || !build(r, way, depth - 1)) {
        return 0;
    }
    const int n = 1 << depth;
    const int first = way > 0 ? r->end_high - n + 1 : r->end_low;

    return span_goes_on(r->t.sys.shape.dim, r->points, first, first + n - 1);
}

/* [NUTS] Updates the probabilities when points first .. last join low .. high. */
static void share_chances(struct reference *r, int first, int last)
{
    const double h0 = r->points[N_SIDE].h;
    double old = 0.0, new = 0.0;

    for (int j = r->low; j <= r->high; j++) {
        old += exp(h0 - r->points[j].h);
    }
    for (int j = first; j <= last; j++) {
        new += exp(h0 - r->points[j].h);
    }
    const double taken = fmin(1.0, new / old);
    for (int j = r->low; j <= r->high; j++) {
        r->chance[j] *= 1.0 - taken;
    }
    for (int j = first; j <= last; j++) {
        r->chance[j] = exp(h0 - r->points[j].h) / fmax(old, new);
    }
}

static void reference_transition(struct reference *r, const double *x,
                                 relmc_stream *momentum, relmc_stream *length)
{
    relmc_system *sys = &r->t.sys;
    struct point *start = &r->points[N_SIDE];
    const size_t dim = sys->shape.dim, bytes = dim * sizeof(double);
    const uint64_t first = length->word;
    int may_grow = 1;

    memcpy(start->x, x, bytes);
    sys->move.kinetic.ops->refresh(sys->move.kinetic.self, &sys->shape,
                                   momentum, start->p);
    assert_int_equal(relmc_eval(sys, start->x, &start->lp, start->g), RELMC_OK);
    sys->move.kinetic.ops->velocity(sys->move.kinetic.self, &sys->shape,
                                    start->p, start->v);
    memcpy(r->t.z.p, start->p, bytes);
    r->t.z.lp[0] = start->lp;
    test_system_energy(&r->t, &start->h);
    r->low = r->high = r->end_low = r->end_high = N_SIDE;
    r->n_steps = r->depth = r->is_divergent = 0;
    r->chance[N_SIDE] = 1.0;
    while (may_grow && r->depth < MAX_DEPTH) {
        const int way = relmc_uniform(length) < 0.5 ? 1 : -1;

        if (!build(r, way, r->depth)) {
            break;
        }
        share_chances(r, way > 0 ? r->high + 1 : r->end_low,
                      way > 0 ? r->end_high : r->low - 1);
        r->low = r->end_low;
        r->high = r->end_high;
        r->depth++;
        may_grow = span_goes_on(dim, r->points, r->low, r->high);
    }
    while ((length->word - first) % RMC_DIRECTIONS) { /* skip unused words */
        length->word++;
    }
}

struct machine {
    test_system t;
    const relmc_sampler_ops *ops;
    void *self;
    relmc_transition out;
    unsigned char done;
    double accept_prob, energy, speed;
    int32_t n_steps, n_grad, depth, divergent;
};

static void machine_open(struct machine *m, const test_parts *parts,
                         const char *spec)
{
    const relmc_info *info = NULL;

    test_system_open(&m->t, parts);
    test_system_start(&m->t);
    m->t.sys.lanes.busy[0] = 0;
    assert_int_equal(
        rmc_component_find(&info, "sampler", spec, RMC_BASELINE, NULL),
        RELMC_OK);
    m->ops = (const relmc_sampler_ops *)(const void *)info;
    m->self = relmc_arena_get(&m->t.arena, m->ops->state_size);
    assert_int_equal(rmc_spec_parse(spec, info, m->self, &m->t.arena, NULL),
                     RELMC_OK);
    assert_int_equal(m->ops->init(m->self, &m->t.arena, &m->t.sys, NULL),
                     RELMC_OK);
    m->out = (relmc_transition){0,          &m->done,  &m->accept_prob,
                                &m->energy, &m->speed, &m->n_steps,
                                &m->n_grad, &m->depth, &m->divergent};
}

static void machine_transition(struct machine *m)
{
    m->done = 0;
    while (!m->done) {
        assert_int_equal(m->ops->tick(m->self, &m->t.sys, &m->t.z, &m->out),
                         RELMC_OK);
    }
}

/* The point of the trajectory with the same bits as x. */
static int find_point(const struct reference *r, const double *x)
{
    for (int j = r->low; j <= r->high; j++) {
        if (!memcmp(r->points[j].x, x, r->t.sys.shape.dim * sizeof *x)) {
            return j;
        }
    }
    return -1;
}

/* With plain steps, or with macro steps if there is a tolerance. */
static void compare_trees(const test_parts *parts, double tolerance, int n)
{
    enum { LEVELS = 5 };
    static struct reference r;
    char spec[64];
    struct machine m;
    relmc_stream noise = {.seed = 23};
    double sum = 0.0, sum2 = 0.0;
    int n_deep = 0;

    test_system_open(&r.t, parts);
    r.max_error = r.t.sys.move.kinetic.ops->has_limit ? 20.0 : 1000.0;
    r.tolerance = tolerance;
    r.levels = LEVELS;
    (void)snprintf(spec, sizeof spec,
                   tolerance > 0.0
                       ? "walnuts:max_depth=%d,tolerance=%g,levels=%d"
                       : "nuts:max_depth=%d",
                   MAX_DEPTH, tolerance, LEVELS);
    machine_open(&m, parts, spec);
    for (int t = 0; t < n; t++) {
        relmc_stream momentum = *m.t.sys.lanes.streams[RELMC_FOR_MOMENTUM];
        relmc_stream length = *m.t.sys.lanes.streams[RELMC_FOR_LENGTH];

        reference_transition(&r, m.t.z.x, &momentum, &length);
        machine_transition(&m);
        assert_int_equal(m.n_steps, r.n_steps);
        assert_int_equal(m.depth, r.depth);
        assert_int_equal(m.divergent, r.is_divergent);
        assert_memory_equal(m.t.sys.lanes.streams[RELMC_FOR_LENGTH], &length,
                            sizeof length);
        const int chosen = find_point(&r, m.t.z.x);

        assert_true(chosen >= 0);
        check_near(m.energy, r.points[chosen].h, 1e-12);
        /* u is uniform if points are chosen with their probabilities */
        double u = r.chance[chosen] * relmc_uniform(&noise);
        for (int j = r.low; j < chosen; j++) {
            u += r.chance[j];
        }
        sum += u - 0.5;
        sum2 += (u - 0.5) * (u - 0.5);
        n_deep += r.depth > 1;
    }
    check_zscore(sum / n, 0.0, sqrt(1.0 / (12.0 * n)), 4.5);
    check_zscore(sum2 / n, 1.0 / 12.0, sqrt(1.0 / (180.0 * n)), 4.5);
    if (n_deep < n / 10) {
        fail_msg("%s: %d deep trees of %d", parts->model, n_deep, n);
    }
    test_system_close(&r.t);
    test_system_close(&m.t);
}

static void test_nuts__builds_the_recursive_tree(void **unused)
{
    static const test_parts parts[] = {
        {.model = "gaussian:dim=1", .eps = 0.3},
        {.model = "gaussian:dim=5,rho=0.7", .eps = 0.25},
        {.model = "gaussian:dim=6", .kinetic = "relativistic", .eps = 0.6},
        {.model = "banana", .kinetic = "separable:c=2", .eps = 0.4},
        {.model = "funnel:dim=4", .kinetic = "relativistic:c=3", .eps = 0.5},
        {.model = "quartic:dim=3", .integrator = "blanes", .eps = 0.4},
        {.model = "gmm3", .kinetic = "newtonian:m=2", .eps = 0.9},
        {.model = "funnel:dim=3", .eps = 0.9}, /* some diverge */
    };

    (void)unused;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        compare_trees(&parts[i], 0.0, 4000);
    }
}

static void test_walnuts__builds_the_recursive_tree(void **unused)
{
    static const test_parts parts[] = {
        {.model = "gaussian:dim=1", .eps = 0.9},
        {.model = "gaussian:dim=5,rho=0.7", .eps = 0.4},
        {.model = "banana", .kinetic = "separable:c=2", .eps = 0.7},
        {.model = "funnel:dim=4", .kinetic = "relativistic:c=3", .eps = 0.5},
        {.model = "funnel:dim=3", .eps = 0.6},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        compare_trees(&parts[i], 0.03, 2000);
        compare_trees(&parts[i], 0.2, 2000);
    }
}

/* ---- how long trajectories are -------------------------------------------- */

struct lengths {
    double eps;
    double longest, sum; /* times */
    int64_t n, n_chains;
    double *x2, *d2; /* sums per chain of x_1^2 and (x_1 - x_2)^2 */
};

static relmc_status measure(void *ctx, const relmc_draw *d)
{
    struct lengths *l = ctx;
    const double time = l->eps * (int)d->stats[RELMC_STAT_N_STEPS];

    l->longest = fmax(l->longest, time);
    l->sum += time;
    l->n++;
    if (l->x2) {
        l->x2[d->chain] += d->outputs[0] * d->outputs[0];
        l->d2[d->chain] +=
            (d->outputs[0] - d->outputs[1]) * (d->outputs[0] - d->outputs[1]);
    }
    return RELMC_OK;
}

/* From exact draws, without warm-up. */
static void run_lengths(struct lengths *l, const char *model,
                        const char *sampler, const char *kinetic, double eps,
                        int64_t draws)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *t = NULL;
    relmc_run *run = NULL;

    assert_int_equal(relmc_target_open(&t, model, NULL, NULL), RELMC_OK);
    const size_t dim = relmc_target_dim(t), n = (size_t)l->n_chains;
    double *init = malloc(n * dim * sizeof *init);
    assert_non_null(init);
    assert_int_equal(relmc_target_sample(t, 5, n, init, NULL), RELMC_OK);
    o.sampler = sampler;
    o.kinetic = kinetic;
    o.adapt = "none";
    o.chains = (uint32_t)n;
    o.warmup = RELMC_ZERO;
    o.draws = draws;
    o.threads = 1;
    o.step_size = l->eps = eps;
    o.init = init;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_observe(run, measure, l, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    free(init);
}

/* A standard normal has the period 2 pi.  At no step size are trajectories a whole period
 * long (Stan issue 2800) or much too short. */
static void test_nuts__sees_every_turn_of_a_normal(void **unused)
{
    static const char *const models[] = {"gaussian:dim=2", "gaussian:dim=50"};
    const double period = 6.283185307179586;

    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        for (double eps = 0.06; eps < 1.2; eps *= 1.13) {
            struct lengths l = {.n_chains = 64};

            run_lengths(&l, models[i], "nuts", "newtonian", eps, 10);
            const double mean = l.sum / (double)l.n;

            if (!(l.longest < 1.25 * period) || !(mean > 0.3 * period) ||
                !(mean < period)) {
                fail_msg("%s, step %g: mean %g, longest %g periods", models[i],
                         eps, mean / period, l.longest / period);
            }
        }
    }
}

/* The standard deviation along and across a narrow ridge. */
static void test_nuts__keeps_the_width_of_a_ridge(void **unused)
{
    enum { N_CHAINS = 256, N_DRAWS = 200 };
    static const struct {
        const char *sampler, *kinetic;
        double eps;
    } cases[] = {
        {"nuts", "newtonian", 0.35},   {"nuts", "relativistic", 0.5},
        {"walnuts", "newtonian", 0.5}, {"walnuts", "separable", 0.8},
        {"ghmc", "newtonian", 0.3},    {"ghmc", "relativistic", 0.4},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x2[N_CHAINS] = {0}, d2[N_CHAINS] = {0};
        struct lengths l = {.n_chains = N_CHAINS, .x2 = x2, .d2 = d2};

        run_lengths(&l, "gaussian:dim=2,rho=0.95", cases[i].sampler,
                    cases[i].kinetic, cases[i].eps, N_DRAWS);
        for (int which = 0; which < 2; which++) {
            const double *sums = which ? d2 : x2;
            double mean = 0.0, variance = 0.0;

            for (size_t k = 0; k < N_CHAINS; k++) {
                mean += sums[k] / N_DRAWS / N_CHAINS;
            }
            for (size_t k = 0; k < N_CHAINS; k++) {
                const double d = sums[k] / N_DRAWS - mean;
                variance += d * d / (N_CHAINS - 1);
            }
            check_zscore(mean, which ? 0.1 : 1.0, sqrt(variance / N_CHAINS),
                         4.5);
        }
    }
}

/* ---- where scales differ -------------------------------------------------- */

struct neck {
    int64_t n, n_deep;
};

static relmc_status look_down(void *ctx, const relmc_draw *d)
{
    struct neck *neck = ctx;
    const double q05 = -1.6448536269514722 * 3.0; /* v ~ N(0, 9) */

    if (d->index >= 0) {
        neck->n++;
        neck->n_deep += d->outputs[0] < q05;
    }
    return RELMC_OK;
}

/* The percentage of draws below the 5 % quantile of v in a funnel, from random starts. */
static double percent_in_the_neck(const char *sampler)
{
    relmc_options o = RELMC_INIT(relmc_options);
    o.threads = 1;
    relmc_target *t = NULL;
    relmc_run *run = NULL;
    struct neck neck = {0};

    assert_int_equal(relmc_target_open(&t, "funnel:dim=10", NULL, NULL),
                     RELMC_OK);
    o.sampler = sampler;
    o.kinetic = "newtonian";
    o.adapt = "dual";
    o.chains = 64;
    o.warmup = 300;
    o.draws = 1000;
    o.threads = 1;
    assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
    assert_int_equal(relmc_run_observe(run, look_down, &neck, NULL), RELMC_OK);
    assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
    relmc_run_destroy(run);
    relmc_target_destroy(t);
    return 100.0 * (double)neck.n_deep / (double)neck.n;
}

static void test_walnuts__visits_the_neck_of_a_funnel(void **unused)
{
    (void)unused;
    check_near(percent_in_the_neck("walnuts"), 5.0, 1.5);
    check_near(percent_in_the_neck("nuts"), 0.0, 2.5);
}

/* ---- every transition ends ------------------------------------------------- */

enum odd { FLAT, SLOPE, HALF_SPACE, NAN_OUTSIDE, STEEP, N_ODD };

static int odd_point(size_t dim, const double *x, double *grad, double *lp,
                     void *ctx)
{
    const enum odd odd = *(const enum odd *)ctx;

    memset(grad, 0, dim * sizeof *grad);
    *lp = 0.0;
    switch (odd) {
    case SLOPE:
        *lp = x[0], grad[0] = 1.0;
        break;
    case HALF_SPACE:
        *lp = x[0] > 0.0 ? -x[0] : -HUGE_VAL, grad[0] = -1.0;
        break;
    case NAN_OUTSIDE:
        *lp = fabs(x[0]) < 1.0 ? 0.0 : (double)NAN;
        grad[0] = *lp;
        break;
    case STEEP:
        *lp = -exp(fabs(x[0])), grad[0] = x[0] > 0.0 ? *lp : -*lp;
        break;
    default:
        break;
    }
    return RELMC_OK;
}

static void test_samplers__end_on_every_target(void **unused)
{
    static const char *const samplers[] = {"nuts", "walnuts", "ghmc"};
    static const char *const kinetics[] = {"newtonian", "relativistic"};

    (void)unused;
    for (int n = 0; n < N_ODD * 3 * 2; n++) {
        enum odd odd = (enum odd)(n % N_ODD);
        relmc_options o = RELMC_INIT(relmc_options);
        o.threads = 1;
        relmc_target *t = NULL;
        relmc_run *run = NULL;
        const double init[] = {0.5, 0.5, 0.1, 0.1};

        assert_int_equal(target_of_point(&t, 2, odd_point, &odd, NULL),
                         RELMC_OK);
        o.sampler = samplers[n / N_ODD % 3];
        o.kinetic = kinetics[n / N_ODD / 3];
        o.adapt = "dual";
        o.chains = 2;
        o.warmup = 40;
        o.draws = 20;
        o.init = init;
        assert_int_equal(relmc_run_create(&run, t, &o, NULL), RELMC_OK);
        assert_int_equal(relmc_run_advance(run, INT64_MAX, NULL), RELMC_OK);
        relmc_run_destroy(run);
        relmc_target_destroy(t);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree__turns_where_the_recursion_does),
        cmocka_unit_test(test_nuts__builds_the_recursive_tree),
        cmocka_unit_test(test_walnuts__builds_the_recursive_tree),
        cmocka_unit_test(test_nuts__sees_every_turn_of_a_normal),
        cmocka_unit_test(test_nuts__keeps_the_width_of_a_ridge),
        cmocka_unit_test(test_walnuts__visits_the_neck_of_a_funnel),
        cmocka_unit_test(test_samplers__end_on_every_target),
    };

    if (!cpu_is_enough()) {
        return CPU_SKIPPED;
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
