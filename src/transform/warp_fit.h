/*
 * warp_fit.h - coordinates in which draws look normal, found from draws and
 * gradients.
 *
 *   [cramer-rao]  J = 1/2 log det(Cov(x) Cov(grad lp)) is 0 for a normal law and
 *                 positive for any other, whatever linear map is applied.
 *   [warp-fit]    Layers of [warp] are added one by one, each the one that takes
 *                 most off J on draws it was not fitted to, as long as that is
 *                 enough; they are used if all of them together take off much.
 *
 * Two kinds of layers, the first as long as it helps:
 *
 *   [warp-bend]     x_j bends with the square of the hub.  x_j + c dlp/dx_j is
 *                   regressed on 1, s, s^2; without noise if x_j is normal given
 *                   the hub, since it is the mean then.  A coordinate bends with
 *                   the hub that explains it best and with no other, so that
 *                   chains of bends can be told apart.
 *   [warp-stretch]  the scale changes exponentially with the hub, perhaps up to a
 *                   limit, and the middle with its square.  The metrics of the
 *                   draws on either side of its median have common directions v;
 *                   along each b makes log E(z^2 / D^2) + log E(p^2 D^2) least, a
 *                   convex function if there is no limit, with z = w . x and
 *                   p = v . grad lp.
 *
 * Gradients are what makes few draws enough: the relation of x and grad lp in a
 * place says how wide the target is there, whether the chain has come to know it
 * or not.
 */
#ifndef RMC_ADAPT_WARP_FIT_H
#define RMC_ADAPT_WARP_FIT_H

#include "transform/metric.h"
#include "transform/warp.h"

#include <stdlib.h>

/* in units of J: what all layers must take off it together, for coordinates that
 * are wrong somewhere make necks of their own; what a layer must, and by how much
 * one that is less simple must be better; and what a first look must promise */
#define RMC_FIT_MIN_TOTAL   3.5
#define RMC_FIT_GOOD        1.0 /* J that is left when layers are right */
#define RMC_FIT_MIN_GAIN    0.5
#define RMC_FIT_MARGIN      0.3
#define RMC_FIT_MIN_PROMISE 0.25
/* of 1/2 log(Var x_j Var g_j): what a square must explain of a coordinate, and by
 * how much another hub may explain it better */
#define RMC_FIT_MIN_BEND  0.1
#define RMC_FIT_BEND_TIES 0.02
/* of log E(z^2 / D^2) + log E(p^2 D^2), for growth that ends */
#define RMC_FIT_MIN_FLAT 1e-4
/* of a rate, in a round: Newton's last step is much better than that */
#define RMC_FIT_ROUGH 1e-3

enum {
    RMC_FIT_N_TRIES = 3,  /* hubs that are looked at closely */
    RMC_FIT_N_ROUNDS = 4, /* of directions, rates and middles in turn ... */
    /* ... and, for the layer that is chosen, with f, and of the last two */
    RMC_FIT_N_FLAT = 30,
    RMC_FIT_N_MORE = 60,
    RMC_FIT_N_NEWTON = 20,
    RMC_FIT_N_POWERS = 9, /* of e, for f, and so many between */
    RMC_FIT_N_BETWEEN = 12,
    RMC_FIT_MIN_DRAWS = 120,
    RMC_FIT_DRAWS_PER_DIM = 4
};

/* The simplest first. */
enum rmc_fit_kind {
    RMC_FIT_BEND,
    RMC_FIT_STRETCH_AXES,
    RMC_FIT_STRETCH,
    RMC_FIT_N_KINDS
};

struct rmc_fit_candidate {
    enum rmc_fit_kind kind;
    size_t hub;
    double gain;
};

/* Results, and room for all that is computed on the way. */
struct rmc_warp_fit {
    size_t dim, max_layers, max_rows;
    size_t n_layers;
    relmc_layer *layers, trial; /* each with room for a dense stretch */
    size_t n;                   /* rows that are looked at */
    double *x, *g;              /* n x dim: as far as the layers go */
    double *try_x, *try_g;      /* n x dim: and one more */
    double *s, *q;              /* n: along a hub, and its square made
                                   orthogonal to 1 and s */
    double *r, *slope;          /* n x (dim - 1): all but the hub */
    double *z, *pull;           /* n x (dim - 1): in the directions v and w */
    double *half_x, *half_g;    /* n x (dim - 1): rows of one side of the hub */
    struct rmc_metric low, high;
    /* dim x dim, hub and coordinate: of [warp-bend]; or v and w */
    double *loss_square, *loss_line;
    double *square;       /* dim x dim */
    double *score, *mean; /* dim */
    double *room;         /* 6: of rmc_warp_undo */
    unsigned char *is_child;
};

/* ---- memory ---------------------------------------------------------------- */

static inline relmc_layer rmc_fit_layer_new(relmc_arena *arena, size_t dim)
{
    const size_t line = dim * sizeof(double);

    return (relmc_layer){.bend = relmc_arena_get(arena, 3 * line),
                         .rate = relmc_arena_get(arena, line),
                         .flat = relmc_arena_get(arena, line),
                         .lift = relmc_arena_get(arena, line),
                         .out = relmc_arena_get(arena, dim * line),
                         .in = relmc_arena_get(arena, dim * line)};
}

/* Windows with more draws are thinned out. */
static inline void rmc_warp_fit_open(struct rmc_warp_fit *f, relmc_arena *arena,
                                     size_t dim, size_t max_layers,
                                     size_t max_rows)
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
        f->layers[i] = rmc_fit_layer_new(arena, dim);
    }
    f->trial = rmc_fit_layer_new(arena, dim);
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

