/*
 * sized_struct.c - structs of a caller that begin with their own size: it may have been
 * compiled with an older header than the library, or with a newer one.
 */
#include "base/base.h"

#include <string.h>

enum { LONGEST = 4096 }; /* bytes; a size beyond was never set */

relmc_status rmc_sized_read(void *to, size_t known, const void *from,
                            size_t least, const char *type, relmc_error *err)
{
    const unsigned char *bytes = from;
    size_t size = 0;

    if (from) {
        memcpy(&size, from, sizeof size);
        if (size < least || size > LONGEST) {
            return rmc_fail(err, RELMC_EINVAL,
                            "%s: size must be sizeof(%s), not %zu", type, type,
                            size);
        }
    }
    for (size_t i = known; i < size; i++) {
        if (bytes[i]) {
            return rmc_fail(err, RELMC_EINVAL,
                            "%s: byte %zu asks for something that this version "
                            "of relmc does not know",
                            type, i);
        }
    }
    memset(to, 0, known);
    if (from) {
        memcpy(to, from, size < known ? size : known);
    }
    memcpy(to, &known, sizeof known);
    return RELMC_OK;
}
