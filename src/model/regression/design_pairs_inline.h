/*
 * design_pairs_inline.h - the kernels of design_inline.h for two panels at once, where there are
 * registers enough: a number of the data is loaded for both.  Without AVX-512
 * they are not there, nor is RMC_HAS_PAIRS.
 *
 * What belongs to the second panel lies `apart` from that of the first.
 */
#ifndef RMC_PAIR_H
#define RMC_PAIR_H

#include "model/regression/design_inline.h"

#ifdef __AVX512F__
#define RMC_HAS_PAIRS
#endif

/* In how many turns panels take a tile. */
static inline size_t rmc_turns(size_t panels)
{
#ifdef RMC_HAS_PAIRS
    return (panels + 1) / 2;
#else
    return panels;
#endif
}

#ifdef RMC_HAS_PAIRS

enum {
    RMC_APART = RMC_TILE * RMC_CELLS /* z of a panel, those of a tile */
};

/* Sum number c, of [dot-order], of 8 rows: s[2 r] and s[2 r + 1]. */
RMC_INLINED void rmc_pair_sum(size_t c, const rmc_block *b, size_t width,
                              const double *restrict x, size_t apart,
                              rmc_eight *restrict s)
{
    const size_t step = b->step;
    const double *row[RMC_ROWS];
    size_t i = c;

    RMC_EACH
    for (size_t r = 0; r < RMC_ROWS; r++) {
        row[r] = b->row[r];
        s[2 * r] = s[2 * r + 1] = rmc_eight_all(0.0);
    }
    for (size_t half = 0; half < 2; half++) {
        const size_t end = half ? width : width / 2;
        const char *later = b->next[c + 4 * half];

        for (; i < end; i += 4) {
            const rmc_eight u = rmc_eight_hold(x + i * RMC_WIDE);
            const rmc_eight v = rmc_eight_hold(x + i * RMC_WIDE + apart);

            rmc_fetch(later);
            later += step;
            RMC_EACH
            for (size_t r = 0; r < RMC_ROWS; r++) {
                const rmc_eight a = rmc_eight_all(row[r][i]);

                s[2 * r] = rmc_eight_fma(a, u, s[2 * r]);
                s[2 * r + 1] = rmc_eight_fma(a, v, s[2 * r + 1]);
            }
        }
    }
}

/* Two of these sums, added up. */
RMC_INLINED void rmc_pair_sums(size_t c, const rmc_block *b, size_t width,
                               const double *restrict x, size_t apart,
                               rmc_eight *restrict s)
{
    _Alignas(RMC_LINE) double kept[2 * RMC_CELLS];

    rmc_pair_sum(c, b, width, x, apart, s);
    RMC_EACH
    for (size_t j = 0; j < 2 * RMC_ROWS; j++) {
        rmc_eight_put(kept + j * RMC_WIDE, s[j]);
    }
    rmc_pair_sum(c + 1, b, width, x, apart, s);
    RMC_EACH
    for (size_t j = 0; j < 2 * RMC_ROWS; j++) {
        s[j] = rmc_eight_add(rmc_eight_at(kept + j * RMC_WIDE), s[j]);
    }
}

/* z[8 r + k] = a_r.x_k */
RMC_KERNEL void rmc_times_pair(const rmc_block *b, size_t width,
                               const double *restrict x, size_t apart,
                               double *restrict z)
{
    rmc_eight s[2 * RMC_ROWS];

    rmc_pair_sums(0, b, width, x, apart, s);
    RMC_EACH
    for (size_t r = 0; r < RMC_ROWS; r++) {
        rmc_eight_put(z + r * RMC_WIDE, s[2 * r]);
        rmc_eight_put(z + r * RMC_WIDE + RMC_APART, s[2 * r + 1]);
    }
    rmc_pair_sums(2, b, width, x, apart, s);
    RMC_EACH
    for (size_t r = 0; r < RMC_ROWS; r++) {
        double *to = z + r * RMC_WIDE;

        rmc_eight_put(to, rmc_eight_add(rmc_eight_at(to), s[2 * r]));
        to += RMC_APART;
        rmc_eight_put(to, rmc_eight_add(rmc_eight_at(to), s[2 * r + 1]));
    }
}

/* sum[8 i + k] += z[8 r + k] a_ri, row by row */
RMC_KERNEL void rmc_add_pair(const rmc_block *b, size_t width,
                             const double *restrict z, double *restrict sum,
                             size_t apart)
{
    const double *row[RMC_ROWS];
    rmc_eight by[2 * RMC_ROWS];

    RMC_EACH
    for (size_t r = 0; r < RMC_ROWS; r++) {
        row[r] = b->row[r];
        by[2 * r] = rmc_eight_hold(z + r * RMC_WIDE);
        by[2 * r + 1] = rmc_eight_hold(z + r * RMC_WIDE + RMC_APART);
    }
    RMC_UNROLL
    for (size_t i = 0; i < width; i++) {
        double *to = sum + i * RMC_WIDE;
        rmc_eight s = rmc_eight_at(to), t = rmc_eight_at(to + apart);

        RMC_EACH
        for (size_t r = 0; r < RMC_ROWS; r++) {
            const rmc_eight a = rmc_eight_all(row[r][i]);

            s = rmc_eight_fma(a, by[2 * r], s);
            t = rmc_eight_fma(a, by[2 * r + 1], t);
        }
        rmc_eight_put(to, s);
        rmc_eight_put(to + apart, t);
    }
}

#endif

#endif
