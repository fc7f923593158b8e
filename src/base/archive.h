/* archive.h - the inside of an archive: bytes on their way to a file, or those of
 * a whole file in memory. */
#ifndef RMC_ARCHIVE_H
#define RMC_ARCHIVE_H

#include "base.h"

#include <stdio.h>

struct relmc_archive {
    FILE *out;                     /* NULL: it is read */
    const unsigned char *at, *end; /* what is still to be read */
    uint64_t hash, bytes;          /* of what was written */
    const char *why;               /* it has failed; NULL: it has not */
};

/* A checksum of 64 bits, byte by byte: every change of a single byte changes
 * it.  FNV-1a. */
#define RMC_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t rmc_hash(uint64_t hash, const void *data, size_t bytes);

/* relmc_archive_bytes of one that is written. */
void rmc_archive_put(relmc_archive *a, const void *data, size_t bytes);

#endif
