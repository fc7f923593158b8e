/* features.c - the parts that this build of librelmc-extra has, and errors for the rest. */
#include "relmc_diag.h"
#include "relmc_extra.h"

#include "base/base.h"

#ifdef RMC_HAS_CBLAS
#include "mlp/blas_library.h"
#include "mlp/mlp.h"
#endif

const relmc_model_ops *relmc_extra_model(size_t i)
{
#ifdef RMC_HAS_CBLAS
    return i == 0 ? &rmc_model_mlp : NULL;
#else
    (void)i;
    return NULL;
#endif
}

const char *relmc_extra_blas_kernels(void)
{
#ifdef RMC_HAS_CBLAS
    return rmc_blas_kernels();
#else
    return NULL;
#endif
}

#ifndef RMC_HAS_CHOLMOD
relmc_status relmc_graph_stein(relmc_graph_stein_report *out,
                               const relmc_stein_sample *sample,
                               const relmc_graph_stein_options *options,
                               relmc_error *err)
{
    (void)out;
    (void)sample;
    (void)options;
    return rmc_fail(err, RELMC_EUNKNOWN,
                    "graph Stein: librelmc-extra was built without "
                    "SuiteSparse, which it needs for that");
}
#endif
