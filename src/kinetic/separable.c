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
#include "base/special.h"
#include "kinetic/separable_float.h"
#include "kinetic/separable_momentum.h"
#include "relmc_diag.h"

enum { MAX_TABLES = 8 };

struct separable {
    relmc_vector m, c;
    double cruise;
    double *mass, *mass2; /* dim: m_j, m_j^2 */
    double *inv_c, *inv_c2;
    double *beta;         /* m_j c_j^2 */
    double *root_mass;    /* sqrt(m_j): momentum is that times [hyperbolic] */
    const double **table; /* dim: quantile table of beta_j, NULL if none */
    size_t n_tables;
    int is_uniform; /* m and c are the same for all coordinates */
    double *tables[MAX_TABLES];
    double table_beta[MAX_TABLES];
};

static double element(const relmc_vector *v, size_t i, double fallback)
{
    return !v->values ? fallback : v->values[v->n == 1 ? 0 : i];
}

static relmc_status check(const struct separable *k, size_t dim,
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
static const double *table_of(struct separable *k, double beta,
                              relmc_arena *arena)
{
    for (size_t t = 0; t < k->n_tables; t++) {
        if (k->table_beta[t] == beta) {
            return k->tables[t];
        }
    }
    if (k->n_tables == MAX_TABLES) {
        return NULL;
    }
    double *table = relmc_arena_get(arena, RMC_TABLE_SIZE * sizeof *table);
    if (table) {
        rmc_hyperbolic_tabulate(beta, table);
        k->tables[k->n_tables] = table;
        k->table_beta[k->n_tables++] = beta;
    }
    return table;
}

static relmc_status init(void *self, relmc_arena *arena, size_t dim,
                         relmc_error *err)
{
    struct separable *k = self;
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
    const struct separable *kin = self;

    rmc_fill_bits(s, streams, p);
    if (kin->n_tables == 1) {
        rmc_hyperbolic_transform(kin->table[0], rmc_cells(s), p);
    }
    for (size_t i = 0; i < s->dim; i++) {
        double *row = p + i * s->ld;

        if (!kin->table[i]) {
            for (size_t k = 0; k < s->lanes; k++) {
                row[k] = rmc_hyperbolic_reject(&streams[k], kin->beta[i]);
            }
        } else if (kin->n_tables > 1) {
            rmc_hyperbolic_transform(kin->table[i], s->ld, row);
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
    const struct separable *kin = self;
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
    const struct separable *kin = self;

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
    const struct separable *kin = self;

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
    const struct separable *kin = self;

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
    const struct separable *kin = self;

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
    const struct separable *kin = self;
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

/* ---- single precision ------------------------------------------------------- */

/* One cell, with w = 1 / (m c); rate and drift are times c. */
static inline void push_cell(const relmc_push *by, float w, float g, float *p,
                             float *x)
{
    const float rub =
        by->rate != 0.0F
            ? by->rate * rmc_single_velocity(rmc_single_bounded(w * *p))
            : 0.0F;
    const float to = __builtin_fmaf(by->keep, *p, by->kick * g) - rub;
    const float v = rmc_single_velocity(rmc_single_bounded(w * to));

    *p = to;
    *x = __builtin_fmaf(by->drift, v, by->shrink * *x);
}

static inline void push_uniform(size_t n, const relmc_push *given, float w,
                                const float *restrict g, float *restrict p,
                                float *restrict x)
{
    const relmc_push by = *given;

    for (size_t j = 0; j < n; j++) {
        push_cell(&by, w, g[j], &p[j], &x[j]);
    }
}

static void push_float(const void *self, const relmc_shape *s,
                       const relmc_push *by, const float *g, float *p, float *x)
{
    const struct separable *kin = self;
    const size_t n = rmc_cells(s);

    for (size_t j = 0; j < n && !kin->is_uniform; j++) {
        const size_t i = j / s->ld;
        const float c = (float)(1.0 / kin->inv_c[i]);
        const relmc_push here = {by->keep, c * by->rate, by->kick, by->shrink,
                                 c * by->drift};

        push_cell(&here, (float)(kin->inv_c[i] / kin->mass[i]), g[j], &p[j],
                  &x[j]);
    }
    if (kin->is_uniform) {
        const float c = (float)(1.0 / kin->inv_c[0]);
        const float w = (float)(kin->inv_c[0] / kin->mass[0]);
        relmc_push all = {by->keep, 0.0F, by->kick, by->shrink, c * by->drift};

        if (by->rate == 0.0F) { /* a constant, for the compiler */
            push_uniform(n, &all, w, g, p, x);
            return;
        }
        all.rate = c * by->rate;
        push_uniform(n, &all, w, g, p, x);
    }
}

/* Up to so many coordinates at a time. */
enum { TILE = 64 };

/* [K-sep] is m c^2 q^2 / (1 + sqrt(1 + q^2)): q becomes that over m c^2, and
 * speed |v| / c. */
static inline void weigh_tile(float q[TILE], float speed[TILE])
{
    for (size_t j = 0; j < TILE; j++) {
        const float root = sqrtf(__builtin_fmaf(q[j], q[j], 1.0F));
        const float next = 1.0F + root, over = 1.0F / (root * next);
        const float size = q[j] < 0.0F ? -q[j] : q[j];

        speed[j] = size * (next * over);
        q[j] = size * (size * (root * over));
    }
}

/* A lane, whose energies are summed in the same order for any number of them. */
static inline void weigh_lane(const struct separable *kin, size_t n, size_t ld,
                              int is_uniform, const float *restrict p,
                              double *energy, double *speed)
{
    enum { SUMS = 8 };
    const float usual = (float)(kin->inv_c[0] / kin->mass[0]);
    double energies[SUMS] = {0}, speeds[SUMS] = {0};
    float q[TILE] = {0}, v[TILE];

    for (size_t at = 0; at < n; at += TILE) {
        const size_t here = n - at < TILE ? n - at : TILE;

        for (size_t j = 0; j < here; j++) {
            const float w =
                is_uniform ? usual
                           : (float)(kin->inv_c[at + j] / kin->mass[at + j]);
            q[j] = rmc_single_bounded(w * p[(at + j) * ld]);
        }
        weigh_tile(q, v);
        for (size_t j = 0; j < here; j++) {
            const double beta = kin->beta[is_uniform ? 0 : at + j];

            energies[j % SUMS] += beta * (double)q[j];
            speeds[j % SUMS] += (double)v[j];
        }
    }
    *energy = *speed = 0.0;
    for (size_t j = 0; j < SUMS; j++) {
        *energy += energies[j];
        *speed += speeds[j] / (double)n;
    }
}

static void weigh_float(const void *self, const relmc_shape *s, const float *p,
                        double *energy, double *speed)
{
    const struct separable *kin = self;

    if (kin->is_uniform && s->ld == 1) { /* constants, for the compiler */
        weigh_lane(kin, s->dim, 1, 1, p, energy, speed);
        return;
    }
    for (size_t k = 0; k < s->lanes; k++) {
        weigh_lane(kin, s->dim, s->ld, kin->is_uniform, p + k, &energy[k],
                   &speed[k]);
    }
}

/* The coordinates from `at` on, or all if they are alike. */
static void heat_of(const struct separable *kin, const relmc_heat *by,
                    size_t at, size_t n, struct rmc_heat *h)
{
    const double T = by->bath.temperature, a = (double)(float)by->bath.keep;

    h->keep = (float)a;
    h->kick[0] = by->kick[0];
    h->kick[1] = by->kick[1];
    h->is_explicit = by->is_explicit;
    h->is_at_rest = by->drift[1] == 0.0F;
    for (size_t j = 0; j < RMC_HEAT_TILE; j++) {
        const size_t i = kin->is_uniform ? 0 : at + (j < n ? j : 0);
        const double c = 1.0 / kin->inv_c[i], w = kin->inv_c[i] / kin->mass[i];
        const double s = w < 0x1p-30 ? 1.0 : 0x1p-60; /* w s is a float, too */

        h->w[j] = (float)(w * s);
        h->unit[j] = (float)(s * s);
        h->width[j] = (float)sqrt(0.5 * T / kin->beta[i] * s);
        h->power[j] =
            (float)(by->is_explicit
                        ? 2.0 * sqrt(by->bath.rate * T)
                        : sqrt(2.0 * (1.0 - a * a) * T * kin->mass[i] / s));
        h->rub[j] = (float)(c * by->bath.rate);
        h->drift[0][j] = (float)(c * (double)by->drift[0]);
        h->drift[1][j] = (float)(c * (double)by->drift[1]);
    }
}

static void heat_float(const void *self, size_t dim, size_t ld,
                       relmc_stream *stream, const relmc_heat *by,
                       const float *g, float *p, float *x)
{
    const struct separable *kin = self;
    struct rmc_heat h;

    rmc_single_keys(stream->seed, h.key);
    for (size_t at = 0; at < dim; at += RMC_HEAT_TILE) {
        const size_t left = dim - at;
        const size_t n = left < RMC_HEAT_TILE ? left : RMC_HEAT_TILE;

        if (at == 0 || !kin->is_uniform) {
            heat_of(kin, by, at, n, &h);
        }
        if (ld == 1 && n == RMC_HEAT_TILE) {
            rmc_heat_tile(&h, stream, g + at, p + at, x + at);
        } else {
            rmc_heat_some(&h, stream, n, ld, g + at * ld, p + at * ld,
                          x + at * ld);
        }
    }
}

/* ---- the law of speeds ------------------------------------------------------ */

static double cruise(const void *self, size_t dim)
{
    const struct separable *kin = self;
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
     (double)NAN, offsetof(struct separable, m), RELMC_VECTOR},
    {"c",
     "speed of light c, of all coordinates or of each; default 1, or with "
     "cruise what makes E|v| that of Newtonian particles of mass 1",
     1e-12, 1e12, (double)NAN, offsetof(struct separable, c), RELMC_VECTOR},
    {"cruise", "mean speed over c, in place of m", 1e-6, 0.999999, (double)NAN,
     offsetof(struct separable, cruise), RELMC_REAL},
    {0},
};

const relmc_kinetic_ops RMC_ISA(rmc_kinetic_separable) = {
    .info = {"kinetic", "separable",
             "relativistic, a speed limit per coordinate", params},
    .state_size = sizeof(struct separable),
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
    .push_float = push_float,
    .weigh_float = weigh_float,
    .heat_float = heat_float,
};
