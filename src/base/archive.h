/* archive.h - the inside of an archive: bytes on their way to a file, or those of
 * a whole file in memory. */
#ifndef RMC_ARCHIVE_H
#define RMC_ARCHIVE_H

#include "base/base.h"

#include <stdio.h>

/* A checksum of 64 bits, eight bytes at a time.  What each word does to it can be
 * undone, so that a change of a single word always shows. */
struct rmc_hash {
    uint64_t value;
    uint64_t word; /* bytes that are less than one ... */
    unsigned n;    /* ... and how many: 0 to 7 */
};

void rmc_hash_add(struct rmc_hash *hash, const void *data, size_t bytes);
uint64_t rmc_hash_end(const struct rmc_hash *hash);

struct relmc_archive {
    FILE *out;                     /* NULL: it is read */
    const unsigned char *at, *end; /* what is still to be read */
    struct rmc_hash hash;          /* of what was written ... */
    uint64_t bytes;                /* ... and how much that is */
    const char *why;               /* it has failed; NULL: it has not */
    int error; /* errno of a file that could not be written */
};

/* relmc_archive_bytes of one that is written. */
void rmc_archive_put(relmc_archive *a, const void *data, size_t bytes);

#endif
