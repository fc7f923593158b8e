/* progress_line.h - a progress line on a terminal. */
#ifndef RELMC_CLI_PROGRESS_LINE_H
#define RELMC_CLI_PROGRESS_LINE_H

#include "tool/cli.h"

struct progress_line {
    bool is_on;    /* stderr is a terminal */
    bool is_shown; /* something stands there */
    double start, last;
};

void progress_line_start(struct progress_line *gauge);
/* What is being done, and how much of everything is, from 0 to 1.  Nothing is
 * shown for the first second. */
void progress_line_move(struct progress_line *gauge, const char *what,
                        double share);
/* Removes the line. */
void progress_line_end(struct progress_line *gauge);

#endif
