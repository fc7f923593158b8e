/*
 * warp_fit.c - coordinates in which draws look normal, found layer by layer.
 *
 * Two kinds of layers are tried, [warp-bend] as long as it helps, then
 * [warp-stretch].
 */
#include "base/linalg.h"
#include "transform/warp_fit_parts.h"

/* In units of J: what all layers together must lower it by, since a wrong warp makes
 * necks of its own; the most that right layers leave; what each layer must lower it
 * by; by how much a less simple kind must be better; and what the first step of a fit
 * must promise for a closer look. */
#define MIN_TOTAL   3.5
#define GOOD        1.0
#define MIN_GAIN    0.5
#define MARGIN      0.3
#define MIN_PROMISE 0.25

enum {
    N_TRIES = 3, /* hubs that are looked at closely */
    MIN_DRAWS = 120,
    DRAWS_PER_DIM = 4
};

/* ---- memory ---------------------------------------------------------------- */

void rmc_warp_fit_open(struct rmc_warp_fit *f, relmc_arena *arena, size_t dim,
                       size_t max_layers, size_t max_rows)
{
    const size_t square = dim * dim * sizeof(double);
    double **const blocks[] = {&f->x,      &f->g,     &f->try_x, &f->try_g,
                               &f->r,      &f->slope, &f->z,     &f->pull,
                               &f->half_x, &f->half_g};

    f->dim = dim;
    f->max_layers = max_layers;
    f->max_rows = max_rows;
    f->layers = relmc_arena_get(arena, max_layers * sizeof *f->layers);
    for (size_t i = 0; f->layers && i < max_layers; i++) {
        f->layers[i] = rmc_layer_new(arena, dim);
    }
    f->trial = rmc_layer_new(arena, dim);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        *blocks[i] = relmc_arena_get(arena, max_rows * dim * sizeof(double));
    }
    f->s = relmc_arena_get(arena, max_rows * sizeof(double));
    f->q = relmc_arena_get(arena, max_rows * sizeof(double));
    f->low = rmc_metric_new(arena, dim, 1, max_rows, RMC_DENSE);
    f->high = rmc_metric_new(arena, dim, 1, max_rows, RMC_DENSE);
    f->loss_square = relmc_arena_get(arena, square);
    f->loss_line = relmc_arena_get(arena, square);
    f->square = relmc_arena_get(arena, square);
    f->score = relmc_arena_get(arena, dim * sizeof(double));
    f->mean = relmc_arena_get(arena, dim * sizeof(double));
    f->room = relmc_arena_get(arena, 6 * sizeof(double));
    f->is_child = relmc_arena_get(arena, dim);
}

/* ---- [cramer-rao] ----------------------------------------------------------- */

/* log det of the covariance of n rows; infinite if they are degenerate. */
static double log_det(struct rmc_warp_fit *f, size_t n, const double *x)
{
    const size_t d = f->dim;
    double *mean = f->mean, *c = f->square, sum = 0.0;

    rmc_fit_mean_of(d, n, x, mean);
    memset(c, 0, d * d * sizeof *c);
    for (size_t t = 0; t < n; t++) {
        const double *row = x + t * d;

        for (size_t i = 0; i < d; i++) {
            const double e = (row[i] - mean[i]) / (double)n;
            for (size_t j = 0; j <= i; j++) {
                c[i * d + j] += e * (row[j] - mean[j]);
            }
        }
    }
    for (size_t i = 0; i < d; i++) { /* rounding errors are no direction */
        c[i * d + i] *= 1.0 + 1e-7;
    }
    if (rmc_cholesky(d, c, c)) {
        return HUGE_VAL;
    }
    for (size_t i = 0; i < d; i++) {
        sum += 2.0 * rmc_log(c[i * d + i]);
    }
    return sum;
}

static double excess(struct rmc_warp_fit *f, size_t n, const double *x,
                     const double *g)
{
    return 0.5 * (log_det(f, n, x) + log_det(f, n, g));
}

/* ---- one more layer --------------------------------------------------------- */

/* To n rows of x and g, in a layer that has room for anything. */
static int layer(struct rmc_warp_fit *f, const struct rmc_fit_candidate *c,
                 size_t n, const double *x, const double *g, relmc_layer *l)
{
    return c->kind == RMC_FIT_BEND
               ? rmc_fit_bend(f, c->hub, n, x, g, l)
               : rmc_fit_stretch(f, c, n, x, g, l,
                                 l == &f->trial ? RMC_FIT_LOOK : RMC_FIT_USE);
}

