/* fig4.c - logistic regression over the step size: with minibatches and without,
 * with a thermostat and without.
 *
 * A chain that froze or heats up may have a small Stein discrepancy, so what is
 * called usable is judged by mean and variance; what is called stable only by
 * whether the chains ran away or never moved. */
#include "reproduce.h"

#include <math.h>
#include <stdlib.h>

#define N_OF(list) (sizeof(list) / sizeof *(list))

/* ---- a method in a panel --------------------------------------------------- */

typedef double share_fn(const struct sheet *sheet, const char *panel,
                        const char *method);

/* Share of the step sizes at which fewer than half of the chains fail. */
static double stable(const struct sheet *sheet, const char *panel,
                     const char *method)
{
    struct line c = sheet_line(sheet, panel, method, "eps", "failed");
    double n = 0.0;

    for (size_t i = 0; i < c.n; i++) {
        n += c.y[i] < 0.5;
    }
    const double share = n / (double)c.n;

    free(c.x);
    return share;
}

/* Share of them at which they do not, the variance is right within a factor of
 * two, and no mean is off by more than half a standard deviation. */
static double usable(const struct sheet *sheet, const char *panel,
                     const char *method)
{
    struct line failed = sheet_line(sheet, panel, method, "eps", "failed");
    struct line ratio = sheet_line(sheet, panel, method, "eps", "var_ratio");
    struct line bias = sheet_line(sheet, panel, method, "eps", "bias");
    double n = 0.0;

    for (size_t i = 0; i < failed.n; i++) {
        n += failed.y[i] < 0.5 && ratio.y[i] >= 0.5 && ratio.y[i] <= 2.0 &&
             bias.y[i] <= 0.5;
    }
    const double share = n / (double)failed.n;

    free(failed.x);
    free(ratio.x);
    free(bias.x);
    return share;
}

/* Between the last stable step, counted from the smallest, and the next; the
 * end of the axis if there is none. */
static double threshold(const struct sheet *sheet, const char *panel,
                        const char *method)
{
    struct line c = sheet_line(sheet, panel, method, "eps", "failed");
    size_t i = 0;

    while (i < c.n && c.y[i] < 0.5) {
        i++;
    }
    const double eps = c.n == 0   ? CLI_NAN
                       : i == 0   ? c.x[0]
                       : i == c.n ? c.x[c.n - 1]
                                  : sqrt(c.x[i - 1] * c.x[i]);

    free(c.x);
    return eps;
}

/* ---- methods against each other -------------------------------------------- */

struct pair {
    const char *ours, *theirs;
};

static const struct pair relativistic[] = {
    {"RHMC", "NHMC"}, {"RSGHMC", "NSGHMC"}, {"RSGNHT", "NSGNHT"}};
static const struct pair thermostats[] = {{"NSGNHT", "NSGHMC"},
                                          {"RSGNHT", "RSGHMC"}};
static const struct pair split[] = {{"RSGHMC-split", "RSGHMC"},
                                    {"RSGNHT-split", "RSGNHT"}};
static const char *const all_six[] = {"NHMC",   "RHMC",   "NSGHMC",
                                      "RSGHMC", "NSGNHT", "RSGNHT"};

static double mean_difference(const struct sheet *sheet, const char *panel,
                              const struct pair *pairs, size_t n,
                              share_fn *share)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += share(sheet, panel, pairs[i].ours) -
               share(sheet, panel, pairs[i].theirs);
    }
    return sum / (double)n;
}

/* What is to be small: log GSD, or how far off the variance is; what was not
 * measured because the chains failed is infinite. */
static double badness(const struct line *c, size_t i, bool of_variance)
{
    const double bad = of_variance ? fabs(log(c->y[i])) : c->y[i];

    return isnan(bad) ? HUGE_VAL : bad;
}

/* Share of the steps, of all pairs, at which ours is better than theirs; not
 * counted where both fail. */
