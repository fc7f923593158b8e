/*
 * gradient_check.c - a target's gradient against finite differences of its log
 * density.
 *
 *   [ridders]  central differences at steps h, h/1.4, h/1.4^2, ... are
 *              extrapolated to h = 0 (Ridders 1982); the
 *              disagreement within the table estimates the error.
 */
#include "base/sized_struct.h"
#include "relmc_diag.h"
#include "target/target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 12 };

struct probe {
    const relmc_target *target;
    double *x, *unused;  /* dim each */
    double size;         /* |lp|, whose last bits are noise */
    relmc_status failed; /* there was no memory for an evaluation */
};

static double lp_at(struct probe *probe, size_t i, double value)
{
    const double old = probe->x[i];
    double lp;

    probe->x[i] = value;
    const relmc_status status =
        relmc_target_eval(probe->target, 1, probe->x, &lp, probe->unused, NULL);
    probe->x[i] = old;
    if (status == RELMC_ENOMEM) {
        probe->failed = status;
    }
    return status ? (double)NAN : lp;
}

/* d lp / d x_i and an estimate of its error */
static double slope(struct probe *probe, size_t i, double h, double *fuzz)
{
    const double shrink = 1.4;
    double table[LEVELS][LEVELS];
    double best = (double)NAN;
    const double x = probe->x[i];

    *fuzz = HUGE_VAL;
    for (int a = 0; a < LEVELS; a++) {
        double factor = 1.0;
        const double up = x + h, down = x - h;

        table[0][a] =
            (lp_at(probe, i, up) - lp_at(probe, i, down)) / (up - down);
        for (int b = 1; b <= a; b++) {
            factor *= shrink * shrink;
            table[b][a] = (table[b - 1][a] * factor - table[b - 1][a - 1]) /
                          (factor - 1.0);
            /* what the extrapolation leaves open, and the rounding of lp */
            const double change =
                fmax(fabs(table[b][a] - table[b - 1][a]),
                     fabs(table[b][a] - table[b - 1][a - 1])) +
                0x1p-52 * probe->size / h;
            if (change <= *fuzz) {
                *fuzz = change;
                best = table[b][a];
            }
        }
        h /= shrink;
    }
    return best;
}

/* Two first steps: the better extrapolation wins. */
static double best_slope(struct probe *probe, size_t i, double *fuzz)
{
    const double scale = fabs(probe->x[i]) > 1.0 ? fabs(probe->x[i]) : 1.0;
    double fuzz2;
    const double coarse = slope(probe, i, 0.1 * scale, fuzz);
    const double fine = slope(probe, i, 0.002 * scale, &fuzz2);

    if (fuzz2 < *fuzz || coarse != coarse) {
        *fuzz = fuzz2;
        return fine;
    }
    return coarse;
}

relmc_status relmc_gradient_check(relmc_gradient_report *out,
                                  const relmc_target *target, const double *x,
                                  relmc_error *err)
{
    const size_t dim = target->dim;
    relmc_arena arena = {0};
    double *grad = relmc_arena_get(&arena, dim * sizeof *grad);
    struct probe probe = {target, rmc_arena_copy(&arena, x, dim),
                          relmc_arena_get(&arena, dim * sizeof *grad), 0.0,
                          RELMC_OK};
    relmc_status status = relmc_arena_check(&arena, err);
    relmc_gradient_report found = {.is_ok = 1};
    double lp;

    if (!status) {
        status = relmc_target_eval(target, 1, x, &lp, grad, err);
    }
    if (!status && !isfinite(lp)) {
        status = rmc_fail(err, RELMC_REJECT,
                          "gradient check: the log density is %g here", lp);
    }
    if (!status) {
        double worst = -1.0;

        probe.size = fabs(lp);
        for (size_t i = 0; i < dim; i++) {
            double fuzz;
            const double numeric = best_slope(&probe, i, &fuzz);
            const double scale = 1.0 + fabs(numeric);
            const double allowed = 1e-8 + 8.0 * fuzz / scale;
            const double error = fabs(grad[i] - numeric) / scale;
            const int is_ok = error <= allowed && allowed < 1e-2;

            found.is_ok &= is_ok;
            /* NaN is the worst of all, the first one stays */
            if (worst == worst && !(error / allowed <= worst)) {
                worst = error / allowed;
                found = (relmc_gradient_report){.worst = i,
                                                .max_error = error,
                                                .analytic = grad[i],
                                                .numeric = numeric,
                                                .numeric_fuzz = fuzz / scale,
                                                .is_ok = found.is_ok};
            }
        }
        status = probe.failed ? rmc_fail(err, probe.failed,
                                         "gradient check: out of memory")
                              : rmc_sized_fill(out, &found, sizeof found,
                                               "relmc_gradient_report", err);
    }
    rmc_arena_release(&arena);
    return status;
}
