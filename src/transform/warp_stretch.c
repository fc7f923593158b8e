/*
 * warp_stretch.c - layers of [warp] that stretch coordinates.
 *
 *   [warp-stretch]  the scale changes exponentially with the hub, perhaps up to a
 *                   limit, and the middle with its square.  The metrics of the
 *                   draws on either side of its median have common directions v;
 *                   along each b makes log E(z^2 / D^2) + log E(p^2 D^2) least, a
 *                   convex function if there is no limit, with z = w . x and
 *                   p = v . grad lp.
 */
#include "base/linalg.h"
#include "transform/warp_fit_parts.h"

#include <stdlib.h>

/* of log E(z^2 / D^2) + log E(p^2 D^2), for growth that ends */
#define MIN_FLAT 1e-4
/* of a rate, in a round: Newton's last step is much better than that */
#define ROUGH 1e-3

enum {
    N_ROUNDS = 4, /* of directions, rates and middles in turn ... */
    /* ... and, for the layer that is chosen, with f, and of the last two */
    N_FLAT = 30,
    N_MORE = 60,
    N_NEWTON = 20,
    N_POWERS = 9, /* of e, for f, and so many between */
    N_BETWEEN = 12
};

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

static struct rmc_fit_weighed weigh(const struct rmc_fit_draws *d,
                                    int is_gradient, double b, double f)
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
static double rate_of(const struct rmc_fit_draws *d, double b, double f,
                      double *level)
{
    for (int i = 0; i < N_NEWTON; i++) {
        const struct rmc_fit_weighed a = weigh(d, 0, b, f);
        const struct rmc_fit_weighed c = weigh(d, 1, b, f);
        double step = 0.5 * (a.mean - c.mean) / (a.variance + c.variance);

        *level = rmc_log(a.sum) + rmc_log(c.sum);
        step = step > 0.5 ? 0.5 : step < -0.5 ? -0.5 : step;
        if (!rmc_is_finite(step) || !rmc_is_finite(*level)) {
            *level = HUGE_VAL;
            return 0.0;
        }
        b += step;
        if (fabs(step) < ROUGH) {
            break;
        }
    }
    return b;
}

/* The best f as well: first among powers of e, then between them. */
static double rate_and_flat(const struct rmc_fit_draws *d, double b, double *f)
{
    double least, level, step = 0.5, log_f = 1.0;
    const double free = rate_of(d, b, 0.0, &least);
    double best = free;

    least -= MIN_FLAT;
    for (int i = 0; i < N_POWERS + N_BETWEEN; i++) {
        const int is_between = i >= N_POWERS;
        const double here = is_between ? log_f + step : (double)-i;

        if (is_between && log_f > 0.0) {
            break; /* none is */
        }
        const double rate = rate_of(d, best, rmc_exp(here), &level);
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

double rmc_fit_promise(struct rmc_warp_fit *f, size_t hub)
{
    const size_t d = f->dim;
    double sum = 0.0;

    (void)rmc_fit_look_along(f, &f->trial, hub, f->n, f->x);
    for (size_t j = 0; j < d; j++) {
        const struct rmc_fit_draws draws = {f->n, d, f->s, f->try_x + j,
                                            f->g + j};
        const struct rmc_fit_weighed z = weigh(&draws, 0, 0.0, 0.0);
        const struct rmc_fit_weighed p = weigh(&draws, 1, 0.0, 0.0);
        const double move = z.mean - p.mean;
        const double gain = 0.25 * move * move / (z.variance + p.variance);
        sum += j != hub && rmc_is_finite(gain) ? gain : 0.0;
    }
    return sum;
}

/* All but the hub: n x (dim - 1). */
static void leave_out(size_t d, size_t hub, size_t n, const double *from,
                      double *to)
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
static double scale_at(const relmc_layer *l, size_t r, double s)
{
    const double f = l->flat[r];

    return sqrt((1.0 + f) / (rmc_exp(-2.0 * l->rate[r] * s) + f));
}

/* The metric of the rows on one side of the median of s, along the directions of
 * the layer: without what the layer knows of the scale, and then where s has its
 * mean on that side.  So it is exact if the layer is. */
static int side(struct rmc_warp_fit *f, size_t n, double median, int is_high,
                const relmc_layer *l, struct rmc_metric *m)
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
            const double D = scale_at(l, r, f->s[t]);

            f->half_x[w.n * k + r] = f->z[t * k + r] / D;
            f->half_g[w.n * k + r] = f->pull[t * k + r] * D;
        }
        mean += f->s[t];
        w.n++;
    }
    m->dim = k;
    if (rmc_metric_estimate(m, &w, RMC_DENSE) != RMC_DENSE) {
        return 0;
    }
    for (size_t i = 0; i < k; i++) {
        const double D = scale_at(l, i, mean / (double)w.n);
        for (size_t j = 0; j <= i; j++) {
            m->chol[i * k + j] *= D;
        }
    }
    return 1;
}

