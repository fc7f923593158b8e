/* progress_line.c - a progress line on a terminal. */
#define _POSIX_C_SOURCE 200809L

#include "tool/progress_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double PATIENCE = 1.0; /* seconds before anything is shown */
static const double PERIOD = 0.1;

enum { WIDTH = 28 };

void progress_line_start(struct progress_line *gauge)
{
    const char *term = getenv("TERM");

    *gauge = (struct progress_line){
        .is_on = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0,
        .start = cli_clock(),
    };
}

void progress_line_move(struct progress_line *gauge, const char *what,
                        double share)
{
    const double now = gauge->is_on ? cli_clock() : 0.0;

    if (!gauge->is_on || now - gauge->start < PATIENCE ||
        now - gauge->last < PERIOD) {
        return;
    }
    const double within = share < 0.0 ? 0.0 : share < 1.0 ? share : 1.0;
    const int done = (int)(within * WIDTH);
    const char *full = cli_has_utf8() ? "\xe2\x94\x81" : "=";

    gauge->last = now;
    gauge->is_shown = true;
    (void)fprintf(stderr, "\r\x1b[2K %-9s ", what);
    for (int i = 0; i < WIDTH; i++) {
        (void)fputs(i < done ? full : " ", stderr);
    }
    (void)fprintf(stderr, " %3d %%", (int)(100.0 * within));
    (void)fflush(stderr);
}

void progress_line_end(struct progress_line *gauge)
{
    if (gauge->is_shown) {
        (void)fputs("\r\x1b[2K", stderr);
        (void)fflush(stderr);
    }
    gauge->is_shown = false;
}
