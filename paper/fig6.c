/* fig6.c - networks on MNIST: is RSGD as good as its rivals? */
#include "reproduce.h"

#include <math.h>
#include <stdlib.h>

/* Test error after the last epoch, points. */
static double final_error(const struct sheet *sheet, const char *method)
{
    struct line line = sheet_line(sheet, NULL, method, "epoch", "test_error");
    const double found = line.n ? 100.0 * line.y[line.n - 1] : CLI_NAN;

    free(line.x);
    return found;
}

/* How much lower the error of RSGD is. */
static double lead(const struct sheet *sheet, const struct claim *claim)
{
    return final_error(sheet, claim->rival) - final_error(sheet, claim->method);
}

const struct claim fig6_claims[] = {
    {"competitive-with-adam", "RSGD is competitive with Adam",
     "final test error of Adam less that of RSGD, points", lead, -0.1, -0.1,
     .method = "RSGD", .rival = "Adam"},
    {"lower-than-adam",
     "RSGD reaches a lower error than Adam (in the paper "
     "particularly with 100 units)",
     "final test error of Adam less that of RSGD, points", lead, 0.0, 0.0,
     .method = "RSGD", .rival = "Adam"},
    {"better-than-santa",
     "RSGD is significantly better than Santa SGD, which is tuned "
     "like RSGD",
     "final test error of Santa SGD less that of RSGD, points", lead, 0.1, 0.1,
     .method = "RSGD", .rival = "Santa SGD"},
    {"better-than-authors-santa",
     "RSGD is significantly better than Santa SGD with the settings "
     "of the authors' code",
     "final test error of Santa SGD less that of RSGD, points", lead, 0.1, 0.1,
     .method = "RSGD", .rival = "Santa SGD (authors)"},
    {"better-than-momentum",
     "not in the paper: what RSGD gains comes from the speed limit "
     "and not from momentum",
     "final test error of SGD with momentum less that of RSGD, "
     "points",
     lead, 0.1, 0.1, .method = "RSGD", .rival = "SGD with momentum"},
    {0},
};
