/*
 * sized_struct.c - copies structs of callers that were compiled with an older or a newer
 * header than the library.
 */
#include "base/sized_struct.h"
#include "base/base.h"

#include <string.h>

enum { LONGEST = 4096 }; /* bytes; a larger size was never set */

static relmc_status bad_size(const char *type, size_t size, relmc_error *err)
{
    return rmc_fail(err, RELMC_EINVAL, "%s: size must be sizeof(%s), not %zu",
                    type, type, size);
}

relmc_status rmc_sized_read(void *to, size_t known, const void *from,
                            size_t least, const char *type, relmc_error *err)
{
    const unsigned char *bytes = from;
    size_t size = 0;

    if (from) {
        memcpy(&size, from, sizeof size);
        if (size < least || size > LONGEST) {
            return bad_size(type, size, err);
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

relmc_status rmc_sized_fill(void *to, const void *from, size_t known,
                            const char *type, relmc_error *err)
{
    size_t size;

    memcpy(&size, to, sizeof size);
    if (size < sizeof size || size > LONGEST) {
        return bad_size(type, size, err);
    }
    memcpy(to, from, size < known ? size : known);
    memcpy(to, &size, sizeof size);
    return RELMC_OK;
}
