/* warp.h - coordinates that bend and stretch the space, [warp]: there and back. */
#ifndef RMC_TRANSFORM_WARP_H
#define RMC_TRANSFORM_WARP_H

#include "base/isa.h"
#include "relmc_ext.h"

/* y becomes x = T(y), in place; its gradient and log density, where they are
 * given, become those of x. */
void RMC_ISA(rmc_warp_apply)(const relmc_warp *warp, const relmc_shape *s,
                             double *x, double *g, double *lp);

/* The way back. */
void RMC_ISA(rmc_warp_undo)(const relmc_warp *warp, const relmc_shape *s,
                            double *x, double *g, double *lp);

/* ---- warp_layer.c ---------------------------------------------------------- */

/* With room for any layer. */
relmc_layer rmc_layer_new(relmc_arena *arena, size_t dim);
/* Between two of these. */
void rmc_layer_copy(size_t dim, relmc_layer *to, const relmc_layer *from);
void rmc_layer_archive(size_t dim, relmc_layer *l, relmc_archive *ar);

#endif
