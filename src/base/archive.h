/* archive.h - the struct of an archive, which is written to a file or read from
 * memory, and the head of a file. */
#ifndef RMC_ARCHIVE_H
#define RMC_ARCHIVE_H

#include "base/base.h"

#include <stdio.h>

/* A checksum of 64 bits, taken eight bytes at a time.  Every step is invertible, so
 * that a change of a single word always changes the checksum. */
struct rmc_hash {
    uint64_t value;
    uint64_t word; /* the last bytes, not a whole word yet */
    unsigned n;    /* how many these are: 0 to 7 */
};

void rmc_hash_add(struct rmc_hash *hash, const void *data, size_t bytes);
uint64_t rmc_hash_end(const struct rmc_hash *hash);

struct relmc_archive {
    FILE *out;                     /* NULL: the archive is read */
    const unsigned char *at, *end; /* what is still to be read */
    struct rmc_hash hash;          /* of the bytes written */
    uint64_t bytes;                /* written */
    const char *why;               /* reason of the first failure, or NULL */
    int error;                     /* errno of the write that failed */
};

/* Writes or reads n_rows * width numbers.  Reading sets *values to memory of the
 * arena, or to NULL if the archive has failed. */
void rmc_archive_array(relmc_archive *a, relmc_arena *arena, double **values,
                       size_t n_rows, size_t width);
/* The same for a text, which is never NULL. */
void rmc_archive_text(relmc_archive *a, relmc_arena *arena, const char **text);

/* The head of a file that holds an archive; relmc_format.h has its layout. */
enum { RMC_HEAD_BYTES = 32 };

struct rmc_head {
    const char *magic; /* 8 bytes */
    uint32_t version;
};

/* Makes the head of an archive that has been written. */
void rmc_head_make(unsigned char out[RMC_HEAD_BYTES],
                   const struct rmc_head *head, const relmc_archive *a);

enum rmc_head_verdict {
    RMC_HEAD_GOOD,
    RMC_HEAD_FOREIGN, /* too short, or other magic */
    RMC_HEAD_LENGTH,  /* not the length in the head */
    RMC_HEAD_HASH,
    RMC_HEAD_ORDER,  /* from a machine with another byte order */
    RMC_HEAD_VERSION /* *version is that of the file */
};
enum rmc_head_verdict rmc_head_check(const struct rmc_head *head,
                                     const unsigned char *from, size_t bytes,
                                     uint32_t *version);

/* relmc_archive_bytes for an archive that is written. */
void rmc_archive_put(relmc_archive *a, const void *data, size_t bytes);

#endif