static inline void rmc_fit_mean_of(size_t d, size_t n, const double *x,
                                   double *mean)
{
    memset(mean, 0, d * sizeof *mean);
    for (size_t t = 0; t < n; t++) {
        for (size_t i = 0; i < d; i++) {
            mean[i] += x[t * d + i] / (double)n;
        }
    }
}

/* log det of the covariance of n rows; infinite if they are degenerate. */
static inline double rmc_fit_log_det(struct rmc_warp_fit *f, size_t n,
                                     const double *x)
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

static inline double rmc_fit_excess(struct rmc_warp_fit *f, size_t n,
                                    const double *x, const double *g)
{
    return 0.5 * (rmc_fit_log_det(f, n, x) + rmc_fit_log_det(f, n, g));
}

/* ---- along a hub ------------------------------------------------------------ */

/* What s and q, orthogonal to each other and to 1, explain of a coordinate. */
struct rmc_fit_shares {
    double variance; /* of all; then without s; then without s and q */
    double without_line, without_square;
    double mean, line, square; /* coefficients of 1, s and q */
};

/* Of q = s^2 - skew s - 1 */
struct rmc_fit_hub {
    double skew, norm2;
};

/* Puts hub, middle and width into the layer and fills s and q; norm2 is 0 if the
 * hub does not move. */
static inline struct rmc_fit_hub rmc_fit_look_along(struct rmc_warp_fit *f,
                                                    relmc_layer *l, size_t hub,
                                                    size_t n, const double *x)
{
    const double w = 1.0 / (double)n;
    struct rmc_fit_hub h = {0};
    double mean = 0.0, square = 0.0;

    for (size_t t = 0; t < n; t++) {
        mean += w * x[t * f->dim + hub];
    }
    for (size_t t = 0; t < n; t++) {
        const double e = x[t * f->dim + hub] - mean;
        square += w * e * e;
    }
    l->hub = hub;
    l->middle = mean;
    l->width = sqrt(square);
    for (size_t t = 0; t < n; t++) {
        const double s = (x[t * f->dim + hub] - mean) / l->width;

        f->s[t] = s;
        h.skew += w * s * s * s;
    }
    for (size_t t = 0; t < n; t++) {
        const double s = f->s[t];

        f->q[t] = s * s - h.skew * s - 1.0;
        h.norm2 += w * f->q[t] * f->q[t];
    }
    h.norm2 = h.norm2 > 1e-6 ? h.norm2 : 0.0; /* not for NaN */
    return h;
}

/* Of every stride-th number from y on. */
static inline struct rmc_fit_shares rmc_fit_share(const struct rmc_warp_fit *f,
                                                  const struct rmc_fit_hub *h,
                                                  size_t n, const double *y,
                                                  size_t stride)
{
    const double w = 1.0 / (double)n;
    struct rmc_fit_shares a = {0};

    for (size_t t = 0; t < n; t++) {
        a.mean += w * y[t * stride];
    }
    for (size_t t = 0; t < n; t++) {
        const double e = y[t * stride] - a.mean;

        a.variance += w * e * e;
        a.line += w * e * f->s[t];
        a.square += w * e * f->q[t];
    }
    a.square = h->norm2 > 0.0 ? a.square / h->norm2 : 0.0;
    a.without_line = a.variance - a.line * a.line;
    a.without_square = a.without_line - a.square * a.square * h->norm2;
    return a;
}

/* ---- [warp-bend] --------------------------------------------------------- */

/* 1/2 log(Var Var) of x_j - m(s) and its gradient, if x and g have these rests
 * when what m(s) can explain is taken off. */
static inline double rmc_fit_bend_loss(const struct rmc_fit_shares *g,
                                       double rest_x, double rest_g)
{
    return 0.5 * rmc_log(rest_x * g->variance * g->variance / rest_g);
}

/* l and a: those of x + c g, where c makes both rests as large. */
static inline void rmc_fit_set_bend(const struct rmc_fit_shares *x,
                                    const struct rmc_fit_shares *g,
                                    const struct rmc_fit_hub *h, double *l,
                                    double *a)
{
    const double c = sqrt(x->without_square / g->without_square);

    *a = x->square + c * g->square;
    *l = x->line + c * g->line - h->skew * *a;
}

/* What a square of every hub explains of every coordinate, and what a line. */
static inline void rmc_fit_explain_all(struct rmc_warp_fit *f)
{
    const size_t d = f->dim;

    for (size_t h = 0; h < d; h++) {
        const struct rmc_fit_hub hub =
            rmc_fit_look_along(f, &f->trial, h, f->n, f->x);

        for (size_t j = 0; j < d; j++) {
            const struct rmc_fit_shares x =
                rmc_fit_share(f, &hub, f->n, f->x + j, d);
            const struct rmc_fit_shares g =
                rmc_fit_share(f, &hub, f->n, f->g + j, d);

            f->loss_square[h * d + j] =
                rmc_fit_bend_loss(&g, x.without_square, g.without_square);
            f->loss_line[h * d + j] =
                rmc_fit_bend_loss(&g, x.without_line, g.without_line);
            if (h == j || !rmc_is_finite(f->loss_square[h * d + j])) {
                f->loss_square[h * d + j] = HUGE_VAL;
            }
        }
    }
}

