/* fig3.c - small targets against the step size: is relativistic HMC better, and
 * does it matter less how the step is chosen?
 *
 * c stays as it is when eps changes (the authors' scripts), or eps c does
 * (their advice); every claim is judged under both. */
#include "reproduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_PANELS = 4 };
static const char *const panels[N_PANELS] = {"banana", "gmm1", "gmm2", "gmm3"};
static const char newtonian[] = "NHMC", fixed_c[] = "RHMC",
                  fixed_kappa[] = "RHMC-kappa";

/* ---- a curve over eps ------------------------------------------------------ */

static struct line curve(const struct sheet *sheet, const char *panel,
                         const char *method, const char *column)
{
    return sheet_line(sheet, panel, method, "eps", column);
}

/* A chain that never moves is worth one draw; noise may say less. */
static double log_ess(double ess)
{
    return log(fmax(ess, 1.0));
}

static double highest(const struct line *c)
{
    double most = -HUGE_VAL;

    for (size_t i = 0; i < c->n; i++) {
        most = fmax(most, c->y[i]);
    }
    return most;
}

/* How much of the axis, in log eps, has sign y >= sign level; straight lines
 * between the points. */
static double width(const struct line *c, double level, double sign)
{
    double sum = 0.0;

    for (size_t i = 1; i < c->n; i++) {
        const double a = sign * (c->y[i - 1] - level);
        const double b = sign * (c->y[i] - level);
        const double share = a >= 0.0 && b >= 0.0 ? 1.0
                             : a < 0.0 && b < 0.0 ? 0.0
                                                  : fmax(a, b) / fabs(a - b);

        sum += share * log(c->x[i] / c->x[i - 1]);
    }
    return sum;
}

static double nearest(const struct line *c, double x)
{
    size_t at = 0;

    for (size_t i = 1; i < c->n; i++) {
        if (fabs(log(c->x[i] / x)) < fabs(log(c->x[at] / x))) {
            at = i;
        }
    }
    return c->n ? c->y[at] : CLI_NAN;
}

/* The step that the panel calls large. */
static double large_step(const struct sheet *sheet, const char *panel)
{
    const struct experiment *e = sheet->experiment;

    for (size_t i = 0; i < e->n_cells; i++) {
        if (!strcmp(experiment_name(e->cells[i].panel), panel)) {
            return experiment_number(e, &e->cells[i], "large", CLI_NAN);
        }
    }
    return CLI_NAN;
}

/* ---- how much better one method is than another, in one panel --------------- */

typedef double gain_fn(const struct sheet *sheet, const char *panel,
                       const char *ours, const char *theirs);

/* log of the ratio of the best ESS */
static double gain_best(const struct sheet *sheet, const char *panel,
                        const char *ours, const char *theirs)
{
    struct line a = curve(sheet, panel, ours, "ess");
    struct line b = curve(sheet, panel, theirs, "ess");
    const double gain = log_ess(highest(&a)) - log_ess(highest(&b));

    free(a.x);
    free(b.x);
    return gain;
}

static double width_ess(const struct sheet *sheet, const char *panel,
                        const char *method)
{
    struct line c = curve(sheet, panel, method, "ess");
    const double found = width(&c, 0.5 * highest(&c), 1.0);

    free(c.x);
    return found;
}

/* No less than that of independent draws, whatever noise says. */
static double width_mae(const struct sheet *sheet, const char *panel,
                        const char *method)
{
    struct line c = curve(sheet, panel, method, "mae");
    struct line floor = curve(sheet, panel, method, "mae_floor");
    double least = HUGE_VAL;

    for (size_t i = 0; i < c.n; i++) {
        c.y[i] = fmax(c.y[i], floor.y[i]);
        least = fmin(least, c.y[i]);
    }
    const double found = width(&c, 2.0 * least, -1.0);

    free(c.x);
    free(floor.x);
    return found;
}

/* log of the ratio of the widths, in log eps, of the usable range */
static double gain_width_ess(const struct sheet *sheet, const char *panel,
                             const char *ours, const char *theirs)
{
    return log(width_ess(sheet, panel, ours) / width_ess(sheet, panel, theirs));
}

static double gain_width_mae(const struct sheet *sheet, const char *panel,
                             const char *ours, const char *theirs)
{
    return log(width_mae(sheet, panel, ours) / width_mae(sheet, panel, theirs));
}

/* log of the ratio of ESS at the large step */
static double gain_large(const struct sheet *sheet, const char *panel,
                         const char *ours, const char *theirs)
{
    const double eps = large_step(sheet, panel);
    struct line a = curve(sheet, panel, ours, "ess");
    struct line b = curve(sheet, panel, theirs, "ess");
    const double gain = log_ess(nearest(&a, eps)) - log_ess(nearest(&b, eps));

    free(a.x);
    free(b.x);
    return gain;
}