static void undo_rows(const struct rmc_warp_fit *f, const relmc_layer *l,
                      size_t n, double *x, double *g)
{
    const relmc_shape one = {f->dim, 1, 1};
    const relmc_warp warp = {.n = 1, .layers = l, .room = f->room};

    for (size_t t = 0; t < n; t++) {
        RMC_ISA(rmc_warp_undo)
        (&warp, &one, x + t * f->dim, g + t * f->dim, NULL);
    }
}

/* By how much a candidate lowers J of rows it was not fitted to: either half of
 * the draws, by what was fitted to the other; before[i] is J of a half without
 * it. */
static double gain_of(struct rmc_warp_fit *f, const struct rmc_fit_candidate *c,
                      const double before[2])
{
    const size_t d = f->dim, half = f->n / 2;
    double sum = 0.0;

    for (size_t i = 0; i < 2; i++) {
        const size_t from = i ? half : 0, to = i ? 0 : half;

        if (!layer(f, c, half, f->x + from * d, f->g + from * d, &f->trial)) {
            return -HUGE_VAL;
        }
        memcpy(f->try_x, f->x + to * d, half * d * sizeof *f->x);
        memcpy(f->try_g, f->g + to * d, half * d * sizeof *f->g);
        undo_rows(f, &f->trial, half, f->try_x, f->try_g);
        sum += 0.5 * (before[!i] - excess(f, half, f->try_x, f->try_g));
    }
    return rmc_is_finite(sum) ? sum : -HUGE_VAL;
}

/* The hub that promises most, and is not looked at again. */
static size_t take_best_hub(struct rmc_warp_fit *f, double *score)
{
    size_t best = 0;

    for (size_t h = 1; h < f->dim; h++) {
        best = f->score[h] > f->score[best] ? h : best;
    }
    *score = f->score[best];
    f->score[best] = -HUGE_VAL;
    return best;
}

static void consider(struct rmc_warp_fit *f, enum rmc_fit_kind kind, size_t hub,
                     const double before[2], struct rmc_fit_candidate *best)
{
    struct rmc_fit_candidate c = {kind, hub, 0.0};

    c.gain = gain_of(f, &c, before);
    if (c.gain > best->gain + (c.kind > best->kind ? MARGIN : 0.0)) {
        *best = c;
    }
}

static void try_bends(struct rmc_warp_fit *f, const double before[2],
                      struct rmc_fit_candidate *best)
{
    rmc_fit_explain_all(f);
    for (size_t h = 0; h < f->dim; h++) {
        f->score[h] = rmc_fit_find_children(f, h);
    }
    for (int i = 0; i < N_TRIES; i++) {
        double score;
        const size_t hub = take_best_hub(f, &score);

        if (score > 0.0) {
            (void)rmc_fit_find_children(f, hub);
            consider(f, RMC_FIT_BEND, hub, before, best);
        }
    }
}

static void try_stretches(struct rmc_warp_fit *f, const double before[2],
                          struct rmc_fit_candidate *best)
{
    const size_t d = f->dim;

    rmc_fit_mean_of(d, f->n, f->x, f->mean);
    for (size_t t = 0; t < f->n; t++) {
        for (size_t i = 0; i < d; i++) {
            f->try_x[t * d + i] = f->x[t * d + i] - f->mean[i];
        }
    }
    for (size_t h = 0; h < d; h++) {
        f->score[h] = rmc_fit_promise(f, h);
    }
    for (int i = 0; i < N_TRIES; i++) {
        double score;
        const size_t hub = take_best_hub(f, &score);

        for (int kind = RMC_FIT_STRETCH_AXES;
             kind < RMC_FIT_N_KINDS && score > MIN_PROMISE; kind++) {
            const int is_dense = kind == RMC_FIT_STRETCH;

            /* a side of a hub in a half has a quarter of the draws */
            if (!is_dense || f->n >= (size_t)10 * d) {
                consider(f, (enum rmc_fit_kind)kind, hub, before, best);
            }
        }
    }
}

