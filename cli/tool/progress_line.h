/* progress_line.h - a progress line on a terminal. */
#ifndef RELMC_CLI_PROGRESS_LINE_H
#define RELMC_CLI_PROGRESS_LINE_H

#include "tool/cli.h"

struct gauge {
    bool is_on;    /* stderr is a terminal */
    bool is_shown; /* something stands there */
    double start, last;
};

void gauge_start(struct gauge *gauge);
/* What is being done, and how much of everything is, from 0 to 1.  Nothing is
 * shown for the first second. */
void gauge_move(struct gauge *gauge, const char *what, double share);
/* Removes the line. */
void gauge_end(struct gauge *gauge);

#endif
