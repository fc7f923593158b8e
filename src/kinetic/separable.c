/*
 * separable.c - relativistic kinetic energy with a speed limit per coordinate.
 *
 *   [K-sep]    K(p) = sum_j p_j^2 / (m_j + M_j),  M_j = sqrt(m_j^2 + p_j^2/c_j^2)
 *   [v-sep]    dK/dp_j = p_j / M_j
 *   [lap-sep]  d2K/dp_j2 = m_j^2 / M_j^3
 *
 * |dK/dp_j| < c_j always, and c -> infinity gives [K-newton].  This is the
 * paper's sum of m c^2 (sqrt(p^2/(m c)^2 + 1) - 1): the rest energy is left out
 * because it would swallow the digits that [MH] needs, and the quotient keeps
 * them where the difference would lose them.
 */
#include "kinetic/separable.h"

#include "base/special.h"
#include "kinetic/separable_momentum.h"
#include "relmc_diag.h"

static double element(const relmc_vector *v, size_t i, double fallback)
{
    return !v->values ? fallback : v->values[v->n == 1 ? 0 : i];
}

static relmc_status check(const struct rmc_separable *k, size_t dim,
                          relmc_error *err)
{
    const struct {
        const char *name;
        const relmc_vector *v;
    } vectors[] = {{"m", &k->m}, {"c", &k->c}};

    for (size_t i = 0; i < 2; i++) {
        const size_t n = vectors[i].v->n;
        if (n > 1 && n != dim) {
            return rmc_fail(err, RELMC_EINVAL,
                            "separable: %s has %zu values for %zu coordinates",
                            vectors[i].name, n, dim);
        }
    }
    if (k->m.values && k->cruise == k->cruise) {
        return rmc_fail(err, RELMC_EINVAL,
                        "separable: give m or cruise, not both");
    }
    return RELMC_OK;
}

/* One table per distinct beta, as long as they are few. */
static const double *table_of(struct rmc_separable *k, double beta,
                              relmc_arena *arena)
{
    for (size_t t = 0; t < k->n_tables; t++) {
        if (k->table_beta[t] == beta) {
            return k->tables[t];
        }
    }
    if (k->n_tables == RMC_MAX_TABLES) {
        return NULL;
    }
    double *table = relmc_arena_get(arena, RMC_TABLE_SIZE * sizeof *table);
    if (table) {
        RMC_ISA(rmc_hyperbolic_tabulate)(beta, table);
        k->tables[k->n_tables] = table;
        k->table_beta[k->n_tables++] = beta;
    }
    return table;
}

static relmc_status init(void *self, relmc_arena *arena, size_t dim,
                         relmc_error *err)
{
    struct rmc_separable *k = self;
    const relmc_status status = check(k, dim, err);
    double **const columns[] = {&k->mass,   &k->mass2, &k->inv_c,
                                &k->inv_c2, &k->beta,  &k->root_mass};

    if (status) {
        return status;
    }
    for (size_t j = 0; j < sizeof columns / sizeof *columns; j++) {
        *columns[j] = relmc_arena_get(arena, dim * sizeof(double));
    }
    k->table = relmc_arena_get(arena, dim * sizeof *k->table);
    if (arena->has_failed) {
        return relmc_arena_check(arena, err);
    }
    k->is_uniform = k->m.n <= 1 && k->c.n <= 1;
    const double wanted =
        k->cruise == k->cruise ? relmc_cruise_beta(1, k->cruise) : 0.0;
    /* [natural-c] E |v| as for K = p^2/2 */
    const double usual_c =
        wanted > 0.0 ? sqrt(2.0) * rmc_gamma_half_step(0.5) / k->cruise : 1.0;
    for (size_t i = 0; i < dim; i++) {
        const double c = element(&k->c, i, usual_c);
        const double m =
            wanted > 0.0 ? wanted / (c * c) : element(&k->m, i, 1.0);

        k->mass[i] = m;
        k->mass2[i] = m * m;
        k->inv_c[i] = 1.0 / c;
        k->inv_c2[i] = 1.0 / (c * c);
        k->beta[i] = wanted > 0.0 ? wanted : m * c * c;
        k->root_mass[i] = sqrt(m);
        k->table[i] = table_of(k, k->beta[i], arena);
    }
    return relmc_arena_check(arena, err);
}

/* [refresh] by tables where there are, then the rest, coordinate by coordinate:
 * a lane's numbers are used in the same order whatever its neighbours do. */
