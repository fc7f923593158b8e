/*
 * rng.c - random numbers one at a time, as public functions.  A number depends on
 * (seed, chain, purpose, position) only: a stream has no other state.
 */
#include "base/base.h"

uint64_t relmc_bits(relmc_stream *s)
{
    return rmc_draw_bits(s);
}

double relmc_uniform(relmc_stream *s)
{
    return rmc_draw_uniform(s);
}

double relmc_normal(relmc_stream *s)
{
    return rmc_draw_normal(s);
}

double relmc_exponential(relmc_stream *s)
{
    return rmc_draw_exponential(s);
}

double relmc_gamma(relmc_stream *s, double shape)
{
    return rmc_draw_gamma(s, shape);
}
