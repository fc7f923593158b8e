/*
 * fft.c - sums of lagged products by fast Fourier transforms.
 *
 * Two chains are the real and imaginary parts of one complex series z; the real
 * part of its autocorrelation is the sum of theirs.  z is cut into blocks of B,
 * which also is the number of lags (Rader 1970).  With Z_k the transform of
 * block k followed by B zeros, that of the block followed by its successor is
 * Z_k + (-1)^f Z_k+1, and
 *
 *   [lag-sums]  sum_k conj(Z_k) (Z_k + (-1)^f Z_k+1)
 *
 * is the transform of the lagged sums, lag 0 .. B - 1.  The first step of a
 * transform of 2B numbers, half of which are zeros, leaves two of B numbers:
 * the even frequencies, of z itself, and the odd ones, of z turned by w^t,
 * w = exp(-i pi / B).  Forward transforms leave the frequencies in the order of
 * their reversed digits; the one inverse transform takes them so.
 */
#include "diag/convergence/series_inline.h"

#include <stdlib.h>
#include <string.h>

typedef struct complexes {
    double *re, *im;
} complexes;

/* A transform of B numbers, even and odd frequencies of a block of B. */
typedef struct spectrum {
    complexes even, odd;
} spectrum;

typedef struct plan {
    size_t size;        /* B, a power of 2 */
    complexes turn;     /* B: w^t */
    double *twiddle;    /* of all steps, the first one first */
    spectrum now, next; /* blocks k and k + 1 */
    spectrum sum;
} plan;

/* ---- butterflies --------------------------------------------------------- */

/* One step of radix 4 on 4q numbers: over a quarter each, then times the
 * powers of u = exp(-2 pi i / 4q); tw holds u^j, u^2j, u^3j, j < q, re and im
 * apart. */
static inline __attribute__((always_inline)) void
butterflies(double *restrict re, double *restrict im, size_t q,
            const double *restrict tw)
{
    double *restrict re1 = re + q, *restrict re2 = re1 + q,
                     *restrict re3 = re2 + q;
    double *restrict im1 = im + q, *restrict im2 = im1 + q,
                     *restrict im3 = im2 + q;

    RMC_INDEPENDENT
    for (size_t j = 0; j < q; j++) {
        const double ar = re[j] + re2[j], ai = im[j] + im2[j];
        const double br = re[j] - re2[j], bi = im[j] - im2[j];
        const double cr = re1[j] + re3[j], ci = im1[j] + im3[j];
        const double dr = im1[j] - im3[j], di = re3[j] - re1[j];
        const double pr = br + dr, pi = bi + di;
        const double qr = ar - cr, qi = ai - ci;
        const double sr = br - dr, si = bi - di;

        re[j] = ar + cr;
        im[j] = ai + ci;
        re1[j] = pr * tw[j] - pi * tw[q + j];
        im1[j] = pr * tw[q + j] + pi * tw[j];
        re2[j] = qr * tw[2 * q + j] - qi * tw[3 * q + j];
        im2[j] = qr * tw[3 * q + j] + qi * tw[2 * q + j];
        re3[j] = sr * tw[4 * q + j] - si * tw[5 * q + j];
        im3[j] = sr * tw[5 * q + j] + si * tw[4 * q + j];
    }
}

/* The last steps, on neighbours: radix 4 without twiddles, or radix 2. */
static inline __attribute__((always_inline)) void
last_butterflies(double *restrict re, double *restrict im, size_t n,
                 size_t radix)
{
    for (size_t j = 0; radix == 4 && j < n; j += 4) {
        const double ar = re[j] + re[j + 2], ai = im[j] + im[j + 2];
        const double br = re[j] - re[j + 2], bi = im[j] - im[j + 2];
        const double cr = re[j + 1] + re[j + 3], ci = im[j + 1] + im[j + 3];
        const double dr = im[j + 1] - im[j + 3], di = re[j + 3] - re[j + 1];

        re[j] = ar + cr;
        im[j] = ai + ci;
        re[j + 1] = br + dr;
        im[j + 1] = bi + di;
        re[j + 2] = ar - cr;
        im[j + 2] = ai - ci;
        re[j + 3] = br - dr;
        im[j + 3] = bi - di;
    }
    for (size_t j = 0; radix == 2 && j < n; j += 2) {
        const double r = re[j + 1], i = im[j + 1];

        re[j + 1] = re[j] - r;
        im[j + 1] = im[j] - i;
        re[j] += r;
        im[j] += i;
    }
}