static void refresh(const void *self, const relmc_shape *s,
                    relmc_stream *streams, double *p)
{
    const struct rmc_separable *kin = self;

    rmc_fill_bits(s, streams, p);
    if (kin->n_tables == 1) {
        RMC_ISA(rmc_hyperbolic_transform)(kin->table[0], rmc_cells(s), p);
    }
    for (size_t i = 0; i < s->dim; i++) {
        double *row = p + i * s->ld;

        if (!kin->table[i]) {
            for (size_t k = 0; k < s->lanes; k++) {
                row[k] =
                    RMC_ISA(rmc_hyperbolic_reject)(&streams[k], kin->beta[i]);
            }
        } else if (kin->n_tables > 1) {
            RMC_ISA(rmc_hyperbolic_transform)(kin->table[i], s->ld, row);
        }
    }
    for (size_t i = 0; i < s->dim; i++) {
        for (size_t k = 0; k < s->ld; k++) {
            p[i * s->ld + k] *= kin->root_mass[i];
        }
    }
}

/* [K-sep] relativistic mass of one coordinate */
static inline double rel_mass(double p, double mass2, double inv_c2)
{
    return sqrt(rmc_fma(p * inv_c2, p, mass2));
}

/*
 * [partial-refresh]  T/W | p ~ InverseGaussian(1/M, c^2/T), drawn without
 * cancellation from y = N^2 T/(M c^2), s = 1/(1 + y/2 + sqrt(y + y^2/4)): W/T is
 * M/s with probability 1/(1+s), else M s.  Then p <- a p + sqrt((1-a^2) W) z.
 * Here: w, a uniform before, becomes W/T.
 */
static inline void draw_widths(size_t n, size_t stride, const double *mass2,
                               const double *inv_c2, double T,
                               const double *restrict p,
                               const double *restrict normal,
                               double *restrict w)
{
    for (size_t j = 0; j < n; j++) {
        const double q = inv_c2[j * stride];
        const double M = rel_mass(p[j], mass2[j * stride], q);
        const double y = normal[j] * normal[j] * T * q / M;
        const double d = 1.0 + 0.5 * y + sqrt(rmc_fma(0.25 * y, y, y));

        w[j] = M * (rmc_fma(w[j], 1.0 / d, w[j]) <= 1.0 ? d : 1.0 / d);
    }
}

/* [O-step] with the friction of the paper, a = exp(-D h T/W). */
static inline void rub(size_t n, const relmc_bath *bath,
                       const double *restrict w, const double *restrict normal,
                       double *restrict p)
{
    for (size_t j = 0; j < n; j++) {
        const double a = rmc_exp(-bath->rate / w[j]);

        p[j] =
            rmc_fma(a, p[j],
                    sqrt((1.0 - a * a) * bath->temperature * w[j]) * normal[j]);
    }
}

static void partial(const void *self, const relmc_shape *s,
                    relmc_stream *streams, const relmc_bath *bath, double *p,
                    double *work)
{
    const struct rmc_separable *kin = self;
    const size_t n = rmc_cells(s);
    const double a = bath->keep, T = bath->temperature;
    double *normal = work, *w = work + n;

    rmc_fill_normal(s, streams, normal);
    rmc_fill_uniform(s, streams, w);
    if (s->ld == 1) {
        draw_widths(n, 1, kin->mass2, kin->inv_c2, T, p, normal, w);
    }
    for (size_t j = 0; j < n && s->ld > 1; j += s->ld) {
        const size_t i = j / s->ld;
        draw_widths(s->ld, 0, &kin->mass2[i], &kin->inv_c2[i], T, p + j,
                    normal + j, w + j);
    }
    rmc_fill_normal(s, streams, normal);
    if (bath->rate > 0.0) {
        rub(n, bath, w, normal, p);
        return;
    }
    for (size_t j = 0; j < n; j++) {
        p[j] = rmc_fma(a, p[j], sqrt((1.0 - a * a) * T * w[j]) * normal[j]);
    }
}

static void energy(const void *self, const relmc_shape *s,
                   const double *restrict p, double *restrict e)
{
    const struct rmc_separable *kin = self;

    for (size_t k = 0; k < s->ld; k++) {
        e[k] = 0.0;
    }
    for (size_t i = 0; i < s->dim; i++) {
        const double m = kin->mass[i], mass2 = kin->mass2[i];
        const double inv_c2 = kin->inv_c2[i];

        for (size_t k = 0; k < s->ld; k++) {
            const double q = p[i * s->ld + k];
            e[k] += q * q / (m + rel_mass(q, mass2, inv_c2));
        }
    }
}

/* The loop over coordinates is the long one when there is a single lane (stride
 * 1 of the parameters), the loop over lanes otherwise (stride 0). */