/* The coordinates that bend with a hub; what the square explains of them. */
static inline double rmc_fit_find_children(struct rmc_warp_fit *f, size_t hub)
{
    const size_t d = f->dim;
    double sum = 0.0;

    for (size_t j = 0; j < d; j++) {
        double least = HUGE_VAL;

        for (size_t h = 0; h < d; h++) {
            const double here = f->loss_square[h * d + j];
            least = here < least ? here : least;
        }
        const double gain =
            f->loss_line[hub * d + j] - f->loss_square[hub * d + j];
        f->is_child[j] =
            gain > RMC_FIT_MIN_BEND &&
            f->loss_square[hub * d + j] <= least + RMC_FIT_BEND_TIES;
        sum += f->is_child[j] ? gain : 0.0;
    }
    return sum;
}

static inline int rmc_fit_bend(struct rmc_warp_fit *f, size_t hub, size_t n,
                               const double *x, const double *g, relmc_layer *l)
{
    const size_t d = f->dim;
    const struct rmc_fit_hub h = rmc_fit_look_along(f, l, hub, n, x);

    memset(l->bend, 0, 3 * d * sizeof *l->bend);
    l->rank = 0;
    l->is_axial = 0;
    for (size_t j = 0; j < d; j++) {
        if (f->is_child[j]) {
            const struct rmc_fit_shares a = rmc_fit_share(f, &h, n, x + j, d);
            const struct rmc_fit_shares b = rmc_fit_share(f, &h, n, g + j, d);

            rmc_fit_set_bend(&a, &b, &h, &l->bend[d + j], &l->bend[2 * d + j]);
        }
    }
    return h.norm2 > 0.0;
}

/* ---- [warp-stretch] ------------------------------------------------------ */

/* Draws along a direction, z, and their gradients, p: every stride-th number. */
struct rmc_fit_draws {
    size_t n, stride;
    const double *s, *z, *p;
};

/* Sums over draws with the weights z^2 / D^2, or p^2 D^2. */
struct rmc_fit_weighed {
    double sum;            /* of the weights */
    double mean, variance; /* of half of -d log D^-2 / db */
};

static inline struct rmc_fit_weighed
rmc_fit_weigh(const struct rmc_fit_draws *d, int is_gradient, double b,
              double f)
{
    const double *y = is_gradient ? d->p : d->z;
    struct rmc_fit_weighed a = {0};
    double square = 0.0;

    for (size_t t = 0; t < d->n; t++) {
        const double e = b == 0.0 ? 1.0 : rmc_exp(-2.0 * b * d->s[t]);
        const double u = d->s[t] * e / (e + f);
        const double yy = y[t * d->stride] * y[t * d->stride];
        const double w = is_gradient ? yy / (e + f) : yy * (e + f);

        a.sum += w;
        a.mean += w * u;
        square += w * u * u;
    }
    a.mean /= a.sum;
    a.variance = square / a.sum - a.mean * a.mean;
    return a;
}

/* The b where log E(z^2 / D^2) + log E(p^2 D^2) is least for a given f; that
 * least value goes to *level. */
static inline double rmc_fit_rate_of(const struct rmc_fit_draws *d, double b,
                                     double f, double *level)
{
    for (int i = 0; i < RMC_FIT_N_NEWTON; i++) {
        const struct rmc_fit_weighed a = rmc_fit_weigh(d, 0, b, f);
        const struct rmc_fit_weighed c = rmc_fit_weigh(d, 1, b, f);
        double step = 0.5 * (a.mean - c.mean) / (a.variance + c.variance);

        *level = rmc_log(a.sum) + rmc_log(c.sum);
        step = step > 0.5 ? 0.5 : step < -0.5 ? -0.5 : step;
        if (!rmc_is_finite(step) || !rmc_is_finite(*level)) {
            *level = HUGE_VAL;
            return 0.0;
        }
        b += step;
        if (fabs(step) < RMC_FIT_ROUGH) {
            break;
        }
    }
    return b;
}

/* The best f as well: first among powers of e, then between them. */
static inline double rmc_fit_rate_and_flat(const struct rmc_fit_draws *d,
                                           double b, double *f)
{
    double least, level, step = 0.5, log_f = 1.0;
    const double free = rmc_fit_rate_of(d, b, 0.0, &least);
    double best = free;

    least -= RMC_FIT_MIN_FLAT;
    for (int i = 0; i < RMC_FIT_N_POWERS + RMC_FIT_N_BETWEEN; i++) {
        const int is_between = i >= RMC_FIT_N_POWERS;
        const double here = is_between ? log_f + step : (double)-i;

        if (is_between && log_f > 0.0) {
            break; /* none is */
        }
        const double rate = rmc_fit_rate_of(d, best, rmc_exp(here), &level);
        if (level < least && fabs(rate) < 2.0 * fabs(free) && here <= 0.0) {
            least = level;
            best = rate;
            log_f = here;
        }
        step *= is_between ? -0.85 : 1.0; /* to either side in turn */
    }
    *f = log_f > 0.0 ? 0.0 : rmc_exp(log_f);
    return best;
}

/* What stretching all others along a hub promises, by the first step of that;
 * try_x holds the draws about their means. */
static inline double rmc_fit_promise(struct rmc_warp_fit *f, size_t hub)
{
    const size_t d = f->dim;
    double sum = 0.0;

    (void)rmc_fit_look_along(f, &f->trial, hub, f->n, f->x);
    for (size_t j = 0; j < d; j++) {
        const struct rmc_fit_draws draws = {f->n, d, f->s, f->try_x + j,
                                            f->g + j};
        const struct rmc_fit_weighed z = rmc_fit_weigh(&draws, 0, 0.0, 0.0);
        const struct rmc_fit_weighed p = rmc_fit_weigh(&draws, 1, 0.0, 0.0);
        const double move = z.mean - p.mean;
        const double gain = 0.25 * move * move / (z.variance + p.variance);
        sum += j != hub && rmc_is_finite(gain) ? gain : 0.0;
    }
    return sum;
}

