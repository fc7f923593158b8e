/*
 * warp.c - coordinates that bend and stretch the space: there and back.
 *
 *   [warp]  x = T_1(T_2(... T_n(y))), each layer moved by one coordinate, its
 *           hub, which it leaves alone.  With s = (x_hub - middle) / width
 *             x = m(s) + y + sum_r v_r ((D_r(s) - 1) (w_r . y) + h_r D_r(s)^2),
 *             m(s) = c + l s + a s^2,   w_q . v_r = 1 if q = r, else 0,
 *             D_r(s)^2 = (1 + f_r) / (exp(-2 b_r s) + f_r),
 *             log |det dx/dy| = sum_r log D_r(s)
 *
 * (w . y)(v . dlp/dy) is the same on both sides of a layer, so gradients go
 * either way without the other side being known.
 */
#include "transform/warp.h"

#include "base/vmath_inline.h"

#include <string.h>

/* Where the lanes are along the hub. */
static void place(const relmc_layer *l, const relmc_shape *s, const double *x,
                  double *at)
{
    for (size_t k = 0; k < s->ld; k++) {
        at[k] = (x[l->hub * s->ld + k] - l->middle) / l->width;
    }
}

/* x += sign m(s), and what the gradient along the hub has to do with it. */
static void shift(const relmc_layer *l, const relmc_shape *s, double sign,
                  const double *at, double *x, double *g)
{
    const double *c = l->bend, *lin = c + s->dim, *a = lin + s->dim;
    const size_t ld = s->ld;
    const double w = sign / l->width;

    for (size_t i = 0; i < s->dim; i++) {
        if (c[i] == 0.0 && lin[i] == 0.0 && a[i] == 0.0) {
            continue; /* most of them, often */
        }
        for (size_t k = 0; k < ld; k++) {
            x[i * ld + k] += sign * (c[i] + at[k] * (lin[i] + at[k] * a[i]));
        }
        for (size_t k = 0; g && k < ld; k++) {
            g[l->hub * ld + k] -=
                w * (lin[i] + 2.0 * a[i] * at[k]) * g[i * ld + k];
        }
    }
}

/* Of one direction, one number per lane each: D, h D^2, d log D / d x_hub. */
struct rmc_warp_scale {
    double *D, *lift, *slope;
};

static void scales(const relmc_layer *l, const relmc_shape *s, size_t r,
                   const double *at, struct rmc_warp_scale *to)
{
    const double b = l->rate[r], f = l->flat[r], h = l->lift[r];

    for (size_t k = 0; k < s->ld; k++) {
        const double e = rmc_exp(-2.0 * b * at[k]);
        const double square = (1.0 + f) / (e + f);

        to->D[k] = sqrt(square);
        to->lift[k] = h * square;
        to->slope[k] = b / l->width * e / (e + f);
    }
}

/* Of a number on one side of a layer, that on the side of x, or of y. */
static double side_x(int is_forward, double D, double h, double was)
{
    return is_forward ? D * was + h : was;
}

static double side_y(int is_forward, double D, double h, double was)
{
    return is_forward ? was : (was - h) / D;
}

/* w . y becomes w . x, or the other way round, and v . (gradient) with it; or, if
 * they are not alone, by how much they change, which has fewer digits where D is
 * small.  What that has to do with the hub goes to its gradient. */
static void turn(const relmc_shape *s, int is_forward, int is_alone,
                 const struct rmc_warp_scale *of, double *along, double *pull,
                 double *g_hub)
{
    const double way = is_forward ? 1.0 : -1.0;

    for (size_t k = 0; k < s->ld; k++) {
        const double D = of->D[k], h = of->lift[k], was = along[k];
        const double y = side_y(is_forward, D, h, was);
        const double x = side_x(is_forward, D, h, was);

        along[k] = (is_forward ? x : y) - (is_alone ? 0.0 : was);
        if (g_hub) { /* gradients have 1/D where points have D */
            const double pulled = pull[k];
            const double at_x = is_forward ? pulled / D : pulled;
            const double at_y = side_x(!is_forward, D, 0.0, pulled);

            g_hub[k] -= way * of->slope[k] * (at_y * y + 2.0 * at_x * h + 1.0);
            pull[k] = (is_forward ? at_x : at_y) - (is_alone ? 0.0 : pulled);
        }
    }
}

