/* column.h - names of columns: x.1 in files, x[1] for people. */
#ifndef RELMC_CLI_COLUMN_H
#define RELMC_CLI_COLUMN_H

#include "tool/cli.h"

/* x[1], b[2,3], t.1[2] for the columns x.1, b.2.3, t:1.2; yours. */
char *column_pretty(const char *name);
/* A statistic of the sampler, not a parameter: lp__. */
bool column_is_sampler(const char *name);

#endif