/* All but the hub: n x (dim - 1). */
static inline void rmc_fit_leave_out(size_t d, size_t hub, size_t n,
                                     const double *from, double *to)
{
    for (size_t t = 0; t < n; t++) {
        for (size_t i = 0; i < d; i++) {
            if (i != hub) {
                *to++ = from[t * d + i];
            }
        }
    }
}

/* D of a layer in direction r. */
static inline double rmc_fit_scale_at(const relmc_layer *l, size_t r, double s)
{
    const double f = l->flat[r];

    return sqrt((1.0 + f) / (rmc_exp(-2.0 * l->rate[r] * s) + f));
}

/* The metric of the rows on one side of the median of s, along the directions of
 * the layer: without what the layer knows of the scale, and then where s has its
 * mean on that side.  So it is exact if the layer is. */
static inline int rmc_fit_side(struct rmc_warp_fit *f, size_t n, double median,
                               int is_high, const relmc_layer *l,
                               struct rmc_metric *m)
{
    const size_t k = f->dim - 1;
    struct rmc_window w = {.dim = k,
                           .n_chains = 1,
                           .x = (const double *const *)&f->half_x,
                           .g = (const double *const *)&f->half_g};
    double mean = 0.0;

    for (size_t t = 0; t < n; t++) {
        if ((f->s[t] > median) != is_high) {
            continue;
        }
        for (size_t r = 0; r < k; r++) {
            const double D = rmc_fit_scale_at(l, r, f->s[t]);

            f->half_x[w.n * k + r] = f->z[t * k + r] / D;
            f->half_g[w.n * k + r] = f->pull[t * k + r] * D;
        }
        mean += f->s[t];
        w.n++;
    }
    m->dim = k;
    if (rmc_metric_estimate(m, &w, RMC_FISHER, RMC_DENSE) != RMC_DENSE) {
        return 0;
    }
    for (size_t i = 0; i < k; i++) {
        const double D = rmc_fit_scale_at(l, i, mean / (double)w.n);
        for (size_t j = 0; j <= i; j++) {
            m->chol[i * k + j] *= D;
        }
    }
    return 1;
}

/* K <- L^-1 K, both lower; then Q = K K', its lower triangle. */
static inline void rmc_fit_compare(size_t k, const double *L, double *K,
                                   double *Q)
{
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = K[i * k + j];
            for (size_t l = j; l < i; l++) {
                sum -= L[i * k + l] * K[l * k + j];
            }
            K[i * k + j] = sum / L[i * k + i];
        }
    }
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t l = 0; l <= j; l++) {
                sum += K[i * k + l] * K[j * k + l];
            }
            Q[i * k + j] = sum;
        }
    }
}

/* Directions that are orthogonal on both sides of the hub: with the metrics L L'
 * and H H', Q the eigenvectors of L^-1 H H' L'^-1, they are V = L Q and
 * W = L'^-1 Q.  As rows v and w of dim - 1 numbers. */
static inline int rmc_fit_common_directions(struct rmc_warp_fit *f, double *v,
                                            double *w)
{
    const size_t k = f->dim - 1;
    const double *L = f->low.chol;
    double *Q = f->square;

    rmc_fit_compare(k, L, f->high.chol, Q);
    if (!rmc_eigen(k, Q, f->low.values, f->low.work)) {
        return 0;
    }
    for (size_t r = 0; r < k; r++) {
        for (size_t i = 0; i < k; i++) {
            double sum = 0.0;
            for (size_t l = 0; l <= i; l++) {
                sum += L[i * k + l] * Q[l * k + r];
            }
            v[r * k + i] = sum;
        }
        for (size_t i = k; i-- > 0;) {
            double sum = Q[i * k + r];
            for (size_t l = i + 1; l < k; l++) {
                sum -= L[l * k + i] * w[r * k + l];
            }
            w[r * k + i] = sum / L[i * k + i];
        }
    }
    return 1;
}

/* out <- in times the rows of m: n x k, k x k, n x k */
static inline void rmc_fit_along_rows(size_t n, size_t k, const double *in,
                                      const double *m, double *out)
{
    for (size_t t = 0; t < n; t++) {
        for (size_t r = 0; r < k; r++) {
            double sum = 0.0;
            for (size_t i = 0; i < k; i++) {
                sum += in[t * k + i] * m[r * k + i];
            }
            out[t * k + r] = sum;
        }
    }
}

static inline double rmc_fit_median_of(struct rmc_warp_fit *f, size_t n)
{
    memcpy(f->half_x, f->s, n * sizeof *f->s);
    qsort(f->half_x, n, sizeof *f->half_x, rmc_ascending);
    return f->half_x[n / 2];
}

/* rows <- by rows: square matrices, by way of f->square */
static inline void rmc_fit_combine(struct rmc_warp_fit *f, const double *by,
                                   double *rows)
{
    const size_t k = f->dim - 1;

    memcpy(f->square, rows, k * k * sizeof *rows);
    memset(rows, 0, k * k * sizeof *rows);
    for (size_t r = 0; r < k; r++) {
        for (size_t l = 0; l < k; l++) {
            for (size_t i = 0; i < k; i++) {
                rows[r * k + i] += by[r * k + l] * f->square[l * k + i];
            }
        }
    }
}

