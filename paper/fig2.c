/* fig2.c - the mass: ESS and cruising speed against it. */
#include "reproduce.h"

#include <math.h>
#include <stdlib.h>

static struct line over_mass(const struct sheet *sheet,
                             const struct claim *claim, const char *column)
{
    return sheet_line(sheet, claim->panel, "RHMC", "m", column);
}

/* Best ESS over that at the better end of the range of m. */
static double inner_optimum(const struct sheet *sheet,
                            const struct claim *claim)
{
    struct line s = over_mass(sheet, claim, "ess");
    double most = 0.0;

    for (size_t i = 0; i < s.n; i++) {
        most = fmax(most, s.y[i]);
    }
    const double ends = s.n ? fmax(s.y[0], s.y[s.n - 1]) : CLI_NAN;

    free(s.x);
    return most / ends;
}

/* Kendall's tau of -v and m. */
static double falls_with_mass(const struct sheet *sheet,
                              const struct claim *claim)
{
    struct line s = over_mass(sheet, claim, "speed");
    double sum = 0.0, pairs = 0.0;

    for (size_t i = 0; i < s.n; i++) {
        for (size_t j = i + 1; j < s.n; j++) {
            const double rise = (s.y[j] - s.y[i]) * (s.x[j] - s.x[i]);

            sum += rise < 0.0 ? 1.0 : -1.0;
            pairs++;
        }
    }
    free(s.x);
    return sum / pairs;
}

static double as_computed(const struct sheet *sheet, const struct claim *claim)
{
    struct line v = over_mass(sheet, claim, "speed"),
                w = over_mass(sheet, claim, "cruise");
    double worst = 0.0;

    for (size_t i = 0; i < v.n; i++) {
        worst = fmax(worst, fabs(v.y[i] - w.y[i]));
    }
    free(v.x);
    free(w.x);
    return 1.0 - worst;
}

/* ---- which of the two explains ESS ----------------------------------------- */

struct point {
    double by, y;
};

static int by_by(const void *a, const void *b)
{
    const double x = ((const struct point *)a)->by;
    const double y = ((const struct point *)b)->by;

    return (x > y) - (x < y);
}

/* The share of the variance of y between n / size groups of neighbours in
 * `by`. */
static double explained(struct point *p, size_t n, size_t size)
{
    double mean = 0.0, total = 0.0, between = 0.0;

    qsort(p, n, sizeof *p, by_by);
    for (size_t i = 0; i < n; i++) {
        mean += p[i].y / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        total += (p[i].y - mean) * (p[i].y - mean);
    }
    for (size_t i = 0; i < n; i += size) {
        const size_t here = n - i < size ? n - i : size;
        double sum = 0.0;

        for (size_t j = 0; j < here; j++) {
            sum += p[i + j].y - mean;
        }
        between += sum * sum / (double)here;
    }
    return between / total;
}

/* log ESS over (m, eps): what v/c explains of it, less what m explains, in as
 * many groups as there are masses. */
static double speed_over_mass(const struct sheet *sheet,
                              const struct claim *claim)
{
    struct line s = over_mass(sheet, claim, "ess");
    struct line v = over_mass(sheet, claim, "speed");
    struct point *p = cli_alloc(s.n + 1, sizeof *p);
    size_t size = 0;
    double gain = CLI_NAN;

    while (size < s.n && s.x[size] == s.x[0]) {
        size++; /* eps runs fastest: so many cells share a mass */
    }
    for (int round = 0; round < 2 && size; round++) {
        for (size_t i = 0; i < s.n; i++) {
            p[i] =
                (struct point){round ? v.y[i] : s.x[i], log(fmax(s.y[i], 1.0))};
        }
        const double share = explained(p, s.n, size);

        gain = round ? share - gain : share;
    }
    free(p);
    free(s.x);
    free(v.x);
    return gain;
}

const struct claim fig2_claims[] = {
    {"inner-optimum-c1", "ESS is best at an intermediate mass, c = 1",
     "best ESS over the larger of those at the ends of the "
     "range of m",
     inner_optimum, 1.2, 1.1, .panel = "c=1"},
    {"inner-optimum-c4", "the same with c = 4",
     "best ESS over the larger of those at the ends of the "
     "range of m",
     inner_optimum, 1.2, 1.1, .panel = "c=4"},
    {"speed-falls", "the cruising speed falls as the mass rises",
     "Kendall's tau between -v and m", falls_with_mass, 0.95, 0.5,
     .panel = "c=1"},
    {"closed-form", "ours: the cruising speed is that of the momentum law",
     "1 - largest difference of simulated and computed v / c", as_computed,
     0.99, 0.95, .panel = "c=1"},
    {"speed-explains-ess",
     "ESS goes with the cruising speed much better than with the "
     "mass",
     "share of the variance of log ESS over (m, eps) that v/c "
     "explains, less that of m",
     speed_over_mass, 0.1, 0.0, .panel = "mass-eps"},
    {0},
};
