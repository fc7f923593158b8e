/*
 * tree.h - the binary trees of no-U-turn trajectories, for nuts.c and walnuts.c.
 *
 *   [NUTS]    the trajectory doubles, forwards or backwards with equal
 *             probability, until it turns back on itself.
 *   [U-turn]  rho . v > 0 at both ends of a span of the trajectory, for every
 *             span of the binary tree, and across the seam of its two halves.
 *
 * tree_rows_inline.h works on one lane after the other: read that first.
 * tree_lanes.c does the same for several lanes of few coordinates at once.
 */
#ifndef RMC_SAMPLER_TREE_H
#define RMC_SAMPLER_TREE_H

#include "sampler/momentum_inline.h"

enum { RMC_MAX_DEPTH = 24 };

/* Uniform numbers are drawn several of a lane at a time.  Those that are left when
 * a trajectory ends are not used, so the position of the stream is all that has to
 * be saved. */
enum { RMC_CHOICES = 16, RMC_DIRECTIONS = 8 };

/* New points: numbers per lane and the velocities, dim x ld. */
struct rmc_leaves {
    double *weight, *h, *v;
};

/* One lane.  Trees grow at their `last` end, which is where the lane is; to grow
 * the other way the ends change places. */
struct rmc_tree {
    double *levels; /* rmc_rho_at; or NULL, and they are in `few` */
};

/* All lanes.  Points are blocks of dim x ld, as elsewhere, if there are few
 * coordinates, and otherwise one row per lane: coordinate i of lane k is found at
 * k * lane + i * stride.  The rest is numbers per lane. */
struct rmc_trees {
    size_t n_levels, lane, stride;
    uint64_t top; /* the bit of the highest level */
    struct rmc_tree *tree;
    double *few;             /* those of tree_lanes.c: rmc_few_at */
    double *choice;          /* RMC_CHOICES per lane: uniform, for leaves */
    double *way;             /* RMC_DIRECTIONS per lane: uniform, for halves */
    double *far_x, *far_g;   /* position and gradient at the first end */
    double *next_x, *next_g; /* the point chosen so far ... */
    double *next_lp, *next_h;
    double *trial_x, *trial_g; /* ... and that of the half under construction */
    double *trial_lp, *trial_h;
    double *accept;        /* sums of min(1, exp(H0 - H)) */
    double *weight;        /* the sum of exp(H0 - H) but for the half at hand */
    double *luck;          /* uniform, decides between the halves */
    double *weight_half;   /* the sum of exp(H0 - H) in the half, ... */
    double *weight_chosen; /* ... and up to the leaf that is chosen so far */
    double *patience;      /* uniform: how long it will be so; not if lanes come
                              in bunches */
    uint64_t *depth;       /* 2^depth points but for the half at hand */
    uint64_t *n;           /* points, the start included */
    uint64_t *n_joined;    /* levels that took the last leaf without a turn;
                              not if lanes come in bunches */
    uint64_t *has_point;   /* all bits: there is a new point, ... */
    uint64_t *has_leaf;    /* ... it is not divergent, ... */
    uint64_t *is_chosen;   /* ... it is chosen, so far (not if lanes come in
                              bunches); and then: */
    uint64_t *goes_on;     /* the trajectory does */
    uint64_t *n_choices;   /* numbers for leaves that were used */
    double *h0;            /* H where the trajectory began */
    struct rmc_leaves leaves;
    struct rmc_momentum momentum; /* room */
};

/* ---- tree_lanes.c ----------------------------------------------------------- */

/* More uniform numbers of lane k, for leaves and for halves. */
void RMC_ISA(rmc_draw_choices)(const struct rmc_trees *t,
                               const relmc_system *sys, size_t k);
void RMC_ISA(rmc_draw_ways)(const struct rmc_trees *t, const relmc_system *sys,
                            size_t k);

/* The trajectory of lane k, whose coordinates are few, is one point.  `v` is its
 * velocity, of leading dimension ld. */
void RMC_ISA(rmc_begin_few)(const struct rmc_trees *t, const relmc_shape *s,
                            size_t k, const double *p, const double *v,
                            size_t ld);

/* rmc_trees_add for several lanes at once. */
void RMC_ISA(rmc_add_lanes_at_once)(const struct rmc_trees *t,
                                    const relmc_system *sys, relmc_state *z,
                                    double *step, rmc_lane_list *ends);

#endif
