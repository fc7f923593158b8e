/* npy.h - arrays of numbers in files of NumPy's format. */
#ifndef RELMC_CLI_NPY_H
#define RELMC_CLI_NPY_H

#include "tool/cli.h"

struct npy {
    size_t n_rows, n_columns; /* a vector is one row */
    double *values;           /* free it */
};

/* These return 0, or the exit code after a message. */
int npy_write(const char *path, const char *who, size_t n_rows,
              size_t n_columns, const double *values);
/* float64 or float32, one or two dimensions, in C order. */
int npy_read(struct npy *out, const char *path, const char *who);

#endif
