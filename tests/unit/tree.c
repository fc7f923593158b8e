/*
 * tree.c - trees without recursion equal those of the recursive definition: they have the
 * same U-turns on any trajectory, the same steps and depth for the same random numbers, and
 * the right probabilities of points.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/spec.h"
#include "cpu.h"
#include "relmc.h"
#include "sampler/mcmc/tree_rows_inline.h"
#include "support/check.h"
#include "support/system.h"

#include <math.h>
#include <stdio.h>
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree__turns_where_the_recursion_does),
        cmocka_unit_test(test_nuts__builds_the_recursive_tree),
        cmocka_unit_test(test_walnuts__builds_the_recursive_tree),
    };

    if (!cpu_is_enough()) {
        return CPU_SKIPPED;
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