/* by how much log GSD is less at the large step */
static double gain_gsd(const struct sheet *sheet, const char *panel,
                       const char *ours, const char *theirs)
{
    const double eps = large_step(sheet, panel);
    struct line a = curve(sheet, panel, ours, "log_gsd");
    struct line b = curve(sheet, panel, theirs, "log_gsd");
    const double gain = nearest(&b, eps) - nearest(&a, eps);

    free(a.x);
    free(b.x);
    return gain;
}

/* log of the ratio of ESS, mean over all steps */
static double gain_mean(const struct sheet *sheet, const char *panel,
                        const char *ours, const char *theirs)
{
    struct line a = curve(sheet, panel, ours, "ess");
    struct line b = curve(sheet, panel, theirs, "ess");
    double sum = 0.0;

    for (size_t i = 0; i < a.n && i < b.n; i++) {
        sum += log_ess(a.y[i]) - log_ess(b.y[i]);
    }
    const double gain = sum / (double)a.n;

    free(a.x);
    free(b.x);
    return gain;
}

/* ---- over the panels ------------------------------------------------------- */

static double mean_gain(const struct sheet *sheet, const char *ours,
                        gain_fn *gain)
{
    double sum = 0.0;

    for (size_t i = 0; i < N_PANELS; i++) {
        sum += gain(sheet, panels[i], ours, newtonian);
    }
    return sum / N_PANELS;
}

static double least_gain(const struct sheet *sheet, const char *ours,
                         gain_fn *gain)
{
    double least = HUGE_VAL;

    for (size_t i = 0; i < N_PANELS; i++) {
        least = fmin(least, gain(sheet, panels[i], ours, newtonian));
    }
    return least;
}

/* What GMM2 and GMM3 gain more than GMM1. */
static double more_gain(const struct sheet *sheet, const char *ours,
                        gain_fn *gain)
{
    return 0.5 * (gain(sheet, "gmm2", ours, newtonian) +
                  gain(sheet, "gmm3", ours, newtonian)) -
           gain(sheet, "gmm1", ours, newtonian);
}

/* How wide the range is where `ours` has at least half of the best ESS of the
 * Newtonian, over the width of its own; sums over the panels. */
static double common_width(const struct sheet *sheet, const char *ours)
{
    double wide = 0.0, base = 0.0;

    for (size_t i = 0; i < N_PANELS; i++) {
        struct line a = curve(sheet, panels[i], ours, "ess");
        struct line b = curve(sheet, panels[i], newtonian, "ess");
        const double level = 0.5 * highest(&b);

        wide += width(&a, level, 1.0);
        base += width(&b, level, 1.0);
        free(a.x);
        free(b.x);
    }
    return wide / base;
}

/* ---- claims ---------------------------------------------------------------- */

static double best(const struct sheet *sheet, const struct claim *claim)
{
    return exp(mean_gain(sheet, claim->method, gain_best));
}

static double best_everywhere(const struct sheet *sheet,
                              const struct claim *claim)
{
    return exp(least_gain(sheet, claim->method, gain_best));
}

static double wide_ess(const struct sheet *sheet, const struct claim *claim)
{
    return exp(mean_gain(sheet, claim->method, gain_width_ess));
}

static double wide_mae(const struct sheet *sheet, const struct claim *claim)
{
    return exp(mean_gain(sheet, claim->method, gain_width_mae));
}

static double wide_common(const struct sheet *sheet, const struct claim *claim)
{
    return common_width(sheet, claim->method);
}

static double large(const struct sheet *sheet, const struct claim *claim)
{
    return exp(mean_gain(sheet, claim->method, gain_large));
}

static double large_gsd(const struct sheet *sheet, const struct claim *claim)
{
    return mean_gain(sheet, claim->method, gain_gsd);
}

static double steep(const struct sheet *sheet, const struct claim *claim)
{
    return exp(more_gain(sheet, claim->method, gain_mean));
}

static double separable_best(const struct sheet *sheet,
                             const struct claim *claim)
{
    return exp(gain_best(sheet, claim->panel, claim->method, claim->rival));
}

static double separable_mean(const struct sheet *sheet,
                             const struct claim *claim)
{
    return exp(gain_mean(sheet, claim->panel, claim->method, claim->rival));
}

#define BETTER "RHMC achieves better performance than NHMC"
#define ROBUST "RHMC is strikingly more robust to the step size than NHMC"
#define LARGE  "this is particularly pronounced when the step size is large"
#define STEEP                                                               \
    "the improvements are more pronounced when the gradients span a large " \
    "range (GMM2, GMM3)"
