/* auto_plan.c - the phases of warm-up, and the rows in which their draws are kept. */
#include "adapt/auto_tuner.h"

static void add_phase(struct rmc_tuner *a, struct rmc_phase phase)
{
    if (phase.end > phase.from && a->n_phases < RMC_MAX_PHASES) {
        a->phases[a->n_phases++] = phase;
    }
}

/* Windows that grow.  The first ones are short, because chains are still on their
 * way to the target, and trees are kept small until there is a metric. */
static void plan_windows(struct rmc_tuner *a, int64_t end)
{
    static const struct {
        int64_t end;
        int32_t max_depth;
    } usual[] = {{30, 6},  {50, 7},  {75, 8},  {100, 0}, {150, 0},
                 {250, 0}, {450, 0}, {850, 0}, {1650, 0}};
    int64_t from = end / 10 < 15 ? end / 10 : 15;

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const int64_t here = usual[i].end;

        if (end - here < here - from) {
            break; /* the last one would be shorter than this */
        }
        add_phase(a, (struct rmc_phase){.task = RMC_WINDOW,
                                        .from = from,
                                        .end = here,
                                        .max_depth = usual[i].max_depth});
        from = here;
    }
    add_phase(a,
              (struct rmc_phase){.task = RMC_WINDOW, .from = from, .end = end});
    for (size_t i = 0; i < 2 && i < a->n_phases; i++) {
        a->phases[a->n_phases - 1 - i].may_warp = 1;
    }
}

static void plan_phases(struct rmc_tuner *a, const relmc_system *sys,
                        int64_t warmup)
{
    const int has_limit = sys->move.wanted.ops->has_limit;
    const int64_t most = a->has_engines ? 240 : 150;
    const int64_t tail = warmup < 2 * most ? warmup / 2 : most;
    int64_t at = warmup - tail;

    if (warmup < 20) { /* too few for more than a step size */
        add_phase(a,
                  (struct rmc_phase){RMC_STEP, .end = warmup, .is_wanted = 1});
        return;
    }
    plan_windows(a, at);
    if (a->has_engines && has_limit) {
        add_phase(
            a, (struct rmc_phase){RMC_STEP, at, at + tail / 3, .is_wanted = 0});
        at += tail / 3;
    }
    const int pilot = rmc_tuner_engine(sys, "ghmc");
    const int64_t end = pilot >= 0 ? warmup - tail / 3 : warmup;
    add_phase(a, (struct rmc_phase){RMC_STEP, at, end, .is_wanted = 1});
    add_phase(a, (struct rmc_phase){RMC_PILOT, end, warmup, .is_wanted = 1,
                                    .engine = pilot});
}

/* Each window uses the rows from the first one on.  The phases after the windows
 * share them, since their draws are needed together. */
static void plan_rows(struct rmc_tuner *a, int64_t stride)
{
    size_t tail = 0;

    a->stride = stride;
    a->room = 1;
    for (size_t i = 0; i < a->n_phases; i++) {
        struct rmc_phase *p = &a->phases[i];

        p->n = (size_t)((p->end - p->from + stride - 1) / stride);
        p->row = p->task == RMC_WINDOW ? 0 : tail;
        tail += p->task == RMC_WINDOW ? 0 : p->n;
        a->room = p->row + p->n > a->room ? p->row + p->n : a->room;
    }
}

/* Some draws are left out if there are very many, or very many dimensions. */
static void plan_memory(struct rmc_tuner *a, size_t dim)
{
    const double bytes = 64e6; /* per chain */
    const double fit = bytes / (2.0 * sizeof(double) * (double)dim);
    const double most = fit < 2000.0 ? fit : 2000.0;

    plan_rows(a, 1);
    if ((double)a->room > most) {
        plan_rows(a, 1 + (int64_t)((double)a->room / most));
    }
}

void rmc_tuner_plan(struct rmc_tuner *a, const relmc_system *sys,
                    int64_t warmup)
{
    plan_phases(a, sys, warmup);
    plan_memory(a, sys->shape.dim);
}