static double win_share(const struct sheet *sheet, const char *panel,
                        const struct pair *pairs, size_t n, bool of_variance)
{
    const char *column = of_variance ? "var_ratio" : "log_gsd";
    double wins = 0.0, games = 0.0;

    for (size_t i = 0; i < n; i++) {
        struct line a = sheet_line(sheet, panel, pairs[i].ours, "eps", column);
        struct line b =
            sheet_line(sheet, panel, pairs[i].theirs, "eps", column);

        for (size_t j = 0; j < a.n && j < b.n; j++) {
            const double x = badness(&a, j, of_variance);
            const double y = badness(&b, j, of_variance);

            games += isfinite(x) || isfinite(y);
            wins += x < y;
        }
        free(a.x);
        free(b.x);
    }
    return wins / games;
}

/* Share of the steps at which RSGNHT is the best of the paper's six. */
static double lowest_share(const struct sheet *sheet, const char *panel,
                           bool of_variance)
{
    const char *column = of_variance ? "var_ratio" : "log_gsd";
    struct line ours = sheet_line(sheet, panel, "RSGNHT", "eps", column);
    double *least = cli_alloc(ours.n + 1, sizeof *least), wins = 0.0;

    for (size_t i = 0; i < ours.n; i++) {
        least[i] = HUGE_VAL;
    }
    for (size_t k = 0; k < N_OF(all_six); k++) {
        struct line c = sheet_line(sheet, panel, all_six[k], "eps", column);

        for (size_t i = 0; i < ours.n && i < c.n; i++) {
            least[i] = fmin(least[i], badness(&c, i, of_variance));
        }
        free(c.x);
    }
    for (size_t i = 0; i < ours.n; i++) {
        const double bad = badness(&ours, i, of_variance);

        wins += isfinite(bad) && bad <= least[i];
    }
    const double share = wins / (double)ours.n;

    free(least);
    free(ours.x);
    return share;
}

/* How many halvings or doublings the threshold is away from 0.006, negative. */
static double near_threshold(const struct sheet *sheet,
                             const struct claim *claim)
{
    return -fabs(log2(threshold(sheet, claim->panel, claim->method) / 0.006));
}

/* ---- claims ---------------------------------------------------------------- */

/* The settings of the authors' scripts, and lighter particles. */
static const char script[] = "script", light[] = "light";

static double more_stable(const struct sheet *sheet, const struct claim *claim)
{
    return mean_difference(sheet, claim->panel, relativistic,
                           N_OF(relativistic), stable);
}

static double more_usable(const struct sheet *sheet, const struct claim *claim)
{
    return mean_difference(sheet, claim->panel, relativistic,
                           N_OF(relativistic), usable);
}

static double nht_stein(const struct sheet *sheet, const struct claim *claim)
{
    return win_share(sheet, claim->panel, thermostats, N_OF(thermostats),
                     false);
}

static double nht_variance(const struct sheet *sheet, const struct claim *claim)
{
    return win_share(sheet, claim->panel, thermostats, N_OF(thermostats), true);
}

static double lowest_stein(const struct sheet *sheet, const struct claim *claim)
{
    return lowest_share(sheet, claim->panel, false);
}

static double lowest_variance(const struct sheet *sheet,
                              const struct claim *claim)
{
    return lowest_share(sheet, claim->panel, true);
}

static double split_usable(const struct sheet *sheet, const struct claim *claim)
{
    return mean_difference(sheet, claim->panel, split, N_OF(split), usable);
}

#define ROBUST                                                             \
    "the relativistic variants are significantly more robust to eps than " \
    "the Newtonian ones"
#define NHT "the thermostats do better than SGHMC"
#define LOWEST \
    "RSGNHT has a lower Stein discrepancy than the others at most eps"
#define SPLIT                                                             \
    "(ours) splitting with linear friction makes more step sizes usable " \
    "than Euler steps with bounded friction"
#define STABLE                                                       \
    "share of the eps at which fewer than half of the chains fail, " \
    "relativistic less Newtonian, mean of HMC, SGHMC, SGNHT"
#define USABLE                                                            \
    "share of the eps with variance right within a factor 2 and bias at " \
    "most sd/2, relativistic less Newtonian, mean of HMC, SGHMC, SGNHT"
