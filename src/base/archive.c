/* archive.c - writes the state of a component, and reads it by the same calls. */
#include "base/archive.h"

#include "relmc_format.h"

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

        for (unsigned i = 0; i < 8; i++) { /* the same for any byte order */
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
        a->error = errno; /* later calls change it */
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

void rmc_archive_array(relmc_archive *a, relmc_arena *arena, double **values,
                       size_t n_rows, size_t width)
{
    const size_t n = n_rows * width;

    if (!a->out) {
        const size_t left = (size_t)(a->end - a->at) / sizeof **values;

        if (width && n_rows > left / width) {
            relmc_archive_fail(a, "it ends too early");
        }
        *values =
            a->why ? NULL : relmc_arena_get(arena, n * sizeof **values + 1);
        if (!*values) {
            relmc_archive_fail(a, "out of memory");
            return;
        }
    }
    relmc_archive_reals(a, *values, n);
}

void rmc_archive_text(relmc_archive *a, relmc_arena *arena, const char **text)
{
    const size_t n =
        (size_t)relmc_archive_count(a, a->out ? strlen(*text) : 0, 1 << 20);

    if (a->out) {
        rmc_archive_put(a, *text, n);
        return;
    }
    char *room = relmc_arena_get(arena, n + 1);
    *text = room ? room : "";
    if (room) {
        relmc_archive_bytes(a, room, n);
    } else {
        relmc_archive_fail(a, "out of memory");
    }
}

/* ---- heads ------------------------------------------------------------------- */

/* The hash of the content and of the head up to its hash. */
static uint64_t hash_all(struct rmc_hash content,
                         const unsigned char head[RMC_HEAD_BYTES])
{
    rmc_hash_add(&content, head, RELMC_CHECKPOINT_AT_HASH);
    return rmc_hash_end(&content);
}

void rmc_head_make(unsigned char out[RMC_HEAD_BYTES],
                   const struct rmc_head *head, const relmc_archive *a)
{
    const uint32_t order = RELMC_CHECKPOINT_ORDER;
    const uint64_t length = a->bytes + RMC_HEAD_BYTES;

    memcpy(out, head->magic, 8);
    memcpy(out + RELMC_CHECKPOINT_AT_ORDER, &order, 4);
    memcpy(out + RELMC_CHECKPOINT_AT_VERSION, &head->version, 4);
    memcpy(out + RELMC_CHECKPOINT_AT_LENGTH, &length, 8);
    const uint64_t hash = hash_all(a->hash, out);
    memcpy(out + RELMC_CHECKPOINT_AT_HASH, &hash, 8);
}

enum rmc_head_verdict rmc_head_check(const struct rmc_head *head,
                                     const unsigned char *from, size_t bytes,
                                     uint32_t *version)
{
    struct rmc_hash content = {0};
    uint32_t order;
    uint64_t length, hash;

    if (bytes < RMC_HEAD_BYTES || memcmp(from, head->magic, 8) != 0) {
        return RMC_HEAD_FOREIGN;
    }
    memcpy(&order, from + RELMC_CHECKPOINT_AT_ORDER, 4);
    memcpy(version, from + RELMC_CHECKPOINT_AT_VERSION, 4);
    memcpy(&length, from + RELMC_CHECKPOINT_AT_LENGTH, 8);
    memcpy(&hash, from + RELMC_CHECKPOINT_AT_HASH, 8);
    if (length != bytes) {
        return RMC_HEAD_LENGTH;
    }
    rmc_hash_add(&content, from + RMC_HEAD_BYTES, bytes - RMC_HEAD_BYTES);
    return hash_all(content, from) != hash   ? RMC_HEAD_HASH
           : order != RELMC_CHECKPOINT_ORDER ? RMC_HEAD_ORDER
           : *version != head->version       ? RMC_HEAD_VERSION
                                             : RMC_HEAD_GOOD;
}