#define SEPARABLE "the separable variant is better than the joint one"
#define AT_C      " (c fixed)"
#define AT_KAPPA  " (eps c fixed)"

const struct claim fig3_claims[] = {
    {"best-ess", BETTER AT_C,
     "ratio of the best ESS, geometric mean of the four targets", best, 1.1,
     1.0, .method = fixed_c},
    {"best-ess-everywhere", BETTER AT_C ", on every target",
     "ratio of the best ESS, the least of the four targets", best_everywhere,
     1.0, 0.9, .method = fixed_c},
    {"robust-ess", ROBUST AT_C,
     "ratio of the widths in log eps of the range where ESS is at least half "
     "of its best, geometric mean of the four targets",
     wide_ess, 1.7, 1.2, .method = fixed_c},
    {"robust-mae", ROBUST AT_C,
     "ratio of the widths in log eps of the range where MAE is at most twice "
     "its best, geometric mean of the four targets",
     wide_mae, 1.7, 1.2, .method = fixed_c},
    {"robust-common", ROBUST AT_C,
     "ratio of the widths in log eps of the range where ESS is at least half "
     "of the best of NHMC, sums of the four targets",
     wide_common, 1.7, 1.2, .method = fixed_c},
    {"large-step-ess", LARGE AT_C,
     "ratio of ESS at eps = 1 (Banana) and 4 (GMM), geometric mean", large, 2.0,
     1.0, .method = fixed_c},
    {"large-step-gsd", LARGE AT_C,
     "log graph Stein discrepancy of NHMC less that of RHMC at eps = 1 "
     "(Banana) "
     "and 4 (GMM), mean",
     large_gsd, 0.2, 0.0, .method = fixed_c},
    {"steep", STEEP AT_C ", over all eps",
     "ratio of ESS, geometric mean over all eps, of GMM2 and GMM3 over that of "
     "GMM1",
     steep, 1.2, 1.1, .method = fixed_c},
    {"best-ess-kappa", BETTER AT_KAPPA,
     "ratio of the best ESS, geometric mean of the four targets", best, 1.1,
     1.0, .method = fixed_kappa},
    {"best-ess-everywhere-kappa", BETTER AT_KAPPA ", on every target",
     "ratio of the best ESS, the least of the four targets", best_everywhere,
     1.0, 0.9, .method = fixed_kappa},
    {"robust-ess-kappa", ROBUST AT_KAPPA,
     "ratio of the widths in log eps of the range where ESS is at least half "
     "of its best, geometric mean of the four targets",
     wide_ess, 1.7, 1.2, .method = fixed_kappa},
    {"robust-mae-kappa", ROBUST AT_KAPPA,
     "ratio of the widths in log eps of the range where MAE is at most twice "
     "its best, geometric mean of the four targets",
     wide_mae, 1.7, 1.2, .method = fixed_kappa},
    {"robust-common-kappa", ROBUST AT_KAPPA,
     "ratio of the widths in log eps of the range where ESS is at least half "
     "of the best of NHMC, sums of the four targets",
     wide_common, 1.7, 1.2, .method = fixed_kappa},
    {"large-step-ess-kappa", LARGE AT_KAPPA,
     "ratio of ESS at eps = 1 (Banana) and 4 (GMM), geometric mean", large, 2.0,
     1.0, .method = fixed_kappa},
    {"large-step-gsd-kappa", LARGE AT_KAPPA,
     "log graph Stein discrepancy of NHMC less that of RHMC at eps = 1 "
     "(Banana) "
     "and 4 (GMM), mean",
     large_gsd, 0.2, 0.0, .method = fixed_kappa},
    {"steep-kappa", STEEP AT_KAPPA ", over all eps",
     "ratio of ESS, geometric mean over all eps, of GMM2 and GMM3 over that of "
     "GMM1",
     steep, 1.2, 1.1, .method = fixed_kappa},
    {"separable-best", SEPARABLE AT_C, "ratio of the best ESS, Banana",
     separable_best, 1.1, 1.0, .panel = "banana", .method = fixed_c,
     .rival = "JRHMC"},
    {"separable-best-kappa", SEPARABLE AT_KAPPA,
     "ratio of the best ESS, Banana", separable_best, 1.1, 1.0,
     .panel = "banana", .method = fixed_kappa, .rival = "JRHMC-kappa"},
    {"separable-mean", SEPARABLE AT_C,
     "ratio of ESS, geometric mean over all eps, Banana", separable_mean, 1.1,
     1.0, .panel = "banana", .method = fixed_c, .rival = "JRHMC"},
    {0},
};
