/* spec.h - parameters of components from specs: "name:key=value,...". */
#ifndef RMC_SPEC_H
#define RMC_SPEC_H

#include "base/base.h"

/* Length of the name in a spec: up to the ':' or the end. */
size_t rmc_spec_name_length(const char *spec);

/* Sets every parameter in `state`, from the spec or else to the table's fallback.
 * The arena holds the vectors. */
relmc_status rmc_spec_parse(const char *spec, const relmc_info *info,
                            void *state, relmc_arena *arena, relmc_error *err);

/* Prints the spec with every parameter spelt out. */
void rmc_spec_print(rmc_text *text, const relmc_info *info, const void *state);

#endif