/* K <- L^-1 K, both lower; then Q = K K', its lower triangle. */
static void compare(size_t k, const double *L, double *K, double *Q)
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
static int common_directions(struct rmc_warp_fit *f, double *v, double *w)
{
    const size_t k = f->dim - 1;
    const double *L = f->low.chol;
    double *Q = f->square;

    compare(k, L, f->high.chol, Q);
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
static void along_rows(size_t n, size_t k, const double *in, const double *m,
                       double *out)
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

static double median_of(struct rmc_warp_fit *f, size_t n)
{
    memcpy(f->half_x, f->s, n * sizeof *f->s);
    qsort(f->half_x, n, sizeof *f->half_x, rmc_ascending);
    return f->half_x[n / 2];
}

/* rows <- by rows: square matrices, by way of f->square */
static void combine(struct rmc_warp_fit *f, const double *by, double *rows)
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
static int find_directions(struct rmc_warp_fit *f, size_t n, relmc_layer *l)
{
    const double median = median_of(f, n);
    double *v = f->loss_square, *w = f->loss_line;

    if (!side(f, n, median, 0, l, &f->low) ||
        !side(f, n, median, 1, l, &f->high) || !common_directions(f, v, w)) {
        return 0;
    }
    combine(f, v, l->out);
    combine(f, w, l->in);
    return 1;
}

/* Rows along the directions of the layer: of f->r, of f->slope, and, to f->try_g,
 * of the others without c. */
static void project(struct rmc_warp_fit *f, size_t n, int is_dense,
                    const double *others, const relmc_layer *l)
{
    const size_t k = f->dim - 1;

    for (size_t t = 0; t < n; t++) {
        for (size_t i = 0; i < k; i++) {
            f->half_x[t * k + i] = others[t * k + i] - l->bend[i];
        }
    }
    if (is_dense) {
        along_rows(n, k, f->r, l->in, f->z);
        along_rows(n, k, f->half_x, l->in, f->try_g);
        along_rows(n, k, f->slope, l->out, f->pull);
    } else {
        memcpy(f->z, f->r, n * k * sizeof *f->z);
        memcpy(f->try_g, f->half_x, n * k * sizeof *f->try_g);
        memcpy(f->pull, f->slope, n * k * sizeof *f->pull);
    }
}

/* Weighted least squares of y on 1 and u, or on 1 alone. */
static void line(size_t n, const double *u, const double *y, const double *w,
                 int has_slope, double *at_0, double *slope)
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
static double lift(struct rmc_warp_fit *f, size_t n, size_t r,
                   const relmc_layer *l, double *lift)
{
    const size_t k = f->dim - 1;
    double *y = f->half_x, *w = f->half_g, *square = f->q, zz = 0.0, pp = 0.0;
    double at_0;

    for (size_t t = 0; t < n; t++) {
        const double D = scale_at(l, r, f->s[t]);
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
    line(n, square, y, w, l->flat[r] > 0.0 && l->rate[r] != 0.0, &at_0, lift);
    return at_0;
}

/* The middle from that of all directions. */
static void middle(struct rmc_warp_fit *f, size_t n, int is_dense,
                   const relmc_layer *l)
{
    const size_t k = f->dim - 1;

    for (size_t r = 0; r < k; r++) {
        const double at_0 = lift(f, n, r, l, &l->lift[r]);

        for (size_t i = 0; i < k; i++) {
            l->bend[i] +=
                at_0 * (is_dense ? l->out[r * k + i] : (double)(i == r));
        }
    }
}

/* Rows of dim - 1 numbers get a 0 for the hub. */
static void make_room_for_hub(size_t d, size_t hub, size_t n_rows, double *rows)
{
    for (size_t r = n_rows; r-- > 0;) {
        for (size_t i = d; i-- > 0;) {
            rows[r * d + i] =
                i == hub ? 0.0 : rows[r * (d - 1) + i - (i > hub)];
        }
    }
}

/* What is left of the others when the middle is taken off: f->r. */
static void take_off_middle(struct rmc_warp_fit *f, size_t n, int is_dense,
                            const double *others, const relmc_layer *l)
{
    const size_t k = f->dim - 1;

    for (size_t t = 0; t < n; t++) {
        double *row = f->r + t * k;

        for (size_t i = 0; i < k; i++) {
            row[i] = others[t * k + i] - l->bend[i];
        }
        for (size_t r = 0; r < k; r++) {
            const double D = scale_at(l, r, f->s[t]);
            const double lift = l->lift[r] * D * D;

            for (size_t i = 0; is_dense && lift != 0.0 && i < k; i++) {
                row[i] -= lift * l->out[r * k + i];
            }
            row[r] -= is_dense ? 0.0 : lift;
        }
    }
}

/* Rates and middles; the largest change of a rate. */
static double improve(struct rmc_warp_fit *f, size_t n, int is_dense,
                      int is_flat, relmc_layer *l)
{
    const size_t k = f->dim - 1;
    double most = 0.0, level;

    for (size_t r = 0; r < k; r++) {
        const struct rmc_fit_draws draws = {n, k, f->s, f->z + r, f->pull + r};
        const double b = is_flat
                             ? rate_and_flat(&draws, l->rate[r], &l->flat[r])
                             : rate_of(&draws, l->rate[r], l->flat[r], &level);
        const double change = fabs(b - l->rate[r]);

        most = change > most ? change : most;
        l->rate[r] = b;
    }
    middle(f, n, is_dense, l);
    return most;
}

/* The directions are the axes, and nothing is known. */
static void begin(struct rmc_warp_fit *f, size_t n, int is_dense,
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

static void end(size_t d, size_t hub, int is_dense, relmc_layer *l)
{
    l->is_axial = !is_dense;
    l->rank = is_dense ? d - 1 : d;
    make_room_for_hub(d, hub, 1, l->bend);
    if (is_dense) {
        make_room_for_hub(d, hub, d - 1, l->out);
        make_room_for_hub(d, hub, d - 1, l->in);
        return;
    }
    make_room_for_hub(d, hub, 1, l->rate);
    make_room_for_hub(d, hub, 1, l->flat);
    make_room_for_hub(d, hub, 1, l->lift);
}

/* The way back from end, to go on with a layer; s is as it was there. */
static void resume(struct rmc_warp_fit *f, size_t n, const double *x,
                   relmc_layer *l)
{
    const size_t d = f->dim;

    leave_out(d, l->hub, 1, l->bend, l->bend);
    leave_out(d, l->hub, d - 1, l->out, l->out);
    leave_out(d, l->hub, d - 1, l->in, l->in);
    for (size_t t = 0; t < n; t++) {
        f->s[t] = (x[t * d + l->hub] - l->middle) / l->width;
    }
}

int rmc_fit_stretch(struct rmc_warp_fit *f, const struct rmc_fit_candidate *c,
                    size_t n, const double *x, const double *g, relmc_layer *l,
                    enum rmc_fit_care care)
{
    const size_t d = f->dim;
    const int is_dense = c->kind == RMC_FIT_STRETCH;
    const int n_free = care == RMC_FIT_BETTER ? 0 : N_ROUNDS;
    const int n_directions =
        n_free + (care != RMC_FIT_LOOK && is_dense ? N_FLAT : 0);
    const int n_rounds = n_directions + (care != RMC_FIT_LOOK ? N_MORE : 0);
    double *others = f->try_x; /* free while a layer is fitted, like try_g */
    struct rmc_fit_hub h = {.norm2 = 1.0};

    leave_out(d, c->hub, n, x, others);
    leave_out(d, c->hub, n, g, f->slope);
    if (care == RMC_FIT_BETTER) {
        resume(f, n, x, l);
    } else {
        h = rmc_fit_look_along(f, l, c->hub, n, x);
        begin(f, n, is_dense, others, l);
    }
    for (int round = 0; round < n_rounds; round++) {
        const int is_flat = round >= n_free && round < n_directions;

        take_off_middle(f, n, is_dense, others, l);
        project(f, n, is_dense, others, l);
        if (is_dense && round < n_directions) {
            if (!find_directions(f, n, l)) {
                return 0;
            }
            project(f, n, is_dense, others, l);
        }
        if (improve(f, n, is_dense, is_flat, l) < 1e-9 &&
            round > n_directions) {
            break;
        }
    }
    end(d, c->hub, is_dense, l);
    return h.norm2 > 0.0;
}
