/*
 * descent_loops_inline.h - the loops of optimisers over all cells, written over a
 * type `real`.  Inlined because descent_inline.h includes it twice, with
 *
 *   LOOP(name)        the name of a loop
 *   fma_of(a, b, c)   a b + c
 *   sqrt_of(a)
 *
 * A cell depends on no other, so a loop may write y in place of x.
 */

/* [SGD-momentum] */
static inline void LOOP(momentum)(size_t n, real mu, real eta, real keep,
                                  const real *x, const real *g, real *u,
                                  real *y)
{
    RMC_INDEPENDENT
    for (size_t j = 0; j < n; j++) {
        const real to = fma_of(mu, u[j], eta * g[j]);

        y[j] = fma_of(keep, x[j], to);
        u[j] = to;
    }
}

/* [Nesterov] */
static inline void LOOP(nesterov)(size_t n, real mu, real eta, real keep,
                                  const real *x, const real *g, real *u,
                                  real *y)
{
    RMC_INDEPENDENT
    for (size_t j = 0; j < n; j++) {
        const real kick = eta * g[j], to = fma_of(mu, u[j], kick);

        y[j] = fma_of(keep, x[j], fma_of(mu, to, kick));
        u[j] = to;
    }
}

/* [Adam] with eta over 1 - b1^t, and `correct` = 1 / (1 - b2^t) */
static inline void LOOP(adam)(size_t n, const struct rmc_scaling *a,
                              const real *x, const real *g, real *m, real *V,
                              real *y)
{
    const real b1 = (real)a->beta1, c1 = (real)(1.0 - a->beta1);
    const real b2 = (real)a->beta2, c2 = (real)(1.0 - a->beta2);
    const real eta = (real)a->rate, e = (real)a->epsilon;
    const real keep = (real)a->keep, scale = (real)a->slope;
    const real correct = (real)a->correct;

    RMC_INDEPENDENT
    for (size_t j = 0; j < n; j++) {
        const real slope = scale * g[j];
        const real first = fma_of(b1, m[j], c1 * slope);
        const real second = fma_of(b2, V[j], c2 * (slope * slope));

        m[j] = first;
        V[j] = second;
        y[j] =
            fma_of(keep, x[j], eta * first / (sqrt_of(correct * second) + e));
    }
}

/* [RMSprop] [Adagrad] V <- b2 V + share g^2 */
static inline void LOOP(scaled)(size_t n, const struct rmc_scaling *a,
                                double share_of, const real *x, const real *g,
                                real *V, real *y)
{
    const real b2 = (real)a->beta2, share = (real)share_of;
    const real eta = (real)a->rate, e = (real)a->epsilon;
    const real keep = (real)a->keep, scale = (real)a->slope;

    RMC_INDEPENDENT
    for (size_t j = 0; j < n; j++) {
        const real slope = scale * g[j];
        const real second = fma_of(b2, V[j], share * (slope * slope));

        V[j] = second;
        y[j] = fma_of(keep, x[j], eta * slope / (sqrt_of(second) + e));
    }
}
