/* sized_struct.h - structs of a caller that begin with their own size. */
#ifndef RMC_SIZED_STRUCT_H
#define RMC_SIZED_STRUCT_H

#include "relmc.h"

/* A caller's struct whose first member is a size_t, its size, becomes one of
 * `known` bytes.  Fields it lacks are zero, all of them for NULL.  It must have
 * `least` bytes, and zeros beyond `known`.  `type` is its name. */
relmc_status rmc_sized_read(void *to, size_t known, const void *from,
                            size_t least, const char *type, relmc_error *err);

/* A caller's report whose first member is a size_t, its size: it gets what it has
 * room for of `from`, which has `known` bytes, and keeps its size. */
relmc_status rmc_sized_fill(void *to, const void *from, size_t known,
                            const char *type, relmc_error *err);

#endif