#define THRESHOLD                                                             \
    "-|log2(eps/0.006)| of the eps from which on half of the chains or more " \
    "fail"
#define WINS_STEIN                                                   \
    "share of the eps, of NHT and RSGNHT, with a lower graph Stein " \
    "discrepancy than without thermostat"
#define WINS_VARIANCE \
    "share of the eps with a variance closer to the truth (log scale)"
#define LOWEST_STEIN                                                      \
    "share of the eps at which its graph Stein discrepancy is the least " \
    "of the six"
#define LOWEST_VARIANCE \
    "share of the eps at which its variance is closest to the truth"
#define SPLIT_USABLE                                           \
    "share of the eps that are usable, splitting less Euler, " \
    "mean of RSGHMC and RSGNHT"
#define AS_SCRIPT " (m = 1, D = 1, eps c = 0.01)"
#define AS_LIGHT  " (m = 0.001, D = 0.3, eps c = 0.1)"

const struct claim fig4_claims[] = {
    {"stable-script", ROBUST AS_SCRIPT, STABLE, more_stable, 0.2, 0.1,
     .panel = script},
    {"stable-light", ROBUST AS_LIGHT, STABLE, more_stable, 0.2, 0.1,
     .panel = light},
    {"usable-script", ROBUST ", in what they sample" AS_SCRIPT, USABLE,
     more_usable, 0.2, 0.1, .panel = script},
    {"usable-light", ROBUST ", in what they sample" AS_LIGHT, USABLE,
     more_usable, 0.2, 0.1, .panel = light},
    {"threshold-sghmc-script", "NSGHMC is unstable for eps > 0.006" AS_SCRIPT,
     THRESHOLD, near_threshold, -1.0, -2.0, .panel = script,
     .method = "NSGHMC"},
    {"threshold-sghmc-light",
     "NSGHMC is unstable for eps > 0.006 (m, D chosen for it)", THRESHOLD,
     near_threshold, -1.0, -2.0, .panel = light, .method = "NSGHMC"},
    {"threshold-nht-script", "NSGNHT is unstable for eps > 0.006" AS_SCRIPT,
     THRESHOLD, near_threshold, -1.0, -2.0, .panel = script,
     .method = "NSGNHT"},
    {"threshold-nht-light", "NSGNHT is unstable for eps > 0.006" AS_LIGHT,
     THRESHOLD, near_threshold, -1.0, -2.0, .panel = light, .method = "NSGNHT"},
    {"nht-script", NHT AS_SCRIPT, WINS_STEIN, nht_stein, 0.6, 0.5,
     .panel = script},
    {"nht-light", NHT AS_LIGHT, WINS_STEIN, nht_stein, 0.6, 0.5,
     .panel = light},
    {"nht-variance-script", NHT ", by variance" AS_SCRIPT, WINS_VARIANCE,
     nht_variance, 0.6, 0.5, .panel = script},
    {"nht-variance-light", NHT ", by variance" AS_LIGHT, WINS_VARIANCE,
     nht_variance, 0.6, 0.5, .panel = light},
    {"lowest-script", LOWEST AS_SCRIPT, LOWEST_STEIN, lowest_stein, 0.5, 0.5,
     .panel = script},
    {"lowest-light", LOWEST AS_LIGHT, LOWEST_STEIN, lowest_stein, 0.5, 0.5,
     .panel = light},
    {"lowest-variance-script", "RSGNHT is the best at most eps" AS_SCRIPT,
     LOWEST_VARIANCE, lowest_variance, 0.5, 0.5, .panel = script},
    {"lowest-variance-light", "RSGNHT is the best at most eps" AS_LIGHT,
     LOWEST_VARIANCE, lowest_variance, 0.5, 0.5, .panel = light},
    {"split-script", SPLIT AS_SCRIPT, SPLIT_USABLE, split_usable, 0.2, 0.1,
     .panel = script},
    {"split-light", SPLIT AS_LIGHT, SPLIT_USABLE, split_usable, 0.2, 0.1,
     .panel = light},
    {0},
};