static inline __attribute__((always_inline)) void forward_any(const plan *p,
                                                              complexes z)
{
    const double *tw = p->twiddle;
    size_t q = p->size / 4;

    for (; q > 1; tw += 6 * q, q /= 4) {
        for (size_t s = 0; s < p->size; s += 4 * q) {
            /* a constant, so that the loop becomes one vector */
            if (q == 4) {
                butterflies(z.re + s, z.im + s, 4, tw);
            } else {
                butterflies(z.re + s, z.im + s, q, tw);
            }
        }
    }
    last_butterflies(z.re, z.im, p->size, q ? 4 : 2);
}

RMC_WIDE(forward, (const plan *p, complexes z), (p, z))

/* The way back of one step, times 4. */
static inline __attribute__((always_inline)) void
inverse_butterflies(double *restrict re, double *restrict im, size_t q,
                    const double *restrict tw)
{
    double *restrict re1 = re + q, *restrict re2 = re1 + q,
                     *restrict re3 = re2 + q;
    double *restrict im1 = im + q, *restrict im2 = im1 + q,
                     *restrict im3 = im2 + q;

    RMC_INDEPENDENT
    for (size_t j = 0; j < q; j++) { /* times the conjugates of u^kj */
        const double r1 = re1[j] * tw[j] + im1[j] * tw[q + j];
        const double i1 = im1[j] * tw[j] - re1[j] * tw[q + j];
        const double r2 = re2[j] * tw[2 * q + j] + im2[j] * tw[3 * q + j];
        const double i2 = im2[j] * tw[2 * q + j] - re2[j] * tw[3 * q + j];
        const double r3 = re3[j] * tw[4 * q + j] + im3[j] * tw[5 * q + j];
        const double i3 = im3[j] * tw[4 * q + j] - re3[j] * tw[5 * q + j];
        const double ar = re[j] + r2, ai = im[j] + i2;
        const double br = r1 + r3, bi = i1 + i3;
        const double cr = re[j] - r2, ci = im[j] - i2;
        const double dr = i3 - i1, di = r1 - r3;

        re[j] = ar + br;
        im[j] = ai + bi;
        re1[j] = cr + dr;
        im1[j] = ci + di;
        re2[j] = ar - br;
        im2[j] = ai - bi;
        re3[j] = cr - dr;
        im3[j] = ci - di;
    }
}

/* Undoes forward, but for a factor B. */
static inline __attribute__((always_inline)) void inverse_any(const plan *p,
                                                              complexes z)
{
    static const double no_turn[6] = {1.0, 0.0, 1.0, 0.0, 1.0, 0.0};
    const size_t top = p->size / 4;
    size_t q = top, skip = 0;

    for (; q > 1; q /= 4) {
        skip += 6 * q;
    }
    if (q) {
        for (size_t s = 0; s < p->size; s += 4) {
            inverse_butterflies(z.re + s, z.im + s, 1, no_turn);
        }
    } else {
        last_butterflies(z.re, z.im, p->size, 2);
    }
    for (q = q ? 4 : 2; q <= top; q *= 4) {
        skip -= 6 * q;
        for (size_t s = 0; s < p->size; s += 4 * q) {
            inverse_butterflies(z.re + s, z.im + s, q, p->twiddle + skip);
        }
    }
}

RMC_WIDE(inverse, (const plan *p, complexes z), (p, z))

/* ---- a plan -------------------------------------------------------------- */

/* w^k, k < 2B: the second half is the first with another sign. */
static double turned(const double *w, size_t size, size_t k)
{
    return k < size ? w[k] : -w[k - size];
}

static void fill_twiddles(plan *p)
{
    const double pi = 3.14159265358979323846;
    double *tw = p->twiddle;

    for (size_t t = 0; t < p->size; t++) {
        const double angle = pi * (double)t / (double)p->size;

        p->turn.re[t] = cos(angle);
        p->turn.im[t] = -sin(angle);
    }
    for (size_t q = p->size / 4; q > 1; tw += 6 * q, q /= 4) {
        const size_t step = p->size / (2 * q);

        for (size_t j = 0; j < 3 * q; j++) {
            const size_t power = j / q + 1, at = power * (j % q) * step;
            double *to = tw + (2 * power - 2) * q + j % q;

            to[0] = turned(p->turn.re, p->size, at);
            to[q] = turned(p->turn.im, p->size, at);
        }
    }
}

