/*
 * interior_point.c - interior point method for linear programmes whose rows lie
 * between -1 and 1.
 *
 * Mehrotra (1992), "On the implementation of a primal-dual interior point
 * method".  x = 0 is strictly feasible, so there is no first phase, and every
 * iterate comes with a certified interval around the optimum.
 */
#include "diag/stein/interior_point.h"

#include "base/base.h"

/* Steps along the rows and along the multipliers. */
struct steps {
    double primal, dual;
};

void rmc_ipm_start(rmc_ipm_rows *rows, size_t n, double *room, double z)
{
    rows->n = n;
    rows->r = room;
    rows->upper = room + n;
    rows->lower = room + 2 * n;
    rows->z_upper = room + 3 * n;
    rows->z_lower = room + 4 * n;
    rows->weight = room + 5 * n;
    rows->push = room + 6 * n;
    rows->dr = room + 7 * n;
    rows->dz_upper = room + 8 * n;
    rows->dz_lower = room + 9 * n;
    for (size_t i = 0; i < n; i++) {
        rows->r[i] = 0.0;
        rows->upper[i] = rows->lower[i] = 1.0;
        rows->z_upper[i] = rows->z_lower[i] = z;
    }
}

static double complementarity(const rmc_ipm_rows *a, struct steps step)
{
    double sum = 0.0;

    for (size_t i = 0; i < a->n; i++) {
        const double dr = step.primal * a->dr[i];

        sum +=
            (a->upper[i] - dr) * (a->z_upper[i] + step.dual * a->dz_upper[i]) +
            (a->lower[i] + dr) * (a->z_lower[i] + step.dual * a->dz_lower[i]);
    }
    return sum / (2.0 * (double)a->n);
}

/* The longest steps that keep slacks and multipliers positive: 1 over the
 * largest relative loss. */
static struct steps longest(const rmc_ipm_rows *a)
{
    double primal = 0.0, dual = 0.0;

    for (size_t i = 0; i < a->n; i++) {
        const double dr = a->dr[i];
        const double p = dr > 0.0 ? dr / a->upper[i] : -dr / a->lower[i];
        const double u = -a->dz_upper[i] / a->z_upper[i];
        const double l = -a->dz_lower[i] / a->z_lower[i];
        const double d = u > l ? u : l;

        primal = p > primal ? p : primal;
        dual = d > dual ? d : dual;
    }
    return (struct steps){1.0 / primal, 1.0 / dual};
}

static double min_of(double a, double b)
{
    return a < b ? a : b;
}

/* Changes of the multipliers in a step to complementarity `centre`: (centre +
 * product + z dr) / slack - z. */
static void predict(rmc_ipm_rows *a)
{
    for (size_t i = 0; i < a->n; i++) {
        const double z_upper = a->z_upper[i], z_lower = a->z_lower[i];

        a->dz_upper[i] = z_upper * a->dr[i] / a->upper[i] - z_upper;
        a->dz_lower[i] = -z_lower * a->dr[i] / a->lower[i] - z_lower;
    }
}

/* The second-order terms; dz holds centre + product until `finish`. */
static void correct(rmc_ipm_rows *a, double centre)
{
    for (size_t i = 0; i < a->n; i++) {
        const double u = centre + a->dr[i] * a->dz_upper[i];
        const double l = centre - a->dr[i] * a->dz_lower[i];

        a->dz_upper[i] = u;
        a->dz_lower[i] = l;
        a->push[i] = u / a->upper[i] - l / a->lower[i];
    }
}

static void finish(rmc_ipm_rows *a)
{
    for (size_t i = 0; i < a->n; i++) {
        const double z_upper = a->z_upper[i], z_lower = a->z_lower[i];

        a->dz_upper[i] =
            (a->dz_upper[i] + z_upper * a->dr[i]) / a->upper[i] - z_upper;
        a->dz_lower[i] =
            (a->dz_lower[i] - z_lower * a->dr[i]) / a->lower[i] - z_lower;
    }
}

static void move(rmc_ipm_rows *a, struct steps step)
{
    for (size_t i = 0; i < a->n; i++) {
        const double dr = step.primal * a->dr[i];

        a->r[i] += dr;
        a->upper[i] -= dr;
        a->lower[i] += dr;
        a->z_upper[i] += step.dual * a->dz_upper[i];
        a->z_lower[i] += step.dual * a->dz_lower[i];
    }
}

/* One iteration; 0 if it makes no progress. */
static int iterate(const rmc_ipm_problem *problem, rmc_ipm_rows *a)
{
    const struct steps none = {0.0, 0.0};
    const double mu = complementarity(a, none);

    for (size_t i = 0; i < a->n; i++) {
        a->weight[i] =
            a->z_upper[i] / a->upper[i] + a->z_lower[i] / a->lower[i];
        a->push[i] = 0.0;
    }
    if (!problem->factor(problem->ctx, a) || !problem->solve(problem->ctx, a)) {
        return 0;
    }
    predict(a);
    struct steps step = longest(a);
    step.primal = min_of(step.primal, 1.0);
    step.dual = min_of(step.dual, 1.0);
    const double left = complementarity(a, step) / mu;

    correct(a, left * left * left * mu);
    if (!problem->solve(problem->ctx, a)) {
        return 0;
    }
    finish(a);
    step = longest(a);
    step.primal = min_of(0.995 * step.primal, 1.0);
    step.dual = min_of(0.995 * step.dual, 1.0);
    move(a, step);
    return step.primal > 1e-10 || step.dual > 1e-10;
}

rmc_ipm_result rmc_ipm_solve(const rmc_ipm_problem *problem, rmc_ipm_rows *rows,
                             double tolerance, size_t max_iterations)
{
    rmc_ipm_result best = {.lower = 0.0, .upper = HUGE_VAL};

    for (size_t n = 0;; n++) {
        double lower, upper;

        problem->certify(problem->ctx, rows, &lower, &upper);
        best.lower = lower > best.lower ? lower : best.lower;
        best.upper = upper < best.upper ? upper : best.upper;
        best.is_closed = best.upper - best.lower <=
                         tolerance * (best.lower > 1e-3 ? best.lower : 1e-3);
        best.n_iterations = n;
        if (best.is_closed || n == max_iterations ||
            !(rmc_is_finite(lower) && rmc_is_finite(upper)) ||
            !iterate(problem, rows)) {
            return best;
        }
    }
}
