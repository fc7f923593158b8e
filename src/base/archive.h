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

/* Visits n numbers at *values.  Of one that is read *values is memory of the arena
 * then, or NULL, and the archive has failed. */
void rmc_archive_array(relmc_archive *a, relmc_arena *arena, double **values,
                       size_t n_rows, size_t width);
/* The same of a text. */
void rmc_archive_text(relmc_archive *a, relmc_arena *arena, const char **text);

/* What is in front of an archive that stands alone; relmc_format.h has the places. */
enum { RMC_HEAD_BYTES = 32 };

struct rmc_head {
    const char *magic; /* 8 bytes */
    uint32_t version;
};

/* The head of an archive that was written. */
void rmc_head_make(unsigned char out[RMC_HEAD_BYTES],
                   const struct rmc_head *head, const relmc_archive *a);

enum rmc_head_verdict {
    RMC_HEAD_GOOD,
    RMC_HEAD_FOREIGN, /* no such magic */
    RMC_HEAD_LENGTH,  /* cut off, or continued */
    RMC_HEAD_HASH,
    RMC_HEAD_ORDER,  /* from a machine with another order of bytes */
    RMC_HEAD_VERSION /* *version is that of the bytes */
};
enum rmc_head_verdict rmc_head_check(const struct rmc_head *head,
                                     const unsigned char *from, size_t bytes,
                                     uint32_t *version);

/* relmc_archive_bytes of one that is written. */
void rmc_archive_put(relmc_archive *a, const void *data, size_t bytes);

#endif
