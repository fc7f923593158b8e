/*
 * rng.c - random numbers one at a time.  A stream is nothing but a position, so
 * a number depends on (seed, chain, purpose, position) and on nothing else.
 */
#include "base.h"

void rmc_philox(const uint32_t counter[4], const uint32_t key[2],
                uint32_t out[4])
{
    const uint64_t seed = key[0] | (uint64_t)key[1] << 32;
    const uint64_t at[4] = {counter[0] | (uint64_t)counter[1] << 32};
    const uint64_t id[4] = {counter[2] | (uint64_t)counter[3] << 32};
    uint64_t lo[4], hi[4];

    rmc_philox4(seed, at, id, lo, hi);
    out[0] = (uint32_t)lo[0];
    out[1] = (uint32_t)(lo[0] >> 32);
    out[2] = (uint32_t)hi[0];
    out[3] = (uint32_t)(hi[0] >> 32);
}

uint64_t relmc_bits(relmc_stream *s)
{
    const uint64_t block = s->word / 2;
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32),
                                 s->chain, s->purpose};
    const uint32_t key[2] = {(uint32_t)s->seed, (uint32_t)(s->seed >> 32)};
    const size_t half = 2 * (s->word & 1);
    uint32_t out[4];

    rmc_philox(counter, key, out);
    s->word++;
    return out[half] | (uint64_t)out[half + 1] << 32;
}

double relmc_uniform(relmc_stream *s)
{
    return rmc_unit(relmc_bits(s));
}

double relmc_normal(relmc_stream *s)
{
    return rmc_normal_quantile(relmc_uniform(s));
}

double relmc_exponential(relmc_stream *s)
{
    return -rmc_log(relmc_uniform(s));
}

/*
 * [gamma] Marsaglia and Tsang (2000): v = (1 + x / sqrt(9 d))^3 with x normal
 * and d = shape - 1/3, accepted with more than 95 %.  A shape below 1 is raised
 * by 1 and brought back by a power of a uniform.
 */
double relmc_gamma(relmc_stream *s, double shape)
{
    const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0;
    const double c = 1.0 / sqrt(9.0 * d);
    double lift = 1.0, x, v;

    if (shape < 1.0) {
        lift = rmc_exp(-relmc_exponential(s) / shape);
    }
    do {
        do {
            x = relmc_normal(s);
            v = rmc_fma(c, x, 1.0);
        } while (v <= 0.0);
        v = v * v * v;
    } while (rmc_log(relmc_uniform(s)) >=
             0.5 * x * x + d * (1.0 - v + rmc_log(v)));
    return d * v * lift;
}