static inline void velocities(size_t n, size_t stride, const double *mass2,
                              const double *inv_c2, const double *restrict p,
                              double *restrict v)
{
    for (size_t j = 0; j < n; j++) {
        v[j] = p[j] / rel_mass(p[j], mass2[j * stride], inv_c2[j * stride]);
    }
}

static void velocity(const void *self, const relmc_shape *s, const double *p,
                     double *v)
{
    const struct rmc_separable *kin = self;

    if (s->ld == 1) {
        velocities(s->dim, 1, kin->mass2, kin->inv_c2, p, v);
        return;
    }
    for (size_t i = 0; i < s->dim; i++) {
        velocities(s->ld, 0, &kin->mass2[i], &kin->inv_c2[i], p + i * s->ld,
                   v + i * s->ld);
    }
}

static void laplacian(const void *self, const relmc_shape *s,
                      const double *restrict p, double *restrict lap)
{
    const struct rmc_separable *kin = self;

    for (size_t k = 0; k < s->ld; k++) {
        lap[k] = 0.0;
    }
    for (size_t i = 0; i < s->dim; i++) {
        const double mass2 = kin->mass2[i], inv_c2 = kin->inv_c2[i];

        for (size_t k = 0; k < s->ld; k++) {
            const double M = rel_mass(p[i * s->ld + k], mass2, inv_c2);
            lap[k] += mass2 / M / (M * M);
        }
    }
}

/* [lap-sep] */
static void curvature(const void *self, const relmc_shape *s,
                      const double *restrict p, double *restrict out)
{
    const struct rmc_separable *kin = self;

    for (size_t i = 0; i < s->dim; i++) {
        const double mass2 = kin->mass2[i], inv_c2 = kin->inv_c2[i];

        for (size_t k = 0; k < s->ld; k++) {
            const double M = rel_mass(p[i * s->ld + k], mass2, inv_c2);

            out[i * s->ld + k] = mass2 / M / (M * M);
        }
    }
}

static void speed(const void *self, const relmc_shape *s,
                  const double *restrict p, double *restrict out)
{
    const struct rmc_separable *kin = self;
    const double w = 1.0 / (double)s->dim;

    for (size_t k = 0; k < s->ld; k++) {
        out[k] = 0.0;
    }
    for (size_t i = 0; i < s->dim; i++) {
        const double mass2 = kin->mass2[i], inv_c2 = kin->inv_c2[i];
        const double inv_c = w * kin->inv_c[i];

        for (size_t k = 0; k < s->ld; k++) {
            const double q = p[i * s->ld + k];
            out[k] += fabs(q) * inv_c / rel_mass(q, mass2, inv_c2);
        }
    }
}

/* ---- the law of speeds ------------------------------------------------------ */

static double cruise(const void *self, size_t dim)
{
    const struct rmc_separable *kin = self;
    double sum = 0.0, last = 0.0;

    for (size_t i = 0; i < dim; i++) {
        if (i == 0 || kin->beta[i] != kin->beta[i - 1]) {
            last = relmc_cruise_speed(1, kin->beta[i]);
        }
        sum += last;
    }
    return sum / (double)dim;
}

static const relmc_param params[] = {
    {"m", "rest mass m, of all coordinates or of each; default 1", 1e-12, 1e12,
     (double)NAN, offsetof(struct rmc_separable, m), RELMC_VECTOR},
    {"c",
     "speed of light c, of all coordinates or of each; default 1, or with "
     "cruise what makes E|v| that of Newtonian particles of mass 1",
     1e-12, 1e12, (double)NAN, offsetof(struct rmc_separable, c), RELMC_VECTOR},
    {"cruise", "mean speed over c, in place of m", 1e-6, 0.999999, (double)NAN,
     offsetof(struct rmc_separable, cruise), RELMC_REAL},
    {0},
};

const relmc_kinetic_ops RMC_ISA(rmc_kinetic_separable) = {
    .info = {"kinetic", "separable",
             "relativistic, a speed limit per coordinate", params},
    .state_size = sizeof(struct rmc_separable),
    .init = init,
    .has_limit = 1,
    .refresh = refresh,
    .partial = partial,
    .energy = energy,
    .velocity = velocity,
    .laplacian = laplacian,
    .curvature = curvature,
    .speed = speed,
    .cruise = cruise,
    .push_float = RMC_ISA(rmc_separable_push_float),
    .weigh_float = RMC_ISA(rmc_separable_weigh_float),
    .heat_float = RMC_ISA(rmc_separable_heat_float),
};
