/*
 * warp_fit.h - fits a warp: coordinates in which draws look normal.
 *
 *   [cramer-rao]  J = 1/2 log det(Cov(x) Cov(grad lp)) is 0 for a normal law and
 *                 positive for any other, whatever linear map is applied.
 *   [warp-fit]    Layers of [warp] are added one by one, each the one that takes
 *                 most off J on draws it was not fitted to, as long as that is
 *                 enough; they are used if all of them together take off much.
 *
 * Few draws are enough because of gradients: x and grad lp together show how wide
 * the target is in a place, even if the chain has not crossed it yet.
 */
#ifndef RMC_TRANSFORM_WARP_FIT_H
#define RMC_TRANSFORM_WARP_FIT_H

#include "transform/metric.h"
#include "transform/warp.h"

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

/* Windows with more than max_rows draws are thinned out. */
void rmc_warp_fit_open(struct rmc_warp_fit *f, relmc_arena *arena, size_t dim,
                       size_t max_layers, size_t max_rows);

/* Are these enough draws to fit anything? */
int rmc_warp_fit_can(const struct rmc_warp_fit *f, const struct rmc_window *w);

/* [warp-fit]  The layers for these draws, in the target's own coordinates; how
 * many. */
size_t rmc_warp_fit(struct rmc_warp_fit *f, const struct rmc_window *w);

/* What to do with the present layers. */
enum rmc_fit_verdict {
    RMC_FIT_AGAIN,     /* fit anew: they are wrong */
    RMC_FIT_KEEP,      /* they are right */
    RMC_FIT_TAKE_TRIAL /* they are right, and f->trial is better */
};

/* [warp-fit]  Of draws in their coordinates.  They are right if J is small there,
 * nothing can be added, and much was taken off.  Draws from the depths of a neck,
 * where good coordinates lead, are hard to fit anew, but not from a good layer. */
enum rmc_fit_verdict rmc_warp_fit_check(struct rmc_warp_fit *f,
                                        const struct rmc_window *w);

void rmc_warp_fit_archive(struct rmc_warp_fit *f, relmc_archive *ar);

#endif