static complexes take(double **room, size_t n)
{
    const complexes z = {*room, *room + n};

    *room += 2 * n;
    return z;
}

static spectrum take_spectrum(double **room, size_t n)
{
    spectrum s;

    s.even = take(room, n);
    s.odd = take(room, n);
    return s;
}

/* Blocks of 16 B numbers: 2B turns, 2B twiddles, three spectra. */
static double *plan_create(plan *p, size_t size)
{
    double *room = calloc(16 * size, sizeof *room), *at = room;

    if (room) {
        p->size = size;
        p->turn = take(&at, size);
        p->now = take_spectrum(&at, size);
        p->next = take_spectrum(&at, size);
        p->sum = take_spectrum(&at, size);
        p->twiddle = at;
        fill_twiddles(p);
    }
    return room;
}

/* ---- sums of lagged products --------------------------------------------- */

/* out = z w^t */
static inline __attribute__((always_inline)) void
turn_any(const plan *p, complexes z, complexes out)
{
    for (size_t t = 0; t < p->size; t++) {
        const double re = z.re[t], im = z.im[t];

        out.re[t] = re * p->turn.re[t] - im * p->turn.im[t];
        out.im[t] = re * p->turn.im[t] + im * p->turn.re[t];
    }
}

RMC_WIDE(turn, (const plan *p, complexes z, complexes out), (p, z, out))

/* Both halves of the spectrum of draws t .. t + B - 1 of two chains; past the
 * end there are zeros, and b may be absent. */
static void load(const plan *p, const double *a, const double *b, size_t n,
                 spectrum *out)
{
    const size_t n_here = n < p->size ? n : p->size;
    const size_t rest = (p->size - n_here) * sizeof(double);

    memcpy(out->even.re, a, n_here * sizeof *a);
    memset(out->even.re + n_here, 0, rest);
    memset(out->even.im, 0, p->size * sizeof *a);
    if (b) {
        memcpy(out->even.im, b, n_here * sizeof *b);
    }
    turn(p, out->even, out->odd);
    forward(p, out->even);
    forward(p, out->odd);
}

/* sum += conj(z) (z + sign next) */
static inline __attribute__((always_inline)) void
accumulate_any(size_t n, complexes sum, complexes z, complexes next,
               double sign)
{
    for (size_t f = 0; f < n; f++) {
        const double re = z.re[f] + sign * next.re[f];
        const double im = z.im[f] + sign * next.im[f];

        sum.re[f] += z.re[f] * re + z.im[f] * im;
        sum.im[f] += z.re[f] * im - z.im[f] * re;
    }
}

RMC_WIDE(accumulate,
         (size_t n, complexes sum, complexes z, complexes next, double sign),
         (n, sum, z, next, sign))

static void add_chains(plan *p, const double *a, const double *b, size_t n)
{
    load(p, a, b, n, &p->now);
    for (size_t t = p->size; t - p->size < n; t += p->size) {
        const int is_last = t >= n;
        const double on = is_last ? 0.0 : 1.0; /* what follows the end is 0 */

        if (!is_last) {
            load(p, a + t, b ? b + t : NULL, n - t, &p->next);
        }
        accumulate(p->size, p->sum.even, p->now.even, p->next.even, on);
        accumulate(p->size, p->sum.odd, p->now.odd, p->next.odd, -on);

        const spectrum done = p->now;
        p->now = p->next;
        p->next = done;
    }
}

int rmc_lag_sums(const double *x, size_t n_chains, size_t n, size_t n_lags,
                 double *sum)
{
    plan p = {0};
    size_t size = 4;

    while (size < n_lags) {
        size *= 2;
    }
    double *room = plan_create(&p, size);
    if (!room) {
        return 0;
    }
    for (size_t c = 0; c < n_chains; c += 2) {
        const double *a = x + c * n;

        add_chains(&p, a, c + 1 < n_chains ? a + n : NULL, n);
    }
    inverse(&p, p.sum.even);
    inverse(&p, p.sum.odd);
    for (size_t t = 0; t < n_lags; t++) {
        const double even = p.sum.even.re[t];
        const double odd =
            p.sum.odd.re[t] * p.turn.re[t] + p.sum.odd.im[t] * p.turn.im[t];

        sum[t] = (even + odd) / (2.0 * (double)size);
    }
    free(room);
    return 1;
}
