/* sha256.h - the digest SHA-256 (FIPS 180-4), to tell whether a file is the one
 * it should be. */
#ifndef RELMC_CLI_SHA256_H
#define RELMC_CLI_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    unsigned char block[64]; /* what does not fill a block yet */
};

void sha256_start(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t n);
/* The digest as text; nothing can be added after it. */
void sha256_end(struct sha256 *sha, char hex[65]);

#endif
