/* sized_struct.h - copies structs of callers, which begin with their own size. */
#ifndef RMC_SIZED_STRUCT_H
#define RMC_SIZED_STRUCT_H

#include "relmc.h"

/* Copies a caller's struct to one of `known` bytes.  Fields that it lacks become zero;
 * NULL lacks all.  It must have at least `least` bytes, and zeros beyond `known`.
 * `type` is its name, for errors. */
relmc_status rmc_sized_read(void *to, size_t known, const void *from,
                            size_t least, const char *type, relmc_error *err);

/* Copies the `known` bytes at `from` to a caller's report, as far as there is room;
 * the report keeps its size. */
relmc_status rmc_sized_fill(void *to, const void *from, size_t known,
                            const char *type, relmc_error *err);

#endif