/* Better ones, from z and p along those the layer has. */
static inline int rmc_fit_find_directions(struct rmc_warp_fit *f, size_t n,
                                          relmc_layer *l)
{
    const double median = rmc_fit_median_of(f, n);
    double *v = f->loss_square, *w = f->loss_line;

    if (!rmc_fit_side(f, n, median, 0, l, &f->low) ||
        !rmc_fit_side(f, n, median, 1, l, &f->high) ||
        !rmc_fit_common_directions(f, v, w)) {
        return 0;
    }
    rmc_fit_combine(f, v, l->out);
    rmc_fit_combine(f, w, l->in);
    return 1;
}

/* Rows along the directions of the layer: of f->r, of f->slope, and, to f->try_g,
 * of the others without c. */
static inline void rmc_fit_project(struct rmc_warp_fit *f, size_t n,
                                   int is_dense, const double *others,
                                   const relmc_layer *l)
{
    const size_t k = f->dim - 1;

    for (size_t t = 0; t < n; t++) {
        for (size_t i = 0; i < k; i++) {
            f->half_x[t * k + i] = others[t * k + i] - l->bend[i];
        }
    }
    if (is_dense) {
        rmc_fit_along_rows(n, k, f->r, l->in, f->z);
        rmc_fit_along_rows(n, k, f->half_x, l->in, f->try_g);
        rmc_fit_along_rows(n, k, f->slope, l->out, f->pull);
    } else {
        memcpy(f->z, f->r, n * k * sizeof *f->z);
        memcpy(f->try_g, f->half_x, n * k * sizeof *f->try_g);
        memcpy(f->pull, f->slope, n * k * sizeof *f->pull);
    }
}

/* Weighted least squares of y on 1 and u, or on 1 alone. */
static inline void rmc_fit_line(size_t n, const double *u, const double *y,
                                const double *w, int has_slope, double *at_0,
                                double *slope)
{
    double sum = 0.0, mean_u = 0.0, mean_y = 0.0, uu = 0.0, uy = 0.0;

    for (size_t t = 0; t < n; t++) {
        sum += w[t];
        mean_u += w[t] * u[t];
        mean_y += w[t] * y[t];
    }
    mean_u /= sum;
    mean_y /= sum;
    for (size_t t = 0; t < n; t++) {
        const double e = u[t] - mean_u;

        uu += w[t] * e * e;
        uy += w[t] * e * (y[t] - mean_y);
    }
    *slope = has_slope && uu > 0.0 ? uy / uu : 0.0;
    *at_0 = mean_y - *slope * mean_u;
}

/* Along direction r: the regression of z + M(s) p, z without the middle of before
 * taken off, which is the mean given s if the law is normal then.  It is the more
 * exact the narrower that is, and a line in D^2 if the precision is that of a
 * prior and of data.  Where it is at D = 0 is returned. */
static inline double rmc_fit_lift(struct rmc_warp_fit *f, size_t n, size_t r,
                                  const relmc_layer *l, double *lift)
{
    const size_t k = f->dim - 1;
    double *y = f->half_x, *w = f->half_g, *square = f->q, zz = 0.0, pp = 0.0;
    double at_0;

    for (size_t t = 0; t < n; t++) {
        const double D = rmc_fit_scale_at(l, r, f->s[t]);
        const double z = f->z[t * k + r] / D, p = f->pull[t * k + r] * D;

        square[t] = D * D;
        w[t] = 1.0 / square[t];
        zz += z * z;
        pp += p * p;
    }
    const double c = pp > 0.0 ? sqrt(zz / pp) : 0.0;
    for (size_t t = 0; t < n; t++) {
        y[t] = f->try_g[t * k + r] + c * square[t] * f->pull[t * k + r];
    }
    rmc_fit_line(n, square, y, w, l->flat[r] > 0.0 && l->rate[r] != 0.0, &at_0,
                 lift);
    return at_0;
}

/* The middle from that of all directions. */
static inline void rmc_fit_middle(struct rmc_warp_fit *f, size_t n,
                                  int is_dense, const relmc_layer *l)
{
    const size_t k = f->dim - 1;

    for (size_t r = 0; r < k; r++) {
        const double at_0 = rmc_fit_lift(f, n, r, l, &l->lift[r]);

        for (size_t i = 0; i < k; i++) {
            l->bend[i] +=
                at_0 * (is_dense ? l->out[r * k + i] : (double)(i == r));
        }
    }
}

/* Rows of dim - 1 numbers get a 0 for the hub. */
static inline void rmc_fit_make_room_for_hub(size_t d, size_t hub,
                                             size_t n_rows, double *rows)
{
    for (size_t r = n_rows; r-- > 0;) {
        for (size_t i = d; i-- > 0;) {
            rows[r * d + i] =
                i == hub ? 0.0 : rows[r * (d - 1) + i - (i > hub)];
        }
    }
}

/* What is left of the others when the middle is taken off: f->r. */
static inline void rmc_fit_take_off_middle(struct rmc_warp_fit *f, size_t n,
                                           int is_dense, const double *others,
                                           const relmc_layer *l)
{
    const size_t k = f->dim - 1;

    for (size_t t = 0; t < n; t++) {
        double *row = f->r + t * k;

        for (size_t i = 0; i < k; i++) {
            row[i] = others[t * k + i] - l->bend[i];
        }
        for (size_t r = 0; r < k; r++) {
            const double D = rmc_fit_scale_at(l, r, f->s[t]);
            const double lift = l->lift[r] * D * D;

            for (size_t i = 0; is_dense && lift != 0.0 && i < k; i++) {
                row[i] -= lift * l->out[r * k + i];
            }
            row[r] -= is_dense ? 0.0 : lift;
        }
    }
}

