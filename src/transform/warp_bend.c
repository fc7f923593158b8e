/*
 * warp_bend.c - layers of [warp] that bend coordinates.
 *
 *   [warp-bend]     x_j bends with the square of the hub.  x_j + c dlp/dx_j is
 *                   regressed on 1, s, s^2; without noise if x_j is normal given
 *                   the hub, since it is the mean then.  A coordinate bends with
 *                   the hub that explains it best and with no other, so that
 *                   chains of bends are separated.
 */
#include "transform/warp_fit_parts.h"

/* of 1/2 log(Var x_j Var g_j): what a square must explain of a coordinate, and by
 * how much another hub may explain it better */
#define MIN_BEND  0.1
#define BEND_TIES 0.02

/* 1/2 log(Var Var) of x_j - m(s) and its gradient, if x and g have these rests
 * when what m(s) can explain is taken off. */
static double bend_loss(const struct rmc_fit_shares *g, double rest_x,
                        double rest_g)
{
    return 0.5 * rmc_log(rest_x * g->variance * g->variance / rest_g);
}

/* l and a: those of x + c g, where c makes both rests as large. */
static void set_bend(const struct rmc_fit_shares *x,
                     const struct rmc_fit_shares *g,
                     const struct rmc_fit_hub *h, double *l, double *a)
{
    const double c = sqrt(x->without_square / g->without_square);

    *a = x->square + c * g->square;
    *l = x->line + c * g->line - h->skew * *a;
}

void rmc_fit_explain_all(struct rmc_warp_fit *f)
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
                bend_loss(&g, x.without_square, g.without_square);
            f->loss_line[h * d + j] =
                bend_loss(&g, x.without_line, g.without_line);
            if (h == j || !rmc_is_finite(f->loss_square[h * d + j])) {
                f->loss_square[h * d + j] = HUGE_VAL;
            }
        }
    }
}

double rmc_fit_find_children(struct rmc_warp_fit *f, size_t hub)
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
            gain > MIN_BEND && f->loss_square[hub * d + j] <= least + BEND_TIES;
        sum += f->is_child[j] ? gain : 0.0;
    }
    return sum;
}

int rmc_fit_bend(struct rmc_warp_fit *f, size_t hub, size_t n, const double *x,
                 const double *g, relmc_layer *l)
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

            set_bend(&a, &b, &h, &l->bend[d + j], &l->bend[2 * d + j]);
        }
    }
    return h.norm2 > 0.0;
}
