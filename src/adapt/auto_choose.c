/* auto_choose.c - the step size after a phase, and the engine at the end of warm-up. */
#include "adapt/auto_tuner.h"
#include "adapt/engine_score.h"

/* The median of the averaged steps of all chains. */
static double pool_steps(struct rmc_tuner *a, const relmc_sync *m)
{
    size_t n = 0;

    RMC_FOR_CHAINS(m, e, k, chain)
    {
        const struct rmc_tuner *b = m->self[e];
        if (!a->is_stuck[chain]) {
            a->level[n++] = b->steps.log_eps_bar[k];
        }
    }
    return rmc_exp(rmc_median(a->level, n));
}

static void set_steps(const relmc_sync *m, double eps)
{
    for (size_t e = 0; e < m->n; e++) {
        for (size_t k = 0; k < m->sys[e]->shape.lanes; k++) {
            m->sys[e]->move.eps[k] = eps;
        }
    }
}

/* [crossing-time]  In units of the metric the target is sqrt(lambda) times longer
 * than wide; a momentum should last as long as it takes to cross it.  The whitened
 * draws overwrite the gradients, which are not needed any more. */
static double crossing_time(struct rmc_tuner *a, const relmc_sync *m,
                            const struct rmc_phase *p)
{
    const size_t n_chains = rmc_tuner_collect(a, m, p, 0, a->rows_x, a->rows_g);
    const size_t bytes = p->n * a->metric.dim * sizeof(double);

    for (size_t c = 0; c < n_chains; c++) {
        memcpy(a->rows_g[c], a->rows_x[c], bytes);
    }
    return a->time * sqrt(rmc_metric_stretch(&a->metric, a->rows_g, n_chains,
                                             p->n, a->kind));
}

void rmc_tuner_end_step(struct rmc_tuner *a, const relmc_sync *m,
                        struct rmc_phase *p)
{
    const size_t n_stuck = rmc_tuner_find_stuck(a, m, p);

    p->eps = pool_steps(a, m);
    if (n_stuck) { /* before crossing_time overwrites the gradients */
        rmc_tuner_restart(a, m, p, m->sys[0]->run.chains - n_stuck);
    }
    set_steps(m, p->eps);
    const double time = crossing_time(a, m, p);
    for (size_t e = 0; e < m->n; e++) {
        m->sys[e]->move.time = time;
    }
}

/* ---- the engine ------------------------------------------------------------ */

/* Of the chains that are not stuck. */
static double count_gradients(const struct rmc_tuner *a, const relmc_sync *m,
                              size_t phase)
{
    double sum = 0.0;

    RMC_FOR_CHAINS(m, e, k, chain)
    {
        const struct rmc_tuner *b = m->self[e];
        sum += a->is_stuck[chain] ? 0.0 : b->n_grad[k * RMC_MAX_PHASES + phase];
    }
    return sum;
}

/* [sticky], [neck]  All chains together. */
static struct rmc_verdict judge(struct rmc_tuner *a, const relmc_sync *m,
                                const struct rmc_phase *p)
{
    double **accept = a->rows_x, **lp = a->rows_g;

    RMC_FOR_CHAINS(m, e, k, chain)
    {
        const struct rmc_tuner *b = m->self[e];

        accept[chain] = b->accept + rmc_tuner_row(b, p, k);
        lp[chain] = b->lp + rmc_tuner_row(b, p, k);
    }
    return rmc_judge(m->sys[0]->run.chains, p->n, (const double *const *)accept,
                     (const double *const *)lp);
}

/* [pilot-score] of the phases from `first` on. */
static void score_phases(struct rmc_tuner *a, const relmc_sync *m, size_t first)
{
    struct rmc_pilot pilots[RMC_MAX_CANDIDATES];
    double scores[RMC_MAX_CANDIDATES];
    const size_t n = a->n_phases - first;

    for (size_t i = 0; i < n; i++) {
        const struct rmc_phase *p = &a->phases[first + i];
        double **rows = a->rows_x + i * m->sys[0]->run.chains;

        pilots[i] = (struct rmc_pilot){
            .n_chains =
                rmc_tuner_collect(a, m, p, rmc_tuner_first_fair(p), rows, NULL),
            .n = p->n - rmc_tuner_first_fair(p),
            .x = (const double *const *)rows,
            .n_grad = count_gradients(a, m, first + i),
        };
    }
    rmc_score(scores, a->metric.dim, pilots, n, a->work);
    for (size_t i = 0; i < n; i++) {
        a->phases[first + i].score = scores[i];
    }
}

int rmc_tuner_engine(const relmc_system *sys, const char *name)
{
    const char *const *engines = sys->move.engines;

    for (int i = 0; engines && engines[i]; i++) {
        if (strcmp(engines[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* The phase whose engine, kinetic energy and step size are used from now on: NUTS
 * with the kinetic energy of the options, unless another one is clearly better.  If
 * steps fail in some places only, WALNUTS, which changes them on the way.  In necks
 * longer steps pay, since there a macro step is many small ones whatever its size. */
static struct rmc_phase choose(struct rmc_tuner *a, const relmc_sync *m,
                               size_t first)
{
    const struct rmc_phase *last = &a->phases[a->n_phases - 1];
    const struct rmc_phase *usual = last->task == RMC_PILOT ? last - 1 : last;
    struct rmc_phase best = *usual;

    best.why = "score";
    if (last->task != RMC_PILOT) {
        return best;
    }
    const struct rmc_verdict v = judge(a, m, last);
    const int walnuts = rmc_tuner_engine(m->sys[0], "walnuts");
    if (walnuts >= 0 && v.neck < a->neck) {
        best.engine = walnuts;
        best.why = "neck";
        return best;
    }
    if (walnuts >= 0 && v.sticky > a->sticky) {
        best.engine = walnuts;
        best.eps *= a->shorten;
        best.why = "sticky";
        return best;
    }
    for (size_t i = first; i < a->n_phases; i++) {
        const struct rmc_phase *p = &a->phases[i];

        if (p->score > a->margin * usual->score && p->score > best.score) {
            best = *p;
            best.why = "score";
        }
    }
    return best;
}

void rmc_tuner_decide(struct rmc_tuner *a, const relmc_sync *m)
{
    struct rmc_phase *last = &a->phases[a->n_phases - 1];
    size_t first = a->n_phases, n_stuck = 0;

    while (first > 0 && a->phases[first - 1].task != RMC_WINDOW) {
        first--;
    }
    if (last->task == RMC_PILOT) { /* it used the step of the phase before */
        last->eps = a->phases[a->n_phases - 2].eps;
        n_stuck = rmc_tuner_find_stuck(a, m, last);
    }
    if (a->has_engines) {
        score_phases(a, m, first);
    }
    const struct rmc_phase best = choose(a, m, first);
    if (n_stuck) {
        rmc_tuner_restart(a, m, last, m->sys[0]->run.chains - n_stuck);
    }
    set_steps(m, best.eps);
    for (size_t e = 0; e < m->n; e++) {
        relmc_system *sys = m->sys[e];

        sys->move.kinetic =
            best.is_wanted ? sys->move.wanted : sys->move.newtonian;
        sys->move.engine = best.engine;
        sys->frame.epoch++;
    }
    rmc_tuner_report(a, m->sys[0], first, &best);
}