/* Rates and middles; the largest change of a rate. */
static inline double rmc_fit_improve(struct rmc_warp_fit *f, size_t n,
                                     int is_dense, int is_flat, relmc_layer *l)
{
    const size_t k = f->dim - 1;
    double most = 0.0, level;

    for (size_t r = 0; r < k; r++) {
        const struct rmc_fit_draws draws = {n, k, f->s, f->z + r, f->pull + r};
        const double b =
            is_flat ? rmc_fit_rate_and_flat(&draws, l->rate[r], &l->flat[r])
                    : rmc_fit_rate_of(&draws, l->rate[r], l->flat[r], &level);
        const double change = fabs(b - l->rate[r]);

        most = change > most ? change : most;
        l->rate[r] = b;
    }
    rmc_fit_middle(f, n, is_dense, l);
    return most;
}

/* The directions are the axes, and nothing is known. */
static inline void rmc_fit_begin(struct rmc_warp_fit *f, size_t n, int is_dense,
                                 const double *others, relmc_layer *l)
{
    const size_t d = f->dim, k = d - 1;

    memset(l->rate, 0, d * sizeof *l->rate);
    memset(l->flat, 0, d * sizeof *l->flat);
    memset(l->lift, 0, d * sizeof *l->lift);
    memset(l->bend, 0, 3 * d * sizeof *l->bend);
    rmc_fit_mean_of(k, n, others, l->bend);
    for (size_t r = 0; is_dense && r < k; r++) {
        for (size_t i = 0; i < k; i++) {
            l->out[r * k + i] = l->in[r * k + i] = (double)(i == r);
        }
    }
}

static inline void rmc_fit_end(size_t d, size_t hub, int is_dense,
                               relmc_layer *l)
{
    l->is_axial = !is_dense;
    l->rank = is_dense ? d - 1 : d;
    rmc_fit_make_room_for_hub(d, hub, 1, l->bend);
    if (is_dense) {
        rmc_fit_make_room_for_hub(d, hub, d - 1, l->out);
        rmc_fit_make_room_for_hub(d, hub, d - 1, l->in);
        return;
    }
    rmc_fit_make_room_for_hub(d, hub, 1, l->rate);
    rmc_fit_make_room_for_hub(d, hub, 1, l->flat);
    rmc_fit_make_room_for_hub(d, hub, 1, l->lift);
}

/* The way back from rmc_fit_end, to go on with a layer; s is as it was there. */
static inline void rmc_fit_resume(struct rmc_warp_fit *f, size_t n,
                                  const double *x, relmc_layer *l)
{
    const size_t d = f->dim;

    rmc_fit_leave_out(d, l->hub, 1, l->bend, l->bend);
    rmc_fit_leave_out(d, l->hub, d - 1, l->out, l->out);
    rmc_fit_leave_out(d, l->hub, d - 1, l->in, l->in);
    for (size_t t = 0; t < n; t++) {
        f->s[t] = (x[t * d + l->hub] - l->middle) / l->width;
    }
}

/* How well a stretch is fitted: for a look, for use, or better than it is. */
enum rmc_fit_care { RMC_FIT_LOOK, RMC_FIT_USE, RMC_FIT_BETTER };

static inline int rmc_fit_stretch(struct rmc_warp_fit *f,
                                  const struct rmc_fit_candidate *c, size_t n,
                                  const double *x, const double *g,
                                  relmc_layer *l, enum rmc_fit_care care)
{
    const size_t d = f->dim;
    const int is_dense = c->kind == RMC_FIT_STRETCH;
    const int n_free = care == RMC_FIT_BETTER ? 0 : RMC_FIT_N_ROUNDS;
    const int n_directions =
        n_free + (care != RMC_FIT_LOOK && is_dense ? RMC_FIT_N_FLAT : 0);
    const int n_rounds =
        n_directions + (care != RMC_FIT_LOOK ? RMC_FIT_N_MORE : 0);
    double *others = f->try_x; /* free while a layer is fitted, like try_g */
    struct rmc_fit_hub h = {.norm2 = 1.0};

    rmc_fit_leave_out(d, c->hub, n, x, others);
    rmc_fit_leave_out(d, c->hub, n, g, f->slope);
    if (care == RMC_FIT_BETTER) {
        rmc_fit_resume(f, n, x, l);
    } else {
        h = rmc_fit_look_along(f, l, c->hub, n, x);
        rmc_fit_begin(f, n, is_dense, others, l);
    }
    for (int round = 0; round < n_rounds; round++) {
        const int is_flat = round >= n_free && round < n_directions;

        rmc_fit_take_off_middle(f, n, is_dense, others, l);
        rmc_fit_project(f, n, is_dense, others, l);
        if (is_dense && round < n_directions) {
            if (!rmc_fit_find_directions(f, n, l)) {
                return 0;
            }
            rmc_fit_project(f, n, is_dense, others, l);
        }
        if (rmc_fit_improve(f, n, is_dense, is_flat, l) < 1e-9 &&
            round > n_directions) {
            break;
        }
    }
    rmc_fit_end(d, c->hub, is_dense, l);
    return h.norm2 > 0.0;
}

/* ---- one more layer --------------------------------------------------------- */

