/*
 * relmc_extra.h - what needs libraries of others: librelmc-extra, next to
 * librelmc, which needs none.  The conventions are those of relmc.h.
 */
#ifndef RELMC_EXTRA_H
#define RELMC_EXTRA_H

#include "relmc_diag.h"
#include "relmc_ext.h"

#ifdef __cplusplus
extern "C" {
#endif

/* [gsd] Graph Stein discrepancy in any number of dimensions, up to 20000
 * distinct draws: a greedy 2-spanner, [spanner], then one linear programme per
 * coordinate, which threads share.  Intervals and counts are sums and maxima
 * over the coordinates.  If an interval does not close, the status is
 * RELMC_EUNSUPP and *out holds what there is; RELMC_EUNKNOWN if the library was
 * built without SuiteSparse. */
RELMC_API relmc_status relmc_graph_stein(relmc_graph_stein_report *out,
                                         const relmc_stein_sample *sample,
                                         const relmc_graph_stein_options *options,
                                         relmc_error *err);

/* The models of this library, for relmc_target_open_ops; NULL past the end.
 *
 * "mlp", [mlp]: a feed-forward network on data, with CBLAS.  Its arithmetic is
 * single precision unless the spec says precision=double; gradients and lp are
 * double.  OpenBLAS and BLIS then use one thread, in the whole process.
 * Sums are BLAS's: draws repeat with the same BLAS on the same kind of processor,
 * for any number of threads and lanes, but not elsewhere. */
RELMC_API const relmc_model_ops *relmc_extra_model(size_t i);

/* The processor that the kernels of OpenBLAS in use were made for, "Haswell"; NULL
 * if there is no OpenBLAS.  One that is newer than the library may get very old
 * ones: the environment variable OPENBLAS_CORETYPE=Haswell, set before the program
 * is started, mends that. */
RELMC_API const char *relmc_extra_blas_kernels(void);

#ifdef __cplusplus
}
#endif
#endif /* RELMC_EXTRA_H */
