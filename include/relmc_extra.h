/*
 * relmc_extra.h - librelmc-extra: models and diagnostics that need CBLAS or CHOLMOD, which
 * librelmc does not need.  The conventions are those of relmc.h.
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
 * coordinate; threads share these.  The report has the sums of their intervals and
 * the largest of their counts.  If an interval does not close, the status is
 * RELMC_EUNSUPP and *out has the interval that was reached; RELMC_EUNKNOWN if the
 * library was built without SuiteSparse. */
RELMC_API relmc_status relmc_graph_stein(relmc_graph_stein_report *out,
                                         const relmc_stein_sample *sample,
                                         const relmc_graph_stein_options *options,
                                         relmc_error *err);

/* The models of this library, for relmc_target_open_ops; NULL past the end.
 *
 * "mlp", [mlp]: a feed-forward network on data, with CBLAS.  Its arithmetic is
 * single precision unless the spec says precision=double; gradients and lp are
 * double.  It sets OpenBLAS and BLIS to one thread, in the whole process.
 * BLAS decides the order of sums: equal seeds give equal draws for any number of
 * threads and lanes, but only with the same BLAS on the same kind of processor. */
RELMC_API const relmc_model_ops *relmc_extra_model(size_t i);

/* The processor that the kernels of OpenBLAS in use were made for, "Haswell"; NULL
 * without OpenBLAS.  An OpenBLAS that is older than the processor may choose very old
 * kernels: then set the environment variable OPENBLAS_CORETYPE=Haswell before the
 * program starts. */
RELMC_API const char *relmc_extra_blas_kernels(void);

#ifdef __cplusplus
}
#endif
#endif /* RELMC_EXTRA_H */
