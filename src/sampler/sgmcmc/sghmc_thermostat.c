/*
 * sghmc_thermostat.c - friction of sghmc and sgnht beyond the heat bath: the
 * thermostat, and the noise of gradients.
 *
 *   [SGNHT]           a friction zeta v, with mu d zeta' = |v|^2 - T lap K
 *   [noise-friction]  the noise of gradients, of variance B^, is part of the bath:
 *                     friction makes up for it
 */
#include "sampler/sgmcmc/sghmc.h"

/* ---- [SGNHT] ------------------------------------------------------------- */

void RMC_ISA(rmc_sghmc_open_thermostat)(struct rmc_sghmc *h,
                                        const relmc_system *sys)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape *s = &sys->shape;
    const size_t n =
        h->thermostat == RMC_THERMOSTAT_EACH ? rmc_cells(s) : s->ld;

    memset(h->room, 0, rmc_cells(s) * sizeof *h->room);
    if (h->thermostat == RMC_THERMOSTAT_EACH) {
        kin->ops->curvature(kin->self, s, h->room, h->mu);
    } else {
        kin->ops->laplacian(kin->self, s, h->room, h->mu);
    }
    for (size_t j = 0; j < n; j++) {
        if (rmc_is_finite(h->inertia)) {
            h->mu[j] =
                h->inertia *
                (h->thermostat == RMC_THERMOSTAT_EACH ? 1.0 : (double)s->dim);
        }
    }
}

void RMC_ISA(rmc_sghmc_move_thermostat)(struct rmc_sghmc *h,
                                        const relmc_system *sys,
                                        const double *p, double f)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape *s = &sys->shape;
    const double w = f * h->time;

    kin->ops->velocity(kin->self, s, p, h->room);
    if (h->thermostat == RMC_THERMOSTAT_EACH) {
        kin->ops->curvature(kin->self, s, p, h->room2);
        for (size_t j = 0; j < rmc_cells(s); j++) {
            const double v = h->room[j];

            h->zeta[j] += w * h->path.on[j % s->ld] / h->mu[j] *
                          rmc_fma(v, v, -h->T * h->room2[j]);
        }
        return;
    }
    kin->ops->laplacian(kin->self, s, p, h->lap);
    for (size_t k = 0; k < s->ld; k++) {
        double sum = -h->T * h->lap[k];

        for (size_t i = 0; i < s->dim; i++) {
            const double v = h->room[i * s->ld + k];
            sum = rmc_fma(v, v, sum);
        }
        h->zeta[k] += w * h->path.on[k] / h->mu[k] * sum;
    }
}

/* Friction on cell j beyond the heat bath, for a whole step: zeta, and [noise-friction]
 * for the gradient noise of variance B^, which acts as a bath. */
static inline double extra_friction(const struct rmc_sghmc *h, size_t j,
                                    size_t k)
{
    double sum = 0.0;

    if (h->has_thermostat) {
        sum = h->time * h->zeta[h->thermostat == RMC_THERMOSTAT_EACH ? j : k];
    }
    if (h->variances) {
        sum += h->kick * h->kick * h->variances[j] / (2.0 * h->T);
    }
    return sum * h->path.on[k];
}

/* dp/dt = -z v for a share f of the step: p exp(-f z v/p) with the v/p of the
 * middle. */
void RMC_ISA(rmc_sghmc_rub)(struct rmc_sghmc *h, const relmc_system *sys,
                            double *p, double f)
{
    const relmc_kinetic *kin = &sys->move.kinetic;
    const relmc_shape *s = &sys->shape;
    const size_t n = rmc_cells(s);

    kin->ops->velocity(kin->self, s, p, h->room);
    for (size_t j = 0; j < n; j++) {
        const double w = p[j] != 0.0 ? h->room[j] / p[j] : 0.0;

        h->room2[j] =
            p[j] * rmc_exp(-0.5 * f * extra_friction(h, j, j % s->ld) * w);
    }
    kin->ops->velocity(kin->self, s, h->room2, h->room);
    for (size_t j = 0; j < n; j++) {
        const double w = h->room2[j] != 0.0 ? h->room[j] / h->room2[j] : 0.0;

        p[j] *= rmc_exp(-f * extra_friction(h, j, j % s->ld) * w);
    }
}

void RMC_ISA(rmc_sghmc_watch_noise)(struct rmc_sghmc *h,
                                    const relmc_system *sys,
                                    const relmc_state *z)
{
    enum { MEMORY = 1000 };
    const relmc_shape *s = &sys->shape;
    const size_t n = rmc_cells(s);
    relmc_state whitened = {.g = z->g, .p = h->room};

    memset(h->room, 0, n * sizeof *h->room);
    sys->move.integrator->kick(sys, &whitened, h->path.on, 1.0);
    for (size_t j = 0; j < n; j++) {
        const double n_seconds = h->n_seen[j % s->ld] - 1.0;
        const double w = n_seconds < 1.0
                             ? 0.0
                             : 1.0 / (n_seconds < MEMORY ? n_seconds : MEMORY);
        const double change = h->room[j] - h->before[j];
        const double second = change - h->change[j];
        const double square = second * second / 6.0;

        if (w > 0.0 && rmc_is_finite(square)) {
            h->variances[j] =
                rmc_fma(w, square - h->variances[j], h->variances[j]);
        }
        h->before[j] = h->room[j];
        h->change[j] = change;
    }
    for (size_t k = 0; k < s->lanes; k++) {
        h->n_seen[k] += h->path.on[k];
    }
}

void RMC_ISA(rmc_sghmc_forget_noise)(struct rmc_sghmc *h, const relmc_shape *s,
                                     size_t k)
{
    for (size_t j = k; h->noise != 0.0 && j < rmc_cells(s); j += s->ld) {
        h->variances[j] = 0.0;
    }
    h->n_seen[k] = 0.0;
}

double RMC_ISA(rmc_sghmc_stored)(const struct rmc_sghmc *h,
                                 const relmc_shape *s, size_t k)
{
    const size_t n = !h->has_thermostat                     ? 0
                     : h->thermostat == RMC_THERMOSTAT_EACH ? rmc_cells(s)
                                                            : s->ld;
    double sum = 0.0;

    for (size_t j = k; j < n; j += s->ld) {
        sum += 0.5 * h->mu[j] * h->zeta[j] * h->zeta[j];
    }
    return sum;
}
