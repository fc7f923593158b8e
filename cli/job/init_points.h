/* init_points.h - points and mass matrices from files. */
#ifndef RELMC_CLI_INIT_POINTS_H
#define RELMC_CLI_INIT_POINTS_H

#include "tool/cli.h"

struct points {
    size_t n;
    double *values; /* n x dim; free it */
};

/* {"x": [1, 2]}, [1, 2], or a list of such; or an npy file with a row per
 * point. */
int init_points_read(struct points *out, const char *path, size_t dim,
                     const char *who);

struct metric {
    bool is_dense;
    double *values; /* dim, or dim x dim; free it */
};

/* {"inv_metric": [1, 2]} or {"inv_metric": [[1, 0], [0, 2]]}, as CmdStan
 * writes them. */
int init_points_read_metric(struct metric *out, const char *path, size_t dim,
                            const char *who);

#endif
