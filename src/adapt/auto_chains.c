/* auto_chains.c - the draws of all chains in a phase: finds stuck chains and restarts
 * them. */
#include "adapt/auto_tuner.h"

size_t rmc_tuner_find_stuck(struct rmc_tuner *a, const relmc_sync *m,
                            const struct rmc_phase *p)
{
    const size_t dim = a->metric.dim;

    RMC_FOR_CHAINS(m, e, k, chain)
    {
        const struct rmc_tuner *b = m->self[e];
        const size_t row = rmc_tuner_row(b, p, k);

        a->view[chain] = rmc_look(dim, p->n, b->x + row * dim, b->g + row * dim,
                                  b->lp + row, a->work);
    }
    return rmc_find_stuck(dim, m->sys[0]->run.chains, a->view, a->is_stuck);
}

size_t rmc_tuner_collect(const struct rmc_tuner *a, const relmc_sync *m,
                         const struct rmc_phase *p, size_t t, double **x,
                         double **g)
{
    size_t n = 0;

    RMC_FOR_CHAINS(m, e, k, chain)
    {
        const struct rmc_tuner *b = m->self[e];
        const size_t at = (rmc_tuner_row(b, p, k) + t) * a->metric.dim;

        if (!a->is_stuck[chain]) {
            x[n] = b->x + at;
            if (g) {
                g[n] = b->g + at;
            }
            n++;
        }
    }
    return n;
}

/* Lane k goes on from a row of another lane. */
static void move_lane(relmc_system *sys, relmc_state *z, size_t k,
                      const struct rmc_tuner *from, size_t row)
{
    const relmc_shape *s = &sys->shape;

    for (size_t i = 0; i < s->dim; i++) {
        z->x[i * s->ld + k] = from->x[row * s->dim + i];
        z->g[i * s->ld + k] = from->g[row * s->dim + i];
    }
    z->lp[k] = from->lp[row];
}

/* Lane k of ensemble e goes on from a row of the phase, of a chain that is not
 * stuck: each of them is as likely. */
static void restart_lane(const struct rmc_tuner *a, const relmc_sync *m,
                         const struct rmc_phase *p, size_t n_good, size_t e,
                         size_t k)
{
    relmc_stream *stream = &m->sys[e]->lanes.streams[RELMC_FOR_INIT][k];
    const size_t host = (size_t)(relmc_uniform(stream) * (double)n_good);
    const size_t t = (size_t)(relmc_uniform(stream) * (double)p->n);
    size_t good = 0;

    RMC_FOR_CHAINS(m, f, j, other)
    {
        if (!a->is_stuck[other] && good++ == host) {
            const struct rmc_tuner *b = m->self[f];

            move_lane(m->sys[e], m->z[e], k, b, rmc_tuner_row(b, p, j) + t);
            m->sys[e]->move.eps[k] = m->sys[f]->move.eps[j];
        }
    }
}

void rmc_tuner_restart(struct rmc_tuner *a, const relmc_sync *m,
                       const struct rmc_phase *p, size_t n_good)
{
    const int is_late = p->task != RMC_WINDOW || p[1].task != RMC_WINDOW;

    RMC_FOR_CHAINS(m, e, k, chain)
    {
        if (!a->is_stuck[chain]) {
            continue;
        }
        restart_lane(a, m, p, n_good, e, k);
        a->n_restarts++;
        if (is_late) {
            a->is_late[chain] = 1;
        }
    }
}