/* To n rows of x and g, in a layer that has room for anything. */
static inline int rmc_fit_layer(struct rmc_warp_fit *f,
                                const struct rmc_fit_candidate *c, size_t n,
                                const double *x, const double *g,
                                relmc_layer *l)
{
    return c->kind == RMC_FIT_BEND
               ? rmc_fit_bend(f, c->hub, n, x, g, l)
               : rmc_fit_stretch(f, c, n, x, g, l,
                                 l == &f->trial ? RMC_FIT_LOOK : RMC_FIT_USE);
}

static inline void rmc_fit_undo_rows(const struct rmc_warp_fit *f,
                                     const relmc_layer *l, size_t n, double *x,
                                     double *g)
{
    const relmc_shape one = {f->dim, 1, 1};
    const relmc_warp warp = {.n = 1, .layers = l, .room = f->room};

    for (size_t t = 0; t < n; t++) {
        rmc_warp_undo(&warp, &one, x + t * f->dim, g + t * f->dim, NULL);
    }
}

/* By how much a candidate lowers J of rows it was not fitted to: either half of
 * the draws, by what was fitted to the other; before[i] is J of a half without
 * it. */
static inline double rmc_fit_gain_of(struct rmc_warp_fit *f,
                                     const struct rmc_fit_candidate *c,
                                     const double before[2])
{
    const size_t d = f->dim, half = f->n / 2;
    double sum = 0.0;

    for (size_t i = 0; i < 2; i++) {
        const size_t from = i ? half : 0, to = i ? 0 : half;

        if (!rmc_fit_layer(f, c, half, f->x + from * d, f->g + from * d,
                           &f->trial)) {
            return -HUGE_VAL;
        }
        memcpy(f->try_x, f->x + to * d, half * d * sizeof *f->x);
        memcpy(f->try_g, f->g + to * d, half * d * sizeof *f->g);
        rmc_fit_undo_rows(f, &f->trial, half, f->try_x, f->try_g);
        sum += 0.5 * (before[!i] - rmc_fit_excess(f, half, f->try_x, f->try_g));
    }
    return rmc_is_finite(sum) ? sum : -HUGE_VAL;
}

/* The hub that promises most, and is not looked at again. */
static inline size_t rmc_fit_take_best_hub(struct rmc_warp_fit *f,
                                           double *score)
{
    size_t best = 0;

    for (size_t h = 1; h < f->dim; h++) {
        best = f->score[h] > f->score[best] ? h : best;
    }
    *score = f->score[best];
    f->score[best] = -HUGE_VAL;
    return best;
}

static inline void rmc_fit_consider(struct rmc_warp_fit *f,
                                    enum rmc_fit_kind kind, size_t hub,
                                    const double before[2],
                                    struct rmc_fit_candidate *best)
{
    struct rmc_fit_candidate c = {kind, hub, 0.0};

    c.gain = rmc_fit_gain_of(f, &c, before);
    if (c.gain > best->gain + (c.kind > best->kind ? RMC_FIT_MARGIN : 0.0)) {
        *best = c;
    }
}

static inline void rmc_fit_try_bends(struct rmc_warp_fit *f,
                                     const double before[2],
                                     struct rmc_fit_candidate *best)
{
    rmc_fit_explain_all(f);
    for (size_t h = 0; h < f->dim; h++) {
        f->score[h] = rmc_fit_find_children(f, h);
    }
    for (int i = 0; i < RMC_FIT_N_TRIES; i++) {
        double score;
        const size_t hub = rmc_fit_take_best_hub(f, &score);

        if (score > 0.0) {
            (void)rmc_fit_find_children(f, hub);
            rmc_fit_consider(f, RMC_FIT_BEND, hub, before, best);
        }
    }
}

static inline void rmc_fit_try_stretches(struct rmc_warp_fit *f,
                                         const double before[2],
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
    for (int i = 0; i < RMC_FIT_N_TRIES; i++) {
        double score;
        const size_t hub = rmc_fit_take_best_hub(f, &score);

        for (int kind = RMC_FIT_STRETCH_AXES;
             kind < RMC_FIT_N_KINDS && score > RMC_FIT_MIN_PROMISE; kind++) {
            const int is_dense = kind == RMC_FIT_STRETCH;

            /* a side of a hub in a half has a quarter of the draws */
            if (!is_dense || f->n >= (size_t)10 * d) {
                rmc_fit_consider(f, (enum rmc_fit_kind)kind, hub, before, best);
            }
        }
    }
}

/* The best layer that can be added: none if its gain is not above RMC_FIT_MIN_GAIN. */
static inline int rmc_fit_add_layer(struct rmc_warp_fit *f)
{
    const size_t half = f->n / 2, d = f->dim;
    const double before[2] = {
        rmc_fit_excess(f, half, f->x, f->g),
        rmc_fit_excess(f, half, f->x + half * d, f->g + half * d)};
    struct rmc_fit_candidate best = {RMC_FIT_BEND, SIZE_MAX, RMC_FIT_MIN_GAIN};

    rmc_fit_try_bends(f, before, &best);
    if (best.hub == SIZE_MAX) {
        rmc_fit_try_stretches(f, before, &best);
    }
    if (best.hub == SIZE_MAX) {
        return 0;
    }
    if (best.kind == RMC_FIT_BEND) {
        (void)rmc_fit_find_children(f, best.hub);
    }
    relmc_layer *l = &f->layers[f->n_layers];
    if (!rmc_fit_layer(f, &best, f->n, f->x, f->g, l)) {
        return 0;
    }
    rmc_fit_undo_rows(f, l, f->n, f->x, f->g);
    f->n_layers++;
    return 1;
}

