/* sha256.h - fingerprints of texts and files (FIPS 180-4). */
#ifndef RELMC_CLI_SHA256_H
#define RELMC_CLI_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t n_bytes;
    unsigned char block[64];
};

enum { SHA256_HEX = 65 }; /* 64 digits and the end */

void sha256_init(struct sha256 *sum);
void sha256_add(struct sha256 *sum, const void *data, size_t n_bytes);
/* The digits, lower case. */
void sha256_hex(struct sha256 *sum, char out[SHA256_HEX]);

/* Of a whole file; 0, or errno. */
int sha256_file(const char *path, char out[SHA256_HEX]);

#endif