/* The best layer that can be added: none if its gain is not above MIN_GAIN. */
static int add_layer(struct rmc_warp_fit *f)
{
    const size_t half = f->n / 2, d = f->dim;
    const double before[2] = {
        excess(f, half, f->x, f->g),
        excess(f, half, f->x + half * d, f->g + half * d)};
    struct rmc_fit_candidate best = {RMC_FIT_BEND, SIZE_MAX, MIN_GAIN};

    try_bends(f, before, &best);
    if (best.hub == SIZE_MAX) {
        try_stretches(f, before, &best);
    }
    if (best.hub == SIZE_MAX) {
        return 0;
    }
    if (best.kind == RMC_FIT_BEND) {
        (void)rmc_fit_find_children(f, best.hub);
    }
    relmc_layer *l = &f->layers[f->n_layers];
    if (!layer(f, &best, f->n, f->x, f->g, l)) {
        return 0;
    }
    undo_rows(f, l, f->n, f->x, f->g);
    f->n_layers++;
    return 1;
}

int rmc_warp_fit_can(const struct rmc_warp_fit *f, const struct rmc_window *w)
{
    const size_t n = w->n_chains * w->n;

    return f->max_layers && f->dim > 1 && w->x && w->g &&
           n >= DRAWS_PER_DIM * f->dim && n >= MIN_DRAWS;
}

static void load(struct rmc_warp_fit *f, const struct rmc_window *w)
{
    const size_t all = w->n_chains * w->n;
    const size_t stride = (all + f->max_rows - 1) / f->max_rows;

    f->n = 0;
    for (size_t t = 0; t < all; t += stride) {
        const size_t at = t % w->n * f->dim, to = f->n++ * f->dim;

        memcpy(f->x + to, w->x[t / w->n] + at, f->dim * sizeof *f->x);
        memcpy(f->g + to, w->g[t / w->n] + at, f->dim * sizeof *f->g);
    }
}

/* f->trial: the one layer there is, if it has directions of its own, made better
 * by draws in the target's coordinates, which lie deeper in its neck.  Is J less
 * than `level` with it? */
static int polish(struct rmc_warp_fit *f, double level)
{
    const struct rmc_fit_candidate c = {RMC_FIT_STRETCH, f->layers[0].hub, 0.0};

    if (f->n_layers != 1 || !f->layers[0].rank || f->layers[0].is_axial) {
        return 0;
    }
    rmc_layer_copy(f->dim, &f->trial, &f->layers[0]);
    if (!rmc_fit_stretch(f, &c, f->n, f->x, f->g, &f->trial, RMC_FIT_BETTER)) {
        return 0;
    }
    undo_rows(f, &f->trial, f->n, f->x, f->g);
    return excess(f, f->n, f->x, f->g) < level; /* not for NaN */
}

enum rmc_fit_verdict rmc_warp_fit_check(struct rmc_warp_fit *f,
                                        const struct rmc_window *w)
{
    const relmc_shape one = {f->dim, 1, 1};
    const relmc_warp warp = {
        .n = f->n_layers, .layers = f->layers, .room = f->room};

    load(f, w);
    const double here = excess(f, f->n, f->x, f->g);
    if (!f->n_layers || !(here < GOOD)) { /* not for NaN */
        return RMC_FIT_AGAIN;
    }
    if (f->n_layers < f->max_layers && add_layer(f)) {
        f->n_layers--;
        return RMC_FIT_AGAIN;
    }
    for (size_t t = 0; t < f->n; t++) {
        RMC_ISA(rmc_warp_apply)
        (&warp, &one, f->x + t * f->dim, f->g + t * f->dim, NULL);
    }
    if (!(excess(f, f->n, f->x, f->g) - here > MIN_TOTAL)) {
        return RMC_FIT_AGAIN;
    }
    return polish(f, here) ? RMC_FIT_TAKE_TRIAL : RMC_FIT_KEEP;
}

size_t rmc_warp_fit(struct rmc_warp_fit *f, const struct rmc_window *w)
{
    load(f, w);
    f->n_layers = 0;
    const double before = excess(f, f->n, f->x, f->g);
    while (f->n_layers < f->max_layers && add_layer(f)) {
    }
    const double after = excess(f, f->n, f->x, f->g);
    if (!rmc_is_finite(before) || !(before - after > MIN_TOTAL)) {
        f->n_layers = 0;
    }
    return f->n_layers;
}

void rmc_warp_fit_archive(struct rmc_warp_fit *f, relmc_archive *ar)
{
    f->n_layers = (size_t)relmc_archive_count(ar, f->n_layers, f->max_layers);
    for (size_t i = 0; i < f->n_layers; i++) {
        rmc_layer_archive(f->dim, &f->layers[i], ar);
    }
}
