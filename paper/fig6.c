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
static double lead_over(const struct sheet *sheet, const char *rival)
{
    return final_error(sheet, rival) - final_error(sheet, "RSGD");
}

static double over_adam(const struct sheet *sheet)
{
    return lead_over(sheet, "Adam");
}

static double over_santa(const struct sheet *sheet)
{
    return lead_over(sheet, "Santa SGD");
}

static double over_santa_as_published(const struct sheet *sheet)
{
    return lead_over(sheet, "Santa SGD (authors)");
}

static double over_momentum(const struct sheet *sheet)
{
    return lead_over(sheet, "SGD with momentum");
}

const struct claim fig6_claims[] = {
    {
        .id = "competitive-with-adam",
        .says = "RSGD is competitive with Adam",
        .quantity = "final test error of Adam less that of RSGD, points",
        .measure = over_adam,
        .holds = -0.1,
        .fails = -0.1,
    },
    {
        .id = "lower-than-adam",
        .says = "RSGD reaches a lower error than Adam (in the paper "
                "particularly with 100 units)",
        .quantity = "final test error of Adam less that of RSGD, points",
        .measure = over_adam,
        .holds = 0.0,
        .fails = 0.0,
    },
    {
        .id = "better-than-santa",
        .says = "RSGD is significantly better than Santa SGD, which is tuned "
                "like RSGD",
        .quantity = "final test error of Santa SGD less that of RSGD, points",
        .measure = over_santa,
        .holds = 0.1,
        .fails = 0.1,
    },
    {
        .id = "better-than-authors-santa",
        .says = "RSGD is significantly better than Santa SGD with the settings "
                "of the authors' code",
        .quantity = "final test error of Santa SGD less that of RSGD, points",
        .measure = over_santa_as_published,
        .holds = 0.1,
        .fails = 0.1,
    },
    {
        .id = "better-than-momentum",
        .says = "not in the paper: what RSGD gains comes from the speed limit "
                "and not from momentum",
        .quantity = "final test error of SGD with momentum less that of RSGD, "
                    "points",
        .measure = over_momentum,
        .holds = 0.1,
        .fails = 0.1,
    },
    {0},
};
