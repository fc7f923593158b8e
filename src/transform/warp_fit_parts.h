/*
 * warp_fit_parts.h - what warp_fit.c has of warp_hub.c, warp_bend.c and
 * warp_stretch.c.
 */
#ifndef RMC_TRANSFORM_WARP_FIT_PARTS_H
#define RMC_TRANSFORM_WARP_FIT_PARTS_H

#include "transform/warp_fit.h"

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

/* ---- warp_hub.c: along a hub -------------------------------------------------- */

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
struct rmc_fit_hub rmc_fit_look_along(struct rmc_warp_fit *f, relmc_layer *l,
                                      size_t hub, size_t n, const double *x);
/* Of every stride-th number from y on. */
struct rmc_fit_shares rmc_fit_share(const struct rmc_warp_fit *f,
                                    const struct rmc_fit_hub *h, size_t n,
                                    const double *y, size_t stride);
void rmc_fit_mean_of(size_t d, size_t n, const double *x, double *mean);

/* ---- warp_bend.c: [warp-bend] ----------------------------------------------- */

/* What a square of every hub explains of every coordinate, and what a line. */
void rmc_fit_explain_all(struct rmc_warp_fit *f);
/* The coordinates that bend with a hub; what the square explains of them. */
double rmc_fit_find_children(struct rmc_warp_fit *f, size_t hub);
/* The layer that bends these with the hub; 0 if the hub does not move. */
int rmc_fit_bend(struct rmc_warp_fit *f, size_t hub, size_t n, const double *x,
                 const double *g, relmc_layer *l);

/* ---- warp_stretch.c: [warp-stretch] ------------------------------------------- */

/* What stretching all others along a hub promises, by the first step of that;
 * try_x holds the draws about their means. */
double rmc_fit_promise(struct rmc_warp_fit *f, size_t hub);

/* How well a stretch is fitted: for a look, for use, or better than it is. */
enum rmc_fit_care { RMC_FIT_LOOK, RMC_FIT_USE, RMC_FIT_BETTER };

/* The layer that stretches along the hub of c; 0 if there is none. */
int rmc_fit_stretch(struct rmc_warp_fit *f, const struct rmc_fit_candidate *c,
                    size_t n, const double *x, const double *g, relmc_layer *l,
                    enum rmc_fit_care care);

#endif