/* One v and w.  room: 2 x ld */
static void stretch(const relmc_layer *l, const relmc_shape *s, size_t r,
                    int is_forward, const struct rmc_warp_scale *of, double *x,
                    double *g, double *room)
{
    const double *v = l->out + r * s->dim, *w = l->in + r * s->dim;
    const size_t ld = s->ld;
    double *along = room, *pull = along + ld;

    memset(along, 0, 2 * ld * sizeof *along);
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t k = 0; k < ld; k++) {
            along[k] += w[i] * x[i * ld + k];
        }
        for (size_t k = 0; g && k < ld; k++) {
            pull[k] += v[i] * g[i * ld + k];
        }
    }
    turn(s, is_forward, 0, of, along, pull, g ? g + l->hub * ld : NULL);
    for (size_t i = 0; i < s->dim; i++) { /* the hub has v = w = 0 */
        for (size_t k = 0; k < ld; k++) {
            x[i * ld + k] += v[i] * along[k];
        }
        for (size_t k = 0; g && k < ld; k++) {
            g[i * ld + k] += w[i] * pull[k];
        }
    }
}

/* The same where v and w are the axes: coordinate i alone. */
static void stretch_axis(const relmc_layer *l, const relmc_shape *s, size_t i,
                         int is_forward, const struct rmc_warp_scale *of,
                         double *x, double *g, double *room)
{
    const size_t ld = s->ld;
    double *along = room, *pull = along + ld;

    memcpy(along, x + i * ld, ld * sizeof *along);
    if (g) {
        memcpy(pull, g + i * ld, ld * sizeof *pull);
    }
    turn(s, is_forward, 1, of, along, pull, g ? g + l->hub * ld : NULL);
    for (size_t k = 0; k < ld; k++) {
        x[i * ld + k] = along[k];
    }
    for (size_t k = 0; g && k < ld; k++) {
        g[i * ld + k] = pull[k];
    }
}

static void stretch_all(const relmc_layer *l, const relmc_shape *s,
                        int is_forward, const double *at, double *x, double *g,
                        double *lp, double *room)
{
    const size_t ld = s->ld;
    struct rmc_warp_scale of = {room, room + ld, room + 2 * ld};

    for (size_t r = 0; r < l->rank; r++) {
        if (l->rate[r] == 0.0) {
            continue;
        }
        scales(l, s, r, at, &of);
        if (l->is_axial) {
            stretch_axis(l, s, r, is_forward, &of, x, g, room + 3 * ld);
        } else {
            stretch(l, s, r, is_forward, &of, x, g, room + 3 * ld);
        }
        for (size_t k = 0; lp && k < ld; k++) {
            const double log_D = rmc_log(of.D[k]);
            lp[k] += is_forward ? -log_D : log_D;
        }
    }
}

void RMC_ISA(rmc_warp_apply)(const relmc_warp *warp, const relmc_shape *s,
                             double *x, double *g, double *lp)
{
    double *at = warp->room, *room = at + s->ld;

    for (size_t n = warp->n; n-- > 0;) {
        const relmc_layer *l = &warp->layers[n];

        place(l, s, x, at);
        stretch_all(l, s, 1, at, x, g, lp, room);
        shift(l, s, 1.0, at, x, g);
    }
}

void RMC_ISA(rmc_warp_undo)(const relmc_warp *warp, const relmc_shape *s,
                            double *x, double *g, double *lp)
{
    double *at = warp->room, *room = at + s->ld;

    for (size_t n = 0; n < warp->n; n++) {
        const relmc_layer *l = &warp->layers[n];

        place(l, s, x, at);
        shift(l, s, -1.0, at, x, g);
        stretch_all(l, s, 0, at, x, g, lp, room);
    }
}

const relmc_warp_ops RMC_ISA(rmc_warp_layers) = {
    .info = {"warp", "layers", "coordinates that bend and stretch", NULL},
    .apply = RMC_ISA(rmc_warp_apply),
    .undo = RMC_ISA(rmc_warp_undo),
};
