/* archive.c - the same calls write the state of a component and read it. */
#include "base/archive.h"

#include <errno.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static void add_byte(struct rmc_hash *hash, unsigned char byte)
{
    hash->word |= (uint64_t)byte << 8 * hash->n;
    if (++hash->n == 8) {
        hash->value = mix(hash->value, hash->word);
        hash->word = 0;
        hash->n = 0;
    }
}

void rmc_hash_add(struct rmc_hash *hash, const void *data, size_t bytes)
{
    const unsigned char *at = data, *end = at + bytes;

    while (at < end && hash->n) {
        add_byte(hash, *at++);
    }
    for (; end - at >= 8; at += 8) {
        uint64_t word = 0;

        for (unsigned i = 0; i < 8; i++) { /* any order of bytes */
            word |= (uint64_t)at[i] << 8 * i;
        }
        hash->value = mix(hash->value, word);
    }
    while (at < end) {
        add_byte(hash, *at++);
    }
}

uint64_t rmc_hash_end(const struct rmc_hash *hash)
{
    return mix(mix(hash->value, hash->word), hash->n + 1);
}

int relmc_archive_is_reading(const relmc_archive *a)
{
    return !a->out;
}

void relmc_archive_fail(relmc_archive *a, const char *why)
{
    a->why = a->why ? a->why : why;
}

int relmc_archive_has_failed(const relmc_archive *a)
{
    return a->why != NULL;
}

static void take(relmc_archive *a, void *data, size_t bytes)
{
    if (!a->why && bytes > (size_t)(a->end - a->at)) {
        relmc_archive_fail(a, "it ends too early");
    }
    if (a->why) {
        memset(data, 0, bytes);
        return;
    }
    memcpy(data, a->at, bytes);
    a->at += bytes;
}

void rmc_archive_put(relmc_archive *a, const void *data, size_t bytes)
{
    rmc_hash_add(&a->hash, data, bytes);
    a->bytes += bytes;
    if (bytes && !a->why && fwrite(data, 1, bytes, a->out) != bytes) {
        a->error = errno; /* others will be at work before it is told */
        relmc_archive_fail(a, "it cannot be written");
    }
}

void relmc_archive_bytes(relmc_archive *a, void *data, size_t bytes)
{
    if (bytes == 0) {
        return; /* data may be NULL */
    }
    if (a->out) {
        rmc_archive_put(a, data, bytes);
    } else {
        take(a, data, bytes);
    }
}

void relmc_archive_reals(relmc_archive *a, double *values, size_t n)
{
    relmc_archive_bytes(a, values, n * sizeof *values);
}

void relmc_archive_lane(relmc_archive *a, const relmc_shape *s, size_t k,
                        double *block)
{
    for (size_t i = 0; i < s->dim; i++) {
        relmc_archive_bytes(a, &block[i * s->ld + k], sizeof *block);
    }
}

uint64_t relmc_archive_count(relmc_archive *a, uint64_t n, uint64_t most)
{
    relmc_archive_bytes(a, &n, sizeof n);
    if (!a->out && n > most) {
        relmc_archive_fail(a, "a number in it is out of range");
        n = 0;
    }
    return n;
}
