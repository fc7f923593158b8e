/* mlp_double.c - networks in double precision. */
#include "base/base.h"

typedef double real;

#define PASS           rmc_mlp_double
#define GEMM           cblas_dgemm
#define exp_of(x)      rmc_exp(x)
#define input_of(data) ((data)->x)

#include "mlp/mlp_pass_inline.h"
