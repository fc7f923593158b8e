/* fig5.c - a small network: do relativistic methods keep what SGLD-Adam
 * spoils? */
#include "reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Inputs scaled to at most 1 and no prior, as in the paper; standardised inputs
 * and a standard normal prior. */
static const char paper[] = "max-flat", standard[] = "sd-normal";

/* The value of a column at a row of a curve: the first whose epoch is at least
 * `epoch`, or the last one. */
static double at(const struct sheet *sheet, const char *panel,
                 const char *method, const char *column, double epoch)
{
    struct line line = sheet_line(sheet, panel, method, "epoch", column);
    double found = CLI_NAN;

    for (size_t i = 0; i < line.n; i++) {
        if (!isnan(line.x[i])) { /* not of the histogram */
            found = line.y[i];
            if (line.x[i] >= epoch) {
                break;
            }
        }
    }
    free(line.x);
    return found;
}

/* In points. */
static double accuracy(const struct sheet *sheet, const char *panel,
                       const char *method, double epoch)
{
    return 100.0 * (1.0 - at(sheet, panel, method, "test_error", epoch));
}

static double last_epoch(const struct sheet *sheet, const char *panel,
                         const char *method)
{
    return at(sheet, panel, method, "epoch", HUGE_VAL);
}

/* The worse of the relativistic methods less SGLD-Adam. */
static double lead_at_end(const struct sheet *sheet, const char *panel,
                          const char *rival)
{
    return fmin(accuracy(sheet, panel, "RSGD", HUGE_VAL),
                accuracy(sheet, panel, "RHMC", HUGE_VAL)) -
           accuracy(sheet, panel, rival, HUGE_VAL);
}

static double outperformed(const struct sheet *sheet)
{
    return lead_at_end(sheet, paper, "SGLD-Adam");
}

/* RHMC has its first row only after as many epochs as it has steps. */
static double outperformed_early(const struct sheet *sheet)
{
    return accuracy(sheet, paper, "RSGD", 1.0) -
           accuracy(sheet, paper, "SGLD-Adam", 1.0);
}

static double slow_recovery(const struct sheet *sheet)
{
    const double tenth = 0.1 * last_epoch(sheet, paper, "RSGD");

    return accuracy(sheet, paper, "RSGD", tenth) -
           accuracy(sheet, paper, "SGLD-Adam", HUGE_VAL);
}

static double first_rms(const struct sheet *sheet, const char *panel,
                        const char *method)
{
    return at(sheet, panel, method, "rms", 0.0);
}

static double weights_explode(const struct sheet *sheet)
{
    return first_rms(sheet, paper, "SGLD-Adam") /
           first_rms(sheet, paper, "RSGD");
}

/* No step of RSGD is larger than eps c, so that its weights after the first one
 * are those of the start. */
static double weights_kept(const struct sheet *sheet)
{
    return first_rms(sheet, paper, "RSGD") / first_rms(sheet, paper, "RHMC");
}

static double any_lambda(const struct sheet *sheet)
{
    return lead_at_end(sheet, paper, "SGLD-Adam 0.1");
}

static double any_data(const struct sheet *sheet)
{
    return lead_at_end(sheet, standard, "SGLD-Adam");
}

static double explode_anywhere(const struct sheet *sheet)
{
    return first_rms(sheet, standard, "SGLD-Adam") /
           first_rms(sheet, standard, "RSGD");
}

/* What the paper shows is a failure by some 20 points: 5 are a failure still. */
const struct claim fig5_claims[] = {
    {
        .id = "outperformed",
        .says = "SGLD-Adam is significantly outperformed by RSGD and RHMC",
        .quantity = "test accuracy at the end of the worse of RSGD and RHMC "
                    "less that of SGLD-Adam (lambda 1e-8), points",
        .measure = outperformed,
        .holds = 2.0,
        .fails = 0.0,
    },
    {
        .id = "outperformed-early",
        .says = "SGLD-Adam is behind from the start",
        .quantity = "test accuracy of RSGD less that of SGLD-Adam after the "
                    "first epoch, points",
        .measure = outperformed_early,
        .holds = 2.0,
        .fails = 0.0,
    },
    {
        .id = "slow-recovery",
        .says = "SGLD-Adam takes a long time to recover from its first step",
        .quantity = "test accuracy of RSGD after a tenth of the epochs less "
                    "that of SGLD-Adam after all of them, points",
        .measure = slow_recovery,
        .holds = 2.0,
        .fails = 0.0,
    },
    {
        .id = "weights-explode",
        .says = "the first iteration of SGLD-Adam makes weights extremely "
                "large",
        .quantity = "rms of the weights after it over that of RSGD",
        .measure = weights_explode,
        .holds = 10.0,
        .fails = 2.0,
    },
    {
        .id = "weights-kept",
        .says = "the first iteration of RHMC keeps the weights in a sensible "
                "range",
        .quantity = "rms of the weights of RSGD, which are those of the start, "
                    "over that of RHMC",
        .measure = weights_kept,
        .holds = 0.5,
        .fails = 0.1,
    },
    {
        .id = "whatever-lambda",
        .says = "the preconditioner, not its lambda, makes SGLD-Adam fail",
        .quantity = "as in outperformed, with lambda 0.1, points",
        .measure = any_lambda,
        .holds = 5.0,
        .fails = 5.0,
    },
    {
        .id = "whatever-data",
        .says = "the relativistic framework is the much better approach, also "
                "with standardised inputs and a prior",
        .quantity = "as in outperformed, inputs of mean 0 and standard "
                    "deviation 1 and weights ~ N(0, 1), points",
        .measure = any_data,
        .holds = 5.0,
        .fails = 5.0,
    },
    {
        .id = "weights-explode-anywhere",
        .says = "SGLD-Adam makes weights extremely large also with "
                "standardised inputs and a prior",
        .quantity = "as in weights-explode, there",
        .measure = explode_anywhere,
        .holds = 10.0,
        .fails = 2.0,
    },
    {0},
};
