/* sha256.c - the digest SHA-256 (FIPS 180-4). */
#include "sha256.h"

#include <string.h>

/* First 32 bits of the fractional parts of the cube roots of the first 64
 * primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n)
{
    return (x >> n) | (x << (32 - n));
}

static void extend(uint32_t w[64], const unsigned char *block)
{
    for (int t = 0; t < 16; t++) {
        const unsigned char *b = block + (ptrdiff_t)4 * t;

        w[t] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
               (uint32_t)b[2] << 8 | (uint32_t)b[3];
    }
    for (int t = 16; t < 64; t++) {
        const uint32_t a = w[t - 15], b = w[t - 2];

        w[t] = w[t - 16] + (turn(a, 7) ^ turn(a, 18) ^ (a >> 3)) + w[t - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ (b >> 10));
    }
}

static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

    extend(w, block);
    for (int t = 0; t < 64; t++) {
        const uint32_t first = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
                               ((e & f) ^ (~e & g)) + constants[t] + w[t];
        const uint32_t second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) +
                                ((a & b) ^ (a & c) ^ (b & c));

        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void sha256_start(struct sha256 *sha)
{
    /* the same of the square roots of the first 8 primes */
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                      0xa54ff53a, 0x510e527f, 0x9b05688c,
                                      0x1f83d9ab, 0x5be0cd19};

    *sha = (struct sha256){0};
    memcpy(sha->state, start, sizeof start);
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t n)
{
    const unsigned char *from = bytes;
    const size_t kept = (size_t)(sha->n_bytes % sizeof sha->block);

    sha->n_bytes += n;
    if (kept > 0) {
        const size_t gap = sizeof sha->block - kept;
        const size_t m = n < gap ? n : gap;

        memcpy(sha->block + kept, from, m);
        if (m < gap) {
            return;
        }
        compress(sha->state, sha->block);
        from += m;
        n -= m;
    }
    for (; n >= sizeof sha->block; n -= sizeof sha->block) {
        compress(sha->state, from);
        from += sizeof sha->block;
    }
    if (n > 0) {
        memcpy(sha->block, from, n);
    }
}

void sha256_end(struct sha256 *sha, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    static const unsigned char padding[64] = {0x80};
    const uint64_t n_bits = 8 * sha->n_bytes;
    const size_t kept = (size_t)(sha->n_bytes % 64);
    unsigned char length[8];

    for (int i = 0; i < 8; i++) {
        length[i] = (unsigned char)(n_bits >> (56 - 8 * i));
    }
    sha256_add(sha, padding, kept < 56 ? 56 - kept : 120 - kept);
    sha256_add(sha, length, sizeof length);
    for (int i = 0; i < 64; i++) {
        hex[i] = digits[(sha->state[i / 8] >> (28 - 4 * (i % 8))) & 15];
    }
    hex[64] = '\0';
}