/* Are these enough draws to fit anything? */
static inline int rmc_warp_fit_can(const struct rmc_warp_fit *f,
                                   const struct rmc_window *w)
{
    const size_t n = w->n_chains * w->n;

    return f->max_layers && f->dim > 1 && w->x && w->g &&
           n >= RMC_FIT_DRAWS_PER_DIM * f->dim && n >= RMC_FIT_MIN_DRAWS;
}

static inline void rmc_fit_load(struct rmc_warp_fit *f,
                                const struct rmc_window *w)
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

static inline void rmc_fit_copy(size_t d, relmc_layer *to,
                                const relmc_layer *from)
{
    const struct {
        double *to;
        const double *from;
        size_t n;
    } parts[] = {{to->bend, from->bend, 3 * d}, {to->rate, from->rate, d},
                 {to->flat, from->flat, d},     {to->lift, from->lift, d},
                 {to->out, from->out, d * d},   {to->in, from->in, d * d}};

    to->hub = from->hub;
    to->middle = from->middle;
    to->width = from->width;
    to->rank = from->rank;
    to->is_axial = from->is_axial;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memcpy(parts[i].to, parts[i].from, parts[i].n * sizeof(double));
    }
}

/* f->trial: the one layer there is, if it has directions of its own, made better
 * by draws in the target's coordinates, which lie deeper in its neck.  Is J less
 * than `level` with it? */
static inline int rmc_fit_polish(struct rmc_warp_fit *f, double level)
{
    const struct rmc_fit_candidate c = {RMC_FIT_STRETCH, f->layers[0].hub, 0.0};

    if (f->n_layers != 1 || !f->layers[0].rank || f->layers[0].is_axial) {
        return 0;
    }
    rmc_fit_copy(f->dim, &f->trial, &f->layers[0]);
    if (!rmc_fit_stretch(f, &c, f->n, f->x, f->g, &f->trial, RMC_FIT_BETTER)) {
        return 0;
    }
    rmc_fit_undo_rows(f, &f->trial, f->n, f->x, f->g);
    return rmc_fit_excess(f, f->n, f->x, f->g) < level; /* not for NaN */
}

/* What is to become of the layers from before. */
enum rmc_fit_verdict {
    RMC_FIT_AGAIN, /* they are wrong */
    RMC_FIT_KEEP,
    RMC_FIT_TAKE_TRIAL /* they are right, and f->trial is better */
};

/* [warp-fit]  Of draws in their coordinates.  They are right if J is small there,
 * nothing can be added, and much was taken off.  Draws from the depths of a neck,
 * where good coordinates lead, are hard to fit anew, but not from a good layer. */
static inline enum rmc_fit_verdict
rmc_warp_fit_check(struct rmc_warp_fit *f, const struct rmc_window *w)
{
    const relmc_shape one = {f->dim, 1, 1};
    const relmc_warp warp = {
        .n = f->n_layers, .layers = f->layers, .room = f->room};

    rmc_fit_load(f, w);
    const double here = rmc_fit_excess(f, f->n, f->x, f->g);
    if (!f->n_layers || !(here < RMC_FIT_GOOD)) { /* not for NaN */
        return RMC_FIT_AGAIN;
    }
    if (f->n_layers < f->max_layers && rmc_fit_add_layer(f)) {
        f->n_layers--;
        return RMC_FIT_AGAIN;
    }
    for (size_t t = 0; t < f->n; t++) {
        rmc_warp_apply(&warp, &one, f->x + t * f->dim, f->g + t * f->dim, NULL);
    }
    if (!(rmc_fit_excess(f, f->n, f->x, f->g) - here > RMC_FIT_MIN_TOTAL)) {
        return RMC_FIT_AGAIN;
    }
    return rmc_fit_polish(f, here) ? RMC_FIT_TAKE_TRIAL : RMC_FIT_KEEP;
}

/* [warp-fit]  The layers for these draws, in the target's own coordinates; how
 * many. */
static inline size_t rmc_warp_fit(struct rmc_warp_fit *f,
                                  const struct rmc_window *w)
{
    rmc_fit_load(f, w);
    f->n_layers = 0;
    const double before = rmc_fit_excess(f, f->n, f->x, f->g);
    while (f->n_layers < f->max_layers && rmc_fit_add_layer(f)) {
    }
    const double after = rmc_fit_excess(f, f->n, f->x, f->g);
    if (!rmc_is_finite(before) || !(before - after > RMC_FIT_MIN_TOTAL)) {
        f->n_layers = 0;
    }
    return f->n_layers;
}

static inline void rmc_warp_fit_archive(struct rmc_warp_fit *f,
                                        relmc_archive *ar)
{
    const size_t d = f->dim;

    f->n_layers = (size_t)relmc_archive_count(ar, f->n_layers, f->max_layers);
    for (size_t i = 0; i < f->n_layers; i++) {
        relmc_layer *l = &f->layers[i];

        l->hub = (size_t)relmc_archive_count(ar, l->hub, d - 1);
        l->is_axial = (int)relmc_archive_count(ar, (uint64_t)l->is_axial, 1);
        l->rank = (size_t)relmc_archive_count(ar, l->rank, d);
        relmc_archive_reals(ar, &l->middle, 1);
        relmc_archive_reals(ar, &l->width, 1);
        relmc_archive_reals(ar, l->bend, 3 * d);
        relmc_archive_reals(ar, l->rate, l->rank);
        relmc_archive_reals(ar, l->flat, l->rank);
        relmc_archive_reals(ar, l->lift, l->rank);
        if (!l->is_axial) {
            relmc_archive_reals(ar, l->out, l->rank * d);
            relmc_archive_reals(ar, l->in, l->rank * d);
        }
    }
}

#endif
